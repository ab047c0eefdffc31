"""HTML for notebooks: self-contained, escaped, with enough contrast, and shown by a browser."""

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin import _html

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
EVIL = "<script>alert(1)</script>"


def luminance(colour):
    """Relative luminance of WCAG 2.1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [_html.LIGHT, _html.DARK], ids=["light", "dark"])
def test_every_text_has_a_contrast_of_4_5_on_each_ground(colours):
    for ground in ("back", "fill"):
        for role in ("text", "soft", "good", "fair", "poor"):
            assert contrast(colours[role], colours[ground]) >= 4.5, (role, ground)
        assert contrast(colours["bar"], colours[ground]) >= 3, "of what is drawn, 3 is asked for"


def test_every_colour_of_the_style_comes_from_the_lists():
    style = re.search(r"<style>(.*?)</style>", _html.page([]))[1]
    used = set(re.findall(r"#[0-9a-f]{6}", style))
    assert used == {*_html.LIGHT.values(), *_html.DARK.values()}
    assert "prefers-color-scheme:dark" in style and style.count("var(--dfj-") > 10
    assert set(re.findall(r"var\(--dfj-(\w+)\)", style)) <= set(_html.LIGHT) == set(_html.DARK)


@pytest.fixture
def lake(build):
    lands = pd.DataFrame({EVIL: ["Peru", "Chad", "Mali"], "area": [1.5, 2.5, 3.5], "<b>head</b>": ["x&y", EVIL, "z"]})
    return build({f"geo/{EVIL}": lands, "more": pd.DataFrame({"land": ["Peru", "Chad", "Chad"], "n": [1, 2, 4]})})


@pytest.fixture
def pages(lake):
    df = pd.DataFrame({"<i>land</i>": ["peru", "chad", "Narnia & co"]})
    hits = df.discover_joinable("<i>land</i>", lake)
    wide = df.auto_join(hits.iloc[[0, 1]])
    program = dfjoin.Program.identity("<b>name</b>")
    return {
        "hits": hits._repr_html_(), "none": hits.iloc[:0]._repr_html_(), "explain": hits.explain(0)._repr_html_(),
        "report": dfjoin.report(wide)._repr_html_(), "nothing": dfjoin.report(df.auto_join(lake, threshold=1, on_no_match="ignore"))._repr_html_(),
        "lake": lake._repr_html_(), "program": program._repr_html_(),
    }  # fmt: skip


def test_pages_are_self_contained_and_escaped(pages):
    for name, page in pages.items():
        assert "<script" not in page and "<i>land" not in page and "<b>" not in page, name
        assert not re.search(r"(?:src|href|url)\s*[=(]|https?:|@import", page), name
        for tag in ("div", "span", "dl", "table", "code", "pre", "details"):
            assert len(re.findall(f"<{tag}[ >]", page)) == page.count(f"</{tag}>"), (name, tag)


def test_a_card_says_what_is_needed(pages):
    page = pages["hits"]
    assert page.count('class="card"') == 2
    assert "<dt>brings</dt><dd>area, &lt;b&gt;head&lt;/b&gt;</dd>" in page
    for text in (
        "matched",
        "2 of 3 values",
        "shared, as",
        "without partner",
        "Narnia &amp; co",
        "df.auto_join(hits.iloc[[0]])",
    ):
        assert text in page
    assert "<td>Peru</td>" in page and "<td>1.5</td>" in page, "joined rows"
    assert "no candidates" in pages["none"]
    assert "rows found a partner" in pages["report"] and "majority" not in pages["report"]
    for name, cell in (("explain", "1"), ("report", "1.5")):
        assert "Narnia &amp; co" in pages[name], f"{name}: without partner"
        assert pages[name].count("<tr>") >= 3 and f"<td>{cell}</td>" in pages[name], f"{name}: joined rows"
        assert "<code>df.auto_join(" in pages[name], f"{name}: the line of code"
    assert "df.auto_join(lake, on=&#x27;&lt;i&gt;land&lt;/i&gt;&#x27;, tables=" in pages["report"]
    assert "score 0." in pages["explain"] and "<dt>for</dt>" in pages["explain"]
    assert "nothing was joined" in pages["nothing"] or "passed over" in pages["nothing"]
    assert "def transform" in pages["program"]


def test_a_lake_whose_files_are_gone_is_shown(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    pd.DataFrame({"land": ["Peru", "Chad"], "v": [1, 2]}).to_csv(folder / "t.csv", index=False)
    lake = dfjoin.build_lake(folder, tmp_path / "lake", engine="inline", progress=False)
    hits = pd.DataFrame({"q": ["peru", "chad"]}).discover_joinable("q", lake)
    assert "<td>Peru</td>" in hits._repr_html_()
    (folder / "t.csv").unlink()
    assert "2 of 2 values" in hits._repr_html_() and "<td>" not in hits._repr_html_()


def shot(page, path, is_dark):
    """Photograph a page in headless Chromium; return its pixels."""
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    ground = "#111" if is_dark else "#fff"
    body = f'<html{" theme=dark" if is_dark else ""}><meta charset="utf-8"><body style="background:{ground}">{page}</body></html>'
    source = path.with_suffix(".html")
    source.write_text(body, "utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,900"]
    done = subprocess.run(
        [*command, f"--screenshot={path}", f"file://{source}"], capture_output=True, timeout=60, check=False
    )
    if not path.exists():
        pytest.skip(f"the browser makes no picture here: {done.stderr[-200:]!r}")
    return (imread(path)[..., :3] * 255).round().astype(int)


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")
@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_a_browser_shows_it_in_light_and_dark(pages, tmp_path, is_dark):
    colours = _html.DARK if is_dark else _html.LIGHT
    pixels = shot(pages["hits"], tmp_path / "hits.png", is_dark)

    def share(role):
        wanted = [int(colours[role][i : i + 2], 16) for i in (1, 3, 5)]
        return float(np.mean((np.abs(pixels - wanted) <= 6).all(axis=-1)))

    assert share("back") > 0.3 and share("text") > 0.001 and share("soft") > 0.0003 and share("bar") > 0.0005
