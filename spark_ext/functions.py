"""SQL functions of dfjoin, vectorised over Arrow, and what registers them.

See `spark_ext.register_functions` for their signatures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import functions as F

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.kernels.sets.minhash import draws_of, sign_lists
from dfjoin.programs.program import Program
from dfjoin.search.embedding.near_search import embedder_of
from dfjoin.search.lsh.bands import containment_of
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import ValueSet, normalize_batch, read_dates
from dfjoin.vectors.embedders import unit_rows
from dfjoin.vectors.metrics import metric_of, row_distances
from spark_ext.catalog_source import catalog_source
from spark_ext.discover_function import discover_function
from spark_ext.jobs import arrow_function, this_python
from spark_ext.opened_indexes import newest_snapshot, require_allowed

__all__ = ["register_functions"]


def _settings(index: str | None) -> IndexSettings:
    """Return the settings of an index; those of the package where none is named."""
    settings = IndexSettings() if index is None else newest_snapshot(index).settings
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


def _chosen(column: pa.Array, rows: Any) -> pa.Array:
    """Return some rows of a column in their order; without a copy where these are all."""
    return column if len(rows) == len(column) else column.take(pa.array(rows))


def _normalize(values: pa.Array, index: pa.Array) -> pa.Array:
    def run(name: str | None, rows: pa.Array) -> pa.Array:
        found = _canonical(_chosen(values, rows), _settings(name))
        texts = pa.array(found.values(), pa.string())
        return texts.take(pa.array(found.codes, mask=found.codes < 0))

    return _by_constant(index, run)


def _minhash(lists: pa.Array, index: pa.Array) -> pa.Array:
    def run(name: str | None, rows: pa.Array) -> pa.Array:
        settings = _settings(name)
        if not settings.permutations:
            raise InvalidParameterError(f"`index` must have signatures, and {name!r} was built with permutations=0")
        own = _as_lists(_chosen(lists, rows))
        found = _canonical(own.flatten().cast(pa.string()), settings)
        lengths = pc.list_value_length(own).fill_null(0).to_numpy(zero_copy_only=False)
        width = len(found.hashes) + 1
        held = np.sort((np.repeat(np.arange(len(own)), lengths) * width + found.codes)[found.codes >= 0])
        held = held[np.append(True, held[1:] != held[:-1])] if held.size else held  # each value once in a list
        offsets = np.searchsorted(held // width, np.arange(len(own) + 1))
        signatures = np.full((len(own), settings.permutations), 0xFFFFFFFF, np.int64)
        draws = draws_of(settings.permutations, settings.hash_seed)
        sign_lists(found.hashes[held % width], offsets, draws, signatures)
        return _lists_of(signatures, _is_null(own))

    return _by_constant(index, run)


def _embed(values: pa.Array, index: pa.Array) -> pa.Array:
    def run(name: str | None, rows: pa.Array) -> pa.Array:
        if name is None:
            raise InvalidParameterError("`index` of dfjoin_embed must name the index whose embedder is used, got null")
        snapshot = newest_snapshot(name)
        found = _canonical(_chosen(values, rows), replace(snapshot.settings, null_evidence=False))
        vectors = unit_rows(embedder_of(snapshot).embed((found.offsets, found.data)))
        lists = _lists_of(vectors)
        codes = np.where(found.codes >= 0, found.codes, 0)
        has_vector = np.append(vectors.any(axis=1), False)[found.codes]  # the last one serves code -1, the null
        return lists.take(pa.array(codes, mask=~has_vector))

    return _by_constant(index, run)


def _distance(one: pa.Array, other: pa.Array, metric: pa.Array) -> pa.Array:
    def run(name: str | None, rows: pa.Array) -> pa.Array:
        measure = metric_of(name or "euclidean")
        first, second = _chosen(one, rows), _chosen(other, rows)
        found, is_null = np.zeros(len(rows)), np.ones(len(rows), bool)
        for chosen, a, b in _matrices(first, second):
            found[chosen] = row_distances(measure, a, b)
            is_null[chosen] = False
        return pa.array(found, mask=is_null)

    return _by_constant(metric, run)


@lru_cache(maxsize=64)
def _program(text: str) -> Program:
    try:
        program = Program.from_dict(json.loads(text))
    except json.JSONDecodeError:
        raise InvalidParameterError(
            f"`program_json` must be the JSON of a learned program, as json.dumps(program.to_dict()), got {text!r:.80}"
        ) from None
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
        return _program(text).apply([_chosen(values, rows).cast(pa.large_string())]).cast(pa.string())

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
    sizes = [column.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False) for column in (n_one, n_other)]
    is_null = (sizes[0] < 1) | _is_null(n_other)
    found, is_known = np.zeros(len(one)), np.zeros(len(one), bool)
    for chosen, a, b in _matrices(one, other):
        chosen_sizes = [np.where(is_null, 1.0, counts)[chosen] for counts in sizes]
        found[chosen] = containment_of((a == b).mean(axis=1), chosen_sizes[1], chosen_sizes[0])
        is_known[chosen] = a.shape[1] > 0
    return pa.array(found, mask=is_null | ~is_known)


def _is_null(column: pa.Array) -> NDArray[np.bool_]:
    return column.is_null().to_numpy(zero_copy_only=False)


def _lists_of(matrix: NDArray[Any], is_null: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return the rows of a matrix as lists; some are null."""
    offsets = pa.array(np.arange(len(matrix) + 1, dtype=np.int32) * matrix.shape[1])
    mask = pa.array(is_null) if is_null is not None and is_null.any() else None
    return pa.ListArray.from_arrays(offsets, pa.array(matrix.ravel()), mask=mask)


def _matrices(one: pa.Array, other: pa.Array) -> Iterator[tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]]:
    """Return two columns of lists of numbers as matrices, for each length of lists: rows, and both sides of them.

    Rows are left out where one side is null or holds a null, or the lengths differ.
    """
    sides = [_as_lists(column) for column in (one, other)]
    lengths = [pc.list_value_length(side).fill_null(-1).to_numpy(zero_copy_only=False) for side in sides]
    is_left_out = lengths[0] != lengths[1]
    for side in sides:
        has_null = pc.list_parent_indices(side).filter(side.flatten().is_null())
        is_left_out[has_null.to_numpy()] = True
    for width in np.unique(lengths[0][~is_left_out & (lengths[0] > 0)]).tolist():
        rows = np.flatnonzero((lengths[0] == width) & ~is_left_out)
        chosen = [_chosen(side, rows).flatten().to_numpy(zero_copy_only=False) for side in sides]
        yield rows, chosen[0].reshape(-1, width), chosen[1].reshape(-1, width)


_FUNCTIONS: dict[str, tuple[Callable[..., pa.Array], str, str]] = {
    "dfjoin_normalize": (_normalize, "string", "value [, index]"),
    "dfjoin_containment": (_containment, "double", "array, array"),
    "dfjoin_jaccard": (_jaccard, "double", "array, array"),
    "dfjoin_minhash": (_minhash, "array<bigint>", "array [, index]"),
    "dfjoin_minhash_containment": (_minhash_containment, "double", "array, number, array, number"),
    "dfjoin_embed": (_embed, "array<float>", "value, index"),
    "dfjoin_distance": (_distance, "double", "numbers, numbers [, text]"),
    "dfjoin_transform": (_transform, "string", "text, value"),
}
"""SQL function → what carries it out, the type of its result, and the kinds of its arguments (an index is a text)."""


def _is_list(type_: pa.DataType) -> bool:
    return pa.types.is_list(type_) or pa.types.is_large_list(type_)


def _is_number(type_: pa.DataType) -> bool:
    return pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)


_IS_OF_KIND: dict[str, Callable[[pa.DataType], bool]] = {
    "value": lambda _type: True,
    "array": lambda type_: _is_list(type_) and not pa.types.is_nested(type_.value_type),
    "numbers": lambda type_: _is_list(type_) and (pa.types.is_null(type_.value_type) or _is_number(type_.value_type)),
    "text": lambda type_: pa.types.is_string(type_) or pa.types.is_large_string(type_),
    "number": _is_number,
}


def _completed(name: str, arrays: tuple[pa.Array, ...], allowed: frozenset[str] | None) -> tuple[pa.Array, ...]:
    """Return the arguments of a SQL function, nulls for one that was left out; raise unless it takes them."""
    written = _FUNCTIONS[name][2]
    kinds = re.findall(r"\w+", written)
    fits = len(kinds) - written.count("[") <= len(arrays) <= len(kinds)
    for kind, array in zip(kinds, arrays, strict=False):
        fits &= pa.types.is_null(array.type) or _IS_OF_KIND["text" if kind == "index" else kind](array.type)
    if not fits:
        types = ", ".join(str(array.type) for array in arrays)
        raise InvalidTypeError(f"the arguments must be {name}({written}), got {name}({types})")
    arrays += tuple(pa.nulls(len(arrays[0]), pa.string()) for _ in kinds[len(arrays) :])
    if "index" in kinds:
        for index in arrays[1].unique().drop_null().to_pylist():
            require_allowed(index, allowed)
    return arrays


def _function(name: str, allowed: frozenset[str] | None) -> Any:
    """Make a function of Spark of one of Arrow arrays, which opens the allowed indexes alone; None: any."""
    run, type_, _ = _FUNCTIONS[name]

    def call(*arrays):  # type: ignore[no-untyped-def]
        return run(*_completed(name, arrays, allowed))

    return arrow_function(call, type_)


def register_functions(spark: Any, allowed: frozenset[str] | None = None) -> None:
    """Carry out `spark_ext.register_functions`."""
    with this_python(spark):
        for name in _FUNCTIONS:
            spark.udf.register(name, _function(name, allowed))
        table_function = F.udtf(discover_function(allowed))
        for name in ("dfjoin_discover", "discover_joinable"):
            spark.udtf.register(name, table_function)
        spark.dataSource.register(catalog_source(allowed))
