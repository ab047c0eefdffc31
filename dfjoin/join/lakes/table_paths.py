"""The tables of a lake that a frame joins with, by one join or by several: through a table that brings the next key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pandas as pd

from dfjoin.frames.given_frame import frame_of
from dfjoin.join.lakes.path_search import PathOptions, PathSearch
from dfjoin.join.lakes.table_hops import (
    PathTable,
    UnjoinedTable,
    WaitingTables,
    path_text,
    product,
)
from dfjoin.search.discover import check_frame
from dfjoin.search.query import joined_names
from dfjoin.store.snapshot import Snapshot

_TABLES_A_HOP = 60
"""Tables that are joined at each distance from the frame, at most: the best of those that were found."""


def path_tables(
    df: pd.DataFrame,
    snapshot: Snapshot,
    options: PathOptions,
    is_key: Callable[[PathTable, str], bool] | None = None,
    *,
    with_waiting: bool = False,
) -> Iterator[PathTable | UnjoinedTable | WaitingTables]:
    """Join a frame with each table that it reaches, and yield the tables, the nearest first.

    Parameters
    ----------
    df : DataFrame
    snapshot : Snapshot
    options : PathOptions
    is_key : callable, optional
        Takes a table that was joined and one of its columns; returns whether that may be the key of a further join.
    with_waiting : bool
        Yield the tables of each distance, too, before the first of them is read.

    Yields
    ------
    PathTable, UnjoinedTable or WaitingTables
        Each table once, by its shortest path; of equally short ones by the most useful. Of one distance the most
        useful first.

    Notes
    -----
    Breadth first (AutoFeat, Ionescu et al., ICDE 2024, section IV, walks the graph of joinable tables in the same
    order). Every table that was joined is a start for the next hop, by its columns of text, dates and integers. They
    are looked up in the index with the values that the rows of the frame got. The caller may stop at any time: a table
    is read when the one before it was taken. A table is passed over where rows meet m:m. At most 60 tables are joined
    at each distance.
    """
    search = PathSearch(df, snapshot, options, is_key)
    seen: set[str] = set()
    starts: list[PathTable | None] = [None]
    for number in range(options.max_hops):
        leads = [lead for start in starts for lead in search.leads(start, seen)]
        leads.sort(key=lambda lead: (-lead.usefulness, lead.hop.table, lead.hop.column))
        waiting = tuple(dict.fromkeys(lead.hop.table for lead in leads if lead.hop.table not in seen))
        if waiting and with_waiting:
            yield WaitingTables(number + 1, waiting)
        starts = []
        n_joined = 0
        for lead in leads:
            if lead.hop.table in seen:
                continue
            if n_joined >= _TABLES_A_HOP:
                yield UnjoinedTable(lead.hops, f"{_TABLES_A_HOP} more useful tables were joined at this distance")
                continue
            joined = search.join(lead)
            n_joined += 1
            if isinstance(joined, PathTable):
                seen.add(lead.hop.table)
                if number + 1 < options.max_hops:
                    starts.append(joined)
            yield joined
        if not starts:
            return


def paths_to_table(df: pd.DataFrame, snapshot: Snapshot, table: str, options: PathOptions) -> pd.DataFrame:
    """Carry out `dfjoin.Lake.paths`."""
    df = frame_of(df)
    check_frame(df)
    snapshot.find_table(table)
    rows = []
    inner = replace(options, max_hops=options.max_hops - 1)
    search = PathSearch(df, snapshot, replace(options, join=replace(options.join, tables=[_escaped(table)])))
    starts: list[PathTable | None] = [None]
    if inner.max_hops:
        starts += [joined for joined in path_tables(df, snapshot, inner) if isinstance(joined, PathTable)]
    for start in starts:
        if start is not None and any(hop.table == table for hop in start.hops):
            continue
        for lead in search.leads(start, set()):
            hops = lead.hops
            rows.append(
                {
                    "path": path_text(hops),
                    "n_hops": len(hops),
                    "score": product(hop.score for hop in hops),
                    "containment": product(hop.containment for hop in hops),
                    "on": joined_names(hops[0].on),
                    "column": hops[-1].column,
                    "relationship": " ".join(hop.relationship for hop in hops),
                }
            )
    columns = ["path", "n_hops", "score", "containment", "on", "column", "relationship"]
    found = pd.DataFrame(rows, columns=columns)
    return found.sort_values(["n_hops", "score", "path"], ascending=[True, False, True], ignore_index=True)


def _escaped(name: str) -> str:
    """Write a name as a pattern that no other table fits."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)
