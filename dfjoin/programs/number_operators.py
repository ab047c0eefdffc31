"""Operators that find, compute and write numbers; decimals are exact in every engine."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels.texts.spans import Spans
from dfjoin.programs import scalar_numbers
from dfjoin.programs.operator import (
    INDEX,
    Legal,
    Operator,
    Step,
    decimal,
    integer,
    one_of,
    or_null,
)
from dfjoin.programs.spark_sql import END, bind, quote, when_empty
from dfjoin.programs.string_column import StringColumn

GROUP_SEPARATORS = (",", ".", " ", "'", "_")
STYLES = ("fixed", "plain", "significant")
BASES = (2, 8, 10, 16)
_PLAIN = "-?[0-9]+([.][0-9]+)?"
_LONG_NUMBER = "-?[0-9]{1,18}([.][0-9]{1,18})?"
"""Numbers that `Round` takes: decimals of 38 digits hold them."""
_SHORT_NUMBER = "-?[0-9]{1,9}([.][0-9]{1,6})?"
"""Numbers that `Linear` takes: their products are exact in decimals of 38 digits."""
_LARGEST_POWER, _SMALLEST_POWER = 14, -6
"""Powers of ten between which `Linear` counts significant digits."""
_MAX_DECIMALS = 12
_DIGITS = "0123456789ABCDEF"


def _strip_zeros_sql(step: Step, operand: str) -> str:
    """Use ``trim(LEADING ...)`` on all but the last character."""
    head = "trim(LEADING '0' FROM substring(x, 1, char_length(x) - 1))"
    return bind(operand, f"concat({head}, right(x, 1))")


StripZeros = Operator(
    "strip_zeros",
    {},
    scalar_numbers.strip_zeros,
    words="strip_zeros()",
    sql=_strip_zeros_sql,
    apply=lambda step, strings: strings.narrowed(_skip_zeros(strings.spans)),
    weight=2,
)
"""Zeros at the front dropped, but never the last character."""


def _skip_zeros(spans: Spans) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Move each start behind its zeros, as long as some string still has one."""
    starts = spans.starts.copy()
    last = spans.data.shape[0] - 1
    while last >= 0:
        inside = (starts >= 0) & (starts < spans.ends - 1)
        moving = inside & (spans.data[np.clip(starts, 0, last)] == ord("0"))
        if not moving.any():
            break
        starts[moving] += 1
    return starts, spans.ends.copy()


def _round_sql(step: Step, operand: str) -> str:
    """Use ``round`` on decimals of 38 digits."""
    rounded = f"CAST(round(CAST(x AS DECIMAL(38, 18)), {step.digits}) AS STRING)"
    return bind(operand, f"CASE WHEN x RLIKE {quote(f'^{_LONG_NUMBER}{END}')} THEN {rounded} END")


def _round_column(step: Step, strings: StringColumn) -> StringColumn:
    """Round as decimals of 38 digits."""
    text = strings.to_arrow()
    is_number = pc.match_substring_regex(text, rf"^{_LONG_NUMBER}\z")
    exact = pc.if_else(is_number, text, pa.scalar(None, text.type)).cast(pa.decimal128(38, 18))
    rounded = pc.round(exact, ndigits=step.digits, round_mode="half_towards_infinity")
    return StringColumn.of(rounded.cast(pa.decimal128(38, step.digits)).cast(pa.string()))


Round = Operator(
    "round",
    {"digits": integer(0, 6)},
    scalar_numbers.round_number,
    words="round({digits})",
    sql=_round_sql,
    apply=_round_column,
    weight=2,
)
"""A plain decimal number (up to 18 digits on either side of its point) rounded half away from zero.

Parameters
----------
digits : int
    After the point, 0 to 6.
"""


def _group_sql(step: Step, operand: str) -> str:
    """Use ``regexp_replace`` on what stands before the point, from its end."""
    whole = "split_part(x, '.', 1)"
    group = f"{quote('([0-9]{3})(?=[0-9])')}, {quote(f'$1{step.separator}')}"
    grouped = f"reverse(regexp_replace(reverse({whole}), {group}))"
    written = f"concat({grouped}, substring(x, char_length({whole}) + 1))"
    return bind(operand, f"CASE WHEN x RLIKE {quote(f'^{_PLAIN}{END}')} THEN {written} END")


def _group_columns(separator: str, texts: pa.Array) -> pa.Array:
    """Group the digits from behind."""
    parts = pc.extract_regex(texts, r"\A(?P<sign>-?)(?P<whole>[0-9]+)(?P<rest>(?:[.][0-9]+)?)\z")
    sign, whole, rest = (pc.struct_field(parts, name) for name in ("sign", "whole", "rest"))
    grouped = pc.replace_substring_regex(pc.utf8_reverse(whole), "([0-9]{3})", rf"\1{separator}")
    grouped = pc.utf8_reverse(pc.utf8_rtrim(grouped, separator))
    return pc.binary_join_element_wise(sign, grouped, rest, "", null_handling="emit_null")


Thousands = Operator(
    "group",
    {"separator": one_of(GROUP_SEPARATORS)},
    scalar_numbers.group_digits,
    words="thousands({separator!r})",
    sql=_group_sql,
    apply=lambda step, strings: strings.through(partial(_group_columns, step.separator)),
    weight=2,
    defaults=(",",),
)
"""A plain decimal number with a separator between its thousands.

Parameters
----------
separator : str
    One of `GROUP_SEPARATORS`.
"""


def _year_sql(step: Step, operand: str) -> str:
    """Compare as numbers."""
    century = f"CASE WHEN CAST(x AS INT) >= {step.pivot} THEN '19' ELSE '20' END"
    return bind(operand, f"CASE WHEN x RLIKE {quote(f'^[0-9]{{2}}{END}')} THEN concat({century}, x) END")


def _year_column(step: Step, strings: StringColumn) -> StringColumn:
    """Apply to the distinct strings of two bytes, at most some thousands."""
    _, starts, ends = strings.spans
    is_short = (starts >= 0) & (ends - starts == 2)
    return strings.narrowed((np.where(is_short, starts, -1), ends.copy())).mapped(step)


Year = Operator(
    "year",
    {"pivot": integer(0, 100)},
    scalar_numbers.expand_year,
    words="four_digit_year({pivot})",
    sql=_year_sql,
    apply=_year_column,
    weight=2,
    defaults=(70,),
)
"""A year of two digits with four.

Parameters
----------
pivot : int
    Years from this one on belong to 19.., the others to 20..; 0 to 100.
"""


def _linear_sql(step: Step, operand: str) -> str:
    """Use decimals; ``round`` wants a constant number of digits, hence one case for each size."""
    exact = f"CAST(x AS DECIMAL(15, 6)) * CAST('{step.scale}' AS DECIMAL(20, 15))"
    value = f"CASE WHEN x RLIKE {quote(f'^{_SHORT_NUMBER}{END}')} THEN {exact}"
    value = bind(operand, f"{value} + CAST('{step.offset}' AS DECIMAL(20, 10)) END")
    if step.style != "significant":
        rounded = f"CAST(round(x, {step.digits}) AS STRING)"
        rounded = _without_zeros(rounded) if step.style == "plain" else rounded
        if step.digits > -_SMALLEST_POWER:  # Java would write these with an exponent
            rounded = f"CASE WHEN abs(round(x, {step.digits})) >= {_literal(_SMALLEST_POWER)} THEN {rounded} END"
        return bind(value, rounded)
    cases = " ".join(
        f"WHEN abs(x) >= {_literal(level)} THEN {_without_zeros(f'CAST(round(x, {_decimals(step, level)}) AS STRING)')}"
        for level in range(_LARGEST_POWER, _SMALLEST_POWER - 1, -1)
    )
    return bind(value, f"CASE WHEN x = 0 THEN '0' {cases} END")


def _linear_words(step: Step) -> str:
    plus = "" if step.offset == "0" else f" + {step.offset}"
    return f"number(* {step.scale}{plus}, {step.digits} {step.style})"


def _linear_column(step: Step, strings: StringColumn) -> StringColumn:
    """Compute with decimals of 38 digits."""
    text = strings.to_arrow()
    is_number = pc.match_substring_regex(text, rf"^{_SHORT_NUMBER}\z")
    exact = pc.if_else(is_number, text, pa.scalar(None, text.type)).cast(pa.decimal128(15, 6))
    scale = pa.scalar(step.scale).cast(pa.decimal128(20, 15))
    offset = pa.scalar(step.offset).cast(pa.decimal128(20, 10))
    value = pc.add(pc.multiply(exact, scale), offset)
    if step.style != "significant":
        text = _written(value, step.digits, step.style == "plain")
        if step.digits > -_SMALLEST_POWER:
            size = pc.abs(pc.round(value, ndigits=step.digits, round_mode="half_towards_infinity"))
            text = pc.if_else(pc.greater_equal(size, _power(_SMALLEST_POWER)), text, pa.scalar(None, text.type))
        return StringColumn.of(text)
    size = pc.abs(value)
    found = pc.if_else(pc.equal(size, _power(None)), pa.scalar("0"), pa.scalar(None, pa.string()))
    for level in range(_SMALLEST_POWER, _LARGEST_POWER + 1):
        is_larger = pc.greater_equal(size, _power(level))
        found = pc.if_else(is_larger, _written(value, _decimals(step, level), True), found)
    return StringColumn.of(found)


def _decimals(step: Step, level: int) -> int:
    """Return the digits after the point of numbers from ``10 ** level`` on."""
    return min(max(step.digits - 1 - level, 0), _MAX_DECIMALS)


Linear = Operator(
    "linear",
    {"scale": decimal(5, 15), "offset": decimal(10, 10), "digits": integer(0, 12), "style": one_of(STYLES)},
    scalar_numbers.scale_number,
    words=_linear_words,
    sql=_linear_sql,
    apply=_linear_column,
    weight=8,
    computes=True,
)
"""A number times one constant plus another, as for units of measure.

Parameters
----------
scale : str
    A plain decimal, at most 5 digits before and 15 behind the point.
offset : str
    A plain decimal, at most 10 digits before and 10 behind the point.
digits : int
    After the point, 0 to 12, or with ``style="significant"`` in all, 1 to 12. Above 6, results smaller than
    10^-6 are none.
style : {"fixed", "plain", "significant"}
    Fixed: as many digits as that; plain and significant: without the zeros at the end.
"""


def _literal(level: int) -> str:
    """Write a power of ten as a plain decimal."""
    return "1" + "0" * level if level >= 0 else "0." + "0" * (-level - 1) + "1"


def _power(level: int | None) -> pa.Scalar:
    text = "0" if level is None else _literal(level)
    return pa.scalar(text).cast(pa.decimal128(38, 21))


def _written(value: pa.Array, digits: int, is_short: bool) -> pa.Array:
    """Round decimals and write them, if asked without the zeros at the end."""
    rounded = pc.round(value, ndigits=digits, round_mode="half_towards_infinity")
    text = rounded.cast(pa.decimal128(38, digits), safe=False).cast(pa.string())
    if not is_short or digits == 0:
        return text
    return pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")


def _without_zeros(text: str) -> str:
    """Write SQL that drops the zeros behind the point of a number, and a point at its end."""
    trimmed = "trim(TRAILING '.' FROM trim(TRAILING '0' FROM s))"
    return f"transform(array({text}), s -> CASE WHEN contains(s, '.') THEN {trimmed} ELSE s END)[0]"


def _base_sql(step: Step, operand: str) -> str:
    """Use ``conv``."""
    digits = _DIGITS[: step.old] + ("abcdef" if step.old == 16 else "")
    pattern = quote(f"^[{digits}]{{1,12}}{END}")
    return bind(operand, f"CASE WHEN x RLIKE {pattern} THEN conv(x, {step.old}, {step.new}) END")


Base = Operator(
    "base",
    {"old": one_of(BASES), "new": one_of(BASES)},
    scalar_numbers.change_base,
    words="base({old} to {new})",
    sql=_base_sql,
    computes=True,
)
"""A whole number, at most 12 digits, written in another base; letters of base 16 may be small, results are large.

Parameters
----------
old, new : int
    2, 8, 10 or 16.
"""
ROUNDINGS = ("nearest", "floor", "ceiling", "down", "up")
DECIMAL_MARKS = (".", ",")
GROUPS = ("", ",", ".", " ", "'", "_")
_SIGN = r"(?:(?<![0-9A-Za-z.,)])-)?(?<![0-9])(?<![^A-Za-z][.])(?<!\A[.])"
_ANY_NUMBER = _SIGN + "(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:[.][0-9]+)?"


def _nth_number_sql(step: Step, operand: str) -> str:
    """Use ``regexp_extract_all``."""
    number = step.index + 1 if step.index >= 0 else step.index
    plain = operand if step.mark == "." else f"translate({operand}, ',.', '.,')"
    found = f"try_element_at(regexp_extract_all({plain}, {quote(_ANY_NUMBER)}, 0), {number})"
    return f"replace({found}, ',', '')"


NthNumber = Operator(
    "nth_number",
    {"index": INDEX, "mark": one_of(DECIMAL_MARKS)},
    scalar_numbers.nth_number,
    words=lambda step: f"number({step.index}{'' if step.mark == '.' else ', ' + repr(step.mark)})",
    sql=_nth_number_sql,
    weight=2,
    defaults=(".",),
)
"""One of the numbers of a text as a plain decimal: with its sign, without the separators of thousands.

Parameters
----------
index : int
    From 0, or from the last number, -1.
mark : {".", ","}
    The decimal mark; the other one separates thousands.
"""


def _round_to_sql(step: Step, operand: str) -> str:
    """Use ``pmod`` of decimals, which is exact."""
    before, unit, after = (f"CAST('{text}' AS DECIMAL(16, 9))" for text in (step.before, step.interval, step.after))
    is_number = f"x RLIKE {quote(f'^-?[0-9]{{1,15}}([.][0-9]{{1,9}})?{END}')}"
    value = f"CAST(CASE WHEN {is_number} THEN CAST(x AS DECIMAL(24, 9)) + {before} END AS DECIMAL(25, 9))"
    has_sign = step.mode not in ("floor", "ceiling")
    size = "abs(v)" if has_sign else "v"
    if step.mode == "nearest":
        size = f"({size} + CAST({unit} / 2 AS DECIMAL(16, 9)))"
    rest = f"+ pmod(-{size}, {unit})" if step.mode in ("ceiling", "up") else f"- pmod({size}, {unit})"
    moved = f"CAST({size} {rest} AS DECIMAL(26, 9))"
    signed = f"CASE WHEN v < 0 THEN -{moved} ELSE {moved} END" if has_sign else moved
    digits = max(len(text.partition(".")[2]) for text in (step.interval, step.after))
    written = f"CAST(CAST({signed} + {after} AS DECIMAL(38, {digits})) AS STRING)"
    return bind(operand, f"transform(array({value}), v -> {written})[0]")


def _round_to_words(step: Step) -> str:
    before = "" if step.before == "0" else f"plus({step.before})."
    after = "" if step.after == "0" else f".plus({step.after})"
    return f"{before}{step.mode}({step.interval}){after}"


_INTERVAL = Legal(
    lambda value: decimal(6, 6).test(value) and value[0] != "-" and bool(value.strip("0.")),
    "a decimal above 0 of at most 6 and 6 digits",
)
RoundTo = Operator(
    "round_to",
    {"before": decimal(6, 6), "interval": _INTERVAL, "mode": one_of(ROUNDINGS), "after": decimal(6, 6)},
    scalar_numbers.round_to,
    words=_round_to_words,
    sql=_round_to_sql,
    computes=True,
)
"""A plain decimal number moved, taken to a multiple of an interval, and moved again.

Parameters
----------
before, after : str
    Plain decimals that are added before and after.
interval : str
    A plain decimal above 0.
mode : {"nearest", "floor", "ceiling", "down", "up"}
    Nearest: halves away from zero. Down is towards zero, up away from it.

Notes
-----
Numbers have up to 15 digits before their point and 9 behind it. The result has as many digits after its point as
`interval` or `after`, whichever has more.
"""


def _write_number_sql(step: Step, operand: str) -> str:
    """Use ``round`` on decimals of 38 digits, and put the parts of its text together."""
    is_number = f"x RLIKE {quote(f'^-?[0-9]{{1,18}}([.][0-9]{{1,18}})?{END}')}"
    rounded = "x" if step.most is None else f"CAST(round(CAST(x AS DECIMAL(38, 18)), {step.most}) AS STRING)"
    number = bind(operand, f"CASE WHEN {is_number} THEN {rounded} END")
    whole, rest = "split_part(n, '.', 1)", "split_part(n, '.', 2)"
    if step.group:
        gaps = quote("(?<=[0-9])(?=(?:[0-9]{3})+(?![0-9]))")
        whole = f"regexp_replace({whole}, {gaps}, {quote(step.group)})"
    if step.most is not None:
        rest = f"trim(TRAILING '0' FROM {rest})"
    if step.least:
        rest = f"transform(array({rest}), r -> rpad(r, greatest(char_length(r), {step.least}), '0'))[0]"
    behind = f"transform(array({rest}), r -> CASE WHEN r = '' THEN '' ELSE concat('{step.mark}', r) END)[0]"
    return when_empty(f"transform(array({number}), n -> concat({whole}, {behind}))[0]")


def _write_number_words(step: Step) -> str:
    most = "" if step.most is None else f", {step.most}"
    mark = "" if step.mark == "." else f", mark={step.mark!r}"
    group = "" if not step.group else f", thousands={step.group!r}"
    return f"digits({step.least}{most}{mark}{group})"


WriteNumber = Operator(
    "write_number",
    {"least": integer(0, 18), "most": or_null(integer(0, 18)), "mark": one_of(DECIMAL_MARKS), "group": one_of(GROUPS)},
    scalar_numbers.write_number,
    words=_write_number_words,
    sql=_write_number_sql,
    weight=2,
    defaults=(
        ".",
        "",
    ),
)
"""A plain decimal number (up to 18 digits on either side of its point) with so many digits after its point.

Parameters
----------
least : int
    Zeros are added up to so many digits, 0 to 18.
most : int or None
    Rounded half away from zero to so many digits, 0 to 18, and zeros at the end dropped down to `least`; None: the
    digits stay.
mark : {".", ","}
    The decimal mark.
group : str
    Stands between thousands, one of `GROUPS`; empty for none.
"""
_RATIO = "(?:([0-9]{1,6})[ -])?([0-9]{1,6}) ?/ ?([0-9]{1,6})"
_EXPONENT = "(-?)([0-9]{1,12})(?:[.]([0-9]{1,12}))?(?:[eE]([+-]?(?:0?[0-9]|1[0-2])))?"
_ZEROS = "0" * 12


def _ratio_sql(step: Step, operand: str) -> str:
    """Use integers of 64 bits."""
    pattern = quote(f"^{_RATIO}{END}")
    whole, above, below = (f"CAST(regexp_extract(x, {pattern}, {i}) AS BIGINT)" for i in (1, 2, 3))
    whole = f"CASE WHEN regexp_extract(x, {pattern}, 1) = '' THEN 0 ELSE {whole} END"
    scaled = f"(2 * ({whole} * {below} + {above}) * {10**step.digits}L + {below}) div (2 * {below})"
    value = bind(operand, f"CASE WHEN x RLIKE {pattern} THEN CASE WHEN {below} > 0 THEN {scaled} END END")
    if not step.digits:
        return f"CAST({value} AS STRING)"
    rest = f"lpad(CAST(x % {10**step.digits} AS STRING), {step.digits}, '0')"
    written = f"concat(CAST(x div {10**step.digits} AS STRING), '.', {rest})"
    return bind(value, f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM {written}))")


Ratio = Operator(
    "ratio",
    {"digits": integer(0, 6)},
    scalar_numbers.read_ratio,
    words="ratio({digits})",
    sql=_ratio_sql,
    computes=True,
)
"""The value of a fraction such as ``3/4`` or ``1 1/2`` as a plain decimal, rounded half up.

Parameters
----------
digits : int
    Most digits behind the point, 0 to 6.
"""


_DECIMAL = "([0-9]{1,9})(?:[.]([0-9]{1,9}))?"
_MOST_STEPS = 100
"""Divisions that bring any fraction of 64 bits to lowest terms."""


def _as_ratio_sql(step: Step, operand: str) -> str:
    """Use Euclid's algorithm on integers of 64 bits, in a bounded number of steps."""
    pattern = quote(f"^{_DECIMAL}{END}")
    rest = f"regexp_extract(x, {pattern}, 2)"
    above = f"CAST(concat(regexp_extract(x, {pattern}, 1), {rest}) AS BIGINT)"
    below = f"CAST(concat('1', repeat('0', char_length({rest}))) AS BIGINT)"
    parts = bind(operand, f"CASE WHEN x RLIKE {pattern} THEN array({above}, {below}) END")
    euclid = "(s, i) -> CASE WHEN s[1] = 0 THEN s ELSE array(s[1], s[0] % s[1]) END"
    divisor = f"aggregate(sequence(1, {_MOST_STEPS}), x, {euclid})[0]"
    shares = bind(parts, f"array(x[0] div {divisor}, x[1] div {divisor})")
    whole = "CAST(x[0] AS STRING)"
    return bind(shares, f"CASE WHEN x[1] = 1 THEN {whole} ELSE concat({whole}, '/', CAST(x[1] AS STRING)) END")


AsRatio = Operator("as_ratio", {}, scalar_numbers.as_ratio, words="as_ratio()", sql=_as_ratio_sql, computes=True)
"""A plain decimal, at most 9 digits on either side of its point, as a fraction in lowest terms."""


def _exponent_sql(step: Step, operand: str) -> str:
    """Move the point within the digits."""
    pattern = quote(f"^{_EXPONENT}{END}")
    sign, whole, rest, power = (f"regexp_extract(x, {pattern}, {i})" for i in (1, 2, 3, 4))
    power = f"CASE WHEN {power} = '' THEN 0 ELSE CAST({power} AS INT) END"
    point = f"(12 + char_length({whole}) + {power})"
    digits = f"concat('{_ZEROS}', {whole}, {rest}, '{_ZEROS}')"
    before = f"trim(LEADING '0' FROM substring({digits}, 1, {point}))"
    behind = f"trim(TRAILING '0' FROM substring({digits}, {point} + 1))"
    parts = bind(operand, f"CASE WHEN x RLIKE {pattern} THEN array({sign}, {before}, {behind}) END")
    shown = "CASE WHEN x[1] = '' THEN '0' ELSE x[1] END"
    signed = "CASE WHEN x[1] = '' AND x[2] = '' THEN '' ELSE x[0] END"
    point = "CASE WHEN x[2] = '' THEN '' ELSE concat('.', x[2]) END"
    return bind(parts, f"concat({signed}, {shown}, {point})")


Exponent = Operator("exponent", {}, scalar_numbers.read_exponent, words="exponent()", sql=_exponent_sql, weight=1)
"""A number such as ``1.5e-3`` as a plain decimal; its exponent is -12 to 12, and may be missing."""
TOTALS = ("count", "sum", "mean", "median", "least", "most", "range")
_LISTED = "-?[0-9]{1,9}(?:[.][0-9]{1,6})?"
_LIST = f"{_LISTED}(?:[ ,;|+]+{_LISTED}){{0,99}}"


def _total_sql(step: Step, operand: str) -> str:
    """Count in millionths, integers of 64 bits."""
    millionths = "v -> CAST(CAST(v AS DECIMAL(15, 6)) * 1000000 AS BIGINT)"
    numbers = f"array_sort(transform(regexp_extract_all(x, {quote(f'({_LISTED})')}, 1), {millionths}))"
    values = bind(operand, f"CASE WHEN x RLIKE {quote(f'^{_LIST}{END}')} THEN {numbers} END")
    if step.kind == "count":
        return bind(values, "CASE WHEN x IS NOT NULL THEN CAST(size(x) AS STRING) END")
    if step.kind == "median":
        low, high = "(size(x) - 1) div 2", "size(x) div 2"
        values = bind(values, f"slice(x, CAST({low} + 1 AS INT), CAST({high} - {low} + 1 AS INT))")
    total = "aggregate(x, 0L, (a, b) -> a + b)"
    made = {"least": "x[0]", "most": "element_at(x, -1)", "range": "element_at(x, -1) - x[0]"}.get(step.kind, total)
    if step.kind in ("mean", "median"):
        made = f"CAST(sign({total}) AS BIGINT) * ((2 * abs({total}) + size(x)) div (2 * size(x)))"
    value = bind(values, f"CASE WHEN x IS NOT NULL THEN {made} END")
    rest = "lpad(CAST(abs(x) % 1000000 AS STRING), 6, '0')"
    sign = "CASE WHEN x < 0 THEN '-' ELSE '' END"
    written = f"concat({sign}, CAST(abs(x) div 1000000 AS STRING), '.', {rest})"
    return bind(value, f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM {written}))")


Total = Operator(
    "total",
    {"kind": one_of(TOTALS)},
    scalar_numbers.total_of,
    words="{kind}()",
    sql=_total_sql,
    weight=4,
    computes=True,
)
"""A statistic of a list of 1 to 100 numbers with blanks, commas, semicolons, bars or plus signs between them.

Numbers have at most 9 digits before the point and 6 behind it. A mean, or a median, is rounded half away from zero
to six digits behind the point; results have no zeros at the end.

Parameters
----------
kind : str
    One of `TOTALS`; the range is the largest number minus the smallest.
"""
