"""Comparing the tables of an index with their files: which changed, moved or vanished."""

from __future__ import annotations

from typing import Any

import pandas as pd

from dfjoin.errors import InvalidParameterError, TableReadError
from dfjoin.index.catalog import KEPT
from dfjoin.ingest.engine import is_session_there, session_table
from dfjoin.sources.listing import list_tables
from dfjoin.sources.readers import current_fingerprint
from dfjoin.store.snapshot import Snapshot
from dfjoin.types import Root, TableSource


def check_tables(snapshot: Snapshot) -> pd.DataFrame:
    """Compare every table with its file, see `Lake.check`."""
    rows: list[dict[str, str]] = []
    missing: dict[tuple[int, int], list[dict[str, str]]] = {}
    known: dict[int, set[str]] = {}
    for segment in snapshot.segments:
        alive = segment.alive_tables().tolist()
        for is_alive, record in zip(alive, segment.catalog.tables().to_pylist(), strict=True):
            kind = snapshot.root_of(record["root"]).kind
            if not is_alive:
                continue
            if kind == "spark":
                rows += _of_spark(record)
                continue
            known.setdefault(record["root"], set()).update([record["path"], *record["parts"]])
            state, detail = _state_of(snapshot.source_of(record), record)
            if state == "missing" and kind == "memory" and record["version"] != KEPT:
                continue  # its data was not kept
            if state:
                row = {"table": record["name"], "state": state, "detail": detail}
                rows.append(row)
                if state == "missing":
                    missing.setdefault((record["size"], record["fingerprint"]), []).append(row)
    if missing:
        _find_moved(snapshot, missing, known)
    return pd.DataFrame(rows, columns=["table", "state", "detail"])


def _of_spark(record: dict[str, Any]) -> list[dict[str, str]]:
    """Compare a Spark table with its record; nothing is said without an active session, nor of a DataFrame."""
    if not record["version"] or not is_session_there():
        return []
    try:
        if session_table(record["name"], record["path"]).version() == record["version"]:
            return []
        state, detail = "changed", "its content is another"
    except TableReadError as error:
        state, detail = "missing", str(error)
    return [{"table": record["name"], "state": state, "detail": detail}]


def _state_of(source: TableSource, record: dict[str, Any]) -> tuple[str, str]:
    """Compare a table's file with its record: nothing, changed or missing."""
    try:
        mark = current_fingerprint(source)
    except (TableReadError, InvalidParameterError) as error:
        return "missing", str(error)
    is_directory = record["path"] not in record["parts"] and not source.member
    if is_directory and _part_files(source.root, record["path"]) != set(record["parts"]):
        return "changed", "it has other part files"
    return ("", "") if mark == record["fingerprint"] else ("changed", "its content is another")


def _part_files(root: Root, path: str) -> set[str]:
    """List the part files of a table that is a directory, below the root."""
    _, tables, _ = list_tables(f"{root.uri.rstrip('/')}/{path}")
    above = path.rpartition("/")[0]
    start = f"{above}/" if above else ""
    return {start + part for table in tables for part in table.parts}


def _find_moved(
    snapshot: Snapshot, missing: dict[tuple[int, int], list[dict[str, str]]], known: dict[int, set[str]]
) -> None:
    """Look among files that the index does not know for the content of those that are missing."""
    sizes = {size for size, _ in missing}
    for root in snapshot.manifest.roots:
        if root.kind != "files":
            continue
        try:
            _, tables, _ = list_tables(snapshot.root_of(root.id).uri)
        except InvalidParameterError:
            continue
        for table in tables:
            if table.size not in sizes or table.path in known.get(root.id, set()):
                continue
            try:
                mark = current_fingerprint(table)
            except TableReadError:
                continue
            for row in missing.get((table.size, mark), []):
                row["state"], row["detail"] = "moved", f"now at {table.path}"
