"""The files of a compile cache, as numba writes them, of which each says what was compiled."""

from __future__ import annotations

import pickle
from typing import Any

from numba.core.caching import IndexDataCacheFile

__all__ = ["KernelCacheFile"]

_UNREADABLE = (AttributeError, ImportError, EOFError, OSError, pickle.UnpicklingError)
"""What names something that is gone from the sources or from numba, or was cut short."""


class KernelCacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's index and data files of one kernel, with the key of what was compiled beside the machine code.

    Numba numbers its data files. An index that it finds out of date, of another version of numba or of a source that
    was edited, starts anew at 1 and is written before the data file, so that another process may read the old machine
    code under the new key. What stands here under another key is not read.
    """

    def load(self, key: Any) -> Any:
        """Return what was compiled for a key; None where nothing was, or something else lies in its place."""
        kept_key, compiled = super().load((self._version, key)) or (None, None)
        return compiled if kept_key == (self._version, key) else None

    def save(self, key: Any, data: Any) -> None:
        """Write what was compiled for a key."""
        key = (self._version, key)
        super().save(key, (key, data))

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except _UNREADABLE:
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            found = super()._load_data(name)
        except _UNREADABLE:
            return None
        return found if isinstance(found, tuple) and len(found) == 2 else None
