"""What the name of a column or of a table has to do with the header of a query."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.sorting import lower_bound
from dfjoin.kernels.texts.header_words import (
    DIGITS,
    IDENTIFIER,
    MEASURE,
    NAMING,
    THING,
    UNSPECIFIC,
    has_no_subject,
    is_short_for,
)

SAME, DISJOINT, ALIKE, IN_FRAME, IS_NAMING, IS_MEASURE = 1, 2, 4, 8, 16, 32
"""What a header has to do with the query's, see `header_marks`; IN_FRAME: the frame has it for another column."""

IN_TABLE, NAMES_TABLE = 1, 2
"""What the name of a table has to do with the query's header, see `table_marks`."""

JOINED, FIRST_BYTES, SAID = range(3)
"""Columns of what is looked at first of a name, see `briefs_of`."""

_FOUR_BYTES = np.uint64(32)
_FIRST_BYTE = np.uint64(56)
_BITS = np.uint64(63)


@njit_inner
def _first_bytes(names, number):
    """Return a set of bits of the first bytes of the specific words of a name."""
    found = np.uint64(0)
    for w in range(names.indptr[number], names.indptr[number + 1]):
        if names.marks[w] & UNSPECIFIC == 0:
            found |= np.uint64(1) << ((names.starts[w] >> _FIRST_BYTE) & _BITS)
    return found


def briefs_of(names):
    """Return what is looked at first of names: most have no word that begins as one of a query's header does.

    Parameters
    ----------
    names : HeaderWords

    Returns
    -------
    ndarray of uint64, shape (n, 3)
        The hash of each, a set of bits of the first bytes of its specific words, and whether it is IS_NAMING and
        IS_MEASURE, see `header_marks`. Of numpy, as it is made once.
    """
    n = names.joined.size
    owner = np.repeat(np.arange(n), np.diff(names.indptr))
    briefs = np.zeros((n, SAID + 1), np.uint64)
    briefs[:, JOINED] = names.joined
    bits = np.uint64(1) << ((names.starts >> _FIRST_BYTE) & _BITS)
    np.bitwise_or.at(briefs[:, FIRST_BYTES], owner, np.where(names.marks & UNSPECIFIC == 0, bits, np.uint64(0)))
    says = np.where(names.marks & (NAMING | THING) > 0, IS_NAMING, 0) | np.where(
        names.marks & MEASURE > 0, IS_MEASURE, 0
    )
    np.bitwise_or.at(briefs[:, SAID], owner, says.astype(np.uint64))
    return briefs


@njit_inner
def _has_word(words, marks, start, end, value):
    """Tell whether a specific word of a name is the given one."""
    for w in range(start, end):
        if words[w] == value and marks[w] & UNSPECIFIC == 0:
            return True
    return False


@njit_inner
def _has_subject(names, start, end):
    """Tell whether a name has a word that is neither unspecific nor one for identifiers."""
    for w in range(start, end):
        if names.marks[w] & (UNSPECIFIC | NAMING) == 0:
            return True
    return False


@njit_inner
def _are_words_held(names, start, end, others, others_start, others_end):
    """Tell whether each subject word of a name is short for a specific word of another name, or the reverse.

    Where a name has no other words, those for identifiers are its subject.
    """
    without = UNSPECIFIC | NAMING if _has_subject(names, start, end) else UNSPECIFIC
    n = 0
    for a in range(start, end):
        if names.marks[a] & without == 0:
            n += 1
            is_found = False
            for b in range(others_start, others_end):
                is_found = is_found or (
                    others.marks[b] & UNSPECIFIC == 0 and is_short_for(names.starts[a], others.starts[b])
                )
            if not is_found:
                return False
    return n > 0


@njit_inner
def _head(names, start, end, without):
    """Return the last word of a name that has none of some marks, and is no number; 0 for none."""
    for w in range(end - 1, start - 1, -1):
        if names.marks[w] & (without | DIGITS) == 0:
            return names.starts[w]
    return np.uint64(0)


@njit_inner
def _have_one_head(names, start, end, query):
    """Tell whether the last specific words of two names are alike, with or without those for identifiers."""
    n = query.words.shape[0]
    one, other = _head(names, start, end, UNSPECIFIC), _head(query, 0, n, UNSPECIFIC)
    if one == 0 or other == 0:
        return False
    if is_short_for(one, other):
        return True
    if _has_subject(names, start, end):
        one = _head(names, start, end, UNSPECIFIC | NAMING)
    if _has_subject(query, 0, n):
        other = _head(query, 0, n, UNSPECIFIC | NAMING)
    return one != 0 and other != 0 and is_short_for(one, other)


@njit_inner
def header_marks(header, headers, briefs, query):
    """Compare the header of a query with another one.

    Parameters
    ----------
    header : int
        Number of the other one.
    headers : HeaderWords
    briefs : ndarray of uint64
        Of these headers, see `briefs_of`.
    query : HeaderWords
        One name.

    Returns
    -------
    int
        Marks:

        - SAME: the words are the same.
        - DISJOINT: both have specific words, and no two of them begin alike.
        - ALIKE: each subject word of one is short for a word of the other one, or the reverse, the last one for the
          last one: ``cust_no`` and ``customer_number``, but not ``product_id`` and ``product_category_id``, nor a name
          of any subject (``index``).
        - IS_NAMING, IS_MEASURE: numbers under the other one name something; or were measured or counted.

    Notes
    -----
    O(words²), with a handful of words to a name.
    """
    marks, own = np.int64(briefs[header, SAID]), _first_bytes(query, 0)
    if query.joined[0] != 0 and briefs[header, JOINED] == query.joined[0]:
        return SAME | marks
    if briefs[header, FIRST_BYTES] & own == 0:
        return DISJOINT | marks if briefs[header, FIRST_BYTES] != 0 and own != 0 else marks
    first, last = headers.indptr[header], headers.indptr[header + 1]
    n = query.words.shape[0]
    has_head = _have_one_head(headers, first, last, query) and not has_no_subject(headers, header)
    if has_head and (
        _are_words_held(headers, first, last, query, 0, n) or _are_words_held(query, 0, n, headers, first, last)
    ):
        marks |= ALIKE
    for a in range(n):
        for w in range(first, last):
            if (
                query.marks[a] & UNSPECIFIC == 0
                and headers.marks[w] & UNSPECIFIC == 0
                and query.starts[a] >> _FOUR_BYTES == headers.starts[w] >> _FOUR_BYTES
            ):
                return marks
    return DISJOINT | marks


@njit_inner
def table_marks(table, tables, briefs, query):
    """Compare the header of a query with the name of a table.

    Parameters
    ----------
    table : int
        Number of the table.
    tables : HeaderWords
        Names of tables.
    briefs : ndarray of uint64
        Of these names, see `briefs_of`.
    query : HeaderWords
        One name.

    Returns
    -------
    int
        Marks:

        - IN_TABLE: a specific word of the query's header, no number, is in the name of the table.
        - NAMES_TABLE: the query's header names the table, or is short for its name: ``species_id`` a table ``species``,
          ``emp`` a table ``employees``.

    Notes
    -----
    O(words²), with a handful of words to a name.
    """
    if briefs[table, FIRST_BYTES] & _first_bytes(query, 0) == 0:
        return 0
    first, last = tables.indptr[table], tables.indptr[table + 1]
    marks, n = 0, query.words.shape[0]
    if _have_one_head(tables, first, last, query) and _are_words_held(query, 0, n, tables, first, last):
        marks = NAMES_TABLE
    for a in range(query.words.shape[0]):
        is_found = _has_word(tables.words, tables.marks, first, last, query.words[a])
        if is_found and query.marks[a] & (UNSPECIFIC | DIGITS) == 0:
            marks |= IN_TABLE
    return marks


@njit_inner
def is_identifier(header, headers, table, tables, query):
    """Tell whether a column is the identifier of its table, which a query's header names: ``id`` of ``species``.

    Parameters
    ----------
    header : int
        Number of the column's header.
    headers : HeaderWords
    table : int
        Number of the table.
    tables : HeaderWords
        Names of tables.
    query : HeaderWords
        One name.

    Returns
    -------
    bool

    Notes
    -----
    O(words²), with a handful of words to a name.
    """
    first, last = tables.indptr[table], tables.indptr[table + 1]
    for w in range(headers.indptr[header], headers.indptr[header + 1]):
        if headers.marks[w] & (IDENTIFIER | NAMING) == 0:
            is_known = False
            for t in range(first, last):
                is_known = is_known or is_short_for(tables.starts[t], headers.starts[w])
            for a in range(query.words.shape[0]):
                is_known = is_known or is_short_for(query.starts[a], headers.starts[w])
            if not is_known:
                return False
    return True


_ALIKE = 0.5
"""Share of the headers of a frame and a table together that both have, at least, for them to be alike."""


class HeaderPositions(NamedTuple):
    """Where each header of a segment stands: hashes of headers, ascending, and the table of the column of each.

    `n_named` has the columns of each table whose header has a letter or a digit; `folders` a number for each table that
    tables of one folder of the lake share; `is_alive` is 1 for tables that were not removed.
    """

    headers: NDArray[np.uint64]
    tables: NDArray[np.int32]
    n_named: NDArray[np.int64]
    folders: NDArray[np.int64]
    is_alive: NDArray[np.uint8]


class FrameHeaders(NamedTuple):
    """What the tables of a segment have of the headers of a frame.

    `n_held` are the columns of each table that have the header of a column of the frame other than the query, `n_named`
    those that have the query's. `is_near` is 1 for each folder with a table that is most like the frame by its headers,
    if tables lie elsewhere, too.
    """

    n_held: NDArray[np.int64]
    n_named: NDArray[np.int64]
    is_near: NDArray[np.uint8]


@njit_inner
def _add_columns(header, positions, counts):
    """Count the columns of each table that have a header."""
    n = positions.headers.shape[0]
    for i in range(lower_bound(positions.headers, 0, n, header), n):
        if positions.headers[i] != header:
            break
        counts[positions.tables[i]] += 1


@njit_inner
def _mark_folders(header, positions, n_own, best, frame):
    """Mark the folders of the tables with a header that are the most like a frame; return how much they are."""
    n = positions.headers.shape[0]
    for i in range(lower_bound(positions.headers, 0, n, header), n):
        if positions.headers[i] != header:
            break
        table = positions.tables[i]
        n_shared = frame.n_held[table] + frame.n_named[table]
        likeness = n_shared / max(np.int64(1), positions.n_named[table] + n_own - n_shared)
        if likeness < max(best, _ALIKE) or not positions.is_alive[table]:
            continue
        if likeness > best:
            best = likeness
            frame.is_near[:] = 0
        frame.is_near[positions.folders[table]] = 1
    return best


@njit_lean
def compare_headers(own, companions, positions, best, frame):
    """Compare the headers of a frame with those of each table of a segment.

    Parameters
    ----------
    own : uint64
        Hash of the header of the query column, 0 where it has no letter and no digit.
    companions : ndarray of uint64
        Distinct hashes of the headers of the other columns.
    positions : HeaderPositions
    best : float
        How much the table of other segments is like the frame that is the most like it, 0 at first.
    frame : FrameHeaders
        Zeros, but for the folders that other segments have marked; receives what the tables have.

    Returns
    -------
    float
        `best` with this segment.

    Notes
    -----
    Two sets of headers are alike as far as their Jaccard similarity is large; a frame of one header is like none.
    O(columns that have one of the headers).
    """
    for c in range(companions.shape[0]):
        _add_columns(companions[c], positions, frame.n_held)
    if own != 0:
        _add_columns(own, positions, frame.n_named)
    if companions.shape[0] > 0:
        n_own = companions.shape[0] + np.int64(own != 0)
        for c in range(companions.shape[0]):
            best = _mark_folders(companions[c], positions, n_own, best, frame)
        if own != 0:
            best = _mark_folders(own, positions, n_own, best, frame)
    return best
