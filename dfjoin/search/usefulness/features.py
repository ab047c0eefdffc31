"""The features of candidates: what speaks for and against a useful join, from catalogue, posting lists and query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.index.segment import Segment
from dfjoin.kernels.lists.evidence import (
    COUNT,
    N_SUMS,
    NAME,
    ROWS,
    SCALE,
    WEIGHT,
    Sums,
    add_columns,
    add_lists,
    add_sets,
    collect_evidence,
    weigh_values,
)
from dfjoin.kernels.lists.usefulness import (
    CARDINALITY,
    FEATURES,
    IS_SERIAL,
    IS_UNIQUE,
    IS_YEARS,
    KIND,
    LOG_CARDINALITY,
    N_SCORES,
    SERIAL_SHARE,
    ColumnRecords,
    MetNames,
    ModelNumbers,
    QueryFacts,
    TableNumbers,
    score_candidates,
)
from dfjoin.kernels.texts.header_relations import FrameHeaders, compare_headers
from dfjoin.kernels.texts.header_words import DIGITS, MEASURE, HeaderWords
from dfjoin.search.exact.costs import COUNTED_POSTING_BYTES
from dfjoin.search.exact.posting_lists import allowed_columns, lists_of, reading_postings
from dfjoin.search.exact.searcher import MatchedQuery, Searcher, searcher_of, smallest_count
from dfjoin.search.hits import Hits, join_hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import HeldValues, QueryColumn
from dfjoin.search.usefulness.lake_facts import FIRST_YEAR, LAST_YEAR, facts_of, tables_of
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import are_codes, headers_of, is_generic, is_naming, words_of_one
from dfjoin.values.normalize import read_only

# What the shared values tell of each candidate: sums over the posting lists, or over the sets of a few
# columns.


@dataclass(frozen=True)
class SharedEvidence:
    """Candidates of a query, and what the values that each of them shares with it tell.

    Parameters
    ----------
    hits : Hits
        In any order.
    sums : ndarray of int64, shape (n, N_SUMS)
        Of each: shared values, their rows, bits of information, weights by rarity, logarithms of the number of columns
        that hold them; see `weigh_values`.
    total_weight : float
        The weight by rarity of all values of the query.
    sizes : ndarray of int64, shape (n,), optional
        Distinct points of each candidate, where it is several columns of numbers that make points.
    """

    hits: Hits
    sums: NDArray[np.int64]
    total_weight: float
    sizes: NDArray[np.int64] | None = None

    def take(self, positions: NDArray[np.int64]) -> SharedEvidence:
        """Return some of the candidates, in the order of `positions`."""
        sizes = None if self.sizes is None else self.sizes[positions]
        return SharedEvidence(self.hits.take(positions), self.sums[positions], self.total_weight, sizes)


class ValueWeights:
    """The values of a query in every segment of a lake, and what each tells when a column holds it.

    Parameters
    ----------
    snapshot : Snapshot
    matched : MatchedQuery
    looks_up : bool
        Look the values up; else they are taken to be as rare as those of their kind are in a usual lake.

    Notes
    -----
    How rare a value is depends on all segments, so that results do not depend on how an index is cut, and hardly on how
    many tables the lake has, see `weigh_values`. O(values) for each segment.
    """

    def __init__(self, snapshot: Snapshot, matched: MatchedQuery, looks_up: bool = True) -> None:
        self.searcher = searcher_of(snapshot)
        self.matched = matched
        values = matched.values
        held = HeldValues(np.zeros(len(values), np.int64), 0)
        if looks_up:
            held = matched.held if matched.held is not None else _count_holding(self.searcher, matched)
        n_holding, self.n_columns = held
        self.weights = np.empty((len(values), N_SUMS), np.int64)
        rows = np.ones(len(values), np.int64)  # those of a candidate are counted when it is found
        weigh_values(values.data, values.offsets, n_holding, self.n_columns, rows, self.weights)
        self.n_holding = n_holding

    @property
    def total_weight(self) -> float:
        """The weight by rarity of all values."""
        return float(self.weights[:, WEIGHT].sum()) / SCALE


def _count_holding(searcher: Searcher, matched: MatchedQuery) -> HeldValues:
    """Count the columns of all segments that hold each value, and all that hold any."""
    n_holding = np.zeros(len(matched.values), np.int64)
    n_columns = 0
    for number, segment in enumerate(searcher.segments):
        if segment.n_tokens:
            scratch = searcher.scratch_of(number)
            add_columns(matched.groups(number), scratch.list_lengths, scratch.alive, n_holding)
            n_columns += scratch.n_alive
    return HeldValues(n_holding, n_columns)


def count_evidence(
    snapshot: Snapshot, matched: MatchedQuery, params: SearchParams
) -> tuple[SharedEvidence, SearchStats]:
    """Find every column that shares a value with a query, with what the shared values tell.

    Parameters
    ----------
    snapshot : Snapshot
    matched : MatchedQuery
    params : SearchParams

    Returns
    -------
    evidence : SharedEvidence
        Of the columns that the search may return and that reach its threshold, in the order of segments and columns.
    stats : SearchStats

    Notes
    -----
    The posting lists are read once, for counts and sums. O(values + postings of the distinct posting lists).
    """
    n_values = len(matched.values)
    known, stats = ValueWeights(snapshot, matched), SearchStats(plan="mergelist", n_values=n_values)
    total = n_values
    if params.is_weighted:
        known.weights[:, ROWS] = matched.values.row_counts()
        total = int(known.weights[:, ROWS].sum())
    least = smallest_count(params.threshold, total)
    parts = []
    for number, segment in enumerate(snapshot.segments):
        if segment.n_tokens > 0 and n_values > 0:
            columns, sums = _sum_all(known, number, stats)
            is_allowed = allowed_columns(segment, params)
            if least > 1 or is_allowed.size:
                is_wanted = sums[:, ROWS] >= least
                is_wanted &= is_allowed[columns] > 0 if is_allowed.size else True
                columns, sums = columns[is_wanted], sums[is_wanted]
            parts.append((_hits_of(segment, number, columns, sums), sums))
    sums = parts[0][1] if len(parts) == 1 else np.concatenate([np.empty((0, N_SUMS), np.int64), *(p[1] for p in parts)])
    return SharedEvidence(join_hits([part[0] for part in parts]), sums, known.total_weight), stats


def _hits_of(segment: Segment, number: int, columns: NDArray[np.int32], sums: NDArray[np.int64]) -> Hits:
    """Return columns of a segment as hits."""
    segments, errors = np.full(columns.size, number), np.full(columns.size, np.nan)
    cardinality = segment.catalog.numbers["cardinality"][columns]
    return Hits(segments, columns.astype(np.int64), sums[:, COUNT].copy(), sums[:, ROWS].copy(), cardinality, errors)


def _sum_all(known: ValueWeights, number: int, stats: SearchStats) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Sum the weights of the values that each column of a segment shares; add to `stats` what was read."""
    segment, groups, work = (
        known.searcher.segments[number],
        known.matched.groups(number),
        known.searcher.scratch_of(number),
    )
    indptr = segment.tokens.list_indptr
    with work.lend() as arrays:
        scratch = Sums(
            arrays.sums,
            arrays.tally.counts,
            arrays.tally.list_weights,
            np.empty(groups.size, np.uint32),
            np.empty((groups.size, N_SUMS), np.int64),
            arrays.tally.columns,
        )
        n_lists, n_postings, n_found, n_met = collect_evidence(groups, known.weights, indptr, scratch)
        work.read_ahead(scratch.lists[:n_lists], n_postings)
        with reading_postings(segment):
            n_met = add_lists(n_lists, n_met, lists_of(segment), scratch)
        columns = np.sort(scratch.met[:n_met])
        sums = scratch.sums.take(scratch.rows[columns], axis=0)
        scratch.rows[columns] = 0
        scratch.positions[scratch.lists[:n_lists]] = 0
    stats.n_found += n_found
    stats.lists_read += n_lists
    stats.postings_read += n_postings
    stats.bytes_read += n_postings * COUNTED_POSTING_BYTES
    return columns, sums


def evidence_of(snapshot: Snapshot, matched: MatchedQuery, hits: Hits, is_by_equality: bool) -> SharedEvidence:
    """Sum what the shared values tell of some candidates.

    Parameters
    ----------
    snapshot : Snapshot
    matched : MatchedQuery
    hits : Hits
    is_by_equality : bool
        The candidates share values as they are; else, and where the counts are estimates, each candidate is taken to
        share values that are like the query's on the average.

    Returns
    -------
    SharedEvidence

    Notes
    -----
    Either the sets of the candidates are read or the posting lists of the query, whichever are shorter. O(values +
    the shorter of both).
    """
    summed = np.flatnonzero(np.isnan(hits.errors)) if is_by_equality else np.empty(0, np.int64)
    is_whole = summed.size == len(hits)
    known = ValueWeights(snapshot, matched, looks_up=is_whole or summed.size > 0 or not is_by_equality)
    sums, rows = np.zeros((len(hits) + 1, N_SUMS), np.int64), np.arange(1, len(hits) + 1)
    if not is_whole:
        means = known.weights.mean(axis=0) if len(matched.values) else np.zeros(N_SUMS)
        means[[COUNT, ROWS]] = 1
        sums[1:] = np.rint(hits.matched[:, None] * means)
        sums[1 + summed] = 0
    for number, own in (hits if is_whole else hits.take(summed)).by_segment():
        positions = own if is_whole else summed[own]
        _add_shared(known, number, hits.columns[positions], rows[positions], sums)
    sums[1:, ROWS] = hits.matched_rows
    return SharedEvidence(hits, sums[1:], known.total_weight)


def _add_shared(
    known: ValueWeights, number: int, columns: NDArray[np.int64], rows: NDArray[np.int64], sums: NDArray[np.int64]
) -> None:
    """Sum the weights of the values that some distinct columns of a segment share, in a row for each."""
    segment, groups = known.searcher.segments[number], known.matched.groups(number)
    tokens, lists, list_sums = (
        segment.tokens,
        np.empty(groups.size, np.uint32),
        np.empty((groups.size, N_SUMS), np.int64),
    )
    with known.searcher.scratch_of(number).lend() as arrays:
        row_of, positions = arrays.tally.counts, arrays.tally.list_weights
        row_of[columns] = rows
        scratch = Sums(sums, row_of, positions, lists, list_sums, np.empty(0, np.int32))
        n_lists, n_postings, _, _ = collect_evidence(groups, known.weights, tokens.list_indptr, scratch)
        with reading_postings(segment):
            if n_postings < int((tokens.set_indptr[columns + 1] - tokens.set_indptr[columns]).sum()):
                add_lists(n_lists, 0, lists_of(segment), scratch)
            else:
                add_sets(columns, tokens.set_indptr, tokens.set_lists, scratch)
        row_of[columns] = 0
        positions[lists[:n_lists]] = 0


def frame_headers(snapshot: Snapshot, own: int, companions: NDArray[np.uint64]) -> list[FrameHeaders]:
    """Compare the headers of a frame with those of each table of each segment.

    Parameters
    ----------
    snapshot : Snapshot
    own : int
        Hash of the header of the query column, 0 where it has no letter and no digit.
    companions : ndarray of uint64
        Distinct hashes of the headers of the other columns.

    Notes
    -----
    Folders are near if they hold a table that is most like the frame, see `compare_headers`; none is where all tables
    of the lake lie in such a folder. O(tables + columns that have one of the headers).
    """
    tables = tables_of(snapshot)
    is_near = np.zeros(tables.has_tables.size, np.uint8)
    frames = []
    best = 0.0
    for positions in tables.positions:
        n_tables = positions.n_named.size
        frames.append(FrameHeaders(np.zeros(n_tables, np.int64), np.zeros(n_tables, np.int64), is_near))
        best = compare_headers(np.uint64(own), companions, positions, best, frames[-1])
    if best > 0.0 and not (tables.has_tables > is_near).any():
        is_near[:] = 0
    return frames


_NUMBER_KINDS = ("integer", "decimal", "float")
LOOKED_AT = 200
"""First values of a column that are looked at for letters."""

_FEW_LETTERS = 0.1
_IS_LETTER = (np.arange(256) >= 128) | ((np.arange(256) >= ord("a")) & (np.arange(256) <= ord("z")))


def query_facts(query: QueryColumn) -> QueryFacts:
    """Find out what a query column is. O(columns of its frame)."""
    profile, n = query.profile, query.n_values
    low, high = profile.min_integer, profile.max_integer
    header, companions = _own_words(query.name if len(query.labels) == 1 else str(query.labels[0]), query.companions)
    marks = header.marks.tolist()
    is_text = query.kind == "text"
    return QueryFacts(
        header=header,
        companions=companions,
        integers=query.held_integers,
        n_values=n,
        is_unique=query.is_unique,
        is_number=query.kind in _NUMBER_KINDS,
        is_text=is_text,
        is_serial=profile.has_range and low in (0, 1) and n >= SERIAL_SHARE * (high - low + 1),
        is_text_serial=is_text and _is_text_serial(query),
        is_years=profile.has_range and low >= FIRST_YEAR and high <= LAST_YEAR and not are_codes(header)[0],
        has_no_letters=is_text and _share_with_letters(query) < _FEW_LETTERS,
        is_generic=is_generic(header),
        has_digits_alone=all(mark & DIGITS for mark in marks),
        is_naming=is_naming(header),
        is_measure=any(mark & MEASURE for mark in marks),
    )


def _is_text_serial(query: QueryColumn) -> bool:
    """Tell whether the values are serial numbers with zeros in front, or nearly all numbers that fill their range.

    The former begin at 0 or 1: codes of another range are given, even if they fill it. The latter are no years.
    """
    n, integers = query.n_values, query.held_integers
    if query.digit_range is not None:
        low, high = query.digit_range
        return low in (0, 1) and n >= SERIAL_SHARE * (high - low + 1)
    if integers.size >= max(1, SERIAL_SHARE * n):
        low, high = int(integers[0]), int(integers[-1])
        is_full = integers.size >= SERIAL_SHARE * (high - low + 1)
        return is_full and not (low >= FIRST_YEAR and high <= LAST_YEAR)
    return False


@lru_cache(maxsize=8)
def _words_of_frame(names: tuple[str, ...]) -> tuple[HeaderWords, NDArray[np.uint64]]:
    """Return headers as words, and their distinct hashes, sorted; a frame is searched column by column."""
    words = headers_of(names)
    hashes = np.unique(words.joined)
    return words, hashes[hashes != 0]


@lru_cache(maxsize=64)
def _own_words(name: str, companions: tuple[str, ...]) -> tuple[HeaderWords, NDArray[np.uint64]]:
    """Return the header of a query as words, and the hashes of the other headers of its frame."""
    words, hashes = _words_of_frame(companions)
    header = words_of_one(words, companions.index(name)) if name in companions else headers_of([name])
    return header, read_only(hashes[hashes != header.joined[0]])


def _share_with_letters(query: QueryColumn) -> float:
    """Return the share of the first values that have a letter, or a smaller one that is not small."""
    values = query.values
    n = min(len(values), LOOKED_AT)
    if n == 0:
        return 1.0
    ends = values.offsets[: n + 1]
    n_first = int(np.count_nonzero(_IS_LETTER[values.data[ends[:-1]]]))
    if n_first >= _FEW_LETTERS * n:  # as a rule the first bytes tell
        return n_first / n
    has_letter = np.logical_or.reduceat(_IS_LETTER[values.data[: int(ends[-1])]], ends[:-1])
    return int(np.count_nonzero(has_letter)) / n


class _KernelInputs(NamedTuple):
    """What the kernel needs of the candidates of one segment, see `score_candidates`."""

    columns: NDArray[np.int64]
    evidence: tuple[NDArray[np.int64], float]
    lake: tuple[ColumnRecords, TableNumbers, FrameHeaders]
    query: QueryFacts
    model: ModelNumbers
    smallest: float
    met: MetNames


def features_of(
    snapshot: Snapshot, facts: QueryFacts, evidence: SharedEvidence, model: ModelNumbers
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the features of candidates, and score them.

    Parameters
    ----------
    snapshot : Snapshot
    facts : QueryFacts
        Of the query.
    evidence : SharedEvidence
    model : ModelNumbers

    Returns
    -------
    features : ndarray of float64, shape (n, len(FEATURES))
        A column for each of `FEATURES`.
    scores : ndarray of float64, shape (N_SCORES, n)
        As `scores_of` returns them.

    Notes
    -----
    No table and no value is read. O(candidates + tables + columns that have a header of the frame).
    """
    n = len(evidence.hits)
    features, scores = np.empty((n, len(FEATURES))), np.empty((N_SCORES, n))
    for positions, inputs in _by_segment(snapshot, facts, evidence, model, 0.0):
        kept, own = np.empty((inputs.columns.size, len(FEATURES))), np.empty((N_SCORES, inputs.columns.size))
        score_candidates(*inputs, kept, own)
        features[positions], scores[:, positions] = kept, own
    return features, scores


def scores_of(
    snapshot: Snapshot, facts: QueryFacts, evidence: SharedEvidence, model: ModelNumbers, smallest: float = 0.0
) -> NDArray[np.float64]:
    """Score candidates.

    Parameters
    ----------
    snapshot, facts, evidence, model
        As in `features_of`.
    smallest : float
        Of a candidate that no name could lift to this score, the row SCORE may have a bound below it.

    Returns
    -------
    ndarray of float64, shape (N_SCORES, n)
        Rows SCORE to NOTHING_NEW, see `dfjoin.kernels.lists.usefulness`. Of a candidate with a lower score than
        `smallest` the other rows are zero: they say nothing of it.

    Notes
    -----
    The cost is that of `features_of`; less with `smallest`, since most candidates share values by chance, and their
    names are not read.
    """
    scores, scratch = np.empty((N_SCORES, len(evidence.hits))), np.empty((1, len(FEATURES)))
    for positions, inputs in _by_segment(snapshot, facts, evidence, model, smallest):
        is_whole = inputs.columns.size == len(evidence.hits)
        own = scores if is_whole else np.empty((N_SCORES, inputs.columns.size))
        score_candidates(*inputs, scratch, own)
        if not is_whole:
            scores[:, positions] = own
    return scores


def _by_segment(
    snapshot: Snapshot, facts: QueryFacts, evidence: SharedEvidence, model: ModelNumbers, smallest: float
) -> Iterator[tuple[NDArray[np.int64] | slice, _KernelInputs]]:
    """Yield for each segment the places of its candidates, and what the kernel needs of them."""
    if len(evidence.hits) == 0:
        return
    frames = frame_headers(snapshot, int(facts.header.joined[0]), facts.companions)
    for number, positions in evidence.hits.by_segment():
        own = evidence if isinstance(positions, slice) else evidence.take(positions)
        known = facts_of(snapshot.segments[number])
        columns, records = own.hits.columns, known.columns
        if own.sizes is not None:
            columns, records = np.arange(columns.size), _records_of_points(records, columns, own.sizes)
        met = MetNames(np.zeros(known.n_headers, np.uint8), np.zeros(known.n_tables, np.uint8))
        lake = records, tables_of(snapshot).numbers[number], frames[number]
        yield positions, _KernelInputs(columns, (own.sums, own.total_weight), lake, facts, model, smallest, met)


def folded_of(snapshot: Snapshot, hits: Hits, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what decides the families of some candidates and their order among equals, see `FoldedHits`."""
    columns, folded = hits.columns[positions], tables_of(snapshot).folded
    if len(folded) == 1:
        return folded[0][columns]
    segments = hits.segments[positions]
    found = np.empty((positions.size, NAME + 1), np.int64)
    for number in np.flatnonzero(np.bincount(segments)).tolist():
        found[segments == number] = folded[number][columns[segments == number]]
    return found


def _records_of_points(known: ColumnRecords, columns: NDArray[np.int64], sizes: NDArray[np.int64]) -> ColumnRecords:
    """Return the records of columns whose tables hold so many points: no numbers that may be unrelated, no serials."""
    records = known.records[columns]
    records[:, IS_UNIQUE] *= sizes >= records[:, CARDINALITY]
    records[:, CARDINALITY] = np.maximum(1, sizes)
    records[:, LOG_CARDINALITY] = np.log(records[:, CARDINALITY])
    records[:, [KIND, IS_SERIAL, IS_YEARS]] = 0
    return known._replace(records=records)
