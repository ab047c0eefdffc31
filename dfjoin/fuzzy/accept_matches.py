"""Accepting matches: as many texts as the precision allows that was asked for, and the pairs of their rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.decoys import Problem, estimate_errors, wrong_share
from dfjoin.fuzzy.scorer import Scorer
from dfjoin.fuzzy.texts import Texts
from dfjoin.kernels.ragged import expand_stretches

__all__ = ["AcceptedMatches", "RowsOfTexts", "accept_matches", "expand", "keep_best"]

_MIN_KNOWN = 20
"""Known pairs from which their own error rate is estimated."""


@dataclass(frozen=True)
class AcceptedMatches:
    """The targets that are joined.

    Parameters
    ----------
    chosen : ndarray of int64
        Numbers of the targets, ascending.
    errors : ndarray of float64, shape of `chosen`
        Estimated share of wrong pairs among those at least as good.
    threshold : float
        The least score among them.
    precision : float
    recall : float or None
        Estimates; None: there is none.
    reason : str
    """

    chosen: NDArray[np.int64]
    errors: NDArray[np.float64]
    threshold: float
    precision: float
    recall: float | None
    reason: str


def accept_matches(problem: Problem, scorer: Scorer, precision: float, is_one_to_one: bool) -> AcceptedMatches:
    """Accept as many matches as the precision allows that was asked for.

    Query texts without a counterpart make wrong pairs of two kinds. The error rate is estimated for both, and the
    larger one counts:

    - Where both columns hold similar texts, such a pair scores like a reference text with its nearest other one.
    - Where they do not, as names and codes, it scores like a query text with the runner-up of its nearest reference
      text.

    Parameters
    ----------
    problem : Problem
    scorer : Scorer
    precision : float
    is_one_to_one : bool
        Keep one target for each reference text, and none for one that is taken.

    Returns
    -------
    AcceptedMatches
        Empty, with the reason, where no threshold reaches the precision: columns that are not related are
        not joined.
    """
    targets = problem.targets
    scores = np.where(targets.partners >= 0, scorer.score(targets.values), -np.inf)
    wrong_kinds = [scorer.score(wrong.values) for wrong in (problem.decoys, problem.runners_up)]
    errors = np.maximum.reduce([estimate_errors(scores, targets.partners, wrong) for wrong in wrong_kinds])
    errors = np.maximum(errors, _known_errors(problem, scorer, scores))
    is_admissible = targets.is_admissible
    if not is_admissible.any():
        return _refuse("no text shares a quarter of its 3-grams with its nearest text of the other column")
    chosen = np.flatnonzero((errors <= 1.0 - precision) & is_admissible)
    if chosen.size == 0:
        best = max(0.0, 1.0 - float(errors[is_admissible].min()))
        return _refuse(f"by estimate at best {best:.1%} of the pairs would be right, and {precision:.1%} are asked for")
    threshold = float(scores[chosen].min())
    error = float(errors[chosen].max())
    n_right = (1.0 - min(wrong_share(scores, targets.partners, wrong) for wrong in wrong_kinds)) * scores.size
    if is_one_to_one:
        is_free = ~np.isin(targets.partners[chosen], problem.taken)
        chosen = keep_best(chosen[is_free], targets.partners, scores)
    recall = min(1.0, chosen.size * (1.0 - error) / max(n_right, 1.0))
    reason = f"{chosen.size} of {scores.size} texts joined, estimated precision {1.0 - error:.1%}"
    return AcceptedMatches(chosen, errors[chosen], threshold, 1.0 - error, recall, reason)


def _refuse(reason: str) -> AcceptedMatches:
    return AcceptedMatches(np.empty(0, np.int64), np.empty(0), np.inf, 0.0, 0.0, reason)


def _known_errors(problem: Problem, scorer: Scorer, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each score the share of known texts above it whose nearest text is not their partner."""
    if len(problem.known) < _MIN_KNOWN:
        return np.zeros(scores.size)
    known = scorer.score(problem.known.values)
    order = np.argsort(-known, kind="stable")
    n_wrong = np.append(0, np.cumsum(~problem.is_known_right[order]))
    n_above = np.searchsorted(-known[order], -scores, side="right")
    return np.where(n_above > 0, n_wrong[n_above] / np.maximum(n_above, 1), 0.0)


def keep_best(chosen: NDArray[np.int64], partners: NDArray[np.int32], scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Keep for each partner the text of highest score, of equals the first.

    Parameters
    ----------
    chosen : ndarray of int64
        Numbers of texts, ascending.
    partners : ndarray of int32
    scores : ndarray of float64
        Of all texts.

    Returns
    -------
    ndarray of int64
        Ascending.
    """
    order = np.lexsort((-scores[chosen], partners[chosen]))
    _, first = np.unique(partners[chosen][order], return_index=True)
    return np.sort(chosen[order[first]])


@dataclass(frozen=True)
class RowsOfTexts:
    """Row pairs: `rows` and `partner_rows`, int64, and in `numbers` the pair of texts that each is of."""

    rows: NDArray[np.int64]
    partner_rows: NDArray[np.int64]
    numbers: NDArray[np.int64]


def expand(query: Texts, texts: NDArray[np.int64], reference: Texts, partners: NDArray[np.int32]) -> RowsOfTexts:
    """Write pairs of texts as pairs of all their rows.

    Parameters
    ----------
    query, reference : Texts
    texts, partners : ndarray, shape (n,)
        Texts of the query and of the reference.

    Returns
    -------
    RowsOfTexts

    Notes
    -----
    O(rows + row pairs).
    """
    q_indptr, q_rows = query.rows_of()
    r_indptr, r_rows = reference.rows_of()
    n_query = q_indptr[texts + 1] - q_indptr[texts]
    n_reference = r_indptr[partners + 1] - r_indptr[partners]
    sizes = n_query * n_reference
    numbers = np.repeat(np.arange(texts.size), sizes)
    place = expand_stretches(np.zeros_like(sizes), sizes)
    rows = q_rows[q_indptr[texts][numbers] + place // n_reference[numbers]]
    return RowsOfTexts(rows, r_rows[r_indptr[partners][numbers] + place % n_reference[numbers]], numbers)
