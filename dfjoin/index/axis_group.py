"""The ``axes`` groups of a segment: points of columns of numbers, a group for each number of axes and scales."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.component_files import removed_on_error, write_component
from dfjoin.index.components import AXES
from dfjoin.index.manifest import GroupMeta
from dfjoin.index.segment import Segment
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.vector_search import TokenColumns
from dfjoin.vectors.axis_points import distinct_points
from dfjoin.vectors.trees import MAX_AXES, Projection, VectorTree, build_tree, make_tree


class AxisShape(NamedTuple):
    """What points must have in common to be compared.

    Parameters
    ----------
    n_columns : int
        Columns that make a point; 2 with points of 3 numbers are places, 1 with more numbers are lists.
    dimension : int
        Numbers of a point.
    scales : tuple of float
        What each column was multiplied by.
    """

    n_columns: int
    dimension: int
    scales: tuple[float, ...]

    @property
    def is_place(self) -> bool:
        """Whether the points are unit vectors of latitude and longitude."""
        return self.n_columns == 2 and self.dimension == 3


@dataclass(frozen=True)
class AxisSet:
    """The points of some columns of one table.

    Parameters
    ----------
    columns : tuple of int
        Ids of the columns, in the order of the axes.
    shape : AxisShape
    points : ndarray of float64, shape (n, dimension)
        Scaled; each once.
    """

    columns: tuple[int, ...]
    shape: AxisShape
    points: NDArray[np.float64]


@dataclass(frozen=True)
class AxisSpace:
    """The points of one ``axes`` group, in the order of their tree, and the sets that hold them.

    Parameters
    ----------
    shape : AxisShape
    rows : ndarray of float64, shape (n, dimension)
    postings : TokenColumns
        Sets of each point, in the place of the columns of a token.
    columns : ndarray of int32, shape (n_sets, n_columns)
    sizes : ndarray of int64, shape (n_sets,)
        Distinct points.
    tree : VectorTree
        Of the points divided by `unit`.
    unit : float
    """

    shape: AxisShape
    rows: NDArray[np.float64]
    postings: TokenColumns
    columns: NDArray[np.int32]
    sizes: NDArray[np.int64]
    tree: VectorTree
    unit: float

    @property
    def n_sets(self) -> int:
        """Sets of points."""
        return self.sizes.size

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All pairs of a set and a point that it holds, by set, then by point."""
        group = self.postings.group.astype(np.int64)
        indptr = self.postings.list_indptr
        alone = np.flatnonzero(group < self.n_sets)
        shared = np.flatnonzero(group >= self.n_sets)
        lists = group[shared] - self.n_sets
        sizes = np.diff(indptr)[lists]
        steps = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        of_shared = self.postings.list_columns[np.repeat(indptr[lists], sizes) + steps]
        sets = np.append(group[alone], of_shared.astype(np.int64))
        points = np.append(alone, np.repeat(shared, sizes))
        order = np.lexsort((points, sets))
        return sets[order], points[order]

    def points_of(self, number: int) -> NDArray[np.int64]:
        """Return the positions of the points of a set, ascending."""
        sets, points = self.pairs
        first, last = np.searchsorted(sets, [number, number + 1])
        return points[first:last]


def axis_spaces(segment: Segment) -> list[AxisSpace]:
    """Map the ``axes`` groups of a segment.

    Raises
    ------
    IndexCorruptedError
        If their arrays do not fit together.
    """
    return [_open_space(segment, group) for group in segment.meta.groups_of("axes")]


def _open_space(segment: Segment, group: GroupMeta) -> AxisSpace:
    arrays = dict(zip(AXES, segment.map_group(group, AXES, sound=AXES), strict=True))
    rows, lists, indptr = arrays["axis_rows"], arrays["axis_lists"], arrays["axis_indptr"]
    columns, sizes, scales = arrays["axis_columns"], arrays["axis_sizes"], arrays["axis_scales"]
    axes, center, unit = arrays["axis_projection"], arrays["axis_center"], float(arrays["axis_unit"][0])
    n_axes = min(center.size, MAX_AXES, max(0, arrays["axis_blocks"].shape[1] - 1))  # earlier versions kept 16 axes
    if axes.shape[1] != n_axes:
        raise segment.damaged("axis_projection", f"it has {axes.shape[1]} axes where the features need {n_axes}")
    if not 0 < unit < np.inf:
        raise segment.damaged("axis_unit", f"it is {unit}")
    n_sets = sizes.size
    try:
        tree = make_tree(Projection(axes, center), arrays["axis_blocks"], arrays["axis_boxes"], rows.shape[0])
    except ValueError as error:
        raise segment.damaged("axis_blocks", str(error)) from error
    is_near = as_read_only(np.ones(n_sets, np.uint8))
    groups = as_read_only(arrays["axis_group"])
    postings = TokenColumns(groups, as_read_only(indptr), as_read_only(lists), is_near)
    shape = AxisShape(scales.size, rows.shape[1], tuple(scales.tolist()))
    return AxisSpace(shape, as_read_only(rows), postings, columns, sizes, tree, unit)


def write_axes(directory: Path, sets: Iterable[AxisSet]) -> list[GroupMeta]:
    """Write the ``axes`` groups of a segment; none for sets without a point.

    Parameters
    ----------
    directory : Path
        Of the segment, or one to move them from.
    sets : iterable of AxisSet

    Returns
    -------
    list of GroupMeta
        By number of columns, dimension and scales.

    Notes
    -----
    Memory: three times the points.
    """
    by_shape: dict[AxisShape, list[AxisSet]] = {}
    for one in sets:
        if len(one.points):
            by_shape.setdefault(one.shape, []).append(one)
    return [_write_space(directory, shape, by_shape[shape]) for shape in sorted(by_shape)]


def _write_space(directory: Path, shape: AxisShape, sets: list[AxisSet]) -> GroupMeta:
    sets = sorted(sets, key=lambda one: one.columns)
    points, codes = distinct_points(np.concatenate([one.points for one in sets]))
    owners = np.repeat(np.arange(len(sets)), [len(one.points) for one in sets])
    groups, indptr, lists = _posting_lists(codes, owners, len(points), len(sets))
    unit = 2.0 ** np.ceil(np.log2(max(float(np.abs(points).max(initial=0)), np.finfo(float).tiny)))
    tree, order = build_tree(points / unit)
    arrays: dict[str, Any] = {
        "axis_rows": points[order],
        "axis_group": groups[order],
        "axis_indptr": indptr,
        "axis_lists": lists,
        "axis_columns": np.array([one.columns for one in sets], np.int32),
        "axis_sizes": np.array([len(one.points) for one in sets], np.int64),
        "axis_scales": np.array(shape.scales),
        "axis_blocks": tree.tree.blocks,
        "axis_boxes": tree.tree.boxes,
        "axis_projection": tree.projection.axes,
        "axis_center": tree.projection.center,
        "axis_unit": np.array([unit]),
    }
    group = f"axes-{uuid.uuid4().hex[:8]}"
    with removed_on_error(directory / group):
        written = [write_component(directory, group, name, arrays[name]) for name in AXES]
    return GroupMeta("axes", group, tuple(written))


def _posting_lists(
    codes: NDArray[np.int64], owners: NDArray[np.int64], n_points: int, n_sets: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Group points by the sets that hold them, as tokens are by columns: group of each, and the lists."""
    order = np.lexsort((owners, codes))
    owners = owners[order]
    starts = np.searchsorted(codes[order], np.arange(n_points + 1))
    counts = np.diff(starts)
    groups = owners[starts[:-1]].copy()
    known: dict[bytes, int] = {}
    parts: list[NDArray[np.int64]] = []
    for point in np.flatnonzero(counts > 1).tolist():
        own = owners[starts[point] : starts[point + 1]]
        number = known.setdefault(own.tobytes(), len(known))
        if number == len(parts):
            parts.append(own)
        groups[point] = n_sets + number
    indptr = np.concatenate([[0], np.cumsum([part.size for part in parts], dtype=np.int64)]).astype(np.int64)
    return groups, indptr, np.concatenate([*parts, np.empty(0, np.int64)])


def carry_axes(sources: Sequence[Segment], segment: Segment) -> list[GroupMeta]:
    """Write the ``axes`` groups of a segment that others were merged into; no table is read again.

    Parameters
    ----------
    sources : sequence of Segment
    segment : Segment
        Holds their tables but for those that were deleted.
    """
    return write_axes(segment.directory, [one for source in sources for one in _alive_sets(source, segment)])


def _alive_sets(source: Segment, segment: Segment) -> Iterable[AxisSet]:
    """Return the sets of a segment whose table another one holds, with the columns that they have there."""
    old, new = source.catalog, segment.catalog
    for space in axis_spaces(source):
        for number in range(space.n_sets):
            columns = space.columns[number]
            if source.alive is not None and not source.alive[columns].all():
                continue
            table = new.find_table(old.table_name(int(columns[0])))
            found = tuple(new.find_column(table, old.column_name(column)) for column in columns.tolist())
            yield AxisSet(found, space.shape, space.rows[space.points_of(number)])
