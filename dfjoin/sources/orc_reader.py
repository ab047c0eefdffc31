"""Opening ORC, stripe by stripe, of the wanted columns only."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from dfjoin.errors import TableReadError
from dfjoin.sources.table_reader import TableFile, TableReader, open_typed, reject_pointer, with_reasons


def open_orc(file: TableFile) -> TableReader:
    """Open a file of ORC, see `dfjoin.sources.readers.open_table`."""
    try:
        from pyarrow import orc
    except ImportError as error:  # pyarrow of some platforms is built without it
        raise TableReadError(f"this pyarrow does not read ORC ({error}); save it as Parquet") from error
    reject_pointer(file.filesystem, file.path)
    with with_reasons():
        opened = orc.ORCFile(file.filesystem.open_input_file(file.path))
        schema = opened.schema

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        is_all = columns == schema.names  # two columns may have one name
        for number in range(opened.nstripes):
            yield opened.read_stripe(number, columns=None if is_all else columns)

    return open_typed(file, schema, batches)
