"""A table that is read in parts says what the same table says that is read at once: nulls, dates, profiles, tokens."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.index.components import make_directories, run_directory
from dfjoin.index.segment import Segment
from dfjoin.ingest.merge_task import decided_part, merge_into_segment
from dfjoin.ingest.read_task import TableFeed, build_part, build_run
from dfjoin.types import IndexSettings, Root, TableSource

SETTINGS = IndexSettings(permutations=0, samples=0)


def feed(columns, starts, ends):
    """The rows of a table from `starts` to `ends`, in batches of two rows."""
    names = list(columns)
    record = {
        "name": "t", "root": 0, "path": "t", "format": "spark", "size": 0, "mtime_ns": 0, "fingerprint": 0,
        "dialect": "", "parts": [], "version": "", "part_sizes": [], "part_times": [], "part_fingerprints": [],
    }  # fmt: skip
    arrays = [pa.array(columns[name][starts:ends], pa.string()) for name in names]
    return TableFeed(record, names, iter(pa.table(arrays, names=names).to_batches(max_chunksize=2)), 0)


def described(index, meta):
    """What the catalogue says of the columns, and the values that each holds."""
    segment = Segment(index, meta)
    tokens, catalog = segment.tokens, segment.catalog
    texts = [
        tokens.value_bytes[a:b].tobytes().decode()
        for a, b in zip(tokens.value_offsets, tokens.value_offsets[1:], strict=False)
    ]
    values = {}
    n_columns = segment.n_columns
    for token, group in enumerate(tokens.group.tolist()):
        of_list = group - n_columns
        columns = [group] if of_list < 0 else tokens.list_columns[slice(*tokens.list_indptr[of_list : of_list + 2])]
        for column in columns:
            values.setdefault(int(column), []).append(texts[token])
    same = ("name", "kind", "is_indexed", "n_rows", "n_null", "cardinality", "min", "max", "date_order")
    return [
        [*(record[name] for name in same), sorted(record["null_spellings"]), sorted(values.get(number, []))]
        for number, record in enumerate(catalog.column_records(range(n_columns)))
    ]


def read_at_once(index, columns, settings):
    source = TableSource("t", Root(0, "r", "/r"), "t", "parquet", 0, 0)
    n = len(next(iter(columns.values())))
    run = build_run([source], index, settings, feeds=lambda *_: [("t", lambda: feed(columns, 0, n))])
    return described(index, merge_into_segment([run_directory(index, run.id)], index, settings, [])[1])


def read_in_parts(index, columns, settings, cuts):
    n = len(next(iter(columns.values())))
    bounds = [0, *sorted(cuts), n]
    parts = [build_part(feed(columns, a, b), index, settings) for a, b in zip(bounds, bounds[1:], strict=False)]
    places = [run_directory(index, part.id) for part in parts]
    return described(index, merge_into_segment(places, index, settings, [])[1])


COLUMNS = {
    "mixed dates": ["1/2/2024", "28/1/2024", "3/4/2024", "5/6/2024", "NA", "7/8/2024"],
    "american": ["1/2/2024", "1/28/2024", "3/4/2024", "3/4/2024", "3/4/2024", "-"],
    "ambiguous": ["1/2/2024", "1/2/2024", "3/4/2024", "3/4/2024", "5/6/2024", "5/6/2024"],
    "not only dates": ["1/2/2024", "28/1/2024", "3/4/2024", "5/6/2024", "soon", "7/8/2024"],
    "countries": ["na", "de", "fr", "it", "es", "NA"],
    "numbers": ["1", "NA", "3", "n/a", "5", "-"],
    "nothing else": ["NA", "NA", "NA", "NA", "-", "-"],
    "one": ["NA"] * 6,
    "constant": ["x"] * 6,
    "constant but for nulls": ["x", "x", "x", "-", "x", "x"],
    "signs": ["+", "-", "+", "-", "+", "-"],
    "nulls": [None] * 6,
    "first half": ["a", "b", "c", None, None, None],
    "words": ["red", "none", "blue", "NULL", "green", None],
    "numbers and a word": ["1", "2", "3", "4", "5", "six"],
}  # fmt: skip


@pytest.mark.parametrize("cuts", [[3], [1, 2, 3, 4, 5], [0, 6], [2, 2, 4]])
@pytest.mark.parametrize("dayfirst", [None, True])
def test_parts_decide_together(tmp_path, cuts, dayfirst):
    settings = IndexSettings(permutations=0, samples=0, dayfirst=dayfirst, exclude=("t/words",))
    make_directories(tmp_path)
    whole = read_at_once(tmp_path, COLUMNS, settings)
    parts = read_in_parts(tmp_path, COLUMNS, settings, cuts)
    for one, other in zip(parts, whole, strict=True):
        if other[0] != "words":
            assert one == other
            continue
        assert one[:5] == other[:5] and one[-1] == other[-1] == []  # left out: no value is kept


CELLS = st.sampled_from(
    ["NA", "na", "-", "n/a", "none", None, "1/2/2024", "13/2/2024", "2/13/2024", "de", "fr", "it", "x", "12", "?", "+"]
)


@given(st.lists(CELLS, min_size=1, max_size=14), st.lists(st.integers(0, 14), max_size=4))
def test_parts_of_any_column_decide_together(tmp_path_factory, cells, cuts):
    index = tmp_path_factory.mktemp("index")
    make_directories(index)
    columns = {"c": cells}
    cuts = [min(cut, len(cells)) for cut in cuts]
    assert read_in_parts(index, columns, SETTINGS, cuts) == read_at_once(index, columns, SETTINGS)


def test_parts_that_leave_nothing_open_need_no_further_part(tmp_path):
    make_directories(tmp_path)
    numbers = TableFeed(
        feed({"c": []}, 0, 0).record, ["c"], iter([pa.record_batch([pa.array([True, False])], names=["c"])]), 0
    )
    run = build_part(numbers, tmp_path, IndexSettings(permutations=0, null_evidence=False))
    assert decided_part([run_directory(tmp_path, run.id)], SETTINGS) is None


def test_spilled_values_are_decided_on_too(tmp_path):
    make_directories(tmp_path)
    settings = IndexSettings(permutations=0, samples=0, task_bytes=200)
    rng = np.random.default_rng(3)
    columns = {
        "words": [["NA", f"word {i}"][i % 3 > 0] for i in rng.integers(0, 60, 200).tolist()],
        "days": [f"{i % 28 + 1}/{i % 12 + 1}/2024" for i in rng.integers(0, 400, 200).tolist()],
    }
    whole = read_at_once(tmp_path, columns, settings)
    assert [column[8] for column in whole] == ["dmy", ""] and whole[1][9] == ["na"]
    assert read_in_parts(tmp_path, columns, settings, [50, 120, 121]) == whole
