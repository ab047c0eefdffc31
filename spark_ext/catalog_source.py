"""The catalogue of a lake as a data source of Spark: ``spark.read.format("dfjoin").load(index)``, a task a segment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.store.overview import columns_of, tables_of
from dfjoin.store.snapshot import Snapshot
from spark_ext.jobs import in_one_sentence
from spark_ext.opened_indexes import open_version, require_allowed

__all__ = ["LakeCatalogSource", "catalog_source"]

_CONTENTS = {"columns": (columns_of, ["table", "column"]), "tables": (tables_of, ["table"])}
"""Content → what lists it, and the columns that its rows are sorted by."""

_OPTIONS = ("path", "content", "version")


@dataclass
class _Segment(InputPartition):
    """One segment of a version of an index."""

    version: int
    number: int


class _CatalogReader(DataSourceReader):
    """Reads the catalogue of a lake, each segment in a task of its own."""

    def __init__(self, index: str, content: str, version: int | None) -> None:
        self._index = index
        self._content = content
        self._version = version

    @in_one_sentence
    def partitions(self) -> list[_Segment]:
        """Return the segments of the version: every task reads the same one."""
        snapshot = open_version(self._index, self._version)
        return [_Segment(snapshot.version, number) for number in range(len(snapshot.segments))]

    @in_one_sentence
    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read the catalogue of a segment."""
        snapshot = open_version(self._index, partition.version)
        meta = snapshot.manifest.segments[partition.number]
        return iter(_catalog(_of_segments(snapshot, (meta,)), self._content).to_batches(max_chunksize=65_536))


def _of_segments(snapshot: Snapshot, metas: tuple[Any, ...]) -> Snapshot:
    return snapshot.at(replace(snapshot.manifest, segments=metas))


def _catalog(snapshot: Snapshot, content: str) -> pa.Table:
    """Return the columns or the tables of a lake as Spark has them; lists of texts are joined by commas."""
    listed, order = _CONTENTS[content]
    table = listed(snapshot).sort_by([(name, "ascending") for name in order])
    columns = [_as_spark(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _as_spark(column: pa.ChunkedArray) -> pa.ChunkedArray:
    type_ = column.type
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pc.binary_join(column.cast(pa.list_(pa.string())), ", ")
    if pa.types.is_timestamp(type_):
        return column.cast(pa.timestamp("us", "UTC"), safe=False)
    if pa.types.is_integer(type_):
        return column.cast(pa.int64(), safe=False)
    is_plain = pa.types.is_boolean(type_) or pa.types.is_floating(type_)
    return column if is_plain else column.cast(pa.string())


class LakeCatalogSource(DataSource):
    """The catalogue of a lake: ``spark.read.format("dfjoin").load(index)``.

    Option ``content``: ``"columns"`` (default), a row for each column of the lake, or ``"tables"``; ``version``: the
    version of the index, the latest by default. Any other option is an error.
    """

    allowed: frozenset[str] | None = None
    """The indexes that are opened; None: any."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "dfjoin"

    def _asked(self) -> tuple[str, str, int | None]:
        given = {name.lower(): value for name, value in self.options.items()}
        unknown = sorted(set(given) - set(_OPTIONS))
        if unknown:
            raise InvalidParameterError(
                f"the options of the format dfjoin are {shortlist(_OPTIONS)}, got {unknown[0]!r}; leave it out"
            )
        index, content, version = given.get("path"), given.get("content", "columns"), given.get("version")
        if not index:
            raise InvalidParameterError("`path` must be given: spark.read.format('dfjoin').load(index)")
        require_allowed(index, self.allowed)
        if content not in _CONTENTS:
            raise InvalidParameterError(f"`content` must be one of {shortlist(_CONTENTS)}, got {content!r}")
        if version is not None and not (version.isdecimal() and int(version)):
            raise InvalidParameterError(f"`version` must be the number of a version, 1 or more, got {version!r}")
        return index, content, None if version is None else int(version)

    @in_one_sentence
    def schema(self) -> StructType:
        """Return the columns of the catalogue, which are the same for every lake."""
        from pyspark.sql.pandas.types import from_arrow_schema

        index, content, version = self._asked()
        return from_arrow_schema(_catalog(_of_segments(open_version(index, version), ()), content).schema)

    @in_one_sentence
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads it."""
        return _CatalogReader(*self._asked())


def catalog_source(allowed: frozenset[str] | None) -> type[LakeCatalogSource]:
    """Return the data source that opens the allowed indexes alone; None: any."""
    return type("AllowedCatalogSource", (LakeCatalogSource,), {"allowed": allowed})
