"""Recorded measurements: a JSON file for each table, and the pages that are made of them.

``python -m tests.benchmarks.recordings`` writes the tables and plots of docs/measurements anew from the files in its
folder ``data``; ``python -m tests.benchmarks.record NAME …`` measures and writes such a file.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parents[2] / "docs" / "measurements"
DATA = PAGES / "data"
PLOTS = PAGES / "plots"

_BLOCK = re.compile(r"<!-- measured: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)
_NUMBER = re.compile(r"\*{0,2}(\d[\d,]*(?:\.\d+)?)")
_MOST_PLOTTED = 4
_WIDE = 100
"""Largest over smallest value from which on bars are drawn on a logarithmic scale."""

_INK, _PALE = "#1f4e79", "#b8c9d9"


@dataclass(frozen=True)
class Recording:
    """A table of figures with what they were measured by, on and at.

    Parameters
    ----------
    name : str
        Of the file, and of the block of a page.
    command : str
        That measures it.
    call : str
        The call of a user that is measured, with the arguments that are not the default; empty for other things.
    commit, date, machine, load : str
        `commit` is the one that was measured, or, where that was not kept, the one that brought the figures in; `load`
        is the load average of the machine, empty where it was not kept.
    columns : list of str
        Different names; the first one names the rows.
    rows : list of list
        Texts and numbers.
    plotted : list of str
        Columns of one unit that are drawn, four at most, by the first number of each cell.
    unit : str
        Of the plotted columns.
    note : str
        One sentence below the table.
    """

    name: str
    command: str
    call: str
    commit: str
    date: str
    machine: str
    load: str
    columns: list[str]
    rows: list[list[Any]]
    plotted: list[str] = field(default_factory=list)
    unit: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if len(set(self.columns)) < len(self.columns):
            raise ValueError(f"`columns` of {self.name} must differ, got {self.columns}")

    def write(self) -> None:
        """Write the file."""
        DATA.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), ensure_ascii=False, indent=1)
        text = re.sub(r"\[\n\s+([^\[\]{}]*?)\n\s+\]", lambda m: "[" + re.sub(r"\n\s+", " ", m[1]) + "]", text)
        (DATA / f"{self.name}.json").write_text(text + "\n", "utf-8")

    def table(self) -> str:
        """Return the table as Markdown, and a line on where it comes from."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        table = "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)
        load = f", load {self.load}" if self.load else ""
        origin = f"`{self.command}`, measured at {self.commit} on {self.date}, {self.machine}{load}."
        return "\n\n".join(filter(None, [table, f"{origin} {self.note}".strip()]))

    def numbers(self) -> set[float]:
        """Return all numbers of the cells, as they are shown."""
        return {number for row in self.rows for value in row[1:] for number in numbers_of(cell(value))}

    def _labels(self) -> list[str]:
        """Name the rows; where first cells are left empty, by both of the first columns."""
        if all(row[0] for row in self.rows):
            return [str(row[0]) for row in self.rows]
        found, last = [], ""
        for row in self.rows:
            last = str(row[0]) or last
            found.append(f"{last.split(' (')[0]}, {row[1]}")
        return found

    def draw(self) -> Any:
        """Draw the plotted columns side by side on one scale, a bar for each row; rows of dfjoin are dark."""
        from matplotlib import pyplot

        names = [name.replace("*", "").replace("`", "") for name in self._labels()]
        shown = self.plotted[:_MOST_PLOTTED]
        size = (2 + 2 * len(shown), 0.32 * len(names) + 0.9)
        _, axes = pyplot.subplots(
            1, len(shown), figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained"
        )
        places = [self.columns.index(column) for column in shown]
        drawn = [[(numbers_of(cell(row[place])) or [float("nan")])[0] for row in self.rows] for place in places]
        known = [value for values in drawn for value in values if value == value]
        is_log = max(known) > _WIDE * min(known) > 0
        for ax, column, place, values in zip(axes[0], shown, places, drawn, strict=True):
            colours = [_INK if _is_ours(name) else _PALE for name in self._labels()]
            ax.barh(range(len(names))[::-1], values, color=colours, edgecolor=_INK, linewidth=0.5)
            if is_log:
                ax.set_xscale("log")
            ax.set_title(column.replace("`", ""), fontsize=8)
            ax.tick_params(labelsize=7)
            ax.spines[["top", "right"]].set_visible(False)
            for bar, row in zip(ax.patches, self.rows, strict=True):
                ax.annotate(
                    cell(row[place]).replace("*", ""), (bar.get_width(), bar.get_y() + bar.get_height() / 2), (2, 0),
                    textcoords="offset points", va="center", fontsize=6,
                )  # fmt: skip
            ax.margins(x=0.35)
        axes[0][0].figure.supxlabel(self.unit + (", log scale" if is_log else ""), fontsize=7)
        axes[0][0].set_yticks(range(len(names))[::-1], [name[:48] for name in names])
        return axes[0][0].figure


def _is_ours(label: str) -> bool:
    return any(word in label for word in ("dfjoin", "**", "join_graph", "rank=", "discover", "auto_join"))


def cell(value: Any) -> str:
    """Write a cell: of a number the three figures that count."""
    if not isinstance(value, (int, float)):
        return "" if value is None else str(value)
    return "" if value != value else f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.3g}"


def numbers_of(text: str) -> list[float]:
    """Return the numbers of a text, in order."""
    return [float(found.replace(",", "").rstrip(".")) for found in _NUMBER.findall(text)]


def read(name: str) -> Recording:
    """Read a recording."""
    return Recording(**json.loads((DATA / f"{name}.json").read_text("utf-8")))


def names() -> list[str]:
    """Return the names of all recordings."""
    return sorted(path.stem for path in DATA.glob("*.json"))


def rendered(page: str) -> str:
    """Return a page with its blocks written from the recordings."""

    def block(found: re.Match[str]) -> str:
        if found[1] not in names():
            return found[0]  # not measured yet
        recording = read(found[1])
        picture = f"\n\n![{recording.name}: the figures of the table as bars](plots/{recording.name}.svg)"
        shown = recording.table() + (picture if recording.plotted else "")
        return f"<!-- measured: {recording.name} -->\n{shown}\n<!-- end -->"

    return _BLOCK.sub(block, page)


def main() -> None:
    """Write all pages and plots."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "dfjoin", "svg.fonttype": "none"})
    PLOTS.mkdir(exist_ok=True)
    for path in sorted(PAGES.glob("*.md")):
        path.write_text(rendered(path.read_text("utf-8")), "utf-8")
    for name in names():
        recording = read(name)
        if recording.plotted:
            figure = recording.draw()
            figure.savefig(PLOTS / f"{name}.svg", metadata={"Date": None})
            matplotlib.pyplot.close(figure)


if __name__ == "__main__":
    main()
