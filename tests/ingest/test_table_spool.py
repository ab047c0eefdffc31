"""Tables in a file: they come back as they were, in their order, as often as they are asked for."""

from hypothesis import given
from hypothesis import strategies as st

from dfjoin.ingest import row_spool as module
from dfjoin.ingest.balance import estimated_bytes
from dfjoin.ingest.row_spool import TableSpool
from dfjoin.types import Root, TableSource

ROOTS = (Root(0, "r", "/r"), Root(7, "s", "/s"))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
TABLES = st.builds(
    TableSource,
    NAMES,
    st.sampled_from(ROOTS),
    NAMES,
    st.sampled_from(["delimited", "parquet"]),
    st.integers(0, 1 << 60),
    st.integers(0, 1 << 62),
    st.lists(NAMES, max_size=2).map(tuple),
    st.just(()),
    st.sampled_from(["", "kept"]),
)


@given(st.lists(TABLES, max_size=8), st.sampled_from([3, 1 << 18]), st.sampled_from([1, 1 << 20]))
def test_tables_come_back(tables, chunk, in_memory):
    before = module._CHUNK, module._IN_MEMORY
    module._CHUNK, module._IN_MEMORY = chunk, in_memory
    try:
        spool = TableSpool(iter(tables))
        assert list(spool) == tables and list(spool) == tables
        assert [(a, b) for a, b in zip(spool, spool, strict=True)] == list(zip(tables, tables, strict=True))
    finally:
        module._CHUNK, module._IN_MEMORY = before
    assert len(spool) == len(tables) and bool(spool) == bool(tables) and all(table in spool for table in tables)
    assert spool.n_bytes == sum(table.size for table in tables)
    assert spool.work == sum(map(estimated_bytes, tables))


def test_left_out_columns_come_back():
    table = TableSource("t", ROOTS[0], "t", "parquet", 1, 2, ("t",), ({"name": "é", "n_rows": 3, "samples": ["x"]},))
    assert list(TableSpool([table])) == [table]
