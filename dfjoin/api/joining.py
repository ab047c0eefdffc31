"""Joining tables, and lists by containment: arguments are made a record, and one call goes down."""

from __future__ import annotations

import os
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dfjoin.containment.result_stream import ContainedPairs
    from dfjoin.join.plan import JoinPlan


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
    metric: str | None = None,
    on_no_match: str = "warn",
    on_stale: str = "error",
) -> Frame:
    """Join a frame with the best tables of a lake, with picked candidates, a plan, or another frame.

    Keys are compared in canonical form, so ``1``, ``1.0`` and ``"1"`` are equal, as are ``"Peru "`` and ``"PERU"``; a
    null never matches. Each row of `df` stays one row, unless you ask for more, and the result carries a report.

    Parameters
    ----------
    df : DataFrame
        Of pandas (named levels of the index are keys like columns), polars, Arrow or DuckDB; it is not changed.
    other : Lake, path of an index, JoinCandidates, DataFrame, JoinPlan or its dict
        What to join: the best table of a lake, rows of a search result, another frame, or what a plan says.
    on, right_on : column label or list of labels, optional
        Key of `df`, and of another frame. By default what joins best.
    k, threshold, min_score : int, float and float
        Over a lake: tables to join at most; smallest containment of the key; smallest score.
    tables, exclude : str or list of str, optional
        Over a lake: patterns of the tables to join, and of those to leave out.
    mode : {"exact", "lsh", "transform", "embedding", "fuzzy"}
        How keys match, as in `discover_joinable`.
    columns, how : str or list of labels, {"left", "inner", "right", "outer", "asof"}
        Columns to bring; rows to keep. ``"asof"`` joins the latest row that is not dated after that of `df`.
    aggregate, max_expansion : "auto", None, rule or dict of column to rule; float
        mean, sum, min, max, median, std, first, last, count, nunique, most_frequent, majority, latest, share; "auto":
        mean of measures, else majority; None: each pair, at most `max_expansion` rows out per row in, on average.
    indicator : bool
        Add ``_merge``, and how each row was matched.
    transform, fuzzy, precision : bool or "accept", bool, float, optional
        Whether two frames join by programs, "accept" also by doubtful ones, and by similarity; share of right pairs.
    examples, reviewed : list of (left value, right value) and of (left value, right value, bool), optional
        Pairs to learn programs from; pairs that a person has decided.
    aliases, pad, dayfirst : bool or dict, int, bool, optional
        How keys are written: names in other languages and codes, digits with zeros in front, order of days and months.
    plan : JoinPlan or its dict, optional
        Join as an earlier join did, with this lake or frame; nothing is searched or learned.
    partners, min_margin, radius, radius_unit, metric : str, float, float, str and str, optional
        With ``mode="embedding"`` and ``"fuzzy"``: "nearest" or "all" keys within the radius, in "fraction", "absolute",
        "m" or "km"; how much nearer than the next one the nearest has to be; and how distance is measured.
    on_no_match, on_stale : {"warn", "raise", "ignore"}, {"error", "warn", "ignore"}
        What to do when nothing is acceptable, and when a file is not the one that was indexed.

    Returns
    -------
    DataFrame
        Of the kind of `df`: its rows, then the columns of each table. ``report(wide)`` says what was joined, and why.

    Raises
    ------
    ColumnNotFoundError, InvalidParameterError, InvalidTypeError
        If an argument is illegal, or does not apply to `other`.
    JoinExpansionError, NoMatchError, TableChangedError
        If rows would be multiplied, nothing is acceptable, or a table has changed, as the arguments say.

    Notes
    -----
    All values of the arguments, rules, types of the result, warnings and costs: :doc:`/reference/join_details`.

    Examples
    --------
    >>> import dfjoin, pandas as pd
    >>> people = pd.DataFrame({"name": ["Ann", "Bo", None], "land": ["peru", "CHAD", "Peru"]})
    >>> lands = pd.DataFrame({"land": ["Peru", "Chad"], "area": [1285216, 1284000]})
    >>> people.auto_join(lands, on="land")["area"].tolist()
    [1285216, 1284000, 1285216]
    >>> people.auto_join(lands.head(1), on="land", indicator=True)["_merge"].tolist()
    ['both', 'left_only', 'both']
    >>> left, right = pd.DataFrame({"who": ["Lee, Ann", "Day, Bo"]}), pd.DataFrame({"name": ["Bo Day", "Ann Lee"]})
    >>> left.auto_join(right, examples=[("Lee, Ann", "Ann Lee")])["name"].tolist()
    ['Ann Lee', 'Bo Day']
    """
    given = {name: value for name, value in locals().items() if name not in ("df", "other")}  # before any other name

    from dfjoin.join.auto import join
    from dfjoin.join.options import join_options
    from dfjoin.lake import Lake, resolve_lake

    options = join_options(**given)
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
    `dfjoin.containment.subset_join.scan_pairs`. Time of ``"scan"``: O(elements + Σ of the lengths of the lists of the
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
