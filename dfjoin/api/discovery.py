"""Finding columns that join: arguments are made a record, and one call goes down."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dfjoin.lake import Lake
    from dfjoin.search.candidates import JoinCandidates

__all__ = ["discover_joinable", "discover_joinable_batch"]


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

    Every column that shares a value is a candidate. A small published model gives it a score: the probability that both
    columns mean the same kind of thing and do not share values by chance.

    Values are compared in canonical form: text by NFKC, white space and case folded; numbers, dates and
    their spellings as one (``1``, ``1.0``, ``"1"``). Duplicates count once. Nulls and the index's null
    spellings never match. An empty or all-null column gives no rows.

    Parameters
    ----------
    df : DataFrame
        The user's frame, of any index and dtypes; it is not changed. Of pandas, polars (a LazyFrame is collected),
        Arrow or DuckDB, or what offers the Arrow C stream.
    on : column label, list of labels, ``"*"`` or None
        The query column. ``"*"`` or None: every column of text, integers or dates with two values or
        more, in turn. Several labels make a composite key: a table has to hold the values of a row in one of its rows.
        With ``mode="embedding"``, a list names columns of numbers that make points together: ``["lat", "lon"]``,
        ``["x", "y", "z"]``, or one column of numbers or of lists of numbers, which needs no list.
    lake : Lake or path
        The index to search.
    mode : {"exact", "lsh", "transform", "embedding", "fuzzy"}, default "exact"
        How candidate columns are found.

        - ``"exact"``: from posting lists. Values match if their canonical forms are equal. No column is missed.
        - ``"lsh"``: from MinHash signatures (LSH Ensemble), at a cost that hardly depends on the sizes of the
          columns. Values match as in ``"exact"``. A column may be missed; every row that is returned is correct.
        - ``"transform"``: columns of text and dates that join after a program ("Obama, Barack" with "barack
          obama"). They are found by rare pieces of their values, and a program is learned for each. Only columns
          of which the program joins more values than equality does are returned. A column may be missed.
        - ``"embedding"``: columns of text with values near those of the query, by vectors that an embedder makes of
          them (`Lake.add_vectors`): misspellings, other formats, related names. Equal values match in all columns.
          No column is missed. With a list `on`, points of columns of numbers within the radius: places by
          great-circle distance, others by Euclidean distance (`Lake.add_axes`).
        - ``"fuzzy"``: columns of text with values that are spelled like those of the query: by edit distance, or by the
          3-grams that they share. It needs no vectors. Equal values match in all columns. No column is missed.
    k : int, optional
        Most rows per query column, at least 1. With neither `k` nor `threshold`: 10, of a score of 0.5 at least where
        scores are computed. In ``mode="lsh"`` the threshold is lowered from 1 in steps of 0.05 until `k` columns
        are found.
    threshold : float, optional
        Smallest containment, 0 to 1: share of the query column's distinct values that the candidate
        holds. Alone: every such column. With `k`: the best `k` of them.
    rank : {"useful", "matched"}, optional
        What candidates are ordered by; "matched" if `plan` or `weighted` is given, in ``mode="embedding"`` and in
        ``mode="fuzzy"``, else "useful".

        - ``"useful"``: by the score times what the hit brings. Tables of one schema in one folder, and copies, count
          as one hit. A copy of `df` comes last.
        - ``"matched"``: by the values that are shared as they are, as in the papers; nothing is scored, and no row has
          ``pad``: ``attrs["dfjoin"]`` says where codes that lost their zeros would match.
    min_score : float, optional
        Smallest score, 0 to 1; by default 0.5 if neither `k` nor `threshold` is given, else 0. Only with
        ``rank="useful"``.
    families : bool, default True
        Whether similar tables count as one hit; ``hits.similar(i)`` lists them. With False each is a row of its own,
        and the one that would be shown takes the place of the most useful one. Only with ``rank="useful"``.
    weighted : bool, default False
        Rank by the rows of `df` that find a match instead of distinct values; `threshold` then applies
        to that share, and ``matched_rows, row_containment`` are added.
    tables, exclude : str or list of str, optional
        Patterns (``fnmatch``, case-sensitive) of table names to search, and to leave out.
    kinds : str or list of str, optional
        Kinds of candidate columns: text, integer, decimal, date.
    plan : str, optional
        How the index is read; None: chosen by estimated cost. The rows are the same. Only with ``rank="matched"``,
        which is the default then.

        - In ``mode="exact"``: "mergelist", "probeset" or "josie".
        - In ``mode="embedding"``: "tree" (cells around centers; boxes for numbers), "gemm" (products of matrices) or
          "pexeso" (pivots and hierarchical grids, for every metric; its index is built in memory when first used).
    verify : bool, default True
        Whether the matched values of candidates are counted. Only with ``mode="lsh"``.

        - True: the rows hold counts.
        - False: they are estimated from the signatures, and no set is read. Such rows have ``exact`` False, and
          ``containment_error`` is their standard error. `threshold` applies to the estimates, so that a column which is
          just at the threshold is missing every other time, whatever `recall` asks for.
    pad : int, optional
        Write the query's integers with zeros in front up to this many digits, for codes such as ZIP
        codes that a frame has read as numbers. By default codes that lost their zeros, in the query or in a column of
        the lake, are found where half of the query matches and clearly more than as it is: a twentieth, at least two;
        not with ``rank="matched"``.
    dayfirst : bool, optional
        How to read all-digit dates of the query; None: as the column itself shows.
    recall : float, optional
        Share of the columns at or above the threshold that are to be found, 0 to 1, default 0.95. A higher
        value examines more candidates; 0 weighs false positives and false negatives alike. Only with
        ``mode="lsh"``.
    progressive : bool, default False
        Return an iterator of two results: first the estimates, and then the exact and complete answer (where the
        index keeps no sets: the best that it can give). Only with ``mode="lsh"``.
    aliases : bool or dict of str to str, optional
        True: columns that name the same things in other languages or by codes are found, too, in any mode: countries,
        currencies, languages, months and the like, see `auto_join`. A dict has further names: ``{"big apple": "New
        York City"}``. Such a row has the kind of thing in the column ``alias``, and stands there if it matches clearly
        more than equal values do. Not with a key of several columns, nor with `progressive`.
    radius : float, optional
        Distance up to which two values match. Only with ``mode="embedding"`` and ``mode="fuzzy"``, as the three that
        follow. Default for vectors of texts: what was chosen for the index by changed values of its own, so that few
        strangers are nearest and a query costs little (see `Lake.add_vectors`); ``attrs["dfjoin"]["searches"]`` has
        it with the shares that were found. For edits 0.15, for 3-grams 0.4. It is meant for the nearest partner of a
        value: ``pairs(i)`` lists that one, while most of all others within the radius are strangers. With a radius that
        you give ``pairs(i)`` lists all. More misspellings are found with larger ones.
    radius_unit : {"fraction", "absolute", "m", "km"}, optional
        - ``"fraction"`` (default for texts): of the largest distance: 2 for Euclidean distance, π for angles.
          In ``mode="fuzzy"`` of the characters of the longer text; 3-grams have no other unit.
        - ``"absolute"``: the distance itself, or the number of edits. Columns of numbers need it.
        - ``"m"``, ``"km"``: of places, and nothing else. They need it.
    metric : str, optional
        How unit vectors are compared: "euclidean" (default), "angular", or the name of a metric that was registered
        with `dfjoin.register_metric`. In ``mode="fuzzy"``: "edit" (default), insertions, deletions and substitutions of
        single characters; or "jaccard", one minus the share of common 3-grams among those of both texts, with two marks
        before and behind each text, so that its first and last characters count as often as others.
    count : {"hit", "all"}, optional
        - ``"hit"`` (default): candidates are ranked by the query values with a partner.
        - ``"all"``: by pairs of partners, in the column ``matched_pairs``; `threshold` is compared with pairs per query
          value. Not with `weighted`.

    Returns
    -------
    JoinCandidates
        A frame of pandas, with ``to_polars()`` and ``to_arrow()``. One row per candidate column:

        - ``query_column, table, column`` (str).
        - ``matched`` (int64): shared distinct values, at least 1.
        - ``containment`` (float64): matched / query cardinality.
        - ``jaccard`` (float64): null in ``mode="transform"``, ``mode="embedding"`` and ``mode="fuzzy"``.
        - ``query_cardinality, cardinality, n_rows`` (int64).
        - ``kind`` (str): of the column; place or vector for columns of numbers that make points.
        - ``relationship`` (str): 1:1, 1:m, m:1 or m:m, with `df` on the left; null where values match by distance.
        - ``accidental`` (bool): chance explains the overlap: a score below 0.1. With ``rank="matched"`` the score is
          computed for query columns of integers alone, and not after programs or by distance: others are False.
        - ``method`` (str): the mode.
        - ``exact`` (bool): the numbers of the row are counts, not estimates.
        - ``pad`` (Int64), where some row has it: the width of codes that lost the zeros in front of them.
        - ``period`` (str), where some row has it: month, quarter, week or year, for a column of periods in which the
          dates of the query lie, however they are spelled. ``matched`` and ``query_cardinality`` count periods then.
          Such a row is there if it is more useful than what equal values of its table are; not with
          ``rank="matched"``.
        - ``alias`` (str), where some row has it: the kind of thing that the values of both columns name.
        - ``containment_error`` (float64), in ``mode="lsh"``: standard error of `containment`, 0 for counts.
        - ``program`` (str), in ``mode="transform"``: the programs as JSON. ``explain(i)`` prints them, and
          ``pairs(i)`` lists the values that they join.

        With ``rank="useful"`` also:

        - ``score`` (float64), and ``usefulness`` (float64): the score times what the hit brings.
        - ``verdict`` (str): strong (score 0.85 and more), plausible (0.5), weak (0.1) or chance.
        - ``brings`` (str): columns of the table that `df` has not.
        - ``n_similar`` (int64): other columns of its family.
        - ``copy`` (bool): the table is a copy of `df`; its usefulness is 0.

        Order: usefulness descending, then matched descending, cardinality ascending, table, column by code point.
        Tables that bring nothing come after all that bring something and have a score of 0.5 or more.
        ``attrs["dfjoin"]`` holds the mode, whether the result is complete, and what was read; in ``mode="lsh"``
        also the ``expected_recall`` of each search: the share of the columns at or above the threshold that are
        expected to be in the result. It is estimated from the counted rows; with ``verify=False`` it assumes that the
        containment of columns is uniform above the threshold, and is less where most are just above it.

    Raises
    ------
    ColumnNotFoundError
        If `df` has no such column.
    InvalidParameterError, InvalidTypeError
        If an argument is illegal, or belongs to another mode; the message says what is legal.
    IncompatibleSettingsError
        If the index was built without what the mode needs.

    Warns
    -----
    DfjoinWarning
        If codes that lost their zeros match more than any column does as they are: it names the column, the width and
        the remedy.
    ApproximateResultWarning
        If counts were asked for and the index keeps no sets to count in (``keep_sets=False``).

    See Also
    --------
    auto_join : join what was found.
    discover_joinable_batch : many query columns in one call.

    Notes
    -----
    ``mode="exact"`` knows every column that shares a value, with its exact counts. O(values + postings of the distinct
    posting lists that hold them). With ``rank="useful"`` all of them are scored, or of more than 50,000 the best 2,000
    by matched values; `attrs` says so, and how many have a lower score than is shown.

    The score is a logistic regression over 26 features: containment both ways and weighted by the rarity of values in
    the lake, the information that the shared values have by their alphabet, the number of columns that hold them,
    likeness of headers and of the table's name, the folder, years and values without letters. Whole numbers count as
    far as more are shared than the ranges of both columns predict: serial numbers tell nothing by their values, padded
    or not, so that headers (equal, or one short for the other one), the name of the table and the sizes decide. No
    table is read. Weights, data and cross-validated figures are in ``dfjoin/search/usefulness/model.json``.

    In ``mode="lsh"`` columns too small to be signed are searched exactly, and so is every column when such small
    columns may be contained so far, or when counting by signatures is expected to take more than seven tenths of the
    time of exact search, as in lakes of less than some hundred thousand columns; `attrs` says ``complete`` then.

    ``mode="transform"`` learns programs for the best candidates: for 16 or twice `k` at most, and for fewer once
    nothing more is found. Programs are learned in both directions, over one column of either side, and their matches
    are counted over all values. This takes about a second for each candidate, more for long texts. Columns of the
    lake are read in canonical form; those whose sets are not kept (``keep_sets=False``) are not found.

    In ``mode="embedding"`` each distinct text of the lake is compared once, by a bound on a few axes first. Distances
    are computed in float64 from float32 unit vectors; every plan gives the same rows. A text whose vector is zero (for
    fastText: one without a letter) matches equal values alone, and so does every value of a query column that is not
    text.

    In ``mode="fuzzy"`` texts are compared in canonical form, each of the lake once; sizes and signatures of 256 bits
    leave out most that cannot match, and no other. They are made in memory when first used: 72 bytes a text. Texts
    without a letter and those of more than 256 characters match equal values alone.

    A row has no point if one of its numbers is missing or out of range; equal points count once. Distances are those of
    float64 numbers, and of places along great circles of a sphere with a radius of 6,371,008.8 m. The column of a hit
    is written ``lat, lon``. Such candidates have no score.

    With a composite key each table has one row, of the columns that rank first: ``column`` names them with ``" + "``
    between; ``matched``, ``containment``, cardinalities and ``relationship`` are of distinct tuples without a null. The
    index bounds what a table can share, and the rows of the best tables are read, for 2 seconds at most
    (``attrs["dfjoin"]["complete"]``): a table whose file has changed is warned of and left out. Only in
    ``mode="exact"``, without `plan` and `weighted`; zeros that were lost are not looked for. The score is the geometric
    mean of the scores of the columns, times the share of the tuples with all parts in the table that stand in one row
    of it (MATE, PVLDB 2022, for the filter by single columns). The usefulness is the score times the most that one of
    the columns brings, times the share of the tuples that find a row, divided by 1 + log10(rows for each of these).

    The rows do not depend on how the index is cut into segments.

    Source: Zhu, Deng, Nargesian, Miller: "JOSIE: Overlap Set Similarity Search for Finding Joinable
    Tables in Data Lakes", SIGMOD 2019, sections 2 and 3; Zhu, Nargesian, Pu, Miller: "LSH Ensemble:
    Internet-Scale Domain Search", VLDB 2016; Zhu, He, Chaudhuri: "Auto-Join", VLDB 2017, and E. Zhu, PhD
    thesis, University of Toronto, 2019, section 5.3.1, for search by transformation; Dong, Takeoka, Xiao, Oyamada:
    "Efficient Joinable Table Discovery in Data Lakes: A High-Dimensional Similarity-Based Approach", ICDE 2021, for
    search by vectors. Deviation: ties are broken by cardinality and name, where the papers leave them open. They do not
    go to unique keys first: a set of distinct values is what is counted and cut at `k`, and whether a table holds each
    of them once, which ``relationship`` says, is no property of it.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile
    >>> capitals = pd.DataFrame({"country": ["France", "Peru", "Chad"], "capital": ["Paris", "Lima", "N'Djamena"]})
    >>> lake = dfjoin.build_lake({"capitals": capitals}, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
    >>> df = pd.DataFrame({"nation": ["FRANCE", "Peru ", "Peru", "Atlantis"]})
    >>> hits = dfjoin.discover_joinable(df, "nation", lake)
    >>> hits[["table", "column", "matched", "query_cardinality"]]
          table   column  matched  query_cardinality
    0  capitals  country        2                  3
    """
    from dfjoin.frames.given_frame import frame_of
    from dfjoin.lake import refuse_swapped, resolve_lake
    from dfjoin.search.discover import discover
    from dfjoin.search.params import search_params

    params = search_params(
        mode=mode,
        k=k,
        threshold=threshold,
        rank=rank,
        min_score=min_score,
        families=families,
        weighted=weighted,
        tables=tables,
        exclude=exclude,
        kinds=kinds,
        plan=plan,
        verify=verify,
        pad=pad,
        dayfirst=dayfirst,
        recall=recall,
        progressive=progressive,
        aliases=aliases,
        radius=radius,
        radius_unit=radius_unit,
        metric=metric,
        count=count,
    )
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
    >>> hits = dfjoin.discover_joinable_batch({"one": ["Lima"], "two": ["Paris", "Oz"]}, lake)
    >>> hits[["query_column", "matched", "containment"]]
      query_column  matched  containment
    0          one        1          1.0
    1          two        1          0.5
    """
    from dfjoin.lake import resolve_lake
    from dfjoin.search.discover import discover_batch
    from dfjoin.search.params import search_params

    params = search_params(
        mode=mode,
        k=k,
        threshold=threshold,
        rank=rank,
        min_score=min_score,
        families=families,
        weighted=weighted,
        tables=tables,
        exclude=exclude,
        kinds=kinds,
        plan=plan,
        verify=verify,
        recall=recall,
        radius=radius,
        radius_unit=radius_unit,
        metric=metric,
        count=count,
    )
    return discover_batch(columns, resolve_lake(lake).snapshot, params, n_threads)
