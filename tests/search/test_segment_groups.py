"""A search in groups of segments, merged, is the search of the lake: rows, order and numbers, ties included."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.search.column_search import finish_search, search_column
from dfjoin.search.distance import distance_search
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
        parts = [mode.count_group(group, query, params) for _, group in groups]
        hashes, which = np.unique(np.concatenate([part.hashes for part in parts]), return_inverse=True)
        near = [np.zeros(part.hashes.size) if part.near is None else part.near for part in parts]
        held, near = (
            np.bincount(which, np.concatenate(some), hashes.size).astype(np.int64)
            for some in ([part.counts for part in parts], near)
        )
        totals = sum(part.total for part in parts), sum(part.n_full for part in parts)
        counts = HeldCounts(hashes, held, totals[0], near, totals[1])
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
        {"rank": "useful", "radius": 0.3},
        {"rank": "useful", "k": None, "min_score": 0.0},
        {"rank": "useful", "metric": "tokens", "families": False},
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


@pytest.mark.parametrize("is_full", [False, True], ids=["", "logs without room"])
def test_matches_by_distance_are_as_rare_in_groups_as_in_one_search(tmp_path, monkeypatch, is_full):
    if is_full:
        monkeypatch.setattr(distance_search, "_ROOM", 20)  # some parts have more matches, others fewer
    lake = dfjoin.build_lake(
        {"a": pd.DataFrame({"n": [f"{name}s" for name in NAMES]})}, tmp_path / "ix", progress=False
    )
    for part in range(3):
        frame = pd.DataFrame({"n": NAMES[4 * part : 4 * part + 9], "m": [f"{name}." for name in NAMES[:9]]})
        lake = lake.add({f"t{part}": frame}, progress=False)
    snapshot, params = lake.snapshot, search_params(mode="fuzzy", rank="useful", radius=0.3, min_score=0.0)
    query = make_query(pd.Series(NAMES), snapshot.settings, name="n")
    n_full = mode_of("fuzzy").count_group(snapshot, query, params).n_full
    assert 0 < n_full < 4 if is_full else n_full == 0
    one, several = search_column(snapshot, query, params), in_groups(snapshot, query, params, 3)
    assert len(one.hits) > 2
    np.testing.assert_array_equal(several.useful.evidence.sums, one.useful.evidence.sums)
    assert several.useful.evidence.total_weight == one.useful.evidence.total_weight
