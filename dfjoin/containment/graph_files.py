"""A join graph as GraphML."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pandas as pd

__all__ = ["write_graphml"]

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
