"""The result of a containment join: batches of rows that are made as they are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dfjoin._validation import check_local_path, check_path


class ContainedPairs:
    """Pairs of which one is contained in the other. Nothing is computed before the pairs are read.

    Parameters
    ----------
    schema : pyarrow.Schema
        The columns.
    make : callable
        Starts the join; returns an iterator of record batches.
    order : list of str
        Columns by which `to_frame` sorts.
    about : str
        What is joined, for people.
    stats : callable, optional
        Returns what the latest use has read.

    Notes
    -----
    ``for frame in pairs`` gives frames of some hundred thousand rows, so that memory does not depend on the number of
    pairs. pyarrow, polars and DuckDB read the stream by themselves (``pyarrow.table(pairs)``). Each use computes the
    join anew.
    """

    def __init__(
        self,
        schema: pa.Schema,
        make: Callable[[], Iterator[pa.RecordBatch]],
        order: list[str],
        about: str,
        stats: Callable[[], dict[str, int]] = dict,
    ) -> None:
        self.schema = schema
        self._make = make
        self._order = order
        self._about = about
        self._stats = stats

    def __repr__(self) -> str:
        names = ", ".join(self.schema.names)
        return f"<ContainedPairs {self._about}: {names}; iterate over frames, or call to_frame()>"

    @property
    def stats(self) -> dict[str, int]:
        """What the uses so far have read, of a join within a memory budget; see `ReadCounts`. Empty for others."""
        return self._stats()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Compute the join and return its rows as Arrow record batches, one after the other."""
        return self._make()

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return (batch.to_pandas() for batch in self._make())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        reader = pa.RecordBatchReader.from_batches(self.schema, self._make())
        return reader.__arrow_c_stream__(requested_schema)

    def count(self) -> int:
        """Compute the join and return the number of its rows."""
        return sum(batch.num_rows for batch in self._make())

    def to_frame(self) -> pd.DataFrame:
        """Compute the join and collect its rows.

        Returns
        -------
        DataFrame
            In the order of the pairs: by row numbers, or by the names of tables and columns, by code point.
        """
        table = pa.Table.from_batches(list(self._make()), self.schema)
        return table.sort_by([(name, "ascending") for name in self._order]).to_pandas()

    def to_parquet(self, path: str | os.PathLike[str]) -> int:
        """Compute the join and write its rows to a Parquet file, batch by batch.

        Parameters
        ----------
        path : str or path
            A local file; it is replaced.

        Returns
        -------
        int
            The number of rows.
        """
        file: Path = check_local_path(check_path(path, "path"), "path")
        n = 0
        with pq.ParquetWriter(file, self.schema) as writer:
            for batch in self._make():
                writer.write_batch(batch)
                n += batch.num_rows
        return n
