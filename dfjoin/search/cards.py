"""Candidates and explanations as HTML cards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pandas as pd

from dfjoin import _html
from dfjoin.errors import DfjoinError
from dfjoin.search.explanation import Explanation, tell_period
from dfjoin.search.found import Candidate
from dfjoin.store.table import is_mostly_null, void_reason

if TYPE_CHECKING:
    from dfjoin.search.candidates import JoinCandidates

__all__ = ["brought", "candidates_html", "explanation_html"]

_CARDS = 10
"""Candidates that have a card."""

_COLUMNS, _VALUES = 8, 5


def candidates_html(hits: JoinCandidates) -> str:
    """Write a search result: a card for each of the first candidates, and a line for the number of others."""
    cards = [_candidate_card(hits, i) for i in range(min(len(hits), _CARDS))]
    rest = len(hits) - len(cards)
    if not cards:
        cards.append(f"<p>{_html.escape(hits.why_empty() or 'no candidates')}</p>")
    if rest:
        cards.append(f'<p class="soft">{rest:,} more rows</p>')
    return _html.page(cards)


def _candidate_card(hits: JoinCandidates, i: int) -> str:
    row = hits.iloc[i]
    has_score = "score" in row and not pd.isna(row["score"])
    share = float(row["score"] if has_score else row["containment"])
    verdict = str(row.get("verdict", "")) or ("chance" if row["accidental"] else "")
    told = f"score {share:.2f}" if has_score else f"containment {share:.3f}"
    relationship = "" if pd.isna(row["relationship"]) else f", {row['relationship']}"
    matched = f"{int(row['matched']):,} of {int(row['query_cardinality']):,} values{relationship}"
    items = [
        ("matched", _html.escape(matched)),
        (
            "brings",
            _html.escape(row["brings"] if "brings" in row else _quietly(lambda: brought(hits._candidate(i))) or ""),
        ),
        ("zeros", f"codes of {int(row['pad'])} digits" if "pad" in row and not pd.isna(row["pad"]) else ""),
        ("periods", tell_period(row["period"]) if "period" in row and not pd.isna(row["period"]) else ""),
        ("similar tables", f"{int(row['n_similar']):,}" if row.get("n_similar", 0) > 0 else ""),
    ]
    parts = [_html.bar(share, told, verdict)]
    explanation = _quietly(lambda: hits.explain(i))
    if explanation is not None:
        items += _value_items(explanation)
    parts.append(_html.pairs(items))
    if explanation is not None:
        parts.append(_rows_table(explanation))
    parts.append(_html.code(f"df.auto_join(hits.iloc[[{i}]])"))
    head = f'<span class="soft">{i}</span> {_html.escape(row["table"])} · {_html.escape(row["column"])}'
    return _html.card(f'{head} <span class="soft">for {_html.escape(row["query_column"])}</span>', parts)


def explanation_html(explanation: Explanation) -> str:
    """Write an explanation as a card."""
    share = explanation.matched / max(1, explanation.query_cardinality)
    told = f"{explanation.matched:,} of {explanation.query_cardinality:,} values ({share:.1%})"
    head = (
        f"{_html.escape(explanation.query_column)} = {_html.escape(explanation.table)} · "
        f'{_html.escape(explanation.column)} <span class="soft">{_html.escape(explanation.relationship or "")}</span>'
    )
    items = _value_items(explanation)
    items += [
        ("by", _html.escape(explanation.program or explanation.radius)),
        ("for", "<br>".join(map(_html.escape, explanation.evidence_for))),
        ("against", "<br>".join(map(_html.escape, explanation.evidence_against))),
    ]
    parts = [
        f'<div class="line">{_html.bar(share, told, "chance" if explanation.accidental else "")}</div>',
        _html.pairs(items),
        _rows_table(explanation),
        _html.code(explanation.code),
        f"<details><summary>as text</summary><pre>{_html.escape_lines(str(explanation))}</pre></details>",
    ]
    if explanation.score is not None:
        parts.insert(0, _html.bar(explanation.score, f"score {explanation.score:.2f}", explanation.verdict))
    return _html.page([_html.card(head, parts)])


def _rows_table(explanation: Explanation) -> str:
    """Show the rows of the table that join; nothing where none was read."""
    rows = explanation.rows
    if not rows:
        return ""
    return _html.table(list(rows[0]), [["" if cell is None else cell for cell in row.values()] for row in rows])


def _value_items(explanation: Explanation) -> list[tuple[str, str]]:
    """Show examples of the values that are shared and of those without a partner."""

    def listed(values: list[str]) -> str:
        return ", ".join(f"<code>{_html.escape(value)}</code>" for value in values[:_VALUES])

    return [
        ("shared, as", listed(explanation.shared)),
        ("without partner", listed(explanation.only_query)),
        ("only in the table", listed(explanation.only_candidate)),
    ]


def brought(candidate: Candidate) -> str:
    """Name the first columns that a join with the table would bring, from the catalogue."""
    segment, table = candidate.snapshot.find_table(candidate.row["table"])
    record = segment.catalog.table_record(table)
    columns = segment.catalog.column_records(
        range(record["first_column"], record["first_column"] + record["n_columns"])
    )
    columns.sort(key=lambda column: (is_mostly_null(column), column["position"]))
    names = [c["name"] for c in columns if c["name"] != candidate.row["column"] and not void_reason(c["name"], c)]
    rest = f" and {len(names) - _COLUMNS:,} more" if len(names) > _COLUMNS else ""
    return ", ".join(names[:_COLUMNS]) + rest


def _quietly(make: Callable[[], Any]) -> Any:
    """Return what a function makes, or None where the lake cannot be read any more: a page has to be shown."""
    try:
        return make()
    except (DfjoinError, OSError):
        return None
