"""Rank by usefulness: what is shown, families, copies, segments, modes."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError
from dfjoin.search.usefulness import ranking
from dfjoin.search.usefulness.ranking import verdict_of

LANDS = [f"{a}{b}land" for a in ("north", "east", "south", "west") for b in ("er", "mark", "holm", "by", "um")]
COLUMNS = ["score", "usefulness", "verdict", "brings", "n_similar", "copy"]


@pytest.fixture
def frame():
    return pd.DataFrame({"country": LANDS, "visits": range(20, 40)})


def facts(n=20, **columns):
    return pd.DataFrame({"country": LANDS[:n], **columns})


@pytest.fixture
def tables():
    numbers = pd.DataFrame({"rank": range(1, 100), "points": range(1, 100)})
    return {
        "areas": facts(area=np.arange(20) / 3, capital=[f"city{i}" for i in range(20)]),
        "years/2019": facts(gdp=range(20), people=range(20), river=range(20), flag=range(20)),
        "years/2021": facts(gdp=range(1, 21), people=range(20), river=range(20), flag=range(20)),
        "years/2020": facts(18, gdp=range(18), people=range(18), river=range(18), flag=range(18)),
        "numbers": numbers,
        "own": pd.DataFrame({"country": LANDS, "visits": range(20, 40)}),
    }


@pytest.fixture
def lake(build, tables):
    return build(tables)


def test_what_is_useful_comes_first_and_a_copy_last(frame, lake):
    hits = frame.discover_joinable("country", lake)
    assert list(hits.columns[-6:]) == COLUMNS
    assert hits["table"].iloc[-1] == "own" and hits["copy"].tolist() == [False] * (len(hits) - 1) + [True]
    assert hits["usefulness"].is_monotonic_decreasing and (hits["score"] >= 0.5).all()
    assert set(hits["verdict"]) <= {"strong", "plausible"}
    row = hits[hits["table"] == "areas"].iloc[0]
    assert (row["brings"], row["matched"]) == ("area, capital", 20)


def test_tables_of_one_schema_are_one_hit_and_the_newest_complete_one_stands_first(frame, lake):
    hits = frame.discover_joinable("country", lake)
    (at,) = np.flatnonzero(hits["table"].str.startswith("years/"))
    assert (hits["table"].iloc[at], hits["n_similar"].iloc[at]) == ("years/2021", 2)
    similar = hits.similar(int(at))
    assert similar["table"].tolist()[0] == "years/2021" and len(similar) == 3
    every = frame.discover_joinable("country", lake, families=False)
    assert every["table"].str.startswith("years/").sum() == 3 and (every["n_similar"] == 0).all()


def test_searches_with_and_without_families_and_joins_choose_by_one_order(build, tables):
    visits = pd.DataFrame({"country": [*LANDS, LANDS[0]], "visits": range(21)})
    lake = build({name: table for name, table in tables.items() if name.startswith("years/")})
    (folded,) = visits.discover_joinable("country", lake)["table"]
    every = visits.discover_joinable("country", lake, families=False)["table"].tolist()
    (joined,) = dfjoin.auto_join(visits, lake, on="country").attrs["dfjoin"]["joined"]
    assert folded == every[0] == joined["table"] == "years/2021"
    assert sorted(every) == ["years/2019", "years/2020", "years/2021"]


def test_numbers_that_match_by_chance_are_not_shown_and_told_of(lake):
    df = pd.DataFrame({"staff": [3, 4, 5, 60, 12]})
    hits = df.discover_joinable("staff", lake)
    assert len(hits) == 0
    (told,) = hits.attrs["dfjoin"]["searches"]
    assert told["ranked_by"] == "useful" and told["n_below"] == told["n_ranked"] > 0
    asked = df.discover_joinable("staff", lake, min_score=0)
    assert len(asked) > 0 and (asked["score"] < 0.5).all()
    assert len(df.discover_joinable("staff", lake, k=2)) == 2, "with k, all scores are shown"


def test_rank_matched_has_the_counts_alone(frame, lake):
    hits = frame.discover_joinable("country", lake, rank="matched")
    assert not set(COLUMNS) & set(hits.columns)
    assert hits["matched"].is_monotonic_decreasing
    useful = frame.discover_joinable("country", lake, k=99, families=False)
    counts = {(h.table, h.column): h.matched for h in hits.itertuples()}
    assert {(h.table, h.column): h.matched for h in useful.itertuples()} == counts
    with pytest.raises(InvalidParameterError, match=r"`similar` needs candidates that are ranked by usefulness"):
        hits.similar(0)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rank": "matched", "min_score": 0.2}, r'`min_score` belongs to rank="useful".*; leave it out'),
        ({"plan": "josie", "families": False}, r"`families` belongs to .* since `plan` was given; leave it out"),
        ({"rank": "useful", "plan": "josie"}, r'`plan` belongs to rank="matched", but the rank is "useful"'),
        ({"rank": "best"}, r"`rank` must be one of 'useful', 'matched', got 'best'"),
    ],
)
def test_arguments_that_contradict_the_rank(frame, lake, options, text):
    with pytest.raises(InvalidParameterError, match=text):
        frame.discover_joinable("country", lake, **options)


def test_rows_do_not_depend_on_how_the_index_is_cut(frame, tables, tmp_path):
    one = dfjoin.build_lake(tables, tmp_path / "one", engine="inline", progress=False)
    many = dfjoin.build_lake({"areas": tables["areas"]}, tmp_path / "many", engine="inline", progress=False)
    for name in list(tables)[1:]:
        many.add({name: tables[name]}, engine="inline", progress=False)
    many.add({"gone": tables["areas"]}, engine="inline", progress=False).remove("gone")
    many = dfjoin.open_lake(tmp_path / "many")
    for options in ({}, {"k": 50}, {"k": 50, "families": False}, {"threshold": 0.5}, {"mode": "lsh", "threshold": 0.5}):
        one_hits, many_hits = (pd.DataFrame(frame.discover_joinable("*", lake, **options)) for lake in (one, many))
        pd.testing.assert_frame_equal(one_hits, many_hits)


def test_of_equal_tables_in_two_segments_the_last_name_stands_first(frame, tables, build):
    lake = build({"2025": tables["areas"]}).add({"2024": tables["areas"]}, engine="inline", progress=False)
    assert len(lake.segments) == 2
    assert frame.discover_joinable("country", lake, families=False)["table"].tolist()[:2] == ["2025", "2024"]


def test_rows_of_the_frame_count_where_they_are_asked_for(lake):
    df = pd.DataFrame({"country": [LANDS[0]] * 9 + LANDS[1:4]})
    hits = df.discover_joinable("country", lake, rank="useful", weighted=True, threshold=0.5)
    assert (hits["matched_rows"] == 12).all() and (hits["matched"] == 4).all()


def test_verdicts():
    assert [verdict_of(score) for score in (1, 0.85, 0.84, 0.5, 0.49, 0.1, 0.09, 0)] == [
        "strong", "strong", "plausible", "plausible", "weak", "weak", "chance", "chance",
    ]  # fmt: skip


def test_evidence_is_told_in_words_whatever_the_rank(frame, lake):
    for rank in ("useful", "matched"):
        hits = frame.discover_joinable("country", lake, rank=rank)
        told = hits.explain(int(np.flatnonzero(hits["table"] == "areas")[0]))
        assert told.verdict == "strong" and told.score > 0.85
        assert "the headers are the same" in told.evidence_for
        assert len(told.rows) == 3 and next(iter(told.rows[0])) == "country"
    chance = pd.DataFrame({"staff": [3, 4, 5, 60]}).discover_joinable("staff", lake, k=1).explain(0)
    assert any(text.startswith("the shared numbers tell nothing") for text in chance.evidence_against)


def test_without_on_measures_serial_numbers_and_flags_are_no_keys(lake):
    df = pd.DataFrame({"no": range(1, 21), "points": range(1, 40, 2), "flag": [0, 1] * 10})
    wide = df.auto_join(lake, on_no_match="ignore")
    reasons = {p["reason"] for p in wide.attrs["dfjoin"]["passed_over"]}
    assert not wide.attrs["dfjoin"]["joined"]
    assert {
        "column 'no' as a key: it is a serial number", "column 'points' as a key: it is a measure",
        "column 'flag' as a key: it has fewer than three values",
    } <= reasons  # fmt: skip
    assert df.auto_join(lake, on="points", min_score=0, threshold=0).shape[1] > df.shape[1], "a named one is a key"
    joined = df.assign(country=LANDS).auto_join(lake, exclude=["years/*", "own"])
    assert [step["table"] for step in joined.attrs["dfjoin"]["joined"]] == ["areas"]


def test_the_member_of_a_family_that_shares_the_most_values_stands_first(build):
    names = [f"{land} {i}" for land in LANDS for i in range(10)]
    frame = pd.DataFrame({"country": names, "visits": range(200)})
    years = {
        "years/2019": pd.DataFrame({"country": names, "gdp": range(200)}),
        "years/2020": pd.DataFrame({"country": [*names[:198], "other", "another"], "gdp": range(200)}),
    }
    hits = frame.discover_joinable("country", build(years))
    assert hits[["table", "matched", "n_similar"]].values.tolist() == [["years/2019", 200, 1]]
    useful = hits.similar(0)["usefulness"]
    assert useful[1] >= 0.95 * useful[0], "both are nearly as useful"


def random_lake(seed):
    """Tables of columns that share many values, few or one, under names of their own."""
    rng = np.random.default_rng(seed)
    words = [f"word {i} {'x' * (i % 7)}" for i in range(60)]
    return {
        f"t{i}": pd.DataFrame({f"head {i}": pd.Series(rng.choice(words, rng.integers(1, 60), replace=False)), "n": i})
        for i in range(25)
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_of_many_candidates_the_best_by_shared_values_are_ranked_as_all_are(build, monkeypatch, seed, weighted):
    """Sums are those of all candidates, whichever of them are summed, by posting lists or sets."""
    lake = build(random_lake(seed))
    words = [f"word {i} {'x' * (i % 7)}" for i in range(10, 40)]
    frame = pd.DataFrame({"word": words + words[:9] * 3})
    asked = {"k": 30, "families": False, "rank": "useful", "weighted": weighted}
    every = frame.discover_joinable("word", lake, **asked)
    by_shared = frame.discover_joinable("word", lake, k=30, rank="matched", weighted=weighted)
    best = set(zip(by_shared["table"][:4], by_shared["column"][:4], strict=True))
    monkeypatch.setattr(ranking, "MOST_RANKED", 5)
    monkeypatch.setattr(ranking, "_RANKED_OF_MORE", 4)
    few = frame.discover_joinable("word", lake, **asked)
    notes = few.attrs["dfjoin"]["searches"][0]
    assert (notes["n_ranked"], notes["n_candidates"]) == (4, len(every)) and len(every) > 5
    is_best = [pair in best for pair in zip(every["table"], every["column"], strict=True)]
    pd.testing.assert_frame_equal(pd.DataFrame(few), pd.DataFrame(every[is_best].reset_index(drop=True)))
