"""The columns of a lake, its candidates for foreign keys, and what speaks for and against each."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.containment.column_pairs import find_column_pairs
from dfjoin.containment.key_words import tell_roles, without_common, without_relations
from dfjoin.containment.subset_join import ContainmentOptions
from dfjoin.index.catalog import KINDS
from dfjoin.kernels.lists.usefulness import HEADER, IS_UNIQUE, PLACE
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.header_words import DIGITS
from dfjoin.kernels.texts.key_names import NAME_FEATURES, NamedColumns, compare_names
from dfjoin.search.exact.allowed import matches_pattern
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import headers_of, number_meaning, table_stems
from dfjoin.values.normalize import normalize_column

__all__ = ["KEY_FEATURES", "KeyCandidates", "LakeColumns", "find_key_pairs", "key_features", "own_roles"]

KEY_FEATURES = (
    "named",
    "key_named",
    "table_in_table",
    "same_folder",
    "identifier",
    "unnamed_coverage",
    "first_column",
    "other_keys",
    "own_serial_key",
    "is_closest",
)
"""The features of a candidate.

================ ==============================================================================================
named            1 for specific headers that are the same, and for a role that a row of the table has for another one,
                 such as parent, with the key of the own table; else the smaller one of the share of the words of the
                 header that name the key or its table, and the share of the words of the key's table in the header
key_named        the header of the key has a word such as id, code or key, or names its own table
table_in_table   share of the words of the key's table that the column's table has in its name
same_folder      both tables lie in one folder
identifier       the header has a word such as id, code or key, or one of the name of the key's table
unnamed_coverage share of the values of the key that the column has, times one minus `named`
first_column     the key is the first column of its table
other_keys       ln(keys that hold the column)
own_serial_key   the column is unique, and the first of its own table, which bears its name
is_closest       of the keys with the nearest names, those of the column's folder first, none is smaller
================ ==============================================================================================

Words that most tables of a folder have in their names do not count.
"""

_FEWEST_ROWS = 2
_DATE = KINDS.index("date")
_INTEGER = KINDS.index("integer")
_SINGLE_KINDS = (KINDS.index("text"), _INTEGER)
_NEARLY_ALL = 0.9
"""Share of the values of two keys that either holds of the other, where they are keys of the same things."""


class LakeColumns:
    """What the catalogues say of the columns of a lake, numbered over all segments.

    Parameters
    ----------
    snapshot : Snapshot
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        catalogs = [segment.catalog for segment in snapshot.segments]
        self.offsets = np.append(0, np.cumsum([catalog.n_columns for catalog in catalogs])).astype(np.int64)
        tables = np.append(0, np.cumsum([catalog.n_tables for catalog in catalogs])).astype(np.int64)
        numbers = [catalog.numbers for catalog in catalogs]
        self.table_of = _joined([own["table"] + tables[i] for i, own in enumerate(numbers)], np.int64)
        self.cardinality = _joined([own["cardinality"] for own in numbers], np.int64)
        self.n_rows = _joined([own["n_rows"] for own in numbers], np.int64)
        self.n_null = _joined([own["n_null"] for own in numbers], np.int64)
        self.kind = _joined([own["kind"] for own in numbers], np.int8)
        self.is_indexed = _joined([own["is_indexed"] for own in numbers], np.int8) > 0
        self.records = np.concatenate(
            [facts_of(segment).columns.records for segment in snapshot.segments] or [np.empty((0, HEADER + 1))]
        )
        self.is_alive = _joined(
            [np.ones(s.n_columns, np.uint8) if s.alive is None else s.alive for s in snapshot.segments], np.uint8
        )

    @cached_property
    def family(self) -> NDArray[np.uint64]:
        """A number for each column that those of tables of one schema in one folder share, see `LakeFacts.family`."""
        facts = [facts_of(segment) for segment in self.snapshot.segments]
        return _joined([one.family[one.table_of] for one in facts], np.uint64)

    @cached_property
    def folder(self) -> NDArray[np.uint64]:
        """A number for each table that those of one folder share."""
        return _joined([facts_of(segment).folder for segment in self.snapshot.segments], np.uint64)

    def in_tables(self, patterns: tuple[str, ...]) -> NDArray[np.bool_]:
        """Tell which columns stand in tables whose name matches a pattern (``fnmatch``, case-sensitive)."""
        names = [name for segment in self.snapshot.segments for name in segment.catalog.table_names()]
        return np.array([matches_pattern(name, patterns) for name in names], bool)[self.table_of]

    @cached_property
    def headers(self) -> pa.Array:
        """The names of the columns."""
        catalogs = [segment.catalog for segment in self.snapshot.segments]
        return pa.chunked_array([c.columns().field("name") for c in catalogs], pa.string()).combine_chunks()

    @cached_property
    def named(self) -> NamedColumns:
        """The names as words."""
        catalogs = [segment.catalog for segment in self.snapshot.segments]
        tables = pa.chunked_array([c.tables().field("name") for c in catalogs], pa.string()).combine_chunks()
        is_alive = np.concatenate([*(segment.alive_tables() for segment in self.snapshot.segments), np.empty(0, bool)])
        of_tables = without_common(headers_of(_last_parts(tables)), self.folder, is_alive)
        words = without_relations(headers_of(self.headers)), of_tables
        return NamedColumns(*words, as_read_only(self.table_of))

    @cached_property
    def is_role(self) -> NDArray[np.bool_]:
        """Columns whose header names a role that one row of a table has for another one, such as parent."""
        return tell_roles(self.named)

    def name(self, column: int) -> tuple[str, str]:
        """Return the names of a column's table and of the column."""
        number = int(np.searchsorted(self.offsets, column, "right")) - 1
        catalog, own = self.snapshot.segments[number].catalog, column - int(self.offsets[number])
        return catalog.table_name(own), catalog.column_name(own)

    @cached_property
    def is_key_name(self) -> NDArray[np.bool_]:
        """Columns whose header has a word such as id, or specific words which all stand in the name of the table."""
        every = as_read_only(np.arange(self.cardinality.size))
        names = dict(zip(NAME_FEATURES, _names(self, every, every).T, strict=True))
        return (names["identifier"] > 0) | ((names["own_key"] > 0) & (names["table_share"] > 0))

    @cached_property
    def is_referring(self) -> NDArray[np.bool_]:
        """Columns that may refer to a key or be one.

        These are no dates and no whole numbers that the header says are measured or counted, and their header has a
        word that no program gave it.
        """
        headers = self.named.headers
        is_word = (headers.marks & DIGITS == 0) & ~np.isin(headers.words, headers_of(["unnamed"]).words)
        owner = np.repeat(np.arange(headers.joined.size), np.diff(headers.indptr))
        found = (np.bincount(owner, is_word, headers.joined.size) > 0) & (self.kind != _DATE)
        numbers = np.flatnonzero(found & (self.kind == _INTEGER))
        names = self.headers.take(pa.array(numbers)).dictionary_encode()
        is_measure = [number_meaning(name) == "measure" for name in names.dictionary.to_pylist()]
        found[numbers] = ~np.array(is_measure, bool)[names.indices.to_numpy()]
        return found

    @property
    def is_key(self) -> NDArray[np.bool_]:
        """Columns that can be referred to: every row has a value, and no value occurs twice."""
        return (self.n_null == 0) & (self.cardinality == self.n_rows) & (self.n_rows >= _FEWEST_ROWS) & self.is_indexed


class KeyCandidates(NamedTuple):
    """Columns, the keys that hold their values, and how many; sorted by column."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    matched: NDArray[np.int64]


def _joined(parts: list[NDArray], dtype: type) -> NDArray:
    """Put the columns of all segments one after the other."""
    return np.concatenate([*parts, np.empty(0, dtype)]).astype(dtype)


def _last_parts(tables: pa.Array) -> pa.Array:
    """Return the names of tables without folders, schemas and endings of files: ``lake/sales.store.csv`` is store."""
    return pc.replace_substring_regex(table_stems(tables), r"^.*\.([^.]+)$", r"\1")


def find_key_pairs(columns: LakeColumns, threshold: float) -> KeyCandidates:
    """Find the columns whose values a key holds, of the same table, too.

    Parameters
    ----------
    columns : LakeColumns
    threshold : float
        Share of the values of a column that the key holds.

    Returns
    -------
    KeyCandidates

    Notes
    -----
    Tables of one schema in one folder do not refer to each other: they are versions or parts of one table. Two keys of
    nearly the same values are such versions, too, unless the header of one names the table of the other, and its own
    table less, or a role that a row of its table has for another one. A column of a single value is not indexed; its
    value is a sample of the catalogue, and it refers to a key of its folder whose table its header names, or to none.
    """
    is_key = columns.is_key
    parts = [_single_values(columns, is_key)]
    for pairs in find_column_pairs(columns.snapshot, 1, ContainmentOptions(threshold), has_own_tables=True):
        left, right = pairs.left + columns.offsets[pairs.segments[0]], pairs.right + columns.offsets[pairs.segments[1]]
        is_wanted = is_key[right] & (left != right) & (columns.kind[left] == columns.kind[right])
        is_wanted &= columns.is_referring[left] & columns.is_referring[right] & ~_are_versions(columns, left, right)
        wanted = KeyCandidates(left[is_wanted], right[is_wanted], pairs.matched[is_wanted])
        is_wanted = own_roles(columns, wanted) | ~_are_equal_keys(columns, wanted)
        parts.append(KeyCandidates(*(array[is_wanted] for array in wanted)))
    left, right, matched = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.lexsort((right, left))
    return KeyCandidates(left[order], right[order], matched[order])


def _single_values(columns: LakeColumns, is_key: NDArray[np.bool_]) -> KeyCandidates:
    """Find the keys that hold the value of columns of one value, of those with a word of their names."""
    single = np.flatnonzero(
        (columns.cardinality == 1) & ~columns.is_indexed & (columns.is_alive > 0) & np.isin(columns.kind, _SINGLE_KINDS)
    )
    single = single[columns.is_referring[single]]
    samples = [_first_sample(columns, column) for column in single.tolist()]
    known = np.array([sample is not None for sample in samples], bool)
    single = single[known] if single.size else single
    snapshot = columns.snapshot
    values = normalize_column(pa.array([s for s in samples if s is not None], pa.string()), snapshot.settings)
    matched = MatchedQuery(snapshot, values)
    lefts, rights = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for number, segment in enumerate(snapshot.segments):
        if segment.n_tokens == 0 or single.size == 0:
            continue
        codes = values.codes
        groups = np.where(codes >= 0, matched.groups(number)[np.maximum(codes, 0)], -1)
        tokens, n_columns = segment.tokens, segment.n_columns
        is_own = (groups >= 0) & (groups < n_columns)
        lefts.append(single[is_own])
        rights.append(groups[is_own] + columns.offsets[number])
        lists = groups[groups >= n_columns] - n_columns
        lengths = tokens.list_indptr[lists + 1] - tokens.list_indptr[lists]
        lefts.append(np.repeat(single[groups >= n_columns], lengths))
        positions = expand_stretches(tokens.list_indptr[lists], lengths)
        rights.append(tokens.list_columns[positions].astype(np.int64) + columns.offsets[number])
    left, right = np.concatenate(lefts), np.concatenate(rights)
    is_wanted = is_key[right] & columns.is_referring[right] & (columns.is_alive[right] > 0)
    is_wanted &= columns.kind[left] == columns.kind[right]
    left, right = left[is_wanted], right[is_wanted]
    is_wanted = _same_folder(columns, left, right) & ~_are_versions(columns, left, right)
    left, right = left[is_wanted], right[is_wanted]
    is_named = _names(columns, left, right)[:, NAME_FEATURES.index("table_share")] > 0
    return KeyCandidates(left[is_named], right[is_named], np.ones(int(is_named.sum()), np.int64))


def _are_versions(columns: LakeColumns, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which pairs are of two tables of one schema in one folder: years, parts and snapshots, not references."""
    return (columns.family[left] == columns.family[right]) & (columns.table_of[left] != columns.table_of[right])


def _are_equal_keys(columns: LakeColumns, pairs: KeyCandidates) -> NDArray[np.bool_]:
    """Tell which pairs are two keys of the same values, where the left one names its own table as well as the other."""
    left, right, matched = pairs
    largest = np.maximum(columns.cardinality[left], columns.cardinality[right])
    found = columns.is_key[left] & (matched >= _NEARLY_ALL * largest)
    left, right = left[found], right[found]
    share = NAME_FEATURES.index("table_share")
    found[found] = _names(columns, left, left)[:, share] >= _names(columns, left, right)[:, share]
    return found


def _same_folder(columns: LakeColumns, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which pairs are of tables of one folder."""
    folder = columns.folder[columns.table_of]
    return folder[left] == folder[right]


def _first_sample(columns: LakeColumns, column: int) -> str | None:
    """Return a value of a column as the catalogue spells it."""
    number = int(np.searchsorted(columns.offsets, column, "right")) - 1
    catalog = columns.snapshot.segments[number].catalog
    samples = catalog.columns().field("samples")[column - int(columns.offsets[number])].as_py()
    return samples[0] if samples else None


def _names(columns: LakeColumns, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compare the names of pairs."""
    out = np.empty((left.size, len(NAME_FEATURES)))
    compare_names(as_read_only(left), as_read_only(right), columns.named, out)
    return out


def key_features(columns: LakeColumns, pairs: KeyCandidates) -> NDArray[np.float64]:
    """Compute the features of candidates.

    Parameters
    ----------
    columns : LakeColumns
    pairs : KeyCandidates
        All candidates of each column that is among them.

    Returns
    -------
    ndarray of float64, shape (n, len(KEY_FEATURES))

    Notes
    -----
    No value is read. O(n log n).
    """
    left, right, matched = pairs
    names = dict(zip(NAME_FEATURES, _names(columns, left, right).T, strict=True))
    keys = columns.cardinality[right]
    unique, position = columns.records[:, IS_UNIQUE], columns.records[:, PLACE]
    starts = np.flatnonzero(np.append(True, left[1:] != left[:-1])[: left.size])
    owner = np.repeat(np.arange(starts.size), np.diff(np.append(starts, left.size)))
    named = np.maximum(names["named_header"], np.minimum(names["header_share"], names["table_share"]))
    is_own_role = own_roles(columns, pairs)
    named[is_own_role] = 1.0
    near = np.maximum(2.0 * names["same_header"], names["header_share"] + names["table_share"])
    near[is_own_role] = 2.0
    same_folder = _same_folder(columns, left, right)
    near += same_folder * (near > 0)
    near += 0.5 * names["table_in_table"]
    is_best = near == _most(near, starts)[owner] if left.size else np.empty(0, bool)
    smallest = -_most(np.where(is_best, -keys, -np.inf), starts)[owner] if left.size else np.empty(0)
    is_first = position == 0.0
    found = {
        "named": named,
        "key_named": columns.is_key_name[right],
        "table_in_table": names["table_in_table"],
        "same_folder": same_folder,
        "identifier": np.maximum(names["identifier"], names["table_share"] > 0),
        "unnamed_coverage": (1.0 - named) * matched / np.maximum(1, keys),
        "first_column": is_first[right],
        "other_keys": np.log(np.diff(np.append(starts, left.size)))[owner] if left.size else np.empty(0),
        "own_serial_key": unique[left] * is_first[left] * names["own_key"],
        "is_closest": is_best & (keys == smallest),
    }
    return np.column_stack([np.asarray(found[name], float) for name in KEY_FEATURES])


def own_roles(columns: LakeColumns, pairs: KeyCandidates) -> NDArray[np.bool_]:
    """Tell where a key is of the column's own table, and the header names a role that its rows have for each other.

    Parameters
    ----------
    columns : LakeColumns
    pairs : KeyCandidates

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    return (columns.table_of[pairs.left] == columns.table_of[pairs.right]) & columns.is_role[pairs.left]


def _most(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the largest value of each stretch."""
    return np.maximum.reduceat(values, starts)
