"""Composite keys: parts of a column that may be joined by themselves, and columns that are a key together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dfjoin.programs.operator import Step
from dfjoin.programs.part_operators import After, Slice, Split
from dfjoin.programs.program import MAX_COLUMNS, Program
from dfjoin.programs.program_pieces import Constant, Extract, Piece
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.values.key_index import KeyIndex
from dfjoin.values.shares import HALF, KEY_UNIQUENESS, MOST, NEARLY_ALL, NEARLY_EVERY

_MAX_ALIGNED_VALUES = 500
"""Distinct values whose structure is looked at."""
_MAX_PARTS = 12
_MAX_KEY_COLUMNS = 8
_MAX_KEYS = 4
_MAX_PAIRS = 3
_MAX_WORDED_VALUES = 50
_MAX_WORDED_LENGTH = 60
_MIN_WORDED_VALUES = 50
_GAP = re.compile(r"[^\w]+")


def _structure(texts: list[str]) -> list[str]:
    """Return the separators that nearly all texts share, the longest first; a lone space is none."""
    counts: Counter[str] = Counter()
    for text in texts:
        gaps = _GAP.findall(text)
        counts.update({*gaps, *(c for gap in gaps for c in gap)} - {" "})
    common = {gap for gap, count in counts.items() if count >= MOST * len(texts)}
    whole = {gap for gap in common if not any(gap != other and gap in other for other in common)}
    return sorted(whole, key=lambda gap: (-len(gap), gap))[:8]


def _separating_steps(texts: list[str]) -> list[Step]:
    """List the steps that cut texts at the separators that they share."""
    steps: list[Step] = []
    for separator in _structure(texts):
        steps += [Split(separator, 0), After(separator)]
        if any(text.count(separator) > 1 for text in texts):
            steps += [Split(separator, 1), Split(separator, -1)]
    n = sum(not text[-1].isalnum() for text in texts if text)
    if n >= MOST * len(texts):
        steps.append(Slice(0, -1))
    return steps


def split_column(column: Column) -> list[tuple[Program, Column]]:
    """Cut a column into parts by the separators that its values share.

    Parameters
    ----------
    column : Column

    Returns
    -------
    list of (Program, Column)
        Parts that are nearly a key, most distinct values first, at most 12: the program that cuts a part
        out, and the part.

    Notes
    -----
    Source: Auto-Join, section 4.4.3 of the thesis, which splits by aligning substrings; here the alignment
    is by separators that at least 80 % of the first 500 distinct values share, to two levels.
    """
    rows = column.first_rows[:_MAX_ALIGNED_VALUES]
    texts = [text for text in column.array.take(rows).to_pylist() if text]
    if len(texts) < 2:
        return []
    found: dict[tuple[str | None, ...], tuple[Step, ...]] = {tuple(texts): ()}
    frontier: list[tuple[tuple[Step, ...], list[str]]] = [((), texts)]
    for _ in range(2):
        ahead = []
        for steps, current in frontier:
            for step in _separating_steps(current):
                made = [step(text) or "" for text in current]
                if tuple(made) in found or not all(made):
                    continue
                found[tuple(made)] = (*steps, step)
                ahead.append(((*steps, step), made))
        frontier = ahead
    ranked = sorted(
        ((-len(set(made)), len(steps), repr(steps), steps) for made, steps in found.items() if steps),
        key=lambda e: e[:3],
    )
    parts = []
    for n, _, _, steps in ranked[:_MAX_PARTS]:
        if -n < NEARLY_ALL * len(texts):
            break
        program = Program((column.name,), (Extract(0, steps),))
        parts.append((program, Column(str(program), program.apply([column.array]))))
    return parts


def join_columns(columns: Sequence[Column]) -> tuple[Program, Column]:
    """Return the program that writes up to three columns side by side, a space between, and what it makes."""
    pieces: list[Piece] = []
    for number in range(len(columns)):
        pieces += [Constant(" ")] * (number > 0) + [Extract(number)]
    program = Program(tuple(column.name for column in columns), tuple(pieces))
    return program, Column(str(program), program.apply([column.array for column in columns]))


def composite_keys(columns: Sequence[Column]) -> list[tuple[Program, Column]]:
    """Find sets of columns that are nearly a key together.

    Parameters
    ----------
    columns : sequence of Column

    Returns
    -------
    list of (Program, Column)
        What writes the columns side by side, and the key. At most 4 of columns that are no keys by themselves (the 8
        with most distinct values are looked at): pairs first, then triples that hold no pair found. Then at most 3
        pairs of columns of words, one of which is nearly a key, those that stand closest first: a first
        and a last name are the key even where few persons share a last name.

    Notes
    -----
    A set is a key if its distinct rows are at least 95 % of those without a null.
    """
    singles = [column for column in columns if column.uniqueness >= KEY_UNIQUENESS]
    others = [column for column in columns if column.uniqueness < KEY_UNIQUENESS]
    best = sorted(others, key=lambda column: -len(column.values))[:_MAX_KEY_COLUMNS]
    chosen = [column for column in others if any(column is one for one in best)]  # in the order of the table
    found: list[tuple[Column, ...]] = []
    if not singles:
        for size in range(2, MAX_COLUMNS + 1):
            for some in combinations(chosen, size):
                if not any(set(map(id, smaller)) <= set(map(id, some)) for smaller in found) and _is_key(some):
                    found.append(some)
    worded = [number for number, column in enumerate(columns) if _has_words(column)]
    pairs = sorted(combinations(worded, 2), key=lambda pair: (pair[1] - pair[0], pair[0]))
    keyed = [(columns[i], columns[j]) for i, j in pairs if any(columns[n] in singles for n in (i, j))]
    return [join_columns(some) for some in [*found[:_MAX_KEYS], *filter(_is_key, keyed[:_MAX_PAIRS])]]


def _has_words(column: Column) -> bool:
    """Tell whether most values are a few words, not numbers or sentences, and whether there are many of them."""
    if len(column.values) < _MIN_WORDED_VALUES and column.uniqueness < HALF:
        return False
    texts = [column.values.value(code) for code in range(min(len(column.values), _MAX_WORDED_VALUES))]
    n_words = sum(text[:1].isalpha() and len(text) <= _MAX_WORDED_LENGTH for text in texts)
    return len(texts) > 1 and n_words >= MOST * len(texts)


def _is_key(columns: Sequence[Column]) -> bool:
    index = KeyIndex.of([column.values for column in columns])
    n_present = int(np.count_nonzero(index.codes >= 0))
    return n_present > 1 and index.n_keys >= NEARLY_EVERY * n_present
