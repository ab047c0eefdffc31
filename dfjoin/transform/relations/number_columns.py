"""Reading the texts of a column as numbers: plain decimals, quantities with units, other bases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.programs.number_operators import Base, Round
from dfjoin.programs.operator import Step
from dfjoin.programs.part_operators import Slice
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.programs.quantities import Quantity, quantity_tables
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.sorted_numbers import SortedNumbers, last_units
from dfjoin.values.shares import NEARLY_ALL

_PLAIN = "^-?[0-9]{1,15}([.][0-9]{1,17})?$"
_LONG = "[.][0-9]{7}"
_HEAD = 200
"""Values by which a reading is chosen."""
_MAX_READINGS = 3
_NOISE_FROM = 10
"""Decimals from which the last ones may be those of binary arithmetic."""
_NOISE = 1e-12
_MAX_ROUNDED = 6
_STEP_BITS = 3.0
"""Description length of a step that reads numbers in another base or unit."""
_BASES: tuple[tuple[str, str, tuple[Step, ...]], ...] = (
    ("^[01]{1,12}$", "", (Base(2, 10),)),
    ("^[0-9a-fA-F]{1,12}$", "[a-fA-F]", (Base(16, 10),)),
    ("^[0-7]{1,12}$", "", (Base(8, 10),)),
    ("^#[0-9a-fA-F]{1,12}$", "", (Slice(1, None), Base(16, 10))),
    ("^0[xX][0-9a-fA-F]{1,12}$", "", (Slice(2, None), Base(16, 10))),
    ("^0[bB][01]{1,12}$", "", (Slice(2, None), Base(2, 10))),
)
"""The values that numbers of another base may be, what some of them must hold, and the steps that read them."""


@dataclass(frozen=True)
class NumberReading:
    """The numbers of a column under one reading of its texts.

    Parameters
    ----------
    column : Column
    steps : tuple of Step
        What makes a plain number of a text; empty if the texts are plain numbers.
    numbers : SortedNumbers
    rows : ndarray of int64
        A row of each number.
    texts : pyarrow.Array of string
        Each number as the steps write it.
    """

    column: Column
    steps: tuple[Step, ...]
    numbers: SortedNumbers
    rows: NDArray[np.int64]
    texts: pa.Array

    @property
    def cost(self) -> float:
        """Bits that single the reading out."""
        if self.steps == (Quantity("number"),):
            return 0.0
        return _STEP_BITS * sum(step.operator is not Slice for step in self.steps)

    @property
    def has_base(self) -> bool:
        """Whether the texts are read as numbers of another base than ten."""
        return any(step.operator is Base for step in self.steps)

    @property
    def program(self) -> Program:
        """The program that reads the column."""
        return Program((self.column.name,), (Extract(0, self.steps),))


def read_numbers(column: Column) -> list[NumberReading]:
    """Read a column as numbers by every reading that fits nearly all its values.

    Parameters
    ----------
    column : Column

    Returns
    -------
    list of NumberReading
        The plain reading first; at most 3, none for a column of texts or of fewer than two numbers.

    Notes
    -----
    The distinct values are read, the first 200 of them to choose the readings. O(values).
    """
    rows = column.first_rows
    head = column.array.take(pa.array(rows[:_HEAD])) if rows.size else pa.array([], pa.string())
    found: list[NumberReading] = []
    for steps in _fitting_steps(head):
        texts = column.array.take(pa.array(rows))
        if steps:
            texts = Program((column.name,), (Extract(0, steps),)).apply([texts])
        reading = _read(column, steps, rows, texts)
        if reading is not None:
            found.append(reading)
        if len(found) == _MAX_READINGS:
            break
    return found


def _share(head: pa.Array, pattern: str) -> float:
    """Return the share of the texts that a pattern matches."""
    return float(pc.sum(pc.match_substring_regex(head, pattern)).as_py() or 0) / max(1, len(head))


def _fitting_steps(head: pa.Array) -> Iterator[tuple[Step, ...]]:
    """Yield the steps that read nearly all values, the likeliest first."""
    if _share(head, "[0-9]") < NEARLY_ALL and _share(head, "^#?[0-9a-fA-F]{2,12}$") < NEARLY_ALL:
        return
    is_plain = _share(head, _PLAIN) >= NEARLY_ALL
    if is_plain:
        noise = _rounding(head)
        yield noise
        if not noise and _share(head, _LONG) > 0:  # more digits than arithmetic takes
            yield (Round(_MAX_ROUNDED),)
    else:
        for table in quantity_tables(head.to_pylist()):
            yield (Quantity(table),)
    for pattern, needed, steps in _BASES:
        if _share(head, pattern) >= NEARLY_ALL and (not needed or _share(head, needed) > 0):
            yield steps


def _rounding(head: pa.Array) -> tuple[Step, ...]:
    """Return the step that takes the noise of binary arithmetic off, nothing where there is none."""
    texts = [text for text in head.to_pylist() if text and "." in text]
    if max((len(text.partition(".")[2]) for text in texts), default=0) < _NOISE_FROM:
        return ()
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        return ()
    for digits in range(_MAX_ROUNDED + 1):
        if np.mean(np.abs(np.round(numbers, digits) - numbers) <= _NOISE * np.abs(numbers)) >= NEARLY_ALL:
            return (Round(digits),)
    return ()


def _read(column: Column, steps: tuple[Step, ...], rows: NDArray[np.int64], texts: pa.Array) -> NumberReading | None:
    """Sort the numbers that are written plainly; None if they are too few."""
    is_number = pc.fill_null(pc.match_substring_regex(texts, _PLAIN), False)
    if pc.sum(is_number).as_py() is None or pc.sum(is_number).as_py() < max(2, NEARLY_ALL * len(texts)):
        return None
    texts, rows = texts.filter(is_number), rows[is_number.to_numpy(zero_copy_only=False)]
    values = pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False)
    values, first = np.unique(values, return_index=True)
    if values.size < 2:
        return None
    texts = texts.take(pa.array(first))
    slack, own_unit = _last_digits(values, texts)
    return NumberReading(column, steps, SortedNumbers(values, slack, own_unit), rows[first], texts)


def _last_digits(values: NDArray[np.float64], texts: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return half a unit of the last digit of each number, zeros that its spelling may lack put back, and its own."""
    point = pc.find_substring(texts, ".").to_numpy(zero_copy_only=False)
    lengths = pc.utf8_length(texts).to_numpy(zero_copy_only=False)
    decimals = np.where(point >= 0, lengths - point - 1, 0)
    with np.errstate(divide="ignore"):
        size = np.where(values == 0, 0, np.floor(np.log10(np.abs(values)) + 1e-12)) + 1
    significant = np.where(values == 0, 0, size + decimals)
    slack = 0.5 * 10.0 ** np.maximum(-float(decimals.max()), size - significant.max())
    return slack, last_units(values, 0.5 * 10.0**-decimals)
