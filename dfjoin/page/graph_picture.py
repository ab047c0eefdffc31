"""The neighbourhood of a table in the join graph as a picture: columns of boxes, and arrows to keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

__all__ = ["GraphPicture", "PictureArrow", "PictureBox", "picture_around", "picture_of_path"]

_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 230, 46, 150, 18, 12
"""Size of a box, space between boxes beside and below each other, and margin, in pixels."""

_MOST_BOXES = 12
"""Boxes of a column."""

_LETTERS = 30


@dataclass(frozen=True)
class PictureBox:
    """A table, or the tables of a family.

    Parameters
    ----------
    table : str
        The table, or the first one of the family.
    title, folder : str
        Short enough for the box.
    n_tables : int
    x, y : int
        The corner at the left and top.
    is_center : bool
    """

    table: str
    title: str
    folder: str
    n_tables: int
    x: int
    y: int
    is_center: bool = False
    width: int = _WIDTH
    height: int = _HEIGHT


@dataclass(frozen=True)
class PictureArrow:
    """A key: an arrow from the box of the column to that of the key.

    Parameters
    ----------
    path : str
        Of SVG.
    label : str
    score : float
    x, y : int
        Where the label stands.
    """

    path: str
    label: str
    score: float
    x: int
    y: int


@dataclass(frozen=True)
class GraphPicture:
    """Boxes and arrows, and what is left out.

    Parameters
    ----------
    boxes : list of PictureBox
    arrows : list of PictureArrow
    width, height : int
    n_left_out : int
        Tables that are not drawn.
    """

    boxes: list[PictureBox]
    arrows: list[PictureArrow]
    width: int
    height: int
    n_left_out: int


def picture_around(edges: pd.DataFrame, table: str, hops: int) -> GraphPicture:
    """Draw the tables that join with a table, up to some joins away.

    Parameters
    ----------
    edges : DataFrame
        As `JoinGraph.edges`, the best first.
    table : str
    hops : int

    Returns
    -------
    GraphPicture
        The table in the middle, what it refers to at its right, what refers to it at its left; of each column the
        surest tables. Tables of one folder that refer to the same key by the same column are one box. O(edges × hops).
    """
    column_of, n_left_out = {table: 0}, 0
    family_of: dict[str, tuple[Any, ...]] = {table: (table,)}
    members: dict[tuple[Any, ...], list[str]] = {(table,): [table]}
    nearest = {table}
    for _ in range(hops):
        found: dict[int, list[tuple[Any, ...]]] = {}
        reached = []
        for edge in edges.itertuples():
            for near, far, step in ((edge.table, edge.key_table, 1), (edge.key_table, edge.table, -1)):
                side = column_of.get(near, 0)
                if near not in nearest or far in family_of or (side and step * side < 0):
                    continue
                folder = far.rpartition("/")[0] if step < 0 else far
                family = (side + step, folder, edge.column if step < 0 else "", near)
                if family not in members:
                    members[family] = []
                    found.setdefault(side + step, []).append(family)
                members[family].append(far)
                family_of[far] = family
                column_of[far] = side + step
                reached.append(far)
        for column, families in found.items():
            drawn = sum(1 for family in members if len(family) > 1 and family[0] == column) - len(families)
            for family in families[max(0, _MOST_BOXES - drawn) :]:
                n_left_out += len(members[family])
                for name in members.pop(family):
                    del family_of[name], column_of[name]
        nearest = {name for name in reached if name in family_of}
    return _placed(members, family_of, edges, table, n_left_out)


def picture_of_path(joins: pd.DataFrame) -> GraphPicture:
    """Draw a path: the tables from the left to the right; `joins` has the rows of one path of `shortest_paths`."""
    names = [joins["left_table"].iloc[0], *joins["right_table"]]
    boxes = [_box([name], number, 0, number == 0) for number, name in enumerate(names)]
    arrows = [
        _arrow(boxes[i], boxes[i + 1], f"{row.left_column} = {row.right_column}", row.score)
        for i, row in enumerate(joins.itertuples())
    ]
    return GraphPicture(boxes, arrows, boxes[-1].x + _WIDTH + _MARGIN, _HEIGHT + 2 * _MARGIN, 0)


def _placed(
    members: dict[tuple[Any, ...], list[str]],
    family_of: dict[str, tuple[Any, ...]],
    edges: pd.DataFrame,
    center: str,
    n_left_out: int,
) -> GraphPicture:
    """Place the boxes in columns, each column in the middle of the height, and draw the arrows."""
    columns: dict[int, list[tuple[Any, ...]]] = {}
    for family in members:
        columns.setdefault(family[0] if len(family) > 1 else 0, []).append(family)
    first, most = min(columns), max(map(len, columns.values()))
    row_height = _HEIGHT + _DOWN
    boxes = {
        family: _box(
            members[family], column - first, (most - len(own) + 2 * row) * row_height // 2, members[family] == [center]
        )
        for column, own in columns.items()
        for row, family in enumerate(own)
    }
    arrows, drawn = [], set()
    for edge in edges.itertuples():
        start, end = family_of.get(edge.table), family_of.get(edge.key_table)
        if start is None or end is None or start == end or (start, end, edge.column) in drawn:
            continue
        drawn.add((start, end, edge.column))
        arrows.append(_arrow(boxes[start], boxes[end], f"{edge.column} → {edge.key_column}", edge.score))
    width = max(box.x for box in boxes.values()) + _WIDTH + _MARGIN
    return GraphPicture(list(boxes.values()), arrows, width, most * row_height - _DOWN + 2 * _MARGIN, n_left_out)


def _box(tables: list[str], column: int, y: int, is_center: bool) -> PictureBox:
    """Make the box of a family in a column."""
    folder, _, title = tables[0].rpartition("/")
    x = _MARGIN + column * (_WIDTH + _ACROSS)
    return PictureBox(tables[0], _short(title), _short(folder), len(tables), x, _MARGIN + y, is_center)


def _arrow(start: PictureBox, end: PictureBox, label: str, score: float) -> PictureArrow:
    """Draw a curve between the sides of two boxes that face each other; beside boxes of one column."""
    y1, y2 = start.y + _HEIGHT // 2, end.y + _HEIGHT // 2
    if start.x == end.x:
        x1 = x2 = start.x + _WIDTH
        bend1 = bend2 = x1 + _ACROSS // 3
    elif start.x < end.x:
        x1, x2 = start.x + _WIDTH, end.x
        bend1, bend2 = x1 + _ACROSS // 2, x2 - _ACROSS // 2
    else:
        x1, x2 = start.x, end.x + _WIDTH
        bend1, bend2 = x1 - _ACROSS // 2, x2 + _ACROSS // 2
    path = f"M{x1} {y1}C{bend1} {y1} {bend2} {y2} {x2} {y2}"
    return PictureArrow(path, _short(label, 24), score, (x1 + bend1 + bend2 + x2) // 4, (y1 + y2) // 2 - 5)


def _short(text: str, letters: int = _LETTERS) -> str:
    """Cut a text in its middle."""
    half = (letters - 1) // 2
    return text if len(text) <= letters else f"{text[: letters - 1 - half]}…{text[-half:]}"
