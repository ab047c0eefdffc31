"""The gallery runs: each example as sphinx-gallery runs it, with a picture or a table, and its data stay small."""

import ast

import pytest

from tests.conftest import PROJECT

SOURCES = PROJECT / "docs" / "gallery_src"
EXAMPLES = sorted(SOURCES.glob("plot_*.py"))
PAPERS = {"josie", "lsh_ensemble", "pexeso", "lcjoin", "auto_join"}


@pytest.mark.slow
@pytest.mark.usefixtures("own_temporary_files")
@pytest.mark.parametrize("part", range(3))
def test_examples_run_and_draw(part, monkeypatch):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(SOURCES)
    for file in EXAMPLES[part::3]:
        exec(compile(file.read_text("utf-8"), file.name, "exec"), {"__name__": "__main__"})
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
        assert figures, file.name
        for figure in figures:
            figure.canvas.draw()
            assert any(ax.has_data() or ax.texts for ax in figure.axes), file.name
        pyplot.close("all")


def test_there_are_twenty_with_titles_and_one_of_each_paper():
    assert len(EXAMPLES) >= 20
    titles = {ast.get_docstring(ast.parse(file.read_text("utf-8"))).splitlines()[0] for file in EXAMPLES}
    assert len(titles) == len(EXAMPLES)
    assert {file.stem.split("_", 2)[2] for file in EXAMPLES if file.stem.startswith("plot_8")} == PAPERS


def test_data_are_small_and_each_folder_names_its_source():
    data = SOURCES / "data"
    files = list(data.rglob("*.csv"))
    assert sum(file.stat().st_size for file in files) < 3_000_000
    told = (data / "SOURCES.md").read_text("utf-8")
    assert {f"in `{file.parent.name}/`" for file in files if f"in `{file.parent.name}/`" not in told} == set()
