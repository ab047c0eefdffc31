"""Candidates for the foreign keys of a lake, and the features that speak for and against each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.containment.column_pairs import find_column_pairs
from dfjoin.containment.lake_columns import LakeColumns, compare_pairs
from dfjoin.containment.subset_join import ContainmentOptions
from dfjoin.index.catalog import KINDS
from dfjoin.kernels.lists.usefulness import IS_UNIQUE, POSITION
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.search.exact.searcher import MatchedQuery
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

_SINGLE_KINDS = (KINDS.index("text"), KINDS.index("integer"))
_A_LITTLE = 0.25
"""Of equally near names the one is nearest that names the table of the key."""

NEARLY_ALL = 0.9
"""Share of the values of two keys that either holds of the other, where they are keys of the same things."""


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
    unique, position = columns.records[:, IS_UNIQUE], columns.records[:, POSITION]
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
