"""The two tables that are to be joined: a sample of their rows to learn from, and the columns that may be keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.texts import numbers
from dfjoin.programs.program import Program
from dfjoin.transform.evidence.chance import MIN_BITS, MIN_PRECISION
from dfjoin.transform.evidence.prepared_columns import Column, order_rows
from dfjoin.transform.evidence.value_pairs import SuffixArray
from dfjoin.transform.pairs.composite import composite_keys, join_columns
from dfjoin.values.normalize import ValueSet
from dfjoin.values.shares import HALF, KEY_UNIQUENESS

_TELLING = 0.5
"""Distinct values ÷ rows from which a column tells its rows apart."""
_BLOCK = 1 << 16
"""Bytes of text that are looked at together: their numbers stay in the processor's cache."""
_MIXERS = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))


def _byte_weights() -> NDArray[np.uint64]:
    """Return a number for each byte: 0 for signs and spaces, which programs drop and put in."""
    weights = np.random.default_rng(7).integers(1, 1 << 63, 256, dtype=np.uint64)
    weights[[byte for byte in range(128) if not chr(byte).isalnum()]] = 0
    return weights


_WEIGHTS = _byte_weights()


def sample_rows(columns: Sequence[Column], size: int) -> NDArray[np.int64]:
    """Choose rows by what they hold, so that equal, reordered and differently separated texts are chosen together.

    Parameters
    ----------
    columns : sequence of Column
        Those that tell rows apart.
    size : int
        Rows to choose; all, if there are no more.

    Returns
    -------
    ndarray of int64, shape (min(size, n_rows),)
        In the order of `order_rows`.

    Notes
    -----
    The number of a value is a hash of its letters and digits in any order, so that ``Last, First`` has that of
    ``First Last``; that of a row is the smallest of its columns of which at least half of the values are distinct. The
    rows of the smallest numbers are chosen (bottom-k sampling, Cohen and Kaplan, PODC 2007): of c such columns one in c
    rows is chosen by the key, and its partner with it. Where no column is like that, by a hash of the whole row.
    O(characters).
    """
    n_rows = len(columns[0]) if columns else 0
    telling = [column for column in columns if column.uniqueness >= _TELLING] if size < n_rows else []
    if not telling or size == 0:
        return order_rows(columns, size)
    smallest = np.full(n_rows, np.iinfo(np.uint64).max, np.uint64)
    for column in telling:
        numbers = np.append(_hash_letters(column.values), np.iinfo(np.uint64).max)  # the last one is that of nulls
        np.minimum(smallest, numbers[column.values.codes], out=smallest)
    chosen = np.flatnonzero(smallest <= np.partition(smallest, size - 1)[size - 1])
    return chosen[order_rows([column.take(chosen) for column in columns], size)]


def _hash_letters(values: ValueSet) -> NDArray[np.uint64]:
    """Hash the letters and digits of each value, whatever their order."""
    sums = np.zeros(len(values), np.uint64)
    start = 0
    while start < len(values):
        stop = int(np.searchsorted(values.offsets, values.offsets[start] + _BLOCK, side="right")) - 1
        stop = min(max(stop, start + 1), len(values))
        first, last = int(values.offsets[start]), int(values.offsets[stop])
        totals = np.zeros(last - first + 1, np.uint64)
        np.cumsum(_WEIGHTS[values.data[first:last]], out=totals[1:])
        bounds = values.offsets[start : stop + 1] - first
        sums[start:stop] = totals[bounds[1:]] - totals[bounds[:-1]]
        start = stop
    shift = np.uint64(33)
    for mixer in _MIXERS:  # sums that differ by what all texts have, must not stay in order
        sums = (sums ^ (sums >> shift)) * mixer
    return sums ^ (sums >> shift)


MIN_PAIRS = 4
"""Joinable pairs that learning needs: T of the paper."""
DELTA = 0.8
"""Relative deviation below the expected number of pairs that is provided for: δ of the paper."""
_EXPECTED_PAIRS = MIN_PAIRS / (1 - DELTA)
"""A sample with so many joinable pairs on average holds more than `MIN_PAIRS` with a probability of 99.8 %."""


def sample_sizes(n_source: int, n_target: int, participation: float = 0.1) -> tuple[int, int]:
    """Compute how many rows of each table to sample.

    Parameters
    ----------
    n_source, n_target : int
        Rows of the tables.
    participation : float, default 0.1
        The smallest share of the target's rows that takes part in the join: r of the paper.

    Returns
    -------
    tuple of int
        Rows to take of source and target; all of them where the tables are small.

    Notes
    -----
    Minimises ``n_source p_s + n_target p_t`` under ``n_target p_t p_s r >= T / (1 - δ)`` with T = 4 and
    δ = 0.8, which makes at most T pairs less likely than exp(-δ² 20 / 2) < 0.0017.
    Source: Auto-Join, equations 4.5 to 4.8 (thesis, section 4.5). Deviation: the paper's closed form has
    p_s and p_t exchanged, which matters when the tables differ in size; at the optimum both samples have
    ``sqrt(20 n_source / r)`` rows, and where one of them would exceed its table the other makes up for it.

    Examples
    --------
    >>> sample_sizes(1_000_000, 1_000_000)
    (14143, 14143)
    >>> sample_sizes(1_000_000, 500)
    (400001, 500)
    """
    if n_source == 0 or n_target == 0:
        return n_source, n_target
    product = _EXPECTED_PAIRS * n_source / participation  # rows of source times rows of target
    each = math.sqrt(product)
    source = min(n_source, each)
    target = min(n_target, product / source)
    source = min(n_source, product / target)
    return math.ceil(source), math.ceil(target)


_UNSAMPLED_ROWS = 5_000
"""Rows up to which a table is taken whole."""

Direction = Literal["left_to_right", "right_to_left"]
DIRECTIONS: tuple[Direction, Direction] = ("left_to_right", "right_to_left")


class Needs(NamedTuple):
    """What a program needs to be accepted.

    Parameters
    ----------
    bits : float
        Evidence against chance.
    precision : float
        Estimated share of right pairs.
    """

    bits: float = MIN_BITS
    precision: float = MIN_PRECISION


USUAL_NEEDS = Needs()
ACCEPT = "pass transform='accept' to join by it"
"""How a relation of named keys is accepted that has less."""


@dataclass
class SampledTable:
    """One table, whole and sampled.

    Parameters
    ----------
    columns : list of Column
        The columns with all rows.
    sample : list of Column
        The same columns with the rows of the sample.
    given : tuple of str
        Columns that the caller named; empty if none.
    rows : ndarray of int64
        Row numbers of the sample, in the order of a hash of what the rows hold.
    needs : Needs
        What programs over it need.
    """

    columns: list[Column]
    sample: list[Column]
    given: tuple[str, ...]
    rows: NDArray[np.int64]
    arrays: dict[str, SuffixArray] = field(default_factory=dict)
    needs: Needs = USUAL_NEEDS

    def candidates(self) -> list[Column]:
        """Return the columns that may take part: those given, else all that hold two values and no fractions."""
        if self.given:
            return [column for column in self.sample if column.name in self.given]
        return [column for column in self.sample if not column.is_measure and len(column.values) >= 2]

    def keys(self) -> list[tuple[Program, Column]]:
        """Return the keys that may be joined, each with the program that makes it.

        These are the columns given or the only one, else the columns that are nearly keys, and what is a key
        of several columns.
        """
        if len(self.given) > 1:
            return [join_columns([self.sampled(name) for name in self.given])]
        candidates = self.candidates()
        columns = [column for column in candidates if self.is_key_fixed or column.uniqueness >= KEY_UNIQUENESS]
        singles = [(Program.identity(column.name), column) for column in columns]
        return singles if self.is_key_fixed else singles + composite_keys(candidates)

    @cached_property
    def is_key_fixed(self) -> bool:
        """Whether the key is not to be chosen: columns are given, or there is only one that holds no fractions."""
        return bool(self.given) or len(self.columns) == 1 or sum(not _is_measure(one) for one in self.sample) == 1

    def sampled(self, name: str) -> Column:
        """Return the column of a name with the rows of the sample."""
        return next(column for column in self.sample if column.name == name)

    def full_column(self, name: str) -> Column:
        """Return the column of a name with all its rows."""
        return next(column for column in self.columns if column.name == name)

    def position(self, name: str) -> int:
        """Return the number of a column, from 0."""
        return [column.name for column in self.columns].index(name)

    def suffixes(self, column: Column) -> SuffixArray:
        """Return the suffix array of a sampled column, made once."""
        if column.name not in self.arrays:
            self.arrays[column.name] = SuffixArray(column.values)
        return self.arrays[column.name]


def _is_measure(column: Column) -> bool:
    """Tell whether most values of a column are fractions, which count or measure something."""
    return len(column.values) > 0 and bool((column.values.classes == numbers.NUMBER).mean() > HALF)


def sample_sides(
    tables: tuple[list[Column], list[Column]],
    given: tuple[tuple[str, ...], tuple[str, ...]],
    needs: Needs = USUAL_NEEDS,
) -> tuple[SampledTable, SampledTable]:
    """Sample the rows of both tables if one of them is large, and order them by what they hold.

    Notes
    -----
    Rows are drawn by a hash of what they hold, so that what is learned does not depend on the order of the rows, and
    so that a row and its partner are often drawn together (`sample_rows`). Deviation: the paper draws both samples by
    chance, of which two of 14,143 rows share 200 pairs where a million rows have partners: too few beside the pairs of
    names that share a last name only.
    """
    n_rows = [len(columns[0]) if columns else 0 for columns in tables]
    sizes = n_rows
    if max(n_rows) > _UNSAMPLED_ROWS:  # enough for either direction
        forward, backward = sample_sizes(*n_rows), sample_sizes(*n_rows[::-1])
        sizes = [max(forward[0], backward[1]), max(forward[1], backward[0])]
    sides = []
    for columns, size, names in zip(tables, sizes, given, strict=True):
        telling = [column for column in columns if column.name in names or not (names or column.is_measure)]
        rows = sample_rows(telling or columns, size)
        sides.append(SampledTable(columns, [column.take(rows) for column in columns], names, rows, needs=needs))
    return sides[0], sides[1]
