"""The stream of pairs: frames, Arrow, files, and nothing before it is read."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dfjoin.containment.result_stream import ContainedPairs


@pytest.fixture
def pairs():
    schema = pa.schema([("left", pa.int64()), ("right", pa.int64())])
    starts = []

    def make():
        starts.append(1)
        yield pa.record_batch([pa.array([2, 1]), pa.array([0, 5])], schema=schema)
        yield pa.record_batch([pa.array([1]), pa.array([3])], schema=schema)

    made = ContainedPairs(schema, make, ["left", "right"], "of 3 and 6 sets")
    made.starts = starts
    return made


def test_pairs_are_read_batch_by_batch(pairs):
    assert repr(pairs).startswith("<ContainedPairs of 3 and 6 sets: left, right;")
    assert pairs.starts == []
    assert [len(frame) for frame in pairs] == [2, 1]
    assert [batch.num_rows for batch in pairs.batches()] == [2, 1]
    assert pairs.count() == 3
    assert len(pairs.starts) == 3


def test_a_frame_is_in_the_order_of_the_pairs(pairs):
    assert pairs.to_frame().equals(pd.DataFrame({"left": [1, 1, 2], "right": [3, 5, 0]}))


def test_arrow_and_parquet_take_the_stream(pairs, tmp_path):
    assert pa.RecordBatchReader.from_stream(pairs).read_all().num_rows == 3
    assert pairs.to_parquet(tmp_path / "pairs.parquet") == 3
    assert pq.read_table(tmp_path / "pairs.parquet").num_rows == 3
