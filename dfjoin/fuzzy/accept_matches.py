"""Accepting matches: as many texts as the precision allows that was asked for, and the pairs of their rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfjoin.fuzzy.match_evidence import EVIDENCE_NAMES, Evidence
from dfjoin.fuzzy.match_model import MatchModel
from dfjoin.fuzzy.match_problem import Problem
from dfjoin.fuzzy.texts import Texts
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.values.shares import MANY

MIN_CHANCE = 0.4
"""Least probability of a pair that is joined, whatever precision the better ones leave room for."""
_USUAL_SHARE, _SHIFT = 0.4, 0.2
"""Share of right nearest pairs that moves no probability, and by how much of the difference from it they move. Each of
six folds of cases had the pair chosen on the others, among 0.4 to 0.7 and 0 to 0.5; four folds chose this one. That
grid was run by hand: `python -m tests.benchmarks.fuzzy_model CASES` cross-validates the model with these two fixed. At
an asked precision of 0.9 the cases held out have precision 0.902 and recall 0.682, without the move 0.918 and 0.668."""
_LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class AcceptedMatches:
    """The targets that are joined.

    Parameters
    ----------
    chosen : ndarray of int64
        Numbers of the targets, ascending.
    chances : ndarray of float64, shape of `chosen`
        Probability that each is right.
    errors : ndarray of float64, shape of `chosen`
        Estimated share of wrong pairs among those at least as good.
    threshold : float
        The least probability among them, as the model gives it.
    precision : float or None
    recall : float or None
        Estimates; None: there is none.
    reason : str
    curve : tuple of (float, float)
        Estimated recall and precision at falling probabilities; empty: there is no estimate.
    odds_shift : float
        By which the probabilities were moved to these columns.
    """

    chosen: NDArray[np.int64]
    chances: NDArray[np.float64]
    errors: NDArray[np.float64]
    threshold: float
    precision: float | None
    recall: float | None
    reason: str
    curve: tuple[tuple[float, float], ...] = ()
    odds_shift: float = 0.0


def accept_matches(problem: Problem, model: MatchModel, precision: float) -> AcceptedMatches:
    """Accept as many matches as the precision allows that was asked for.

    Parameters
    ----------
    problem : Problem
    model : MatchModel
    precision : float

    Returns
    -------
    AcceptedMatches
        Empty, with the reason, where no threshold reaches the precision: columns that are not related are
        not joined.

    Notes
    -----
    Probabilities are first moved to the columns (`odds_shift`), but for composite keys, whose weights are learned of
    them already. The estimated error of a target is the mean of 1 -
    probability over the targets at least as probable: the share of wrong pairs that are expected among them. Where at
    least 20 pairs are known, the share of known texts above the same probability, or of the 20 most probable, whose
    nearest text is not their partner counts if it is larger.
    A pair of a probability below 0.4 is not joined, even if the others leave room for errors, unless a lower precision
    is asked for. By cross-validation over the cases of tests/benchmarks this costs 0.003 of recall and gains 0.01 of
    precision.
    """
    targets = problem.targets
    unmoved = chances_of(model, targets)
    shift = odds_shift(unmoved) if targets.column_odds is None else 0.0
    chances = move_odds(unmoved, shift)
    errors = expected_errors(chances)
    known = move_odds(chances_of(model, problem.known), shift)
    errors = np.maximum(errors, _known_errors(known, problem.is_known_right, chances))
    chosen = choose_likeliest(chances, errors, precision)
    if chosen.size == 0:
        best = max(0.0, 1.0 - float(errors.min()))
        return _refuse(f"by estimate at best {best:.1%} of the pairs would be right, and {precision:.1%} are asked for")
    threshold, error = float(unmoved[chosen[-1]]), float(errors[chosen[-1]])
    chosen = np.sort(chosen)
    n_right = float(chances.sum())
    recall = min(1.0, chosen.size * (1.0 - error) / max(n_right, 1.0))
    reason = f"{chosen.size} of {chances.size} texts joined, estimated precision {1.0 - error:.1%}"
    curve = _curve(chances, errors)
    return AcceptedMatches(
        chosen, chances[chosen], errors[chosen], threshold, 1.0 - error, recall, reason, curve, shift
    )


def expected_errors(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each pair the share of wrong ones that is expected among the pairs at least as probable."""
    order = np.argsort(-chances, kind="stable")
    errors = np.empty(chances.size)
    errors[order] = np.cumsum(1.0 - chances[order]) / np.arange(1, chances.size + 1)
    return errors


def _curve(chances: NDArray[np.float64], errors: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """Return what joining the first pairs by probability would reach, at 40 numbers of pairs at most."""
    order = np.argsort(-chances, kind="stable")[: np.count_nonzero(chances)]
    positions = np.unique(np.linspace(0, order.size - 1, 40).astype(np.int64))
    precision = 1.0 - errors[order[positions]]
    recall = np.minimum(1.0, (positions + 1) * precision / max(float(chances.sum()), 1.0))
    return tuple(zip(recall.round(4).tolist(), precision.round(4).tolist(), strict=True))


def choose_likeliest(chances: NDArray[np.float64], errors: NDArray[np.float64], precision: float) -> NDArray[np.int64]:
    """Choose as many of the likeliest pairs as the precision allows.

    Parameters
    ----------
    chances, errors : ndarray of float64, shape (n,)
        Of each pair its probability, and the share of wrong ones among those at least as probable.
    precision : float

    Returns
    -------
    ndarray of int64
        By descending probability. None of a probability below 0.4, unless a lower precision is asked for.
    """
    order = np.argsort(-chances, kind="stable")
    allowed = errors[order] <= 1.0 - precision
    allowed &= chances[order] >= min(MIN_CHANCE, precision)
    allowed &= chances[order] > 0.0
    return order[: np.flatnonzero(allowed)[-1] + 1] if allowed.any() else order[:0]


def odds_shift(chances: NDArray[np.float64]) -> float:
    """Return what is added to the log odds of all pairs, by the share of right ones that they lead to expect.

    Parameters
    ----------
    chances : ndarray of float64, shape (n,)
        By the published model; 0 for a text without a candidate.

    Returns
    -------
    float
        Positive where more than 0.4 of the nearest pairs are expected to be right; 0 without a pair.

    Notes
    -----
    Source: Saerens, Latinne and Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities",
    Neural Computation 2002, section 2: the share that the moved probabilities lead to expect is the one that moves
    them. Deviation: by a fifth of the difference in log odds, since the model knows much of the columns itself; the
    share is unique then, as each round brings it five times nearer. O(n) a round, 40 rounds at most.
    """
    possible = chances[chances > 0.0]
    if possible.size == 0:
        return 0.0
    shift, usual = 0.0, np.log(_USUAL_SHARE / (1.0 - _USUAL_SHARE))
    for _ in range(40):
        share = float(np.clip(move_odds(possible, shift).mean(), _LEAST_SHARE, 1.0 - _LEAST_SHARE))
        before, shift = shift, _SHIFT * float(np.log(share / (1.0 - share)) - usual)
        if abs(shift - before) < 1e-9:
            break
    return shift


def move_odds(chances: NDArray[np.float64], shift: float) -> NDArray[np.float64]:
    """Add to the log odds of probabilities; 0 and 1 stay."""
    power = np.exp(shift)
    return np.asarray(chances * power / (1.0 - chances + chances * power))


def _refuse(reason: str) -> AcceptedMatches:
    return AcceptedMatches(np.empty(0, np.int64), np.empty(0), np.empty(0), np.inf, 0.0, 0.0, reason)


def chances_of(model: MatchModel, evidence: Evidence) -> NDArray[np.float64]:
    """Return the probability of each nearest pair, 0 where there is none."""
    odds = 0.0 if evidence.column_odds is None else evidence.column_odds
    return np.where(evidence.partners >= 0, model.probability(EVIDENCE_NAMES, evidence.values, odds), 0.0)


def _known_errors(
    known: NDArray[np.float64], is_right: NDArray[np.bool_], chances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for each chance the share of known texts above it, at least 20, whose nearest text is no partner."""
    if known.size < MANY:
        return np.zeros(chances.size)
    order = np.argsort(-known, kind="stable")
    n_wrong = np.append(0, np.cumsum(~is_right[order]))
    n_above = np.maximum(np.searchsorted(-known[order], -chances, side="right"), MANY)
    return np.asarray(n_wrong[n_above] / n_above)


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
    position = expand_stretches(np.zeros_like(sizes), sizes)
    rows = q_rows[q_indptr[texts][numbers] + position // n_reference[numbers]]
    return RowsOfTexts(rows, r_rows[r_indptr[partners][numbers] + position % n_reference[numbers]], numbers)
