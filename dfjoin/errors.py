"""Every exception and warning class of dfjoin, and how a warning is given.

Each error is a :class:`DfjoinError` and also the builtin that a user would catch for it, so
``except ValueError`` works as well as ``except dfjoin.errors.InvalidParameterError``. A message names
the argument in backticks, says what is legal, what came instead, and the remedy.
"""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePosixPath

from dfjoin._visible import visible, visible_lines

__all__ = [
    "ApproximateResultWarning",
    "ColumnNotFoundError",
    "ConcurrentCommitError",
    "DfjoinError",
    "DfjoinWarning",
    "EngineError",
    "IncompatibleSettingsError",
    "IndexCorruptedError",
    "IndexFormatError",
    "IndexNotFoundError",
    "IndexVersionError",
    "IndexWriteError",
    "InvalidParameterError",
    "InvalidTypeError",
    "JoinExpansionError",
    "MissingDependencyError",
    "NoMatchError",
    "TableChangedError",
    "TableNotFoundError",
    "TableReadError",
    "collected_warnings",
    "did_you_mean",
    "shortlist",
    "warn",
]

_OWN = tuple(str(Path(__file__).parents[1] / package) + os.sep for package in ("dfjoin", "spark_ext"))


class DfjoinError(Exception):
    """Base of all errors that dfjoin raises on purpose; names of others in its text are visible on any terminal."""

    def __str__(self) -> str:
        return visible_lines(super().__str__().split("\n"))


class InvalidParameterError(DfjoinError, ValueError):
    """An argument has a value outside its legal range, or does not apply here."""


class InvalidTypeError(DfjoinError, TypeError):
    """An argument has a type that is not accepted."""


class ColumnNotFoundError(DfjoinError, ValueError):
    """A named column is not in the frame or table."""


class TableNotFoundError(DfjoinError, ValueError):
    """A named table is not in the lake."""


class IndexNotFoundError(DfjoinError, FileNotFoundError):
    """There is no dfjoin index at the given location."""


class IndexFormatError(DfjoinError, ValueError):
    """The index cannot be read by this version of dfjoin."""


class IndexVersionError(IndexFormatError):
    """The index is valid, but of a format version or feature that this dfjoin does not know."""


class IndexCorruptedError(IndexFormatError):
    """A file of the index is missing, truncated or changed."""


class IndexWriteError(DfjoinError, OSError):
    """There is no room for what a change writes into the index; the version before is still the latest."""


class IncompatibleSettingsError(DfjoinError, ValueError):
    """The index was built without what this call needs, or with other settings."""


class ConcurrentCommitError(DfjoinError, RuntimeError):
    """Another writer changed the index while this one was at work."""


class MissingDependencyError(DfjoinError, ImportError):
    """An optional library or program is needed and is not installed."""


class EngineError(DfjoinError, RuntimeError):
    """Spark did not start, cannot run dfjoin, or a task failed there; the last line is the cause."""


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
    return shown if len(items) <= limit else f"{shown}, … ({len(items):,} in all)"


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """Name the nearest of some names; empty when none is near.

    A name is near if it holds the other one, letters and digits alone and in any case, or if it, or the name of a file
    without its directories and extension, is spelled alike.

    Parameters
    ----------
    name : object
        What was given; only a text has near names.
    names : iterable of str
        At most three of them are shown.

    Returns
    -------
    str
        ``"; did you mean 'a' or 'b'?"``, or nothing. O(length of all names).

    Examples
    --------
    >>> did_you_mean("Countries", ["geo/countries.csv", "geo/capitals.csv"])
    "; did you mean 'geo/countries.csv'?"
    >>> did_you_mean("poulation", ["area", "population"]), did_you_mean("x", ["area"])
    ("; did you mean 'population'?", '')
    """
    plain = _letters(name) if isinstance(name, str) else ""
    if len(plain) < 2:
        return ""
    known: dict[str, str] = {}
    for other in names:
        known.setdefault(_letters(other), other)
    near = sorted((text for text in known if plain in text and len(plain) > 2), key=lambda text: (len(text), text))
    for other in known.copy().values():
        known.setdefault(_letters(PurePosixPath(other).name.partition(".")[0]), other)
    near += difflib.get_close_matches(plain, known, 3, 0.7)
    found = list(dict.fromkeys(repr(known[text]) for text in near))[:3]
    return f"; did you mean {' or '.join(found)}?" if found else ""


def _letters(text: str) -> str:
    """Reduce a name to its letters and digits."""
    return "".join(character for character in text.casefold() if character.isalnum())


_collected: ContextVar[list[str] | None] = ContextVar("collected", default=None)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect what dfjoin warns of in this context, in place of warning; other threads go on as they do."""
    messages: list[str] = []
    token = _collected.set(messages)
    try:
        yield messages
    finally:
        _collected.reset(token)


def warn(message: str, category: type[Warning] = DfjoinWarning) -> None:
    """Warn as if from the first frame of the stack that is not dfjoin's own: the line of the user's code."""
    messages = _collected.get()
    if messages is not None:
        messages += [message] if message not in messages else []
        return
    level = 2  # the caller of this function
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        level += 1
        if frame.f_back is None:
            break
        frame = frame.f_back
    warnings.warn(visible(message), category, stacklevel=level)
