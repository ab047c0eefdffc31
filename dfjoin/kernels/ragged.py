"""Ragged arrays: the positions of many stretches of a flat array, one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def expand_stretches(starts: NDArray[np.integer], lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the positions ``starts[i], …, starts[i] + lengths[i] - 1`` of every stretch, in order.

    Parameters
    ----------
    starts, lengths : ndarray of integers, shape (n,)
        First position and number of positions of each stretch; a length may be 0.

    Returns
    -------
    ndarray of int64, shape (lengths.sum(),)

    Notes
    -----
    Of numpy, not compiled: it is bound by memory, and nothing has to be compiled for it.

    Examples
    --------
    >>> expand_stretches(np.array([4, 0, 9]), np.array([2, 0, 3]))
    array([ 4,  5,  9, 10, 11])
    """
    lengths = np.asarray(lengths, np.int64)
    shifts = np.asarray(starts, np.int64) - (np.cumsum(lengths) - lengths)
    positions = np.repeat(shifts, lengths)
    positions += np.arange(positions.size)
    return positions
