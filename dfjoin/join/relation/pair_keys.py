"""Pairing the keys of two tables: by programs first, then the rest, by likeness of what these make of the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.fuzzy.result import FuzzyJoin
from dfjoin.join.relation.explained_columns import keep_explained
from dfjoin.join.relation.key_relation import KINDS, DistinctKeys, KeyPairs, Relation, distinct_keys
from dfjoin.join.relation.similar_keys import TextColumns
from dfjoin.programs.program import Program
from dfjoin.transform.evidence.transform_join import RowJoin, TransformJoin, join_rows
from dfjoin.values.key_index import pair_codes
from dfjoin.values.shares import HALF

__all__ = ["RestMatcher", "marked_pairs", "pair_keys", "texts_to_compare"]

_MAX_COMPARED = 50_000
"""Pairs of each program whose texts are compared as they are written."""

RestMatcher: TypeAlias = Callable[[pa.Array, pa.Array, KeyPairs], tuple[FuzzyJoin | None, str]]
"""What matches the keys that programs leave, given a text of each, and says why it found none."""


def pair_keys(
    programs: TransformJoin, left: TextColumns, right: TextColumns, match_rest: RestMatcher
) -> tuple[Relation, str]:
    """Pair the keys that programs relate, then those that a matcher finds for the rest.

    Parameters
    ----------
    programs : TransformJoin
        Programs, or the names of columns alone, whose keys are left to the matcher.
    left, right : mapping of str to Column
        Tables that have these columns.
    match_rest : RestMatcher

    Returns
    -------
    relation : Relation
    reason : str
        Why the matcher found nothing; empty if it did, or was not asked.
    """
    columns = programs.source_columns, programs.target_columns
    own_columns, other_columns = columns[::-1] if programs.direction == "right_to_left" else columns
    own = distinct_keys({name: left[name].array for name in own_columns})
    other = distinct_keys({name: right[name].array for name in other_columns})
    pairs, respelled = _pairs_of_programs(programs, own, other)
    fuzzy, reason = match_rest(*texts_to_compare(programs, own, other), pairs)
    if reason:
        reason = f"{' + '.join(own_columns)} = {' + '.join(other_columns)}: {reason}"
    if fuzzy is not None and not _are_apart(programs, own, other):
        for side, texts, is_left in ((own, other.texts(), True), (other, own.texts(), False)):
            if len(side.columns) > 1:
                fuzzy = keep_explained(fuzzy, side.columns, texts, is_left)
    if fuzzy is not None:
        pairs = _with_fuzzy(pairs, fuzzy)
    keys = list(own_columns), list(other_columns), own, other
    return Relation(*keys, _sort_pairs(pairs), programs, fuzzy, n_respelled=respelled), reason


def _are_apart(programs: TransformJoin, left: DistinctKeys, right: DistinctKeys) -> bool:
    """Tell whether keys of several columns are compared column by column."""
    return not programs.programs and len(left.columns) == len(right.columns) > 1


def texts_to_compare(programs: TransformJoin, left: DistinctKeys, right: DistinctKeys) -> tuple[pa.Array, pa.Array]:
    """Return what likeness compares of each key: what the programs make of it, and of the rest the key itself.

    Parameters
    ----------
    programs : TransformJoin
    left, right : DistinctKeys

    Returns
    -------
    tuple of pyarrow Array
        An entry for each key of either side.

    Notes
    -----
    Keys of several columns that no program relates are compared column by column. A program that relates less than half
    of either column does not say how the keys of the others are written: these are compared as they are.
    """
    if _are_apart(programs, left, right):
        return left.as_struct(), right.as_struct()
    covered = max(programs.source_coverage, programs.target_coverage)
    if covered < HALF and len(left.columns) == len(right.columns) == 1:
        return left.texts(), right.texts()
    is_forward = programs.direction != "right_to_left"
    source, target = (left, right) if is_forward else (right, left)
    cut = [_made(source, [ranked.program for ranked in programs.programs])]
    cut.append(_made(target, [] if programs.target is None else [programs.target]))
    return (cut[0], cut[1]) if is_forward else (cut[1], cut[0])


def _made(keys: DistinctKeys, programs: list[Program]) -> pa.Array:
    """Return the first result that programs have for each key, or the key where they have none."""
    made = [program.apply([keys.columns[name] for name in program.columns]) for program in programs]
    texts = [array.cast(pa.large_string()) for array in [*made, keys.texts()]]
    return pc.coalesce(*texts) if len(texts) > 1 else texts[0]


def _pairs_of_programs(programs: TransformJoin, left: DistinctKeys, right: DistinctKeys) -> tuple[KeyPairs, int]:
    """Pair the keys that programs join, and count those that are respelled; a copy of the key joins equal ones."""
    rows = join_rows(programs, left.columns, right.columns)
    return marked_pairs(programs, rows), _count_respelled(programs, rows, left, right)


def marked_pairs(programs: TransformJoin, rows: RowJoin) -> KeyPairs:
    """Tell of pairs that programs join whether the keys are equal, and how likely they belong together."""
    is_copy = np.array([ranked.program.is_identity for ranked in programs.programs] or [False])
    is_copy &= programs.target is not None and programs.target.is_identity
    kinds = np.where(is_copy[rows.programs], KINDS.index("equal"), KINDS.index("program")).astype(np.int8)
    precisions = np.array([ranked.precision for ranked in programs.programs] or [1.0])
    chances = np.where(is_copy[rows.programs], 1.0, precisions[rows.programs])
    return KeyPairs(rows.left_rows, rows.right_rows, kinds, np.zeros(chances.size), chances)


def _count_respelled(programs: TransformJoin, rows: RowJoin, left: DistinctKeys, right: DistinctKeys) -> int:
    """Count pairs whose texts, as the programs write them, are equal in canonical form only; of many the first ones."""
    if programs.target is None:
        return 0
    is_forward = programs.direction != "right_to_left"
    source, target = (left, right) if is_forward else (right, left)
    source_rows, target_rows = (rows.left_rows, rows.right_rows)[:: 1 if is_forward else -1]
    count = 0
    for number, ranked in enumerate(programs.programs):
        if ranked.program.is_identity:  # equal keys, which no code is exported for
            continue
        chosen = np.flatnonzero(rows.programs == number)[:_MAX_COMPARED]
        texts = [
            program.apply([side.columns[name].take(pa.array(taken[chosen])) for name in program.columns])
            for program, side, taken in ((ranked.program, source, source_rows), (programs.target, target, target_rows))
        ]
        is_same = pc.equal(*(text.cast(pa.large_string()) for text in texts))
        count += chosen.size - (pc.sum(is_same).as_py() or 0)
    return count


def _with_fuzzy(pairs: KeyPairs, fuzzy: FuzzyJoin) -> KeyPairs:
    """Add the pairs of a fuzzy join."""
    kinds = np.full(len(fuzzy), KINDS.index("fuzzy"), np.int8)
    return KeyPairs(
        np.concatenate([pairs.left, fuzzy.left_rows]),
        np.concatenate([pairs.right, fuzzy.right_rows]),
        np.concatenate([pairs.kinds, kinds]),
        np.concatenate([pairs.distances, fuzzy.distances]),
        np.concatenate([pairs.chances, fuzzy.chances]),
    )


def _sort_pairs(pairs: KeyPairs) -> KeyPairs:
    """Sort pairs by left key, then right key; a key that a program joins is not joined by similarity as well."""
    order = np.argsort(pair_codes(pairs.left, pairs.right, int(pairs.right.max(initial=0)) + 1), kind="stable")
    left, right, kinds, distances, chances = pairs
    return KeyPairs(left[order], right[order], kinds[order], distances[order], chances[order])
