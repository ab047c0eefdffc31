"""Giving a warning at the line of the user's code that caused it."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from dfjoin.errors import DfjoinWarning

__all__ = ["warn"]

_OWN = (str(Path(__file__).parent), str(Path(__file__).parent.parent / "spark_ext"))


def warn(message: str, category: type[Warning] = DfjoinWarning) -> None:
    """Warn as if from the first frame of the stack that is not dfjoin's own."""
    level = 2  # the caller of this function
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        level += 1
        if frame.f_back is None:
            break
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)
