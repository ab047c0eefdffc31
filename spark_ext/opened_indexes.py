"""Indexes that a worker has open for SQL, each at its newest version; which of them SQL may open."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

from dfjoin.errors import DfjoinError, InvalidParameterError, shortlist
from dfjoin.store.snapshot import Snapshot, latest_snapshot, open_snapshot

__all__ = ["newest_snapshot", "open_version", "require_allowed"]

_MOST_OPEN = 8

_open: dict[str, Snapshot] = {}


def newest_snapshot(index: str) -> Snapshot:
    """Return the latest version of an index; a worker lives long, keeps what is open, and looks for a newer one.

    Raises
    ------
    DfjoinError
        If there is none; the message names the machine.
    """
    known = _open.pop(index, None)
    with _naming_the_machine():
        _open[index] = latest_snapshot(index, known)
    for oldest in list(_open)[:-_MOST_OPEN]:
        del _open[oldest]
    return _open[index]


def require_allowed(index: str, allowed: frozenset[str] | None) -> None:
    """Raise unless SQL may open an index; None: any."""
    if allowed is not None and index not in allowed:
        raise InvalidParameterError(
            f"the index must be one of those that this session opens ({shortlist(sorted(allowed))}), got {index!r}; "
            "spark_ext.register_functions(spark, indexes=[...]) names them"
        )


def open_version(index: str, version: int | None) -> Snapshot:
    """Open a version of an index, the latest by default; an error names the machine."""
    if version is None:
        return newest_snapshot(index)
    with _naming_the_machine():
        return open_snapshot(index, version)


@contextlib.contextmanager
def _naming_the_machine() -> Iterator[None]:
    """Say in errors on which machine there is no such index."""
    try:
        yield
    except DfjoinError as error:
        raise type(error)(f"on {socket.gethostname()}: {error}") from None
