"""What a join did: a report in ``attrs["dfjoin"]``, plain JSON, and its text."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from dfjoin.errors import InvalidParameterError, InvalidTypeError

__all__ = ["MAX_BYTES", "JoinReport", "fit", "report_of"]

MAX_BYTES = 64 << 10
"""A report with its plan stays below this as JSON text."""


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
            lines += _relation_lines(step.get("relation", {}))
            added = [f"{c['name']} ({c['rule']})" if c["rule"] else c["name"] for c in step["columns"][:12]]
            rest = step["n_columns"] - len(added)
            more = [f"{rest:,} more" if added else f"{rest:,}"] if rest > 0 else []
            lines.append("  columns: " + " and ".join(filter(None, [", ".join(added), *more])))
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
        return "\n".join(lines)

    __repr__ = __str__


def _relation_lines(relation: dict[str, Any]) -> list[str]:
    """Tell in a line each by what program, or likeness, keys were related."""
    lines = [
        f"  by {entry['text']}: {entry['support']:,} rows, precision about {entry['precision']:.3f}"
        for entry in relation.get("transform", {}).get("programs", [])
    ]
    if "fuzzy" in relation:
        found = relation["fuzzy"]
        lines.append(f"  by likeness: {found['n_pairs']:,} keys, precision about {found['estimated_precision']:.3f}")
    return lines


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


def fit(values: dict[str, Any]) -> dict[str, Any]:
    """Shorten the lists of a report until it is below `MAX_BYTES`; the plan stays whole for longest."""
    for limit in (50, 20, 5, 0):
        if _size(values) < MAX_BYTES:
            return values
        values["passed_over"] = values["passed_over"][:limit]
        for step in values["joined"]:
            step["columns"] = step["columns"][: 4 * limit]
    for step in values["plan"]["steps"]:  # names that follow from the rule need not be kept
        step["names"] = {k: v for k, v in step["names"].items() if k != v}
    if _size(values) >= MAX_BYTES:
        for step in values["plan"]["steps"]:
            step["names"] = {}
    if _size(values) >= MAX_BYTES:  # the columns that the caller asked for are too many to be listed
        values["plan"] = {**values["plan"], "is_cut": True, "steps": []}
    return values


def _size(values: dict[str, Any]) -> int:
    return len(json.dumps(values, ensure_ascii=False).encode())
