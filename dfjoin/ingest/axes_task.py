"""The points of a segment's columns of numbers: latitude and longitude, and axes that the user has named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.errors import DfjoinError
from dfjoin.index.axis_group import AxisSet, AxisShape
from dfjoin.index.catalog import KINDS, NOT_IN_FILE, find_root, read_dialect
from dfjoin.index.segment import Segment
from dfjoin.ingest.left_out import is_wanted
from dfjoin.sources.readers import open_table
from dfjoin.sources.roots import catalogued_source
from dfjoin.types import IndexSettings, Root
from dfjoin.values.cells import is_list_type
from dfjoin.values.float_values import to_floats, to_rows
from dfjoin.values.normalize import normalize_batch
from dfjoin.vectors.axis_points import distinct_points, place_points
from dfjoin.vectors.axis_specs import AxisSpec, find_places

_NUMBERS = tuple(KINDS.index(kind) for kind in ("integer", "decimal", "float"))
_RANGES = ((-90.0, 90.0), (-180.0, 360.0))
_MOST_HELD = 1 << 20


@dataclass(frozen=True)
class AxesReader:
    """What reads the points of tables.

    Parameters
    ----------
    index : Path
    settings : IndexSettings
    roots : sequence of Root
        At their present locations.
    axes : tuple of AxisSpec
        Named by the user; latitude and longitude are recognised beside them.
    session_table : callable, optional
        Opens a table of Spark by its name in the lake and its full one; a task has no session.
    """

    index: Path
    settings: IndexSettings
    roots: Sequence[Root]
    axes: tuple[AxisSpec, ...]
    session_table: Callable[[str, str], Any] | None = None

    def tables(self, segment: Segment) -> Iterator[dict[str, Any]]:
        """List the records of the tables of a segment that may have points, by their headers."""
        catalog = segment.catalog
        names = catalog.columns().field("name").to_pylist()
        for number in np.flatnonzero(segment.alive_tables()).tolist():
            record = catalog.table_record(number)
            first = record["first_column"]
            if self._may_have(names[first : first + record["n_columns"]]):
                yield record

    def sets(self, segment: Segment, unread: list[str]) -> Iterator[AxisSet]:
        """Read the points of each table of a segment that has such columns.

        Tables that cannot be read again have none; `unread` takes their names and the reasons.
        """
        catalog = segment.catalog
        for record in self.tables(segment):
            first = record["first_column"]
            ids = range(first, first + record["n_columns"])
            columns = [{**column, "id": i} for i, column in zip(ids, catalog.column_records(ids), strict=True)]
            chosen = self._choose(record["name"], columns)
            if not chosen:
                continue
            try:
                yield from self._read(record, chosen)
            except DfjoinError as error:
                unread.append(f"{record['name']} ({error})")

    def _may_have(self, headers: list[str]) -> bool:
        """Tell whether a table with these headers may have points, before its records are read."""
        folded = {header.casefold() for header in headers}
        return bool(find_places(headers)) or any(
            all(name.casefold() in folded for name in spec.columns) for spec in self.axes
        )

    def _choose(self, table: str, columns: list[dict[str, Any]]) -> list[tuple[AxisSpec, list[dict[str, Any]]]]:
        """Choose the columns of a table that make points."""
        present = [c for c in columns if c["position"] != NOT_IN_FILE and is_wanted(table, c["name"], self.settings)]
        numbers = [c for c in present if c["kind"] in _NUMBERS]
        chosen = [
            (AxisSpec((numbers[i]["name"], numbers[j]["name"]), (1.0, 1.0), True), [numbers[i], numbers[j]])
            for i, j in find_places([c["name"] for c in numbers])
            if all(_is_in_range(numbers[c], bounds) for c, bounds in zip((i, j), _RANGES, strict=True))
        ]
        by_name = {c["name"]: c for c in present}
        folded = {c["name"].casefold(): c for c in reversed(present)}
        for spec in self.axes:
            found = [by_name.get(name) or folded.get(name.casefold()) for name in spec.columns]
            named = [c for c in found if c is not None]
            known = [(own.is_place, [c["id"] for c in held]) for own, held in chosen if own.scales == spec.scales]
            if len(named) == len(found) and (spec.is_place, [c["id"] for c in named]) not in known:
                chosen.append((spec, named))
        return chosen

    def _read(self, record: dict[str, Any], chosen: list[tuple[AxisSpec, list[dict[str, Any]]]]) -> list[AxisSet]:
        """Read the columns of a table once, and make the points of each set."""
        root = find_root(self.roots, record["root"])
        names = list(dict.fromkeys(c["name"] for _, columns in chosen for c in columns))
        points = [_Points(spec) for spec, _ in chosen]
        for batch in self._batches(root, record, names):
            held: dict[str, NDArray[np.float64]] = {}
            for own, (_, columns) in zip(points, chosen, strict=True):
                if len(columns) == 1 and is_list_type(batch.column(names.index(columns[0]["name"])).type):
                    own.add(to_rows(batch.column(names.index(columns[0]["name"])), own.dimension))
                    continue
                for column in columns:
                    if column["name"] not in held:
                        array = batch.column(names.index(column["name"]))
                        held[column["name"]] = to_floats(normalize_batch(array, self.settings))
                own.add(np.column_stack([held[column["name"]] for column in columns]))
        return [
            own.finish([c["id"] for c in columns])
            for own, (spec, columns) in zip(points, chosen, strict=True)
            if spec in self.axes or not own.is_out_of_range
        ]

    def _batches(self, root: Root, record: dict[str, Any], names: list[str]) -> Iterator[pa.RecordBatch]:
        """Read some columns of a table."""
        if root.kind == "spark":
            if self.session_table is None:
                raise DfjoinError("a Spark table")
            table = self.session_table(record["name"], record["path"])
            if not set(names) <= set(table.column_names):
                raise DfjoinError("its columns have changed")
            return table.batches(names)
        source = catalogued_source(self.index, root, record)
        most = max(self.settings.max_columns, record["n_columns"])
        return open_table(source, dialect=read_dialect(record), columns=names, max_columns=most).batches()


def _is_in_range(column: dict[str, Any], bounds: tuple[float, float]) -> bool:
    """Tell whether the numbers of a column may lie within bounds, by the catalogue; an old one may not say."""
    try:
        return not column["min"] or (bounds[0] <= float(column["min"]) and float(column["max"]) <= bounds[1])
    except ValueError:  # no number
        return False


class _Points:
    """The distinct points of a set, batch by batch."""

    def __init__(self, spec: AxisSpec) -> None:
        self._spec = spec
        self.dimension = 0
        self._parts: list[NDArray[np.float64]] = []
        self._held = 0
        self.is_out_of_range = False

    def add(self, rows: NDArray[np.float64]) -> None:
        """Take the numbers of a batch; rows of another dimension than the first have none."""
        self.dimension = self.dimension or rows.shape[1]
        if not rows.shape[1]:
            return
        points = place_points(*rows.T) if self._spec.is_place else rows * np.array(self._spec.scales)
        self.is_out_of_range |= bool((np.isnan(points).any(axis=1) & ~np.isnan(rows).any(axis=1)).any())
        points, _ = distinct_points(points)
        self._parts.append(points)
        self._held += len(points)
        if self._held > _MOST_HELD and len(self._parts) > 1:
            self._parts = [distinct_points(np.concatenate(self._parts))[0]]
            self._held = 0

    def finish(self, columns: list[int]) -> AxisSet:
        """Return the set."""
        points = np.concatenate(self._parts) if self._parts else np.empty((0, 1))
        points = points if len(self._parts) == 1 else distinct_points(points)[0]
        return AxisSet(tuple(columns), AxisShape(len(columns), points.shape[1], self._spec.scales), points)
