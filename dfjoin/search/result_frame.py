"""Scores and flags of each hit, and the frame of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.exact.searcher import Hit
from dfjoin.search.query import QueryColumn
from dfjoin.search.transform.candidate_programs import ProgramHit
from dfjoin.store.snapshot import Snapshot
from dfjoin.transform.transform_join import TransformJoin

__all__ = ["RESULT_COLUMNS", "is_accidental", "make_frame", "rank_hits"]

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

_ACCIDENTAL_MARGIN = 1.1


def rank_hits(
    snapshot: Snapshot, query: QueryColumn, hits: Sequence[Hit], method: str, weighted: bool
) -> dict[str, Any]:
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
    numbers = _catalog_numbers(snapshot, hits)
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
        "exact": np.fromiter((h.error is None for h in hits), bool, n),
    }
    if weighted:
        rows = np.fromiter((h.matched_rows for h in hits), np.int64, n)
        columns |= {"matched_rows": rows, "row_containment": rows / max(1, query.n_non_null)}
    programs = [hit for hit in hits if isinstance(hit, ProgramHit)]
    if method == "transform":
        columns["jaccard"] = np.full(n, np.nan)
        columns["relationship"] = [hit.relationship for hit in programs]
        columns["program"] = [_as_json(hit.join) for hit in programs]
    if method == "lsh":
        columns["containment_error"] = np.fromiter((h.error or 0.0 for h in hits), np.float64, n)
    return columns


def _as_json(join: TransformJoin) -> str:
    """Write a join by programs as JSON, without what else was tried."""
    return json.dumps({key: value for key, value in join.to_dict().items() if key != "tried"}, ensure_ascii=False)


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


def _catalog_numbers(snapshot: Snapshot, hits: Sequence[Hit]) -> dict[str, NDArray[Any]]:
    """Gather the numeric fields of the hits' catalogue records."""
    names = ("kind", "n_rows", "n_null", "has_range", "min_integer", "max_integer")
    segments = np.fromiter((h.segment for h in hits), np.int64, len(hits))
    columns = np.fromiter((h.column for h in hits), np.int64, len(hits))
    if len(hits) == 0 or bool((segments == segments[0]).all()):
        numbers = snapshot.segments[int(segments[0]) if len(hits) else 0].catalog.numbers if snapshot.segments else {}
        return {name: numbers[name][columns] if numbers else np.empty(0, np.int64) for name in names}
    out = {name: np.empty(len(hits), np.int64) for name in names}
    for number in np.unique(segments):
        chosen = segments == number
        numbers = snapshot.segments[int(number)].catalog.numbers
        for name in names:
            out[name][chosen] = numbers[name][columns[chosen]]
    return out


def _accidental(
    query: QueryColumn,
    hits: Sequence[Hit],
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
