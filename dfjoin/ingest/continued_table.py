"""A table of several files, when files were added: the index knows the old ones, the new ones are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dfjoin.errors import TableReadError
from dfjoin.index.column_values import pack_values, tokens_of_column
from dfjoin.index.segment import Segment
from dfjoin.ingest.column_buffer import NotContinued
from dfjoin.ingest.read_task import RunMeta, TableFeed, build_run, table_record
from dfjoin.sources.readers import open_appended, open_table, part_fingerprints
from dfjoin.sources.table_kinds import KINDS
from dfjoin.sources.table_reader import NotAppended
from dfjoin.types import IndexSettings, TableSource
from dfjoin.values.normalize import ValueSet, distinct_packed, null_hashes, pack_strings, read_only


def continued_table(
    source: TableSource, segment: Segment, number: int, settings: IndexSettings, on_error: str
) -> ContinuedTable | None:
    """Return what reads the new files of a table alone; None where all have to be read.

    Parameters
    ----------
    source : TableSource
        The table as it is now.
    segment : Segment
        Holds the table as it was; it compares what is carried over with its CRC-32.
    number : int
        Of the table in the segment.
    settings : IndexSettings
    on_error : {"skip", "raise"}
        What to do if the table cannot be read.

    Notes
    -----
    All files have to be read where one of the old ones has changed or is gone, and where the index was written before
    it knew them one by one, or has row signatures, which number the rows of the whole table. An old file is as it was
    if its size and its modification time are, else by its fingerprint. Of a table with a log, Delta or Iceberg, the log
    tells: now, and again when its rows are read.
    """
    record = segment.catalog.table_record(number)
    now = dict(zip(source.parts, source.part_stats, strict=False))
    if record["format"] == source.format and KINDS[source.format].has_log and not settings.row_signatures:
        try:
            open_appended(source, record["fingerprint"], settings.max_columns)
        except (NotAppended, TableReadError):
            return None
        return ContinuedTable(source, segment, number, {}, settings, on_error)
    old = dict(zip(record["parts"], zip(record["part_sizes"], record["part_times"], strict=True), strict=False))
    if not old or not now or settings.row_signatures or not all(part in now for part in old):
        return None
    marks = dict(zip(record["parts"], record["part_fingerprints"], strict=True))
    touched = [part for part in old if now[part] != old[part] or not old[part][1]]
    try:
        if any(now[part][0] != old[part][0] for part in touched):
            return None
        if part_fingerprints(source, touched) != [marks[part] for part in touched]:
            return None
    except TableReadError:
        return None
    return ContinuedTable(source, segment, number, marks, settings, on_error)


@dataclass(frozen=True)
class ContinuedTable:
    """Reads the new files of a table into a run that has the values of its old files, too.

    A job as `dfjoin.ingest.source.TableJob`, done where the index is. If the new files show that what is known of the
    old ones does not tell the whole table, as when they have other columns or make a text a null, all are read.

    Parameters
    ----------
    source, segment, number, settings, on_error
        As in `continued_table`.
    marks : dict of str to int
        Fingerprints of the old files; empty for a table with a log.
    """

    source: TableSource
    segment: Segment
    number: int
    marks: dict[str, int]
    settings: IndexSettings
    on_error: str
    version: str = ""

    @property
    def name(self) -> str:
        """Name of the table."""
        return self.source.name

    @property
    def path(self) -> str:
        """Path of its directory below the root."""
        return self.source.path

    @property
    def root(self) -> int:
        """Id of its root."""
        return self.source.root.id

    def __call__(self, work: Path) -> list[RunMeta]:
        """Write a run below `work`."""
        try:
            return [build_run([self.source], work, self.settings, feeds=self._feeds, on_error=self.on_error)]
        except (NotContinued, NotAppended):
            return [build_run([self.source], work, self.settings, on_error=self.on_error)]

    def _feeds(self, source: TableSource) -> Iterator[tuple[str, Callable[[], TableFeed]]]:
        yield source.name, partial(self._feed, source)

    def _feed(self, source: TableSource) -> TableFeed:
        """Open the new files."""
        known = _KnownTable(self.segment, self.number, self.settings)
        if not self.marks:
            since = self.segment.catalog.table_record(self.number)["fingerprint"]
            reader = open_appended(source, since, self.settings.max_columns)
            record = table_record(source, []) | {"fingerprint": reader.fingerprint()}
            return TableFeed(record, reader.names, reader.batches(), source.size, known=known)
        new = [part for part in source.parts if part not in self.marks]
        reader = open_table(source, max_columns=self.settings.max_columns, parts=new)
        marks = self.marks | dict(zip(new, part_fingerprints(source, new), strict=True))
        record = table_record(source, [marks[part] for part in source.parts])
        return TableFeed(record, reader.names, reader.batches(), source.size, known=known)


class _KnownTable:
    """What a segment knows of the rows of a table, as `dfjoin.ingest.read_task.KnownRows`."""

    def __init__(self, segment: Segment, number: int, settings: IndexSettings) -> None:
        self._segment = segment
        self._settings = settings
        table = segment.catalog.table_record(number)
        self._columns = range(table["first_column"], table["first_column"] + table["n_columns"])
        self.n_rows = table["n_rows"]

    def columns(self, names: list[str]) -> Iterator[tuple[dict[str, Any], ValueSet | None]]:
        """Return the record of each column, and its values; raises `NotContinued` if the columns are others."""
        records = self._segment.catalog.column_records(self._columns)
        by_position = sorted(zip(records, self._columns, strict=True), key=lambda one: one[0]["position"])
        if [record["name"] for record, _ in by_position] != names:
            raise NotContinued
        for record, column in by_position:
            yield record, self._values(record, column)

    def _values(self, record: dict[str, Any], column: int) -> ValueSet | None:
        """Return the values of a column; None if they are not kept."""
        seed, nulls = self._settings.hash_seed, null_hashes(self._settings)
        if record["is_indexed"]:
            tokens = self._segment.tokens
            held = pack_values(tokens.value_bytes, tokens.value_offsets, tokens_of_column(self._segment, column))
            values = distinct_packed(read_only(held.data), read_only(held.offsets), seed, nulls)
        else:
            values = distinct_packed(*pack_strings(record["other_values"]), seed, nulls)
        if len(values) != record["cardinality"]:
            return None
        return values.without_rows()
