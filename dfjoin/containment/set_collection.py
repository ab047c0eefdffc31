"""Collections of sets: columns of lists, or arrays, as numbers that both sides of a join share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.frames.given_frame import series_of
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sets.set_lists import InvertedLists, SetLists, count_elements, fill_lists

MOST_SETS = 2**31 - 1
"""Sets of a collection, at most."""

_CHECKED_AT_ONCE = 1 << 16
_SPARSE = 4
_SMALL = 1 << 16


@dataclass(frozen=True)
class SetCollection:
    """Sets of numbers below `n_elements`, one after the other.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n_sets + 1,)
    elements : ndarray of uint32
        Set i is ``elements[indptr[i] : indptr[i + 1]]``, strictly ascending. May be mapped from a file.
    n_elements : int
        All elements are below it.
    is_absent : ndarray of bool, shape (n_sets,), optional
        Rows that have no set (nulls): they are in no pair. Their stretch is empty.
    """

    indptr: NDArray[np.int64]
    elements: NDArray[np.uint32]
    n_elements: int
    is_absent: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return self.indptr.size - 1

    @cached_property
    def lists(self) -> SetLists:
        """The arrays as kernels take them."""
        return SetLists(as_read_only(self.indptr), as_read_only(self.elements))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of elements of each set."""
        return np.diff(self.indptr)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.indptr.nbytes + self.elements.nbytes

    def empty_rows(self) -> Iterator[int]:
        """Yield the rows whose set is empty: every set holds all of it."""
        for start in range(0, len(self), _CHECKED_AT_ONCE):
            is_empty = np.diff(self.indptr[start : start + _CHECKED_AT_ONCE + 1]) == 0
            if self.is_absent is not None:
                is_empty &= ~self.is_absent[start : start + _CHECKED_AT_ONCE]
            yield from (np.flatnonzero(is_empty) + start).tolist()

    def sizes_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of elements of some sets."""
        return self.indptr[rows + 1] - self.indptr[rows]

    def present_rows(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the rows from `start` up to `stop` that have a set."""
        if self.is_absent is None:
            return np.arange(start, stop)
        return np.flatnonzero(~self.is_absent[start:stop]) + start

    def count_elements(self) -> NDArray[np.int64]:
        """Count the sets that hold each element, shape (n_elements,). O(elements)."""
        counts = np.zeros(self.n_elements, np.int64)
        count_elements(self.lists.elements, counts)
        return counts

    def rows(self, start: int, stop: int) -> SetCollection:
        """Return the sets from `start` up to `stop`; the elements are not copied."""
        indptr = self.indptr[start : stop + 1] - self.indptr[start]
        elements = self.elements[self.indptr[start] : self.indptr[stop]]
        return SetCollection(indptr, elements, self.n_elements)


def encode_sides(left: Any, right: Any = None) -> tuple[SetCollection, SetCollection]:
    """Read two columns of lists, or two pairs of arrays, as collections over the same elements.

    Parameters
    ----------
    left : Series of lists, sequence of collections, pyarrow list array, or (indptr, elements)
        A pair of integer arrays is a collection as it stands: set i is ``elements[indptr[i] : indptr[i + 1]]``.
    right : the same, optional
        None: the left side.

    Returns
    -------
    left, right : SetCollection
        The same object where no right side is given.

    Raises
    ------
    InvalidTypeError
        If a side is neither, or its elements have no common type.
    InvalidParameterError
        If the offsets do not ascend from 0 to the number of elements, an element is negative, or there are too many
        sets.
    """
    is_same = right is None or right is left
    if _is_arrays(left) != _is_arrays(left if is_same else right):
        raise InvalidTypeError("`left` and `right` must both be columns of lists, or both be (indptr, elements)")
    if _is_arrays(left):
        sides = [_checked_arrays(left, "left")] + ([] if is_same else [_checked_arrays(right, "right")])
    else:
        sides = _encoded([_as_lists(left, "left")] + ([] if is_same else [_as_lists(right, "right")]))
    made = _compact(sides)
    return made[0], made[-1]


def _is_arrays(side: Any) -> bool:
    """Tell whether a side is a pair of arrays, and not a column of lists."""
    return isinstance(side, tuple) and len(side) == 2 and all(isinstance(part, np.ndarray) for part in side)


def _checked_arrays(side: tuple[NDArray[Any], NDArray[Any]], name: str) -> _Flat:
    """Return offsets and elements, or raise."""
    indptr, elements = side
    if indptr.ndim != 1 or elements.ndim != 1 or indptr.dtype.kind not in "iu" or elements.dtype.kind not in "iu":
        raise InvalidTypeError(
            f"`{name}` must have integer arrays of one dimension, got {indptr.dtype} of {indptr.ndim} and "
            f"{elements.dtype} of {elements.ndim}"
        )
    is_sound = indptr.size > 0 and indptr[0] == 0 and indptr[-1] == elements.size and _ascends(indptr)
    if not is_sound:
        raise InvalidParameterError(
            f"`{name}` must have offsets that ascend from 0 to the number of elements, {elements.size}, got "
            f"{show(indptr.tolist() if indptr.size < 10 else indptr)}"
        )
    if elements.size and elements.dtype.kind == "i" and elements.min() < 0:
        raise InvalidParameterError(f"`{name}` must have elements of at least 0, got {elements.min()}")
    return _Flat(_checked_rows(indptr.astype(np.int64, copy=False), name), elements, None)


def _checked_rows(indptr: NDArray[np.int64], name: str) -> NDArray[np.int64]:
    """Refuse a collection of more sets than pairs can name."""
    if indptr.size - 1 > MOST_SETS:
        raise InvalidParameterError(f"`{name}` must have at most {MOST_SETS} sets, got {indptr.size - 1}")
    return indptr


@dataclass(frozen=True)
class _Flat:
    """Offsets, elements in any order and number, and which rows have no set."""

    indptr: NDArray[np.int64]
    elements: Any
    is_absent: NDArray[np.bool_] | None


def _as_lists(given: Any, name: str) -> _Flat:
    """Read a column of lists through Arrow."""
    if isinstance(given, (pd.DataFrame, pa.Table, dict, str, bytes)):
        raise InvalidTypeError(f"`{name}` must be a column of lists, got {type(given).__name__}; pass one column")
    try:
        column = series_of(given)
        side = given if column is given else column.array.__arrow_array__().combine_chunks()
        if not isinstance(side, pa.Array):
            side = side.tolist() if isinstance(side, pd.Series) else list(side)
            side = pa.array([_as_list(value) for value in side])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidTypeError(
            f"`{name}` must be a column of lists (tuples, sets, arrays; None for no list) whose values have one type, "
            f"got {show(given)} ({error})"
        ) from error
    if pa.types.is_null(side.type):
        side = side.cast(pa.list_(pa.null()))
    if not (pa.types.is_list(side.type) or pa.types.is_large_list(side.type)):
        raise InvalidTypeError(f"`{name}` must be a column of lists, got one of {side.type}")
    if pa.types.is_nested(side.type.value_type):
        raise InvalidTypeError(f"`{name}` must be a column of lists of plain values, got one of {side.type}")
    offsets = side.offsets.to_numpy().astype(np.int64)
    is_absent = None
    if side.null_count:
        is_absent = side.is_null().to_numpy(zero_copy_only=False)
        lengths = np.where(is_absent, 0, np.diff(offsets))
        indptr = np.append(0, np.cumsum(lengths))
    else:
        indptr = offsets - offsets[0]
    return _Flat(_checked_rows(indptr, name), _plain_values(side.flatten()), is_absent)


def _plain_values(values: pa.Array) -> pa.Array:
    """Return values without dictionary, and null for NaN, as pandas has it."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    return values


def _as_list(value: Any) -> Any:
    """Return a cell as a list; null where the row has none."""
    if value is None or (isinstance(value, float) and value != value) or value is pd.NA:
        return None
    if isinstance(value, (str, bytes)):
        raise TypeError(f"a text is no list: {show(value)}")
    return list(value)


def _encoded(sides: list[_Flat]) -> list[_Flat]:
    """Number the values of all sides together; nulls in a set are left out."""
    types = [side.elements.type for side in sides if not pa.types.is_null(side.elements.type)]
    try:
        wanted = _common_type(types)
        flat = pa.chunked_array([side.elements.cast(wanted) for side in sides], wanted)
    except pa.ArrowException as error:
        raise InvalidTypeError(
            f"`left` and `right` must hold values of one type, got {types[0]} and {types[-1]}; convert one of them"
        ) from error
    codes: Any = flat.dictionary_encode().combine_chunks()
    if isinstance(codes, pa.ChunkedArray):  # as old versions of pyarrow return it
        codes = codes.chunk(0)
    numbers = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    found, start = [], 0
    for side in sides:
        own = numbers[start : start + len(side.elements)]
        start += len(side.elements)
        found.append(_without_nulls(_Flat(side.indptr, own, side.is_absent)))
    return found


def _common_type(types: list[pa.DataType]) -> pa.DataType:
    """Return a type in which equal values of all types are equal; texts are no numbers."""
    if not types or all(one == types[0] for one in types):
        return types[0] if types else pa.string()
    if all(pa.types.is_integer(one) for one in types):
        return pa.int64()
    if all(pa.types.is_integer(one) or pa.types.is_floating(one) for one in types):
        return pa.float64()
    if all(pa.types.is_string(one) or pa.types.is_large_string(one) for one in types):
        return pa.large_string()
    if all(pa.types.is_timestamp(one) and one.tz == types[0].tz for one in types):
        return pa.timestamp("ns", types[0].tz)
    raise pa.ArrowInvalid("no common type")


def _without_nulls(side: _Flat) -> _Flat:
    """Leave out elements of -1."""
    is_value = side.elements >= 0
    if is_value.all():
        return side
    before = np.append(0, np.cumsum(is_value))
    return _Flat(before[side.indptr], side.elements[is_value], side.is_absent)


def _compact(sides: list[_Flat]) -> list[SetCollection]:
    """Number the elements of all sides from 0 on without large gaps, and sort each set."""
    n_all = sum(side.elements.size for side in sides)
    largest = max((int(side.elements.max()) for side in sides if side.elements.size), default=-1)
    if largest >= max(_SMALL, _SPARSE * n_all) or largest >= 2**32 - 1:
        values = np.unique(np.concatenate([side.elements for side in sides]))
        sides = [_Flat(side.indptr, np.searchsorted(values, side.elements), side.is_absent) for side in sides]
        largest = values.size - 1
    return [_sorted_sets(side, largest + 1) for side in sides]


def _sorted_sets(side: _Flat, n_elements: int) -> SetCollection:
    """Sort the elements of each set, and leave out those that it has twice."""
    elements = side.elements.astype(np.uint32, copy=False)
    if _is_sorted(side.indptr, elements):
        return SetCollection(side.indptr, elements, n_elements, side.is_absent)
    owner = np.repeat(np.arange(side.indptr.size - 1, dtype=np.uint64), np.diff(side.indptr))
    keys = (owner << np.uint64(32)) | elements
    del owner
    keys.sort()
    is_new = np.append(True, keys[1:] != keys[:-1])
    before = np.append(0, np.cumsum(is_new))
    elements = (keys[is_new] & np.uint64(2**32 - 1)).astype(np.uint32)
    return SetCollection(before[side.indptr], elements, n_elements, side.is_absent)


def _ascends(indptr: NDArray[Any]) -> bool:
    """Tell whether no offset is below the one before; looks at some ten thousand at a time."""
    starts = range(0, indptr.size, _CHECKED_AT_ONCE)
    return all(bool(np.all(np.diff(indptr[start : start + _CHECKED_AT_ONCE + 1]) >= 0)) for start in starts)


def _is_sorted(indptr: NDArray[np.int64], elements: NDArray[np.uint32]) -> bool:
    """Tell whether each set ascends strictly; looks at some ten thousand elements at a time."""
    n = elements.size
    for start in range(0, n - 1, _CHECKED_AT_ONCE):
        part = elements[start : start + _CHECKED_AT_ONCE + 1]
        breaks = np.flatnonzero(part[1:] <= part[:-1]) + start + 1
        at = np.searchsorted(indptr, breaks)
        if not np.array_equal(indptr[np.minimum(at, indptr.size - 1)], breaks):
            return False
    return True


def inverted_lists(sets: SetLists, counts: NDArray[np.int64]) -> InvertedLists:
    """Return the sets that hold each element, ascending; `counts` has their numbers. O(elements)."""
    ends = np.cumsum(counts)
    rows = np.empty(sets.elements.size, np.int32)
    fill_lists(sets, MOST_SETS, ends - counts, rows)
    return InvertedLists(as_read_only(ends - counts), as_read_only(ends), as_read_only(rows))
