"""Pictures: what is drawn, by the heights of bars, points and labels, and the error where matplotlib is missing."""

import sys

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.augment.augment_report import AugmentReport, JoinedTable
from dfjoin.containment.join_graph import JoinGraph
from dfjoin.errors import InvalidParameterError, MissingDependencyError, TableNotFoundError
from dfjoin.fuzzy.accept_matches import expected_errors


@pytest.fixture(autouse=True)
def pyplot():
    """Load what draws when the first test runs, not when tests are collected; close the figures of a test."""
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def labels(axis_labels):
    return [label.get_text() for label in axis_labels]


def luminance(colour):
    """Relative luminance of WCAG: what is left of a colour in black and white."""
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return float(np.dot([0.2126, 0.7152, 0.0722], channels))


class TestHits:
    def test_coverage_has_a_bar_for_each_candidate(self, build, pyplot):
        words = [f"w{i}" for i in range(20)]
        lake = build({"t": pd.DataFrame({"n": range(20), "c": words})})
        hits = dfjoin.discover_joinable(pd.DataFrame({"q": [*range(10), "w1", "w2"]}), "q", lake, rank="matched")
        axes = hits.plot_coverage()
        whole, bars = axes.patches[:2], axes.patches[2:]
        assert [bar.get_width() for bar in whole] == [1, 1]
        assert [bar.get_width() for bar in bars] == hits["containment"].tolist()
        assert [bar.get_hatch() == "//" for bar in bars] == hits["accidental"].tolist()
        assert labels(axes.get_yticklabels()) == ["t: n", "t: c"] and labels(axes.texts) == ["10", "2"]
        _, given = pyplot.subplots()
        hits = dfjoin.discover_joinable(pd.DataFrame({"q": range(10)}), "q", lake, rank="matched")
        assert hits["accidental"].tolist() == [True] and hits.plot_coverage(ax=given) is given
        assert given.patches[1].get_hatch() == "//"

    def test_each_of_several_query_columns_is_named(self, build):
        lake = build({"t": pd.DataFrame({"c": ["a", "b", "x"], "d": ["u", "v", "w"]})})
        frame = pd.DataFrame({"p": ["a", "b", "x"], "q": ["u", "v", "w"]})
        axes = frame.discover_joinable("*", lake, rank="matched").plot_coverage()
        assert labels(axes.get_yticklabels()) == ["p → t: c", "q → t: d"]

    def test_nothing_found_is_drawn_empty(self, build):
        lake = build({"t": pd.DataFrame({"c": ["a", "b"]})})
        hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["z"]}), "q", lake, rank="matched")
        assert len(hits.plot_coverage().patches) == 0

    def test_matches_show_both_columns(self, build):
        query = pd.DataFrame({"q": ["a$b$", "b", "q", None, "b"]})
        lake = build({"t\x1b": pd.DataFrame({"c": ["a$b$", "b", "x", "y"]})})
        hits = dfjoin.discover_joinable(query, "q", lake, rank="matched")
        axes = hits.plot_matches()
        assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0, 2), (0, 2), (2, 1), (2, 2)]
        assert labels(axes.get_yticklabels()) == ["q", "t\\u001b: c"] and axes.get_title() == hits["relationship"][0]
        texts = labels(axes.texts)
        assert texts[0] == "2 of 3" and texts[2] == "2 of 4" and "without: 'q'" in texts[1] and "'x', 'y'" in texts[3]
        axes.figure.canvas.draw()  # a formula of matplotlib, between two dollars, would be an error
        with pytest.raises(InvalidParameterError, match="`i` must be a position in this frame of 1 rows, got 1"):
            hits.plot_matches(1)

    def test_tones_are_far_apart_in_black_and_white(self, build):
        lake = build({"t": pd.DataFrame({"c": ["a", "b", "x"]})})
        hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["a", "b", "z"]}), "q", lake, rank="matched")
        found, _, alone, _ = hits.plot_matches().patches
        bright, dark = (luminance(bar.get_facecolor()) for bar in (alone, found))
        assert (bright + 0.05) / (dark + 0.05) > 4.5 and alone.get_hatch() and not found.get_hatch()


def test_a_plot_without_matplotlib_says_what_to_install(build, similar, monkeypatch):
    lake = build({"t": pd.DataFrame({"c": ["a", "b", "x"]})})
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["a", "b", "z"]}), "q", lake, rank="matched")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    graph = JoinGraph(EDGES, EDGES, ["k"], [])
    calls = {
        "plot_coverage()": hits.plot_coverage,
        "plot_matches()": hits.plot_matches,
        "plot_contents()": lake.plot_contents,
        "plot_gains()": report(0.2).plot_gains,
        "plot_precision()": dfjoin.report(similar[2]).plot_precision,
        "JoinGraph.plot()": graph.plot,
    }
    for name, call in calls.items():
        with pytest.raises(MissingDependencyError) as caught:
            call()
        assert str(caught.value).startswith(f"{name} needs `matplotlib`")
        assert str(caught.value).endswith('pip install "dfjoin[plot]"')


def test_contents_are_the_bytes_of_the_index(build):
    lake = build(
        {"t": pd.DataFrame({"c": [f"w{i}" for i in range(500)], "n": range(500)})}, settings={"patterns": True}
    )
    info = lake.info()
    stored = sum(c.size for segment in lake.segments for group in segment.meta.groups for c in group.components)
    assert sum(info["parts"].values()) == info["bytes"] == stored and "patterns" in info["parts"]
    axes = lake.plot_contents()
    widths = [bar.get_width() * 1000 for bar in axes.patches]
    assert widths == pytest.approx(sorted(info["parts"].values(), reverse=True)) and axes.get_xlabel() == "kB"
    shown = labels(axes.get_yticklabels())
    assert 'n-grams: mode="transform"' in shown and "values, posting lists: equal values" in shown
    assert axes.get_title().startswith("1 tables, 2 columns, ")
    assert labels(axes.texts)[0] == f"{max(info['parts'].values()) / stored:.0%}"


def report(*gains):
    """A report of tables with these gains."""
    one = {"columns": {}, "score": 1.0, "containment": 1.0, "relationship": "1:1", "error": 0.01, "left_out": {}}
    tables = [
        JoinedTable(table=f"t{i}", path=f"X.k → t{i}", gain=gain, coverage=1.0, joins=(("k", f"t{i}"),), **one)
        for i, gain in enumerate(gains)
    ]
    return AugmentReport(tuple(tables), {}, {}, None, None, len(tables), 0.0)


def test_gains_are_bars_by_table_and_unmeasured_tables_have_none():
    axes = report(0.25, None, 0.03).plot_gains()
    assert [bar.get_width() for bar in axes.patches] == [25, 3]
    assert labels(axes.get_yticklabels()) == ["X.k → t0", "X.k → t2"]
    assert len(report().plot_gains().patches) == 0


@pytest.fixture(scope="module")
def similar():
    """A join by similarity, left and right side and result: names with a letter lost, some of them strangers."""
    kinds = ("lake", "hill", "ford", "gate")
    names = [
        f"{a} {b} {c}" for a in ("north", "south", "upper") for b in kinds for c in ("county", "parish", "borough")
    ]
    misspelled = [name.replace("o", "", 1) for name in names[:30]]
    left = pd.DataFrame({"name": [*misspelled, "zebra", "quartz vein"]})
    right = pd.DataFrame({"place": names, "n": range(len(names))})
    return left, right, left.auto_join(right, on="name", right_on="place", transform=False, precision=0.8)


def test_precision_is_drawn_against_recall(similar):
    told = dfjoin.report(similar[2])
    (step,) = told.to_dict()["joined"]
    found = step["relation"]["fuzzy"]
    axes = told.plot_precision()
    curve, line, chosen = axes.lines
    assert np.column_stack(curve.get_data()).tolist() == found["curve"]
    recall, precision = curve.get_data()
    assert (np.diff(recall) >= 0).all() and (np.diff(precision) <= 1e-9).all() and 0 < recall[-1] <= 1
    assert [float(x[0]) for x in chosen.get_data()] == [found["estimated_recall"], found["estimated_precision"]]
    assert set(line.get_ydata()) == {0.8} and labels(axes.texts) == ["asked: 0.8", "this join"]


def test_a_join_that_estimates_nothing_has_no_precision_to_draw(similar):
    left, right, joined = similar
    equal = right.auto_join(right.rename(columns={"n": "m"}), on="place", transform=False)
    again = left.auto_join(right, plan=joined.attrs["dfjoin"]["plan"])
    assert again["n"].notna().sum() > 20
    for frame in (equal, again):
        with pytest.raises(InvalidParameterError, match=r"^`plot_precision` needs a join by similarity, got a report"):
            dfjoin.report(frame).plot_precision()


def test_the_curve_is_what_joining_fewer_pairs_would_reach():
    from dfjoin.fuzzy.accept_matches import _curve

    chances = np.array([0.2, 0.9, 0.0, 1.0, 0.6])
    falling = [1.0, 0.9, 0.6, 0.2]
    expected = [(sum(falling[:n]) / 2.7, sum(falling[:n]) / n) for n in range(1, 5)]
    assert np.allclose(_curve(chances, expected_errors(chances)), expected, atol=1e-4)
    many = np.linspace(0.01, 1, 5000)
    assert len(_curve(many, expected_errors(many))) == 40


EDGES = pd.DataFrame(
    [(f"f/t{i:02}", f"c{i}", "k", "id", 0.99 - i / 100) for i in range(35)] + [("k", "up", "top", "id", 0.5)],
    columns=["table", "column", "key_table", "key_column", "score"],
)


def test_a_small_graph_is_drawn_whole():
    graph = JoinGraph(EDGES.tail(4), EDGES, ["k", "top", *EDGES["table"][:35]], [])
    axes = graph.plot()
    assert axes.get_title(loc="left") == "5 of 37 tables are joined"
    texts = labels(axes.texts)
    assert {"t32.csv\nf", "k"} <= {"t32.csv\nf", *texts} and {"t32\nf", "t33\nf", "t34\nf", "k", "top"} < set(texts)
    arrows = [patch for patch in axes.patches if type(patch).__name__ == "FancyArrowPatch"]
    assert len(arrows) == 4 and all(arrow.get_linestyle() == "--" for arrow in arrows)


def test_of_a_large_graph_the_part_is_drawn_that_can_be_read_and_the_title_says_so():
    more = [(f"f/u{i:02}", f"d{i}", "k", "id", 0.4 - i / 100) for i in range(20)]
    edges = pd.concat([EDGES, pd.DataFrame(more, columns=list(EDGES))], ignore_index=True)
    graph = JoinGraph(edges, edges, sorted({*edges["table"], *edges["key_table"]}), [])
    title = graph.plot().get_title(loc="left")
    assert title.replace("\n", " ") == (
        "k: 14 tables of 57 that are joined lie within 1 join; 43 less sure ones are left out; "
        "plot(table) draws another one"
    )
    axes = graph.plot("top", hops=2)
    told = axes.get_title(loc="left").replace("\n", " ")
    assert told == "top: 14 tables lie within 2 joins; 43 less sure ones are left out"
    boxes = [patch for patch in axes.patches if type(patch).__name__ == "Rectangle"]
    assert len(boxes) == 14 and {"k", "top", "t00\nf"} < set(labels(axes.texts))
    with pytest.raises(TableNotFoundError, match=r"`table` must be a table of the graph .*got 'tip'"):
        graph.plot("tip")
    with pytest.raises(InvalidParameterError, match="`hops` must be at least 1"):
        graph.plot("top", hops=0)
