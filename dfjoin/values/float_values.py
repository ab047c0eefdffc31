"""Columns as numbers, for axes: floats of canonical values, and rows of columns of lists."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels.texts.numbers import INTEGER, NUMBER
from dfjoin.values.cells import CONVERSION_ERRORS, is_list_type
from dfjoin.values.normalize import ValueSet


def to_floats(values: ValueSet) -> NDArray[np.float64]:
    """Return the numbers of a column in canonical form; NaN for what is no finite number.

    Parameters
    ----------
    values : ValueSet

    Returns
    -------
    ndarray of float64, shape (n_rows,)
        Integers above 2^53 are rounded.
    """
    buffers = [None, pa.py_buffer(values.offsets), pa.py_buffer(values.data)]
    texts = pa.Array.from_buffers(pa.large_string(), len(values), buffers)
    is_plain = (values.classes == INTEGER) | (values.classes == NUMBER)
    if is_plain.all():
        distinct = _parse(texts)
    else:
        distinct = np.empty(len(values))
        distinct[is_plain] = _parse(texts.filter(pa.array(is_plain)))
        others = texts.filter(pa.array(~is_plain)).to_pylist()
        distinct[~is_plain] = pd.to_numeric(pd.Series(others, dtype=object), errors="coerce")
    distinct = np.where(np.isfinite(distinct), distinct, np.nan)
    return np.append(distinct, np.nan)[values.codes]


def _parse(texts: pa.Array) -> NDArray[np.float64]:
    """Read numbers in plain spelling, each as the nearest float."""
    try:
        return texts.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:  # one is too large for a float
        return np.array([float(text) for text in texts.to_pylist()])


def to_rows(array: pa.Array | pa.ChunkedArray, dimension: int = 0) -> NDArray[np.float64]:
    """Return a column of lists of numbers as a matrix; NaN for a null, and for a list of another length.

    Parameters
    ----------
    array : pyarrow Array of lists
    dimension : int
        Length of the lists; 0: that of the first.

    Returns
    -------
    ndarray of float64, shape (n_rows, dimension)
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(array), -1).to_numpy(zero_copy_only=False)
    if not dimension:
        dimension = int(next(iter(lengths[lengths > 0]), 0))
    rows = np.full((len(array), dimension), np.nan)
    if not dimension:
        return rows
    chosen = np.flatnonzero(lengths == dimension)
    flat = pc.list_flatten(array.take(pa.array(chosen)))
    rows[chosen] = pc.cast(flat, pa.float64()).to_numpy(zero_copy_only=False).reshape(chosen.size, dimension)
    return rows


def lists_of(column: pd.Series) -> pa.Array | pa.ChunkedArray | None:
    """Return a column of lists of numbers as Arrow; None if it is none."""
    known = column.dropna()
    if column.dtype == object and not (len(known) and isinstance(known.iloc[0], (list, tuple, np.ndarray))):
        return None
    try:
        array = pa.array(column, from_pandas=True)
    except CONVERSION_ERRORS:
        return None
    return array if is_list_type(array.type) else None


def spell_lists(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Write lists of numbers as texts that `parse_lists` reads, so that lists may be keys."""
    texts = [None if row is None else f"[{','.join(map(repr, row))}]" for row in array.to_pylist()]
    return pa.array(texts, pa.large_string())


def parse_lists(values: ValueSet, dimension: int = 0) -> NDArray[np.float64] | None:
    """Return the lists that `spell_lists` wrote as a matrix, as `to_rows` does; None if a value is no list."""
    texts = values.values()
    if not texts or not all(text.startswith("[") and text.endswith("]") for text in texts):
        return None
    rows = [[float("nan" if part == "none" else part) for part in text[1:-1].split(",") if part] for text in texts]
    dimension = dimension or next((len(row) for row in rows if row), 0)
    matrix = np.full((len(rows) + 1, dimension), np.nan)  # the last row serves code -1
    for position, row in enumerate(rows):
        if len(row) == dimension:
            matrix[position] = row
    return matrix[values.codes]
