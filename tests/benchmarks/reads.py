"""What each plan of exact search reads, by stratum of query size and by k: where JOSIE pays and where it does not."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dfjoin.search.exact.searcher import MatchedQuery, searcher_of
from dfjoin.search.params import SearchParams
from dfjoin.search.query import make_query

PLANS = ("mergelist", "probeset", "josie")


def measure_reads(lake, queries, ks=(1, 10)) -> pd.DataFrame:
    """Lists, sets and logical bytes read by each plan, and what the planner chose.

    Columns beside the plans' reads: the median of (k-th overlap) / |Q|, and of postings per query value
    and answer, which the planner goes by.
    """
    rows = []
    for k in ks:
        by_stratum: dict[str, list[dict[str, float]]] = {}
        for stratum, column in queries:
            values = make_query(column, lake.settings, name="q").values
            query = MatchedQuery(lake.snapshot, values)
            entry: dict[str, float] = {}
            for plan in PLANS:
                hits, stats = searcher_of(lake.snapshot).search(query, SearchParams(k=k, plan=plan))
                entry |= {f"{plan} lists": stats.lists_read, f"{plan} sets": stats.sets_read}
                entry[f"{plan} kB"] = stats.bytes_read / 1e3
                if plan == "mergelist":
                    best = np.sort(hits.matched)[::-1]  # more than k, where there are several segments
                    entry["kth/|Q|"] = int(best[k - 1]) / max(1, len(values)) if len(best) >= k else 0.0
                    entry["postings/(k|Q|)"] = stats.postings_read / max(1, k * len(values))
            _, stats = searcher_of(lake.snapshot).search(query, SearchParams(k=k))
            entry["planner took josie"] = float("josie" in stats.plan)
            by_stratum.setdefault(stratum, []).append(entry)
        for stratum, entries in by_stratum.items():
            frame = pd.DataFrame(entries)
            medians = frame[["kth/|Q|", "postings/(k|Q|)"]].median()
            means = frame.drop(columns=["kth/|Q|", "postings/(k|Q|)"]).mean()
            ratio = frame["josie kB"].to_numpy() / np.maximum(frame["mergelist kB"].to_numpy(), 1e-3)
            rows.append({"k": k, "stratum": stratum, **medians, **means, "josie/mergelist p50": np.median(ratio)})
    return pd.DataFrame(rows).set_index(["k", "stratum"])
