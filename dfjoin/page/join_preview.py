"""The join of a picked hit before it is accepted: what it would make, and what a person can change."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pandas as pd

from dfjoin.api import auto_join, discover_joinable
from dfjoin.errors import DfjoinError, InvalidParameterError, TableNotFoundError, shortlist
from dfjoin.page.hit_search import METHODS, SearchForm, find_one
from dfjoin.page.page_texts import refusal
from dfjoin.page.state_files import as_stored
from dfjoin.page.work import TableState, Work

HOWS = ("left", "inner", "outer")
RULES = (
    "auto",
    "mean",
    "sum",
    "min",
    "max",
    "median",
    "first",
    "last",
    "count",
    "nunique",
    "most_frequent",
    "majority",
)
"""Rules of `dfjoin.auto_join` that are offered for a column."""

_MOST_ALONE = 50
_NEAR = 0.4
_SHOWN_KEYS = 20


@dataclass(frozen=True)
class JoinForm:
    """What a person chose of a join.

    Parameters
    ----------
    search : SearchForm
    table, column : str
        The hit.
    how : str
    columns : tuple of str or None
        Columns to bring; None: those that the join brings by itself.
    rules : tuple of (str, str)
        Column → rule.
    """

    search: SearchForm
    table: str
    column: str
    how: str = "left"
    columns: tuple[str, ...] | None = None
    rules: tuple[tuple[str, str], ...] = ()

    def query(self) -> str:
        """Write the form as the query of an address, which `join_form` reads again."""
        items: list[tuple[str, str]] = [("table", self.table), ("column", self.column), ("how", self.how)]
        if self.columns is not None:
            items += [("chosen", "1"), *(("bring", name) for name in self.columns)]
        items += [(f"rule.{name}", rule) for name, rule in self.rules]
        return f"{self.search.query()}&{urlencode(items)}"

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `dfjoin.auto_join`."""
        arguments: dict[str, Any] = {"how": self.how, "on_no_match": "ignore"}
        if self.columns is not None:
            arguments["columns"] = list(self.columns)
        added = dict(self.rules) if self.columns is None else {c: r for c, r in self.rules if c in self.columns}
        if added:
            arguments["aggregate"] = added
        return arguments


def join_form(fields: Any, search: SearchForm) -> JoinForm:
    """Read the form of a join; boxes count only where the form says that it has them."""
    how = fields.get("how", "left")
    if how not in HOWS:
        raise InvalidParameterError(refusal("one_of", "how", shortlist(HOWS), how))
    columns = tuple(fields.getlist("bring")) if fields.get("chosen") else None
    rules = tuple(
        (name.removeprefix("rule."), value)
        for name, value in fields.items()
        if name.startswith("rule.") and value != "auto"
    )
    return JoinForm(search, fields.get("table", ""), fields.get("column", ""), how, columns, rules)


@dataclass(frozen=True)
class JoinPreview:
    """What a join makes.

    Parameters
    ----------
    frame : DataFrame
    report : dict
        Of the step, as in ``attrs["dfjoin"]["joined"]``; empty if nothing was joined.
    plan : dict
    new : list of str
        Columns of the frame that the table added.
    offered : list of dict
        ``column, name, kind, brought, rule, n_disagreeing, left_out`` of each column of the table.
    """

    frame: pd.DataFrame
    report: dict[str, Any]
    plan: dict[str, Any]
    new: list[str]
    offered: list[dict[str, Any]]


def preview(work: Work, state: TableState, form: JoinForm) -> JoinPreview:
    """Join a hit as a person chose.

    Raises
    ------
    TableNotFoundError
        If the search does not find the table any more.
    """
    made: JoinPreview = work.kept_with_frame(("preview", state.name, form), lambda: _preview(work, state, form))
    return made


def _preview(work: Work, state: TableState, form: JoinForm) -> JoinPreview:
    hits = find_one(work, state, form.search, form.table, form.column)
    if not len(hits):
        raise TableNotFoundError(refusal("hit_gone", form.table, form.column))
    joined = auto_join(state.frame, hits, **form.arguments())
    about = joined.attrs["dfjoin"]
    report = about["joined"][0] if about["joined"] else {}
    frame = as_stored(joined)
    new = [name for name in frame.columns if name not in state.frame.columns]
    return JoinPreview(frame, report, about["plan"], new, _offered(work, form, report))


def _offered(work: Work, form: JoinForm, report: dict[str, Any]) -> list[dict[str, Any]]:
    """List the columns of the table, with what the join does with each."""
    added = {one["column"]: one for one in report.get("columns", [])}
    left_out = report.get("left_out", {})
    keys = report.get("right_on", [])
    rules = dict(form.rules)
    offered = []
    for column in work.lake.describe(form.table)["columns"].itertuples():
        joined = added.get(column.column)
        if column.column in keys and joined is None:
            continue
        offered.append(
            {
                "column": column.column,
                "name": column.column if joined is None else joined["name"],
                "kind": column.kind,
                "brought": joined is not None,
                "rule": "" if joined is None else joined["rule"],
                "asked": rules.get(column.column, "auto"),
                "n_disagreeing": 0 if joined is None else joined["n_disagreeing"],
                "left_out": left_out.get(column.column, ""),
                "samples": list(column.samples)[:3],
            }
        )
    return offered


def nearest_partners(work: Work, state: TableState, form: JoinForm) -> list[tuple[str, str | None]]:
    """Return keys of the frame without a partner, and the value of the table that is spelled most alike.

    Of one key column of texts; of others the second value is None. The first 50 keys are looked at.
    """
    on = form.search.on
    if len(on) > 1 or not (METHODS[form.search.way].is_ranked or METHODS[form.search.way].radius):
        return []
    hits = find_one(work, state, form.search, form.table, form.column)
    if not len(hits):
        return []
    keys = state.frame[list(on)].dropna().drop_duplicates()
    joined = auto_join(keys, hits, indicator=True, on_no_match="ignore")
    if "_merge" in joined.columns:
        joined = joined[joined["_merge"] == "left_only"]
    alone = list(dict.fromkeys(joined[on[0]].astype(str)))[:_MOST_ALONE]
    nearest: dict[str, str] = {}
    try:
        near = discover_joinable(
            pd.DataFrame({on[0]: pd.Series(alone, dtype=object)}),
            on[0],
            work.lake,
            mode="fuzzy",
            radius=_NEAR,
            tables=glob.escape(form.table),
            k=_MOST_ALONE,
        )
        own = near[near["column"] == form.column].iloc[:1]
        if len(own):
            pairs = own.pairs(0).sort_values("distance", kind="stable").drop_duplicates("query_value")
            nearest = dict(zip(pairs["query_value"], pairs["candidate_value"], strict=True))
    except DfjoinError:  # a key that is no text has no spelling to compare
        pass
    return [(key, nearest.get(key)) for key in alone]


def disagreeing_rows(work: Work, state: TableState, form: JoinForm, column: str) -> pd.DataFrame:
    """Return cells of the table's rows of those keys on which its rows disagree: the keys, the column, a row each."""
    hits = find_one(work, state, form.search, form.table, form.column)
    keys = list(form.search.on)
    frame = state.frame[keys].drop_duplicates()
    pairs = auto_join(frame, hits, columns=[column], aggregate=None, max_expansion=1e6, on_no_match="ignore")
    new = [name for name in pairs.columns if name not in keys][:1]
    if not new:
        return pairs.iloc[:0]
    n_values = pairs.groupby(keys, dropna=False)[new[0]].transform("nunique")
    several = pairs[n_values > 1]
    first = several[keys].drop_duplicates().head(_SHOWN_KEYS)
    return several.merge(first, on=keys)[[*keys, new[0]]].head(200)
