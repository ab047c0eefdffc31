"""The cells of a table on their way into row signatures: which value each row has in each column, in bounded memory."""

from __future__ import annotations

import json
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.row_group import pack_codes, write_row_files
from dfjoin.ingest.balance import estimated_bytes
from dfjoin.kernels.texts.numbers import DAY_MONTH_YEAR
from dfjoin.types import Root, TableSource
from dfjoin.values.normalize import ValueSet


class _Batch(NamedTuple):
    """Where the cells of a batch of a column lie; a batch of nulls lies nowhere, and has no values."""

    offset: int
    n_rows: int
    n_values: int
    dtype: str


class TableCells:
    """The cells of one table while it is read; beyond a budget they wait in a temporary file.

    Parameters
    ----------
    budget : int
        Bytes to hold in memory.
    scratch : Path
        Directory for the file.
    """

    def __init__(self, budget: int, scratch: Path) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=budget, dir=str(scratch))  # noqa: SIM115
        self._end = 0

    def write(self, *arrays: NDArray) -> int:
        """Append arrays; return where they begin."""
        start = self._end
        self._file.seek(start)
        for array in arrays:
            self._end += self._file.write(np.ascontiguousarray(array).data)
        return start

    def read(self, offset: int, dtype: str, n: int) -> NDArray:
        """Read numbers that were written."""
        self._file.seek(offset)
        return np.frombuffer(self._file.read(n * np.dtype(dtype).itemsize), dtype)

    def close(self) -> None:
        """Forget all."""
        self._file.close()


class ColumnCells:
    """The cells of one column of a table.

    Parameters
    ----------
    table : TableCells

    Attributes
    ----------
    has_dates : bool
        A value is an all-digit date, which the index may write otherwise.
    """

    def __init__(self, table: TableCells) -> None:
        self._table = table
        self.has_dates = False
        self._batches: list[_Batch] = []

    def add(self, values: ValueSet) -> None:
        """Take a batch: its values and the code of each row."""
        n = len(values)
        dtype = "i1" if n < 1 << 7 else "i2" if n < 1 << 15 else "i4"
        self.has_dates |= bool(n and values.classes.max() >= DAY_MONTH_YEAR)
        offset = self._table.write(values.hashes, values.codes.astype(dtype))
        self._batches.append(_Batch(offset, values.codes.size, n, dtype))

    def skip(self, n_rows: int) -> None:
        """Take rows without a value."""
        self._batches.append(_Batch(0, n_rows, 0, "i1"))

    def hashes(self) -> NDArray[np.uint64]:
        """Return the distinct hashes of all values, ascending."""
        return np.unique(np.concatenate([np.empty(0, np.uint64), *(self._hashes(batch) for batch in self._batches)]))

    def pack(self, hashes: NDArray[np.uint64], final: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], int]:
        """Pack the codes of the rows, see `dfjoin.index.row_group.pack_codes`.

        Parameters
        ----------
        hashes : ndarray of uint64, shape (n_values,)
            Of the values that are none of the column's nulls, as batches have them.
        final : ndarray of uint64, shape (n_values,)
            Of the same values as the index has them: all-digit dates may have been read.

        Notes
        -----
        O(rows + values log values).
        """
        order = np.argsort(hashes, kind="stable")
        known, distinct = hashes[order], np.unique(final)
        ranks = np.append(np.searchsorted(distinct, final[order]), -1).astype(np.int32)

        def codes(batch: _Batch) -> NDArray[np.int32]:
            if not batch.n_values:
                return np.full(batch.n_rows, -1, np.int32)
            own = self._hashes(batch)
            positions = np.searchsorted(known, own)
            is_known = positions < known.size
            is_known[is_known] = known[positions[is_known]] == own[is_known]
            table = np.append(ranks[np.where(is_known, positions, -1)], np.int32(-1))  # the last one serves the null
            return table[self._table.read(batch.offset + own.nbytes, batch.dtype, batch.n_rows)]

        parts: Iterator[NDArray[np.int32]] = map(codes, self._batches)
        return pack_codes(parts, sum(batch.n_rows for batch in self._batches), distinct.size)

    def _hashes(self, batch: _Batch) -> NDArray[np.uint64]:
        return self._table.read(batch.offset, "u8", batch.n_values)


class RowCollector:
    """The packed cells of the tables of a task, in a file until its run is written.

    Parameters
    ----------
    budget : int
        Bytes that the cells of a table may take before they go into a file.
    scratch : Path
        Directory for the files.
    """

    def __init__(self, budget: int, scratch: Path) -> None:
        self._budget = budget
        self._scratch = scratch
        self._path = scratch / "rows"
        self._path.touch()
        self._n_words = 0
        self._stretches: dict[int, tuple[int, int, int]] = {}

    def start_table(self) -> TableCells:
        """Return what takes the cells of a table."""
        return TableCells(self._budget, self._scratch)

    def add(self, column: int, packed: tuple[NDArray[np.uint64], int]) -> None:
        """Take a column of a table that was read."""
        words, bits = packed
        with self._path.open("ab") as stream:
            stream.write(words.data)
        self._stretches[column] = self._n_words, words.size, bits
        self._n_words += words.size

    def finish(self, directory: Path, columns: dict[int, int]) -> None:
        """Write what a run says of the rows of its tables.

        Parameters
        ----------
        directory : Path
            Of the run.
        columns : dict of int to int
            Id in the run → column as given to `add`, for all columns.
        """
        every = np.memmap(self._path, np.uint64, "r") if self._n_words else np.empty(0, np.uint64)
        stretches = [self._stretches.get(columns[column], (0, 0, 0)) for column in range(len(columns))]
        bits = np.array([bits for _, _, bits in stretches], np.uint8)
        write_row_files(directory, bits, [every[start : start + size] for start, size, _ in stretches])


# The tables that a build reads, in a file: what the driver holds does not grow with the lake ----------------


_IN_MEMORY = 1 << 20
_CHUNK = 1 << 18


class TableSpool(Collection[TableSource]):
    """Tables in the order in which they came, read again as often as they are asked for.

    Parameters
    ----------
    tables : iterable of TableSource
        Read once.

    Attributes
    ----------
    n_bytes : int
        Bytes of all files.
    work : int
        Sum of `estimated_bytes`.

    Notes
    -----
    Above 1 MiB, at about 100 bytes a table and its path twice, they lie in a temporary file that has no name.
    """

    def __init__(self, tables: Iterable[TableSource]) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (closed with the spool)
        weakref.finalize(self, self._file.close)
        self._roots: list[Root] = []
        self._n = self.n_bytes = self.work = 0
        for table in tables:
            self._put(table)

    def _put(self, table: TableSource) -> None:
        if table.root not in self._roots:
            self._roots.append(table.root)
        parts = None if table.parts == (table.path,) else table.parts
        same = (table.name, table.path, table.format, table.size, table.mtime_ns)
        values = (self._roots.index(table.root), *same, parts, table.left_out, table.version, table.part_stats)
        self._file.write(json.dumps(values).encode() + b"\n")
        self._n += 1
        self.n_bytes += table.size
        self.work += estimated_bytes(table)

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[TableSource]:
        start, rest = 0, b""
        while True:
            self._file.seek(start)  # another reader may have been there meanwhile
            chunk = self._file.read(_CHUNK)
            if not chunk:
                self._file.seek(0, 2)
                return
            start += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                root, name, path, format_, size, mtime, parts, left_out, version, stats = json.loads(line)
                parts = (path,) if parts is None else tuple(parts)
                own, state = self._roots[root], (tuple(left_out), version, tuple(map(tuple, stats)))
                yield TableSource(name, own, path, format_, size, mtime, parts, *state)

    def __contains__(self, table: object) -> bool:
        return any(table == own for own in self)
