"""The probability that results of a program are values of the target by chance, and the evidence against it.

Over plain strings and counts: nothing here knows columns or joins.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Combined, Constant
from dfjoin.transform.evidence.grids import grid_density
from dfjoin.values.shares import NEARLY_ALL
from dfjoin.values.unicode import normalize_text

_NUMBER = re.compile(r"\d+|(?<![^\W\d_])(?:[ivx]{1,5}|[^\W\d_])(?![^\W\d_])")
"""Digits, small Roman numerals and lone letters."""
_MIN_SERIES = 3
"""Values that have all but their numbers in common, from which they are a series."""


def series_chance(outputs: Sequence[str], targets: Sequence[str]) -> float:
    """Estimate the probability that an output is a target by chance if both have numbers in one list of names.

    Parameters
    ----------
    outputs, targets : sequence of str
        Distinct canonical values, in small letters.

    Returns
    -------
    float
        From 0 to 1; 0 where names do not come in series.

    Notes
    -----
    The name of an output, that is, the text without its numbers, is taken as given, if three different values of
    outputs and targets have it. Its number is drawn from those that the other such names have: small ones are more
    frequent. The result is the mean over the outputs of twice the probability that this is a number that the name has
    among the targets; twice, since numbers come in stretches. O(characters).

    Examples
    --------
    >>> towns = ["salem", "dover", "milton", "aurora"]
    >>> wards = [[f"{town} ward {i}" for town in towns for i in numbers] for numbers in ((1, 2), (2, 3))]
    >>> series_chance(*wards)
    1.0
    >>> series_chance(["salem", "dover"], ["dover", "milton"])
    0.0
    """
    made, known = [_cut(value) for value in outputs], [_cut(value) for value in targets]
    every: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    held: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for name, numbers in [*made, *known]:
        every[name].add(numbers)
    for name, numbers in known:
        held[name].add(numbers)
    series = {name: found for name, found in every.items() if len(found) >= _MIN_SERIES}
    counts = Counter(numbers for found in series.values() for numbers in found)
    total = counts.total()
    chances = {
        name: min(1.0, 2 * sum(counts[numbers] - 1 for numbers in held[name]) / max(1, total - len(found)))
        for name, found in series.items()
    }
    return sum(chances.get(name, 0.0) for name, _ in made) / len(made)


def _cut(value: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a value, its numbers exchanged for one mark, and the numbers."""
    return _NUMBER.sub("#", value), tuple(_NUMBER.findall(value))


MIN_BITS = 10.0
"""Least evidence against chance, the description length of the program subtracted: chance below 1 in 1,000."""
MIN_PRECISION = 0.9
"""Estimated precision below which a program is not accepted."""
_PRIOR_WEIGHT = 3.0
"""Weight of single characters beside the counted pairs of neighbours."""
_MIN_SHAPED_VALUES = 4
"""Fewer values of one length say nothing about their shape."""
_MAX_DECOYS = 3
_DIGITS = "0123456789"
_MOVES = (1, 2, 5)
_MAX_DIGITS = 4
_COMBINED_BITS = 8.0
"""Description length of the choice of what is computed from two columns, and of the second one."""
SAMPLE_VALUES = 500
"""Values of a column from which the probability of a match is estimated."""


def _filled_share(outputs: Sequence[str], targets: Sequence[str]) -> float:
    """Return twice the share that targets of the length of an output make up of all texts of their shape, on average.

    Where all targets have one length, outputs of another length count as theirs. Fewer than four targets of a length
    say nothing.
    """
    by_length: dict[int, list[str]] = {}
    for target in targets:
        by_length.setdefault(len(target), []).append(target)
    shares = {
        length: 2 * len(values) / math.prod(_richness(characters) for characters in zip(*values, strict=True))
        for length, values in by_length.items()
        if len(values) >= _MIN_SHAPED_VALUES
    }
    if len(by_length) == 1:
        return max(shares.values(), default=0.0)
    return sum(min(1.0, shares.get(len(output), 0.0)) for output in outputs) / len(outputs)


def _richness(characters: Sequence[str]) -> float:
    """Estimate how many different characters a position has, those included that no value shows (Chao 1984)."""
    counts = Counter(characters)
    once = sum(count == 1 for count in counts.values())
    twice = sum(count == 2 for count in counts.values())
    return len(counts) + once * (once - 1) / (2 * (twice + 1))


class _Characters:
    """Counts of characters and of pairs of neighbours in a list of values."""

    def __init__(self, values: Sequence[str]) -> None:
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.firsts: Counter[str] = Counter()
        self.singles: Counter[str] = Counter()
        for value in values:
            text = f"\n{value}\n"
            self.pairs.update(pairwise(text))
            self.firsts.update(text[:-1])
            self.singles.update(text[1:])
        self.total = self.singles.total()
        self.n_characters = len(self.singles) + 1

    def log2(self, value: str, n_own: int) -> float:
        """Return log2 of the probability of a value, with its own `n_own` occurrences taken out."""
        text = f"\n{value}\n"
        pairs = Counter(pairwise(text))
        firsts, singles = Counter(text[:-1]), Counter(text[1:])
        bits = 0.0
        for (a, b), count in pairs.items():
            single = self.singles[b] - n_own * singles[b] + 1
            base = single / (self.total - n_own * len(text[1:]) + self.n_characters)
            pair = self.pairs[a, b] - n_own * count + _PRIOR_WEIGHT * base
            bits += count * math.log2(pair / (self.firsts[a] - n_own * firsts[a] + _PRIOR_WEIGHT))
        return bits


def chance_of_match(outputs: Sequence[str], targets: Sequence[str]) -> float:
    """Estimate the probability that a text like the outputs is one of the target's values by chance.

    Parameters
    ----------
    outputs, targets : sequence of str
        Distinct canonical values; at least one of each.

    Returns
    -------
    float
        Between 1e-12 and 1.

    Notes
    -----
    Values on a regular grid, as numbers, days, times, codes of one build: twice the density of the targets on
    the grid of the outputs (`grids.grid_density`), since numbers and days come in stretches; and the rule for one
    length below. Otherwise the sum over the targets of their probability under a model of neighbouring characters
    made of outputs and targets, with the target itself left out, or if that is larger under the model that all
    characters seen are equally likely. Targets of the length of an output, four or more, also make up a share of the
    texts of their shape (those with the characters that some value has at each position, and an estimate of those not
    seen), and twice that share, the mean over the outputs, is the lower bound; numbered names have another one
    (`series_chance`). At most 500 of each are looked at, and the sum is scaled up. A word that begins another word of
    all outputs is not looked at: ``au aus`` is read of three letters, and is no more evidence than ``aus``.
    """
    outputs, targets = _read_once(outputs, targets)
    if not targets:
        return 1e-12
    density = grid_density(outputs, targets)
    if density:
        return min(1.0, max(1e-12, 2 * density, _filled_share(outputs, targets)))
    some_outputs = outputs[:: max(1, len(outputs) // SAMPLE_VALUES)][:SAMPLE_VALUES]
    some = targets[:: max(1, len(targets) // SAMPLE_VALUES)][:SAMPLE_VALUES]
    model = _Characters([*some_outputs, *some])
    given = Counter([*some_outputs, *some])
    alphabet = max(2, len(model.singles) - 1)
    neighbours = sum(2.0 ** min(0.0, model.log2(value, given[value])) for value in some)
    total = max(neighbours, sum(float(alphabet) ** -len(value) for value in some)) * len(targets) / len(some)
    return min(1.0, max(1e-12, total, _filled_share(some_outputs, targets), series_chance(some_outputs, targets)))


def _read_once(outputs: Sequence[str], targets: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Leave out words that begin another word of all outputs, and the targets in which they do not.

    Nothing is left out where outputs have different numbers of words.
    """
    made = [output.split(" ") for output in outputs]
    known = [words for target in targets if len(words := target.split(" ")) == len(made[0])]
    if len(made[0]) == 1 or any(len(words) != len(made[0]) for words in made):
        return outputs, targets
    while found := _repeated(made):
        less, more = found
        known = [words for words in known if words[more].startswith(words[less])]
        for words in (*made, *known):
            del words[less]
        outputs, targets = (list(map(" ".join, some)) for some in (made, known))
    return outputs, targets


def _repeated(texts: list[list[str]]) -> tuple[int, int] | None:
    """Return the positions of two words of which one begins the other in all texts; None if there are none."""
    order = sorted(range(len(texts[0])), key=texts[0].__getitem__)  # what begins others stands before them
    pairs = pairwise(order)
    return next(((i, j) for i, j in pairs if all(words[j].startswith(words[i]) for words in texts)), None)


def without_constants(program: Program, values: Sequence[str]) -> list[str]:
    """Take the constants at the ends of a program off the values that have them; the others are left out.

    What a program adds by itself is no evidence: ``'no. ' + x`` counts as x does against the numbers behind ``no.``.
    """
    pieces = program.pieces
    prefix = normalize_text(pieces[0].text + "x")[:-1] if isinstance(pieces[0], Constant) else ""
    suffix = normalize_text("x" + pieces[-1].text)[1:] if isinstance(pieces[-1], Constant) else ""
    least = len(prefix) + len(suffix)
    return [
        value[len(prefix) : len(value) - len(suffix)]
        for value in values
        if len(value) > least and value.startswith(prefix) and value.endswith(suffix)
    ]


def decoys(program: Program, outputs: Sequence[str], targets: Sequence[str]) -> list[list[str]]:
    """Write outputs with other constants, to see whether these would do as well.

    Parameters
    ----------
    program : Program
    outputs, targets : sequence of str
        Canonical values.

    Returns
    -------
    list of list of str
        For a constant at the start, then for one at the end, up to three lists each: the outputs with the constant
        exchanged for another beginning or end of targets, of the same length, the most frequent first. Nothing for a
        constant without letters and digits, or that nine tenths of the targets have.
    """
    found: list[list[str]] = []
    ends = (program.pieces[0], program.pieces[-1])
    texts = [
        normalize_text(ends[0].text + "x")[:-1] if isinstance(ends[0], Constant) else "",
        normalize_text("x" + ends[1].text)[1:] if isinstance(ends[1], Constant) else "",
    ]
    for text, is_start in zip(texts, (True, False), strict=True):
        n = len(text)
        seen = Counter(target[:n] if is_start else target[-n:] for target in targets if len(target) >= n)
        if not any(map(str.isalnum, text)) or seen[text] >= NEARLY_ALL * len(targets):
            continue
        others = [other for other, _ in seen.most_common(_MAX_DECOYS + 1) if other != text][:_MAX_DECOYS]
        stems = [output[n:] if is_start else output[:-n] for output in outputs if len(output) > n]
        found += [[other + stem if is_start else stem + other for stem in stems] for other in others]
    return found


def other_digits(program: Program) -> list[Program]:
    """Exchange the digits of constants within a program for others, to see whether these would do as well.

    Parameters
    ----------
    program : Program

    Returns
    -------
    list of Program
        For each of the first four digits of a constant, but for those at the ends (see `decoys`), three programs with
        the digit moved on by 1, 2 and 5: ``'-01-'`` moves days to the first month of their year, as ``'-02-'`` would.
    """
    found = []
    for position, piece in enumerate(program.pieces[1:-1], 1):
        text = piece.text if isinstance(piece, Constant) else ""
        for i in [i for i, c in enumerate(text) if c in _DIGITS][:_MAX_DIGITS]:
            for more in _MOVES:
                moved = f"{text[:i]}{_DIGITS[(_DIGITS.index(text[i]) + more) % 10]}{text[i + 1 :]}"
                pieces = (*program.pieces[:position], Constant(moved), *program.pieces[position + 1 :])
                found.append(replace(program, pieces=pieces))
    return found


def description_bits(program: Program) -> float:
    """Return the description length of a program: the bits that single it out among all that may be learned."""
    bits = sum(condition.description_bits for condition in program.conditions)
    for piece in program.pieces:
        bits += 2 + (len(piece.text) if isinstance(piece, Constant) else 3 * len(piece.all_steps))
        bits += _COMBINED_BITS * isinstance(piece, Combined)
    return bits


def evidence_bits(n_hits: int, n_outputs: int, chance: float) -> float:
    """Return the evidence against chance in bits: -log2 of a bound on the binomial tail.

    Parameters
    ----------
    n_hits : int
        Distinct results that are values of the target.
    n_outputs : int
        Distinct results.
    chance : float
        Probability that one of them is so by chance.

    Returns
    -------
    float
        0 if there are no more hits than chance lets expect.

    Notes
    -----
    Chernoff: P(X >= k) <= 2^(-n KL(k/n || p)), for n independent results.
    """
    if n_outputs == 0 or n_hits == 0:
        return 0.0
    share = n_hits / n_outputs
    if share <= chance:
        return 0.0
    bits = share * math.log2(share / chance)
    if share < 1:
        bits += (1 - share) * math.log2((1 - share) / (1 - chance))
    return n_outputs * bits


def matching_bits(n_hits: int, n_outputs: int, n_targets: int, chance: float) -> float:
    """Return the evidence against chance where each result meets a target value of its own.

    Parameters
    ----------
    n_hits : int
        Distinct results that are values of the target; each a value that no other one is.
    n_outputs : int
        Distinct results.
    n_targets : int
        Distinct values of the target.
    chance : float
        Probability that one result is a value of the target by chance, at least 1e-12.

    Returns
    -------
    float
        0 if there are no more hits than chance lets expect.

    Notes
    -----
    The larger of `evidence_bits` and the union bound over the sets of results that may hit when both are drawn from
    N = n_targets / chance values: P(X >= k) <= C(n, k) C(m, k) / C(N, k).
    """
    bits = evidence_bits(max(0, n_hits), max(0, n_outputs), chance)
    if not 0 < n_hits <= min(n_outputs, n_targets) or bits == 0:
        return bits
    room = max(n_targets / chance, float(n_outputs))
    return max(bits, _log2_choose(room, n_hits) - _log2_choose(n_outputs, n_hits) - _log2_choose(n_targets, n_hits))


def _log2_choose(n: float, k: int) -> float:
    """Return log2 of the binomial coefficient."""
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(max(0.0, n - k) + 1)) / math.log(2)
