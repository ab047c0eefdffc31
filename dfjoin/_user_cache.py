"""The directory of this user's files that can be made again."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def user_cache(name: str) -> Path | None:
    """Return a directory of this user's cache, made if it is not there; nobody else may write in it.

    Parameters
    ----------
    name : str
        Of the directory in the cache.

    Returns
    -------
    Path or None
        Below ``DFJOIN_CACHE_DIR``, else ``XDG_CACHE_HOME``, the home, or the temporary directory; None if none of these
        can be written. A directory that belongs to another user is passed over.
    """
    home = os.environ.get("DFJOIN_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    folders = [Path(home) / "dfjoin"] if home else []
    folders += [Path.home() / ".cache" / "dfjoin", Path(tempfile.gettempdir()) / f"dfjoin-{user_id()}"]
    for folder in folders:
        cache = folder / name
        try:
            cache.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.name == "nt" or (cache.stat().st_uid == user_id() and os.access(cache, os.W_OK)):
                return cache
        except OSError:
            continue
    return None


def user_id() -> int:
    """Return the number of this user, 0 on systems without."""
    return os.getuid() if hasattr(os, "getuid") else 0
