"""Tables of a Spark session: found by pattern, known again by their history, read partition by partition."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.errors import InvalidParameterError, TableReadError, shortlist
from dfjoin.values.header_meaning import clean_names
from spark_ext.jobs import in_tasks
from spark_ext.probe import cause_of
from spark_ext.session import without_pandas_warning

__all__ = ["SessionTable", "empty_batch", "match_tables", "quoted", "split_name", "wall_time"]

_BATCH_BYTES = 4 << 20
_NOT_IN_ARROW = ("yearmonthinterval", "interval")


class SessionTable:
    """A table that a Spark session knows by name, or a DataFrame.

    Parameters
    ----------
    spark : SparkSession
    name : str
        Name in the lake.
    frame : str or Spark DataFrame
        Full name of the table, or the frame.

    Raises
    ------
    InvalidParameterError
        If the session has no table of that name.
    """

    def __init__(self, spark: Any, name: str, frame: Any) -> None:
        self.name = name
        self.path = frame if isinstance(frame, str) else ""
        self._spark = spark
        if self.path and not spark.catalog.tableExists(self.path):
            raise InvalidParameterError(
                f"`source` {self.path!r} is neither a path that exists here nor a table of the Spark session; "
                "check the spelling"
            )
        self.frame = spark.table(self.path) if self.path else frame
        self.column_names = clean_names(self.frame.columns)

    @property
    def numbered(self) -> Any:
        """The frame with its columns named by their positions: names may differ by case alone.

        A column of a type that Arrow lacks, as an interval of months, is read as Spark spells it.
        """
        frame = self.frame.toDF(*(str(i) for i in range(len(self.frame.columns))))
        lacking = [field.name for field in frame.schema.fields if not _is_in_arrow(field.dataType)]
        return frame.withColumns({name: frame[name].cast("string") for name in lacking}) if lacking else frame

    def version(self) -> str:
        """Return what tells this content of the table from another one.

        Returns
        -------
        str
            The version in the history of a Delta table (``DESCRIBE HISTORY``), the snapshot that an Iceberg table was
            last set to (its metadata table ``history``: ``snapshots`` lists those of other branches and those that were
            rolled back, too), a digest of the names, sizes and times of the files of another table, which reads no
            column, and of a view, which has no files of its own, a digest of all rows in any order. Empty for a
            DataFrame, which is no table.

        Raises
        ------
        TableReadError
            If Spark cannot tell it, with its cause.
        """
        if not self.path:
            return ""
        try:
            return self._version()
        except Exception as error:  # of Spark or of Java
            raise TableReadError(cause_of(error)) from error

    def _version(self) -> str:
        name, provider = quoted(self.path), self._provider()
        if provider == "delta":
            return f"delta:{self._newest(f'DESCRIBE HISTORY {name} LIMIT 1', 'version')}"
        if provider == "iceberg":
            query = f"SELECT snapshot_id FROM {name}.history ORDER BY made_current_at DESC LIMIT 1"
            return f"iceberg:{self._newest(query, 'snapshot_id')}"
        return (self._digest_of_files() if provider else "") or self._digest_of_rows()

    def _provider(self) -> str:
        """Return the format of the table as its catalog names it, empty for a view."""
        rows = self._spark.sql(f"DESCRIBE TABLE EXTENDED {quoted(self.path)}").collect()
        facts = [(row["col_name"], row["data_type"]) for row in rows]
        begin = max((n for n, (name, _) in enumerate(facts) if name == "# Detailed Table Information"), default=-1)
        reported = dict(facts[begin:]) if begin >= 0 else {}  # in front of it columns are listed
        return str(reported.get("Provider", "")).lower()

    def _newest(self, query: str, column: str) -> Any:
        """Return a column of the row that a history begins with; empty for a table without a history."""
        rows = self._spark.sql(query).collect()
        return rows[0][column] if rows else ""

    def _digest_of_files(self) -> str:
        """Digest the files that Spark would read, as it sees them; empty where it does not tell them, as of a view."""
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions as f

        names = ("file_path", "file_size", "file_modification_time")
        try:
            files = self.frame.select(*(f.col(f"_metadata.{name}").alias(name) for name in names)).distinct()
            hashed = f.xxhash64("file_path", "file_size", f.unix_micros("file_modification_time"))
            row = files.agg(f.count(f.lit(1)).alias("n"), f.sum(hashed.cast("decimal(20,0)")).alias("sum")).collect()[0]
        except AnalysisException:
            return ""
        return f"files:{row['n']}:{row['sum'] or 0}"

    def _digest_of_rows(self) -> str:
        from pyspark.sql import functions as f

        simple = [
            f.col(str(i)).cast("string") for i, field in enumerate(self.frame.schema.fields) if not _is_nested(field)
        ]
        hashed = f.xxhash64(*simple) if simple else f.lit(0)
        counted = self.numbered.agg(f.count(f.lit(1)).alias("n"), f.sum(hashed.cast("decimal(20,0)")).alias("sum"))
        (row,) = counted.collect()
        return f"rows:{row['n']}:{row['sum'] or 0}"

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns, partition by partition; the rows that pass are those of the table, unfiltered.

        Raises
        ------
        TableReadError
            If a task fails.
        """
        positions = [self.column_names.index(name) for name in columns]
        chosen = self.numbered.select(*(str(i) for i in positions))
        try:
            with without_pandas_warning():
                yield wall_time(empty_batch(chosen))
                packed = in_tasks(chosen, _pack, "data binary")
                for row in packed.toLocalIterator():
                    with pa.ipc.open_stream(bytes(row.data)) as stream:
                        yield from map(wall_time, stream)
        except Exception as error:
            raise TableReadError(cause_of(error)) from error


def empty_batch(frame: Any) -> pa.RecordBatch:
    """Return a batch without rows, which has the types."""
    schema = frame.limit(0).toArrow().schema
    return pa.record_batch([pa.array([], type_) for type_ in schema.types], schema=schema)


def _is_in_arrow(type_: Any) -> bool:
    """Tell whether Arrow has a type of Spark: it has no intervals of months, which have no length."""
    parts = [getattr(type_, name) for name in ("elementType", "keyType", "valueType") if hasattr(type_, name)]
    parts += [field.dataType for field in getattr(type_, "fields", ())]
    return type_.typeName() not in _NOT_IN_ARROW and all(map(_is_in_arrow, parts))


def _is_nested(field: Any) -> bool:
    """Tell whether a column is of a type whose texts are of no use for a digest."""
    return field.dataType.typeName() in ("map", "struct", "array", "variant", "binary")


def _pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Hand batches on as rows of bytes, a few MiB each."""
    for batch in batches:
        n_rows = max(1, batch.num_rows * _BATCH_BYTES // max(1, batch.nbytes))
        for start in range(0, batch.num_rows, n_rows):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch.slice(start, n_rows))
            yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["data"])


def wall_time(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Read timestamps as the session's clock shows them; name columns by position."""
    columns = [
        pc.local_timestamp(column) if pa.types.is_timestamp(column.type) and column.type.tz else column
        for column in batch.columns
    ]
    return pa.record_batch(columns, names=[str(i) for i in range(len(columns))])


def quoted(name: str) -> str:
    """Quote the parts of a table's name.

    Examples
    --------
    >>> quoted("main.sales.2024 orders"), quoted("`a.b`.c")
    ('`main`.`sales`.`2024 orders`', '`a.b`.`c`')
    """
    return ".".join(f"`{part.replace('`', '``')}`" for part in split_name(name))


def split_name(name: str) -> list[str]:
    """Split a table's name at its dots; a part in back quotes may hold dots.

    Examples
    --------
    >>> split_name("main.`a.b`.t")
    ['main', 'a.b', 't']
    """
    parts, part, is_quoted = [], "", False
    for character in name:
        if character == "`":
            is_quoted = not is_quoted
        elif character == "." and not is_quoted:
            parts.append(part)
            part = ""
        else:
            part += character
    return [*parts, part]


def match_tables(spark: Any, patterns: Sequence[str]) -> list[str]:
    """List the tables of a session that patterns name.

    Parameters
    ----------
    spark : SparkSession
    patterns : sequence of str
        ``table``, ``schema.table`` or ``catalog.schema.table``; each part may be a pattern (``fnmatch``), so that
        ``dw.*`` is every table of a schema and ``main.*.*`` every table of a catalog. A schema or catalog that is
        left out is the current one.

    Returns
    -------
    list of str
        Full names as they are given to Spark, sorted, each once; temporary views only where a pattern has one part.

    Raises
    ------
    InvalidParameterError
        If a pattern matches nothing.
    """
    found: dict[str, None] = {}
    for pattern in patterns:
        names = _matches(spark, split_name(pattern))
        if not names:
            schemas = [database.name for database in spark.catalog.listDatabases()]
            raise InvalidParameterError(
                f"`tables` {pattern!r} matches no table of the Spark session; its schemas are {shortlist(schemas)}"
            )
        found.update(dict.fromkeys(names))
    return sorted(found)


def _matches(spark: Any, parts: list[str]) -> list[str]:
    """List the tables that one pattern names."""
    if len(parts) > 3:
        raise InvalidParameterError(
            f"`tables` must hold patterns of at most three parts, catalog.schema.table, got {'.'.join(parts)!r}"
        )
    if len(parts) == 1:
        tables = spark.catalog.listTables()
        return [table.name for table in tables if fnmatch.fnmatchcase(table.name, parts[0])]
    catalog = parts[0] if len(parts) == 3 else None
    if catalog is not None and catalog not in [entry.name for entry in spark.catalog.listCatalogs()]:
        return list(_expand_catalogs(spark, parts))
    before = spark.catalog.currentCatalog()
    try:
        if catalog is not None:
            spark.catalog.setCurrentCatalog(catalog)
        names = []
        for database in spark.catalog.listDatabases():
            if fnmatch.fnmatchcase(database.name, parts[-2]):
                for table in spark.catalog.listTables(database.name):
                    if not table.isTemporary and fnmatch.fnmatchcase(table.name, parts[-1]):
                        whole = [*([catalog] if catalog else []), database.name, table.name]
                        names.append(".".join(_spelled(part) for part in whole))
        return names
    finally:
        if catalog is not None:
            spark.catalog.setCurrentCatalog(before)


def _expand_catalogs(spark: Any, parts: list[str]) -> Iterator[str]:
    """List the tables of the catalogs that a pattern names."""
    for entry in spark.catalog.listCatalogs():
        if fnmatch.fnmatchcase(entry.name, parts[0]):
            yield from _matches(spark, [entry.name, *parts[1:]])


def _spelled(part: str) -> str:
    """Return a part of a name, in back quotes if it needs them."""
    return part if part.replace("_", "a").isalnum() else f"`{part.replace('`', '``')}`"
