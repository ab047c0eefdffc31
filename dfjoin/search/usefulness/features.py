"""The features of candidates: what speaks for and against a useful join, from catalogue, posting lists and query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lists.evidence import (
    COUNT,
    N_SUMS,
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
    ModelNumbers,
    QueryNumbers,
    TableNumbers,
    score_candidates,
)
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.header_words import DIGITS, MEASURE, HeaderWords
from dfjoin.search.exact.posting_lists import lists_of, reading_postings
from dfjoin.search.exact.searcher import MatchedQuery, Searcher, searcher_of
from dfjoin.search.hits import Hits
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import HeldValues, QueryColumn
from dfjoin.search.usefulness.lake_facts import FIRST_YEAR, LAST_YEAR, LakeFacts, alive_tables, facts_of, series_of
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import headers_of, is_generic, is_naming

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

    def take(self, places: NDArray[np.int64]) -> SharedEvidence:
        """Return some of the candidates, in the order of `places`."""
        sizes = None if self.sizes is None else self.sizes[places]
        return SharedEvidence(self.hits.take(places), self.sums[places], self.total_weight, sizes)


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
        packed = as_read_only(values.data), as_read_only(values.offsets)
        rows = np.ones(len(values), np.int64)  # those of a candidate are counted when it is found
        weigh_values(*packed, n_holding, self.n_columns, rows, self.weights)
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
        Of the columns that the search may return and that reach its threshold.
    stats : SearchStats

    Notes
    -----
    O(values + postings of the distinct posting lists).
    """
    hits, stats = searcher_of(snapshot).find_all(matched, params)
    return evidence_of(snapshot, matched, hits, is_by_equality=True), stats


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
        places = own if is_whole else summed[own]
        _add_shared(known, number, hits.columns[places], rows[places], sums)
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
        row_of, places = arrays.tally.counts, arrays.tally.list_weights
        row_of[columns] = rows
        scratch = Sums(sums, row_of, places, lists, list_sums)
        n_lists, n_postings = collect_evidence(groups, known.weights, tokens.list_indptr, scratch)
        with reading_postings(segment):
            if n_postings < int((tokens.set_indptr[columns + 1] - tokens.set_indptr[columns]).sum()):
                add_lists(n_lists, lists_of(segment), scratch)
            else:
                add_sets(columns, tokens.set_indptr, tokens.set_lists, scratch)
        row_of[columns] = 0
        places[lists[:n_lists]] = 0


_HALF = 0.5
"""Share of the headers of a frame and a table together that both have, at least, for them to be alike."""


@dataclass(frozen=True)
class FrameHeaders:
    """What each table of a segment has of the headers of a frame.

    Parameters
    ----------
    n_held : ndarray of int64, shape (n_tables,)
        Columns that have the header of a column of the frame other than the query.
    n_named : ndarray of int64, shape (n_tables,)
        Columns that have the header of the query.
    is_near : ndarray of uint8, shape (n_tables,)
        The table lies in one folder with a table that is most like the frame by its headers, and not all tables of the
        lake lie there.
    """

    n_held: NDArray[np.int64]
    n_named: NDArray[np.int64]
    is_near: NDArray[np.uint8]


def frame_headers(snapshot: Snapshot, own: NDArray[np.uint64], companions: NDArray[np.uint64]) -> list[FrameHeaders]:
    """Compare the headers of a frame with those of each table of each segment.

    Parameters
    ----------
    snapshot : Snapshot
    own : ndarray of uint64, shape (1,) or (0,)
        Hash of the header of the query column.
    companions : ndarray of uint64
        Distinct hashes of the headers of the other columns.

    Notes
    -----
    Two sets of headers are alike as far as their Jaccard similarity is large; a frame of one header is like none.
    O(tables + columns that have one of the headers).
    """
    every = [facts_of(segment) for segment in snapshot.segments]
    held = [known.n_columns_named(companions) for known in every]
    named = [known.n_columns_named(own) for known in every]
    near = [np.zeros(known.n_tables, np.uint8) for known in every]
    if companions.size:
        shared = [a + b for a, b in zip(held, named, strict=True)]
        near = _near_tables(snapshot, every, shared, own.size + companions.size) or near
    return [FrameHeaders(*parts) for parts in zip(held, named, near, strict=True)]


def _near_tables(
    snapshot: Snapshot, every: list[LakeFacts], shared: list[NDArray[np.int64]], n_own: int
) -> list[NDArray[np.uint8]]:
    """Mark the tables that lie in the folders of the tables that are most alike; an empty list where none is alike."""
    tables = [np.flatnonzero(one) for one in shared]
    likeness = [
        one[at] / np.maximum(1, known.n_named[at] + n_own - one[at])
        for known, at, one in zip(every, tables, shared, strict=True)
    ]
    if _largest(likeness) < _HALF:
        return []
    alive = [alive_tables(segment, known) > 0 for segment, known in zip(snapshot.segments, every, strict=True)]
    likeness = [np.where(own[at], one, 0.0) for own, at, one in zip(alive, tables, likeness, strict=True)]
    best = _largest(likeness)
    if best < _HALF:
        return []
    most_alike = [known.folder[at[one >= best]] for known, at, one in zip(every, tables, likeness, strict=True)]
    folders = np.unique(np.concatenate(most_alike))
    near = [np.isin(known.folder, folders) for known in every]
    has_others = any(bool((own & ~one).any()) for own, one in zip(alive, near, strict=True))
    return [(one & has_others).astype(np.uint8) for one in near]


def _largest(likeness: list[NDArray[np.float64]]) -> float:
    """Return the largest of some numbers that are not negative, 0 where there are none."""
    return max((float(one.max(initial=0.0)) for one in likeness), default=0.0)


_NUMBER_KINDS = ("integer", "decimal", "float")
LOOKED_AT = 200
"""First values of a column that are looked at for letters."""

_FEW_LETTERS = 0.1
_IS_LETTER = (np.arange(256) >= 128) | ((np.arange(256) >= ord("a")) & (np.arange(256) <= ord("z")))


@dataclass(frozen=True)
class QueryFacts:
    """What is known of a query column apart from its values.

    Parameters
    ----------
    header : HeaderWords
        Its name.
    companions : ndarray of uint64, sorted
        Hashes of the names of the other columns of its frame; empty where the frame is not known.
    n_values : int
    is_unique, is_number, is_text, is_serial, is_years : bool
        No value occurs twice; its kind; integers from 0 or 1 on with few gaps; integers that may be years.
    has_no_letters : bool
        A text column of whose values hardly any has a letter.
    is_generic, has_digits_alone : bool
        Its name stands in tables of any subject; has no letter.
    is_naming, is_measure : bool
        Its name says that numbers under it name something; that they were measured or counted.
    integers : ndarray of int64, sorted
        The values that are integers.
    is_text_serial : bool
        Texts that are serial numbers with zeros in front of them, or nearly all of which are serial numbers.
    """

    header: HeaderWords
    companions: NDArray[np.uint64]
    n_values: int
    is_unique: bool
    is_number: bool
    is_text: bool
    is_serial: bool
    is_years: bool
    has_no_letters: bool
    is_generic: bool
    has_digits_alone: bool
    is_naming: bool
    is_measure: bool
    integers: NDArray[np.int64]
    is_text_serial: bool


def query_facts(query: QueryColumn) -> QueryFacts:
    """Find out what a query column is. O(columns of its frame)."""
    profile, n = query.profile, query.n_values
    low, high = profile.min_integer, profile.max_integer
    header = headers_of([query.name if len(query.labels) == 1 else str(query.labels[0])])
    marks = header.marks.tolist()
    companions = _hashes(query.companions)
    is_text = query.kind == "text"
    return QueryFacts(
        header=header,
        companions=companions[(companions != 0) & (companions != header.joined[0])] if companions.size else companions,
        n_values=n,
        is_unique=query.is_unique,
        is_number=query.kind in _NUMBER_KINDS,
        is_text=is_text,
        is_serial=profile.has_range and low in (0, 1) and n >= SERIAL_SHARE * (high - low + 1),
        is_years=profile.has_range and low >= FIRST_YEAR and high <= LAST_YEAR,
        has_no_letters=is_text and _share_with_letters(query) < _FEW_LETTERS,
        is_generic=is_generic(header),
        has_digits_alone=all(mark & DIGITS for mark in marks),
        is_naming=is_naming(header),
        is_measure=any(mark & MEASURE for mark in marks),
        integers=as_read_only(query.held_integers),
        is_text_serial=is_text and _is_text_serial(query),
    )


def _is_text_serial(query: QueryColumn) -> bool:
    """Tell whether the values are digits that are serial numbers without the zeros in front of them."""
    n, integers = query.n_values, query.held_integers
    if query.digit_range is not None:
        low, high = query.digit_range
    elif integers.size >= max(1, SERIAL_SHARE * n):
        n, low, high = integers.size, int(integers[0]), int(integers[-1])
    else:
        return False
    return low in (0, 1) and n >= SERIAL_SHARE * (high - low + 1)


@lru_cache(maxsize=8)
def _hashes(names: tuple[str, ...]) -> NDArray[np.uint64]:
    """Return the hashes of distinct headers, sorted; a frame is searched column by column."""
    return np.unique(headers_of(names).joined) if names else np.empty(0, np.uint64)


def _share_with_letters(query: QueryColumn) -> float:
    """Return the share of the first values that have a letter."""
    values = query.values
    n = min(len(values), LOOKED_AT)
    if n == 0:
        return 1.0
    ends = values.offsets[: n + 1]
    has_letter = np.logical_or.reduceat(_IS_LETTER[values.data[: int(ends[-1])]], ends[:-1])
    return int(np.count_nonzero(has_letter)) / n


class _KernelInputs(NamedTuple):
    """What the kernels need of the candidates of one segment."""

    columns: NDArray[np.int64]
    sums: NDArray[np.int64]
    known: ColumnRecords
    tables: TableNumbers
    query: QueryNumbers
    marks: NDArray[np.uint8]


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
    for places, inputs in _by_segment(snapshot, facts, evidence):
        kept, own = np.empty((inputs.columns.size, len(FEATURES))), np.empty((N_SCORES, inputs.columns.size))
        score_candidates(*inputs, model, 0.0, kept, own)
        features[places], scores[:, places] = kept, own
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
    for places, inputs in _by_segment(snapshot, facts, evidence):
        own = np.empty((N_SCORES, inputs.columns.size))
        score_candidates(*inputs, model, smallest, scratch, own)
        scores[:, places] = own
    return scores


def _by_segment(
    snapshot: Snapshot, facts: QueryFacts, evidence: SharedEvidence
) -> Iterator[tuple[NDArray[np.int64] | slice, _KernelInputs]]:
    """Yield for each segment the places of its candidates, and what the kernels need of them."""
    if len(evidence.hits) == 0:
        return
    frames = frame_headers(snapshot, facts.header.joined[facts.header.joined != 0], facts.companions)
    query = query_numbers(facts, evidence.total_weight)
    for number, places in evidence.hits.by_segment():
        own = evidence if isinstance(places, slice) else evidence.take(places)
        yield places, _inputs(snapshot, number, query, frames[number], own)


def _inputs(
    snapshot: Snapshot, number: int, query: QueryNumbers, frame: FrameHeaders, evidence: SharedEvidence
) -> _KernelInputs:
    """Return what the kernels need of the candidates of one segment."""
    known = facts_of(snapshot.segments[number])
    tables = TableNumbers(
        known.tables,
        known.n_named,
        frame.n_held,
        frame.n_named,
        series_of(snapshot)[number],
        known.number_share,
        frame.is_near,
        np.zeros(known.n_tables, np.uint8),
    )
    columns, marks = evidence.hits.columns, np.zeros(known.n_headers, np.uint8)
    if evidence.sizes is None:
        return _KernelInputs(columns, evidence.sums, known.columns, tables, query, marks)
    points = _records_of_points(known.columns, columns, evidence.sizes)
    return _KernelInputs(np.arange(columns.size), evidence.sums, points, tables, query, marks)


def families_of(snapshot: Snapshot, hits: Hits) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return what candidates share that count as one hit.

    Parameters
    ----------
    snapshot : Snapshot
    hits : Hits

    Returns
    -------
    family : ndarray of uint64, shape (n,)
        The same for columns of one name in tables of one family, see `LakeFacts.family`.
    content : ndarray of uint64, shape (n,)
        The same for columns of one name in tables of the same content.
    """
    family, content = np.empty(len(hits), np.uint64), np.empty(len(hits), np.uint64)
    for number, own in hits.by_segment():
        known, columns = facts_of(snapshot.segments[number]), hits.columns[own]
        family[own], content[own] = known.column_family[columns], known.column_content[columns]
    return family, content


def _records_of_points(known: ColumnRecords, columns: NDArray[np.int64], sizes: NDArray[np.int64]) -> ColumnRecords:
    """Return the records of columns whose tables hold so many points: no numbers that may be unrelated, no serials."""
    records = known.records[columns]
    records[:, IS_UNIQUE] *= sizes >= records[:, CARDINALITY]
    records[:, CARDINALITY] = np.maximum(1, sizes)
    records[:, LOG_CARDINALITY] = np.log(records[:, CARDINALITY])
    records[:, [KIND, IS_SERIAL, IS_YEARS]] = 0
    return ColumnRecords(records, known.headers)


def query_numbers(facts: QueryFacts, total_weight: float) -> QueryNumbers:
    """Return what the kernel needs of a query; `total_weight` is the weight by rarity of all of its values."""
    return QueryNumbers(
        facts.header,
        facts.companions,
        facts.integers,
        facts.n_values,
        total_weight,
        facts.is_unique,
        facts.is_number,
        facts.is_text,
        facts.is_years,
        facts.has_no_letters,
        facts.is_generic,
        facts.has_digits_alone,
        facts.is_naming,
        facts.is_measure,
        facts.is_text_serial,
    )
