"""Learning programs over dates and times: which order to read, by how much to move, in which layout to write."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from dfjoin.programs.calendar_operators import CALENDAR_UNITS, SERIALS, MoveDate, ReadSerial, WriteSerial
from dfjoin.programs.moment_columns import DAY
from dfjoin.programs.operator import Step
from dfjoin.programs.time_operators import ORDERS, MoveTime, ReadTime, WriteTime

_WIDTHS = {"month": 1, "quarter": 3, "half": 6, "year": 12}
_MONTHS = (0, 1, -1, 3, 6, 12, -12, 24, 36, 60, 120)
"""Months that are added before days are counted."""
_FISCAL_MONTHS = (3, 6, -3, 9, -6, -9, 1, 2, 4, 5, 7, 8, 10, 11, -1, -2, -4, -5, -7, -8, -10, -11)
"""Months by which fiscal years are moved: most of them begin with a quarter."""
_LIKELY_DAYS = (0, 1, -1, 6, 7, -7, 14, 28, 30, 60, 90, 4, 5)
_MOST_DAYS = 36_500
_MAX_FOUND = 6
_PLAUSIBLE = {"days": ("1900", "2100"), "seconds": ("1971", "2100"), "milliseconds": ("1971", "2100")}
"""Years of what counts of days and seconds are read as; few seconds are a duration."""


def date_moves(moments: Sequence[str], orders: Sequence[str], targets: Sequence[str]) -> list[tuple[float, Step]]:
    """Find the moves that bring each date to that of its target.

    Parameters
    ----------
    moments : sequence of str
        One for each example, as `ReadTime` gives them.
    orders : sequence of str
        Readings of the targets, the likelier first; none where they are no dates.
    targets : sequence of str

    Returns
    -------
    list of (float, MoveDate)
        Weights and moves, the likelier first. Where the targets are no dates, moves by months that bring some of the
        dates to another year, as fiscal years do.

    Notes
    -----
    For each unit and number of months, the days left have to be the same for all examples; one example alone is moved
    by likely numbers of days only. O(units × months × examples).
    """
    if any("?" in moment[:10] for moment in moments):
        return []
    found: list[tuple[float, Step]] = []
    n_different = len({moment[:10] for moment in moments})
    for reading in orders:
        wanted = [ReadTime(reading)(target) or "?" for target in targets]
        if any("?" in date[:10] for date in wanted):
            continue
        ends = [_number(date) for date in wanted]
        for unit in CALENDAR_UNITS:
            for months in _MONTHS if unit != "week" else (0,):
                moved = [MoveDate(unit, months, 0)(moment) or "" for moment in moments]
                days = {end - _number(date) for end, date in zip(ends, moved, strict=True)} if all(moved) else set()
                if len(days) != 1:
                    continue
                (left,) = days
                if n_different < 2 and left not in _LIKELY_DAYS:
                    continue
                if abs(left) <= _MOST_DAYS and (unit, months, left) != ("day", 0, 0):
                    found.append((_weight(unit, months, left), MoveDate(unit, months, left)))
    if not orders:
        for months in _FISCAL_MONTHS:
            move = MoveDate("month", months, 0)
            years = {(move(moment) or moment)[:4] == moment[:4] for moment in moments}
            if years == {False, True}:
                found.append((2.0 if months % 3 == 0 else 3.0, move))
    found.sort(key=lambda entry: entry[0])
    return found[:_MAX_FOUND] if orders else found


def _weight(unit: str, months: int, days: int) -> float:
    """Weigh a move: little for the first and the last day of a unit, and for round numbers of months or days."""
    is_end = days == -1 and months == _WIDTHS.get(unit)
    week_end = unit == "week" and days in (4, 5, 6, -1)
    weight = 1.0 * (unit != "day") + (0 if is_end or months == 0 else 1.0 if unit == "day" else 2.0)
    return weight + (0 if days == 0 or is_end or week_end else 1.0 if days in _LIKELY_DAYS else 3.0)


def _number(moment: str) -> int:
    """Return the days since 1970."""
    return int(WriteSerial("unix days")(moment[:10] + "T??:??:??") or 0)


def serial_readers(texts: Sequence[str], inputs: Sequence[str]) -> list[Step]:
    """Return the steps that read all texts, whole numbers, as dates of a plausible year.

    Parameters
    ----------
    texts, inputs : sequence of str
        The examples, and other values of the column.
    """
    if not all(text.isascii() and text.isdigit() and len(text) >= 4 for text in texts):
        return []
    known = [*texts, *(text for text in inputs if text)]
    steps: list[Step] = []
    for origin in SERIALS:
        low, high = _PLAUSIBLE[origin.split(" ")[1]]
        step = ReadSerial(origin)
        if all(low <= (step(text) or "")[:4] <= high for text in known):
            steps.append(step)
    return steps


def serial_writers(moments: Sequence[str], targets: Sequence[str]) -> list[Step]:
    """Return the steps that write each moment as its target, a whole number of days or seconds."""
    steps: list[Step] = [WriteSerial(origin) for origin in SERIALS]
    return [step for step in steps if all(step(m) == target for m, target in zip(moments, targets, strict=True))]


_MAX_READINGS = 3
"""Lists of orders that are tried for one column."""
_MAX_STATES = 4000
"""Places of the targets that the search for a layout looks at."""
_MAX_MOVES = 12
"""Ways to move times that are tried for one reading."""
_MAX_TARGET = 60
_MAX_TEXT = 64
_TOKENS = {
    **{"%Y": 1.0, "%m": 1.0, "%d": 1.0, "%H": 1.0, "%M": 1.0, "%S": 1.0, "%B": 1.0, "%b": 1.0, "%A": 1.0, "%a": 1.0},
    **{"%p": 1.0, "%~p": 1.1, "%I": 1.2, "%-I": 1.2, "%-m": 1.1, "%-d": 1.1, "%-H": 1.1, "%-M": 1.6, "%-S": 1.6},
    **{"%^B": 1.2, "%^b": 1.2, "%^A": 1.2, "%^a": 1.2, "%~B": 1.2, "%~b": 1.2, "%~A": 1.2, "%~a": 1.2},
    **{"%y": 1.5, "%o": 1.2, "%j": 2.0, "%-j": 2.1, "%V": 2.2, "%-V": 2.3, "%G": 2.6, "%q": 2.3, "%u": 2.8},
}
"""Parts of a layout, and what each costs: the likelier the less."""
_LITERAL = (0.3, 2.0, 4.0)
"""What a literal character costs: a mark, a letter, a digit."""
_CERTAIN = 8.0
"""Cost of a layout from which dates may have been moved."""
_CHANGE = 0.5
"""What it costs to go on with another moment."""
_CLOCK = re.compile(r"(?<![0-9:])([0-9]{1,2})(?::([0-9]{2}))?(?::([0-9]{2}))?(?: ?([AaPp])\.?[Mm])?(?![0-9:])")
_QUARTER = 900
_SHORT_MONTH = "name-yy"
"""An order that is no evidence by itself: `Jan-21` is a day as well; who names two columns says which."""
_COMPACT = re.compile("(?:[01][0-9]|2[0-3])[0-5][0-9]")
_STAY = MoveTime(0, 1, 0)
_STEPS = tuple(60 * minutes for minutes in (720, 480, 360, 240, 180, 120, 90, 60, 45, 40, 30, 20, 15, 12, 10, 6, 5, 1))
"""Seconds that times are taken back to."""
_DAY_FIRST = ("d/m/y", "d.m.y", "d-m-y", "d_m_y", "ddmmyyyy")
_MONTH_FIRST = ("m/d/y", "m.d.y", "m-d-y", "m_d_y", "mmddyyyy")


@dataclass(frozen=True, slots=True)
class TimePieces:
    """Pieces that make the targets of a column of times: a constant text or the steps of an extract each.

    Parameters
    ----------
    parts : tuple of str or tuple of Step
    weight : float
        Less for a likelier program.
    """

    parts: tuple[str | tuple[Step, ...], ...]
    weight: float


def orders_of(text: str) -> list[str]:
    """Return the orders that a text can be read in.

    Examples
    --------
    >>> orders_of("4/7/23"), orders_of("17 Dec 1973"), orders_of("20230431"), orders_of("abc")
    (['d/m/y', 'm/d/y'], ['d-name-y'], [], [])
    """
    if len(text) > _MAX_TEXT or not text.isascii():
        return []
    # most texts are no dates: matching alone says so in a tenth of the time
    matching = (order for order in ORDERS if order != _SHORT_MONTH and _pattern_of(order).fullmatch(text))
    return [order for order in matching if ReadTime(order)(text)]


@cache
def _pattern_of(order: str) -> re.Pattern[str]:
    return re.compile(ORDERS[order][0], re.ASCII | re.IGNORECASE)


def reading_orders(texts: Sequence[str]) -> list[str]:
    """List the readings of a column: orders to be tried in turn for each text, the likelier reading first.

    Parameters
    ----------
    texts : sequence of str
        Values of the column.

    Returns
    -------
    list of str
        Empty if no text is a date. One reading where some text rules the other out (a day above 12), two where days and
        months may be exchanged.

    Notes
    -----
    An order is needed if some text has no other. Texts that are left are read day first in one reading, and month
    first in the other.
    """
    possible = [orders for text in dict.fromkeys(texts) if (orders := orders_of(text))]
    if not possible:
        return []
    counts: dict[str, int] = {}
    for orders in possible:
        if len(orders) == 1:
            counts[orders[0]] = counts.get(orders[0], 0) + 1
    needed = sorted(counts, key=lambda order: -counts[order])
    readings: dict[str, None] = {}
    for avoided in (_MONTH_FIRST, _DAY_FIRST):
        # both may be needed, when the column mixes them: then the reading says which one comes first
        chosen = sorted(needed, key=lambda order: order in avoided)
        for orders in possible:
            if not set(orders) & set(chosen):
                chosen.append(min(orders, key=lambda order: order in avoided))
        readings.setdefault(" ".join(chosen[:12]))
    return list(readings)


def learn_times(
    texts: Sequence[str], targets: Sequence[str], inputs: Sequence[str], *, is_exact: bool
) -> list[TimePieces]:
    """Learn programs that read every text as a date or time and write its target.

    Parameters
    ----------
    texts, targets : sequence of str
        One of each for every example; with ``is_exact=False`` targets in small letters.
    inputs : sequence of str
        Other values of the column, which tell the order of day and month.
    is_exact : bool
        Whether casing matters.

    Returns
    -------
    list of TimePieces
        The likeliest first; empty if some text is no date, or a target cannot be written.

    Notes
    -----
    The layout is the cheapest path through all targets at once: each part of a layout whose text goes on in every
    target, or one more literal character that all targets share there. Beside the moments themselves,
    moments moved by a constant and taken back to a step are tried, with the step and the constant
    computed from the times of day in the targets. O(states × parts × examples), at most 4,000 states for each layout.
    Source: types of values and their formats as in PROSE; the search is that of Dijkstra.
    """
    if not all(targets) or max(map(len, targets)) > _MAX_TARGET or not any(c.isalnum() for c in targets[0]):
        return []
    found: list[TimePieces] = []
    for extra, read in _readers(texts, inputs):
        moments = [read(text) for text in texts]
        known = tuple(moment for moment in moments if moment)
        if len(known) < len(texts) or not any(c.isdigit() for moment in known for c in moment):
            continue
        for writer in serial_writers(known, targets):
            found.append(TimePieces(((read, writer),), 4.0 + extra))
        for weight, (cost, parts), moves, made in _layouts(known, targets, is_exact):
            pieces: list[str | tuple[Step, ...]] = []
            for source, layout in parts:
                move = () if moves[source] == _STAY else (moves[source],)
                pieces.append((read, *move, WriteTime(_tidied(layout, made[source]))))
            found.append(TimePieces(tuple(pieces), 2.0 + cost + weight + extra))
    return sorted(found, key=lambda one: one.weight)


def _readers(texts: Sequence[str], inputs: Sequence[str]) -> Iterator[tuple[float, Step]]:
    """Yield weights and steps that read all texts: dates, clocks without a colon, counts of days or seconds."""
    if all(orders_of(text) for text in dict.fromkeys(texts)):
        readings = reading_orders([*texts, *inputs])[:_MAX_READINGS]
        yield from ((0.0, ReadTime(reading)) for reading in readings)
        if readings and "hhmm" not in readings and all(_COMPACT.fullmatch(text) for text in [*texts, *inputs]):
            yield 0.5, ReadTime("hhmm")
    yield from ((1.0, reader) for reader in serial_readers(texts, inputs))


_Fitted = tuple[float, "_Layout", tuple[Step, ...], list[tuple[str, ...]]]


def _layouts(known: tuple[str, ...], targets: Sequence[str], is_exact: bool) -> Iterator[_Fitted]:
    """Yield weights of moves, layouts, moves and moved moments: unmoved, by times of the day, and by dates."""
    plain = _fit_layout([known], targets, is_exact)
    if plain:
        yield 0.0, plain, (_STAY,), [known]
    for moves in _moves(known, targets):
        made = [tuple(move(moment) or "" for moment in known) for move in moves]
        if all(map(all, made)) and (fitted := _fit_layout(made, targets, is_exact)):
            yield sum(2.0 for move in moves if move != _STAY), fitted, moves, made
            break
    is_copy = plain is not None and plain[0] < _CERTAIN
    readings = reading_orders(targets)[:2] if all(map(orders_of, targets)) else []
    for weight, move in [] if is_copy else date_moves(known, readings, targets):
        moved = tuple(move(moment) or "" for moment in known)
        if all(moved) and (fitted := _fit_layout([moved], targets, is_exact)):
            yield 2.0 + weight, fitted, (move,), [moved]


def _seconds(moment: str) -> int:
    """Return the seconds since midnight, -1 if they are not known."""
    clock = moment[11:]
    return -1 if "?" in clock else int(clock[:2]) * 3600 + int(clock[3:5]) * 60 + int(clock[6:8])


def _clocks(target: str) -> list[int]:
    """Read the times of day in a target as seconds since midnight."""
    if _COMPACT.fullmatch(target):
        return [int(target[:2]) * 3600 + int(target[2:4]) * 60]
    found: list[int] = []
    clocks = _CLOCK.findall(target)
    for position, (hour, minute, second, half) in enumerate(clocks):
        if not (minute or half):
            continue
        half = half or (clocks[position + 1][3] if position + 1 < len(clocks) else "")  # 6:00-6:29 PM
        hours = int(hour) % 12 + 12 * (half in "Pp") if half else int(hour)
        if hours < 24:
            found.append(hours * 3600 + int(minute or 0) * 60 + int(second or 0))
    return found


def _moves(moments: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[Step, ...]]:
    """Yield moves that make the times of day in the targets, one for each of these, the likelier first."""
    times = [_seconds(moment) for moment in moments]
    clocks = [_clocks(target) for target in targets]
    n = len(clocks[0])
    if not n or n > 3 or min(times) < 0 or any(len(one) != n for one in clocks):
        return
    ranked: list[tuple[float, int, tuple[Step, ...]]] = []
    for step in (1, *_STEPS):
        rests = {one[0] % step for one in clocks}
        if len(rests) != 1:
            continue
        rest = rests.pop()
        for cost, before in _shifts(step, rest):
            moves, total = [], cost
            for position in range(n):
                afters = set()
                for time, one in zip(times, clocks, strict=True):
                    moved = (time + before) // step * step
                    afters.add((one[position] - moved + DAY // 2) % DAY - DAY // 2)
                if len(afters) != 1:
                    break
                after = afters.pop()
                moves.append(MoveTime(before, step, after))
                if position == 0:
                    total += (
                        0 if after in (0, -before) or step == 1 else 2 if after % step in (0, -before % step) else 4
                    )
                else:
                    width = after - moves[0].after
                    total += 0 if width in (step, step - 1, step - 60) else 1
            else:
                if all(move == _STAY for move in moves):
                    continue
                is_plain = all(move.before == 0 and move.after in (0, step) for move in moves)
                if len(set(times)) == 1 and (moves[0].after % _QUARTER if step == 1 else not is_plain):
                    continue  # one example may be moved to anything
                ranked.append((total, -step, tuple(moves)))
    ranked.sort(key=lambda entry: entry[:2])
    yield from (moves for *_, moves in ranked[:_MAX_MOVES])


def _shifts(step: int, rest: int) -> list[tuple[float, int]]:
    """List what may be added before the step, with costs: nothing, or what makes it round up or to the nearest."""
    if step == 1:
        return [(0.0, 0)]
    shifts = [(0.0, 0), (0.5, step // 2), (0.6, step - 1)]
    if rest:
        shifts += [(1.0, -rest), (1.6, step // 2 - rest), (1.7, step - 1 - rest)]
    return shifts


_Layout = tuple[float, tuple[tuple[int, str], ...]]
_Token = tuple[float, int, str, tuple[str, ...]]
_State = tuple[tuple[int, ...], int]


def _fit_layout(sources: Sequence[Sequence[str]], targets: Sequence[str], is_exact: bool) -> _Layout | None:
    """Find the cheapest parts that write all targets: cost, and the layout of each stretch with its source."""
    tokens: list[_Token] = []
    for number, moments in enumerate(sources):
        for token, cost in _TOKENS.items():
            outputs = tuple(WriteTime(token)(moment) or "" for moment in moments)
            if all(outputs):
                made = outputs if is_exact else tuple(out.lower() for out in outputs)
                tokens.append((cost - 0.01 * number, number, token, made))
    best = [
        layout
        for left_out in ("Ip", "H")  # hours of a day, or of half a day
        if (layout := _cheapest_path([t for t in tokens if t[2][-1] not in left_out], targets))
    ]
    return min(best, key=lambda layout: layout[0], default=None)


def _cheapest_path(tokens: list[_Token], targets: Sequence[str]) -> _Layout | None:
    """Find the cheapest sequence of parts and literals that is every target; the last source belongs to a position."""
    tokens = _without_doubles(tokens)
    start, end = ((0,) * len(targets), -1), tuple(map(len, targets))
    queue: list[tuple[float, int, _State]] = [(0.0, 0, start)]
    best: dict[_State, float] = {start: 0.0}
    came: dict[_State, tuple[_State, int, str]] = {}
    n_states = 0
    while queue and n_states < _MAX_STATES:
        cost, _, state = heapq.heappop(queue)
        at, last = state
        if cost > best[state]:
            continue
        if at == end:
            return _collect(came, state, cost)
        n_states += 1
        moves = []
        for token_cost, number, token, outputs in tokens:
            if all(target.startswith(out, i) for target, out, i in zip(targets, outputs, at, strict=True)):
                if token[-1] in "MSp" and last not in (-1, number):
                    continue  # a clock shows one moment
                there = tuple(i + len(out) for i, out in zip(at, outputs, strict=True))
                moves.append((token_cost + _CHANGE * (last not in (-1, number)), (there, number), number, token))
        characters = {target[i : i + 1] for target, i in zip(targets, at, strict=True)}
        if len(characters) == 1 and (character := characters.pop()):
            kind = 2 if character.isdigit() else 1 if character.isalpha() else 0
            text = "%%" if character == "%" else character
            moves.append((_LITERAL[kind], (tuple(i + 1 for i in at), last), -1, text))
        for more, next_state, number, text in moves:
            if cost + more < best.get(next_state, float("inf")):
                best[next_state] = cost + more
                came[next_state] = (state, number, text)
                heapq.heappush(queue, (cost + more, len(came), next_state))
    return None


def _without_doubles(tokens: list[_Token]) -> list[_Token]:
    """Keep, of parts that write the same, the cheapest one."""
    kept: dict[tuple[int, tuple[str, ...]], _Token] = {}
    for token in sorted(tokens):
        kept.setdefault((token[1], token[3]), token)
    return list(kept.values())


def _collect(came: dict[_State, tuple[_State, int, str]], state: _State, cost: float) -> _Layout | None:
    """Walk back from the end, and join the parts of one source and the literals around them."""
    steps: list[tuple[int, str]] = []
    while state in came:
        state, number, text = came[state]
        steps.append((number, text))
    stretches: list[tuple[int, str]] = []
    for number, text in reversed(steps):
        if stretches and number in (-1, stretches[-1][0]):
            stretches[-1] = (stretches[-1][0], stretches[-1][1] + text)
        elif stretches and stretches[-1][0] == -1:
            stretches[-1] = (number, stretches[-1][1] + text)
        else:
            stretches.append((number, text))
    if stretches[0][0] == -1:
        return None
    return cost, tuple(stretches)


def _tidied(layout: str, moments: Sequence[str]) -> str:
    """Choose between layouts that write the same for the examples: years of weeks with weeks, month and day alike."""
    better = layout
    if "V" in layout and not re.search("%[-^~]?[mdbBj]", layout):
        better = better.replace("%Y", "%G")
    if "%-m" in layout or "%-d" in layout:
        better = better.replace("%m", "%-m").replace("%d", "%-d")
    return better if all(WriteTime(better)(one) == WriteTime(layout)(one) for one in moments) else layout
