"""Steps of a program that read, move and write dates and times.

Between these steps a moment is the text ``YYYY-MM-DDTHH:MM:SS`` with ``?`` for the digits of what is not known:
``????-??-??T18:25:00`` is a time of the day, ``2023-04-??T??:??:??`` a month. Days are those of the proleptic Gregorian
calendar, years 1 to 9999. Fractions of seconds and time zones are read over: a moment is what a clock on the wall
shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.programs import scalar_times
from dfjoin.programs.moment_columns import DAY, Moments
from dfjoin.programs.operator import (
    Legal,
    Operator,
    Step,
    integer,
    is_text,
)
from dfjoin.programs.spark_sql import END, bind, quote
from dfjoin.programs.string_column import StringColumn

_FEW = 500
"""Distinct texts up to which each is done by itself."""
_MONTH_NAME = (
    "(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)[.]?"
)
_WEEKDAY = "(?:(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?[.]?,? {1,2})?"
_YEAR = "((?!0000)[0-9]{4})"
_SHORT_YEAR = "((?!0000)[0-9]{4}|[0-9]{2})"
_MONTH, _DAY = "(0?[1-9]|1[0-2])", "(0?[1-9]|[12][0-9]|3[01])"
_MONTH_2, _DAY_2 = "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
_GAP = "[ ,./-]{0,3}"
_ORDINAL = "(?:st|nd|rd|th)?"
_SECONDS = ":([0-5][0-9])(?::([0-5][0-9])(?:[.,][0-9]{1,9})?)?"
_TIME = f"(?:(0?[1-9]|1[0-2])(?:{_SECONDS})? ?([ap])[.]?m[.]?|([01]?[0-9]|2[0-3]){_SECONDS})"
_ZONE = "(?: ?(?:z|utc|gmt|[ecmp][sd]t|[+-][01][0-9]:?[0-5][0-9]))?"
_TIME_FIELDS = "hnsphns"
_MARK = "\x1f"
"""Stands between the groups of a pattern in SQL."""


def _numeric(order: str, separator: str) -> tuple[str, str]:
    """Make the pattern of day, month and year as digits."""
    gap = f"[{separator}]{{1,2}}"
    parts = {"d": _DAY, "m": _MONTH, "y": _SHORT_YEAR}
    return gap.join(parts[field] for field in order), order


_DATES: dict[str, tuple[str, str]] = {
    "y-m-d": (f"{_YEAR}[-/. ]{{1,2}}{_MONTH}[-/. ]{{1,2}}{_DAY}", "ymd"),
    **{
        f"{a}{shown}{b}{shown}y": _numeric(f"{a}{b}y", separator)
        for shown, separator in (("/", "/"), (".", ". "), ("-", "-"), ("_", " "))
        for a, b in ("dm", "md")
    },
    "d-name-y": (f"{_DAY}{_ORDINAL}(?:{_GAP}| of ){_MONTH_NAME}{_GAP}'?{_SHORT_YEAR}", "dby"),
    "name-d-y": (f"{_MONTH_NAME}{_GAP}{_DAY}{_ORDINAL}[ ,./-]{{1,3}}'?{_SHORT_YEAR}", "bdy"),
    "y-name-d": (f"{_YEAR}{_GAP}{_MONTH_NAME}{_GAP}{_DAY}", "ybd"),
    "yyyymmdd": (f"{_YEAR}{_MONTH_2}{_DAY_2}", "ymd"),
    "mmddyyyy": (f"{_MONTH_2}{_DAY_2}{_YEAR}", "mdy"),
    "ddmmyyyy": (f"{_DAY_2}{_MONTH_2}{_YEAR}", "dmy"),
    "y-j": (f"{_YEAR}[-/. ]{{1,2}}(00[1-9]|0[1-9][0-9]|[12][0-9]{{2}}|3[0-5][0-9]|36[0-6]|[1-9][0-9]?)", "yj"),
}
"""Orders of a whole date, which a time may follow, with their fields."""
_PARTS: dict[str, tuple[str, str]] = {
    "name-y": (f"{_MONTH_NAME}{_GAP}{_YEAR}", "by"),
    "y-name": (f"{_YEAR}{_GAP}{_MONTH_NAME}", "yb"),
    "m-y": (f"{_MONTH}[-/. ]{_YEAR}", "my"),
    "y-m": (f"{_YEAR}[-/. ]{_MONTH_2}", "ym"),
    "name-yy": (f"{_MONTH_NAME}[ ./'-]{{1,2}}([0-9]{{2}})", "by"),
    "d-name": (f"{_DAY}{_ORDINAL}(?:{_GAP}| of ){_MONTH_NAME}", "db"),
    "name-d": (f"{_MONTH_NAME}{_GAP}{_DAY}{_ORDINAL}", "bd"),
    "name": (_MONTH_NAME, "b"),
    "y": (_YEAR, "y"),
    "time": (f"{_TIME}{_ZONE}", _TIME_FIELDS),
    "hhmm": ("([01][0-9]|2[0-3])([0-5][0-9])", "hn"),
    "hhmmss": ("([01][0-9]|2[0-3])([0-5][0-9])([0-5][0-9])", "hns"),
    "name-d-time-y": (f"{_WEEKDAY}{_MONTH_NAME} {{1,2}}{_DAY} {_TIME} {_YEAR}", f"bd{_TIME_FIELDS}y"),
    "yyyymmddhhmmss": (f"{_YEAR}{_MONTH_2}{_DAY_2}([01][0-9]|2[0-3])([0-5][0-9])([0-5][0-9])", "ymdhns"),
}
"""Orders that nothing follows."""
_WITH_TIME = f"(?:(?:t|[ ,]{{1,3}}(?:at )?){_TIME}{_ZONE})?"
ORDERS: dict[str, tuple[str, str]] = {
    **{name: (_WEEKDAY + pattern + _WITH_TIME, fields + _TIME_FIELDS) for name, (pattern, fields) in _DATES.items()},
    **_PARTS,
}
"""Name of each order of the parts of a date, with its pattern and the fields of its groups."""
_TOKENS = r"%%|%-?[YymdHIMSjV]|%[Gqou]|%[\^~]?[BbAa]|%~?p"
_LAYOUT = re.compile(f"(?:[^%]|{_TOKENS})+", re.DOTALL)


def is_layout(text: str) -> bool:
    """Tell whether a text is a layout that `WriteTime` takes: it has at least one part of a time."""
    return _LAYOUT.fullmatch(text) is not None and "%" in text.replace("%%", "")


@cache
def patterns_of(orders: str) -> tuple[tuple[str, str], ...]:
    """Return the pattern and the fields of each order of a list with spaces between."""
    return tuple(ORDERS[order] for order in orders.split(" "))


_MAX_SECONDS = 100 * DAY
_MAX_ORDERS = 12
_SECONDS_RANGE = Legal(integer(-_MAX_SECONDS, _MAX_SECONDS).test, f"an integer up to {_MAX_SECONDS} in size")
_ORDERS = Legal(
    lambda value: is_text(value) and len(value.split(" ")) <= _MAX_ORDERS and set(value.split(" ")) <= {*ORDERS},
    f"1 to {_MAX_ORDERS} names of orders with a space between, of {', '.join(ORDERS)}",
)
_LAYOUTS = Legal(
    lambda value: is_text(value) and is_layout(value),
    "a layout with at least one part of a time, such as '%Y-%m-%d'",
)


def _by_arrays(strings: StringColumn, step: Step, compute: Callable[[pa.Array], pa.Array]) -> StringColumn:
    """Apply a step to each distinct string; where there are many, `compute` does all that are ASCII at once."""
    encoded = strings.to_arrow().dictionary_encode()
    texts = encoded.dictionary
    if len(texts) <= _FEW:
        return strings.mapped(step)
    is_plain = pc.string_is_ascii(texts)
    results = pc.if_else(is_plain, compute(pc.if_else(is_plain, texts, "")).cast(pa.large_string()), None)
    if not pc.all(is_plain).as_py():
        rest = pa.array([step(text) for text in texts.filter(pc.invert(is_plain)).to_pylist()], pa.large_string())
        results = pc.replace_with_mask(results, pc.invert(is_plain), rest)
    return StringColumn.of(results.take(encoded.indices))


def _read_time_sql(step: Step, operand: str) -> str:
    """Use ``regexp_replace`` and ``split`` for the groups, and casts that give null for days that do not exist."""
    read = [_read_order_sql(step, pattern, fields) for pattern, fields in patterns_of(step.orders)]
    return bind(operand, read[0] if len(read) == 1 else f"coalesce({', '.join(read)})")


def _read_columns(step: Step, texts: pa.Array) -> pa.Array:
    found = pa.nulls(len(texts), pa.large_string())
    for pattern, fields in patterns_of(step.orders):
        left = np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False))
        made = Moments.read(texts.take(pa.array(left)), pattern, fields, step.pivot).texts()
        found = pc.replace_with_mask(found, found.is_null(), made)
    return found


def _read_order_sql(step: Step, pattern: str, fields: str) -> str:
    whole = quote(f"(?i)^(?:{pattern}){END}")
    groups = quote(_MARK.join(f"${i}" for i in range(1, len(fields) + 1)))
    found = f"CASE WHEN x RLIKE {whole} THEN split(regexp_replace(x, {whole}, {groups}), {quote(_MARK)}, -1) END"

    def group(field: str) -> str:
        parts = [f"nullif(g[{i}], '')" for i, one in enumerate(fields) if one == field]
        return parts[0] if len(parts) == 1 else f"coalesce({', '.join(parts)})"

    year, month, day = "'????'", "'??'", "'??'"
    if "y" in fields:
        short = f"concat(CASE WHEN CAST(y AS INT) >= {step.pivot} THEN '19' ELSE '20' END, y)"
        short = f"CASE WHEN char_length(y) = 2 THEN {short} ELSE y END"
        year = f"transform(array({group('y')}), y -> {short})[0]"
    if "m" in fields:
        month = f"lpad({group('m')}, 2, '0')"
    elif "b" in fields:
        names = "'janfebmaraprmayjunjulaugsepoctnovdec'"
        month = f"lpad(CAST((instr({names}, lower(substring({group('b')}, 1, 3))) + 2) DIV 3 AS STRING), 2, '0')"
    if "d" in fields:
        day = f"lpad({group('d')}, 2, '0')"
    date = f"concat({year}, '-', {month}, '-', {day})"
    if "j" in fields:
        moved = f"date_add(try_cast(concat(v, '-01-01') AS DATE), CAST({group('j')} AS INT) - 1)"
        kept = f"CASE WHEN substring(CAST({moved} AS STRING), 1, 4) = v THEN CAST({moved} AS STRING) END"
        date = f"transform(array({year}), v -> {kept})[0]"
    elif "d" in fields and "y" in fields:
        date = f"CAST(try_cast({date} AS DATE) AS STRING)"
    elif "d" in fields:
        date = f"concat('????', substring(CAST(try_cast(concat('2000-', {month}, '-', {day}) AS DATE) AS STRING), 5))"
    clock = "'??:??:??'"
    if "h" in fields:
        hour = f"lpad({group('h')}, 2, '0')"
        if "p" in fields:
            half = f"CASE lower({group('p')}) WHEN 'a' THEN 0 WHEN 'p' THEN 12 END"
            moved = f"lpad(CAST(CAST({group('h')} AS INT) % 12 + {half} AS STRING), 2, '0')"
            hour = f"coalesce({moved}, {hour})"
        rest = [f"coalesce({group(field)}, '00')" if field in fields else "'00'" for field in "ns"]
        clock = f"concat({hour}, ':', {rest[0]}, ':', {rest[1]})"
        if "y" in fields:
            clock = f"coalesce({clock}, '??:??:??')"
    return f"transform(array({found}), g -> concat({date}, 'T', {clock}))[0]"


ReadTime = Operator(
    "read_time",
    {"orders": _ORDERS, "pivot": integer(0, 100)},
    scalar_times.read_time,
    words="read_time({orders!r})",
    arguments=lambda step: (patterns_of(step.orders), step.pivot),
    sql=_read_time_sql,
    apply=lambda step, strings: _by_arrays(strings, step, partial(_read_columns, step)),
    weight=2,
    computes=True,
    defaults=(70,),
)
"""A date, a time or both, read in one of several orders.

Names of months are English, whole or short; a weekday before, a fraction of a second and a time zone behind
are read over. A day that its month does not have is none.

Parameters
----------
orders : str
    Names of `ORDERS` with a space between; the first one that gives a moment is taken.
pivot : int
    Years of two digits from this one on belong to 19.., the others to 20..; 0 to 100.
"""


def _move_time_sql(step: Step, operand: str) -> str:
    """Use ``pmod`` on the seconds of the day, and ``date_add``."""
    clock = "T([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])"
    whole = quote(f"^(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|[?]{{4}}-[?]{{2}}-[?]{{2}}){clock}{END}")
    numbers = [f"CAST(nullif(regexp_extract(x, {whole}, {i}), '') AS BIGINT)" for i in (1, 2, 3)]
    start = f"{numbers[0]} * 3600 + {numbers[1]} * 60 + {numbers[2]} + ({step.before})"
    moved = f"transform(array({start}), s -> s - pmod(s, {step.interval}) + ({step.after}))[0]"
    day = "CASE WHEN substring(x, 1, 4) != '0000' THEN try_cast(substring(x, 1, 10) AS DATE) END"
    later = f"date_add({day}, CAST((v - pmod(v, {DAY})) DIV {DAY} AS INT))"
    legal = f"CASE WHEN year({later}) BETWEEN 1 AND 9999 THEN CAST({later} AS STRING) END"
    date = f"CASE WHEN contains(x, '?') THEN '????-??-??' ELSE {legal} END"
    parts = ("pmod(v, 86400) DIV 3600", "pmod(v, 3600) DIV 60", "pmod(v, 60)")
    shown = ", ':', ".join(f"lpad(CAST({part} AS STRING), 2, '0')" for part in parts)
    return bind(operand, f"transform(array({moved}), v -> concat({date}, 'T', {shown}))[0]")


def _move_time_words(step: Step) -> str:
    shown = [f"floor({_shown(step.interval)})"] if step.interval > 1 else []
    before = [f"plus({_shown(step.before)})"] if step.before else []
    after = [f"plus({_shown(step.after)})"] if step.after else []
    return ".".join([*before, *shown, *after]) or "plus('0 s')"


def _move_time_column(step: Step, strings: StringColumn) -> StringColumn:
    """Move each distinct string: many by arrays of their parts, few one by one."""

    def move(texts: pa.Array) -> pa.Array:
        return Moments.parse(texts).moved(step.before, step.interval, step.after).texts()

    return _by_arrays(strings, step, move)


MoveTime = Operator(
    "move_time",
    {"before": _SECONDS_RANGE, "interval": integer(1, DAY), "after": _SECONDS_RANGE},
    scalar_times.move_time,
    words=_move_time_words,
    sql=_move_time_sql,
    apply=_move_time_column,
)
"""A moment moved by seconds, taken back to a multiple of an interval since midnight, and moved again.

Parameters
----------
before, after : int
    Seconds that are added before and after, at most 100 days; negative for earlier.
interval : int
    Seconds from 1 to a day; 1 leaves the moment as it is.
"""


def _shown(seconds: int) -> str:
    """Write seconds for people, in the largest unit that is whole.

    Examples
    --------
    >>> _shown(5400), _shown(-7200)
    ("'90 min'", "'-2 h'")
    """
    for unit, size in (("d", DAY), ("h", 3600), ("min", 60)):
        if seconds % size == 0:
            return repr(f"{seconds // size} {unit}")
    return repr(f"{seconds} s")


def _write_time_sql(step: Step, operand: str) -> str:
    """Use the functions of dates, and parts of the text."""
    clock = "(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]|[?]{2}:[?]{2}:[?]{2})"
    pattern = quote(
        f"^(?:(?!0000)[0-9]{{4}}|[?]{{4}})-(?:0[1-9]|1[0-2]|[?]{{2}})-(?:0[1-9]|[12][0-9]|3[01]|[?]{{2}})T{clock}{END}"
    )
    date = "try_cast(substring(x, 1, 10) AS DATE)"
    is_moment = f"x RLIKE {pattern} AND (contains(substring(x, 1, 10), '?') OR {date} IS NOT NULL)"
    parts = [
        quote(literal) if literal else _token_sql(style, token)
        for style, token, literal in re.findall("%([-^~]?)([A-Za-z%])|([^%]+)", step.layout)
    ]
    written = parts[0] if len(parts) == 1 else f"concat({', '.join(parts)})"
    return bind(operand, f"CASE WHEN {is_moment} THEN {written} END")


WriteTime = Operator(
    "write_time",
    {"layout": _LAYOUTS},
    scalar_times.write_time,
    words="write_time({layout!r})",
    sql=_write_time_sql,
    apply=lambda step, strings: _by_arrays(strings, step, lambda texts: Moments.parse(texts).written(step.layout)),
    weight=2,
)
"""A moment written in a layout; null where it needs a part that is not known.

Parameters
----------
layout : str
    As for ``strftime``: %Y %y year, %m month, %d day, %B %b month as a name and short, %A %a weekday, %H hour,
    %I hour of twelve, %M minute, %S second, %p AM or PM, %j day of the year, %V ISO week, %G its year; further
    %q quarter, %u weekday as a number from Monday, 1, %o the ending of an ordinal day (st, nd, rd, th).
    ``%-d`` drops
    zeros at the front, ``%^b`` is in capitals, ``%~b`` in small letters; ``%%`` is a percent sign.
"""
_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_FIELDS = {"Y": (1, 4), "y": (3, 2), "m": (6, 2), "d": (9, 2), "H": (12, 2), "M": (15, 2), "S": (18, 2)}


def _token_sql(style: str, token: str) -> str:
    """Write one part of a layout as SQL of a moment ``x``."""
    date = "try_cast(substring(x, 1, 10) AS DATE)"

    def number(name: str) -> str:
        start, length = _FIELDS[name]
        return f"try_cast(substring(x, {start}, {length}) AS INT)"

    if token == "%":
        return "'%'"
    if token in "BbAa":
        index, names = (number("m"), _MONTHS) if token in "Bb" else (f"(weekday({date}) + 1)", _DAYS)
        shown = names.upper() if style == "^" else names.lower() if style == "~" else names
        listed = ", ".join(f"'{name if token in 'BA' else name[:3]}'" for name in shown.split())
        return f"element_at(array({listed}), {index})"
    if token == "p":
        early, late = ("'am'", "'pm'") if style == "~" else ("'AM'", "'PM'")
        return f"CASE WHEN {number('H')} < 12 THEN {early} WHEN {number('H')} >= 12 THEN {late} END"
    if token == "o":
        ends = "CASE d % 10 WHEN 1 THEN 'st' WHEN 2 THEN 'nd' WHEN 3 THEN 'rd' ELSE 'th' END"
        known = f"CASE WHEN d > 10 AND d < 20 THEN 'th' WHEN d > 0 THEN {ends} END"
        return f"transform(array({number('d')}), d -> {known})[0]"
    values = {
        "I": (f"(({number('H')} + 11) % 12 + 1)", 2),
        "y": (number("y"), 2),
        "q": (f"(({number('m')} + 2) DIV 3)", 1),
        "u": (f"(weekday({date}) + 1)", 1),
        "j": (f"dayofyear({date})", 3),
        "V": (f"weekofyear({date})", 2),
        "G": (f"nullif(nullif(extract(YEAROFWEEK FROM {date}), 0), 10000)", 4),
    }
    value, width = values[token] if token in values else (number(token), _FIELDS[token][1])
    text = f"CAST({value} AS STRING)"
    return text if style == "-" or width == 1 else f"lpad({text}, {width}, '0')"
