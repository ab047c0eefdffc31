"""The report of a join as HTML cards."""

from __future__ import annotations

from typing import Any

from dfjoin import _html

__all__ = ["report_html"]


def report_html(values: dict[str, Any], text: str) -> str:
    """Write the report of a join: a card for each table, then what was passed over."""
    parts = [
        f"<p>{values['rows_in']:,} rows in, {values['rows_out']:,} rows out, how={_html.escape(values['how'])}</p>"
    ]
    parts += [_step_card(step) for step in values["joined"]]
    if not values["joined"]:
        parts.append("<p>nothing was joined</p>")
    passed = values["passed_over"][:5]
    if passed:
        rows = [(one["table"], one["column"], one["reason"]) for one in passed]
        parts.append(_html.card("passed over", [_html.table(("table", "column", "reason"), rows)]))
    rest = values["n_passed_over"] - len(passed)
    if rest > 0:
        parts.append(f'<p class="soft">passed over {rest:,} more</p>')
    return _html.page([*parts, f"<details><summary>as text</summary><pre>{_html.escape_lines(text)}</pre></details>"])


def _step_card(step: dict[str, Any]) -> str:
    on, right_on = " + ".join(map(str, step["on"])), " + ".join(map(str, step["right_on"]))
    head = (
        f"{_html.escape(step['table'] or 'the other frame')} on {_html.escape(on)} = {_html.escape(right_on)} "
        f'<span class="soft">{_html.escape(step["relationship"])}</span>'
    )
    told = f"{step['rows_matched']:,} rows found a partner ({step['coverage']:.1%})"
    rows = [
        (column["name"], column["rule"] or "as it is", f"{column.get('n_disagreeing', 0):,}" if column["rule"] else "")
        for column in step["columns"][:12]
    ]
    left_out = ", ".join(f"{name} ({reason})" for name, reason in list(step.get("left_out", {}).items())[:5])
    rest = step["n_columns"] - len(rows)
    parts = [_html.bar(step["coverage"], told), _html.table(("column", "rule", "rows that disagree"), rows)]
    alone = ", ".join(f"<code>{_html.escape(value)}</code>" for value in step.get("without_partner", []))
    items = [
        ("without partner", alone),
        ("more columns", f"{rest:,}" if rest > 0 else ""),
        ("not brought", _html.escape(left_out)),
    ]
    parts.append(_html.pairs(items))
    joined = step.get("rows", [])
    if joined:
        cells = [["" if cell is None else cell for cell in row.values()] for row in joined]
        parts.append(_html.table(list(joined[0]), cells))
    return _html.card(head, [*parts, _html.code(_code(step))])


def _code(step: dict[str, Any]) -> str:
    """Write the line that makes the same join."""
    on, right_on = (names[0] if len(names) == 1 else names for names in (step["on"], step["right_on"]))
    if step["table"]:
        return f"df.auto_join(lake, on={on!r}, tables={step['table']!r})"
    if step.get("relation"):
        return 'df.auto_join(other, plan=result.attrs["dfjoin"]["plan"])'
    return f"df.auto_join(other, on={on!r}, right_on={right_on!r})"
