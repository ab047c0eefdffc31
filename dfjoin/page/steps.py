"""The kinds of steps: plain JSON that says how a table is made of the one before."""

from __future__ import annotations

import pprint
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Protocol

import pandas as pd

from dfjoin.api import auto_join
from dfjoin.errors import InvalidParameterError
from dfjoin.lake import Lake
from dfjoin.page.page_texts import TEXTS, refusal
from dfjoin.page.simple_steps import Drop, Filter, Group, Rename, Retype, Sort
from dfjoin.page.sql_query import TABLE, SqlLimits, run_query


class TableStep(Protocol):
    """What a step can do; its fields are its arguments."""

    kind: ClassVar[str]

    def run(self, df: pd.DataFrame, lake: Lake) -> pd.DataFrame:
        """Make the table of the step."""

    def title(self) -> str:
        """Say what the step does, for people."""

    def code(self) -> str:
        """Write the step in Python: lines over ``df`` and ``lake``."""

    def spark_code(self) -> str | None:
        """Write the step over a Spark frame ``df``; None if its result may be another there."""


@dataclass(frozen=True)
class JoinFound:
    """Join a table of the lake as a plan says.

    Parameters
    ----------
    plan : dict
        A `JoinPlan`.
    version : int
        Of the index that the table was found in.
    index : str
        UUID of the index.
    form : str
        What a person chose, as the query of an address; empty for a step of an earlier version.
    """

    kind: ClassVar[str] = "join"
    plan: dict[str, Any]
    version: int
    index: str = ""
    form: str = ""

    def run(self, df: pd.DataFrame, lake: Lake) -> pd.DataFrame:
        """Join the table."""
        return auto_join(df, self.plan | {"index": str(lake.path)})

    def title(self) -> str:
        """Say what is joined."""
        return "; ".join(
            TEXTS["titles"]["join"].format(
                step["table"], " + ".join(map(str, step["on"])), " + ".join(step["right_on"])
            )
            for step in self.plan["steps"]
        )

    def code(self) -> str:
        """Write the join by its plan."""
        steps = [{k: v for k, v in step.items() if v is not None or k == "aggregate"} for step in self.plan["steps"]]
        plan = {k: v for k, v in self.plan.items() if k != "index"} | {"steps": steps}
        return f"plan = {_as_code(plan)}\ndf = df.auto_join(plan | {{'index': str(lake.path)}})"

    def spark_code(self) -> str | None:
        """Write the join by its plan, which Spark carries out alike."""
        return self.code()


@dataclass(frozen=True)
class JoinPaired:
    """Join a table of the lake as a frame, by a learned program and by similarity, as a person reviewed the pairs.

    Parameters
    ----------
    table : str
    version : int
        Of the index, as in `JoinFound`.
    arguments : dict
        Of `dfjoin.auto_join`: ``on, right_on, precision, reviewed`` and the like.
    index : str
    """

    kind: ClassVar[str] = "pairs"
    table: str
    version: int
    arguments: dict[str, Any] = field(default_factory=dict)
    index: str = ""

    def run(self, df: pd.DataFrame, lake: Lake) -> pd.DataFrame:
        """Join the table."""
        return auto_join(df, lake.table(self.table), **self.arguments)

    def title(self) -> str:
        """Say what is joined."""
        arguments = self.arguments
        n_reviewed = len(arguments.get("reviewed", ()))
        reviewed = TEXTS["titles"]["reviewed"].format(n_reviewed) if n_reviewed else ""
        return TEXTS["titles"]["pairs"].format(self.table, arguments.get("on"), arguments.get("right_on"), reviewed)

    def code(self) -> str:
        """Write the join."""
        arguments = "".join(f", {name}={_as_code(value)}" for name, value in self.arguments.items())
        return f"df = df.auto_join(lake.table({self.table!r}){arguments})"

    def spark_code(self) -> str | None:
        """Spark learns from a sample of the rows, so that pairs may differ."""
        return None


@dataclass(frozen=True)
class RunSql:
    """Run a SELECT over the table."""

    kind: ClassVar[str] = "sql"
    query: str

    def run(self, df: pd.DataFrame, lake: Lake, is_left: Callable[[], bool] | None = None) -> pd.DataFrame:
        """Run the query, within the limits of the page."""
        return run_query(df, self.query, SqlLimits(is_left=is_left))

    def title(self) -> str:
        """Show the query on one line."""
        return " ".join(self.query.split())

    def code(self) -> str:
        """Write the query for DuckDB."""
        lines = self.query.strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        written = "".join(map(_as_written, lines))
        return (
            "with duckdb.connect() as connection:\n"
            f'    connection.register("{TABLE}", pa.Table.from_pandas(df, preserve_index=False))\n'
            f'    df = typed_frame(connection.sql("""\n{written}\n""").to_arrow_table())'
        )

    def spark_code(self) -> str | None:
        """DuckDB and Spark read SQL by different rules."""
        return None


_KINDS: dict[str, Any] = {
    step.kind: step for step in (JoinFound, JoinPaired, RunSql, Rename, Drop, Filter, Sort, Retype, Group)
}


def step_of(values: dict[str, Any]) -> TableStep:
    """Make a step of its JSON values.

    Raises
    ------
    InvalidParameterError
        If they are no step.
    """
    try:
        fields = dict(values)
        step: TableStep = _KINDS[fields.pop("kind")](**fields)
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidParameterError(refusal("step_fields", error)) from error
    return step


def json_of_step(step: Any) -> dict[str, Any]:
    """Write a step as plain JSON values."""
    return {"kind": step.kind, **asdict(step)}


def _as_written(character: str) -> str:
    """Write a character of a text of several lines as a literal has it: no file of Python holds a NUL or a lone CR."""
    if character == "\n" or character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


def _as_code(value: Any) -> str:
    """Write plain values as a Python literal on lines of readable length."""
    return pprint.pformat(value, width=100, sort_dicts=False)
