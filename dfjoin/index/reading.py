"""Damage that a kernel meets in the arrays of an index, as the error that names the component."""

from __future__ import annotations

from types import TracebackType

from dfjoin.index.component_files import damaged
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
            raise damaged(self._segment, self._component, f"it {self._what}") from error
