"""Opening a table of any format as names and record batches. The one way that files are read."""

from __future__ import annotations

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
from dfjoin.sources.sniff import SAMPLE_BYTES, clean_names, name_encoding, reject_foreign, sniff
from dfjoin.types import Dialect, TableSource

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
    encoding = dialect.encoding if dialect else name_encoding(data[:SAMPLE_BYTES])
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
        with _open_stream(filesystem, path) as stream:
            yield from delimited.stream_text(stream, layout, columns)

    return TableReader(layout.names, dialect, batches_of_stream, mark)


def _decode_sample(data: bytes, encoding: str) -> str:
    name = "utf-8-sig" if encoding == "utf-8" else encoding
    return data[:SAMPLE_BYTES].decode(name, "ignore" if len(data) > SAMPLE_BYTES else "replace")


def _read_whole(data: bytes, dialect: Dialect, columns: Sequence[str] | None) -> tuple[Layout, list[pa.RecordBatch]]:
    """Parse a text held in memory; find out on the way if it is ragged or in another encoding."""
    utf8 = _to_utf8(data, dialect.encoding)
    while True:
        extra = 0
        sample = utf8[: SAMPLE_BYTES * 2].decode("utf-8", "replace")
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
        except EncodingError:
            encoding = name_encoding(data, is_whole=True)
            if encoding == dialect.encoding:  # UTF-8 but for a few damaged bytes
                utf8 = data.decode("utf-8", "replace").encode()
            else:
                utf8 = _to_utf8(data, encoding)
            dialect = replace(dialect, encoding=encoding)


def _to_utf8(data: bytes, encoding: str) -> bytes:
    if encoding == "utf-8":
        return data
    if encoding == "utf-8-sig":
        return data[3:]
    return data.decode(encoding, "replace").encode("utf-8", "replace")


def _open_parquet(
    filesystem: fs.FileSystem, paths: list[str], source: TableSource, columns: Sequence[str] | None
) -> TableReader:
    def mark() -> int:
        return fingerprint(filesystem, paths, source.size)

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

        return TableReader(names, None, batches, mark)
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

    return TableReader(names, None, dataset_batches, mark)


def _open_json(filesystem: fs.FileSystem, path: str, source: TableSource, columns: Sequence[str] | None) -> TableReader:
    with _open_stream(filesystem, path) as stream:
        data = _read_head(stream, WHOLE_FILE_LIMIT + 1)
    is_whole = len(data) <= WHOLE_FILE_LIMIT
    if not data.strip():
        raise TableReadError("the file is empty")
    encoding = name_encoding(data[:SAMPLE_BYTES])
    names_seen: dict[str, None] = {}
    for chunk in _json_chunks(iter([data]), encoding, is_whole):
        for row in chunk:
            names_seen.update(dict.fromkeys(row))
    raw = list(names_seen)
    names = clean_names(raw)
    _check_columns(columns, names)
    wanted = raw if columns is None else [raw[names.index(c)] for c in columns]
    schema = pa.schema([(c, pa.string()) for c in (names if columns is None else columns)])

    def batches() -> Iterator[pa.RecordBatch]:
        with _open_stream(filesystem, path) as stream:
            blocks = iter(lambda: bytes(stream.read(4 << 20)), b"")
            for chunk in _json_chunks(blocks, encoding, True):
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


def _json_chunks(blocks: Iterator[bytes], encoding: str, is_whole: bool) -> Iterator[list[dict[str, Any]]]:
    """Parse JSON lines into lists of objects; a last line that was cut off is left out."""
    rows: list[dict[str, Any]] = []
    rest = b""
    number = 0
    name = "utf-8-sig" if encoding == "utf-8" else encoding
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            number += 1
            if line.strip():
                rows.append(_json_object(line, number, name))
            if len(rows) >= _ROWS_PER_BATCH:
                yield rows
                rows = []
    if rest.strip() and is_whole:
        rows.append(_json_object(rest, number + 1, name))
    if rows:
        yield rows


def _json_object(line: bytes, number: int, encoding: str) -> dict[str, Any]:
    try:
        value = json.loads(line.decode(encoding))
    except (ValueError, RecursionError) as error:
        raise TableReadError(f"line {number} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise TableReadError(f"line {number} holds {type(value).__name__}, not an object with named fields")
    return value
