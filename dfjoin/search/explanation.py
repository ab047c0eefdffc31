"""The explanation of a candidate: a record that prints as a few lines, and as a card."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dfjoin import _html
from dfjoin._visible import visible_lines
from dfjoin.search.found import Candidate
from dfjoin.search.joined_rows import rows_as_text
from dfjoin.search.usefulness.evidence_words import weigh_candidate
from dfjoin.search.usefulness.ranking import verdict_of

__all__ = [
    "N_EXAMPLES",
    "N_NAMED",
    "Explanation",
    "explain_hit",
    "join_code",
    "rows_table",
    "tell_period",
    "tell_zeros",
    "value_items",
]

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
