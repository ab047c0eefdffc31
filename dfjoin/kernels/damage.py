"""The one signal by which a kernel says that the arrays of an index contradict each other."""

from __future__ import annotations


class DamagedArraysError(ValueError):
    """Raised by a kernel that would have to read outside an array; the caller names the component.

    An exception, and no number among the results: it passes through the kernels that call each other by itself,
    and a caller cannot forget it. What a kernel has written by then is worth nothing, so scratch that has to be
    clean for the next search is dropped.
    """
