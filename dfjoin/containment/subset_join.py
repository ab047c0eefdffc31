"""The set containment join of two collections: which method computes it, and its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dfjoin import _validation as check
from dfjoin.containment.partial_join import needed_counts, overlap_pairs
from dfjoin.containment.result_stream import ContainedPairs
from dfjoin.containment.scan_join import scan_pairs
from dfjoin.containment.set_collection import SetCollection, encode_sides
from dfjoin.containment.subset_pairs import ROOM, SetPairs
from dfjoin.containment.tree_join import cross_pairs, partition_pairs, tree_pairs
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
    """

    threshold: float = 1.0
    method: str | None = None


def containment_options(threshold: Any, method: Any) -> ContainmentOptions:
    """Check the arguments of a containment join.

    Raises
    ------
    InvalidParameterError
        If the threshold is not above 0, there is no such method, or a method is given for a partial join.
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
    return ContainmentOptions(share, method)


def join_collections(left: SetCollection, right: SetCollection, options: ContainmentOptions) -> Iterator[SetPairs]:
    """Find the right sets that hold at least a share of each left set; empty left sets are held by all right ones."""
    everything = right.present_rows()
    for row in left.empty_rows().tolist():
        for start in range(0, everything.size, ROOM):
            part = everything[start : start + ROOM]
            yield SetPairs(np.full(part.size, row), part, np.zeros(part.size, np.int64))
    if left.elements.size == 0 or right.elements.size == 0:
        return
    if options.threshold < 1:
        yield from overlap_pairs(left, right, needed_counts(left.sizes, options.threshold))
    else:
        yield from METHODS[options.method or "scan"](left, right)


def join_lists(left: Any, right: Any, options: ContainmentOptions) -> ContainedPairs:
    """Join two columns of lists, or two pairs of arrays, see `dfjoin.containment_join`."""
    sides = encode_sides(left, right)

    def batches() -> Iterator[pa.RecordBatch]:
        for pairs in join_collections(*sides, options):
            share = pairs.matched / np.maximum(1, sides[0].sizes[pairs.left])
            share[pairs.matched == 0] = 1.0
            yield pa.record_batch([*map(pa.array, (*pairs, share))], schema=_SCHEMA)

    about = f"of {len(sides[0])} and {len(sides[1])} sets"
    return ContainedPairs(_SCHEMA, batches, ["left", "right"], about)
