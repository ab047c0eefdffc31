"""What a join did: its account step by step, the report in ``attrs["dfjoin"]``, plain JSON, and its text."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin import _html, _plots
from dfjoin._visible import visible, visible_lines
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.frames.given_frame import attrs_of, is_frame
from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import JoinPlan, JoinStep, distance_relation, json_label
from dfjoin.join.rows.execute import StepResult, join_step
from dfjoin.join.rows.right_side import RightSide, spread_rules
from dfjoin.programs.program import Program
from dfjoin.search.explanation import tell_zeros
from dfjoin.values.frames import is_pandas, is_spark
from dfjoin.values.key_index import KeyIndex

MAX_BYTES = 64 << 10
"""A report with its plan stays below this as JSON text."""

_VALUES, _ROWS, _COLUMNS, _CHARACTERS = 5, 3, 6, 60
"""Of the examples: keys, rows, columns, and characters of a cell."""

_AT_ONCE = 1 << 14
"""Rows that are searched for examples at once: as a rule the first ones have them."""

_MAX_PASSED_OVER = 50
_MAX_EARLIER = 200


@dataclass(frozen=True)
class JoinAccount:
    """The frame as it is after some steps, and what was done to it.

    Parameters
    ----------
    left : KeyColumns
        The frame and its columns as keys.
    steps : tuple of JoinStep
        What was joined, with the names that its columns were given.
    joined, passed_over : tuple of dict
        A report of each step, and of each candidate that was not joined.
    """

    left: KeyColumns
    steps: tuple[JoinStep, ...] = ()
    joined: tuple[dict[str, Any], ...] = ()
    passed_over: tuple[dict[str, Any], ...] = ()

    def join(self, step: JoinStep, index: KeyIndex, right: RightSide, options: JoinOptions) -> JoinAccount:
        """Join one right side; `index` numbers the key of the frame."""
        right, aggregate = spread_rules(right, step.aggregate)
        result = join_step(self.left.frame, replace(step, aggregate=aggregate), index, right, options)
        report = _step_report(step, index, result, len(self.left.frame))
        report |= _step_examples(self.left.frame, step, result)
        if right.relation:
            report["relation"] = right.relation
        if step.pad:
            report["pad"] = step.pad
        if right.left_out:
            report["left_out"] = right.left_out
        return replace(
            self,
            left=self.left.after(result.frame, None if result.is_whole else result.left_rows),
            steps=(*self.steps, replace(step, names=result.names, counted=bool(result.counted), **result.decided)),
            joined=(*self.joined, report),
        )

    def name_against(self, reason: str) -> JoinAccount:
        """Note what counts against the last step."""
        return replace(self, joined=(*self.joined[:-1], {**self.joined[-1], "against": reason}))

    def pass_over(self, table: str, column: str, reason: str) -> JoinAccount:
        """Note a candidate that is not joined."""
        return replace(self, passed_over=(*self.passed_over, {"table": table, "column": column, "reason": reason}))


def _step_report(step: JoinStep, index: KeyIndex, result: StepResult, rows_before: int) -> dict[str, Any]:
    columns = [
        {
            "name": name,
            "column": column,
            "rule": result.rules.get(column, ""),
            "n_disagreeing": result.disagreeing.get(column, 0),
        }
        for column, name in result.names.items()
    ]
    matched = result.met.n_keys_met
    return {
        "table": step.table,
        "on": [json_label(label) for label in step.on],
        "right_on": step.right_on,
        "relationship": result.relationship,
        "matched": matched,
        "containment": matched / max(1, index.n_keys),
        "rows_in": rows_before,
        "rows_matched": result.met.n_matched,
        "coverage": result.met.n_matched / max(1, rows_before),
        "rows_out": len(result.frame),
        "n_columns": len(columns),
        "columns": columns,
    }


def report_values(df: pd.DataFrame, account: JoinAccount, plan: JoinPlan) -> dict[str, Any]:
    """Write the report of a join of `df` as plain JSON values."""
    return truncate_report(
        {
            "rows_in": len(df),
            "rows_out": len(account.left.frame),
            "how": plan.how,
            "joined": list(account.joined),
            "n_passed_over": len(account.passed_over),
            "passed_over": list(account.passed_over[:_MAX_PASSED_OVER]),
            "earlier": joined_before(df)[:_MAX_EARLIER],
            "plan": plan.to_dict(),
        }
    )


def joined_before(df: pd.DataFrame) -> list[list[str]]:
    """Return index and name of each table of a lake that was joined to a frame before, as its reports tell."""
    report = df.attrs.get("dfjoin")
    if not isinstance(report, dict) or not isinstance(report.get("joined"), list):
        return []
    plan, earlier = report.get("plan"), report.get("earlier")
    index = plan.get("index") if isinstance(plan, dict) else ""
    names = [step.get("table") for step in report["joined"] if isinstance(step, dict)]
    return [*(earlier if isinstance(earlier, list) else []), *([index, name] for name in names if index and name)]


class JoinReport:
    """The report of a join; prints as text, ``to_dict()`` for programs.

    Parameters
    ----------
    values : dict
        As in ``attrs["dfjoin"]``.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        return self._values

    def __str__(self) -> str:
        """Write the report in a few lines."""
        values = self._values
        lines = [_rows_text(values)]
        for step in values["joined"]:
            on, right_on = " + ".join(map(str, step["on"])), " + ".join(step["right_on"])
            lines.append(
                f"joined {step['table'] or 'the other frame'} on {on} = {right_on}, {step['relationship']}: "
                f"{step['rows_matched']:,} of {step.get('rows_in', values['rows_in']):,} rows found a partner "
                f"({step['coverage']:.1%})"
            )
            if step.get("against"):
                lines.append(f"  against: {step['against']}")
            lines += _relation_lines(step.get("relation", {}))
            if step.get("pad"):
                lines.append("  zeros: " + tell_zeros(step["pad"], on, step["table"] or "the other frame"))
            added = [_column_text(column) for column in step["columns"][:12]]
            rest = step["n_columns"] - len(added)
            more = [f"{rest:,} more" if added else f"{rest:,}"] if rest > 0 else []
            lines.append("  columns: " + " and ".join(filter(None, [", ".join(added), *more])))
            lines += _left_out_lines(step.get("left_out", {}))
        if not values["joined"]:
            lines += _planned_lines(values)
        for passed in values["passed_over"][:5]:
            if passed["column"]:
                lines.append(f"passed over {columns_text(passed)}: {passed['reason']}")
            else:
                lines.append(f"tried {passed['reason']}")
        rest = values["n_passed_over"] - min(5, len(values["passed_over"]))
        if rest > 0:
            lines.append(f"passed over {rest} more")
        return visible_lines(lines)

    __repr__ = __str__

    def plot_precision(self, *, ax: Any = None) -> Any:
        """Draw what a join by similarity would reach at other precisions: estimated precision against recall.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            The curve over the keys that are not equal, the precision that was asked for, and this join. With one
            partner for each key of the other side the join lies below the curve.

        Raises
        ------
        MissingDependencyError
            If matplotlib, the extra ``plot``, is not installed.
        InvalidParameterError
            If no key was joined by similarity, or by the threshold of an earlier join, which estimates nothing.
        """
        for step in self._values["joined"]:
            found = step.get("relation", {}).get("fuzzy", {})
            if found.get("curve"):
                chosen = found["estimated_recall"], found["estimated_precision"]
                return _plots.draw_precision(found["curve"], chosen, found["settings"]["precision"], ax)
        raise InvalidParameterError(
            "`plot_precision` needs a join by similarity, got a report of a join without; join by misspelled keys with "
            "auto_join(other, on=…, precision=0.9), and not by a plan"
        )

    def _repr_html_(self) -> str:
        """Write the report as cards, for notebooks."""
        return _report_html(self._values, str(self))


def _rows_text(values: dict[str, Any]) -> str:
    """Tell how many rows came and went; nobody counts those of a plan that Spark carries out."""
    if values["rows_in"] is None:
        return f"a plan was carried out, how={values['how']!r}; rows were not counted"
    return f"{values['rows_in']:,} rows in, {values['rows_out']:,} rows out, how={values['how']!r}"


def _planned_lines(values: dict[str, Any]) -> list[str]:
    """Name what a plan joins that was carried out without an account of it."""
    if values["rows_in"] is not None:
        return ["nothing was joined"]
    return [
        f"joined {step['table'] or 'the other frame'} on {' + '.join(map(str, step['on']))} = "
        + " + ".join(step["right_on"])
        for step in values["plan"]["steps"]
    ]


def _column_text(column: dict[str, Any]) -> str:
    """Name a column of the result; where rows were made one, say how, and how many rows disagree."""
    if not column["rule"]:
        return column["name"]
    n_rows = column.get("n_disagreeing", 0)
    if not n_rows:
        return f"{column['name']} ({column['rule']})"
    return f"{column['name']} ({column['rule']}; {n_rows:,} row{'s disagree' if n_rows > 1 else ' disagrees'})"


def _left_out_lines(left_out: dict[str, str]) -> list[str]:
    """Name the columns that were not added, and why."""
    if not left_out:
        return []
    shown = ", ".join(f"{name} ({reason})" for name, reason in list(left_out.items())[:5])
    rest = f" and {len(left_out) - 5:,} more" if len(left_out) > 5 else ""
    return [f"  left out: {shown}{rest}; name them with `columns` to get them"]


def columns_text(passed: dict[str, str]) -> str:
    """Name a candidate that was passed over: a table and its column, or columns of two frames."""
    return f"{passed['table']} column {passed['column']!r}" if passed["table"] else passed["column"]


def _relation_lines(relation: dict[str, Any]) -> list[str]:
    """Tell in a line each by which program, or how similar, keys were related."""
    lines = []
    found = relation.get("transform", {})
    target = _target_text(found.get("target"))
    now = relation.get("explained")
    for entry in found.get("programs", []):
        if entry["support"]:  # a key that is copied, so that likeness completes it, joins nothing by itself
            what = f"{entry['text']} = {target}" if target else entry["text"]
            when = " when the plan was made" if now else ""
            lines.append(f"  by {what}: {entry['support']:,} rows{when}, precision about {entry['precision']:.3f}")
    if now:
        shown = f"{now['n_joined']:,} of {now['n_rows']:,} rows; {now['when_made']:.1%} when it was made"
        lines.append(f"  the plan explains {shown}")
    if basis := found.get("basis"):
        lines.append(f"  {visible(basis)}; pass transform=False to refuse it")
    if respelled := found.get("n_respelled", 0):
        lines.append(
            f"  {respelled:,} of these keys are equal only when casing, blanks and zeros are made equal: "
            "exported code writes other texts for them, so that plain = does not match them"
        )
    if "elements" in relation:
        found = relation["elements"]
        whose = "the other table" if found["side"] == "right" else "this table"
        lines.append(f"  by each value of a cell of {whose}, separated by {found['separator']!r}")
    if "period" in relation:
        lines.append(f"  equal if both lie in the same {relation['period']}")
    if "dated" in relation:
        found = relation["dated"]
        words = "the latest rows not after" if found["rule"] == "latest" else "rows dated before"
        lines.append(f"  only {words} {found['on']}, by {', '.join(found['right_on'])}")
    near = distance_relation(relation)
    if near is not None:
        lines.append(f"  {near.describe()}")
    if found := relation.get("fuzzy"):
        lines.append("  " + _likeness_text(found))
    return lines


def _likeness_text(found: dict[str, Any]) -> str:
    """Say how many keys likeness joins, and what share of them is right by estimate, or why it joins none."""
    if not found["n_pairs"]:
        return str(found["reason"])
    if found["estimated_precision"] is None:
        asked = found["settings"]["precision"]
        shown = f"by the threshold of an earlier join, which was asked for a precision of {asked:g}"
    else:
        shown = f"precision about {found['estimated_precision']:.3f}"
    return f"by likeness: {found['n_pairs']:,} keys, {shown}"


def _target_text(target: dict[str, Any] | None) -> str:
    """Write the program of the target; empty for one that copies its column, as the key is named already."""
    program = None if target is None else Program.from_dict(target)
    return "" if program is None or program.is_identity else str(program)


def report_of(df: Any) -> JoinReport:
    """Carry out `dfjoin.report`."""
    if not (is_pandas(df) or is_frame(df)):
        of_spark = "; for one of Spark call spark_ext.report(df)" if is_spark(df) else ""
        raise InvalidTypeError(f"`df` must be a DataFrame that auto_join made, got {type(df).__name__}{of_spark}")
    values = attrs_of(df).get("dfjoin")
    if not isinstance(values, dict) or "joined" not in values:
        raise InvalidParameterError(
            "`df` carries no join report; pass what auto_join returned (a merge or a file loses the report)"
        )
    return JoinReport(values)


def truncate_report(values: dict[str, Any]) -> dict[str, Any]:
    """Shorten the lists of a report until it is below `MAX_BYTES`; the plan stays whole for longest."""
    for limit in (50, 20, 5, 0):
        if _size(values) < MAX_BYTES:
            return values
        values["passed_over"] = values["passed_over"][:limit]
        for step in values["joined"]:
            step["columns"] = step["columns"][: 4 * limit]
            if limit < _MAX_PASSED_OVER:
                step["rows"], step["without_partner"] = [], []
            if "left_out" in step:
                step["left_out"] = dict(list(step["left_out"].items())[:limit])
    for step in values["plan"]["steps"]:  # names that follow from the rule need not be kept
        step["names"] = {k: v for k, v in step["names"].items() if k != v}
    if _size(values) >= MAX_BYTES:
        for step in values["plan"]["steps"]:
            step["names"], step["measures"] = {}, None
    if _size(values) >= MAX_BYTES:  # the columns that the caller asked for are too many to be listed
        values["plan"] = {**values["plan"], "is_cut": True, "steps": []}
    return values


def _size(values: dict[str, Any]) -> int:
    return len(json.dumps(values, ensure_ascii=False).encode(errors="surrogatepass"))


# Examples, and the report as cards --------------------------------------------------------------------------


def _step_examples(left: pd.DataFrame, step: JoinStep, result: StepResult) -> dict[str, Any]:
    """Choose what the report of one step shows.

    Parameters
    ----------
    left : DataFrame
        The frame before the step.
    step : JoinStep
    result : StepResult

    Returns
    -------
    dict
        ``without_partner``, the first keys of the frame that no row has; ``rows``, the key and the first new columns of
        the first rows that found a partner: texts of at most 60 characters, None for null.

    Notes
    -----
    Rows are searched until they are found: O(rows) at most.
    """
    met, left_rows = result.met, result.left_rows
    keys = [left.columns.get_loc(label) for label in step.on]

    def alone(rows: NDArray[np.int64], found: list[int]) -> NDArray[np.int64]:
        rows = rows[(met.left[rows] >= 0) & ~met.has_partner(rows)]
        rows = rows[np.isin(met.left[rows], met.left[found], invert=True)]
        return rows[np.sort(np.unique(met.left[rows], return_index=True)[1])]

    def joined(rows: NDArray[np.int64], _: list[int]) -> NDArray[np.int64]:
        rows = rows[left_rows[rows] >= 0]
        return rows[met.has_partner(left_rows[rows])]

    first = _first(_VALUES, alone, met.left.size if met.n_matched < met.left.size else 0)
    rows = _first(_ROWS, joined, left_rows.size if met.n_matched else 0)
    first_new = left.shape[1]
    new = range(first_new, min(first_new + len(result.names), first_new + max(0, _COLUMNS - len(keys))))
    return {
        "without_partner": [" + ".join(_cell_text(left, row, key) or "" for key in keys) for row in first],
        "rows": [
            {str(result.frame.columns[column]): _cell_text(result.frame, row, column) for column in [*keys, *new]}
            for row in rows
        ],
    }


def _first(most: int, choose: Callable[[NDArray[np.int64], list[int]], NDArray[np.int64]], n_rows: int) -> list[int]:
    """Return the first rows that are chosen; `choose` gets some rows, and those that were chosen before."""
    found: list[int] = []
    for begin in range(0, n_rows, _AT_ONCE):
        found += choose(np.arange(begin, min(n_rows, begin + _AT_ONCE)), found)[: most - len(found)].tolist()
        if len(found) == most:
            break
    return found


def _cell_text(df: pd.DataFrame, row: int, column: int) -> str | None:
    """Write a cell as a short text, None for a null and for what has no text.

    A cell may be any object, whose own code raises anything; an example is not worth the join.
    """
    try:
        cell = df.iat[row, column]
        if cell is None or (np.isscalar(cell) and pd.isna(cell)) or cell is pd.NA or cell is pd.NaT:
            return None
        text = str(cell)
    except Exception:
        return None
    return text if len(text) <= _CHARACTERS else text[: _CHARACTERS - 1] + "…"


def _report_html(values: dict[str, Any], text: str) -> str:
    """Write the report of a join: a card for each table, then what was passed over."""
    parts = [f"<p>{_html.escape(_rows_text(values))}</p>"]
    parts += [_step_card(step) for step in values["joined"]]
    if not values["joined"]:
        parts += [f"<p>{_html.escape(line)}</p>" for line in _planned_lines(values)]
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
    matched = f"{step['rows_matched']:,} rows found a partner ({step['coverage']:.1%})"
    rows = [
        (column["name"], column["rule"] or "as it is", f"{column.get('n_disagreeing', 0):,}" if column["rule"] else "")
        for column in step["columns"][:12]
    ]
    left_out = ", ".join(f"{name} ({reason})" for name, reason in list(step.get("left_out", {}).items())[:5])
    rest = step["n_columns"] - len(rows)
    parts = [_html.bar(step["coverage"], matched), _html.table(("column", "rule", "rows that disagree"), rows)]
    alone = ", ".join(f"<code>{_html.escape(value)}</code>" for value in step.get("without_partner", []))
    items = [
        ("without partner", alone),
        ("more columns", f"{rest:,}" if rest > 0 else ""),
        ("left out", _html.escape(left_out)),
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
