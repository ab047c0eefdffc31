"""The answer of a search: a frame of candidate columns that can explain itself, and be joined."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError
from dfjoin.search.exact.searcher import searcher_of
from dfjoin.search.lsh.advice import compare_modes
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import QueryColumn
from dfjoin.search.shared_values import shared_mask, tokens_of_column, value_of_token
from dfjoin.search.transform.candidate_programs import candidate_texts, join_values
from dfjoin.store.snapshot import Snapshot
from dfjoin.transform.transform_join import TransformJoin

__all__ = ["Explanation", "JoinCandidates", "SearchContext"]

_SHOWN = ("query_column", "table", "column", "matched", "containment", "relationship", "accidental")
_N_EXAMPLES = 5


@dataclass(frozen=True)
class SearchContext:
    """What a result needs beyond its rows, to explain them and to be joined.

    Parameters
    ----------
    snapshot : Snapshot
    queries : dict
        Name in ``query_column`` → the query column.
    stats : dict
        Name in ``query_column`` → what its search read.
    params : SearchParams
        What was asked for.
    joins : dict
        Query column, table and column of each row of ``mode="transform"`` → its programs. Those that run from
        right to left read the candidate's values in canonical form.
    """

    snapshot: Snapshot
    queries: dict[str, QueryColumn] = field(default_factory=dict)
    stats: dict[str, SearchStats] = field(default_factory=dict)
    params: SearchParams = field(default_factory=SearchParams)
    joins: dict[tuple[str, str, str], TransformJoin] = field(default_factory=dict)


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
    error : float or None
        Standard error of the containment where `matched` is an estimate.
    advice : str
        Which mode is expected to answer this query faster; empty where the index offers one only, and where an
        exact search was the right choice.
    program : str
        The program that joins the columns, one line for each; empty where they join by equality.
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
    error: float | None = None
    advice: str = ""
    program: str = ""

    def __str__(self) -> str:
        """Write the explanation in a few lines."""
        missing = self.query_cardinality - self.matched
        extra = self.cardinality - self.matched
        share = self.matched / max(1, self.query_cardinality)
        lines = [
            f"{self.query_column!r} joins {self.table} column {self.column!r}, {self.relationship}",
            f"  shared: {self.matched:,} of {self.query_cardinality:,} values ({share:.1%})"
            + (_examples(self.shared) if self.error is None else f", estimated, standard error {self.error:.1%}"),
            f"  only in your column: {missing:,}" + _examples(self.only_query),
            f"  only in the table: {extra:,}" + _examples(self.only_candidate),
        ]
        lines[1:1] = [f"  by {line}" for line in self.program.splitlines()]
        if self.accidental:
            lines.append("  accidental: both are integers, and ranges alone explain this overlap")
        read = self.found_by
        lines.append(
            f"  found by {read['plan']}: {read['lists_read']:,} lists, {read['sets_read']:,} sets, "
            f"{read['bytes_read']:,} bytes read, {read['candidates_pruned']:,} candidates pruned"
        )
        if read["signatures_compared"]:
            lines.append(
                f"  {read['signatures_compared']:,} signatures compared, {read['candidates']:,} candidates, "
                f"expected recall {read['expected_recall']:.3f}"
            )
        if read["plan"] == "transform":
            lines.append(f"  {read['candidates']:,} candidates learned from")
        if self.advice:
            lines.append(f"  {self.advice}")
        return "\n".join(lines)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def _has_set(snapshot: Snapshot, row: pd.Series) -> bool:
    """Tell whether the index keeps the token set of a row's column."""
    return snapshot.settings.keep_sets or row["cardinality"] < snapshot.settings.smallest_signed


def _pairs(query: QueryColumn, codes: NDArray[np.int64], values: list[str]) -> pd.DataFrame:
    """Make the frame of `JoinCandidates.pairs` of values of a query and of a candidate."""
    first = query.values.first_rows()[codes]
    return pd.DataFrame(
        {
            "query_value": query.column.iloc[first].astype(str).to_numpy(),
            "candidate_value": values,
            "query_rows": query.values.row_counts()[codes],
        }
    )


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
        segment, table = context.snapshot.find_table(row["table"])
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
        snapshot = self.context.snapshot
        join = self.context.joins.get((row["query_column"], row["table"], row["column"]))
        if join is not None:
            return self._explain_join(row, query, candidate_texts(segment, column), join)
        advice = compare_modes(searcher_of(snapshot), snapshot.settings, query.values, self.context.params)
        found_by = self.context.stats[row["query_column"]].to_dict()
        told = "" if advice is None or self.context.params.mode == advice.mode == "exact" else str(advice)
        if not _has_set(snapshot, row):
            return Explanation(
                row["query_column"], row["table"], row["column"], int(row["matched"]), len(query.values),
                int(row["cardinality"]), row["relationship"], bool(row["accidental"]), [], [], [], found_by,
                float(row["containment_error"]), told,
            )  # fmt: skip
        groups = searcher_of(snapshot).groups_of(snapshot.segments.index(segment), query.values)
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
            found_by,
            advice=told,
        )

    def _explain_join(self, row: pd.Series, query: QueryColumn, texts: pa.Array, join: TransformJoin) -> Explanation:
        """Explain a candidate that joins by programs."""
        joined = join_values(join, query, texts, row["column"])
        codes, first = np.unique(joined.left_rows, return_index=True)
        shared = [
            f"{query.spelling(int(joined.left_rows[i]))} = {texts[int(joined.right_rows[i])].as_py()}"
            for i in first[:_N_EXAMPLES]
        ]
        alone = np.setdiff1d(np.arange(len(query.values)), codes)[:_N_EXAMPLES]
        theirs = np.setdiff1d(np.arange(len(texts)), joined.right_rows)[:_N_EXAMPLES]
        return Explanation(
            row["query_column"], row["table"], row["column"], codes.size, len(query.values), int(row["cardinality"]),
            row["relationship"], bool(row["accidental"]), shared, [query.spelling(int(code)) for code in alone],
            [texts[int(code)].as_py() for code in theirs], self.context.stats[row["query_column"]].to_dict(),
            program=str(join),
        )  # fmt: skip

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
            ``query_rows``, the rows of the user's frame that hold it; in order of first row. A value that
            programs join with several has a row for each.
        """
        row, query, segment, column = self._candidate(i)
        join = self.context.joins.get((row["query_column"], row["table"], row["column"]))
        if join is not None:
            texts = candidate_texts(segment, column)
            joined = join_values(join, query, texts, row["column"])
            return _pairs(query, joined.left_rows, texts.take(pa.array(joined.right_rows)).to_pylist())
        if not _has_set(self.context.snapshot, row):
            raise IncompatibleSettingsError(
                f"the index keeps no token set of `{row['table']}` column {row['column']!r} (keep_sets=False), so that "
                "its pairs cannot be listed; read the table with `lake.table(name)`"
            )
        snapshot = self.context.snapshot
        groups = searcher_of(snapshot).groups_of(snapshot.segments.index(segment), query.values)
        shared = np.flatnonzero(shared_mask(segment, column, groups))
        return _pairs(query, shared, [query.values.value(int(code)) for code in shared])

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
        widths = {"query_column": 12, "table": 22, "column": 12}
        if self["query_column"].nunique() == 1:
            shown = shown.drop(columns="query_column")
            widths = {"table": 28, "column": 20}
        for name, width in widths.items():
            shown[name] = [_cut(str(value), width) for value in shown[name]]
        shown["containment"] = shown["containment"].map("{:.3f}".format)
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
