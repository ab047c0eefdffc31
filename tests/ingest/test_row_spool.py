"""Cells of tables on their way into row signatures, in batches of any size and beyond the memory of a task."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin.ingest.row_spool import ColumnCells, TableCells
from dfjoin.kernels.bit_packing import unpack_numbers
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_batch
from tests.index.test_row_group import cells_of


@given(st.lists(st.lists(st.sampled_from([None, "a", "b", "c", "dd", "e"]), max_size=9), max_size=6), st.booleans())
def test_cells_are_ranks_of_hashes(tmp_path_factory, batches, in_file):
    settings = IndexSettings()
    table = TableCells(1 if in_file else 1 << 20, tmp_path_factory.getbasetemp())
    cells = ColumnCells(table)
    hash_of = {}
    for batch in batches:
        values = normalize_batch(pa.array(batch, pa.string()), settings)
        hash_of |= {values.value(code): int(values.hashes[code]) for code in range(len(values))}
        if len(values):
            cells.add(values)
        else:
            cells.skip(len(batch))
    hashes = cells.hashes()
    assert hashes.tolist() == sorted(hash_of.values())
    words, bits = cells.pack(hashes, hashes)
    table.close()
    every = [cell for batch in batches for cell in batch]
    numbers = np.empty(len(every), np.int32)
    unpack_numbers(words, bits, numbers)
    ranks = {text: 1 + hashes.tolist().index(h) for text, h in hash_of.items()}
    assert numbers.tolist() == [ranks.get(cell, 0) for cell in every]


def test_a_value_that_is_a_null_of_the_column_is_none(tmp_path):
    settings = IndexSettings()
    table = TableCells(1 << 20, tmp_path)
    cells = ColumnCells(table)
    values = normalize_batch(pa.array(["x", "NA", "y", "x"]), settings)
    cells.add(values)
    kept = values.hashes[[0, 2]]
    words, bits = cells.pack(kept, kept)
    numbers = np.empty(4, np.int32)
    unpack_numbers(words, bits, numbers)
    assert numbers[1] == 0 and numbers[0] == numbers[3] and sorted(set(numbers.tolist())) == [0, 1, 2]


@pytest.mark.parametrize("task_bytes", [1 << 12, 256 << 20])
def test_tables_beyond_the_memory_of_a_task_have_the_same_rows(tmp_path, task_bytes):
    n = 3000
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": [f"v{i}" for i in rng.integers(0, 900, n)], "b": rng.integers(0, 9, n).astype(str)})
    frame.loc[rng.integers(0, n, 300), "b"] = "NA"
    frame.loc[500:1500, "a"] = None
    (tmp_path / "data").mkdir()
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "data" / "t.parquet", row_group_size=200)
    settings = {"row_signatures": True, "task_bytes": task_bytes}
    lake = dfjoin.build_lake(tmp_path / "data", tmp_path / "lake", engine="inline", progress=False, settings=settings)
    assert cells_of(lake, "t.parquet") == {
        "a": [cell if isinstance(cell, str) else None for cell in frame["a"].tolist()],
        "b": [None if cell == "NA" else cell for cell in frame["b"].tolist()],
    }


def test_dates_that_are_read_before_all_are_known_are_left_to_their_file(tmp_path):
    days = [f"{1 + i % 28:02d}/{1 + i % 12:02d}/{1900 + i % 100}" for i in range(3000)]
    frame = pd.DataFrame({"day": days, "k": [str(i % 7) for i in range(3000)], "j": [f"x{i % 9}" for i in range(3000)]})
    (tmp_path / "data").mkdir()
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "data" / "t.parquet", row_group_size=200)
    settings = {"row_signatures": True, "task_bytes": 1 << 12, "dayfirst": True}
    lake = dfjoin.build_lake(tmp_path / "data", tmp_path / "lake", engine="inline", progress=False, settings=settings)
    assert set(cells_of(lake, "t.parquet")) == {"j", "k"}
    hits = frame.discover_joinable(["day", "k"], lake, rank="matched", k=1)
    assert hits["table"].tolist() == ["t.parquet"] and hits.attrs["dfjoin"]["searches"][0]["n_read"] == 1
