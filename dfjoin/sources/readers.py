"""Opening a table of any format as names and record batches. The one way that files are read."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import dataset, fs, parquet

from dfjoin.errors import ColumnNotFoundError, TableReadError, shortlist
from dfjoin.sources import delimited
from dfjoin.sources.delimited import EncodingError, Layout, RaggedError
from dfjoin.sources.fingerprint import WHOLE_FILE_LIMIT, fingerprint, fingerprint_bytes
from dfjoin.sources.roots import open_root, resolve
from dfjoin.sources.sniff import LFS_PREFIX, SAMPLE_BYTES, name_encoding, reject_foreign, sniff
from dfjoin.types import Dialect, TableSource
from dfjoin.values.cells import register_pandas_types, workable_batch
from dfjoin.values.names import clean_names

__all__ = ["TableReader", "current_fingerprint", "open_table"]

_ROWS_PER_BATCH = 1 << 16
_CODECS = {"gz": "gzip", "zst": "zstd"}


class TableReader:
    """A table opened for reading, once.

    Parameters
    ----------
    names : list of str
        Names of its columns, each once.
    dialect : Dialect or None
        How a delimited file is written.
    batches : callable
        Starts reading; yields record batches with these columns in this order.
    fingerprint : callable
        Computes the fingerprint of the table's files.
    """

    def __init__(
        self,
        names: list[str],
        dialect: Dialect | None,
        batches: Callable[[], Iterator[pa.RecordBatch]],
        fingerprint: Callable[[], int],
    ) -> None:
        self.names = names
        self.dialect = dialect
        self._batches = batches
        self._fingerprint = fingerprint

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the table; every failure is a `TableReadError` whose text is the reason."""
        try:
            yield from self._batches()
        except (pa.ArrowException, OSError, UnicodeError, MemoryError) as error:
            raise TableReadError(f"{type(error).__name__}: {error}") from error

    def fingerprint(self) -> int:
        """Return the 64-bit fingerprint of the table's files."""
        return self._fingerprint()


def open_table(
    source: TableSource, *, dialect: Dialect | None = None, columns: Sequence[str] | None = None
) -> TableReader:
    """Open a table of a file root.

    Parameters
    ----------
    source : TableSource
        The table; its files are looked for below its root only.
    dialect : Dialect, optional
        How a delimited file is written, as recorded when it was first read; told from the file itself
        by default.
    columns : sequence of str, optional
        The columns wanted, in this order; all by default.

    Returns
    -------
    TableReader
        Delimited files have text columns only; other formats keep their types.

    Raises
    ------
    TableReadError
        If the file is no table; the text is the reason.
    ColumnNotFoundError
        If a wanted column is not there.

    Notes
    -----
    A delimited file up to 64 MiB (decompressed) is read at once, a larger one streamed.
    """
    filesystem, _ = open_root(source.root.uri)
    try:
        paths = [resolve(source.root, part) for part in source.parts or (source.path,)]
        if source.format == "parquet":
            return _open_parquet(filesystem, paths, source, columns)
        if source.format == "jsonl":
            return _open_json(filesystem, paths[0], source, columns)
        return _open_delimited(filesystem, paths[0], source, dialect, columns)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise TableReadError(_reason(error)) from error


def current_fingerprint(source: TableSource) -> int:
    """Compute the fingerprint of a table's files as they are now, without parsing them.

    Raises
    ------
    TableReadError
        If a file is missing or cannot be read.
    """
    filesystem, _ = open_root(source.root.uri)
    try:
        paths = [resolve(source.root, part) for part in source.parts or (source.path,)]
        size = sum(info.size or 0 for info in filesystem.get_file_info(paths))
        return fingerprint(filesystem, paths, size)
    except (pa.ArrowException, OSError) as error:
        raise TableReadError(_reason(error)) from error


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "the file is not there any more"
    if isinstance(error, PermissionError):
        return "no permission to read the file"
    return f"{type(error).__name__}: {error}"


def _compression(path: str) -> str:
    ending = path.rpartition(".")[2].lower()
    return ending if ending in _CODECS else ""


def _open_stream(filesystem: fs.FileSystem, path: str) -> pa.NativeFile:
    """Open a file for reading in order, decompressed as its name says."""
    compression = _compression(path)
    raw = filesystem.open_input_stream(path, compression=None)
    return pa.CompressedInputStream(raw, _CODECS[compression]) if compression else raw


def _read_head(stream: pa.NativeFile, limit: int) -> bytes:
    """Read up to `limit` bytes, however the stream hands them out."""
    parts = []
    while limit > 0:
        chunk = stream.read(limit)
        if not chunk:
            break
        parts.append(chunk)
        limit -= len(chunk)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _check_columns(columns: Sequence[str] | None, names: list[str]) -> None:
    missing = [c for c in columns or () if c not in names]
    if missing:
        raise ColumnNotFoundError(f"`columns` must name columns of the table ({shortlist(names)}), got {missing[0]!r}")


def _open_delimited(
    filesystem: fs.FileSystem,
    path: str,
    source: TableSource,
    dialect: Dialect | None,
    columns: Sequence[str] | None,
) -> TableReader:
    with _open_stream(filesystem, path) as stream:
        data = _read_head(stream, WHOLE_FILE_LIMIT + 1)
    is_whole = len(data) <= WHOLE_FILE_LIMIT
    reject_foreign(data[:SAMPLE_BYTES])
    encoding = dialect.encoding if dialect else _encoding_of(data)
    if dialect is None:
        sample = _decode_sample(data, encoding)
        dialect = sniff(
            sample,
            encoding=encoding,
            name=source.path,
            compression=_compression(path),
            is_cut=len(data) > SAMPLE_BYTES,
        )

    def mark() -> int:
        return fingerprint(filesystem, [path], source.size)

    if is_whole:
        if not dialect.compression and len(data) == source.size:
            mark = partial(fingerprint_bytes, data)
        layout, batches = _read_whole(data, dialect, columns)
        return TableReader(layout.names, layout.dialect, lambda: iter(batches), mark)
    layout = delimited.layout_of(_decode_sample(data, encoding), dialect)
    _check_columns(columns, layout.names)
    del data

    def batches_of_stream() -> Iterator[pa.RecordBatch]:
        return delimited.stream_text(lambda: _open_stream(filesystem, path), layout, columns)

    return TableReader(layout.names, dialect, batches_of_stream, mark)


def _encoding_of(data: bytes) -> str:
    """Name the encoding of a text from its beginning."""
    return name_encoding(data[:SAMPLE_BYTES], is_whole=len(data) <= SAMPLE_BYTES)


def _decode_sample(data: bytes, encoding: str) -> str:
    """Decode the beginning of a text; a character that the sample cuts is left out."""
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)("replace")
    return decoder.decode(data[:SAMPLE_BYTES], final=len(data) <= SAMPLE_BYTES)


def _read_whole(data: bytes, dialect: Dialect, columns: Sequence[str] | None) -> tuple[Layout, list[pa.RecordBatch]]:
    """Parse a text held in memory; find out on the way if it is ragged or in another encoding."""
    utf8 = _to_utf8(data, dialect.encoding)
    if not _is_utf8(utf8[: SAMPLE_BYTES * 2]):  # offsets are counted in the header's own bytes
        utf8, dialect = _in_its_encoding(data, dialect)
    while True:
        extra = 0
        sample = _decode_sample(utf8, "utf-8")
        layout = delimited.layout_of(sample, dialect)
        if dialect.ragged:
            extra = max(0, delimited.max_width(utf8, layout) - len(layout.names))
            layout = delimited.layout_of(sample, dialect, extra)
        if not layout.names:
            raise TableReadError("the file holds no columns")
        _check_columns(columns, layout.names)
        try:
            return layout, list(delimited.read_text(utf8, layout, columns))
        except RaggedError:
            dialect = replace(dialect, ragged=True)
            if not _is_utf8(utf8):
                utf8, dialect = _in_its_encoding(data, dialect)
        except EncodingError:
            utf8, dialect = _in_its_encoding(data, dialect)


def _in_its_encoding(data: bytes, dialect: Dialect) -> tuple[bytes, Dialect]:
    """Name the encoding from the whole text, once its beginning turns out to have misled."""
    encoding = name_encoding(data, is_whole=True)
    is_damaged = encoding == dialect.encoding  # UTF-8 but for a few bytes
    return _repaired(data) if is_damaged else _to_utf8(data, encoding), replace(dialect, encoding=encoding)


def _is_utf8(data: bytes) -> bool:
    """Tell whether bytes are UTF-8; a last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def _repaired(data: bytes) -> bytes:
    """Replace bytes that are no UTF-8 by the replacement character."""
    return data.decode("utf-8", "replace").encode()


def _to_utf8(data: bytes, encoding: str) -> bytes:
    if encoding == "utf-8":
        return data
    if encoding == "utf-8-sig":
        return data[3:]
    return data.decode(encoding, "replace").encode("utf-8", "replace")


def _reject_pointer(filesystem: fs.FileSystem, path: str) -> None:
    """Refuse a Git LFS pointer that stands for a file of another format."""
    with filesystem.open_input_stream(path, compression=None) as stream:
        head = stream.read(64)
    if head.startswith(LFS_PREFIX):
        reject_foreign(head)


def _open_parquet(
    filesystem: fs.FileSystem, paths: list[str], source: TableSource, columns: Sequence[str] | None
) -> TableReader:
    def mark() -> int:
        return fingerprint(filesystem, paths, source.size)

    _reject_pointer(filesystem, paths[0])
    register_pandas_types()
    if len(paths) == 1 and "=" not in source.parts[0].removeprefix(source.path):
        file = parquet.ParquetFile(paths[0], filesystem=filesystem)
        raw = file.schema_arrow.names
        names = clean_names(raw)
        _check_columns(columns, names)
        if len(set(raw)) == len(raw):
            wanted = None if columns is None else [raw[names.index(c)] for c in columns]

            def batches() -> Iterator[pa.RecordBatch]:
                for batch in file.iter_batches(_ROWS_PER_BATCH, columns=wanted, use_threads=False):
                    order = batch if wanted is None else batch.select(wanted)
                    yield order.rename_columns(names if columns is None else list(columns))
        else:

            def batches() -> Iterator[pa.RecordBatch]:
                for batch in file.iter_batches(_ROWS_PER_BATCH, use_threads=False):
                    renamed = batch.rename_columns(names)
                    yield renamed if columns is None else renamed.select(list(columns))

        return TableReader(names, None, lambda: map(workable_batch, batches()), mark)
    base = resolve(source.root, source.path)
    found = dataset.dataset(
        paths, format="parquet", filesystem=filesystem, partitioning="hive", partition_base_dir=base
    )
    raw = found.schema.names
    names = clean_names(raw)
    _check_columns(columns, names)
    wanted_ = raw if columns is None else [raw[names.index(c)] for c in columns]

    def dataset_batches() -> Iterator[pa.RecordBatch]:
        scanner = found.scanner(columns=wanted_, batch_size=_ROWS_PER_BATCH, use_threads=False, fragment_readahead=1)
        for batch in scanner.to_batches():
            yield batch.rename_columns(names if columns is None else list(columns))

    return TableReader(names, None, lambda: map(workable_batch, dataset_batches()), mark)


def _open_json(filesystem: fs.FileSystem, path: str, source: TableSource, columns: Sequence[str] | None) -> TableReader:
    _reject_pointer(filesystem, path)
    with _open_stream(filesystem, path) as stream:
        head = _read_head(stream, SAMPLE_BYTES + 1)
    if not head.strip():
        raise TableReadError("the file is empty")
    encoding = _encoding_of(head)

    def chunks() -> Iterator[list[dict[str, Any]]]:
        with _open_stream(filesystem, path) as stream:
            yield from _json_chunks(delimited.Utf8Stream(stream, encoding))

    names_seen: dict[str, None] = {}
    only: list[list[dict[str, Any]]] | None = None  # a file of one chunk is parsed once
    for number, chunk in enumerate(chunks()):
        only = [chunk] if number == 0 else None
        for row in chunk:
            names_seen.update(dict.fromkeys(row))
    raw = list(names_seen)
    names = clean_names(raw)
    _check_columns(columns, names)
    wanted = raw if columns is None else [raw[names.index(c)] for c in columns]
    schema = pa.schema([(c, pa.string()) for c in (names if columns is None else columns)])

    def batches() -> Iterator[pa.RecordBatch]:
        for chunk in only or chunks():
            arrays = [pa.array([_json_text(row.get(c)) for row in chunk], pa.string()) for c in wanted]
            yield pa.record_batch(arrays, schema=schema)

    def mark() -> int:
        return fingerprint(filesystem, [path], source.size)

    return TableReader(names, None, batches, mark)


def _json_text(value: Any) -> str | None:
    """Write a JSON value as the text that a table of text columns would hold."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False)


def _json_chunks(stream: Any) -> Iterator[list[dict[str, Any]]]:
    """Parse JSON lines in UTF-8 into lists of objects."""
    rows: list[dict[str, Any]] = []
    rest = b""
    number = 0
    while True:
        block = stream.read(4 << 20)
        *lines, rest = (rest + block).split(b"\n")
        if not block and rest:
            lines.append(rest)
        for line in lines:
            number += 1
            if line.strip():
                rows.append(_json_object(line, number))
            if len(rows) >= _ROWS_PER_BATCH:
                yield rows
                rows = []
        if not block:
            break
    if rows:
        yield rows


def _json_object(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise TableReadError(f"line {number} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise TableReadError(f"line {number} holds {type(value).__name__}, not an object with named fields")
    return value
