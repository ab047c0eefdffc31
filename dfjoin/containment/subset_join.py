"""The set containment join of two collections: which method computes it, and its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from dfjoin import _validation as check
from dfjoin.containment.external_join import SMALLEST_BUDGET, ReadCounts, external_pairs
from dfjoin.containment.lcjoin.tree_join import cross_pairs, partition_pairs, tree_pairs
from dfjoin.containment.partial_join import needed_counts, overlap_pairs
from dfjoin.containment.result_stream import ContainedPairs
from dfjoin.containment.scan_join import scan_pairs
from dfjoin.containment.set_collection import SetCollection, encode_sides
from dfjoin.containment.subset_pairs import ROOM, SetPairs
from dfjoin.errors import InvalidParameterError

__all__ = ["METHODS", "ContainmentOptions", "containment_options", "join_collections", "join_lists"]

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
