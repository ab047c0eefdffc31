"""Row signatures of an index that was built without them: its tables are read again, by the tasks of a build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import shortlist, warn
from dfjoin.index.catalog import NOT_IN_FILE, Catalog, find_root
from dfjoin.index.commit import scratch_directory
from dfjoin.index.components import CATALOG_FILE, run_directory
from dfjoin.index.manifest import GroupMeta
from dfjoin.index.mirror import fetch_below
from dfjoin.index.row_group import read_row_files, write_row_group
from dfjoin.index.segment import Segment
from dfjoin.ingest.balance import estimated_bytes, split_tables
from dfjoin.ingest.engine import Engine
from dfjoin.ingest.requests import read_meta, run_request
from dfjoin.sources.roots import catalogued_source
from dfjoin.types import IndexSettings, Root

_TASK_BYTES = 64 << 20
_SAME_TABLE = ("fingerprint", "size", "n_rows")
_SAME_COLUMN = ("n_null", "date_order", "null_spellings", "is_indexed")


@dataclass(frozen=True)
class RowsReader:
    """What reads the rows of tables.

    Parameters
    ----------
    index : Path
    settings : IndexSettings
        Of the index.
    roots : sequence of Root
        At their present locations.
    engine : Engine
        Where the tables are read.
    """

    index: Path
    settings: IndexSettings
    roots: Sequence[Root]
    engine: Engine

    def write(self, segment: Segment) -> GroupMeta:
        """Read the tables of a segment and write its ``rows`` group.

        Tables that are read through Spark, cannot be read, or are not as they were indexed, have none; a warning names
        them.
        """
        with scratch_directory(self.index, "rows") as work:
            runs = [run_directory(work, run) for run in self._read(segment, work)]
            for run in runs:
                fetch_below(run)
            known: set[str] = set()
            maps = [self._columns_of(Catalog(run / CATALOG_FILE, is_of_run=True), segment, known) for run in runs]
            missing = [name for name in segment.alive_table_names() if name not in known]
            if missing:
                warn(
                    f"the rows of {len(missing):,} tables are not kept, since they are read through Spark, cannot be "
                    f"read, or have changed: {shortlist(missing)}; searches read them anew"
                )
            return write_row_group(segment.directory, segment.n_columns, [read_row_files(run) for run in runs], maps)

    def _read(self, segment: Segment, work: Path) -> list[str]:
        """Read the tables of a segment; return the runs with their rows."""
        numbers = np.flatnonzero(segment.alive_tables()).tolist()
        records = [segment.catalog.table_record(number) for number in numbers]
        pairs = [(find_root(self.roots, record["root"]), record) for record in records]
        sources = [catalogued_source(self.index, root, record) for root, record in pairs if root.kind != "spark"]
        settings = replace(self.settings, row_signatures=True)
        n_tasks = max(self.engine.n_slots, -(-sum(source.size for source in sources) // _TASK_BYTES))
        tasks = split_tables(sources, sum(map(estimated_bytes, sources)), n_tasks)
        requests = (run_request(work, settings, task, "skip", None) for task in tasks)
        return [read_meta(result).id for result in self.engine.run(requests, work, lambda *_: None)]

    def _columns_of(self, read: Catalog, segment: Segment, known: set[str]) -> NDArray[np.int32]:
        """Map the columns that a run read to those of a segment; -1 for those of a table that is another one now."""
        columns = np.full(max(1, read.n_columns), -1, np.int32)
        for record in read.tables().to_pylist():
            number = segment.find_alive_table(record["name"])
            stored = segment.catalog.table_record(number) if number >= 0 else {}
            if any(record[name] != stored.get(name) for name in _SAME_TABLE):
                continue
            own = _records(read, record["first_column"], record["n_columns"])
            before = _records(segment.catalog, stored["first_column"], stored["n_columns"])
            before = {name: column for name, column in before.items() if column["position"] != NOT_IN_FILE}
            if own.keys() == before.keys() and all(_is_same(own[name], before[name]) for name in own):
                known.add(record["name"])
                for name, column in own.items():
                    columns[column["id"]] = before[name]["id"]
        return columns


def _records(catalog: Catalog, first: int, n: int) -> dict[str, dict[str, Any]]:
    """Return the records of consecutive columns by name, with their ids."""
    ids = range(first, first + n)
    return {record["name"]: {**record, "id": i} for i, record in zip(ids, catalog.column_records(ids), strict=True)}


def _is_same(own: dict[str, Any], before: dict[str, Any]) -> bool:
    """Tell whether a column was read as it was when it was indexed."""
    return all(own[name] == before[name] for name in _SAME_COLUMN)
