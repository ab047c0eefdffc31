"""The documented functions: argument checks, then one call into search or join.

Accessors, the command line, Spark and SQL call these and take their documentation from here. What they
do is imported when they are called, so that ``import dfjoin`` compiles nothing.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from dfjoin.containment.result_stream import ContainedPairs
    from dfjoin.join.plan import JoinPlan
    from dfjoin.lake import Lake
    from dfjoin.search.candidates import JoinCandidates
    from dfjoin.types import IndexSettings

__all__ = [
    "auto_join",
    "build_lake",
    "containment_join",
    "discover_joinable",
    "discover_joinable_batch",
    "register_embedder",
    "report",
]


def build_lake(
    source: Any,
    index: str | os.PathLike[str],
    *,
    if_exists: str = "error",
    engine: str | None = None,
    spark: Any = None,
    columns: str | list[str] | None = None,
    exclude: str | list[str] | None = None,
    embedder: Any = None,
    axes: list[Any] | None = None,
    settings: dict[str, Any] | IndexSettings | None = None,
    keep_data: bool = True,
    on_error: str = "skip",
    progress: bool = True,
) -> Lake:
    """Build the index of a lake and open it.

    Reads every table once, normalises every value, and commits the index in one step: after a build that failed or
    was interrupted or killed, the index is what it was before.

    Parameters
    ----------
    source : path, glob, list of paths, Spark table name or list of them, dict of name → DataFrame
        A directory is searched for CSV and TSV (any delimiter, plain, .gz, .zst), Parquet (files and
        directories of part files) and JSON lines; hidden files and dfjoin indexes are passed over.
    index : path or URI
        Directory of the index; made, for its owner only, when it does not exist. A URI that pyarrow.fs opens
        (``s3://…``, ``gs://…``, ``hdfs://…``): the index is made in a local cache (``DFJOIN_CACHE_DIR``) and copied.
    if_exists : {"error", "replace", "add"}
        What to do when there is an index already.

        - ``"error"``: raise an error.
        - ``"replace"``: commit the new content as the next version of the index.
        - ``"add"``: add the tables to those that are there.
    engine : {None, "spark", "inline"}
        Where the work is done.

        - None (default): by Spark if `spark` is given or a session is active, or if the input is above 256 MiB and
          pyspark and Java are installed; else in this process.
        - ``"spark"``: in Spark tasks.
        - ``"inline"``: in this process, which needs no Java and suits small lakes.
    spark : SparkSession, optional
        The session to use; by default the active one, else a local one that is started here
        (`spark_ext.start_session`). It starts after the arguments and paths are checked.
    columns, exclude : str or list of str, optional
        Patterns (``fnmatch``) of ``table/column`` to index, and to leave out. No value of a column that is left out
        is written into the index: frames given in memory are kept without it. Files are joined whole.
    embedder : str, path or callable, optional
        What makes the vectors that ``mode="embedding"`` needs; None: no vectors. ``"fasttext"`` trains on the lake's
        own texts; `Lake.add_vectors` lists the others, and adds vectors later. Training and embedding run in this
        process, whatever `engine` reads the tables. Not with ``if_exists="add"`` or ``keep_sets=False``.
    axes : list, optional
        Columns of numbers that make vectors together, as ``[["x", "y"]]``, for ``mode="embedding"`` with a list `on`;
        `Lake.add_axes` lists what an entry may be. Pairs of latitude and longitude are recognised by their headers and
        ranges in any case, unless the list is empty. Not with ``if_exists="add"``.
    settings : dict or IndexSettings, optional
        How values are normalised and what is kept. A dict may hold:

        - ``null_spellings``: texts that are nulls in every column. By default the empty text; and each column decides
          by its other values whether texts as ``NA``, ``null``, ``-`` and ``*`` are nulls: they are among numbers,
          dates and words, and not in a column of codes of as many letters, or of signs. ``lake.columns`` shows them.
        - ``dayfirst``: how all-digit dates are read; None (default): as the column itself tells.
        - ``samples``: sample values kept for each column, default 5, 0 for none.
        - ``segment_bytes``, ``task_bytes``: target size of a segment, memory of a task.
        - ``max_columns``: a table with more columns is skipped with the reason; default 100,000.
        - ``hash_seed``: seed of the value hash.
        - ``permutations``: values of a MinHash signature, which ``mode="lsh"`` needs; default 256, 0 for none.
        - ``signature_min``: columns with fewer distinct values get no signature; default `permutations`.
        - ``partitions``, ``partitioning``: see `Lake.add_signatures`.
        - ``keep_sets``: False drops the token sets of columns that have a signature.
        - ``patterns``: True indexes the pieces of values that ``mode="transform"`` needs; default False.
          `Lake.add_patterns` adds them later.
    keep_data : bool, default True
        Keep frames given in memory as Parquet inside the index, so that they can be joined.
    on_error : {"skip", "raise"}
        What to do with a table that cannot be read; skipped ones are listed in ``lake.info()["skipped"]``.
    progress : bool, default True
        Show tables, rows, bytes and time left on standard error.

    Returns
    -------
    Lake
        Opened at the new version.

    Raises
    ------
    InvalidParameterError
        If there is an index already and `if_exists` is ``"error"``, or an argument is illegal.
    MissingDependencyError
        If Spark is asked for and pyspark or Java cannot be found.
    EngineError
        If Spark does not start, its workers lack what dfjoin needs, or a task fails; the last line is the cause.
    TableReadError
        With ``on_error="raise"``.
    ConcurrentCommitError
        If another writer committed to the same index in the meantime; nothing of this build is visible.

    See Also
    --------
    open_lake, spark_ext.build_index

    Notes
    -----
    One pass over the files. Memory of a task: about three times ``task_bytes``; of a merging task also the
    segment that is written (``segment_bytes``). Columns of text, dates and integers (floats and decimals with
    integral values included) are indexed if they have two distinct values or more; the index is a copy of all
    their distinct values.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile
    >>> frames = {"cities": pd.DataFrame({"city": ["Rome", "Oslo"], "people": [2.75, 0.7]})}
    >>> lake = dfjoin.build_lake(frames, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
    >>> lake.tables[["table", "n_rows", "n_columns"]]
        table  n_rows  n_columns
    0  cities       2          2
    """
    from dfjoin.errors import InvalidParameterError
    from dfjoin.ingest.build import build, find_base
    from dfjoin.ingest.build_options import BuildOptions, check_same_settings, index_settings
    from dfjoin.lake import Lake
    from dfjoin.vectors.axis_specs import check_axes

    options = BuildOptions(source, engine, spark, on_error, keep_data, progress, embedder, check_axes(axes))
    path, base = find_base(index, if_exists)
    chosen = index_settings(settings, columns, exclude)
    if if_exists == "add" and base is not None:
        check_same_settings(base, chosen, settings, columns, exclude)
        if axes is not None:
            raise InvalidParameterError(
                '`axes` belongs to a new index, and if_exists="add" keeps the one that is there; leave it out, or call '
                "`Lake.add_axes(axes)` afterwards"
            )
        if embedder is not None:
            raise InvalidParameterError(
                '`embedder` belongs to a new index, and if_exists="add" keeps the one that is there; leave it out, or '
                "call `Lake.add_vectors(embedder)` afterwards"
            )
        return Lake(path).add(
            source, engine=engine, spark=spark, on_error=on_error, keep_data=keep_data, progress=progress
        )
    build(path, base, chosen, options)
    return Lake(path)


def discover_joinable(
    df: pd.DataFrame,
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
        The user's frame, of any index and dtypes; it is not changed.
    on : column label, list of labels, ``"*"`` or None
        The query column. ``"*"`` or None: every column of text, integers or dates with two values or
        more, in turn. Several labels make a composite key: a table has to hold the values of a row in one of its rows.
        With ``mode="embedding"``, a list names columns of numbers that make points together: ``["lat", "lon"]``,
        ``["x", "y", "z"]``, ``["height"]``, or one column of lists of numbers.
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
        reach it.
    threshold : float, optional
        Smallest containment, 0 to 1: share of the query column's distinct values that the candidate
        holds. Alone: every such column. With `k`: the best `k` of them.
    rank : {"useful", "matched"}, optional
        What candidates are ordered by; "matched" if `plan` or `weighted` is given, in ``mode="embedding"`` and in
        ``mode="fuzzy"``, else "useful".

        - ``"useful"``: by the score times what the hit brings. Tables of one schema in one folder, and copies, count
          as one hit. A copy of `df` comes last.
        - ``"matched"``: by the values that are shared as they are, as in the papers; nothing is scored, and no row has
          ``pad``: ``attrs["dfjoin"]`` tells where codes that lost their zeros would match.
    min_score : float, optional
        Smallest score, 0 to 1; by default 0.5 if neither `k` nor `threshold` is given, else 0. Only with
        ``rank="useful"``.
    families : bool, default True
        Whether similar tables count as one hit; ``hits.similar(i)`` lists them. With False each is a row of its own.
        Only with ``rank="useful"``.
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
        - In ``mode="embedding"``: "tree" (a tree of boxes over principal axes), "gemm" (products of matrices) or
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
    radius : float, optional
        Distance up to which two values match. Only with ``mode="embedding"`` and ``mode="fuzzy"``, as the three that
        follow. Default for vectors of texts: 0.2 with ``"fasttext"`` trained on the lake, else 0.06; for edits 0.15,
        for 3-grams 0.4. More misspellings are found with larger ones, among ever more other values: look at
        ``pairs(i)``. Among millions of texts, 0.06 is many times as fast as 0.2.
    radius_unit : {"fraction", "absolute", "m", "km"}, optional
        - ``"fraction"`` (default for texts): of the largest distance: 2 for Euclidean distance, π for angles.
          In ``mode="fuzzy"`` of the characters of the longer text; 3-grams have no other unit.
        - ``"absolute"``: the distance itself, or the number of edits. Columns of numbers need it.
        - ``"m"``, ``"km"``: of places, and nothing else. They need it.
    metric : str, optional
        How unit vectors are compared: "euclidean" (default), "angular", or the name of a metric that was registered
        with `dfjoin.register_metric`. In ``mode="fuzzy"``: "edit" (default), insertions, deletions and substitutions of
        single characters; or "jaccard", one minus the share of common 3-grams among those of both texts.
    count : {"hit", "all"}, optional
        - ``"hit"`` (default): candidates are ranked by the query values with a partner.
        - ``"all"``: by pairs of partners, in the column ``matched_pairs``; `threshold` is compared with pairs per query
          value. Not with `weighted`.

    Returns
    -------
    JoinCandidates
        One row per candidate column:

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
        - ``containment_error`` (float64), in ``mode="lsh"``: standard error of `containment`, 0 for counts.
        - ``program`` (str), in ``mode="transform"``: the programs as JSON. ``explain(i)`` prints them, and
          ``pairs(i)`` lists the values that they join.

        With ``rank="useful"`` also:

        - ``score`` (float64), and ``usefulness`` (float64): the score times what the hit brings.
        - ``verdict`` (str): strong (score 0.85 and more), plausible (0.5), weak (0.1) or chance.
        - ``brings`` (str): columns of the table that `df` has not.
        - ``n_similar`` (int64): other columns of its family.
        - ``copy`` (bool): the table is a copy of `df`.

        Order: usefulness descending, then matched descending, cardinality ascending, table, column by code point.
        ``attrs["dfjoin"]`` holds the mode, whether the result is complete, and what was read; in ``mode="lsh"``
        also the ``expected_recall`` of each search: the share of the columns at or above the threshold that are
        expected to be in the result. It is told by the counted rows; with ``verify=False`` it assumes that the
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

    The score is a logistic regression over 19 features: containment both ways and weighted by the rarity of values in
    the lake, the information that the shared values have by their alphabet, the number of columns that hold them,
    likeness of headers and of the table's name, serial numbers, years and values without letters. No table is read.
    Weights, data and cross-validated figures are in ``dfjoin/search/usefulness/model.json``.

    In ``mode="lsh"`` columns too small to be signed are searched exactly, and so is every column when such small
    columns may reach the threshold; `attrs` says ``complete`` then.

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
    index bounds what a table can share, and the rows of the best tables are read, for 10 seconds at most
    (``attrs["dfjoin"]["complete"]``): a table whose file has changed is warned of and left out. Only in
    ``mode="exact"``, without `plan` and `weighted`; zeros that were lost are not looked for. The score is the geometric
    mean of the scores of the columns, times the share of the tuples with all parts in the table that stand in one row
    of it (MATE, PVLDB 2022, for the filter by single columns).

    The rows do not depend on how the index is cut into segments.

    Source: Zhu, Deng, Nargesian, Miller: "JOSIE: Overlap Set Similarity Search for Finding Joinable
    Tables in Data Lakes", SIGMOD 2019, sections 2 and 3; Zhu, Nargesian, Pu, Miller: "LSH Ensemble:
    Internet-Scale Domain Search", VLDB 2016; Zhu, He, Chaudhuri: "Auto-Join", VLDB 2017, and E. Zhu, PhD
    thesis, University of Toronto, 2019, section 5.3.1, for search by transformation; Dong, Takeoka, Xiao, Oyamada:
    "Efficient Joinable Table Discovery in Data Lakes: A High-Dimensional Similarity-Based Approach", ICDE 2021, for
    search by vectors. Deviation: ties are broken
    by cardinality and name, where the paper leaves them open.

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
        radius=radius,
        radius_unit=radius_unit,
        metric=metric,
        count=count,
    )
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
        Name → query column; the name appears as ``query_column``.
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
    The rows do not depend on the number of threads. No zero-padding warnings are given.

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


def auto_join(
    df: pd.DataFrame,
    other: Lake | JoinCandidates | pd.DataFrame | JoinPlan | str | os.PathLike[str] | dict[str, Any],
    *,
    on: Hashable | list[Hashable] = None,
    right_on: Hashable | list[Hashable] = None,
    k: int = 1,
    threshold: float = 0.5,
    min_score: float = 0.5,
    tables: str | list[str] | None = None,
    exclude: str | list[str] | None = None,
    mode: str = "exact",
    columns: str | list[Hashable] | None = None,
    how: str = "left",
    aggregate: str | dict[str, str] | None = "auto",
    max_expansion: float = 10.0,
    indicator: bool = False,
    transform: bool | None = None,
    fuzzy: bool | None = None,
    precision: float = 0.95,
    examples: list[tuple[str | tuple[str, ...], str | tuple[str, ...]]] | None = None,
    pad: int | None = None,
    dayfirst: bool | None = None,
    plan: JoinPlan | dict[str, Any] | None = None,
    partners: str | None = None,
    on_no_match: str = "warn",
    on_stale: str = "error",
) -> pd.DataFrame:
    """Join a frame with the best tables of a lake, with picked candidates, a plan, or another frame.

    Keys are compared in the index's canonical form, so ``1``, ``1.0`` and ``"1"`` are equal, as are ``"Peru "``
    and ``"PERU"``; a null never matches. The relationship is measured on the data before anything is
    joined, and the result carries a report.

    Parameters
    ----------
    df : DataFrame
        The user's frame; it is not changed.
    other : Lake, path of an index, JoinCandidates, DataFrame, JoinPlan or its dict
        What to join:

        - A lake: candidates are tried in the order of their usefulness. One is accepted if its containment reaches
          `threshold`, its score `min_score`, its file is the one that was indexed, and it brings a column that the
          frame does not have: in some row that finds a partner the values differ. The first 50 candidates of a column
          (at least 10 a table that is wanted) are looked at in any case, further ones for 10 seconds.
        - A result of `discover_joinable`: each of its rows is joined, whatever its rank.
        - Another frame.
        - A plan (``attrs["dfjoin"]["plan"]`` of an earlier result): the same columns are joined again. A plan does
          not hold the rows of a frame: of two frames, pass the other one here and the plan as `plan`.
    on : column label or list of labels, optional
        Key of `df`. Several labels make a composite key. By default, over a lake, the column with the most useful
        candidate is taken, if its usefulness is at least 0.5; columns of two values, serial numbers, measures, and
        numbers whose header names no identifier and that are no years are no keys then. Where a candidate of one column
        is m:m and a second column makes it m:1 (entity and year), it is joined on both, as the report says.
        Between two frames the columns that join best are taken, and it is an error when two are equally good.
    right_on : column label or list of labels, optional
        Key of the other frame; the same labels as `on` by default.
    k : int, default 1
        Tables to join at most. Only over a lake; a table is joined on one of its columns.
    threshold : float, default 0.5
        Smallest containment of the key, 0 to 1.
    min_score : float, default 0.5
        Smallest score of a candidate, 0 to 1, see `discover_joinable`. Only over a lake.
    tables, exclude : str or list of str, optional
        Patterns of the tables to join, and of those to leave out, as in `discover_joinable`. Only over a lake.
    mode : {"exact", "lsh", "transform", "embedding", "fuzzy"}
        How candidates are found over a lake, as in `discover_joinable`. Those that are found by programs are joined
        by them, and those that are found by distance join each row with its nearest partner within the radius; their
        key is brought along. The radius is the default one here; for another one, pass a result of
        ``discover_joinable(radius=)``.
    columns : str or list of labels, optional
        Columns to bring. By default all but the key, and of a table of a lake those that say something of a row: not
        ``rownames`` and ``Unnamed: 0``, nor columns of one value or of none. The report names what was left out.
    how : {"left", "inner", "right", "outer"}
        Rows to keep. ``left`` and ``inner`` keep the order and index of `df`; ``right`` and ``outer`` put
        rows that only the right side has last, under a new RangeIndex.
    aggregate : "auto", None, rule or dict of column → rule
        How several right rows of a key become one, so that each row of `df` stays one row:

        - ``"auto"``: the mean of numbers, the share of true booleans; for texts, dates, codes and years the value on
          which more than half of the rows that have one agree, else null. The report counts the rows that disagree.
        - A rule for all columns: mean, sum, min, max, median, std, first, last, count, nunique, most_frequent (ties:
          the smallest), majority, latest, share. Nulls are left out, except by first and last: they take the
          values of one row, so that ``"first"`` gives one whole row.
        - A dict: a rule for each column that it names, ``"auto"`` for the others. A column that no joined table has
          is an error.
        - None: every pair of rows is kept.

        Unless it is None, a column ``<stem>_rows`` counts the right rows where the relationship is 1:m. Where it is
        m:m, a table of a lake is passed over; elsewhere, and with None, m:m is warned of.
    max_expansion : float, default 10.0
        Most rows out per row in, with ``aggregate=None``. A join that would make more is refused before it is made.
    indicator : bool, default False
        Add ``_merge``: both, left_only or right_only. Where keys of two frames are related by a program or by
        similarity, also ``_match`` (equal, program, fuzzy) and ``_distance`` (0 to 1) of each row.
    transform, fuzzy : bool, optional
        Between two frames: look for programs over the columns of one frame whose results are the key of the
        other, and match the keys that are left by string similarity. The other frame's key is brought along. Where the
        cells of a column that is named list keys of the other (``a; b; c``), each value that they list is matched.

        - None: only if equal keys match less than `threshold` of the key's values, or the best equal columns are not
          nearly unique. Never for a composite `on`. Similarity is skipped above 100,000 keys on either side.
        - True: in any case. The columns of a composite `on` are compared one by one, and what each says of a match is
          learned from both frames; a missing value says nothing.
        - False: never.
    precision : float, default 0.95
        Share of right pairs that matching by similarity is to reach, by an estimate without labels; rows below
        it stay unmatched.
    examples : list of (left value, right value), optional
        Pairs that belong together, a tuple of texts for several key columns; programs are learned from them alone.
        They may read the rows that hold the values; an example that contradicts the others is told by a warning.
    pad : int, optional
        Digits to which shorter integers of the key are written with zeros in front, of either key between two
        frames: with 5, ``501`` matches ``"00501"``. A search result and a plan have their own. By default codes that
        lost their zeros are joined where that matches clearly more, and the report says so.
    dayfirst : bool, optional
        How all-digit dates of the key, of either key between two frames, are read: ``3/4/2024`` is in April if True.
        By default as the column itself tells. A search result and a plan have their own.
    plan : JoinPlan or its dict, optional
        The plan of an earlier join of two frames: `df` and `other` are joined as those were, on the same columns, by
        the same programs, and by likeness with the same threshold. Nothing is learned anew, so that a frame of one
        row joins as it would have then; only where `df` was the side whose texts are different things (the
        reference of the likeness) and has fewer than ten, likeness joins nothing, and the report says so.
    partners : {"nearest", "all"}, optional
        Which keys within the radius join, of candidates of ``mode="embedding"`` and ``mode="fuzzy"``.

        - ``"nearest"`` (default): for each row the nearest key; of several the equal one, then the first by code point,
          of places the first in ascending order.
        - ``"all"``: all of them; `aggregate` makes one row of theirs, so that ``aggregate={"price": "mean"}`` is the
          mean of what lies within the radius.
    on_no_match : {"warn", "raise", "ignore"}
        What to do when nothing is acceptable; the frame comes back unchanged.
    on_stale : {"error", "warn", "ignore"}
        What to do when a table's file is not the one that was indexed. With ``"error"`` a candidate of a lake is
        passed over, and a picked or planned table is an error.

    Returns
    -------
    DataFrame
        The rows of `df`, then per table its columns under free names: the plain one, else
        ``name__stem``. Columns of a lake's table whose names say nothing alone (``1995``, ``value``, ``name``, ``id``)
        are named ``name__stem`` in any case, unless `columns` names them. Dtypes follow from the arguments and the
        columns, and not from the rows. Integers and booleans become ``Int64`` and ``boolean`` where `aggregate` is not
        None, over a lake, and where `how` can give them nulls; means, medians, shares and standard deviations are
        ``float64``, sums of integers ``Int64``.
        ``attrs["dfjoin"]`` (plain JSON below 64 KiB) tells what was joined, on what, coverage, rows in
        and out, what was passed over and why, and holds the plan.

    Raises
    ------
    JoinExpansionError
        If the join would multiply rows beyond `max_expansion`; it names the worst key.
    TableChangedError
        If a picked or planned table has changed since it was indexed.
    NoMatchError
        With ``on_no_match="raise"``.
    ColumnNotFoundError, InvalidParameterError, InvalidTypeError
        If an argument is illegal, or does not apply to `other`.

    Warns
    -----
    DfjoinWarning
        If nothing is acceptable, named keys have no value in common, integers seem to have lost their leading zeros, or
        a join is m:m.

    See Also
    --------
    discover_joinable, report

    Notes
    -----
    The choice is made first. Over a lake, ranks come from the search, whether a table has the wanted columns from
    the catalogue, and whether it brings anything new from the index wherever value sets decide it. Of tables that had
    the same content when they were indexed, one is read to see that it brings nothing. Without `on`, the
    columns of `df` are compared by the usefulness of their best candidate. A table is then read once, for the candidate
    that was chosen: in batches, the wanted columns only, keeping the rows whose key is in `df`. Memory follows the
    matches. Where only its rows tell that a table brings nothing new, or it cannot be read, the next best candidate
    takes its place. O(bytes of the table + rows).

    Examples
    --------
    >>> import dfjoin, pandas as pd
    >>> people = pd.DataFrame({"name": ["Ann", "Bo", None], "land": ["peru", "CHAD", "Peru"]})
    >>> lands = pd.DataFrame({"land": ["Peru", "Chad"], "area": [1285216, 1284000]})
    >>> dfjoin.auto_join(people, lands, on="land", aggregate=None)
      name  land     area
    0  Ann  peru  1285216
    1   Bo  CHAD  1284000
    2  NaN  Peru  1285216
    """
    from dfjoin.join.auto import join
    from dfjoin.join.options import join_options
    from dfjoin.lake import Lake, resolve_lake

    options = join_options(
        on=on,
        right_on=right_on,
        k=k,
        threshold=threshold,
        min_score=min_score,
        tables=tables,
        exclude=exclude,
        mode=mode,
        columns=columns,
        how=how,
        aggregate=aggregate,
        max_expansion=max_expansion,
        indicator=indicator,
        transform=transform,
        fuzzy=fuzzy,
        precision=precision,
        examples=examples,
        pad=pad,
        dayfirst=dayfirst,
        plan=plan,
        partners=partners,
        on_no_match=on_no_match,
        on_stale=on_stale,
    )
    if isinstance(other, (Lake, str, os.PathLike)):
        other = resolve_lake(other, "other").snapshot
    return join(df, other, options)


def report(df: pd.DataFrame) -> Any:
    """Return the report of a join.

    Parameters
    ----------
    df : DataFrame
        What `auto_join` returned.

    Returns
    -------
    JoinReport
        Prints as text; ``to_dict()`` gives ``attrs["dfjoin"]``.

    Raises
    ------
    InvalidParameterError
        If the frame carries no report: a merge or a file loses it.

    Examples
    --------
    >>> import dfjoin, pandas as pd
    >>> left, right = pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [2, 3], "b": ["x", "y"]})
    >>> print(dfjoin.report(dfjoin.auto_join(left, right, on="a")))
    2 rows in, 2 rows out, how='left'
    joined the other frame on a = a, 1:1: 1 of 2 rows found a partner (50.0%)
      columns: b
    """
    from dfjoin.join.report import report_of

    return report_of(df)


def containment_join(
    left: Any,
    right: Any = None,
    *,
    threshold: float = 1.0,
    method: str | None = None,
    memory_budget: int | None = None,
) -> ContainedPairs:
    """Find all pairs of sets of which the right one holds all elements of the left one, or a share of them.

    Parameters
    ----------
    left : Series of lists, sequence of collections, pyarrow list array, or (indptr, elements)
        The sets. Of two integer arrays, set i is ``elements[indptr[i] : indptr[i + 1]]``. Elements are compared as they
        are, and one that occurs twice counts once. A null among the elements is none; a null instead of a list is no
        set, and in no pair.
    right : the same, optional
        None: the left side, each set paired with itself, too.
    threshold : float
        Share of the elements of the left set, above 0. An empty set is contained in every set.
    method : {None, "scan", "cross", "tree", "partitions"}
        How whole containment is found; all methods give the same pairs.

        - ``"scan"`` (default) compares each set with those that hold its rarest element, by bitmaps.
        - ``"cross"`` intersects all inverted lists of a set at once (Algorithm 1 of the paper).
        - ``"tree"`` does so for all sets of a prefix tree in one traversal (Algorithms 2 to 4).
        - ``"partitions"`` does so for each most frequent element, with inverted lists of its own where that pays.
    memory_budget : int, optional
        Bytes of memory for a join of whole containment beyond memory, at least one MiB: the sets are joined by
        partitions, by way of scratch files in the temporary directory. Arrays mapped from files (``np.load(...,
        mmap_mode="r")``, offsets of int64 and sorted elements of uint32) are read in place; what is no such array is in
        memory beside the budget. ``stats`` of the result counts the reads.

    Returns
    -------
    ContainedPairs
        Columns ``left, right`` (row numbers), ``matched`` (elements of the left set that the right one holds) and
        ``containment``. Iterate over frames, or collect them with ``to_frame()``, in order of left and right. Pairs
        stream in another order, which depends on the method.

    Raises
    ------
    InvalidTypeError
        If a side is no column of lists, or the sides hold values of different types.
    InvalidParameterError
        If an argument is out of its range, or a method or a budget is given for a threshold below 1.

    Notes
    -----
    Yang et al., "Internal and external memory set containment join", VLDB Journal 2021; ``"scan"`` departs from it, see
    `dfjoin.kernels.subset_scan.scan_subsets`. Time of ``"scan"``: O(elements + Σ of the lengths of the lists of the
    rarest elements / 16 + pairs). Partial containment reads the lists of the rarest elements, see
    `dfjoin.kernels.overlap_join.join_overlaps`. `dfjoin.Lake.containment_join` joins the columns of a lake.

    Examples
    --------
    >>> import dfjoin, pandas as pd
    >>> wanted = pd.Series([["sql"], ["sql", "java"], ["go", "sql", "rust"]])
    >>> known = pd.Series([["java", "sql", "c"], ["go", "sql"]])
    >>> dfjoin.containment_join(wanted, known).to_frame()
       left  right  matched  containment
    0     0      0        1          1.0
    1     0      1        1          1.0
    2     1      0        2          1.0
    >>> dfjoin.containment_join(wanted, known, threshold=0.6).count()
    4
    """
    from dfjoin.containment.subset_join import containment_options, join_lists

    return join_lists(left, right, containment_options(threshold, method, memory_budget))


def register_embedder(embedder: Any) -> str:
    """Make an embedder known to this process, for indexes whose vectors it made.

    An index keeps a trained model, and finds fastText files and sentence-transformers by their names. It does not keep
    functions: a process that opens an index made with one calls this before it searches.

    Parameters
    ----------
    embedder : path, str or callable
        As in `Lake.add_vectors`.

    Returns
    -------
    str
        Its identity, which the index has to name.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If it is none of these.

    Notes
    -----
    When an index is opened, the vectors of a few texts are compared with those that were noted when it was made.

    Examples
    --------
    >>> import dfjoin
    >>> def lengths(texts):
    ...     return [[len(text), 1.0] for text in texts]
    >>> dfjoin.register_embedder(lengths).rpartition(".")[2]
    'lengths'
    """
    from dfjoin.errors import InvalidParameterError
    from dfjoin.vectors.embedders import choose_embedder, remember_embedder

    chosen = choose_embedder(embedder)
    if chosen is None:
        raise InvalidParameterError(
            '`embedder` "fasttext" is trained by an index and kept in it; it need not be made known'
        )
    remember_embedder(chosen)
    return chosen.identity
