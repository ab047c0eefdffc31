"""A search in groups of segments, merged, is the search of the lake: rows, order and numbers, ties included."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.search.column_search import finish_search, search_column
from dfjoin.search.group_hits import HeldCounts
from dfjoin.search.modes import mode_of
from dfjoin.search.params import search_params
from dfjoin.search.query import make_query
from dfjoin.search.segment_groups import group_segments, merge_groups, search_group

SETTINGS = {"signature_min": 8, "permutations": 64, "patterns": True}
WORDS = [f"w{i:02}" for i in range(60)]
NAMES = [f"{a} {b}" for a in ("Ann", "Bob", "Cem", "Dora", "Emil") for b in ("Stone", "Rivers", "Woods", "Hill")]


def frames(rng, part):
    """Tables of words with ties between the parts, small and large ones, and names with their parts in another order."""
    found = {f"same{part}": pd.DataFrame({"word": WORDS[:20], "n": range(20)})}
    for number in range(4):
        chosen = rng.choice(60, rng.integers(3, 55), replace=False)
        found[f"t{part}{number}"] = pd.DataFrame(
            {"word": [WORDS[i] for i in chosen], "x": rng.integers(0, 99, chosen.size)}
        )
    chosen = rng.choice(len(NAMES), 12, replace=False)
    turned = [", ".join(reversed(NAMES[i].split())) for i in chosen]
    return found | {f"who{part}": pd.DataFrame({"who": turned, "room": range(12)})}


@pytest.fixture(scope="module", params=[True, False], ids=["sets", "signatures"])
def lake(request, tmp_path_factory):
    rng = np.random.default_rng(5)
    options = {"engine": "inline", "progress": False}
    index = tmp_path_factory.mktemp("parts") / "ix"
    lake = dfjoin.build_lake(frames(rng, 0), index, settings={**SETTINGS, "keep_sets": request.param}, **options)
    for part in range(1, 4):
        lake = lake.add(frames(rng, part), **options)
    lake = lake.remove(["t21"])
    assert len(lake.segments) == 4
    return lake


def in_groups(snapshot, query, params, n_groups):
    """Search as tasks do."""
    mode = mode_of(params.mode)
    assert mode.is_by_segment(params)
    groups = [
        (
            numbers,
            snapshot.at(replace(snapshot.manifest, segments=tuple(snapshot.manifest.segments[n] for n in numbers))),
        )
        for numbers in group_segments(snapshot, n_groups)
    ]
    counts = HeldCounts(np.empty(0, np.uint64), np.empty(0, np.int64), 0)
    if mode.needs_counts(params):
        parts = [mode.count_group(group, query) for _, group in groups]
        hashes, which = np.unique(np.concatenate([part.hashes for part in parts]), return_inverse=True)
        held = np.bincount(which, np.concatenate([part.counts for part in parts]), hashes.size).astype(np.int64)
        counts = HeldCounts(hashes, held, sum(part.total for part in parts))
    found = [search_group(group, numbers, query, counts, params) for numbers, group in groups]
    return merge_groups(snapshot, query, found, counts, params)


OPTIONS = {
    "exact": [{}, {"rank": "matched", "k": 5}, {"weighted": True, "k": 4}],
    "lsh": [
        *(
            {"rank": rank, "k": k, "threshold": t}
            for rank, k, t in itertools.product(("useful", "matched"), (None, 1, 4, 30), (None, 0.4))
        ),
        {"rank": "matched", "k": 3, "verify": False},
        {"rank": "matched", "k": 3, "weighted": True},
        {"k": 6, "families": False, "min_score": 0.0, "tables": "*1*"},
    ],
    "transform": [{}, {"rank": "matched", "k": 2}, {"k": None}],
    "fuzzy": [
        {"rank": "matched", "k": 3},
        {"rank": "matched", "radius": 0.3, "count": "all"},
        {"rank": "matched", "metric": "tokens"},
    ],
}


@pytest.mark.filterwarnings("ignore::dfjoin.errors.ApproximateResultWarning")
@pytest.mark.parametrize(("mode", "options"), [(mode, one) for mode, own in OPTIONS.items() for one in own], ids=str)
def test_groups_of_segments_give_what_one_search_gives(lake, mode, options):
    if mode != "lsh" and not lake.settings.keep_sets:
        pytest.skip("values of large columns are not kept")
    snapshot = lake.snapshot
    params = search_params(mode=mode, **options)
    queries = [NAMES] if mode == "transform" else [WORDS[:30], WORDS[:4], [*WORDS, *WORDS[:9]], ["nothing"]]
    for values in queries:
        query = make_query(pd.Series(values), snapshot.settings, name="word")
        want = pd.DataFrame(finish_search(snapshot, [search_column(snapshot, query, params)], params))
        assert len(want) or values is not queries[0]
        for n_groups in (2, 4):
            found = in_groups(snapshot, query, params, n_groups)
            pd.testing.assert_frame_equal(pd.DataFrame(finish_search(snapshot, [found], params)), want)
