"""Choosing the key columns of two frames when the user names none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.search.exact.matcher import match_tokens, vocabulary_of
from dfjoin.search.query import QueryColumn, make_query
from dfjoin.search.result_frame import is_accidental
from dfjoin.types import IndexSettings
from dfjoin.values.profile import INDEXED_KINDS

__all__ = ["pick_key_pair"]


def _queries(df: pd.DataFrame, settings: IndexSettings) -> list[QueryColumn]:
    """Normalise the columns that can be keys."""
    found = []
    for position in range(df.shape[1]):
        try:
            query = make_query(df.iloc[:, position], settings, argument="df")
        except InvalidTypeError:
            continue
        if query.profile.kind in INDEXED_KINDS and query.profile.cardinality >= 2:
            found.append(query)
    return found


def pick_key_pair(
    df: pd.DataFrame, other: pd.DataFrame, settings: IndexSettings, threshold: float
) -> tuple[tuple[Any, Any] | None, list[dict[str, Any]]]:
    """Choose the pair of columns that share the most.

    Pairs that reach the threshold and are not accidental are ranked by containment, then shared values,
    then by whether their names agree, then by whether the right column is a key.

    Parameters
    ----------
    df, other : DataFrame
    settings : IndexSettings
    threshold : float
        Smallest containment of `df`'s column in `other`'s.

    Returns
    -------
    pair : tuple or None
        Labels in `df` and in `other`.
    passed_over : list of dict
        The best pairs that did not pass, with reasons.

    Raises
    ------
    InvalidParameterError
        If the two best pairs are equally good.
    """
    scored = []
    passed = []
    left, right = _queries(df, settings), _queries(other, settings)
    for theirs in right:
        vocabulary = vocabulary_of(theirs.values)
        for own in left:
            matched = int(np.count_nonzero(match_tokens(own.values, vocabulary) >= 0))
            containment = matched / len(own.values)
            if matched == 0:
                continue
            low, high = theirs.profile.min_integer, theirs.profile.max_integer
            both = own.profile.has_range and theirs.profile.has_range
            if containment < threshold:
                reason = f"containment {containment:.3f} is below the threshold {threshold:g}"
            elif both and is_accidental(own, theirs.name, matched, len(theirs.values), low, high):
                reason = "accidental: integers whose ranges explain the overlap"
            else:
                names_agree = own.name.casefold() == theirs.name.casefold()
                scored.append(((containment, matched, names_agree, theirs.is_unique), own.label, theirs.label))
                continue
            note = {"table": "", "column": f"{own.name} = {theirs.name}", "reason": reason}
            passed.append((containment, note))
    passed.sort(key=lambda item: -item[0])
    notes = [note for _, note in passed[:50]]
    if not scored:
        return None, notes
    scored.sort(key=lambda item: item[0], reverse=True)
    if len(scored) > 1 and scored[0][0] == scored[1][0]:
        pairs = " and ".join(f"{a!r} = {b!r}" for _, a, b in scored[:2])
        raise InvalidParameterError(
            f"`on` must be given: {pairs} join equally well (containment {scored[0][0][0]:.3f}); "
            "pass `on` and `right_on`"
        )
    return (scored[0][1], scored[0][2]), notes
