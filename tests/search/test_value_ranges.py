"""A search by ranges of the values of a query, added, is the search for the whole query: rows, order and numbers."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.kernels.lists.evidence import COUNT, N_SUMS, ROWS
from dfjoin.search.column_search import make_result, search_column
from dfjoin.search.hits import Hits
from dfjoin.search.params import search_params
from dfjoin.search.query import make_query
from dfjoin.search.segment_groups import LongQuery, ValueSummary, count_values, group_segments, rank_ranges
from dfjoin.search.usefulness.features import SharedEvidence, query_facts
from dfjoin.values.normalize import keep_values

QUERIES = {
    "words": [f"w{i:02}" for i in range(30)] * 2 + [None, "w99"],
    "integers": [*range(40), 999999999999999999, -999999999999999999, 7, 7],
    "mixed": ["1", "22", "w01", "w02", "-12", "999999999999999999", "-999999999999999999"],
    "long": [3, 5, 10**18 - 1, 10**18, 2**63 - 1, -(10**18), -(10**17), 1 - 10**17, -(2**63)],
    "longer": ["3", "999999999999999999", "1000000000000000000", "9999999999999999999", "-9999999999999999999"],
    "serial": [f"{i:04}" for i in range(60)],
    "signs": ["1-2", "3-4", "5.6", "7/8", "w03"],
    "days": pd.date_range("2020-01-01", periods=20),
    "shares": [0.5, 1.25, 3.0, None],
    "nothing": [None, None],
}


def parts_of(values, n):
    """Cut values by their hashes."""
    for part in range(n):
        yield keep_values(values, values.hashes % np.uint64(n) == part)


def summary_of(values, n):
    """Summarise values in parts."""
    first = dict(zip(values.hashes.tolist(), values.first_rows().tolist(), strict=True))
    parts = []
    for part in parts_of(values, n):
        places = np.array([first[h] for h in part.hashes.tolist()], np.int64)
        parts.append(ValueSummary.of(part, int(np.count_nonzero(part.codes >= 0)), places))
    return ValueSummary.sum(parts)


def in_ranges(snapshot, query, type_, params, n_parts, n_groups):
    """Search as tasks do."""
    groups = [
        (
            numbers,
            snapshot.at(replace(snapshot.manifest, segments=tuple(snapshot.manifest.segments[n] for n in numbers))),
        )
        for numbers in group_segments(snapshot, n_groups)
    ]
    sums, cardinality, weight = {}, {}, 0.0
    for part in parts_of(query.values, n_parts):
        found = count_values(groups, part, params)
        weight += found.total_weight
        hits = found.hits
        for place, key in enumerate(zip(hits.segments.tolist(), hits.columns.tolist(), strict=True)):
            sums[key] = sums.get(key, 0) + found.sums[place]
            cardinality[key] = int(hits.cardinality[place])
    keys = np.array(list(sums), np.int64).reshape(-1, 2)
    added = np.array(list(sums.values()), np.int64).reshape(-1, N_SUMS)
    counts = [added[:, COUNT].copy(), added[:, ROWS if params.is_weighted else COUNT].copy()]
    sizes = np.array(list(cardinality.values()), np.int64)
    hits = Hits(keys[:, 0].copy(), keys[:, 1].copy(), *counts, sizes, np.full(len(keys), np.nan))
    long = LongQuery.make(query.name, type_, summary_of(query.values, n_parts), params, query.companions)
    return long, rank_ranges(snapshot, long, SharedEvidence(hits, added, weight), params)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    rng = np.random.default_rng(8)
    options = {"engine": "inline", "progress": False}
    index, lake = tmp_path_factory.mktemp("ranges") / "ix", None
    for part in range(3):
        frames = {f"same{part}": pd.DataFrame({"words": QUERIES["words"][:20], "n": range(20)})}
        for name, values in QUERIES.items():
            chosen = rng.choice(len(values), len(values) // 2)
            texts = [None if pd.isna(values[i]) else str(values[i]) for i in chosen]
            frames[f"{name}{part}"] = pd.DataFrame({name: texts, "x": rng.integers(0, 60, chosen.size)})
        lake = dfjoin.build_lake(frames, index, **options) if lake is None else lake.add(frames, **options)
    assert len(lake.segments) == 3
    return lake.snapshot


@pytest.mark.parametrize("name", QUERIES)
def test_ranges_of_values_give_what_one_search_gives(lake, name):
    column = pd.Series(QUERIES[name], name=name)
    found_some = False
    for options, n_parts in itertools.product(
        (
            {},
            {"rank": "matched", "k": 3},
            {"rank": "matched"},
            {"weighted": True, "k": 4},
            {"k": None, "families": False, "min_score": 0.0},
        ),
        (1, 5),
    ):
        params = search_params(**options)
        query = make_query(column, lake.settings, name=name)
        type_ = pa.Array.from_pandas(column)
        want = pd.DataFrame(make_result(lake, [search_column(lake, query, params)], params))
        long, found = in_ranges(lake, query, type_.type, params, n_parts, 2)
        pd.testing.assert_frame_equal(pd.DataFrame(make_result(lake, [found], params)), want)
        own, facts = query_facts(query)._asdict(), query_facts(long)._asdict()
        for fact, value in own.items():
            assert (
                np.array_equal(value, facts[fact]) if isinstance(value, np.ndarray) else str(value) == str(facts[fact])
            )
        assert replace(long.profile, min="", max="") == replace(query.profile, min="", max="")
        found_some |= len(want) > 0
    assert found_some or name in ("nothing", "shares")
