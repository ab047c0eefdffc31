"""A transformation program: pieces taken from the input columns and constants, concatenated."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin import _html
from dfjoin._validation import check_names, show
from dfjoin._visible import visible
from dfjoin.errors import DfjoinError, InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.programs.conditions import MAX_CONDITIONS, Condition
from dfjoin.programs.program_pieces import Combined, Extract, InputColumns, Piece, read_piece
from dfjoin.programs.step_table import FUNCTIONS, read_condition
from dfjoin.programs.string_column import StringColumn

__all__ = ["MAX_COLUMNS", "MAX_PIECES", "Program"]

MAX_PIECES = 33
"""Most pieces of a program: 16 logical operators with constants between and around them."""
MAX_COLUMNS = 3
"""Most input columns."""
_FEW_ROWS = 100
"""Columns up to this length are done row by row: that takes a millisecond, and compiles nothing."""
VERSION = 1
"""Version of the form that `Program.to_dict` writes for programs without conditions."""
_WITH_CONDITIONS = 2
"""Version of programs with conditions, which older readers must refuse."""


@dataclass(frozen=True, slots=True)
class Program:
    """A function that turns one to three strings of a row into one string: how the keys of two tables are related.

    The result is the concatenation of all pieces. It is null when a column that a piece uses is null or empty,
    when a step of any piece does not apply, that is, yields nothing, or when a condition does not hold. The result of
    a row depends on that row alone.

    `auto_join` and ``mode="transform"`` learn programs and put them into their reports; `from_dict` reads them there.
    A program can be applied to pyarrow columns (`apply`), to one row (a call), and written as Python source
    (`to_python`) or Spark SQL (`to_spark_sql`).

    Parameters
    ----------
    columns : tuple of str
        Names of the input columns, 1 to 3, in the order of the arguments.
    pieces : tuple of Constant, Extract or Combined
        At least one of them reads a column, unless there are conditions.
    conditions : tuple of Condition
        What a row must meet, at most 4.

    See Also
    --------
    auto_join : learns programs where keys are written differently.
    discover_joinable : with ``mode="transform"`` finds columns that join after a program.

    Notes
    -----
    All four forms agree on every text: positions count code points, casing and classes of characters follow
    the fixed tables of `dfjoin.programs.characters`, separators are literal. `apply` evaluates about a million rows in
    a second.
    Source: Zhu, He, Chaudhuri, Auto-Join, PVLDB 10(10), section 4.1 (thesis, section 4.4.2), physical
    operators Split, SelectK, Concat, Substring, Constant; the others are additions.

    Examples
    --------
    >>> import dfjoin
    >>> import pandas as pd
    >>> import pyarrow as pa
    >>> names = ["Obama, Barack", "Bush, George", "Clinton, Bill", "Carter, Jimmy", "Ford, Gerald"]
    >>> people = ["Gerald Ford", "Jimmy Carter", "Bill Clinton", "George Bush", "Barack Obama"]
    >>> wide = dfjoin.auto_join(pd.DataFrame({"name": names}), pd.DataFrame({"president": people}), aggregate=None)
    >>> relation = wide.attrs["dfjoin"]["joined"][0]["relation"]
    >>> program = dfjoin.Program.from_dict(relation["transform"]["programs"][0]["program"])
    >>> print(program)
    name.split(', ')[1] + ' ' + name.split(', ')[0]
    >>> program("Truman, Harry")
    'Harry Truman'
    >>> program.apply([pa.array(["Truman, Harry", None, "Cher"])]).to_pylist()
    ['Harry Truman', None, None]
    >>> namespace = {}
    >>> exec(program.to_python("full_name"), namespace)
    >>> namespace["full_name"]("Truman, Harry")
    'Harry Truman'
    >>> dfjoin.Program.identity("name").to_spark_sql("`name`")
    "nullif(`name`, '')"
    """

    columns: tuple[str, ...]
    pieces: tuple[Piece, ...]
    conditions: tuple[Condition, ...] = ()

    @classmethod
    def identity(cls, column: str) -> Program:
        """Return the program that copies a column.

        Parameters
        ----------
        column : str

        Returns
        -------
        Program
        """
        return cls((column,), (Extract(0),))

    @property
    def is_identity(self) -> bool:
        """Whether the program copies its column."""
        return self.pieces == (Extract(0),) and not self.conditions

    @property
    def computes(self) -> bool:
        """Whether numbers or times are computed: scaled, rounded, read with their units, written in another way."""
        return any(
            isinstance(piece, Combined) or any(step.computes for step in piece.all_steps) for piece in self.pieces
        )

    @property
    def n_operators(self) -> int:
        """Number of logical operators, which is the complexity of the paper; a condition counts as one."""
        return len(self.pieces) + len(self.conditions)

    def __str__(self) -> str:
        made = " + ".join(piece.describe(self._shown) for piece in self.pieces)
        held = " and ".join(one.describe(self._shown(one.column)) for one in self.conditions)
        return f"{made} if {held}" if held else made

    def _shown(self, column: int) -> str:
        name = self.columns[column]
        return name if name.isidentifier() else f"[{visible(name)}]"

    def _repr_html_(self) -> str:
        """Write the program as a card, for notebooks: one line, and as Python."""
        parts = [_html.pairs([("reads", ", ".join(map(_html.escape, self.columns)))])]
        with contextlib.suppress(DfjoinError):  # not every program can be written
            parts.append(f"<pre>{_html.escape_lines(self.to_python())}</pre>")
        return _html.page([_html.card(_html.code(str(self)), parts)])

    def __call__(self, *row: str | None) -> str | None:
        """Apply the program to one row.

        Parameters
        ----------
        *row : str or None
            A value for each of `columns`.

        Returns
        -------
        str or None
        """
        if not all(condition(row[condition.column]) for condition in self.conditions):
            return None
        made = [piece(row) for piece in self.pieces]
        return "".join(text for text in made if text) if all(made) else None

    def apply(self, arrays: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Array:
        """Apply the program to columns.

        Parameters
        ----------
        arrays : sequence of pyarrow Array or ChunkedArray of strings
            The input columns, of one length, in the order of `columns`.

        Returns
        -------
        pyarrow.Array
            ``string`` (``large_string`` above 2 GiB), null where the program does not apply.

        Raises
        ------
        InvalidTypeError
            If they are no arrays.
        InvalidParameterError
            If the number of arrays is not that of the columns, or their lengths differ.
        """
        if not isinstance(arrays, (list, tuple)) or not all(isinstance(a, (pa.Array, pa.ChunkedArray)) for a in arrays):
            raise InvalidTypeError(
                f"`arrays` must be a list of pyarrow arrays, one for each of {shortlist(self.columns)}; "
                f"got {show(arrays)}"
            )
        if len(arrays) != len(self.columns) or len({len(array) for array in arrays}) != 1:
            raise InvalidParameterError(
                f"`arrays` must be {len(self.columns)} arrays of one length, for the columns "
                f"{shortlist(self.columns)}; got lengths {[len(array) for array in arrays]}"
            )
        if len(arrays[0]) <= _FEW_ROWS:
            rows = zip(*(array.to_pylist() for array in arrays), strict=True)
            return pa.array([self(*row) for row in rows], pa.string())
        made = self._apply_to_columns(arrays)
        if not self.conditions:
            return made
        held = np.ones(len(made), np.bool_)
        for condition in self.conditions:
            held &= condition.mask(StringColumn.of(arrays[condition.column]).to_arrow())
        return pc.if_else(pa.array(held), made, pa.scalar(None, made.type))

    def _apply_to_columns(self, arrays: Sequence[pa.Array | pa.ChunkedArray]) -> pa.Array:
        """Apply step after step to whole columns."""
        if not any(piece.columns for piece in self.pieces):
            return pa.repeat(pa.scalar("".join(filter(None, (piece(()) for piece in self.pieces)))), len(arrays[0]))
        inputs = InputColumns(arrays)
        parts = [piece.apply(inputs) for piece in self.pieces]
        if len(parts) == 1:
            return parts[0]
        is_small = sum(len(part.buffers()[2] or b"") for part in parts if isinstance(part, pa.Array)) < 2**30
        type_ = pa.string() if is_small else pa.large_string()
        parts = [part.cast(type_) for part in parts]
        return pc.binary_join_element_wise(*parts, pa.scalar("", type_), null_handling="emit_null")

    def to_dict(self) -> dict[str, Any]:
        """Return the program as plain JSON values, with the version of the form.

        Returns
        -------
        dict
        """
        values = {
            "version": VERSION,
            "columns": list(self.columns),
            "pieces": [piece.to_dict() for piece in self.pieces],
        }
        if self.conditions:
            values |= {"version": _WITH_CONDITIONS, "conditions": [one.to_dict() for one in self.conditions]}
        return values

    @classmethod
    def from_dict(cls, values: Any) -> Program:
        """Read what `to_dict` wrote, and check every part of it.

        Parameters
        ----------
        values : dict

        Returns
        -------
        Program

        Raises
        ------
        InvalidTypeError, InvalidParameterError
            Saying which part is wrong.
        """
        if not isinstance(values, Mapping):
            raise InvalidTypeError(f"a program must be a JSON object, got {type(values).__name__}")
        version = values.get("version")
        if version not in (VERSION, _WITH_CONDITIONS) or isinstance(version, bool):
            raise InvalidParameterError(
                f"a program must have version {VERSION}, or {_WITH_CONDITIONS} with conditions, got {version!r:.80}; "
                f"use the dfjoin that wrote it"
            )
        columns: Any = values.get("columns")
        pieces: Any = values.get("pieces")
        if not _is_list_of(columns, str, MAX_COLUMNS):
            raise InvalidTypeError(f"`columns` of a program must be 1 to {MAX_COLUMNS} names, got {columns!r:.80}")
        if not _is_list_of(pieces, Mapping, MAX_PIECES):
            raise InvalidTypeError(f"`pieces` of a program must be 1 to {MAX_PIECES} objects, got {pieces!r:.80}")
        read = tuple(read_piece(piece, len(columns)) for piece in pieces)
        conditions: Any = values.get("conditions", [])
        if (version == _WITH_CONDITIONS or conditions != []) and not _is_list_of(conditions, Mapping, MAX_CONDITIONS):
            raise InvalidTypeError(
                f"`conditions` of a program of version {_WITH_CONDITIONS} must be 1 to {MAX_CONDITIONS} objects, "
                f"got {conditions!r:.80}"
            )
        held = tuple(read_condition(condition, len(columns)) for condition in conditions)
        if not held and not any(piece.columns for piece in read):
            raise InvalidParameterError("`pieces` of a program must take something from a column, got constants only")
        return cls(tuple(columns), read, held)

    def to_python(self, name: str = "transform") -> str:
        """Write the program as Python source that needs nothing else.

        Parameters
        ----------
        name : str, default "transform"
            Name of the function; it takes one string or None for each column.

        Returns
        -------
        str
            The function, behind the functions that it uses.

        Raises
        ------
        InvalidParameterError
            If `name` is no Python identifier, a keyword, or a name that the code uses.

        Examples
        --------
        >>> namespace = {}
        >>> exec(Program.identity("name").to_python("same"), namespace)
        >>> namespace["same"]("Barack Obama")
        'Barack Obama'
        """
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or _is_used(name):
            raise InvalidParameterError(
                "`name` must be a Python identifier that is no keyword and no name that the code uses, got "
                + show(name)
            )
        used: dict[str, None] = {}
        lines = []
        parts = []
        arguments = [f"column_{i}" for i in range(len(self.columns))]
        for condition in self.conditions:
            used["condition_holds"] = None
            lines.append(f"    if not ({condition.python(arguments[condition.column])}):\n        return None")
        for number, piece in enumerate(self.pieces):
            part, before = piece.python(f"part_{number}", arguments)
            parts.append(part)
            lines += [f"    {line}" for line in before]
            used.update(dict.fromkeys(piece.functions()))
        pasted = [inspect.getsource(FUNCTIONS[function]) for function in sorted(used)]
        text = ascii(f"{self} for the columns {', '.join(self.columns)}")
        body = [f"def {name}({', '.join(arguments)}):", f"    {text}", *lines, f"    return {' + '.join(parts)}"]
        head = ["from __future__ import annotations\n\nimport re\n"] if pasted else []
        return "\n\n".join([*head, *pasted, "\n".join(body) + "\n"])

    def to_spark_sql(self, columns: str | Sequence[str]) -> str:
        """Write the program as one Spark SQL expression (Spark 4.0 or later) of built-in functions.

        Parameters
        ----------
        columns : str or sequence of str
            An SQL expression of type STRING for each input column.

        Returns
        -------
        str
            An expression of type STRING; null where the program does not apply.

        Raises
        ------
        InvalidTypeError
            If they are no texts.
        InvalidParameterError
            If the number of expressions is not that of the columns.

        Examples
        --------
        >>> Program.identity("name").to_spark_sql("`name`")
        "nullif(`name`, '')"
        """
        operands = check_names(columns, "columns", "an SQL expression or a list of them")
        if len(operands) != len(self.columns):
            raise InvalidParameterError(
                f"`columns` must be {len(self.columns)} SQL expressions, for {shortlist(self.columns)}; "
                f"got {len(operands)}"
            )
        parts = [piece.sql(operands) for piece in self.pieces]
        made = parts[0] if len(parts) == 1 else f"concat({', '.join(parts)})"
        held = " AND ".join(condition.sql(operands[condition.column]) for condition in self.conditions)
        return f"CASE WHEN {held} THEN {made} END" if held else made


def _is_used(name: str) -> bool:
    """Tell whether a name means something to the source of `Program.to_python`."""
    return name in ("re", "annotations") or hasattr(builtins, name) or name in FUNCTIONS


def _is_list_of(values: Any, type_: type, most: int) -> bool:
    return isinstance(values, list) and 1 <= len(values) <= most and all(isinstance(v, type_) for v in values)
