"""Relating the rows of two frames that do not join by equality: learned programs, then a fuzzy join.

The relation is found on the distinct keys of either side, and handed on as pairs of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.fuzzy.fuzzy_join import apply_fuzzy, find_fuzzy
from dfjoin.fuzzy.result import FuzzyJoin
from dfjoin.join.keys import ElementKeys, Matcher, find_elements, match_elements
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import SavedRelation
from dfjoin.join.relation.key_relation import KINDS, DistinctKeys, KeyPairs, Relation, distinct_keys
from dfjoin.join.relation.pair_keys import TextColumns, choose_similar_keys, is_named_by_words, pair_keys
from dfjoin.programs.program import MAX_COLUMNS, Program
from dfjoin.transform.evidence.chance import MIN_PRECISION
from dfjoin.transform.evidence.outcome import evaluate
from dfjoin.transform.evidence.prepared_columns import Column, count_distinct
from dfjoin.transform.evidence.transform_join import RankedProgram, TransformJoin, join_rows
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.pairs.casing import spell_as_targets
from dfjoin.transform.pairs.read_constants import read_constants
from dfjoin.transform.pairs.sides import ACCEPT, Needs
from dfjoin.transform.relations.named_operators import Named, relate_named, relate_periods
from dfjoin.transform.relations.relate_entities import relate_entities
from dfjoin.transform.relations.relate_names import relate_names
from dfjoin.values.shares import FEW, NEARLY_ALL, SOME

_QUICK_KEYS = 100_000
"""Keys up to which a fuzzy join takes less than a minute on two cores."""
_QUICK_REST = 50_000
"""Keys up to which it is tried for what equality leaves."""
_LONGEST_KEY = 5_000
"""Characters of a column's texts, at the median, up to which they are read for programs, things and names.

Each reads all characters many times over. The longest of 7,183 real tables have 1,649, those of the benchmarks 400.
"""


def _is_common(pairs: KeyPairs, n_left: int, n_right: int) -> bool:
    """Tell whether pairs join enough of the keys of one side to relate two columns that nobody named.

    Two columns of short texts have some that are alike. Where no key is equal, it takes twice as many: of things
    that two tables spell differently, some are spelled alike, whereas different things of one list, models of one
    maker, have names that resemble each other.
    """
    counts = count_distinct(pairs.left, n_left), count_distinct(pairs.right, n_right)
    times = 1 if (pairs.kinds == KINDS.index("equal")).any() else 2
    return min(counts) >= times * FEW and max(counts[0] / n_left, counts[1] / n_right) >= times * SOME


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
    without any, the pair of columns whose values share the most rare words is looked at, and the next one of other
    columns, if too few of its keys are alike. Names of people and of
    organisations in many forms are related by a normal form, if that relates more of them; so are names of countries,
    months, units and the like in other languages, and their codes. If a key is named on either
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
    own_short, own_long = _by_length(left, on, options)
    other_short, other_long = _by_length(right, right_on, options)
    sides = (on, own_short, own_long), (right_on, other_short, other_long)
    is_read = all(not long or (short and not names) for names, short, long in sides)
    if options.transform is not False and all(names is None or len(names) <= MAX_COLUMNS for names in (on, right_on)):
        if is_read:
            programs, tried = _find_programs(own_short, other_short, on, right_on, options, is_named)
        tried = tried if programs.found else [*own_long, *other_long, *tried]
    if equals_first and on is not None and right_on is not None:
        programs = _with_equal_keys(programs, left[on[0]], right[right_on[0]])
    entities = _by_entities(programs, own_short, other_short, (on, right_on), options) if is_read else None
    if entities is not None:
        programs, tried = entities, []
    if not programs.found:
        is_chosen = on is None or right_on is None
        equality = _equal_keys(left, right, on, right_on, options)
        if equality is None:
            return None, tried
        programs = equality
    programs = _by_names(programs, own_short, other_short, options)

    def match_rest(own: pa.Array, other: pa.Array, known: KeyPairs) -> tuple[FuzzyJoin | None, str]:
        computes = any(ranked.program.computes for ranked in programs.programs)
        if computes or programs.basis:  # numbers and periods that are alike are others
            return None, ""
        quick = _QUICK_REST if equals_first else _QUICK_KEYS
        if options.fuzzy is False or count_distinct(known.left, len(own)) == len(own):
            return None, ""
        if not (is_named_by_words(own, is_named) and is_named_by_words(other, is_named)):
            return None, "values that differ by digits alone are not joined by likeness"
        return _find_fuzzy(own, other, known, options, quick)

    may_choose_again = on is None and right_on is None
    while True:
        relation, reason = pair_keys(programs, left, right, match_rest)
        if not is_chosen or _is_common(relation.pairs, relation.left.index.n_keys, relation.right.index.n_keys):
            return relation if relation.pairs.left.size else None, [*tried, reason] if reason else tried
        n_keys = count_distinct(relation.pairs.left, relation.left.index.n_keys)
        if n_keys:
            columns = f"{' + '.join(relation.left_columns)} = {' + '.join(relation.right_columns)}"
            reason = f"{columns}: {n_keys:,} keys that are equal or alike are too few, where `on` does not name them"
        tried = [*tried, reason] if reason else tried
        if relation.fuzzy is None:  # not compared, as where it would take minutes: others do not stand in
            return None, tried
        own_rest = {name: column for name, column in left.items() if name not in relation.left_columns}
        other_rest = {name: column for name, column in right.items() if name not in relation.right_columns}
        # descriptions share more words than names do, and are less alike: the next columns may be the names
        chosen = _equal_keys(own_rest, other_rest, None, None, options) if may_choose_again else None
        if chosen is None:
            return None, tried
        programs, may_choose_again = chosen, False


def _by_length(
    columns: TextColumns, named: Sequence[str] | None, options: JoinOptions
) -> tuple[TextColumns, list[str]]:
    """Return the columns that programs are learned of, and why others are related by equality and likeness alone.

    These are told of the columns that are named, if any are. Where a person teaches the program, all columns stay.
    """
    if options.examples is not None:
        return columns, []
    lengths = {name: _usual_length(column) for name, column in columns.items()}
    long = [name for name, length in lengths.items() if length > _LONGEST_KEY and (named is None or name in named)]
    told = [
        f"{name}: texts of {lengths[name]:,} characters at the median, above {_LONGEST_KEY:,}, are related by equality "
        "and likeness alone; pass `examples` to teach a program"
        for name in long
    ]
    return {name: column for name, column in columns.items() if name not in long}, told


def _usual_length(column: Column) -> int:
    """Return the median number of characters of a column's texts; 0 where its bytes show that it is not large."""
    n_present = len(column) - column.array.null_count
    if column.array.nbytes <= _LONGEST_KEY * n_present // 2:
        return 0
    return int(np.median(pc.utf8_length(column.array.drop_null()).to_numpy(zero_copy_only=False))) if n_present else 0


def _find_programs(
    left: TextColumns,
    right: TextColumns,
    on: Sequence[str] | None,
    right_on: Sequence[str] | None,
    options: JoinOptions,
    is_named: bool,
) -> tuple[TransformJoin, list[str]]:
    """Learn programs; else relate what the caller named by a named operator; else say what was tried, and proposed."""
    accepts, precision = options.transform == "accept", min(MIN_PRECISION, options.likeness_precision)
    needs = Needs(precision=precision) if is_named else Needs()
    programs = find_programs(left, right, on=on, right_on=right_on, examples=options.examples, needs=needs)
    if not programs.found and is_named and on and right_on and options.examples is None:
        proposal = ""
        if len(on) == len(right_on) == 1:
            join, proposal = relate_named(left[on[0]], right[right_on[0]], accepts_doubt=accepts)
            if join is not None:
                return join, [proposal] if proposal else []
        found = find_programs(left, right, on=on, right_on=right_on, needs=Needs(-math.inf, precision))
        if found.found and accepts:
            return found, []
        proposed = proposal or _proposal(found, left, right)
        if proposed:
            return programs, [proposed, *programs.tried]
    periods = _by_periods(programs, left, right, is_named, options)
    if periods.join is not None:
        return periods.join, []
    if periods.proposal:
        return programs, [periods.proposal, *programs.tried]
    if options.examples is None:
        programs = read_constants(programs, left, right)
    programs = spell_as_targets(programs, left, right)
    return programs, [] if programs.found else list(programs.tried)


def _by_periods(
    programs: TransformJoin, left: TextColumns, right: TextColumns, is_named: bool, options: JoinOptions
) -> Named:
    """Relate columns by the periods that they hold, where no program relates any, or one relates fewer of them."""
    if options.examples is not None or programs.basis or (is_named and not programs.found):
        return Named(None)
    accepts, covered = options.transform == "accept", 0.0
    if programs.found:
        covered = max(programs.source_coverage, programs.target_coverage)
        if covered == 1 or any(len(names) != 1 for names in programs.columns):
            return Named(None)
        (own,), (other,) = programs.columns
        left, right, accepts = {own: left[own]}, {other: right[other]}, False
    found = relate_periods(left, right, accepts_doubt=accepts)
    if found.join is None:
        return Named(None) if programs.found else found
    return found if max(found.join.source_coverage, found.join.target_coverage) > covered else Named(None)


def _by_entities(
    programs: TransformJoin,
    left: TextColumns,
    right: TextColumns,
    named: tuple[Sequence[str] | None, Sequence[str] | None],
    options: JoinOptions,
) -> TransformJoin | None:
    """Relate columns by the things that they name, where that relates more of them than programs do.

    They are those that the caller named, or that programs relate, else any two.
    """
    if options.transform is False or options.examples is not None or options.aliases is False or programs.basis:
        return None
    is_named = None not in named
    if programs.found:
        named = programs.columns
    if any(names is not None and len(names) != 1 for names in named):
        return None
    sides = [
        table if names is None else {name: table[name] for name in names}
        for table, names in zip((left, right), named, strict=True)
    ]
    return relate_entities(sides[0], sides[1], programs, options.given_aliases, is_named=is_named)


def _by_names(programs: TransformJoin, left: TextColumns, right: TextColumns, options: JoinOptions) -> TransformJoin:
    """Relate two columns of names by their normal form, where that relates more of them than programs do."""
    is_pair = all(len(names) == 1 for names in programs.columns)
    if not is_pair or options.transform is False or options.examples is not None or programs.basis:
        return programs
    (own,), (other,) = programs.columns
    if own not in left or other not in right:
        return programs
    return relate_names(left[own], right[other], programs) or programs


def _proposal(found: TransformJoin, left: TextColumns, right: TextColumns) -> str:
    """Describe programs that chance may explain, with pairs for example; empty if they explain little of both sides."""
    if max(found.source_coverage, found.target_coverage) < NEARLY_ALL:
        return ""
    source, target = found.ordered(left, right)
    names = [next(iter(columns)) for columns in (found.source_columns, found.target_columns)]
    rows = join_rows(found, {n: c.array for n, c in left.items()}, {n: c.array for n, c in right.items()})
    pairs = zip(*found.ordered(rows.left_rows, rows.right_rows), strict=True)
    shown = [f"{source[names[0]].array[int(i)]} = {target[names[1]].array[int(j)]}" for i, j in list(pairs)[:5]]
    return f"{found.programs[0].program} = {found.target}: in doubt, for example {', '.join(shown)}; {ACCEPT}"


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

    return pair_keys(saved.programs, left, right, match_rest)


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
        return find_fuzzy(own, other, precision=options.likeness_precision, known=known)

    names = TransformJoin("left_to_right", tuple(on), tuple(right_on))
    return _pair_elements(names, elements, own, other, match_values)


def _pair_elements(
    names: TransformJoin, elements: ElementKeys, own: DistinctKeys, other: DistinctKeys, matcher: Matcher
) -> Relation:
    """Pair keys by the values that the cells of one side list."""
    found, fuzzy = match_elements(elements, own.texts(), other.texts(), matcher)
    kinds = np.where(found.is_alike, KINDS.index("fuzzy"), KINDS.index("program")).astype(np.int8)
    pairs = KeyPairs(found.left, found.right, kinds, found.distances, found.chances)
    columns = list(names.source_columns), list(names.target_columns)
    return Relation(*columns, own, other, pairs, names, fuzzy, elements)


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
    source, target = programs.ordered(left, right)
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
        programs.direction or "left_to_right",
        (source.name,),
        (target.name,),
        Program.identity(target.name),
        tuple(ranked),
        programs.source_coverage,
        programs.target_coverage,
    )


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
    found = find_fuzzy(left, right, precision=options.likeness_precision, known=(known.left, known.right))
    return found, "" if len(found) else found.reason
