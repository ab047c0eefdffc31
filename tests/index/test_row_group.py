"""Row signatures of an index: every cell is read back, whatever changed the index; damage is told."""

import json

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IndexCorruptedError
from dfjoin.index.column_values import tokens_of_column, value_of_token
from dfjoin.index.row_group import pack_codes, row_codes
from tests.oracles import canonical

SETTINGS = {"row_signatures": True}
CELLS = np.array([None, "a", "A ", "b", "ß", "ss", "1", "1.0", "2", "NA"], object)


def cells_of(lake, table):
    """Read the cells of a table from its row signatures, in canonical form."""
    segment, number = lake.snapshot.find_table(table)
    record = segment.catalog.table_record(number)
    cells = {}
    for column in range(record["first_column"], record["first_column"] + record["n_columns"]):
        codes = row_codes(segment, column)
        if codes is not None:
            tokens = np.sort(tokens_of_column(segment, column)).tolist()
            texts = [value_of_token(segment, token) for token in tokens]
            cells[segment.catalog.column_name(column)] = [texts[code] if code >= 0 else None for code in codes]
    return cells


def expected(frame):
    return {name: [canonical(cell) for cell in frame[name].tolist()] for name in frame}


def frame(seed, n, columns="abc"):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({c: rng.choice(CELLS[:9], n) for c in columns}, dtype=object)


def build(tmp_path, tables, **settings):
    given = {**SETTINGS, **settings}
    return dfjoin.build_lake(tables, tmp_path / "lake", engine="inline", progress=False, settings=given)


def test_rows_are_kept_by_every_change(tmp_path):
    tables = {f"t{i}": frame(i, 5 + 40 * i) for i in range(4)}
    lake = build(tmp_path, {name: tables[name] for name in ("t0", "t2")})
    lake.add({"t1": tables["t1"], "t3": tables["t2"]}, engine="inline", progress=False)
    assert cells_of(lake, "t3") == expected(tables["t2"])
    lake.replace({"t3": tables["t3"]}, engine="inline", progress=False)
    lake.remove("t0")
    for _ in range(2):
        for name in ("t1", "t2", "t3"):
            assert cells_of(lake, name) == expected(tables[name])
        lake.compact(full=True)
        lake.vacuum(0)
    assert lake.verify() == [] and len(lake.segments) == 1


def test_nulls_and_dates_are_those_of_the_whole_column(tmp_path):
    days = pd.DataFrame({"day": ["1/2/2020", "13/2/2020", None], "n": ["NA", "7", "8"], "x": ["p", "q", "q"]})
    assert cells_of(build(tmp_path, {"days": days}), "days") == {
        "day": ["2020-02-01", "2020-02-13", None],
        "n": [None, "7", "8"],
        "x": ["p", "q", "q"],
    }


def test_a_table_with_one_indexed_column_has_no_rows(tmp_path):
    lake = build(tmp_path, {"one": pd.DataFrame({"a": ["x", "y"], "f": [0.5, 1.5]}), "two": frame(1, 9, "ab")})
    assert cells_of(lake, "one") == {} and set(cells_of(lake, "two")) == {"a", "b"}
    assert (lake.segments[0].rows.bits > 0).tolist() == [False, False, True, True]


def test_an_index_without_them_has_none_and_merges_with_one_that_has_them(tmp_path):
    lake = build(tmp_path, {"t": frame(1, 9)}, row_signatures=False)
    assert lake.segments[0].rows is None and row_codes(lake.segments[0], 0) is None
    assert "rows" not in json.loads(lake.manifest.to_json())["reader_features"]
    lake.add_row_signatures().add({"u": frame(2, 9)}, engine="inline", progress=False)
    assert "rows" in json.loads(lake.manifest.to_json())["reader_features"]
    assert cells_of(lake.compact(full=True), "t") == expected(frame(1, 9))


@pytest.mark.parametrize("n_values", [1, 2, 255, 256])
def test_a_code_takes_as_many_bits_as_it_needs(n_values):
    codes = np.arange(-1, n_values, dtype=np.int32)
    words, bits = pack_codes([codes[:1], codes[1:]], codes.size, n_values)
    assert bits == n_values.bit_length() and words.size == -(-codes.size * bits // 64)


@pytest.mark.parametrize(
    ("component", "change", "message"),
    [
        ("row_bits", lambda a: a + np.uint8(9), "the rows of a column do not fit its catalogue entry"),
        (
            "row_bits",
            lambda a: np.where(a > 0, 40, 0).astype(np.uint8),
            "the rows of a column do not fit its catalogue",
        ),
        ("row_words", lambda a: ~a, "a row names a value that its column does not have"),
        ("row_starts", lambda a: a[::-1].copy(), r"it goes from \d+ to 0, not from 0 to"),
    ],
)
def test_damage_is_told(tmp_path, component, change, message):
    build(tmp_path, {"t": frame(3, 30).fillna("q")})
    path = next((tmp_path / "lake" / "segments").glob(f"*/rows-*/{component}.npy"))
    np.save(path, change(np.load(path)))
    segment = dfjoin.open_lake(tmp_path / "lake").segments[0]
    with pytest.raises(IndexCorruptedError, match=message):
        [row_codes(segment, column) for column in range(3)]
