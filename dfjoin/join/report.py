"""What a join did: its account step by step, the report in ``attrs["dfjoin"]``, plain JSON, and its text."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from dfjoin._visible import visible_lines
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.join.execute import RightSide, StepResult, join_step
from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import JoinPlan, JoinStep, json_label
from dfjoin.join.relation_kinds import distance_relation
from dfjoin.join.report_examples import step_examples
from dfjoin.programs.program import Program
from dfjoin.search.explanation import tell_zeros
from dfjoin.search.row_keys import KeyIndex

__all__ = [
    "MAX_BYTES",
    "JoinAccount",
    "JoinReport",
    "joined_before",
    "report_of",
    "report_values",
    "truncate_report",
]

MAX_BYTES = 64 << 10
"""A report with its plan stays below this as JSON text."""

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
        result = join_step(self.left.frame, step, index, right, options)
        report = _step_report(step, index, result, len(self.left.frame))
        report |= step_examples(self.left.frame, step, (index, right.codes), result)
        if right.relation:
            report["relation"] = right.relation
        if step.pad:
            report["pad"] = step.pad
        if right.left_out:
            report["left_out"] = right.left_out
        return replace(
            self,
            left=self.left.after(result.frame, result.left_rows),
            steps=(*self.steps, replace(step, names=result.names, counted=bool(result.counted), **result.decided)),
            joined=(*self.joined, report),
        )

    def tell_against(self, reason: str) -> JoinAccount:
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
    return {
        "table": step.table,
        "on": [json_label(label) for label in step.on],
        "right_on": step.right_on,
        "relationship": result.relationship,
        "matched": result.values_matched,
        "containment": result.values_matched / max(1, index.n_keys),
        "rows_in": rows_before,
        "rows_matched": result.rows_matched,
        "coverage": result.rows_matched / max(1, rows_before),
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
        lines = [f"{values['rows_in']:,} rows in, {values['rows_out']:,} rows out, how={values['how']!r}"]
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
            lines.append("nothing was joined")
        for passed in values["passed_over"][:5]:
            if passed["column"]:
                lines.append(f"passed over {passed['table']} column {passed['column']!r}: {passed['reason']}")
            else:
                lines.append(f"tried {passed['reason']}")
        rest = values["n_passed_over"] - min(5, len(values["passed_over"]))
        if rest > 0:
            lines.append(f"passed over {rest} more")
        return visible_lines(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Write the report as cards, for notebooks."""
        from dfjoin.join.report_card import report_html

        return report_html(self._values, str(self))


def _column_text(column: dict[str, Any]) -> str:
    """Name a column of the result; where rows were made one, say how, and how many rows disagree."""
    if not column["rule"]:
        return column["name"]
    n_rows = column.get("n_disagreeing", 0)
    if not n_rows:
        return f"{column['name']} ({column['rule']})"
    return f"{column['name']} ({column['rule']}; {n_rows:,} row{'s disagree' if n_rows > 1 else ' disagrees'})"


def _left_out_lines(left_out: dict[str, str]) -> list[str]:
    """Name the columns that were not brought, and why."""
    if not left_out:
        return []
    told = ", ".join(f"{name} ({reason})" for name, reason in list(left_out.items())[:5])
    rest = f" and {len(left_out) - 5:,} more" if len(left_out) > 5 else ""
    return [f"  not brought: {told}{rest}; name them with `columns` to get them"]


def _relation_lines(relation: dict[str, Any]) -> list[str]:
    """Tell in a line each by which program, or how similar, keys were related."""
    lines = []
    found = relation.get("transform", {})
    target = _target_text(found.get("target"))
    for entry in found.get("programs", []):
        if entry["support"]:  # a key that is copied, so that likeness completes it, joins nothing by itself
            what = f"{entry['text']} = {target}" if target else entry["text"]
            lines.append(f"  by {what}: {entry['support']:,} rows, precision about {entry['precision']:.3f}")
    if respelled := found.get("n_respelled", 0):
        lines.append(
            f"  {respelled:,} of these keys are equal only when casing, blanks and zeros are brought to one form: "
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
    found = relation.get("fuzzy")
    if found:
        estimate = found["estimated_precision"]
        if estimate is None:
            asked = found["settings"]["precision"]
            told = f"by the threshold of an earlier join, which was asked for a precision of {asked:g}"
        else:
            told = f"precision about {estimate:.3f}"
        lines.append(f"  by likeness: {found['n_pairs']:,} keys, {told}")
    return lines


def _target_text(target: dict[str, Any] | None) -> str:
    """Write the program of the target; empty for one that copies its column, as the key is named already."""
    program = None if target is None else Program.from_dict(target)
    return "" if program is None or program.is_identity else str(program)


def report_of(df: Any) -> JoinReport:
    """Carry out `dfjoin.report`."""
    if not isinstance(df, pd.DataFrame):
        raise InvalidTypeError(f"`df` must be a DataFrame that auto_join made, got {type(df).__name__}")
    values = df.attrs.get("dfjoin")
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
