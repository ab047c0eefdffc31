"""Conditions of a program: it gives results only for rows whose texts meet them all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.programs import scalar
from dfjoin.programs.characters import CLASSES, pattern_of
from dfjoin.programs.operator import MAX_TEXT, decimal, is_text
from dfjoin.programs.spark_sql import END, quote

CONDITIONS = ("contains", "starts", "ends", "has", "shape", "longer", "at least", "divisible")
MAX_CONDITIONS = 4
"""Most conditions of a program."""
MAX_SHAPE = 40
"""Characters of a shape at most: each takes a part of a regular expression, which is compiled."""
_WHOLE = "[0-9]{1,15}"
_NUMBER = "-?[0-9]{1,12}([.][0-9]{1,6})?"
"""Numbers that are compared."""
_RUNS = re.compile(f"({pattern_of('letters')}+)|([0-9]+)")


def shape_of(text: str) -> str:
    """Write each run of letters as ``A`` and each run of digits as ``9``; other characters stay.

    Examples
    --------
    >>> shape_of("596-501 x0339"), shape_of("")
    ('9-9 A9', '')
    """
    return _RUNS.sub(lambda run: "A" if run[1] else "9", text)


def is_shape(text: str) -> bool:
    """Tell whether a text is one that `shape_of` writes, and not too long.

    Then its pattern is matched in linear time by every engine, also by those that go back: what follows a run is no
    character of that run. The pattern of ``AAAAAAAAAA``, ten runs of letters side by side, takes years.

    Examples
    --------
    >>> is_shape("A-9"), is_shape("AA"), is_shape("Ab9")
    (True, False, False)
    """
    return len(text) <= MAX_SHAPE and shape_of(text) == text


@lru_cache(maxsize=1024)
def shape_pattern(shape: str) -> str:
    """Return the regular expression of the texts of a shape (`is_shape`), the same for Python and Java."""
    runs = {"A": pattern_of("letters") + "+", "9": "[0-9]+"}
    return "".join(
        runs.get(c, c if c.isalnum() or c == " " else f"[{c}]" if c not in "^[]\\&" else f"\\{c}") for c in shape
    )


@dataclass(frozen=True, slots=True)
class Condition:
    """What the text of an input column must be like; a missing or empty text meets only the empty shape.

    Parameters
    ----------
    column : int
        Number of the input column.
    kind : {"contains", "starts", "ends", "has", "shape", "longer", "at least", "divisible"}
        Has: some character of a class; shape: as `shape_of` writes it; longer: of more characters than that; at least:
        a plain decimal as large as that; divisible: a whole number that is a multiple of that.
    text : str
        What the text contains, starts or ends with; the name of a class; its shape; a number.
    is_negated : bool
        Whether the condition must not hold.
    """

    column: int
    kind: str
    text: str
    is_negated: bool = False

    @property
    def _value(self) -> str:
        if self.kind == "has":
            return pattern_of(self.text)
        return shape_pattern(self.text) if self.kind == "shape" else self.text

    @property
    def description_bits(self) -> float:
        """The bits that single the condition out among all that some texts suggest: 4, and 1 for each character."""
        return 4.0 + len(self.text)

    def __call__(self, text: str | None) -> bool:
        """Tell whether one text meets the condition."""
        return scalar.condition_holds(text, self.kind, self._value, self.is_negated)

    def mask(self, array: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
        """Tell which strings of a column meet the condition."""
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        is_given = pc.fill_null(pc.greater(pc.binary_length(array), 0), False).to_numpy(zero_copy_only=False)
        if self.kind == "shape" and not self.text:
            return is_given if self.is_negated else ~is_given
        held = pc.fill_null(self._held(array), False).to_numpy(zero_copy_only=False)
        return is_given & (held != self.is_negated)

    def _held(self, array: pa.Array) -> pa.Array:
        """Tell which strings hold the condition as it is, not negated."""
        if self.kind in ("at least", "divisible"):
            is_number = pc.match_substring_regex(array, rf"\A{_NUMBER if self.kind == 'at least' else _WHOLE}\z")
            texts = pc.if_else(is_number, array, "0")
            if self.kind == "at least":
                return pc.and_(is_number, pc.greater_equal(texts.cast(pa.decimal128(18, 6)), Decimal(self.text)))
            numbers = texts.cast(pa.int64())
            multiples = pc.multiply(pc.divide(numbers, int(self.text)), int(self.text))
            return pc.and_(is_number, pc.equal(multiples, numbers))
        if self.kind == "longer":
            return pc.greater(pc.utf8_length(array), int(self.text))
        if self.kind in ("has", "shape"):
            return pc.match_substring_regex(array, rf"\A(?:{self._value})\z" if self.kind == "shape" else self._value)
        find = {"contains": pc.match_substring, "starts": pc.starts_with, "ends": pc.ends_with}[self.kind]
        return find(array, self.text)

    def python(self, argument: str) -> str:
        """Write the condition as Python."""
        return f"condition_holds({argument}, {self.kind!r}, {self._value!a}, {self.is_negated})"

    def sql(self, operand: str) -> str:
        """Write the condition as Spark SQL."""
        text = f"coalesce({operand}, '')"
        if self.kind == "at least":
            number, least = (f"CAST({value} AS DECIMAL(18, 6))" for value in (text, f"'{self.text}'"))
            held = f"CASE WHEN {text} RLIKE {quote(f'^{_NUMBER}{END}')} THEN {number} >= {least} ELSE false END"
        elif self.kind == "divisible":
            rest = f"CAST({text} AS BIGINT) % {int(self.text)}"
            held = f"CASE WHEN {text} RLIKE {quote(f'^{_WHOLE}{END}')} THEN {rest} = 0 ELSE false END"
        elif self.kind == "longer":
            held = f"char_length({text}) > {int(self.text)}"
        elif self.kind == "has":
            held = f"{text} RLIKE {quote(self._value)}"
        elif self.kind == "shape":
            held = f"{text} RLIKE {quote(f'^{self._value}{END}')}"
        else:
            name = {"contains": "contains", "starts": "startswith", "ends": "endswith"}[self.kind]
            held = f"{name}({text}, {quote(self.text)})"
        if self.kind == "shape" and not self.text and not self.is_negated:
            return f"{text} = ''"
        return f"({text} != '' AND {'NOT ' * self.is_negated}{held})"

    def describe(self, name: str) -> str:
        """Write the condition for people."""
        if self.kind == "shape" and not self.text:
            return f"{name} is {'not ' if self.is_negated else ''}empty"
        verbs = {
            "contains": "contains",
            "has": "has",
            "starts": "starts with",
            "ends": "ends with",
            "shape": "is like",
            "longer": ">",
            "at least": ">=",
            "divisible": "is divisible by",
        }
        shown = (
            self.text
            if self.kind in ("has", "at least", "divisible")
            else f"{self.text} characters"
            if self.kind == "longer"
            else repr(self.text)
        )
        return f"{'not ' if self.is_negated else ''}{name} {verbs[self.kind]} {shown}"

    def to_dict(self) -> dict[str, Any]:
        """Return the condition as plain JSON values."""
        return {"column": self.column, "condition": self.kind, "text": self.text, "negated": self.is_negated}


def check_condition(kind: Any, text: Any, is_negated: Any) -> None:
    """Raise unless kind, text and negation of a condition are legal ones.

    Raises
    ------
    InvalidParameterError
    """
    if not isinstance(kind, str) or kind not in CONDITIONS:
        raise InvalidParameterError(
            f"`condition` of a program must be one of {', '.join(map(repr, CONDITIONS))}, got {kind!r:.80}"
        )
    if kind == "has":
        is_legal, legal = isinstance(text, str) and text in CLASSES, f"one of {', '.join(map(repr, CLASSES))}"
    elif kind == "longer":
        is_legal, legal = isinstance(text, str) and re.fullmatch("[0-9]{1,4}", text) is not None, "1 to 4 digits"
    elif kind == "at least":
        test, legal = decimal(12, 6)
        is_legal = test(text)
    elif kind == "divisible":
        is_legal = isinstance(text, str) and re.fullmatch("[1-9][0-9]{0,5}", text) is not None
        legal = "a whole number of 1 to 6 digits above 0"
    elif kind == "shape":
        is_legal = is_text(text, 0) and is_shape(text)
        legal = (
            f"a shape of at most {MAX_SHAPE} characters: 'A' for each run of letters, '9' for each run of digits, "
            "other characters as they are"
        )
    else:
        is_legal, legal = is_text(text), f"a text of 1 to {MAX_TEXT} characters"
    if not is_legal:
        raise InvalidParameterError(f"`text` of condition {kind!r} must be {legal}, got {text!r:.80}")
    if not isinstance(is_negated, bool):
        raise InvalidParameterError(f"`negated` of condition {kind!r} must be true or false, got {is_negated!r:.80}")
