"""What an augmentation did, and why: as text, as plain values, as a plot."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from dfjoin import _html, _plots
from dfjoin._graph_picture import picture_around
from dfjoin._visible import visible_lines

_SHOWN = 10
_ROWS = "X, the rows"
"""How the frame is called where tables are."""


@dataclass(frozen=True)
class JoinedTable:
    """A table that is joined.

    Parameters
    ----------
    table, path : str
        Its name, and the path to it in one line.
    columns : dict of str
        Column → its name in the result; "" stands for the number of rows.
    score, containment : float
        Products along the path.
    relationship : str
        Of each join of the path.
    gain, error : float or None
        By how much the loss on held-out rows is higher where the values of the table are shuffled, as a share of the
        loss without any table, and its standard error: above 1 where the other tables rely on it.
    left_out : dict of str
        Columns that were not taken by the screening → why.
    coverage : float
        Share of the rows that found a partner.
    joins : tuple of (str, str)
        Key and table of each join of the way.
    """

    table: str
    path: str
    columns: dict[str, str]
    score: float
    containment: float
    relationship: str
    gain: float | None = None
    error: float | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    coverage: float = 1.0
    joins: tuple[tuple[str, str], ...] = ()

    @property
    def _key(self) -> str:
        return f"{self.relationship}, {self.coverage:.1%} of the rows, score {self.score:.2f}"

    @property
    def _worth(self) -> str:
        """What the table is worth to the others."""
        return f"shuffling its values adds {self.gain:.1%} ± {self.error:.1%} of the loss without the lake"


@dataclass(frozen=True)
class AugmentReport:
    """What `LakeAugmenter.fit` found, took and refused.

    Parameters
    ----------
    joined : tuple of JoinedTable
        The one that adds most first.
    refused : dict of str
        ``table/column`` → why it gives the target away; `allow` brings it back.
    passed_over : dict of str
        Table → why it was not taken.
    gain, error : float or None
        Of all tables together, on folds that chose nothing.
    n_read : int
        Tables that were read.
    seconds : float
    stopped : str
        Why not everything was tried; empty if it was.
    suspicious : dict of str
        ``table/column`` → why it seems to be made of the target, with the share of the target's variance that it
        explains alone; it may be taken all the same, see `on_suspicious`.
    known_before : dict of str
        ``table/column`` → why it would be suspicious, and what shows that it was known before.
    """

    joined: tuple[JoinedTable, ...]
    refused: dict[str, str]
    passed_over: dict[str, str]
    gain: float | None
    error: float | None
    n_read: int
    seconds: float
    stopped: str = ""
    suspicious: dict[str, str] = field(default_factory=dict)
    known_before: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        return asdict(self)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each table that was joined.

        Returns
        -------
        DataFrame
            `table`, `path`, `gain` and `error` (what shuffling the values of the table adds to the loss, as a share of
            the loss without the lake, NaN where not measured), `score`, `containment`, `coverage` (share of the rows
            that found a partner), `relationship`, and `columns`, the names of its features.
        """
        rows = [
            (
                one.table,
                one.path,
                one.gain,
                one.error,
                one.score,
                one.containment,
                one.coverage,
                one.relationship,
                [*one.columns.values()],
            )
            for one in self.joined
        ]
        names = ["table", "path", "gain", "error", "score", "containment", "coverage", "relationship", "columns"]
        return pd.DataFrame(rows, columns=names).astype({"gain": "float64", "error": "float64"})

    @property
    def _summary(self) -> str:
        n_columns = sum(len(one.columns) for one in self.joined)
        text = (
            f"{len(self.joined)} tables with {n_columns} columns taken, of {self.n_read} that were read "
            f"in {self.seconds:.1f} s"
        )
        if self.gain is not None:
            text += f"; the loss on held-out rows falls by {self.gain:.1%} (± {self.error:.1%})"
        return text

    @property
    def _reasons(self) -> dict[str, dict[str, str]]:
        """What speaks against columns and tables, by what it led to."""
        return {
            "suspicious": _by_table(self.suspicious),
            "refused": _by_table(self.refused),
            "known before": _by_table(self.known_before),
            "passed over": self.passed_over,
        }

    @property
    def taken_though_suspicious(self) -> list[str]:
        """Columns of `suspicious` that are features, as ``table/column``."""
        taken = {f"{one.table}/{column}" for one in self.joined for column in one.columns}
        return [name for name in self.suspicious if name in taken]

    def _repr_html_(self) -> str:
        """Write the report as a card, for notebooks: gain by table, the joins as a graph, what was refused."""
        largest = max((one.gain or 0.0 for one in self.joined), default=0.0) or 1.0
        joined = []
        for one in self.joined:
            share, error = (0.0 if value is None else value / largest for value in (one.gain, one.error))
            gain = "" if one.gain is None else _html.bar(share, one._worth, error=error)
            details = [one._key, ", ".join(one.columns.values())]
            joined.append(
                (one.path, gain + "".join(f'<div class="soft">{_html.escape(text)}</div>' for text in details))
            )
        parts = [_html.pairs([("stopped", _html.escape(self.stopped)), *joined])]
        if self.joined:
            n_hops = max(len(one.joins) for one in self.joined)
            picture = picture_around(self._edges(), _ROWS, n_hops)
            parts.append(_html.graph(picture, "what is joined with what, by which key"))
        for verb, reasons in self._reasons.items():
            if reasons:
                parts.append(_html.table([verb, "why"], list(reasons.items())[:_SHOWN]))
            if len(reasons) > _SHOWN:
                parts.append(f'<div class="line soft">and {len(reasons) - _SHOWN:,} more</div>')
        return _html.page([_html.card(_html.escape(self._summary), parts)])

    def __str__(self) -> str:
        """Write the report in a few lines."""
        lines = [self._summary]
        if self.stopped:
            lines.append(f"stopped: {self.stopped}")
        for one in self.joined:
            gain = "" if one.gain is None else f"; {one._worth}"
            lines.append(f"joined {one.path} ({one._key}){gain}")
            lines.append("  columns: " + ", ".join(one.columns.values()))
        for verb, reasons in self._reasons.items():
            lines += _some(verb, reasons)
        return visible_lines(lines)

    __repr__ = __str__

    def _edges(self) -> pd.DataFrame:
        """Return the joins as edges of a graph, from a table to the one that is joined to it."""
        rows = []
        for path in sorted({one.joins[:depth] for one in self.joined for depth in range(1, len(one.joins) + 1)}):
            before = path[-2][1] if len(path) > 1 else _ROWS
            rows.append((before, path[-1][0], path[-1][1], path[-1][0], 1.0))
        return pd.DataFrame(rows, columns=["table", "column", "key_table", "key_column", "score"])

    def join_tree(self) -> str:
        """Write the joins as a tree of lines: a table stands below the one whose column is its key."""
        lines = ["X"]
        paths = {one.joins[:depth] for one in self.joined for depth in range(1, len(one.joins) + 1)}
        for path in sorted(paths):
            key, table = path[-1]
            lines.append(f"{'   ' * (len(path) - 1)}└─ {key} → {table}")
        return "\n".join(lines)

    def plot_gains(self, ax: Any = None) -> Any:
        """Draw what each table added on held-out rows, with its standard error.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        MissingDependencyError
            If matplotlib, the extra ``plot``, is not installed.
        """
        measured = [(one.path, 100 * one.gain, 100 * (one.error or 0)) for one in self.joined if one.gain is not None]
        paths, gains, errors = zip(*measured, strict=True) if measured else ((), (), ())
        return _plots.draw_gains(paths, gains, errors, ax)


def _by_table(reasons: dict[str, str]) -> dict[str, str]:
    """Name the columns of one table that have the same reason in one line."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, reason in reasons.items():
        table, _, column = name.rpartition("/")
        found.setdefault((table, reason), []).append(column)
    return {
        f"{table}/{columns[0]}" + (f" and {len(columns) - 1} more of its columns" if len(columns) > 1 else ""): reason
        for (table, reason), columns in found.items()
    }


def _some(verb: str, reasons: dict[str, str]) -> list[str]:
    lines = [f"{verb} {name}: {reason}" for name, reason in list(reasons.items())[:_SHOWN]]
    rest = len(reasons) - len(lines)
    return [*lines, f"{verb} {rest} more"] if rest > 0 else lines
