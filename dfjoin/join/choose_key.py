"""Choosing the key columns of two frames when the user names none."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfjoin.errors import InvalidParameterError
from dfjoin.join.keys import KeyColumns
from dfjoin.search.exact.matcher import match_tokens, vocabulary_of
from dfjoin.search.result_frame import is_accidental

__all__ = ["choose_equal_keys"]

_MAX_NOTES = 50


def choose_equal_keys(
    left: KeyColumns, right: KeyColumns, threshold: float
) -> tuple[tuple[Any, Any] | None, list[tuple[str, str]]]:
    """Choose the pair of columns that share the most.

    Pairs that reach the threshold and are not accidental are ranked by containment, then shared values,
    then by whether their names agree, then by whether the right column is a key.

    Parameters
    ----------
    left, right : KeyColumns
    threshold : float
        Smallest containment of the left column in the right one.

    Returns
    -------
    pair : tuple or None
        Label on the left and on the right.
    passed_over : list of (str, str)
        The best pairs that did not pass, and why.

    Raises
    ------
    InvalidParameterError
        If the two best pairs are equally good.
    """
    scored = []
    passed = []
    own_columns = left.candidates()
    for theirs in right.candidates():
        vocabulary = vocabulary_of(theirs.values)
        for own in own_columns:
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
            passed.append((containment, f"{own.name} = {theirs.name}", reason))
    passed.sort(key=lambda item: -item[0])
    notes = [(columns, reason) for _, columns, reason in passed[:_MAX_NOTES]]
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
