"""Runs and catalogue records → a segment directory. The one code path that writes segments."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.index.catalog import Records, replace_field, write_catalog
from dfjoin.index.components import CATALOG_FILE, write_bytes, write_component
from dfjoin.index.manifest import GroupMeta, SegmentMeta
from dfjoin.index.runs import PADDING, Run
from dfjoin.kernels.grouping import group_lists, group_tokens, transpose_lists
from dfjoin.kernels.postings import build_directory, directory_bits

__all__ = ["write_segment"]


def write_segment(
    index: Path,
    runs: Iterable[Run],
    tables: pa.StructArray,
    columns: pa.StructArray,
    skipped: Records,
) -> SegmentMeta:
    """Write a new segment; it belongs to the index once a manifest names it.

    Parameters
    ----------
    index : Path
        Directory of the index.
    runs : iterable of Run
        Consecutive stretches of the tokens in order of hash, with final column ids.
    tables, columns, skipped : pyarrow.StructArray
        Catalogue records, sorted as `dfjoin.index.catalog.write_catalog` says; ``cardinality`` of an
        indexed column is set here, from its tokens.

    Returns
    -------
    SegmentMeta

    Notes
    -----
    Memory: the tokens and postings of the segment once, about its size on disk.
    """
    run = _join(list(runs))
    segment_id = uuid.uuid4().hex
    directory = index / "segments" / segment_id
    arrays = _token_arrays(run, len(columns))
    cardinalities = arrays.pop("cardinalities")
    is_indexed = columns.field("is_indexed").to_numpy() > 0
    known = columns.field("cardinality").to_numpy()
    columns = replace_field(columns, "cardinality", np.where(is_indexed, cardinalities, known))
    tokens_id, catalog_id = f"tokens-{uuid.uuid4().hex[:8]}", f"catalog-{uuid.uuid4().hex[:8]}"
    components = tuple(write_component(directory, tokens_id, name, a) for name, a in arrays.items())
    catalog = write_bytes(directory, catalog_id, CATALOG_FILE, write_catalog(tables, columns, skipped))
    counts = {
        "tables": len(tables),
        "columns": len(columns),
        "indexed_columns": int(is_indexed.sum()),
        "skipped": len(skipped),
        "tokens": run.n_tokens,
        "lists": int(arrays["list_indptr"].size - 1),
        "postings": int(arrays["list_columns"].size),
        "pairs": int(run.columns.size),
    }
    groups = (GroupMeta("tokens", tokens_id, components), GroupMeta("catalog", catalog_id, (catalog,)))
    return SegmentMeta(segment_id, counts, groups)


def _join(parts: list[Run]) -> Run:
    """Put consecutive stretches together."""
    if len(parts) == 1:
        return parts[0]
    offsets = [np.zeros(1, np.int64)]
    indptr = [np.zeros(1, np.int64)]
    for part in parts:
        offsets.append(part.value_offsets[1:] + offsets[-1][-1])
        indptr.append(part.indptr[1:] + indptr[-1][-1])
    padding = np.zeros(PADDING, np.uint8)
    return Run(
        np.concatenate([part.hash for part in parts] or [np.empty(0, np.uint64)]),
        np.concatenate(offsets),
        np.concatenate([*(part.value_bytes[: part.value_offsets[-1]] for part in parts), padding]),
        np.concatenate(indptr),
        np.concatenate([part.columns for part in parts] or [np.empty(0, np.int32)]),
    )


def _token_arrays(run: Run, n_columns: int) -> dict[str, NDArray[Any]]:
    """Compute the components of the ``tokens`` group, and the cardinality of each column."""
    groups, list_indptr, list_columns = group_lists(run.indptr, run.columns, n_columns)
    n_groups = n_columns + list_indptr.size - 1
    group_indptr, tokens_of_groups = group_tokens(groups, n_groups)
    set_indptr, set_lists, positions, cardinalities = transpose_lists(
        list_indptr, list_columns, group_indptr, n_columns
    )
    return {
        "hash": run.hash,
        "directory": build_directory(run.hash, directory_bits(run.n_tokens)),
        "group": groups,
        "value_offsets": run.value_offsets,
        "value_bytes": run.value_bytes,
        "group_indptr": group_indptr,
        "group_tokens": tokens_of_groups,
        "list_indptr": list_indptr,
        "list_columns": list_columns,
        "list_positions": positions,
        "set_indptr": set_indptr,
        "set_lists": set_lists,
        "cardinalities": cardinalities,
    }
