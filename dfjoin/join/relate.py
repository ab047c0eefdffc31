"""Relating the rows of two frames that do not join by equality: learned programs, then a fuzzy join.

The relation is found on the distinct keys of either side, and handed on as pairs of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.fuzzy.fuzzy_join import find_fuzzy
from dfjoin.fuzzy.result import FuzzyJoin
from dfjoin.join.closest import closest_columns
from dfjoin.programs.program import MAX_COLUMNS, Program
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.prepared_columns import count_distinct
from dfjoin.transform.transform_join import RankedProgram, TransformJoin, join_rows

__all__ = ["KINDS", "Keys", "Relation", "relate"]

KINDS = ("equal", "program", "fuzzy")
"""How a pair of keys was matched, by number."""

_QUICK_KEYS = 100_000
"""Keys up to which a fuzzy join takes seconds."""

Columns = dict[str, pa.Array]


class Keys:
    """The distinct keys of one side, in the spelling that the rows have.

    Parameters
    ----------
    columns : dict of str to pyarrow Array of string
        The key columns; at least one.

    Attributes
    ----------
    codes : ndarray of int64, shape (n_rows,)
        Key of each row; rows whose columns are all null have one like others.
    columns : dict of str to pyarrow Array
        One entry a key.
    """

    def __init__(self, columns: Columns) -> None:
        codes = np.zeros(len(next(iter(columns.values()))), np.int64)
        for array in columns.values():
            encoded = pc.dictionary_encode(array, null_encoding="encode")
            more = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
            pairs = codes * max(1, len(encoded.dictionary)) + more
            codes = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        self.codes = codes
        self.n_keys = int(codes.max()) + 1 if codes.size else 0
        first = np.full(self.n_keys, -1, np.int64)
        first[codes[::-1]] = np.arange(codes.size)[::-1]
        self.columns = {name: array.take(pa.array(first)) for name, array in columns.items()}

    def texts(self) -> pa.Array:
        """Return each key as one text, its parts with a space between; of several a null is an empty one."""
        arrays = list(self.columns.values())
        if len(arrays) == 1:
            return arrays[0]
        return pc.binary_join_element_wise(*[a.cast(pa.string()).fill_null("") for a in arrays], " ")


@dataclass(frozen=True)
class Relation:
    """Which keys of the left side belong to which of the right.

    Parameters
    ----------
    left_columns, right_columns : list of str
        The key columns.
    left, right : Keys
    left_keys, right_keys : ndarray of int64, shape (n_pairs,)
        By left key, then right key; each pair once.
    kinds : ndarray of int8, shape (n_pairs,)
        Number in `KINDS`.
    distances : ndarray of float64, shape (n_pairs,)
        0 for equal keys and for those that a program relates.
    programs : TransformJoin
        The programs, or what was tried.
    fuzzy : FuzzyJoin or None
        The fuzzy join, or why there is none; None if it was not looked for.
    """

    left_columns: list[str]
    right_columns: list[str]
    left: Keys
    right: Keys
    left_keys: NDArray[np.int64]
    right_keys: NDArray[np.int64]
    kinds: NDArray[np.int8]
    distances: NDArray[np.float64]
    programs: TransformJoin
    fuzzy: FuzzyJoin | None = None

    def describe(self) -> dict[str, Any]:
        """Return what was found as plain JSON values, for the report."""
        found: dict[str, Any] = {
            "n_keys": {
                kind: count_distinct(self.left_keys[self.kinds == n], self.left.n_keys) for n, kind in enumerate(KINDS)
            }
        }
        if self.programs.found:
            learned = self.programs.to_dict()
            learned.pop("tried")
            found["transform"] = learned
        if self.fuzzy is not None and len(self.fuzzy):
            found["fuzzy"] = {k: v for k, v in self.fuzzy.to_dict().items() if k != "tried"}
        return found


def relate(
    left: Columns,
    right: Columns,
    *,
    on: Sequence[str] | None,
    right_on: Sequence[str] | None,
    transform: bool,
    fuzzy: bool | None,
    precision: float,
    examples: Sequence[tuple[str, str]] | None,
) -> tuple[Relation | None, list[str]]:
    """Relate two tables by learned programs, and what these leave over by a fuzzy join.

    Parameters
    ----------
    left, right : dict of str to pyarrow Array of string
        Columns that may take part.
    on, right_on : sequence of str or None
        Key columns, if the caller named them.
    transform : bool
        Whether to look for programs.
    fuzzy : bool or None
        Whether to join by likeness; None: if that is a matter of seconds, by the number of keys.
    precision : float
        Of the fuzzy join.
    examples : sequence of (str, str), optional
        Values that belong together, to learn programs from.

    Returns
    -------
    relation : Relation or None
        None if no honest relation was found.
    tried : list of str
        What was tried, and why it was not taken.

    Notes
    -----
    Source: thesis, sections 4.4 (programs) and 4.6 (the fuzzy join covers what they do not). Programs decide
    which columns are the key, if the caller did not; without any, the pair of columns whose values share
    the most rare words is looked at.
    """
    tried: list[str] = []
    programs = TransformJoin()
    if transform and all(names is None or len(names) <= MAX_COLUMNS for names in (on, right_on)):
        programs = find_programs(left, right, on=on, right_on=right_on, examples=examples)
        tried += programs.tried
    if programs.found:
        is_forward = programs.direction == "left_to_right"
        own, other = programs.source_columns, programs.target_columns
        left_columns, right_columns = map(list, (own, other) if is_forward else (other, own))
    elif on is not None and right_on is not None:
        left_columns, right_columns = list(on), list(right_on)
        programs = _identity(left_columns, right_columns)
    else:
        pair = closest_columns(left, right, on, right_on) if fuzzy is not False else None
        if pair is None:
            return None, tried
        left_columns, right_columns = [pair[0]], [pair[1]]
        programs = _identity(left_columns, right_columns)
    sides = Keys({c: left[c] for c in left_columns}), Keys({c: right[c] for c in right_columns})
    rows = join_rows(programs, sides[0].columns, sides[1].columns)
    is_copy = np.array([ranked.program.is_identity for ranked in programs.programs] or [False])
    is_copy &= programs.target is not None and programs.target.is_identity
    kinds = np.where(is_copy[rows.programs], KINDS.index("equal"), KINDS.index("program")).astype(np.int8)
    found: FuzzyJoin | None = None
    left_keys, right_keys = rows.left_rows, rows.right_rows
    distances = np.zeros(left_keys.size)
    n_left_over = sides[0].n_keys - count_distinct(left_keys, sides[0].n_keys)
    if fuzzy is None and n_left_over and max(n_left_over, sides[1].n_keys) > _QUICK_KEYS:
        tried.append(
            f"{' + '.join(left_columns)} = {' + '.join(right_columns)}: {n_left_over:,} keys are left to be joined by "
            f"likeness with {sides[1].n_keys:,}, which takes minutes; pass fuzzy=True to do it"
        )
    elif fuzzy is not False and n_left_over:
        found = find_fuzzy(
            sides[0].texts().cast(pa.large_string()),
            sides[1].texts().cast(pa.large_string()),
            precision=precision,
            known=(left_keys, right_keys),
        )
        if len(found) == 0:
            tried.append(f"{' + '.join(left_columns)} = {' + '.join(right_columns)}: {found.reason}")
        left_keys = np.concatenate([left_keys, found.left_rows])
        right_keys = np.concatenate([right_keys, found.right_rows])
        kinds = np.concatenate([kinds, np.full(len(found), KINDS.index("fuzzy"), np.int8)])
        distances = np.concatenate([distances, found.distances])
    if left_keys.size == 0:
        return None, tried
    order = np.lexsort((kinds, right_keys, left_keys))
    left_keys, right_keys = left_keys[order], right_keys[order]
    is_first = np.append(True, (np.diff(left_keys) != 0) | (np.diff(right_keys) != 0))
    order = order[is_first]
    relation = Relation(
        left_columns, right_columns, *sides, left_keys[is_first], right_keys[is_first], kinds[order],
        distances[order], programs, found,
    )  # fmt: skip
    return relation, tried


def _identity(left_columns: list[str], right_columns: list[str]) -> TransformJoin:
    """Return equality as a program; nothing for composite keys, whose equal texts the fuzzy join finds."""
    if len(left_columns) != 1 or len(right_columns) != 1:
        return TransformJoin()
    copy = RankedProgram(Program.identity(left_columns[0]), 0, 0.0, 1.0, 0.0)
    target = Program.identity(right_columns[0])
    return TransformJoin("left_to_right", (left_columns[0],), (right_columns[0],), target, (copy,))
