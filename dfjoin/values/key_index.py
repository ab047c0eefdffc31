"""Values and keys in memory, ready to be looked up: the number of the key of each row, and of rows of another side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lists.vocabulary import ValueSlots, enter_values, find_numbers
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.sorting import are_all_rows, distinct_numbers
from dfjoin.kernels.texts.integers import find_integers, meet_ascending
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import ValueSet, read_only, table_size, unite_value_sets

_MOST_PAIRS = 1 << 24
"""Pairs of codes of which a table is made."""


class Vocabulary:
    """The distinct values of a column, ready to be looked up. O(n).

    Parameters
    ----------
    values : ValueSet
        Distinct values of the one side.
    """

    def __init__(self, values: ValueSet) -> None:
        self._values = values
        self._last: tuple[ValueSet, NDArray[np.int64]] | None = None
        self._same: tuple[ValueSet, bool] | None = None

    def holds_same(self, values: ValueSet) -> bool:
        """Tell whether other values are these, in the same order, as those of copies of one key are."""
        same = self._same
        if same is None or same[0] is not values:
            same = self._same = values, _are_equal(values, self._values)
        return same[1]

    def codes_of(self, values: ValueSet) -> NDArray[np.int64]:
        """Return the number that each of other values has among the values, -1 for none.

        Those of the last values are kept: a join first decides by them, and then pairs rows by them.

        Notes
        -----
        Where both sides held integers the numbers are compared, else the texts; the answer is the same.
        """
        last = self._last  # read once: another thread may put other values there
        if last is not None and last[0] is values:
            return last[1]
        codes = np.empty(len(values), np.int64)
        if self.holds_same(values):
            codes = np.arange(len(values))
        elif values.integers is not None and self._values.integers is not None:
            own, others = self._values.integers, values.integers
            if own.is_ascending and others.is_ascending:
                codes.fill(-1)
                meet_ascending(others.numbers, own.numbers, codes)
            else:
                find_integers(others.numbers, own.held, codes)
        else:
            find_numbers(values.hashes, values.offsets, values.data, self._texts, codes)
        self._last = values, read_only(codes)
        return codes

    @cached_property
    def _texts(self) -> ValueSlots:
        """The texts as a hash table."""
        slots = np.zeros(table_size(len(self._values)), np.uint64)
        enter_values(self._values.hashes, slots)
        return ValueSlots(read_only(slots), self._values.offsets, self._values.data)


def _are_equal(values: ValueSet, others: ValueSet) -> bool:
    """Tell whether two columns have the same values in the same order, as copies of one key have."""
    if len(values) != len(others):
        return False
    if values.integers is not None and others.integers is not None:
        return np.array_equal(values.integers.numbers, others.integers.numbers)
    if not np.array_equal(values.hashes, others.hashes) or not np.array_equal(values.offsets, others.offsets):
        return False
    end = int(values.offsets[-1])
    return np.array_equal(values.data[:end], others.data[:end])


@dataclass(frozen=True)
class KeyIndex:
    """The keys of one side, numbered: the code of each of its rows, and of any row of another side.

    Parameters
    ----------
    codes : ndarray of int64, shape (n_rows,)
        Number of each row's key; -1 when any part is null.
    n_keys : int
        Distinct keys; codes are below it.
    parts : tuple of ValueSet
        The canonical values of the columns that make the key; empty for keys that were numbered elsewhere.
    combinations : tuple of ndarray of int64
        The pairs that each column but the first adds, see `number_rows`.
    """

    codes: NDArray[np.int64]
    n_keys: int
    parts: tuple[ValueSet, ...] = ()
    combinations: tuple[NDArray[np.int64], ...] = ()

    @classmethod
    def of(cls, parts: Sequence[ValueSet]) -> KeyIndex:
        """Number the keys that some columns of the same number of rows make together."""
        codes, n_keys, combinations = number_rows([(part.codes, len(part)) for part in parts])
        return cls(codes, n_keys, tuple(parts), tuple(combinations))

    @cached_property
    def vocabularies(self) -> list[Vocabulary]:
        """The values of each part, ready to be looked up."""
        return [Vocabulary(part) for part in self.parts]

    def match(self, parts: Sequence[ValueSet]) -> NDArray[np.int64]:
        """Return the code of each row of another side, -1 for a key that this side lacks.

        Parameters
        ----------
        parts : sequence of ValueSet
            The other side's key columns, in the order of this side's.

        Returns
        -------
        ndarray of int64, shape (n_rows,)

        Notes
        -----
        Each distinct value is looked up once.
        """
        if len(parts) == 1 and self._is_copied(parts[0]):
            return read_only(self.codes)
        combined, *others = (_codes_of(part, known) for part, known in zip(parts, self.vocabularies, strict=True))
        for more, part, known in zip(others, self.parts[1:], self.combinations, strict=True):
            combined = _find_pairs(pair_codes(combined, more, len(part)), known)
        return combined

    def _is_copied(self, part: ValueSet) -> bool:
        """Tell whether a column of another side is the same in every row as the one column of this key."""
        return self.vocabularies[0].holds_same(part) and np.array_equal(part.codes, self.parts[0].codes)

    def n_matched(self, parts: Sequence[ValueSet]) -> int:
        """Count the keys that another side has, too; `parts` as of `match`."""
        if len(parts) == 1:
            is_same = self.vocabularies[0].holds_same(parts[0])
            return self.n_keys if is_same else int(np.count_nonzero(self.value_codes(0, parts[0]) >= 0))
        codes = self.match(parts)
        return int(np.count_nonzero(np.bincount(codes[codes >= 0])))

    def value_codes(self, part_number: int, part: ValueSet) -> NDArray[np.int64]:
        """Return for each value of a column of another side its number in an own column, -1 for none."""
        return self.vocabularies[part_number].codes_of(part)

    def match_all(self, parts: Sequence[ValueSet]) -> tuple[NDArray[np.int64], int]:
        """Return a code for every row of another side, new ones for keys that this side lacks.

        Returns
        -------
        codes : ndarray of int64, shape (n_rows,)
            -1 where a part of the key is null.
        n_keys : int
            Codes are below it.
        """
        codes = self.match(parts)
        own, _, _ = number_rows([(part.codes, len(part)) for part in parts])
        is_new = (codes < 0) & (own >= 0)
        known = distinct_numbers(own[is_new])
        codes = np.where(is_new, self.n_keys + np.searchsorted(known, own), codes)
        return codes, self.n_keys + int(known.size)


def number_rows(
    parts: Sequence[tuple[NDArray[Any], int]],
) -> tuple[NDArray[np.int64], int, list[NDArray[np.int64]]]:
    """Number the distinct combinations of the codes that several columns have in a row.

    Parameters
    ----------
    parts : sequence of (codes, n)
        For each column the code of every row, below `n`, -1 for none.

    Returns
    -------
    codes : ndarray of int64, shape (n_rows,)
        Number of each row's combination, -1 where a column has none.
    n_codes : int
        Codes are below it.
    pairs : list of ndarray of int64
        For each column but the first the sorted pairs that occur of the number so far and its own code, as
        `pair_codes` writes them. The position of a pair is the number from there on.

    Notes
    -----
    One column after the other, so that a pair of two codes always fits into 64 bits.
    """
    (first, n_codes), *others = parts
    codes = first.astype(np.int64)
    found = []
    for more, n_more in others:
        pairs = pair_codes(codes, more, n_more)
        known = _distinct_pairs(pairs, n_codes * n_more)
        codes, n_codes = _find_pairs(pairs, known), int(known.size)
        found.append(known)
    return codes, n_codes, found


def pair_codes(codes: NDArray[np.int64], more: NDArray[Any], n_more: int) -> NDArray[np.int64]:
    """Make one number of two codes per row, `more` below `n_more`; -1 where either is missing."""
    pairs = codes * max(1, n_more) + more
    pairs[(codes < 0) | (more < 0)] = -1
    return pairs


def _find_pairs(pairs: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each pair among the known ones, sorted, -1 for others."""
    found = np.full(pairs.size, -1, np.int64)
    if known.size == 0:
        return found
    end = int(known[-1]) + 1
    if _is_dense(end, pairs.size):
        numbers = np.full(end + 1, -1, np.int64)  # the last one serves the pair -1
        numbers[known] = np.arange(known.size)
        return numbers[np.where(pairs < end, pairs, -1)]
    rows = np.flatnonzero(pairs >= 0)
    wanted = pairs[rows]
    at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    is_known = known[at] == wanted
    found[rows[is_known]] = at[is_known]
    return found


def _distinct_pairs(pairs: NDArray[np.int64], end: int) -> NDArray[np.int64]:
    """Return the distinct pairs, which are below `end`, sorted."""
    if not _is_dense(end, pairs.size):
        return distinct_numbers(pairs[pairs >= 0])
    occurs = np.zeros(end + 1, bool)  # the last one takes the pair -1
    occurs[pairs] = True
    return np.flatnonzero(occurs[:-1])


def _is_dense(end: int, n_rows: int) -> bool:
    """Tell whether a table of all pairs below `end` costs less than to sort those of the rows."""
    return end <= _MOST_PAIRS and end <= 8 * n_rows + 1024


def _codes_of(values: ValueSet, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return for each row of a value set the code that its value has in a vocabulary, -1 for none."""
    codes = vocabulary.codes_of(values)
    if len(values) == values.n_rows and are_all_rows(values.codes):
        return codes  # a key column: each row has the value of its number
    return np.append(codes, -1)[values.codes]  # the last one serves code -1, the null


def count_codes(codes: NDArray[np.integer], n_codes: int) -> NDArray[np.int64]:
    """Count the rows of each code below `n_codes`; those of code -1 do not count."""
    return np.bincount(codes if codes.min(initial=0) >= 0 else codes[codes >= 0], minlength=n_codes)


def row_of_keys(codes: NDArray[np.integer], n_keys: int) -> NDArray[np.int64] | None:
    """Return the row of each key of a side, -1 for none; None if some key has several rows.

    The last entry, after those of the keys, is -1: it serves code -1.
    """
    row_of = np.full(n_keys + 1, -1)
    row_of[codes] = np.arange(codes.size)
    row_of[-1] = -1
    return row_of if np.count_nonzero(row_of >= 0) == np.count_nonzero(codes >= 0) else None


class MetKeys:
    """How the rows of two sides meet by their keys; what is asked for is computed once.

    Rows are counted for each key only where keys have several: a key column, whose rows are their own keys, needs none
    of it.

    Parameters
    ----------
    left, right : ndarray of int64
        Code of each row, -1 for none.
    n_keys : int
        Codes are below it.
    """

    def __init__(self, left: NDArray[Any], right: NDArray[Any], n_keys: int) -> None:
        self.left = left
        self.right = right
        self.n_keys = n_keys

    @cached_property
    def _is_left_key(self) -> bool:
        """Whether the code of each left row is its number."""
        return are_all_rows(self.left)

    @cached_property
    def _is_right_key(self) -> bool:
        """Whether the code of each right row is its number."""
        return self._is_left_key if self.right is self.left else are_all_rows(self.right)

    @cached_property
    def _right_row_of(self) -> NDArray[np.int64] | None:
        """The right row of each key, see `row_of_keys`."""
        return row_of_keys(self.right, self.n_keys)

    @cached_property
    def is_right_unique(self) -> bool:
        """Whether each key has one right row at most."""
        return self._is_right_key or self._right_row_of is not None

    @cached_property
    def left_rows(self) -> NDArray[np.int64]:
        """The numbers of the left rows."""
        return self.left if self._is_left_key else np.arange(self.left.size)

    @cached_property
    def is_row_by_row(self) -> bool:
        """Whether the sides have the same keys in the same rows, each once."""
        return self.left.size == self.right.size and self._is_left_key and self._is_right_key

    @cached_property
    def partners(self) -> NDArray[np.int64] | None:
        """The right row of each left row, -1 for none; None if some key has several right rows."""
        if self.is_row_by_row:
            return self.right
        if self._right_row_of is None:
            return None
        return self._right_row_of[: self.left.size] if self._is_left_key else self._right_row_of[self.left]

    @cached_property
    def left_counts(self) -> NDArray[np.int64]:
        """Left rows of each key."""
        return count_codes(self.left, self.n_keys)

    @cached_property
    def right_counts(self) -> NDArray[np.int64]:
        """Right rows of each key."""
        return count_codes(self.right, self.n_keys)

    @cached_property
    def n_matched(self) -> int:
        """Left rows that have a partner."""
        if self.is_row_by_row:
            return int(self.left.size)
        if self.partners is not None:
            return int(np.count_nonzero(self.partners >= 0))
        return int(self.left_counts[self.right_counts > 0].sum())

    @cached_property
    def n_keys_met(self) -> int:
        """Keys that both sides have."""
        if self._is_left_key:
            return self.n_matched
        return int(np.count_nonzero((self.left_counts > 0) & (self.right_counts > 0)))

    @cached_property
    def n_pairs(self) -> int:
        """Pairs of rows of one key."""
        return int(self.left_counts @ self.right_counts) if self.partners is None else self.n_matched

    @cached_property
    def relationship(self) -> str:
        """``1:1``, ``1:m``, ``m:1`` or ``m:m`` of the rows that pair, each row one key."""
        is_many = self.n_matched > self.n_keys_met, False
        if not self.is_right_unique:
            is_many = is_many[0], bool(((self.right_counts > 1) & (self.left_counts > 0)).any())
        return ":".join("m" if many else "1" for many in is_many)

    def has_partner(self, rows: slice | NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell of some left rows whether they have a partner."""
        if self.partners is not None:
            return self.partners[rows] >= 0
        codes = self.left[rows]
        return (codes >= 0) & (self.right_counts[codes] > 0)

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows that pair, see `expand_pairs`."""
        if self.partners is not None:
            matched = np.flatnonzero(self.partners >= 0)
            return matched, self.partners[matched]
        rows = np.flatnonzero(self.right >= 0)
        order = rows[np.argsort(self.right[rows], kind="stable")]
        starts = np.cumsum(self.right_counts) - self.right_counts
        matched = np.flatnonzero(self.left >= 0)
        own = self.left[matched]
        repeats = self.right_counts[own]
        return np.repeat(matched, repeats), order[expand_stretches(starts[own], repeats)]


def expand_pairs(
    left: NDArray[np.integer], right: NDArray[np.integer], n_keys: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair rows of equal code, in order of the left row, then of the right one.

    Parameters
    ----------
    left, right : ndarray of int64
        Code of each row, -1 for none.
    n_keys : int
        Codes are below it.

    Returns
    -------
    left_rows, right_rows : ndarray of int64, shape (n_pairs,)

    Notes
    -----
    O(rows + pairs); where each code has one right row at most, nothing is sorted.
    """
    return MetKeys(left, right, n_keys).pairs()


def concat_values(parts: Sequence[ValueSet], settings: IndexSettings) -> ValueSet:
    """Return the values of several batches of a column as those of the whole column, with the codes of its rows."""
    if len(parts) == 1:
        return parts[0]
    united = unite_value_sets(list(parts), settings)
    vocabulary = Vocabulary(united)
    codes = np.concatenate([_codes_of(part, vocabulary) for part in parts]).astype(np.int32)
    return replace(united, codes=codes)
