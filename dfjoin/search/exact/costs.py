"""What reading costs: the linear functions L and S of JOSIE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["READ_COSTS", "ReadCosts"]


_CANDIDATE_FACTOR = 4.0


@dataclass(frozen=True)
class ReadCosts:
    """Time to read a posting list, L(f) = list + posting · f, and a set, S(n) = set + entry · n.

    Source: Zhu et al., "JOSIE", SIGMOD 2019, equation 15. Nanoseconds, warm pages.
    """

    list_ns: float = 30.0
    posting_ns: float = 1.5
    set_ns: float = 250.0
    entry_ns: float = 1.2

    def as_array(self) -> NDArray[np.float64]:
        """Return the constants as the kernels take them.

        A posting costs more where candidates are kept than where columns are counted: its position is read,
        and four numbers of the candidate are touched.
        """
        return np.array([self.list_ns, _CANDIDATE_FACTOR * self.posting_ns, self.set_ns, self.entry_ns])


READ_COSTS = ReadCosts()
"""The constants that plans and modes are chosen by."""
