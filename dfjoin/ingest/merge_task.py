"""Runs → one segment: catalogues united in the order of names, tokens merged by ranges of the hash."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.index.axis_group import carry_axes
from dfjoin.index.catalog import COLUMN_FIELDS, KINDS, SKIPPED_FIELDS, Catalog, known_reason, replace_field
from dfjoin.index.components import CATALOG_FILE, segment_directory
from dfjoin.index.manifest import SegmentMeta
from dfjoin.index.row_group import carry_rows, read_row_files, write_row_group
from dfjoin.index.runs import Run, merge_runs, read_run, run_of_segment
from dfjoin.index.segment import Segment
from dfjoin.index.segment_writer import SegmentRecords, write_segment
from dfjoin.index.signatures import merge_signatures
from dfjoin.index.vector_group import carry_vectors
from dfjoin.ingest.column_buffer import EntryBuffer, profile_of, profile_record
from dfjoin.ingest.read_task import Collected, write_collected
from dfjoin.ingest.undecided import Undecided, read_undecided
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import ValueSet, normalize_batch, read_dates
from dfjoin.values.nulls import NullEvidence
from dfjoin.values.profile import Profile, merge_profiles, profile_values


def decided_part(directories: Sequence[Path], settings: IndexSettings) -> Path | None:
    """Decide what the parts of tables left open, and write the result as one more part beside them.

    Parameters
    ----------
    directories : sequence of Path
        Runs of one directory; those that are no parts do not count.
    settings : IndexSettings

    Returns
    -------
    Path or None
        A run; None where nothing was left open.
    """
    parts: dict[str, list[_TablePart]] = {}
    for directory in directories:
        undecided = read_undecided(directory)
        if undecided:
            catalog = Catalog(directory / CATALOG_FILE, is_of_run=True)
            (table,) = catalog.tables().to_pylist()
            part = _TablePart(table, catalog.columns().to_pylist(), undecided)
            parts.setdefault(table["name"], []).append(part)
    if not parts:
        return None
    runs = directories[0].parent
    with tempfile.TemporaryDirectory(prefix="task-", dir=runs) as scratch:
        buffer = EntryBuffer(settings.task_bytes, Path(scratch))
        made = Collected()
        for members in parts.values():
            lead = members[0]
            for position, record in enumerate(lead.columns):
                column = len(made.columns)
                values, decided = _decide(members, position, settings)
                if values is not None and record["is_indexed"]:
                    buffer.add(column, values)
                else:
                    buffer.dropped.add(column)
                made.columns.append({**record, **decided, "table": len(made.tables), "samples": []})
            made.tables.append({**lead.table, "n_rows": 0})
        return runs / write_collected(buffer, made, runs.parent, 0).id


@dataclass(frozen=True)
class _TablePart:
    """A part of a table: its records, and what it left open by column."""

    table: dict[str, Any]
    columns: list[dict[str, Any]]
    undecided: dict[int, Undecided]


def _decide(parts: list[_TablePart], position: int, settings: IndexSettings) -> tuple[ValueSet | None, dict[str, Any]]:
    """Decide which texts of a column are nulls, and how dates are read; return the values and their record."""
    evidence = NullEvidence()
    rows: dict[str, int] = {}
    dates: set[str] = set()
    for part in parts:
        found = part.undecided.get(position)
        if found is not None:
            evidence.merge(found.evidence)
            dates.update(found.dates)
            for text, n in found.null_rows.items():
                rows[text] = rows.get(text, 0) + n
    nulls = evidence.decide(rows)
    texts = sorted(set(rows) - set(nulls))
    values, profile = None, Profile("empty")
    if texts or dates:
        values = normalize_batch(pa.array([*texts, *sorted(dates)], pa.string()), settings)
        has_others = any(KINDS[part.columns[position]["kind"]] != "empty" for part in parts)
        if not has_others:
            values = read_dates(values, settings)
        profile = profile_values(values, pa.string())
    return values, {
        **profile_record(profile),
        "is_indexed": 0,
        "n_rows": 0,
        "n_null": sum(rows[text] for text in nulls),
        "date_order": "" if values is None else values.date_order,
        "null_spellings": list(nulls),
    }


_CHUNK_TOKENS = 1 << 17
"""Tokens that are merged at a time: some 60 MB with all that belongs to them."""


def merge_into_segment(
    directories: list[Path],
    index: Path,
    settings: IndexSettings,
    skipped: list[dict[str, str]],
    on_part: Callable[[int, int], None] | None = None,
    name: str | None = None,
) -> tuple[str, SegmentMeta]:
    """Merge runs into one segment.

    Parameters
    ----------
    directories : list of Path
        The runs; they stay, so that a task that is lost can be repeated.
    index : Path
        Directory of the index.
    settings : IndexSettings
        Budget.
    skipped : list of dict
        Files that were skipped before any task.
    on_part : callable, optional
        Called with (values, bytes) after each part of the runs is merged; the bytes add up to those of the runs.
    name : str, optional
        Name of the segment; by default a new one.

    Returns
    -------
    first_table : str
        Name of the segment's first table, empty if it has none.
    meta : SegmentMeta
        Its manifest entry.
    """
    runs: list[Run] = []
    owners: list[int] = []
    catalogs = []
    decided = decided_part(directories, settings)
    for owner, directory in enumerate([*directories, *([] if decided is None else [decided])]):
        catalogs.append(Catalog(directory / CATALOG_FILE, is_of_run=True))
        for part in sorted(p for p in directory.iterdir() if p.is_dir()):
            runs.append(read_run(part))
            owners.append(owner)
    tables, columns, maps = merge_catalogs(catalogs, settings.samples)
    # The parts of one run are consecutive stretches already, with the column ids that they keep.
    if len(catalogs) == 1 and bool(np.all((maps[0] == np.arange(maps[0].size)) | (maps[0] < 0))):
        merged: Iterable[Run] = runs
    else:
        merged = merge_runs(runs, [maps[owner] for owner in owners], _CHUNK_TOKENS)
    if on_part is not None:
        merged = _with_progress(merged, runs, on_part)
    records = SegmentRecords(tables, columns, _merge_skipped(catalogs, skipped))
    del catalogs
    meta = write_segment(index, merged, records, settings, name=name)
    if settings.row_signatures:
        rows = [read_row_files(directory) for directory in directories]
        directory = segment_directory(index, meta.id)
        meta = meta.with_group(write_row_group(directory, len(columns), rows, maps[: len(rows)]))
    return _first_name(tables), meta


def _with_progress(parts: Iterable[Run], runs: list[Run], on_part: Callable[[int, int], None]) -> Iterator[Run]:
    """Hand parts of merged runs on, and tell after each what share of the runs' bytes it stands for."""
    n_bytes = sum(run.n_bytes for run in runs)
    n_pairs = sum(run.columns.size for run in runs)
    done = reported = 0
    for part in parts:
        yield part
        done += part.columns.size
        now = n_bytes * done // max(1, n_pairs)
        on_part(part.n_tokens, now - reported)
        reported = now


def merge_segments(metas: list[SegmentMeta], index: Path, settings: IndexSettings) -> tuple[str, SegmentMeta]:
    """Merge segments into a new one, without their deleted columns; return what `merge_into_segment` does.

    Nothing is read from the tables again: vocabularies, lists and profiles are merged as they are.
    Memory: the postings of the segments, and the new one as it is written.
    """
    segments = [Segment(index, meta, is_compared=True) for meta in metas]
    catalogs = [segment.catalog for segment in segments]
    tables, columns, maps = merge_catalogs(catalogs, settings.samples, [s.alive_tables() for s in segments])
    runs = [run_of_segment(segment.tokens) for segment in segments]
    merged = merge_runs(runs, maps, _CHUNK_TOKENS)
    signed = merge_signatures(segments, maps) if settings.permutations else None
    records = SegmentRecords(tables, columns, _merge_skipped(catalogs, []))
    meta = write_segment(index, merged, records, settings, signed)
    merged_segment = Segment(index, meta)
    vectors = carry_vectors(segments, merged_segment)
    meta = meta if vectors is None else meta.with_group(vectors)
    if any(source.meta.group("axes") is not None for source in segments):
        meta = meta.with_groups("axes", carry_axes(segments, merged_segment))
    meta = carry_rows(segments, maps, meta)
    return _first_name(tables), meta


def _first_name(tables: pa.StructArray) -> str:
    return tables.field("name")[0].as_py() if len(tables) else ""


def _merge_skipped(catalogs: list[Catalog], skipped: list[dict[str, str]]) -> pa.StructArray:
    parts = [catalog.skipped() for catalog in catalogs]
    every = pa.concat_arrays([pa.array(skipped, SKIPPED_FIELDS), *parts])
    return every.take(pa.array(np.array(_by_name(every), np.int64)))


def _by_name(records: pa.StructArray) -> list[int]:
    """Numbers of the records in code point order of their names."""
    names = records.field("name").to_pylist()
    return sorted(range(len(names)), key=names.__getitem__)


def merge_catalogs(
    catalogs: list[Catalog], n_samples: int = 5, alive: list[NDArray[np.bool_]] | None = None
) -> tuple[pa.StructArray, pa.StructArray, list[NDArray[np.int32]]]:
    """Unite the tables and columns of several catalogues in the order of names.

    A table that stands in more than one of them was read in parts, each with the same columns: its
    counts are added up and its profiles merged. `alive` tells for each catalogue which of its tables to
    keep; all by default.

    Returns
    -------
    tables, columns : pyarrow.StructArray
        Renumbered records.
    maps : list of ndarray of int32
        For each catalogue: its column id → the new one, -1 for a column that is not indexed after all.
    """
    kept = alive or [np.ones(catalog.n_tables, bool) for catalog in catalogs]
    tables = pa.concat_arrays([c.tables().filter(pa.array(mask)) for c, mask in zip(catalogs, kept, strict=True)])
    columns = pa.concat_arrays([catalog.columns() for catalog in catalogs])
    bases = np.cumsum([0] + [catalog.n_columns for catalog in catalogs])
    owners = np.repeat(np.arange(len(catalogs)), [int(mask.sum()) for mask in kept])
    order = np.array(_by_name(tables), np.int64)
    tables = tables.take(pa.array(order))
    widths = tables.field("n_columns").to_numpy().astype(np.int64)
    firsts = tables.field("first_column").to_numpy() + bases[owners[order]]
    names = tables.field("name").to_pylist()
    group = np.cumsum([0] + [int(a != b) for a, b in zip(names, names[1:], strict=False)])[: len(names)]
    source = expand_stretches(firsts, widths)
    columns = columns.take(pa.array(source))
    new_ids = np.arange(source.size)
    in_parts = tables.field("format").to_numpy(zero_copy_only=False) == "spark"
    if in_parts.any() and alive is None:
        tables, columns, widths, new_ids = _unite_parts(tables, columns, group, widths, n_samples)
    tables = replace_field(tables, "first_column", np.cumsum(widths) - widths)
    columns = replace_field(columns, "table", np.repeat(np.arange(widths.size), widths))
    is_indexed = columns.field("is_indexed").to_numpy() > 0
    targets = np.where(is_indexed, np.arange(len(columns)), -1).astype(np.int32)
    flat = np.full(max(1, int(bases[-1])), -1, np.int32)
    flat[source] = targets[new_ids] if targets.size else flat[source]
    maps = [flat[low : max(high, low + 1)] for low, high in zip(bases, bases[1:], strict=False)]
    return tables, columns, maps


def _unite_parts(
    tables: pa.StructArray,
    columns: pa.StructArray,
    group: NDArray[np.int64],
    widths: NDArray[np.int64],
    n_samples: int,
) -> tuple[pa.StructArray, pa.StructArray, NDArray[np.int64], NDArray[np.int64]]:
    """Make one record of the records that the parts of a table left; parts are neighbours."""
    records = columns.to_pylist()
    table_records = tables.to_pylist()
    starts = np.cumsum(widths) - widths
    new_tables: list[dict[str, Any]] = []
    new_columns: list[dict[str, Any]] = []
    new_widths: list[int] = []
    new_ids = np.empty(len(records), np.int64)
    for number in range(int(group[-1]) + 1):
        members = np.flatnonzero(group == number)
        lead = table_records[members[0]]
        n_rows = sum(table_records[m]["n_rows"] for m in members)
        new_tables.append({**lead, "n_rows": n_rows})
        width = int(widths[members[0]])
        new_widths.append(width)
        for position in range(width):
            parts = [records[starts[m] + position] for m in members]
            for m in members:
                new_ids[starts[m] + position] = len(new_columns)
            is_part = lead["format"] == "spark"
            new_columns.append(_unite_column(parts, n_samples) if is_part else parts[0])
    fields = pa.array(new_columns, COLUMN_FIELDS)
    return pa.array(new_tables, tables.type), fields, np.array(new_widths, np.int64), new_ids


def _unite_column(parts: list[dict[str, Any]], n_samples: int) -> dict[str, Any]:
    """Unite the records of the parts of one column."""
    profile = merge_profiles([profile_of(part) for part in parts])
    given_up = [p for p in parts if known_reason(p["type"])]
    if given_up:  # the other parts do not count then: the column would be found by a part of its values
        profile = Profile("binary")
    samples = list(dict.fromkeys(sample for p in parts for sample in p["samples"]))[:n_samples]
    is_wanted = any(p["is_indexed"] for p in parts)
    return {
        **(given_up or parts)[0],
        **profile_record(profile),
        "is_indexed": int(is_wanted and profile.is_indexable),
        "n_rows": sum(p["n_rows"] for p in parts),
        "n_null": sum(p["n_null"] for p in parts),
        "date_order": next((p["date_order"] for p in parts if p["date_order"]), ""),
        "samples": [] if given_up else samples,
        "null_spellings": sorted({text for p in parts for text in p["null_spellings"]}),
    }
