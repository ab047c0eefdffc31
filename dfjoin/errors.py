"""Every exception and warning class of dfjoin, and how a warning is given.

Each error is a :class:`DfjoinError` and also the builtin that a user would catch for it, so
``except ValueError`` works as well as ``except dfjoin.errors.InvalidParameterError``. A message names
the argument in backticks, says what is legal, what came instead, and the remedy.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "ApproximateResultWarning",
    "ColumnNotFoundError",
    "ConcurrentCommitError",
    "DfjoinError",
    "DfjoinWarning",
    "IncompatibleSettingsError",
    "IndexCorruptedError",
    "IndexFormatError",
    "IndexNotFoundError",
    "IndexVersionError",
    "InvalidParameterError",
    "InvalidTypeError",
    "JoinExpansionError",
    "MissingDependencyError",
    "NoMatchError",
    "TableChangedError",
    "TableNotFoundError",
    "TableReadError",
    "shortlist",
    "warn",
]

_OWN = tuple(str(Path(__file__).parents[1] / package) + os.sep for package in ("dfjoin", "spark_ext"))


class DfjoinError(Exception):
    """Base of all errors that dfjoin raises on purpose."""


class InvalidParameterError(DfjoinError, ValueError):
    """An argument has a value outside its legal range, or does not apply here."""


class InvalidTypeError(DfjoinError, TypeError):
    """An argument has a type that is not accepted."""


class ColumnNotFoundError(DfjoinError, ValueError):
    """A named column is not in the frame or table."""


class TableNotFoundError(DfjoinError, ValueError):
    """A named table is not in the lake."""


class IndexNotFoundError(DfjoinError, FileNotFoundError):
    """There is no dfjoin index at the given place."""


class IndexFormatError(DfjoinError, ValueError):
    """The index cannot be read by this version of dfjoin."""


class IndexVersionError(IndexFormatError):
    """The index is valid, but of a format version or feature that this dfjoin does not know."""


class IndexCorruptedError(IndexFormatError):
    """A file of the index is missing, truncated or changed."""


class IncompatibleSettingsError(DfjoinError, ValueError):
    """The index was built without what this call needs, or with other settings."""


class ConcurrentCommitError(DfjoinError, RuntimeError):
    """Another writer changed the index while this one was at work."""


class MissingDependencyError(DfjoinError, ImportError):
    """An optional library or program is needed and is not installed."""


class TableChangedError(DfjoinError, RuntimeError):
    """A table of the lake is no longer the one that was indexed."""


class TableReadError(DfjoinError, ValueError):
    """A file of the lake is not a table that can be read; the text is the reason."""


class NoMatchError(DfjoinError, ValueError):
    """No candidate was acceptable and the caller asked for an error in that case."""


class JoinExpansionError(DfjoinError, ValueError):
    """A join would multiply rows beyond ``max_expansion``."""


class DfjoinWarning(UserWarning):
    """Something the user should know about a result that is nevertheless correct."""


class ApproximateResultWarning(DfjoinWarning):
    """A result is an estimate, or a row may be missing from it."""


def shortlist(names: Iterable[object], limit: int = 5) -> str:
    """Write at most `limit` items of a list, with the total when there are more; "none" for an empty list.

    Parameters
    ----------
    names : iterable
        The items; each is shown by ``repr``.
    limit : int, default 5
        The most items to show.

    Returns
    -------
    str

    Examples
    --------
    >>> shortlist(["a", "b"])
    "'a', 'b'"
    >>> shortlist(range(9), limit=2)
    '0, 1, … (9 in all)'
    >>> shortlist([])
    'none'
    """
    items = list(names)
    shown = ", ".join(repr(item) for item in items[:limit]) or "none"
    return shown if len(items) <= limit else f"{shown}, … ({len(items)} in all)"


def warn(message: str, category: type[Warning] = DfjoinWarning) -> None:
    """Warn as if from the first frame of the stack that is not dfjoin's own: the line of the user's code."""
    level = 2  # the caller of this function
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        level += 1
        if frame.f_back is None:
            break
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)
