"""Searching a lake for one list of values, and the dtypes that a result has."""

import pandas as pd

import dfjoin
from dfjoin.search.candidates import RESULT_COLUMNS

DTYPES = {
    "matched": "int64", "containment": "float64", "jaccard": "float64", "query_cardinality": "int64",
    "cardinality": "int64", "n_rows": "int64", "accidental": "bool", "exact": "bool",
}  # fmt: skip


TEXTS = ("query_column", "table", "column", "kind", "relationship", "method")


def find(values, lake, name="q", **options):
    return dfjoin.discover_joinable(pd.DataFrame({name: values}), name, lake, **options, rank="matched")


def check_dtypes(hits, weighted=False):
    extra = ["matched_rows", "row_containment"] if weighted else []
    assert list(hits.columns) == [*RESULT_COLUMNS, *extra]
    for name, dtype in DTYPES.items():
        assert hits[name].dtype == dtype, name
    for name in TEXTS:
        assert hits[name].dtype == pd.Series(["a"]).dtype, name
    if weighted:
        assert hits["matched_rows"].dtype == "int64" and hits["row_containment"].dtype == "float64"
    assert isinstance(hits.index, pd.RangeIndex)
