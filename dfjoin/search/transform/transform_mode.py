"""mode="transform": columns that join after a program that is learned for them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.search.explanation import N_EXAMPLES, Explanation, explain_hit
from dfjoin.search.found import Candidate, Found, Pool
from dfjoin.search.group_hits import GroupHits, HeldCounts
from dfjoin.search.hits import Hits
from dfjoin.search.modes import Mode
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.search.shared_values import list_pairs
from dfjoin.search.transform.candidate_programs import (
    ProgramsFound,
    candidate_texts,
    learn_programs,
    query_pieces,
    search_programs,
)
from dfjoin.search.transform.piece_candidates import HeldPieces, ScoredColumns, piece_bits, score_segments
from dfjoin.store.snapshot import Snapshot
from dfjoin.transform.evidence.transform_join import RowJoin


class TransformMode(Mode):
    """Search by learned programs; see `Mode` for the methods."""

    nothing_found = "no column of the lake joins after a program"
    is_by_equality = False

    def check(self, snapshot: Snapshot) -> None:
        if not snapshot.settings.patterns:
            raise IncompatibleSettingsError(
                'the index has no pattern tokens, which mode="transform" needs; add them with `lake.add_patterns()`, '
                'or use mode="exact"'
            )

    def is_by_segment(self, params: SearchParams) -> bool:
        return True

    def needs_counts(self, params: SearchParams) -> bool:
        return True  # how rare a piece is, in the order by usefulness or not

    def count_group(self, group: Snapshot, query: QueryColumn, params: SearchParams) -> HeldCounts:
        _, pieces = query_pieces(query, group.settings.hash_seed)
        held = HeldPieces(group.segments, pieces)
        is_held = held.counts > 0
        return HeldCounts(pieces.hashes[is_held], held.counts[is_held], held.total)

    def search_group(self, group: Snapshot, query: QueryColumn, counts: HeldCounts, params: SearchParams) -> GroupHits:
        _, pieces = query_pieces(query, group.settings.hash_seed)
        bits = piece_bits(counts.of(pieces.hashes), counts.total)
        held = HeldPieces(group.segments, pieces)
        scored = score_segments(held, pieces, bits, len(query.values), params, SearchStats())
        none = np.zeros(scored.columns.size, np.int64)
        hits = Hits(scored.segments, scored.columns, none, none, scored.cardinality, np.full(none.size, np.nan))
        return GroupHits(hits, scored.scores[:, None])

    def merge_groups(
        self, snapshot: Snapshot, query: QueryColumn, parts: GroupHits, counts: HeldCounts, params: SearchParams
    ) -> Found | Pool:
        _, pieces = query_pieces(query, snapshot.settings.hash_seed)
        bits = piece_bits(counts.of(pieces.hashes), counts.total)
        hits = parts.hits
        scored = ScoredColumns(hits.segments, hits.columns, hits.cardinality, parts.kept.ravel())
        found = learn_programs(snapshot, query, scored, bits, params, SearchStats(plan="groups"))
        return self.pool_of(found) if params.is_by_usefulness else found

    def search(self, snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> ProgramsFound:
        return search_programs(snapshot, query, params)

    def columns(self, found: Found) -> dict[str, Any]:
        assert isinstance(found, ProgramsFound)
        return {
            "jaccard": np.full(len(found.hits), np.nan),
            "relationship": list(found.relationships),
            "program": [json.dumps(join.to_saved(), ensure_ascii=False) for join in found.joins],
        }

    def explain(self, candidate: Candidate) -> Explanation:
        query, rows, texts = candidate.found.query, _rows(candidate), _texts(candidate)
        codes, first = np.unique(rows.left_rows, return_index=True)
        shared = [
            f"{query.spelling(int(rows.left_rows[i]))} = {texts[int(rows.right_rows[i])].as_py()}"
            for i in first[:N_EXAMPLES]
        ]
        alone = np.setdiff1d(np.arange(len(query.values)), codes)[:N_EXAMPLES]
        theirs = np.setdiff1d(np.arange(len(texts)), rows.right_rows)[:N_EXAMPLES]
        return explain_hit(
            candidate,
            is_by_equality=False,
            shared=shared,
            only_query=[query.spelling(code) for code in alone.tolist()],
            only_candidate=[texts[code].as_py() for code in theirs.tolist()],
            program=str(candidate.found.joins[candidate.position]),
        )

    def pairs(self, candidate: Candidate) -> pd.DataFrame:
        rows = _rows(candidate)
        values = _texts(candidate).take(pa.array(rows.right_rows)).to_pylist()
        return list_pairs(candidate.found.query, rows.left_rows, values)


def _rows(candidate: Candidate) -> RowJoin:
    """Return the values that were joined when the candidate was found."""
    assert isinstance(candidate.found, ProgramsFound)
    return candidate.found.rows[candidate.position]


def _texts(candidate: Candidate) -> pa.Array:
    return candidate_texts(candidate.segment, candidate.column)
