"""Journeys in a real browser, and what axe says of each page."""

import io

import pandas as pd
import pytest

import dfjoin
from dfjoin.page.serve import explore
from dfjoin.page.state_files import as_stored
from tests.page.browser import chromium, why_no_browser
from tests.page.conftest import PEOPLE
from tests.page.screenshots import visit_pages

pytestmark = [
    pytest.mark.slow,  # starts a browser; all journeys together take some 40 seconds of CPU
    pytest.mark.skipif(bool(why_no_browser()), reason=why_no_browser()),
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def open_page(browser):
    """Open an address in a browser context of its own; scripts and policies may not complain."""
    contexts, complaints = [], []

    def open_page(url, **options):
        context = browser.new_context(accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [text for text in complaints if "the server responded with a status of 4" not in text] == []


def upload(page, name, content):
    page.set_input_files("#file", {"name": name, "mimeType": "text/csv", "buffer": content.encode()})
    page.wait_for_url("**/s/*")


def cells(page):
    """The rows of the last table of cells."""
    return page.locator("table.cells").last.locator("tbody tr").all_inner_texts()


def downloaded(page, selector):
    with page.expect_download() as download:
        page.click(selector)
    return open(download.value.path(), "rb").read()


@pytest.mark.usefixtures("own_temporary_files")  # of the script
def test_from_a_file_to_a_wide_table_and_its_script(server, open_page, tmp_path, monkeypatch):
    page = open_page(server.url)
    upload(page, "people.csv", PEOPLE)
    assert page.is_checked("[name=on][value=country]"), "the key is proposed"
    page.click("text=Find tables that join")
    page.wait_for_selector(".evidence table")
    assert "geo/countries.csv" in page.inner_text("article >> nth=0")
    page.click("article >> nth=0 >> .accent")
    page.uncheck("input[name=bring][value=iso3]")
    page.wait_for_function("!document.querySelector('table.cells thead').innerText.includes('iso3')")
    page.click("text=without a partner")
    page.wait_for_selector("details .body table")
    assert "Narnia" in page.inner_text("details .body")
    page.click("button:has-text('Join')")
    page.wait_for_url("**/s/*")
    page.click(".tabs >> text=SQL")
    page.fill("#query", "SELECT capital, count(*) AS n FROM t GROUP BY capitals")
    page.click("text=Run")
    assert "Binder Error" in page.inner_text("#sql-problem")
    page.fill(
        "#query", "SELECT capital, count(*) AS n FROM t WHERE capital IS NOT NULL GROUP BY capital ORDER BY capital"
    )
    page.press("#query", "Control+Enter")
    page.wait_for_url("**/s/*", wait_until="load")
    page.wait_for_selector(".steps li >> nth=2")
    assert [row.split("\t") for row in cells(page)] == [["Lima", "2"], ["Oslo", "1"], ["Tokyo", "1"]]
    page.click("text=Find tables that join")
    page.wait_for_selector("article.hit")
    assert "geo/capitals.csv" in page.inner_text(".hits"), "searched again with the result"
    page.go_back()
    page.click(".tabs >> text=Take it with you")
    address = page.input_value("#address")
    other = open_page(server.url)
    other.goto(address)
    assert len(cells(other)) == 3
    script = downloaded(page, "a:has-text('Python script')").decode()
    table = pd.read_parquet(io.BytesIO(downloaded(page, "button:has-text('Parquet')")))
    (tmp_path / "people.csv").write_text(PEOPLE)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(script, names)
    pd.testing.assert_frame_equal(as_stored(names["df"]), table)
    other.click(".steps button.quiet >> nth=0")
    other.wait_for_selector("h1:has-text('A step cannot be run')")
    other.click("text=Leave the step out")


def test_pairs_are_reviewed(build, open_page):
    truth = {f"{first} {last}": f"{last}, {first[0]}." for first, last in zip(FIRST, LAST, strict=True)}
    lake = build({"staff": pd.DataFrame({"who": list(truth.values()), "room": range(len(truth))})})
    server = explore(lake, pd.DataFrame({"name": list(truth)}), open_browser=False)
    page = open_page(server.url)
    state = page.url
    page.goto(f"{state}/review?on=name&table=staff&column=who&precision=0.6")
    page.wait_for_selector("fieldset")
    before = page.locator("tbody tr").count()
    assert before >= 8
    first = page.inner_text("tbody tr >> nth=0 >> td >> nth=0")
    page.locator("tbody tr").nth(0).locator("label:has-text('Wrong')").click()
    page.click("text=Learn again")
    page.wait_for_selector("input[value=no]:checked", state="attached")
    page.click("text=Join these pairs")
    page.wait_for_selector(".steps li >> nth=1")
    rows = dict(row.split("\t")[:2] for row in cells(page))
    assert rows[first] == "missing" and sum(value != "missing" for value in rows.values()) >= before - 1
    server.stop()


FIRST = ["Ada", "Alan", "Grace", "Edsger", "Barbara", "Donald", "Niklaus", "Tony", "Leslie", "Robin"]
LAST = ["Lovelace", "Turing", "Hopper", "Dijkstra", "Liskov", "Knuth", "Wirth", "Hoare", "Lamport", "Milner"]


def test_places_join_by_distance(example_lake, open_page):
    sites = pd.DataFrame({"site": ["a", "b"], "latitude": [48.8600, 35.68], "longitude": [2.3500, 139.69]})
    server = explore(example_lake, sites, open_browser=False)
    page = open_page(server.url)
    for name in ("latitude", "longitude"):
        page.check(f"[name=on][value={name}]")
    for name in page.locator("[name=on]:checked").evaluate_all("boxes => boxes.map(box => box.value)"):
        if name == "site":
            page.uncheck("[name=on][value=site]")
    page.select_option("#way", "places")
    page.click("text=Find tables that join")
    page.wait_for_selector("article.hit")
    page.click("article:has-text('geo/capitals.csv') >> .accent")
    page.wait_for_selector("text=Rows to keep")
    assert "Paris" in page.inner_text("table.cells >> nth=-1") and "Tokyo" in page.inner_text("table.cells >> nth=-1")
    server.stop()


def test_a_key_of_several_columns(build, open_page):
    lake = build(
        {
            "pay": pd.DataFrame(
                {"city": ["A", "A", "B", "B"] * 5, "year": [1, 2] * 10, "pay": range(20)}
            ).drop_duplicates(["city", "year"])
        }
    )
    frame = pd.DataFrame({"town": ["A", "B", "B"], "year": [2, 1, 2]})
    server = explore(lake, frame, open_browser=False)
    page = open_page(server.url)
    page.goto(page.url + "/search?on=town&on=year&least=chance")
    page.click("article >> nth=0 >> .accent")
    page.click("button:has-text('Join')")
    page.wait_for_selector(".steps li >> nth=1")
    assert [row.split("\t")[2] for row in cells(page)] == ["1", "2", "3"]
    server.stop()


def test_nothing_found_and_a_broken_file(server, open_page):
    page = open_page(server.url)
    page.set_input_files("#file", {"name": "broken.parquet", "mimeType": "x/y", "buffer": b"PAR1 no"})
    page.wait_for_selector("h1:has-text('That does not work')")
    assert "the file cannot be read" in page.inner_text(".problem")
    page.click("text=Begin with another table")
    page.fill("#cells", "code,x\nqqq1,1\nqqq2,2\n")
    page.click("text=Read the cells")
    page.goto(page.url + "/search?on=code")
    assert page.inner_text("h2 >> nth=1") == "Nothing was found"
    page.click("text=Similar spelling >> nth=-1")
    page.wait_for_selector("#radius-pairs p")


def test_the_server_starts_again_and_the_index_is_replaced_meanwhile(tmp_path, open_page):
    data = tmp_path / "data"
    data.mkdir()
    pd.DataFrame({"land": ["Peru", "Chad", "Oman"], "code": ["PE", "TD", "OM"]}).to_csv(data / "lands.csv", index=False)
    index = tmp_path / "lake.dfjoin"
    dfjoin.build_lake(data, index, engine="inline", progress=False)
    server = explore(index, pd.DataFrame({"country": ["Peru", "Oman"]}), open_browser=False)
    page = open_page(server.url)
    page.goto(page.url + "/search?on=country")
    page.click("article >> nth=0 >> .accent")
    page.click("button:has-text('Join')")
    page.wait_for_selector(".steps li >> nth=1")
    path = page.url.rpartition("/s/")[2]
    pd.DataFrame({"land": ["Peru"], "code": ["x"]}).to_csv(data / "more.csv", index=False)
    dfjoin.open_lake(index).add(data, engine="inline", progress=False)
    page.goto(page.url.partition("/s/")[0] + "/lake")
    page.click("text=Read the new version")
    page.wait_for_selector("text=version 2")
    server.stop()
    again = explore(index, open_browser=False)
    token = again.url.rpartition("?")[2]
    page = open_page(f"{again.url.partition('/?')[0]}/s/{path}?{token}")
    assert [row.split("\t") for row in cells(page)] == [["Peru", "PE"], ["Oman", "OM"]]
    assert "made with version 1 of the index" in page.inner_text(".note")
    again.stop()


def test_the_keyboard_is_enough(server, open_page):
    page = open_page(server.url)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.focus("#cells")
    page.keyboard.type("country,n\nPeru,1\nJapan,2\nItaly,3\n")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/*")
    page.focus("#way")
    for _ in range(3):
        if page.evaluate("document.activeElement.className").startswith("primary"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("article.hit")
    page.focus("article >> nth=0 >> .accent")
    page.keyboard.press("Enter")
    page.wait_for_selector(".join-form")
    page.focus(".join-form button.primary")
    page.keyboard.press("Enter")
    page.wait_for_selector(".steps li >> nth=1")
    assert "Lima" in page.inner_text("main")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_no_page_breaks_a_rule_of_wcag(example_lake, open_page, scheme, width):
    """By axe: WCAG 2.1, levels A and AA; and no page is wider than the window."""
    from axe_playwright_python.sync_playwright import Axe

    server = explore(example_lake, pd.read_csv("examples/facilities.csv"), open_browser=False)
    page = open_page("about:blank", color_scheme=scheme, viewport={"width": width, "height": 900})
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "resultTypes": ["violations"]}
    axe, found = Axe(), {}
    page.set_content("<img src=x><input>")
    assert len(axe.run(page, options=rules).response["violations"]) >= 2, "axe looks at the page"
    for name in visit_pages(page, server.url):
        broken = axe.run(page, options=rules).response["violations"]
        told = [(one["id"], one["nodes"][0]["html"][:200]) for one in broken]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            told.append(("wider than the window", name))
        if told:
            found[name] = told
    server.stop()
    assert found == {}
