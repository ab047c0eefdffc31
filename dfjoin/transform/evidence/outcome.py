"""The join that a program makes of two columns: which row joins which value, and how good the join is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.kernels.sorting import distinct_numbers
from dfjoin.programs.program import Program
from dfjoin.transform.evidence.chance import (
    SAMPLE_VALUES,
    chance_of_match,
    decoys,
    description_bits,
    evidence_bits,
    other_digits,
    without_constants,
)
from dfjoin.transform.evidence.grids import grid_density
from dfjoin.transform.evidence.prepared_columns import SETTINGS, Column, count_distinct
from dfjoin.values.key_index import Vocabulary
from dfjoin.values.normalize import ValueSet, normalize_column
from dfjoin.values.shares import NEARLY_ALL

FULL_COVERAGE = 0.97
"""Coverage from which nothing better is looked for."""
_MANY = 1.5
"""Source values to each target value from which a relation is one of many to one."""
_PRIOR = 4.0
"""Source values of the general frequency of hits that are added to those that share a result, and to the others."""
_WORD = re.compile(r"[^\W_]+")


class Multiplicity(NamedTuple):
    """How many different things a target value stands for.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_target,)
        Rows of each target value; or whole values, where the key was named or is all that the table has.
    are_rows : bool
        Whether rows are counted, on the other side, too; else distinct values.
    """

    counts: NDArray[np.int64]
    are_rows: bool


@dataclass(frozen=True)
class Outcome:
    """The equi-join of a program's results with a target column, both in canonical form.

    Parameters
    ----------
    program : Program
    outputs : ValueSet
        Its distinct results, and the row of each.
    hits : ndarray of int64, shape (n_outputs,)
        Number of the target value that equals each result, -1 for none.
    source, target : ValueSet
    multiplicity : Multiplicity or None
        What the target table holds for each target value; None where that is not known.
    results : callable, optional
        Gives the results of another program over the same columns for some rows.
    """

    program: Program
    outputs: ValueSet
    hits: NDArray[np.int64]
    source: ValueSet
    target: ValueSet
    multiplicity: Multiplicity | None = None
    results: Callable[[Program, NDArray[np.int64]], pa.Array] | None = None

    @property
    def source_codes(self) -> NDArray[np.int32]:
        """Number of the distinct source value of each row, -1 for null."""
        return self.source.codes

    @property
    def n_source(self) -> int:
        """Distinct values of the source."""
        return len(self.source)

    @property
    def n_target(self) -> int:
        """Distinct values of the target."""
        return len(self.target)

    @cached_property
    def row_targets(self) -> NDArray[np.int64]:
        """Target value of each source row, -1 for none; int64, shape (n_rows,)."""
        if len(self.outputs) == 0:
            return np.full(self.outputs.n_rows, -1, np.int64)
        return np.where(self.outputs.codes >= 0, self.hits[self.outputs.codes], -1)

    @cached_property
    def n_joined(self) -> int:
        """Distinct source values that join, in half of their rows at least: other columns may tell these apart."""
        is_present = self.source_codes >= 0
        joined = np.bincount(self.source_codes[is_present & (self.row_targets >= 0)], minlength=self.n_source)
        rows = np.bincount(self.source_codes[is_present], minlength=self.n_source)
        return int(((joined > 0) & (2 * joined >= rows)).sum())

    @property
    def share_read(self) -> float:
        """Share of the source's distinct values for which the program has a result, whether it joins or not."""
        codes = self.source_codes[(self.source_codes >= 0) & (self.outputs.codes >= 0)]
        return count_distinct(codes, self.n_source) / self.n_source if self.n_source else 0.0

    @cached_property
    def n_target_joined(self) -> int:
        """Distinct target values that are joined."""
        return count_distinct(self.hits, self.n_target)

    @property
    def source_coverage(self) -> float:
        """Share of the source's distinct values that join."""
        return self.n_joined / self.n_source if self.n_source else 0.0

    @property
    def target_coverage(self) -> float:
        """Share of the target's distinct values that are joined."""
        return self.n_target_joined / self.n_target if self.n_target else 0.0

    @property
    def score(self) -> float:
        """Sum of both shares, by which programs are ranked."""
        return self.source_coverage + self.target_coverage

    @cached_property
    def chance(self) -> float:
        """Probability that a result is a target value by chance.

        That of `chance.chance_of_match`, or if that is larger the share of results that would be one with another
        constant in the place of the program's (`chance.decoys`, `chance.other_digits`): numbered things have
        neighbours.
        """
        if len(self.outputs) == 0 or len(self.target) == 0:
            return 1.0
        made, wanted = _sample(self.outputs), _sample(self.target)
        outputs, targets = without_constants(self.program, made), without_constants(self.program, wanted)
        if not outputs or not targets:
            return 1.0
        chance = chance_of_match(outputs, targets) * max(1.0, len(self.target) / SAMPLE_VALUES)
        others = decoys(self.program, made, wanted)
        if self.results is not None:
            rows = self.outputs.first_rows()[_smallest(self.outputs)]
            others += [
                [text for text in self.results(program, rows).to_pylist() if text]
                for program in other_digits(self.program)
            ]
        return min(1.0, max(chance, *map(self._hit_rate, others), 0.0))

    @property
    def density(self) -> float:
        """How densely the target's values fill the grid that the results lie on; 0 where these lie on none."""
        share = grid_density(_sample(self.outputs), _sample(self.target)) if len(self.outputs) and self.n_target else 0
        return (share or 0.0) * max(1.0, len(self.target) / SAMPLE_VALUES)

    def _hit_rate(self, texts: list[str]) -> float:
        """Return the share of some texts that are target values."""
        values = normalize_column(pa.array(texts, pa.string()), SETTINGS)
        return float((Vocabulary(self.target).codes_of(values) >= 0).mean()) if len(values) else 0.0

    @cached_property
    def bits(self) -> float:
        """Evidence against chance in bits, minus the description length of the program."""
        found = evidence_bits(int((self.hits >= 0).sum()), len(self.outputs), self.chance)
        return found - description_bits(self.program)

    @cached_property
    def precision(self) -> float:
        """Estimated share of joined rows that are right, a product: not by chance, not by sharing, not many to many.

        Notes
        -----
        Each factor counts pairs that are wrong for one reason.

        - Chance: as many hits as chance would have made of the results that hit nothing.
        - Sharing: where source values have one result, as two persons one surname, a value without a partner meets the
          partner of another. It shows in that values that share their result hit more often than
          values that do not. Of those, which hit with frequency f, some meet strangers, too: as many as
          have a second stranger on their own side (Good-Turing). With c the share of values that have a
          partner by this, and h the share that hit, c / h is right. It does not hold for a relation of many to one,
          where sharing is meant: joined values are half as many again as the values that they join, and the constants
          of the program fit nine tenths of the target. There the values are wrong of which the target holds more
          than the program reads: ``new york city`` where ``york`` and ``new york`` are values.
        - Many to many: the pairs above the larger number of rows (of values, where the key is all that the target has)
          on one side.
        """
        if self.n_joined == 0:
            return 0.0
        n_missed = len(self.outputs) - int((self.hits >= 0).sum())
        by_chance = min(1.0, n_missed * self.chance / max(1e-12, 1 - self.chance) / self.n_joined)
        return (1 - by_chance) * (self._not_cut if self._is_many_to_one else self._not_shared) * self.one_sided

    @property
    def _is_many_to_one(self) -> bool:
        """Whether many source values are meant to have one partner."""
        if self.n_target_joined * _MANY > self.n_joined:
            return False
        fitting = without_constants(self.program, _sample(self.target))
        return len(fitting) >= NEARLY_ALL * min(len(self.target), SAMPLE_VALUES)

    @cached_property
    def _not_shared(self) -> float:
        """Estimated share of the joined source values that do not owe their hit to sharing a result."""
        is_made = (self.source_codes >= 0) & (self.outputs.codes >= 0)
        keys = self.source_codes[is_made].astype(np.int64) * len(self.outputs) + self.outputs.codes[is_made]
        made = distinct_numbers(keys) % max(1, len(self.outputs))  # the result of each distinct source value
        counts = np.bincount(made, minlength=len(self.outputs))
        is_hit, is_shared = self.hits[made] >= 0, counts[made] > 1
        n_single = int((~is_shared).sum())
        hit = float(is_hit.mean())
        if n_single == 0 or n_single == made.size or hit == 0:
            return 1.0
        single = (float(is_hit[~is_shared].sum()) + _PRIOR * hit) / (n_single + _PRIOR)
        shared = (float(is_hit[is_shared].sum()) + _PRIOR * hit) / (made.size - n_single + _PRIOR)
        if shared <= single or single == 1:
            return 1.0
        strangers = (shared - single) / (1 - single)  # share of those that share a result and meet a stranger
        met = strangers * (1 - float(np.exp(-2 * (counts == 2).sum() / n_single * self.n_target / made.size)))
        own = max(0.0, single - met) / (1 - met) if met < 1 else 0.0
        return min(1.0, own / hit)

    @property
    def _not_cut(self) -> float:
        """Share of the joined source values, of a sample, that hold no other target value which holds their partner."""
        partners = np.full(self.n_source, -1, np.int64)
        is_joined = (self.source_codes >= 0) & (self.row_targets >= 0)
        partners[self.source_codes[is_joined]] = self.row_targets[is_joined]
        joined = np.flatnonzero(partners >= 0)
        sample = joined[np.argsort(self.source.hashes[joined])][:SAMPLE_VALUES].tolist()
        words = {code: _words(self.source.value(code)) for code in sample}
        every = {word for found in words.values() for word, _ in found}
        held = [_words(value) for value in self.target.values() if every.issuperset(_WORD.findall(value))]
        holders: dict[tuple[str, int], set[frozenset[tuple[str, int]]]] = {}
        for found in held:
            for word in found:
                holders.setdefault(word, set()).add(found)
        n_cut = 0
        for code in sample:
            partner = _words(self.target.value(int(partners[code])))
            wider = set.intersection(*(holders.get(word, set()) for word in partner)) if partner else set()
            n_cut += any(partner < found <= words[code] for found in wider)
        return 1 - n_cut / len(sample)

    @cached_property
    def one_sided(self) -> float:
        """Pairs that a relation of one to one, or of many to one, would have, over those that there are."""
        if self.multiplicity is None:
            return 1.0
        is_joined = (self.row_targets >= 0) & (self.source_codes >= 0)
        joined = self.row_targets[is_joined]
        if not self.multiplicity.are_rows:
            pairs = self.source_codes[is_joined].astype(np.int64) * self.n_target + joined
            joined = distinct_numbers(pairs) % self.n_target
        own = np.bincount(joined, minlength=self.n_target)
        n_covered = int(self.multiplicity.counts[own > 0].sum())
        return max(joined.size, n_covered) / max(1, int((own * self.multiplicity.counts).sum()))


def _words(text: str) -> frozenset[tuple[str, int]]:
    """Return the words of a text, a repeated one as often as it occurs: each with its number among its equals."""
    return frozenset((word, i) for word, count in Counter(_WORD.findall(text)).items() for i in range(count))


def _sample(values: ValueSet) -> list[str]:
    """Return at most `SAMPLE_VALUES` values, those of the smallest hashes."""
    return [values.value(code) for code in _smallest(values).tolist()]


def _smallest(values: ValueSet) -> NDArray[np.int64]:
    """Return the numbers of at most `SAMPLE_VALUES` values, those of the smallest hashes, in their order."""
    order = np.arange(len(values))
    if len(values) > SAMPLE_VALUES:
        order = np.argpartition(values.hashes, SAMPLE_VALUES)[:SAMPLE_VALUES]
    return order[np.argsort(values.hashes[order], kind="stable")]


def evaluate(
    program: Program, source: Sequence[Column], main: Column, target: ValueSet, multiplicity: Multiplicity | None = None
) -> Outcome:
    """Apply a program to its columns and join the results with the target's values.

    Parameters
    ----------
    program : Program
    source : sequence of Column
        Columns of its table, among them those that the program names.
    main : Column
        The source column whose distinct values are counted.
    target : ValueSet
    multiplicity : Multiplicity, optional

    Returns
    -------
    Outcome
    """
    by_name = {column.name: column for column in source}
    arrays = [by_name[name].array for name in program.columns]
    outputs = normalize_column(program.apply(arrays), SETTINGS)
    hits = Vocabulary(target).codes_of(outputs)

    def results(other: Program, rows: NDArray[np.int64]) -> pa.Array:
        return other.apply([by_name[name].array.take(pa.array(rows)) for name in program.columns])

    return Outcome(program, outputs, hits, main.values, target, multiplicity, results)
