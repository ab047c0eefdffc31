"""What a part of a table cannot decide alone: which texts are nulls, and how all-digit dates are read.

A task that reads a part of a table (a partition of a Spark table) leaves both open, and writes down what speaks for
either; `dfjoin.ingest.merge_task` decides.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from dfjoin.index.components import UNDECIDED_FILE, create_file
from dfjoin.values.nulls import NullEvidence

_FIELDS = pa.schema(
    [
        ("column", pa.int32()),
        ("dates", pa.list_(pa.string())),
        ("null_rows", pa.string()),
        ("shapes", pa.binary()),
    ]
)


@dataclass(frozen=True)
class Undecided:
    """What a part leaves open of one column.

    Parameters
    ----------
    dates : list of str
        All values, if they are all-digit dates; empty otherwise.
    null_rows : dict of str to int
        Texts that may be nulls → rows that hold them.
    evidence : NullEvidence
        Of the other values.
    """

    dates: list[str] = field(default_factory=list)
    null_rows: dict[str, int] = field(default_factory=dict)
    evidence: NullEvidence = field(default_factory=NullEvidence)


def write_undecided(directory: Path, columns: dict[int, Undecided]) -> None:
    """Write what a part leaves open beside its run, by the column ids of the run; nothing where nothing is."""
    if not columns:
        return
    rows = [
        {
            "column": column,
            "dates": open_.dates,
            "null_rows": json.dumps(open_.null_rows),
            "shapes": open_.evidence.to_bytes(),
        }
        for column, open_ in columns.items()
    ]
    table = pa.Table.from_pylist(rows, _FIELDS)
    with create_file(directory / UNDECIDED_FILE) as sink, pa.ipc.new_file(sink, _FIELDS) as writer:
        writer.write_table(table)


def read_undecided(directory: Path) -> dict[int, Undecided]:
    """Read what `write_undecided` wrote beside a run."""
    path = directory / UNDECIDED_FILE
    if not path.exists():
        return {}
    with pa.OSFile(str(path)) as source:
        rows = pa.ipc.open_file(source).read_all().to_pylist()
    return {
        row["column"]: Undecided(row["dates"], json.loads(row["null_rows"]), NullEvidence.from_bytes(row["shapes"]))
        for row in rows
    }
