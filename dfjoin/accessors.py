"""What pandas DataFrames get: ``df.discover_joinable(...)``, ``df.auto_join(...)`` and the namespace ``df.dfjoin``.

Each is one call into `dfjoin.api`, and takes signature and documentation from there.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import pandas as pd

from dfjoin import api

__all__ = ["DfjoinAccessor", "register"]


def _method(function: Any) -> Any:
    """Make a method of a function whose first argument is the frame."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(getattr(self, "_frame", self), *args, **kwargs)

    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    method.__signature__ = signature.replace(parameters=[first.replace(name="self", annotation=first.empty), *rest])  # type: ignore[attr-defined]
    return method


class DfjoinAccessor:
    """The namespace ``df.dfjoin``; holds nothing but the frame.

    Parameters
    ----------
    frame : DataFrame
        The frame whose attribute it is.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        if not isinstance(frame, pd.DataFrame):
            raise AttributeError("`dfjoin` is an attribute of DataFrames")
        self._frame = frame

    discover_joinable = _method(api.discover_joinable)
    auto_join = _method(api.auto_join)


def register() -> None:
    """Give pandas DataFrames the two verbs and the namespace; a second call changes nothing."""
    if "dfjoin" not in pd.DataFrame.__dict__:
        pd.api.extensions.register_dataframe_accessor("dfjoin")(DfjoinAccessor)
        pd.DataFrame.discover_joinable = _method(api.discover_joinable)  # type: ignore[attr-defined]
        pd.DataFrame.auto_join = _method(api.auto_join)  # type: ignore[attr-defined]
