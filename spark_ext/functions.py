"""SQL functions of dfjoin, the table function `dfjoin_discover`, and the catalogue of a lake as a data source.

See `spark_ext.register_functions` for their signatures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import BooleanType, DataType, DoubleType, LongType, StringType, StructType
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, SelectedColumn

from dfjoin.errors import InvalidParameterError
from dfjoin.kernels.minhash import sign_hashes
from dfjoin.lake import open_lake
from dfjoin.programs.program import Program
from dfjoin.search.discover import search_queries
from dfjoin.search.embedding.near_search import embedder_of
from dfjoin.search.lsh.bands import containment_of
from dfjoin.search.params import search_params
from dfjoin.search.result_frame import RESULT_COLUMNS, USEFUL_COLUMNS
from dfjoin.store.snapshot import Snapshot, open_snapshot
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import ValueSet, normalize_batch, read_dates
from dfjoin.vectors.embedders import unit_rows
from dfjoin.vectors.metrics import metric_of
from spark_ext.queries import query_column
from spark_ext.session import without_pandas_warning
from spark_ext.transfer import quoted

__all__ = ["LakeCatalogSource", "register_functions"]

_MOST_VALUES = 1_000_000
"""Distinct values of a query column of the table function."""


@lru_cache(maxsize=8)
def _snapshot(index: str) -> Snapshot:
    """Open the latest version of an index, once in a worker."""
    return open_snapshot(index)


def _settings(index: str | None) -> IndexSettings:
    """Return the settings of an index; those of the package where none is named."""
    settings = IndexSettings() if index is None else _snapshot(index).settings
    return replace(settings, null_evidence=False)  # other rows are no evidence here


def _canonical(values: pa.Array, settings: IndexSettings) -> ValueSet:
    """Bring values into canonical form, each by itself."""
    found = normalize_batch(values, settings)
    return found if settings.dayfirst is None else read_dates(found, settings)


# Functions of Arrow columns -------------------------------------------------------------------------------


def _by_constant(constants: pa.Array, run: Callable[[Any, pa.Array], pa.Array]) -> pa.Array:
    """Run a function for each value of an argument that is a constant nearly always: with it, and its rows."""
    found = constants.unique()
    if len(found) == 1:
        return run(found[0].as_py(), pa.array(np.arange(len(constants))))
    parts, order = [], []
    for constant in found:
        is_one = pc.is_null(constants) if not constant.is_valid else pc.equal(constants, constant).fill_null(False)
        rows = pc.indices_nonzero(is_one)
        parts.append(run(constant.as_py(), rows))
        order.append(rows.to_numpy())
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(order)))) if parts else pa.array([])


def _normalize(values: pa.Array, index: pa.Array) -> pa.Array:
    def run(name: str | None, rows: pa.Array) -> pa.Array:
        found = _canonical(values.take(rows), _settings(name))
        texts = pa.array(found.values(), pa.string())
        return texts.take(pa.array(found.codes, mask=found.codes < 0))

    return _by_constant(index, run)


def _minhash(lists: pa.Array, index: pa.Array) -> pa.Array:
    def run(name: str | None, rows: pa.Array) -> pa.Array:
        settings = _settings(name)
        if not settings.permutations:
            raise InvalidParameterError(f"`index` must have signatures, and {name!r} was built with permutations=0")
        own = _as_lists(lists.take(rows))
        found = _canonical(own.flatten().cast(pa.string()), settings)
        ends = np.cumsum(pc.list_value_length(own).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64))
        signatures = []
        for begin, end, is_valid in zip(np.append(0, ends), ends, own.is_valid().to_pylist(), strict=False):
            codes = np.unique(found.codes[begin:end])
            hashes = found.hashes[codes[codes >= 0]]
            seed = np.uint64(settings.hash_seed)
            made = sign_hashes(hashes, settings.permutations, seed).astype(np.int64) if is_valid else None
            signatures.append(made)
        return pa.array(signatures, pa.list_(pa.int64()))

    return _by_constant(index, run)


def _embed(values: pa.Array, index: pa.Array) -> pa.Array:
    def run(name: str | None, rows: pa.Array) -> pa.Array:
        if name is None:
            raise InvalidParameterError("`index` of dfjoin_embed must name the index whose embedder is used, got null")
        snapshot = _snapshot(name)
        found = _canonical(values.take(rows), replace(snapshot.settings, null_evidence=False))
        vectors = unit_rows(embedder_of(snapshot).embed((found.offsets, found.data)))
        width = vectors.shape[1]
        lists = pa.ListArray.from_arrays(np.arange(len(vectors) + 1, dtype=np.int32) * width, vectors.ravel())
        codes = np.where(found.codes >= 0, found.codes, 0)
        has_vector = np.append(vectors.any(axis=1), False)[found.codes]  # the last one serves code -1, the null
        return lists.take(pa.array(codes, mask=~has_vector))

    return _by_constant(index, run)


def _distance(one: pa.Array, other: pa.Array, metric: pa.Array) -> pa.Array:
    def run(name: str | None, rows: pa.Array) -> pa.Array:
        measure = metric_of(name or "euclidean")
        found: list[float | None] = []
        for a, b in zip(one.take(rows), other.take(rows), strict=True):
            if not (a.is_valid and b.is_valid) or len(a) != len(b) or a.values.null_count or b.values.null_count:
                found.append(None)
                continue
            first, second = a.values.to_numpy(), b.values.to_numpy()
            found.append(float(measure.distances(first, second[None, :])[0]))
        return pa.array(found, pa.float64())

    return _by_constant(metric, run)


@lru_cache(maxsize=64)
def _program(text: str) -> Program:
    program = Program.from_dict(json.loads(text))
    if len(program.columns) != 1:
        raise InvalidParameterError(
            f"`program_json` must be a program of one column, got one of {len(program.columns)}; write it as an "
            "expression with Program.to_spark_sql"
        )
    return program


def _transform(programs: pa.Array, values: pa.Array) -> pa.Array:
    def run(text: str | None, rows: pa.Array) -> pa.Array:
        if text is None:
            return pa.nulls(len(rows), pa.string())
        return _program(text).apply([values.take(rows).cast(pa.large_string())]).cast(pa.string())

    return _by_constant(programs, run)


def _as_lists(column: pa.Array) -> pa.Array:
    """Return a column of lists; one of nulls alone, whose type pandas has lost, as lists of texts."""
    return column.cast(pa.list_(pa.string())) if pa.types.is_null(column.type) else column


def _sizes(one: pa.Array, other: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count the distinct elements of two columns of lists, row by row, and those that both have; nulls are none."""
    n, sides, values = len(one), [], []
    for lists in map(_as_lists, (one, other)):
        texts = lists.flatten().cast(pa.string())
        rows = np.repeat(np.arange(n), pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False))
        held = texts.is_valid().to_numpy(zero_copy_only=False)
        sides.append(rows[held])
        values.append(texts.drop_null())
    codes = pa.concat_arrays(values).dictionary_encode().indices.to_numpy().astype(np.int64)
    width = int(codes.max(initial=0)) + 1
    split = sides[0].size
    a, b = np.unique(sides[0] * width + codes[:split]), np.unique(sides[1] * width + codes[split:])
    shared = np.intersect1d(a, b, assume_unique=True)
    counts = [np.bincount(keys // width, minlength=n).astype(np.int64) for keys in (a, b, shared)]
    return counts[0], counts[1], counts[2]


def _share(shared: NDArray[np.int64], whole: NDArray[np.int64], one: pa.Array, other: pa.Array) -> pa.Array:
    """Divide counts; null where there is nothing to divide by, or a list is null."""
    is_null = (whole == 0) | ~pc.and_(one.is_valid(), other.is_valid()).to_numpy(zero_copy_only=False)
    return pa.array(shared / np.maximum(1, whole), mask=is_null)


def _containment(one: pa.Array, other: pa.Array) -> pa.Array:
    n_one, _, n_shared = _sizes(one, other)
    return _share(n_shared, n_one, one, other)


def _jaccard(one: pa.Array, other: pa.Array) -> pa.Array:
    n_one, n_other, n_shared = _sizes(one, other)
    return _share(n_shared, n_one + n_other - n_shared, one, other)


def _minhash_containment(one: pa.Array, n_one: pa.Array, other: pa.Array, n_other: pa.Array) -> pa.Array:
    found: list[float | None] = []
    for a, n_a, b, n_b in zip(one, n_one.to_pylist(), other, n_other.to_pylist(), strict=True):
        if not (a.is_valid and b.is_valid) or n_a is None or n_b is None or n_a < 1 or len(a) != len(b) or not len(a):
            found.append(None)
            continue
        agreed = float(np.mean(a.values.to_numpy() == b.values.to_numpy()))
        found.append(float(containment_of(agreed, float(n_b), n_a)))
    return pa.array(found, pa.float64())


_PYTHON: dict[str, tuple[Callable[..., pa.Array], str]] = {
    "dfjoin_normalize": (_normalize, "string"),
    "dfjoin_containment": (_containment, "double"),
    "dfjoin_jaccard": (_jaccard, "double"),
    "dfjoin_minhash": (_minhash, "array<bigint>"),
    "dfjoin_minhash_containment": (_minhash_containment, "double"),
    "dfjoin_embed": (_embed, "array<float>"),
    "dfjoin_distance": (_distance, "double"),
    "dfjoin_transform": (_transform, "string"),
}
_OPTIONAL = {"dfjoin_normalize": 1, "dfjoin_minhash": 1, "dfjoin_distance": 2}
"""Function → its arguments that are not optional; one more may be given."""


def _function(name: str) -> Any:
    """Make a function of Spark of one of Arrow arrays."""
    run, type_ = _PYTHON[name]
    n_needed = _OPTIONAL.get(name)

    def call(*columns):  # type: ignore[no-untyped-def]
        arrays = [_plain(column) for column in columns]
        if n_needed == len(arrays):
            arrays.append(pa.nulls(len(arrays[0]), pa.string()))
        return run(*arrays)

    make: Any = getattr(F, "arrow_udf", None)
    if make is not None:
        return make(call, type_)

    def call_of_pandas(*columns):  # type: ignore[no-untyped-def]
        return call(*columns).to_pandas()

    make = F.pandas_udf
    return make(call_of_pandas, type_)


def _plain(column: Any) -> pa.Array:
    """Return a column as Arrow, times as the session's clock shows them."""
    array = column if isinstance(column, pa.Array) else pa.Array.from_pandas(column)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return pc.local_timestamp(array) if pa.types.is_timestamp(array.type) and array.type.tz else array


# The table function ---------------------------------------------------------------------------------------

_TEXTS = {"query_column", "table", "column", "kind", "relationship", "method", "verdict", "brings"}
_FLAGS = {"accidental", "exact", "copy"}
_SHARES = {"containment", "jaccard", "score", "usefulness"}


def _type_of(name: str) -> DataType:
    if name in _TEXTS:
        return StringType()
    return BooleanType() if name in _FLAGS else DoubleType() if name in _SHARES else LongType()


_COLUMNS = (*RESULT_COLUMNS, *USEFUL_COLUMNS, "pad")


@dataclass
class _Analyzed(AnalyzeResult):
    """What is known of a call before it runs."""

    name: str = ""
    index: str = ""
    k: int = 10


class _Discover:
    """``dfjoin_discover``: collects the values of a column, and searches a lake for them, once."""

    def __init__(self, analyzed: _Analyzed) -> None:
        self._analyzed = analyzed
        self._counts: dict[Any, int] = {}

    @staticmethod
    def analyze(
        table: AnalyzeArgument, column: AnalyzeArgument, lake: AnalyzeArgument, k: AnalyzeArgument | None = None
    ) -> _Analyzed:
        """Check the arguments; only the column that is named is read."""
        names = table.dataType.fieldNames() if isinstance(table.dataType, StructType) else []
        name = str(column.value)
        if name not in names:
            raise InvalidParameterError(f"`column` must name a column of the table ({names}), got {name!r}")
        if not isinstance(lake.value, str):
            raise InvalidParameterError(f"`lake` must be the path of an index as a text, got {lake.value!r}")
        n_wanted = 10 if k is None else k.value
        if not isinstance(n_wanted, int) or n_wanted < 1:
            raise InvalidParameterError(f"`k` must be an integer of at least 1, got {n_wanted!r}")
        schema = StructType()
        for one in _COLUMNS:
            schema = schema.add(one, _type_of(one))
        selected = [SelectedColumn(quoted(name))]
        return _Analyzed(schema, withSinglePartition=True, select=selected, name=name, index=lake.value, k=n_wanted)

    def eval(self, table: Any, column: str, lake: str, k: int = 10) -> None:
        """Take a row."""
        value = table[0]
        if value is None:
            return
        self._counts[value] = self._counts.get(value, 0) + 1
        if len(self._counts) > _MOST_VALUES:
            raise InvalidParameterError(
                f"dfjoin_discover takes at most {_MOST_VALUES:,} distinct values; search with "
                "sdf.discover_joinable(...), which has no such limit"
            )

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Search."""
        asked, snapshot = self._analyzed, _snapshot(self._analyzed.index)
        params = search_params(k=asked.k)
        values = pa.chunked_array([pa.array(list(self._counts))])
        counts = np.fromiter(self._counts.values(), np.int64, len(self._counts))
        query = query_column(asked.name, values, counts, snapshot.settings, params, ())
        frame = search_queries(snapshot, [query], params, is_first=False).reindex(columns=list(_COLUMNS))
        arrays = pa.Table.from_pandas(frame, preserve_index=False).to_pydict()
        yield from zip(*(arrays[name] for name in _COLUMNS), strict=True)


# The data source ------------------------------------------------------------------------------------------


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


def register_functions(spark: Any) -> None:
    """Carry out `spark_ext.register_functions`."""
    with without_pandas_warning():
        for name in _PYTHON:
            spark.udf.register(name, _function(name))
        table_function = F.udtf(_Discover)
        for name in ("dfjoin_discover", "discover_joinable"):
            spark.udtf.register(name, table_function)
        spark.dataSource.register(LakeCatalogSource)
