"""Work on many texts, cut into batches that run on all cores and can be interrupted."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.tokenized import TokenizedColumn

__all__ = ["cut_batches", "run_batches"]

_BATCH = 1024
"""Texts handled together, which bounds memory to about 20 MB a thread, and the time until a thread ends."""
_BATCH_CHARACTERS = 1 << 15
"""Characters of a batch: long texts come in smaller batches."""
_MAX_THREADS = 8

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def cut_batches(side: TokenizedColumn, texts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut texts into batches; at least one.

    Parameters
    ----------
    side : TokenizedColumn
        The column that holds the texts.
    texts : ndarray of int64

    Returns
    -------
    list of ndarray of int64
        Of at most 1,024 texts each, and so few that they have some 32,768 characters; but 16 texts at least.
    """
    mean_length = side.letters.points.size / max(1, len(side))
    size = int(np.clip(_BATCH_CHARACTERS / max(1.0, mean_length), 16, _BATCH))
    return [texts[i : i + size] for i in range(0, max(1, texts.size), size)]


def run_batches(work: Callable[[_Item], _Result], batches: Sequence[_Item]) -> list[_Result]:
    """Apply a function to each batch, on as many threads as there are cores, at most eight.

    Parameters
    ----------
    work : callable
        Runs in other threads: kernels let go of the interpreter lock, and a signal, which the main thread alone
        handles, meets no machine code there.
    batches : sequence

    Returns
    -------
    list
        The results, in the order of the batches.

    Notes
    -----
    An interrupt (Ctrl-C) is raised at once: batches that have not begun are dropped, and what those that run
    return is thrown away.
    """
    pool = ThreadPoolExecutor(min(_MAX_THREADS, _count_cores(), max(1, len(batches))), "dfjoin-fuzzy")
    try:
        return list(pool.map(work, batches))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _count_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
