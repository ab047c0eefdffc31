"""The neighbourhood of a table in the join graph as a picture: columns of boxes, and arrows to keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 236, 46, 170, 18, 12
"""Size of a box, space between boxes beside and below each other, and margin, in pixels."""

_MOST_BOXES = 12
"""Boxes of a column."""

_LETTERS, _HEAD = 28, 8


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
    curve : tuple of tuple of int
        Start, two points that bend it, and end.
    label : str
    score : float
    x, y : int
        Where the label stands.
    """

    curve: tuple[tuple[int, int], ...]
    label: str
    score: float
    x: int
    y: int

    @property
    def path(self) -> str:
        """The curve as a path of SVG."""
        start, *others = (f"{x} {y}" for x, y in self.curve)
        return f"M{start}C{' '.join(others)}"


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
    tables : set of str
        Those that are.
    """

    boxes: list[PictureBox]
    arrows: list[PictureArrow]
    width: int
    height: int
    n_left_out: int
    tables: set[str]


@dataclass(frozen=True)
class _Family:
    """Tables that are one box: of one column of the picture and one folder, which refer to one table by one column."""

    column: int
    folder: str
    by: str
    via: str


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
        The table in the middle, what it refers to at its right, what refers to it at its left, and what is further
        away behind these; of each column the surest tables. Tables of one folder that refer to the same key by the same
        column are one box. O(edges × hops).
    """
    center = _Family(0, "", "", table)
    members = {center: [table]}
    family_of = {table: center}
    nearest, n_left_out = [table], 0
    for _ in range(hops):
        found = _further(edges, family_of, nearest)
        nearest = []
        for column in {family.column for family in found}:
            families = [family for family in found if family.column == column]
            n_left_out += sum(len(found[family]) for family in families[_MOST_BOXES:])
            for family in families[:_MOST_BOXES]:
                members[family] = found[family]
                family_of |= dict.fromkeys(found[family], family)
                nearest += found[family]
    return _placed(members, family_of, edges, n_left_out)


def _further(edges: pd.DataFrame, family_of: dict[str, _Family], nearest: list[str]) -> dict[_Family, list[str]]:
    """Find the tables that join with the nearest ones, outwards, by their families; the surest first."""
    found: dict[_Family, list[str]] = {}
    met = set(family_of)
    for edge in edges.itertuples():
        for near, far, step in ((edge.table, edge.key_table, 1), (edge.key_table, edge.table, -1)):
            if near not in nearest or far in met:
                continue
            own = family_of[near].column
            column = own + (step if own == 0 else own // abs(own))
            folder = far.rpartition("/")[0]
            family = _Family(column, folder, edge.column, near) if step < 0 else _Family(column, folder, "", far)
            found.setdefault(family, []).append(far)
            met.add(far)
    return found


def picture_of_path(joins: pd.DataFrame) -> GraphPicture:
    """Draw a path: the tables from the left to the right; `joins` has the rows of one path of `shortest_paths`."""
    names = [joins["left_table"].iloc[0], *joins["right_table"]]
    boxes = [_box([name], number, 0, number == 0) for number, name in enumerate(names)]
    arrows = [
        _arrow(boxes[i], boxes[i + 1], f"{row.left_column} = {row.right_column}", row.score)
        for i, row in enumerate(joins.itertuples())
    ]
    return GraphPicture(boxes, arrows, boxes[-1].x + _WIDTH + _MARGIN, _HEIGHT + 2 * _MARGIN, 0, set(names))


def picture_of_all(edges: pd.DataFrame) -> GraphPicture:
    """Draw all tables of a small graph, each at the left of the keys that it refers to.

    Parameters
    ----------
    edges : DataFrame
        As `JoinGraph.edges`.

    Returns
    -------
    GraphPicture
        Parts without an edge between them stand below each other. O(tables × edges).
    """
    ends = [(edge.table, edge.key_table) for edge in edges.itertuples() if edge.table != edge.key_table]
    tables = sorted({*edges["table"], *edges["key_table"]})
    depth, part = dict.fromkeys(tables, 0), {table: number for number, table in enumerate(tables)}
    for _ in tables:  # a circle of keys, which only a database declares, ends here
        for table, key in ends:
            depth[table] = min(len(tables), max(depth[table], depth[key] + 1))
            part[table] = part[key] = min(part[table], part[key])
    columns = {own: place for place, own in enumerate(sorted(set(depth.values()), reverse=True))}
    boxes: dict[str, PictureBox] = {}
    top = 0
    for number in sorted(set(part.values())):
        own: dict[int, list[str]] = {}
        for table in tables:
            if part[table] == number:
                own.setdefault(columns[depth[table]], []).append(table)
        most = max(map(len, own.values()))
        for column, names in own.items():
            down = (most - len(names)) * (_HEIGHT + _DOWN) // 2
            boxes |= {
                name: _box([name], column, top + down + i * (_HEIGHT + _DOWN), False) for i, name in enumerate(names)
            }
        top += most * (_HEIGHT + _DOWN)
    arrows = [
        _arrow(boxes[edge.table], boxes[edge.key_table], _label(edge), edge.score)
        for edge in edges.itertuples()
        if edge.table != edge.key_table
    ]
    width = max((box.x for box in boxes.values()), default=0) + _WIDTH + _MARGIN
    return GraphPicture(list(boxes.values()), arrows, width, top - _DOWN + 2 * _MARGIN, 0, set(tables))


def _label(edge: Any) -> str:
    """Name the columns of an edge, once if their names are equal."""
    return str(edge.column if edge.column == edge.key_column else f"{edge.column} → {edge.key_column}")


def _placed(
    members: dict[_Family, list[str]], family_of: dict[str, _Family], edges: pd.DataFrame, n_left_out: int
) -> GraphPicture:
    """Place the boxes in columns, each column in the middle of the height, and draw the arrows."""
    columns: dict[int, list[_Family]] = {}
    for family in members:
        columns.setdefault(family.column, []).append(family)
    first, most, row_height = min(columns), max(map(len, columns.values())), _HEIGHT + _DOWN
    boxes = {
        family: _box(members[family], column - first, (most - len(own) + 2 * row) * row_height // 2, column == 0)
        for column, own in columns.items()
        for row, family in enumerate(own)
    }
    arrows: dict[tuple[Any, ...], PictureArrow] = {}
    for edge in edges.itertuples():
        start, end = family_of.get(edge.table), family_of.get(edge.key_table)
        if start is not None and end is not None and start != end and (start, end, edge.column) not in arrows:
            arrows[start, end, edge.column] = _arrow(boxes[start], boxes[end], _label(edge), edge.score)
    width = max(box.x for box in boxes.values()) + _WIDTH + _MARGIN
    height = most * row_height - _DOWN + 2 * _MARGIN
    return GraphPicture(list(boxes.values()), list(arrows.values()), width, height, n_left_out, set(family_of))


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
    curve = ((x1, y1), (bend1, y1), (bend2, y2), (x2, y2))
    return PictureArrow(curve, _short(label, 24), score, (x1 + bend1 + bend2 + x2) // 4, (y1 + y2) // 2 - 5)


def _short(text: str, letters: int = _LETTERS) -> str:
    """Cut a text behind its beginning: the ends of the names of tables tell them apart."""
    return text if len(text) <= letters else f"{text[:_HEAD]}…{text[_HEAD + 1 - letters :]}"
