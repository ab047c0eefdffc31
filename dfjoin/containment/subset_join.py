"""The set containment join of two collections: the default method, a scan, the choice of another, rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin import _validation as check
from dfjoin.containment.external_join import SMALLEST_BUDGET, ReadCounts, external_pairs
from dfjoin.containment.lcjoin.tree_join import cross_pairs, partition_pairs, tree_pairs
from dfjoin.containment.partial_join import needed_counts, overlap_pairs
from dfjoin.containment.result_stream import ContainedPairs
from dfjoin.containment.set_collection import MOST_SETS, SetCollection, encode_sides
from dfjoin.containment.subset_pairs import ROOM, SetPairs, group_sets, new_buffer, run_kernel, sign
from dfjoin.errors import InvalidParameterError
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.sets.set_lists import (
    InvertedLists,
    count_small_sets,
    fill_lists,
    find_rarest,
)
from dfjoin.kernels.sets.subset_marks import MarkWork, mark_supersets
from dfjoin.kernels.sets.subset_runs import MOST_HELD, LeftRuns
from dfjoin.kernels.sets.subset_scan import MOST_READ, N_SLICES, ScanWork, scan_lists

_LARGEST_LISTED = 64  # as many elements as a bitmap has bits, most of which are set then
_TEST_COST = 2  # of a left set that is tested against marks, beside that of an element that is written to slices


class _PreparedSides(NamedTuple):
    """Both sides of a join, prepared, and how many pairs a batch has."""

    left: SetCollection
    right: SetCollection
    runs: LeftRuns
    signatures: NDArray[np.uint64]
    room: int


def scan_pairs(left: SetCollection, right: SetCollection, room: int = ROOM) -> Iterator[SetPairs]:
    """Find the right sets that hold all of each left set that has elements.

    Parameters
    ----------
    left, right : SetCollection
        Over the same elements; the same object for a join of a collection with itself.
    room : int
        Pairs of a batch, at most.

    Yields
    ------
    SetPairs
        Batches: of large right sets in their order, then in the order of the rarest elements.

    Notes
    -----
    Right sets of up to 64 elements are read from inverted lists, see `scan_lists`; of larger ones the elements are
    marked once, see `mark_supersets`, unless so few elements are so frequent that slices of lists cost less, which the
    sizes tell. Memory beside the collections: the inverted lists of the elements that are the rarest of a left set, 28
    bytes for each left set, 8 for each right one, 28 for each element.
    """
    counts = right.count_elements()
    rarest = np.empty(len(left), np.int64)
    find_rarest(left.lists, as_read_only(counts), rarest)
    sides = _PreparedSides(left, right, group_sets(left, rarest, left.n_elements), sign(right), room)
    del rarest
    largest = _largest_listed(sides, counts)
    is_large = right.sizes > largest
    if is_large.any():
        yield from _marked(sides, np.flatnonzero(is_large).astype(np.int32))
    if not is_large.all():
        yield from _listed(sides, counts, largest)


def _largest_listed(sides: _PreparedSides, counts: NDArray[np.int64]) -> int:
    """Choose the size up to which right sets are read from lists; leave the counts of these alone in `counts`."""
    sizes = sides.right.sizes
    if int(sizes.max(initial=0)) <= _LARGEST_LISTED:
        return _LARGEST_LISTED
    small = np.zeros_like(counts)
    count_small_sets(sides.right.lists, _LARGEST_LISTED, small)
    n_tests = int(np.dot(counts - small, np.diff(sides.runs.first)))
    n_sliced = float(np.square(sizes[sizes > _LARGEST_LISTED], dtype=float).sum())
    if _TEST_COST * n_tests > n_sliced:
        return MOST_SETS
    counts[:] = small
    return _LARGEST_LISTED


def _marked(sides: _PreparedSides, rows: NDArray[np.int32]) -> Iterator[SetPairs]:
    """Find the pairs of some right sets by marking their elements."""
    work = MarkWork(
        np.zeros(sides.left.n_elements // 64 + 1, np.uint64), np.empty(MOST_HELD, np.int32), np.empty(1, np.int32)
    )
    arguments = sides.runs, (sides.right.lists, sides.signatures), as_read_only(rows), work
    state, buffer = np.zeros(6, np.int64), new_buffer(sides.room)
    yield from run_kernel(mark_supersets, arguments, state, rows.size, buffer, sides.left.sizes)


def _listed(sides: _PreparedSides, counts: NDArray[np.int64], largest: int) -> Iterator[SetPairs]:
    """Find the pairs of the right sets up to a size by inverted lists."""
    lengths = np.where(np.diff(sides.runs.first) > 0, counts, 0)
    ends = np.cumsum(lengths)
    rows = np.empty(int(ends[-1]) if ends.size else 0, np.int32)
    fill_lists(sides.right.lists, largest, np.where(lengths > 0, ends - lengths, -1), rows)
    lists = InvertedLists(*map(as_read_only, (ends - lengths, ends, rows)))
    longest = int(lengths.max(initial=0))
    del lengths
    work = ScanWork(
        np.empty(longest, np.uint64),
        np.empty((-(-longest // 64), N_SLICES), np.uint64),
        np.empty(MOST_READ, np.int64),
        np.empty(MOST_HELD, np.int32),
    )
    arguments = sides.runs, (sides.right.lists, sides.signatures, sides.left is sides.right), lists, work
    state, buffer = np.zeros(5, np.int64), new_buffer(sides.room)
    yield from run_kernel(scan_lists, arguments, state, sides.left.n_elements, buffer, sides.left.sizes)


METHODS: dict[str, Callable[[SetCollection, SetCollection], Iterator[SetPairs]]] = {
    "scan": scan_pairs,
    "cross": cross_pairs,
    "tree": tree_pairs,
    "partitions": partition_pairs,
}
"""The methods of a join by whole containment; all give the same pairs."""

_SCHEMA = pa.schema(
    [("left", pa.int64()), ("right", pa.int64()), ("matched", pa.int64()), ("containment", pa.float64())]
)


@dataclass(frozen=True)
class ContainmentOptions:
    """The checked arguments of a containment join.

    Parameters
    ----------
    threshold : float
    method : str or None
    memory_budget : int or None
        Bytes.
    reads : ReadCounts
        What a join within a budget has read.
    """

    threshold: float = 1.0
    method: str | None = None
    memory_budget: int | None = None
    reads: ReadCounts = field(default_factory=ReadCounts, compare=False)

    def stats(self) -> dict[str, int]:
        """Return what was read; nothing for a join without a budget."""
        return asdict(self.reads) if self.reads.partitions else {}


def containment_options(threshold: Any, method: Any, memory_budget: Any = None) -> ContainmentOptions:
    """Check the arguments of a containment join.

    Raises
    ------
    InvalidParameterError
        If the threshold is not above 0, there is no such method, the budget is too small, or a method or a budget is
        given for a partial join.
    """
    share = check.check_fraction(threshold, "threshold")
    if share == 0:
        raise InvalidParameterError("`threshold` must be above 0, got 0: every set holds none of every other one")
    method = check.check_choice(method, "method", (None, *METHODS))
    if method is not None and share < 1:
        raise InvalidParameterError(
            f"`method` must be None where `threshold` is below 1, got {check.show(method)}: the methods find whole "
            "containment"
        )
    if memory_budget is not None:
        memory_budget = check.check_positive_int(memory_budget, "memory_budget")
        if memory_budget < SMALLEST_BUDGET:
            raise InvalidParameterError(
                f"`memory_budget` must be at least {SMALLEST_BUDGET} bytes, got {memory_budget}"
            )
        if share < 1:
            raise InvalidParameterError(f"`memory_budget` needs `threshold` 1, got {check.show(share)}")
        if method not in (None, "scan"):
            raise InvalidParameterError(f"`memory_budget` needs `method` None or 'scan', got {check.show(method)}")
    return ContainmentOptions(share, method, memory_budget)


def join_collections(left: SetCollection, right: SetCollection, options: ContainmentOptions) -> Iterator[SetPairs]:
    """Find the right sets that hold at least a share of each left set; empty left sets are held by all right ones."""
    for row in left.empty_rows():
        for start in range(0, len(right), ROOM):
            part = right.present_rows(start, min(start + ROOM, len(right)))
            yield SetPairs(np.full(part.size, row), part, np.zeros(part.size, np.int64))
    if left.elements.size == 0 or right.elements.size == 0:
        return
    if options.threshold < 1:
        yield from overlap_pairs(left, right, needed_counts(left.sizes, options.threshold))
    elif options.memory_budget is not None:
        yield from external_pairs(left, right, options.memory_budget, options.reads)
    else:
        yield from METHODS[options.method or "scan"](left, right)


def join_lists(left: Any, right: Any, options: ContainmentOptions) -> ContainedPairs:
    """Join two columns of lists, or two pairs of arrays, see `dfjoin.containment_join`."""
    sides = encode_sides(left, right)

    def batches() -> Iterator[pa.RecordBatch]:
        for pairs in join_collections(*sides, options):
            share = pairs.matched / np.maximum(1, sides[0].sizes_of(pairs.left))
            share[pairs.matched == 0] = 1.0
            yield pa.record_batch([*map(pa.array, (*pairs, share))], schema=_SCHEMA)

    about = f"of {len(sides[0])} and {len(sides[1])} sets"
    return ContainedPairs(_SCHEMA, batches, ["left", "right"], about, options.stats)
