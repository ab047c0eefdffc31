"""Search with a key of several columns against brute force over the rows of every table."""

import math
import tempfile
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ApproximateResultWarning, DfjoinWarning, InvalidParameterError
from dfjoin.search import composite_search, key_rows, key_tables
from dfjoin.search.column_search import key_result
from dfjoin.search.discover import make_key
from dfjoin.search.key_tables import KeyChoice, KeyTables, TableChoices
from dfjoin.search.params import search_params
from dfjoin.store.table import LakeTable
from tests.oracles import canonical
from tests.oracles.search import match_tuples

pytestmark = pytest.mark.usefixtures("own_temporary_files")  # of make_lake

CELLS = np.array([None, "a", "A ", "b", "ß", "ss", "1", "1.0", "2"], object)
STATES, COUNTIES = ["Ohio", "Texas", "Maine", "Utah"], ["Washington", "Jackson", "Franklin", "Lincoln", "Clay"]
ROWS = [(state, county) for state in STATES for county in COUNTIES]


def expected(df, on, tables, threshold=0.0):
    rows = list(df[on].itertuples(index=False, name=None))
    cells = {name: {c: frame[c].tolist() for c in frame} for name, frame in tables.items()}
    n_keys = len({k for k in (tuple(map(canonical, row)) for row in rows) if None not in k})
    found = match_tuples(rows, cells, canonical)
    return [one for one in found if one[0] >= threshold * n_keys]


def found(hits):
    names = [tuple(text.split(" + ")) for text in hits["column"]]
    return list(zip(hits["matched"].tolist(), hits["cardinality"].tolist(), hits["table"].tolist(), names, strict=True))


def make_lake(tables, keeps_rows=False):
    place, settings = tempfile.mkdtemp(), {"row_signatures": keeps_rows}
    return dfjoin.build_lake(tables, f"{place}/lake", engine="inline", progress=False, settings=settings)


@pytest.mark.parametrize("keeps_rows", [False, True])
@pytest.mark.parametrize(("seed", "n_parts"), [(seed, 2 + seed % 2) for seed in range(10)])
def test_counts_and_order_are_those_of_brute_force(seed, n_parts, keeps_rows):
    rng = np.random.default_rng(seed)

    def frame(columns):
        return pd.DataFrame({c: rng.choice(CELLS, 4 + 2 * seed) for c in columns}, dtype=object)

    df = frame(list("xyz"))
    tables = {name: frame(list("abcd"[: 2 + i])) for i, name in enumerate(["one", "two", "three"])}
    lake = make_lake(tables, keeps_rows)
    on = list("xyz"[:n_parts])
    hits = df.discover_joinable(on, lake, rank="matched", k=10)
    assert found(hits) == expected(df, on, tables)
    told = hits.attrs["dfjoin"]["searches"][0]
    assert told["n_read"] == (0 if keeps_rows else told["candidates"])
    assert hits.attrs["dfjoin"]["complete"]
    every = expected(df, on, tables)
    if every:
        assert found(df.discover_joinable(on, lake, rank="matched", k=1)) == every[:1]
        limit = every[0][0] / max(1, hits["query_cardinality"].iloc[0])
        assert found(df.discover_joinable(on, lake, rank="matched", threshold=limit)) == expected(df, on, tables, limit)
        useful = df.discover_joinable(on, lake, k=10, families=False)
        assert sorted(useful["table"]) == sorted(one[2] for one in every)
        order = list(
            zip(-useful["usefulness"], -useful["matched"], useful["cardinality"], useful["table"], strict=True)
        )
        assert order == sorted(order)


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    people = pd.DataFrame(ROWS, columns=["state", "county"]).assign(population=rng.integers(1000, 9999, len(ROWS)))
    cases = pd.DataFrame([(s, c, y) for s, c in ROWS for y in (2019, 2020)], columns=["st", "county_name", "year"])
    mixed = pd.DataFrame({"state": STATES * 5, "county": sorted(COUNTIES * 4), "z": range(20)}).iloc[:9]
    towns = pd.DataFrame({"county": COUNTIES, "mayor": list("abcde")})
    return {"people": people, "cases": cases.assign(n=range(len(cases))), "mixed": mixed, "towns": towns}


@pytest.fixture(scope="module")
def county_lake(tables):
    return make_lake(tables)


@pytest.fixture(scope="module")
def df():
    return pd.DataFrame(ROWS[::2], columns=["State", "County"]).assign(x=range(10))


def test_rows_do_not_depend_on_segments(tables, df):
    lake = make_lake({name: tables[name] for name in ("people", "mixed")})
    lake.add({name: tables[name] for name in ("cases", "towns")}, engine="inline", progress=False)
    for rank in ("matched", "useful"):
        one = df.discover_joinable(["County", "State"], make_lake(tables), rank=rank, k=9)
        other = df.discover_joinable(["County", "State"], lake, rank=rank, k=9)
        pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(other))


def test_a_table_needs_a_candidate_for_every_column_and_the_most_useful_comes_first(county_lake, df):
    hits = df.discover_joinable(["County", "State"], county_lake)
    assert hits["table"].tolist()[:2] == ["people", "cases"] and "towns" not in set(hits["table"])
    first = hits.iloc[0]
    assert (first["query_column"], first["column"], first["relationship"]) == (
        "County + State",
        "county + state",
        "1:1",
    )
    assert (first["matched"], first["containment"], first["brings"]) == (10, 1.0, "population")
    assert hits["relationship"].iloc[1] == "1:m"
    told = hits.attrs["dfjoin"]["searches"][0]
    assert told["query_column"] == "County + State" and told["n_candidates"] == 3 and told["candidates"] <= 3


def test_no_table_is_read_that_cannot_be_among_the_best(county_lake, df):
    hits = df.discover_joinable(["County", "State"], county_lake, k=1, rank="matched")
    assert hits["table"].tolist() == ["cases"], "as many tuples of as few, and its name comes first"
    assert hits.attrs["dfjoin"]["searches"][0]["candidates"] == 2, "the third one holds too few of the parts"


def test_tables_and_kinds_restrict_the_search(county_lake, df):
    on = ["County", "State"]
    assert df.discover_joinable(on, county_lake, k=9, tables="c*")["table"].tolist() == ["cases"]
    assert "cases" not in set(df.discover_joinable(on, county_lake, k=9, exclude="cases")["table"])
    assert df.discover_joinable(on, county_lake, k=9, kinds="integer").empty


def test_tables_of_one_family_count_once_and_a_copy_comes_last():
    own = pd.DataFrame(ROWS, columns=["state", "county"]).assign(a=range(20), b=range(7, 27), c=list("pqrst") * 4)
    years = {f"years/{y}": own.rename(columns={"a": "d", "b": "e"}).iloc[: 20 - i] for i, y in enumerate((2018, 2019))}
    lake = make_lake(years | {"copies/copy": own})
    hits = own.discover_joinable(["state", "county"], lake, k=9)
    assert hits["table"].tolist() == ["years/2018", "copies/copy"]
    assert hits["n_similar"].tolist() == [1, 0] and hits["copy"].tolist() == [False, True]
    assert len(own.discover_joinable(["state", "county"], lake, k=9, families=False)) == 3
    with pytest.raises(InvalidParameterError, match="`similar` lists tables that share one column, got a result for a"):
        hits.similar(0)


@pytest.mark.parametrize("rank", ["matched", "useful"])
def test_results_with_row_signatures_are_those_of_reading_tables(tables, df, rank):
    stored, lake = make_lake(tables, keeps_rows=True), make_lake(tables)
    own, other = (df.discover_joinable(["County", "State"], one, rank=rank, k=9) for one in (stored, lake))
    pd.testing.assert_frame_equal(pd.DataFrame(own), pd.DataFrame(other))
    for i in range(len(own)):
        told, expected_ = own.explain(i).to_dict(), other.explain(i).to_dict()
        assert {**told, "found_by": None} == {**expected_, "found_by": None}
    stored.add({"more": tables["people"].iloc[:9]}, engine="inline", progress=False)
    hits = df.discover_joinable(["County", "State"], stored, rank=rank, k=9)
    assert hits.attrs["dfjoin"]["searches"][0]["n_read"] == 0 and len(hits) > len(own) - 1


def test_values_of_one_hash_are_told_apart_by_reading(monkeypatch, tables, df):
    lake = make_lake(tables, keeps_rows=True)
    monkeypatch.setattr(key_rows, "tokens_of_column", lambda segment, column: np.zeros(4, np.int64))
    hits = df.discover_joinable(["County", "State"], lake, k=9)
    assert hits.attrs["dfjoin"]["searches"][0]["n_read"] > 0 and hits["table"].iloc[0] == "people"


def test_a_changed_file_is_warned_of_and_left_out(tmp_path, tables, df):
    folder = tmp_path / "data"
    folder.mkdir()
    for name, frame in tables.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    lake = dfjoin.build_lake(folder, tmp_path / "lake", engine="inline", progress=False)
    (folder / "people.csv").write_text("state,county\n")
    with pytest.warns(DfjoinWarning, match="1 tables that may share keys could not be read, the first: the table `peo"):
        hits = df.discover_joinable(["County", "State"], lake)
    assert "people.csv" not in set(hits["table"]) and len(hits)
    assert list(hits.attrs["dfjoin"]["searches"][0]["unread"]) == ["people.csv"]


@pytest.mark.parametrize("rank", ["matched", "useful"])
def test_bounds_and_the_order_in_which_columns_are_tried_change_no_result(monkeypatch, rank):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({c: rng.integers(0, 9, 40) for c in ("year", "player", "team")})
    tables = {
        f"t{i}": pd.DataFrame({c: rng.integers(0, 6 + 3 * i, 60) for c in "abcdefg"[: 3 + i % 4]}) for i in range(9)
    }
    tables["rows"] = pd.DataFrame({"number": np.arange(200), "team": rng.integers(0, 9, 200)})
    tables["copy"] = frame.assign(team=frame["team"])
    lake = make_lake(tables)
    for on in (["year", "player"], ["team", "year", "player"]):
        options = {"rank": rank} | ({"families": False} if rank == "useful" else {})
        hits = frame.discover_joinable(on, lake, k=6, **options)
        with monkeypatch.context() as patch:
            patch.setattr(TableChoices, "__init__", _without_bounds(TableChoices.__init__))
            every = frame.discover_joinable(on, lake, k=6, **options)
        assert found(hits) == found(every) and len(hits) == 6
        names = {name: list(own.columns) for name, own in tables.items()}
        assert all(
            len(set(c.split(" + "))) == len(on) <= len(names[t]) for t, c in zip(hits.table, hits.column, strict=True)
        )


def _without_bounds(init):
    """Let every way reach anything, so that all are counted."""

    def wrapped(self, *args):
        init(self, *args)
        self.useful, self.most = np.full(len(self), math.inf), np.full(len(self), 1 << 60)

    return wrapped


def test_rows_that_hold_other_values_bound_what_a_table_can_share():
    """A column of 1,000 different numbers has one row for each, so that the table is not read."""
    df = pd.DataFrame({"a": np.repeat(np.arange(10), 10), "b": np.tile(np.arange(10), 10)})
    tables = {"right": df.copy(), "serial": pd.DataFrame({"a": np.arange(1000), "b": np.arange(1000) % 10})}
    hits = df.discover_joinable(["a", "b"], make_lake(tables), rank="matched", k=1)
    assert found(hits) == [(100, 100, "right", ("a", "b"))]
    assert hits.attrs["dfjoin"]["searches"][0]["candidates"] == 1


def test_tables_that_serve_more_keys_by_fewer_rows_come_first():
    df = pd.DataFrame(ROWS, columns=["state", "county"])
    every = df.assign(population=range(100, 120))
    lake = make_lake(
        {
            "a_few": every.iloc[::6],
            "b_often": pd.concat([every.assign(year=year) for year in range(2000, 2010)]),
            "c_every": every.assign(sheriff=list("abcdefghijklmnopqrst")),
        }
    )
    hits = df.discover_joinable(["state", "county"], lake, families=False, k=9)
    assert hits["table"].tolist() == ["c_every", "b_often", "a_few"]
    assert hits["matched"].tolist() == [20, 20, 4]


def test_usefulness_is_score_and_gain_and_share_by_the_rows_of_a_key():
    way = KeyChoice((), possible=50, most=40, score=0.8, gain=0.5, n_keys=100)
    assert way.score_of(40) == 0.64 and way.usefulness_of(40, 40) == pytest.approx(0.64 * 0.5 * 0.4)
    assert way.usefulness_of(40, 400) == pytest.approx(0.64 * 0.5 * 0.4 / 2)
    assert way.usefulness_of(40, 4000) == pytest.approx(0.64 * 0.5 * 0.4 / 3, abs=1e-6)
    assert way.usefulness_of(0, 0) == 0.0


def test_a_table_that_takes_too_long_is_left_out(monkeypatch, county_lake, df):
    hurry(monkeypatch)
    with pytest.warns(ApproximateResultWarning, match="ended before all tables were compared, so that some may be mi"):
        hits = df.discover_joinable(["County", "State"], county_lake)
    assert len(hits) == 1 and not hits.attrs["dfjoin"]["complete"]
    hurry(monkeypatch)
    with pytest.warns(ApproximateResultWarning, match="ended before all tables were compared"):
        df.auto_join(county_lake, on=["County", "State"], on_no_match="ignore")


def hurry(monkeypatch, compiling=0.0):
    """Let one and a half seconds go by while a table is read, some for compiling; nothing else takes time."""
    clock = {"now": 0.0}
    batches = LakeTable.batches

    def read(self, columns, *keys):
        for batch in batches(self, columns, *keys):
            clock["now"] += 1.5
            watch.seconds += compiling
            yield batch

    watch = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(composite_search, "watch", watch)
    monkeypatch.setattr(composite_search, "monotonic", lambda: clock["now"])
    monkeypatch.setattr(LakeTable, "batches", read)


def test_kernels_that_are_compiled_while_a_table_is_read_take_nothing_of_the_time(monkeypatch, county_lake, df):
    whole = df.discover_joinable(["County", "State"], county_lake)
    hurry(monkeypatch, compiling=1.5)
    hits = df.discover_joinable(["County", "State"], county_lake)
    assert hits.attrs["dfjoin"]["complete"] and found(hits) == found(whole)


def test_of_ways_that_reach_the_same_that_of_the_first_names_is_returned(monkeypatch, df):
    state, county = zip(*ROWS, strict=True)
    lake = make_lake({"t": pd.DataFrame({"a": county, "b": state, "c": county, "d": state, "v": range(len(ROWS))})})
    whole = df.discover_joinable(["County", "State"], lake, rank="matched")
    monkeypatch.setattr(composite_search, "_AT_ONCE", 1)
    hits = df.discover_joinable(["County", "State"], lake, rank="matched")
    assert hits["column"].tolist() == ["a + b"] == whole["column"].tolist()


def test_what_is_cut_off_is_told(monkeypatch, county_lake, df):
    monkeypatch.setattr(composite_search, "_SECONDS", -1.0)
    with pytest.warns(ApproximateResultWarning):
        hits = df.discover_joinable(["County", "State"], county_lake)
    assert hits.empty and not hits.attrs["dfjoin"]["complete"]
    monkeypatch.undo()
    monkeypatch.setattr(key_tables, "_MOST_CHOICES", 0)
    with pytest.warns(ApproximateResultWarning):
        assert not df.discover_joinable(["County", "State"], county_lake).attrs["dfjoin"]["complete"]


def families_of_tables(rng):
    """Twelve tables of three families, which share from none to all of the rows; some have the parts and not the rows."""
    tables = {}
    for number in range(12):
        order = rng.permutation(len(ROWS))[: rng.integers(4, len(ROWS))]
        states, counties = np.array(ROWS, object)[order].T
        if rng.random() < 0.4:
            counties = np.roll(counties, 1)
        own = {"State": states, "County": counties, **{f"v{number % 3}{i}": range(len(order)) for i in range(3)}}
        tables[f"t{number % 3}_{number}"] = pd.DataFrame(own)
    return tables


@pytest.mark.parametrize(
    "options",
    [
        {"min_score": 0.0},
        {"min_score": 0.0, "k": 1},
        {"min_score": 0.0, "rank": "useful", "threshold": 0.3, "k": 2},
        {"min_score": 0.0, "families": False, "k": 5},
        {"rank": "matched", "k": 3},
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_tables_that_are_dealt_out_give_what_one_queue_gives(df, seed, options):
    lake = make_lake(families_of_tables(np.random.default_rng(seed)))
    params = search_params(**options)
    query = make_key(df, ["County", "State"], lake.snapshot, params)
    tables = composite_search.find_tables(lake.snapshot, query, params)
    whole = pd.DataFrame(df.discover_joinable(["County", "State"], lake, **options))
    for n in (2, 3, 12):
        dealt = composite_search.deal_tables(tables, n, query, params)
        assert len(dealt) == n and sum(one.tables.size for one in dealt) == tables.candidates.tables.size == 12
        parts = [composite_search.search_tables(KeyTables(lake.snapshot, query, one), query, params) for one in dealt]
        merged = composite_search.merge_tables(tables, parts, query, params)
        pd.testing.assert_frame_equal(pd.DataFrame(key_result(lake.snapshot, merged, params)), whole)
        assert merged.stats.is_complete


def test_what_a_part_could_not_do_counts_as_far_as_one_queue_would_have_come(df, tmp_path):
    """A queue of all tables ends before the worse ones: that their files are gone, or the time, is told of no result."""
    states, counties = map(np.array, zip(*ROWS, strict=True))
    for name, n in (("best", 20), ("good", 20), ("gone", 12), ("lost", 9)):
        pd.DataFrame({"State": states[:n], "County": counties[:n], name: range(n)}).to_csv(tmp_path / f"{name}.csv")
    lake = dfjoin.build_lake(tmp_path, f"{tmp_path}/lake", engine="inline", progress=False)
    (tmp_path / "gone.csv").unlink()
    for k, is_told in ((2, False), (4, True)):
        params = search_params(rank="matched", k=k)
        query = make_key(df, ["County", "State"], lake.snapshot, params)
        tables = composite_search.find_tables(lake.snapshot, query, params)
        dealt = composite_search.deal_tables(tables, 4, query, params)
        parts = [composite_search.search_tables(KeyTables(lake.snapshot, query, one), query, params) for one in dealt]
        parts = [
            part._replace(late=[one[0] for one in part.hits if one[2].match.table == "lost.csv"]) for part in parts
        ]
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            merged = composite_search.merge_tables(tables, parts, query, params)
        assert list(merged.notes.get("unread", ())) == ["gone.csv"] * is_told == [name for name in ["gone.csv"] if seen]
        assert merged.stats.is_complete is not is_told
        assert [hit.match.table for hit in merged.hits] == ["best.csv", "good.csv", "lost.csv"][:k]


@pytest.mark.parametrize("cells", [[], [None, None]])
def test_a_key_without_values_has_no_rows(county_lake, cells):
    empty = pd.DataFrame({"a": pd.Series(cells, dtype=object), "b": pd.Series(cells, dtype=object)})
    for rank in ("matched", "useful"):
        hits = empty.discover_joinable(["a", "b"], county_lake, rank=rank)
        assert hits.empty and {"table", "matched"} <= set(hits.columns)


@pytest.mark.parametrize(
    ("on", "options", "text"),
    [
        (["State", "State"], {}, r"`on` must be at most 8 different columns, got \['State', 'State'\]; name each"),
        (["State", "County"], {"weighted": True}, "`weighted` goes with a key of one column, got 2 columns; leave it"),
        (["State", "County"], {"plan": "josie"}, "`plan` goes with a key of one column, got 2 columns; leave it out"),
        (["State", "County"], {"mode": "lsh"}, "`mode` must be 'exact' for a key of several columns, got 'lsh'; leave"),
    ],
)
def test_what_does_not_go_with_several_columns_is_refused(county_lake, df, on, options, text):
    with pytest.raises(InvalidParameterError, match=text):
        df.discover_joinable(on, county_lake, **options)
