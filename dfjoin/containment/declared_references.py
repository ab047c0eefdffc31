"""Foreign keys that databases declare: they are edges of a join graph, whatever their values tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.containment.key_features import KeyCandidates, LakeColumns

__all__ = ["UNCOUNTED", "declared_tuples", "with_declared"]

UNCOUNTED = -1
"""`matched` of a declared pair whose values were not counted."""


def with_declared(
    columns: LakeColumns, found: KeyCandidates, scored: KeyCandidates, is_wanted: NDArray[np.bool_]
) -> tuple[KeyCandidates, NDArray[np.bool_]]:
    """Put declared foreign keys behind the candidates that have a score.

    Parameters
    ----------
    columns : LakeColumns
    found : KeyCandidates
        All candidates; what their columns share is known.
    scored : KeyCandidates
        Those that are kept for their score.
    is_wanted : ndarray of bool, shape (n_columns,)
        Columns of tables that count.

    Returns
    -------
    pairs : KeyCandidates
        `scored`, and the declared ones that are not among them; `UNCOUNTED` where they are not in `found` either.
    is_declared : ndarray of bool
        Of each of these.

    Notes
    -----
    Keys of one column, see `declared_tuples` for the others. O(n log n).
    """
    left, right = _declared_pairs(columns)
    if not left.size:
        return scored, np.zeros(scored.left.size, bool)
    counts = is_wanted[left] & is_wanted[right]
    left, right = left[counts], right[counts]
    is_new = ~_is_among(left, right, scored)
    known = {(a, b): n for a, b, n in zip(*(array.tolist() for array in found), strict=True)} if is_new.any() else {}
    new = list(zip(left[is_new].tolist(), right[is_new].tolist(), strict=True))
    matched = np.array([known.get(pair, UNCOUNTED) for pair in new], np.int64)
    further = left[is_new], right[is_new], matched
    pairs = KeyCandidates(*(np.append(a, b) for a, b in zip(scored, further, strict=True)))
    return pairs, _is_among(pairs.left, pairs.right, KeyCandidates(left, right, left))


def _is_among(left: NDArray[np.int64], right: NDArray[np.int64], pairs: KeyCandidates) -> NDArray[np.bool_]:
    """Tell which pairs of columns are among some pairs."""
    known = set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    return np.array([pair in known for pair in zip(left.tolist(), right.tolist(), strict=True)], bool)


def _declared_pairs(columns: LakeColumns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns that refer to one column by a declaration, and these; in order."""
    pairs = [(own[0], key[0]) for own, key in _declared(columns) if len(own) == 1]
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T
    return left, right


def declared_tuples(columns: LakeColumns) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the columns of each declared foreign key of several columns, and those that they refer to; in order."""
    return [(own, key) for own, key in _declared(columns) if len(own) > 1]


def _declared(columns: LakeColumns) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the columns of each declared foreign key, and those that they refer to, as far as the lake has them."""
    referring: list[dict[str, Any]] = []
    places: dict[tuple[int, str], tuple[int, int]] = {}
    segments = columns.snapshot.segments
    tables = [segment.catalog.tables() for segment in segments]
    if not any(len(own.field("foreign_keys").flatten()) for own in tables):
        return []
    for number, (segment, own) in enumerate(zip(segments, tables, strict=True)):
        alive = np.flatnonzero(segment.alive_tables()).tolist()
        roots, paths = own.field("root").to_pylist(), own.field("path").to_pylist()
        places |= {(roots[table], paths[table]): (number, table) for table in alive}
        counts = pc.list_value_length(own.field("foreign_keys")).to_pylist()
        referring += [segment.catalog.table_record(table) for table in alive if counts[table]]
    found = set()
    for record in referring:
        for key in record["foreign_keys"]:
            ends = places.get((record["root"], record["path"])), places.get((record["root"], key["path"]))
            if None not in ends and len(key["columns"]) == len(key["key_columns"]):
                names = key["columns"], key["key_columns"]
                left, right = (
                    tuple(_column(columns, place, name) for name in own) for place, own in zip(ends, names, strict=True)
                )
                if min(*left, *right) >= 0 and left != right:
                    found.add((left, right))
    return sorted(found)


def _column(columns: LakeColumns, place: Any, name: str) -> int:
    """Return the number of a column over all segments, -1 if its table has none of that name."""
    segment, table = place
    column = columns.snapshot.segments[segment].catalog.find_column(table, name)
    return -1 if column < 0 else column + int(columns.offsets[segment])
