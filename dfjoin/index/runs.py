"""Runs: sorted tokens with their columns, before they become a segment.

A build task turns entries (a value and the columns that hold it) into runs; runs are merged by ranges
of the hash, so that memory follows the range and not the lake; a finished segment is a run as well,
which is how compaction reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.component_files import forget_pages, map_npy, save_array
from dfjoin.index.components import create_file, make_directory
from dfjoin.kernels.lists.grouping import expand_groups
from dfjoin.kernels.lists.postings import Entries, copy_values, merge_entries
from dfjoin.kernels.sorting import argsort_u64

if TYPE_CHECKING:
    from dfjoin.index.segment import Tokens


PADDING = 8
"""Readable bytes behind the last value: kernels load eight at a time."""

_FIELDS = ("hash", "value_offsets", "value_bytes", "indptr", "columns")


@dataclass(frozen=True)
class Run:
    """Tokens sorted by hash, each with the columns that hold it.

    Parameters
    ----------
    hash : ndarray of uint64, shape (n_tokens,)
        Ascending.
    value_offsets : ndarray of int64, shape (n_tokens + 1,)
    value_bytes : ndarray of uint8
        The values, then `PADDING` bytes.
    indptr : ndarray of int64, shape (n_tokens + 1,)
    columns : ndarray of int32, shape (indptr[-1],)
        Column ids as the run numbers them.
    """

    hash: NDArray[np.uint64]
    value_offsets: NDArray[np.int64]
    value_bytes: NDArray[np.uint8]
    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]

    @property
    def n_tokens(self) -> int:
        """Distinct values."""
        return int(self.hash.shape[0])

    @property
    def n_bytes(self) -> int:
        """What merging the run holds: with the offsets of its values and lists."""
        return self.hash.nbytes * 3 + self.value_bytes.nbytes + self.columns.nbytes * 3

    def slice(self, start: int, end: int) -> Run:
        """Return the tokens `start` to `end` as a run of their own (views, not copies)."""
        offsets = self.value_offsets[start : end + 1]
        indptr = self.indptr[start : end + 1]
        return Run(
            self.hash[start:end],
            offsets - offsets[0],
            self.value_bytes[offsets[0] : offsets[-1] + PADDING],
            indptr - indptr[0],
            self.columns[indptr[0] : indptr[-1]],
        )

    def forget(self, start: int, end: int) -> None:
        """Give back the memory of the tokens `start` to `end`, where the run is mapped from files."""
        for array, bounds in (
            (self.value_bytes, self.value_offsets[[start, end]]),
            (self.columns, self.indptr[[start, end]]),
            (self.hash, (start, end)),
            (self.value_offsets, (start, end)),
            (self.indptr, (start, end)),
        ):
            forget_pages(array[bounds[0] : bounds[1]])


def write_run(directory: Path, run: Run) -> None:
    """Write a run as ``.npy`` files into a new directory."""
    make_directory(directory)
    for name in _FIELDS:
        with create_file(directory / f"{name}.npy") as stream:
            save_array(stream, getattr(run, name))


def read_run(directory: Path) -> Run:
    """Map a run that `write_run` wrote."""
    return Run(*(map_npy(directory / f"{name}.npy") for name in _FIELDS))


def run_of_segment(tokens: Tokens) -> Run:
    """View a segment's ``tokens`` group as a run; each token's list is written out. O(n_pairs)."""
    n_columns = tokens.set_indptr.size - 1
    indptr, columns = expand_groups(tokens.group, tokens.list_indptr, tokens.list_columns, n_columns)
    return Run(tokens.hash, tokens.value_offsets, tokens.value_bytes, indptr, columns)


def merge_runs(runs: list[Run], column_maps: list[NDArray[np.int32]], chunk_tokens: int) -> Iterator[Run]:
    """Merge runs, range of hashes by range, into consecutive stretches of one run.

    Parameters
    ----------
    runs : list of Run
    column_maps : list of ndarray of int32
        For each run: its column → column of the result, or -1 to drop it.
    chunk_tokens : int
        About how many incoming tokens to hold at a time.

    Yields
    ------
    Run
        In order of hash; no value occurs in two of them.

    Notes
    -----
    O(tokens + postings), memory O(chunk_tokens and their postings).
    """
    if not runs:  # tables without a value
        return
    maps = np.concatenate([*column_maps, np.empty(0, np.int32)]).astype(np.int32)
    bases = np.cumsum([0] + [m.size for m in column_maps])
    total = sum(run.n_tokens for run in runs)
    n_chunks = max(1, -(-total // max(1, chunk_tokens)))
    bounds = [np.zeros(len(runs), np.int64)]
    for chunk in range(1, n_chunks):
        limit = np.uint64((chunk << 64) // n_chunks)  # hashes are spread evenly
        bounds.append(np.array([np.searchsorted(run.hash, limit) for run in runs], np.int64))
    bounds.append(np.array([run.n_tokens for run in runs], np.int64))
    for starts, ends in zip(bounds, bounds[1:], strict=False):
        parts = [run.slice(int(s), int(e)) for run, s, e in zip(runs, starts, ends, strict=True)]
        yield _merge(parts, bases, maps)
        del parts
        for run, start, end in zip(runs, starts, ends, strict=True):
            run.forget(int(start), int(end))


def _merge(parts: list[Run], bases: NDArray[np.int64], column_map: NDArray[np.int32]) -> Run:
    """Merge some small runs in memory."""
    hashes = np.concatenate([part.hash for part in parts])
    lengths = np.concatenate([np.diff(part.value_offsets) for part in parts]).astype(np.int32)
    data = np.concatenate([part.value_bytes for part in parts])
    byte_bases = np.cumsum([0] + [part.value_bytes.size for part in parts])
    value_starts = np.concatenate(
        [part.value_offsets[:-1] + base for part, base in zip(parts, byte_bases, strict=False)]
    )
    columns = np.concatenate([part.columns + np.int32(base) for part, base in zip(parts, bases, strict=False)]).astype(
        np.int32
    )
    indptr = np.zeros(hashes.size + 1, np.int64)
    np.cumsum(np.concatenate([np.diff(part.indptr) for part in parts]), out=indptr[1:])
    return make_run(Entries(hashes, indptr, columns, value_starts, lengths, data), column_map)


def make_run(entries: Entries, column_map: NDArray[np.int32]) -> Run:
    """Sort entries by hash and unite equal values.

    Parameters
    ----------
    entries : Entries
    column_map : ndarray of int32
        Column of an entry → column of the run, or -1 to drop it.

    Returns
    -------
    Run
    """
    first, token_indptr, ids = merge_entries(argsort_u64(entries.hashes), entries, column_map)
    hashes, _, _, starts, lengths, data = entries
    offsets = np.zeros(first.size + 1, np.int64)
    total = int(np.where(lengths[first] < 0, -1 - lengths[first], lengths[first]).sum(dtype=np.int64))
    out = np.zeros(total + PADDING, np.uint8)
    copy_values(first, starts, lengths, data, out, offsets)
    return Run(hashes[first], offsets, out, token_indptr, ids)
