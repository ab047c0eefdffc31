"""SQL functions of dfjoin, vectorised over Arrow, and what registers them.

See `spark_ext.register_functions` for their signatures.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import functions as F

from dfjoin.errors import InvalidParameterError
from dfjoin.kernels.minhash import sign_hashes
from dfjoin.programs.program import Program
from dfjoin.search.embedding.near_search import embedder_of
from dfjoin.search.lsh.bands import containment_of
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_batch, read_dates
from dfjoin.values.value_set import ValueSet
from dfjoin.vectors.embedders import unit_rows
from dfjoin.vectors.metrics import metric_of
from spark_ext.catalog_source import LakeCatalogSource
from spark_ext.discover_function import DiscoverFunction, latest_snapshot
from spark_ext.session import without_pandas_warning

__all__ = ["register_functions"]


def _settings(index: str | None) -> IndexSettings:
    """Return the settings of an index; those of the package where none is named."""
    settings = IndexSettings() if index is None else latest_snapshot(index).settings
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
        snapshot = latest_snapshot(name)
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


def register_functions(spark: Any) -> None:
    """Carry out `spark_ext.register_functions`."""
    with without_pandas_warning():
        for name in _PYTHON:
            spark.udf.register(name, _function(name))
        table_function = F.udtf(DiscoverFunction)
        for name in ("dfjoin_discover", "discover_joinable"):
            spark.udtf.register(name, table_function)
        spark.dataSource.register(LakeCatalogSource)
