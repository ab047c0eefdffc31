"""How sure a program is of each result: do other programs of its examples agree, and are rows like it known."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.programs.conditions import Condition
from dfjoin.programs.operator import is_text
from dfjoin.programs.program_pieces import InputColumns, Piece, make_column, make_text, pieces_sql, read_pieces
from dfjoin.programs.spark_sql import quote
from dfjoin.programs.step_table import read_condition

MAX_ALTERNATIVES = 12
"""Most alternatives of a program."""
MAX_FORMS = 12
"""Most forms of rows that a program knows."""
_MADE = "dfjoin_made_"
"""Variable of the SQL for the result: it would hide a column of its name."""
_MOST = 100.0
"""Largest weight, either sign."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another program that makes the results of the examples, over the columns of the program.

    Parameters
    ----------
    pieces : tuple of Piece
        At least one reads a column.
    weight : float
        Added to the log-odds of a result where this program is the first one that gives another.
    """

    pieces: tuple[Piece, ...]
    weight: float


@dataclass(frozen=True, slots=True)
class Confidence:
    """The probability that a result of a program is right, and the level below which it is null.

    The log-odds of a result are a sum: `base`, the weight of the first of the alternatives that gives another result
    for the row, and `form_weight` if the row has a form that an example has. The result of a row of `known` is certain.

    Parameters
    ----------
    base : float
    alternatives : tuple of Alternative
        At most 12, the likeliest first.
    forms : tuple of tuple of Condition
        Forms of the rows of the examples, at most 12: a row has one if it meets all of its conditions.
    form_weight : float
    level : float
        Probability, 0 to 1. A result below it is null in all forms of the program.
    known : tuple of tuple of str
        Rows whose results were taught, an empty text where a value is missing.
    """

    base: float
    alternatives: tuple[Alternative, ...]
    forms: tuple[tuple[Condition, ...], ...]
    form_weight: float
    level: float
    known: tuple[tuple[str, ...], ...] = ()

    @property
    def _least(self) -> float:
        """The log-odds of the level."""
        share = min(max(self.level, 1e-9), 1 - 1e-9)
        return math.log(share / (1 - share))

    def keeps(self, made: str, row: Sequence[str | None]) -> bool:
        """Tell whether the result of one row reaches the level."""
        return self._log_odds(made, row) >= self._least

    def probability(self, made: str, row: Sequence[str | None]) -> float:
        """Return the probability that the result of one row is right."""
        return 1 / (1 + math.exp(-self._log_odds(made, row)))

    def _log_odds(self, made: str, row: Sequence[str | None]) -> float:
        if tuple(text or "" for text in row) in self.known:
            return math.inf
        total = self.base
        if any(all(one(row[one.column]) for one in form) for form in self.forms):
            total += self.form_weight
        others = (other.weight for other in self.alternatives if make_text(other.pieces, row) != made)
        return total + next(others, 0.0)

    def of_column(
        self, made: pa.Array, arrays: Sequence[pa.Array], inputs: InputColumns
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Tell which results of whole columns reach the level, and the probability of each, 0 without a result."""
        is_known = np.zeros(len(made), np.bool_)
        for form in self.forms:
            is_known |= np.logical_and.reduce([one.mask(arrays[one.column]) for one in form])
        total = self.base + np.where(is_known, self.form_weight, 0.0)
        is_open = np.ones(len(made), np.bool_)
        for other in self.alternatives:
            results = make_column(other.pieces, inputs).cast(made.type)
            is_other = is_open & ~pc.equal(results, made).fill_null(False).to_numpy(zero_copy_only=False)
            total[is_other] += other.weight
            is_open &= ~is_other
        texts = [array.fill_null("") for array in arrays]
        for row in self.known:
            equal = [pc.equal(column, text) for column, text in zip(texts, row, strict=True)]
            total[np.logical_and.reduce([held.to_numpy(zero_copy_only=False) for held in equal])] = np.inf
        probability = 1 / (1 + np.exp(-total))
        probability[pc.is_null(made).to_numpy(zero_copy_only=False)] = 0.0
        return total >= self._least, probability

    def python(self, name: str, arguments: Sequence[str]) -> list[str]:
        """Write the body of a function that calls the program, ``name_0``, and the alternatives, ``name_1`` and on."""
        call = ", ".join(arguments)
        lines = [f"    made = {name}_0({call})"]
        if self.known:
            row = "".join(f"{argument} or '', " for argument in arguments)
            lines += [f"    if ({row.strip()}) in {self.known!a}:", "        return made"]
        lines.append(f"    sure = {self.base!r}")
        if self.forms:
            forms = [" and ".join(one.python(arguments[one.column]) for one in form) for form in self.forms]
            lines.append(f"    sure += {self.form_weight!r} if {' or '.join(forms)} else 0.0")
        for number, other in enumerate(self.alternatives, 1):
            lines += [
                f"    {'el' * (number > 1)}if {name}_{number}({call}) != made:",
                f"        sure += {other.weight!r}",
            ]
        return [*lines, f"    return made if sure >= {self._least!r} else None"]

    def sql(self, made: str, operands: Sequence[str]) -> str:
        """Write the program's result, given as Spark SQL, as null where its confidence is below the level."""
        sums = [_double(self.base)]
        if self.forms:
            forms = [" AND ".join(one.sql(operands[one.column]) for one in form) for form in self.forms]
            sums.append(f"CASE WHEN ({') OR ('.join(forms)}) THEN {_double(self.form_weight)} ELSE 0.0D END")
        if self.alternatives:
            others = (
                f"WHEN NOT ({pieces_sql(other.pieces, operands)} <=> {_MADE}) THEN {_double(other.weight)}"
                for other in self.alternatives
            )
            sums.append(f"CASE {' '.join(others)} ELSE 0.0D END")
        rows = (
            " AND ".join(
                f"coalesce({operand}, '') = {quote(text)}" for operand, text in zip(operands, row, strict=True)
            )
            for row in self.known
        )
        held = " OR ".join([*(f"({row})" for row in rows), f"{' + '.join(sums)} >= {_double(self._least)}"])
        return f"transform(array({made}), {_MADE} -> CASE WHEN {held} THEN {_MADE} END)[0]"

    def to_dict(self) -> dict[str, Any]:
        """Return the confidence as plain JSON values."""
        return {
            "base": self.base,
            "form_weight": self.form_weight,
            "level": self.level,
            "known": [list(row) for row in self.known],
            "forms": [[one.to_dict() for one in form] for form in self.forms],
            "alternatives": [
                {"weight": other.weight, "pieces": [piece.to_dict() for piece in other.pieces]}
                for other in self.alternatives
            ],
        }

    @classmethod
    def from_dict(cls, values: Any, n_columns: int) -> Confidence:
        """Read what `to_dict` wrote, and check every part of it.

        Raises
        ------
        InvalidTypeError, InvalidParameterError
        """
        parts = {"base", "form_weight", "level", "forms", "alternatives", "known"}
        if not isinstance(values, Mapping) or set(values) != parts:
            raise InvalidTypeError(
                f"`confidence` of a program must be an object with {', '.join(sorted(parts))}, got {show(values)}"
            )
        forms, others = values["forms"], values["alternatives"]
        if not isinstance(forms, list) or len(forms) > MAX_FORMS or not all(_is_form(one, n_columns) for one in forms):
            raise InvalidTypeError(
                f"`forms` of a program must be at most {MAX_FORMS} lists of 1 to {n_columns} conditions, "
                f"got {show(forms)}"
            )
        if not isinstance(others, list) or len(others) > MAX_ALTERNATIVES:
            raise InvalidTypeError(
                f"`alternatives` of a program must be at most {MAX_ALTERNATIVES} objects, got {show(others)}"
            )
        known = values["known"]
        if not isinstance(known, list) or not all(_is_row(row, n_columns) for row in known):
            raise InvalidTypeError(f"`known` of a program must be lists of {n_columns} texts, got {show(known)}")
        level = _number(values["level"], "level")
        if not 0 <= level <= 1:
            raise InvalidParameterError(f"`level` of a program must be a number from 0 to 1, got {level!r}")
        return cls(
            _number(values["base"], "base"),
            tuple(_read_alternative(other, n_columns) for other in others),
            tuple(tuple(read_condition(one, n_columns) for one in form) for form in forms),
            _number(values["form_weight"], "form_weight"),
            level,
            tuple(map(tuple, known)),
        )


def _is_form(values: Any, n_columns: int) -> bool:
    is_list = isinstance(values, list) and 1 <= len(values) <= n_columns
    return is_list and all(isinstance(one, Mapping) for one in values)


def _is_row(values: Any, n_columns: int) -> bool:
    return (
        isinstance(values, list) and len(values) == n_columns and all(is_text(text, 0, sys.maxsize) for text in values)
    )


def _double(number: float) -> str:
    """Write a number as a literal of Spark SQL."""
    return f"CAST('{number!r}' AS DOUBLE)"


def _read_alternative(values: Any, n_columns: int) -> Alternative:
    """Read one alternative of a stored program."""
    if not isinstance(values, Mapping) or set(values) != {"weight", "pieces"}:
        raise InvalidTypeError(
            f"an alternative of a program must be an object with pieces and weight, got {show(values)}"
        )
    pieces = read_pieces(values["pieces"], n_columns)
    if not any(piece.columns for piece in pieces):
        raise InvalidParameterError("an alternative of a program must take something from a column, got constants only")
    return Alternative(pieces, _number(values["weight"], "weight"))


def _number(value: Any, name: str) -> float:
    """Read a weight or a level."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_MOST <= value <= _MOST:
        raise InvalidTypeError(f"`{name}` of a program must be a number up to {_MOST:.0f}, got {show(value)}")
    return float(value)
