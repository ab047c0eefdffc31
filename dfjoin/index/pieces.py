"""The ``patterns`` group of a segment: pieces of values that survive transformations, and their columns."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.index.component_files import removed_on_error, write_component
from dfjoin.index.components import PATTERNS
from dfjoin.index.manifest import GroupMeta
from dfjoin.kernels.records import Groups, Sets, as_read_only
from dfjoin.kernels.sorting import argsort_u64
from dfjoin.kernels.texts.value_pieces import column_pieces
from dfjoin.types import IndexSettings

PATTERN_KINDS = ("text", "date")
"""Kinds of columns whose pattern tokens are indexed: digits alone match too much by chance."""


def find_patterns(
    tokens: dict[str, NDArray[Any]], kinds: NDArray[np.integer], settings: IndexSettings
) -> dict[str, NDArray[Any]]:
    """Compute the components of the ``patterns`` group from a segment's vocabulary and sets.

    Parameters
    ----------
    tokens : dict
        Arrays of the ``tokens`` group.
    kinds : ndarray of int, shape (n_columns,)
        Kind of each column as a number in `KINDS`, -1 for one that is not indexed.
    settings : IndexSettings

    Returns
    -------
    dict
        Component → array.

    Notes
    -----
    Pieces as in `dfjoin.kernels.texts.value_pieces.value_pieces`. 36 bytes of memory a posting.
    """
    columns = np.flatnonzero(np.isin(kinds, [KINDS.index(kind) for kind in PATTERN_KINDS])).astype(np.int32)
    locked = {name: as_read_only(array) for name, array in tokens.items()}
    groups = Groups(locked["group_indptr"], locked["group_tokens"])
    sets = Sets(locked["set_indptr"], locked["set_lists"])
    seed = np.uint64(settings.hash_seed)
    offsets, data = locked["value_offsets"], locked["value_bytes"]
    indptr, hashes = column_pieces(columns, offsets, data, groups, sets, seed)
    sizes = np.zeros(kinds.size, np.int32)
    sizes[columns] = np.diff(indptr)
    order = argsort_u64(hashes)  # stable: columns ascend within a list
    ordered = hashes[order]
    is_first = np.ones(ordered.size, bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_first)
    return {
        "pattern_hash": ordered[starts],
        "pattern_indptr": np.append(starts, ordered.size),
        "pattern_columns": np.repeat(columns, np.diff(indptr))[order],
        "pattern_sizes": sizes,
    }


def write_patterns(directory: Path, arrays: dict[str, NDArray[Any]]) -> GroupMeta:
    """Write the ``patterns`` group below a segment's directory.

    Parameters
    ----------
    directory : Path
        The segment's directory.
    arrays : dict
        As `find_patterns` returns them.

    Returns
    -------
    GroupMeta
    """
    group = f"patterns-{uuid.uuid4().hex[:8]}"
    with removed_on_error(directory / group):
        components = tuple(write_component(directory, group, n, arrays[n]) for n in PATTERNS)
    return GroupMeta("patterns", group, components)
