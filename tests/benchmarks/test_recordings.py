"""Pages of measurements: each block shows a stored file, and each file is shown."""

import argparse
import dataclasses
import re
import shutil
import subprocess
from datetime import date

import pytest

from tests.benchmarks import record, recordings
from tests.conftest import EXAMPLE_LAKE, PROJECT

ALL = {name: recordings.read(name) for name in recordings.names()}
PAGES = {path.name: path.read_text("utf-8") for path in recordings.PAGES.glob("*.md")}


def test_pages_are_what_the_stored_files_say():
    """After a change: python -m tests.benchmarks.recordings."""
    for name, page in PAGES.items():
        assert recordings.rendered(page) == page, name


def test_each_recording_has_a_place_a_plot_and_an_origin():
    shown = [name for page in PAGES.values() for name in re.findall("<!-- measured: (.*?) -->", page)]
    assert sorted(shown) == sorted(ALL)
    for name, one in ALL.items():
        assert one.name == name and re.fullmatch(r"[0-9a-f]{7,40}", one.commit), name
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", one.date) and one.machine, name
        assert one.command.startswith("python -m tests.benchmarks"), name
        assert all(len(row) == len(one.columns) for row in one.rows), name
        assert set(one.plotted) <= set(one.columns) and bool(one.plotted) == bool(one.unit), name
        assert (recordings.PLOTS / f"{name}.svg").exists() == bool(one.plotted), name


def _git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, cwd=PROJECT)


@pytest.mark.skipif(not (PROJECT / ".git").exists() or not shutil.which("git"), reason="no history is at hand")
def test_what_was_run_existed_at_the_commit_that_is_named():
    if _git("rev-parse", "--is-shallow-repository").stdout.strip() == "true":
        pytest.skip("the history is cut")
    for name, one in ALL.items():
        _, _, module, *words = one.command.split()
        files = module.removeprefix("tests.benchmarks").replace(".", "/") or "/__main__"
        text = _git("show", f"{one.commit}:tests/benchmarks{files}.py")
        assert text.returncode == 0, name
        assert module != "tests.benchmarks" or f'add_parser("{words[0]}"' in text.stdout, name


def test_columns_have_different_names():
    with pytest.raises(ValueError, match=r"`columns` of a must differ, got \['x', 'n', 'n'\]"):
        recordings.Recording("a", "c", "", "abcdef1", "2026-01-02", "m", "", ["x", "n", "n"], [])


def test_a_table_has_its_figures_and_a_line_of_origin(tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "DATA", tmp_path)
    one = recordings.Recording(
        "a", "python -m x", "f()", "abcdef1", "2026-01-02", "2 cores", "3", ["what", "ms"],
        [["`f()`", 1234.5], ["g", 0.12345], ["h", "1.5 / 2"], ["none", None], ["whole", 7]], ["ms"], "ms", "A note.",
    )  # fmt: skip
    one.write()
    assert recordings.read("a") == one and recordings.names() == ["a"]
    assert one.table() == (
        "| what | ms |\n| --- | --- |\n| `f()` | 1,234 |\n| g | 0.123 |\n| h | 1.5 / 2 |\n| none |  |\n| whole | 7 |"
        "\n\n`python -m x`, measured at abcdef1 on 2026-01-02, 2 cores, load 3. A note."
    )
    assert one.numbers() == {1234, 0.123, 1.5, 2, 7}
    page = "before\n<!-- measured: a -->\nold\n<!-- end -->\nafter <!-- measured: b -->"
    assert recordings.rendered(page).startswith(f"before\n<!-- measured: a -->\n{one.table()}\n\n![a: ")
    assert recordings.rendered(page).endswith("(plots/a.svg)\n<!-- end -->\nafter <!-- measured: b -->")


def test_a_plot_has_the_first_number_of_each_cell():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    one = dataclasses.replace(ALL["exact-real"], plotted=["10–100", "10k–100k"])
    figure = one.draw()
    first, second = figure.axes
    assert [bar.get_width() for bar in first.patches] == [0.72, 1.11, 115, 5.7, 108]
    assert second.patches[0].get_width() == 4.92 and first.get_xscale() == second.get_xscale() == "log"
    assert first.get_xlim() == second.get_xlim() and figure.get_supxlabel() == "ms, p50, log scale"
    with_zero = ALL["csv-dialects"].draw()
    assert with_zero.get_supxlabel() == "share of files" and with_zero.axes[0].get_xscale() == "linear"
    assert first.get_yticklabels()[0].get_text() == "dfjoin"
    pyplot.close("all")


def test_a_run_is_stored_with_what_it_was_measured_on(tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "DATA", tmp_path)
    made = record.record("build", argparse.Namespace(place=EXAMPLE_LAKE, index=tmp_path / "lake.dfjoin", every=1))
    assert recordings.read("build") == made and made.command == "python -m tests.benchmarks.record build LAKE"
    assert made.date == date.today().isoformat() and made.load and "cores" in made.machine
    (row,) = made.rows
    size = sum(path.stat().st_size for path in EXAMPLE_LAKE.rglob("*.csv"))
    assert row[0] == f"`{made.call}`" and row[1] == 26 and row[3] == size / 1e6 and row[4] > 0


def test_times_are_by_stratum():
    one, other = [("10-100", ["a"]), ("1k-10k", ["b"])], []
    (row,) = record._timed({"f": lambda df: other.append(df["q"].tolist())}, one)
    assert row[0] == "f" and [bool(cell) for cell in row[1:]] == [True, False, True, False]
    assert sorted(map(str, other)) == ["['a']"] * 4 + ["['b']"] * 4
