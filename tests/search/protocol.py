"""Search through the protocol of modes: what a mode finds, and each hit as a candidate."""

import pandas as pd

import dfjoin
from dfjoin.search.found import Candidate
from dfjoin.search.modes import mode_of
from dfjoin.search.params import search_params
from dfjoin.search.query import make_query


def find_by(mode, lake, values, **options):
    """Search by a mode for the values of a column called q."""
    query = make_query(pd.Series(values, name="q"), lake.settings)
    return mode_of(mode).search(lake.snapshot, query, search_params(mode=mode, **options))


def candidates(mode, lake, values, **options):
    """Name of table and column → the candidate, best first."""
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": values}), "q", lake, mode=mode, **options, rank="matched")
    found = hits.context.found["q"]
    return {
        (hits["table"].iloc[i], hits["column"].iloc[i]): Candidate(hits.iloc[i], found, i, lake.snapshot)
        for i in range(len(hits))
    }
