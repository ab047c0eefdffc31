import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.transform.evidence.prepared_columns import Column, as_columns, count_distinct


def column(values):
    return Column("x", pa.array(values, pa.string()))


def test_other_types_are_read_as_text():
    (one, two) = as_columns([("n", pa.array([1, None])), ("c", pa.chunked_array([["a"], ["b"]]))])
    assert one.array.to_pylist() == ["1", None]
    assert two.array.to_pylist() == ["a", "b"]
    assert (one.uniqueness, one.n_present) == (1.0, 1)
    assert column([None]).uniqueness == 0.0


@given(st.lists(st.integers(-1, 5), max_size=9))
def test_distinct_codes_are_counted_without_nulls(codes):
    assert count_distinct(np.array(codes, np.int64), 6) == len(set(codes) - {-1})


def test_rows_of_a_column_are_a_column():
    part = column(["a", "b", None, "b"]).take(np.array([1, 2, 3]))
    assert (part.name, part.array.to_pylist(), part.n_present, part.uniqueness) == ("x", ["b", None, "b"], 2, 0.5)
