"""A column of strings as distinct folded texts, over which everything else here works."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.values.unicode import normalize_text

__all__ = ["Texts", "fold_text", "fold_texts"]

_NO_WORD = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Texts:
    """The distinct texts of a column and which row holds which.

    Parameters
    ----------
    values : list of str
        Distinct folded texts, ascending, none of them empty.
    codes : ndarray of int64, shape (n_rows,)
        Number of each row's text; -1 for a null and for an empty text.
    """

    values: list[str]
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def points(self) -> NDArray[np.uint32]:
        """Code points of the texts, one text after the other."""
        return np.frombuffer("".join(self.values).encode("utf-32-le", "surrogatepass"), np.uint32)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Where each text starts and ends in `points`; int64, shape (n + 1,)."""
        offsets = np.zeros(len(self.values) + 1, np.int64)
        np.cumsum([len(value) for value in self.values], out=offsets[1:])
        return offsets

    @property
    def n_present(self) -> int:
        """Rows that hold a text."""
        return int(np.count_nonzero(self.codes >= 0))

    def rows_of(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of each text as sparse rows: indptr, shape (n + 1,), and row numbers."""
        order = np.argsort(self.codes, kind="stable")
        order = order[np.count_nonzero(self.codes < 0) :]
        indptr = np.zeros(len(self) + 1, np.int64)
        np.cumsum(np.bincount(self.codes[order], minlength=len(self)), out=indptr[1:])
        return indptr, order.astype(np.int64)


def fold_text(value: str) -> str:
    """Return a text without case, accents and punctuation: words of letters and digits, one space between.

    Parameters
    ----------
    value : str

    Returns
    -------
    str
        A value without any letter or digit keeps its signs, so that "+" and "-" stay two values.

    Examples
    --------
    >>> fold_text("  Café-Müller, (Ltd.) ")
    'cafe muller ltd'
    >>> fold_text("++")
    '++'
    """
    text = normalize_text(value)
    if not text.isascii():
        plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        text = unicodedata.normalize("NFC", plain).casefold()
    return _NO_WORD.sub(" ", text).strip() or text


def fold_texts(column: pa.Array | pa.ChunkedArray) -> Texts:
    """Fold a column of strings; equal texts become one.

    Parameters
    ----------
    column : pyarrow Array or ChunkedArray of strings

    Returns
    -------
    Texts
        Sorted, so that nothing depends on the order of the rows.

    Notes
    -----
    O(characters + n log n) in Python's string functions, about 2 µs a distinct value.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    encoded = pc.dictionary_encode(column.cast(pa.large_string()))
    folded = [fold_text(value) for value in encoded.dictionary.to_pylist()]
    values = sorted(set(folded) - {""})
    number = {value: i for i, value in enumerate(values)}
    of_raw = np.array([number.get(text, -1) for text in folded] + [-1], np.int64)
    raw = encoded.indices.fill_null(len(folded)).to_numpy(zero_copy_only=False).astype(np.int64)
    return Texts(values, of_raw[raw])
