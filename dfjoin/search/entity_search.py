"""Columns of a lake that name the things of a query column in other languages or by codes: countries, months, units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.index.column_values import tokens_of_column, value_of_token
from dfjoin.index.segment import Segment
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.vectors.pivot_grids import count_found
from dfjoin.programs.entity_operators import GIVEN, fold_name, name_table
from dfjoin.programs.operator import Step
from dfjoin.search.candidates import JoinCandidates, make_frame
from dfjoin.search.distance.distance_join import NearPairs
from dfjoin.search.distance.distance_mode import TextFound, no_hits
from dfjoin.search.distance.distance_search import DistanceSearch, MatchRecord, TextSegment
from dfjoin.search.embedding.near_plans import sealed_queries
from dfjoin.search.exact.posting_lists import match_tokens
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.found import Found, Pool, SearchContext
from dfjoin.search.hits import rank_hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.search.spellings import SpelledRows, is_clearly_more, merge_spelled
from dfjoin.search.usefulness.ranking import rank_pool
from dfjoin.store.snapshot import Snapshot
from dfjoin.transform.relations.relate_entities import as_join, entity_steps, kinds_of
from dfjoin.values.normalize import ValueSet, normalize_column

_LOOKED_AT = 256
"""Values of a candidate column that tell of which kind it is."""


class _Spellings(NamedTuple):
    """The names that the things of a query column have.

    Parameters
    ----------
    step : Step
        Says what a name means.
    values : ValueSet
        The names, in canonical form.
    codes, names : ndarray of int64, shape (n_pairs,)
        Number of a query value, ascending, and of a name of the same thing.
    """

    step: Step
    values: ValueSet
    codes: NDArray[np.int64]
    names: NDArray[np.int64]


@dataclass(frozen=True)
class EntityFound(TextFound):
    """What a search for names of the same things found."""

    spellings: _Spellings = field(kw_only=True)

    def relation_of(self, position: int) -> dict[str, Any]:
        """See `Found`: a program says what the names of either side mean."""
        sizes = len(self.query.values), int(self.hits.hits.cardinality[position])
        joined = int(self.hits.hits.matched[position])
        columns = str(self.query.label), self.hits.names[position]
        found = as_join(self.spellings.step, columns, (joined, min(joined, sizes[1])), sizes)
        return found.to_saved()

    def near_tokens(self, segment: Segment, held: NDArray[np.int64]) -> NearPairs:
        """See `TextFound`."""
        codes, tokens = _tokens_of(self.spellings, segment)
        is_held = np.isin(tokens, held)
        return NearPairs(codes[is_held], tokens[is_held], np.zeros(int(is_held.sum())))


def add_aliases(
    hits: JoinCandidates, queries: Sequence[QueryColumn], given: Mapping[str, str] | None
) -> JoinCandidates:
    """Search for other names of the things that query columns name, and put the candidates into the result.

    Parameters
    ----------
    hits : JoinCandidates
        What was found for the query as it is.
    queries : sequence of QueryColumn
    given : mapping of str to str or None
        Further names, and what they mean.

    Returns
    -------
    JoinCandidates
        Rows of columns that match clearly more by the things that they name than by their values have the kind of thing
        in the column `alias`, which is missing where no row has one.

    Notes
    -----
    A kind of thing is searched for if its table has six in ten of the values of the query; a candidate is shown if it
    has as many of the candidate's. Each name of each thing is looked up by hash: O(names + postings).
    """
    context = hits.context
    snapshot, params = context.snapshot, replace(context.params, mode="fuzzy")  # whose explanations list pairs
    found, text = [], hits["table"].dtype
    for query in queries:
        for spellings in _spellings_of(query, snapshot, entity_steps(given)):
            own = _search(snapshot, query, spellings, params)
            rows = make_frame([own], params)
            rows = rows[_is_shown(snapshot, own)].assign(method=context.params.mode)
            labels = pd.array([spellings.step.kind] * len(rows), text)
            found.append(SpelledRows(pd.DataFrame(rows), labels, SearchContext(snapshot, params, {query.name: own})))
    return merge_spelled(hits, "alias", found)


def _spellings_of(query: QueryColumn, snapshot: Snapshot, steps: Sequence[Step]) -> Iterator[_Spellings]:
    """List the names of the things that a query column names, for each kind that it may be of."""
    if query.kind != "text" or query.profile.kind != "text" or not len(query.values):
        return
    folded = [fold_name(text) for text in query.values.values()]
    settings = replace(snapshot.settings, null_evidence=False)  # NA is Namibia
    for step in [*kinds_of(folded, steps), *(step for step in steps if step.kind == GIVEN)]:
        table = name_table(step.kind, step.keys, step.values)
        texts: list[str] = []
        codes: list[int] = []
        for code, name in enumerate(folded):
            own = table.names.get(table.meanings.get(name, ""), [])
            texts += own
            codes += [code] * len(own)
        if not texts:
            continue
        values = normalize_column(pa.array(texts, pa.large_string()), settings)
        pairs = np.unique(np.column_stack([codes, values.codes]), axis=0).astype(np.int64)
        pairs = pairs[pairs[:, 1] >= 0]
        yield _Spellings(step, values, pairs[:, 0], pairs[:, 1])


def _tokens_of(spellings: _Spellings, segment: Segment) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of a query value and a token of a segment that is a name of the same thing, by query value."""
    tokens = match_tokens(spellings.values, segment.tokens)[spellings.names].astype(np.int64)
    is_held = tokens >= 0
    return spellings.codes[is_held], tokens[is_held]


def _search(snapshot: Snapshot, query: QueryColumn, spellings: _Spellings, params: SearchParams) -> Found:
    """Count the columns that hold a name of the thing of each query value, and rank them."""
    record = MatchRecord(query) if params.is_by_usefulness else None
    search = DistanceSearch(query, replace(params, k=None, count="hit"), record)
    others = np.setdiff1d(np.arange(len(query.values)), spellings.codes)

    def count(part: TextSegment) -> SearchStats:
        codes, tokens = _tokens_of(spellings, part.segment)
        met, starts = np.unique(codes, return_index=True)
        indptr = as_read_only(np.append(starts, codes.size).astype(np.int64))
        queries = sealed_queries(search.queries(met, part.own))
        steps, near = as_read_only(np.arange(tokens.size)), as_read_only(tokens.astype(np.uint32))
        count_found(indptr, steps, near, queries, part.postings, part.tally)
        search.count_equal(part, np.setdiff1d(spellings.codes, met))
        return SearchStats(plan="names")

    hits, stats = search.through_texts(snapshot, others, count)
    matched = MatchedQuery(snapshot, query.values)
    what = f"names of one {spellings.step.kind}"
    found = EntityFound(query, no_hits(snapshot, hits), stats, matched, radius=what, spellings=spellings)
    if record is None:
        return found.with_hits(rank_hits(snapshot.segments, hits, params.k, query.profile.has_range))
    pool = Pool(hits, matched, stats, record.evidence(hits), found, is_by_equality=False)
    return rank_pool(snapshot, query, pool, params)


def _is_shown(snapshot: Snapshot, found: Found) -> NDArray[np.bool_]:
    """Tell which hits name things of the kind, and match clearly more than their values do."""
    assert isinstance(found, EntityFound)
    hits, step = found.hits.hits, found.spellings.step
    is_shown = np.zeros(len(hits), bool)
    for position in range(len(hits)):
        segment, column = snapshot.segments[int(hits.segments[position])], int(hits.columns[position])
        held = np.sort(tokens_of_column(segment, column))
        n_equal = int(np.isin(match_tokens(found.query.values, segment.tokens), held).sum())
        some = held[:: max(1, held.size // _LOOKED_AT)].tolist()
        folded = [fold_name(value_of_token(segment, token)) for token in some]
        is_kind = step.kind == GIVEN or any(one.kind == step.kind for one in kinds_of(folded, entity_steps(None)))
        is_shown[position] = is_kind and is_clearly_more(int(hits.matched[position]), n_equal)
    return is_shown
