"""For each text its nearest reference text, and how much nearer it is than the next, in every configuration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.distances import CONFIGURATIONS, Configuration, base_distance, measure
from dfjoin.fuzzy.rules import Rules, rule_evidence
from dfjoin.fuzzy.tokenized import Candidates, Columns, Side, find_candidates

__all__ = ["NAMES", "Evidence", "gather", "nearest_two"]

NAMES = (*map(str, CONFIGURATIONS), "words exchanged", "word more or less")
"""What the columns of `Evidence.values` are."""

_BATCH = 4096
"""Texts handled together: bounds memory to about 40 MB, whatever the columns hold."""

_FLOOR = 0.02
"""Added to distances before they are divided: a distance below it is as good as none."""


_SHARED = CONFIGURATIONS.index(Configuration("3-grams", "jaccard"))
_LEAST_SHARED = 0.25
"""Texts that share less are not joined, however alone they are: "new" is the only code in "new haven"."""


@dataclass(frozen=True)
class Evidence:
    """The nearest reference text of each text of a column, and what speaks against it.

    Parameters
    ----------
    partners : ndarray of int32, shape (n,)
        Nearest reference text by `base_distance`, the first one of several; -1 if none has a token in
        common.
    distances : ndarray of float64, shape (n,)
        Its base distance; 1 if there is none.
    nearest : ndarray of float64, shape (n, 2, n_configurations)
        Its distance in each configuration, and the least distance of any other candidate, 1 if there is
        none.
    values : ndarray of float64, shape (n, n_names)
        Per configuration log((first + 0.02) / (second + 0.02)), then `rule_evidence`; the more the worse.
    """

    partners: NDArray[np.int32]
    distances: NDArray[np.float64]
    nearest: NDArray[np.float64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.partners.size)

    @property
    def is_admissible(self) -> NDArray[np.bool_]:
        """Whether a text has a partner with which it shares a quarter of the 3-grams of both, by weight."""
        return (self.partners >= 0) & (self.nearest[:, 0, _SHARED] <= 1.0 - _LEAST_SHARED)

    def take(self, rows: NDArray[np.int64]) -> Evidence:
        """Return the evidence of some texts."""
        return Evidence(self.partners[rows], self.distances[rows], self.nearest[rows], self.values[rows])


def nearest_two(rows: NDArray[np.int32], base: NDArray[np.float64], distances: NDArray[np.float64]):
    """Pick the nearest candidate of each text and measure it against its best rival.

    Parameters
    ----------
    rows : ndarray of int32, shape (n_pairs,)
        Text of each pair, ascending.
    base : ndarray of float64, shape (n_pairs,)
        Distance that decides; the first of equals wins.
    distances : ndarray of float64, shape (n_pairs, n_configurations)

    Returns
    -------
    chosen : ndarray of int64, shape (n_texts,)
        Number of the pair that won, for each text that has one, ascending.
    nearest : ndarray of float64, shape (n_texts, 2, n_configurations)
        Distances of the winner, and the least distances among all others; 1 where there is no other.

    Notes
    -----
    O(n_pairs log n_pairs).
    """
    order = np.lexsort((base, rows))
    ordered = rows[order]
    is_first = np.ones(order.size, bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    chosen = order[is_first]
    group = np.cumsum(is_first) - 1
    rivals = np.ones((chosen.size, distances.shape[1]))
    np.minimum.at(rivals, group[~is_first], distances[order[~is_first]])
    return chosen, np.stack([distances[chosen], rivals], axis=1)


def gather(
    columns: Columns,
    side: Side,
    rules: Rules,
    texts: NDArray[np.int64] | None = None,
    candidates: Candidates | None = None,
) -> tuple[Evidence, Evidence]:
    """Collect the evidence of texts of a side, batch by batch.

    Parameters
    ----------
    columns : Columns
    side : Side
        ``columns.query``, or ``columns.reference``: then each text's nearest *other* reference text.
    rules : Rules
    texts : ndarray of int64, optional
        Texts to do, ascending; all by default.
    candidates : pair of ndarray of int32, optional
        What `find_candidates` returned for them; sought by default.

    Returns
    -------
    nearest, runners_up : Evidence
        Of the texts, in their order: on the nearest reference text, and on the nearest one if that were
        not there.
    """
    texts = np.arange(len(side)) if texts is None else texts
    starts = range(0, max(1, texts.size), _BATCH)
    parts = [_gather(columns, side, rules, texts[i : i + _BATCH], candidates) for i in starts]
    return _concatenate([part[0] for part in parts]), _concatenate([part[1] for part in parts])


def _concatenate(parts: list[Evidence]) -> Evidence:
    fields = ([getattr(part, name) for part in parts] for name in Evidence.__dataclass_fields__)
    return Evidence(*(np.concatenate(field) for field in fields))


def _gather(columns: Columns, side: Side, rules: Rules, texts: NDArray[np.int64], candidates):
    if candidates is None:
        rows, others = find_candidates(columns, side, texts)
    else:
        stretch = slice(*np.searchsorted(candidates[0], [texts[0], texts[-1] + 1])) if texts.size else slice(0)
        rows, others = candidates[0][stretch], candidates[1][stretch]
    distances = measure(columns, side, rows, others)
    base = base_distance(distances)
    is_left = np.ones(rows.size, bool)
    found = []
    for _ in range(2):
        pairs = np.flatnonzero(is_left)
        chosen, nearest = nearest_two(rows[pairs], base[pairs], distances[pairs])
        chosen = pairs[chosen]
        is_left[chosen] = False
        evidence = rule_evidence(columns, side, rules, rows[chosen], others[chosen])
        places = np.searchsorted(texts, rows[chosen])
        found.append(_lay_out(texts.size, places, others[chosen], base[chosen], nearest, evidence))
    return found[0], found[1]


def _lay_out(n: int, places, partners, base, nearest, evidence) -> Evidence:
    """Put what was found at the places of its texts; the others have no partner."""
    k = len(CONFIGURATIONS)
    out = Evidence(np.full(n, -1, np.int32), np.ones(n), np.ones((n, 2, k)), np.zeros((n, len(NAMES))))
    out.partners[places] = partners
    out.distances[places] = base
    out.nearest[places] = nearest
    out.values[places, :k] = np.log((nearest[:, 0] + _FLOOR) / (nearest[:, 1] + _FLOOR))
    out.values[places, k:] = evidence
    return out
