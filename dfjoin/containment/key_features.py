"""The columns of a lake, its candidates for foreign keys, and what speaks for and against each."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.containment.column_pairs import find_column_pairs
from dfjoin.containment.subset_join import ContainmentOptions
from dfjoin.index.catalog import KINDS
from dfjoin.index.segment import Segment
from dfjoin.kernels.lists.usefulness import HEADER, IS_UNIQUE, PLACE
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.header_words import (
    DIGITS,
    NAME_FEATURES,
    UNSPECIFIC,
    HeaderWords,
    NamedColumns,
    compare_names,
)
from dfjoin.search.exact.posting_lists import matches_pattern
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.search.usefulness.model import LinearWeights
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import headers_of, number_meaning, table_stems
from dfjoin.values.headers import PERSON_ROLES, PERSONS, RELATIONS, ROLES
from dfjoin.values.normalize import normalize_column

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
                 header that name the key or its table, and the share of the words of the key's table in the header; 0
                 for the key of a side table, see `_are_aside`
key_named        the header of the key has a word such as id, code or key, or names its own table
table_in_table   share of the words of the key's table that the column's table has in its name
same_folder      both tables lie in one folder
identifier       the header has a word such as id, code or key, or one of the name of the key's table
unnamed_coverage share of the values of the key that the column has, times one minus `named`
first_column     the key is the first column of its table
other_keys       ln(keys that hold the column)
own_serial_key   the column is unique, and the first of its own table, which bears its name
is_closest       of the keys with the nearest names, those of the column's folder first, then the first columns of
                 tables there that a column which repeats its values names, none is smaller
================ ==============================================================================================

Words that most tables of a folder have in their names do not count.
"""

FEWEST_ROWS = 2
_DATE = KINDS.index("date")
_INTEGER = KINDS.index("integer")
_SINGLE_KINDS = (KINDS.index("text"), _INTEGER)
_A_LITTLE = 0.25
"""Of equally near names the one is nearest that names the table of the key."""

NEARLY_ALL = 0.9
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

    @property
    def families(self) -> Iterator[tuple[str, int]]:
        """The name of each table, and the number that the tables of its family share."""
        for segment in self.snapshot.segments:
            yield from zip(segment.catalog.table_names(), facts_of(segment).family.tolist(), strict=True)

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
        return find_roles(self.named)

    def name(self, column: int) -> tuple[str, str]:
        """Return the names of a column's table and of the column."""
        segment, first = self.segment_of(column)
        return segment.catalog.table_name(column - first), segment.catalog.column_name(column - first)

    def segment_of(self, column: int) -> tuple[Segment, int]:
        """Return the segment of a column, and the number of the first column that it has."""
        number = int(np.searchsorted(self.offsets, column, "right")) - 1
        return self.snapshot.segments[number], int(self.offsets[number])

    @cached_property
    def is_key_name(self) -> NDArray[np.bool_]:
        """Columns whose header has a word such as id, or specific words which all stand in the name of the table."""
        own = self._own_names
        return self.is_identifier | ((own["own_key"] > 0) & (own["table_share"] > 0))

    @cached_property
    def is_identifier(self) -> NDArray[np.bool_]:
        """Columns whose header has a word such as id."""
        return self._own_names["identifier"] > 0

    @cached_property
    def names_other(self) -> NDArray[np.bool_]:
        """Columns whose header has a specific word that is not in the name of their table: they name another one."""
        return self._own_names["own_key"] == 0

    @cached_property
    def _own_names(self) -> dict[str, NDArray[np.float64]]:
        """What the names of each column and of its table tell."""
        every = np.arange(self.cardinality.size)
        return compare_pairs(self, every, every)

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
        return (self.n_null == 0) & (self.cardinality == self.n_rows) & (self.n_rows >= FEWEST_ROWS) & self.is_indexed


class KeyCandidates(NamedTuple):
    """Columns, the keys that hold their values, and how many; sorted by column."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    matched: NDArray[np.int64]

    def take(self, chosen: NDArray[Any]) -> KeyCandidates:
        """Return some of them, by their positions or a mask."""
        return KeyCandidates(*(array[chosen] for array in self))


class FoundPairs(NamedTuple):
    """Columns with a key that holds their values, and with columns that may be a part of a key that does so."""

    keys: KeyCandidates
    parts: KeyCandidates


def _joined(parts: list[NDArray], dtype: type) -> NDArray:
    """Put the columns of all segments one after the other."""
    return np.concatenate([*parts, np.empty(0, dtype)]).astype(dtype)


def _last_parts(tables: pa.Array) -> pa.Array:
    """Return the names of tables without folders, schemas and endings of files: ``lake/sales.store.csv`` is store."""
    return pc.replace_substring_regex(table_stems(tables), r"^.*\.([^.]+)$", r"\1")


def find_key_pairs(columns: LakeColumns, threshold: float) -> FoundPairs:
    """Find the columns whose values a key holds, of the same table, too, or a part of a key.

    Parameters
    ----------
    columns : LakeColumns
    threshold : float
        Share of the values of a column that the key holds.

    Returns
    -------
    FoundPairs

    Notes
    -----
    Tables of one schema in one folder do not refer to each other: they are versions or parts of one table. Two keys of
    nearly the same values are such versions, too, unless the header of one names the table of the other, and its own
    table less, or a role that a row of its table has for another one. A column of a single value is not indexed; its
    value is a sample of the catalogue, and it refers to a key of its folder whose table its header names, or to none.
    A part of a key lies in the folder of the column, which has its header, or all specific words of it.
    """
    is_key = columns.is_key
    keys, parts = [_single_values(columns, is_key)], []
    for pairs in find_column_pairs(columns.snapshot, 1, ContainmentOptions(threshold), has_own_tables=True):
        left, right = pairs.left + columns.offsets[pairs.segments[0]], pairs.right + columns.offsets[pairs.segments[1]]
        found = KeyCandidates(left, right, pairs.matched)
        found = found.take((left != right) & (columns.kind[left] == columns.kind[right]))
        found = found.take(~_are_versions(columns, found.left, found.right))
        parts.append(found.take(_may_be_parts(columns, found)))
        found = found.take(is_key[found.right] & columns.is_referring[found.left] & columns.is_referring[found.right])
        keys.append(found.take(own_roles(columns, found) | ~_are_equal_keys(columns, found)))
    return FoundPairs(_sorted(keys), _sorted(parts))


def _may_be_parts(columns: LakeColumns, pairs: KeyCandidates) -> NDArray[np.bool_]:
    """Tell which columns may refer to a part of a key, by their names."""
    left, right, _ = pairs
    found = ~columns.is_key[right] & (columns.n_null[right] == 0) & _same_folder(columns, left, right)
    found &= columns.table_of[left] != columns.table_of[right]
    names = compare_pairs(columns, left[found], right[found])
    found[found] = (names["same_header"] > 0) | (names["key_in_header"] == 1.0)
    return found


def _sorted(found: list[KeyCandidates]) -> KeyCandidates:
    """Return candidates in order."""
    none = np.empty(0, np.int64)
    left, right, matched = (
        (np.concatenate([none, *arrays]) for arrays in zip(*found, strict=True)) if found else [none] * 3
    )
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
    is_named = compare_pairs(columns, left, right)["table_share"] > 0
    return KeyCandidates(left[is_named], right[is_named], np.ones(int(is_named.sum()), np.int64))


def _are_versions(columns: LakeColumns, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which pairs are of two tables of one schema in one folder: years, parts and snapshots, not references."""
    return (columns.family[left] == columns.family[right]) & (columns.table_of[left] != columns.table_of[right])


def _are_equal_keys(columns: LakeColumns, pairs: KeyCandidates) -> NDArray[np.bool_]:
    """Tell which pairs are two keys of the same values, where the left one names its own table as well as the other."""
    left, right, matched = pairs
    largest = np.maximum(columns.cardinality[left], columns.cardinality[right])
    found = columns.is_key[left] & (matched >= NEARLY_ALL * largest)
    left, right = left[found], right[found]
    own, other = (compare_pairs(columns, left, side)["table_share"] for side in (left, right))
    found[found] = own >= other
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


def compare_pairs(
    columns: LakeColumns, left: NDArray[np.int64], right: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Compare the names of pairs: an array for each of `NAME_FEATURES`."""
    out = np.empty((left.size, len(NAME_FEATURES)))
    compare_names(as_read_only(left), as_read_only(right), columns.named, out)
    return dict(zip(NAME_FEATURES, out.T, strict=True))


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
    names = compare_pairs(columns, left, right)
    keys = columns.cardinality[right]
    unique, position = columns.records[:, IS_UNIQUE], columns.records[:, PLACE]
    starts = np.flatnonzero(np.append(True, left[1:] != left[:-1])[: left.size])
    owner = np.repeat(np.arange(starts.size), np.diff(np.append(starts, left.size)))
    named = np.maximum(names["named_header"], np.minimum(names["header_share"], names["table_share"]))
    is_own_role = own_roles(columns, pairs)
    named[is_own_role] = 1.0
    near = np.maximum(2.0 * names["same_header"], names["header_share"] + names["table_share"])
    near[is_own_role] = 2.0
    same_folder, is_first = _same_folder(columns, left, right), position[right] == 0.0
    near += _A_LITTLE * names["table_share"] * (same_folder & is_first & (unique[left] == 0))
    is_aside = _are_aside(columns, pairs, names)
    named[is_aside] = near[is_aside] = 0.0
    near += same_folder * (near > 0)
    near += 0.5 * names["table_in_table"]
    is_best = near == _most(near, starts)[owner] if left.size else np.empty(0, bool)
    smallest = -_most(np.where(is_best, -keys, -np.inf), starts)[owner] if left.size else np.empty(0)
    found = {
        "named": named,
        "key_named": columns.is_key_name[right],
        "table_in_table": names["table_in_table"],
        "same_folder": same_folder,
        "identifier": np.maximum(names["identifier"], names["table_share"] > 0),
        "unnamed_coverage": (1.0 - named) * matched / np.maximum(1, keys),
        "first_column": is_first,
        "other_keys": np.log(np.diff(np.append(starts, left.size)))[owner] if left.size else np.empty(0),
        "own_serial_key": unique[left] * (position[left] == 0.0) * names["own_key"],
        "is_closest": is_best & (keys == smallest),
    }
    return np.column_stack([np.asarray(found[name], float) for name in KEY_FEATURES])


def _are_aside(columns: LakeColumns, pairs: KeyCandidates, names: dict[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Tell which keys bear the name of a column that refers to another table: both refer to the key of that table.

    So ``orders.customer_id`` refers to ``customers.id``, though ``loyalty.customer_id`` holds all of its values, too;
    but in ``loyalty_points``, which bears the name of the side table, it refers to this one. A column that does not
    repeat its values may refer to either: keys of 1:1 relations form chains.
    """
    left, right, _ = pairs
    if not left.size:
        return np.empty(0, bool)
    starts = np.flatnonzero(np.append(True, left[1:] != left[:-1]))
    in_folder = _same_folder(columns, left, right) & (columns.records[left, IS_UNIQUE] == 0)
    is_subject = (names["header_share"] == 1.0) & (names["table_share"] > 0) & ~columns.names_other[right] & in_folder
    subject = _most(np.where(is_subject, names["table_in_table"], -1.0), starts)
    is_behind = names["table_in_table"] <= np.repeat(subject, np.diff(np.append(starts, left.size)))
    return (names["same_header"] > 0) & columns.names_other[right] & is_behind & in_folder


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


# The published model of foreign keys: a logistic regression, and its evidence in words ----------------------


KEY_MODEL_FILE = Path(__file__).with_name("key_model.json")
"""Weights, the data that they were fitted to, the command that fits them, and figures with each database held out."""

_LIMIT = 5.0
_MOST_ODDS = 30.0
_DECIMALS = 4
_LEAST = 0.3
"""Log-odds that a feature adds or takes at least to be named."""

_Words = tuple[Callable[[float], str], Callable[[float], str]]

_WORDS: dict[str, _Words] = {
    "named": (
        lambda v: "the header names the key" if v == 1 else f"{v:.0%} of the header and of the key's table agree",
        lambda v: "the header does not name the key" if v == 0 else f"only {v:.0%} of header and key's table agree",
    ),
    "key_named": (
        lambda v: "the header of the key says that it is one",
        lambda v: "the header of the key does not say that it is one",
    ),
    "same_folder": (
        lambda v: "both tables lie in one folder",
        lambda v: "the key's table lies in another folder",
    ),
    "table_in_table": (
        lambda v: f"the table bears {v:.0%} of the words of the key's table",
        lambda v: "the table does not bear the name of the key's table",
    ),
    "identifier": (
        lambda v: "the header says that it is an identifier, or names the key's table",
        lambda v: "the header neither says that it is an identifier nor names the key's table",
    ),
    "unnamed_coverage": (
        lambda v: f"the column has {v:.0%} of the values of the key",
        lambda v: "the column has few of the values of the key, or the names have said so",
    ),
    "first_column": (
        lambda v: "the key is the first column of its table",
        lambda v: "the key is not the first column of its table",
    ),
    "other_keys": (
        lambda v: f"{math.exp(v):,.0f} keys hold the column",
        lambda v: f"{math.exp(v):,.0f} keys hold the column",
    ),
    "own_serial_key": (
        lambda v: "the column does not name the rows of its own table",
        lambda v: "the column names the rows of its own table",
    ),
    "is_closest": (
        lambda v: "it is the smallest of the keys with the nearest names",
        lambda v: "a smaller key, or one with a nearer name, holds the column, too",
    ),
}
"""Features → what is said where they count for the candidate, and where against it."""


class KeyModel(LinearWeights):
    """The logistic regression of foreign keys, over the features `KEY_FEATURES`.

    Examples
    --------
    >>> KeyModel.from_dict({"bias": -1.0, "features": {"serial": {"mean": 0, "scale": 1, "weight": 2}}}).names
    ('serial',)
    """

    def parts(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each feature adds to the log-odds of each candidate, shape (n, n_features)."""
        chosen = features[:, [KEY_FEATURES.index(name) for name in self.names]]
        return np.clip((chosen - self.means) / self.scales, -_LIMIT, _LIMIT) * self.weights

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each candidate, shape (n,)."""
        odds = np.clip(self.bias + self.parts(features).sum(axis=1), -_MOST_ODDS, _MOST_ODDS)
        return np.round(1.0 / (1.0 + np.exp(-odds)), _DECIMALS)

    def evidence(self, features: NDArray[np.float64], is_own_role: bool = False) -> tuple[list[str], list[str]]:
        """Say what speaks for and against one candidate, the strongest first.

        Parameters
        ----------
        features : ndarray of float64, shape (len(KEY_FEATURES),)
        is_own_role : bool
            The header names a role of another row of the same table, see `own_roles`.

        Returns
        -------
        evidence_for, evidence_against : list of str
        """
        parts = self.parts(features[None, :])[0].tolist()
        found: tuple[list[str], list[str]] = [], []
        for name, part in sorted(zip(self.names, parts, strict=True), key=lambda item: -abs(item[1])):
            if name == "named" and is_own_role:
                found[part < 0].append("the header names a role of another row of the same table")
            elif abs(part) >= _LEAST:
                found[part < 0].append(_WORDS[name][part < 0](float(features[KEY_FEATURES.index(name)])))
        return found


@cache
def key_model() -> KeyModel:
    """Read the published model."""
    return KeyModel.from_dict(json.loads(KEY_MODEL_FILE.read_text("utf-8")))


# Words in the names of columns that tell how one row refers to another one ----------------------------------


_FOUR_BYTES = np.uint64(32)
_FEWEST_TABLES = 4
"""Tables that a folder has at least where words that most of their names share say nothing."""


def without_relations(headers: HeaderWords) -> HeaderWords:
    """Mark the words of headers that tell how, and not to what, a column refers.

    Parameters
    ----------
    headers : HeaderWords

    Returns
    -------
    HeaderWords
        The words that count are ship in ``ship_via``, staff in ``manager_staff_id``, manager in ``manager_id``.
    """
    marks = headers.marks | np.where(np.isin(headers.words, _hashes(RELATIONS)), UNSPECIFIC, 0).astype(np.uint8)
    is_role = np.isin(headers.words, _hashes(ROLES + PERSON_ROLES))
    owner = np.repeat(np.arange(headers.joined.size), np.diff(headers.indptr))
    has_subject = np.zeros(headers.joined.size, bool)
    has_subject[owner[(marks & UNSPECIFIC == 0) & ~is_role]] = True
    marks[is_role & has_subject[owner]] |= UNSPECIFIC
    return headers._replace(marks=as_read_only(marks))


def without_common(tables: HeaderWords, folders: NDArray[np.uint64], is_alive: NDArray[np.bool_]) -> HeaderWords:
    """Mark the words of names of tables that most tables of their folder share, such as a prefix of an export.

    Parameters
    ----------
    tables : HeaderWords
    folders : ndarray of uint64, shape (n_tables,)
        A number for each folder.
    is_alive : ndarray of bool, shape (n_tables,)
        Tables that were not removed; the others do not count.

    Returns
    -------
    HeaderWords
        A name of which no other specific word would be left keeps its words.

    Examples
    --------
    >>> names = headers_of(["export_orders", "export_order_lines", "export_shops", "export_prices", "export"])
    >>> (without_common(names, np.zeros(5, np.uint64), np.ones(5, bool)).marks & UNSPECIFIC).tolist()
    [1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
    """
    owner = np.repeat(np.arange(tables.joined.size), np.diff(tables.indptr))
    _, folder = np.unique(folders, return_inverse=True)
    _, word = np.unique(_in_words(folder[owner].astype(np.uint64), tables.words), return_inverse=True)
    by_table = np.unique(np.column_stack([word, owner]), axis=0)
    n_having = np.bincount(by_table[:, 0], is_alive[by_table[:, 1]])[word]
    n_in_folder = np.bincount(folder, is_alive)[folder[owner]]
    is_common = (2 * n_having > n_in_folder) & (n_in_folder >= _FEWEST_TABLES)
    has_other = np.zeros(tables.joined.size, bool)
    has_other[owner[~is_common & (tables.marks & UNSPECIFIC == 0)]] = True
    marks = tables.marks | np.where(is_common & has_other[owner], UNSPECIFIC, 0).astype(np.uint8)
    return tables._replace(marks=as_read_only(marks))


def find_roles(columns: NamedColumns) -> NDArray[np.bool_]:
    """Tell which columns name a role that one row of their table has for another one.

    Parameters
    ----------
    columns : NamedColumns

    Returns
    -------
    ndarray of bool, shape (n_columns,)
        The header has a word such as parent, or, in a table of persons, one such as manager; its other words, but for
        those of identifiers, stand in the name of the table.

    Examples
    --------
    >>> tables = headers_of(["categories", "staff", "shops"])
    >>> headers = headers_of(["parent_category_id", "manager", "manager", "next shop", "next delivery"])
    >>> find_roles(NamedColumns(headers, tables, np.array([0, 1, 2, 2, 2]))).tolist()
    [True, True, False, True, False]
    """
    headers, tables = columns.headers, columns.tables
    owner = np.repeat(np.arange(headers.joined.size), np.diff(headers.indptr))
    table_owner = np.repeat(np.arange(tables.joined.size), np.diff(tables.indptr))
    is_of_persons = np.zeros(tables.joined.size, bool)
    is_of_persons[table_owner[np.isin(tables.words, _hashes(PERSONS))]] = True
    table = columns.table_of[owner]
    is_role = np.isin(headers.words, _hashes(ROLES))
    is_role |= np.isin(headers.words, _hashes(PERSON_ROLES)) & is_of_persons[table]
    own_words = _in_words(table_owner.astype(np.uint64), tables.starts >> _FOUR_BYTES)
    is_known = (
        is_role
        | (headers.marks & UNSPECIFIC > 0)
        | np.isin(_in_words(table.astype(np.uint64), headers.starts >> _FOUR_BYTES), own_words)
    )
    found = np.zeros(headers.joined.size, bool)
    found[owner[is_role]] = True
    found[owner[~is_known]] = False
    return found


def _in_words(owner: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of the owner of each word and of the word."""
    return (owner + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) ^ words


@cache
def _hashes(words: tuple[str, ...]) -> NDArray[np.uint64]:
    """Return the hashes of words."""
    return headers_of(words).joined
