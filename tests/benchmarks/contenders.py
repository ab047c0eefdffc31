"""What a user would otherwise write, each from a pandas column to the ten best columns."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dfjoin.index.runs import run_of_segment


class Pairs:
    """Every (value, column) pair of an index of one segment, as its contenders need it."""

    def __init__(self, lake) -> None:
        (segment,) = lake.segments
        run = run_of_segment(segment.tokens)
        self.indptr, self.columns, self.n_columns = run.indptr, run.columns, segment.n_columns
        text = run.value_bytes[: run.value_offsets[-1]].tobytes()
        bounds = run.value_offsets.tolist()
        self.values = [text[a:b].decode("utf-8", "replace") for a, b in zip(bounds, bounds[1:], strict=False)]


def normalize(column: pd.Series) -> np.ndarray:
    """Distinct, trim, lower, distinct: a careful user's normalisation with pandas, each value once."""
    distinct = pd.Series(column.dropna().unique())
    return distinct.astype(str).str.strip().str.lower().unique()


class Numpy:
    """CSR and bincount, with a sorted-hash dictionary."""

    name = "numpy"

    def __init__(self, pairs: Pairs) -> None:
        hashes = pd.util.hash_array(np.array(pairs.values, dtype=object), categorize=False)
        order = np.argsort(hashes)
        self.hashes = hashes[order]
        counts = np.diff(pairs.indptr)[order]
        self.indptr = np.append(0, np.cumsum(counts))
        source = np.repeat(pairs.indptr[:-1][order] - self.indptr[:-1], counts) + np.arange(pairs.columns.size)
        self.columns = pairs.columns[source]
        self.n_columns = pairs.n_columns

    def query(self, column: pd.Series):
        hashes = pd.util.hash_array(np.asarray(normalize(column), dtype=object), categorize=False)
        places = np.minimum(np.searchsorted(self.hashes, hashes), self.hashes.size - 1)
        places = places[self.hashes[places] == hashes]
        lengths = self.indptr[places + 1] - self.indptr[places]
        ends = np.cumsum(lengths)
        rows = np.repeat(self.indptr[places] - (ends - lengths), lengths) + np.arange(ends[-1] if ends.size else 0)
        counts = np.bincount(self.columns[rows], minlength=self.n_columns)
        met = np.flatnonzero(counts)  # partitioning a million zeros would take longer than counting
        best = met[np.argpartition(counts[met], -10)[-10:]] if met.size > 10 else met
        best = best[np.argsort(-counts[best])]
        return pd.DataFrame({"column": best, "matched": counts[best]})


class DuckDB:
    """A hash join over strings, two threads."""

    name = "duckdb strings"

    def __init__(self, pairs: Pairs) -> None:
        import duckdb
        import pyarrow as pa

        counts = np.diff(pairs.indptr)
        values = pa.array(pairs.values).take(pa.array(np.repeat(np.arange(counts.size), counts)))
        self.connection = duckdb.connect()
        given = pa.table({"value": values.cast(pa.large_string()), "col": pairs.columns})  # noqa: F841
        self.connection.execute("create table pairs as select * from given")

    def query(self, column: pd.Series):
        q = pd.DataFrame({"value": normalize(column)})  # noqa: F841 (DuckDB finds it by its name)
        return self.connection.execute(
            "select col, count(*) matched from pairs join q using (value) group by col order by matched desc limit 10"
        ).df()


class DuckDBKeys:
    """A hash join over ready integer keys; looking them up is not counted. One thread."""

    name = "duckdb integer keys"

    def __init__(self, pairs: Pairs) -> None:
        import duckdb
        import pyarrow as pa

        counts = np.diff(pairs.indptr)
        self.number = {value: i for i, value in enumerate(pairs.values)}
        given = pa.table({"token": np.repeat(np.arange(counts.size), counts), "col": pairs.columns})  # noqa: F841
        self.connection = duckdb.connect()
        self.connection.execute("set threads to 1")
        self.connection.execute("create table pairs as select * from given")

    def prepare(self, column: pd.Series):
        return pd.DataFrame({"token": [self.number[v] for v in normalize(column) if v in self.number]})

    def query(self, q: pd.DataFrame):
        return self.connection.execute(
            "select col, count(*) matched from pairs join q using (token) group by col order by matched desc limit 10"
        ).df()


class Polars:
    """A join and group-by in polars."""

    name = "polars"

    def __init__(self, pairs: Pairs) -> None:
        import polars as pl

        counts = np.diff(pairs.indptr)
        values = pl.Series(pairs.values)[np.repeat(np.arange(counts.size), counts)]
        self.frame = pl.DataFrame({"value": values, "col": pairs.columns})
        self.pl = pl

    def query(self, column: pd.Series):
        q = self.pl.DataFrame({"value": list(normalize(column))}, schema={"value": self.pl.String})
        joined = self.frame.join(q, on="value", how="semi")
        return joined.group_by("col").len().sort("len", descending=True).head(10)


class SetSimilarity:
    """SetSimilaritySearch's containment index at threshold 0.1 (it has no top-k)."""

    name = "SetSimilaritySearch"

    def __init__(self, pairs: Pairs) -> None:
        from SetSimilaritySearch import SearchIndex

        sets: list[list[int]] = [[] for _ in range(pairs.n_columns)]
        for token, (a, b) in enumerate(zip(pairs.indptr[:-1].tolist(), pairs.indptr[1:].tolist(), strict=True)):
            for column in pairs.columns[a:b].tolist():
                sets[column].append(token)
        self.number = {value: i for i, value in enumerate(pairs.values)}
        self.index = SearchIndex(sets, similarity_func_name="containment", similarity_threshold=0.1)

    def query(self, column: pd.Series):
        tokens = [self.number[v] for v in normalize(column) if v in self.number]
        return sorted(self.index.query(tokens), key=lambda hit: -hit[1])[:10]
