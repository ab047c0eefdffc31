"""Pictures of candidates: how much of each is found, and what matches in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dfjoin._optional import import_optional
from dfjoin._visible import visible
from dfjoin.search.explanation import Explanation

__all__ = ["plot_candidate", "plot_containment"]

_NAME = 60
"""Characters of a label."""

_EXAMPLES = 70
"""Characters of the examples below a bar."""


def plot_containment(hits: pd.DataFrame, ax: Any = None) -> Any:
    """Draw the containment of each candidate as a bar; see `JoinCandidates.plot_matches`."""
    ax = _axes(ax, 0.4 * max(2, len(hits)) + 1)
    positions = np.arange(len(hits))[::-1]
    bars = ax.barh(positions, hits["containment"].to_numpy(float))
    for bar, is_accidental in zip(bars, hits["accidental"], strict=True):
        if is_accidental:
            bar.set_hatch("//")
            bar.set_alpha(0.4)
    for position, matched in zip(positions, hits["matched"], strict=True):
        ax.annotate(f"{matched:,}", (0.01, position), va="center", fontsize=8)
    ax.set_yticks(positions, [_label(f"{t}: {c}") for t, c in zip(hits["table"], hits["column"], strict=True)])
    ax.set_xlim(0, 1)
    ax.set_xlabel("containment: share of the query column's distinct values")
    return ax


def plot_candidate(explanation: Explanation, ax: Any = None) -> Any:
    """Draw the values of both columns of a candidate, those with a partner and those without."""
    ax = _axes(ax, 2.6)
    matched, n_query, n_all = explanation.matched, explanation.query_cardinality, explanation.cardinality
    n_alone = n_all - matched if explanation.n_alone is None else explanation.n_alone
    found, alone = np.array([matched, n_all - n_alone]), np.array([n_query - matched, n_alone])
    positions = np.array([1, 0])
    ax.barh(positions, found, height=0.4, label="with a partner")
    ax.barh(positions, alone, height=0.4, left=found, alpha=0.35, hatch="//", label="without")
    examples = [
        _examples(explanation.shared, explanation.only_query),
        _examples([], explanation.only_candidate),
    ]
    for position, n_found, n_other, text in zip(positions, found, alone, examples, strict=True):
        n = n_found + n_other
        ax.annotate(f"{n_found:,} of {n:,}", (n, position), (3, 0), textcoords="offset points", va="center", fontsize=8)
        ax.annotate(text, (0, position - 0.22), (3, -2), textcoords="offset points", va="top", fontsize=8)
    ax.margins(x=0.12)
    ax.set_yticks(positions, [_label(explanation.query_column), _label(f"{explanation.table}: {explanation.column}")])
    ax.set_ylim(-0.6, 1.4)
    ax.set_xlabel("distinct values")
    ax.set_title(explanation.radius or explanation.relationship, fontsize=10)
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=8, frameon=False)
    return ax


def _axes(ax: Any, height: float) -> Any:
    """Return axes to draw on, of a new figure unless some are given."""
    pyplot = import_optional("matplotlib.pyplot", extra="plot", purpose="plot_matches()")
    return pyplot.subplots(figsize=(8, height), layout="constrained")[1] if ax is None else ax


def _label(text: str) -> str:
    return _plain(text, _NAME)


def _examples(shared: list[str], alone: list[str]) -> str:
    """Name values with a partner, and values without one."""
    parts = [", ".join(map(repr, shared)), "without: " + ", ".join(map(repr, alone)) if alone else ""]
    return _plain("; ".join(filter(None, parts)), 2 * _EXAMPLES if shared and alone else _EXAMPLES)


def _plain(text: str, most: int) -> str:
    """Write a text on one line, without the formulas that matplotlib reads between two dollars."""
    text = visible(" ".join(text.split()))
    return (text if len(text) <= most else text[: most - 1] + "…").replace("$", r"\$")
