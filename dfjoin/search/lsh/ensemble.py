"""Search by signatures (LSH Ensemble): candidate columns by band, then counted exactly, or estimated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.reading import reading
from dfjoin.index.segment import Segment, Signatures
from dfjoin.index.signatures import partition_slots
from dfjoin.kernels.lsh_candidates import Bands, Stretches, collect_candidates, find_equal
from dfjoin.kernels.mergelist import count_lists, sum_sets
from dfjoin.kernels.minhash import sign_hashes
from dfjoin.kernels.records import Sets
from dfjoin.search.exact.allowed import allowed_columns
from dfjoin.search.exact.costs import READ_COSTS
from dfjoin.search.exact.posting_lists import (
    Gathered,
    Query,
    TopColumns,
    WorkArrays,
    gather,
    lists_of,
    reading_postings,
)
from dfjoin.search.exact.searcher import Hit, Searcher, rank_key, smallest_count
from dfjoin.search.lsh.bands import (
    BandsOfPartitions,
    bands_of_partitions,
    containment_of,
    jaccard_of,
    margin_of,
    standard_error,
)
from dfjoin.types import IndexSettings, SearchParams, SearchStats
from dfjoin.values.normalize import ValueSet

__all__ = ["Candidates", "check_signatures", "find_candidates", "is_near", "search_signatures"]

_STEP = 0.05
_ENTRY_BYTES = 4
_NO_WEIGHTS = np.empty(0, np.int32)


@dataclass(frozen=True)
class Candidates:
    """What signatures say of one segment.

    Parameters
    ----------
    slots : ndarray of int32, shape (n,)
        Candidates: the slots that agree with the query in a whole band.
    agreed : ndarray of uint16, shape (n_signed,)
        Rows in which each slot agrees with the query.
    n_compared : int
        Slots that are large enough to reach the threshold.
    n_agreeing : int
        Entries read.
    """

    slots: NDArray[np.int32]
    agreed: NDArray[np.uint16]
    n_compared: int
    n_agreeing: int


def check_signatures(segment: Segment, settings: IndexSettings) -> Signatures:
    """Return the signatures of a segment, or raise when they are not those that the settings say."""
    stored = segment.signatures
    if stored.values.shape[0] != settings.permutations:
        raise IncompatibleSettingsError(
            f"segment {segment.meta.id} has signatures of {stored.values.shape[0]} values and the index compares those "
            f"of {settings.permutations}; make them anew with `lake.add_signatures()`"
        )
    return stored


def find_candidates(
    stored: Signatures,
    signature: NDArray[np.uint32],
    smallest: int,
    indptr: NDArray[np.int64],
    bands: BandsOfPartitions,
) -> Candidates:
    """Find the signed columns that agree with a signature in a whole band of their partition.

    Parameters
    ----------
    stored : Signatures
        Of a segment.
    signature : ndarray of uint32, shape (n_rows,)
        Of the query.
    smallest : int
        Columns with fewer values cannot reach the threshold and are passed over.
    indptr : ndarray of int64, shape (n_partitions + 1,)
        Slots of each partition.
    bands : BandsOfPartitions
        (b, r) of each.

    Returns
    -------
    Candidates
    """
    n_rows, n = stored.values.shape
    first_slot = int(np.searchsorted(stored.sizes, smallest))
    stretches = Stretches(np.empty(n_rows, np.int64), np.empty(n_rows, np.int64))
    n_agreeing = find_equal(signature, stored.values, first_slot, stretches) if first_slot < n else 0
    agreed = np.zeros(n, np.uint16)
    slots = np.empty(n, np.int32)
    n_found = 0
    if n_agreeing:
        with reading("signature_slots", "names slots that the segment does not have"):
            n_found = collect_candidates(
                stretches, stored.slots, first_slot, Bands(indptr, bands.n_bands, bands.n_band_rows), agreed, slots
            )
    return Candidates(slots[:n_found], agreed, n - first_slot, n_agreeing)


def is_near(
    agreed: NDArray[np.uint16], sizes: NDArray[np.int64], threshold: float, n_query: int, n_rows: int, recall: float
) -> NDArray[np.bool_]:
    """Tell which columns may reach a threshold, by the rows in which they agree with the query.

    A column at the threshold is lost with a probability of (1 - recall) / 2.

    Parameters
    ----------
    agreed : ndarray of uint16, shape (n,)
    sizes : ndarray of int64, shape (n,)
        Distinct values of each column.
    threshold : float
        Containment.
    n_query, n_rows : int
        Distinct values of the query; values of a signature.
    recall : float
    """
    if recall >= 1:
        return np.ones(agreed.size, bool)
    wanted = jaccard_of(np.minimum(threshold, sizes / n_query), sizes, n_query)
    margin = margin_of(recall) * np.sqrt(wanted * (1 - wanted) / n_rows)
    return agreed / n_rows >= wanted - margin - 1e-9


def search_signatures(
    searcher: Searcher, settings: IndexSettings, values: ValueSet, params: SearchParams
) -> tuple[list[Hit], SearchStats]:
    """Find the columns that contain at least a share of the query, by signatures where this saves reading.

    Parameters
    ----------
    searcher : Searcher
    settings : IndexSettings
        Of the index.
    values : ValueSet
        The query column's values.
    params : SearchParams
        Without a threshold, or with `k`, thresholds are lowered from 1 in steps until `k` columns are found.

    Returns
    -------
    hits : list of Hit
        In the order of results; with `params.verify` counted exactly wherever the index holds the sets.
    stats : SearchStats
        `is_complete` tells whether a column may be missing.

    Raises
    ------
    IncompatibleSettingsError
        If a segment has no signatures, or others than the settings say.

    Notes
    -----
    Source: Zhu, thesis, sections 2.4 and 3.5.1 (k by lowering the threshold). A column of fewer values than
    the threshold asks for cannot reach it, so a search reads posting lists only where columns too small to be
    signed may qualify; then the query is small too, the lists hold the large columns as well, and the answer is
    that of exact search. O(values + rows that agree + sets of the candidates).
    """
    stats = SearchStats(n_values=len(values))
    if len(values) == 0:
        return [], stats
    search = _Search(searcher, settings, values, params)
    hits: list[Hit] = []
    for threshold in _thresholds(params):
        n_needed = search.fewest_values(threshold)
        if n_needed < settings.smallest_signed and settings.keep_sets:
            return searcher.search(values, params)
        hits = search.hits_at(threshold, n_needed)
        if params.k is not None and len(hits) >= params.k:
            break
    stats.add(search.stats)
    return hits[: params.k], stats


def _thresholds(params: SearchParams) -> list[float]:
    """List the thresholds to try, highest first; the last is the one that was asked for."""
    lowest = 0.0 if params.threshold is None else params.threshold
    if params.k is None:
        return [lowest]
    steps = [round(1 - _STEP * i, 6) for i in range(round(1 / _STEP))]
    return [t for t in steps if t > lowest] + [lowest]


@dataclass
class _Part:
    """One segment in a search: its signatures, and what is known of its slots so far.

    `totals` are the matched values (or rows) of the slots that were counted, -1 for the others; `hits` those of
    the candidates that reached a threshold, by slot; `reading_ns` is what reading sets was expected to take.
    """

    number: int
    stored: Signatures
    indptr: NDArray[np.int64]
    ends: NDArray[np.int64]
    allowed: NDArray[np.uint8]
    is_candidate: NDArray[np.bool_]
    totals: NDArray[np.int32]
    hits: dict[int, Hit] = field(default_factory=dict)
    groups: NDArray[np.int64] | None = None
    reading_ns: float = 0.0


class _Search:
    """One query on its way through the segments of an index, at falling thresholds."""

    def __init__(self, searcher: Searcher, settings: IndexSettings, values: ValueSet, params: SearchParams) -> None:
        self.searcher = searcher
        self.settings = settings
        self.values = values
        self.params = params
        self.stats = SearchStats(plan="lsh", n_values=len(values))
        rows = values.row_counts() if params.is_weighted else None
        self.weights = _NO_WEIGHTS if rows is None else rows.astype(np.int32)
        self.total = len(values) if rows is None else int(rows.sum())
        self.heaviest = None if rows is None else np.cumsum(np.sort(rows)[::-1])

    @cached_property
    def signature(self) -> NDArray[np.uint32]:
        """The query's signature."""
        return sign_hashes(self.values.hashes, self.settings.permutations, np.uint64(self.settings.hash_seed))

    @cached_property
    def parts(self) -> list[_Part]:
        """The segments that hold columns."""
        parts = []
        for number, segment in enumerate(self.searcher.segments):
            if segment.n_columns:
                stored = check_signatures(segment, self.settings)
                indptr, ends = partition_slots(stored.sizes, self.settings.partition_ends)
                n = stored.sizes.size
                known = np.zeros(n, bool), np.full(n, -1, np.int32)
                parts.append(_Part(number, stored, indptr, ends, allowed_columns(segment, self.params), *known))
        return parts

    def fewest_values(self, threshold: float) -> int:
        """Return how many distinct values a column holds at least that reaches a threshold."""
        minimum = smallest_count(threshold, self.total)
        return minimum if self.heaviest is None else int(np.searchsorted(self.heaviest, minimum)) + 1

    def hits_at(self, threshold: float, n_needed: int) -> list[Hit]:
        """Return the hits that reach a threshold, in the order of results."""
        minimum = smallest_count(threshold, self.total)
        hits: list[Hit] = []
        recall, n_compared = 0.0, 0
        for part in self.parts:
            candidates, expected = self._probe(part, threshold, n_needed)
            n_compared += candidates.n_compared
            recall += expected * candidates.n_compared
            part.is_candidate[candidates.slots] = True
            hits += self._hits_of(part, candidates, minimum)
        if n_needed < self.settings.smallest_signed:  # small columns, whose sets are always kept
            small, stats = self.searcher.search(self.values, replace(self.params, threshold=threshold))
            hits += small
            self.stats.add(stats)
        self.stats.signatures_compared = n_compared
        self.stats.candidates = sum(int(part.is_candidate.sum()) for part in self.parts)
        self.stats.expected_recall = recall / n_compared if n_compared else 1.0
        self.stats.is_complete = n_compared == 0
        return sorted(hits, key=rank_key)

    def _probe(self, part: _Part, threshold: float, n_needed: int) -> tuple[Candidates, float]:
        """Find the candidates of a segment, and the recall to expect."""
        n_query, n_rows, wanted = len(self.values), self.settings.permutations, self.params.recall
        tuned = threshold if self.heaviest is None else n_needed / n_query
        bands = bands_of_partitions(n_rows, tuned, part.ends, n_query, wanted)
        found = find_candidates(part.stored, self.signature, n_needed, part.indptr, bands)
        widths = np.diff(np.maximum(part.indptr, part.stored.sizes.size - found.n_compared))
        recall = float(widths @ bands.recall) / max(1, found.n_compared)
        agreed, sizes = found.agreed[found.slots], part.stored.sizes[found.slots]
        slots = found.slots[is_near(agreed, sizes, n_needed / n_query, n_query, n_rows, wanted)]
        if part.allowed.size:
            slots = slots[part.allowed[part.stored.columns[slots]] > 0]
        return replace(found, slots=np.sort(slots)), recall

    def _hits_of(self, part: _Part, candidates: Candidates, minimum: int) -> list[Hit]:
        """Return the hits of a segment: the candidates so far whose count reaches the minimum, or all, estimated."""
        if self.params.verify and self.settings.keep_sets:
            unknown = candidates.slots[part.totals[candidates.slots] < 0]
            if unknown.size:
                self._count(part, unknown)
            slots = np.flatnonzero(part.is_candidate & (part.totals >= minimum))
        else:
            slots = np.flatnonzero(part.is_candidate)
        new = slots[[slot not in part.hits for slot in slots.tolist()]] if slots.size else slots
        if new.size and self.params.verify and self.settings.keep_sets:
            made = self.searcher.make_hits(
                part.number, self._query(part), TopColumns(part.stored.columns[new], part.totals[new], SearchStats())
            )
        else:
            made = self._estimate(part, new, candidates.agreed)
        part.hits.update(zip(new.tolist(), made, strict=True))
        return [part.hits[slot] for slot in slots.tolist()]

    def _estimate(self, part: _Part, slots: NDArray[np.int64], agreed: NDArray[np.uint16]) -> list[Hit]:
        """Make hits of candidates with the containment that their signatures tell."""
        n_query, n_rows = len(self.values), self.settings.permutations
        columns, sizes = part.stored.columns[slots], part.stored.sizes[slots]
        similarity = agreed[slots] / n_rows
        shares = containment_of(similarity, sizes, n_query).tolist()
        errors = standard_error(similarity, sizes, n_query, n_rows).tolist()
        catalog = self.searcher.segments[part.number].catalog
        hits = []
        for column, size, share, error in zip(columns.tolist(), sizes.tolist(), shares, errors, strict=True):
            matched = max(1, min(round(share * n_query), size))
            rows = matched if self.heaviest is None else max(1, round(share * self.total))
            names = catalog.table_name(column), catalog.column_name(column)
            hits.append(Hit(part.number, column, matched, rows, size, *names, error))
        return hits

    def _query(self, part: _Part) -> Query:
        """Return the query against one segment."""
        segment = self.searcher.segments[part.number]
        if part.groups is None:
            part.groups = self.searcher.groups_of(part.number, self.values)
            self.stats.n_found += int(np.count_nonzero(part.groups >= 0))
        return Query(part.groups, self.weights, part.allowed, 1, segment.n_columns)

    def _count(self, part: _Part, slots: NDArray[np.int32]) -> None:
        """Count slots by reading their sets; or all slots by merging the query's posting lists, once this is less."""
        segment, query = self.searcher.segments[part.number], self._query(part)
        columns = part.stored.columns[slots]
        tokens, costs = segment.tokens, READ_COSTS
        n_entries = int((tokens.set_indptr[columns + 1] - tokens.set_indptr[columns]).sum())
        part.reading_ns += costs.set_ns * columns.size + costs.entry_ns * n_entries
        with self.searcher.scratch_of(part.number).lend() as arrays:
            found = gather(segment, arrays, query)
            if costs.list_ns * found.lists.size + costs.posting_ns * found.n_postings <= part.reading_ns:
                self._merge(part, segment, arrays, found)
                return
            totals = np.empty(columns.size, np.int32)
            with reading_postings(segment):
                sum_sets(columns, Sets(tokens.set_indptr, tokens.set_lists), arrays.tally, totals)
            arrays.clear(found.lists, found.n_private)
        part.totals[slots] = totals
        n_bytes = n_entries * _ENTRY_BYTES
        self.stats.add(SearchStats("lsh", sets_read=columns.size, set_entries_read=n_entries, bytes_read=n_bytes))

    def _merge(self, part: _Part, segment: Segment, arrays: WorkArrays, found: Gathered) -> None:
        """Count all slots of a segment by the posting lists of the query."""
        counts = arrays.tally.counts
        with reading_postings(segment):
            count_lists(found.lists, lists_of(segment), arrays.tally)
        part.totals[:] = counts[part.stored.columns]
        counts[:] = 0
        read = SearchStats("mergelist", lists_read=found.lists.size, postings_read=found.n_postings)
        read.bytes_read = found.n_postings * _ENTRY_BYTES
        self.stats.add(read)
