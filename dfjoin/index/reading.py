"""Damage that a kernel meets in the arrays of an index, as the error that names the component."""

from __future__ import annotations

from types import TracebackType

from dfjoin.errors import IndexCorruptedError
from dfjoin.kernels.damage import DamagedArraysError

__all__ = ["reading"]


class reading:
    """Run kernels over a component: ``with reading("group", "names …", segment.meta.id): …``.

    Parameters
    ----------
    component : str
        The component, or the components, that are at fault where the kernel finds damage.
    what : str
        What is wrong with it then.
    segment : str, optional
        Identifier of the segment.

    Raises
    ------
    IndexCorruptedError
        In the place of `DamagedArraysError`.
    """

    def __init__(self, component: str, what: str, segment: str | None = None) -> None:
        self._component = component
        self._what = what
        self._segment = segment

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, DamagedArraysError):
            place = "the index" if self._segment is None else f"segment {self._segment}"
            raise IndexCorruptedError(
                f"component `{self._component}` of {place} {self._what}; run `verify()` on the lake, then build the "
                "index again"
            ) from error
