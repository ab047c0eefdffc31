"""Finding the programs that join two tables, by themselves or from examples, or the reasons why there are none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, shortlist, warn
from dfjoin.programs.program import MAX_COLUMNS, Program
from dfjoin.transform.evidence.outcome import FULL_COVERAGE, evaluate
from dfjoin.transform.evidence.prepared_columns import Column, as_columns
from dfjoin.transform.evidence.transform_join import Table, TransformJoin
from dfjoin.transform.evidence.value_pairs import LONGEST_EXAMPLE, find_pairs
from dfjoin.transform.pairs.accept import (
    AcceptedPrograms,
    accept_programs,
    as_result,
    is_more_whole,
)
from dfjoin.transform.pairs.column_pair import ColumnPair, learn_pair
from dfjoin.transform.pairs.composite import composite_keys, split_column
from dfjoin.transform.pairs.conditional import accept_conditionally
from dfjoin.transform.pairs.full_columns import FullColumns, wholeness_of
from dfjoin.transform.pairs.named_columns import read_named_columns, unread_columns
from dfjoin.transform.pairs.pair_signatures import SignedValues, signature_pairs
from dfjoin.transform.pairs.sides import (
    DIRECTIONS,
    USUAL_NEEDS,
    Direction,
    Needs,
    SampledTable,
    sample_sides,
)
from dfjoin.transform.relations.relate_combined import relate_combined
from dfjoin.transform.relations.relate_dates import days_may_be_exchanged, relate_dates
from dfjoin.transform.relations.relate_numbers import relate_numbers
from dfjoin.transform.taught_join import Example, check_examples, find_taught
from dfjoin.values.shares import HARDLY_ANY, KEY_UNIQUENESS, NEARLY_ALL

_MAX_COLUMN_PAIRS = 10
"""Pairs of columns that programs are learned for, the most similar ones."""
_MAX_SIGNED_PAIRS = 8
"""Pairs of columns, and kinds of signatures of their values, that programs are learned for."""
_MAX_CONDITIONAL = 2
"""Pairs of columns that two programs with a condition are looked for, the most similar ones."""
_MAX_KINDS = 3
"""Kinds of signatures of one pair of columns, those of most pairs."""


def find_programs(
    left: Table,
    right: Table,
    *,
    on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    examples: Sequence[Example] | None = None,
    needs: Needs = USUAL_NEEDS,
) -> TransformJoin:
    """Find programs over the columns of one table whose results equal the key of the other.

    Both directions are tried. Values are compared in canonical form, as everywhere in dfjoin. Where no
    program covers all rows, up to five are returned, to be tried in turn.

    Parameters
    ----------
    left, right : mapping or sequence of (name, pyarrow Array of strings)
        The tables; columns of other types are read as text.
    on, right_on : str or sequence of str, optional
        Columns that take part, at most three; None: all, and the target must be nearly a key (distinct values ÷
        rows ≥ 0.8) or the only column, or up to three columns that are a key together and are compared side by
        side. Several columns given for the target are compared so, too.
    examples : sequence of (left value, right value), optional
        Values of `on` and `right_on` that belong together, a tuple of texts where several columns are named. Programs
        are learned from these alone, may read the rows that hold the values, and are accepted whatever the evidence.
    needs : Needs, optional
        What a program needs to be accepted.

    Returns
    -------
    TransformJoin
        Without programs if none is accepted; `tried` says which were not, and why.

    Raises
    ------
    ColumnNotFoundError, InvalidTypeError, InvalidParameterError
        For wrong arguments.

    Notes
    -----
    A program is accepted if all of this holds:

    1. *Evidence.* Of its n distinct results k are values of the target. If they were no more related than
       texts of the same characters, or points of the same grid of numbers, days, times or codes, each would be
       one with probability p (`chance.chance_of_match`), and P(X ≥ k) ≤ 2^(-n KL(k/n ‖ p)). These bits must
       exceed the description length of the program (`chance.description_bits`) by 10. Were that count exact and
       the results independent, the union bound would put the chance that *any* program passes below 1 in 1,000; the
       count is rough (2 bits for a piece, 3 for a step, 1 for a character of a constant), and real columns
       share words, so that the rule is a strong test against unrelated columns, not a proof of meaning. A
       program that writes the same words and numbers in another order or spelling, as ``2023 Q2`` for ``Q2-2023``,
       needs no such evidence if the shares of both columns that it joins add up to 1: where all days of a year are
       on both sides, no program could have any.
    2. *Precision.* The estimated share of right rows must be at least 0.9 (`Outcome.precision`): hits that chance
       makes, strangers that share a result, and rows that join many to many are counted against it. Later programs
       must also agree with the earlier ones.
    3. *Coverage*, where columns are not named. At least 0.3 of the distinct values of one of the columns are joined,
       and the shares of both columns add up to 0.5, or to 1.2 where parts of keys are related on both sides. Or a
       tenth, and 20 values, if a program other than a copy relates whole keys (`full_columns.wholeness_of` ≥ 0.9).
       A program that is no copy and joins two values, which it is learned from, has to join all of one column.
    4. *Reading.* A program with a table, of states or months, reads half of the source, named or not: ``AL`` is Albania
       among the codes of countries.

    Where several columns of a side are named, programs read each of them, or make it (`named_columns`): rows that
    differ in one do not join the same value, and columns that a constant may stand for are warned of.

    Among programs that pass, one that relates more of both keys is preferred to one that joins more, within bounds
    (`accept.is_more_whole`): ``first + ' ' + last`` to ``last``. It has to relate one of the same columns on either
    side: a relation of other columns is compared by what it joins.

    Each source row joins at most one target value, since a program is a function and the first whose result is a
    target value joins. Rows are taken in the order of a hash of their values, so that their order does not matter;
    tables above 5,000 rows are sampled for learning by equations 4.7 and 4.8.
    Source: Auto-Join, PVLDB 10(10), 2017 (thesis, chapter 4). If neither direction gives a program, two programs with
    a condition are looked for (`conditional`), which the paper does not do; then key columns are split into parts
    (section 4.4.3) and both directions are tried again; then columns of numbers are related as numbers
    (`relate_numbers`), and sums, differences and days between dates of two columns with one (`relate_combined`), which
    the paper does not do either.

    Examples
    --------
    >>> import pyarrow as pa
    >>> names = ["Obama, Barack", "Bush, George", "Clinton, Bill", "Carter, Jimmy", "Ford, Gerald"]
    >>> people = ["Gerald Ford", "Jimmy Carter", "Bill Clinton", "George Bush", "Barack Obama"]
    >>> found = find_programs({"name": pa.array(names)}, {"president": pa.array(people)})
    >>> print(found.programs[0].program)
    name.split(', ')[1] + ' ' + name.split(', ')[0]
    """
    rng = np.random.default_rng(0)
    tables = (as_columns(left), as_columns(right))
    given = (_check_columns(on, tables[0], "on"), _check_columns(right_on, tables[1], "right_on"))
    sides = sample_sides(tables, given, needs)
    tried = [f"{name}: of texts above {LONGEST_EXAMPLE} characters so many are looked at" for name in _long(sides)]
    if examples is not None:
        return find_taught(sides, check_examples(examples), tried)
    similar = _similar_columns(sides, splits=False)
    accepted = _learn(sides, similar, rng, tried)
    accepted = accepted or _learn(sides, _signed_columns(sides), rng, tried)
    accepted = accepted or _learn_conditionally(sides, similar[:_MAX_CONDITIONAL], rng, tried)
    accepted = accepted or _learn(sides, _similar_columns(sides, splits=True), rng, tried)
    if max((one.quality for one in accepted), default=0.0) < 2 * FULL_COVERAGE:
        accepted += relate_dates(sides, rng, tried)
        accepted += relate_numbers(sides, rng, tried)
    accepted = accepted or relate_combined(sides, rng, tried)
    if not accepted:
        return TransformJoin(tried=tuple(tried))
    best, *others = sorted(accepted, key=lambda one: one.rank)
    for other in others:
        is_more = is_more_whole(other.wholeness, best.wholeness)
        is_other = any(one.isdisjoint(two) for one, two in zip(other.columns, best.columns, strict=True))
        if is_more and not is_other and not _has_part(other, best) and not _reads_all(best, other):
            best = other
    _warn_of_unread(best, sides)
    return as_result(best, tried)


def _warn_of_unread(accepted: AcceptedPrograms, sides: tuple[SampledTable, SampledTable]) -> None:
    """Warn of columns that the caller named and that no program compares."""
    source, target = sides if accepted.direction == "left_to_right" else sides[::-1]
    if max(len(source.given), len(target.given)) < 2:
        return
    unread = unread_columns(FullColumns(source, target, accepted.pair, accepted.target), accepted.outcomes)
    if unread:
        warn(
            f"the key columns {shortlist(unread)} are named, and not compared: {accepted.outcomes[0].program} = "
            f"{accepted.target} joins; look at the rows, leave them out of `on` and `right_on`, or pass transform=False"
        )


def _long(sides: tuple[SampledTable, SampledTable]) -> list[str]:
    """Name the columns of which programs are learned from the first characters only."""
    columns = [column for side in sides for column in side.candidates()]
    return [c.name for c in columns if int(np.diff(c.values.offsets).max(initial=0)) > 4 * LONGEST_EXAMPLE]


def _has_part(composite: AcceptedPrograms, part: AcceptedPrograms) -> bool:
    """Tell whether programs relate some of the columns that others compare together: they join whatever these join.

    Strangers share a last name now and then, and where they are most of what is left, the other column is what does not
    belong to the key.
    """
    return all(less < more for less, more in zip(part.columns, composite.columns, strict=True))


def _reads_all(composite: AcceptedPrograms, other: AcceptedPrograms) -> bool:
    """Tell whether programs of several columns read all columns that others relate.

    These others are then no more of the key: first letters of a name leave the rest of it out, and are all there is.
    """
    pairs = list(zip(other.columns, composite.columns, strict=True))
    return any(len(more) > 1 for _, more in pairs) and all(less <= more for less, more in pairs)


def _check_columns(names: str | Sequence[str] | None, columns: list[Column], argument: str) -> tuple[str, ...]:
    """Check the columns that a caller named."""
    if names is None:
        return ()
    wanted = (names,) if isinstance(names, str) else tuple(names)
    if not 1 <= len(wanted) <= MAX_COLUMNS:
        raise InvalidParameterError(f"`{argument}` must name 1 to {MAX_COLUMNS} columns, got {len(wanted)}")
    known = [column.name for column in columns]
    for name in wanted:
        if name not in known:
            raise ColumnNotFoundError(f"`{argument}` must name columns of the table, {shortlist(known)}; got {name!r}")
    return wanted


_ColumnPairs = list[tuple[Direction, ColumnPair, Program]]
"""Pairs of columns, each with its direction and with the program that makes the target."""


def _signed_columns(sides: tuple[SampledTable, SampledTable]) -> _ColumnPairs:
    """List the pairs of columns whose values have the same signatures, those of most values first."""
    found: _ColumnPairs = []
    signed: dict[int, SignedValues] = {}
    for direction, (source, target) in zip(DIRECTIONS, (sides, sides[::-1]), strict=True):
        targets = target.keys()
        if not target.is_key_fixed:  # columns that are a key together, whatever else is one
            targets += composite_keys([c for c in target.candidates() if c.uniqueness < KEY_UNIQUENESS])
        unique = dict(targets)
        for program, wanted in unique.items():
            theirs = signed.setdefault(id(wanted), SignedValues(wanted))
            for column in source.candidates():
                own = signed.setdefault(id(column), SignedValues(column))
                for pairs in signature_pairs(own, theirs)[:_MAX_KINDS]:
                    found.append((direction, ColumnPair(source.candidates(), column, wanted, pairs), program))
    found.sort(key=lambda entry: (-len(entry[1].pairs), entry[0], entry[1].main.name, entry[1].target.name))
    return found[:_MAX_SIGNED_PAIRS]


def _similar_columns(sides: tuple[SampledTable, SampledTable], splits: bool) -> _ColumnPairs:
    """List the pairs of columns, or of columns and parts of columns, that share rare q-grams, most similar first."""
    found: _ColumnPairs = []
    for direction, (source, target) in zip(DIRECTIONS, (sides, sides[::-1]), strict=True):
        targets = target.keys()
        if splits:
            targets = [part for program, column in targets if program.is_identity for part in split_column(column)]
        for program, wanted in targets:
            searched: list[frozenset[str]] = []
            for column in source.candidates():
                pairs = find_pairs(source.suffixes(column), target.suffixes(wanted))
                if len(pairs) >= 2:
                    pair = ColumnPair(source.candidates(), column, wanted, pairs, searched)
                    found.append((direction, pair, program))
    found.sort(key=lambda entry: (-entry[1].similarity, entry[0], entry[1].main.name, entry[1].target.name))
    least = HARDLY_ANY * found[0][1].similarity if found else 0.0
    return [entry for entry in found[:_MAX_COLUMN_PAIRS] if entry[1].similarity >= least]


def _learn(
    sides: tuple[SampledTable, SampledTable], column_pairs: _ColumnPairs, rng: np.random.Generator, tried: list[str]
) -> list[AcceptedPrograms]:
    """Learn programs for pairs of columns; return those that are accepted."""
    found: list[AcceptedPrograms] = []
    for direction, pair, target in column_pairs:
        if pair.main.is_measure and pair.target.is_measure:
            continue  # fractions are related as numbers
        if any(_joins_all(one, direction, pair, target) for one in found):
            continue
        source_table, target_table = sides if direction == "left_to_right" else sides[::-1]
        outcomes = [evaluate(Program.identity(pair.main.name), pair.table, pair.main, pair.target.values)]
        if outcomes[0].score < 2 * FULL_COVERAGE:
            outcomes += learn_pair(pair, rng)
        columns = FullColumns(source_table, target_table, pair, target)
        outcomes = read_named_columns(columns, outcomes)
        outcomes.sort(key=lambda o: (-o.score * (1 + 2 * wholeness_of(columns, o)), o.program.n_operators))
        accepted = accept_programs(columns, outcomes, direction, rng, tried)
        pairs = ((pair.main, pair.target), (pair.target, pair.main))
        if accepted is not None and any(days_may_be_exchanged(*columns) for columns in pairs):
            tried.append(f"{pair.main.name} = {target}: days and months may be exchanged")
        elif accepted is not None:
            found.append(accepted)
            is_plain = len(target.columns) == 1 or bool(target_table.given)
            if is_plain and accepted.quality > 2 * FULL_COVERAGE and accepted.wholeness >= NEARLY_ALL:
                break
    return found


def _joins_all(one: AcceptedPrograms, direction: Direction, pair: ColumnPair, target: Program) -> bool:
    """Tell whether accepted programs join all of this pair by whole keys: what else relates it joins the same.

    Those of one column need not join all, where it is looked at with another one beside it: they read all of the keys.
    """
    known, asked = (
        sides if direction == "left_to_right" else sides[::-1]
        for direction, sides in (
            (one.direction, ({one.pair.main.name}, set(one.target.columns))),
            (direction, ({pair.main.name}, set(target.columns))),
        )
    )
    is_enough = one.quality > 2 * FULL_COVERAGE or len(one.target.columns) < len(target.columns)
    is_whole = is_enough and one.wholeness >= NEARLY_ALL
    return is_whole and known[0] <= asked[0] and known[1] <= asked[1]


def _learn_conditionally(
    sides: tuple[SampledTable, SampledTable], column_pairs: _ColumnPairs, rng: np.random.Generator, tried: list[str]
) -> list[AcceptedPrograms]:
    """Look for two programs with a condition; return those of the first pair of columns that has them."""
    for direction, pair, target in column_pairs:
        source_table, target_table = sides if direction == "left_to_right" else sides[::-1]
        columns = FullColumns(source_table, target_table, pair, target)
        accepted = accept_conditionally(columns, direction, rng, tried)
        if accepted is not None:
            return [accepted]
    return []
