"""Relating columns of names by their normal forms: people with titles, initials and suffixes, organisations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.programs.name_operators import NAME_FORMS, NormalName
from dfjoin.programs.operator import Step
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.transform_join import RankedProgram, TransformJoin
from dfjoin.values.shares import HALF

_MOST_VALUES = 20_000
"""Distinct values of a column up to which names are compared: a name takes 20 microseconds."""
_FEWEST = 4
"""Names that have to be related, beside half of the smaller column."""
_MIN_GAIN = 0.05
"""Share of the smaller column by which they exceed what is related otherwise."""
_MAX_AMBIGUOUS = 0.02
"""Share of the normal forms in both columns that may stand for several things on one side."""
_PERSON_HAS = ("[^A-Za-z0-9']", r"[A-Za-z]|[^\x00-\x7f]")
_ORGANISATION_HAS = (r"[A-Za-z&+]|[^\x00-\x7f]",)
"""What a text has if its form is a name (`_is_name`): something that becomes a space, and a letter."""


class _Form(NamedTuple):
    """The distinct texts of two columns by one normal form.

    Parameters
    ----------
    kind : str
    shared : set of str
        Normal forms that both columns have.
    n_ambiguous : int
        Those of them that stand for several things.
    joined : tuple of int
        Texts of the left column and of the right one that have such a form.
    """

    kind: str
    shared: set[str]
    n_ambiguous: int
    joined: tuple[int, int]


def relate_names(left: Column, right: Column, found: TransformJoin) -> TransformJoin | None:
    """Relate two columns of names by a normal form, if one relates clearly more of them than is related otherwise.

    Parameters
    ----------
    left, right : Column
    found : TransformJoin
        The programs that relate the columns otherwise, or none.

    Returns
    -------
    TransformJoin or None

    Notes
    -----
    A form is taken if it relates half of the names of the smaller column, at least four, and a twentieth more than the
    programs and equality do; if at most one in fifty of the related forms stands for several things, that is for
    names of one side whose full forms differ; and if neither middle names nor numbers contradict each other. Of two
    forms the stricter one is taken, unless the other relates a twentieth more. O(characters).
    """
    sizes = [len(column.values) for column in (left, right)]
    smaller = min(sizes)
    known = round(max(found.source_coverage, found.target_coverage) * smaller) if found.found else 0
    most = smaller - _MIN_GAIN * smaller  # related already, beyond which no form gains enough
    if smaller < _FEWEST or max(sizes) > _MOST_VALUES or known > most:
        return None
    sides = [_texts(column) for column in (left, right)]
    known = max(known, len(set(sides[0]) & set(sides[1])))
    if known > most:
        return None
    best: tuple[int, _Form] | None = None
    least = max(_FEWEST, HALF * smaller, known + _MIN_GAIN * smaller)
    for kind in NAME_FORMS:
        possible = [_possible(kind, texts) for texts in sides]
        if min(map(len, possible)) < least:
            continue
        form = _form(kind, *possible)
        n_joined = min(form.joined)
        if n_joined < least:
            continue
        if form.n_ambiguous > _MAX_AMBIGUOUS * len(form.shared):
            continue
        if best is None or n_joined > best[0] + _MIN_GAIN * smaller:
            best = n_joined, form
    return None if best is None else _as_join(left, right, best[1], sides)


def _texts(column: Column) -> list[str]:
    """Return the distinct texts of a column, one for each canonical value."""
    texts = column.array.take(pa.array(column.first_rows)).to_pylist()
    return [text for text in texts if text]


def _possible(kind: str, texts: list[str]) -> list[str]:
    """Return the texts whose form may be a name: codes and numbers are told by their characters, all at once."""
    array = pa.array(texts, pa.large_string())
    for pattern in _ORGANISATION_HAS if kind == "organisation" else _PERSON_HAS:
        array = array.filter(pc.match_substring_regex(array, pattern))
    return array.to_pylist()


def _form(kind: str, left: list[str], right: list[str]) -> _Form:
    """Bring the texts of two columns into a normal form and compare them."""
    step = NormalName(kind)
    made = [[_written(step, text) for text in texts] for texts in (left, right)]
    shared = {form for form in set(made[0]) & set(made[1]) if _is_name(form, kind)}
    joined = [sum(form in shared for form in forms) for forms in made]
    if kind == "organisation":
        counts = [Counter(form for form in forms if form in shared) for forms in made]
        ambiguous = {form for form in shared if max(count[form] for count in counts) > 1}
    else:
        ambiguous = _contradicted(zip(made[0] + made[1], left + right, strict=True), shared)
    return _Form(kind, shared, len(ambiguous), (joined[0], joined[1]))


def _written(step: Step, text: str) -> str:
    """Return the normal form of a text; a word with a digit, no abbreviation, is itself in small letters."""
    is_code = text.isascii() and text.isalnum() and not text.isalpha()
    return text.lower() if is_code else step(text) or ""


def _is_name(form: str, kind: str) -> bool:
    """Tell a name from a number or a code: names have letters, those of people two words."""
    return any(map(str.isalpha, form)) and (kind == "organisation" or " " in form)


def _contradicted(forms: Iterable[tuple[str, str]], shared: set[str]) -> set[str]:
    """Return the forms under which names stand that are of two people: other first or middle names, other numbers."""
    whole = NormalName("whole name")
    names: dict[str, set[tuple[str, ...]]] = {form: set() for form in shared}
    for form, text in forms:
        if form in names:
            names[form].add(tuple((whole(text) or "").split()))
    return {form for form, held in names.items() if any(_differ(*two) for two in combinations(held, 2))}


def _differ(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Tell whether two names, of at least two words each, have first, second names or numbers that do not agree."""
    numbers = [tuple(word for word in words if any(map(str.isdigit, word))) for words in (one, other)]
    if not _agree(one[0], other[0]) or (all(numbers) and numbers[0] != numbers[1]):
        return True
    return min(len(one), len(other)) > 2 and not _agree(one[1], other[1])


def _agree(one: str, other: str) -> bool:
    """Tell whether two words are equal, or one is the initial of the other."""
    return one == other or (min(len(one), len(other)) == 1 and one[0] == other[0])


def _as_join(left: Column, right: Column, form: _Form, sides: list[list[str]]) -> TransformJoin:
    """Write a relation by a normal form as a join by a program."""
    programs = [Program((column.name,), (Extract(0, (NormalName(form.kind),)),)) for column in (left, right)]
    mine, theirs = (n / len(texts) for n, texts in zip(form.joined, sides, strict=True))
    precision = (len(form.shared) - form.n_ambiguous + 1) / (len(form.shared) + 2)
    ranked = RankedProgram(programs[0], form.joined[0], mine, precision, 0.0)
    return TransformJoin("left_to_right", (left.name,), (right.name,), programs[1], (ranked,), mine, theirs)
