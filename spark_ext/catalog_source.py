"""The catalogue of a lake as a data source of Spark: ``spark.read.format("dfjoin").load(index)``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from dfjoin.errors import InvalidParameterError
from dfjoin.lake import open_lake

__all__ = ["LakeCatalogSource"]


class _CatalogReader(DataSourceReader):
    """Reads the catalogue of a lake in one task."""

    def __init__(self, index: str, content: str) -> None:
        self._index = index
        self._content = content

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read the catalogue."""
        yield from _catalog(self._index, self._content).to_batches(max_chunksize=65_536)


def _catalog(index: str, content: str) -> pa.Table:
    """Return the columns or the tables of a lake as Spark has them; lists of texts are joined by commas."""
    lake = open_lake(index)
    table = pa.Table.from_pandas(lake.columns if content == "columns" else lake.tables, preserve_index=False)
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

    Option ``content``: ``"columns"`` (default), a row for each column of the lake, or ``"tables"``.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "dfjoin"

    def _asked(self) -> tuple[str, str]:
        index, content = self.options.get("path"), self.options.get("content", "columns")
        if not index:
            raise InvalidParameterError("`path` must be given: spark.read.format('dfjoin').load(index)")
        if content not in ("columns", "tables"):
            raise InvalidParameterError(f"`content` must be one of 'columns', 'tables', got {content!r}")
        return index, content

    def schema(self) -> StructType:
        """Return the columns of the catalogue."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(_catalog(*self._asked()).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what reads it."""
        return _CatalogReader(*self._asked())
