"""The answer of a search: a frame of candidate columns that can explain itself, and be joined."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin import _html, _plots
from dfjoin._optional import import_optional
from dfjoin._validation import show
from dfjoin._visible import visible, visible_lines
from dfjoin.errors import DfjoinError, InvalidParameterError, did_you_mean, shortlist
from dfjoin.index.catalog import KINDS
from dfjoin.search.composite_result import explain_key, key_pairs
from dfjoin.search.explanation import N_NAMED, Explanation, rows_table, tell_period, value_items
from dfjoin.search.found import Candidate, Found, SearchContext, Usefulness
from dfjoin.search.hits import KeyHit
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams
from dfjoin.search.usefulness.ranking import VERDICTS, score_hits, verdict_of
from dfjoin.store.snapshot import Snapshot
from dfjoin.store.table import is_mostly_null, void_reason

_LIMITS = ("threshold", "tables", "exclude", "kinds")
"""Arguments that leave candidates out."""


def why_nothing(context: SearchContext, searches: list[dict[str, Any]]) -> str:
    """Say why a search found nothing, and what would show more.

    Parameters
    ----------
    context : SearchContext
        Of the result.
    searches : list of dict
        What the result says of the search of each query column, in ``attrs["dfjoin"]["searches"]``.

    Returns
    -------
    str
        Empty if the search found something: the rows were taken away since.
    """
    params = context.params
    if any(found.hits.tables for found in context.found.values()) or (context.key is not None and context.key.hits):
        return ""
    unknown = unknown_tables(context.snapshot, params.tables)
    if unknown:
        return unknown
    if context.key is not None:
        return "no table has rows with these keys that are worth showing; pass min_score=0 for all"
    n_below = sum(one.get("n_below", 0) for one in searches)
    if n_below:
        columns = "1 column shares" if n_below == 1 else f"{n_below:,} columns share"
        return f"nothing useful: {columns} values by chance, it seems; pass min_score=0 to see them"
    if searches and not any(one.get("n_values", 1) for one in searches):
        return f"nothing to search with: no value in {', '.join(map(repr, context.found))}"
    limits = ", ".join(f"`{name}`" for name in _LIMITS if getattr(params, name))
    return mode_of(params.mode).nothing_found + (f", given {limits}" if limits else "")


def unknown_tables(snapshot: Snapshot, patterns: Sequence[str]) -> str:
    """Name the first of some patterns that matches no table of a lake, and the nearest tables; empty if all match."""
    for pattern in patterns:
        if not any(segment.alive_table_names([pattern]) for segment in snapshot.segments):
            names = [name for segment in snapshot.segments for name in segment.alive_table_names()]
            return f"`tables` {show(pattern)} matches no table of the lake{did_you_mean(pattern, names)}"
    return ""


_SHOWN = ("query_column", "table", "column", "matched", "containment", "relationship", "accidental")
_SHOWN_USEFUL = (
    "query_column",
    "table",
    "column",
    "score",
    "verdict",
    "matched",
    "containment",
    "relationship",
    "brings",
)

_OPTIONAL = ("accidental", "relationship", "verdict", "containment", "row_containment", "brings")
"""Columns that are left out, one after the other, where names that are cut leave too little room."""

_NO_WIDTH = 1 << 20
"""Columns of what is no terminal."""

_LONGEST = 500
"""Characters of a name that are shown at most, where there is room."""

_NAMES = ("query_column", "table", "column", "brings")
"""Columns that are cut where they do not fit."""

_NARROWEST = 12
"""Characters that are left of a name, however narrow the terminal is."""

_CARDS = 10
"""Candidates that have a card."""

_COLUMNS = 8
"""Columns of its table that are named on a card."""


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

    def __finalize__(self, other: Any, method: str | None = None, **kwargs: Any):
        """Keep the link where rows of one result are put together again, as by ``pd.concat``."""
        result = super().__finalize__(other, method, **kwargs)
        if method == "concat":
            parts = getattr(other, "input_objs", None) or other.objs  # pandas 3, pandas 2
            contexts = [getattr(part, "_context", None) for part in parts]
            if all(context is contexts[0] for context in contexts):
                result._context = contexts[0]
        return result

    @property
    def context(self) -> SearchContext:
        """The lake and query columns that this result came from.

        Raises
        ------
        InvalidParameterError
            If the frame has lost them, as after ``merge`` or ``read_csv``, or holds rows of several searches, or lacks
            the columns that name its candidates.
        """
        self._require("query_column", "table", "column")
        if self._context is None:
            raise InvalidParameterError(
                "`hits` has lost its link to the lake (it went through a file or a merge, or is made of several "
                "searches); call discover_joinable again and filter its result, one search after the other"
            )
        return self._context

    def _require(self, *names: str) -> None:
        """Raise unless the frame has these columns: a user may have dropped or renamed some."""
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise InvalidParameterError(
                f"`hits` must have the columns {shortlist(names)} of a search result, but {missing[0]!r} is missing; "
                "choose its rows, and keep these columns"
            )

    def _row(self, i: int) -> pd.Series:
        if not isinstance(i, (int, np.integer)) or not -len(self) <= i < len(self):
            raise InvalidParameterError(f"`i` must be a position in this frame of {len(self)} rows, got {show(i)}")
        return self.iloc[int(i)]

    def _candidate(self, i: int) -> Candidate:
        row, context = self._row(i), self.context
        found = context.found_of(row)
        names = [] if found is None else zip(found.hits.tables, found.hits.names, strict=True)
        position = next((p for p, name in enumerate(names) if name == (row["table"], row["column"])), None)
        if found is None or position is None:
            raise self._changed_row(row)
        return Candidate(row, found, position, context.snapshot)

    def _key_hit(self, i: int) -> KeyHit:
        """Return the hit of a key of several columns that a row shows."""
        row = self._row(i)
        hit = self.context.key_hit(row)
        if hit is None:
            raise self._changed_row(row)
        return hit

    @staticmethod
    def _changed_row(row: pd.Series) -> InvalidParameterError:
        return InvalidParameterError(
            f"`i` must be a row that the search found, got a changed one: `{row['table']}` column "
            f"{row['column']!r} for {row['query_column']!r}; call discover_joinable again and filter its result"
        )

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

        Notes
        -----
        The query is not searched again: what the search learned of it is kept with the frame.
        """
        key = self.context.of(self._row(i)).key
        if key is not None:
            return explain_key(self.context.snapshot, key, self._key_hit(i))
        candidate = self._candidate(i)
        return mode_of(self.context.of(self._row(i)).params.mode).explain(candidate)

    def pairs(self, i: int = 0) -> pd.DataFrame:
        """List the matched pairs of values of a candidate.

        Parameters
        ----------
        i : int
            Position in this frame.

        Returns
        -------
        DataFrame
            ``query_value`` in the user's spelling, or the period in which the user's dates lie,
            ``candidate_value`` in canonical form, and
            ``query_rows``, the rows of the user's frame that hold it; in order of first row. A value that
            programs join with several has a row for each. Where values match by distance also ``distance``, in the
            unit of the radius: all pairs within a radius that was given, and with the default one the nearest partners
            of each value, as `auto_join` joins them.
        """
        key = self.context.of(self._row(i)).key
        if key is not None:
            return key_pairs(key, self._key_hit(i))
        candidate = self._candidate(i)
        return mode_of(self.context.of(self._row(i)).params.mode).pairs(candidate)

    def similar(self, i: int = 0) -> pd.DataFrame:
        """List the family of a candidate that ``rank="useful"`` found: columns that count as one hit with it.

        Tables of one schema in one folder (years, languages, seasons, parts), and copies.

        Parameters
        ----------
        i : int
            Position in this frame.

        Returns
        -------
        DataFrame
            ``table, column`` (str), ``score, usefulness`` (float64), ``matched, cardinality`` (int64): the candidate
            first, and then the others, the most useful first.

        Raises
        ------
        InvalidParameterError
            If the candidates are ranked by matched values.
        """
        if self.context.key is not None:
            raise InvalidParameterError(
                "`similar` lists tables that share one column, got a result for a key of several; call "
                "discover_joinable with families=False, which has a row for each table"
            )
        candidate = self._candidate(i)
        found = candidate.found
        if found.useful is None:
            raise InvalidParameterError(
                '`similar` needs candidates that are ranked by usefulness, got a result of rank="matched"; call '
                "discover_joinable without `rank`"
            )
        return found.useful.family(candidate.snapshot.segments, candidate.position)

    def to_arrow(self) -> pa.Table:
        """Return the candidates as a table of Arrow; the link to the lake stays here.

        Returns
        -------
        pyarrow.Table
            The columns of this frame, without its index.
        """
        return pa.Table.from_pandas(pd.DataFrame(self), preserve_index=False).replace_schema_metadata(None)

    def to_polars(self) -> Any:
        """Return the candidates as a DataFrame of polars; the link to the lake stays here.

        Returns
        -------
        polars.DataFrame
            The columns of this frame, without its index.

        Raises
        ------
        MissingDependencyError
            If polars, the extra ``polars``, is not installed.
        """
        polars = import_optional("polars", extra="polars", purpose="to_polars")
        return polars.from_arrow(self.to_arrow())

    def plot_coverage(self, *, ax: Any = None) -> Any:
        """Draw a bar for each candidate: the share of the query column's distinct values that it holds.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            Accidental candidates are hatched; the number beside a bar is that of the values. Of several query columns
            each label begins with its own.

        Raises
        ------
        MissingDependencyError
            If matplotlib, the extra ``plot``, is not installed.
        InvalidParameterError
            If the frame has lost one of its columns.
        """
        self._require("table", "column", "containment", "accidental", "matched")
        names = [f"{t}: {c}" for t, c in zip(self["table"], self["column"], strict=True)]
        if "query_column" in self and self["query_column"].nunique() > 1:
            names = [f"{q} → {name}" for q, name in zip(self["query_column"], names, strict=True)]
        return _plots.draw_coverage(names, self["containment"], self["matched"], self["accidental"], ax)

    def plot_matches(self, i: int = 0, *, ax: Any = None) -> Any:
        """Draw the distinct values of both columns of a candidate: those with a partner, and those without.

        Parameters
        ----------
        i : int, default 0
            Position in this frame.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
            A bar for each of the two columns, with examples.

        Raises
        ------
        MissingDependencyError
            If matplotlib, the extra ``plot``, is not installed.
        InvalidParameterError
            If `i` is no position, or the frame has lost its lake or one of its columns.
        """
        found = self.explain(i)
        n_alone = found.cardinality - found.matched if found.n_alone is None else found.n_alone
        ax = _plots.draw_partners(
            [found.query_column, f"{found.table}: {found.column}"],
            [found.matched, found.cardinality - n_alone],
            [found.query_cardinality - found.matched, n_alone],
            [(found.shared, found.only_query), ([], found.only_candidate)],
            ax,
        )
        ax.set_title(found.radius or found.relationship, fontsize=10)
        return ax

    def _is_complete(self) -> bool:
        return set(_SHOWN) <= set(self.columns)

    def why_empty(self) -> str:
        """Say why the search found nothing, and what would show more.

        Returns
        -------
        str
            Empty if there are rows, or if there were some that a filter took away.
        """
        if len(self) or self._context is None:
            return ""
        return why_nothing(self._context, self.attrs.get("dfjoin", {}).get("searches", []))

    def __repr__(self) -> str:
        """Write the main columns so that they fit the terminal; of a weighted search, rows instead of distinct values.

        Where they do not fit, ``accidental`` is left out if no row is, and ``relationship`` if ``brings`` tells more;
        then names are cut in their middle and ``brings`` at its end, and where that is not enough further columns are
        left out. Where no width is known, as in a pipe, names are whole, up to 500 characters. Without rows it says why
        there are none.
        """
        if not self._is_complete() or len(self) == 0:
            return self.why_empty() or visible_lines(super().__repr__().split("\n"))
        return self._fit(self._shown(), shutil.get_terminal_size((_NO_WIDTH, 24)).columns)

    def _shown(self) -> pd.DataFrame:
        """Return the columns that are shown, names as they are."""
        names = list(_SHOWN_USEFUL if set(_SHOWN_USEFUL) <= set(self.columns) else _SHOWN)
        if "matched_rows" in self.columns and "row_containment" in self.columns:
            names[names.index("matched") : names.index("containment") + 1] = ["matched_rows", "row_containment"]
            names.remove("relationship")
        if "relationship" in names and self["relationship"].isna().all():  # of a search by distance
            names.remove("relationship")
        spelled = [name for name in ("period", "alias") if name in self.columns and self[name].notna().any()]
        names[names.index("column") + 1 : names.index("column") + 1] = spelled
        if self["query_column"].nunique() == 1:
            names.remove("query_column")
        shown = pd.DataFrame({name: self[name].to_numpy() for name in names}, index=self.index)
        for name in spelled:
            shown[name] = shown[name].astype(object).where(shown[name].notna(), "")
        for name in shown.columns.intersection(["containment", "row_containment"]):
            shown[name] = shown[name].map("{:.3f}".format)
        if "score" in shown:
            shown["score"] = shown["score"].map("{:.2f}".format)
        return shown

    def _fit(self, shown: pd.DataFrame, available: int) -> str:
        """Write the columns that are shown in lines of at most `available` characters."""
        widths = dict.fromkeys(shown.columns.intersection(_NAMES), _LONGEST)
        optional = [name for name in _OPTIONAL if name in shown]
        if "accidental" in shown and self["accidental"].any():
            optional.remove("accidental")
        while True:
            for name, width in widths.items():
                cut = _cut_end if name == "brings" else _cut
                shown[name] = [cut(visible(" ".join(str(value).split())), width) for value in self[name]]
            lines = _aligned(shown)
            excess = max(map(_width, lines)) - available
            if excess <= 0:
                return visible_lines(lines)
            widest = max(widths, key=lambda name: max(map(_width, shown[name])))
            longest = max(map(_width, shown[widest]))
            is_spare = optional[:1] == ["accidental"] or (optional[:1] == ["relationship"] and "brings" in shown)
            if is_spare or (longest <= _NARROWEST and optional):
                shown = shown.drop(columns=optional[0])
                widths.pop(optional.pop(0), None)
            elif longest <= _NARROWEST:
                return visible_lines(lines)
            else:
                widths[widest] = max(_NARROWEST, longest - max(1, excess // len(widths)))

    def _repr_html_(self) -> str | None:
        """Write a card for each of the first candidates, for notebooks."""
        if not (self._is_complete() and "query_cardinality" in self.columns):
            return super()._repr_html_()
        return _as_cards(self)


def _aligned(shown: pd.DataFrame) -> list[str]:
    """Align columns; the last one, names of any length, at its left."""
    if "brings" in shown:
        longest = max(map(_width, shown["brings"]))
        texts = [text + " " * (longest - _width(text)) for text in shown["brings"]]
        shown = shown.assign(brings=texts).rename(columns={"brings": "brings".ljust(longest)})
    with pd.option_context("display.unicode.east_asian_width", True):
        return [line.rstrip() for line in shown.to_string(max_rows=20).split("\n")]


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes: letters of East Asia take two."""
    return sum(map(_width_of, text))


def _width_of(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _head(text: str, width: int) -> str:
    """Return the first characters of a text that take at most `width` columns."""
    return text[: sum(end <= width for end in accumulate(map(_width_of, text)))]


def _cut_end(text: str, width: int) -> str:
    """Shorten a list of names at its end."""
    return text if _width(text) <= width else _head(text, width - 1) + "…"


def _cut(text: str, width: int) -> str:
    """Shorten a name in its middle: both ends of a path say something."""
    if _width(text) <= width:
        return text
    half = (width - 1) // 2
    return _head(text, width - 1 - half) + "…" + _head(text[::-1], half)[::-1]


def _as_cards(hits: JoinCandidates) -> str:
    """Write a search result: a card for each of the first candidates, and a line for the number of others."""
    cards = [_candidate_card(hits, i) for i in range(min(len(hits), _CARDS))]
    rest = len(hits) - len(cards)
    if not cards:
        cards.append(f"<p>{_html.escape(hits.why_empty() or 'no candidates')}</p>")
    if rest:
        cards.append(f'<p class="soft">{rest:,} more rows</p>')
    return _html.page(cards)


def _candidate_card(hits: JoinCandidates, i: int) -> str:
    row = hits.iloc[i]
    has_score = "score" in row and not pd.isna(row["score"])
    share = float(row["score"] if has_score else row["containment"])
    verdict = str(row.get("verdict", "")) or ("chance" if row["accidental"] else "")
    text = f"score {share:.2f}" if has_score else f"containment {share:.3f}"
    relationship = "" if pd.isna(row["relationship"]) else f", {row['relationship']}"
    matched = f"{int(row['matched']):,} of {int(row['query_cardinality']):,} values{relationship}"
    items = [
        ("matched", _html.escape(matched)),
        (
            "brings",
            _html.escape(
                row["brings"] if "brings" in row else _quietly(lambda: _first_columns(hits._candidate(i))) or ""
            ),
        ),
        ("zeros", f"codes of {int(row['pad'])} digits" if "pad" in row and not pd.isna(row["pad"]) else ""),
        ("periods", tell_period(row["period"]) if "period" in row and not pd.isna(row["period"]) else ""),
        ("names of", row["alias"] if "alias" in row and not pd.isna(row["alias"]) else ""),
        ("similar tables", f"{int(row['n_similar']):,}" if row.get("n_similar", 0) > 0 else ""),
    ]
    parts = [_html.bar(share, text, verdict)]
    explanation = _quietly(lambda: hits.explain(i))
    if explanation is not None:
        items += value_items(explanation)
    parts.append(_html.pairs(items))
    if explanation is not None:
        parts.append(rows_table(explanation))
    parts.append(_html.code(f"df.auto_join(hits.iloc[[{i}]])"))
    head = f'<span class="soft">{i}</span> {_html.escape(row["table"])} · {_html.escape(row["column"])}'
    return _html.card(f'{head} <span class="soft">for {_html.escape(row["query_column"])}</span>', parts)


def _first_columns(candidate: Candidate) -> str:
    """Name the first columns that a join with the table would bring, from the catalogue."""
    segment, table = candidate.snapshot.find_table(candidate.row["table"])
    columns = segment.catalog.column_records(segment.catalog.columns_of(table))
    columns.sort(key=lambda column: (is_mostly_null(column), column["position"]))
    names = [c["name"] for c in columns if c["name"] != candidate.row["column"] and not void_reason(c["name"], c)]
    rest = f" and {len(names) - _COLUMNS:,} more" if len(names) > _COLUMNS else ""
    return ", ".join(names[:_COLUMNS]) + rest


def _quietly(make: Callable[[], Any]) -> Any:
    """Return what a function makes, or None where the lake cannot be read any more: a page has to be shown."""
    try:
        return make()
    except (DfjoinError, OSError):
        return None


try:
    from pandas.api.internals import create_dataframe_from_blocks
except ImportError:  # pandas 2
    create_dataframe_from_blocks = None


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
"""Columns of every result, in this order; ``weighted=True`` adds two behind them, other modes one more."""

USEFUL_COLUMNS = ("score", "usefulness", "verdict", "brings", "n_similar", "copy")
"""Columns that ``rank="useful"`` adds behind these."""

_CHANCE = dict(VERDICTS)["weak"]
"""A candidate with a lower score is accidental."""

_Column: TypeAlias = "list[str] | NDArray[Any]"


def make_frame(found: Sequence[Found], params: SearchParams) -> JoinCandidates:
    """Make the result frame of what the searches of one or more query columns found.

    Parameters
    ----------
    found : sequence of Found
        At least one.
    params : SearchParams

    Returns
    -------
    JoinCandidates
        Without a context.
    """
    parts = [_make_columns(one, params) for one in found]
    columns = parts[0] if len(parts) == 1 else {name: _concatenate([p[name] for p in parts]) for name in parts[0]}
    return frame_of(columns)


def _make_columns(found: Found, params: SearchParams) -> dict[str, _Column]:
    """Compute the result columns of the hits of one query column: name → list of texts or array."""
    query, ranked = found.query, found.hits
    hits, profile = ranked.hits, ranked.profile
    n, n_query = len(hits), query.n_values
    is_unique = hits.cardinality == profile["n_rows"] - profile["n_null"]
    left = "1" if query.is_unique else "m"
    columns: dict[str, _Column] = {
        "query_column": [query.name] * n,
        "table": ranked.tables,
        "column": ranked.names,
        "matched": hits.matched,
        "containment": hits.matched / max(1, n_query),
        "jaccard": hits.matched / np.maximum(1, n_query + hits.cardinality - hits.matched),
        "query_cardinality": np.full(n, n_query, np.int64),
        "cardinality": hits.cardinality,
        "n_rows": profile["n_rows"],
        "kind": [KINDS[kind] for kind in profile["kind"].tolist()],
        "relationship": [f"{left}:{'1' if unique else 'm'}" for unique in is_unique.tolist()],
        "accidental": _accidental(found, params) if found.useful is None else found.useful.score < _CHANCE,
        "method": [params.mode] * n,
        "exact": np.isnan(hits.errors),
    }
    if params.is_weighted:
        columns["matched_rows"] = hits.matched_rows
        columns["row_containment"] = hits.matched_rows / max(1, query.n_non_null)
    columns |= mode_of(params.mode).columns(found)
    return columns if found.useful is None else columns | _useful_columns(found, found.useful)


def _useful_columns(found: Found, useful: Usefulness) -> dict[str, _Column]:
    """Compute what is told of the usefulness of each hit."""
    return {
        "score": useful.score,
        "usefulness": useful.usefulness,
        "verdict": [verdict_of(score) for score in useful.score.tolist()],
        "brings": [listed(*one) for one in useful.brings(found.matched.segments, found.hits.hits, N_NAMED)],
        "n_similar": useful.n_similar,
        "copy": useful.is_copy,
    }


def listed(names: list[str], n_names: int) -> str:
    """Write names in one line, the first ones of many."""
    rest = n_names - len(names)
    return ", ".join(names) + (f" and {rest:,} more" if rest > 0 else "")


def _concatenate(parts: list[_Column]) -> _Column:
    if isinstance(parts[0], list):
        return [text for part in parts for text in part]
    return np.concatenate(parts)


@lru_cache(maxsize=1)
def _text_type() -> tuple[Any, Any]:
    """The dtype that this pandas gives to text, and the class of its arrays; None for Python objects."""
    dtype = pd.Series(["a"]).dtype
    return dtype, dtype.construct_array_type() if isinstance(dtype, pd.StringDtype) else None


class _Layout(NamedTuple):
    """Where the columns of a frame go: its labels, the texts, and the columns of each dtype that form a block."""

    labels: pd.Index
    texts: list[tuple[str, NDArray[np.intp]]]
    blocks: list[tuple[list[str], NDArray[np.intp]]]


_LAYOUTS: dict[tuple[str, ...], _Layout] = {}
"""Names of columns → their layout; a mode has few sets of columns, each column of one dtype."""


def _layout_of(columns: dict[str, _Column]) -> _Layout:
    names = tuple(columns)
    layout = _LAYOUTS.get(names)
    if layout is None:
        texts: list[tuple[str, NDArray[np.intp]]] = []
        alike: dict[str, list[int]] = {}
        for position, (name, column) in enumerate(columns.items()):
            if isinstance(column, list):
                texts.append((name, np.array([position])))
            else:
                alike.setdefault(column.dtype.str, []).append(position)
        blocks = [([names[i] for i in positions], np.array(positions)) for positions in alike.values()]
        layout = _LAYOUTS.setdefault(names, _Layout(pd.Index(names), texts, blocks))
    return layout


def frame_of(columns: dict[str, _Column]) -> JoinCandidates:
    """Make a frame of columns.

    The numbers of each dtype are one block, and all texts are converted at once and cut into columns: to convert
    and check column by column would take longer than the search for a small query.
    """
    (dtype, text_class), n = _text_type(), len(columns["table"])
    if create_dataframe_from_blocks is None or text_class is None:  # pandas 2
        return JoinCandidates({name: pd.array(c, dtype) if isinstance(c, list) else c for name, c in columns.items()})
    layout = _layout_of(columns)
    every: list[str] = []
    for name, _ in layout.texts:
        every += columns[name]
    texts = text_class(pa.array(every, pa.large_string()), dtype=dtype)
    blocks: list[tuple[Any, NDArray[np.intp]]] = [
        (texts[i * n : (i + 1) * n], position) for i, (_, position) in enumerate(layout.texts)
    ]
    blocks += [(np.array([columns[name] for name in names]), positions) for names, positions in layout.blocks]
    frame = create_dataframe_from_blocks(blocks, index=pd.RangeIndex.from_range(range(n)), columns=layout.labels.view())
    frame.__class__ = JoinCandidates  # its constructor would pass over all blocks again
    return frame


def _accidental(found: Found, params: SearchParams) -> NDArray[np.bool_]:
    """Flag the hits whose overlap chance explains: integers of which the score is below 0.1."""
    hits = found.hits.hits
    if len(hits) == 0 or not found.query.profile.has_range or not mode_of(params.mode).is_by_equality:
        return np.zeros(len(hits), bool)
    return score_hits(found.query, found.matched, hits, found.evidence) < _CHANCE
