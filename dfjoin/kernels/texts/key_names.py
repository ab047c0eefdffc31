"""What the names of two columns and of their tables tell of a foreign key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.texts.header_words import GENERIC, IDENTIFIER, UNSPECIFIC, HeaderWords

__all__ = ["NAME_FEATURES", "NamedColumns", "compare_names"]

NAME_FEATURES = (
    "same_header",
    "named_header",
    "header_share",
    "table_share",
    "own_key",
    "table_in_table",
    "identifier",
    "key_in_header",
)
"""Columns of `compare_names`.

============== =======================================================================================
same_header    the headers have the same words
named_header   the same, and not only words that stand in tables of any subject
header_share   share of the specific words of the left header that the right header or table has, also as one of the
               words that most tables of a folder have
table_share    share of the specific words of the right table that the left header has
own_key        the left header has no specific word that its own table has not
table_in_table share of the specific words of the right table that the left table has
identifier     the left header has a word such as id, code or key
key_in_header  share of the specific words of the right header that the left header has
============== =======================================================================================
"""

_FOUR_BYTES = np.uint64(32)


class NamedColumns(NamedTuple):
    """Columns and tables by name: `headers` are those of the columns, `table_of` is the table of each column."""

    headers: HeaderWords
    tables: HeaderWords
    table_of: NDArray[np.int64]


@njit_inner
def _n_specific(names, i):
    """Count the specific words of a name."""
    n = 0
    for w in range(names.indptr[i], names.indptr[i + 1]):
        n += names.marks[w] & UNSPECIFIC == 0
    return n


@njit_inner
def _is_generic(names, i):
    """Tell whether a name has only words that stand in tables of any subject."""
    for w in range(names.indptr[i], names.indptr[i + 1]):
        if names.marks[w] & (GENERIC | UNSPECIFIC) == 0:
            return False
    return True


@njit_inner
def _holds(names, i, start):
    """Tell whether a word of a name, specific or not, begins as another one does."""
    for w in range(names.indptr[i], names.indptr[i + 1]):
        if names.starts[w] >> _FOUR_BYTES == start >> _FOUR_BYTES:
            return True
    return False


@njit_inner
def _share_held(names, i, first, first_of, second, second_of):
    """Return the share of the specific words of a name that one of two others has; 0 for a name without any."""
    n = 0
    n_held = 0
    for w in range(names.indptr[i], names.indptr[i + 1]):
        if names.marks[w] & UNSPECIFIC == 0:
            n += 1
            n_held += _holds(first, first_of, names.starts[w]) or _holds(second, second_of, names.starts[w])
    return n_held / n if n > 0 else 0.0


@njit_lean
def compare_names(left, right, columns, out):
    """Compare the names of pairs of columns.

    Parameters
    ----------
    left, right : ndarray of int64, shape (n,)
        Columns.
    columns : NamedColumns
    out : ndarray of float64, shape (n, len(NAME_FEATURES))
        Receives the features.

    Notes
    -----
    Two words are taken to be the same if their first four letters are. O(n words²), with a handful of words to a name.
    """
    headers, tables, table_of = columns.headers, columns.tables, columns.table_of
    for i in range(left.shape[0]):
        a, b = left[i], right[i]
        own, theirs = table_of[a], table_of[b]
        out[i, 0] = headers.joined[a] != 0 and headers.joined[a] == headers.joined[b]
        out[i, 1] = out[i, 0] == 1.0 and not _is_generic(headers, a)
        out[i, 2] = _share_held(headers, a, headers, b, tables, theirs)
        out[i, 3] = _share_held(tables, theirs, headers, a, headers, a)
        out[i, 4] = _n_specific(headers, a) == 0 or _share_held(headers, a, tables, own, tables, own) == 1.0
        out[i, 5] = _share_held(tables, theirs, tables, own, tables, own)
        out[i, 7] = _share_held(headers, b, headers, a, headers, a)
        out[i, 6] = 0.0
        for w in range(headers.indptr[a], headers.indptr[a + 1]):
            if headers.marks[w] & IDENTIFIER:
                out[i, 6] = 1.0
