"""Find a fuzzy join between two columns of strings, and apply one that was found."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin._validation import check_fraction
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.fuzzy.accept_matches import accept, expand, keep_best
from dfjoin.fuzzy.constraint import optimize_threshold
from dfjoin.fuzzy.decoys import SAMPLE, Problem, is_left_reference, learn_from_reference, set_up
from dfjoin.fuzzy.distances import CONFIGURATIONS
from dfjoin.fuzzy.result import FuzzyJoin, FuzzySettings, Tried
from dfjoin.fuzzy.score_evidence import gather
from dfjoin.fuzzy.scorer import Scorer, train_scorer
from dfjoin.fuzzy.texts import Texts, fold_texts
from dfjoin.fuzzy.tokenized import prepare

__all__ = ["apply_fuzzy", "find_fuzzy"]

_LEAST_DECOYS = 10
"""Reference texts below which no precision can be estimated."""

Strings: TypeAlias = pa.Array | pa.ChunkedArray
RowPairs: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]


def find_fuzzy(
    left: Strings,
    right: Strings,
    *,
    precision: float = 0.95,
    known: RowPairs | None = None,
    is_one_to_one: bool = False,
    seed: int = 0,
) -> FuzzyJoin:
    """Join two columns of strings by likeness, tuned without labels to a precision.

    One column is the reference: its texts are different things. Each text of the other column, the
    query, is joined to its nearest reference text if that is so much nearer than the next one, in the
    configurations that turn out to matter, that the estimated share of wrong pairs stays within
    ``1 - precision``.

    Parameters
    ----------
    left, right : pyarrow Array or ChunkedArray of strings
        The columns. To join on several columns, concatenate them with a space between.
    precision : float, default 0.95
        Share of right pairs to reach, by estimate.
    known : pair of ndarray of int64, optional
        Left and right rows that are joined already, for instance by a program. Their query rows are not
        joined again; they serve as examples, and those of them that the nearest text contradicts count
        as errors.
    is_one_to_one : bool, default False
        Join each reference text to one query text only, the best.
    seed : int, default 0
        Chooses the samples to learn from where a column has more than 10,000 texts.

    Returns
    -------
    FuzzyJoin
        Without pairs where the columns are not related, with the reason. Nulls and empty strings match
        nothing. Rows with equal texts share their matches, on both sides: as in an equi-join, a
        reference text that several rows hold is joined with all of them.

    Raises
    ------
    InvalidTypeError
        A column is not of strings.
    InvalidParameterError
        `precision` is not between 0 and 1, or `known` does not name rows of the columns.

    Notes
    -----
    Source: thesis, section 4.6, equations 4.9 and 4.10. Deviations: the configurations are not
    alternatives with one threshold each but are weighed against each other, and the threshold on their
    sum is the one that joins most texts at the asked precision; the first constraint, one partner for
    each text, is evidence in degrees (how much nearer the nearest is than the next one) and holds
    strictly in the result; the second is `is_one_to_one`. `dfjoin.fuzzy.scorer` and
    `dfjoin.fuzzy.precision` name the sources of both. Thresholds by the letter of Algorithm 6 are in
    ``tried``. `dfjoin.fuzzy.decoys.is_left_reference` says which column is the reference.

    Cost grows with the number of texts, not with the product of the columns: about 0.2 ms a text on one
    core, and 40 MB beside the token sets.

    Examples
    --------
    >>> import pyarrow as pa
    >>> find_fuzzy(pa.array(["a"]), pa.array(["b"])).reason
    'no fuzzy join: the right column has 1 distinct text, and precision is not estimated from fewer than 10'
    """
    texts = _fold(left, "left"), _fold(right, "right")
    check_fraction(precision, "precision")
    known_rows = _check_known(known, texts)
    side: Literal["left", "right"] = "left" if is_left_reference(*texts) else "right"
    reference, query, known_rows = _in_roles(side, texts, known_rows)
    if len(reference) < _LEAST_DECOYS:
        plural = "text" if len(reference) == 1 else "texts"
        return _no_join(
            f"the {side} column has {len(reference)} distinct {plural}, and precision is not estimated from fewer "
            f"than {_LEAST_DECOYS}"
        )
    problem = set_up(reference, query, known_rows, seed)
    if problem.target_texts.size == 0:
        return _no_join("no text is left to join")
    scorer = _train(problem, seed)
    tried = _list_tried(problem, scorer, is_one_to_one)
    accepted = accept(problem, scorer, precision, is_one_to_one)
    if accepted.chosen.size == 0:
        return _no_join(accepted.reason, tried)
    settings = FuzzySettings(side, scorer, accepted.threshold, float(precision), is_one_to_one, seed)
    partners = problem.targets.partners[accepted.chosen]
    rows = expand(query, problem.target_texts[accepted.chosen], reference, partners)
    origin = accepted.chosen[rows.numbers]
    pairs = (rows.partner_rows, rows.rows) if side == "left" else (rows.rows, rows.partner_rows)
    order = np.lexsort(pairs[::-1])
    return FuzzyJoin(
        pairs[0][order], pairs[1][order], problem.targets.distances[origin][order],
        accepted.errors[rows.numbers][order], settings, accepted.precision, accepted.recall, tried, accepted.reason,
    )  # fmt: skip


def apply_fuzzy(settings: FuzzySettings | dict[str, Any], left: Strings, right: Strings) -> FuzzyJoin:
    """Apply a fuzzy join that was found to columns, for instance with new rows on the query's side.

    Parameters
    ----------
    settings : FuzzySettings or dict
        ``FuzzyJoin.settings``, or what its `to_dict` returned.
    left, right : pyarrow Array or ChunkedArray of strings
        The columns; ``settings.reference`` says which of them is the reference.

    Returns
    -------
    FuzzyJoin
        With the same pairs as `find_fuzzy` on the same columns. With the same reference, what a query
        text is joined to does not depend on the other query texts, unless the join is one-to-one.
        Nothing is estimated: errors are NaN.

    Raises
    ------
    InvalidTypeError
        A column is not of strings.
    InvalidParameterError
        `settings` are not of a fuzzy join.
    """
    if isinstance(settings, dict):
        settings = FuzzySettings.from_dict(settings)
    texts = _fold(left, "left"), _fold(right, "right")
    none = np.empty(0, np.int64)
    reference, query, _ = _in_roles(settings.reference, texts, (none, none))
    columns = prepare(reference, query)
    rules, _, _ = learn_from_reference(columns, settings.seed)
    evidence, _ = gather(columns, columns.query, rules)
    scores = settings.scorer.score(evidence.values)
    chosen = np.flatnonzero(evidence.is_admissible & (scores >= settings.threshold))
    if settings.is_one_to_one:
        chosen = keep_best(chosen, evidence.partners, scores)
    rows = expand(query, chosen, reference, evidence.partners[chosen])
    pairs = (rows.partner_rows, rows.rows) if settings.reference == "left" else (rows.rows, rows.partner_rows)
    order = np.lexsort(pairs[::-1])
    return FuzzyJoin(
        pairs[0][order], pairs[1][order], evidence.distances[chosen[rows.numbers]][order],
        np.full(order.size, np.nan), settings, None, None, (), f"{chosen.size} of {len(query)} texts joined as before",
    )  # fmt: skip


def _train(problem: Problem, seed: int) -> Scorer:
    """Learn from a sample of the targets; the estimates later take all of them."""
    n = len(problem.targets)
    sample = np.arange(n)
    if n > SAMPLE:
        sample = np.sort(np.random.default_rng(seed).choice(n, SAMPLE, replace=False))
    known = problem.known.values[problem.is_known_right][:SAMPLE]
    targets = problem.targets.take(sample)
    return train_scorer(targets.values, targets.partners, problem.decoys.values, known)


def _fold(column: Strings, name: str) -> Texts:
    type_ = getattr(column, "type", None)
    if isinstance(type_, pa.DictionaryType):
        type_ = type_.value_type
    if type_ is None or not (pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_null(type_)):
        what = type(column).__name__ if type_ is None else type_
        raise InvalidTypeError(
            f"`{name}` must be a pyarrow array of strings, got {what}; cast it, as in pa.array(values, pa.string())"
        )
    return fold_texts(column)


def _check_known(known: RowPairs | None, texts: tuple[Texts, Texts]) -> RowPairs:
    """Return the known rows as two int64 arrays, or raise."""
    if known is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    left, right = (np.asarray(rows, np.int64) for rows in known)
    fits = left.ndim == 1 and left.shape == right.shape
    for rows, side in zip((left, right), texts, strict=True):
        fits = fits and not np.any((rows < 0) | (rows >= side.codes.size))
    if not fits:
        raise InvalidParameterError(
            f"`known` must be two arrays of the same length, of left rows below {texts[0].codes.size} and right rows "
            f"below {texts[1].codes.size}, got {left.size} and {right.size} numbers; give row positions, not labels"
        )
    return left, right


def _in_roles(side: str, texts: tuple[Texts, Texts], known: RowPairs) -> tuple[Texts, Texts, RowPairs]:
    """Return the reference, the query and the known rows of either."""
    if side == "left":
        return texts[0], texts[1], known
    return texts[1], texts[0], known[::-1]


def _no_join(reason: str, tried: tuple[Tried, ...] = ()) -> FuzzyJoin:
    rows, numbers = np.empty(0, np.int64), np.empty(0, np.float64)
    return FuzzyJoin(rows, rows, numbers, numbers, None, None, None, tried, f"no fuzzy join: {reason}")


def _list_tried(problem: Problem, scorer: Scorer, is_one_to_one: bool) -> tuple[Tried, ...]:
    """Search each configuration alone by Algorithm 6, and tell what it counts in the sum of all."""
    total = max(float(scorer.weights.sum()), 1e-12)
    found = []
    for i, configuration in enumerate(CONFIGURATIONS):
        first, rival = problem.targets.nearest[:, 0, i], problem.targets.nearest[:, 1, i]
        threshold, coverage = optimize_threshold(first, rival, problem.targets.partners, is_one_to_one=is_one_to_one)
        found.append(Tried(str(configuration), threshold, coverage, float(scorer.weights[i]) / total))
    return tuple(found)
