"""Joining tables, and lists by containment: arguments are made a record, and one call goes down."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dfjoin.containment.result_stream import ContainedPairs
    from dfjoin.join.plan import JoinPlan

__all__ = ["auto_join", "containment_join", "report"]

Frame = TypeVar("Frame")


def auto_join(
    df: Frame,
    other: Any,
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
    transform: bool | str | None = None,
    fuzzy: bool | None = None,
    precision: float | None = None,
    examples: list[tuple[str | tuple[str, ...], str | tuple[str, ...]]] | None = None,
    reviewed: list[tuple[str, str, bool]] | None = None,
    aliases: bool | dict[str, str] | None = None,
    pad: int | None = None,
    dayfirst: bool | None = None,
    plan: JoinPlan | dict[str, Any] | None = None,
    partners: str | None = None,
    min_margin: float | None = None,
    radius: float | None = None,
    radius_unit: str | None = None,
    on_no_match: str = "warn",
    on_stale: str = "error",
) -> Frame:
    """Join a frame with the best tables of a lake, with picked candidates, a plan, or another frame.

    Keys are compared in the index's canonical form, so ``1``, ``1.0`` and ``"1"`` are equal, as are ``"Peru "``
    and ``"PERU"``; a null never matches. The relationship is measured on the data before anything is
    joined, and the result carries a report.

    Parameters
    ----------
    df : DataFrame
        The user's frame; it is not changed. A DataFrame of pandas, DataFrame or LazyFrame of polars, table of pyarrow,
        relation of DuckDB, or what offers the Arrow C stream.
    other : Lake, path of an index, JoinCandidates, DataFrame, JoinPlan or its dict
        What to join:

        - A lake: candidates are tried in the order of their usefulness. One is accepted if its containment is at
          least `threshold`, its score at least `min_score`, its file is the one that was indexed, and it brings a
          column that the frame does not have: in some row that finds a partner the values differ. The first 50
          candidates of a column (at least 10 a table that is wanted) are looked at in any case, further ones for 10
          seconds.
        - A result of `discover_joinable`: each of its rows is joined, whatever its rank.
        - Another frame, of any of the kinds that `df` may be.
        - A plan (``attrs["dfjoin"]["plan"]`` of an earlier result): the same columns are joined again. A plan does
          not hold the rows of a frame: of two frames, pass the other one here and the plan as `plan`.
    on : column label or list of labels, optional
        Key of `df`. Several labels make a composite key. By default, over a lake, the column with the most useful
        candidate is taken, if its usefulness is at least 0.5; columns of two values, serial numbers, measures, and
        numbers whose header names no identifier and that are no years are no keys then. Two columns that stand together
        in the rows of a table, where neither is a key alone (entity and year, first and last name), are one key before
        any single column; a table that holds both in other rows is not joined by one of them. Where a candidate of one
        column is m:m and a second column makes it m:1, it is joined on both, as the report says. Where no
        equal key does, dates of `df` are joined with columns of the weeks, months, quarters or years that they lie in,
        however these are spelled (``APR 1948``, ``1833-01``, ``2020Q1``, ``2020-W05``); so are dates that are a part of
        a key of several columns (county and date with county and month).
        Between two frames the columns that join best are taken, and it is an error when two are equally good.
    right_on : column label or list of labels, optional
        Key of the other frame; the same labels as `on` by default.
    k : int, default 1
        Tables to join at most. Only over a lake; a table is joined on one of its columns.
    threshold : float, default 0.5
        Smallest containment of the key, 0 to 1.
    min_score : float, default 0.5
        Smallest score of a candidate, 0 to 1, see `discover_joinable`. Only over a lake. Where you name the key with
        `on`, a candidate that holds each key once is joined from a score of 0.1 on, below which chance explains what is
        shared, and where you name `tables` whatever its score; the report says what counts against it. A value other
        than the default holds in any case.
    tables, exclude : str or list of str, optional
        Patterns of the tables to join, and of those to leave out, as in `discover_joinable`. Only over a lake.
    mode : {"exact", "lsh", "transform", "embedding", "fuzzy"}
        How candidates are found over a lake, as in `discover_joinable`. Those that are found by programs are joined
        by them, and those that are found by distance join each row with its nearest partner within `radius`; their
        key is added. Between two frames ``"embedding"`` and ``"fuzzy"`` join the columns that `on` and `right_on` name
        by distance: ``on=["lat", "lon"]`` by great circles, numbers and lists of numbers by Euclidean distance, texts
        by vectors of their n-grams (`radius` 0.3 by default) or by edits (0.15).
    columns : str or list of labels, optional
        Columns to bring. By default all but the key, and of a table of a lake those that say something of a row: not
        ``rownames`` and ``Unnamed: 0``, nor columns of one value or of none. The report names what was left out.
    how : {"left", "inner", "right", "outer", "asof"}
        Rows to keep. ``left`` and ``inner`` keep the order and index of `df`; ``right`` and ``outer`` put
        rows that only the right side has last, under a new RangeIndex. ``asof`` keeps the rows as ``left`` does, and
        joins each with the latest row of its key that is not dated after it:

        - The last column of `on` holds the dates, those before it are the keys: ``on=["shop", "day"]``. With the dates
          alone every row has one key. Over a lake the only column of dates is found without `on`; with picked
          candidates `on` names the dates alone. Neither side needs to be sorted.
        - Dates, texts of dates, and periods (``2020-03``, ``MAR 2020``, ``2020Q1``, years) may be on either side; a
          period counts from its first moment. What is known only when its period has ended has to be dated so.
        - Of a table of a lake the column of the same name has the dates, else the latest of its columns of dates.
        - Rows of one key and date are made one by `aggregate`: with ``"last"`` the result is that of
          ``pandas.merge_asof`` on sorted frames. The date of the row that was joined is added.
        - A row without key or date joins nothing.
    aggregate : "auto", None, rule or dict of column → rule
        How several right rows of a key become one, so that each row of `df` stays one row:

        - ``"auto"``: where the right side has one row for each key, the cell as it is. Else the mean of measures, the
          share of true booleans; for texts, dates, and numbers that are codes, years or coordinates, or may be, the
          value on which more than half of the rows that have one agree, else null. Headers name measures and codes
          (in some twenty languages), else the values of the whole column do: whole numbers that are all different,
          number the rows, or have all the same number of digits, are codes. The report counts the rows that disagree.
        - A rule for all columns: mean, sum, min, max, median, std, first, last, count, nunique, most_frequent (ties:
          the smallest), majority, latest, share. Nulls are left out, except by first and last: they take the
          values of one row, so that ``"first"`` gives one whole row. Where the right side has one row for each key,
          all but std, count, nunique and share leave the cell as it is.
        - A dict: a rule for each column that it names, ``"auto"`` for the others. A column that no joined table has
          is an error.
        - None: every pair of rows is kept.

        Unless it is None, a column ``<stem>_rows`` counts the right rows where a key has several, and stands in
        one row of `df`. Where keys stand in several rows on both sides, a table of a lake is passed over; elsewhere,
        and with None, m:m is warned of, unless values match by distance.
    max_expansion : float, default 10.0
        Most rows out per row in, with ``aggregate=None``. A join that would make more is refused before it is made.
    indicator : bool, default False
        Add ``_merge``: both, left_only or right_only. Where keys are related by a program or by similarity, also
        ``_match`` (equal, program, fuzzy, reviewed), ``_distance`` (0 to 1) and ``_probability`` of each row: how
        likely it is right, by estimate. Where they are joined by distance, ``_match`` is distance or spelling,
        ``_distance`` is in the unit of `radius`, and ``_probability`` is null unless there is a `precision`.
    transform, fuzzy : bool, optional; `transform` also "accept"
        Between two frames: look for programs over the columns of one frame whose results are the key of the
        other, and match the keys that are left by string similarity. The other frame's key is added. Where the
        cells of a column that is named list keys of the other (``a; b; c``), each value that they list is matched.

        - None: only if equal keys match less than `threshold` of the key's values, or the best equal columns are not
          nearly unique. Never for a composite `on`. Similarity is skipped above 100,000 keys on either side.
        - True: in any case. The columns of a composite `on` are compared one by one, and what each says of a match is
          learned from both frames; a missing value says nothing.
        - False: never.
        - ``transform="accept"``: as True, and a relation that is in doubt is joined. Where both keys are named, the
          report proposes it, with five pairs for example.

        Two columns that `on` and `right_on` name are also related by what both are read as, if that explains nearly all
        of one: days and the months, quarters, weeks or years that hold them, however these are spelled; numbers and
        Roman numerals, words, bands or decades; counts of days or seconds and dates; two units. Names of columns
        stand for evidence then, and the report says so.
    precision : float, optional
        Share of right pairs that matching by similarity aims at, by an estimate without labels; rows below
        it stay unmatched.

        - Between two frames: 0.95 by default. Below 0.9 it holds for programs over named keys too.
        - With ``mode="embedding"`` and ``mode="fuzzy"``, over a lake, for picked candidates or two frames: none
          by default, and the nearest key within the radius joins. With a precision texts join that are likely the same
          thing, as between two frames: how much nearer the nearest key is than the second one, and how usual its
          difference is, tell. It decides in place of the default `radius`; one that you give bounds the distance
          besides. Tables of fewer than ten keys are joined on equal keys alone. Not for places and other numbers.
    examples : list of (left value, right value), optional
        Pairs that belong together, a tuple of texts for several key columns; programs are learned from them alone.
        They may read the rows that hold the values; an example that contradicts the others is named in a warning.
        The programs of the report know how sure each result is (`Program.predict`), and leave out what is not; the
        join takes every result that is a key of the other table.
    reviewed : list of (left value, right value, bool), optional
        Pairs of texts of single keys that a person has looked at. Those with True are joined, those with False are not,
        whatever programs and similarity say; others are joined as without them. The cells are compared as they are
        written. A pair of a value that no row has does nothing. They decide pairs and teach nothing, and a plan does
        not hold them: pass them again.
    aliases : bool or dict of str to str, optional
        Whether names of one thing are equal: countries, states of five countries, languages, currencies, units, months,
        weekdays and chemical elements, in 34 languages, by their codes and abbreviations (``US``, ``USA``, ``United
        States``, ``Vereinigte Staaten``). Both columns have to be of one kind, by six in ten of their values: so
        ``GA`` is a state or a country. Between two frames by default, unless ``transform=False`` or with
        `examples` or another `mode`; columns that you do not name need four related names of more than three letters,
        or under a header that names the kind (``month``). Over a lake with True, for keys of one column. A dict
        has further names: ``{"big apple": "New York City"}``. A search result and a plan have their own.
    pad : int, optional
        Digits to which shorter integers of the key are written with zeros in front, of either key between two
        frames: with 5, ``501`` matches ``"00501"``. A search result and a plan have their own. By default codes that
        lost their zeros are joined where that matches clearly more, and the report says so.
    dayfirst : bool, optional
        How all-digit dates of the key, of either key between two frames, are read: ``3/4/2024`` is in April if True.
        By default as the column itself shows. A search result and a plan have their own.
    plan : JoinPlan or its dict, optional
        The plan of an earlier join of two frames: `df` and `other` are joined as those were, on the same columns, by
        the same programs, and by likeness with the same threshold. Nothing is learned anew, so that a frame of one
        row joins as it would have then; only where `df` was the side whose texts are different things (the
        reference of the likeness) and has fewer than ten, likeness joins nothing, and the report says so.
        The report says what share of the rows its programs explain, and a warning if that is clearly less than it was.
    radius, radius_unit : float, {"fraction", "absolute", "m", "km"}, optional
        Distance up to which values match over a lake or in another frame, with ``mode="embedding"`` and
        ``mode="fuzzy"``, as in `discover_joinable`: ``on=["lat", "lon"], mode="embedding", radius=1,
        radius_unit="km"``. The nearest of a million places to each of another million is found in seconds, whatever
        the radius.
    partners : {"nearest", "all"}, optional
        Which keys within the radius join, with ``mode="embedding"`` and ``mode="fuzzy"``.

        - ``"nearest"`` (default): for each row the nearest key; of several the equal one, then the first by code point,
          of places the first in ascending order.
        - ``"all"``: all of them; `aggregate` makes one row of theirs, so that ``aggregate={"price": "mean"}`` is the
          mean of what lies within the radius.
    min_margin : float, optional
        With ``partners="nearest"``: a row joins only if the next key is farther than the nearest one by so much, in the
        unit of `radius`, so that what two keys may be is left out; an equal key joins in any case.
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
        whole right table, and not from the rows that match; a plan fixes them. Cells keep the type of their column, but
        that integers and booleans become ``Int64`` and ``boolean`` where they may gain nulls (as with `how`, or where
        several rows become one) and over a lake. Where several rows become one, means, medians and shares are
        ``float64``, sums of integers ``Int64`` (an error beyond 64 bits), means and medians of decimals are decimals
        with four digits more behind the point, rounded half up, and sums of decimals exact. A plan that was made where
        each key had one row takes the majority where keys are repeated, and refuses a statistic that its types do not
        hold.
        ``attrs["dfjoin"]`` (plain JSON below 64 KiB) holds what was joined, on what, coverage, rows in
        and out, what was passed over and why, and holds the plan.

        It is of the kind that `df` is; of what offers the Arrow C stream alone, a table of pyarrow. A LazyFrame and a
        relation are carried out, once, and a relation of the same connection comes back. Columns of `df` and of `other`
        keep their types; those of a lake have the types that their file has. A type that the library of `df` lacks
        becomes text, and so does a key into which ``how="right"`` or ``"outer"`` puts values that are not of its type.
        Such frames have no ``attrs``: `report` knows the report as long as the frame itself lives.

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
    matches. Where only its rows show that a table brings nothing new, or it cannot be read, the next best candidate
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
        reviewed=reviewed,
        aliases=aliases,
        pad=pad,
        dayfirst=dayfirst,
        plan=plan,
        partners=partners,
        min_margin=min_margin,
        radius=radius,
        radius_unit=radius_unit,
        on_no_match=on_no_match,
        on_stale=on_stale,
    )
    if isinstance(other, (Lake, str, os.PathLike)):
        other = resolve_lake(other, "other").snapshot
    return join(df, other, options)


def report(df: Any) -> Any:
    """Return the report of a join.

    Parameters
    ----------
    df : DataFrame
        What `auto_join` returned, of any library.

    Returns
    -------
    JoinReport
        Prints as text; ``to_dict()`` gives ``attrs["dfjoin"]``, and ``to_dict()["plan"]`` the plan.

    Raises
    ------
    InvalidParameterError
        If the frame carries no report: a merge or a file loses it, and any step of a library without ``attrs``.

    Examples
    --------
    >>> import dfjoin, pandas as pd
    >>> left, right = pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [2, 3], "b": ["x", "y"]})
    >>> print(dfjoin.report(dfjoin.auto_join(left, right, on="a")))
    2 rows in, 2 rows out, how='left'
    joined the other frame on a = a, 1:1: 1 of 2 rows found a partner (50.0%)
      columns: b
    """
    from dfjoin.join.rows.report import report_of

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
    left : Series of lists, sequence of collections, column of Arrow or polars, or (indptr, elements)
        The sets. Of two integer arrays, set i is ``elements[indptr[i] : indptr[i + 1]]``. Elements are compared as they
        are, numbers by value (1 is 1.0, and no text); one that occurs twice counts once. A null or NaN among the
        elements is none; a null instead of a list is no set, and in no pair.
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
    `dfjoin.containment.scan_join.scan_pairs`. Time of ``"scan"``: O(elements + Σ of the lengths of the lists of the
    rarest elements / 16 + pairs). Partial containment reads the lists of the rarest elements, see
    `dfjoin.kernels.sets.overlap_join.join_overlaps`. `dfjoin.Lake.containment_join` joins the columns of a lake.

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
