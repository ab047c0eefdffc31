"""Operators that take a part of a text: split and select, runs of a class, substrings, several parts."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.texts import spans as kernels
from dfjoin.programs import scalar, scalar_numbers
from dfjoin.programs.characters import CLASSES, class_table, pattern_of
from dfjoin.programs.operator import (
    INDEX,
    SHORT_TEXT,
    TEXT,
    Legal,
    Operator,
    Step,
    integer,
    one_of,
    or_null,
)
from dfjoin.programs.spark_sql import END, bind, quote, when_empty
from dfjoin.programs.string_column import StringColumn, as_bytes


def position(index: int) -> str:
    """Write an index for people.

    Examples
    --------
    >>> position(0), position(-1), position(3)
    ('1', 'last', '4')
    """
    if index >= 0:
        return str(index + 1)
    return "last" if index == -1 else f"{-index} from the end"


_MAX_RUN = 100
_SHORT = 200
"""Characters of an operand up to which an expression of Spark names it several times."""


def overlaps_itself(separator: str) -> bool:
    """Tell whether two occurrences of a separator may share characters, as ``--`` in ``---``."""
    return any(separator.startswith(separator[size:]) for size in range(1, len(separator)))


def _split_sql(step: Step, operand: str) -> str:
    """Use ``split_part``, which counts from 1 and gives an empty text where there is no such part.

    The first part and the last are found by ``substring_index``, and so is the second of a short operand, in a
    third of the time. It counts occurrences that overlap, so that the separator has to be one that cannot.
    """
    separator = quote(step.separator)
    if not overlaps_itself(step.separator):
        if step.index in (0, -1):
            return when_empty(f"substring_index({operand}, {separator}, {1 if step.index == 0 else -1})")
        if step.index == 1 and len(operand) <= _SHORT:
            second = f"substring_index(substring_index({operand}, {separator}, 2), {separator}, -1)"
            return when_empty(f"nullif({second}, {operand})")  # without a separator, it is the whole text
    number = step.index + 1 if step.index >= 0 else step.index
    return when_empty(f"split_part({operand}, {separator}, {number})")


def _split_column(step: Step, strings: StringColumn) -> StringColumn:
    """Narrow the spans."""
    separator = as_bytes(step.separator)
    return strings.narrowed(kernels.split_part(strings.spans, separator, step.index))


Split = Operator(
    "split",
    {"separator": TEXT, "index": INDEX},
    scalar.split_part,
    words="split({separator!r})[{index}]",
    sql=_split_sql,
    apply=_split_column,
    weight=2,
)
"""One of the parts between occurrences of a separator of any length: Split, then SelectK.

Parameters
----------
separator : str
    At least one character; occurrences are taken from the left.
index : int
    From 0, or from the last part, -1.
"""


def _after_sql(step: Step, operand: str) -> str:
    """Use ``instr``, which is 0 where the separator does not occur."""
    found = f"instr(x, {quote(step.separator)})"
    rest = f"substring(x, {found} + {len(step.separator)})"
    return when_empty(bind(operand, f"CASE WHEN {found} > 0 THEN {rest} END"))


After = Operator(
    "after",
    {"separator": TEXT},
    scalar.text_after,
    words="after({separator!r})",
    sql=_after_sql,
    apply=lambda step, strings: strings.narrowed(kernels.text_after(strings.spans, as_bytes(step.separator))),
    weight=2,
)
"""The text behind the first occurrence of a separator, further occurrences included.

Parameters
----------
separator : str
    At least one character.
"""


def _before_sql(step: Step, operand: str) -> str:
    """Use ``substring_index``, counted from the end, to find the last occurrence."""
    tail = f"char_length(substring_index(x, {quote(step.separator)}, -1))"
    return when_empty(bind(operand, f"substring(x, 1, greatest(char_length(x) - {tail} - {len(step.separator)}, 0))"))


Before = Operator(
    "before",
    {"separator": TEXT},
    scalar.text_before,
    words="before({separator!r})",
    sql=_before_sql,
    apply=lambda step, strings: strings.narrowed(kernels.text_before(strings.spans, as_bytes(step.separator))),
    weight=2,
)
"""The text before the last occurrence of a separator, earlier occurrences included.

Parameters
----------
separator : str
    At least one character.
"""


def _run_sql(step: Step, operand: str) -> str:
    """Use ``regexp_extract_all`` and ``try_element_at``, which gives null where there is none."""
    number = step.index + 1 if step.index >= 0 else step.index
    return f"try_element_at(regexp_extract_all({operand}, {quote(pattern_of(step.kind) + '+')}, 0), {number})"


def _run_arguments(step: Step) -> tuple[Any, ...]:
    return pattern_of(step.kind), step.index


def _runs(step: Step, strings: StringColumn) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the starts and ends of the runs, -1 where there is none."""
    return kernels.nth_run(strings.spans, class_table(), CLASSES[step.kind], step.index)


CharacterRun = Operator(
    "run",
    {"kind": one_of(CLASSES), "index": INDEX},
    scalar.nth_run,
    words="{kind}[{index}]",
    arguments=_run_arguments,
    sql=_run_sql,
    apply=lambda step, strings: strings.narrowed(_runs(step, strings)),
    weight=2,
)
"""One of the maximal runs of characters of a class."""


def _slice_sql(step: Step, operand: str) -> str:
    """Use ``substring``, with positions from the end worked out from the length."""
    if step.start >= 0 and (step.stop is None or step.stop >= 0):
        length = "" if step.stop is None else f", {max(0, step.stop - step.start)}"
        return when_empty(f"substring({operand}, {step.start + 1}{length})")
    first = str(step.start) if step.start >= 0 else f"greatest(char_length(x) - {-step.start}, 0)"
    if step.stop is None:
        return when_empty(bind(operand, f"substring(x, {first} + 1)"))
    last = str(step.stop) if step.stop >= 0 else f"char_length(x) - {-step.stop}"
    return when_empty(bind(operand, f"substring(x, {first} + 1, greatest({last} - {first}, 0))"))


def _slice_column(step: Step, strings: StringColumn) -> StringColumn:
    """Narrow the spans."""
    stop = kernels.TO_THE_END if step.stop is None else step.stop
    return strings.narrowed(kernels.slice_characters(strings.spans, step.start, stop))


Slice = Operator(
    "slice",
    {"start": INDEX, "stop": or_null(INDEX)},
    scalar.slice_text,
    words=lambda step: f"[{step.start or ''}:{'' if step.stop is None else step.stop}]",
    sql=_slice_sql,
    apply=_slice_column,
)
"""The characters from one position to before another: Substring, from either end.

Parameters
----------
start : int
    From 0, or from the end, as in Python.
stop : int or None
    None: to the end.
"""


def _parts_sql(step: Step, operand: str) -> str:
    """Use ``split`` with the separator as a pattern, and ``slice``."""
    pattern = "".join(c if c.isalnum() or not c.isascii() else f"\\x{ord(c):02X}" for c in step.separator)
    low, high = (str(i) if i >= 0 else f"(size(p) - {-i})" for i in (step.first, step.last))
    ends = " AND ".join(f"try_element_at(p, {i} + 1) != ''" for i in (low, high))
    kept = f"array_join(slice(p, {low} + 1, {high} - {low} + 1), {quote(step.separator)})"
    case = f"CASE WHEN {low} >= 0 AND {low} <= {high} AND {high} < size(p) THEN CASE WHEN {ends} THEN {kept} END END"
    return f"transform(array(split({operand}, {quote(pattern)}, -1)), p -> {case})[0]"


def _parts_words(step: Step) -> str:
    stop = "" if step.last == -1 else step.last + 1
    return f"split({step.separator!r})[{step.first or ''}:{stop}]"


def _parts_column(step: Step, strings: StringColumn) -> StringColumn:
    """Narrow the spans to what lies between the ends of two parts."""
    separator = as_bytes(step.separator)
    starts, low_ends = kernels.split_part(strings.spans, separator, step.first)
    high_starts, ends = kernels.split_part(strings.spans, separator, step.last)
    is_range = (starts >= 0) & (high_starts >= starts) & (ends >= low_ends)
    return strings.narrowed((np.where(is_range, starts, -1), ends))


Parts = Operator(
    "parts",
    {"separator": TEXT, "first": INDEX, "last": INDEX},
    scalar.part_range,
    words=_parts_words,
    sql=_parts_sql,
    apply=_parts_column,
)
"""Neighbouring parts between occurrences of a separator, with the separators between them.

All but the last part is ``Parts(separator, 0, -2)``.

Parameters
----------
separator : str
    At least one character; occurrences are taken from the left.
first, last : int
    Numbers of the first and the last part that are kept, from 0, or from the last part, -1. Neither may be empty.
"""


def _from_run_sql(step: Step, operand: str) -> str:
    """Use ``regexp_extract`` with the runs before, or behind, counted in the pattern."""
    inside, outside = pattern_of(step.kind), pattern_of(step.kind, negated=True)
    if step.index >= 0:
        pattern = f"^(?:{outside}*+{inside}++){{{step.index}}}{outside}*+({inside}(?s:.)*)"
    else:
        pattern = f"(?<!{inside})({inside}++(?:{outside}++{inside}++){{{-step.index - 1}}}{outside}*+){END}"
    return when_empty(f"regexp_extract({operand}, {quote(pattern)}, 1)")


def _from_run_column(step: Step, strings: StringColumn) -> StringColumn:
    """Keep the ends of the spans."""
    starts, _ = _runs(step, strings)
    return strings.narrowed((starts, strings.spans.ends.copy()))


FromRun = Operator(
    "from_run",
    {"kind": one_of(CLASSES), "index": integer(-_MAX_RUN, _MAX_RUN)},
    scalar.text_from_run,
    words="from({kind}[{index}])",
    arguments=_run_arguments,
    sql=_from_run_sql,
    apply=_from_run_column,
)
"""The text from the beginning of one of the maximal runs of characters of a class."""


def _upto_run_sql(step: Step, operand: str) -> str:
    """Use ``regexp_extract`` with the runs before, or behind, counted in the pattern."""
    inside, outside = pattern_of(step.kind), pattern_of(step.kind, negated=True)
    if step.index >= 0:
        pattern = f"^((?:{outside}*+{inside}++){{{step.index + 1}}})"
    else:
        behind = f"(?:{outside}++{inside}++){{{-step.index - 1}}}{outside}*+"
        pattern = f"^((?s:.)*{inside})(?!{inside}){behind}{END}"
    return when_empty(f"regexp_extract({operand}, {quote(pattern)}, 1)")


def _upto_run_column(step: Step, strings: StringColumn) -> StringColumn:
    """Keep the starts of the spans."""
    starts, ends = _runs(step, strings)
    return strings.narrowed((np.where(starts >= 0, strings.spans.starts, -1), ends))


UptoRun = Operator(
    "upto_run",
    {"kind": one_of(CLASSES), "index": integer(-_MAX_RUN, _MAX_RUN)},
    scalar.text_upto_run,
    words="upto({kind}[{index}])",
    arguments=_run_arguments,
    sql=_upto_run_sql,
    apply=_upto_run_column,
)
"""The text up to the end of one of the maximal runs of characters of a class."""
TOTALS = ("count", "sum", "mean", "median", "least", "most", "range")
_LISTED = "-?[0-9]{1,9}(?:[.][0-9]{1,6})?"
_LIST = f"{_LISTED}(?:[ ,;|+]+{_LISTED}){{0,99}}"


def run_pattern(kind: str) -> str:
    """Return a class of characters, or one printable character of ASCII, as a regular expression.

    Examples
    --------
    >>> run_pattern("digits"), run_pattern("!"), run_pattern("^")
    ('[0-9]', '[!]', '[\\\\^]')
    """
    if kind in CLASSES:
        return pattern_of(kind)
    return f"[\\{kind}]" if kind in "^[]\\&-" else f"[{kind}]"


def _all_runs_sql(step: Step, operand: str) -> str:
    """Use ``regexp_extract_all``."""
    pattern = quote(f"({run_pattern(step.kind)}{{{step.least},}})")
    return when_empty(f"array_join(regexp_extract_all({operand}, {pattern}, 1), {quote(step.mark)})")


_RUN_KIND = Legal(
    lambda value: isinstance(value, str) and (value in CLASSES or re.fullmatch("[!-/:-@[-`{-~ ]", value) is not None),
    f"{one_of(CLASSES).words}, or one printable ASCII character, no letter and no digit",
)
AllRuns = Operator(
    "all_runs",
    {"kind": _RUN_KIND, "least": integer(1, 9), "mark": SHORT_TEXT},
    scalar_numbers.all_runs,
    words="all_runs({kind!r}, {least}, {mark!r})",
    arguments=lambda step: (run_pattern(step.kind), step.least, step.mark),
    sql=_all_runs_sql,
    weight=4,
    growth=lambda step: (1 + len(step.mark.encode())) / 2,
)
"""All maximal runs of characters of a class that are long enough, joined by a mark.

Parameters
----------
kind : str
    A name of `dfjoin.programs.characters.CLASSES`, or one printable ASCII character that is no letter and no digit.
least : int
    Fewest characters of a run, 1 to 9.
mark : str
    Stands between the runs; may be empty.
"""
