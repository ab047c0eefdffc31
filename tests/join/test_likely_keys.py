"""Joins by distance at a precision: two frames, lakes, picked candidates and plans, against the join by similarity."""

import random

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError
from tests.oracles.spelling import spelling_distance

FIRSTS = [
    "Anna",
    "Bertram",
    "Cecilia",
    "Dorothea",
    "Ernest",
    "Florian",
    "Gwendolyn",
    "Horatio",
    "Isabel",
    "Joachim",
    "Katharina",
    "Leopold",
]
LASTS = [
    "Abernathy",
    "Blomqvist",
    "Castellano",
    "Drummond",
    "Eisenberg",
    "Fitzgerald",
    "Grabowski",
    "Hollister",
    "Ibarra",
    "Janowicz",
    "Kowalski",
]
KEYS = {"on": "written", "right_on": "person"}
MODES = ["embedding", "fuzzy"]


def mistyped(name, rng):
    at = rng.randrange(1, len(name) - 1)
    return name[:at] + rng.choice("aeinrst") + name[at + 1 :]


@pytest.fixture(scope="module")
def frames():
    """Names of which half stand in the other frame, each with one letter mistyped in every second one."""
    rng = random.Random(5)
    names = sorted({f"{rng.choice(FIRSTS)} {rng.choice(LASTS)}" for _ in range(160)})
    rng.shuffle(names)
    own = [mistyped(name, rng) if i % 2 else name for i, name in enumerate(names)]
    written = pd.DataFrame({"written": own, "truth": names})[len(names) // 2 - 40 :]
    return written, pd.DataFrame({"person": names[: len(names) // 2 + 20], "code": range(len(names) // 2 + 20)})


@pytest.fixture(scope="module")
def lake(frames, tmp_path_factory):
    path = tmp_path_factory.mktemp("likely") / "lake"
    return dfjoin.build_lake({"people": frames[1]}, path, engine="inline", progress=False, embedder="ngrams")


def likely(wide):
    """Return who was joined with whom, by row."""
    return wide["person"].dropna().to_dict()


@pytest.mark.parametrize("mode", MODES)
def test_a_precision_joins_what_similarity_joins(frames, lake, mode):
    left, right = frames
    expected = left.auto_join(right, **KEYS, transform=False, fuzzy=True, precision=0.9, aggregate=None)
    wide = left.auto_join(right, **KEYS, mode=mode, precision=0.9, aggregate=None, indicator=True)
    pairs = likely(wide)
    assert pairs == likely(expected) and len(pairs) >= 55
    right_share = np.mean([left["truth"][row] == person for row, person in pairs.items()])
    assert right_share >= 0.9
    (step,) = wide.attrs["dfjoin"]["joined"]
    assert step["relation"]["fuzzy"]["estimated_precision"] >= 0.9
    assert "at precision 0.9, keys up to 1 (fraction)" in str(dfjoin.report(wide))
    over_lake = left.auto_join(lake, on="written", mode=mode, precision=0.9, threshold=0.1, aggregate=None)
    picked = left.auto_join(left.discover_joinable("written", lake, mode=mode), precision=0.9, aggregate=None)
    assert likely(over_lake) == likely(picked) == pairs


@pytest.mark.parametrize("mode", MODES)
def test_the_indicator_tells_distance_and_probability(frames, lake, mode):
    left, right = frames
    wide = left.auto_join(right, **KEYS, mode=mode, precision=0.9, indicator=True)
    joined = wide[wide["person"].notna()]
    assert set(joined["_match"]) == {"distance" if mode == "embedding" else "spelling"}
    is_equal = joined["written"] == joined["person"]
    assert (joined["_distance"][is_equal] == 0).all() and (joined["_probability"][is_equal] == 1).all()
    assert joined["_probability"][~is_equal].between(0.4, 1).all() and (joined["_distance"][~is_equal] > 0).all()
    assert wide[wide["person"].isna()][["_match", "_distance", "_probability"]].isna().all(axis=None)
    if mode == "fuzzy":
        naive = [
            spelling_distance(a, b, "edit", "fraction")
            for a, b in zip(joined["written"].str.lower(), joined["person"].str.lower(), strict=True)
        ]
        np.testing.assert_allclose(joined["_distance"], naive)
    plain = left.auto_join(lake, on="written", mode=mode, threshold=0.1, indicator=True)
    assert plain["_probability"].isna().all() and plain["_distance"].notna().any()
    over_lake = left.auto_join(lake, on="written", mode=mode, threshold=0.1, indicator=True, precision=0.9)
    for name in ("_distance", "_probability"):
        np.testing.assert_allclose(over_lake[name], wide[name], rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_a_plan_keeps_the_threshold(frames, lake, mode):
    left, right = frames
    for other, options in ((right, KEYS), (lake, {"on": "written", "threshold": 0.1})):
        whole = left.auto_join(other, **options, mode=mode, precision=0.9, aggregate=None)
        plan = whole.attrs["dfjoin"]["plan"]
        few = left.iloc[[3]]
        again = few.auto_join(right, plan=plan) if other is right else few.auto_join(plan)
        assert likely(again).items() <= likely(whole).items()
        assert "threshold of an earlier join" in str(
            dfjoin.report(left.auto_join(right, plan=plan) if other is right else left.auto_join(plan))
        )


@pytest.mark.parametrize("mode", MODES)
def test_a_radius_that_is_given_bounds_the_distance(frames, mode):
    left, right = frames
    free = left.auto_join(right, **KEYS, mode=mode, precision=0.9, indicator=True)
    bound = float(free["_distance"].median())
    bounded = left.auto_join(right, **KEYS, mode=mode, precision=0.9, radius=bound, indicator=True)
    is_near = free["_distance"] <= bound
    assert 0 < is_near.sum() < free["person"].notna().sum()
    assert likely(bounded) == free["person"][is_near].to_dict()


def test_too_few_keys_tell_nothing(frames):
    left, right = frames
    some = right[right["person"].isin(left["truth"])].head(8)
    wide = left[left["truth"].isin(some["person"])].auto_join(some, **KEYS, mode="fuzzy", precision=0.9)
    assert 0 < wide["person"].notna().sum() < 8
    assert likely(wide) == wide["truth"][wide["written"] == wide["truth"]].to_dict()
    assert "precision is not estimated from fewer than 10" in str(dfjoin.report(wide))


def test_what_a_precision_does_not_apply_to(frames, lake):
    left, right = frames
    with pytest.raises(InvalidParameterError, match="`precision` does not apply when `other` is a lake, got"):
        left.auto_join(lake, on="written", precision=0.9)
    with pytest.raises(InvalidParameterError, match="`precision` does not apply when `other` is a search result"):
        left.auto_join(left.discover_joinable("truth", lake), precision=0.9)
    with pytest.raises(
        InvalidParameterError, match="`partners` must be left out where `precision` is given, got 'all'"
    ):
        left.auto_join(right, **KEYS, mode="fuzzy", precision=0.9, partners="all")
    places = pd.DataFrame({"lat": [1.0], "lon": [2.0]})
    with pytest.raises(InvalidParameterError, match="`precision` must be left out for columns of numbers, got"):
        places.auto_join(
            places.assign(n=1), on=["lat", "lon"], mode="embedding", radius=1, radius_unit="km", precision=0.9
        )


@pytest.mark.parametrize("more", [{"precision": 0.9}, {"partners": "all"}])
def test_a_plan_has_no_margin_beside_a_precision_or_all_partners(frames, more):
    left, right = frames
    plan = left.auto_join(right, **KEYS, mode="fuzzy", min_margin=0.1).attrs["dfjoin"]["plan"]
    (relation,) = plan["steps"][0]["relation"].values()
    relation.update(more)
    with pytest.raises(InvalidParameterError, match='must have `min_margin` with partners="nearest" and without `prec'):
        left.auto_join(right, plan=plan)


@pytest.mark.parametrize("mode", MODES)
def test_pairs_of_the_default_radius_are_those_that_are_joined(frames, lake, mode):
    left, _ = frames
    hits = left.discover_joinable("written", lake, mode=mode)
    nearest = hits.pairs(0)
    joined = left.auto_join(hits, aggregate=None).drop_duplicates("written")
    assert set(nearest["query_value"]) == set(joined["written"][joined["person"].notna()])
    every = left.discover_joinable("written", lake, mode=mode, radius=0.5).pairs(0)
    best = every.groupby("query_value")["distance"].transform("min") == every["distance"]
    expected = every[best & every["query_value"].isin(nearest["query_value"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(nearest, expected)
    assert len(every) > len(nearest)


@pytest.mark.parametrize("mode", MODES)
def test_a_margin_over_a_lake_is_that_between_frames(frames, lake, mode):
    left, right = frames
    options = {"mode": mode, "radius": 0.4, "min_margin": 0.1, "indicator": True}
    wide = left.auto_join(right, **KEYS, **options)
    loose = left.auto_join(right, **KEYS, **options | {"min_margin": None})
    assert 0 < wide["person"].notna().sum() < loose["person"].notna().sum()
    over_lake = left.auto_join(lake, on="written", threshold=0.1, **options)
    assert likely(over_lake) == likely(wide)
    np.testing.assert_allclose(over_lake["_distance"], wide["_distance"], rtol=1e-6)
