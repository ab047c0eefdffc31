"""The constrained threshold of a single configuration (thesis, section 4.6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["optimize_threshold"]


def optimize_threshold(
    first: NDArray[np.float64], rival: NDArray[np.float64], partners: NDArray[np.int32], *, is_one_to_one: bool = False
) -> tuple[float, int]:
    """Find the distance threshold that joins most reference texts without breaking the join constraints.

    Parameters
    ----------
    first : ndarray of float64, shape (n,)
        Distance of each query text to its partner.
    rival : ndarray of float64, shape (n,)
        Least distance of the query text to any other reference text.
    partners : ndarray of int32, shape (n,)
        The partner; -1 for none.
    is_one_to_one : bool, default False
        Apply the second, optional constraint as well.

    Returns
    -------
    threshold : float
        The largest distance of a pair that may be joined; -1 if none may.
    coverage : int
        Distinct reference texts joined at it, |F| of equation 4.9.

    Notes
    -----
    Source: thesis, Algorithm 6 with the constraints of equation 4.10. Deviations: the threshold is read
    off the sorted distances instead of found by bisection to a tolerance, since the constraints first
    break at the least rival distance; a reference text that is nearer than the partner counts as a rival
    and thereby as a breach. The pseudo code moves the wrong end of the interval when the constraints
    hold (line 11); its text and this function look for the *largest* threshold. O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> optimize_threshold(np.array([0.1, 0.3, 0.6]), np.array([0.5, 0.9, 0.9]), np.array([0, 1, 2], np.int32))
    (0.3, 2)
    """
    has_partner = partners >= 0
    first, rival, partners = first[has_partner], rival[has_partner], partners[has_partner]
    limit = rival.min(initial=np.inf)
    if is_one_to_one:
        order = np.lexsort((first, partners))
        is_second = np.zeros(order.size, bool)
        is_second[1:] = partners[order][1:] == partners[order][:-1]
        limit = min(limit, first[order][is_second].min(initial=np.inf))
    joined = first < limit
    if not joined.any():
        return -1.0, 0
    return float(first[joined].max()), int(np.unique(partners[joined]).size)
