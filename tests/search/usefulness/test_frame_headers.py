"""Headers of a frame in the tables of a lake, against plain sets, and what nearness and novelty do to the order."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.search.usefulness.features import frame_headers
from dfjoin.search.usefulness.lake_facts import facts_of, tables_of
from dfjoin.values.header_meaning import headers_of

HEADERS = {
    "sea/ports": ["harbour", "depth", "#"],
    "sea/ships": ["ship", "flag", "tons", "harbour"],
    "sea/crews": ["ship", "rank"],
    "land/roads": ["road", "lanes", "rank", "km"],
    "land/tolls": ["road", "price"],
}


def tables():
    return {t: pd.DataFrame({h: [f"{h} {i}" for i in range(3)] for h in own}) for t, own in HEADERS.items()}


@pytest.fixture(params=["one segment", "two segments"])
def lake(request, build):
    if request.param == "one segment":
        return build(tables())
    lake = build(dict(list(tables().items())[:2]))
    lake.add(dict(list(tables().items())[2:]), engine="inline", progress=False)
    return lake


def computed(lake, own, companions):
    """Table → columns held, columns named as the query, new columns, and whether it is near."""
    snapshot = lake.snapshot
    names = [t for segment in snapshot.segments for t in segment.catalog.table_names()]
    hashes = np.unique(headers_of(companions).joined) if companions else np.empty(0, np.uint64)
    parts = frame_headers(snapshot, int(headers_of([own]).joined[0]), hashes)
    folders = [positions.folders for positions in tables_of(snapshot).positions]
    arrays = [np.concatenate([getattr(p, a) for p in parts]) for a in ("n_held", "n_named")]
    arrays.append(np.concatenate([p.is_near[one] for p, one in zip(parts, folders, strict=True)]))
    arrays.insert(
        2, np.concatenate([facts_of(segment).n_named for segment in snapshot.segments]) - arrays[0] - arrays[1]
    )
    return dict(zip(names, zip(*(a.tolist() for a in arrays), strict=True), strict=True))


def expected(own, companions):
    """The same over plain lists of headers."""
    frame = {own, *companions}
    likeness = {t: len(frame & set(h)) / len(frame | (set(h) - {"#"})) for t, h in HEADERS.items()}
    best = max(likeness.values())
    folders = {t.split("/")[0] for t, value in likeness.items() if value == best and best >= 0.5 and companions}
    near = folders if len(folders) == 1 else set()
    return {
        t: (
            len(set(companions) & set(h)),
            int(own in h),
            len(set(h) - frame - {"#"}),
            int(t.split("/")[0] in near),
        )
        for t, h in HEADERS.items()
    }


@pytest.mark.parametrize(
    ("own", "companions"),
    [
        ("ship", ["flag", "tons", "year"]),
        ("road", ["price"]),
        ("rank", ["road", "ship"]),
        ("ship", []),
        ("colour", ["taste", "rank"]),
    ],
)
def test_headers_of_a_frame_are_counted_in_each_table(lake, own, companions):
    assert computed(lake, own, companions) == expected(own, companions)


def test_a_removed_table_makes_no_folder_near(lake):
    assert computed(lake, "road", ["price"])["land/roads"][3] == 1
    lake.remove("land/tolls")
    assert computed(lake, "road", ["price"])["land/roads"][3] == 0


SHIPS = [
    f"{a}{b}" for a in ("Black", "Flying", "Golden", "Silent") for b in ("Pearl", "Gull", "Hind", "Queen", "Storm")
]


def test_a_sister_table_stands_before_a_stranger_that_brings_as_much(build):
    fleet = pd.DataFrame({"ship": SHIPS, "flag": "none", "tons": range(20)})
    brought = {f"fact {c}": [f"{c}{i}" for i in range(20)] for c in "uvw"}
    lake = build(
        {
            "auctions/lots": pd.DataFrame({"ship": SHIPS, **brought}),
            "harbour/crews": pd.DataFrame({"ship": SHIPS, **brought}),
            "harbour/fleet": fleet,
            "zoo/tags": pd.DataFrame({"ship": SHIPS, **brought}),
        }
    )
    hits = fleet.discover_joinable("ship", lake, families=False)
    assert hits["table"].iloc[0] == "harbour/crews" and hits["usefulness"].iloc[0] > hits["usefulness"].iloc[1]
    assert hits["table"].iloc[-1] == "harbour/fleet" and hits["copy"].iloc[-1]


def test_what_brings_nothing_comes_after_all_plausible_hits_that_bring_something(build):
    frame = pd.DataFrame({"ship": SHIPS, "tons": range(20)})
    lake = build(
        {
            "old": pd.DataFrame({"ship": [*SHIPS[:19], "Ark"], "tons": range(100, 120)}),
            "few": pd.DataFrame({"vessel": SHIPS[:12] * 2, "berth": [f"b{i}" for i in range(24)]}),
        }
    )
    hits = frame.discover_joinable("ship", lake)
    assert hits["table"].tolist() == ["few", "old"] and hits["copy"].tolist() == [False, False]
    assert (hits["score"] >= 0.5).all()


def test_every_column_of_the_own_table_is_left_out_whatever_its_headers_and_nulls(build):
    frame = pd.DataFrame(
        {"#": range(20), "home": [*SHIPS[:19], None], "away": [None, *SHIPS[:18], SHIPS[2]], "??": "x"}
    )
    lake = build({"own": frame, "other": pd.DataFrame({"home": SHIPS, "crew": [f"c{i}" for i in range(20)]})})
    hits = frame.discover_joinable("home", lake, families=False)
    assert hits["table"].iloc[0] == "other"
    own = hits[hits["table"] == "own"]
    assert set(own["column"]) == {"home", "away"} and own["copy"].all() and (own["usefulness"] == 0).all()
    report = frame.auto_join(lake, on="home").attrs["dfjoin"]
    assert [one["table"] for one in report["joined"]] == ["other"]


def test_a_copy_is_known_by_a_column_whose_own_score_is_too_low(build):
    """Its columns have exchanged their names: the one that has the query's values is called otherwise."""
    some = [SHIPS[i % 12] for i in range(20)]
    frame = pd.DataFrame({"ship": some, "sister": SHIPS})
    lake = build({"turned": pd.DataFrame({"ship": SHIPS, "sister": some})})
    scores = frame.discover_joinable("ship", lake, families=False).set_index("column")["score"]
    assert scores["sister"] < scores["ship"]
    (hit,) = frame.discover_joinable("ship", lake, min_score=scores.mean()).itertuples()
    assert (hit.column, hit.copy, hit.usefulness) == ("ship", True, 0.0)
