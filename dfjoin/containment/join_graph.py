"""The likely foreign keys of a lake as a graph of its tables: to explain, to find paths in, to draw, and its file."""

from __future__ import annotations

import heapq
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pandas as pd

from dfjoin import _plots
from dfjoin import _validation as check
from dfjoin._graph_picture import family_edges, picture_around, picture_of_all
from dfjoin._visible import visible_lines
from dfjoin.errors import ColumnNotFoundError, TableNotFoundError, did_you_mean, shortlist

_MOST_DRAWN = 48
"""Tables of a whole graph that can be read in one picture."""
_EDGE = ("table", "column", "key_table", "key_column")


class JoinGraph:
    """Likely foreign keys of a lake: an edge leads from a column to the key that holds its values.

    Parameters
    ----------
    edges : DataFrame
        The edges, the best first: ``table, column, key_table, key_column, score`` (probability that the column refers
        to the key), ``relationship`` (``n:1``, or ``1:1`` if no value of the column occurs twice), ``containment``
        (share of the values of the column that the key holds), ``coverage`` (share of the values of the key that the
        column has), ``cardinality, key_cardinality``, and ``declared``: a database declares the foreign key, its score
        is 1, and its shares are NaN where its values were not counted, as those of a column of a single value. The
        names of several columns that refer to a key of several columns are joined, ``county + state``; their shares and
        cardinalities are those of their distinct tuples.
    candidates : DataFrame
        The same of all candidates with a score of 0.02 and more; by column, the best first.
    tables : list of str
        All tables of the lake, or those that were asked for.
    evidence : list of tuple
        For each candidate, what speaks for it and what against it.
    families : mapping of str, optional
        Table → the first table of its family, for tables of one folder with the same headers, such as those of several
        years: they are one box of a picture.

    Notes
    -----
    Made by `Lake.join_graph`.
    """

    def __init__(
        self,
        edges: pd.DataFrame,
        candidates: pd.DataFrame,
        tables: list[str],
        evidence: list[tuple[list[str], list[str]]],
        families: Mapping[str, str] | None = None,
    ) -> None:
        self.edges = edges
        self.candidates = candidates
        self.tables = tables
        self._evidence = evidence
        self.families = dict(families or {})

    def __repr__(self) -> str:
        joined = len(set(self.edges["table"]) | set(self.edges["key_table"]))
        return f"<JoinGraph: {len(self.edges)} edges between {joined} of {len(self.tables)} tables>"

    def __len__(self) -> int:
        return len(self.edges)

    def _repr_html_(self) -> str:
        """Write the edges as a table, for notebooks."""
        return self.edges.to_html(index=False, max_rows=60, float_format="{:.2f}".format)

    def explain(self, table: str, column: str) -> str:
        """Say which keys a column may refer to, and why.

        Parameters
        ----------
        table, column : str

        Returns
        -------
        str
            The candidates of the column, best first, each with what speaks for and against it.

        Raises
        ------
        ColumnNotFoundError
            If the column has no candidate.
        """
        own = self.candidates[(self.candidates["table"] == table) & (self.candidates["column"] == column)]
        if own.empty:
            raise ColumnNotFoundError(
                f"`column` must be one that a key may hold, see `candidates`; got {check.show(column)} of "
                f"{check.show(table)}"
            )
        edges = set(zip(*(self.edges[name] for name in _EDGE), strict=True))
        lines = [f"{table}.{column}"]
        for position, row in zip(own.index.tolist(), own.itertuples(), strict=True):
            is_edge = (row.table, row.column, row.key_table, row.key_column) in edges
            mark = "refers to" if is_edge else "is not taken for"
            lines.append(f"  {mark} {row.key_table}.{row.key_column}, score {row.score:.2f}")
            for sign, texts in zip("+-", self._evidence[position], strict=True):
                lines += [f"    {sign} {text}" for text in texts]
        return visible_lines(lines)

    def shortest_paths(self, start: str, end: str, *, k: int = 1) -> pd.DataFrame:
        """Find the shortest paths between two tables of the lake by its likely foreign keys.

        Parameters
        ----------
        start, end : str
            Tables.
        k : int, default 1
            How many paths, at most.

        Returns
        -------
        DataFrame
            A row for each join: ``path`` (from 0 on), ``step, left_table, left_column, right_table, right_column`` in
            the direction of the path, and the ``score`` of the edge. No rows if there is no path.

        Raises
        ------
        TableNotFoundError
            If the lake has no such table.

        See Also
        --------
        Lake.paths : paths from a frame, which need be no table of the lake, to a table, by any columns that match.

        Notes
        -----
        Fewest joins first, then the largest product of scores; a path meets no table twice. At most some ten thousand
        partial paths are looked at.
        """
        k = check.check_positive_int(k, "k")
        for name in (start, end):
            if name not in set(self.tables):
                raise TableNotFoundError(
                    f"`start` and `end` must be tables of the lake ({shortlist(self.tables)}), got {check.show(name)}"
                    + did_you_mean(name, self.tables)
                )
        rows = [
            {"path": number, "step": step, **join}
            for number, path in enumerate(_shortest_paths(self._joins(), start, end, k))
            for step, join in enumerate(path)
        ]
        names = ["path", "step", "left_table", "left_column", "right_table", "right_column", "score"]
        return pd.DataFrame(rows, columns=names)

    def around(self, table: str, hops: int = 1) -> JoinGraph:
        """Return the part of the graph that is near a table, to look at or to draw.

        Parameters
        ----------
        table : str
        hops : int, default 1
            How many joins lead to the farthest table, at most.

        Returns
        -------
        JoinGraph
            The tables that so many joins lead to, in either direction, with all edges and candidates between them.

        Raises
        ------
        TableNotFoundError
            If the graph has no such table.

        Notes
        -----
        O(hops × edges).
        """
        hops = check.check_positive_int(hops, "hops")
        self._check_table(table)
        near = {table}
        for _ in range(hops):
            touched = self.edges["table"].isin(near) | self.edges["key_table"].isin(near)
            near |= {*self.edges["table"][touched], *self.edges["key_table"][touched]}
        parts = [
            part[part["table"].isin(near) & part["key_table"].isin(near)] for part in (self.edges, self.candidates)
        ]
        evidence = [self._evidence[position] for position in parts[1].index.tolist()]
        edges, candidates = (part.reset_index(drop=True) for part in parts)
        tables = [name for name in self.tables if name in near]
        return JoinGraph(edges, candidates, tables, evidence, self.families)

    def _joins(self) -> dict[str, list[dict[str, Any]]]:
        """Return the joins that begin at each table, in both directions of each edge."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.edges.itertuples():
            ends = (row.table, row.column), (row.key_table, row.key_column)
            for (a, b), (c, d) in (ends, ends[::-1]):
                join = {"left_table": a, "left_column": b, "right_table": c, "right_column": d, "score": row.score}
                found.setdefault(str(a), []).append(join)
        return found

    def to_graphml(self, path: str | os.PathLike[str]) -> None:
        """Write the graph as GraphML, which Gephi, yEd, Cytoscape and networkx read.

        Parameters
        ----------
        path : str or path
            A local file; it is replaced.
        """
        write_graphml(self.tables, self.edges, check.check_local_path(check.check_path(path, "path"), "path"))

    def plot(self, table: str | None = None, hops: int = 1, *, ax: Any = None) -> Any:
        """Draw the neighbourhood of a table, or the graph where it is small enough to be read.

        Parameters
        ----------
        table : str, optional
            The table in the middle. By default all tables that are joined, up to 48 boxes; of a larger graph the
            neighbourhood of the table that most tables join with, and the title says so.
        hops : int, default 1
            How many joins lead to the farthest table, at most.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            An arrow leads from each table to the key that it refers to, at its right, dashed below a score of 0.85; one
            stands for all keys between two boxes. Tables of one folder with the same headers are one box. So are, in a
            whole graph or where a side has more than 12 boxes, tables of a folder that refer to the same keys by the
            same columns. Around a table the surest 12 boxes of a side are drawn.

        Raises
        ------
        MissingDependencyError
            If matplotlib, the extra ``plot``, is not installed.
        TableNotFoundError
            If the graph has no such table.

        See Also
        --------
        around : the same part of the graph as tables and edges.

        Examples
        --------
        >>> import dfjoin, tempfile
        >>> lake = dfjoin.build_lake("examples/lake", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
        >>> axes = lake.join_graph().plot("geo/countries.csv")
        """
        hops = check.check_positive_int(hops, "hops")
        if table is not None:
            self._check_table(table)
            return self._draw_around(table, hops, "", ax)
        joined = set(self.edges["table"]) | set(self.edges["key_table"])
        edges, members = family_edges(self.edges, self.families)
        if len(members) <= _MOST_DRAWN:
            title = f"{len(joined):,} of {len(self.tables):,} tables are joined"
            return _plots.draw_graph(picture_of_all(edges, members), title, ax)
        ends = pd.concat([self.edges["table"], self.edges["key_table"]])
        return self._draw_around(ends.value_counts().idxmax(), hops, f" of {len(joined):,} that are joined", ax)

    def _draw_around(self, table: str, hops: int, among: str, ax: Any) -> Any:
        """Draw the neighbourhood of a table; the title says what part of the graph it is."""
        picture = picture_around(self.edges, table, hops, self.families)
        left_out = f"; {picture.n_left_out:,} less sure ones are left out" if picture.n_left_out else ""
        title = f"{table}: {len(picture.tables):,} tables{among} lie within {hops} join{'s' * (hops > 1)}{left_out}"
        return _plots.draw_graph(picture, title + ("; plot(table) draws another one" if among else ""), ax)

    def _check_table(self, table: str) -> None:
        if table not in set(self.tables):
            raise TableNotFoundError(
                f"`table` must be a table of the graph ({shortlist(self.tables)}), got {check.show(table)}"
                + did_you_mean(table, self.tables)
            )


def _shortest_paths(
    joins: dict[str, list[dict[str, Any]]], start: str, end: str, k: int
) -> Iterator[list[dict[str, Any]]]:
    """Yield paths without a table twice, by length and then by the product of their scores."""
    count, n_looked_at, n_found = 0, 0, 0
    heap: list[tuple[int, float, int, str, list[dict[str, Any]]]] = [(0, 0.0, 0, start, [])]
    visited: dict[str, int] = {}
    while heap and n_found < k and n_looked_at < 20_000:
        length, cost, _, table, path = heapq.heappop(heap)
        n_looked_at += 1
        if table == end and path:
            n_found += 1
            yield path
            continue
        visited[table] = visited.get(table, 0) + 1
        if visited[table] > k:  # of the paths to a table no more than k can be part of the k shortest
            continue
        met = {start, *(join["right_table"] for join in path)}
        for join in joins.get(table, []):
            if join["right_table"] not in met:
                count += 1
                further = cost - math.log(max(join["score"], 1e-9))
                heapq.heappush(heap, (length + 1, further, count, join["right_table"], [*path, join]))


# A join graph as GraphML ------------------------------------------------------------------------------------


_KEYS = (
    ("column", "string"),
    ("key_column", "string"),
    ("score", "double"),
    ("relationship", "string"),
    ("containment", "double"),
    ("coverage", "double"),
    ("declared", "boolean"),
)
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_graphml(tables: list[str], edges: pd.DataFrame, path: Path) -> None:
    """Write tables as nodes and foreign keys as directed edges.

    Parameters
    ----------
    tables : list of str
    edges : DataFrame
        As `JoinGraph.edges`.
    path : Path
        The file.

    Notes
    -----
    Characters that XML cannot hold are written as U+FFFD.
    """
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        '  <key id="name" for="node" attr.name="name" attr.type="string"/>',
    ]
    lines += [f'  <key id="{name}" for="edge" attr.name="{name}" attr.type="{kind}"/>' for name, kind in _KEYS]
    lines.append('  <graph id="join_graph" edgedefault="directed">')
    number = {table: i for i, table in enumerate(tables)}
    for table, i in number.items():
        lines.append(f'    <node id="t{i}"><data key="name">{escape(_legal(table))}</data></node>')
    for i, row in enumerate(edges.to_dict("records")):
        ends = f'source="t{number[row["table"]]}" target="t{number[row["key_table"]]}"'
        data = "".join(f'<data key="{name}">{escape(_legal(_text(row[name])))}</data>' for name, _ in _KEYS)
        lines.append(f"    <edge id={quoteattr(f'e{i}')} {ends}>{data}</edge>")
    lines += ["  </graph>", "</graphml>", ""]
    path.write_text("\n".join(lines), "utf-8")


def _text(value: Any) -> str:
    """Write a value as XML Schema does."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _legal(text: str) -> str:
    """Replace the characters that XML 1.0 cannot hold."""
    return _ILLEGAL.sub("\ufffd", text)
