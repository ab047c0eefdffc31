"""Texts in memory, ready to be scanned for those that are spelled like others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.index.component_files import forget_pages
from dfjoin.index.soundness import stretches_of
from dfjoin.kernels.lanes import WORDS
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.sorted_words import sort_words
from dfjoin.kernels.texts.text_compare import CompareScratch, SpelledPairs, compare_texts
from dfjoin.kernels.texts.text_scan import (
    GRAM_SLOTS,
    KnownLists,
    ScanTexts,
    TextCandidates,
    TextLimit,
    measure_texts,
    order_texts,
    propose_texts,
    sign_texts,
    sizes_near,
)
from dfjoin.search.distance.distance_search import MOST_PAIRS, QUERIES_AT_ONCE
from dfjoin.vectors.fasttext_model import Texts

LONGEST = 256
"""Characters of a text; longer ones match equal texts alone."""

SPELLING_METRICS = ("edit", "jaccard", "tokens")
"""Edits of single characters; one minus the Jaccard similarity of the sets of 3-grams; edits of the words in order."""

_DEFAULTS = {"edit": 0.15, "jaccard": 0.35, "tokens": 0.15}
"""The largest twentieth at which a fifth of the pairs of misspelled names are wrong at most, see
docs/measurements/distance.md."""

_ROOM = 1 << 18
"""Candidates that are compared at once."""

_NEARER = 3
"""Part of a radius within which the partner of a value usually lies, where many texts lie within the whole."""

_SHORT = 64
"""Characters of texts whose signatures exclude most others; those of longer ones are counted, too."""

_READ_AT_ONCE = 1 << 16
"""Texts of a mapped file between two times that its pages are given back."""

_ASCII = 128


@dataclass(frozen=True)
class SpellingRadius:
    """How differently two texts may be spelled.

    Parameters
    ----------
    metric : {"edit", "jaccard", "tokens"}
    radius : float
    unit : {"fraction", "absolute"}
        A fraction is one of the characters of the longer text; sets of 3-grams differ by 1 at most in any case.
    """

    metric: str
    radius: float
    unit: str

    @property
    def is_grams(self) -> bool:
        """Whether sets of 3-grams are compared."""
        return self.metric == "jaccard"

    def least_change(self, size: int) -> float:
        """Return the radius below which a text of so many characters, or 3-grams, differs from none of no more."""
        return 1 / max(1, size) if self.is_grams or self.unit == "fraction" else 1.0

    def __str__(self) -> str:
        """Say how near texts have to be."""
        if self.is_grams:
            return f"Jaccard distance of 3-grams up to {self.radius:g}"
        what = " of the longer text" if self.unit == "fraction" else ""
        what += " with words in order" if self.metric == "tokens" else ""
        return f"edit distance up to {self.radius:g}{what}"


def spelling_radius(radius: float | None, unit: str | None, metric: str | None) -> SpellingRadius:
    """Return a radius among texts, with the default for what is not given.

    Raises
    ------
    InvalidParameterError
        If the metric or the unit is none of texts.
    """
    metric = SPELLING_METRICS[0] if metric is None else metric
    if metric not in SPELLING_METRICS:
        raise InvalidParameterError(
            f'`metric` of mode="fuzzy" must be one of {shortlist(SPELLING_METRICS)}, got {show(metric)}'
        )
    unit = "fraction" if unit is None else unit
    if unit not in ("fraction", "absolute"):
        raise InvalidParameterError(
            f'`radius_unit` of mode="fuzzy" must be "fraction" or "absolute", got {show(unit)}; metres and kilometres '
            'belong to places, with mode="embedding"'
        )
    if radius is None and unit == "absolute" and metric != "jaccard":
        raise InvalidParameterError(
            '`radius` must be given with radius_unit="absolute": the most edits of two texts, for example radius=2'
        )
    return SpellingRadius(metric, _DEFAULTS[metric] if radius is None else radius, unit)


class ChosenTexts(NamedTuple):
    """Some texts of an array.

    Parameters
    ----------
    data : ndarray of uint8
        UTF-8.
    offsets : ndarray of int64
        Where texts lie in it.
    chosen : ndarray of uint32, shape (n,)
        Which of them, ascending.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    chosen: NDArray[np.uint32]


def _with_sorted_words(texts: ChosenTexts) -> ChosenTexts:
    """Write the words of each text in order; longer texts become empty."""
    size = int(stretches_of(texts.offsets, texts.chosen, texts.data.size)[1].sum())
    found = np.zeros(size + 8, np.uint8), np.zeros(texts.chosen.size + 1, np.int64)
    data, offsets, chosen = as_read_only(texts.data), as_read_only(texts.offsets), as_read_only(texts.chosen)
    sort_words(data, offsets, chosen, LONGEST, np.empty((2, 2 * LONGEST + 1), np.int64), *found)
    return all_texts((found[1], found[0]))


class TextLists(NamedTuple):
    """The lists of columns that hold texts, where one pair for each query text and list is enough.

    Parameters
    ----------
    of_text : ndarray of uint32
        Of each text, by its number.
    of_query : ndarray of int64, shape (n_query_texts,)
        Of the text that is equal to each query text, with which no pair is needed; -1 for none.
    least : int
        Pairs of a query text that are listed in any case, as far as there are so many.
    """

    of_text: NDArray[np.uint32]
    of_query: NDArray[np.int64]
    least: int


class SimilarTexts:
    """Texts by size and signature; those without a letter, and those of more than 256 characters, are left out.

    Parameters
    ----------
    texts : ChosenTexts
    metric : {"edit", "jaccard", "tokens"}
        How they will be compared.

    Raises
    ------
    DamagedArraysError
        If texts lie outside of their data.

    Notes
    -----
    O(characters). Memory: 6 bytes a text beside the texts; 32 more of those that a search has looked at, 64 if they
    have more than 64 characters; with their words in order the texts once more. Texts of a mapped file are read in the
    order in which they lie, and their pages given back.
    """

    def __init__(self, texts: ChosenTexts, metric: str) -> None:
        self._is_grams = metric == "jaccard"
        own = _with_sorted_words(texts) if metric == "tokens" else texts
        data, offsets, chosen = as_read_only(own.data), as_read_only(own.offsets), as_read_only(own.chosen)
        sizes, counts = np.empty(chosen.size, np.int16), np.zeros(LONGEST + 3, np.int64)
        scratch = np.empty(LONGEST + 2, np.int64), np.full((2, GRAM_SLOTS), -1)
        for first in range(0, chosen.size, _READ_AT_ONCE):
            last = min(first + _READ_AT_ONCE, chosen.size)
            measure_texts(data, offsets, chosen, (first, last), self._is_grams, *scratch, sizes, counts)
            forget_pages(data[offsets[chosen[first]] : offsets[int(chosen[last - 1]) + 1]])
        indptr = np.append(0, np.cumsum(counts))
        m = int(indptr[-1])
        positions, order = np.empty(m, np.uint32), np.empty(m, np.int16)
        order_texts(sizes, chosen, indptr[:-1].copy(), positions, order)
        self.numbers: NDArray[np.uint32] = texts.chosen[positions] if metric == "tokens" else positions
        n_short = m if self._is_grams else int(indptr[_SHORT + 1])
        self._words, self._bags = np.zeros((4, m + WORDS), np.uint64), np.zeros((m - n_short, 32), np.uint8)
        self._is_signed, self._signing = np.zeros(counts.size, bool), Lock()
        arrays = data, offsets, positions, self.numbers, order, self._words, indptr, self._bags
        self._texts = ScanTexts(*map(as_read_only, arrays))

    def _sign(self, is_wanted: NDArray[np.bool_]) -> None:
        """Sign the texts of some sizes, each once; what no search looks at takes neither time nor memory."""
        texts = self._texts
        with self._signing:
            wanted = as_read_only(np.flatnonzero(is_wanted & ~self._is_signed))
            next_texts, ends = texts.indptr[wanted], texts.indptr[wanted + 1]
            while (left := np.flatnonzero(next_texts < ends)).size:
                first = int(texts.positions[next_texts[left]].min())
                last = min(first + _READ_AT_ONCE, texts.offsets.size - 1)
                sign_texts(texts, wanted, next_texts, last, self._is_grams, self._words, self._bags)
                forget_pages(texts.data[texts.offsets[first] : texts.offsets[last]])
            self._is_signed[wanted] = True

    def _sign_near(self, queries: SimilarTexts, limit: TextLimit) -> None:
        """Sign query texts, and the texts of sizes that may match them."""
        queries._sign(np.ones_like(queries._is_signed))
        is_near = np.zeros_like(self._is_signed)
        sizes_near(queries._texts, self._texts, limit, np.empty(queries.numbers.size, np.int64), is_near)
        self._sign(is_near)

    @classmethod
    def of(cls, texts: Texts, metric: str) -> Self:
        """Prepare texts that lie one behind the other: offsets and UTF-8, as in Arrow."""
        return cls(all_texts(texts), metric)

    def near(
        self,
        queries: SimilarTexts,
        radius: SpellingRadius,
        stats: NDArray[np.int64],
        lists: TextLists | None = None,
    ) -> Iterator[SpelledPairs]:
        """Find the texts within a radius of each of others, some of these at a time.

        Parameters
        ----------
        queries : SimilarTexts
            Made for the same metric.
        radius : SpellingRadius
        stats : ndarray of int64, shape (2,)
            Added to: signatures compared, pairs that signatures leave.
        lists : TextLists, optional
            Of columns; all pairs are listed without.

        Yields
        ------
        tuple of ndarray
            Numbers of the query text and of the text, as they were given, and their distance, in no order. All pairs of
            a query text come at once.
        """
        own = queries._texts
        limit = _limit_of(radius)
        self._sign_near(queries, limit)
        scratch, known = _scratch_of(own), self._known_lists(queries, lists)
        begin, step = 0, QUERIES_AT_ONCE
        while begin < own.sizes.size:
            stop = min(begin + step, own.sizes.size)
            pairs = _near(own, (begin, stop), self._texts, limit, (scratch, known), stats)
            if pairs is None:
                step = max(1, (stop - begin) // 4)
                continue
            owners, others = queries.numbers[pairs.queries], self.numbers[pairs.texts]
            yield SpelledPairs(owners.astype(np.int64), others.astype(np.int64), pairs.distances)
            begin = stop

    def usual_size(self) -> int:
        """Return the median of characters, or of 3-grams; 0 without a text."""
        sizes = self._texts.sizes
        return int(sizes[sizes.size // 2]) if sizes.size else 0

    def pairs(self, queries: SimilarTexts, radius: SpellingRadius) -> SpelledPairs:
        """Return all that `near` finds at once."""
        none = np.empty(0, np.int64)
        found = [SpelledPairs(none, none, np.empty(0)), *self.near(queries, radius, np.zeros(2, np.int64))]
        return SpelledPairs(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def distances(
        self, queries: SimilarTexts, pairs: tuple[NDArray[np.int64], NDArray[np.int64]], radius: SpellingRadius
    ) -> NDArray[np.float64]:
        """Measure pairs of a query text and a text; infinity for those that `near` does not find."""
        own, theirs = (side.positions(numbers) for side, numbers in zip((queries, self), pairs, strict=True))
        is_known = np.flatnonzero((own >= 0) & (theirs >= 0))
        order = is_known[np.lexsort((theirs[is_known], own[is_known]))]
        candidates = TextCandidates(*(as_read_only(side[order].astype(np.int32)) for side in (own, theirs)))
        room = SpelledPairs(np.empty(order.size, np.int64), np.empty(order.size, np.int64), np.empty(order.size))
        limit = _limit_of(radius)
        self._sign_near(queries, limit)
        n_kept = compare_texts(
            *(queries._texts, candidates, order.size, self._texts, limit, _scratch_of(queries._texts)),
            self._known_lists(queries, None),
            room,
        )
        found = np.full(own.size, np.inf)
        n_texts = max(1, self.numbers.size)
        kept = room.queries[:n_kept] * n_texts + room.texts[:n_kept]  # those beyond the radius are left out
        found[order[np.searchsorted(own[order] * n_texts + theirs[order], kept)]] = room.distances[:n_kept]
        return found

    def _known_lists(self, queries: SimilarTexts, lists: TextLists | None) -> KnownLists:
        """Return lists of columns as a kernel takes them: by place; none where all pairs are wanted."""
        if lists is None:
            last, met, counts = np.empty((3, 0), np.int64)
            return KnownLists(as_read_only(np.empty(0, np.uint32)), as_read_only(last), last, met, counts, 0)
        of_text, of_query = lists.of_text, lists.of_query[queries.numbers]
        n_lists = 1 + max(int(one.max(initial=0)) for one in (of_text, of_query))
        last, met = np.full(of_query.size, -1), np.full(n_lists, -1)
        counts = np.zeros(of_query.size, np.int64)
        return KnownLists(as_read_only(of_text), as_read_only(of_query), last, met, counts, lists.least)

    def positions(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where texts stand among those that are kept, by the numbers that they were given; -1: left out."""
        if not self.numbers.size:
            return np.full(numbers.size, -1)
        order = np.argsort(self.numbers)
        at = order[np.minimum(np.searchsorted(self.numbers, numbers, sorter=order), order.size - 1)]
        return np.where(self.numbers[at] == numbers, at, -1)


def all_texts(texts: Texts) -> ChosenTexts:
    """Return all texts that lie one behind the other: offsets and UTF-8, as in Arrow."""
    offsets, data = texts
    return ChosenTexts(data, offsets, np.arange(offsets.size - 1, dtype=np.uint32))


def _limit_of(radius: SpellingRadius) -> TextLimit:
    return TextLimit(float(radius.radius), radius.unit == "fraction", radius.is_grams)


def _near(
    own: ScanTexts,
    stretch: tuple[int, int],
    texts: ScanTexts,
    limit: TextLimit,
    scratch: tuple[CompareScratch, KnownLists],
    stats: NDArray[np.int64],
) -> SpelledPairs | None:
    """Find the pairs of a batch of query texts; None where several have too many together."""
    n = stretch[1] - stretch[0]
    room, most = max(_ROOM, 64 * n), np.empty(n, np.int64)
    proposed = TextCandidates(*np.empty((2, room), np.int32))
    pairs = SpelledPairs(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room))
    read, found, n_found = np.zeros(2, np.int64), [], 0
    known, passes = scratch[1], [(limit, np.zeros(3, np.int64))]
    may_be_nearer = known.of_text.size > 0 and not known.least  # pairs that are counted are found once
    while passes:
        limit, state = passes[-1]
        if propose_texts(own, *stretch, texts, limit, known, most, proposed, state, read):
            passes.pop()
        elif may_be_nearer and state[2] > room // 2:  # what is nearer comes first: lists that are met need no more
            passes.append((limit._replace(radius=limit.radius / _NEARER), np.zeros(3, np.int64)))
            may_be_nearer = False
        m = int(state[2])
        order = np.argsort((proposed.queries[:m] - stretch[0]).astype(np.uint16), kind="stable")  # sorted by radix
        candidates = TextCandidates(*(as_read_only(array[:m][order]) for array in proposed))
        n_kept = compare_texts(own, candidates, m, texts, limit, *scratch, pairs)
        read[1] += m
        found.append(tuple(array[:n_kept].copy() for array in pairs))
        n_found += n_kept
        if n_found > MOST_PAIRS and n > 1:
            known.last[slice(*stretch)] = -1
            known.met[:] = -1  # the pairs that met lists are discarded, and found again
            known.counts[slice(*stretch)] = 0
            return None
    stats += read
    queries, positions, distances = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return SpelledPairs(queries, positions, distances)


def _scratch_of(queries: ScanTexts) -> CompareScratch:
    """Number the characters of query texts, and make room for the longest text."""
    points = set(queries.data.tobytes().decode("utf-8", "replace"))
    codes = np.array(sorted(map(ord, points)), np.int32)
    ascii_numbers = np.zeros(_ASCII, np.int32)
    ascii_numbers[codes[codes < _ASCII]] = codes[codes < _ASCII] + 1
    alphabet = codes[codes >= _ASCII]
    n_blocks = LONGEST // 64
    return CompareScratch(
        ascii_numbers,
        as_read_only(alphabet),
        np.empty(LONGEST + 2, np.int64),
        np.empty(LONGEST + 2, np.int64),
        np.empty(LONGEST + 2, np.int32),
        np.empty(LONGEST + 2, np.int32),
        np.zeros((_ASCII + 1 + alphabet.size, n_blocks), np.uint64),
        np.empty(n_blocks, np.uint64),
        np.empty(n_blocks, np.uint64),
        np.zeros((n_blocks, _ASCII), np.uint64),
        *np.full((2, GRAM_SLOTS), -1),
    )
