"""Scores and flags of each hit, and the frame of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.explanation import N_NAMED
from dfjoin.search.found import Found
from dfjoin.search.modes import mode_of
from dfjoin.search.params import SearchParams
from dfjoin.search.usefulness.ranking import VERDICTS, score_hits, verdict_of
from dfjoin.search.usefulness.useful_hits import Usefulness

try:
    from pandas.api.internals import create_dataframe_from_blocks
except ImportError:  # pandas 2
    create_dataframe_from_blocks = None

__all__ = ["RESULT_COLUMNS", "USEFUL_COLUMNS", "frame_of", "listed", "make_frame"]

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
    frame = create_dataframe_from_blocks(blocks, index=pd.RangeIndex(n), columns=layout.labels.view())
    frame.__class__ = JoinCandidates  # its constructor would pass over all blocks again
    return frame


def _accidental(found: Found, params: SearchParams) -> NDArray[np.bool_]:
    """Flag the hits whose overlap chance explains: integers of which the score is below 0.1."""
    hits = found.hits.hits
    if len(hits) == 0 or not found.query.profile.has_range or not mode_of(params.mode).is_by_equality:
        return np.zeros(len(hits), bool)
    return score_hits(found.query, found.matched, hits, found.evidence) < _CHANCE
