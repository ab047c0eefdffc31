"""A build task: some tables → one run and its catalogue. The same code inline and on Spark."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from dfjoin.errors import TableReadError
from dfjoin.index.catalog import write_catalog
from dfjoin.index.component_files import removed_on_error
from dfjoin.index.components import CATALOG_FILE, RUNS, create_file, make_directory, run_directory
from dfjoin.index.file_store import is_of_store
from dfjoin.index.runs import write_run
from dfjoin.ingest.column_buffer import ColumnReader, EntryBuffer
from dfjoin.ingest.left_out import LeftOutColumn, is_wanted, is_wanted_table
from dfjoin.ingest.row_spool import RowCollector, TableCells
from dfjoin.ingest.undecided import Undecided, write_undecided
from dfjoin.sources.delimited import max_columns_error
from dfjoin.sources.readers import part_fingerprints, tables_of
from dfjoin.sources.roots import unite_fingerprints
from dfjoin.sources.table_kinds import KINDS
from dfjoin.sources.table_reader import TableReader
from dfjoin.types import Dialect, IndexSettings, TableSource
from dfjoin.values.frames import NOT_INDEXED
from dfjoin.values.normalize import ValueSet
from dfjoin.values.text_batch import TextColumn, normalize_texts


@dataclass(frozen=True)
class RunMeta:
    """What a task tells the driver about the run it wrote; nothing in it grows with the tables."""

    id: str
    first_table: str
    n_tables: int
    n_skipped: int
    n_rows: int
    size: int
    is_part: bool = False


@dataclass(frozen=True)
class TableFeed:
    """A table as a task reads it: its record but for what reading tells, and its batches.

    Parameters
    ----------
    record : dict
        Keys of `dfjoin.index.catalog.TABLE_FIELDS` known before reading.
    names : list of str
        Column names, each once.
    batches : iterator of pyarrow.RecordBatch
        With these columns in this order.
    n_bytes : int
        Bytes of the table's files.
    left_out : tuple of dict
        Records of columns that the batches do not have.
    known : KnownRows, optional
        What is known of the rows before these batches.
    """

    record: dict[str, Any]
    names: list[str]
    batches: Iterator[pa.RecordBatch]
    n_bytes: int
    left_out: tuple[dict[str, Any], ...] = ()
    known: KnownRows | None = None


class KnownRows(Protocol):
    """What an index knows of the first rows of a table, whose other rows are read."""

    n_rows: int

    def columns(self, names: list[str]) -> Iterator[tuple[dict[str, Any], ValueSet | None]]:
        """Return the record of each column and its values, as `ColumnReader.resume` takes them."""
        ...  # pragma: no cover


@lru_cache(256)  # most files of a lake are written alike
def _spelled(dialect: Dialect) -> str:
    return json.dumps(dialect.to_dict())


def feeds_of_file(
    source: TableSource, settings: IndexSettings | None = None
) -> Iterator[tuple[str, Callable[[], TableFeed]]]:
    """Find the wanted tables of a source, by name; raises `TableReadError` with the reason if it holds no table."""
    settings = settings or IndexSettings()
    for table, opened in tables_of(source, settings.given_dialect(source.name), settings.max_columns):
        if is_wanted_table(table.name, settings):
            yield table.name, partial(_feed_of, table, opened)


def _feed_of(source: TableSource, opened: Callable[[], TableReader]) -> TableFeed:
    """Open a table as a feed; raises `TableReadError` with the reason if it is none."""
    reader = opened()
    if not reader.names and not source.left_out:
        raise TableReadError("the table has no columns")
    dialect = "" if reader.dialect is None else _spelled(reader.dialect)
    marks = part_fingerprints(source, source.parts) if source.part_stats else []
    declared = reader.declared()
    foreign_keys = [one._asdict() for one in declared.foreign_keys]
    record = table_record(source, marks) | {"dialect": dialect, "keys": declared.keys, "foreign_keys": foreign_keys}
    if not marks:
        record["fingerprint"] = reader.fingerprint()
    return TableFeed(record, reader.names, reader.batches(), source.size, source.left_out)


def table_record(source: TableSource, marks: list[int]) -> dict[str, Any]:
    """Return what is known of a table before it is read.

    Parameters
    ----------
    source : TableSource
    marks : list of int
        Fingerprint of each of its files, if it is a directory of files.

    Returns
    -------
    dict
        Keys of `dfjoin.index.catalog.TABLE_FIELDS`, but for those that count rows and columns.
    """
    return {
        "name": source.name,
        "root": source.root.id,
        "path": source.path,
        "format": source.format,
        "size": source.size,
        "mtime_ns": source.mtime_ns,
        "fingerprint": unite_fingerprints(source.parts, marks, source.size) if marks else 0,
        "dialect": "",
        "parts": list(source.parts),
        "version": source.version,
        "part_sizes": [size for size, _ in source.part_stats],
        "part_times": [time for _, time in source.part_stats],
        "part_fingerprints": marks,
    }


def build_run(
    tables: Iterable[TableSource],
    index: Path,
    settings: IndexSettings,
    *,
    feeds: Callable[[TableSource], Iterable[tuple[str, Callable[[], TableFeed]]]] | None = None,
    on_error: str = "skip",
    on_table: Callable[[int, int], None] | None = None,
) -> RunMeta:
    """Read tables and write one run with its catalogue below ``<index>/runs``.

    Parameters
    ----------
    tables : iterable of TableSource
        In order of name.
    index : Path
        Directory of the index.
    settings : IndexSettings
        Normalisation, budget, patterns.
    feeds : callable
        Returns the tables of a source by name, with what opens each; those of files by default.
    on_error : {"skip", "raise"}
        What to do with a table that cannot be read.
    on_table : callable, optional
        Called with (rows, bytes) after each table, for progress.

    Returns
    -------
    RunMeta

    Notes
    -----
    Memory: about three times ``settings.task_bytes``, whatever the size of the tables; distinct values
    beyond it are spilled as sorted runs and merged by ranges of the hash at the end.
    """
    feeds = feeds or partial(feeds_of_file, settings=settings)
    scratch = Path(tempfile.mkdtemp(prefix="task-", dir=index / RUNS))
    try:
        buffer = EntryBuffer(settings.task_bytes, scratch)
        rows = RowCollector(settings.task_bytes // 8, scratch) if settings.row_signatures else None
        collected = Collected(rows=rows)
        n_bytes = 0
        for source in tables:
            n_rows = _read_source(source, feeds, settings, buffer, collected)
            bad = next((record for record in collected.skipped if record["reason"]), None)
            if on_error == "raise" and bad is not None:
                raise TableReadError(
                    f'the table `{bad["name"]}` cannot be read: {bad["reason"]}; skip such tables with on_error="skip"'
                )
            n_bytes += source.size
            if on_table is not None:
                on_table(n_rows, source.size)
        return write_collected(buffer, collected, index, n_bytes)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _read_source(
    source: TableSource,
    feeds: Callable[[TableSource], Iterable[tuple[str, Callable[[], TableFeed]]]],
    settings: IndexSettings,
    buffer: EntryBuffer,
    collected: Collected,
) -> int:
    """Read the tables of a source, note those that cannot be read; return the number of their rows.

    A file of which no table was read is noted once, so that it is known again as long as it is the same: with the
    first reason, or an empty one where none of its tables is wanted.
    """
    n_rows, skipped, n_read = 0, [], 0
    name = source.name
    try:
        for name, opened in feeds(source):
            try:
                n_rows += _read_table(opened(), settings, buffer, collected)
                n_read += 1
            except TableReadError as error:
                skipped.append(_skip_record(name, source, error))
            name = source.name
    except TableReadError as error:
        skipped.append(_skip_record(name, source, error))
    if not n_read:
        first = skipped[0] if skipped else _skip_record(name, source, TableReadError(""))
        skipped = [{**first, "name": source.name}]
    collected.skipped += skipped
    return n_rows


def _skip_record(name: str, source: TableSource, error: TableReadError) -> dict[str, Any]:
    """Return the record of a table that cannot be read; without a time, so that it is tried again, where that helps."""
    time = 0 if is_of_store(error.__cause__) else source.mtime_ns
    return {"name": name, "reason": str(error), "size": source.size, "mtime_ns": time}


@dataclass
class Collected:
    """Catalogue records of a task; columns number themselves in the order they are added.

    Parameters
    ----------
    tables, columns, skipped : list of dict
    undecided : dict of int to Undecided
        What a part of a table leaves open, by column.
    rows : RowCollector or None
        Takes the rows of tables, where the settings ask for row signatures.
    """

    tables: list[dict[str, Any]] = field(default_factory=list)
    columns: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    undecided: dict[int, Undecided] = field(default_factory=dict)
    rows: RowCollector | None = None


def build_part(feed: TableFeed, index: Path, settings: IndexSettings) -> RunMeta:
    """Write a run of one part of a table that several tasks read, as the partitions of a Spark table.

    Every column that may turn out to be indexed brings its values; merging decides, from the profiles of
    all parts. Which texts are nulls and how all-digit dates are read is left open, see `dfjoin.ingest.undecided`.

    Parameters
    ----------
    feed : TableFeed
        The table, with the batches of this part.
    index, settings
        As in `build_run`.

    Returns
    -------
    RunMeta
        With `is_part` set.
    """
    scratch = Path(tempfile.mkdtemp(prefix="task-", dir=index / RUNS))
    try:
        buffer = EntryBuffer(settings.task_bytes, scratch)
        collected = Collected()
        _read_table(feed, settings, buffer, collected, is_part=True)
        return replace(write_collected(buffer, collected, index, feed.n_bytes), is_part=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _read_table(
    feed: TableFeed,
    settings: IndexSettings,
    buffer: EntryBuffer,
    collected: Collected,
    is_part: bool = False,
) -> int:
    """Read one table to its end; nothing of it is kept when that fails."""
    if len(feed.names) > settings.max_columns:
        raise max_columns_error(settings.max_columns)
    first = len(collected.columns)
    name = feed.record["name"]
    readers: list[ColumnReader | LeftOutColumn] = []
    cells = None if collected.rows is None else collected.rows.start_table()
    n_rows = max((record["n_rows"] for record in feed.left_out), default=0) if not feed.names else 0
    n_rows += 0 if feed.known is None else feed.known.n_rows
    kind = KINDS.get(feed.record["format"])
    keeps_values = bool(feed.record["part_sizes"]) or (kind is not None and kind.has_log)
    try:
        for batch in feed.batches:
            if not readers:
                readers = _readers(name, feed.names, list(batch.schema), settings, cells, keeps_values)
                _resume(feed, readers, settings, buffer, first)
            columns = batch.columns
            texts = _texts_of(readers, columns, settings, cells is not None)
            for reader, array, read in zip(readers, columns, texts, strict=True):
                reader.add(array, read)
            n_rows += batch.num_rows
            _spill_above_budget(readers, settings, buffer, first)
    except TableReadError:
        collected.columns.extend({"dropped": True} for _ in readers)
        if cells is not None:
            cells.close()
        raise
    if not readers:
        readers = _readers(name, feed.names, [pa.field(name, pa.null()) for name in feed.names], settings)
        _resume(feed, readers, settings, buffer, first)
    table = len(collected.tables)
    for position, (column_name, reader) in enumerate(zip(feed.names, readers, strict=True)):
        record = reader.finish(buffer, first + position, is_part)
        if reader.undecided is not None:
            collected.undecided[first + position] = reader.undecided
        collected.columns.append({"table": table, "name": column_name, "position": position, **record})
    if cells is not None:
        _collect_rows(collected, first, readers)
        cells.close()
    for record in feed.left_out:
        buffer.dropped.add(len(collected.columns))
        collected.columns.append({"table": table, **record})
    collected.tables.append({**feed.record, "n_rows": n_rows, "n_columns": len(feed.names) + len(feed.left_out)})
    return n_rows


def _texts_of(
    readers: Sequence[ColumnReader | LeftOutColumn], columns: list[pa.Array], settings: IndexSettings, with_rows: bool
) -> list[TextColumn | None]:
    """Read the texts of a batch together, of the columns whose readers take these."""
    taken = [i for i, reader in enumerate(readers) if reader.takes_texts()]
    found: list[TextColumn | None] = [None] * len(columns)
    for i, read in zip(taken, normalize_texts([columns[i] for i in taken], settings, with_rows), strict=True):
        found[i] = read
    return found


def _spill_above_budget(
    readers: Sequence[ColumnReader | LeftOutColumn], settings: IndexSettings, buffer: EntryBuffer, first: int
) -> None:
    """Hand values over when the columns hold more than half of a task's memory."""
    if sum(reader.held for reader in readers) > settings.task_bytes // 2:
        for i, reader in enumerate(readers):
            reader.spill_into(buffer, first + i)


def _resume(
    feed: TableFeed,
    readers: Sequence[ColumnReader | LeftOutColumn],
    settings: IndexSettings,
    buffer: EntryBuffer,
    first: int,
) -> None:
    """Give the readers what is known of the rows before the first batch."""
    if feed.known is None:
        return
    for reader, (record, values) in zip(readers, feed.known.columns(feed.names), strict=True):
        reader.resume(record, values)
        _spill_above_budget(readers, settings, buffer, first)


def _collect_rows(collected: Collected, first: int, readers: Sequence[ColumnReader | LeftOutColumn]) -> None:
    """Keep the rows of a table that has two indexed columns or more: a key of several columns may lie there."""
    packed = [reader.packed if isinstance(reader, ColumnReader) else None for reader in readers]
    if collected.rows is not None and sum(one is not None for one in packed) >= 2:
        for position, one in enumerate(packed):
            if one is not None:
                collected.rows.add(first + position, one)


def _readers(
    table: str,
    names: list[str],
    fields: list[pa.Field],
    settings: IndexSettings,
    cells: TableCells | None = None,
    keeps_values: bool = False,
) -> list[ColumnReader | LeftOutColumn]:
    """Return what takes the batches of each column; no value of one that the patterns leave out is kept."""
    return [
        ColumnReader(field.type, settings, _reason_given(field), cells, keeps_values=keeps_values)
        if is_wanted(table, name, settings)
        else LeftOutColumn(field.type, settings)
        for name, field in zip(names, fields, strict=True)
    ]


def _reason_given(field: pa.Field) -> str:
    """Return why a column of a frame is not to be indexed, as it was stored with it."""
    return (field.metadata or {}).get(NOT_INDEXED, b"").decode("utf-8", "replace")


def write_collected(buffer: EntryBuffer, collected: Collected, index: Path, n_bytes: int) -> RunMeta:
    """Number the columns in (table, column) order and write the run below the runs of `index`."""
    table_order = sorted(range(len(collected.tables)), key=lambda t: collected.tables[t]["name"])
    rank = {table: position for position, table in enumerate(table_order)}
    kept = [i for i, record in enumerate(collected.columns) if "dropped" not in record]
    kept.sort(key=lambda i: (rank[collected.columns[i]["table"]], collected.columns[i]["name"]))
    column_map = np.full(max(1, len(collected.columns)), -1, np.int32)
    columns = []
    open_ = {column_id: collected.undecided[i] for column_id, i in enumerate(kept) if i in collected.undecided}
    for column_id, i in enumerate(kept):
        record = collected.columns[i]
        columns.append({**record, "table": rank[record["table"]]})
        if i not in buffer.dropped:
            column_map[i] = column_id
    tables = [collected.tables[t] for t in table_order]
    runs = buffer.finish(column_map)
    run_id = uuid.uuid4().hex
    directory = run_directory(index, run_id)
    make_directory(directory)
    size = 0
    with removed_on_error(directory):
        for number, run in enumerate(runs):
            write_run(directory / f"{number:04d}", run)
            size += run.n_bytes
        write_undecided(directory, open_)
        if collected.rows is not None:
            collected.rows.finish(directory, dict(enumerate(kept)))
        with create_file(directory / CATALOG_FILE) as stream:
            stream.write(write_catalog(_with_first_columns(tables), columns, collected.skipped))
    n_rows = sum(table["n_rows"] for table in tables)
    first_table = tables[0]["name"] if tables else ""
    return RunMeta(run_id, first_table, len(tables), len(collected.skipped), n_rows, size)


def _with_first_columns(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tell each table where its columns start."""
    first = 0
    result = []
    for table in tables:
        result.append({**table, "first_column": first})
        first += table["n_columns"]
    return result
