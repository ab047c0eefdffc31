"""The pages of a search, and of the join of a hit."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_datetime64_any_dtype
from starlette.datastructures import QueryParams
from starlette.responses import Response

from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError
from dfjoin.page.hit_search import (
    METHODS,
    SearchForm,
    added_columns,
    facets_of,
    find,
    find_one,
    narrowed,
    search_form,
)
from dfjoin.page.join_preview import (
    HOWS,
    RULES,
    JoinForm,
    disagreeing_rows,
    join_form,
    nearest_partners,
    preview,
)
from dfjoin.page.page_texts import TEXTS, refusal
from dfjoin.page.rendering import shown_part
from dfjoin.page.state_files import Recipe
from dfjoin.page.steps import JoinFound, json_of_step, step_of
from dfjoin.page.visit import Visit
from dfjoin.page.work import TableState

_SHOWN_CARDS = 20
_SHOWN_ROWS = 200
_EXAMPLES = 12


def search(visit: Visit) -> Response:
    """Show the hits of a search."""
    state = visit.state()
    form = search_form(visit.fields, state)
    why, problem = "", ""
    try:
        hits = find(visit.work, state, form)
        why = TEXTS["no_period"] if form.period and not len(hits) else hits.why_empty()
    except IncompatibleSettingsError as error:
        hits, problem = None, str(error)
    rows, new_columns = (
        ([], [])
        if hits is None
        else visit.work.kept(("rows", state.name, form), lambda: (_rows(hits), added_columns(visit.work, hits)))
    )
    kept = [] if hits is None else narrowed(hits, visit.fields, new_columns)
    return visit.render(
        "search.html",
        state=state,
        form=form,
        ways=METHODS,
        has_dates=_has_dates(state, form, hits),
        n_hits=0 if hits is None else len(hits),
        hits=[_hit(row, names) for row, names, is_kept in zip(rows, new_columns, kept, strict=True) if is_kept],
        n_cards=_SHOWN_CARDS,
        facets=None if hits is None else facets_of(hits, new_columns),
        narrowing={name: visit.fields.get(name, "") for name in ("verdict", "folder", "word")},
        why=why,
        problem=problem,
        command=_preparing(visit, form, problem),
        newer=visit.work.newer_version() if problem else None,
        others=[name for name in state.frame.columns if name not in form.on][:8],
        as_table=visit.fields.get("view") == "table",
    )


def _preparing(visit: Visit, form: SearchForm, problem: str) -> str:
    """Write the command that prepares the index for a method of search; empty where the problem is another one."""
    command = METHODS[form.way].command
    is_missing = bool(command) and f"add them with `lake.{command.replace('-', '_')}()`" in problem
    return f"dfjoin {command} {shlex.quote(str(visit.work.lake.path))}" if is_missing else ""


def _has_dates(state: TableState, form: SearchForm, hits: Any) -> bool:
    """Tell whether dates are searched for, so that a person may choose what they are matched by."""
    is_found = hits is not None and "period" in hits
    return bool(form.period) or is_found or any(is_datetime64_any_dtype(state.frame[name]) for name in form.on)


def _rows(hits: Any) -> list[dict[str, Any]]:
    """Return the rows of a result; column by column, since a result is slow to iterate over, and without `attrs`."""
    hits = pd.DataFrame(hits)  # each column that is taken of a result copies them
    hits.attrs = {}
    columns = {name: hits[name].tolist() for name in hits.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _hit(row: dict[str, Any], new_columns: list[str]) -> dict[str, Any]:
    """Make what a card shows of a row of a result."""
    score = row.get("score", np.nan)
    relationship = row["relationship"]
    return row | {
        "score": None if score != score else score,
        "verdict": row.get("verdict", ""),
        "relationship": relationship if isinstance(relationship, str) else "",
        "period": period if isinstance(period := row.get("period"), str) else "",
        "brings": new_columns,
        "n_similar": row.get("n_similar", 0),
        "copy": bool(row.get("copy", False)),
    }


def _picked(visit: Visit) -> tuple[TableState, SearchForm, Any]:
    """Return the state, the search and the hit that an address names."""
    state = visit.state()
    form = search_form(visit.fields, state)
    hits = find_one(visit.work, state, form, visit.fields.get("table", ""), visit.fields.get("column", ""))
    if not len(hits):
        raise InvalidParameterError(refusal("hit_unknown"))
    return state, form, hits


def evidence(visit: Visit) -> Response:
    """Show why a hit was found: joined rows, values without a partner, what counts for and against."""
    state, form, hits = _picked(visit)
    explained = visit.work.kept(
        ("evidence", state.name, form, hits["table"].iloc[0], hits["column"].iloc[0]), lambda: hits.explain(0).to_dict()
    )
    return visit.part("evidence.html", explained=explained, state=state)


def family(visit: Visit) -> Response:
    """Show the tables that count as one hit."""
    state = visit.state()
    form = search_form(visit.fields, state)
    hits = find(visit.work, state, form)
    chosen = np.flatnonzero(
        (hits["table"] == visit.fields.get("table", "")) & (hits["column"] == visit.fields.get("column", ""))
    )
    if not chosen.size:
        raise InvalidParameterError(refusal("hit_unknown"))
    return visit.part("family.html", members=hits.similar(int(chosen[0])).to_dict("records"), form=form, state=state)


def radius(visit: Visit) -> Response:
    """Show pairs of values that a radius takes in, the farthest first, of the best hits."""
    state = visit.state()
    form = search_form(visit.fields, state)
    hits = find(visit.work, state, form)
    pairs: list[dict[str, Any]] = []
    for i in range(min(3, len(hits))):
        found = hits.pairs(i)
        if "distance" in found:
            pairs += found[found["distance"] > 0].assign(table=hits["table"].iloc[i]).to_dict("records")
    pairs.sort(key=lambda pair: -pair["distance"])
    unique = {(pair["query_value"], pair["candidate_value"]): pair for pair in pairs}
    shown = list(unique.values())[:_EXAMPLES]
    unit = METHODS[form.way].unit
    return visit.part("radius.html", pairs=shown, n_hits=len(hits), form=form, state=state, unit=unit)


# The join of a hit ----------------------------------------------------------------------------------------------


def _join(visit: Visit) -> tuple[TableState, JoinForm]:
    """Return the state and the join that an address names: by its fields, else by the step that it changes."""
    state, fields = visit.state(), visit.fields
    if not fields.get("table") and isinstance(step := replaced_step(visit), JoinFound):
        fields = QueryParams(step.form)
    return state, join_form(fields, search_form(fields, state))


def replaced_step(visit: Visit) -> Any:
    """Return the step that the fields name to be changed; None if they name none."""
    later, at = _replaced(visit)
    return None if later is None else step_of(later.steps[at - 1])


def _replaced(visit: Visit) -> tuple[Recipe | None, int]:
    """Return the later state of the field ``of``, and the number of a step of it ``at``; None and 0 for none."""
    later = visit.work.files.recipe(str(visit.fields.get("of", "")))
    at = str(visit.fields.get("at", ""))
    if later is None or at not in map(str, range(1, len(later.steps) + 1)):
        return None, 0
    return later, int(at)


def show_join(visit: Visit) -> Response:
    """Show what the join with a hit makes."""
    state, form = _join(visit)
    made = preview(visit.work, state, form)
    return visit.render(
        "join.html",
        state=state,
        form=form,
        made=made,
        rows=shown_part(made.frame, _SHOWN_ROWS),
        new=made.new,
        hows=HOWS,
        rules=RULES,
        is_near=METHODS[form.search.way].radius is not None,
    )


def accept_join(visit: Visit) -> Response:
    """Make the join a step; in the place of another one where the form says so."""
    state, form = _join(visit)
    made = preview(visit.work, state, form)
    if not made.report:
        raise InvalidParameterError(TEXTS["nothing_joined"])
    step = JoinFound(made.plan, **visit.work.edition(), form=form.query())
    return visit.go(f"/s/{accepted(visit, state, step)}")


def accepted(visit: Visit, state: TableState, step: Any) -> str:
    """Add a step to a state, and return the name of the new one.

    Where the fields ``of`` and ``at`` name a later state and a step of it, the new step takes its place, and the steps
    after it are run again.
    """
    later, at = _replaced(visit)
    recipe = state.recipe.then(json_of_step(step), *(later.steps[at:] if later is not None else ()))
    return visit.work.run(recipe, visit.is_left).name


def alone(visit: Visit) -> Response:
    """Show keys without a partner, and what is spelled most alike."""
    state, form = _join(visit)
    return visit.part("alone.html", keys=nearest_partners(visit.work, state, form), state=state)


def disagreeing(visit: Visit) -> Response:
    """Show the cells on which the rows of a key disagree."""
    state, form = _join(visit)
    frame = disagreeing_rows(visit.work, state, form, visit.fields.get("show", ""))
    return visit.part("disagreeing.html", rows=frame, new=list(frame.columns[-1:]), state=state)
