"""Opening delimited text: its encoding, dialect and header are told from its beginning."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa

from dfjoin.errors import TableReadError
from dfjoin.sources import delimited
from dfjoin.sources.delimited import EncodingError, Layout, RaggedError
from dfjoin.sources.encodings import SAMPLE_BYTES, encoding_doubt, name_encoding
from dfjoin.sources.number_marks import plain_numbers
from dfjoin.sources.roots import WHOLE_FILE_LIMIT, fingerprint_bytes
from dfjoin.sources.sniff import sniff
from dfjoin.sources.table_reader import (
    TableFile,
    TableReader,
    WantedColumns,
    compression_of,
    encoding_of,
    open_stream,
    read_head,
    reject_foreign,
)
from dfjoin.types import Dialect, GivenDialect, IndexSettings

_HEADER_BYTES = 8 << 10
_MAX_SAMPLE_BYTES = 8 << 20


def open_delimited(file: TableFile) -> TableReader:
    """Open a delimited text: up to 64 MiB (decompressed) it is read at once, a larger one is streamed."""
    filesystem, path, written, wanted = file.filesystem, file.path, file.written, file.wanted
    with open_stream(filesystem, path) as stream:
        data = read_head(stream, WHOLE_FILE_LIMIT + 1, file.source.size)
    is_whole = len(data) <= WHOLE_FILE_LIMIT
    reject_foreign(data[:SAMPLE_BYTES])
    if not is_whole and b"\n" not in data and b"\r" not in data:
        raise TableReadError(delimited.TOO_LONG)
    dialect = written if isinstance(written, Dialect) else _dialect_of(data, path, written, wanted.limit)

    mark = file.fingerprint
    if is_whole:
        if not dialect.compression and len(data) == file.source.size:
            mark = partial(fingerprint_bytes, data)
        layout, batches = _read_whole(data, dialect, wanted)
        return TableReader(layout.names, layout.dialect, lambda: iter(batches), mark)
    layout = _layout_of(data, dialect, dialect.encoding, max_columns=wanted.limit)
    if not layout.is_whole:
        raise TableReadError(delimited.TOO_LONG)
    wanted.check(layout.names)
    del data

    def batches_of_stream() -> Iterator[pa.RecordBatch]:
        read = delimited.stream_text(lambda: open_stream(filesystem, path), layout, wanted.columns)
        return plain_numbers(read, dialect, layout.names) if dialect.number_columns else read

    return TableReader(layout.names, dialect, batches_of_stream, mark)


def _decode_sample(data: bytes, encoding: str, size: int = SAMPLE_BYTES) -> str:
    """Decode the beginning of a text; a character that the sample cuts is left out."""
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)("replace")
    return decoder.decode(data[:size], final=len(data) <= size)


def _dialect_of(data: bytes, path: str, given: GivenDialect, max_columns: int) -> Dialect:
    """Tell the dialect from as much of a text as shows some whole rows, 8 MiB at most."""
    encoding = given.encoding or encoding_of(data)
    known = Dialect(encoding=encoding, compression=compression_of(path))
    size = SAMPLE_BYTES
    while True:
        sample = _decode_sample(data, encoding, size)
        is_cut = len(data) > size
        dialect = sniff(sample, known, name=path, is_cut=is_cut, given=given)
        n_last = len(sample) - 1 - max(sample.rfind("\n"), sample.rfind("\r"))
        if not is_cut or size >= _MAX_SAMPLE_BYTES or n_last * 4 <= len(sample):
            return (
                _with_doubt(dialect, encoding_doubt(data[:SAMPLE_BYTES], encoding)) if not given.encoding else dialect
            )
        delimited.layout_of(sample, dialect, max_columns=max_columns)  # refuse before more is read
        size *= 4


def _with_doubt(dialect: Dialect, doubt: str) -> Dialect:
    return replace(dialect, doubt="; ".join(filter(None, (dialect.doubt, doubt)))) if doubt else dialect


def _layout_of(
    data: bytes,
    dialect: Dialect,
    encoding: str,
    *,
    extra_columns: int = 0,
    max_columns: int = IndexSettings.max_columns,
) -> Layout:
    """Read the header from as much of a text as it takes; the memory follows the columns that are accepted."""
    size = _HEADER_BYTES
    while True:
        layout = delimited.layout_of(_decode_sample(data, encoding, size), dialect, extra_columns, max_columns)
        if layout.is_whole or len(data) <= size:
            return layout
        size *= 4


def _read_whole(data: bytes, dialect: Dialect, wanted: WantedColumns) -> tuple[Layout, list[pa.RecordBatch]]:
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
            read = delimited.read_text(utf8, layout, wanted.columns)
            return layout, list(plain_numbers(read, dialect, layout.names) if dialect.number_columns else read)
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
    if is_damaged:
        return _repaired(data), dialect
    return _to_utf8(data, encoding), _with_doubt(replace(dialect, encoding=encoding), encoding_doubt(data, encoding))


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
        return data.removeprefix(codecs.BOM_UTF8)
    return data.decode(encoding, "replace").encode("utf-8", "replace")
