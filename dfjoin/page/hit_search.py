"""A search as a person asks for it: the form, its hits, and how they are narrowed down."""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pandas as pd

from dfjoin.api import discover_joinable
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, did_you_mean, shortlist
from dfjoin.page.column_cards import is_place
from dfjoin.page.page_texts import refusal
from dfjoin.page.work import TableState, Work

_MOST_HITS = 50
_MOST_DIGITS = 38


@dataclass(frozen=True)
class SearchMethod:
    """A mode of search by its name for people.

    Parameters
    ----------
    arguments : dict
        Of `dfjoin.discover_joinable`.
    is_ranked : bool
        Its hits have a score.
    radius : tuple of float or None
        The smallest, the largest and the usual radius; None: it has none.
    unit : str
        Of the radius.
    command : str
        Of the shell, which prepares an index for it; empty: none is needed, or there is none.
    """

    arguments: dict[str, Any]
    is_ranked: bool = True
    radius: tuple[float, float, float] | None = None
    unit: str = "fraction"
    command: str = ""


METHODS = {
    "equal": SearchMethod({}),
    "large": SearchMethod({"mode": "lsh"}, command="add-signatures"),
    "program": SearchMethod({"mode": "transform"}, command="add-patterns"),
    "spelling": SearchMethod({"mode": "fuzzy"}, is_ranked=False, radius=(0.05, 0.5, 0.2)),
    "meaning": SearchMethod({"mode": "embedding"}, is_ranked=False, radius=(0.05, 0.6, 0.3), command="add-vectors"),
    "places": SearchMethod({"mode": "embedding"}, is_ranked=False, radius=(0.1, 50.0, 5.0), unit="km"),
}
"""Name of a method in an address → the method; what people read stands in the texts."""

_PERIODS = ("none", "year", "quarter", "month", "week", "day")
"""What dates may be found by; none: by equal values alone."""

_SHARES = {"strong": 0.85, "plausible": 0.5, "weak": 0.1, "chance": 0.0}
"""Verdict → the smallest score that has it."""


@dataclass(frozen=True)
class SearchForm:
    """What a person searches for.

    Parameters
    ----------
    on : tuple of str
        Key columns.
    way : str
        One of `METHODS`.
    radius : float or None
    least : str
        The verdict that hits have at least.
    tables : str
        Pattern of the tables to search; empty: all.
    pad : int or None
    dayfirst : bool or None
    period : str
        One of `_PERIODS`: hits that were found by it; empty: all. A column is found by one of them.
    """

    on: tuple[str, ...]
    way: str = "equal"
    radius: float | None = None
    least: str = "plausible"
    tables: str = ""
    pad: int | None = None
    dayfirst: bool | None = None
    period: str = ""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `dfjoin.discover_joinable`, without the frame and the lake."""
        way = METHODS[self.way]
        arguments = dict(way.arguments) | {"on": list(self.on) if len(self.on) > 1 else self.on[0]}
        arguments["k"] = None if self.period else _MOST_HITS
        if way.is_ranked:
            arguments["min_score"] = _SHARES[self.least]
        if self.period:
            arguments["threshold"] = 0.0  # all of them: the best by this period may not be among the best of all
            if way.is_ranked:
                arguments["families"] = False  # who stands for a family may be found by another period
        if way.radius is not None and self.radius is not None:
            arguments |= {"radius": self.radius, "radius_unit": way.unit}
        for name in ("tables", "pad", "dayfirst"):
            value = getattr(self, name)
            if value not in ("", None):
                arguments[name] = value
        return arguments

    def query(self, **changes: Any) -> str:
        """Write the form as the query of an address, with some fields changed; None leaves a field out."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__} | changes
        items = [(name, value) for name, value in values.items() if value not in ("", None, ())]
        return urlencode([(name, part) for name, value in items for part in _parts(value)])


def _parts(value: Any) -> list[str]:
    return [str(part) for part in value] if isinstance(value, (tuple, list)) else [str(value)]


def search_form(fields: Any, state: TableState) -> SearchForm:
    """Read the form of a search from the query of an address.

    Raises
    ------
    ColumnNotFoundError, InvalidParameterError
        If it names no column of the table, or a field is none.
    """
    on = tuple(dict.fromkeys(fields.getlist("on")))
    for name in on:
        if name not in state.frame.columns:
            known = state.frame.columns
            raise ColumnNotFoundError(refusal("key_unknown", name, shortlist(known), did_you_mean(name, known)))
    if not on:
        raise InvalidParameterError(refusal("key_none"))
    way = fields.get("way", "places" if is_place(list(on)) else "equal")
    least = fields.get("least", "plausible")
    if way not in METHODS:
        raise InvalidParameterError(refusal("one_of", "way", shortlist(METHODS, 6), way))
    if least not in _SHARES:
        raise InvalidParameterError(refusal("one_of", "least", shortlist(_SHARES), least))
    if way == "places" and len(on) == 1:
        raise InvalidParameterError(refusal("key_places"))
    period = fields.get("period", "")
    if period and period not in _PERIODS:
        raise InvalidParameterError(refusal("one_of", "period", shortlist(_PERIODS), period))
    return SearchForm(
        on,
        way,
        _number(fields, "radius") if fields.get("radius") else _usual_radius(way),
        least,
        fields.get("tables", "")[:500],
        _digits(fields) if fields.get("pad") else None,
        {"True": True, "False": False}.get(fields.get("dayfirst", "")),
        period,
    )


def _usual_radius(way: str) -> float | None:
    radius = METHODS[way].radius
    return None if radius is None else radius[2]


def _digits(fields: Mapping[str, str]) -> int:
    text = fields["pad"]
    if text not in map(str, range(1, _MOST_DIGITS + 1)):
        raise InvalidParameterError(refusal("digits", _MOST_DIGITS, text))
    return int(text)


def _number(fields: Mapping[str, str], name: str) -> float:
    try:
        return float(fields[name])
    except ValueError as error:
        raise InvalidParameterError(refusal("number", name, fields[name])) from error


def find(work: Work, state: TableState, form: SearchForm) -> Any:
    """Search the lake; return the candidates. A search that was made before is not repeated."""

    def search() -> Any:
        return _of_period(discover_joinable(state.frame, lake=work.lake, **form.arguments()), form.period)

    return work.kept(("search", state.name, form), search)


def _of_period(hits: Any, period: str) -> Any:
    """Return the best hits that were found by a period."""
    if not period:
        return hits
    found = hits["period"] if "period" in hits else pd.Series(None, hits.index, object)
    return hits[found.isna() if period == "none" else found == period].iloc[:_MOST_HITS]


def find_one(work: Work, state: TableState, form: SearchForm, table: str, column: str) -> Any:
    """Return the candidate that a person picked, as a result of one row, whatever its score."""
    only = {"tables": glob.escape(table)} | (
        {"families": False, "min_score": 0.0} if METHODS[form.way].is_ranked else {}
    )

    def search() -> Any:
        return _of_period(discover_joinable(state.frame, lake=work.lake, **(form.arguments() | only)), form.period)

    hits = work.kept(("one", state.name, form, table), search)
    return hits[(hits["table"] == table) & (hits["column"] == column)].iloc[:1]


def proposed_key(work: Work, state: TableState) -> str | None:
    """Return the column with the most useful candidate; None if no column has one."""

    def propose() -> str:
        hits = discover_joinable(state.frame, lake=work.lake, k=1, min_score=_SHARES["plausible"])
        if not len(hits):
            return ""
        best = hits.sort_values("usefulness", ascending=False, kind="stable")
        return str(best["query_column"].iloc[0])

    return work.kept(("key", state.name), propose) or None


@dataclass(frozen=True)
class Facets:
    """Values by which hits can be narrowed down, each with the number of hits that have it.

    Parameters
    ----------
    verdicts, folders, words : list of (str, int)
    """

    verdicts: list[tuple[str, int]]
    folders: list[tuple[str, int]]
    words: list[tuple[str, int]]


_MOST_WORDS = 12
_MORE = re.compile(r" and [\d,]+ more$")


def added_columns(work: Work, hits: pd.DataFrame) -> list[list[str]]:
    """Return the columns that each hit names as what it brings: names of its table, which may hold commas."""
    if "brings" not in hits:
        return [[] for _ in range(len(hits))]
    columns = work.kept(("columns",), lambda: work.lake.columns.groupby("table")["column"].agg(list).to_dict())
    return [_named(str(text or ""), columns[table]) for table, text in zip(hits["table"], hits["brings"], strict=True)]


def _named(text: str, columns: list[str]) -> list[str]:
    """Take a list of names apart, the longest name that fits first."""
    text = _MORE.sub("", text)
    named = []
    while text:
        fitting = [name for name in columns if text == name or text.startswith(f"{name}, ")]
        name = max(fitting, key=len, default=text)
        named.append(name)
        text = text[len(name) + 2 :]
    return named


def facets_of(hits: pd.DataFrame, new_columns: list[list[str]]) -> Facets:
    """Count what the hits are narrowed down by."""
    verdicts = Counter(hits["verdict"]) if "verdict" in hits else Counter()
    folders = Counter(map(folder_of, hits["table"]))
    words = Counter(name for names in new_columns for name in set(names))
    return Facets(verdicts.most_common(), folders.most_common(_MOST_WORDS), words.most_common(_MOST_WORDS))


def narrowed(hits: Any, fields: Any, new_columns: list[list[str]]) -> Any:
    """Tell which hits have the chosen verdict and folder, and bring the chosen column."""
    verdict, folder, word = (fields.get(name, "") for name in ("verdict", "folder", "word"))
    keep = pd.Series(True, hits.index)
    if verdict and "verdict" in hits:
        keep &= hits["verdict"] == verdict
    if folder:
        keep &= hits["table"].map(folder_of) == folder
    if word and "brings" in hits:
        keep &= pd.Series([word in names for names in new_columns], hits.index, dtype=bool)
    return keep


def folder_of(table: str) -> str:
    """Return the first folder of a table's name; a dot for a table without."""
    folder, slash, _ = table.partition("/")
    return folder if slash else "."
