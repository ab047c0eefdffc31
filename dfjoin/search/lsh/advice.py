"""Whether exact search or signatures are expected to answer a query faster, from what each would read."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dfjoin.index.signatures import partition_slots
from dfjoin.kernels.minhash import sign_hashes
from dfjoin.search.exact.costs import READ_COSTS
from dfjoin.search.exact.posting_lists import Query, gather
from dfjoin.search.exact.searcher import Searcher, smallest_count
from dfjoin.search.lsh.bands import bands_of_partitions
from dfjoin.search.lsh.ensemble import check_signatures, find_candidates, is_near
from dfjoin.types import IndexSettings, SearchParams
from dfjoin.values.normalize import ValueSet

__all__ = ["Advice", "compare_modes"]

# Nanoseconds, warm pages, beside those of `ReadCosts`.
_LOOKUP_NS = 25.0  # to find a value in the dictionary
_SIGN_NS = 1.5  # to draw for a value in one round
_STEP_NS = 2.0  # of the binary search in a row
_AGREE_NS = 3.0  # to count an agreeing entry
_SLOT_NS = 0.5  # to set up the scratch of a slot
_CALLS_NS = 60_000.0  # of Python around the kernels


@dataclass(frozen=True)
class Advice:
    """What both ways are expected to take.

    Parameters
    ----------
    exact_ns, lsh_ns : float
        Nanoseconds after normalisation, without the result frame.
    n_candidates : int
        Columns that signatures make candidates.
    """

    exact_ns: float
    lsh_ns: float
    n_candidates: int

    @property
    def mode(self) -> str:
        """The faster mode."""
        return "exact" if self.exact_ns <= self.lsh_ns else "lsh"

    def __str__(self) -> str:
        """Say it in a line."""
        return (
            f'mode="{self.mode}" is expected to be the faster: {self.exact_ns / 1e6:.2f} ms of posting lists, '
            f"{self.lsh_ns / 1e6:.2f} ms of signatures with {self.n_candidates:,} candidates"
        )


def compare_modes(searcher: Searcher, settings: IndexSettings, values: ValueSet, params: SearchParams) -> Advice | None:
    """Estimate what exact search and signatures take for a query.

    Parameters
    ----------
    searcher : Searcher
    settings : IndexSettings
        Of the index.
    values : ValueSet
        Of the query.
    params : SearchParams
        Its threshold; without one signatures save nothing.

    Returns
    -------
    Advice or None
        None where the index has only one of the two, or the query no values.

    Notes
    -----
    Nothing is counted, but the posting lists of the query and the candidates of the threshold are looked up:
    O(values + rows that agree).
    """
    if not settings.permutations or not settings.keep_sets or len(values) == 0:
        return None
    if any(segment.meta.group("signatures") is None for segment in searcher.segments):
        return None
    needed = smallest_count(params.threshold, len(values))
    costs = READ_COSTS
    exact = [_LOOKUP_NS * len(values) + _CALLS_NS / 2]
    rounds = max(1.0, settings.permutations * math.log(settings.permutations + 1) / len(values))
    signing = _CALLS_NS + _SIGN_NS * rounds * len(values)
    n_candidates = 0
    verifying = [0.0]
    signature = sign_hashes(values.hashes, settings.permutations, np.uint64(settings.hash_seed))
    for number, segment in enumerate(searcher.segments):
        if segment.n_tokens == 0:
            continue
        query = Query(searcher.groups_of(number, values), np.empty(0, np.int32), np.empty(0, np.uint8), 1, 1)
        with searcher.scratch_of(number).lend() as arrays:
            found = gather(segment, arrays, query)
            arrays.clear(found.lists, found.n_private)
        merging = costs.list_ns * found.lists.size + costs.posting_ns * found.n_postings
        exact.append(merging)
        stored = check_signatures(segment, settings)
        indptr, ends = partition_slots(stored.sizes, settings.partition_ends)
        bands = bands_of_partitions(settings.permutations, params.threshold or 0.0, ends, len(values), params.recall)
        probed = find_candidates(stored, signature, needed, indptr, bands)
        agreed, sizes = probed.agreed[probed.slots], stored.sizes[probed.slots]
        share = needed / len(values)
        near = is_near(agreed, sizes, share, len(values), settings.permutations, params.recall)
        columns = stored.columns[probed.slots[near]]
        n_candidates += columns.size
        signing += _STEP_NS * settings.permutations * math.log2(stored.sizes.size + 2)
        signing += _AGREE_NS * probed.n_agreeing + _SLOT_NS * stored.sizes.size
        entries = int((segment.tokens.set_indptr[columns + 1] - segment.tokens.set_indptr[columns]).sum())
        reading = costs.set_ns * columns.size + costs.entry_ns * entries
        verifying.append(min(merging, reading) if params.verify else 0.0)
    if needed < settings.smallest_signed:  # that mode searches exactly then
        return Advice(sum(exact), sum(exact), n_candidates)
    looking = _LOOKUP_NS * len(values) if n_candidates and params.verify else 0.0
    return Advice(sum(exact), signing + looking + sum(verifying), n_candidates)
