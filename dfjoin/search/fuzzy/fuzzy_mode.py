"""mode="fuzzy": columns with values that are spelled like those of the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.catalog import KINDS
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.explanation import N_EXAMPLES, Explanation, explain_hit
from dfjoin.search.found import Candidate, Found
from dfjoin.search.fuzzy.similar_join import SimilarRelation
from dfjoin.search.fuzzy.similar_pairs import similar_pairs
from dfjoin.search.fuzzy.similar_search import search_similar
from dfjoin.search.fuzzy.similar_texts import EQUAL, TextReach, text_reach
from dfjoin.search.hits import rank_hits
from dfjoin.search.modes import Mode
from dfjoin.search.params import SearchParams
from dfjoin.search.query import QueryColumn
from dfjoin.search.shared_values import list_pairs, value_of_token
from dfjoin.store.snapshot import Snapshot

__all__ = ["FuzzyMode", "SimilarFound"]


@dataclass(frozen=True)
class SimilarFound(Found):
    """What a search by spelling found, with its radius.

    Parameters
    ----------
    reach : TextReach
    is_all : bool
        Pairs were counted.
    """

    reach: TextReach = EQUAL
    is_all: bool = False

    def relation_of(self, place: int) -> dict[str, Any] | None:
        """See `Found`; in columns that are not of text equal values alone match."""
        is_text = KINDS[int(self.hits.profile["kind"][place])] == "text" and self.query.profile.kind == "text"
        reach = self.reach
        return SimilarRelation(reach.radius, reach.unit, reach.metric).to_dict() if is_text else None


class FuzzyMode(Mode):
    """Search by edit distance or by 3-grams; see `Mode` for the methods."""

    nothing_found = "no column of the lake has a value that is spelled alike"
    is_by_equality = False

    def check(self, snapshot: Snapshot) -> None:
        if not snapshot.settings.keep_sets:
            raise IncompatibleSettingsError(
                'the index keeps no values of its large columns (keep_sets=False), which mode="fuzzy" compares; build '
                "it anew with keep_sets=True"
            )

    def search(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> SimilarFound:
        reach = text_reach(params.radius, params.radius_unit, params.metric)
        hits, stats = search_similar(snapshot, query, reach, params)
        ranked = rank_hits(snapshot.segments, hits, params.k, query.profile.has_range)
        matched = MatchedQuery(snapshot, query.values)
        return SimilarFound(query, ranked, stats, matched, reach=reach, is_all=params.count == "all")

    def columns(self, found: Found) -> dict[str, Any]:
        assert isinstance(found, SimilarFound)
        n = len(found.hits)
        columns: dict[str, Any] = {"jaccard": np.full(n, np.nan), "relationship": [None] * n}
        if found.is_all:
            columns["matched_pairs"] = found.hits.hits.matched_rows
        return columns

    def explain(self, candidate: Candidate) -> Explanation:
        assert isinstance(candidate.found, SimilarFound)
        query, reach = candidate.found.query, candidate.found.reach
        found = similar_pairs(candidate, reach)
        first = np.unique(found.codes, return_index=True)[1][:N_EXAMPLES]
        shared = [
            f"{query.spelling(int(found.codes[i]))} ~ {value_of_token(candidate.segment, int(found.tokens[i]))} "
            f"({found.distances[i]:.3g})"
            for i in first.tolist()
        ]
        alone = np.setdiff1d(np.arange(len(query.values)), found.codes)[:N_EXAMPLES]
        theirs = np.setdiff1d(found.column_tokens, found.tokens)
        return explain_hit(
            candidate,
            shared=shared,
            only_query=[query.spelling(code) for code in alone.tolist()],
            only_candidate=[value_of_token(candidate.segment, token) for token in theirs[:N_EXAMPLES].tolist()],
            radius=str(reach),
            n_alone=theirs.size,
        )

    def pairs(self, candidate: Candidate) -> pd.DataFrame:
        assert isinstance(candidate.found, SimilarFound)
        found = similar_pairs(candidate, candidate.found.reach)
        values = [value_of_token(candidate.segment, token) for token in found.tokens.tolist()]
        frame = list_pairs(candidate.found.query, found.codes, values)
        frame["distance"] = found.distances
        return frame
