"""The answer of a search: scores and flags of each hit, as a frame that can explain itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.index.catalog import KINDS
from dfjoin.search.evidence import shared_mask, tokens_of_column, value_of_token
from dfjoin.search.query import QueryColumn
from dfjoin.search.searcher import Hit
from dfjoin.types import SearchStats

if TYPE_CHECKING:
    from dfjoin.lake import Lake

__all__ = [
    "RESULT_COLUMNS",
    "Explanation",
    "JoinCandidates",
    "SearchContext",
    "is_accidental",
    "make_frame",
    "rank_hits",
]

RESULT_COLUMNS = (
    "query_column",
    "table",
    "column",
    "matched",
    "containment",
    "jaccard",
    "query_cardinality",
    "cardinality",
    "n_rows",
    "kind",
    "relationship",
    "accidental",
    "method",
    "exact",
)
"""Columns of every result, in this order; ``weighted=True`` adds two behind them."""

_ACCIDENTAL_MARGIN = 1.1
_SHOWN = ("query_column", "table", "column", "matched", "containment", "relationship", "accidental")
_N_EXAMPLES = 5


@dataclass(frozen=True)
class SearchContext:
    """What a result needs beyond its rows, to explain them and to be joined.

    Parameters
    ----------
    lake : Lake
    queries : dict
        Name in ``query_column`` → the query column.
    stats : dict
        Name in ``query_column`` → what its search read.
    """

    lake: Lake
    queries: dict[str, QueryColumn] = field(default_factory=dict)
    stats: dict[str, SearchStats] = field(default_factory=dict)


def rank_hits(lake: Lake, query: QueryColumn, hits: list[Hit], method: str, weighted: bool) -> dict[str, Any]:
    """Compute the result columns of the hits of one query column.

    Returns
    -------
    dict
        Column name → array of shape (n_hits,).
    """
    n = len(hits)
    n_query = len(query.values)
    matched = np.fromiter((h.matched for h in hits), np.int64, n)
    cardinality = np.fromiter((h.cardinality for h in hits), np.int64, n)
    numbers = _catalog_numbers(lake, hits)
    filled = numbers["n_rows"] - numbers["n_null"]
    left = "1" if query.is_unique else "m"
    columns: dict[str, Any] = {
        "query_column": [query.name] * n,
        "table": [h.table for h in hits],
        "column": [h.name for h in hits],
        "matched": matched,
        "containment": matched / max(1, n_query),
        "jaccard": matched / np.maximum(1, n_query + cardinality - matched),
        "query_cardinality": np.full(n, n_query, np.int64),
        "cardinality": cardinality,
        "n_rows": numbers["n_rows"],
        "kind": [KINDS[kind] for kind in numbers["kind"]],
        "relationship": [f"{left}:{'1' if u else 'm'}" for u in (cardinality == filled).tolist()],
        "accidental": _accidental(query, hits, matched, cardinality, numbers),
        "method": [method] * n,
        "exact": np.ones(n, bool),
    }
    if weighted:
        rows = np.fromiter((h.matched_rows for h in hits), np.int64, n)
        columns |= {"matched_rows": rows, "row_containment": rows / max(1, query.n_non_null)}
    return columns


@lru_cache(maxsize=4)
def _labels(names: tuple[str, ...]) -> pd.Index:
    return pd.Index(names)


@lru_cache(maxsize=1)
def _text_dtype() -> Any:
    """The dtype that this pandas gives to text."""
    return pd.Series(["a"]).dtype


def make_frame(columns: dict[str, Any]) -> JoinCandidates:
    """Make the result frame of `rank_hits`'s columns.

    All texts are converted at once and cut into columns: a conversion for each would take as long as
    the search of a small column.
    """
    n = len(columns["table"])
    texts = pd.array([text for values in columns.values() if isinstance(values, list) for text in values],
                     dtype=_text_dtype())  # fmt: skip
    data: dict[int, Any] = {}
    begin = 0
    for position, values in enumerate(columns.values()):
        if isinstance(values, list):
            data[position] = texts[begin : begin + n]
            begin += n
        else:
            data[position] = values
    frame = JoinCandidates(data, index=pd.RangeIndex(n), copy=False)
    frame.columns = _labels(tuple(columns))
    return frame


def _catalog_numbers(lake: Lake, hits: list[Hit]) -> dict[str, NDArray[Any]]:
    """Gather the numeric fields of the hits' catalogue records."""
    names = ("kind", "n_rows", "n_null", "has_range", "min_integer", "max_integer")
    segments = np.fromiter((h.segment for h in hits), np.int64, len(hits))
    columns = np.fromiter((h.column for h in hits), np.int64, len(hits))
    if len(hits) == 0 or bool((segments == segments[0]).all()):
        numbers = lake.segments[int(segments[0]) if len(hits) else 0].catalog.numbers if lake.segments else {}
        return {name: numbers[name][columns] if numbers else np.empty(0, np.int64) for name in names}
    out = {name: np.empty(len(hits), np.int64) for name in names}
    for number in np.unique(segments):
        chosen = segments == number
        numbers = lake.segments[int(number)].catalog.numbers
        for name in names:
            out[name][chosen] = numbers[name][columns[chosen]]
    return out


def _accidental(
    query: QueryColumn,
    hits: list[Hit],
    matched: NDArray[np.int64],
    cardinality: NDArray[np.int64],
    numbers: dict[str, NDArray[Any]],
) -> NDArray[np.bool_]:
    """Flag the hits that are accidental, see `is_accidental`."""
    flags = np.zeros(len(hits), bool)
    if query.profile.has_range:
        for i in np.flatnonzero(numbers["has_range"]).tolist():
            bounds = int(numbers["min_integer"][i]), int(numbers["max_integer"][i])
            flags[i] = is_accidental(query, hits[i].name, int(matched[i]), int(cardinality[i]), *bounds)
    return flags


def is_accidental(query: QueryColumn, name: str, matched: int, cardinality: int, low: int, high: int) -> bool:
    """Tell whether two integer columns share what their ranges predict, and their names do not agree.

    Predicted: |Q ∩ [low, high]| × cardinality ÷ (high − low + 1), with a margin of a tenth.

    Parameters
    ----------
    query : QueryColumn
        Of integers.
    name : str
        Name of the candidate column.
    matched, cardinality : int
        Shared values, and distinct values of the candidate.
    low, high : int
        Range of the candidate.
    """
    if _plain(name) == _plain(query.name):
        return False
    numbers = query.integers
    inside = int(np.searchsorted(numbers, high, "right") - np.searchsorted(numbers, low))
    return matched <= _ACCIDENTAL_MARGIN * inside * cardinality / (high - low + 1)


def _plain(name: str) -> str:
    """Reduce a column name to its letters and digits."""
    return "".join(c for c in name.casefold() if c.isalnum())


@dataclass(frozen=True)
class Explanation:
    """Why a candidate was found: what is shared, what is not, and how the join would be.

    Parameters
    ----------
    query_column, table, column : str
        The pair of columns.
    matched, query_cardinality, cardinality : int
        Shared distinct values, and those of either side.
    relationship : str
        As the join would be with the user's frame on the left.
    accidental : bool
        Both are integers and the overlap is what their ranges predict.
    shared, only_query, only_candidate : list of str
        Examples; shared and query values in the user's spelling, the candidate's in canonical form.
    found_by : dict
        Plan, and what the search read.
    """

    query_column: str
    table: str
    column: str
    matched: int
    query_cardinality: int
    cardinality: int
    relationship: str
    accidental: bool
    shared: list[str]
    only_query: list[str]
    only_candidate: list[str]
    found_by: dict[str, Any]

    def __str__(self) -> str:
        """Write the explanation in a few lines."""
        missing = self.query_cardinality - self.matched
        extra = self.cardinality - self.matched
        share = self.matched / max(1, self.query_cardinality)
        lines = [
            f"{self.query_column!r} joins {self.table} column {self.column!r}, {self.relationship}",
            f"  shared: {self.matched:,} of {self.query_cardinality:,} values ({share:.1%})" + _examples(self.shared),
            f"  only in your column: {missing:,}" + _examples(self.only_query),
            f"  only in the table: {extra:,}" + _examples(self.only_candidate),
        ]
        if self.accidental:
            lines.append("  accidental: both are integers, and ranges alone explain this overlap")
        read = self.found_by
        lines.append(
            f"  found by {read['plan']}: {read['lists_read']:,} lists, {read['sets_read']:,} sets, "
            f"{read['bytes_read']:,} bytes read, {read['candidates_pruned']:,} candidates pruned"
        )
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def _examples(values: list[str]) -> str:
    return ", as " + ", ".join(repr(v if len(v) <= 40 else v[:39] + "…") for v in values) if values else ""


class JoinCandidates(pd.DataFrame):
    """Candidate columns, best first: a DataFrame that can explain its rows and be joined.

    One row per candidate column, with the columns of `RESULT_COLUMNS`; made by `discover_joinable`.
    Filters and ``iloc`` keep the link to the lake, so ``df.auto_join(hits.iloc[[0, 2]])`` works.
    """

    _metadata = ["_context"]  # noqa: RUF012 (pandas reads it from the class)
    _context: SearchContext | None = None

    @property
    def _constructor(self):
        return JoinCandidates

    @property
    def _constructor_sliced(self):
        return pd.Series

    @property
    def context(self) -> SearchContext:
        """The lake and query columns that this result came from.

        Raises
        ------
        InvalidParameterError
            If the frame has lost them, as after ``merge`` or ``read_csv``.
        """
        if self._context is None:
            raise InvalidParameterError(
                "`hits` has lost its link to the lake (it went through a file or a merge); "
                "call discover_joinable again and filter its result"
            )
        return self._context

    def _candidate(self, i: int) -> tuple[pd.Series, QueryColumn, Any, int]:
        if not isinstance(i, (int, np.integer)) or not -len(self) <= i < len(self):
            raise InvalidParameterError(f"`i` must be a position in this frame of {len(self)} rows, got {i!r}")
        row = self.iloc[int(i)]
        context = self.context
        segment, table = context.lake.find_table(row["table"])
        column = segment.catalog.find_column(table, row["column"])
        return row, context.queries[row["query_column"]], segment, column

    def explain(self, i: int = 0) -> Explanation:
        """Explain a candidate.

        Parameters
        ----------
        i : int
            Position in this frame.

        Returns
        -------
        Explanation
            Prints as a few lines; ``to_dict()`` for programs.
        """
        row, query, segment, column = self._candidate(i)
        number = self.context.lake.segments.index(segment)
        groups = self.context.lake.searcher.groups_of(number, query.values)
        is_shared = shared_mask(segment, column, groups)
        shared = np.flatnonzero(is_shared)[:_N_EXAMPLES]
        alone = np.flatnonzero(~is_shared)[:_N_EXAMPLES]
        known = set(query.values.values()) if len(query.values) < 1 << 20 else set()
        theirs: list[str] = []
        for token in tokens_of_column(segment, column).tolist():
            value = value_of_token(segment, token)
            if value not in known:
                theirs.append(value)
                if len(theirs) == _N_EXAMPLES:
                    break
        return Explanation(
            row["query_column"],
            row["table"],
            row["column"],
            int(is_shared.sum()),
            len(query.values),
            int(row["cardinality"]),
            row["relationship"],
            bool(row["accidental"]),
            [query.spelling(code) for code in shared.tolist()],
            [query.spelling(code) for code in alone.tolist()],
            theirs,
            self.context.stats[row["query_column"]].to_dict(),
        )

    def pairs(self, i: int = 0) -> pd.DataFrame:
        """List the matched pairs of values of a candidate.

        Parameters
        ----------
        i : int
            Position in this frame.

        Returns
        -------
        DataFrame
            ``query_value`` in the user's spelling, ``candidate_value`` in canonical form, and
            ``query_rows``, the rows of the user's frame that hold it; in order of first row.
        """
        _, query, segment, column = self._candidate(i)
        number = self.context.lake.segments.index(segment)
        groups = self.context.lake.searcher.groups_of(number, query.values)
        shared = np.flatnonzero(shared_mask(segment, column, groups))
        first = query.values.first_rows()[shared]
        return pd.DataFrame(
            {
                "query_value": query.column.iloc[first].astype(str).to_numpy(),
                "candidate_value": [query.values.value(int(code)) for code in shared],
                "query_rows": query.values.row_counts()[shared],
            }
        )

    def plot_matches(self, ax: Any = None) -> Any:
        """Draw the containment of each candidate as a bar, accidental ones hatched.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        from dfjoin._optional import import_optional

        pyplot = import_optional("matplotlib.pyplot", extra="plot", purpose="plot_matches()")
        if ax is None:
            _, ax = pyplot.subplots(figsize=(8, 0.4 * max(2, len(self)) + 1), layout="constrained")
        labels = [f"{_cut(t, 40)}: {_cut(c, 25)}" for t, c in zip(self["table"], self["column"], strict=True)]
        places = np.arange(len(self))[::-1]
        bars = ax.barh(places, self["containment"].to_numpy(float))
        for bar, is_accidental in zip(bars, self["accidental"], strict=True):
            if is_accidental:
                bar.set_hatch("//")
                bar.set_alpha(0.4)
        for place, matched in zip(places, self["matched"], strict=True):
            ax.annotate(f"{matched:,}", (0.01, place), va="center", fontsize=8)
        ax.set_yticks(places, labels)
        ax.set_xlim(0, 1)
        ax.set_xlabel("containment: share of the query column's distinct values")
        return ax

    def _is_complete(self) -> bool:
        return set(_SHOWN) <= set(self.columns)

    def __repr__(self) -> str:
        """Write the main columns so that they fit a terminal."""
        if not self._is_complete() or len(self) == 0:
            return super().__repr__()
        shown = pd.DataFrame({name: self[name].to_numpy() for name in _SHOWN}, index=self.index)
        for name in ("query_column", "table", "column"):
            shown[name] = [_cut(str(value), 28 if name == "table" else 18) for value in shown[name]]
        shown["containment"] = shown["containment"].map("{:.3f}".format)
        if self["query_column"].nunique() == 1:
            shown = shown.drop(columns="query_column")
        return shown.to_string(max_rows=20)

    def _repr_html_(self) -> str | None:
        """Write a table for notebooks, with a bar for the containment."""
        import html

        if not self._is_complete():
            return super()._repr_html_()
        head = "".join(f"<th>{name}</th>" for name in _SHOWN)
        body = []
        for _, row in self.head(50).iterrows():
            cells = []
            for name in _SHOWN:
                text = html.escape(_cut(str(row[name]), 60))
                if name == "containment":
                    share = 100 * float(row[name])
                    style = f"background:linear-gradient(90deg,#9ecae1 {share:.0f}%,transparent {share:.0f}%)"
                    cells.append(f'<td style="{style}">{row[name]:.3f}</td>')
                else:
                    cells.append(f"<td>{text}</td>")
            body.append("<tr>" + "".join(cells) + "</tr>")
        rest = f"<p>{len(self) - 50} more rows</p>" if len(self) > 50 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{rest}"


def _cut(text: str, width: int) -> str:
    """Shorten a name in its middle: both ends of a path say something."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    half = (width - 1) // 2
    return text[: width - 1 - half] + "…" + text[-half:]
