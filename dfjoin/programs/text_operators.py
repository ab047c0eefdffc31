"""Operators that rewrite a text: casing, accents, replacement, padding; parts and characters one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dfjoin.kernels.texts import rewriting
from dfjoin.programs import scalar, scalar_texts
from dfjoin.programs.characters import CLASSES, LOWER, PLAIN, UPPER, character_table, class_table, pattern_of
from dfjoin.programs.operator import (
    OPTIONAL_TEXT,
    SHORT_TEXT,
    TEXT,
    Legal,
    Operator,
    Step,
    integer,
    is_text,
    one_of,
)
from dfjoin.programs.spark_sql import bind, quote, when_empty
from dfjoin.programs.string_column import StringColumn

CASES = ("lower", "upper", "title", "sentence")
_TO = {"lower": LOWER, "upper": UPPER}
_CASE_FUNCTIONS: dict[str, Callable[..., str]] = {
    "lower": scalar.lower_case,
    "upper": scalar.upper_case,
    "title": scalar.title_case,
    "sentence": scalar.sentence_case,
}
_CASE_ARGUMENTS = {**_TO, "title": (*UPPER, pattern_of("letters")), "sentence": UPPER}
_FIRST = {"lower": LOWER, "upper": UPPER, "sentence": UPPER, "title": UPPER}
_REST = {"lower": LOWER, "upper": UPPER, "sentence": LOWER, "title": LOWER}


def rewritten(strings: StringColumn, n_bytes: int, kernel: Callable[..., Any], *arguments: Any) -> StringColumn:
    """Run a kernel that writes into a new buffer of so many bytes."""
    out = np.empty(n_bytes + 8, np.uint8)
    starts, ends = kernel(strings.spans, *arguments, out)
    out.flags.writeable = False
    return StringColumn.view(out, starts, ends)


def translate(operand: str, tables: tuple[str, str]) -> str:
    """Write casing as SQL."""
    return f"translate({operand}, {quote(tables[0])}, {quote(tables[1])})"


def _case_sql(step: Step, operand: str) -> str:
    """Use ``translate``: Spark's own casing follows the tables of its Java."""
    if step.style in _TO:
        return translate(operand, _TO[step.style])
    name = "w" if step.style == "title" else "x"
    head, tail = translate(f"substring({name}, 1, 1)", UPPER), translate(f"substring({name}, 2)", LOWER)
    if step.style == "sentence":
        return bind(operand, f"concat({head}, {tail})")
    words = quote(f"{pattern_of('letters')}+|{pattern_of('letters', negated=True)}+")
    return f"array_join(transform(regexp_extract_all({operand}, {words}, 0), w -> concat({head}, {tail})), '')"


def _case_column(step: Step, strings: StringColumn) -> StringColumn:
    """Replace the letters."""
    first, rest = character_table(_FIRST[step.style]), character_table(_REST[step.style])
    runs = CLASSES["letters"] if step.style == "title" else -1
    return rewritten(strings, strings.n_bytes, rewriting.map_runs, class_table(), runs, first, rest)


Case = Operator(
    "case",
    {"style": one_of(CASES)},
    _CASE_FUNCTIONS,
    words="{style}()",
    arguments=lambda step: _CASE_ARGUMENTS[step.style],
    sql=_case_sql,
    apply=_case_column,
    weight=1,
)
"""Casing by the fixed tables of `dfjoin.programs.characters`.

Parameters
----------
style : {"lower", "upper", "title", "sentence"}
    Title: the first letter of each run of letters is large; sentence: the first character.
"""


def _plain_column(step: Step, strings: StringColumn) -> StringColumn:
    """Replace the letters."""
    table = character_table(PLAIN)
    return rewritten(strings, strings.n_bytes, rewriting.map_runs, class_table(), -1, table, table)


Plain = Operator(
    "plain",
    {},
    scalar.map_characters,
    words="without_accents()",
    arguments=lambda step: PLAIN,
    sql=lambda step, operand: translate(operand, PLAIN),
    apply=_plain_column,
    weight=2,
)
"""Accented Latin letters up to U+017F as the plain letters under their accents."""


Keep = Operator(
    "keep",
    {"kind": one_of(CLASSES)},
    scalar.keep_characters,
    words="keep({kind})",
    arguments=lambda step: (pattern_of(step.kind),),
    sql=lambda step, operand: when_empty(
        f"regexp_replace({operand}, {quote(pattern_of(step.kind, negated=True))}, '')"
    ),
    apply=lambda step, strings: strings.through(
        lambda texts: pc.replace_substring_regex(texts, f"{pattern_of(step.kind, negated=True)}+", "")
    ),
    weight=2,
)
"""Only the characters of a class.

Parameters
----------
kind : str
    A name of `dfjoin.programs.characters.CLASSES`.
"""


Replace = Operator(
    "replace",
    {"old": TEXT, "new": OPTIONAL_TEXT},
    scalar.replace_all,
    words="replace({old!r}, {new!r})",
    sql=lambda step, operand: when_empty(f"replace({operand}, {quote(step.old)}, {quote(step.new)})"),
    apply=lambda step, strings: strings.through(lambda texts: pc.replace_substring(texts, step.old, step.new)),
    growth=lambda step: len(step.new.encode()) / len(step.old.encode()),
    weight=2,
)
"""Each occurrence of a text replaced by another.

Parameters
----------
old : str
    At least one character.
new : str
    May be empty.
"""


Squeeze = Operator(
    "squeeze",
    {},
    scalar.squeeze_spaces,
    words="squeeze_spaces()",
    sql=lambda step, operand: when_empty(f"trim(regexp_replace({operand}, ' +', ' '))"),
    apply=lambda step, strings: strings.through(
        lambda texts: pc.utf8_trim(pc.replace_substring_regex(texts, " +", " "), " ")
    ),
    weight=2,
)
"""Runs of spaces (U+0020) as one, none at the ends."""


def _pad_sql(step: Step, operand: str) -> str:
    """Use ``lpad``, which alone would cut longer texts."""
    padded = f"lpad(x, {step.width}, {quote(step.fill)})"
    return bind(operand, f"CASE WHEN char_length(x) < {step.width} THEN {padded} ELSE x END")


_FILL = Legal(lambda value: is_text(value, 1, 1) and " " <= value <= "~", "one printable ASCII character")
Pad = Operator(
    "pad",
    {"width": integer(1, 64), "fill": _FILL},
    scalar.pad_left,
    words="pad({width}, {fill!r})",
    sql=_pad_sql,
    apply=lambda step, strings: strings.through(lambda texts: pc.utf8_lpad(texts, step.width, step.fill)),
    weight=2,
    defaults=("0",),
)
"""A character put in front until there are so many.

Parameters
----------
width : int
    In characters, 1 to 64.
fill : str
    One printable ASCII character.
"""
PART_ORDERS = ("kept", "reversed", "sorted", "distinct")
MAX_ELEMENT_STEPS = 3
"""Most steps that each part is taken through."""
ELEMENT_STEPS = ("base", "case", "keep", "pad", "plain", "slice", "strip_zeros")
"""Names of the steps that parts may be taken through."""
COUNTED = ("characters", "words", "letters", "digits", "capitals")
_SMALL_WORDS = "a,an,and,as,at,but,by,de,for,from,in,la,nor,of,on,or,the,to,und,van,via,von,with"


class _Functions(tuple[Step, ...]):
    """Steps that are written as a tuple of Python functions."""

    def __repr__(self) -> str:
        calls = []
        for step in self:
            function, values = step.python()
            calls.append(f"lambda part: {function.__name__}({', '.join(['part', *map(ascii, values)])}), ")
        return f"({''.join(calls)})"


def _each_part_sql(step: Step, operand: str) -> str:
    """Use ``split`` or ``regexp_extract_all``, ``transform`` and ``array_join``."""
    pattern = "".join(c if c.isalnum() or not c.isascii() else f"\\x{ord(c):02X}" for c in step.separator)
    parts = f"split({operand}, {quote(pattern)}, -1)"
    if not step.separator:
        parts = f"regexp_extract_all({operand}, {quote(f'((?s:.){{1,{step.width}}})')}, 1)"
    made = "part"
    for inner in step.steps:
        made = when_empty(inner.sql(made))
    each = f"transform({parts}, part -> CASE WHEN part = '' THEN '' ELSE {made} END)"
    ordered = {"kept": "x", "reversed": "reverse(x)", "sorted": "array_sort(x)", "distinct": "array_distinct(x)"}
    joined = f"array_join({ordered[step.order]}, {quote(step.joiner)})"
    return when_empty(bind(each, f"CASE WHEN NOT exists(x, part -> part IS NULL) THEN {joined} END"))


def _each_part_words(step: Step) -> str:
    shown = [f"split({step.separator!r})" if step.separator else f"groups_of({step.width})"]
    shown += [f"each({'.'.join(step.describe() for step in step.steps)})"] if step.steps else []
    shown += [] if step.order == "kept" else [f"{step.order}()"]
    return ".".join([*shown, f"join({step.joiner!r})"])


_INNER = Legal(
    lambda value: (
        isinstance(value, tuple)
        and len(value) <= MAX_ELEMENT_STEPS
        and all(step.name in ELEMENT_STEPS for step in value)
    ),
    f"at most {MAX_ELEMENT_STEPS} steps of {', '.join(ELEMENT_STEPS)}",
)


def _each_part_growth(step: Step) -> float:
    longest = [inner.width if inner.name == "pad" else 4 for inner in step.steps]  # a part may be one character
    return max(1, *longest, 1) * (4 if len(longest) > 1 else 1) + len(step.joiner.encode())


def _each_part_fault(step: Step) -> str:
    if bool(step.separator) != bool(step.width):
        return ""
    return (
        "`separator` and `width` of step 'each_part': one must be empty or 0, "
        f"got {step.separator!r:.80} and {step.width}"
    )


EachPart = Operator(
    "each_part",
    {
        "separator": OPTIONAL_TEXT,
        "width": integer(0, 64),
        "order": one_of(PART_ORDERS),
        "joiner": SHORT_TEXT,
        "steps": _INNER,
    },
    scalar_texts.map_parts,
    words=_each_part_words,
    arguments=lambda step: (step.separator, step.width, step.order, step.joiner, _Functions(step.steps)),
    sql=_each_part_sql,
    weight=5,
    growth=_each_part_growth,
    fault=_each_part_fault,
)
"""Each part of a text taken through steps, the parts put in an order and joined again.

A part that is empty stays so; the result is null if a step does not apply to another one.

Parameters
----------
separator : str
    Stands between the parts; empty: they are runs of `width` characters from the left, the last one may be shorter.
width : int
    1 to 64 without a separator, else 0.
order : {"kept", "reversed", "sorted", "distinct"}
    Sorted by code points; distinct: each part once, where it came first.
joiner : str
    At most 9 characters.
steps : tuple of Step
    At most 3, of `ELEMENT_STEPS`.
"""


Reverse = Operator(
    "reverse", {}, scalar_texts.reverse_text, words="reverse()", sql=lambda step, operand: f"reverse({operand})"
)
"""The characters in reverse order."""


_DISTINCT = Legal(lambda value: is_text(value, 1, 64) and len(set(value)) == len(value), "1 to 64 different characters")
_AT_MOST_64 = Legal(lambda value: is_text(value, 0, 64), "a text of at most 64 characters")
Translate = Operator(
    "translate",
    {"old": _DISTINCT, "new": _AT_MOST_64},
    scalar_texts.translate_characters,
    words="translate({old!r}, {new!r})",
    sql=lambda step, operand: when_empty(f"translate({operand}, {quote(step.old)}, {quote(step.new)})"),
    weight=8,
    growth=lambda step: max(len(c.encode()) for c in step.new or " "),
)
"""Some characters replaced by others, or dropped.

Parameters
----------
old : str
    1 to 64 different characters.
new : str
    The character for each of them; those of `old` behind its end are dropped.
"""


def _gaps_sql(step: Step, operand: str) -> str:
    """Use ``regexp_replace`` at borders between characters, with a mark that is no pattern."""
    borders = quote("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
    mark = "".join(f"\\{c}" if c in "\\$" else c for c in step.mark)
    return f"regexp_replace({operand}, {borders}, {quote(mark)})"


_MARK_TEXT = Legal(lambda value: is_text(value, 1, 9), "a text of 1 to 9 characters")
Gaps = Operator(
    "gaps",
    {"mark": _MARK_TEXT},
    scalar_texts.insert_gaps,
    words="gaps({mark!r})",
    sql=_gaps_sql,
    growth=lambda step: (2 + len(step.mark.encode())) / 2,
)
"""A mark before each capital letter of ASCII that begins a word: ``camelCase`` as ``camel Case``.

Parameters
----------
mark : str
    1 to 9 characters.
"""


def _headline_sql(step: Step, operand: str) -> str:
    """Use ``translate`` on each word."""
    small, large = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    words = f"transform(split({operand}, ' ', -1), w -> translate(w, '{large}', '{small}'))"
    listed = ", ".join(f"'{word}'" for word in _SMALL_WORDS.split(","))
    first = f"concat(translate(substring(w, 1, 1), '{small}', '{large}'), substring(w, 2))"
    written = f"CASE WHEN i > 0 AND w IN ({listed}) THEN w ELSE {first} END"
    return f"array_join(transform({words}, (w, i) -> {written}), ' ')"


Headline = Operator(
    "headline",
    {},
    scalar_texts.headline_case,
    words="headline()",
    arguments=lambda step: (_SMALL_WORDS,),
    sql=_headline_sql,
)
"""Words as in the title of a book: articles, conjunctions and prepositions are small, but for the first word.

Words have spaces between; letters other than those of ASCII stay as they are.
"""


def _count_sql(step: Step, operand: str) -> str:
    """Use ``regexp_extract_all``."""
    found = f"regexp_extract_all(x, {quote(f'((?s:{_counted(step.kind)}))')}, 1)"
    return bind(operand, f"CASE WHEN x IS NOT NULL THEN CAST(size({found}) AS STRING) END")


Count = Operator(
    "count",
    {"kind": one_of(COUNTED)},
    scalar_texts.count_parts,
    words="count({kind})",
    arguments=lambda step: (_counted(step.kind),),
    sql=_count_sql,
    weight=4,
    computes=True,
)
"""How many characters, words or runs of letters or digits a text has.

Parameters
----------
kind : str
    One of `COUNTED`: characters one by one, all others as runs (words between white space of ASCII), capitals
    one by one.
"""


def _counted(kind: str) -> str:
    """Return the pattern of one thing that is counted."""
    known = {"characters": ".", "words": "[^ \\t\\n\\r]+", "capitals": pattern_of("capitals")}
    return known.get(kind) or pattern_of(kind) + "+"
