"""Reading one table outside any lake, as the command line does."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import BinaryIO

import pandas as pd
import pyarrow as pa

from dfjoin.errors import InvalidParameterError, TableReadError
from dfjoin.sources.listing import list_tables
from dfjoin.sources.readers import tables_of
from dfjoin.types import GivenDialect, IndexSettings


def read_table(source: str | BinaryIO) -> pd.DataFrame:
    """Read a file with the readers of the lake; the columns of a delimited file are text.

    Parameters
    ----------
    source : str or binary stream
        Path of a file that a lake may have, of which the first table is read; a stream of delimited text.

    Returns
    -------
    DataFrame

    Raises
    ------
    TableReadError
        If the file is no table.
    """
    if not isinstance(source, str):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "input.csv"
            path.write_bytes(source.read())
            try:
                return read_table(str(path))
            except TableReadError as error:  # that names a file which nobody gave
                raise TableReadError(str(error).replace(f"`{path}`", "standard input")) from error
    if not Path(source).exists():
        raise InvalidParameterError(f"`table` must be an existing file, got {source!r}; check the spelling")
    _, tables, skipped = list_tables([source])
    if not tables:
        raise TableReadError(f"`{source}` cannot be read: {skipped[0].reason if skipped else 'it is no table'}")
    try:
        _, opened = next(tables_of(tables[0], GivenDialect(), IndexSettings.max_columns))
        reader = opened()
        batches = list(reader.batches())
    except TableReadError as error:
        raise TableReadError(f"`{source}` cannot be read: {error}") from error
    if not batches:
        return pd.DataFrame({name: pd.Series([], dtype=str) for name in reader.names})
    return pa.Table.from_batches(batches).to_pandas()
