"""Relating the rows of two frames that do not join by equality: learned programs, then a fuzzy join.

The relation is found on the distinct keys of either side, and handed on as pairs of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.fuzzy.fuzzy_join import apply_fuzzy, find_fuzzy
from dfjoin.fuzzy.result import FuzzyJoin
from dfjoin.join.element_keys import ElementKeys, Matcher, find_elements, match_elements
from dfjoin.join.keys import expand_pairs
from dfjoin.join.options import JoinOptions
from dfjoin.join.saved_relation import SavedRelation
from dfjoin.join.similar_keys import TextColumns, choose_similar_keys, is_named_by_words
from dfjoin.join.told_columns import keep_told
from dfjoin.programs.program import MAX_COLUMNS, Program
from dfjoin.search.row_keys import KeyIndex, number_rows
from dfjoin.transform.casing import spell_as_targets
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.outcome import evaluate
from dfjoin.transform.prepared_columns import Column, count_distinct
from dfjoin.transform.transform_join import RankedProgram, RowJoin, TransformJoin, join_rows

__all__ = [
    "KINDS",
    "DistinctKeys",
    "KeyPairs",
    "Relation",
    "distinct_keys",
    "relate",
    "relate_again",
    "without_tried",
]

KINDS = ("equal", "program", "fuzzy")
"""How a pair of keys was matched, by number."""

_QUICK_KEYS = 100_000
"""Keys up to which a fuzzy join takes less than a minute on two cores."""
_MIN_SHARE_CUT = 0.5
"""Share of either column that programs relate, from which likeness compares what they cut out of the other keys."""
_MIN_ALIKE = 3
_MIN_SHARE_ALIKE = 0.2
"""Keys, and share of the keys of one side, that likeness has to join where nobody named the columns: two columns of
short texts have some that are alike."""
_MIN_NONE_EQUAL = 6
_MIN_SHARE_NONE_EQUAL = 0.4
"""The same where no key is equal: of things that two tables spell differently, some are spelled alike, whereas
different things of one list, models of one maker, have names that resemble each other."""
_MAX_COMPARED = 50_000
"""Pairs of each program whose texts are compared as they are written."""
_QUICK_REST = 50_000
"""Keys up to which it is tried for what equality leaves."""


@dataclass(frozen=True)
class DistinctKeys:
    """The distinct keys of one side, in the spelling that the rows have.

    Parameters
    ----------
    index : KeyIndex
        Key of each row; rows whose columns are all null have one like others.
    columns : dict of str to pyarrow Array
        One entry a key.
    """

    index: KeyIndex
    columns: dict[str, pa.Array]

    def texts(self) -> pa.Array:
        """Return each key as one text, its parts with a space between; of several a null is an empty one."""
        arrays = list(self.columns.values())
        if len(arrays) == 1:
            return arrays[0]
        return pc.binary_join_element_wise(*[a.cast(pa.string()).fill_null("") for a in arrays], " ")

    def as_struct(self) -> pa.StructArray:
        """Return each key with its columns apart."""
        return pa.StructArray.from_arrays(
            [a.cast(pa.large_string()) for a in self.columns.values()], list(self.columns)
        )


def distinct_keys(columns: dict[str, pa.Array]) -> DistinctKeys:
    """Number the keys that some columns of strings, at least one, make together."""
    encoded = [pc.dictionary_encode(array, null_encoding="encode") for array in columns.values()]
    parts = [(e.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(e.dictionary)) for e in encoded]
    codes, n_keys, _ = number_rows(parts)
    first = np.full(n_keys, -1, np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    return DistinctKeys(KeyIndex(codes, n_keys), {name: array.take(pa.array(first)) for name, array in columns.items()})


def _is_common(pairs: KeyPairs, n_left: int, n_right: int) -> bool:
    """Tell whether pairs join enough of the keys of one side to relate two columns that nobody named."""
    counts = count_distinct(pairs.left, n_left), count_distinct(pairs.right, n_right)
    least, least_share = _MIN_ALIKE, _MIN_SHARE_ALIKE
    if not (pairs.kinds == KINDS.index("equal")).any():
        least, least_share = _MIN_NONE_EQUAL, _MIN_SHARE_NONE_EQUAL
    return min(counts) >= least and max(counts[0] / n_left, counts[1] / n_right) >= least_share


class KeyPairs(NamedTuple):
    """Which keys of the left side belong to which of the right; arrays of shape (n_pairs,).

    Parameters
    ----------
    left, right : ndarray of int64
        Numbers of the keys.
    kinds : ndarray of int8
        How they were matched, by number in `KINDS`.
    distances : ndarray of float64
        0 for equal keys and for those that a program relates.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    kinds: NDArray[np.int8]
    distances: NDArray[np.float64]


@dataclass(frozen=True)
class Relation:
    """How the keys of two tables belong together.

    Parameters
    ----------
    left_columns, right_columns : list of str
        The key columns.
    left, right : DistinctKeys
    pairs : KeyPairs
        By left key, then right key; each pair once.
    programs : TransformJoin
        The programs, or what was tried.
    fuzzy : FuzzyJoin or None
        The fuzzy join, or why there is none; None if it was not looked for.
    elements : ElementKeys or None
        Which side holds several values in a cell, each of which is a key; None: neither.
    n_respelled : int
        Pairs of programs whose texts are equal in canonical form only: exported code does not match them by ``=``. Of
        many pairs the first 50,000 of each program are looked at.
    """

    left_columns: list[str]
    right_columns: list[str]
    left: DistinctKeys
    right: DistinctKeys
    pairs: KeyPairs
    programs: TransformJoin
    fuzzy: FuzzyJoin | None = None
    elements: ElementKeys | None = None
    n_respelled: int = 0

    def row_pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of both tables that are joined; int64, shape (n_row_pairs,) each."""
        own, theirs = self.left.index, self.right.index
        of_pair, right_rows = expand_pairs(self.pairs.right, theirs.codes, theirs.n_keys)
        left_rows, at = expand_pairs(own.codes, self.pairs.left[of_pair], own.n_keys)
        return left_rows, right_rows[at]

    def saved(self) -> SavedRelation:
        """Return what can be applied to other tables."""
        is_alike = self.fuzzy is not None and len(self.fuzzy)
        likeness = self.fuzzy.settings if self.fuzzy is not None and is_alike else None
        return SavedRelation(self.programs, likeness, self.elements)

    def describe(self) -> dict[str, Any]:
        """Return what was found as plain JSON values, for the report."""
        keys, kinds, n_keys = self.pairs.left, self.pairs.kinds, self.left.index.n_keys
        found: dict[str, Any] = {
            "n_keys": {kind: count_distinct(keys[kinds == n], n_keys) for n, kind in enumerate(KINDS)}
        }
        if self.programs.found:
            found["transform"] = {**without_tried(self.programs), "n_respelled": self.n_respelled}
        if self.elements is not None:
            found["elements"] = self.elements.to_dict()
        if self.fuzzy is not None and len(self.fuzzy):
            found["fuzzy"] = without_tried(self.fuzzy)
        return found


def without_tried(found: TransformJoin | FuzzyJoin) -> dict[str, Any]:
    """Return a join as plain JSON values, without what else was tried."""
    return {key: value for key, value in found.to_dict().items() if key != "tried"}


def relate(
    left: TextColumns,
    right: TextColumns,
    on: Sequence[str] | None,
    right_on: Sequence[str] | None,
    options: JoinOptions,
    *,
    equals_first: bool = False,
) -> tuple[Relation | None, list[str]]:
    """Relate two tables by learned programs, and what these leave over by a fuzzy join.

    Parameters
    ----------
    left, right : mapping of str to Column
        Columns that may take part.
    on, right_on : sequence of str or None
        Key columns, if the caller named them.
    options : JoinOptions
        `transform`, `fuzzy` (None: if that is a matter of seconds, by the number of keys), `precision` and
        `examples`.
    equals_first : bool, default False
        The columns `on` and `right_on`, one each, were chosen because many of their values are equal. These are
        joined; programs and likeness serve those that are left over.

    Returns
    -------
    relation : Relation or None
        None if nothing was accepted.
    tried : list of str
        What was tried, and why it was not taken; of programs only where none was.

    Notes
    -----
    Source: thesis, sections 4.4 (programs) and 4.6 (the fuzzy join covers what they do not, and compares what they
    cut out of the keys, not the keys as they are). Programs decide which columns are the key, if the caller did not;
    without any, the pair of columns whose values share the most rare words is looked at. If a key is named on either
    side, and the cells of one list keys of the other, their values are compared in place of the cells.
    """
    tried: list[str] = []
    is_named = on is not None and right_on is not None and not equals_first
    if is_named and options.transform is not False and options.examples is None:
        by_elements = _relate_elements(left, right, on or (), right_on or (), options)
        if by_elements is not None:
            return by_elements, tried
    is_chosen = False
    programs = TransformJoin()
    if options.transform is not False and all(names is None or len(names) <= MAX_COLUMNS for names in (on, right_on)):
        programs = find_programs(left, right, on=on, right_on=right_on, examples=options.examples)
        programs = spell_as_targets(programs, left, right)
        tried += () if programs.found else programs.tried
    if equals_first and on is not None and right_on is not None:
        programs = _with_equal_keys(programs, left[on[0]], right[right_on[0]])
    if not programs.found:
        is_chosen = on is None or right_on is None
        equality = _equal_keys(left, right, on, right_on, options)
        if equality is None:
            return None, tried
        programs = equality

    def match_rest(own: pa.Array, other: pa.Array, known: KeyPairs) -> tuple[FuzzyJoin | None, str]:
        if any(ranked.program.computes for ranked in programs.programs):  # numbers that are alike are others
            return None, ""
        quick = _QUICK_REST if equals_first else _QUICK_KEYS
        if options.fuzzy is False or count_distinct(known.left, len(own)) == len(own):
            return None, ""
        if not is_named and not (is_named_by_words(own) and is_named_by_words(other)):
            return None, "values that differ by digits alone are joined by likeness only if `on` names them"
        return _find_fuzzy(own, other, known, options, quick)

    relation, reason = _carry_out(programs, left, right, match_rest)
    if is_chosen and not _is_common(relation.pairs, relation.left.index.n_keys, relation.right.index.n_keys):
        n_keys = count_distinct(relation.pairs.left, relation.left.index.n_keys)
        if n_keys:
            columns = f"{' + '.join(relation.left_columns)} = {' + '.join(relation.right_columns)}"
            reason = f"{columns}: {n_keys:,} keys that are equal or alike are too few, where `on` does not name them"
        return None, [*tried, reason] if reason else tried
    return relation if relation.pairs.left.size else None, [*tried, reason] if reason else tried


_Matcher: TypeAlias = Callable[[pa.Array, pa.Array, KeyPairs], tuple[FuzzyJoin | None, str]]
"""What matches the keys that programs leave, given a text of each, and says why it found none."""


def relate_again(saved: SavedRelation, left: TextColumns, right: TextColumns) -> tuple[Relation, str]:
    """Relate two tables as two others were: by the same programs, and by likeness with the same threshold.

    Parameters
    ----------
    saved : SavedRelation
    left, right : mapping of str to Column
        Tables that have its columns.

    Returns
    -------
    relation : Relation
        Without pairs if no key has a partner.
    reason : str
        Why likeness joined nothing; empty if it did, or was not part of the relation.
    """
    likeness = saved.likeness
    if saved.elements is not None:
        own, other = (
            distinct_keys({name: table[name].array for name in names})
            for names, table in zip(saved.columns, (left, right), strict=True)
        )

        def match_values(own: pa.Array, other: pa.Array, known: _Known) -> FuzzyJoin | None:
            return None if likeness is None else apply_fuzzy(own, other, likeness, known=known)

        return _pair_elements(saved.programs, saved.elements, own, other, match_values), ""

    def match_rest(own: pa.Array, other: pa.Array, known: KeyPairs) -> tuple[FuzzyJoin | None, str]:
        if likeness is None:
            return None, ""
        found = apply_fuzzy(own, other, likeness, known=(known.left, known.right))
        return found, "" if len(found) else found.reason

    return _carry_out(saved.programs, left, right, match_rest)


_Known: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


def _relate_elements(
    left: TextColumns, right: TextColumns, on: Sequence[str], right_on: Sequence[str], options: JoinOptions
) -> Relation | None:
    """Relate two columns of which one lists keys of the other in its cells; None if neither does."""
    if len(on) != 1 or len(right_on) != 1:
        return None
    own, other = distinct_keys({on[0]: left[on[0]].array}), distinct_keys({right_on[0]: right[right_on[0]].array})
    elements = find_elements(own.texts(), other.texts())
    if elements is None:
        return None

    def match_values(own: pa.Array, other: pa.Array, known: _Known) -> FuzzyJoin | None:
        is_slow = options.fuzzy is None and max(len(own), len(other)) > _QUICK_KEYS
        if options.fuzzy is False or is_slow:
            return None
        return find_fuzzy(own, other, precision=options.precision, known=known)

    names = TransformJoin("left_to_right", tuple(on), tuple(right_on))
    return _pair_elements(names, elements, own, other, match_values)


def _pair_elements(
    names: TransformJoin, elements: ElementKeys, own: DistinctKeys, other: DistinctKeys, matcher: Matcher
) -> Relation:
    """Pair keys by the values that the cells of one side list."""
    found, fuzzy = match_elements(elements, own.texts(), other.texts(), matcher)
    kinds = np.where(found.is_alike, KINDS.index("fuzzy"), KINDS.index("program")).astype(np.int8)
    pairs = KeyPairs(found.left, found.right, kinds, found.distances)
    columns = list(names.source_columns), list(names.target_columns)
    return Relation(*columns, own, other, pairs, names, fuzzy, elements)


def _carry_out(
    programs: TransformJoin, left: TextColumns, right: TextColumns, match_rest: _Matcher
) -> tuple[Relation, str]:
    """Pair the keys that programs relate, then those that a matcher finds for the rest; also why it found none."""
    columns = programs.source_columns, programs.target_columns
    own_columns, other_columns = columns[::-1] if programs.direction == "right_to_left" else columns
    own = distinct_keys({name: left[name].array for name in own_columns})
    other = distinct_keys({name: right[name].array for name in other_columns})
    pairs, respelled = _pairs_of_programs(programs, own, other)
    fuzzy, reason = match_rest(*_texts_to_compare(programs, own, other), pairs)
    if reason:
        reason = f"{' + '.join(own_columns)} = {' + '.join(other_columns)}: {reason}"
    if fuzzy is not None and not _are_apart(programs, own, other):
        for side, texts, is_left in ((own, other.texts(), True), (other, own.texts(), False)):
            if len(side.columns) > 1:
                fuzzy = keep_told(fuzzy, side.columns, texts, is_left)
    if fuzzy is not None:
        pairs = _with_fuzzy(pairs, fuzzy)
    keys = list(own_columns), list(other_columns), own, other
    return Relation(*keys, _sort_pairs(pairs), programs, fuzzy, n_respelled=respelled), reason


def _are_apart(programs: TransformJoin, left: DistinctKeys, right: DistinctKeys) -> bool:
    """Tell whether keys of several columns are compared column by column."""
    return not programs.programs and len(left.columns) == len(right.columns) > 1


def _texts_to_compare(programs: TransformJoin, left: DistinctKeys, right: DistinctKeys) -> tuple[pa.Array, pa.Array]:
    """Return what likeness compares of each key: what the programs make of it, and of the rest the key itself.

    Keys of several columns that no program relates are compared column by column. A program that relates less than half
    of either column does not say how the keys of the others are written: these are compared as they are.
    """
    if _are_apart(programs, left, right):
        return left.as_struct(), right.as_struct()
    covered = max(programs.source_coverage, programs.target_coverage)
    if covered < _MIN_SHARE_CUT and len(left.columns) == len(right.columns) == 1:
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


def _equal_keys(
    left: TextColumns,
    right: TextColumns,
    on: Sequence[str] | None,
    right_on: Sequence[str] | None,
    options: JoinOptions,
) -> TransformJoin | None:
    """Choose keys where no program relates any, and relate those that are equal; None if no columns are similar."""
    if on is None or right_on is None:
        pair = choose_similar_keys(left, right) if options.fuzzy is not False else None
        if pair is None:
            return None
        on, right_on = [pair[0]], [pair[1]]
    if len(on) != 1 or len(right_on) != 1:  # the fuzzy join finds equal texts of composite keys
        return TransformJoin("left_to_right", tuple(on), tuple(right_on))
    copy = RankedProgram(Program.identity(on[0]), 0, 0.0, 1.0, 0.0)
    return TransformJoin("left_to_right", tuple(on), tuple(right_on), Program.identity(right_on[0]), (copy,))


def _with_equal_keys(programs: TransformJoin, left: Column, right: Column) -> TransformJoin:
    """Put equality before the programs that were found; programs that make a part of a key are dropped."""
    source, target = (right, left) if programs.direction == "right_to_left" else (left, right)
    candidates = [Program.identity(source.name)]
    known = {ranked.program: ranked for ranked in programs.programs}
    if programs.target is not None and programs.target.is_identity:
        candidates += [one for one in known if one.columns == (source.name,) and not one.is_identity]
    is_joined = np.zeros(len(source), bool)
    ranked = []
    for program in candidates:
        outcome = evaluate(program, [source], source, target.values)
        is_new = (outcome.row_targets >= 0) & ~is_joined
        is_joined |= is_new
        support, n_rows = int(is_new.sum()), max(1, source.n_present)
        precision, evidence = (known[program].precision, known[program].evidence) if program in known else (1.0, 0.0)
        ranked.append(RankedProgram(program, support, support / n_rows, precision, evidence))
    return TransformJoin(
        "right_to_left" if programs.direction == "right_to_left" else "left_to_right",
        (source.name,),
        (target.name,),
        Program.identity(target.name),
        tuple(ranked),
        programs.source_coverage,
        programs.target_coverage,
    )


def _pairs_of_programs(programs: TransformJoin, left: DistinctKeys, right: DistinctKeys) -> tuple[KeyPairs, int]:
    """Pair the keys that programs join, and count those that are respelled; a copy of the key joins equal ones."""
    rows = join_rows(programs, left.columns, right.columns)
    respelled = _count_respelled(programs, rows, left, right)
    is_copy = np.array([ranked.program.is_identity for ranked in programs.programs] or [False])
    is_copy &= programs.target is not None and programs.target.is_identity
    kinds = np.where(is_copy[rows.programs], KINDS.index("equal"), KINDS.index("program")).astype(np.int8)
    return KeyPairs(rows.left_rows, rows.right_rows, kinds, np.zeros(rows.left_rows.size)), respelled


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


def _find_fuzzy(
    left: pa.Array, right: pa.Array, known: KeyPairs, options: JoinOptions, quick: int
) -> tuple[FuzzyJoin | None, str]:
    """Join by similarity the keys that are left over; also return why there is no such join, or no pair in it."""
    n_left, n_right = len(left), len(right)
    n_left_over = n_left - count_distinct(known.left, n_left)
    if options.fuzzy is None and max(n_left_over, n_right) > quick:
        return None, (
            f"{n_left_over:,} keys are left to be joined by likeness with {n_right:,}, which takes minutes; pass "
            "fuzzy=True to do it"
        )
    found = find_fuzzy(left, right, precision=options.precision, known=(known.left, known.right))
    return found, "" if len(found) else found.reason


def _with_fuzzy(pairs: KeyPairs, fuzzy: FuzzyJoin) -> KeyPairs:
    """Add the pairs of a fuzzy join."""
    kinds = np.full(len(fuzzy), KINDS.index("fuzzy"), np.int8)
    return KeyPairs(
        np.concatenate([pairs.left, fuzzy.left_rows]),
        np.concatenate([pairs.right, fuzzy.right_rows]),
        np.concatenate([pairs.kinds, kinds]),
        np.concatenate([pairs.distances, fuzzy.distances]),
    )


def _sort_pairs(pairs: KeyPairs) -> KeyPairs:
    """Sort pairs by left key, then right key; a key that a program joins is not joined by similarity as well."""
    order = np.lexsort((pairs.right, pairs.left))
    return KeyPairs(pairs.left[order], pairs.right[order], pairs.kinds[order], pairs.distances[order])
