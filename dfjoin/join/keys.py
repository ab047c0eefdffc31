"""Keys: the columns of a frame in canonical form, their numbers, and the rows of two sides that have the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.errors import InvalidTypeError
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.search.exact.matcher import Vocabulary, match_tokens, vocabulary_of
from dfjoin.search.query import QueryColumn
from dfjoin.types import IndexSettings
from dfjoin.values.frames import column_to_arrow, select_column
from dfjoin.values.normalize import ValueSet, keep_values, normalize_column, respell_zeros, unite_value_sets
from dfjoin.values.profile import profile_values

__all__ = [
    "KeyColumns",
    "KeyIndex",
    "concat_values",
    "expand_pairs",
    "is_measure",
    "number_rows",
    "pair_codes",
    "take_values",
]


class KeyColumns:
    """The columns of a frame as keys: each is made Arrow and normalised once, when it is first asked for.

    Parameters
    ----------
    frame : DataFrame
    settings : IndexSettings
        Normalisation of both sides.
    argument : str
        Name of the argument that names its columns, for messages.
    pad : int or None
        Digits to which the integers of keys are written with zeros in front, where nothing else is said.
    """

    def __init__(
        self, frame: pd.DataFrame, settings: IndexSettings, argument: str = "on", pad: int | None = None
    ) -> None:
        self.frame = frame
        self.settings = settings
        self._argument = argument
        self._pad = pad
        self._arrays: dict[int, pa.Array | pa.ChunkedArray] = {}
        self._values: dict[tuple[int, int | None, bool | None], ValueSet] = {}
        self._queries: dict[int, QueryColumn] = {}
        self._indexes: dict[tuple[tuple[int, ...], int | None, bool | None], KeyIndex] = {}

    def position(self, label: Any) -> int:
        """Return the position of a column; raises when there is none of that label, or several."""
        select_column(self.frame, label, self._argument)
        position = self.frame.columns.get_loc(label)
        assert isinstance(position, int)  # several columns of one label were refused
        return position

    def array(self, position: int) -> pa.Array | pa.ChunkedArray:
        """Return a column as Arrow; raises `InvalidTypeError` for one that holds lists, dicts or bytes."""
        if position not in self._arrays:
            self._arrays[position] = column_to_arrow(self.frame.iloc[:, position], self._argument)
        return self._arrays[position]

    def values(self, position: int, pad: int | None = None, dayfirst: bool | None = None) -> ValueSet:
        """Return the canonical values of a column, read with a width of integers and an order of dates."""
        key = position, pad, dayfirst
        if key not in self._values:
            settings = self.settings if dayfirst is None else replace(self.settings, dayfirst=dayfirst)
            values = normalize_column(self.array(position), settings)
            self._values[key] = respell_zeros(values, pad, settings)
        return self._values[key]

    def all_values(self) -> list[ValueSet]:
        """Return the values of every column that has any, in the order of the columns."""
        found = []
        for position in range(self.frame.shape[1]):
            try:
                values = self.values(position)
            except InvalidTypeError:
                continue
            if len(values):
                found.append(values)
        return found

    def candidates(self) -> list[QueryColumn]:
        """Return the columns that can be keys: text, integers or dates with two values or more."""
        found = []
        for position in range(self.frame.shape[1]):
            try:
                if is_measure(self.array(position)):
                    continue
                query = self.query(position)
            except InvalidTypeError:
                continue
            if query.profile.is_indexable:
                found.append(query)
        return found

    def query(self, position: int) -> QueryColumn:
        """Return a column as a search has it."""
        if position not in self._queries:
            column, values = self.frame.iloc[:, position], self.values(position, self._pad)
            profile = profile_values(values, self.array(position).type, has_texts=False)
            self._queries[position] = QueryColumn(str(column.name), column.name, column, values, profile)
        return self._queries[position]

    def index(self, labels: Sequence[Any], pad: int | None = None, dayfirst: bool | None = None) -> KeyIndex:
        """Number the keys that some columns make together."""
        positions = tuple(self.position(label) for label in labels)
        pad = self._pad if pad is None else pad
        key = positions, pad, dayfirst
        if key not in self._indexes:
            self._indexes[key] = KeyIndex.of([self.values(position, pad, dayfirst) for position in positions])
        return self._indexes[key]

    def parts(self, labels: Sequence[Any]) -> list[ValueSet]:
        """Return the canonical values of some columns."""
        return [self.values(self.position(label), self._pad) for label in labels]

    def remember(self, queries: Sequence[QueryColumn]) -> None:
        """Keep what a search of this frame has normalised already."""
        for query in queries:
            position = self.frame.columns.get_loc(query.label)
            if isinstance(position, int):
                self._values[position, query.pad, query.dayfirst] = query.values

    def after(self, frame: pd.DataFrame, rows: NDArray[np.int64]) -> KeyColumns:
        """Return the columns of this frame after a join.

        Parameters
        ----------
        frame : DataFrame
            The columns of this one, then others.
        rows : ndarray of int64, shape (n_rows,)
            Row of this frame for each of its rows; -1 where it has none.
        """
        columns = KeyColumns(frame, self.settings, self._argument, self._pad)
        if rows.min(initial=0) < 0:  # keys were filled in from the other side
            return columns
        if rows.size == len(self.frame) and bool((rows == np.arange(rows.size)).all()):
            columns._arrays, columns._values, columns._indexes = (
                dict(self._arrays),
                dict(self._values),
                dict(self._indexes),
            )
        else:
            columns._values = {key: take_values(values, rows) for key, values in self._values.items()}
        return columns


def is_measure(array: pa.Array | pa.ChunkedArray) -> bool:
    """Tell whether a column holds floats that are no whole numbers: equal keys are never such."""
    if not pa.types.is_floating(array.type):
        return False
    array = array.cast(pa.float32()) if pa.types.is_float16(array.type) else array  # Arrow rounds no halves
    return bool(pc.any(pc.not_equal(array, pc.floor(array)), min_count=0).as_py())


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
        return [vocabulary_of(part) for part in self.parts]

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
        found = [_codes_of(part, vocabulary) for part, vocabulary in zip(parts, self.vocabularies, strict=True)]
        combined = found[0]
        for more, part, known in zip(found[1:], self.parts[1:], self.combinations, strict=True):
            combined = _find_pairs(pair_codes(combined, more, len(part)), known)
        return combined

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
        known = np.unique(own[is_new])
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
        `pair_codes` writes them. The place of a pair is the number from there on.

    Notes
    -----
    One column after the other, so that a pair of two codes always fits into 64 bits.
    """
    (first, n_codes), *others = parts
    codes = first.astype(np.int64)
    found = []
    for more, n_more in others:
        pairs = pair_codes(codes, more, n_more)
        known = np.unique(pairs[pairs >= 0])
        codes, n_codes = _find_pairs(pairs, known), int(known.size)
        found.append(known)
    return codes, n_codes, found


def pair_codes(codes: NDArray[np.int64], more: NDArray[Any], n_more: int) -> NDArray[np.int64]:
    """Make one number of two codes per row, `more` below `n_more`; -1 where either is missing."""
    pairs = codes * max(1, n_more) + more
    pairs[(codes < 0) | (more < 0)] = -1
    return pairs


def _find_pairs(pairs: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each pair among the known ones, -1 for others."""
    if known.size == 0:
        return np.full(pairs.size, -1, np.int64)
    places = np.minimum(np.searchsorted(known, pairs), known.size - 1)
    return np.where((pairs >= 0) & (known[places] == pairs), places, -1)


def _codes_of(values: ValueSet, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return for each row of a value set the code that its value has in a vocabulary, -1 for none."""
    tokens = match_tokens(values, vocabulary)
    codes = np.full(len(values) + 1, -1, np.int64)  # the last one serves code -1, the null
    is_found = tokens >= 0
    codes[:-1][is_found] = vocabulary.order[tokens[is_found]]
    return codes[values.codes]


def take_values(values: ValueSet, rows: NDArray[np.int64]) -> ValueSet:
    """Return the values of some rows; the others are dropped, the order stays."""
    codes = values.codes[rows]
    is_held = np.zeros(len(values), bool)
    is_held[codes[codes >= 0]] = True
    if is_held.all():
        return replace(values, codes=codes)
    return keep_values(replace(values, codes=codes), is_held)


def concat_values(parts: Sequence[ValueSet], settings: IndexSettings) -> ValueSet:
    """Return the values of several batches of a column as those of the whole column, with the codes of its rows."""
    if len(parts) == 1:
        return parts[0]
    united = unite_value_sets(list(parts), settings)
    vocabulary = vocabulary_of(united)
    codes = np.concatenate([_codes_of(part, vocabulary) for part in parts]).astype(np.int32)
    return replace(united, codes=codes)


def expand_pairs(
    left: NDArray[np.int64], right: NDArray[np.int64], n_keys: int
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
    O(rows + pairs).
    """
    rows = np.flatnonzero(right >= 0)
    order = rows[np.argsort(right[rows], kind="stable")]
    counts = np.bincount(right[rows], minlength=n_keys)
    starts = np.cumsum(counts) - counts
    matched = np.flatnonzero(left >= 0)
    repeats = counts[left[matched]]
    return np.repeat(matched, repeats), order[expand_stretches(starts[left[matched]], repeats)]
