"""Opening Arrow IPC: files of Arrow and Feather (version 2), and streams."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import feather, ipc

from dfjoin.errors import TableReadError
from dfjoin.sources.table_reader import TableFile, TableReader, open_typed, reject_pointer, with_reasons
from dfjoin.values.cells import register_pandas_types

_ROWS_PER_BATCH = 1 << 16


def open_arrow(file: TableFile) -> TableReader:
    """Open a file of Arrow, see `dfjoin.sources.readers.open_table`; a stream is read once for its schema."""
    reject_pointer(file.filesystem, file.path)
    register_pandas_types()
    with file.filesystem.open_input_stream(file.path, compression=None) as stream:
        magic = stream.read(6)
    with with_reasons():
        if magic == b"ARROW1":
            return _open_file(file)
        if magic[:4] == b"FEA1":
            return _open_first_version(file)
        return _open_stream(file)


def _open_file(file: TableFile) -> TableReader:
    """Open a file that ends in the places of its batches, so that columns and batches are read as they are needed."""
    source = file.filesystem.open_input_file(file.path)
    schema = ipc.open_file(source).schema

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        is_all = columns == schema.names
        chosen = None if is_all else sorted({schema.names.index(name) for name in columns})
        reader = ipc.open_file(source, options=ipc.IpcReadOptions(included_fields=chosen, use_threads=False))
        for number in range(reader.num_record_batches):
            yield from _checked(reader.get_batch(number))

    return open_typed(file, schema, batches)


def _open_first_version(file: TableFile) -> TableReader:
    """Open a file of the first version of Feather, which has one batch."""
    table = feather.read_table(file.filesystem.open_input_file(file.path), memory_map=False, use_threads=False)
    return open_typed(file, table.schema, lambda columns: iter(table.select(columns).to_batches(_ROWS_PER_BATCH)))


def _open_stream(file: TableFile) -> TableReader:
    with file.filesystem.open_input_stream(file.path, compression=None) as stream:
        schema = ipc.open_stream(stream).schema

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        with file.filesystem.open_input_stream(file.path, compression=None) as again:
            for batch in ipc.open_stream(again, options=ipc.IpcReadOptions(use_threads=False)):
                yield from _checked(batch)

    return open_typed(file, schema, batches)


def _checked(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield a batch in pieces, once it is known that its offsets and lengths hold: a damaged file may say anything."""
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid as error:
        raise TableReadError(f"the file is damaged: {error}") from error
    for start in range(0, batch.num_rows, _ROWS_PER_BATCH):
        yield batch.slice(start, _ROWS_PER_BATCH)
