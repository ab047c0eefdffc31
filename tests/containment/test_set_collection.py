"""Columns of lists and pairs of arrays as collections over the same elements."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dfjoin.containment import set_collection
from dfjoin.containment.set_collection import encode_sides
from dfjoin.errors import InvalidParameterError, InvalidTypeError


def as_lists(collection):
    return [
        collection.elements[a:b].tolist() for a, b in zip(collection.indptr[:-1], collection.indptr[1:], strict=True)
    ]


def test_both_sides_share_the_numbers_of_their_elements():
    left, right = encode_sides([["b", "a", "b"], []], pa.array([["c", "a"]], pa.large_list(pa.large_string())))
    assert left.n_elements == right.n_elements == 3
    assert [len(one) for one in as_lists(left)] == [2, 0]
    assert len(set(as_lists(left)[0]) & set(as_lists(right)[0])) == 1


@pytest.mark.parametrize("scale", [1, 1 << 40])
def test_arrays_are_sorted_and_freed_of_repetitions(scale):
    indptr, elements = np.array([0, 3, 3, 5]), np.array([7, 2, 7, 1, 2]) * scale
    left, right = encode_sides((indptr, elements))
    assert left is right
    assert [len(one) for one in as_lists(left)] == [2, 0, 2]
    assert all(one == sorted(set(one)) for one in as_lists(left))
    assert left.elements.dtype == np.uint32


def test_sorted_arrays_are_taken_as_they_are(monkeypatch):
    elements = np.array([1, 2, 9, 0, 9, 3], np.uint32)
    assert encode_sides((np.array([0, 3, 5, 6]), elements))[0].elements is elements
    monkeypatch.setattr(set_collection, "_CHECKED_AT_ONCE", 2)
    assert encode_sides((np.array([0, 3, 5, 6]), elements))[0].elements is elements
    assert as_lists(encode_sides((np.array([0, 4, 4, 6]), elements))[0]) == [[0, 1, 2, 9], [], [3, 9]]


def test_numbers_of_different_kinds_are_compared_by_value():
    left, right = encode_sides([[1, 2]], [[2.0, 1.0, 0.5]])
    assert set(as_lists(left)[0]) <= set(as_lists(right)[0])


def test_columns_of_one_kind_of_value_are_compared():
    day = pd.Timestamp("2024-01-01")
    seconds = pa.array([[day], [day, day]], pa.list_(pa.timestamp("s")))
    coded = pa.array([["a", "b"], None], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    for left, right in ((seconds, [[day]]), (coded, [["b", "a"]]), (pa.array([[1]], pa.list_(pa.int8())), [[1]])):
        sides = encode_sides(left, right)
        assert as_lists(sides[0])[0] == as_lists(sides[1])[0]


def test_missing_values_in_a_set_are_none_of_its_elements():
    left, right = encode_sides([[float("nan"), 1.0], [None]], [[1, 2]])
    assert [len(one) for one in as_lists(left)] == [1, 0]
    assert set(as_lists(left)[0]) < set(as_lists(right)[0])


def test_rows_are_a_collection_of_their_own():
    collection = encode_sides([[1], [2, 3], [], [4]])[0]
    part = collection.rows(1, 3)
    assert [len(one) for one in as_lists(part)] == [2, 0]
    assert part.nbytes == part.indptr.nbytes + part.elements.nbytes


def test_what_is_no_collection_is_refused(monkeypatch):
    with pytest.raises(InvalidTypeError, match=r"`left` must be a column of lists .* whose values have one type"):
        encode_sides(pd.Series(["ab", "c"]))
    with pytest.raises(InvalidTypeError, match=r"`right` must be a column of lists .* whose values have one type"):
        encode_sides([[1]], [[1], 7])
    with pytest.raises(InvalidTypeError, match="`left` must be a column of lists, got one of int64"):
        encode_sides(pa.array([1, 2]))
    with pytest.raises(InvalidTypeError, match="`left` must be a column of lists of plain values"):
        encode_sides([[[1]]])
    with pytest.raises(InvalidTypeError, match="must hold values of one type, got int64 and string; convert"):
        encode_sides([[1]], [["a"]])
    for texts, numbers in (([["1", "2"]], [[1, 2]]), ([[1, 2]], [["1", "2"]]), ([["1.5"]], [[1.5]])):
        with pytest.raises(InvalidTypeError, match="must hold values of one type"):
            encode_sides(texts, numbers)
    with pytest.raises(InvalidTypeError, match="must hold values of one type, got int64 and double"):
        encode_sides([[2**60 + 1]], [[0.5]])
    with pytest.raises(InvalidTypeError, match="`left` must be a column of lists, got DataFrame; pass one column"):
        encode_sides(pd.DataFrame({"a": [[1]]}))
    with pytest.raises(InvalidTypeError, match="must both be columns of lists, or both be"):
        encode_sides((np.array([0]), np.array([], int)), [[1]])
    with pytest.raises(InvalidTypeError, match="`left` must have integer arrays of one dimension, got float64 of 1"):
        encode_sides((np.array([0.0]), np.array([], int)))
    with pytest.raises(InvalidParameterError, match="`left` must have offsets that ascend from 0 to the number"):
        encode_sides((np.array([0, 2, 1]), np.array([1])))
    with pytest.raises(InvalidParameterError, match="`left` must have elements of at least 0, got -1"):
        encode_sides((np.array([0, 1]), np.array([-1])))
    monkeypatch.setattr(set_collection, "MOST_SETS", 1)
    with pytest.raises(InvalidParameterError, match="`left` must have at most 1 sets, got 2"):
        encode_sides([[1], [2]])
