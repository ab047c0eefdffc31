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
from dfjoin.index.runs import PADDING, Run, merge_runs
from dfjoin.index.signatures import SignedColumns, sign_large_columns, write_signatures
from dfjoin.kernels.grouping import group_lists, group_tokens, transpose_lists
from dfjoin.kernels.postings import build_directory
from dfjoin.types import IndexSettings

__all__ = ["write_segment"]


def write_segment(
    index: Path,
    runs: Iterable[Run],
    tables: pa.StructArray,
    columns: pa.StructArray,
    skipped: Records,
    settings: IndexSettings | None = None,
    signed: SignedColumns | None = None,
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
    settings : IndexSettings, optional
        Whether and how columns are signed, and whether their sets are kept; no signatures by default.
    signed : SignedColumns, optional
        Signatures that were made before; their columns may come without tokens, and have their cardinality.

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
    if signed is not None:
        cardinalities[signed.columns] = known[signed.columns]
    elif settings is not None and settings.permutations:
        signed = sign_large_columns(arrays, np.where(is_indexed, cardinalities, 0), settings)
        if not settings.keep_sets and signed.columns.size:
            run = _without_columns(run, signed.columns, len(columns))
            arrays = _token_arrays(run, len(columns))
            del arrays["cardinalities"]
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
    groups = [GroupMeta("tokens", tokens_id, components), GroupMeta("catalog", catalog_id, (catalog,))]
    if signed is not None:
        groups.append(write_signatures(directory, signed, cardinalities))
    return SegmentMeta(segment_id, counts, tuple(groups))


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


def _without_columns(run: Run, columns: NDArray[np.int32], n_columns: int) -> Run:
    """Take columns out of a run, and the tokens that no other column holds."""
    column_map = np.arange(n_columns, dtype=np.int32)
    column_map[columns] = -1
    return _join(list(merge_runs([run], [column_map], max(1, run.n_tokens))))


def _token_arrays(run: Run, n_columns: int) -> dict[str, NDArray[Any]]:
    """Compute the components of the ``tokens`` group, and the cardinality of each column."""
    groups, list_indptr, list_columns = group_lists(run.indptr, run.columns, n_columns)
    n_groups = n_columns + list_indptr.size - 1
    group_indptr, tokens_of_groups = group_tokens(groups, n_groups)
    set_indptr, set_lists, positions, cardinalities = transpose_lists(
        list_indptr, list_columns, group_indptr, n_columns
    )
    bits = max(1, int(max(run.n_tokens, 8) / 4).bit_length() - 1)
    return {
        "hash": run.hash,
        "directory": build_directory(run.hash, bits),
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
