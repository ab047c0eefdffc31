"""Exact search against brute force, on random lakes, for every plan and layout."""

import fnmatch
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import dfjoin
from dfjoin.ingest import driver
from dfjoin.search.params import PLANS
from tests import oracles

ALL_PLANS = [None, *PLANS]


WORDS = [
    "Peru", "PERU ", "peru", "Straße", "STRASSE", "É", "e\u0301", "ﬁn", "fin", "日本", "Ω", "ω", "a  b", "a b",
    "x" * 40, "x" * 41, "x" * 300, "007", "7", "7.0", "-0", "0", "1e3x", "😀", "😀😀", "İ", "ß", "n/a", "", " ",
]  # fmt: skip


text_values = st.one_of(st.none(), st.sampled_from(WORDS), st.sampled_from([f"w{i}" for i in range(12)]))


int_values = st.one_of(*[st.integers(-3, 15)] * 6, st.sampled_from([2**53 + 1, -(2**62), 10**17]))


def text_column(rows):
    return st.lists(text_values, min_size=rows, max_size=rows).map(lambda v: pd.Series(v, dtype=object))


def int_column(rows):
    return st.lists(int_values, min_size=rows, max_size=rows).map(lambda v: pd.Series(v, dtype="int64"))


def nullable_column(rows):
    values = st.lists(st.one_of(st.none(), int_values), min_size=rows, max_size=rows)
    return values.map(lambda v: pd.Series(v, dtype="Int64"))


def constant_column(rows):
    return text_values.map(lambda v: pd.Series([v] * rows, dtype=object))


def float_column(rows):
    values = st.lists(st.sampled_from([0.5, 1.5, 7.0, 2.25]), min_size=rows, max_size=rows)
    return values.map(lambda v: pd.Series([0.5, *v][:rows], dtype="float64"))


def skewed_column(rows):
    """Almost every row holds one value: duplicates must count once."""
    return st.lists(st.sampled_from(["w1"] * 8 + ["w2", "w3"]), min_size=rows, max_size=rows).map(
        lambda v: pd.Series(v, dtype=object)
    )


def any_column(rows):
    return st.one_of(
        text_column(rows), text_column(rows), int_column(rows), nullable_column(rows), constant_column(rows),
        float_column(rows), skewed_column(rows),
    )  # fmt: skip


@st.composite
def frames(draw):
    rows = draw(st.integers(0, 14))
    n = draw(st.integers(1, 4))
    names = draw(st.permutations(["id", "Name", "é", "z", "a/b"]))[:n]
    return pd.DataFrame({name: draw(any_column(rows)) for name in names})


@st.composite
def lakes(draw):
    names = draw(st.lists(st.sampled_from(["a", "B", "é", "geo/x", "geo/y", "zz", "A"]), min_size=1, unique=True))
    return {"0": pd.DataFrame({"c": ["w1", "w2", None]}), **{name: draw(frames()) for name in names}}


@st.composite
def queries(draw):
    rows = draw(st.integers(0, 20))
    return draw(st.one_of(text_column(rows), int_column(rows), nullable_column(rows), skewed_column(rows)))


def values_of(series):
    return [None if v is None or v is pd.NA else v for v in series.astype(object).tolist()]


def is_integral(text):
    return text.lstrip("-").isdigit() and text == str(int(text))


def indexed(tables):
    """(table, column) → (value set, kind) of the columns that the default rule indexes."""
    found = {}
    for name, frame in tables.items():
        for column in frame:
            values = oracles.value_set(values_of(frame[column]))
            if len(values) < 2:
                continue
            is_integer = all(map(is_integral, values))
            if frame[column].dtype == "float64" and not is_integer:
                continue
            found[name, column] = (values, "integer" if is_integer else "text")
    return found


def naive(query, tables, k=None, threshold=None, weighted=False, accepts=lambda table, kind: True):
    columns = {key: v for key, (v, kind) in indexed(tables).items() if accepts(key[0], kind)}
    weights = Counter(c for v in values_of(query) if (c := oracles.canonical(v)) is not None)
    return oracles.rank(set(weights), columns, k, threshold, weights if weighted else None)


def rows_of(hits, score="matched"):
    return list(zip(hits["table"], hits["column"], hits[score].tolist(), strict=True))


class Built:
    """A lake of frames in a directory of its own, for use within one hypothesis example."""

    def __init__(self, tables, **options):
        self._place = tempfile.TemporaryDirectory()
        self._arguments = tables, Path(self._place.name) / "lake.dfjoin", options

    def __enter__(self):
        tables, index, options = self._arguments
        return dfjoin.build_lake(tables, index, engine="inline", progress=False, **options)

    def __exit__(self, *_):
        self._place.cleanup()


def search(query, lake, **options):
    return dfjoin.discover_joinable(pd.DataFrame({"q": query}), "q", lake, **options, rank="matched")


@given(lakes(), queries(), st.floats(0, 1))
@settings(max_examples=25)
def test_rows_and_order_are_those_of_brute_force(tables, query, threshold):
    with Built(tables) as lake:
        for plan in ALL_PLANS:
            for k in (1, 3, 1000):
                assert rows_of(search(query, lake, k=k, plan=plan)) == naive(query, tables, k=k)
            hits = search(query, lake, threshold=threshold, plan=plan)
            assert rows_of(hits) == naive(query, tables, threshold=threshold)
            hits = search(query, lake, threshold=threshold, k=2, plan=plan)
            assert rows_of(hits) == naive(query, tables, k=2, threshold=threshold)
            assert rows_of(search(query, lake, plan=plan)) == naive(query, tables)


@given(lakes(), queries(), st.floats(0, 1))
@settings(max_examples=20)
def test_weighted_rows_and_order_are_those_of_brute_force(tables, query, threshold):
    sets = {key: values for key, (values, _) in indexed(tables).items()}
    distinct = oracles.value_set(values_of(query))
    n_filled = sum(oracles.canonical(v) is not None for v in values_of(query))
    with Built(tables) as lake:
        for plan in ALL_PLANS:
            for k, limit in ((1, None), (3, None), (1000, None), (None, threshold), (2, threshold)):
                hits = search(query, lake, k=k, threshold=limit, weighted=True, plan=plan)
                assert rows_of(hits, "matched_rows") == naive(query, tables, k, limit, weighted=True)
                for hit in hits.itertuples():
                    assert hit.matched == len(distinct & sets[hit.table, hit.column])
                    assert hit.row_containment == hit.matched_rows / n_filled


@given(
    lakes(), queries(),
    st.lists(st.sampled_from(["a", "geo/*", "[a-z]*", "*", "nothing", "?"]), max_size=2),
    st.lists(st.sampled_from(["a", "geo/x", "z*", "é"]), max_size=2),
    st.lists(st.sampled_from(["text", "integer", "decimal", "date"]), max_size=2),
)  # fmt: skip
@settings(max_examples=25)
def test_filters_restrict_the_columns_before_the_best_are_taken(tables, query, wanted, exclude, kinds):
    def accepts(table, kind):
        if wanted and not any(fnmatch.fnmatchcase(table, p) for p in wanted):
            return False
        if any(fnmatch.fnmatchcase(table, p) for p in exclude):
            return False
        return not kinds or kind in kinds

    with Built(tables) as lake:
        for plan in ALL_PLANS:
            for k in (1, 3, 1000):
                hits = search(query, lake, k=k, plan=plan, tables=wanted, exclude=exclude, kinds=kinds)
                assert rows_of(hits) == naive(query, tables, k=k, accepts=accepts)
                assert not kinds or set(hits["kind"]) <= set(kinds)


@given(lakes(), queries(), st.floats(0, 1))
@settings(max_examples=6, phases=[Phase.generate])
def test_rows_do_not_depend_on_the_number_of_segments(tables, query, threshold):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_TASK_INPUT_BYTES", 1)
        with Built(tables, settings={"segment_bytes": 1}) as lake:
            filled = {table for table, _ in indexed(tables)}
            assert len(filled) <= len(lake.segments) <= len(tables)
            for plan in ALL_PLANS:
                for k in (1, 3, 1000):
                    assert rows_of(search(query, lake, k=k, plan=plan)) == naive(query, tables, k=k)
                hits = search(query, lake, threshold=threshold, plan=plan)
                assert rows_of(hits) == naive(query, tables, threshold=threshold)
                hits = search(query, lake, k=2, weighted=True, plan=plan)
                assert rows_of(hits, "matched_rows") == naive(query, tables, k=2, weighted=True)


@given(lakes(), queries())
@settings(max_examples=15)
def test_several_runs_merge_into_one_segment(tables, query):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_TASK_INPUT_BYTES", 1)
        with Built(tables) as lake:
            assert len(lake.segments) == 1
            assert rows_of(search(query, lake, k=1000)) == naive(query, tables, k=1000)


@given(lakes(), queries(), st.sampled_from([1, 200, 1000]))
@settings(max_examples=15)
def test_rows_do_not_depend_on_spilling(tables, query, task_bytes):
    with Built(tables, settings={"task_bytes": task_bytes}) as lake:
        assert rows_of(search(query, lake, k=1000)) == naive(query, tables, k=1000)


def test_every_layout_of_a_larger_lake_gives_the_same_rows(build, rng, monkeypatch):
    tables = {
        f"t{i:02d}": pd.DataFrame(
            {"key": rng.zipf(1.3, 400) % 3000, "word": [f"w{n}" for n in rng.integers(0, 50 * (i + 1), 400)]}
        )
        for i in range(20)
    }
    query = pd.Series([f"W{n}" for n in rng.integers(0, 900, 500)])
    expected = naive(query, tables, k=1000)
    assert len(expected) == 20
    monkeypatch.setattr(driver, "_TASK_INPUT_BYTES", 100_000)
    numbers = set()
    for options in ({}, {"segment_bytes": 1}, {"segment_bytes": 60_000}, {"task_bytes": 5_000}):
        lake = build(tables, settings=options)
        numbers.add(len(lake.segments))
        for plan in ALL_PLANS:
            assert rows_of(search(query, lake, k=1000, plan=plan)) == expected
            assert rows_of(search(query, lake, k=5, plan=plan)) == expected[:5]
    assert 1 in numbers and max(numbers) > 2


def test_ties_are_broken_by_cardinality_then_code_point(build):
    same = ["p", "q"]
    tables = {
        "b": pd.DataFrame({"x": [*same, "r"]}),
        "a": pd.DataFrame({"y": same, "x": same, "Z": same}),
        "é": pd.DataFrame({"x": same}),
        "B": pd.DataFrame({"x": same}),
    }
    hits = search(pd.Series(["P", "q ", "none"]), build(tables))
    assert rows_of(hits) == [
        ("B", "x", 2), ("a", "Z", 2), ("a", "x", 2), ("a", "y", 2), ("é", "x", 2), ("b", "x", 2)
    ]  # fmt: skip


def test_names_beyond_the_basic_plane_are_ordered_by_code_point_across_segments(build, monkeypatch):
    monkeypatch.setattr(driver, "_TASK_INPUT_BYTES", 1)
    same = pd.DataFrame({"x": ["p", "q"]})
    names = ["\U0001f600", "\uffee", "z", "\ue000"]
    for options in ({}, {"segment_bytes": 1}):
        hits = search(pd.Series(["p"]), build(dict.fromkeys(names, same), settings=options))
        assert hits["table"].tolist() == ["z", "\ue000", "\uffee", "\U0001f600"]


@pytest.mark.parametrize("plan", ALL_PLANS)
def test_threshold_compares_in_float64(build, plan):
    """7 of 10 passes 0.7 and 3 of 10 passes 0.3, though neither product is exact."""
    values = [f"v{i}" for i in range(10)]
    tables = {f"t{n}": pd.DataFrame({"c": values[:n]}) for n in range(2, 11)}
    lake = build(tables)
    for n in range(2, 11):
        hits = search(pd.Series(values), lake, threshold=n / 10, plan=plan)
        assert sorted(hits["matched"]) == list(range(n, 11))


def test_threshold_zero_gives_every_column_that_shares_a_value(build):
    lake = build({"a": pd.DataFrame({"x": ["p", "q"], "y": ["r", "s"]})})
    assert rows_of(search(pd.Series(["p"]), lake, threshold=0.0)) == [("a", "x", 1)]


@pytest.mark.parametrize("query", [[], [None, None], ["", "  "]])
def test_a_query_without_values_finds_nothing(build, query):
    lake = build({"a": pd.DataFrame({"x": ["", None, "p", "q"]})})
    assert len(search(pd.Series(query, dtype=object), lake)) == 0


def test_excluded_columns_of_the_build_are_never_found(build):
    tables = {"a": pd.DataFrame({"x": ["p", "q"], "secret": ["p", "q"]})}
    lake = build(tables, exclude="*/secret")
    assert rows_of(search(pd.Series(["p"]), lake)) == [("a", "x", 1)]


def test_a_lake_without_any_indexed_value_can_be_built_and_searched(build):
    lake = build({"a": pd.DataFrame({"x": [0.5, 1.5]}), "b": pd.DataFrame({"y": pd.Series([], dtype=object)})})
    assert lake.tables["table"].tolist() == ["a", "b"]
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["p", "q"]}), "q", lake, rank="matched")
    assert len(hits) == 0


def test_integers_meet_integers(build):
    """`parse_integers` allocates, but is compiled without reference counting: it does not compile."""
    lake = build({"a": pd.DataFrame({"n": [1, 2, 3]})})
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": [2, 3, 4]}), "q", lake, rank="matched")
    assert hits["matched"].tolist() == [2]
