"""Opening a table of any format as names and record batches. The one way that files are read."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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
from dfjoin.types import Dialect, IndexSettings, TableSource
from dfjoin.values.cells import register_pandas_types, workable_batch
from dfjoin.values.names import clean_names

__all__ = ["TableReader", "current_fingerprint", "open_table"]

_ROWS_PER_BATCH = 1 << 16
_CELLS_PER_BATCH = 1 << 22
_MAX_SAMPLE_BYTES = 8 << 20
_PARQUET_BUFFER = 1 << 20
_PARQUET_ROWS = 1 << 15
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
    source: TableSource,
    *,
    dialect: Dialect | None = None,
    columns: Sequence[str] | None = None,
    max_columns: int = IndexSettings.max_columns,
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
    max_columns : int
        The most columns that the table may have.

    Returns
    -------
    TableReader
        Delimited files have text columns only; other formats keep their types.

    Raises
    ------
    TableReadError
        If the file is no table, or has too many columns; the text is the reason.
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
            return _open_parquet(filesystem, paths, source, _Wanted(columns, max_columns))
        if source.format == "jsonl":
            return _open_json(filesystem, paths[0], source, _Wanted(columns, max_columns))
        return _open_delimited(filesystem, paths[0], source, dialect, _Wanted(columns, max_columns))
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
    if isinstance(error, pa.ArrowInvalid) and "Parquet magic bytes" in str(error):
        return "the file is no Parquet file, or is cut off: its footer is missing"
    if isinstance(error, OSError) and "zlib inflate failed" in str(error):
        return f"the file is not what its ending .gz says, or is damaged ({error})"
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


@dataclass(frozen=True)
class _Wanted:
    """The columns that are wanted of a table, None for all, and the most that it may have."""

    columns: Sequence[str] | None
    limit: int

    def check(self, names: list[str]) -> None:
        """Raise unless the table has these columns, and no more than it may have."""
        if len(names) > self.limit:
            raise delimited.max_columns_error(self.limit)
        known = set(names)
        missing = [c for c in self.columns or () if c not in known]
        if missing:
            raise ColumnNotFoundError(
                f"`columns` must name columns of the table ({shortlist(names)}), got {missing[0]!r}"
            )

    def raw(self, raw: list[str], names: list[str]) -> list[str]:
        """Return the wanted columns as the file calls them."""
        if self.columns is None:
            return raw
        own = dict(zip(names, raw, strict=True))
        return [own[name] for name in self.columns]

    def names(self, names: list[str]) -> list[str]:
        """Return the names of the wanted columns."""
        return names if self.columns is None else list(self.columns)


def _open_delimited(
    filesystem: fs.FileSystem,
    path: str,
    source: TableSource,
    dialect: Dialect | None,
    wanted: _Wanted,
) -> TableReader:
    with _open_stream(filesystem, path) as stream:
        data = _read_head(stream, WHOLE_FILE_LIMIT + 1)
    is_whole = len(data) <= WHOLE_FILE_LIMIT
    reject_foreign(data[:SAMPLE_BYTES])
    if not is_whole and b"\n" not in data and b"\r" not in data:
        raise TableReadError(delimited.TOO_LONG)
    encoding = dialect.encoding if dialect else _encoding_of(data)
    dialect = dialect or _dialect_of(data, encoding, path, wanted.limit)

    def mark() -> int:
        return fingerprint(filesystem, [path], source.size)

    if is_whole:
        if not dialect.compression and len(data) == source.size:
            mark = partial(fingerprint_bytes, data)
        layout, batches = _read_whole(data, dialect, wanted)
        return TableReader(layout.names, layout.dialect, lambda: iter(batches), mark)
    layout = _layout_of(data, dialect, encoding, max_columns=wanted.limit)
    if not layout.is_whole:
        raise TableReadError(delimited.TOO_LONG)
    wanted.check(layout.names)
    del data

    def batches_of_stream() -> Iterator[pa.RecordBatch]:
        return delimited.stream_text(lambda: _open_stream(filesystem, path), layout, wanted.columns)

    return TableReader(layout.names, dialect, batches_of_stream, mark)


def _encoding_of(data: bytes) -> str:
    """Name the encoding of a text from its beginning."""
    return name_encoding(data[:SAMPLE_BYTES], is_whole=len(data) <= SAMPLE_BYTES)


def _decode_sample(data: bytes, encoding: str, size: int = SAMPLE_BYTES) -> str:
    """Decode the beginning of a text; a character that the sample cuts is left out."""
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)("replace")
    return decoder.decode(data[:size], final=len(data) <= size)


def _dialect_of(data: bytes, encoding: str, path: str, max_columns: int) -> Dialect:
    """Tell the dialect from as much of a text as shows some whole rows, 8 MiB at most."""
    size = SAMPLE_BYTES
    while True:
        sample = _decode_sample(data, encoding, size)
        is_cut = len(data) > size
        dialect = sniff(sample, encoding=encoding, name=path, compression=_compression(path), is_cut=is_cut)
        n_last = len(sample) - 1 - max(sample.rfind("\n"), sample.rfind("\r"))
        if not is_cut or size >= _MAX_SAMPLE_BYTES or n_last * 4 <= len(sample):
            return dialect
        delimited.layout_of(sample, dialect, max_columns=max_columns)  # refuse before more is read
        size *= 4


def _layout_of(
    data: bytes,
    dialect: Dialect,
    encoding: str,
    *,
    extra_columns: int = 0,
    max_columns: int = IndexSettings.max_columns,
) -> Layout:
    """Read the header from as much of a text as it takes; the memory follows the columns that are accepted."""
    size = SAMPLE_BYTES
    while True:
        layout = delimited.layout_of(_decode_sample(data, encoding, size), dialect, extra_columns, max_columns)
        if layout.is_whole or len(data) <= size:
            return layout
        size *= 4


def _read_whole(data: bytes, dialect: Dialect, wanted: _Wanted) -> tuple[Layout, list[pa.RecordBatch]]:
    """Parse a text held in memory; find out on the way if it is ragged or in another encoding."""
    utf8 = _to_utf8(data, dialect.encoding)
    if not _is_utf8(utf8[: SAMPLE_BYTES * 2]):  # offsets are counted in the header's own bytes
        utf8, dialect = _in_its_encoding(data, dialect)
    while True:
        layout = _layout_of(utf8, dialect, "utf-8", max_columns=wanted.limit)
        if layout.offset > SAMPLE_BYTES * 2 and not _is_utf8(utf8[: layout.offset]):
            utf8, dialect = _in_its_encoding(data, dialect)
            continue
        if dialect.ragged:
            extra = max(0, delimited.max_width(utf8, layout) - len(layout.names))
            layout = _layout_of(utf8, dialect, "utf-8", extra_columns=extra, max_columns=wanted.limit)
        if not layout.names:
            raise TableReadError("the file holds no columns")
        wanted.check(layout.names)
        try:
            return layout, list(delimited.read_text(utf8, layout, wanted.columns))
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


def _open_parquet(filesystem: fs.FileSystem, paths: list[str], source: TableSource, wanted: _Wanted) -> TableReader:
    def mark() -> int:
        return fingerprint(filesystem, paths, source.size)

    _reject_pointer(filesystem, paths[0])
    register_pandas_types()
    if len(paths) == 1 and "=" not in source.parts[0].removeprefix(source.path):
        file = _open_parquet_file(filesystem, paths[0])
        raw = file.schema_arrow.names
        names = clean_names(raw)
        wanted.check(names)
        is_unique = len(set(raw)) == len(raw)
        chosen = wanted.raw(raw, names) if is_unique and wanted.columns is not None else None

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in file.iter_batches(_PARQUET_ROWS, columns=chosen, use_threads=False):
                if chosen is not None:
                    yield batch.select(chosen).rename_columns(wanted.names(names))
                else:
                    renamed = batch.rename_columns(names)
                    yield renamed if wanted.columns is None else renamed.select(wanted.names(names))

        return TableReader(names, None, lambda: map(workable_batch, batches()), mark)
    base = resolve(source.root, source.path)
    found = dataset.dataset(
        paths, format="parquet", filesystem=filesystem, partitioning="hive", partition_base_dir=base
    )
    raw = found.schema.names
    names = clean_names(raw)
    wanted.check(names)

    def dataset_batches() -> Iterator[pa.RecordBatch]:
        chosen = [found.schema.field(name) for name in wanted.raw(raw, names)]
        for fragment in found.get_fragments():
            for batch in _batches_of_part(filesystem, fragment, chosen):
                yield batch.rename_columns(wanted.names(names))

    return TableReader(names, None, lambda: map(workable_batch, dataset_batches()), mark)


def _open_parquet_file(filesystem: fs.FileSystem, path: str) -> parquet.ParquetFile:
    """Open one file so that its pages are read as they are needed, and not whole row groups or files ahead."""
    return parquet.ParquetFile(path, filesystem=filesystem, pre_buffer=False, buffer_size=_PARQUET_BUFFER)


def _batches_of_part(
    filesystem: fs.FileSystem, part: dataset.ParquetFileFragment, fields: list[pa.Field]
) -> Iterator[pa.RecordBatch]:
    """Read one file of a table of several: values of its folders' names are columns, columns it lacks are null."""
    file = _open_parquet_file(filesystem, part.path)
    keys = dataset.get_partition_keys(part.partition_expression)
    known = set(file.schema_arrow.names)
    own = [field.name for field in fields if field.name in known and field.name not in keys]
    for batch in file.iter_batches(_PARQUET_ROWS, columns=own, use_threads=False):
        arrays = []
        for field in fields:
            if field.name in keys:
                arrays.append(pa.repeat(pa.scalar(keys[field.name]).cast(field.type), batch.num_rows))
            elif field.name in known:
                arrays.append(batch.column(field.name).cast(field.type))
            else:
                arrays.append(pa.nulls(batch.num_rows, field.type))
        yield pa.record_batch(arrays, schema=pa.schema(fields))


def _open_json(filesystem: fs.FileSystem, path: str, source: TableSource, wanted: _Wanted) -> TableReader:
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
            if len(names_seen) > wanted.limit:
                raise delimited.max_columns_error(wanted.limit)
    raw = list(names_seen)
    names = clean_names(raw)
    wanted.check(names)
    chosen = wanted.raw(raw, names)
    schema = pa.schema([(c, pa.string()) for c in wanted.names(names)])

    def batches() -> Iterator[pa.RecordBatch]:
        for chunk in only or chunks():
            present = set().union(*chunk)
            nothing = pa.nulls(len(chunk), pa.string())
            arrays = [_json_column(chunk, c) if c in present else nothing for c in chosen]
            yield pa.record_batch(arrays, schema=schema)

    def mark() -> int:
        return fingerprint(filesystem, [path], source.size)

    return TableReader(names, None, batches, mark)


def _json_column(rows: list[dict[str, Any]], name: str) -> pa.Array:
    return pa.array([_json_text(row.get(name)) for row in rows], pa.string())


def _json_text(value: Any) -> str | None:
    """Write a JSON value as the text that a table of text columns would hold."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False)


def _json_chunks(stream: Any) -> Iterator[list[dict[str, Any]]]:
    """Parse JSON lines in UTF-8 into lists of objects; a list whose objects differ in their names is the shorter."""
    rows: list[dict[str, Any]] = []
    names: set[str] = set()
    rest = b""
    number = 0
    while True:
        block = stream.read(4 << 20)
        *lines, rest = (rest + block).split(b"\n")
        if not block and rest:
            lines.append(rest)
        for line in lines:
            number += 1
            _check_length(line, number)
            if line.strip():
                rows.append(_json_object(line, number))
                names.update(rows[-1])
            if len(rows) >= _ROWS_PER_BATCH or len(rows) * len(names) > _CELLS_PER_BATCH:
                yield rows
                rows, names = [], set()
        if not block:
            break
        _check_length(rest, number + 1)
    if rows:
        yield rows


def _check_length(line: bytes, number: int) -> None:
    if len(line) > WHOLE_FILE_LIMIT:
        raise TableReadError(f"line {number} is longer than {WHOLE_FILE_LIMIT >> 20} MiB")


def _json_object(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise TableReadError(f"line {number} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise TableReadError(f"line {number} holds {type(value).__name__}, not an object with named fields")
    return value
