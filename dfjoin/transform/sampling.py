"""How many rows to sample so that learning sees enough joinable pairs, and no more."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["CONFIDENCE", "PAIRS", "sample_rows", "sample_sizes"]

PAIRS = 4
"""Joinable pairs that learning needs: T of the paper."""
_DELTA = 0.8
_MEAN = PAIRS / (1 - _DELTA)
CONFIDENCE = 1 - math.exp(-(_DELTA**2) * _MEAN / 2)
"""Probability that a sample holds more than `PAIRS` joinable pairs: 99.8 %."""


def sample_sizes(n_source: int, n_target: int, participation: float = 0.1) -> tuple[int, int]:
    """Compute how many rows of each table to sample.

    Parameters
    ----------
    n_source, n_target : int
        Rows of the tables.
    participation : float, default 0.1
        The smallest share of the target's rows that takes part in a join worth finding: r of the paper.

    Returns
    -------
    tuple of int
        Rows to take of source and target; all of them where the tables are small.

    Notes
    -----
    Minimises ``n_source p_s + n_target p_t`` under ``n_target p_t p_s r >= T / (1 - δ)`` with T = 4 and
    δ = 0.8, which makes at most T pairs less likely than exp(-δ² 20 / 2) < 0.0017.
    Source: Auto-Join, equations 4.5 to 4.8 (thesis, section 4.5). Deviation: the paper's closed form has
    p_s and p_t exchanged, which matters when the tables differ in size; at the optimum both samples have
    ``sqrt(20 n_source / r)`` rows, and where one of them would exceed its table the other makes up for it.

    Examples
    --------
    >>> sample_sizes(1_000_000, 1_000_000)
    (14143, 14143)
    >>> sample_sizes(1_000_000, 500)
    (400001, 500)
    """
    if n_source == 0 or n_target == 0:
        return n_source, n_target
    product = _MEAN * n_source / participation  # rows of source times rows of target
    each = math.sqrt(product)
    source = min(n_source, each)
    target = min(n_target, product / source)
    source = min(n_source, product / target)
    return math.ceil(source), math.ceil(target)


def sample_rows(n_rows: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Choose rows without replacement, in their order.

    Parameters
    ----------
    n_rows, size : int
    rng : numpy Generator

    Returns
    -------
    ndarray of int64, shape (min(size, n_rows),)
    """
    if size >= n_rows:
        return np.arange(n_rows, dtype=np.int64)
    return np.sort(rng.choice(n_rows, size, replace=False)).astype(np.int64)
