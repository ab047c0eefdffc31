"""The ``signatures`` group of a segment: MinHash signatures of its large columns, each row sorted for search.

Slots number the signed columns by (cardinality, column id). The signature matrix, one row for each MinHash
value and one column for each slot, is stored with every row sorted: the values, and the slot of each.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin import _validation as check
from dfjoin.errors import InvalidParameterError
from dfjoin.index.component_files import removed_on_error, write_component
from dfjoin.index.components import SIGNATURES
from dfjoin.index.manifest import GroupMeta
from dfjoin.kernels.records import Groups, Sets
from dfjoin.kernels.sets.lsh_partitions import optimal_ends
from dfjoin.kernels.sets.minhash import sign_columns
from dfjoin.types import IndexSettings

if TYPE_CHECKING:
    from dfjoin.index.segment import Segment


PARTITIONINGS = ("optimal", "equal_depth")
"""How the signed columns may be cut into partitions."""

_MAX_ROWS = 4096


def check_signature_settings(settings: IndexSettings) -> IndexSettings:
    """Return settings whose numbers of signatures are plain integers.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If what they say of signatures is not legal.
    """
    permutations: Any = settings.permutations
    if type(permutations) is not int or permutations != 0:
        permutations = check.check_positive_int(permutations, "settings['permutations']")
        if permutations > _MAX_ROWS:
            raise InvalidParameterError(
                f"`settings['permutations']` must be at most {_MAX_ROWS}, or 0 for none, got {permutations!r}"
            )
    smallest = settings.signature_min
    if smallest is not None:
        smallest = check.check_positive_int(smallest, "settings['signature_min']")
    partitions = check.check_positive_int(settings.partitions, "settings['partitions']")
    check.check_choice(settings.partitioning, "settings['partitioning']", PARTITIONINGS)
    check.check_flag(settings.keep_sets, "settings['keep_sets']")
    if not settings.keep_sets and not permutations:
        raise InvalidParameterError(
            "`settings['keep_sets']` False needs signatures to stand for the sets, but `permutations` is 0; leave "
            "one of them out"
        )
    return replace(settings, permutations=permutations, signature_min=smallest, partitions=partitions)


class SignedColumns(NamedTuple):
    """Signatures that move from one segment to another.

    Parameters
    ----------
    columns : ndarray of int32, shape (n,)
        Column ids, ascending.
    matrix : ndarray of uint32, shape (n, n_rows)
        The signature of each.
    """

    columns: NDArray[np.int32]
    matrix: NDArray[np.uint32]


def sign_large_columns(
    tokens: dict[str, NDArray[Any]], cardinality: NDArray[np.int64], settings: IndexSettings
) -> SignedColumns:
    """Compute the signatures of the columns that are large enough, from a segment's dictionary and sets.

    Parameters
    ----------
    tokens : dict
        Arrays of the ``tokens`` group.
    cardinality : ndarray of int64, shape (n_columns,)
        Distinct values of each column; 0 for one that is not indexed.
    settings : IndexSettings

    Returns
    -------
    SignedColumns
    """
    large = np.flatnonzero(cardinality >= max(1, settings.smallest_signed)).astype(np.int32)
    groups, sets = (
        Groups(tokens["group_indptr"], tokens["group_tokens"]),
        Sets(tokens["set_indptr"], tokens["set_lists"]),
    )
    seed = np.uint64(settings.hash_seed)
    matrix = sign_columns(large, tokens["hash"], groups, sets, cardinality, settings.permutations, seed)
    return SignedColumns(large, matrix)


def write_signatures(directory: Path, signed: SignedColumns, cardinality: NDArray[np.int64]) -> GroupMeta:
    """Write the ``signatures`` group below a segment's directory.

    Parameters
    ----------
    directory : Path
        The segment's directory.
    signed : SignedColumns
    cardinality : ndarray of int64, shape (n_columns,)

    Returns
    -------
    GroupMeta

    Notes
    -----
    O(n_rows n log n) time; memory of three signatures for each column.
    """
    order = np.argsort(cardinality[signed.columns], kind="stable")
    n, n_rows = signed.matrix.shape
    values, slots = np.empty((n_rows, n), np.uint32), np.empty((n_rows, n), np.int32)
    for row in range(n_rows):
        # Value and slot in one number, so that a plain sort does the work, and equal values stand by set size.
        packed = signed.matrix[order, row].astype(np.uint64) << np.uint64(32)
        packed |= np.arange(n, dtype=np.uint64)
        packed.sort()
        values[row] = packed >> np.uint64(32)
        slots[row] = packed & np.uint64(0xFFFFFFFF)
    arrays = {"signature_columns": signed.columns[order], "signature_values": values, "signature_slots": slots}
    group = f"signatures-{uuid.uuid4().hex[:8]}"
    with removed_on_error(directory / group):
        components = tuple(write_component(directory, group, n, arrays[n]) for n in SIGNATURES)
    return GroupMeta("signatures", group, components)


def read_signatures(segment: Segment) -> SignedColumns:
    """Read the signatures of a segment back, one row for each column."""
    stored = segment.signatures
    order = np.argsort(stored.columns, kind="stable")
    position = np.empty(order.size, np.int64)
    position[order] = np.arange(order.size)
    matrix = np.empty(stored.values.shape[::-1], np.uint32)
    for row in range(stored.values.shape[0]):
        matrix[position[stored.slots[row]], row] = stored.values[row]
    return SignedColumns(stored.columns[order], matrix)


def merge_signatures(segments: Sequence[Segment], maps: Sequence[NDArray[np.int32]]) -> SignedColumns | None:
    """Unite the signatures of segments whose columns are merged into one; nothing is computed again.

    Parameters
    ----------
    segments : sequence of Segment
    maps : sequence of ndarray of int32
        For each segment: column id → id in the merged one, -1 for a column that is gone.

    Returns
    -------
    SignedColumns or None
        None when a segment has no signatures.
    """
    if any(segment.meta.group("signatures") is None for segment in segments):
        return None
    columns, matrices = [], []
    for segment, column_map in zip(segments, maps, strict=True):
        signed = read_signatures(segment)
        targets = column_map[signed.columns]
        columns.append(targets[targets >= 0])
        matrices.append(signed.matrix[targets >= 0])
    every = np.concatenate(columns)
    order = np.argsort(every, kind="stable")
    return SignedColumns(every[order], np.concatenate(matrices)[order])


class SizeCounts(NamedTuple):
    """How many signed columns have which size: distinct sizes ascending, and the columns of each."""

    sizes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: NDArray[np.int64]) -> SizeCounts:
        """Count sizes that are given one by one."""
        distinct, counts = np.unique(sizes.astype(np.int64), return_counts=True)
        return cls(distinct, counts.astype(np.int64))


def count_sizes(cardinality: NDArray[np.int64], is_indexed: NDArray[np.bool_], settings: IndexSettings) -> SizeCounts:
    """Count the sizes of the columns that are signed; what partitions are cut from, however many columns there are."""
    return SizeCounts.of(cardinality[is_indexed & (cardinality >= max(1, settings.smallest_signed))])


def add_sizes(parts: Iterable[SizeCounts]) -> SizeCounts:
    """Unite the counts of several segments."""
    every = [SizeCounts(np.empty(0, np.int64), np.empty(0, np.int64)), *parts]
    sizes, position = np.unique(np.concatenate([part.sizes for part in every]), return_inverse=True)
    counts = np.zeros(sizes.size, np.int64)
    np.add.at(counts, position, np.concatenate([part.counts for part in every]))
    return SizeCounts(sizes, counts)


def cut_partitions(found: SizeCounts, settings: IndexSettings) -> tuple[int, ...]:
    """Cut the sizes of the signed columns into partitions.

    Parameters
    ----------
    found : SizeCounts
        Of all signed columns.
    settings : IndexSettings
        `partitions` at most, `partitioning`.

    Returns
    -------
    tuple of int
        Largest size of each partition, ascending; fewer when there are not so many different sizes.
    """
    sizes, counts = found
    n = min(settings.partitions, sizes.size)
    if n == 0:
        return ()
    if settings.partitioning == "optimal":
        ends = sizes[optimal_ends(sizes, counts, n)]
    else:
        up_to = np.cumsum(counts)
        last = np.arange(1, n + 1) * int(up_to[-1]) // n - 1  # of each partition, as numbers of columns
        ends = sizes[np.searchsorted(up_to, last, side="right")]
    return tuple(np.unique(ends).tolist())


def partition_slots(sizes: NDArray[np.int64], ends: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the partition of each slot.

    Columns larger than the last end, which came after the partitions were cut, are in partitions whose ends
    double.

    Parameters
    ----------
    sizes : ndarray of int64, shape (n,)
        Distinct values of each slot, ascending.
    ends : sequence of int
        Largest size of each partition, ascending.

    Returns
    -------
    indptr : ndarray of int64, shape (n_partitions + 1,)
        Slots of each partition.
    ends : ndarray of int64, shape (n_partitions,)
        Largest size of each, the doubled ones included.
    """
    every = list(ends)
    largest = int(sizes[-1]) if sizes.size else 0
    while not every or every[-1] < largest:
        every.append(2 * every[-1] if every else 1024)
    upper = np.array(every, np.int64)
    return np.append(0, np.searchsorted(sizes, upper, "right")), upper
