"""The table function ``dfjoin_discover``: a search for the values of a column of a table, in one task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.types import BooleanType, DataType, DoubleType, LongType, StringType, StructType
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, SelectedColumn

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.search.candidates import RESULT_COLUMNS, USEFUL_COLUMNS
from dfjoin.search.column_search import search_queries
from dfjoin.search.params import search_params
from spark_ext.jobs import in_one_sentence
from spark_ext.opened_indexes import newest_snapshot, require_allowed
from spark_ext.queries import is_searchable, query_column
from spark_ext.transfer import quoted

__all__ = ["DiscoverFunction", "discover_function"]

_MOST_VALUES = 1_000_000
"""Distinct values of a query column of the table function."""


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


class DiscoverFunction:
    """``dfjoin_discover``: collects the values of a column, and searches a lake for them, once."""

    def __init__(self, analyzed: _Analyzed) -> None:
        self._analyzed = analyzed
        self._counts: dict[Any, int] = {}

    @staticmethod
    @in_one_sentence
    def analyze(
        table: AnalyzeArgument, column: AnalyzeArgument, lake: AnalyzeArgument, k: AnalyzeArgument | None = None
    ) -> _Analyzed:
        """Check the arguments; only the column that is named is read."""
        types = table.dataType if isinstance(table.dataType, StructType) else StructType()
        names = types.fieldNames()
        name = str(column.value)
        if name not in names:  # what the session thinks of case is not told; no other column can be meant
            name = next((own for own in names if own.lower() == name.lower()), name)
        if name not in names:
            raise InvalidParameterError(f"`column` must name a column of the table ({names}), got {name!r}")
        type_ = types[name].dataType.simpleString()
        if not is_searchable(type_):
            raise InvalidTypeError(
                f"`column` must name a column whose values have a text, got {name!r} of type {type_}; turn its values "
                "into text first"
            )
        if not isinstance(lake.value, str):
            raise InvalidParameterError(f"`lake` must be the path of an index as a text, got {lake.value!r}")
        newest_snapshot(lake.value)
        n_wanted = 10 if k is None else k.value
        if not isinstance(n_wanted, int) or n_wanted < 1:
            raise InvalidParameterError(f"`k` must be an integer of at least 1, got {n_wanted!r}")
        schema = StructType()
        for one in _COLUMNS:
            schema = schema.add(one, _type_of(one))
        selected = [SelectedColumn(quoted(name))]
        return _Analyzed(schema, withSinglePartition=True, select=selected, name=name, index=lake.value, k=n_wanted)

    @in_one_sentence
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

    @in_one_sentence
    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Search."""
        asked, snapshot = self._analyzed, newest_snapshot(self._analyzed.index)
        params = search_params(k=asked.k)
        values = pa.chunked_array([pa.array(list(self._counts))])
        counts = np.fromiter(self._counts.values(), np.int64, len(self._counts))
        query = query_column(asked.name, values, counts, snapshot.settings, params, ())
        frame = search_queries(snapshot, [query], params, is_first=False).reindex(columns=list(_COLUMNS))
        arrays = pa.Table.from_pandas(frame, preserve_index=False).to_pydict()
        return zip(*(arrays[name] for name in _COLUMNS), strict=True)


def discover_function(allowed: frozenset[str] | None) -> type[DiscoverFunction]:
    """Return the table function that opens the allowed indexes alone; None: any."""
    if allowed is None:
        return DiscoverFunction

    class AllowedDiscoverFunction(DiscoverFunction):
        @staticmethod
        @in_one_sentence
        def analyze(
            table: AnalyzeArgument, column: AnalyzeArgument, lake: AnalyzeArgument, k: AnalyzeArgument | None = None
        ) -> _Analyzed:
            """Check the arguments, the index first."""
            require_allowed(str(lake.value), allowed)
            return DiscoverFunction.analyze(table, column, lake, k)

    return AllowedDiscoverFunction
