"""A join graph as GraphML and as a picture."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin._optional import import_optional

__all__ = ["draw_graph", "place_tables", "write_graphml"]

_KEYS = (
    ("column", "string"),
    ("key_column", "string"),
    ("score", "double"),
    ("relationship", "string"),
    ("containment", "double"),
    ("coverage", "double"),
    ("declared", "boolean"),
)
_ROUNDS = 200
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


def place_tables(tables: list[str], edges: pd.DataFrame) -> NDArray[np.float64]:
    """Place tables in a square so that joined ones are near each other.

    Parameters
    ----------
    tables : list of str
    edges : DataFrame
        As `JoinGraph.edges`; both ends are among the tables.

    Returns
    -------
    ndarray of float64, shape (n, 2)
        Between -1 and 1; the same for the same graph.

    Notes
    -----
    Springs along the edges, and a force between all tables that pushes them apart (Fruchterman and Reingold, 1991),
    from a circle on. O(200 n²).
    """
    n = len(tables)
    angles = 2 * np.pi * np.arange(n) / max(1, n)
    at = np.column_stack([np.cos(angles), np.sin(angles)]) * (1 + 0.01 * np.arange(n)[:, None])
    number = {table: i for i, table in enumerate(tables)}
    a = np.array([number[t] for t in edges["table"]], np.int64)
    b = np.array([number[t] for t in edges["key_table"]], np.int64)
    length = 1.5 / np.sqrt(max(1, n))
    for turn in range(_ROUNDS):
        apart = at[:, None, :] - at[None, :, :]
        far = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-3)
        force = (apart * (length**2 / far**2)[:, :, None]).sum(axis=1) - 0.1 * at
        pull = at[a] - at[b]
        pull *= np.sqrt((pull**2).sum(axis=1, keepdims=True)) / length
        np.subtract.at(force, a, pull)
        np.add.at(force, b, pull)
        size = np.maximum(np.sqrt((force**2).sum(axis=1, keepdims=True)), 1e-9)
        at = at + force / size * np.minimum(size, 0.1 * (1 - turn / _ROUNDS))
    return at / max(1e-9, float(np.abs(at).max(initial=0)))


def draw_graph(tables: list[str], edges: pd.DataFrame, ax: Any = None) -> Any:
    """Draw tables as names and foreign keys as arrows; the surer, the darker.

    Parameters
    ----------
    tables : list of str
    edges : DataFrame
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    pyplot = import_optional("matplotlib.pyplot", extra="plot", purpose="JoinGraph.plot")
    if ax is None:
        side = 4 + 0.12 * len(tables)
        _, ax = pyplot.subplots(figsize=(side * 1.4, side))
    at = dict(zip(tables, place_tables(tables, edges).tolist(), strict=True))
    for row in edges.itertuples():
        style = {"arrowstyle": "-|>", "color": "tab:blue", "alpha": 0.3 + 0.7 * float(row.score)}
        if row.table != row.key_table:
            ax.annotate("", xy=at[row.key_table], xytext=at[row.table], arrowprops=style)
    for table, (x, y) in at.items():
        box = {"boxstyle": "round", "facecolor": "white", "edgecolor": "tab:gray"}
        ax.text(x, y, table.rpartition("/")[2], ha="center", va="center", fontsize=8, bbox=box)
    ax.set_xlim(-1.15, 1.15)
    ax.set_ylim(-1.15, 1.15)
    ax.set_axis_off()
    return ax
