"""The explanation of a candidate: a record that prints as a few lines, and as a card."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dfjoin import _html
from dfjoin._visible import visible_lines
from dfjoin.kernels.lists.evidence import REFERENCE_COLUMNS
from dfjoin.kernels.lists.usefulness import FEATURES, SCORE, USEFULNESS
from dfjoin.search.found import Candidate
from dfjoin.search.joined_rows import rows_as_text
from dfjoin.search.usefulness.features import evidence_of, features_of, query_facts
from dfjoin.search.usefulness.model import model
from dfjoin.search.usefulness.ranking import verdict_of

N_EXAMPLES = 5
"""Values that an explanation shows of each kind."""

N_NAMED = 8
"""Columns that `brings` names."""


@dataclass(frozen=True)
class Explanation:
    """Why a candidate was found: what is shared, what is not, and how the join would be.

    Parameters
    ----------
    query_column, table, column : str
        The pair of columns.
    matched, query_cardinality, cardinality : int
        Shared distinct values, and those of either side.
    relationship : str
        As the join would be with the user's frame on the left.
    accidental : bool
        Chance explains the overlap.
    shared, only_query, only_candidate : list of str
        Examples; shared and query values in the user's spelling, the candidate's in canonical form.
    found_by : dict
        Plan, and what the search read.
    score, usefulness : float or None
        Probability that the columns mean the same kind of thing; the same times what the hit brings. None, and no
        verdict, for columns of numbers that are compared by distance.
    verdict : str
        strong, plausible, weak or chance.
    evidence_for, evidence_against : list of str
        What counts for and against the candidate, the strongest first.
    rows : list of dict
        Some rows of the candidate's table that the query finds, as text.
    error : float or None
        Standard error of the containment where `matched` is an estimate.
    program : str
        The program that joins the columns, one line for each; empty where they join by equality.
    radius : str
        How near values have to lie, in words; empty where they join by equality.
    code : str
        The line that joins the candidate, where the result is called `hits`.
    n_alone : int or None
        Values of the candidate without a partner; None: those that are not shared.
    pad : int or None
        Digits up to which the integers of the query were written with zeros in front; −5: its codes of five digits
        were read without theirs.
    period : str or None
        Granularity of the periods that are compared: the dates of the query lie in them.
    """

    query_column: str
    table: str
    column: str
    matched: int
    query_cardinality: int
    cardinality: int
    relationship: str
    accidental: bool
    shared: list[str]
    only_query: list[str]
    only_candidate: list[str]
    found_by: dict[str, Any]
    score: float | None = None
    usefulness: float | None = None
    verdict: str = ""
    evidence_for: list[str] = field(default_factory=list)
    evidence_against: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    error: float | None = None
    program: str = ""
    radius: str = ""
    code: str = ""
    n_alone: int | None = None
    pad: int | None = None
    period: str | None = None

    def __str__(self) -> str:
        """Write the explanation in a few lines."""
        missing = self.query_cardinality - self.matched
        extra = self.cardinality - self.matched if self.n_alone is None else self.n_alone
        how = self.radius or self.relationship
        share = self.matched / max(1, self.query_cardinality)
        lines = [f"{self.query_column!r} joins {self.table} column {self.column!r}, {how}"]
        lines += [f"  by {line}" for line in self.program.splitlines()]
        if self.pad:
            lines.append("  zeros: " + tell_zeros(self.pad, "your column", "the table"))
        if self.period:
            lines.append(f"  periods: {tell_period(self.period)}; {self.query_cardinality:,} of them are compared")
        shared = f", estimated, standard error {self.error:.1%}" if self.error is not None else _examples(self.shared)
        lines.append(f"  shared: {self.matched:,} of {self.query_cardinality:,} values ({share:.1%})" + shared)
        if self.verdict:
            lines.append(f"  {self.verdict}: score {self.score:.2f}, usefulness {self.usefulness:.2f}")
        if self.accidental:
            lines.append("  accidental: chance alone explains this overlap")
        lines += [f"    for: {text}" for text in self.evidence_for]
        lines += [f"    against: {text}" for text in self.evidence_against]
        lines += [
            f"  only in your column: {missing:,}" + _examples(self.only_query),
            f"  only in the table: {extra:,}" + _examples(self.only_candidate),
        ]
        if self.rows:
            lines += ["  rows that join, as", *(f"    {line}" for line in rows_as_text(self.rows))]
        lines += ["  details", *(f"    {line}" for line in self._found_by_lines())]
        return visible_lines(lines)

    def _found_by_lines(self) -> list[str]:
        """Say what the search has read and compared."""
        read = self.found_by
        lines = [
            f"found by {read['plan']}: {read['lists_read']:,} lists, {read['sets_read']:,} sets, "
            f"{read['bytes_read']:,} bytes read, {read['candidates_pruned']:,} candidates pruned"
        ]
        if read["signatures_compared"]:
            lines.append(
                f"{read['signatures_compared']:,} signatures compared, {read['candidates']:,} candidates, "
                f"expected recall {read['expected_recall']:.3f}"
            )
        if self.radius:
            lines.append(f"{read['distances']:,} distances computed, {read['near_pairs']:,} within the radius")
        if self.program:
            lines.append(f"{read['candidates']:,} candidates learned from")
        return lines

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Write the explanation as a card, for notebooks."""
        return _as_card(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def tell_zeros(pad: int, own: str, other: str) -> str:
    """Say how codes that have lost their zeros were compared.

    Examples
    --------
    >>> tell_zeros(5, "your column", "the table")
    'integers of your column were written with 5 digits, as the codes of the table are'
    """
    if pad > 0:
        return f"integers of {own} were written with {pad} digits, as the codes of {other} are"
    return f"codes of {-pad} digits of {own} were read without their zeros in front, which {other} has lost"


def tell_period(granularity: str) -> str:
    """Say how dates and periods are compared.

    Examples
    --------
    >>> tell_period("month")
    'your dates are compared by the month in which they lie'
    """
    return f"your dates are compared by the {granularity} in which they lie"


def explain_hit(candidate: Candidate, is_by_equality: bool = True, **evidence: Any) -> Explanation:
    """Make the explanation of a candidate from its hit.

    Parameters
    ----------
    candidate : Candidate
    is_by_equality : bool
        It shares values as they are, and not after a program.
    **evidence
        Further fields of `Explanation`: the examples, and what the mode knows better than the hit. The candidate is
        weighed unless `score` is among them.
    """
    row, hits = candidate.row, candidate.found.hits.hits
    known: dict[str, Any] = {name: row[name] for name in ("query_column", "table", "column")}
    known |= {
        "relationship": row["relationship"] if isinstance(row["relationship"], str) else "",
        "matched": int(hits.matched[candidate.position]),
        "query_cardinality": len(candidate.found.query.values),
        "cardinality": int(hits.cardinality[candidate.position]),
        "accidental": bool(row["accidental"]),
        "found_by": candidate.found.stats.to_dict(),
        "pad": candidate.found.query.pad,
        "period": candidate.found.query.period,
        "code": join_code(str(row["table"]), str(row["column"])),
    }
    if "score" not in evidence:
        weighed = weigh_candidate(candidate, is_by_equality)
        known |= {**vars(weighed), "verdict": verdict_of(weighed.score)}
    return Explanation(**known | evidence)


def join_code(table: str, column: str) -> str:
    """Write the line that joins a candidate of a result called `hits`.

    Examples
    --------
    >>> print(join_code("geo/countries.csv", "country"))
    df.auto_join(hits[(hits["table"] == 'geo/countries.csv') & (hits["column"] == 'country')])
    """
    return f'df.auto_join(hits[(hits["table"] == {table!r}) & (hits["column"] == {column!r})])'


def _examples(values: list[str]) -> str:
    return ", as " + ", ".join(repr(v if len(v) <= 40 else v[:39] + "…") for v in values) if values else ""


def _as_card(explanation: Explanation) -> str:
    """Write an explanation as a card."""
    share = explanation.matched / max(1, explanation.query_cardinality)
    matched = f"{explanation.matched:,} of {explanation.query_cardinality:,} values ({share:.1%})"
    head = (
        f"{_html.escape(explanation.query_column)} = {_html.escape(explanation.table)} · "
        f'{_html.escape(explanation.column)} <span class="soft">{_html.escape(explanation.relationship or "")}</span>'
    )
    items = value_items(explanation)
    items += [
        ("by", _html.escape(explanation.program or explanation.radius)),
        ("for", "<br>".join(map(_html.escape, explanation.evidence_for))),
        ("against", "<br>".join(map(_html.escape, explanation.evidence_against))),
    ]
    parts = [
        f'<div class="line">{_html.bar(share, matched, "chance" if explanation.accidental else "")}</div>',
        _html.pairs(items),
        rows_table(explanation),
        _html.code(explanation.code),
        f"<details><summary>as text</summary><pre>{_html.escape_lines(str(explanation))}</pre></details>",
    ]
    if explanation.score is not None:
        parts.insert(0, _html.bar(explanation.score, f"score {explanation.score:.2f}", explanation.verdict))
    return _html.page([_html.card(head, parts)])


def rows_table(explanation: Explanation) -> str:
    """Show the rows of the table that join; nothing where none was read."""
    rows = explanation.rows
    if not rows:
        return ""
    return _html.table(list(rows[0]), [["" if cell is None else cell for cell in row.values()] for row in rows])


def value_items(explanation: Explanation) -> list[tuple[str, str]]:
    """Show examples of the values that are shared and of those without a partner."""

    def listed(values: list[str]) -> str:
        return ", ".join(f"<code>{_html.escape(value)}</code>" for value in values[:N_EXAMPLES])

    return [
        ("shared, as", listed(explanation.shared)),
        ("without partner", listed(explanation.only_query)),
        ("only in the table", listed(explanation.only_candidate)),
    ]


# The evidence for and against a candidate in words ----------------------------------------------------------


_LEAST = 0.2
"""Log-odds that a feature adds or takes at least to be told of."""

_Words = Callable[[float], str]


def _spread_text(spread: float, word: str) -> str:
    """Say in how many columns of a usual lake values stand; the model does not count those of the lake alone."""
    number = math.exp(spread)
    return f"the shared values are {word}, in about {number:,.0f} of {REFERENCE_COLUMNS:,} columns of a usual lake"


def _sizes_text(share: float) -> str:
    """Say how the values of two columns whose headers belong together compare."""
    return f"in how many numbers they have, and in those that one of them has of the other's, they agree to {share:.0%}"


_NUMERIC: dict[str, tuple[_Words, _Words]] = {
    "information": (
        lambda _: "so many telling values are hardly shared by chance",
        lambda _: "the shared values are so few, so short or so usual that chance may explain them",
    ),
    "information_per_value": (
        lambda _: "the shared values are long",
        lambda _: "the shared values are short",
    ),
    "rare_containment": (
        lambda v: f"it holds {v:.0%} of your values, counted by their rarity",
        lambda v: f"it holds only {v:.0%} of your values, counted by their rarity",
    ),
    "spread": (
        lambda v: _spread_text(v, "rare"),
        lambda v: _spread_text(v, "common"),
    ),
    "smaller_containment": (
        lambda v: f"each side holds at least {v:.0%} of the other",
        lambda v: f"one side holds only {v:.0%} of the other",
    ),
    "larger_containment": (
        lambda v: f"one side holds {v:.0%} of the other",
        lambda v: f"neither side holds more than {v:.0%} of the other",
    ),
    "cardinality": (
        lambda v: f"it has only {math.exp(v):,.0f} distinct values",
        lambda v: f"it has {math.exp(v):,.0f} distinct values, and some are shared by chance",
    ),
    "similar_size": (_sizes_text, _sizes_text),
    "other_headers": (
        lambda v: f"the table has {math.expm1(v):,.0f} other headers of your frame",
        lambda v: f"the table has {math.expm1(v):,.0f} other headers of your frame",
    ),
}
"""Features of any size → what is said where they count for the candidate, and where against it."""

_FLAGS = {
    "same_specific_header": "the headers are the same",
    "disjoint_headers": "the headers have no word in common",
    "header_in_table_name": "the name of the table has a word of your header",
    "header_elsewhere": "the frame or the table has the other one's header in another column",
    "no_letters": "your values have no letters",
    "no_letters_same_header": "your values have no letters, and the same header may mean another measure",
    "both_years": "both are years",
    "same_key_header": "both are numbers under the same header",
    "alike_header": "one header is short for the other one",
    "names_key": "your header names the table, of which the column is the key",
    "refers": "your column repeats numbers of which the table has each once, and all of yours",
    "measured": "a header says that the numbers were measured or counted",
    "unnamed_numbers": "the values are numbers, and neither header says that they name anything",
    "numeric_header": "your header is a number",
    "same_folder": "the table lies in the folder of the table whose headers are most like your frame's",
    "lone_shared": "only one of your values is shared",
    "unique_query": "none of your values occurs twice",
}
"""Features that are 1 or 0 → what is said where they are 1."""


_OF_VALUES = (
    *("information", "information_per_value", "rare_containment", "spread", "smaller_containment", "cardinality"),
    *("larger_containment", "by_chance"),
)
_BY_CHANCE = (
    "the shared numbers tell nothing: any other column of numbers from the same range, such as a serial number, would "
    "share as many"
)
"""What is said in place of the features of values where chance explains the shared numbers."""


@dataclass(frozen=True)
class CandidateEvidence:
    """What the model says of one candidate.

    Parameters
    ----------
    score, usefulness : float
    evidence_for, evidence_against : list of str
        The strongest first.
    """

    score: float
    usefulness: float
    evidence_for: list[str]
    evidence_against: list[str]


def weigh_candidate(candidate: Candidate, is_by_equality: bool = True) -> CandidateEvidence:
    """Weigh the evidence of one candidate, however it was ranked.

    Parameters
    ----------
    candidate : Candidate
    is_by_equality : bool
        It shares values as they are, and not after a program.

    Returns
    -------
    CandidateEvidence

    Notes
    -----
    O(values + set of the candidate).
    """
    found, snapshot = candidate.found, candidate.snapshot
    if found.useful is not None and not is_by_equality:  # what lies within a radius was counted by the search
        evidence = found.useful.evidence.take(np.array([found.useful.positions[candidate.position]]))
    else:
        hit = found.hits.hits.take(np.array([candidate.position]))
        evidence = evidence_of(snapshot, found.matched, hit, is_by_equality)
    weights = model()
    features, scores = features_of(snapshot, query_facts(found.query), evidence, weights.numbers)
    useful = float(scores[USEFULNESS, 0])
    if found.useful is not None:
        useful = float(found.useful.usefulness[candidate.position])
    values = dict(zip(FEATURES, features[0].tolist(), strict=True))
    own = float(evidence.hits.matched[0]) / max(1, found.query.n_values)
    texts = _texts(_unweighted(values, own), weights.score.contributions(features[0]))
    return CandidateEvidence(
        float(scores[SCORE, 0]),
        useful,
        [text for part, text in texts if part > 0 and text],
        [text for part, text in texts if part < 0 and text],
    )


def _unweighted(values: dict[str, float], own: float) -> dict[str, float]:
    """Return features with the containment as it is, of which chance and usual texts take a share in the score."""
    smaller, larger = min(own, values["held_by_query"]), values["covered"]
    weight = values["larger_containment"] / larger if larger > 0 else 0.0
    rare = values["rare_containment"] / weight if weight > 0 else own
    return values | {"smaller_containment": smaller, "larger_containment": larger, "rare_containment": rare}


def _texts(values: dict[str, float], parts: dict[str, float]) -> list[tuple[float, str]]:
    """Say what each feature tells, the strongest first, with what it adds to the log-odds."""
    texts = []
    if values["by_chance"] >= 0.5:
        texts.append((-abs(sum(parts.get(name, 0.0) for name in _OF_VALUES)), _BY_CHANCE))
        parts = {name: part for name, part in parts.items() if name not in _OF_VALUES}
    texts += [(part, _words(name, values[name], part)) for name, part in parts.items() if abs(part) >= _LEAST]
    return sorted(texts, key=lambda item: -abs(item[0]))


def _words(name: str, value: float, part: float) -> str:
    """Say what a feature tells; nothing for what is not there."""
    if name == "by_chance" or (name in ("similar_size", "other_headers") and value == 0.0):
        return ""
    if name in _NUMERIC:
        return _NUMERIC[name][part < 0](value)
    return _FLAGS[name] if value > 0 else ""
