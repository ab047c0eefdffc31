"""Search by transformation: columns with rare pieces of the query's values, verified by learning a program."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.index.segment import Segment
from dfjoin.kernels.value_pieces import value_pieces
from dfjoin.search.exact.searcher import Hit, Searcher, rank_key, smallest_count
from dfjoin.search.query import QueryColumn
from dfjoin.search.shared_values import shared_mask, tokens_of_column
from dfjoin.search.transform.piece_scores import PackedValues, QueryPieces, ScoredColumn, pack_values, score_segments
from dfjoin.transform.accept import MIN_COVERAGE, MIN_PRECISION, MIN_SCORE
from dfjoin.transform.chance import MIN_BITS
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.outcome import FULL_COVERAGE, evaluate
from dfjoin.transform.prepared_columns import Column
from dfjoin.transform.transform_join import RowJoin, TransformJoin, join_rows
from dfjoin.types import IndexSettings, SearchParams, SearchStats
from dfjoin.values.frames import column_to_arrow

__all__ = ["ProgramHit", "candidate_texts", "join_values", "query_texts", "search_programs"]

_MAX_SCORED = 20_000
"""Query values whose pieces are looked up."""
_LEARNED = 16
"""Candidates that programs are learned for, the best first; twice `k` if that is more."""
_FOUND = 5
"""Columns to find before the search may end, though `k` be smaller: the best score need not match most."""
_PATIENCE = 4
"""Candidates in a row that give nothing, after which the others are passed over: they share less."""
_SAMPLE = (100, 4, 1000)
"""Values of a column to learn from: at least, for each value of the other column, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramHit(Hit):
    """A candidate column that joins by programs, and how the join would be with the query on the left."""

    join: TransformJoin
    relationship: str


def query_texts(query: QueryColumn) -> pa.Array:
    """Return one text for each distinct value of a query: text as the column spells it first, else canonical."""
    array = column_to_arrow(query.column, "on")
    type_ = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    is_text = pa.types.is_string(type_) or pa.types.is_large_string(type_) or str(type_) == "string_view"
    if is_text and query.pad is None:
        return array.take(pa.array(query.values.first_rows())).cast(pa.large_string())
    return pa.array(query.values.values(), pa.large_string())


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


def join_values(join: TransformJoin, query: QueryColumn, texts: pa.Array, name: str) -> RowJoin:
    """Join the distinct values of a query with those of a candidate; rows are numbers of values.

    Parameters
    ----------
    join : TransformJoin
    query : QueryColumn
    texts : pyarrow.Array
        As from `candidate_texts`.
    name : str
        Name of the candidate column.
    """
    return join_rows(join, {query.name: query_texts(query)}, {name: texts})


def search_programs(
    searcher: Searcher, settings: IndexSettings, query: QueryColumn, params: SearchParams
) -> tuple[list[ProgramHit], SearchStats]:
    """Find the columns that join the query after a learned program, and join more so than by equality.

    Parameters
    ----------
    searcher : Searcher
    settings : IndexSettings
        Of the index.
    query : QueryColumn
    params : SearchParams

    Returns
    -------
    hits : list of ProgramHit
        In the order of results; counted on all values of both columns.
    stats : SearchStats
        Never complete.

    Raises
    ------
    IncompatibleSettingsError
        If a segment has no pattern tokens.

    Notes
    -----
    Candidates are ordered by `score_segments`. Programs are learned for one after the other, both ways, once for
    columns of the same values, until `k` (at least 5) columns are found, four candidates in a row gave nothing,
    or 16 (or twice `k`) were learned for. They are learned from the values that share the rarest pieces, at most
    1,000 of a column; what is learned from a part must be honest on the whole by the same rules (evidence,
    precision, coverage).
    Source: Zhu, thesis, section 5.3.1, with chapter 4 for the verification.
    """
    stats = SearchStats(plan="transform", n_values=len(query.values), is_complete=False)
    segments = [segment for segment in searcher.segments if segment.n_columns]
    if len(query.values) == 0 or not segments:
        return [], stats
    search = _Search(searcher, settings, query, params)
    hits: list[ProgramHit] = []
    limit = max(_LEARNED, 2 * (params.k or 0))
    columns, bits = score_segments(searcher.segments, search.pieces, len(query.values), params, stats)
    n_last = 0
    for scored in columns:
        is_enough = params.k is not None and len(hits) >= max(_FOUND, params.k)
        if is_enough or stats.candidates == limit or stats.candidates - n_last == _PATIENCE:
            break
        hit = search.examine(scored, bits, stats)
        if hit is not None:
            hits.append(hit)
            n_last = stats.candidates
    return sorted(hits, key=rank_key)[: params.k], stats


class _Search:
    """One query on its way through the candidates."""

    def __init__(self, searcher: Searcher, settings: IndexSettings, query: QueryColumn, params: SearchParams) -> None:
        self.searcher = searcher
        self.seed = settings.hash_seed
        self.query = query
        self.texts = query_texts(query)
        values = query.values
        # The smallest hashes are a random sample that depends on nothing but the values.
        self.scored = np.sort(np.argsort(values.hashes, kind="stable")[:_MAX_SCORED])
        self.pieces = QueryPieces(pack_values(values.data, values.offsets, self.scored), self.seed)
        rows = values.row_counts()
        self.weights = rows if params.is_weighted else np.ones_like(rows)
        self.minimum = smallest_count(params.threshold, int(self.weights.sum()))
        self.groups: dict[int, NDArray[np.int64]] = {}
        self.learned: dict[bytes, tuple[str, TransformJoin]] = {}
        """What was learned for each content of a column: lakes are full of copies."""

    def examine(self, scored: ScoredColumn, bits: NDArray[np.float64], stats: SearchStats) -> ProgramHit | None:
        """Learn programs for a candidate and count what they join; None unless that is more than equality."""
        segment, query = self.searcher.segments[scored.segment], self.query
        if scored.segment not in self.groups:
            self.groups[scored.segment] = self.searcher.groups_of(scored.segment, query.values)
        n_equal = int(shared_mask(segment, scored.column, self.groups[scored.segment]).sum())
        if n_equal >= FULL_COVERAGE * min(len(query.values), scored.cardinality):
            return None
        values = _candidate_values(segment, scored.column)
        texts = _texts(values)
        content = hashlib.blake2b(values.offsets.tobytes() + values.data.tobytes()).digest()
        if content not in self.learned:
            stats.candidates += 1
            self.learned[content] = scored.name, self._learn(values, texts, scored.name, bits)
        join = _renamed(*self.learned[content], scored.name)
        if not join.found:
            return None
        joined = join_rows(join, {query.name: self.texts}, {scored.name: texts})
        codes = np.unique(joined.left_rows)
        matched = int(self.weights[codes].sum())
        if codes.size <= n_equal or matched < self.minimum:
            return None
        return ProgramHit(
            scored.segment, scored.column, codes.size, matched, scored.cardinality, scored.table, scored.name,
            join=join, relationship=self._relationship(segment, scored, joined),
        )  # fmt: skip

    def _learn(self, values: PackedValues, texts: pa.Array, name: str, bits: NDArray[np.float64]) -> TransformJoin:
        """Learn programs from the most telling values of both sides."""
        indptr, hashes = value_pieces(values.data, values.offsets, np.uint64(self.seed))
        pieces = self.pieces
        place = np.minimum(np.searchsorted(pieces.hashes, hashes), max(0, pieces.hashes.size - 1))
        is_shared = pieces.hashes[place] == hashes
        theirs = _best_of_rows(indptr, np.where(is_shared, bits[place], 0.0))
        is_held = np.zeros(pieces.hashes.size, bool)
        is_held[place[is_shared]] = True
        own = _best_of_rows(pieces.indptr, np.where(is_held, bits, 0.0)[pieces.numbers])
        n_query = len(self.query.values)
        lefts = self.scored[_most_telling(own, len(values))]
        rights = _most_telling(theirs, n_query)
        left, right = self.texts.take(pa.array(lefts)), texts.take(pa.array(rights))
        join = find_programs({self.query.name: left}, {name: right}, on=self.query.name, right_on=name)
        if not join.found or (lefts.size == n_query and rights.size == len(values)):
            return join
        is_honest = _holds_for(join, Column(self.query.name, self.texts), Column(name, texts))
        return join if is_honest else TransformJoin(tried=join.tried)

    def _relationship(self, segment: Segment, scored: ScoredColumn, joined: RowJoin) -> str:
        """Tell how the join would be with the query on the left."""
        numbers = segment.catalog.numbers
        n_filled = int(numbers["n_rows"][scored.column] - numbers["n_null"][scored.column])
        is_left_once = np.unique(joined.right_rows).size == joined.right_rows.size
        is_right_once = np.unique(joined.left_rows).size == joined.left_rows.size
        left = "1" if self.query.is_unique and is_left_once else "m"
        return f"{left}:{'1' if scored.cardinality == n_filled and is_right_once else 'm'}"


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


def _most_telling(bits: NDArray[np.float64], n_other: int) -> NDArray[np.int64]:
    """Choose the values to learn from, in their order: those whose shared pieces tell most."""
    least, factor, most = _SAMPLE
    n = min(most, max(least, factor * n_other))
    return np.sort(np.argsort(-bits, kind="stable")[:n])


def _holds_for(join: TransformJoin, query: Column, candidate: Column) -> bool:
    """Tell whether the first program of a join is honest on whole columns, as on those it was learned from."""
    is_forward = join.direction == "left_to_right"
    source, target = (query, candidate) if is_forward else (candidate, query)
    if join.target is not None and not join.target.is_identity:
        target = Column(target.name, join.target.apply([target.array]))
    outcome = evaluate(join.programs[0].program, [source], source, target.values)
    covers = max(outcome.source_coverage, outcome.target_coverage) >= MIN_COVERAGE and outcome.score >= MIN_SCORE
    return covers and outcome.bits >= MIN_BITS and outcome.precision >= MIN_PRECISION
