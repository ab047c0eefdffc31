"""Rows of a result of Spark, searched for again in this process, so that they can be explained and joined."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import pyarrow as pa

from dfjoin.errors import InvalidParameterError
from dfjoin.lake import moved_roots_of
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.column_search import search_queries
from dfjoin.search.discover import discover as search_pandas
from dfjoin.search.params import search_params
from dfjoin.store.snapshot import open_snapshot
from dfjoin.values.frames import is_spark
from spark_ext import search
from spark_ext.jobs import described
from spark_ext.queries import query_rows
from spark_ext.search import SEARCH_KEY, collect_points, collect_values
from spark_ext.search_tasks import SearchTask
from spark_ext.transfer import collect, to_spark

__all__ = ["Picked", "candidate_of", "frame_of", "pairs_of", "picked", "search_again", "work_of"]


@dataclass(frozen=True)
class Picked:
    """Rows of a result of Spark, and the search that they are of."""

    rows: pd.DataFrame
    index: str
    version: int
    options: dict[str, Any]


def picked(hits: Any) -> Picked | None:
    """Return the rows of a result of `discover_joinable`; None for a DataFrame that is none."""
    values = _noted(hits)
    if values is None:
        return None
    with described(hits.sparkSession, "collect picked hits"):
        rows = collect(hits).to_pandas()
    missing = [name for name in ("query_column", "table", "column") if name not in rows]
    if missing:
        raise InvalidParameterError(
            f"`hits` must keep the columns that name its candidates, but {missing[0]!r} is gone"
        )
    return Picked(rows, values["index"], values["version"], values["options"])


def _noted(hits: Any) -> dict[str, Any] | None:
    """Read what a result of `discover_joinable` remembers; None for a DataFrame that is none."""
    if not is_spark(hits) or "table" not in hits.columns:
        return None
    noted = hits.schema["table"].metadata.get(SEARCH_KEY)
    return None if noted is None else json.loads(noted)


def work_of(hits: Any) -> dict[str, Any] | None:
    """Return how a result of `discover_joinable` was found, see `spark_ext.report`; None for another frame."""
    noted = _noted(hits)
    return None if noted is None else noted.get("work")


def frame_of(hits: Any) -> Any:
    """Return the frame that a result of `discover_joinable` was searched for; None for another frame.

    Raises
    ------
    InvalidParameterError
        If the search was not made by this process, or was not among its latest.
    """
    noted = _noted(hits)
    if noted is None:
        return None
    if noted.get("search") not in search.searched_frames:
        raise InvalidParameterError(
            "`other` has hits that this process did not search for, or too long ago, and a stream cannot be searched "
            "for them; search again with a frame of some rows of the stream, or keep the plan of a join of these: "
            'stream.auto_join(spark_ext.report(rows.auto_join(hits)).to_dict()["plan"])'
        )
    return search.searched_frames[noted["search"]]


_OF_RANKS = ("k", "threshold", "min_score", "families", "tables", "exclude", "kinds", "plan")
_EVERY_COLUMN = 1 << 20


def search_again(frame: Any, hits: Picked) -> JoinCandidates:
    """Search again for the rows of a result, in their tables alone, so that they can be explained and joined.

    Parameters
    ----------
    frame : pyspark DataFrame
        The frame that was searched for.
    hits : Picked

    Returns
    -------
    JoinCandidates
        These rows in their order.

    Raises
    ------
    InvalidParameterError
        If a row is not found again, or the query columns have too many values for this process.
    """
    kept = {name: value for name, value in hits.options.items() if name not in _OF_RANKS}
    on = kept.pop("on", None)
    ranks: dict[str, Any] = {"k": _EVERY_COLUMN, "tables": sorted(set(hits.rows["table"]))}
    params = search_params(**kept, **ranks)
    if params.is_by_usefulness:
        params = replace(params, min_score=0.0, families=False)
    roots = moved_roots_of(hits.index)
    if roots is None:  # whoever writes a table says what is in its metadata
        raise InvalidParameterError(
            f"`hits` say that they are of the index {hits.index!r}, which this process has not opened; if you trust "
            f"them, call dfjoin.open_lake({hits.index!r}) before"
        )
    snapshot = open_snapshot(hits.index, hits.version, roots or None)
    queries = []
    for name in dict.fromkeys(hits.rows["query_column"]) if on is None else ():
        one = query_rows(frame, name)
        task = SearchTask(snapshot, params, one.fields, one.companions, False)
        values = collect_values(one)
        if values is None:
            raise InvalidParameterError(
                f"`hits` can be explained and joined where the query column has at most {search.MOST_VALUES:,} values, "
                f"and {name!r} has more; join the table by a plan that a sample of the rows made"
            )
        queries += list(task.queries(values))
    if on is None:
        found = search_queries(snapshot, queries, params, is_first=False)
    else:
        found = search_pandas(collect_points(frame, on), on, snapshot, params, has_periods=False)
    keys = ["query_column", "table", "column"]
    row_of = {key: row for row, key in enumerate(zip(*(found[name] for name in keys), strict=True))}
    wanted = list(zip(*(hits.rows[name] for name in keys), strict=True))
    lost = [key for key in wanted if key not in row_of]
    if lost:
        raise InvalidParameterError(
            f"`hits` has the candidate `{lost[0][1]}` column {lost[0][2]!r}, which the frame does not match now; "
            "search again with discover_joinable"
        )
    return found.iloc[[row_of[key] for key in wanted]]


def candidate_of(hits: Any, frame: Any, i: int) -> JoinCandidates:
    """Return row `i` of a result of Spark as a result of pandas."""
    chosen = picked(hits)
    if chosen is None:
        raise InvalidParameterError(
            "`hits` must be what discover_joinable of a Spark DataFrame returned (or some of its rows), and keep the "
            "column `table`"
        )
    if not isinstance(i, int) or not -len(chosen.rows) <= i < len(chosen.rows):
        raise InvalidParameterError(f"`i` must be a position in this result of {len(chosen.rows)} rows, got {i!r:.80}")
    return search_again(frame, replace(chosen, rows=chosen.rows.iloc[[i]]))


def pairs_of(hits: Any, frame: Any, i: int) -> Any:
    """Return the matched pairs of values of row `i` of a result of Spark, as a frame of Spark."""
    found = pa.Table.from_pandas(candidate_of(hits, frame, i).pairs(0), preserve_index=False)
    return to_spark(frame.sparkSession, found.replace_schema_metadata(None))
