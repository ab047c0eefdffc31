"""The pairs of values behind a hit by spelling."""

from __future__ import annotations

import numpy as np

from dfjoin.index.vector_group import text_columns, texts_of
from dfjoin.search.distance.distance_mode import MatchedPairs
from dfjoin.search.exact.matcher import match_tokens
from dfjoin.search.found import Candidate
from dfjoin.search.fuzzy.similar_search import query_texts
from dfjoin.search.fuzzy.similar_texts import SimilarTexts, TextReach
from dfjoin.search.shared_values import tokens_of_column

__all__ = ["similar_pairs"]


def similar_pairs(candidate: Candidate, reach: TextReach) -> MatchedPairs:
    """List the pairs of a candidate: equal values, and values within the radius.

    Parameters
    ----------
    candidate : Candidate
    reach : TextReach

    Returns
    -------
    MatchedPairs
        Distances in the unit of the radius. Pairs of one distance are in the order of tokens.
    """
    segment, query = candidate.segment, candidate.found.query
    held = np.sort(tokens_of_column(segment, candidate.column)).astype(np.int64)
    own = match_tokens(query.values, segment.tokens)
    equal = np.flatnonzero(np.isin(own, held) & (own >= 0))
    codes, tokens, distances = equal, own[equal], np.zeros(equal.size)
    if text_columns(segment)[candidate.column]:
        texts = SimilarTexts(texts_of(segment.tokens, held), reach.is_grams)
        found = texts.pairs(query_texts(query, reach.is_grams), reach)
        others = held[found.texts]
        is_new = own[found.queries] != others
        codes = np.append(codes, found.queries[is_new])
        tokens = np.append(tokens, others[is_new])
        distances = np.append(distances, found.distances[is_new])
    order = np.lexsort((tokens, distances, codes))
    return MatchedPairs(codes[order], tokens[order], distances[order], held)
