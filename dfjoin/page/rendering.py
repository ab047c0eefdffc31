"""Pages from templates: everything that others wrote is escaped and visible, numbers are written for people."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from numbers import Number
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup, escape
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from dfjoin._html import DARK, LIGHT
from dfjoin._visible import visible, visible_lines
from dfjoin.page.page_texts import TEXTS

_MOST_CHARACTERS = 80
_MOST_CELLS, _MOST_COLUMNS = 4_000, 200
"""Cells of a table that a page shows, and columns: no page is heavier than half a megabyte."""

_BAR = (
    '<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
    '<rect class="track" width="100" height="6" rx="3"/><rect class="fill" width="{:.1f}" height="6" rx="3"/></svg>'
)


def palette() -> str:
    """Return the colours of the notebook's cards as properties of the page, light and dark."""
    light, dark = (";".join(f"--{name}:{value}" for name, value in colours.items()) for colours in (LIGHT, DARK))
    return f":root{{color-scheme:light dark;{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


@cache
def environment() -> jinja2.Environment:
    """Return the templates with what they may call."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"t": SimpleNamespace(**TEXTS)}
    made.filters |= {
        "bar": _bar,
        "bars": _bars,
        "cells": _cells,
        "count": _count,
        "dialect": _dialect,
        "is_numeric": lambda cells: is_numeric_dtype(cells.dtype) and not is_bool_dtype(cells.dtype),
        "lines": lambda text: Markup(escape(visible_lines(str(text).split("\n")))),
        "n": lambda number: f"{number:,}",
        "pct": _percent,
        "value": _value,
    }
    return made


def _finalized(value: Any) -> Any:
    """Make what a template writes visible: marks of direction and control characters are written as escapes."""
    if isinstance(value, Markup):
        return value
    return "" if value is None else visible(str(value))


def _value(value: Any) -> Markup:
    """Write what a form sends back: as it is, for what comes back has to be what was there."""
    return escape("" if value is None else value)


def _bar(share: float) -> Markup:
    """Draw a share of 1; what it is stands in text beside it."""
    return Markup(_BAR.format(100 * min(1.0, max(0.0, float(share)))))


def _bars(heights: list[float]) -> Markup:
    """Draw a small histogram of heights between 0 and 1."""
    width = 100 / max(1, len(heights))
    columns = "".join(
        f'<rect x="{i * width:.1f}" y="{30 - 30 * height:.1f}" width="{width - 1:.1f}" height="{30 * height:.1f}"/>'
        for i, height in enumerate(heights)
    )
    return Markup(
        f'<svg class="histogram" viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true">{columns}</svg>'
    )


def _percent(share: float) -> str:
    """Write a share of 1 as a percentage that is 0 or 100 only if the share is 0 or 1."""
    if math.isnan(share):
        return "–"
    rounded = round(100 * share)
    return f"{min(99, max(1, rounded))} %" if 0 < share < 1 else f"{rounded} %"


def _dialect(text: str) -> str:
    """Write how a text is delimited, with the delimiter as a word."""
    delimiter, *others = text.split(" · ")
    words = dict(TEXTS["dialect"]["delimiter"][1])
    return " · ".join([words.get(delimiter, delimiter), *others])


def _count(number: int, noun: str) -> str:
    """Write a number with its noun."""
    one, several = TEXTS["nouns"][noun]
    return f"{number:,} {one if number == 1 else several}"


def shown_part(df: pd.DataFrame, most_rows: int) -> pd.DataFrame:
    """Return the first rows and columns of a frame, as many as a page shows."""
    n_columns = min(df.shape[1], _MOST_COLUMNS)
    return df.iloc[: min(most_rows, max(5, _MOST_CELLS // max(1, n_columns))), :n_columns]


def _cells(df: pd.DataFrame, new: list[str]) -> Iterator[Any]:
    """Write the rows of a frame: the text of each cell, and the classes by which it is drawn."""
    columns = [
        [(cell_text(value), " ".join(("new",) * (name in new) + ("number",) * _is_number(value))) for value in cells]
        for name, cells in ((name, df[name].tolist()) for name in df.columns)
    ]
    return zip(*columns, strict=True)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Number)) and not isinstance(value, bool)


def cell_text(value: Any) -> str | None:
    """Write a cell of a frame; None for a missing one."""
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, np.floating):
        value = float(value)
    if isinstance(value, float):
        text = f"{value:.15g}"
    elif isinstance(value, pd.Timestamp):
        text = str(value.date()) if value == value.normalize() else str(value)
    else:
        text = str(value)
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"
