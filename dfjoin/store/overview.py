"""The catalogue and the versions of a lake as frames, and a summary of an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin import _html
from dfjoin.errors import IndexFormatError
from dfjoin.index.catalog import COLUMN_FIELDS, KINDS, TABLE_FIELDS, read_dialect, reason_of
from dfjoin.index.commit import read_manifests
from dfjoin.store.snapshot import Snapshot

_MOST_DOUBTFUL = 1000
_NO_COUNTS = {"tables": 0, "columns": 0, "segments": 0, "created_by": ""}


def catalog_tables(snapshot: Snapshot) -> pd.DataFrame:
    """Return the tables of a lake, see `Lake.tables`."""
    return _sorted(tables_of(snapshot).to_pandas(), ["table"])


def tables_of(snapshot: Snapshot) -> pa.Table:
    """Return the tables of a lake with the columns of `Lake.tables`, segment by segment."""
    parts = []
    for segment in snapshot.segments:
        records = segment.catalog.tables()
        if segment.alive is not None:
            records = records.filter(pa.array(segment.alive_tables()))
        parts.append(records)
    records = pa.concat_arrays(parts) if parts else pa.array([], TABLE_FIELDS)
    roots = {root.id: snapshot.root_of(root.id).uri for root in snapshot.manifest.roots}
    return pa.table(
        {
            "table": records.field("name"),
            "n_rows": records.field("n_rows"),
            "n_columns": records.field("n_columns"),
            "size": records.field("size"),
            "format": records.field("format"),
            "dialect": _dialect_texts(records),
            "root": pa.array([roots.get(r, "") for r in records.field("root").to_pylist()], pa.string()),
        }
    )


def catalog_columns(snapshot: Snapshot) -> pd.DataFrame:
    """Return the columns of a lake, see `Lake.columns`."""
    return _sorted(columns_of(snapshot).to_pandas(), ["table", "column"])


def columns_of(snapshot: Snapshot) -> pa.Table:
    """Return the columns of a lake with the columns of `Lake.columns`, segment by segment."""
    parts = []
    for segment in snapshot.segments:
        records = segment.catalog.columns()
        owners = segment.catalog.tables()
        tables = owners.field("name").take(records.field("table"))
        dialects = _dialect_texts(owners).take(records.field("table"))
        if segment.alive is not None:
            mask = pa.array(segment.alive.astype(bool))
            records, tables, dialects = (array.filter(mask) for array in (records, tables, dialects))
        parts.append((records, tables, dialects))
    records = pa.concat_arrays([r for r, _, _ in parts]) if parts else pa.array([], COLUMN_FIELDS)
    tables = pa.concat_arrays([t for _, t, _ in parts]) if parts else pa.array([], pa.string())
    dialects = pa.concat_arrays([d for _, _, d in parts]) if parts else pa.array([], pa.string())
    return _columns_table(records, tables).append_column("dialect", dialects)


def describe_table(snapshot: Snapshot, name: str) -> dict[str, Any]:
    """Return what the catalogue says of one table, see `Lake.describe`."""
    segment, number = snapshot.find_table(name)
    record = segment.catalog.table_record(number)
    records = segment.catalog.columns().slice(record["first_column"], record["n_columns"])
    order = np.argsort(records.field("position").to_numpy(), kind="stable")
    columns = _columns_table(records.take(pa.array(order)), pa.array([name] * len(records), pa.string())).to_pandas()
    shown = {key: record[key] for key in ("n_rows", "n_columns", "size", "format")}
    root = snapshot.root_of(record["root"]).uri
    dialect = read_dialect(record)
    return {
        "table": name,
        **shown,
        "dialect": "" if dialect is None else str(dialect),
        "root": root,
        "columns": columns.drop(columns="table"),
    }


def _dialect_texts(tables: pa.StructArray) -> pa.Array:
    """Say for people how tables of the catalogue are written; nothing of other formats than delimited text."""
    coded = tables.field("dialect").dictionary_encode().indices.to_numpy()
    _, first, codes = np.unique(coded, return_index=True, return_inverse=True)
    read = [read_dialect(tables[row].as_py()) for row in first.tolist()]
    return pa.array(["" if dialect is None else str(dialect) for dialect in read], pa.string()).take(pa.array(codes))


def _doubtful(snapshot: Snapshot) -> list[dict[str, str]]:
    """List files that may have to be read in another way, and why."""
    listed = []
    for segment in snapshot.segments:
        tables = segment.catalog.tables()
        mask = pc.match_substring(tables.field("dialect"), '"doubt"')
        if segment.alive is not None:
            mask = pc.and_(mask, pa.array(segment.alive_tables()))
        for record in tables.filter(mask).to_pylist():
            dialect = read_dialect(record)
            if dialect is not None and dialect.doubt:
                listed.append({"name": record["name"], "reason": dialect.doubt})
    return sorted(listed, key=lambda record: record["name"])


def _columns_table(records: pa.StructArray, tables: pa.Array) -> pa.Table:
    """Make the table of some column records, and of the names of their tables."""
    filled = pc.subtract(records.field("n_rows"), records.field("n_null"))
    cardinality = records.field("cardinality")
    with np.errstate(divide="ignore", invalid="ignore"):
        likeness = cardinality.to_numpy() / filled.to_numpy()
    return pa.table(
        {
            "table": tables,
            "column": records.field("name"),
            "kind": pa.array(KINDS).take(records.field("kind")),
            "is_indexed": pc.cast(records.field("is_indexed"), pa.bool_()),
            "reason": pa.array(_reasons(records), pa.string()),
            "n_rows": records.field("n_rows"),
            "n_null": records.field("n_null"),
            "cardinality": cardinality,
            "key_likeness": pa.array(np.where(np.isfinite(likeness), likeness, 0.0)),
            "min": records.field("min"),
            "max": records.field("max"),
            "samples": records.field("samples"),
            "null_spellings": records.field("null_spellings"),
        }
    )


def _reasons(records: pa.StructArray) -> list[str]:
    """Tell of each column why it is not indexed; nothing of those that are."""
    names = ("type", "kind", "is_indexed", "cardinality")
    fields = [records.field(name).to_pylist() for name in names]
    return [reason_of(dict(zip(names, values, strict=True))) for values in zip(*fields, strict=True)]


def _sorted(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Sort by code point; segments are sorted within, so this does work only when there are several."""
    return frame.sort_values(by, kind="stable", ignore_index=True)


def _skipped(snapshot: Snapshot) -> list[dict[str, str]]:
    """List each file that could not be read once, by its latest state.

    A table that has been read since is not listed. One that was read before is: the index has it as it was then.
    """
    latest: dict[str, tuple[int, int, str]] = {}
    for position, segment in enumerate(snapshot.segments):
        for r in segment.catalog.skipped().to_pylist():
            latest[r["name"]] = max(latest.get(r["name"], (-1, 0, "")), (r["mtime_ns"], position, r["reason"]))
    listed = []
    for name in sorted(latest):
        mtime_ns, position, reason = latest[name]
        read = _last_read(snapshot, name)
        if reason and (read is None or read < (mtime_ns, position)):
            listed.append({"name": name, "reason": reason})
    return listed


def _last_read(snapshot: Snapshot, name: str) -> tuple[int, int] | None:
    """Return when the file of a table was modified, and the position of its segment; None if there is no such table."""
    for position, segment in enumerate(snapshot.segments):
        number = segment.find_alive_table(name)
        if number >= 0:
            return segment.catalog.table_record(number)["mtime_ns"], position
    return None


def summarize(snapshot: Snapshot) -> dict[str, Any]:
    """Return the counts, bytes, settings, roots, segments and skipped files of an index, see `Lake.info`."""
    manifest = snapshot.manifest
    skipped = _skipped(snapshot)
    doubtful = _doubtful(snapshot)
    reasons: dict[str, int] = {}
    for record in skipped:
        reasons[record["reason"]] = reasons.get(record["reason"], 0) + 1
    return {
        "index": str(snapshot.path),
        "index_uuid": manifest.index_uuid,
        "version": manifest.version,
        "created_by": manifest.created_by,
        "counts": manifest.counts,
        "bytes": sum(segment.meta.size for segment in snapshot.segments),
        "parts": _parts(snapshot),
        "segments": [{"id": s.meta.id, "bytes": s.meta.size, **s.meta.counts} for s in snapshot.segments],
        "settings": manifest.settings.to_dict(),
        "roots": snapshot.locations(),
        "skipped": skipped,
        "skipped_reasons": reasons,
        "n_doubtful": len(doubtful),
        "doubtful": doubtful[:_MOST_DOUBTFUL],
    }


def _parts(snapshot: Snapshot) -> dict[str, int]:
    """Add up the bytes of each component group over the segments."""
    sizes: dict[str, int] = {}
    for segment in snapshot.segments:
        for group in segment.meta.groups:
            sizes[group.name] = sizes.get(group.name, 0) + sum(component.size for component in group.components)
    return sizes


def snapshot_html(snapshot: Snapshot) -> str:
    """Write what an index holds as a card, for notebooks."""
    items = [(name.replace("_", " "), f"{number:,}") for name, number in snapshot.manifest.counts.items()]
    items.append(("roots", ", ".join(_html.escape(location) for location in snapshot.locations().values())))
    lines = ['df.discover_joinable("column", lake)', 'lake.search("words")']
    head = f'{_html.escape(snapshot.path)} <span class="soft">version {snapshot.version}</span>'
    return _html.page([_html.card(head, [_html.pairs(items), *map(_html.code, lines)])])


def list_history(path: Path) -> pd.DataFrame:
    """Return the versions of an index that still exist, see `Lake.versions`."""
    rows = []
    for version, manifest in read_manifests(path):
        if isinstance(manifest, IndexFormatError):
            rows.append({"version": version, "created_at": "", "operation": "cannot be read", **_NO_COUNTS})
            continue
        counts = manifest.counts
        rows.append(
            {
                "version": version,
                "created_at": manifest.created_at,
                "operation": manifest.operation,
                "tables": counts.get("tables", 0),
                "columns": counts.get("columns", 0),
                "segments": len(manifest.segments),
                "created_by": manifest.created_by,
            }
        )
    return pd.DataFrame(rows[::-1])
