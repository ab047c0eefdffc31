"""Search by signatures (LSH Ensemble): candidate columns by band, then counted exactly, or estimated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError
from dfjoin.index.segment import Segment, Signatures, reading
from dfjoin.index.signatures import partition_slots
from dfjoin.kernels.lists.mergelist import sum_sets
from dfjoin.kernels.records import Sets
from dfjoin.kernels.sets.lsh_candidates import PartitionBands, Stretches, collect_candidates, find_equal
from dfjoin.kernels.sets.minhash import sign_hashes
from dfjoin.kernels.sorting import distinct_numbers
from dfjoin.search.exact.costs import ENTRY_BYTES, READ_COSTS
from dfjoin.search.exact.posting_lists import (
    Query,
    TopColumns,
    allowed_columns,
    gather,
    reading_postings,
)
from dfjoin.search.exact.searcher import MatchedQuery, searcher_of, smallest_count
from dfjoin.search.hits import Hits, join_hits, rank_columns
from dfjoin.search.lsh.bands import (
    Bands,
    BandsOfPartitions,
    bands_of_partitions,
    containment_of,
    jaccard_of,
    rounded_ratios,
    standard_error,
)
from dfjoin.search.lsh.expected_recall import fewest_agreeing, number_behind, uniform_recall
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.store.snapshot import Snapshot
from dfjoin.types import IndexSettings

_THRESHOLD_STEP = 0.05
_WORTH = 0.7
"""Share of the time of exact search that counting by signatures may take; more is answered by exact search."""
_NO_WEIGHTS = np.empty(0, np.int32)
_NO_BANDS = BandsOfPartitions(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True)
class SlotCandidates:
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
) -> SlotCandidates:
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
    SlotCandidates
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
                stretches,
                stored.slots,
                first_slot,
                PartitionBands(indptr, bands.n_bands, bands.n_band_rows),
                agreed,
                slots,
            )
    return SlotCandidates(slots[:n_found], agreed, n - first_slot, n_agreeing)


@dataclass(frozen=True)
class SteppedHits:
    """Columns that a search at falling thresholds found, and where: so that searches of parts of a lake can be merged.

    Parameters
    ----------
    hits : Hits
    steps : ndarray of int64, shape (n,)
        Number of the threshold at which each was found first.
    is_exact : ndarray of bool, shape (n,)
        Found by posting lists, and not by a signature.
    """

    hits: Hits
    steps: NDArray[np.int64]
    is_exact: NDArray[np.bool_]

    def answer(self, snapshot: Snapshot, k: int | None) -> Hits:
        """Return the hits at the highest threshold at which there are `k`; all where none has so many.

        Where all columns are in posting lists, these answer for all columns at the threshold at which they are asked.
        Of what posting lists hold the best `k` are returned, whatever the segments.
        """
        n_each = np.bincount(self.steps) if self.steps.size else np.zeros(1, np.int64)
        enough = np.flatnonzero(np.cumsum(n_each) >= (self.steps.size + 1 if k is None else k))
        is_in = self.steps <= (enough[0] if enough.size else n_each.size)
        listed = np.flatnonzero(self.is_exact & is_in)
        if listed.size == 0:
            return self.hits.take(np.flatnonzero(is_in))
        exact = self.hits.take(listed)
        order = rank_columns(
            snapshot.segments, (exact.segments, exact.columns), (-exact.matched_rows, exact.cardinality), k
        )
        exact = exact.take(order)
        if snapshot.settings.keep_sets:
            return exact
        return join_hits([self.hits.take(np.flatnonzero(is_in & ~self.is_exact)), exact])


def search_signatures(
    snapshot: Snapshot, matched: MatchedQuery, params: SearchParams
) -> tuple[SteppedHits, SearchStats]:
    """Find the columns that contain at least a share of the query, by signatures where this saves reading.

    Parameters
    ----------
    snapshot : Snapshot
    matched : MatchedQuery
        The query; matched to a segment only where something is counted.
    params : SearchParams
        Without a threshold, or with `k`, thresholds are lowered from 1 in steps until `k` columns are found.

    Returns
    -------
    found : SteppedHits
        With `params.verify` counted exactly wherever the index holds the sets, else estimated. No count and no
        estimate is below the threshold.
    stats : SearchStats
        `is_complete` tells whether a column may be missing, `expected_recall` what share of them is expected here.

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

    Candidates are counted by their sets, for which the query is looked up as exact search does; only the reading of
    posting lists is saved. Where that is so little, or the sets so large, that more than seven tenths of the time of
    exact search would be taken, exact search answers (`dfjoin.search.exact.costs`), and no column is missing.

    The expected recall follows from the counted columns: a column of which one in 1 / p is found stands for 1 / p
    columns, and one more column with the recall of uniform containment stands for what is not known yet. Where
    nothing is counted, or rows are weighted, containment is taken as uniform above the threshold.
    """
    stats = SearchStats(n_values=len(matched.values))
    if len(matched.values) == 0:
        return SteppedHits(join_hits([]), np.empty(0, np.int64), np.empty(0, bool)), stats
    search = _EnsembleSearch(snapshot, matched, params)
    for step, threshold in enumerate(_thresholds(params)):
        if not search.pays:
            return search.answered_exactly()
        n_needed = search.fewest_values(threshold)
        if n_needed < snapshot.settings.smallest_signed and snapshot.settings.keep_sets:
            listed, stats = searcher_of(snapshot).search(matched, params)
            search.keep_small(step, listed)
            return search.found(), search.with_read(stats)
        n_found = search.lower(step, threshold, n_needed)
        if params.k is not None and n_found >= params.k:
            break
    if not search.pays:
        return search.answered_exactly()
    stats.add(search.stats)
    return search.found(), stats


def _thresholds(params: SearchParams) -> list[float]:
    """List the thresholds to try, highest first; the last is the one that was asked for."""
    lowest = 0.0 if params.threshold is None else params.threshold
    if params.k is None:
        return [lowest]
    steps = [round(1 - _THRESHOLD_STEP * i, 6) for i in range(round(1 / _THRESHOLD_STEP))]
    return [t for t in steps if t > lowest] + [lowest]


class _Estimates(NamedTuple):
    """Values and rows of the query that columns are estimated to match."""

    matched: NDArray[np.int64]
    rows: NDArray[np.int64]


@dataclass
class _SegmentProbe:
    """One segment in a search: its signatures, and what is known of its slots so far.

    `totals` are the matched values (or rows) of the slots that were counted, -1 for the others; `found` the
    candidates that reach the present threshold, `steps` the number of the threshold at which each slot did so first,
    and `agreed` the rows in which slots agree with the query; `bands` are those of the present threshold.
    """

    number: int
    stored: Signatures
    indptr: NDArray[np.int64]
    ends: NDArray[np.int64]
    allowed: NDArray[np.uint8]
    is_candidate: NDArray[np.bool_]
    totals: NDArray[np.int32]
    found: NDArray[np.int64]
    agreed: NDArray[np.uint16]
    steps: NDArray[np.int64]
    bands: BandsOfPartitions = _NO_BANDS
    is_matched: bool = False


class _EnsembleSearch:
    """One query on its way through the segments of an index, at falling thresholds."""

    def __init__(self, snapshot: Snapshot, matched: MatchedQuery, params: SearchParams) -> None:
        self.searcher = searcher_of(snapshot)
        self.settings = snapshot.settings
        for segment in self.searcher.segments:
            if segment.n_columns:
                check_signatures(segment, self.settings)
        self.matched = matched
        self.params = params
        self.is_counted = params.verify and snapshot.settings.keep_sets
        values = matched.values
        self.n_query = len(values)
        self.stats = SearchStats(plan="lsh", n_values=self.n_query)
        rows = values.row_counts() if params.is_weighted else None
        self.weights = _NO_WEIGHTS if rows is None else rows.astype(np.int32)
        self.total = self.n_query if rows is None else int(rows.sum())
        self.heaviest = None if rows is None else np.cumsum(np.sort(rows)[::-1])
        self.small = join_hits([])
        self.small_steps: dict[tuple[int, int], int] = {}
        self.is_probed = False
        self.spent_ns = 0.0

    @property
    def pays(self) -> bool:
        """Whether signatures are expected to save enough; always, where nothing is counted."""
        return not self.is_counted or self.spent_ns < self.budget_ns

    @cached_property
    def budget_ns(self) -> float:
        """The time that may be spent on signatures and sets, so that the search takes `_WORTH` of an exact one."""
        costs = READ_COSTS
        merging = 0.0
        for number, segment in enumerate(self.searcher.segments):
            if segment.n_columns:
                groups, indptr = self.matched.groups(number), segment.tokens.list_indptr
                lists = distinct_numbers(groups[groups >= segment.n_columns]) - segment.n_columns
                merging += costs.list_ns * lists.size + costs.posting_ns * int(
                    (indptr[lists + 1] - indptr[lists]).sum()
                )
        common = costs.search_ns + costs.value_ns * self.n_query
        return _WORTH * (common + merging) - common

    def answered_exactly(self) -> tuple[SteppedHits, SearchStats]:
        """Answer by posting lists; each column counts as found at the highest threshold that it reaches."""
        listed, stats = self.searcher.search(self.matched, self.params)
        minima = np.array([smallest_count(threshold, self.total) for threshold in _thresholds(self.params)])
        steps = np.count_nonzero(minima[:, None] > listed.matched_rows, axis=0)
        return SteppedHits(listed, steps, np.zeros(len(listed), bool)), self.with_read(stats)

    def with_read(self, stats: SearchStats) -> SearchStats:
        """Add what was read before exact search answered, which looks up all values and misses no column."""
        if self.is_probed:
            stats.add(replace(self.stats, n_found=0, expected_recall=1.0, is_complete=True))
        return stats

    @cached_property
    def signature(self) -> NDArray[np.uint32]:
        """The query's signature."""
        return sign_hashes(self.matched.values.hashes, self.settings.permutations, np.uint64(self.settings.hash_seed))

    @cached_property
    def probes(self) -> list[_SegmentProbe]:
        """The segments that hold columns."""
        probes = []
        for number, segment in enumerate(self.searcher.segments):
            if segment.n_columns:
                stored = segment.signatures
                indptr, ends = partition_slots(stored.sizes, self.settings.partition_ends)
                n = stored.sizes.size
                known = np.zeros(n, bool), np.full(n, -1, np.int32), np.empty(0, np.int64), np.zeros(n, np.uint16)
                allowed = allowed_columns(segment, self.params)
                probes.append(_SegmentProbe(number, stored, indptr, ends, allowed, *known, np.full(n, -1)))
        return probes

    def fewest_values(self, threshold: float) -> int:
        """Return how many distinct values a column holds at least that reaches a threshold."""
        minimum = smallest_count(threshold, self.total)
        return minimum if self.heaviest is None else int(np.searchsorted(self.heaviest, minimum)) + 1

    def lower(self, step: int, threshold: float, n_needed: int) -> int:
        """Find the columns that reach a threshold, which is below those before; return how many there are."""
        minimum = smallest_count(threshold, self.total)
        recall, n_compared = 0.0, 0
        self.is_probed = True
        for probe in self.probes:
            candidates, expected = self._probe(probe, threshold, n_needed)
            n_compared += candidates.n_compared
            recall += expected * candidates.n_compared
            probe.is_candidate[candidates.slots] = True
            probe.agreed = candidates.agreed
            if self.is_counted:
                unknown = candidates.slots[probe.totals[candidates.slots] < 0]
                self._spend(probe, candidates, unknown)
                if not self.pays:
                    self._note_compared(n_compared)
                    return 0
                if unknown.size:
                    self._count(probe, unknown)
                probe.found = np.flatnonzero(probe.is_candidate & (probe.totals >= minimum))
            else:
                slots = np.flatnonzero(probe.is_candidate)
                probe.found = slots[self._estimates(probe, slots).rows >= minimum]
            probe.steps[probe.found[probe.steps[probe.found] < 0]] = step
        if n_needed < self.settings.smallest_signed:  # small columns, whose sets are always kept
            listed, stats = self.searcher.search(self.matched, replace(self.params, threshold=threshold))
            self.keep_small(step, listed)
            self.stats.add(stats)
        self._note_compared(n_compared)
        uniform = recall / n_compared if n_compared else 1.0
        self.stats.expected_recall = self._expected_recall(uniform, n_needed / self.n_query) if n_compared else 1.0
        self.stats.is_complete = n_compared == 0
        return len(self.small) + sum(probe.found.size for probe in self.probes)

    def _note_compared(self, n_compared: int) -> None:
        """Note how many signatures were compared at a threshold, and the candidates of all thresholds so far."""
        self.stats.signatures_compared = max(self.stats.signatures_compared, n_compared)
        self.stats.candidates = sum(int(probe.is_candidate.sum()) for probe in self.probes)

    def keep_small(self, step: int, listed: Hits) -> None:
        """Keep what posting lists hold at a threshold; what they held at those before is among it."""
        self.small = listed
        for column in zip(listed.segments.tolist(), listed.columns.tolist(), strict=True):
            self.small_steps.setdefault(column, step)

    def found(self) -> SteppedHits:
        """Return the columns that reach the last threshold, and where each was found."""
        make = self._counted if self.is_counted else self._estimated
        probes = [probe for probe in self.probes if probe.found.size] if self.is_probed else []
        columns = zip(self.small.segments.tolist(), self.small.columns.tolist(), strict=True)
        small_steps = np.array([self.small_steps[column] for column in columns], np.int64)
        steps = [*(probe.steps[probe.found] for probe in probes), small_steps]
        hits = join_hits([*(make(probe) for probe in probes), self.small])
        is_exact = np.arange(len(hits)) >= len(hits) - len(self.small)
        return SteppedHits(hits, np.concatenate(steps), is_exact)

    def _probe(self, probe: _SegmentProbe, threshold: float, n_needed: int) -> tuple[SlotCandidates, float]:
        """Find the candidates of a segment, and the recall to expect."""
        n_query, n_rows, wanted = self.n_query, self.settings.permutations, self.params.recall
        tuned = threshold if self.heaviest is None else n_needed / n_query
        bands = bands_of_partitions(n_rows, tuned, probe.ends, n_query, wanted)
        found = find_candidates(probe.stored, self.signature, n_needed, probe.indptr, bands)
        probe.bands = bands
        widths = np.diff(np.maximum(probe.indptr, probe.stored.sizes.size - found.n_compared))
        share, ratios = n_needed / n_query, rounded_ratios(probe.ends, n_query)
        recalls = [
            uniform_recall(n_rows, round(tuned, 2), ratio, Bands(*chosen), wanted, self.is_counted)
            for ratio, *chosen in zip(ratios.tolist(), *map(np.ndarray.tolist, bands), strict=True)
        ]
        recall = float(widths @ np.array(recalls)) / max(1, found.n_compared)
        fewest = fewest_agreeing(probe.stored.sizes[found.slots] / n_query, share, n_rows, wanted, True)
        slots = found.slots[found.agreed[found.slots] >= fewest]
        if probe.allowed.size:
            slots = slots[probe.allowed[probe.stored.columns[slots]] > 0]
        return replace(found, slots=np.sort(slots)), recall

    def _counted(self, probe: _SegmentProbe) -> Hits:
        """Make hits of a segment's columns with their counts."""
        top = TopColumns(probe.stored.columns[probe.found], probe.totals[probe.found], SearchStats())
        return self.searcher.make_hits(probe.number, self._query(probe), top)

    def _estimated(self, probe: _SegmentProbe) -> Hits:
        """Make hits of a segment's columns with the containment that their signatures tell."""
        n_query, n_rows = self.n_query, self.settings.permutations
        columns, sizes = probe.stored.columns[probe.found], probe.stored.sizes[probe.found]
        matched, rows = self._estimates(probe, probe.found)
        errors = standard_error(probe.agreed[probe.found] / n_rows, sizes, n_query, n_rows)
        numbers = np.full(columns.size, probe.number, np.int64)
        return Hits(numbers, columns.astype(np.int64), matched, rows, sizes, errors)

    def _estimates(self, probe: _SegmentProbe, slots: NDArray[np.int64]) -> _Estimates:
        """Estimate the matched values and rows of some slots by the rows of signatures that agree."""
        shares = containment_of(
            probe.agreed[slots] / self.settings.permutations, probe.stored.sizes[slots], self.n_query
        )
        matched = np.maximum(1, np.rint(shares * self.n_query)).astype(np.int64)
        rows = matched if self.heaviest is None else np.maximum(1, np.rint(shares * self.total)).astype(np.int64)
        return _Estimates(matched, rows)

    def _expected_recall(self, uniform: float, share: float) -> float:
        """Return the share of the columns that are expected to be here, by those that are.

        `uniform` is that share if containment is uniform above the threshold, which is `share` of the query's values.
        """
        if not self.is_counted or self.heaviest is not None:
            return uniform
        n_found, n_behind = 1.0 + len(self.small), 1 / uniform + len(self.small)
        n_query, n_rows = self.n_query, self.settings.permutations
        for probe in self.probes:
            sizes = probe.stored.sizes[probe.found] / n_query
            similarity = jaccard_of(probe.totals[probe.found] / n_query, sizes, 1)
            partitions = np.searchsorted(probe.indptr, probe.found, side="right") - 1
            fewest = fewest_agreeing(sizes, share, n_rows, self.params.recall, True)
            chosen = probe.bands.n_bands[partitions], probe.bands.n_band_rows[partitions]
            n_found += probe.found.size
            n_behind += number_behind(similarity, fewest, n_rows, *chosen)
        return n_found / n_behind

    def _query(self, probe: _SegmentProbe) -> Query:
        """Return the query against one segment."""
        segment, groups = self.searcher.segments[probe.number], self.matched.groups(probe.number)
        if not probe.is_matched:
            probe.is_matched = True
            self.stats.n_found += int(np.count_nonzero(groups >= 0))
        return Query(groups, self.weights, probe.allowed, 1, segment.n_columns)

    def _spend(self, probe: _SegmentProbe, candidates: SlotCandidates, slots: NDArray[np.int32]) -> None:
        """Add the time to compare signatures, and to read the sets of slots."""
        costs = READ_COSTS
        n_entries = candidates.n_agreeing + self._n_entries(probe, slots) + (self.n_query if slots.size else 0)
        self.spent_ns += costs.probe_ns + costs.set_ns * slots.size + costs.entry_ns * n_entries

    def _n_entries(self, probe: _SegmentProbe, slots: NDArray[np.int32]) -> int:
        """Return the entries of the sets of some slots."""
        indptr, columns = self.searcher.segments[probe.number].tokens.set_indptr, probe.stored.columns[slots]
        return int((indptr[columns + 1] - indptr[columns]).sum())

    def _count(self, probe: _SegmentProbe, slots: NDArray[np.int32]) -> None:
        """Count slots by reading their sets."""
        segment, query = self.searcher.segments[probe.number], self._query(probe)
        columns, tokens, n_entries = probe.stored.columns[slots], segment.tokens, self._n_entries(probe, slots)
        with self.searcher.scratch_of(probe.number).lend() as arrays:
            found = gather(segment, arrays, query)
            totals = np.empty(columns.size, np.int32)
            with reading_postings(segment):
                sum_sets(columns, Sets(tokens.set_indptr, tokens.set_lists), arrays.tally, totals)
            arrays.clear(found.lists, found.n_private)
        probe.totals[slots] = totals
        n_bytes = n_entries * ENTRY_BYTES
        self.stats.add(SearchStats("lsh", sets_read=columns.size, set_entries_read=n_entries, bytes_read=n_bytes))
