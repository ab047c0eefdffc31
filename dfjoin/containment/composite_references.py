"""Foreign keys of several columns: tuples of one table that are rows of another one, whose key they are together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.containment.key_features import KEY_FEATURES, NEARLY_ALL, KeyCandidates
from dfjoin.containment.lake_columns import FEWEST_ROWS, LakeColumns, compare_pairs
from dfjoin.errors import TableChangedError, TableReadError, warn
from dfjoin.kernels.lists.usefulness import POSITION
from dfjoin.search.key_rows import read_values
from dfjoin.store.table import LakeTable
from dfjoin.values.key_index import KeyIndex
from dfjoin.values.normalize import ValueSet

_MOST_COLUMNS = 3
"""Columns of a key, at most."""

_MOST_PARTS = 8
"""Columns of a table that are tried as parts of its key for another table, identifiers first."""

_FEWEST_BITS = 10.0
"""What the shared tuples tell at least beyond what their parts do."""


_Tuples = tuple[tuple[int, ...], tuple[int, ...]]
"""Columns, and those that they refer to."""


class CompositeReference(NamedTuple):
    """Columns of a table, the key of another one that they may refer to, and what their rows share.

    Parameters
    ----------
    left, right : tuple of int
        Columns over all segments, those of the key in order.
    matched, n_left, n_right : int
        Distinct tuples that both have, of the columns, and of the key.
    is_unique : bool
        No tuple of the columns occurs twice.
    is_declared : bool
        A database declares it.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    matched: int
    n_left: int
    n_right: int
    is_unique: bool
    is_declared: bool


def find_composite_references(
    columns: LakeColumns, parts: KeyCandidates, threshold: float, refers: dict[int, int], declared: Sequence[_Tuples]
) -> list[CompositeReference]:
    """Find tuples of columns that a key of several columns holds.

    Parameters
    ----------
    columns : LakeColumns
    parts : KeyCandidates
        Pairs of columns that may be parts of such keys, see `find_key_pairs`.
    threshold : float
        Share of the distinct tuples of the columns that the key holds.
    refers : dict of int to int
        The key that each column refers to alone.
    declared : sequence of pairs of tuples of int
        Foreign keys that databases declare: these are among the result, whatever they share.

    Returns
    -------
    list of CompositeReference

    Notes
    -----
    A key has no null, no tuple of it occurs twice, and none of its columns can go. One of its columns at least bears
    the specific header of its partner, with a word such as id. Parts that refer to two keys do not belong together, and
    where a column refers to a table alone, more columns say no more. A table is read once, where names and the sets of
    the index leave such a key possible; one that cannot be read is left out, with a warning. Two keys of nearly the
    same tuples are versions of one table, and tuples that most choices of values of their parts would hold tell
    nothing. Two columns that are all but copies, such as names and codes, make many keys: the one with the most
    identifiers is taken.
    O(rows of these tables) in time and memory: what was read is held until all are compared.
    """
    reader = _Reader(columns)
    found = [one for left, key in declared if (one := reader.compare(left, key, 0.0, is_declared=True)) is not None]
    for partners in _by_tables(columns, parts, refers):
        keys = [
            (key, chosen)
            for key in reader.keys(list(partners))
            if (chosen := [own for own in product(*(partners[part] for part in key)) if _is_named(columns, own, key)])
        ]
        if keys:  # of keys that spell the same, the one with the most identifiers, the first in its table
            key, chosen = min(keys, key=lambda one: _preference(columns, one[0]))
            undeclared = [(own, key) for own in chosen if (own, key) not in set(declared)]
            found += [one for pair in undeclared if (one := reader.compare(*pair, threshold)) is not None]
    reader.warn()
    return found


def _preference(columns: LakeColumns, key: tuple[int, ...]) -> tuple[float, float]:
    members = list(key)
    return -float(columns.is_identifier[members].mean()), float(columns.records[members, POSITION].mean())


def _by_tables(columns: LakeColumns, parts: KeyCandidates, refers: dict[int, int]) -> Iterator[dict[int, list[int]]]:
    """Yield for two tables the columns of one that may make its key, and their partners in the other one."""
    if not parts.left.size:
        return
    key_of = np.full(columns.cardinality.size, -1)
    key_of[list(refers)] = list(refers.values())
    own, other = key_of[parts.left], key_of[parts.right]
    parts = parts.take((own < 0) | (other < 0) | (own == other))
    table, n_tables = columns.table_of, int(columns.table_of.max()) + 1
    is_known = np.isin(
        table[parts.left] * n_tables + table[parts.right],
        [int(table[left]) * n_tables + int(table[right]) for left, right in refers.items()],
    )
    parts = parts.take(~is_known)
    _, number = np.unique(table[parts.left] * n_tables + table[parts.right], return_inverse=True)
    names = compare_pairs(columns, parts.left, parts.right)
    is_named = (names["named_header"] > 0) & columns.is_identifier[parts.left]
    is_wanted = (np.bincount(number) > 1) & (np.bincount(number, is_named) > 0)
    order = np.flatnonzero(is_wanted[number])
    order = order[np.argsort(number[order], kind="stable")]
    for members in np.split(order, np.flatnonzero(np.diff(number[order])) + 1) if order.size else ():
        partners: dict[int, list[int]] = {}
        for left, right in zip(parts.left[members].tolist(), parts.right[members].tolist(), strict=True):
            partners.setdefault(right, []).append(left)
        chosen = sorted(partners, key=lambda part: (not columns.is_identifier[part], columns.records[part, POSITION]))
        yield {part: partners[part] for part in sorted(chosen[:_MOST_PARTS])}


def _is_named(columns: LakeColumns, left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    """Tell whether the names of columns make them a choice for a key."""
    names = compare_pairs(columns, np.array(left), np.array(right))
    return len(set(left)) == len(left) and bool(((names["named_header"] > 0) & columns.is_identifier[list(left)]).any())


class _Reader:
    """The columns of tables as values, each table read when it is first asked for.

    Parameters
    ----------
    columns : LakeColumns
    """

    def __init__(self, columns: LakeColumns) -> None:
        self._columns = columns
        self._values: dict[int, ValueSet | None] = {}
        self._keys: dict[tuple[int, ...], KeyIndex | None] = {}
        self._unread: dict[str, str] = {}

    def keys(self, parts: list[int]) -> list[tuple[int, ...]]:
        """Return the keys of a table of which no column can go, by columns of some."""
        found: list[tuple[int, ...]] = []
        cardinality, n_rows = self._columns.cardinality, int(self._columns.n_rows[parts[0]])
        is_identifier = self._columns.is_identifier
        if n_rows < FEWEST_ROWS:
            return found
        self._read(parts)
        for size in range(2, _MOST_COLUMNS + 1):
            for key in combinations(parts, size):
                if any(set(smaller) <= set(key) for smaller in found) or not is_identifier[list(key)].any():
                    continue
                if float(np.prod(cardinality[list(key)].astype(float))) < n_rows:
                    continue
                if self._index(key, n_rows) is not None:
                    found.append(key)
        return found

    def _index(self, key: tuple[int, ...], n_rows: int) -> KeyIndex | None:
        """Return the tuples of some columns if none occurs twice."""
        if key not in self._keys:
            values = self._read(key)
            index = None if values is None else KeyIndex.of(values)
            self._keys[key] = index if index is not None and index.n_keys == n_rows else None
        return self._keys[key]

    def compare(
        self, left: tuple[int, ...], key: tuple[int, ...], threshold: float, *, is_declared: bool = False
    ) -> CompositeReference | None:
        """Compare the tuples of columns with those of a key; None where they tell too little, unless declared."""
        values, keys = self._read(left), self._read(key)
        if values is None or keys is None:
            return None
        own, index = KeyIndex.of(values), self._keys.get(key) or KeyIndex.of(keys)
        matched, is_unique = index.n_matched(values), own.n_keys == int(np.count_nonzero(own.codes >= 0))
        is_alike = is_unique and matched >= NEARLY_ALL * max(own.n_keys, index.n_keys)
        tells = own.n_keys >= FEWEST_ROWS and matched >= threshold * own.n_keys and not is_alike
        if not is_declared and not (tells and self._bits(matched, own.n_keys, key) >= _FEWEST_BITS):
            return None
        return CompositeReference(left, key, matched, own.n_keys, index.n_keys, is_unique, is_declared)

    def _bits(self, matched: int, n_left: int, key: tuple[int, ...]) -> float:
        """Return the divergence of the share of tuples that a key holds from the share of all choices of its values."""
        cardinality = self._columns.cardinality[list(key)].astype(float)
        density, held = float(self._columns.n_rows[key[0]] / np.prod(cardinality)), matched / n_left
        if held <= density:
            return 0.0
        rest = (1 - held) * np.log2((1 - held) / (1 - density)) if held < 1 else 0.0
        return float(n_left * (held * np.log2(held / density) + rest))

    def _read(self, columns: Iterable[int]) -> list[ValueSet] | None:
        """Return the values of columns of one table, None if it cannot be read."""
        columns = list(columns)
        missing = [column for column in columns if column not in self._values]
        if missing:
            self._values |= dict.fromkeys(missing)
            segment, first = self._columns.segment_of(missing[0])
            name = self._columns.name(missing[0])[0]
            try:
                table = LakeTable(self._columns.snapshot, name)
                own = [column - first for column in missing]
                read = read_values(table, segment.catalog, own, lambda: False)
                self._values |= {first + column: one.values for column, one in read.items()}
            except (TableChangedError, TableReadError) as error:
                self._unread.setdefault(name, str(error))
        values = [self._values[column] for column in columns]
        return None if any(one is None for one in values) else [one for one in values if one is not None]

    def warn(self) -> None:
        """Tell of tables that could not be read."""
        if self._unread:
            warn(
                f"{len(self._unread):,} tables that may have keys of several columns could not be read, the first: "
                f"{next(iter(self._unread.values()))}"
            )


def choose_references(
    found: Sequence[CompositeReference], score: NDArray[np.float64], threshold: float
) -> NDArray[np.int64]:
    """Choose the edges: for each tuple of columns the best key, and all that are declared; the best first."""
    sizes, is_declared = (np.array([one[i] for one in found], np.int64) for i in (4, 6))
    order = np.lexsort((sizes, -score, -is_declared))
    taken: set[tuple[int, ...]] = set()
    chosen = []
    for position in order.tolist():
        columns = tuple(sorted(found[position].left))
        if found[position].is_declared or (score[position] >= threshold and columns not in taken):
            chosen.append(position)
            taken.add(columns)
    return np.array(chosen, np.int64)


def reference_features(columns: LakeColumns, found: list[CompositeReference]) -> NDArray[np.float64]:
    """Compute the features of composite references, see `KEY_FEATURES`.

    Parameters
    ----------
    columns : LakeColumns
    found : list of CompositeReference

    Returns
    -------
    ndarray of float64, shape (n, len(KEY_FEATURES))
        What names tell is that of the identifier that tells least. Keys of several columns stand anywhere in a table.
    """
    out = np.zeros((len(found), len(KEY_FEATURES)))
    by_left: dict[tuple[int, ...], list[int]] = {}
    near = np.zeros(len(found))
    for i, one in enumerate(found):
        by_left.setdefault(tuple(sorted(one.left)), []).append(i)
        left, right = np.array(one.left), np.array(one.right)
        names, is_identifier = compare_pairs(columns, left, right), columns.is_identifier[left]
        is_identifier |= not is_identifier.any()
        named = float(np.maximum(names["named_header"], names["header_share"])[is_identifier].min())
        near[i] = named + float(names["same_header"].mean()) + 0.5 * float(names["table_in_table"][0])
        values = {
            "named": named,
            "key_named": columns.is_key_name[right].any(),
            "table_in_table": names["table_in_table"][0],
            "same_folder": 1.0,
            "identifier": 1.0,
            "unnamed_coverage": (1.0 - named) * one.matched / one.n_right,
            "first_column": 1.0,
        }
        out[i, [KEY_FEATURES.index(name) for name in values]] = list(values.values())
    for members in by_left.values():
        best = min(members, key=lambda i: (-near[i], found[i].n_right))
        out[best, KEY_FEATURES.index("is_closest")] = 1.0
        out[members, KEY_FEATURES.index("other_keys")] = np.log(len(members))
    return out
