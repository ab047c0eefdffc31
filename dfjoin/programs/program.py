"""A transformation program: pieces taken from the input columns and constants, concatenated."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import keyword
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin import _html
from dfjoin._validation import check_names, show
from dfjoin._visible import visible
from dfjoin.errors import ColumnNotFoundError, DfjoinError, InvalidParameterError, InvalidTypeError, shortlist
from dfjoin.programs.conditions import MAX_CONDITIONS, Condition
from dfjoin.programs.confidence import Confidence
from dfjoin.programs.program_pieces import (
    Combined,
    Extract,
    InputColumns,
    Piece,
    make_column,
    make_text,
    pieces_python,
    pieces_sql,
    read_pieces,
)
from dfjoin.programs.step_table import FUNCTIONS, read_condition
from dfjoin.programs.string_column import StringColumn

MAX_COLUMNS = 3
"""Most input columns."""
_FEW_ROWS = 100
"""Columns up to this length are done row by row: that takes a millisecond, and compiles nothing."""
VERSION = 1
"""Version of the form that `Program.to_dict` writes for programs without conditions."""
_WITH_CONDITIONS = 2
"""Version of programs with conditions, which older readers must refuse."""
_WITH_CONFIDENCE = 3
"""Version of programs with a confidence, with or without conditions."""


@dataclass(frozen=True, slots=True)
class Program:
    """A function that turns one to three strings of a row into one string: how the keys of two tables are related.

    The result is the concatenation of all pieces. It is null when a column that a piece uses is null or empty,
    when a step of any piece does not apply, that is, yields nothing, when a condition does not hold, or when its
    confidence is below the level of the program. The result of a row depends on that row alone.

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
    confidence : Confidence or None
        Of a program that examples taught: the other programs of them, and the level below which results are null.

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
    confidence: Confidence | None = None

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
    def certain(self) -> Program:
        """The program without its confidence: it gives every result."""
        return self if self.confidence is None else replace(self, confidence=None)

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
        made = make_text(self.pieces, row)
        return made if made is None or self.confidence is None or self.confidence.keeps(made, row) else None

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
        return self._apply_to_columns(arrays)[0]

    def _apply_to_columns(self, arrays: Sequence[pa.Array | pa.ChunkedArray]) -> tuple[pa.Array, NDArray[np.float64]]:
        """Apply step after step to whole columns; also return the confidence of each result, 1 where not known."""
        inputs = InputColumns(arrays)
        if any(piece.columns for piece in self.pieces):
            made = make_column(self.pieces, inputs)
        else:
            made = pa.repeat(pa.scalar(make_text(self.pieces, ())), len(arrays[0]))
        texts = [StringColumn.of(array).to_arrow() for array in arrays] if self.conditions or self.confidence else []
        held = np.ones(len(made), np.bool_)
        for condition in self.conditions:
            held &= condition.mask(texts[condition.column])
        sure = np.ones(len(made))
        if self.confidence is not None:
            is_kept, sure = self.confidence.of_column(made, texts, inputs)
            sure[~held] = 0.0
            held &= is_kept
        if not held.all():
            made = pc.if_else(pa.array(held), made, pa.scalar(None, made.type))
        return made, sure

    def predict(self, texts: Any, level: float | None = None) -> pd.DataFrame:
        """Apply the program and say how sure each result is.

        Parameters
        ----------
        texts : sequence of str, of tuple of str, or DataFrame
            The inputs: texts or nulls for a program of one column, a tuple for each row, or a DataFrame that has the
            columns of the program.
        level : float, optional
            Confidence from 0 to 1 below which a value is null; that of the program by default, and 0 for a program
            without a confidence.

        Returns
        -------
        DataFrame
            A row for each input, with the index of `texts` where it has one: ``value``, and ``confidence``, the
            estimated probability that the value is right. It is 0 where the program gives nothing, and NaN for a
            program that was not taught by examples: the join that learned it estimates its precision as a whole.

        Raises
        ------
        InvalidTypeError, InvalidParameterError, ColumnNotFoundError
            If `texts` are no texts for the columns, or `level` is no number from 0 to 1.

        Notes
        -----
        Linear in rows times alternatives, of which a program has at most 12.

        Examples
        --------
        >>> import dfjoin
        >>> dfjoin.Program.identity("name").predict(["Ann", None])["value"].tolist()
        ['Ann', None]
        """
        if level is not None and not (_is_number(level) and 0 <= level <= 1):
            raise InvalidParameterError(f"`level` must be a number from 0 to 1, got {show(level)}")
        arrays = self._arrays_of(texts)
        if self.confidence is None:
            made = self.apply(arrays)
            sure = np.where(pc.is_null(made).to_numpy(zero_copy_only=False), 0.0, np.nan)
        else:
            least = self.confidence.level if level is None else float(level)
            asked = replace(self, confidence=replace(self.confidence, level=least))
            made, sure = asked._apply_to_columns(arrays)
        index = texts.index if isinstance(texts, (pd.DataFrame, pd.Series)) else None
        values = pd.Series(made.to_pylist(), dtype=object, index=index)
        return pd.DataFrame({"value": values, "confidence": pd.Series(sure, index=index)})

    def _arrays_of(self, texts: Any) -> list[pa.Array]:
        """Return the inputs of `predict`, an array for each column."""
        if isinstance(texts, pd.DataFrame):
            for name in self.columns:
                if name not in texts:
                    raise ColumnNotFoundError(
                        f"`texts` must have the columns {shortlist(self.columns)} of the program; it has "
                        f"{shortlist(texts.columns)}"
                    )
            columns = [texts[name] for name in self.columns]
            twice = [name for name, column in zip(self.columns, columns, strict=True) if column.ndim > 1]
            if twice:
                raise InvalidParameterError(
                    f"`texts` must have each column of the program once, got {shortlist(twice)} twice; rename them"
                )
        elif len(self.columns) == 1:
            columns = [texts]
        else:
            columns = _columns_of_rows(texts, self.columns)
        try:
            if isinstance(texts, (str, bytes)):
                raise TypeError
            return [pa.array(column, pa.string(), from_pandas=True) for column in columns]
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InvalidTypeError(
                f"`texts` must be texts or nulls for {shortlist(self.columns)}, got {show(texts)}"
            ) from error

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
        if self.confidence is not None:
            values |= {"version": _WITH_CONFIDENCE, "confidence": self.confidence.to_dict()}
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
        if version not in (VERSION, _WITH_CONDITIONS, _WITH_CONFIDENCE) or isinstance(version, bool):
            raise InvalidParameterError(
                f"a program must have version {VERSION}, {_WITH_CONDITIONS} with conditions, or {_WITH_CONFIDENCE} "
                f"with a confidence, got {version!r:.80}; use the dfjoin that wrote it"
            )
        columns: Any = values.get("columns")
        if not _is_list_of(columns, str, MAX_COLUMNS):
            raise InvalidTypeError(f"`columns` of a program must be 1 to {MAX_COLUMNS} names, got {columns!r:.80}")
        read = read_pieces(values.get("pieces"), len(columns))
        conditions: Any = values.get("conditions", [])
        if (version == _WITH_CONDITIONS or conditions != []) and not _is_list_of(conditions, Mapping, MAX_CONDITIONS):
            raise InvalidTypeError(
                f"`conditions` of a program of version {_WITH_CONDITIONS} must be 1 to {MAX_CONDITIONS} objects, "
                f"got {conditions!r:.80}"
            )
        held = tuple(read_condition(condition, len(columns)) for condition in conditions)
        if not held and not any(piece.columns for piece in read):
            raise InvalidParameterError("`pieces` of a program must take something from a column, got constants only")
        sure = Confidence.from_dict(values.get("confidence"), len(columns)) if version == _WITH_CONFIDENCE else None
        return cls(tuple(columns), read, held, sure)

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
        arguments = [f"column_{i}" for i in range(len(self.columns))]
        call = ", ".join(arguments)
        checks = [
            f"    if not ({condition.python(arguments[condition.column])}):\n        return None"
            for condition in self.conditions
        ]
        others = self.confidence.alternatives if self.confidence else ()
        all_pieces = [self.pieces, *(alternative.pieces for alternative in others)]
        written = [pieces_python(pieces, arguments) for pieces in all_pieces]
        used = {function for _, called in written for function in called}
        if checks or (self.confidence is not None and self.confidence.forms):
            used.add("condition_holds")
        bodies = [[*checks, *written[0][0]], *(lines for lines, _ in written[1:])]
        names = [name]
        if self.confidence is not None:
            names = [*(f"{name}_{number}" for number in range(len(bodies))), name]
            bodies.append(self.confidence.python(name, arguments))
        text = ascii(f"{self} for the columns {', '.join(self.columns)}")
        bodies[-1].insert(0, f"    {text}")
        pasted = [inspect.getsource(FUNCTIONS[function]) for function in sorted(used)]
        made = ["\n".join([f"def {one}({call}):", *body]) + "\n" for one, body in zip(names, bodies, strict=True)]
        head = ["from __future__ import annotations\n\nimport re\n"] if pasted else []
        return "\n\n".join([*head, *pasted, *made])

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
        made = pieces_sql(self.pieces, operands)
        if self.confidence is not None:
            made = self.confidence.sql(made, operands)
        held = " AND ".join(condition.sql(operands[condition.column]) for condition in self.conditions)
        return f"CASE WHEN {held} THEN {made} END" if held else made


def _is_used(name: str) -> bool:
    """Tell whether a name means something to the source of `Program.to_python`."""
    return name in ("re", "annotations") or hasattr(builtins, name) or name in FUNCTIONS


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _columns_of_rows(rows: Any, names: Sequence[str]) -> list[Sequence[str | None]]:
    """Turn rows into columns."""
    listed = list(rows) if isinstance(rows, Iterable) and not isinstance(rows, str) else None
    if listed is None or not all(isinstance(row, (tuple, list)) and len(row) == len(names) for row in listed):
        raise InvalidTypeError(
            f"`texts` must be a DataFrame, or a tuple of {len(names)} texts for each row, for {shortlist(names)}; "
            f"got {show(rows)}"
        )
    return [[row[position] for row in listed] for position in range(len(names))]


def _is_list_of(values: Any, type_: type, most: int) -> bool:
    return isinstance(values, list) and 1 <= len(values) <= most and all(isinstance(v, type_) for v in values)
