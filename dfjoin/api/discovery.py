"""Finding columns that join: arguments are made a record, and one call goes down."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dfjoin.lake import Lake
    from dfjoin.search.candidates import JoinCandidates


def discover_joinable(
    df: Any,
    on: Hashable = None,
    lake: Lake | str | os.PathLike[str] | None = None,
    *,
    mode: str = "exact",
    k: int | None = None,
    threshold: float | None = None,
    rank: str | None = None,
    min_score: float | None = None,
    families: bool = True,
    weighted: bool = False,
    tables: str | list[str] | None = None,
    exclude: str | list[str] | None = None,
    kinds: str | list[str] | None = None,
    plan: str | None = None,
    verify: bool = True,
    pad: int | None = None,
    dayfirst: bool | None = None,
    recall: float | None = None,
    progressive: bool = False,
    aliases: bool | dict[str, str] | None = None,
    radius: float | None = None,
    radius_unit: str | None = None,
    metric: str | None = None,
    count: str | None = None,
) -> JoinCandidates:
    """Find the columns of a lake that join usefully with a column of a frame.

    Every column that shares a value is a candidate. Its score is the estimated probability that both columns mean the
    same kind of thing. Values are compared in canonical form: case, white space, and spellings of numbers and dates do
    not count. Duplicates count once, and nulls never match.

    Parameters
    ----------
    df : DataFrame
        Of pandas (named levels of the index are keys like columns), polars, Arrow or DuckDB; it is not changed.
    on : column label, list of labels, ``"*"`` or None
        The query column. Several are a composite key, or coordinates with ``mode="embedding"``. None: each in turn.
    lake : Lake or path
        The index to search.
    mode : {"exact", "lsh", "transform", "embedding", "fuzzy"}
        How values match: equal; equal, found by signatures; by a learned program; near each other; by spelling.
    k, threshold, min_score : int, float and float, optional
        Most rows of a query column; smallest containment, the share of its distinct values that the candidate holds;
        smallest score. By default 10 rows with a score of 0.5 or more.
    rank, families, weighted : {"useful", "matched"}, bool and bool, optional
        What comes first: what is useful, or what shares the most values; whether similar tables count as one hit;
        whether rows of `df` are counted in place of distinct values.
    tables, exclude, kinds : str or list of str, optional
        Patterns of tables to search and to leave out; kinds of columns: text, integer, decimal, date.
    pad, dayfirst, aliases : int, bool, bool or dict, optional
        How `on` is written: digits with zeros in front; the order of days and months; names in other languages, codes.
    radius, radius_unit, metric, count : float, str, str and str, optional
        How near values are; "fraction", "by_length", "absolute", "m" or "km"; "euclidean", "angular" or a registered
        distance, in ``mode="fuzzy"`` "edit", "tokens" or "jaccard"; "hit" counts values with a partner, "all" pairs.
    recall, verify, progressive : float, bool and bool, optional
        With ``mode="lsh"``: the share of columns to find; counts or estimates; estimates first, then counts.
    plan : str, optional
        "mergelist", "probeset", "josie"; in embedding "tree", "gemm", "pexeso". By default the cheapest by estimate.

    Returns
    -------
    JoinCandidates
        A frame of pandas with a row for each candidate, the most useful first: ``table, column, matched, containment,
        relationship, score, verdict, brings`` and others. ``explain(i)`` says what counts for and against a row.

    Raises
    ------
    ColumnNotFoundError, IncompatibleSettingsError, InvalidParameterError, InvalidTypeError
        If a column is missing, the index lacks what the mode needs, or an argument is illegal.

    See Also
    --------
    auto_join : join what was found.
    discover_joinable_batch : many query columns in one call.

    Notes
    -----
    All values of the arguments, all columns of the result, warnings and costs: :doc:`/reference/search_details`.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile
    >>> capitals = pd.DataFrame({"country": ["France", "Peru", "Chad"], "capital": ["Paris", "Lima", "N'Djamena"]})
    >>> lake = dfjoin.build_lake({"capitals": capitals}, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
    >>> df = pd.DataFrame({"nation": ["FRANCE", "Peru ", "Peru", "Atlantis"], "seat": ["paris", "lima", "Lima", None]})
    >>> df.discover_joinable("nation", lake)[["table", "column", "matched", "query_cardinality"]]
          table   column  matched  query_cardinality
    0  capitals  country        2                  3
    >>> df.discover_joinable(["nation", "seat"], lake)[["column", "matched", "relationship"]]
                  column  matched relationship
    0  country + capital        2          m:1
    >>> pd.DataFrame({"land": ["Frence"]}).discover_joinable("land", lake, mode="fuzzy", radius=0.3)["matched"].item()
    1
    """
    given = {name: value for name, value in locals().items() if name not in ("df", "on", "lake")}  # before other names

    from dfjoin.frames.given_frame import frame_of
    from dfjoin.lake import refuse_swapped, resolve_lake
    from dfjoin.search.discover import discover
    from dfjoin.search.params import search_params

    params = search_params(**given)
    df = frame_of(df)
    columns = getattr(df, "columns", ())
    if not (isinstance(on, str) and on in columns):
        refuse_swapped(on, lake, columns)
    return discover(df, on, resolve_lake(lake).snapshot, params)


def discover_joinable_batch(
    columns: Mapping[str, Any],
    lake: Lake | str | os.PathLike[str],
    *,
    mode: str = "exact",
    k: int | None = None,
    threshold: float | None = None,
    rank: str | None = None,
    min_score: float | None = None,
    families: bool = True,
    weighted: bool = False,
    tables: str | list[str] | None = None,
    exclude: str | list[str] | None = None,
    kinds: str | list[str] | None = None,
    plan: str | None = None,
    verify: bool = True,
    recall: float | None = None,
    radius: float | None = None,
    radius_unit: str | None = None,
    metric: str | None = None,
    count: str | None = None,
    n_threads: int | None = None,
) -> JoinCandidates:
    """Find joinable columns for many query columns in one call.

    Parameters
    ----------
    columns : mapping of str to Series or list
        Name → query column, of pandas, polars or Arrow; the name appears as ``query_column``.
    lake : Lake or path
        The index to search.
    mode, k, threshold, rank, min_score, families, weighted, tables, exclude, kinds, plan, verify, recall
        As in `discover_joinable`, per query column. The frame is not known, so that ``brings`` names all columns.
    radius, radius_unit, metric, count
        As in `discover_joinable`, per query column.
    n_threads : int, optional
        Threads to search with; as many as there are processors by default.

    Returns
    -------
    JoinCandidates
        As from `discover_joinable`, in the order of `columns`.

    Raises
    ------
    InvalidTypeError
        If `columns` is no mapping.

    Notes
    -----
    The rows do not depend on the number of threads. No zero-padding warnings are given, and dates are not searched for
    by the periods in which they lie: `discover_joinable` does.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile
    >>> towns = pd.DataFrame({"town": ["Lima", "Paris", "Quito"]})
    >>> lake = dfjoin.build_lake({"towns": towns}, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
    >>> queries = {"one": ["Lima", "Quito"], "two": ["Paris", "Quito", "Oz", "Ur"]}
    >>> hits = dfjoin.discover_joinable_batch(queries, lake)
    >>> hits[["query_column", "matched", "containment"]]
      query_column  matched  containment
    0          one        2          1.0
    1          two        2          0.5
    """
    own = ("columns", "lake", "n_threads")
    given = {name: value for name, value in locals().items() if name not in (*own, "own")}

    from dfjoin.lake import resolve_lake
    from dfjoin.search.discover import discover_batch
    from dfjoin.search.params import search_params

    params = search_params(**given)
    return discover_batch(columns, resolve_lake(lake).snapshot, params, n_threads)
