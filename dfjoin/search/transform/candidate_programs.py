"""Search by transformation: columns with rare pieces of the query's values, verified by learning a program."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.index.column_values import PackedValues, pack_values, tokens_of_column
from dfjoin.index.segment import Segment
from dfjoin.kernels.texts.value_pieces import value_pieces
from dfjoin.search.exact.posting_lists import shared_mask
from dfjoin.search.exact.searcher import MatchedQuery, smallest_count
from dfjoin.search.found import Found, Usefulness
from dfjoin.search.hits import Hits, RankedHits, rank_hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.search.transform.piece_candidates import (
    HeldPieces,
    QueryPieces,
    ScoredColumns,
    order_columns,
    piece_bits,
    score_segments,
)
from dfjoin.store.snapshot import Snapshot
from dfjoin.transform.evidence.chance import MIN_BITS, MIN_PRECISION
from dfjoin.transform.evidence.outcome import FULL_COVERAGE, evaluate
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.transform_join import RowJoin, TransformJoin, join_rows
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.pairs.accept import MIN_COVERAGE, MIN_SCORE
from dfjoin.values.frames import column_to_arrow
from dfjoin.values.normalize import ValueSet

_MAX_SCORED = 20_000
"""Query values whose pieces are looked up."""
_MAX_LEARNED = 16
"""Candidates that programs are learned for, the best first; twice `k` if that is more."""
_MIN_HITS = 5
"""Hits to find before the search may end, even for a smaller `k`: the order of scores is not that of matches."""
_GIVE_UP_AFTER = 4
"""Candidates in a row that give nothing, after which the search ends: the others share less."""
_MIN_SAMPLE, _SAMPLE_PER_VALUE, _MAX_SAMPLE = 100, 4, 1000
"""Values of a column to learn from: at least, for each value of the other column, and at most."""


@dataclass(frozen=True)
class ProgramsFound(Found):
    """What a search by programs found: of each hit the values that are joined, and the kind of the join.

    Parameters
    ----------
    rows : sequence of RowJoin
        Numbers of the values of the query and of the candidate that belong together.
    relationships : sequence of str
        As the join would be with the query on the left.
    """

    rows: Sequence[RowJoin] = ()
    relationships: Sequence[str] = ()

    def ranked(self, hits: RankedHits, useful: Usefulness) -> ProgramsFound:
        """Return the same search with its hits ranked by usefulness."""
        positions = useful.positions
        joins, rows = [self.joins[position] for position in positions], [self.rows[position] for position in positions]
        relationships = [self.relationships[position] for position in positions]
        return replace(self, hits=hits, useful=useful, joins=joins, rows=rows, relationships=relationships)


def query_texts(query: QueryColumn) -> pa.Array:
    """Return one text for each distinct value of a query, see `spell_values`."""
    return spell_values(column_to_arrow(query.column, "on"), query.values, query.pad)


def spell_values(array: pa.Array | pa.ChunkedArray, values: ValueSet, pad: int | None) -> pa.Array:
    """Return one text for each distinct value of a column: text as the column spells it first, else canonical.

    Parameters
    ----------
    array : pyarrow Array or ChunkedArray
        The column.
    values : ValueSet
        Its values.
    pad : int or None
        Width to which its integers were padded.
    """
    type_ = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    is_text = pa.types.is_string(type_) or pa.types.is_large_string(type_) or str(type_) == "string_view"
    if is_text and pad is None:
        return array.take(pa.array(values.first_rows())).cast(pa.large_string())
    return pa.array(values.values(), pa.large_string())


def _texts(values: PackedValues) -> pa.Array:
    """Return packed values as an Arrow array, without a copy."""
    buffers = [None, pa.py_buffer(values.offsets), pa.py_buffer(values.data)]
    return pa.Array.from_buffers(pa.large_string(), len(values), buffers)


def _candidate_values(segment: Segment, column: int) -> PackedValues:
    """Read the canonical values of a column in order of their hash, whatever the segment."""
    tokens = np.sort(tokens_of_column(segment, column))
    return pack_values(segment.tokens.value_bytes, segment.tokens.value_offsets, tokens)


def candidate_texts(segment: Segment, column: int) -> pa.Array:
    """Return the canonical values of a column of the lake, in order of their hash."""
    return _texts(_candidate_values(segment, column))


def search_programs(snapshot: Snapshot, query: QueryColumn, params: SearchParams) -> ProgramsFound:
    """Find the columns that join the query after a learned program, and join more so than by equality.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    params : SearchParams

    Returns
    -------
    ProgramsFound
        Counted on all values of both columns; never complete.

    Raises
    ------
    IncompatibleSettingsError
        If a segment has no pattern tokens.

    Notes
    -----
    Candidates are ordered by `score_segments`. Programs are learned for one after the other, both ways, once for
    columns of the same values, until `k` (at least 5) columns are found, four candidates in a row gave nothing,
    or 16 (or twice `k`) were learned for. They are learned from the values that share the rarest pieces, at most
    1,000 of a column; what is learned from a part must be accepted on the whole by the same rules (evidence,
    precision, coverage).
    Source: Zhu, thesis, section 5.3.1, with chapter 4 for the verification.
    """
    _, pieces = query_pieces(query, snapshot.settings.hash_seed)
    held = HeldPieces(snapshot.segments if any(segment.n_columns for segment in snapshot.segments) else (), pieces)
    bits = piece_bits(held.counts, held.total)
    stats = SearchStats(plan="transform")
    scored = score_segments(held, pieces, bits, len(query.values), params, stats)
    return learn_programs(snapshot, query, scored, bits, params, stats)


def query_pieces(query: QueryColumn, seed: int) -> tuple[NDArray[np.int64], QueryPieces]:
    """Return the values of a query whose pieces are looked up, and these; `seed` is the hash seed of the index."""
    values = query.values
    # The smallest hashes are a random sample that depends on nothing but the values.
    chosen = np.sort(np.argsort(values.hashes, kind="stable")[:_MAX_SCORED])
    return chosen, QueryPieces(pack_values(values.data, values.offsets, chosen), seed)


def learn_programs(
    snapshot: Snapshot,
    query: QueryColumn,
    scored: ScoredColumns,
    bits: NDArray[np.float64],
    params: SearchParams,
    stats: SearchStats,
) -> ProgramsFound:
    """Learn programs for the best candidates of a search, see `search_programs`.

    Parameters
    ----------
    snapshot : Snapshot
    query : QueryColumn
    scored : ScoredColumns
        The candidates of all segments.
    bits : ndarray of float64
        Evidence of each piece of the query, in all segments.
    params : SearchParams
    stats : SearchStats
        What was read to score them; what is learned is added.
    """
    stats.n_values, stats.is_complete = len(query.values), False
    matched = MatchedQuery(snapshot, query.values)
    joined: list[_JoinedColumn] = []
    if scored.columns.size:
        search = _ProgramSearch(snapshot, query, matched, params)
        limit = max(_MAX_LEARNED, 2 * (params.k or 0))
        order = order_columns(snapshot.segments, scored)
        n_last = 0
        for number, column in zip(scored.segments[order].tolist(), scored.columns[order].tolist(), strict=True):
            is_enough = params.k is not None and len(joined) >= max(_MIN_HITS, params.k)
            if is_enough or stats.candidates == limit or stats.candidates - n_last == _GIVE_UP_AFTER:
                break
            one = search.examine(number, column, bits, stats)
            if one is not None:
                joined.append(one)
                n_last = stats.candidates
    hits = rank_hits(snapshot.segments, _as_hits(joined), params.k, query.profile.has_range)
    best = [joined[position] for position in hits.order.tolist()]
    return ProgramsFound(
        query,
        hits,
        stats,
        matched,
        joins=[one.join for one in best],
        rows=[one.rows for one in best],
        relationships=[one.relationship for one in best],
    )


class _JoinedColumn(NamedTuple):
    """A column that programs join with the query, and how."""

    segment: int
    column: int
    matched: int
    matched_rows: int
    cardinality: int
    join: TransformJoin
    rows: RowJoin
    relationship: str


def _as_hits(joined: list[_JoinedColumn]) -> Hits:
    segments, columns, matched, rows, cardinality = np.array([one[:5] for one in joined], np.int64).reshape(-1, 5).T
    return Hits(segments, columns, matched, rows, cardinality, np.full(len(joined), np.nan))


class _ProgramSearch:
    """One query on its way through the candidates."""

    def __init__(self, snapshot: Snapshot, query: QueryColumn, matched: MatchedQuery, params: SearchParams) -> None:
        self.segments = snapshot.segments
        self.seed = snapshot.settings.hash_seed
        self.query = query
        self.matched = matched
        self.texts = query_texts(query)
        self.scored, self.pieces = query_pieces(query, self.seed)
        rows = query.values.row_counts()
        self.weights = rows if params.is_weighted else np.ones_like(rows)
        self.minimum = smallest_count(params.threshold, int(self.weights.sum()))
        self.learned: dict[bytes, tuple[str, TransformJoin]] = {}
        """What was learned for each content of a column: lakes are full of copies."""

    def examine(self, number: int, column: int, bits: NDArray[np.float64], stats: SearchStats) -> _JoinedColumn | None:
        """Learn programs for a candidate and count what they join; None unless that is more than equality."""
        segment, query = self.segments[number], self.query
        cardinality = int(segment.catalog.numbers["cardinality"][column])
        n_equal = int(shared_mask(segment, column, self.matched.groups(number)).sum())
        if n_equal >= FULL_COVERAGE * min(len(query.values), cardinality):
            return None
        name = segment.catalog.column_name(column)
        values = _candidate_values(segment, column)
        texts = _texts(values)
        content = hashlib.blake2b(values.offsets.tobytes() + values.data.tobytes()).digest()
        if content not in self.learned:
            stats.candidates += 1
            self.learned[content] = name, self._learn(values, texts, name, bits)
        join = _renamed(*self.learned[content], name)
        if not join.found:
            return None
        rows = join_rows(join, {query.name: self.texts}, {name: texts})
        codes = np.unique(rows.left_rows)
        matched_rows = int(self.weights[codes].sum())
        if codes.size <= n_equal or matched_rows < self.minimum:
            return None
        relationship = self._relationship(segment, column, rows)
        return _JoinedColumn(number, column, codes.size, matched_rows, cardinality, join, rows, relationship)

    def _learn(self, values: PackedValues, texts: pa.Array, name: str, bits: NDArray[np.float64]) -> TransformJoin:
        """Learn programs from the most informative values of both sides."""
        indptr, hashes = value_pieces(values.data, values.offsets, np.uint64(self.seed))
        pieces = self.pieces
        position = np.minimum(np.searchsorted(pieces.hashes, hashes), max(0, pieces.hashes.size - 1))
        is_shared = pieces.hashes[position] == hashes
        theirs = _best_of_rows(indptr, np.where(is_shared, bits[position], 0.0))
        is_held = np.zeros(pieces.hashes.size, bool)
        is_held[position[is_shared]] = True
        own = _best_of_rows(pieces.indptr, np.where(is_held, bits, 0.0)[pieces.numbers])
        n_query = len(self.query.values)
        lefts = self.scored[_most_informative(own, len(values))]
        rights = _most_informative(theirs, n_query)
        left, right = self.texts.take(pa.array(lefts)), texts.take(pa.array(rights))
        join = find_programs({self.query.name: left}, {name: right}, on=self.query.name, right_on=name)
        if not join.found:
            return join
        is_sample = lefts.size < n_query or rights.size < len(values)
        is_accepted = _is_accepted_on(join, Column(self.query.name, self.texts), Column(name, texts), is_sample)
        return join if is_accepted else TransformJoin(tried=join.tried)

    def _relationship(self, segment: Segment, column: int, rows: RowJoin) -> str:
        """Tell how the join would be with the query on the left."""
        numbers = segment.catalog.numbers
        is_unique = numbers["cardinality"][column] == numbers["n_rows"][column] - numbers["n_null"][column]
        is_left_once = np.unique(rows.right_rows).size == rows.right_rows.size
        is_right_once = np.unique(rows.left_rows).size == rows.left_rows.size
        left = "1" if self.query.is_unique and is_left_once else "m"
        return f"{left}:{'1' if is_unique and is_right_once else 'm'}"


def _renamed(old: str, join: TransformJoin, new: str) -> TransformJoin:
    """Return a join for a candidate column of another name; `old` is the one that it was learned for."""
    if old == new or join.target is None:
        return join
    if join.direction == "left_to_right":
        return replace(join, target_columns=(new,), target=replace(join.target, columns=(new,)))
    programs = tuple(replace(one, program=replace(one.program, columns=(new,))) for one in join.programs)
    return replace(join, source_columns=(new,), programs=programs)


def _best_of_rows(indptr: NDArray[np.int64], bits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest number of each row, 0 for an empty one."""
    best = np.zeros(indptr.size - 1)
    np.maximum.at(best, np.repeat(np.arange(best.size), np.diff(indptr)), bits)
    return best


def _most_informative(bits: NDArray[np.float64], n_other: int) -> NDArray[np.int64]:
    """Choose the values to learn from, in their order: those whose shared pieces are the strongest evidence."""
    n = min(_MAX_SAMPLE, max(_MIN_SAMPLE, _SAMPLE_PER_VALUE * n_other))
    return np.sort(np.argsort(-bits, kind="stable")[:n])


def _is_accepted_on(join: TransformJoin, query: Column, candidate: Column, is_sample: bool) -> bool:
    """Tell whether the first program of a join covers whole columns, and passes on them if it was learned from parts.

    The candidate was chosen by the search, so that its program has to cover as much as one between columns that
    nobody named.
    """
    source, target = join.ordered(query, candidate)
    if join.target is not None and not join.target.is_identity:
        target = Column(target.name, join.target.apply([target.array]))
    outcome = evaluate(join.programs[0].program, [source], source, target.values)
    covers = max(outcome.source_coverage, outcome.target_coverage) >= MIN_COVERAGE and outcome.score >= MIN_SCORE
    return covers and (not is_sample or (outcome.bits >= MIN_BITS and outcome.precision >= MIN_PRECISION))
