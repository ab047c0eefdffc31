"""A join in progress: the frame so far, what was done to it, and how a step is carried out and reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from dfjoin.join.aggregate import check_aggregate
from dfjoin.join.execute import RightSide, StepResult, join_step
from dfjoin.join.keys import LeftKey, RowKeys
from dfjoin.join.plan import JoinStep, json_label

__all__ = ["JoinState", "apply_step"]


@dataclass
class JoinState:
    """A join in progress: the frame so far, what was done to it, and the caller's wishes."""

    frame: pd.DataFrame
    how: str
    aggregate: Any
    max_expansion: float
    indicator: bool
    on_stale: str
    rows_in: int
    joined: list[dict[str, Any]] = field(default_factory=list)
    steps: list[JoinStep] = field(default_factory=list)
    passed_over: list[dict[str, Any]] = field(default_factory=list)

    def pass_over(self, table: str, column: str, reason: str) -> None:
        """Note a candidate that was not joined."""
        self.passed_over.append({"table": table, "column": column, "reason": reason})


def apply_step(
    state: JoinState,
    step: JoinStep,
    left: LeftKey | RowKeys,
    right: RightSide,
    labels: Sequence[Any] | None = None,
    relation: dict[str, Any] | None = None,
) -> None:
    """Join one right side and note what was done; `labels` are the key columns, `relation` how they belong together."""
    rules = check_aggregate(step.aggregate, list(right.frame.columns))
    before = len(state.frame)
    result = join_step(
        state.frame,
        step.on if labels is None else labels,
        left,
        right,
        how=state.how,
        aggregate=rules,
        max_expansion=state.max_expansion,
        indicator=state.indicator,
        names=step.names,
    )
    state.frame = result.frame
    state.steps.append(replace(step, names=result.names))
    state.joined.append(_step_report(step, left, result, before) | ({"relation": relation} if relation else {}))


def _step_report(step: JoinStep, left: LeftKey | RowKeys, result: StepResult, rows_before: int) -> dict[str, Any]:
    columns = [
        {"name": name, "column": column, "rule": result.rules.get(column, "")} for column, name in result.names.items()
    ]
    return {
        "table": step.table,
        "on": [json_label(label) for label in step.on],
        "right_on": step.right_on,
        "relationship": result.relationship,
        "matched": result.values_matched,
        "containment": result.values_matched / max(1, left.n_keys),
        "rows_in": rows_before,
        "rows_matched": result.rows_matched,
        "coverage": result.rows_matched / max(1, rows_before),
        "rows_out": len(result.frame),
        "n_columns": len(columns),
        "columns": columns,
    }
