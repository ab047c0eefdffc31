"""Frames that come in: which kind one is, the pandas frame that holds its columns, and the frame that goes out."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from dfjoin.frames.frame_kinds import ArrowFrames, DuckdbFrames, PolarsFrames
from dfjoin.frames.given_column import FrameKind, GivenColumn, MadeColumn
from dfjoin.values.frames import arrow_to_series, is_pandas, is_spark, with_levels

KINDS: tuple[FrameKind, ...] = (PolarsFrames(), DuckdbFrames(), ArrowFrames())
"""The kinds of frames beside those of pandas and Spark; the first that a value is."""

_attrs: dict[int, tuple[weakref.ref[Any], dict[str, Any]]] = {}
"""Frames without ``attrs`` → what pandas keeps there, as long as they live."""


class GivenFrame:
    """A frame of another library than pandas, its columns as Arrow.

    Parameters
    ----------
    given : object
        As it came in.
    kind : FrameKind
    argument : str
        Name of the argument that carried it, for messages.
    """

    def __init__(self, given: Any, kind: FrameKind, argument: str = "df") -> None:
        self._given = given
        self._kind = kind
        self.columns: list[GivenColumn] = kind.columns(given, argument)
        self.ignores_case = kind.ignores_case

    @property
    def frame(self) -> pd.DataFrame:
        """The columns in a pandas frame, which holds their Arrow arrays and copies nothing."""
        arrays = {i: pd.arrays.ArrowExtensionArray(column.array) for i, column in enumerate(self.columns)}
        frame = pd.DataFrame(arrays)
        frame.columns = pd.Index([column.field.name for column in self.columns], dtype=None if arrays else object)
        frame.attrs = dict(attrs_of(self._given))
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas frame of the dtypes that columns of a table of a lake have."""
        return self._with_values(arrow_to_series)

    def to_stored(self) -> pd.DataFrame:
        """Return a pandas frame to be written: its Arrow columns, and values where Arrow lacks their type."""
        return self._with_values(lambda array: pd.Series(pd.arrays.ArrowExtensionArray(array)))

    def _with_values(self, to_series: Callable[[pa.ChunkedArray], pd.Series]) -> pd.DataFrame:
        series = {
            i: pd.Series(column.own.to_list(), dtype=object) if column.is_numbered else to_series(column.array)
            for i, column in enumerate(self.columns)
        }
        frame = pd.DataFrame(series)
        frame.columns = self.frame.columns
        return frame

    def column(self, name: str) -> GivenColumn | None:
        """Return a column by its name; None if there is none."""
        return next((column for column in self.columns if column.field.name == name), None)

    def without(self, name: str) -> GivenFrame:
        """Return the frame without a column."""
        frame = copy.copy(self)
        frame.columns = [column for column in self.columns if column.field.name != name]
        return frame

    def rebuild(self, result: pd.DataFrame, added: Mapping[Any, GivenColumn | None]) -> Any:
        """Make a frame of the same library of what a join made.

        Parameters
        ----------
        result : DataFrame
            The columns of this frame, then others.
        added : mapping
            Names of others → the columns of the other frame that they come from, where these are known.
        """
        names = list(result.columns)
        return self._make(result, [*self.columns, *(added.get(name) for name in names[len(self.columns) :])])

    def replace(self, result: pd.DataFrame) -> Any:
        """Make a frame of the same library of columns that are none of this frame's."""
        return self._make(result, [None] * result.shape[1])

    def _make(self, result: pd.DataFrame, origins: Sequence[GivenColumn | None]) -> Any:
        plain = pd.DataFrame(result)  # without `attrs`, which pandas copies with each column that is taken
        made = [
            MadeColumn.of(str(name), column, origin, position < len(self.columns))
            for position, ((name, column), origin) in enumerate(zip(plain.items(), origins, strict=True))
        ]
        frame = self._kind.rebuild(self._given, made)
        _note_attrs(frame, result.attrs)
        return frame


def given_frame(value: Any, argument: str = "df") -> GivenFrame | None:
    """Read a frame of another library than pandas and Spark; None for what is none.

    Parameters
    ----------
    value : object
    argument : str
        Name of the argument that carried it, for messages.

    Raises
    ------
    InvalidTypeError
        If its Arrow stream is one of values, and not of rows.
    """
    kind = _kind_of(value)
    return None if kind is None else GivenFrame(value, kind, argument)


def is_frame(value: Any) -> bool:
    """Tell whether a value is a frame of another library than pandas and Spark."""
    return _kind_of(value) is not None


def _kind_of(value: Any) -> FrameKind | None:
    if isinstance(value, (pd.DataFrame, pd.Series)) or is_spark(value):
        return None
    return next((kind for kind in KINDS if kind.is_kind(value)), None)


def frame_of(value: Any) -> Any:
    """Return the pandas frame in which keys are sought: of one of pandas, with the named levels of its index.

    What is no frame of pandas or another library as it is.
    """
    if is_pandas(value):
        return with_levels(value)
    given = given_frame(value)
    return value if given is None else given.frame


def plain_frame(value: Any) -> Any:
    """Return a frame of another library as one of pandas, with its dtypes; anything else as it is."""
    given = given_frame(value)
    return value if given is None else given.to_pandas()


def stored_frame(value: Any) -> Any:
    """Return a frame of another library as one of pandas to be written; anything else as it is."""
    given = given_frame(value)
    return value if given is None else given.to_stored()


def series_of(column: Any) -> Any:
    """Return a column of another library as a Series of pandas that holds it as Arrow; anything else as it is."""
    if isinstance(column, (pd.Series, pd.DataFrame)):
        return column
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        table = pa.table({"": column})
    elif hasattr(column, "__arrow_c_stream__"):
        table = column.to_frame() if hasattr(column, "to_frame") else pa.table({"": pa.chunked_array(column)})
    else:
        return column
    return frame_of(table).iloc[:, 0]


def attrs_of(frame: Any) -> dict[str, Any]:
    """Return what a join noted about its result: ``attrs`` of a frame of pandas, the same of one of other libraries."""
    if is_pandas(frame):
        return frame.attrs
    reference, attrs = _attrs.get(id(frame), (None, {}))
    return attrs if reference is not None and reference() is frame else {}


def _note_attrs(frame: Any, attrs: dict[str, Any]) -> None:
    """Keep attributes of a frame whose library has no place for them, until it is deleted."""
    key = id(frame)
    _attrs[key] = weakref.ref(frame, lambda _: _attrs.pop(key, None)), attrs
