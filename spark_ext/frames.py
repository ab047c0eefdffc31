"""What Spark DataFrames get: ``sdf.discover_joinable(...)``, ``sdf.auto_join(...)`` and the namespace ``sdf.dfjoin``.

The two verbs take the arguments of the functions of `dfjoin.api`, and `where`; signature and documentation come from
there. The namespace has the functions of `spark_ext` besides whose first argument is a frame.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from dfjoin import api
from dfjoin._optional import import_optional
from dfjoin.errors import InvalidParameterError
from dfjoin.join.rows.report import JoinReport
from dfjoin.search.explanation import Explanation
from spark_ext import join, picked_hits, search
from spark_ext.jobs import described

__all__ = ["SparkAccessor", "register"]

_WHERE = inspect.Parameter("where", inspect.Parameter.KEYWORD_ONLY, default="auto", annotation="str")

_NOTE = """{summary}

    The frame is a Spark DataFrame, and so is the result. Arguments and columns are those of `dfjoin.{name}`.

    Parameters
    ----------
    {where}
    **arguments
        As in `dfjoin.{name}`.
"""

_WHERE_OF_SEARCH = """where : {"auto", "driver", "cluster"}
        Where the search runs.

        Dates are not searched for by the periods in which they lie, as in pandas: no row has ``period``; nor are other
        names of the same things (`aliases`). `report` says where a search ran.

        - ``"driver"``: the distinct values of the query columns come to this process, up to 64 MiB.
        - ``"cluster"``: in tasks, which have to find the index at the same path. Groups of segments are searched in
          tasks of their own, twice by distances (``mode="fuzzy"`` and ``"embedding"``) in the order by usefulness,
          since how rare a value is, is counted first; programs are learned by one task for each query column. A column
          of more than two million distinct values is searched by ranges of these with ``mode="exact"``: each goes to
          one task, once, and no zeros in front are looked for (pass `pad`). In other modes one task for each group gets
          all of its values. Tasks give no warnings: of codes that lost their zeros the column `pad` tells.
        - ``"auto"``: here, and in tasks where the values are too many.

        Distinct rows of several columns come here. The tables of a key are compared here, for two seconds, and by as
        many tasks as there are cores, for up to 30 seconds, if that is not enough (``"auto"``) or at once
        (``"cluster"``). Columns of numbers, which are points, are searched for here but with ``"cluster"``: then each
        task takes some of the points.

        The frame is read once here. In tasks it is read once; where Spark expects more than 2 MiB of distinct values
        and does not know that there are few (as of a frame that was persisted and read), these are kept on disk or in
        memory while the search lasts, and a job counts them. Jobs: one here; in tasks one or, with that, two, four for
        each column that is searched by ranges, and one that looks at the workers once in a session."""

_WHERE_OF_JOIN = """where : {"auto", "driver", "cluster"}
        Where tables of a lake are read: ``"driver"`` reads them in this process, ``"cluster"`` Parquet, ORC and
        local Delta tables by Spark's own readers in several tasks, with types of Spark, and other files in a task,
        which reads the keys and later the rows, ``"auto"`` small ones here. ORC with times, and Delta tables with
        deletion vectors or mapped columns, are read in one task, too. Joins by dates (``how="asof"``) and by periods
        read them here; the latest rows are found by a window of Spark where the frame
        has keys and a column of dates or times, else for each distinct key and date, up to a million.

        What is joined is decided by a job that reads up to 100,000 rows of the frame, and a second one where it has
        more; further jobs read keys of the other side: of a right frame of up to a million rows the keys come here. All
        run before this call returns, and the result reads the frame again: ``persist`` one that is expensive to make. A
        plan as `other` is carried out without reading rows. It joins a stream, too, as do picked hits of a search with
        a frame of some of its rows, which decides; a checkpoint restarts the stream. Rows of a stream are joined one by
        one (``how="left"``, "inner" or "asof") by equal keys and programs.
        Values stay in Spark and keep their types; times without a zone, of a lake or of pandas, are TIMESTAMP_NTZ. With
        ``how="outer"`` and ``"right"``, keys of two types become the type of numbers, or of dates and times, that holds
        all values of both, else STRING. Names are compared by ``spark.sql.caseSensitive``."""


def _arguments(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Name the arguments behind the frame; raises TypeError for one that the function does not have."""
    bound = inspect.signature(function).bind(None, *args, **options)
    return dict(list(bound.arguments.items())[1:])


def _method(function: Callable[..., Any], run: Callable[..., Any], where: str) -> Callable[..., Any]:
    """Make a method of Spark DataFrames of a documented function of pandas frames."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, where: str = "auto", **options: Any) -> Any:
        frame = self.frame if isinstance(self, SparkAccessor) else self  # on Connect any attribute is a column
        return run(frame, where, _arguments(function, args, options))

    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    own = [first.replace(name="self", annotation=first.empty), *rest, _WHERE]
    method.__signature__ = signature.replace(parameters=own, return_annotation=DataFrame)  # type: ignore[attr-defined]
    summary = (function.__doc__ or "").partition("\n")[0]
    method.__doc__ = _NOTE.format(summary=summary, name=function.__name__, where=where)
    return method


def _discover(frame: Any, where: str, arguments: dict[str, Any]) -> Any:
    on, lake = arguments.pop("on", None), arguments.pop("lake", None)
    if frame.isStreaming:
        raise InvalidParameterError(
            "`df` must not be a stream for a search, which ranks by all rows; search with a frame of some of them"
        )
    with described(frame.sparkSession, "discover_joinable"):
        return search.discover(frame, on, lake, where, arguments)


def _join(frame: Any, where: str, arguments: dict[str, Any]) -> Any:
    other = arguments.pop("other")
    with described(frame.sparkSession, "auto_join"):
        return join.auto_join(frame, other, where, arguments)


class SparkAccessor:
    """The namespace ``sdf.dfjoin``; holds nothing but the frame.

    Parameters
    ----------
    frame : pyspark DataFrame
        The frame whose attribute it is.
    """

    def __init__(self, frame: DataFrame) -> None:
        self.frame = frame

    discover_joinable = _method(api.discover_joinable, _discover, _WHERE_OF_SEARCH)
    auto_join = _method(api.auto_join, _join, _WHERE_OF_JOIN)

    def discover_joinable_batch(
        self, lake: Any, *, name: str = "query_column", value: str = "value", where: str = "auto", **options: Any
    ) -> DataFrame:
        """Find joinable columns for many query columns, which are rows of this frame.

        Parameters
        ----------
        lake, name, value, where, **options
            As in `spark_ext.discover_joinable_batch`.
        """
        return search.discover_batch(self.frame, lake, name, value, where, options)

    def explain(self, frame: DataFrame, i: int = 0) -> Explanation:
        """Explain a row of this frame, which ``frame.discover_joinable`` returned.

        Parameters
        ----------
        frame, i
            As in `spark_ext.explain`.
        """
        return picked_hits.candidate_of(self.frame, frame, i).explain(0)

    def pairs(self, frame: DataFrame, i: int = 0) -> DataFrame:
        """List the matched pairs of values of a row of this frame, which ``frame.discover_joinable`` returned.

        Parameters
        ----------
        frame, i
            As in `spark_ext.pairs`.
        """
        return picked_hits.pairs_of(self.frame, frame, i)

    def report(self) -> JoinReport | dict[str, Any]:
        """Return the report of the join or the search that returned this frame, see `spark_ext.report`."""
        return join.report_of(self.frame)


class _Namespace:
    """Gives each frame its namespace."""

    def __get__(self, frame: Any, owner: Any = None) -> Any:
        return SparkAccessor if frame is None else SparkAccessor(frame)


def register() -> None:
    """Give Spark DataFrames, classic and Connect, the two verbs and the namespace; a second call changes nothing.

    DataFrames of pandas-on-Spark get the verbs if they are imported, and can be with the installed pandas.
    """
    sql = import_optional("pyspark.sql", extra="spark", purpose="Spark")
    # The class that both kinds inherit: on Connect, an attribute that is missing would be taken for a column.
    if not isinstance(sql.DataFrame.__dict__.get("dfjoin"), _Namespace):
        sql.DataFrame.dfjoin = _Namespace()
        sql.DataFrame.discover_joinable = _method(api.discover_joinable, _discover, _WHERE_OF_SEARCH)
        sql.DataFrame.auto_join = _method(api.auto_join, _join, _WHERE_OF_JOIN)
    frames = getattr(sys.modules.get("pyspark.pandas"), "DataFrame", None)
    if frames is not None and "auto_join" not in frames.__dict__:
        frames.discover_joinable = _method(api.discover_joinable, _on_rows(_discover), _WHERE_OF_SEARCH)
        frames.auto_join = _method(api.auto_join, _on_rows(_join), _WHERE_OF_JOIN)


def _on_rows(run: Callable[..., Any]) -> Callable[..., Any]:
    """Make what joins Spark DataFrames join those of pandas-on-Spark: without their index, as columns are named."""

    def on_rows(frame: Any, where: str, arguments: dict[str, Any]) -> Any:
        other: Any = arguments.get("other")
        if isinstance(other, type(frame)):
            arguments = {**arguments, "other": other.to_spark()}
        return run(frame.to_spark(), where, arguments).pandas_api()

    return on_rows
