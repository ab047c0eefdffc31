"""One table of 40 columns of all types, read as the reference tool of each format wrote it; each difference is listed."""

import pyarrow as pa
import pytest

from dfjoin.sources.listing import list_tables
from dfjoin.sources.readers import open_table, tables_of
from dfjoin.types import GivenDialect
from tests.sources import zoo


def read_whole(path):
    """Read the only table of a file, at once and by its record, as a join reads it; both are the same."""
    _, (source,), skipped = list_tables(path)
    assert not skipped
    ((own, opened),) = tables_of(source, GivenDialect(), 1000)
    reader = opened()
    table = pa.Table.from_batches(reader.batches())
    again = open_table(own, dialect=reader.dialect, columns=reader.names[::-1])
    assert pa.Table.from_batches(again.batches()).select(reader.names).equals(table)
    return table


@pytest.mark.parametrize("name", zoo.FORMATS)
def test_the_zoo_comes_back(tmp_path, name):
    write, cannot_hold, differ, libraries = zoo.FORMATS[name]
    for library in libraries:
        pytest.importorskip(library)
    table = zoo.without(zoo.zoo(), *cannot_hold)
    for column in cannot_hold:
        with pytest.raises(Exception):  # noqa: B017 (each writer has its own)
            write(zoo.zoo().select([column]), tmp_path / f"refused-{name}")
    write(table, tmp_path / name)
    found = read_whole(tmp_path / name)
    assert found.column_names == table.column_names and found.num_rows == zoo.N_ROWS
    assert {c for c in table.column_names if found[c].to_pylist() != table[c].to_pylist()} == differ
