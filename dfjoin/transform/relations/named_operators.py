"""Relating two columns by what their values say: periods, dates, numbers, names of numbers.

Two named columns are meant to be joined. So it is enough that both can be read as one kind of thing, months or Roman
numbers, and that nearly all of one side has a partner: evidence against chance, which small ordered domains never
have, is not asked for. Of columns that nobody named, those that spell periods of one kind are related, as equal
spellings would be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.programs.calendar_operators import SERIALS, MoveDate, ReadSerial
from dfjoin.programs.code_operators import Coded, WeightedSum
from dfjoin.programs.entity_operators import Entity
from dfjoin.programs.lookup import NO_BOUND, SEPARATOR, Band, Lookup
from dfjoin.programs.number_operators import Linear, NthNumber, Ratio, RoundTo, StripZeros, Year
from dfjoin.programs.operator import Step
from dfjoin.programs.part_operators import CharacterRun
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract, Piece
from dfjoin.programs.quantities import Quantity, unit_ratios
from dfjoin.programs.text_operators import Pad
from dfjoin.programs.time_operators import ReadTime, WriteTime
from dfjoin.transform.compose.moments import reading_orders
from dfjoin.transform.evidence.chance import MIN_BITS, evidence_bits
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.transform_join import RankedProgram, TransformJoin
from dfjoin.transform.pairs.sides import ACCEPT, DIRECTIONS
from dfjoin.values.header_meaning import names_period
from dfjoin.values.periods import is_season
from dfjoin.values.shares import HALF

_LOOKED_AT = 60
"""Values of a column that tell what it holds."""
_READ = 0.95
"""Share of the values of both columns that have to be of the kind."""
_EXPLAINED = 0.8
"""Share of the values of one column that need a partner."""
_SHOWN = 0.3
"""Such a share from which a relation is proposed."""
_MOST_VALUES = 200_000
_N_EXAMPLES = 5
_MIDNIGHT = " 00:00:00.000000"
"""What a date of a frame ends with as a text."""

_ONE, _TWO = CharacterRun("digits", 0), CharacterRun("digits", 1)
_SHARE, _HUNDREDTH = (Linear("1", "0", 6, "plain"),), (Linear("0.01", "0", 6, "plain"),)
_HOURS, _MINUTES = "h(?:ours?|rs?)?[ ,]?", "m(?:in(?:ute)?s?)?[ ,]?"
_SPELLED: tuple[tuple[str, str, tuple[tuple[Step, ...] | str, ...]], ...] = (
    (r"q[1-4][ /-]*\d{4}", "quarter", ((_TWO,), "Q", (_ONE,))),
    (r"\d{4}[ -]?q[1-4]", "quarter", ((_ONE,), "Q", (_TWO,))),
    (r"q[1-4][ /-]*fy ?\d{4}", "fiscal quarter", ((_TWO,), "Q", (_ONE,))),
    (r"q[1-4][ /-]*fy ?'?\d{2}", "fiscal quarter", ((_TWO, Year(70)), "Q", (_ONE,))),
    (r"fy ?\d{4}[ /-]*q[1-4]", "fiscal quarter", ((_ONE,), "Q", (_TWO,))),
    (r"fy ?'?\d{2}[ /-]*q[1-4]", "fiscal quarter", ((_ONE, Year(70)), "Q", (_TWO,))),
    (r"\d{4}-?w\d{2}", "iso week", ((_ONE,), "-W", (_TWO,))),
    (r"w(?:eek|k)?[ .]?\d{1,2}[ ,/-]+\d{4}", "iso week", ((_TWO,), "-W", (_ONE, Pad(2)))),
    (r"(?:fy|fiscal year) ?\d{4}", "fiscal year", ((_ONE,),)),
    (r"fy ?'?\d{2}", "fiscal year", ((_ONE, Year(70)),)),
    (r"\d{4}", "year", ((_ONE,),)),
    (r"\d{3}0'?s", "band of 10 from 0", ((_ONE,),)),
    (r"\d{1,4}:[0-5]?\d:[0-5]?\d", "duration", ((WeightedSum("3600 60 1", 1),),)),
    (
        rf"\d{{1,4}} ?{_HOURS} ?\d{{1,2}} ?{_MINUTES} ?\d{{1,2}} ?(?:s|secs?|seconds?)",
        "duration",
        ((WeightedSum("3600 60 1", 1),),),
    ),
    (rf"\d{{1,4}} ?{_HOURS} ?\d{{1,2}} ?{_MINUTES}", "duration", ((WeightedSum("3600 60", 1),),)),
    (r"\d{1,2}:[0-5]\d", "duration", ((WeightedSum("3600 60", 1),),)),
    (
        r"(?:0?[1-9]|1[0-2])(?::[0-5]\d){0,2} ?[ap][.]?m[.]?",
        "duration",
        ((ReadTime("time"), WriteTime("%H:%M:%S"), WeightedSum("3600 60 1", 1)),),
    ),
    (rf"\d{{1,6}} ?{_MINUTES}", "duration", ((Quantity("duration"),),)),
    (r"-?\d{1,4}([.]\d{1,4})?\s?%", "share", ((NthNumber(0, "."), *_HUNDREDTH),)),
    (r"-?\d{1,4}(,\d{1,4})?\s?%", "share", ((NthNumber(0, ","), *_HUNDREDTH),)),
    (r"(?:\d{1,6}[ -])?\d{1,6} ?/ ?\d{1,6}", "fraction", ((Ratio(6),),)),
    (r"(?=[mdclxvi])m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})", "number", ((Coded("from roman"),),)),
)
"""Pattern of a column's values in small letters, what they are, and the pieces that write it."""
_TABLES = (("weekday", "weekday to number"), ("month of the year", "month to number"), ("number", "word to number"))
_MONTH = (Entity("month", "", ""), Lookup("month to number"))
"""Reads the name of a month in any language."""
_NAMED_MONTHS = (
    (r"\D*\d{4}\D*", "month", ((_ONE,), "-")),
    (r"\D*\d{1,2}\D+\d{4}\D*", "day", ((_TWO,), "-")),
)
"""Pattern of dates with a name of a month, what they are, and the pieces before it."""
_WEEKS = ((r"(\d{1,2})[/.-]\d{4}", (_TWO,), (_ONE, Pad(2))), (r"\d{4}[/.-](\d{1,2})", (_ONE,), (_TWO, Pad(2))))
"""Pattern of numbers of weeks, which may be months as well up to 12, and the pieces of year and week."""
_MONTHS = ("name-y", "y-name", "m-y", "y-m", "name-yy")
"""Orders of months, see `time_operators.ORDERS`."""
_WRITTEN = {
    "day": "%Y-%m-%d",
    "iso week": "%G-W%V",
    "month": "%Y-%m",
    "quarter": "%YQ%q",
    "year": "%Y",
    "weekday": "%u",
    "month of the year": "%-m",
}
"""What dates lie in, and how it is written."""
_MONTHS_OF = {"iso week": 0, "month": 1, "quarter": 3, "year": 12}
"""Months of the periods that days may spell, none of a week."""
_FINEST = (*_WRITTEN, "fiscal quarter", "fiscal year")
_PERIODS = ("iso week", "month", "quarter", "fiscal quarter")
"""Kinds that relate columns that nobody named: days of two dense calendars and years are equal by chance."""
_BAND = re.compile(r"([0-9]{1,9}) ?(?:-|\u2013|to) ?([0-9]{1,9})")
_PLAIN_NUMBER = r"(?<![\w.])(\d{1,3}(?:,\d{3})+|\d{1,9})(?![\w.,])"
_CLOSED = re.compile(rf"{_PLAIN_NUMBER}\s*(?:[-\u2013\u2014]|to|bis)\s*[^\w\s]?{_PLAIN_NUMBER}")
_ABOVE = re.compile(r"\b(?:over|above|more|older|plus|from|at least|up(?! to))\b|[+>\u2265]")
_BELOW = re.compile(r"\b(?:under|below|less|fewer|younger|up to)\b|[<\u2264]")
_WITH = re.compile(r"\b(?:and|or|plus|from|at least|up to)\b|[+=\u2265\u2264]")
"""What says of a band with one number that it begins or ends there, and that the number lies in it."""


class Reading(NamedTuple):
    """What the values of a column are read as.

    Parameters
    ----------
    kind : str
    program : Program
        Writes it in the one form that all columns of the kind have.
    is_spelled : bool
        Whether the values are spelled so; else they lie in it, as days in months, or may be anything, as numbers.
    is_of_days : bool
        Whether days spell it: all begin it, or all end it.
    """

    kind: str
    program: Program
    is_spelled: bool
    is_of_days: bool = False


class Named(NamedTuple):
    """What relates two named columns.

    Parameters
    ----------
    join : TransformJoin or None
        A relation that is to be joined.
    proposal : str
        What would relate them, in doubt: empty if nothing does.
    """

    join: TransformJoin | None
    proposal: str = ""


class _Made(NamedTuple):
    """The distinct values of a column, and what a program makes of them."""

    texts: list[str]
    results: list[str | None]

    def share_in(self, others: set[str]) -> float:
        """Return the share of values whose result is among others."""
        return sum(result in others for result in self.results) / max(1, len(self.results))


def relate_named(left: Column, right: Column, *, accepts_doubt: bool = False) -> Named:
    """Relate two columns that the caller named by a named operator, if one explains nearly all of a side.

    Parameters
    ----------
    left, right : Column
    accepts_doubt : bool
        Whether a relation that would be proposed is joined.

    Returns
    -------
    Named
    """
    if not all(2 <= len(column.values) <= _MOST_VALUES for column in (left, right)):
        return Named(None)
    sides = [_some_texts(column) for column in (left, right)]
    readings = [list(_readings(column.name, texts)) for column, texts in zip((left, right), sides, strict=True)]
    readings = [_spelled_by_days(column, found) for column, found in zip((left, right), readings, strict=True)]
    own = readings[0] + list(_readings_like(left.name, sides[0], sides[1], readings[1]))
    theirs = readings[1] + list(_readings_like(right.name, sides[1], sides[0], readings[0]))
    pairs = sorted(((one, two) for one in own for two in theirs if _may_meet(one, two)), key=_order)
    proposal = ""
    for one, two in pairs:
        found = _joined(left, right, one, two)
        if found is None:
            continue
        join, examples = found
        share, is_sure = max(join.source_coverage, join.target_coverage), True
        if one.is_of_days != two.is_of_days and not (one.is_spelled and two.is_spelled):
            share = join.source_coverage  # of the days that lie in them: a few holidays may be first days of months
            name = left.name if one.is_of_days else right.name
            is_sure = names_period(name, one.kind.split()[-1])  # else payments may be due on first days
        if (is_sure and share >= _EXPLAINED) or (accepts_doubt and share >= _SHOWN):
            return Named(join, proposal)
        if share >= _SHOWN and not proposal:
            proposal = (
                f"{left.name} = {right.name}: {join.basis}, {share:.0%} of one side; for example {examples}; {ACCEPT}"
            )
    by_unit = _relate_units(left, right)
    return Named(by_unit, proposal) if by_unit else Named(None, proposal or _fiscal_doubt(left, right, own, theirs))


def relate_periods(left: Mapping[str, Column], right: Mapping[str, Column], *, accepts_doubt: bool = False) -> Named:
    """Relate two columns that nobody named, if they alone hold periods of one kind: ``2024-03`` and ``Mar 2024``.

    Where both spell the kind, equality of periods stands for equality of texts. Where one has what lies in it, as days
    lie in months, this is proposed.

    Parameters
    ----------
    left, right : mapping of str to Column
    accepts_doubt : bool
        Whether a relation that would be proposed is joined.

    Returns
    -------
    Named
        Nothing is joined where several pairs of columns could be.
    """
    own, theirs = ([(column, _periods(column)) for column in side.values()] for side in (left, right))
    sure: list[tuple[str, str, TransformJoin, str]] = []
    doubtful: list[tuple[str, str, TransformJoin, str]] = []
    for mine, readings in own:
        for other, others in theirs:
            pairs = [(one, two) for one in readings for two in others if _may_meet(one, two)]
            for one, two in sorted(pairs, key=lambda pair: _FINEST.index(pair[0].kind)):
                found = _joined(mine, other, one, two, "rests on what the values say")
                if found is not None and max(found[0].source_coverage, found[0].target_coverage) >= _EXPLAINED:
                    (sure if one.is_spelled and two.is_spelled else doubtful).append((mine.name, other.name, *found))
                    break
    chosen = sure or doubtful
    if len(chosen) == 1 and (sure or accepts_doubt):
        return Named(chosen[0][2])
    proposals = [f"{mine} = {other}: {join.basis}; for example {shown}" for mine, other, join, shown in chosen]
    remedy = ACCEPT if len(chosen) == 1 else "name one pair by `on` and `right_on`"
    return Named(None, f"{'; '.join(proposals[:_N_EXAMPLES])}; {remedy}" if proposals else "")


def _periods(column: Column) -> list[Reading]:
    """Return the periods that a column spells, or has values in."""
    if not 2 <= len(column.values) <= _MOST_VALUES:
        return []
    readings = _spelled_by_days(column, list(_readings(column.name, _some_texts(column))))
    return [one for one in readings if one.kind in _PERIODS]


def _spelled_by_days(column: Column, readings: list[Reading]) -> list[Reading]:
    """Say of days that all begin or all end a period that they spell it."""
    day = next((one for one in readings if one.kind == "day"), None)
    if day is None:
        return readings
    texts = [text for text in _made_of(column, day.program).results if text]
    days: NDArray[np.datetime64] = np.array(texts, "datetime64[D]")
    after = days + np.timedelta64(1, "D")
    spelled = [kind for kind in _MONTHS_OF if _all_begin(days, kind) or _all_begin(after, kind)]
    return [one._replace(is_spelled=True, is_of_days=True) if one.kind in spelled else one for one in readings]


def _order(pair: tuple[Reading, Reading]) -> tuple[int, int]:
    """Return where a pair of readings is tried: what days spell, the longest first, and then the finest first."""
    kind = pair[0].kind
    place = _FINEST.index(kind) if kind in _FINEST else -1
    return (0, -place) if any(one.is_of_days for one in pair) else (1, place)


def _all_begin(days: NDArray[np.datetime64], kind: str) -> bool:
    """Tell whether all days are the first of their ISO week, month, quarter or year."""
    if kind == "iso week":
        return bool(((days.astype(np.int64) + 3) % 7 == 0).all())  # 1970-01-01 was a Thursday
    months = days.astype("datetime64[M]")
    is_first = months.astype("datetime64[D]") == days
    return bool((is_first & (months.astype(np.int64) % _MONTHS_OF[kind] == 0)).all())


def _some_texts(column: Column) -> list[str]:
    rows = column.first_rows[:: max(1, len(column.values) // _LOOKED_AT)]
    return [str(text).strip() for text in column.array.take(pa.array(rows)).to_pylist() if text]


def _may_meet(one: Reading, two: Reading) -> bool:
    """Tell whether two readings are of a kind: one column at least has to spell it, of numbers not both."""
    n_spelled = one.is_spelled + two.is_spelled
    return one.kind == two.kind and (n_spelled == 1 if one.kind == "number" else n_spelled > 0)


def _program(name: str, *pieces: tuple[Step, ...] | str) -> Program:
    made: list[Piece] = [Constant(one) if isinstance(one, str) else Extract(0, one) for one in pieces]
    return Program((name,), tuple(made))


def _reads(program: Program, texts: list[str]) -> bool:
    return sum(program(text) is not None for text in texts) >= _READ * len(texts)


def _readings(name: str, texts: list[str]) -> Iterator[Reading]:
    """Yield what the values of a column are by themselves."""
    small = [text.casefold() for text in texts]
    for pattern, kind, pieces in _SPELLED:
        if sum(re.fullmatch(pattern, text) is not None for text in small) >= _READ * len(small):
            yield Reading(kind, _program(name, *pieces), True)
    yield from _numbers(name, texts)
    if _as_bands(texts):
        yield Reading("bands", Program.identity(name), True)
    for kind, table in _TABLES:
        program = _program(name, (Lookup(table),))
        if _reads(program, texts):
            yield Reading(kind, program, True)
    for pattern, year, week in _WEEKS:
        weeks = [int(found[1]) for text in texts if (found := re.fullmatch(pattern, text))]
        if len(weeks) == len(texts) and 12 < max(weeks) <= 53:
            yield Reading("iso week", _program(name, year, "-W", week), True)
    order = next((one for one in _MONTHS if _reads(_program(name, (ReadTime(one),)), texts)), None)
    if order is not None:
        kinds = ("month", "quarter", "year")
        yield from (Reading(k, _program(name, (ReadTime(order), WriteTime(_WRITTEN[k]))), k == "month") for k in kinds)
        return
    orders = reading_orders(texts) if any(c.isdigit() for c in texts[0]) else []
    if len(orders) == 1 and _reads(_program(name, (ReadTime(orders[0]), WriteTime("%Y-%m-%d"))), texts):
        for kind, layout in _WRITTEN.items():
            yield Reading(kind, _program(name, (ReadTime(orders[0]), WriteTime(layout))), kind == "day")
        return
    yield from _named_months(name, texts)


def _named_months(name: str, texts: list[str]) -> Iterator[Reading]:
    """Yield dates with a name of a month of any language: ``März 2021``, ``3 de marzo de 2021``."""
    for pattern, kind, pieces in _NAMED_MONTHS:
        if sum(re.fullmatch(pattern, text) is not None for text in texts) < _READ * len(texts):
            continue
        for run in range(2):
            month = (CharacterRun("letters", run), *_MONTH, Pad(2))
            program = _program(name, *pieces, month, *(("-", (_ONE, Pad(2))) if kind == "day" else ()))
            if _reads(program, texts):
                yield Reading(kind, program, True)


def _numbers(name: str, texts: list[str]) -> Iterator[Reading]:
    """Yield the numbers that texts are, or hold with the same words around: ``Season 1996``; and bands of numbers."""
    if all(re.fullmatch("[0-9]{1,12}", text) for text in texts):
        yield Reading("number", _program(name, (StripZeros(),)), False)
        if all(1 <= int(text) <= 12 for text in texts):
            yield Reading("month of the year", _program(name, (StripZeros(),)), False)
        return
    if len({re.sub("[0-9]+", "0", text) for text in texts}) == 1 and len(re.findall("[0-9]+", texts[0])) == 1:
        yield Reading("number", _program(name, (_ONE, StripZeros())), True)
    bands = [found for text in texts if (found := _BAND.fullmatch(text))]
    widths = {int(band[2]) - int(band[1]) + 1 for band in bands}
    if len(bands) == len(texts) and len(widths) == 1 and (width := widths.pop()) > 1:
        firsts = {int(band[1]) % width for band in bands}
        if len(firsts) == 1:
            yield Reading(f"band of {width} from {firsts.pop()}", _program(name, (_ONE,)), True)
    if sum(map(is_season, texts)) >= _READ * len(texts):
        yield Reading("year", _program(name, (_ONE,)), True)


def _as_bands(texts: list[str]) -> Step | None:
    """Read texts as bands of numbers without gaps, which may be open at either end: ``<18``, ``18-24``, ``25+``."""
    read = [band for text in texts if (band := _band(text.casefold()))]
    bands = sorted(zip(read, texts, strict=True), key=lambda band: band[0][0]) if len(read) == len(texts) else []
    if len(bands) < 2 or any(one[0][1] != two[0][0] for one, two in pairwise(bands)):
        return None
    bounds = [low for (low, _), _ in bands] + [bands[-1][0][1]]
    written = (NO_BOUND if abs(bound) == math.inf else str(int(bound)) for bound in bounds)
    return Band(" ".join(written), SEPARATOR.join(text for _, text in bands))


def _band(text: str) -> tuple[float, float] | None:
    """Return where a band of whole numbers begins, and where the next one would."""
    numbers = [int(number.replace(",", "")) for number in re.findall(_PLAIN_NUMBER, text)]
    if len(numbers) == 2 and _CLOSED.search(text) and numbers[0] <= numbers[1]:
        return numbers[0], numbers[1] + 1
    is_above, is_below = (pattern.search(text) is not None for pattern in (_ABOVE, _BELOW))
    if len(numbers) != 1 or is_above == is_below:
        return None
    is_in = _WITH.search(text) is not None
    return (numbers[0] + (not is_in), math.inf) if is_above else (-math.inf, numbers[0] + is_in)


def _lie_in(texts: list[str], step: Step) -> bool:
    """Tell whether numbers lie in at least half of the bands, or of as many as there are numbers."""
    met = {band for text in texts if (band := step(text))}
    return len(met) >= HALF * min(len(texts), len(step.names.split(SEPARATOR)))


def _readings_like(name: str, texts: list[str], other_texts: list[str], others: list[Reading]) -> Iterator[Reading]:
    """Yield what the values of a column may be because the other column is that."""
    kinds = {reading.kind for reading in others if reading.is_spelled}
    for kind in kinds:
        if band := re.fullmatch("band of ([0-9]+) from ([0-9]+)", kind):
            first = band[2]
            before = "0" if first == "0" else f"-{first}"
            program = _program(name, (RoundTo(before, band[1], "floor", first),))
            if _reads(program, texts):
                yield Reading(kind, program, False)
    if any(reading.kind == "month of the year" and not reading.is_spelled for reading in others):
        program = _program(name, _MONTH)
        if _reads(program, texts):
            yield Reading("month of the year", program, True)
    if "duration" in kinds and all(re.fullmatch("[0-9]{1,9}", text) for text in texts):
        yield Reading("duration", _program(name, (StripZeros(),)), False)
        yield Reading("duration", _program(name, (Linear("60", "0", 0, "fixed"),)), False)
    if kinds & {"share", "fraction"} and all(re.fullmatch("-?[0-9]{1,6}([.][0-9]{1,9})?", text) for text in texts):
        yield Reading("fraction", _program(name, _SHARE), False)
        yield from (Reading("share", _program(name, steps), False) for steps in (_SHARE, _HUNDREDTH))
    if "day" in kinds and all(re.fullmatch("[0-9]{4,13}", text) for text in texts):
        for origin in SERIALS:
            program = _program(name, (ReadSerial(origin), WriteTime("%Y-%m-%d")))
            if _reads(program, texts):
                yield Reading("day", program, False)
    for kind, plain in (("fiscal year", "year"), ("fiscal quarter", "quarter")):
        if kind in kinds:
            spelled = (r for r in _readings(name, texts) if r.kind == plain and r.is_spelled)
            yield from (Reading(kind, reading.program, False) for reading in spelled)
    if "bands" in kinds and (step := _as_bands(other_texts)) and _lie_in(texts, step):
        yield Reading("bands", _program(name, (step,)), False)


def _made_of(column: Column, program: Program) -> _Made:
    taken = column.array.take(pa.array(column.first_rows))
    return _Made(taken.to_pylist(), program.apply([taken]).to_pylist())


def _joined(
    left: Column, right: Column, one: Reading, two: Reading, basis: str = "rests on the names of the columns"
) -> tuple[TransformJoin, str] | None:
    """Join two readings; None if less than `_READ` of a column is read, or neither program tells its values apart."""
    made = _made_of(left, one.program), _made_of(right, two.program)
    known = [{result for result in side.results if result} for side in made]
    if any(sum(map(bool, side.results)) < _READ * len(side.results) for side in made):
        return None
    is_unique = [len(results) >= _READ * len(side.results) for side, results in zip(made, known, strict=True)]
    if not any(is_unique):
        return None
    shares = made[0].share_in(known[1]), made[1].share_in(known[0])
    reverse = not is_unique[1]
    basis = f"{basis}: both are read as {one.kind}"
    join = _as_join((left, right), (one.program, two.program), shares, reverse, basis)
    partner = dict(zip(made[1].results, made[1].texts, strict=True))
    pairs = [(text, partner[result]) for text, result in zip(*made[0], strict=True) if result in known[1]]
    shown = (" = ".join(text.removesuffix(_MIDNIGHT) for text in pair) for pair in pairs[:_N_EXAMPLES])
    return join, ", ".join(shown)


def _as_join(
    columns: tuple[Column, Column],
    programs: tuple[Program, Program],
    shares: tuple[float, float],
    reverse: bool,
    basis: str,
) -> TransformJoin:
    """Write a relation as a join by programs; ``reverse``: the right table is the source."""
    at = int(reverse)
    source, covered = columns[at], shares[at]
    n_joined = round(covered * len(source.values))
    rows = round(covered * source.n_present)
    ranked = RankedProgram(programs[at], rows, covered, (n_joined + 1) / (n_joined + 2), 0.0)
    direction = DIRECTIONS[at]
    names = (source.name,), (columns[1 - at].name,)
    return TransformJoin(direction, *names, programs[1 - at], (ranked,), covered, shares[1 - at], basis=basis)


def _fiscal_doubt(left: Column, right: Column, own: list[Reading], theirs: list[Reading]) -> str:
    """Say of days and fiscal years or quarters which first months would explain them: that is left to the caller."""
    for days, others, column, target in ((own, theirs, left, right), (theirs, own, right, left)):
        day = next((reading for reading in days if reading.kind == "day"), None)
        fiscal = next((r for r in others if r.kind.startswith("fiscal") and r.is_spelled), None)
        if day is None or fiscal is None:
            continue
        known = set(_made_of(target, fiscal.program).results)
        read = day.program.pieces[0].all_steps[0]
        layout = _WRITTEN[fiscal.kind.removeprefix("fiscal ")]
        starts = []
        for month in range(1, 13):
            program = _program(column.name, (read, MoveDate("month", (13 - month) % 12, 0), WriteTime(layout)))
            if _made_of(column, program).share_in({text for text in known if text}) >= _EXPLAINED:
                starts.append(month)
        if starts:
            return (
                f"{left.name} = {right.name}: {fiscal.kind}s that begin in month {', '.join(map(str, starts))} explain "
                "the dates; say by `examples` which rows belong together"
            )
    return ""


def _relate_units(left: Column, right: Column) -> TransformJoin | None:
    """Relate two columns of numbers by the ratio of two units, if chance does not explain it."""
    for source, target, reverse in ((left, right, False), (right, left, True)):
        wanted = set(_made_of(target, Program.identity(target.name)).results) - {None}
        texts = [text for text in wanted if text]
        if not all(re.fullmatch("-?[0-9]{1,9}([.][0-9]{1,6})?", text) for text in texts):
            continue
        for steps in ((), (WeightedSum("12 1", 1),)):
            found = _unit_of(source, target, steps, texts)
            if found is not None:
                program, shares, basis = found
                programs = program, Program.identity(target.name)
                programs, shares = (programs[::-1], shares[::-1]) if reverse else (programs, shares)
                return _as_join((left, right), programs, shares, reverse, basis)
    return None


def _unit_of(
    source: Column, target: Column, steps: tuple[Step, ...], texts: list[str]
) -> tuple[Program, tuple[float, float], str] | None:
    """Find the units of which one column is in the first, and the other in the second."""
    made = _made_of(source, _program(source.name, steps))
    numbers = [number for text in made.results if (number := _as_number(text)) is not None]
    if len(numbers) < _READ * len(made.results):
        return None
    digits = max(len(text.partition(".")[2]) for text in texts)
    held = np.unique(np.round(np.array(texts, float) * 10**digits).astype(np.int64))
    best: tuple[float, str, str] = (0.0, "", "")
    ratios = unit_ratios()
    for (scale, offset), words in ratios.items():
        values = np.array(numbers) * float(scale) + float(offset)
        whole = np.unique(np.round(values * 10**digits).astype(np.int64))
        inside = whole[(whole >= held[0]) & (whole <= held[-1])]
        if inside.size < 2:
            continue
        density = held.size / (held[-1] - held[0] + 1)
        bits = evidence_bits(int(np.isin(inside, held).sum()), inside.size, density) - np.log2(len(ratios))
        if bits > max(best[0], MIN_BITS):
            best = bits, f"{scale} {offset}", words
    if not best[1]:
        return None
    scale, offset = best[1].split(" ")
    program = _program(source.name, (*steps, Linear(scale, offset, digits, "fixed")))
    results = _made_of(source, program)
    wanted = _made_of(target, _program(target.name, (Linear("1", "0", digits, "fixed"),)))
    shares = (
        results.share_in({text for text in wanted.results if text}),
        wanted.share_in({text for text in results.results if text}),
    )
    if max(shares) < _EXPLAINED:
        return None
    return program, shares, f"rests on the names of the columns: the numbers are {best[2]}"


def _as_number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch("-?[0-9]{1,9}([.][0-9]{1,6})?", text) else None
