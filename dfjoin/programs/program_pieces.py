"""The pieces of a program: constants, what steps cut out of a column, and what is computed from two columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.programs.combinations import COMBINATIONS, combine, combine_columns, combine_sql, function_of
from dfjoin.programs.operator import MAX_TEXT, Step, is_text
from dfjoin.programs.spark_sql import quote, when_empty
from dfjoin.programs.step_table import functions_of, read_steps, step_values
from dfjoin.programs.string_column import StringColumn

MAX_PIECES = 33
"""Most pieces of a program: 16 logical operators with constants between and around them."""

MAX_STEPS = 8
"""Most steps of one piece."""


class InputColumns:
    """The columns that a program is applied to, and what steps have made of them: pieces often begin alike.

    Parameters
    ----------
    arrays : sequence of pyarrow Array or ChunkedArray of strings
    """

    def __init__(self, arrays: Sequence[pa.Array | pa.ChunkedArray]) -> None:
        self._arrays = arrays
        self._done: dict[tuple[int, tuple[Step, ...]], StringColumn] = {}

    def after(self, column: int, steps: tuple[Step, ...]) -> StringColumn:
        """Return a column after some steps."""
        key = (column, steps)
        if key not in self._done:
            self._done[key] = (
                steps[-1].apply(self.after(column, steps[:-1])) if steps else StringColumn.of(self._arrays[column])
            )
        return self._done[key]


@dataclass(frozen=True, slots=True)
class Constant:
    """A piece that is the same for every row.

    Parameters
    ----------
    text : str
        At least one character.
    """

    text: str

    @property
    def columns(self) -> tuple[int, ...]:
        """Numbers of the input columns that the piece reads."""
        return ()

    @property
    def all_steps(self) -> tuple[Step, ...]:
        """The steps of the piece, in the order in which they are done."""
        return ()

    def moved(self, positions: Mapping[int, int]) -> Constant:
        """Return the piece over columns of other numbers."""
        return self

    def __call__(self, row: Sequence[str | None]) -> str | None:
        """Apply the piece to one row."""
        return self.text

    def apply(self, inputs: InputColumns) -> pa.Array | pa.Scalar:
        """Apply the piece to columns."""
        return pa.scalar(self.text, pa.large_string())

    def describe(self, shown: Callable[[int], str]) -> str:
        """Write the piece for people, given the name of each column."""
        return repr(self.text)

    def to_dict(self) -> dict[str, Any]:
        """Return the piece as plain JSON values."""
        return {"constant": self.text}

    def python(self, name: str, arguments: Sequence[str]) -> tuple[str, list[str]]:
        """Write an expression for the piece, and the lines before it that give its value to `name`."""
        return repr(self.text), []

    def functions(self) -> list[str]:
        """Name the functions that the Python form calls."""
        return []

    def sql(self, operands: Sequence[str]) -> str:
        """Write the piece as Spark SQL over an expression for each column."""
        return quote(self.text)


@dataclass(frozen=True, slots=True)
class Extract:
    """A piece that is made of one input column by steps, one after the other.

    Its methods are those of `Constant`.

    Parameters
    ----------
    column : int
        Number of the input column.
    steps : tuple of Step
        None: the value as it is.
    """

    column: int
    steps: tuple[Step, ...] = ()

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.column,)

    @property
    def all_steps(self) -> tuple[Step, ...]:
        return self.steps

    def moved(self, positions: Mapping[int, int]) -> Extract:
        return replace(self, column=positions[self.column])

    def __call__(self, row: Sequence[str | None]) -> str | None:
        return _after_steps(row[self.column], self.steps)

    def apply(self, inputs: InputColumns) -> pa.Array:
        return inputs.after(self.column, self.steps).to_arrow()

    def describe(self, shown: Callable[[int], str]) -> str:
        return shown(self.column) + _describe_steps(self.steps)

    def to_dict(self) -> dict[str, Any]:
        return {"column": self.column, "steps": [step_values(step) for step in self.steps]}

    def python(self, name: str, arguments: Sequence[str]) -> tuple[str, list[str]]:
        lines = [f"{name} = {arguments[self.column]}", *_steps_python(name, self.steps)]
        return name, [*lines, f"if not {name}:\n        return None"]

    def functions(self) -> list[str]:
        return [function for step in self.steps for function in functions_of(step)]

    def sql(self, operands: Sequence[str]) -> str:
        return _steps_sql(when_empty(operands[self.column]), self.steps)


@dataclass(frozen=True, slots=True)
class Combined:
    """A piece that is computed from two others, as an age from two dates, and changed by steps.

    Its methods are those of `Constant`.

    Parameters
    ----------
    kind : str
        One of `combinations.COMBINATIONS`.
    first, second : Extract
        Give moments, as `time_operators.ReadTime` does, or plain decimals.
    steps : tuple of Step
        Applied to the result.

    Examples
    --------
    >>> from dfjoin.programs.program import Program
    >>> from dfjoin.programs.time_operators import ReadTime
    >>> days = [Extract(column, (ReadTime("y-m-d"),)) for column in (0, 1)]
    >>> age = Program(("at", "born"), (Combined("years", *days),))
    >>> print(age, age("2024-02-28", "1980-02-29"), age("2024-02-29", "1980-02-29"))
    years(at.read_time('y-m-d'), born.read_time('y-m-d')) 43 44
    """

    kind: str
    first: Extract
    second: Extract
    steps: tuple[Step, ...] = ()

    @property
    def columns(self) -> tuple[int, ...]:
        return (self.first.column, self.second.column)

    @property
    def all_steps(self) -> tuple[Step, ...]:
        return (*self.first.steps, *self.second.steps, *self.steps)

    def moved(self, positions: Mapping[int, int]) -> Combined:
        return replace(self, first=self.first.moved(positions), second=self.second.moved(positions))

    def __call__(self, row: Sequence[str | None]) -> str | None:
        first, second = self.first(row), self.second(row)
        return _after_steps(combine(first, second, self.kind), self.steps) if first and second else None

    def apply(self, inputs: InputColumns) -> pa.Array:
        made = combine_columns(self.first.apply(inputs), self.second.apply(inputs), self.kind)
        return InputColumns([made]).after(0, self.steps).to_arrow()

    def describe(self, shown: Callable[[int], str]) -> str:
        inner = f"{self.kind}({self.first.describe(shown)}, {self.second.describe(shown)})"
        return inner + _describe_steps(self.steps)

    def to_dict(self) -> dict[str, Any]:
        return {
            "combined": self.kind,
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "steps": [step_values(step) for step in self.steps],
        }

    def python(self, name: str, arguments: Sequence[str]) -> tuple[str, list[str]]:
        first, before = self.first.python(f"{name}_first", arguments)
        second, between = self.second.python(f"{name}_second", arguments)
        lines = [f"{name} = {function_of(self.kind)}({first}, {second}, {self.kind!r})"]
        lines += [*_steps_python(name, self.steps), f"if not {name}:\n        return None"]
        return name, [*before, *between, *lines]

    def functions(self) -> list[str]:
        called = ["days_of_date"] * (function_of(self.kind) == "combine_moments")
        steps = [function for step in self.steps for function in functions_of(step)]
        return [*self.first.functions(), *self.second.functions(), function_of(self.kind), *called, *steps]

    def sql(self, operands: Sequence[str]) -> str:
        made = combine_sql(self.first.sql(operands), self.second.sql(operands), self.kind)
        return _steps_sql(made, self.steps)


Piece = Constant | Extract | Combined


def make_text(pieces: Sequence[Piece], row: Sequence[str | None]) -> str | None:
    """Return what pieces, one after the other, make of one row; None where a piece does not apply."""
    made = [piece(row) for piece in pieces]
    return "".join(text for text in made if text) if all(made) else None


def make_column(pieces: Sequence[Piece], inputs: InputColumns) -> pa.Array:
    """Return what pieces, of which one reads a column, make of whole columns, step after step."""
    parts = [piece.apply(inputs) for piece in pieces]
    if len(parts) == 1:
        return parts[0]
    is_small = sum(len(part.buffers()[2] or b"") for part in parts if isinstance(part, pa.Array)) < 2**30
    type_ = pa.string() if is_small else pa.large_string()
    parts = [part.cast(type_) for part in parts]
    return pc.binary_join_element_wise(*parts, pa.scalar("", type_), null_handling="emit_null")


def pieces_python(pieces: Sequence[Piece], arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Write the body of a function that makes the pieces; also name the functions that it calls."""
    lines, parts, used = [], [], []
    for number, piece in enumerate(pieces):
        part, before = piece.python(f"part_{number}", arguments)
        parts.append(part)
        lines += [f"    {line}" for line in before]
        used += piece.functions()
    return [*lines, f"    return {' + '.join(parts)}"], used


def pieces_sql(pieces: Sequence[Piece], operands: Sequence[str]) -> str:
    """Write the pieces as Spark SQL over an expression for each column."""
    parts = [piece.sql(operands) for piece in pieces]
    return parts[0] if len(parts) == 1 else f"concat({', '.join(parts)})"


def _after_steps(text: str | None, steps: tuple[Step, ...]) -> str | None:
    for step in steps:
        text = step(text) if text else None
    return text or None


def _describe_steps(steps: tuple[Step, ...]) -> str:
    return "".join(d if (d := step.describe()).startswith("[") else f".{d}" for step in steps)


def _steps_python(name: str, steps: tuple[Step, ...]) -> list[str]:
    """Write lines that change the value of a name by steps."""
    lines = []
    for step in steps:
        function, values = step.python()
        call = ", ".join([name, *(ascii(value) for value in values)])
        lines.append(f"{name} = {name} and {function.__name__}({call})")
    return lines


def _steps_sql(expression: str, steps: tuple[Step, ...]) -> str:
    for step in steps:
        expression = step.sql(expression)
    return expression


def read_pieces(values: Any, n_columns: int) -> tuple[Piece, ...]:
    """Read the pieces of a stored program, and check every part of them.

    Raises
    ------
    InvalidTypeError, InvalidParameterError
    """
    is_list = isinstance(values, list) and 1 <= len(values) <= MAX_PIECES
    if not is_list or not all(isinstance(value, Mapping) for value in values):
        raise InvalidTypeError(f"`pieces` of a program must be 1 to {MAX_PIECES} objects, got {values!r:.80}")
    return tuple(_read_piece(piece, n_columns) for piece in values)


def _read_piece(values: Mapping[str, Any], n_columns: int) -> Piece:
    """Read one piece of a stored program."""
    if set(values) == {"constant"}:
        text = values["constant"]
        if not is_text(text):
            raise InvalidTypeError(
                f"`constant` of a program must be a valid text of 1 to {MAX_TEXT} characters, got {show(text)}"
            )
        return Constant(text)
    if set(values) == {"combined", "first", "second", "steps"}:
        return _read_combined(values, n_columns)
    return _read_extract(values, n_columns)


def _read_combined(values: Mapping[str, Any], n_columns: int) -> Combined:
    kind = values["combined"]
    if not isinstance(kind, str) or kind not in COMBINATIONS:
        raise InvalidParameterError(f"`combined` of a piece must be one of {shortlist(COMBINATIONS)}, got {show(kind)}")
    parts = (values["first"], values["second"])
    for part, name in zip(parts, ("first", "second"), strict=True):
        if not isinstance(part, Mapping):
            raise InvalidTypeError(f"`{name}` of a piece must be an object with column and steps, got {show(part)}")
    first, second = (_read_extract(part, n_columns) for part in parts)
    return Combined(kind, first, second, _read_steps(values["steps"]))


def _read_extract(values: Mapping[str, Any], n_columns: int) -> Extract:
    if set(values) != {"column", "steps"}:
        names = shortlist(sorted(str(key) for key in values))
        raise InvalidParameterError(
            "a piece of a program must have constant, column and steps, or combined, first, second and steps; "
            f"got {names}"
        )
    column = values["column"]
    if isinstance(column, bool) or not isinstance(column, int) or not 0 <= column < n_columns:
        raise InvalidParameterError(f"`column` of a piece must be 0 to {n_columns - 1}, got {column!r:.80}")
    return Extract(column, _read_steps(values["steps"]))


def _read_steps(steps: Any) -> tuple[Step, ...]:
    if not isinstance(steps, list) or len(steps) > MAX_STEPS or not all(isinstance(s, Mapping) for s in steps):
        raise InvalidTypeError(f"`steps` of a piece must be at most {MAX_STEPS} objects, got {steps!r:.80}")
    return read_steps(steps)
