"""The evidence behind a candidate by equality: which values are shared, and which stand on one side only."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.index.column_values import tokens_of_column, value_of_token
from dfjoin.search.exact.posting_lists import shared_mask
from dfjoin.search.explanation import N_EXAMPLES, Explanation, explain_hit
from dfjoin.search.found import Candidate
from dfjoin.search.joined_rows import joined_rows
from dfjoin.search.query import QueryColumn

_MAX_LOOKED_FOR = 1000  # shared values that the rows of an explanation may have
_MAX_KNOWN = 1 << 20  # query values of which a set is made, to find values of the candidate alone


def explain_shared_values(candidate: Candidate) -> Explanation:
    """Explain a candidate by the values that it shares with the query."""
    query, segment = candidate.found.query, candidate.segment
    is_shared = _shared(candidate)
    shared = np.flatnonzero(is_shared)[:N_EXAMPLES].tolist()
    looked_for = [query.values.value(code) for code in np.flatnonzero(is_shared)[:_MAX_LOOKED_FOR].tolist()]
    alone = np.flatnonzero(~is_shared)[:N_EXAMPLES].tolist()
    known = set(query.values.values()) if len(query.values) < _MAX_KNOWN else set()
    theirs: list[str] = []
    for token in tokens_of_column(segment, candidate.column).tolist():
        value = value_of_token(segment, token)
        if value not in known:
            theirs.append(value)
            if len(theirs) == N_EXAMPLES:
                break
    return explain_hit(
        candidate,
        matched=int(is_shared.sum()),
        shared=[query.spelling(code) for code in shared],
        only_query=[query.spelling(code) for code in alone],
        only_candidate=theirs,
        rows=joined_rows(candidate, looked_for),
    )


def list_shared_pairs(candidate: Candidate) -> pd.DataFrame:
    """List the values that a candidate shares with the query, see `JoinCandidates.pairs`."""
    query = candidate.found.query
    shared = np.flatnonzero(_shared(candidate))
    return list_pairs(query, shared, [query.values.value(code) for code in shared.tolist()])


def list_pairs(query: QueryColumn, codes: NDArray[np.int64], values: list[str]) -> pd.DataFrame:
    """Make the frame of `JoinCandidates.pairs`.

    Parameters
    ----------
    query : QueryColumn
    codes : ndarray of int64, shape (n_pairs,)
        Numbers of values of the query.
    values : list of str
        The candidate's value of each pair.
    """
    return pd.DataFrame(
        {
            "query_value": query.spellings(codes),
            "candidate_value": values,
            "query_rows": query.values.row_counts()[codes],
        }
    )


def _shared(candidate: Candidate) -> NDArray[np.bool_]:
    """Tell which query values a candidate holds."""
    return shared_mask(candidate.segment, candidate.column, candidate.found.matched.groups(candidate.number))
