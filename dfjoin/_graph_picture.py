"""The neighbourhood of a table in the join graph as a picture: columns of boxes, and arrows to keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 236, 46, 170, 18, 12
"""Size of a box, space between boxes beside and below each other, and margin, in pixels."""

_MOST_BOXES = 12
"""Boxes of a column."""

_LETTERS, _HEAD = 28, 8

_LINE_HEIGHT = 13
"""Space that a label needs."""


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
    """Tables that are one box: of one column of the picture, one folder and one family.

    Where a column of the picture is too full, `first` is left empty: `by` and `via` are what the tables of a folder
    share that refer to one key by one column.
    """

    column: int
    folder: str
    by: str
    via: str
    first: str


def family_edges(edges: pd.DataFrame, families: Mapping[str, str]) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Write the edges of a graph between families of tables.

    Parameters
    ----------
    edges : DataFrame
        As `JoinGraph.edges`, the best first.
    families : mapping of str
        Table → the table that stands for its family; one that is missing is a family of its own.

    Returns
    -------
    edges : DataFrame
        Of the edges between the same columns of two families the best; none within a family.
    members : dict of str
        Table that stands for a family → the joined tables of the family, sorted.

    Notes
    -----
    Tables of one folder that nothing refers to, and that refer to the same keys by the same columns, are one family,
    too: they have the same edges in the graph. O(edges).
    """
    ends = {name: edges[name].map(lambda table: families.get(table, table)) for name in ("table", "key_table")}
    found = edges.assign(**ends)
    found = found[found["table"] != found["key_table"]].drop_duplicates(["table", "column", "key_table", "key_column"])
    keys = set(found["key_table"])
    keys_of: dict[str, set[Any]] = {}
    for row in found.itertuples():
        keys_of.setdefault(str(row.table), set()).add((row.column, row.key_table, row.key_column))
    first: dict[Any, str] = {}
    stands_for = {
        table: first.setdefault((table.rpartition("/")[0], frozenset(own)), table)
        for table, own in sorted(keys_of.items())
        if table not in keys
    }
    found = found.assign(table=found["table"].map(lambda table: stands_for.get(table, table)))
    found = found.drop_duplicates(["table", "column", "key_table", "key_column"])
    members: dict[str, list[str]] = {}
    for table in sorted({*edges["table"], *edges["key_table"]}):
        own = families.get(table, table)
        members.setdefault(stands_for.get(own, own), []).append(table)
    drawn = {*found["table"], *found["key_table"]}
    return found.reset_index(drop=True), {table: own for table, own in members.items() if table in drawn}


def picture_around(
    edges: pd.DataFrame, table: str, hops: int, families: Mapping[str, str] | None = None
) -> GraphPicture:
    """Draw the tables that join with a table, up to some joins away.

    Parameters
    ----------
    edges : DataFrame
        As `JoinGraph.edges`, the best first.
    table : str
    hops : int
    families : mapping of str, optional
        See `family_edges`.

    Returns
    -------
    GraphPicture
        The table in the middle, what it refers to at its right, what refers to it at its left, and what is further
        away behind these; of each column the surest tables. A family is one box, and so are, where a column is too
        full, the tables of one folder that refer to the same key by the same column. O(edges × hops).
    """
    families = families or {}
    center = _Family(0, "", "", "", table)
    members = {center: [table]}
    family_of = {table: center}
    nearest, n_left_out = [table], 0
    for _ in range(hops):
        found = _further(edges, family_of, nearest, families)
        nearest = []
        for column in {family.column for family in found}:
            groups = _few_enough({family: own for family, own in found.items() if family.column == column})
            n_left_out += sum(map(len, list(groups.values())[_MOST_BOXES:]))
            for family, own in list(groups.items())[:_MOST_BOXES]:
                members[family] = own
                family_of |= dict.fromkeys(own, family)
                nearest += own
    return _laid_out(members, family_of, edges, n_left_out)


def _further(
    edges: pd.DataFrame, family_of: dict[str, _Family], nearest: list[str], families: Mapping[str, str]
) -> dict[_Family, list[str]]:
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
            by, via = (str(edge.column), families.get(near, near)) if step < 0 else ("", "")
            family = _Family(column, folder, by, via, families.get(far, far))
            found.setdefault(family, []).append(far)
            met.add(far)
    return found


def _few_enough(groups: dict[_Family, list[str]]) -> dict[_Family, list[str]]:
    """Unite the tables of a folder that refer to the same key by the same column, if there are too many boxes."""
    if len(groups) <= _MOST_BOXES:
        return groups
    found: dict[_Family, list[str]] = {}
    for family, own in groups.items():
        found.setdefault(replace(family, first="") if family.via else family, []).extend(own)
    return found


def picture_of_path(joins: pd.DataFrame) -> GraphPicture:
    """Draw a path: the tables from the left to the right; `joins` has the rows of one path of `shortest_paths`."""
    names = [joins["left_table"].iloc[0], *joins["right_table"]]
    boxes = [_box([name], number, 0, number == 0) for number, name in enumerate(names)]
    arrows = [
        _arrow(boxes[i], boxes[i + 1], _short(f"{row.left_column} = {row.right_column}", 24), row.score)
        for i, row in enumerate(joins.itertuples())
    ]
    return GraphPicture(boxes, arrows, boxes[-1].x + _WIDTH + _MARGIN, _HEIGHT + 2 * _MARGIN, 0, set(names))


def picture_of_all(edges: pd.DataFrame, members: Mapping[str, list[str]] | None = None) -> GraphPicture:
    """Draw all tables of a small graph, each at the left of the keys that it refers to.

    Parameters
    ----------
    edges : DataFrame
        As `JoinGraph.edges`.
    members : mapping of str, optional
        The tables of which a table is the first, see `family_edges`; by default each stands for itself.

    Returns
    -------
    GraphPicture
        Parts without an edge between them stand below each other. O(tables × edges).
    """
    members = members or {}
    ends = [(edge.table, edge.key_table) for edge in edges.itertuples() if edge.table != edge.key_table]
    tables = sorted({*edges["table"], *edges["key_table"]})
    depth, part = dict.fromkeys(tables, 0), {table: number for number, table in enumerate(tables)}
    for _ in tables:  # a circle of keys, which only a database declares, ends here
        for table, key in ends:
            depth[table] = min(len(tables), max(depth[table], depth[key] + 1))
            part[table] = part[key] = min(part[table], part[key])
    columns = {own: height for height, own in enumerate(sorted(set(depth.values()), reverse=True))}
    boxes: dict[str, PictureBox] = {}
    top = 0
    for number in sorted(set(part.values())):
        own: dict[int, list[str]] = {}
        for table in tables:
            if part[table] == number:
                own.setdefault(columns[depth[table]], []).append(table)
        most = max(map(len, own.values()))
        for column, names in _untangled(own, ends).items():
            down = (most - len(names)) * (_HEIGHT + _DOWN) // 2
            boxes |= {
                name: _box(members.get(name, [name]), column, top + down + i * (_HEIGHT + _DOWN), False)
                for i, name in enumerate(names)
            }
        top += most * (_HEIGHT + _DOWN)
    arrows = _arrows([(boxes[edge.table], boxes[edge.key_table], edge) for edge in edges.itertuples()])
    width = max((box.x for box in boxes.values()), default=0) + _WIDTH + _MARGIN
    drawn = {table for name in tables for table in members.get(name, [name])}
    return GraphPicture(list(boxes.values()), arrows, width, top - _DOWN + 2 * _MARGIN, 0, drawn)


def _untangled(columns: dict[int, list[str]], ends: list[tuple[str, str]]) -> dict[int, list[str]]:
    """Order the tables of each column by the mean height of the keys that they refer to, from the right to the left."""
    height: dict[str, float] = {}
    found = {}
    for column in sorted(columns, reverse=True):
        keys = {name: [height[key] for own, key in ends if own == name and key in height] for name in columns[column]}
        mean = {name: sum(own) / len(own) if own else 0.0 for name, own in keys.items()}
        found[column] = sorted(columns[column], key=lambda name: mean[name])
        n = len(found[column])
        height |= {name: (i + 0.5) / n for i, name in enumerate(found[column])}
    return found


def _arrows(joins: list[tuple[PictureBox, PictureBox, Any]]) -> list[PictureArrow]:
    """Draw one arrow between two boxes, with the columns of the best of their edges, and how many more there are."""
    between: dict[tuple[PictureBox, PictureBox], list[Any]] = {}
    for start, end, edge in joins:
        if start != end:
            between.setdefault((start, end), []).append(edge)
    arrows = []
    for (start, end), edges in between.items():
        labels = list(dict.fromkeys(map(_label, edges)))
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        arrows.append(_arrow(start, end, _short(labels[0], 24) + more, max(edge.score for edge in edges)))
    return _with_room(arrows)


def _with_room(arrows: list[PictureArrow]) -> list[PictureArrow]:
    """Move labels down until none lies on another one. O(arrows²), of a picture that can be read."""
    found: list[PictureArrow] = []
    for arrow in sorted(arrows, key=lambda arrow: arrow.y):
        near = [other.y for other in found if abs(other.x - arrow.x) < _ACROSS]
        is_free = all(abs(y - arrow.y) >= _LINE_HEIGHT for y in near)
        y = arrow.y if is_free else max(near) + _LINE_HEIGHT
        found.append(replace(arrow, y=y))
    return found


def _label(edge: Any) -> str:
    """Name the columns of an edge, once if their names are equal."""
    return str(edge.column if edge.column == edge.key_column else f"{edge.column} → {edge.key_column}")


def _laid_out(
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
    drawn = [(family_of.get(edge.table), family_of.get(edge.key_table), edge) for edge in edges.itertuples()]
    arrows = _arrows([(boxes[start], boxes[end], edge) for start, end, edge in drawn if start and end])
    width = max(box.x for box in boxes.values()) + _WIDTH + _MARGIN
    height = most * row_height - _DOWN + 2 * _MARGIN
    return GraphPicture(list(boxes.values()), arrows, width, height, n_left_out, set(family_of))


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
    x, y = (x1 + bend1 + bend2 + x2) // 4, (y1 + y2) // 2
    if abs(x2 - x1) > _ACROSS:  # over boxes of other columns: the label stands in the space before these
        x, y = bend1, (8 * y1 + y2) // 9
    return PictureArrow(curve, label, score, x, y - 5)


def _short(text: str, letters: int = _LETTERS) -> str:
    """Cut a text behind its beginning: the ends of the names of tables tell them apart."""
    return text if len(text) <= letters else f"{text[:_HEAD]}…{text[_HEAD + 1 - letters :]}"
