"""A few rows of a candidate's table, as an example of the join."""

import pandas as pd

import dfjoin
from dfjoin.search.joined_rows import N_ROWS, rows_as_text

TABLE = {
    "v": [None, 1.5, 2.0, 2.5, 3.0, 9.0],
    "land": ["Nauru", "Chad ", "chad", "PERU", "Fiji", "Mali"],
    "x": [""] * 6,
}


def explained(values, lake):
    frame = pd.DataFrame({"land": values})
    return frame.discover_joinable("land", lake, tables="t*", min_score=0).explain(0).rows


def test_rows_are_the_first_of_distinct_shared_values_with_the_key_first(build):
    rows = explained(["chad", "fiji", "peru", "nauru", "oslo"], build({"t": pd.DataFrame(TABLE)}))
    assert len(rows) == N_ROWS and [next(iter(row)) for row in rows] == ["land"] * N_ROWS
    assert [row["land"] for row in rows] == ["Nauru", "Chad ", "PERU"]
    assert [row["v"] for row in rows] == [None, "1.5", "2.5"]


def test_fewer_shared_values_have_fewer_rows_and_few_columns(build):
    wide = pd.DataFrame({"land": TABLE["land"], **{f"c{i}": range(6) for i in range(20)}})
    (row,) = explained(["mali", "oslo"], build({"t": wide}))
    assert list(row) == ["land", "c0", "c1", "c2", "c3", "c4"] and row["c0"] == "5"


def test_a_table_that_is_gone_shows_no_rows(tmp_path):
    directory = tmp_path / "files"
    directory.mkdir()
    pd.DataFrame(TABLE).to_csv(directory / "t.csv", index=False)
    lake = dfjoin.build_lake(directory, tmp_path / "index", engine="inline", progress=False)
    hits = pd.DataFrame({"land": ["chad", "fiji", "peru"]}).discover_joinable("land", lake, min_score=0)
    (directory / "t.csv").unlink()
    told = hits.explain(0)
    assert told.rows == [] and "rows that join" not in str(told)


def test_rows_as_lines_of_text():
    assert rows_as_text([]) == []
    assert rows_as_text([{"a": "x", "b": None}, {"a": "yy", "b": "1"}]) == [" a b", " x  ", "yy 1"]


def test_columns_that_have_values_come_first_in_rows_and_in_what_a_hit_brings(build):
    lands, n = TABLE["land"], len(TABLE["land"])
    years = {str(year): [None] * (n - 2) + [1.5, 2.5] for year in range(1800, 1820)}
    lake = build({"t": pd.DataFrame({"land": lands, **years, "area": range(n), "2000": [None, *range(n - 1)]})})
    frame = pd.DataFrame({"land": ["nauru", "chad", "peru"]})
    hits = frame.discover_joinable("land", lake, min_score=0)
    assert hits["brings"][0].startswith("area, 2000, 1800, 1801, ")
    assert list(hits.explain(0).rows[0]) == ["land", "area", "2000", "1800", "1801", "1802"]
    late = pd.DataFrame({"land": lands, **{f"c{i}": [*range(4), None, None] for i in range(9)}, "w": [1] * n})
    (row,) = explained(["mali"], build({"t": late}))
    assert list(row) == ["land", "w", "c0", "c1", "c2", "c3"] and row["w"] == "1"
