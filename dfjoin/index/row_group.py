"""The ``rows`` group of a segment, its row signatures: which value each row of a table has in each column."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.component_files import map_npy, removed_on_error, save_array, write_component, write_rows
from dfjoin.index.components import ROW_OFFSETS_FILE, ROW_WORDS_FILE, create_file
from dfjoin.index.manifest import GroupMeta, SegmentMeta
from dfjoin.index.segment import Rows, Segment
from dfjoin.kernels.bit_packing import n_words, pack_numbers, unpack_numbers

_MOST_BITS = 31
_NO_ROWS = Rows(np.empty(0, np.uint64), np.zeros(1, np.int64), np.empty(0, np.uint8))


def pack_codes(parts: Iterable[NDArray[np.int32]], n_rows: int, n_values: int) -> tuple[NDArray[np.uint64], int]:
    """Pack the codes of a column's rows.

    Parameters
    ----------
    parts : iterable of ndarray of int32
        The codes, below `n_values`, -1 for a null, in the order of the rows.
    n_rows, n_values : int

    Returns
    -------
    words : ndarray of uint64
    bits : int
        Of each code; one more is packed, so that a null is 0.
    """
    bits = max(1, n_values.bit_length())
    words = np.zeros(n_words(n_rows, bits), np.uint64)
    first = 0
    for codes in parts:
        pack_numbers(codes + np.int32(1), first, bits, words)
        first += codes.size
    return words, bits


def write_row_files(directory: Path, bits: NDArray[np.uint8], columns: Sequence[NDArray[np.uint64]]) -> None:
    """Write what a run says of the rows of its tables.

    Parameters
    ----------
    directory : Path
        Of the run.
    bits : ndarray of uint8, shape (n_columns,)
        Of each code of the columns; 0 for a column whose rows are not kept.
    columns : sequence of ndarray of uint64
        The words of each.
    """
    with create_file(directory / ROW_WORDS_FILE) as stream:
        for words in columns:
            stream.write(words.data)
    starts = np.append(0, np.cumsum([words.size for words in columns], dtype=np.int64))
    with create_file(directory / ROW_OFFSETS_FILE) as stream:
        save_array(stream, np.stack([starts, np.append(bits, 0).astype(np.int64)]))


def read_row_files(directory: Path) -> Rows:
    """Map what a run says of the rows of its tables; the run of a part of a table says nothing."""
    if not (directory / ROW_OFFSETS_FILE).exists():
        return _NO_ROWS
    path = directory / ROW_WORDS_FILE
    words = np.memmap(path, np.uint64, "r") if path.stat().st_size else _NO_ROWS.words
    starts, bits = map_npy(directory / ROW_OFFSETS_FILE)
    return Rows(words, starts, bits[:-1].astype(np.uint8))


def write_row_group(
    directory: Path, n_columns: int, sources: Sequence[Rows], maps: Sequence[NDArray[np.integer]]
) -> GroupMeta:
    """Write the ``rows`` group below a segment's directory.

    Parameters
    ----------
    directory : Path
        The segment's directory.
    n_columns : int
        Columns of the segment.
    sources : sequence of Rows
        Those of runs, or of segments that are merged.
    maps : sequence of ndarray of int
        For each source: its column → that of the segment, -1 for one that is not kept.

    Returns
    -------
    GroupMeta

    Notes
    -----
    Codes rank the values of a column by hash, so that they are the same in every segment: words are copied.
    """
    owners, columns = np.full(n_columns, -1, np.int64), np.zeros(n_columns, np.int64)
    bits, sizes = np.zeros(n_columns, np.uint8), np.zeros(n_columns, np.int64)
    for owner, (source, map_) in enumerate(zip(sources, maps, strict=True)):
        own = np.flatnonzero((source.bits > 0) & (map_[: source.bits.size] >= 0))
        targets = map_[own]
        owners[targets], columns[targets] = owner, own
        bits[targets], sizes[targets] = source.bits[own], np.diff(source.starts)[own]
    starts = np.append(0, np.cumsum(sizes))

    def parts() -> Iterator[NDArray[np.uint64]]:
        for column in np.flatnonzero(owners >= 0).tolist():
            yield _words_of(sources[owners[column]], int(columns[column]))

    group = f"rows-{uuid.uuid4().hex[:8]}"
    with removed_on_error(directory / group):
        written = [
            write_rows(directory, group, "row_words", (int(starts[-1]),), parts()),
            write_component(directory, group, "row_starts", starts),
            write_component(directory, group, "row_bits", bits),
        ]
    return GroupMeta("rows", group, tuple(written))


def _words_of(rows: Rows, column: int) -> NDArray[np.uint64]:
    """Return the words of a column."""
    return rows.words[int(rows.starts[column]) : int(rows.starts[column + 1])]


def carry_rows(sources: Sequence[Segment], maps: Sequence[NDArray[np.integer]], meta: SegmentMeta) -> SegmentMeta:
    """Give a segment that others were merged into their row signatures; one of them may have none.

    Parameters
    ----------
    sources : sequence of Segment
    maps : sequence of ndarray of int
        For each of them: its column → that of the segment, -1 for none.
    meta : SegmentMeta
        Of the segment.
    """
    if not sources or all(source.meta.group("rows") is None for source in sources):
        return meta
    rows = [source.rows or _NO_ROWS for source in sources]
    directory = sources[0].directory.with_name(meta.id)
    return meta.with_group(write_row_group(directory, meta.counts["columns"], rows, maps))


def row_codes(segment: Segment, column: int) -> NDArray[np.int32] | None:
    """Return for each row of a column's table the number of its value among the column's, by hash; -1 for a null.

    Parameters
    ----------
    segment : Segment
    column : int
        Column id.

    Returns
    -------
    ndarray of int32, shape (n_rows,), or None
        None where the rows of the column are not kept.

    Raises
    ------
    IndexCorruptedError
        If the component does not fit the catalogue.

    Notes
    -----
    O(rows).
    """
    rows = segment.rows
    if rows is None or not rows.bits[column]:
        return None
    bits, words = int(rows.bits[column]), _words_of(rows, column)
    numbers = segment.catalog.numbers
    n_rows, n_values = int(numbers["n_rows"][column]), int(numbers["cardinality"][column])
    if bits > _MOST_BITS or n_words(n_rows, bits) != words.size:
        raise segment.damaged("row_bits", "the rows of a column do not fit its catalogue entry")
    codes = np.empty(n_rows, np.int32)
    unpack_numbers(words, bits, codes)
    codes -= 1
    if codes.size and int(codes.max()) >= n_values:
        raise segment.damaged("row_words", "a row names a value that its column does not have")
    return codes
