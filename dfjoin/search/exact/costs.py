"""What reading costs: the linear functions L and S of JOSIE, shipped, and refitted on request."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from dfjoin.errors import InvalidParameterError

if TYPE_CHECKING:
    from dfjoin.lake import Lake

__all__ = ["ReadCosts", "fit_costs", "load_costs", "save_costs"]


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


def _cache_file() -> Path:
    return user_cache_path("dfjoin") / "costs.json"


@lru_cache(maxsize=1)
def load_costs() -> ReadCosts:
    """Return the constants fitted on this machine, else the shipped ones."""
    try:
        values = json.loads(_cache_file().read_text("utf-8"))
        return ReadCosts(**{name: float(values[name]) for name in ReadCosts.__dataclass_fields__})
    except (OSError, ValueError, KeyError, TypeError):
        return ReadCosts()


def save_costs(costs: ReadCosts) -> Path:
    """Keep constants in the user's cache, for every later process; return the file."""
    path = _cache_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(json.dumps(costs.__dict__), "utf-8")
    load_costs.cache_clear()
    return path


def fit_costs(lake: Lake, n_samples: int = 400, seed: int = 0) -> ReadCosts:
    """Measure reads of posting lists and sets of an index, and fit the two lines.

    Parameters
    ----------
    lake : Lake
        The index to read; its largest segment is taken.
    n_samples : int
        Lists, and sets, to read.
    seed : int
        Of the choice.

    Returns
    -------
    ReadCosts

    Raises
    ------
    InvalidParameterError
        If the index has too few posting lists to fit a line.

    Notes
    -----
    Source: JOSIE, section 7.2: 1,000 samples each, linear fit. Here each sample is a batch of reads of
    about the same length, as one read takes less than a clock tick.
    """
    from dfjoin.kernels.timing import read_lists, read_sets

    segment = max(lake.segments, key=lambda s: s.n_tokens, default=None)
    if segment is None or segment.tokens.list_indptr.size < 100:
        raise InvalidParameterError("`lake` has too few posting lists to fit read costs; fit them on a larger index")
    tokens = segment.tokens
    rng = np.random.default_rng(seed)
    list_line = _fit(
        tokens.list_indptr,
        n_samples,
        rng,
        lambda ids: read_lists(ids, tokens.list_indptr, tokens.list_columns, _zeros(segment.n_columns)),
    )
    hits = _zeros(tokens.list_indptr.size - 1)
    set_line = _fit(
        tokens.set_indptr, n_samples, rng, lambda ids: read_sets(ids, tokens.set_indptr, tokens.set_lists, hits)
    )
    return ReadCosts(*list_line, *set_line)


def _zeros(n: int) -> NDArray[np.int32]:
    return np.zeros(n, np.int32)


def _fit(indptr, n_samples, rng, read) -> tuple[float, float]:
    """Fit time = a + b · length over batches of items of similar length."""
    lengths = np.diff(indptr)
    order = np.argsort(lengths, kind="stable")
    order = order[lengths[order] > 0]
    chosen = np.sort(rng.choice(order.size, min(order.size, n_samples * 16), replace=False))
    batches = np.array_split(order[chosen].astype(np.int64), min(n_samples, max(2, chosen.size // 8)))
    read(batches[0])
    x, y = [], []
    for ids in batches:
        rng.shuffle(ids)
        start = time.perf_counter_ns()
        read(ids)
        y.append((time.perf_counter_ns() - start) / ids.size)
        x.append(float(lengths[ids].mean()))
    slope, intercept = np.polyfit(x, y, 1)
    return max(1.0, float(intercept)), max(0.05, float(slope))
