"""The pages on which a table is transformed: by SQL, and by simple steps."""

from __future__ import annotations

import re
from typing import Any

from starlette.responses import Response

from dfjoin.errors import DfjoinError, InvalidParameterError
from dfjoin.page.column_cards import column_cards
from dfjoin.page.page_texts import TEXTS
from dfjoin.page.search_views import accepted, replaced_step
from dfjoin.page.simple_steps import MEASURES, OPERATORS, TYPES, Drop, Filter, Group, Rename, Retype, Sort, typed_value
from dfjoin.page.steps import RunSql, json_of_step
from dfjoin.page.visit import Visit
from dfjoin.page.work import StepError, TableState

_LINE = re.compile(r"LINE (\d+): ")

_MOST_BOXES = 200
"""Columns that have a box in a form; SQL names all."""

_TEXTS = ("kind", "column", "operator", "value", "name", "type")
_NOTHING: dict[str, Any] = dict.fromkeys(_TEXTS, "") | {"columns": [], "descending": False, "measures": {}}
"""The fields of simple steps, empty."""


def show_sql(visit: Visit) -> Response:
    """Show the editor of a query."""
    return _editor(visit, visit.state(), str(visit.fields.get("query", "")))


def _editor(visit: Visit, state: TableState, query: str, problem: str = "", status: int = 200) -> Response:
    line = _LINE.search(problem)
    return visit.render(
        "sql.html",
        status,
        state=state,
        cards=visit.work.kept(("cards", state.name), lambda: column_cards(state.frame)),
        query=query or "SELECT *\nFROM t",
        problem=problem,
        line=int(line[1]) if line else None,
        of=str(visit.fields.get("of", "")),
        at=str(visit.fields.get("at", "")),
    )


def run_sql(visit: Visit) -> Response:
    """Run a query and make it a step; an error is shown beside the query."""
    state = visit.state()
    query = str(visit.fields.get("query", "")).replace("\r\n", "\n")
    try:
        return visit.go(f"/s/{accepted(visit, state, RunSql(query))}")
    except StepError as error:
        if error.number != len(state.recipe.steps) + 1:
            raise
        return _editor(visit, state, query, str(error), 400)


def show_change(visit: Visit) -> Response:
    """Show the simple steps; one that is to be changed is filled in."""
    step = replaced_step(visit)
    return _changes(visit, visit.state(), _NOTHING if step is None else _NOTHING | json_of_step(step))


def _changes(visit: Visit, state: TableState, given: dict[str, Any], problem: str = "", status: int = 200) -> Response:
    """Show the forms; `given` has the fields of the one that is filled in."""
    kinds = sorted(TEXTS["changes"], key=lambda kind: kind != given["kind"])
    return visit.render(
        "change.html",
        status,
        state=state,
        kinds=kinds,
        given=given,
        nothing=_NOTHING,
        names=list(state.frame.columns),
        n_boxes=_MOST_BOXES,
        operators=OPERATORS,
        types=TYPES,
        measures=MEASURES,
        problem=problem,
        of=str(visit.fields.get("of", "")),
        at=str(visit.fields.get("at", "")),
    )


def change(visit: Visit) -> Response:
    """Make a simple step."""
    state = visit.state()
    given = _given(visit.fields)
    try:
        return visit.go(f"/s/{accepted(visit, state, _simple_step(given, state))}")
    except StepError as error:
        if error.number != len(state.recipe.steps) + 1:
            raise
        return _changes(visit, state, given, str(error), 400)
    except DfjoinError as error:
        return _changes(visit, state, given, str(error), 400)


def _given(fields: Any) -> dict[str, Any]:
    """Read what a person filled in, as the steps name it."""
    texts = {name: str(fields.get(name, "")) for name in _TEXTS}
    rules = [(name.removeprefix("measure."), str(rule)) for name, rule in fields.items() if name.startswith("measure.")]
    return texts | {
        "columns": list(dict.fromkeys(map(str, fields.getlist("columns")))),
        "descending": bool(fields.get("descending")),
        "measures": {name: rule for name, rule in rules if rule},
    }


def _simple_step(given: dict[str, Any], state: TableState) -> Any:
    """Make a simple step of what a person filled in."""
    kind, column, columns = given["kind"], given["column"], given["columns"]
    if kind == "rename":
        return Rename(column, given["name"].strip())
    if kind == "drop":
        return Drop(columns)
    if kind == "sort":
        return Sort(columns, descending=given["descending"])
    if kind == "retype":
        return Retype(column, given["type"])
    if kind == "group":
        return Group(columns, {name: rule for name, rule in given["measures"].items() if name not in columns})
    if kind == "filter":
        operator, text = given["operator"], given["value"]
        if operator in ("is missing", "is there", "contains") or column not in state.frame.columns:
            return Filter(column, operator, text)
        return Filter(column, operator, *typed_value(state.frame[column], text))
    raise InvalidParameterError(TEXTS["no_step"])


def remove_step(visit: Visit) -> Response:
    """Leave a step out, and run the rest again."""
    state = visit.work.files.recipe(visit.request.path_params["state"])
    at = str(visit.fields.get("at", ""))
    if state is None or at not in map(str, range(1, len(state.steps) + 1)):
        raise InvalidParameterError(TEXTS["no_step"])
    rest = state.first(int(at) - 1).then(*state.steps[int(at) :])
    return visit.go(f"/s/{visit.work.run(rest, visit.is_left).name}")
