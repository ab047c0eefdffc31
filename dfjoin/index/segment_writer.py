"""Runs and catalogue records → a segment directory. The one code path that writes segments."""

from __future__ import annotations

import itertools
import shutil
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.index.catalog import Records, catalog_features, replace_field, write_catalog
from dfjoin.index.component_files import (
    ComponentStream,
    map_component,
    map_file,
    release_memory,
    removed_on_error,
    write_bytes,
    write_component,
)
from dfjoin.index.components import CATALOG_FILE, TOKENS, ComponentMeta, create_file, make_directory, segment_directory
from dfjoin.index.manifest import GroupMeta, SegmentMeta
from dfjoin.index.pieces import find_patterns, write_patterns
from dfjoin.index.runs import PADDING, Run, merge_runs
from dfjoin.index.signatures import SignedColumns, sign_large_columns, write_signatures
from dfjoin.kernels.lists.grouping import group_lists, group_tokens, transpose_lists
from dfjoin.kernels.lists.postings import build_directory, directory_bits
from dfjoin.types import IndexSettings

_VALUES = ("hash", "value_offsets", "value_bytes")
_STRETCH_TOKENS = 1 << 20
_PAIRS = "pairs-"
"""Start of a directory in a segment that is being written from several stretches: each token's columns."""


class SegmentRecords(NamedTuple):
    """Catalogue records of a segment, sorted as `dfjoin.index.catalog.write_catalog` says."""

    tables: pa.StructArray
    columns: pa.StructArray
    skipped: Records


def write_segment(
    index: Path,
    runs: Iterable[Run],
    records: SegmentRecords,
    settings: IndexSettings | None = None,
    signed: SignedColumns | None = None,
    name: str | None = None,
) -> SegmentMeta:
    """Write a new segment; it belongs to the index once a manifest names it.

    Parameters
    ----------
    index : Path
        Directory of the index.
    runs : iterable of Run
        Consecutive stretches of the tokens in order of hash, with final column ids.
    records : SegmentRecords
        For the catalogue; ``cardinality`` of an indexed column is set here, from its tokens.
    settings : IndexSettings, optional
        Whether and how columns are signed, whether their sets are kept, and whether pattern tokens are written;
        neither signatures nor patterns by default.
    signed : SignedColumns, optional
        Signatures that were made before; their columns may come without tokens, and have their cardinality.
    name : str, optional
        Name of the segment; by default a new one.

    Returns
    -------
    SegmentMeta

    Notes
    -----
    Memory: one stretch, and for the whole segment 8 bytes a token and 16 a posting; values and hashes are
    written as they come, and each token's columns wait in a file that is mapped.
    """
    directory = segment_directory(index, name or uuid.uuid4().hex)
    with removed_on_error(directory):
        return _write_into(directory, runs, records, settings, signed)


def _write_into(
    directory: Path,
    runs: Iterable[Run],
    records: SegmentRecords,
    settings: IndexSettings | None,
    signed: SignedColumns | None,
) -> SegmentMeta:
    """Write the groups of a segment into its directory."""
    tables, columns, skipped = records
    tokens_id, catalog_id = f"tokens-{uuid.uuid4().hex[:8]}", f"catalog-{uuid.uuid4().hex[:8]}"
    run, written = _write_values(iter(runs), directory, tokens_id)
    release_memory()
    arrays = _token_arrays(run, len(columns))
    cardinalities = arrays.pop("cardinalities")
    is_indexed = columns.field("is_indexed").to_numpy() > 0
    known = columns.field("cardinality").to_numpy()
    if signed is not None:
        cardinalities[signed.columns] = known[signed.columns]
    elif settings is not None and settings.permutations:
        signed = sign_large_columns({**arrays, "hash": run.hash}, np.where(is_indexed, cardinalities, 0), settings)
        if not settings.keep_sets and signed.columns.size:
            dropped = tokens_id
            tokens_id = f"tokens-{uuid.uuid4().hex[:8]}"
            run, written = _write_values(_without_columns(run, signed.columns, len(columns)), directory, tokens_id)
            shutil.rmtree(directory / dropped)
            arrays = _token_arrays(run, len(columns))
            del arrays["cardinalities"]
    run.forget(0, run.n_tokens)
    columns = replace_field(columns, "cardinality", np.where(is_indexed, cardinalities, known))
    written += [write_component(directory, tokens_id, name, array) for name, array in arrays.items()]
    of_name = {component.name: component for component in written}
    components = tuple(of_name[name] for name in TOKENS)
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
    patterns = None
    if settings is not None and settings.patterns:
        values: dict[str, NDArray[Any]] = {"value_offsets": run.value_offsets, "value_bytes": run.value_bytes}
        kinds = np.where(is_indexed, columns.field("kind").to_numpy(), -1)
        patterns = find_patterns({**arrays, **values}, kinds, settings)
    del run, arrays
    catalog = write_bytes(directory, catalog_id, CATALOG_FILE, write_catalog(tables, columns, skipped))
    for scratch in directory.glob(f"{_PAIRS}*"):
        shutil.rmtree(scratch, ignore_errors=True)
    groups = [GroupMeta("tokens", tokens_id, components), GroupMeta("catalog", catalog_id, (catalog,))]
    if signed is not None:
        groups.append(write_signatures(directory, signed, cardinalities))
    if patterns is not None:
        groups.append(write_patterns(directory, patterns))
    return SegmentMeta(directory.name, counts, tuple(groups), features=catalog_features(tables, columns))


def _write_values(runs: Iterator[Run], directory: Path, group: str) -> tuple[Run, list[ComponentMeta]]:
    """Write the hashes and values of all stretches; return the tokens, and what was written of them."""
    first = next(runs, _NOTHING)
    second = next(runs, None)
    if second is None:
        return first, [write_component(directory, group, name, getattr(first, name)) for name in _VALUES]
    hashes, offsets, data = (ComponentStream(directory, group, name) for name in _VALUES)
    scratch = directory / f"{_PAIRS}{group}"
    make_directory(scratch)
    n_pairs = 0
    with create_file(scratch / "indptr") as indptr, create_file(scratch / "columns") as columns:
        offsets.append(np.zeros(1, np.int64))
        indptr.write(np.zeros(1, np.int64).data)
        for run in itertools.chain((first, second), runs):
            hashes.append(run.hash)
            offsets.append(run.value_offsets[1:] + data.length)
            data.append(run.value_bytes[: run.value_offsets[-1]])
            indptr.write((run.indptr[1:] + n_pairs).data)
            columns.write(np.ascontiguousarray(run.columns).data)
            n_pairs += run.columns.size
    data.append(np.zeros(PADDING, np.uint8))
    written = [stream.finish() for stream in (hashes, offsets, data)]
    values = [map_component(directory, component) for component in written]
    pairs = [_map_all(scratch / "indptr", np.int64), _map_all(scratch / "columns", np.int32)]
    return Run(*values, *pairs), written


_NOTHING = Run(
    hash=np.empty(0, np.uint64),
    value_offsets=np.zeros(1, np.int64),
    value_bytes=np.zeros(PADDING, np.uint8),
    indptr=np.zeros(1, np.int64),
    columns=np.empty(0, np.int32),
)


def _map_all(path: Path, dtype: type) -> NDArray[Any]:
    """Map a whole file as an array; an empty one cannot be mapped everywhere."""
    if not path.stat().st_size:
        return np.empty(0, dtype)
    return np.frombuffer(map_file(path), dtype)


def _without_columns(run: Run, columns: NDArray[np.int32], n_columns: int) -> Iterator[Run]:
    """Take columns out of a run, and the tokens that no other column holds."""
    column_map = np.arange(n_columns, dtype=np.int32)
    column_map[columns] = -1
    return merge_runs([run], [column_map], _STRETCH_TOKENS)


def _token_arrays(run: Run, n_columns: int) -> dict[str, NDArray[Any]]:
    """Compute the components of the ``tokens`` group, and the cardinality of each column."""
    groups, list_indptr, list_columns = group_lists(run.indptr, run.columns, n_columns)
    run.forget(0, run.n_tokens)
    n_groups = n_columns + list_indptr.size - 1
    group_indptr, tokens_of_groups = group_tokens(groups, n_groups)
    set_indptr, set_lists, positions, cardinalities = transpose_lists(
        list_indptr, list_columns, group_indptr, n_columns
    )
    return {
        "directory": build_directory(run.hash, directory_bits(run.n_tokens)),
        "group": groups,
        "group_indptr": group_indptr,
        "group_tokens": tokens_of_groups,
        "list_indptr": list_indptr,
        "list_columns": list_columns,
        "list_positions": positions,
        "set_indptr": set_indptr,
        "set_lists": set_lists,
        "cardinalities": cardinalities,
    }
