"""Rows that are wanted of a table of a database, by their keys: the database is asked for these alone."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_MOST_KEYS = 20_000
"""Keys that are asked for, at most: for more the whole table is read."""

_KEYS_PER_QUERY = 500


@dataclass(frozen=True)
class RowsByKey:
    """Which rows of a table are wanted.

    Parameters
    ----------
    keys : tuple of str
        Columns that decide.
    is_wanted : callable
        Tells from arrays of these columns which of their rows are wanted; none in which one of them is null.
    """

    keys: tuple[str, ...]
    is_wanted: Callable[[Sequence[pa.Array]], NDArray[np.bool_]]


@dataclass(frozen=True)
class SqlColumn:
    """A column as SQL reads it.

    Parameters
    ----------
    type : pyarrow.DataType or None
        What its values become; None: as they arrive.
    select : str
        What is selected of it.
    compare : tuple of str
        What is compared with a literal. Of two expressions the last one compares texts sign by sign, and the first one
        is the column, which may have an index.
    """

    type: pa.DataType | None
    select: str
    compare: tuple[str, ...]


def literal(value: Any) -> str:
    """Write a value as SQL, where no backslash escapes."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")  # in quotes it would be compared as a double
    return "'" + str(value).replace("'", "''") + "'"


def read_wanted(
    wanted: RowsByKey | None,
    names: list[str],
    columns: Mapping[str, SqlColumn],
    select: Callable[[str, list[str], str], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    """Read the wanted rows of a table.

    Parameters
    ----------
    wanted : RowsByKey or None
        By keys as the database calls them; None: all rows.
    names : list of str
        The columns to read.
    columns : mapping of str to SqlColumn
        Of the table.
    select : callable
        Runs ``SELECT``, the list of what is selected, for these columns, and what follows the table.

    Notes
    -----
    The distinct keys are read first, and those that are wanted are asked for, 500 in a query. Where more than 20,000
    are wanted, or keys have a type without exact literals, all rows are read.
    """
    selected = ", ".join(columns[name].select for name in names)
    for condition in _conditions(wanted, columns, select) if names else ():
        yield from select(selected, names, condition)


def _conditions(
    wanted: RowsByKey | None,
    columns: Mapping[str, SqlColumn],
    select: Callable[[str, list[str], str], Iterator[pa.RecordBatch]],
) -> Iterator[str]:
    """Yield what selects the wanted rows, each once; nothing selects all."""
    keys = [] if wanted is None else list(wanted.keys)
    found = _wanted_keys(wanted, keys, columns, select) if wanted is not None and keys else None
    if found is None:
        yield ""
        return
    exact = {expression for name in keys for expression in columns[name].compare[:-1]}
    for first in range(0, len(found), _KEYS_PER_QUERY):
        some = ", ".join(found[first : first + _KEYS_PER_QUERY])
        sides = [-1, 0] if exact else [-1]
        tests = (f"({', '.join(columns[name].compare[side] for name in keys)}) IN ({some})" for side in sides)
        yield f"WHERE {' AND '.join(tests)}"


def _wanted_keys(
    wanted: RowsByKey,
    keys: list[str],
    columns: Mapping[str, SqlColumn],
    select: Callable[[str, list[str], str], Iterator[pa.RecordBatch]],
) -> list[str] | None:
    """Return the wanted keys as SQL; None where there are too many, or of another type."""
    own = [columns[name] for name in keys]
    if not all(one.type is None or _is_literal(one.type) for one in own):
        return None
    found: list[str] = []
    is_asked = True
    distinct = ", ".join(one.compare[-1] if len(one.compare) > 1 else one.select for one in own)
    for batch in select(f"DISTINCT {distinct}", keys, ""):  # to its end: the connection takes no other query before
        is_asked = is_asked and all(map(_is_literal, batch.schema.types)) and len(found) <= _MOST_KEYS
        if is_asked:
            chosen = batch.filter(pa.array(wanted.is_wanted(batch.columns))).to_pylist()
            found += [", ".join(map(literal, row.values())) for row in chosen if None not in row.values()]
    if not is_asked or len(found) > _MOST_KEYS:
        return None
    return found if len(keys) == 1 else [f"({key})" for key in found]


def _is_literal(type_: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_string, pa.types.is_decimal, pa.types.is_date32)
    return any(test(type_) for test in tests)
