"""What frames get: ``df.discover_joinable(...)``, ``df.auto_join(...)`` and the namespace ``df.dfjoin``.

Frames of polars get the namespace alone. Each is one call into `dfjoin.api`, and takes signature and documentation from
there.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

import pandas as pd

from dfjoin import api


def _method(function: Any) -> Any:
    """Make a method of a function whose first argument is the frame."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        df = self._frame if isinstance(self, DfjoinNamespace) else self
        return function(df, *args, **kwargs)

    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    method.__signature__ = signature.replace(parameters=[first.replace(name="self", annotation=first.empty), *rest])  # type: ignore[attr-defined]
    return method


class DfjoinNamespace:
    """The namespace ``df.dfjoin``; holds nothing but the frame.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The frame whose attribute it is.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    discover_joinable = _method(api.discover_joinable)
    auto_join = _method(api.auto_join)


class DfjoinAccessor(DfjoinNamespace):
    """The namespace of a frame of pandas.

    Parameters
    ----------
    frame : DataFrame
        The frame whose attribute it is.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        if not isinstance(frame, pd.DataFrame):
            raise AttributeError("`dfjoin` is an attribute of DataFrames")
        super().__init__(frame)


def register() -> None:
    """Give pandas DataFrames the two verbs and the namespace, frames of polars the namespace, once it is imported.

    A second call changes nothing.
    """
    if "dfjoin" not in pd.DataFrame.__dict__:
        pd.api.extensions.register_dataframe_accessor("dfjoin")(DfjoinAccessor)
        pd.DataFrame.discover_joinable = _method(api.discover_joinable)  # type: ignore[attr-defined]
        pd.DataFrame.auto_join = _method(api.auto_join)  # type: ignore[attr-defined]
    if "polars" in sys.modules:
        _register_polars(sys.modules["polars"])
    elif not any(isinstance(finder, _PolarsFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _PolarsFinder())


def _register_polars(polars: ModuleType | None) -> None:
    """Register the namespace; nothing where another module has the name ``polars``, or None blocks its import."""
    frame, registers = getattr(polars, "DataFrame", None), getattr(polars, "api", None)
    if frame is not None and registers is not None and not hasattr(frame, "dfjoin"):
        registers.register_dataframe_namespace("dfjoin")(DfjoinNamespace)
        registers.register_lazyframe_namespace("dfjoin")(DfjoinNamespace)


class _PolarsFinder(MetaPathFinder):
    """Registers the namespace when the caller imports polars, so that ``import dfjoin`` need not import it.

    It stands in ``sys.meta_path`` until then. The usual finders find polars; its loader is told to register.
    """

    def __init__(self) -> None:
        self._is_asking = False

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        """Find polars by the other finders; nothing else."""
        if fullname != "polars" or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._is_asking = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                _register_polars(module)

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec
