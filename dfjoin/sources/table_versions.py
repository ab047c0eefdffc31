"""Older versions of tables that keep them: how a user names one, ``table@v3`` or ``table@2026-11-01T12:00``."""

from __future__ import annotations

import glob
import os
import re
from datetime import UTC, datetime
from typing import Any

from dfjoin.errors import TableReadError

__all__ = ["number_or_time", "split_version"]

_VERSIONED = re.compile(r"(.+)@(v\d+|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?)")


def split_version(source: Any) -> tuple[Any, str]:
    """Return a source without the version that its name ends in, and this; empty for none.

    Parameters
    ----------
    source : object
        As in `dfjoin.build_lake`; only a path or URI names a version, no glob pattern, and no path that exists by its
        whole name.

    Examples
    --------
    >>> split_version("lake/cities@v3")
    ('lake/cities', 'v3')
    >>> split_version("s3://lake/cities@2026-11-01")
    ('s3://lake/cities', '2026-11-01')
    """
    text = os.fspath(source) if isinstance(source, os.PathLike) else source
    found = _VERSIONED.fullmatch(text) if isinstance(text, str) and not os.path.exists(text) else None  # noqa: PTH110
    if found is None or (glob.has_magic(found[1]) and not os.path.exists(found[1])):  # noqa: PTH110
        return source, ""
    return found[1], found[2]


def number_or_time(version: str) -> int | datetime:
    """Return the number of a version, or a time: that of UTC where no zone is named."""
    if version.startswith("v"):
        return int(version[1:])
    try:
        time = datetime.fromisoformat(version)
    except ValueError as error:
        raise TableReadError(f"{version!r} is no time: {error}") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
