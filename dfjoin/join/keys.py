"""Keys: the columns of a frame in canonical form, and the rows of two sides that have the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.fuzzy.result import FuzzyJoin
from dfjoin.search.query import QueryColumn
from dfjoin.types import IndexSettings
from dfjoin.values.float_values import lists_of, spell_lists
from dfjoin.values.frames import column_position, column_to_arrow
from dfjoin.values.key_index import KeyIndex, expand_pairs
from dfjoin.values.normalize import ValueSet, keep_values, normalize_column
from dfjoin.values.profile import INDEXED_KINDS, has_fractions, profile_values
from dfjoin.values.shares import HALF, HARDLY_ANY
from dfjoin.values.unicode import normalize_text, normalize_texts
from dfjoin.values.zero_padding import respell_zeros


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
        self._columns: dict[int, pd.Series] = {}
        self._arrays: dict[int, pa.Array | pa.ChunkedArray] = {}
        self._values: dict[tuple[int, int | None, bool | None], ValueSet] = {}
        self._queries: dict[int, QueryColumn] = {}
        self._indexes: dict[tuple[tuple[int, ...], int | None, bool | None], KeyIndex] = {}
        self._keys: list[QueryColumn] | None = None
        self._chosen: dict[Callable[[QueryColumn], bool], list[QueryColumn]] = {}

    def position(self, label: Any) -> int:
        """Return the position of a column; raises when there is none of that label, or several."""
        return column_position(self.frame, label, self._argument)

    def _column(self, position: int) -> pd.Series:
        """Return a column, the same whenever it is asked for: pandas makes a new one each time."""
        if position not in self._columns:
            self._columns[position] = self.frame.iloc[:, position]
        return self._columns[position]

    def array(self, position: int) -> pa.Array | pa.ChunkedArray:
        """Return a column as Arrow; raises `InvalidTypeError` for one that holds lists, dicts or bytes."""
        if position not in self._arrays:
            self._arrays[position] = column_to_arrow(self._column(position), self._argument)
        return self._arrays[position]

    def values(self, position: int, pad: int | None = None, dayfirst: bool | None = None) -> ValueSet:
        """Return the canonical values of a column, read with a width of integers and an order of dates."""
        key = position, pad, dayfirst
        if key not in self._values:
            settings = self.settings if dayfirst is None else replace(self.settings, dayfirst=dayfirst)
            values = normalize_column(self.array(position), settings)
            self._values[key] = values if pad is None else respell_zeros(values, pad, settings)
        return self._values[key]

    def point_values(self, position: int, pad: int | None, dayfirst: bool | None) -> ValueSet:
        """Return the canonical values of a column that is joined by distance; of one of lists, these as texts."""
        lists = lists_of(self._column(position))
        if lists is None:
            return self.values(position, pad, dayfirst)
        return normalize_column(spell_lists(lists), self.settings)

    def all_values(self) -> list[tuple[str, ValueSet]]:
        """Return the name and the values of every column that has any, in the order of the columns."""
        found = []
        for position in range(self.frame.shape[1]):
            try:
                values = self.values(position)
            except InvalidTypeError:
                continue
            if len(values):
                found.append((str(self.frame.columns[position]), values))
        return found

    def candidates(self) -> list[QueryColumn]:
        """Return the columns that can be keys: text, integers or dates with two values or more."""
        return [query for query in self._queries_of_keys() if query.profile.is_indexable]

    def candidates_that(self, wanted: Callable[[QueryColumn], bool]) -> list[QueryColumn]:
        """Return the columns that can be keys for which a function holds: asked once, not for each pair of columns."""
        if wanted not in self._chosen:
            self._chosen[wanted] = [query for query in self.candidates() if wanted(query)]
        return self._chosen[wanted]

    def constants(self) -> list[QueryColumn]:
        """Return the columns of one value: it is a part of the key where the rows of the frame were chosen by it."""
        return [query for query in self._queries_of_keys() if query.profile.cardinality == 1]

    def _queries_of_keys(self) -> list[QueryColumn]:
        if self._keys is not None:
            return self._keys
        found = []
        for position in range(self.frame.shape[1]):
            try:
                if not has_fractions(self.array(position)):
                    found.append(self.query(position))
            except InvalidTypeError:
                continue
        self._keys = [query for query in found if query.profile.kind in INDEXED_KINDS]
        return self._keys

    def query(self, position: int) -> QueryColumn:
        """Return a column as a search has it."""
        if position not in self._queries:
            column, values = self._column(position), self.values(position, self._pad)
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
            if len(query.labels) > 1:  # points, whose columns are read as numbers
                continue
            position = self.frame.columns.get_loc(query.label)
            if isinstance(position, int):
                self._values[position, query.pad, query.dayfirst] = query.values

    def after(self, frame: pd.DataFrame, rows: NDArray[np.int64] | None) -> KeyColumns:
        """Return the columns of this frame after a join.

        Parameters
        ----------
        frame : DataFrame
            The columns of this one, then others.
        rows : ndarray of int64, shape (n_rows,), or None
            Row of this frame for each of its rows; -1 where it has none. None: all rows, each once and in order.
        """
        columns = KeyColumns(frame, self.settings, self._argument, self._pad)
        if rows is None:
            columns._arrays, columns._values, columns._indexes = (
                dict(self._arrays),
                dict(self._values),
                dict(self._indexes),
            )
        elif rows.min(initial=0) >= 0:  # else keys were filled in from the other side
            columns._values = {key: take_values(values, rows) for key, values in self._values.items()}
        return columns


def take_values(values: ValueSet, rows: NDArray[np.int64]) -> ValueSet:
    """Return the values of some rows; the others are dropped, the order stays."""
    codes = values.codes[rows]
    is_held = np.zeros(len(values), bool)
    is_held[codes[codes >= 0]] = True
    if is_held.all():
        return replace(values, codes=codes)
    return keep_values(replace(values, codes=codes), is_held)


# Keys that hold several values: a cell such as "a; b; c" belongs to each of the keys a, b and c -------------


_SEPARATORS = (";", "|", "\n", ",", "/")
_SEPARATORS_OF_NUMBERS = (";", "|", "\n")
"""Those that stand in no number and in no date."""
_MIN_LISTS = 5


@dataclass(frozen=True)
class ElementKeys:
    """Which side holds several values in a cell, and what separates them.

    Parameters
    ----------
    side : {"left", "right"}
    separator : str
    """

    side: Literal["left", "right"]
    separator: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"side": self.side, "separator": self.separator}

    @classmethod
    def from_dict(cls, values: Any) -> ElementKeys:
        """Read what `to_dict` wrote, and check it.

        Raises
        ------
        InvalidTypeError, InvalidParameterError
            Saying which part is wrong.
        """
        if not isinstance(values, Mapping):
            raise InvalidTypeError(f"`elements` must be a JSON object, got {show(values)}")
        side, separator = values.get("side"), values.get("separator")
        if side not in ("left", "right") or separator not in _SEPARATORS:
            raise InvalidParameterError(
                '`side` of elements must be "left" or "right", and `separator` one of '
                f"{', '.join(map(repr, _SEPARATORS))}, got {show(side)} and {show(separator)}"
            )
        return cls(side, separator)


class ElementPairs(NamedTuple):
    """Pairs of keys by their values: int64 `left` and `right`, `is_alike` for likeness, `distances` and `chances`."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    is_alike: NDArray[np.bool_]
    distances: NDArray[np.float64]
    chances: NDArray[np.float64]


class _Elements(NamedTuple):
    """The distinct values of cells, and which cell holds which."""

    texts: list[str]
    cells: NDArray[np.int64]
    codes: NDArray[np.int64]


Matcher: TypeAlias = Callable[[pa.Array, pa.Array, tuple[NDArray[np.int64], NDArray[np.int64]]], FuzzyJoin | None]
"""What joins values of the left and of the right side by likeness, given which are joined already."""


def find_elements(left: pa.Array, right: pa.Array) -> ElementKeys | None:
    """Find out whether the cells of one side list keys of the other.

    Parameters
    ----------
    left, right : pyarrow Array of strings
        Distinct keys.

    Returns
    -------
    ElementKeys or None
        The side and separator of which most values are keys of the other side. At least five cells, and a tenth of all,
        must hold two values or more; half of the first values and half of the others must be keys, and they must be
        keys more often than whole cells are. Commas and slashes separate texts only: ``1,200`` is a number.

    Notes
    -----
    Values are compared in canonical form. O(characters × separators).
    """
    best, chosen = HALF, None
    left, right = (side.drop_null().cast(pa.large_string()) for side in (left, right))
    for side, cells, keys in (("left", left, right), ("right", right, left)):
        found = ((separator, _listed(cells, separator)) for separator in _SEPARATORS)
        several = [(separator, listed) for separator, listed in found if listed is not None]
        known = normalize_texts(keys) if several else keys
        for separator, (first, others) in several:
            shared = [part.filter(pc.is_in(part, known)) for part in (first, others)]
            share = min(len(held) / len(part) for held, part in zip(shared, (first, others), strict=True))
            if share < best or len(_unite(*shared)) < _MIN_LISTS:
                continue
            if separator not in _SEPARATORS_OF_NUMBERS and _are_numbers(_unite(first, others).to_pylist()):
                continue
            if share > pc.mean(pc.is_in(normalize_texts(cells), known)).as_py():
                best, chosen = share, ElementKeys("left" if side == "left" else "right", separator)
    return chosen


def _listed(cells: pa.Array, separator: str) -> tuple[pa.Array, pa.Array] | None:
    """Return the distinct first values of the cells that hold several, and the distinct others; None for too few."""
    least = max(_MIN_LISTS, HARDLY_ANY * len(cells))
    separated = cells.filter(pc.match_substring(cells, separator))
    if len(separated) < least:
        return None
    parts = pc.split_pattern(separated, separator)
    texts, owners = normalize_texts(parts.flatten()), pc.list_parent_indices(parts).to_numpy()
    is_held = pc.not_equal(texts, "").to_numpy(zero_copy_only=False)
    counts = np.bincount(owners[is_held], minlength=len(separated))
    if np.count_nonzero(counts > 1) < least:
        return None
    is_held &= counts[owners] > 1
    rows = np.flatnonzero(is_held)
    is_first = np.ones(rows.size, bool)
    is_first[1:] = owners[rows[1:]] != owners[rows[:-1]]
    first, others = (texts.take(pa.array(rows[chosen])).unique() for chosen in (is_first, ~is_first))
    return first, others


def _unite(some: pa.Array, others: pa.Array) -> pa.Array:
    """Return the distinct texts of both."""
    return pa.concat_arrays([some, others]).unique()


def _split(cell: str, separator: str) -> list[str]:
    """Return the values of a cell, without white space around them and without empty ones."""
    return [part.strip() for part in cell.split(separator) if part.strip()]


def _are_numbers(parts: Sequence[str]) -> bool:
    """Tell whether half of some texts have no letter."""
    return 2 * sum(not any(map(str.isalpha, part)) for part in parts) >= len(parts)


def match_elements(
    elements: ElementKeys, left: pa.Array, right: pa.Array, matcher: Matcher
) -> tuple[ElementPairs, FuzzyJoin | None]:
    """Pair the cells of one side with the keys of the other that they list: equal ones first, then similar ones.

    Parameters
    ----------
    elements : ElementKeys
    left, right : pyarrow Array of strings
        Distinct keys; nulls match nothing.
    matcher : callable
        Joins values that have no equal key.

    Returns
    -------
    ElementPairs
        By left key, then right key, each pair once.
    FuzzyJoin or None
        What the matcher returned, on values in place of cells.

    Notes
    -----
    O(characters + pairs), and the matcher.
    """
    is_left = elements.side == "left"
    lists, keys = (left, right) if is_left else (right, left)
    held = _read_cells(lists, elements.separator)
    of_text: dict[str, list[int]] = {}
    for number, key in enumerate(keys.to_pylist()):
        if key is not None:
            of_text.setdefault(normalize_text(key), []).append(number)
    equal = [(i, number) for i, text in enumerate(held.texts) for number in of_text.get(normalize_text(text), ())]
    pairs = np.array(equal, np.int64).reshape(-1, 2)
    values, distances, chances = pa.array(held.texts, pa.large_string()), np.zeros(len(equal)), np.ones(len(equal))
    known = pairs[:, 0], pairs[:, 1]
    sides = (values, keys) if is_left else (keys, values)
    fuzzy = matcher(*sides, known if is_left else known[::-1])
    n_equal = len(equal)
    if fuzzy is not None:
        rows = (fuzzy.left_rows, fuzzy.right_rows) if is_left else (fuzzy.right_rows, fuzzy.left_rows)
        pairs = np.concatenate([pairs, np.column_stack(rows)])
        distances, chances = np.append(distances, fuzzy.distances), np.append(chances, fuzzy.chances)
    of_pair, positions = expand_pairs(pairs[:, 0], held.codes, len(held.texts))
    cells, others = held.cells[positions], pairs[of_pair, 1]
    own, theirs = (cells, others) if is_left else (others, cells)
    order = np.lexsort((of_pair, theirs, own))
    is_new = np.ones(order.size, bool)
    is_new[1:] = (own[order][1:] != own[order][:-1]) | (theirs[order][1:] != theirs[order][:-1])
    order = order[is_new]
    of_pair = of_pair[order]
    found = own[order], theirs[order], of_pair >= n_equal, distances[of_pair], chances[of_pair]
    return ElementPairs(*found), fuzzy


def _read_cells(cells: pa.Array, separator: str) -> _Elements:
    """Take cells apart; values that are spelled alike are one."""
    numbers: dict[str, int] = {}
    rows: list[int] = []
    codes: list[int] = []
    for row, cell in enumerate(cells.to_pylist()):
        for part in dict.fromkeys(_split(cell, separator) if cell is not None else ()):
            rows.append(row)
            codes.append(numbers.setdefault(part, len(numbers)))
    return _Elements(list(numbers), np.array(rows, np.int64), np.array(codes, np.int64))
