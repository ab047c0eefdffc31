"""Finding a fuzzy join between two columns of strings."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dfjoin._validation import check_fraction
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.fuzzy.accept_matches import AcceptedMatches, accept_matches, chances_of, expand, move_odds
from dfjoin.fuzzy.column_weights import ColumnWeights, KeyParts
from dfjoin.fuzzy.match_model import published_model
from dfjoin.fuzzy.match_problem import KnownPairs, Problem, is_left_reference, set_up
from dfjoin.fuzzy.result import FuzzyJoin, FuzzySettings
from dfjoin.fuzzy.texts import Texts, fold_texts
from dfjoin.values.shares import ENOUGH

Strings: TypeAlias = pa.Array | pa.ChunkedArray


def find_fuzzy(
    left: Strings,
    right: Strings,
    *,
    precision: float = 0.95,
    known: KnownPairs | None = None,
) -> FuzzyJoin:
    """Join two columns of strings by similarity, at a precision that is estimated without labels.

    One column is the reference: its texts are different things. Each text of the other column, the
    query, has one nearest reference text; a published model says how likely that pair is right, and as many
    pairs are joined, the likeliest first, as keep the expected share of wrong ones within ``1 - precision``.

    Parameters
    ----------
    left, right : pyarrow Array or ChunkedArray of strings, or of structs of strings
        The columns. Structs are composite keys: candidates are those of the columns put together, and what agreement
        and difference in each column say is learned from both sides, without labels
        (`dfjoin.fuzzy.column_weights`); a missing value says nothing.
    precision : float, default 0.95
        Share of right pairs to reach, by estimate.
    known : pair of ndarray of int64, optional
        Left and right rows that are joined already, for instance by a program. Their query rows are not
        joined again; they serve as examples, and those of them that the nearest text contradicts count
        as errors.

    Returns
    -------
    FuzzyJoin
        Without pairs where the columns are not related, with the reason. Nulls and empty strings match
        nothing. Rows with equal texts share their matches, on both sides: as in an equi-join, a
        reference text that several rows hold is joined with all of them.

    Raises
    ------
    InvalidTypeError
        A column is not of strings, or one is of structs and the other has not as many fields.
    InvalidParameterError
        `precision` is not between 0 and 1, or `known` does not name rows of the columns.

    Notes
    -----
    Source: thesis, section 4.6, equations 4.9 and 4.10. Deviations: the configurations are not
    alternatives with one threshold each but features of one model, which is fitted on labelled pairs of
    columns, once (`dfjoin.fuzzy.match_model`), and knows these columns by what their wrong pairs look like
    (`dfjoin.fuzzy.match_evidence`); the first constraint, one partner for each text, is evidence in degrees (how
    much nearer the nearest is than the next one, and than other texts are to it) and holds strictly in the
    result; the second, one partner for each reference text, is left out: two spellings of one thing are two texts.
    Likeness looks at the first 2,000 characters of a text
    (fewer where a column has more than 15 million in all: `dfjoin.fuzzy.texts.cut_texts`), at 24 words of them in
    their order, and at words and 3-grams rarest first. `dfjoin.fuzzy.match_problem.is_left_reference`
    chooses the reference.

    Cost grows with the number of texts, not with the product of the columns: 0.1 ms of CPU time a text of 15
    characters, 0.4 ms one of 60, on all cores, and 20 MB a core beside the token sets. An interrupt is raised at
    once, but while both columns are cut into tokens, which takes about 10 µs a text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> find_fuzzy(pa.array(["a"]), pa.array(["b"])).reason
    'no fuzzy join: the right column has 1 distinct text, and precision is not estimated from fewer than 10'
    """
    columns = _split_key(left, "left"), _split_key(right, "right")
    texts = _fold_key(columns[0]), _fold_key(columns[1])
    check_fraction(precision, "precision")
    known_rows = _check_known(known, texts)
    side: Literal["left", "right"] = "left" if is_left_reference(*texts) else "right"
    reference, query, known_rows = _in_roles(side, texts, known_rows)
    if len(reference) < ENOUGH:
        plural = "text" if len(reference) == 1 else "texts"
        return _no_join(
            f"the {side} column has {len(reference)} distinct {plural}, and precision is not estimated from fewer "
            f"than {ENOUGH}"
        )
    model = published_model()
    problem = set_up(reference, query, known_rows, model, _parts(side, columns))
    if problem.target_texts.size == 0:
        return _no_join("no text is left to join")
    accepted = accept_matches(problem, model, precision)
    if accepted.chosen.size == 0:
        return _no_join(accepted.reason)
    learned = problem.weights, problem.of_columns, accepted.odds_shift
    settings = FuzzySettings(side, accepted.threshold, float(precision), *learned)
    return _write_pairs(problem, accepted, settings)


def apply_fuzzy(
    left: Strings, right: Strings, settings: FuzzySettings, *, known: KnownPairs | None = None
) -> FuzzyJoin:
    """Join two columns of strings as an earlier fuzzy join of other rows did: nothing is learned anew.

    Parameters
    ----------
    left, right : pyarrow Array or ChunkedArray of strings
        The columns, in the roles that they had then.
    settings : FuzzySettings
        Of the earlier join: which side is the reference, the least probability, and what its pairs told of the columns.
    known : pair of ndarray of int64, optional
        Left and right rows that are joined already; their query rows are not joined again.

    Returns
    -------
    FuzzyJoin
        Pairs of query texts with their nearest reference text whose probability reaches the threshold. Nothing is
        estimated on these rows: `errors` are those that the earlier join allowed, ``1 - precision``, and the
        estimated precision and recall are None. Without pairs, with the reason, where the reference has fewer than
        10 texts: how much nearer the nearest is than the next one says nothing then.

    Raises
    ------
    InvalidTypeError, InvalidParameterError
        As `find_fuzzy`.

    Notes
    -----
    Cost as of `find_fuzzy`.
    """
    columns = _split_key(left, "left"), _split_key(right, "right")
    texts = _fold_key(columns[0]), _fold_key(columns[1])
    reference, query, known_rows = _in_roles(settings.reference, texts, _check_known(known, texts))
    if len(reference) < ENOUGH:
        return _no_join(
            f"the {settings.reference} column, which is the reference, has fewer than {ENOUGH} distinct "
            "texts, and how much nearer the nearest of so few is says nothing"
        )
    model = published_model()
    parts = _parts(settings.reference, columns, settings.weights)
    parts = None if settings.weights is None else parts  # nothing was learned of the columns, nothing is now
    problem = set_up(reference, query, known_rows, model, parts, settings.of_columns)
    targets = problem.targets
    scores = chances_of(model, targets)
    chosen = np.flatnonzero((scores >= settings.threshold) & (targets.partners >= 0))
    if chosen.size == 0:
        return _no_join("no text is as near to one of the other column as the threshold asks")
    errors = np.full(chosen.size, 1.0 - settings.precision)
    reason = f"{chosen.size} of {scores.size} texts joined"
    chances = move_odds(scores[chosen], settings.odds_shift)
    accepted = AcceptedMatches(chosen, chances, errors, settings.threshold, None, None, reason)
    return _write_pairs(problem, accepted, settings)


def _write_pairs(problem: Problem, accepted: AcceptedMatches, settings: FuzzySettings) -> FuzzyJoin:
    """Write accepted pairs of texts as pairs of the rows of either side."""
    partners = problem.targets.partners[accepted.chosen]
    rows = expand(problem.query, problem.target_texts[accepted.chosen], problem.reference, partners)
    origin = accepted.chosen[rows.numbers]
    is_left = settings.reference == "left"
    pairs = (rows.partner_rows, rows.rows) if is_left else (rows.rows, rows.partner_rows)
    order = np.lexsort(pairs[::-1])
    return FuzzyJoin(
        left_rows=pairs[0][order],
        right_rows=pairs[1][order],
        distances=problem.targets.distances[origin][order],
        chances=accepted.chances[rows.numbers][order],
        errors=accepted.errors[rows.numbers][order],
        settings=settings,
        estimated_precision=accepted.precision,
        estimated_recall=accepted.recall,
        reason=accepted.reason,
        curve=accepted.curve,
    )


def _split_key(column: Strings, name: str) -> list[pa.Array]:
    """Return a column, or the fields of one of structs; raises if it is not of strings."""
    type_ = getattr(column, "type", None)
    if type_ is not None and pa.types.is_struct(type_) and type_.num_fields:
        held = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return [_check_strings(field, f"{name}.{type_.field(i).name}") for i, field in enumerate(held.flatten())]
    return [_check_strings(column, name)]


def _check_strings(column: Strings, name: str) -> Strings:
    """Return a column, or raise if it is not of strings."""
    type_ = getattr(column, "type", None)
    if isinstance(type_, pa.DictionaryType):
        type_ = type_.value_type
    if type_ is None or not (pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_null(type_)):
        what = type(column).__name__ if type_ is None else type_
        raise InvalidTypeError(
            f"`{name}` must be a pyarrow array of strings, got {what}; cast it, as in pa.array(values, pa.string())"
        )
    return column


def _fold_key(columns: list[pa.Array]) -> Texts:
    """Fold a column, or several with a space between; a null among several is an empty text."""
    if len(columns) == 1:
        return fold_texts(columns[0])
    texts = [column.cast(pa.large_string()).fill_null("") for column in columns]
    return fold_texts(pc.binary_join_element_wise(*texts, pa.scalar(" ", pa.large_string())))


def _parts(
    side: str, columns: tuple[list[pa.Array], list[pa.Array]], weights: ColumnWeights | None = None
) -> KeyParts | None:
    """Return the columns of composite keys in their roles; None for keys of one column."""
    if len(columns[0]) != len(columns[1]):
        raise InvalidTypeError(
            f"`right` must have as many fields as `left` ({len(columns[0])}), got {len(columns[1])}; put columns that "
            "are compared as one text into one array"
        )
    if weights is not None and len(weights) != len(columns[0]):
        raise InvalidParameterError(
            f"`weights` of likeness must be of as many columns as are joined ({len(columns[0])}), got {len(weights)}"
        )
    if len(columns[0]) == 1:
        return None
    reference, query = columns if side == "left" else columns[::-1]
    return KeyParts(reference, query, weights)


def _check_known(known: KnownPairs | None, texts: tuple[Texts, Texts]) -> KnownPairs:
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


def _in_roles(side: str, texts: tuple[Texts, Texts], known: KnownPairs) -> tuple[Texts, Texts, KnownPairs]:
    """Return the reference, the query and the known rows of either."""
    if side == "left":
        return texts[0], texts[1], known
    return texts[1], texts[0], known[::-1]


def _no_join(reason: str) -> FuzzyJoin:
    rows, numbers = np.empty(0, np.int64), np.empty(0, np.float64)
    return FuzzyJoin(rows, rows, numbers, numbers, numbers, None, None, None, f"no fuzzy join: {reason}")
