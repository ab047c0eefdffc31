"""All pictures of the package, drawn from names and numbers; matplotlib is imported when one is drawn.

One ink in several tones, and hatching: what a picture tells does not depend on a colour, nor on a screen.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dfjoin._graph_picture import GraphPicture, PictureBox
from dfjoin._optional import import_optional
from dfjoin._visible import visible

_INK, _PALE, _LINE = "#1f4e79", "#dbe5ee", "#52606d"
"""Dark, light, and grey: 8.4, 1.3 and 6.4 to 1 against white."""

_WITHOUT = {"facecolor": "white", "edgecolor": _LINE, "hatch": "//", "linewidth": 0.8}
"""What has no partner, or does not count."""

_BLANK = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
"""Behind labels of lines."""

_NAME, _EXAMPLES = 60, 70
"""Characters of a label, and of the examples below a bar."""


_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "bytes"))


def draw_coverage(names: Sequence[str], shares: ArrayLike, counts: ArrayLike, is_accidental: ArrayLike, ax: Any) -> Any:
    """Draw a bar for each candidate: the share of the query column that it holds, accidental ones hatched."""
    ax = _axes(ax, "plot_coverage()", 0.4 * max(2, len(names)) + 1)
    rows = np.arange(len(names))[::-1]
    widths = np.asarray(shares, float)
    ax.barh(rows, np.ones(len(names)), color=_PALE, zorder=0)
    for row, width, is_chance in zip(rows, widths, np.asarray(is_accidental, bool), strict=True):
        ax.barh(row, width, **(_WITHOUT if is_chance else {"color": _INK}))
    for row, width, count in zip(rows, widths, np.asarray(counts), strict=True):
        ax.annotate(f"{count:,}", (width, row), (4, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set_yticks(rows, [_plain(name) for name in names])
    ax.set_xlim(0, 1.08)
    ax.set_xlabel("share of the column's distinct values\nthat are found; their number")
    return _bare(ax)


def draw_partners(
    names: Sequence[str], found: ArrayLike, alone: ArrayLike, examples: Sequence[tuple[list[str], list[str]]], ax: Any
) -> Any:
    """Draw a bar for each of two columns: values with a partner, and behind them those without, with examples."""
    ax = _axes(ax, "plot_matches()", 2.6)
    rows, matched, others = np.array([1, 0]), np.asarray(found), np.asarray(alone)
    ax.barh(rows, matched, height=0.4, color=_INK, label="with a partner")
    ax.barh(rows, others, height=0.4, left=matched, label="without", **_WITHOUT)
    for row, n_found, n_other, shown in zip(rows, matched, others, examples, strict=True):
        n = n_found + n_other
        ax.annotate(f"{n_found:,} of {n:,}", (n, row), (3, 0), textcoords="offset points", va="center", fontsize=8)
        ax.annotate(
            _values(*shown), (0, row - 0.22), (3, -2), textcoords="offset points", va="top", fontsize=8, color=_LINE
        )
    ax.margins(x=0.12)
    ax.set_yticks(rows, [_plain(name) for name in names])
    ax.set_ylim(-0.6, 1.4)
    ax.set_xlabel("distinct values")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=8, frameon=False)
    return _bare(ax)


def draw_gains(names: Sequence[str], gains: ArrayLike, errors: ArrayLike, ax: Any) -> Any:
    """Draw a bar for each table: what shuffling its values adds to the loss of held-out rows, in percent."""
    ax = _axes(ax, "plot_gains()", 0.5 * max(2, len(names)) + 1)
    rows = np.arange(len(names))[::-1]
    ax.barh(rows, np.asarray(gains), xerr=np.asarray(errors), color=_INK, ecolor=_LINE, capsize=3)
    ax.set_yticks(rows, [_plain(name) for name in names])
    ax.axvline(0, color=_LINE, linewidth=0.8)
    ax.set_xlabel(
        "what shuffling the table's values adds to the loss\non held-out rows, % of the loss without the lake"
    )
    return _bare(ax)


def draw_precision(curve: Sequence[Sequence[float]], chosen: tuple[float, float], asked: float, ax: Any) -> Any:
    """Draw the estimated precision against the estimated recall, the precision that was asked for, and the join."""
    ax = _axes(ax, "plot_precision()", 4, 5)
    recall, precision = np.array(curve).T
    ax.plot(recall, precision, color=_INK)
    ax.axhline(asked, color=_LINE, linewidth=0.8, linestyle="--")
    ax.annotate(f"asked: {asked:g}", (0, asked), (2, -3), textcoords="offset points", va="top", fontsize=8)
    ax.plot(*chosen, "o", color=_INK, markersize=8)
    ax.annotate("this join", chosen, (6, 6), textcoords="offset points", fontsize=8)
    ax.set(xlim=(0, 1.03), ylim=(max(0.0, min(asked, float(precision.min())) - 0.1), 1.02))
    ax.set_xlabel("estimated recall: share of the keys\nwith a counterpart that are joined")
    ax.set_ylabel("estimated precision")
    return _bare(ax)


def draw_sizes(names: Sequence[str], sizes: ArrayLike, title: str, ax: Any) -> Any:
    """Draw a bar for each part of an index: its bytes."""
    ax = _axes(ax, "plot_contents()", 0.4 * max(2, len(names)) + 1)
    rows, sizes = np.arange(len(names))[::-1], np.asarray(sizes)
    largest = sizes.max(initial=1)
    unit, of_unit = next((n, name) for n, name in _UNITS if largest >= n)
    ax.barh(rows, sizes / unit, color=_INK)
    for row, size in zip(rows, sizes.tolist(), strict=True):
        share = f"{size / max(1, int(sizes.sum())):.0%}"
        ax.annotate(share, (size / unit, row), (4, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set_yticks(rows, [_plain(name) for name in names])
    ax.margins(x=0.1)
    ax.set_xlabel(of_unit)
    ax.set_title(_plain(title, 100), fontsize=10)
    return _bare(ax)


def draw_graph(picture: GraphPicture, title: str, ax: Any) -> Any:
    """Draw tables as boxes, and an arrow from each to the keys that it refers to; unsure ones are dashed."""
    ax = _axes(ax, "JoinGraph.plot()", max(2.0, picture.height / 80), picture.width / 80)
    path, patches = (
        import_optional(f"matplotlib.{name}", extra="plot", purpose="JoinGraph.plot()") for name in ("path", "patches")
    )
    for arrow in picture.arrows:
        curve = path.Path(arrow.curve, [path.Path.MOVETO, *[path.Path.CURVE4] * 3])
        ax.add_patch(patches.FancyArrowPatch(path=curve, mutation_scale=12, **_arrow(arrow.score)))
        label = {"fontsize": 7, "color": _LINE, "bbox": _BLANK, "zorder": 1.5}  # below the boxes
        ax.text(arrow.x, arrow.y, _plain(arrow.label), ha="center", va="bottom", **label)
    for box in picture.boxes:
        face = _PALE if box.is_center else "white"
        style = {"facecolor": face, "edgecolor": _INK, "linewidth": 1.6 if box.n_tables > 1 else 0.9}
        ax.add_patch(patches.Rectangle((box.x, box.y), box.width, box.height, zorder=2, **style))
        ax.text(box.x + 10, box.y + box.height / 2, _box_text(box), va="center", fontsize=8, zorder=3)
    ax.set(xlim=(0, picture.width), ylim=(picture.height, 0), aspect="equal")
    ax.set_title(textwrap.fill(_plain(title, 200), max(40, picture.width // 7)), fontsize=9, loc="left")
    ax.set_axis_off()
    return ax


def _box_text(box: PictureBox) -> str:
    """Name the table of a box, below it its folder and how many tables the box stands for."""
    below = " · ".join(filter(None, [box.folder, f"{box.n_tables:,} tables" if box.n_tables > 1 else ""]))
    return "\n".join(_plain(text) for text in (box.title, below) if text)


def _arrow(score: float) -> dict[str, Any]:
    """Return how the arrow of an edge is drawn."""
    return {"arrowstyle": "-|>", "color": _INK, "linewidth": 1, "linestyle": "--" if score < 0.85 else "-"}


def _axes(ax: Any, purpose: str, height: float, width: float = 8) -> Any:
    """Return axes to draw on, of a new figure unless some are given."""
    pyplot = import_optional("matplotlib.pyplot", extra="plot", purpose=purpose)
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def _bare(ax: Any) -> Any:
    """Take the lines at the top and at the right away."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _values(shared: list[str], alone: list[str]) -> str:
    """Name values with a partner, and values without one."""
    parts = [", ".join(map(repr, shared)), "without: " + ", ".join(map(repr, alone)) if alone else ""]
    return _plain("; ".join(filter(None, parts)), 2 * _EXAMPLES if shared and alone else _EXAMPLES)


def _plain(text: str, most: int = _NAME) -> str:
    """Write a text on one line, without the formulas that matplotlib reads between two dollars."""
    text = visible(" ".join(text.split()))
    return (text if len(text) <= most else text[: most - 1] + "…").replace("$", r"\$")
