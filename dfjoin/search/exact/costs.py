"""Costs of reading posting lists and sets: the linear functions L and S of JOSIE, and logical bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COUNTED_POSTING_BYTES = 4
"""Read of a posting whose column is counted: the column."""
KEPT_POSTING_BYTES = 12
"""Read of a posting whose column is kept as a candidate: the column, the position in its set, and its cardinality."""
ENTRY_BYTES = 4
"""Read of an entry of a set."""

_CANDIDATE_FACTOR = 4.0


@dataclass(frozen=True)
class ReadCosts:
    """Time to read a posting list, L(f) = list + posting · f, and a set, S(n) = set + entry · n.

    Source: Zhu et al., "JOSIE", SIGMOD 2019, equation 15. Nanoseconds, warm pages. Whatever is read, a search takes
    `search_ns`, and `value_ns` for each value of the query, which is normalised and looked up; `probe_ns` is what it
    takes to compare signatures at one threshold. Fitted to searches of a real lake and a generated one.
    """

    list_ns: float = 30.0
    posting_ns: float = 1.5
    set_ns: float = 250.0
    entry_ns: float = 1.2
    search_ns: float = 2e6
    value_ns: float = 250.0
    probe_ns: float = 3.5e5

    def as_array(self) -> NDArray[np.float64]:
        """Return the constants as the kernels take them.

        A posting costs more where candidates are kept than where columns are counted: its position is read,
        and four numbers of the candidate are touched.
        """
        return np.array([self.list_ns, _CANDIDATE_FACTOR * self.posting_ns, self.set_ns, self.entry_ns])


READ_COSTS = ReadCosts()
"""The constants that plans and modes are chosen by."""
