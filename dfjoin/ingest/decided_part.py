"""Deciding what the parts of a table left open, by all of them; the result has the form of one more part."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from dfjoin.index.catalog import KINDS, Catalog
from dfjoin.index.layout import CATALOG_FILE
from dfjoin.ingest.column_buffer import EntryBuffer
from dfjoin.ingest.read_task import Collected, write_collected
from dfjoin.ingest.undecided import Undecided, read_undecided
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_batch, read_dates
from dfjoin.values.nulls import NullEvidence
from dfjoin.values.profile import Profile, profile_values
from dfjoin.values.value_set import ValueSet

__all__ = ["decided_part"]


def decided_part(directories: Sequence[Path], settings: IndexSettings) -> Path | None:
    """Decide what the parts of tables left open, and write the result as one more part beside them.

    Parameters
    ----------
    directories : sequence of Path
        Runs of one place; those that are no parts do not count.
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
                values, told = _decide(members, position, settings)
                if values is not None and record["is_indexed"]:
                    buffer.add(column, values)
                else:
                    buffer.dropped.add(column)
                made.columns.append({**record, **told, "table": len(made.tables), "samples": []})
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
    values, profile = None, Profile("empty", 0, False, 0, 0, "", "")
    if texts or dates:
        values = normalize_batch(pa.array([*texts, *sorted(dates)], pa.string()), settings)
        has_others = any(KINDS[part.columns[position]["kind"]] != "empty" for part in parts)
        if not has_others:
            values = read_dates(values, settings)
        profile = profile_values(values, pa.string())
    return values, {
        "kind": KINDS.index(profile.kind),
        "is_indexed": 0,
        "n_rows": 0,
        "n_null": sum(rows[text] for text in nulls),
        "cardinality": profile.cardinality,
        "has_range": int(profile.has_range),
        "min_integer": profile.min_integer,
        "max_integer": profile.max_integer,
        "min": profile.min,
        "max": profile.max,
        "date_order": "" if values is None else values.date_order,
        "null_spellings": list(nulls),
    }
