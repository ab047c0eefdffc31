"""Committing a change of an index: applied to the latest version, again if another writer came first."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

from dfjoin.errors import ConcurrentCommitError
from dfjoin.index.manifest import Manifest, commit, read_manifest

__all__ = ["commit_change"]

_ATTEMPTS = 100
_LONGEST_PAUSE = 0.25


def commit_change(index: Path, change: Callable[[Manifest], Manifest]) -> Manifest:
    """Apply a change to the latest version and commit the result as the next one.

    Parameters
    ----------
    index : Path
        Directory of the index.
    change : callable
        Latest manifest → the manifest that follows it; called again with a newer one when another writer
        has committed in the meantime. It raises when the two changes do not go together.

    Returns
    -------
    Manifest
        As committed.

    Raises
    ------
    ConcurrentCommitError
        If others came first a hundred times in a row.

    Notes
    -----
    Every change is applied exactly once: a version is created by an operation that either happens or
    does not, so the history is linear.
    """
    pause = 0.002
    for attempt in range(_ATTEMPTS):
        manifest = change(read_manifest(index))
        try:
            commit(index, manifest)
        except ConcurrentCommitError:
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(pause * random.random())
            pause = min(2 * pause, _LONGEST_PAUSE)
            continue
        return manifest
    raise AssertionError("unreachable")
