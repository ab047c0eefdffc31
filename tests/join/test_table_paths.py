"""Reaching tables over one join or several, against joins that are made by hand."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, TableNotFoundError
from dfjoin.join.keys import KeyColumns
from dfjoin.join.lakes.path_search import PathOptions
from dfjoin.join.lakes.table_hops import PathTable, UnjoinedTable
from dfjoin.join.lakes.table_paths import path_tables
from dfjoin.join.options import JoinOptions, join_options
from dfjoin.join.plan import JoinStep
from dfjoin.join.rows.report import JoinAccount
from dfjoin.types import IndexSettings

N = 60
LANDS = [f"{a}{b}{c}ia" for a in "bdfg" for b in ("ar", "el", "os") for c in "klmnr"]
CODES = [f"X{i * 7 % 100:02d}{'QWERTZ'[i % 6]}" for i in range(N)]


@pytest.fixture
def frames(rng):
    harbours = [f"Port {name.title()}" for name in LANDS]
    return {
        "lands": pd.DataFrame({"land": [name.title() for name in LANDS], "code": CODES, "n": rng.normal(size=N)}),
        "harbours": pd.DataFrame({"code": CODES[:48], "harbour": harbours[:48]}),
        "ships": pd.DataFrame({"harbour": np.repeat(harbours, 2), "tons": rng.normal(size=2 * N)}),
    }


@pytest.fixture
def df():
    return pd.DataFrame({"land": LANDS[:50], "v": np.arange(50) / 7})


def joined(df, lake, *, join=None, min_score=0.5, threshold=0.5, **options):
    join = join or JoinOptions(min_score=min_score, threshold=threshold)
    found = list(path_tables(df, lake.snapshot, PathOptions(join=join, **options)))
    return {r.table: r for r in found if isinstance(r, PathTable)}, [r for r in found if isinstance(r, UnjoinedTable)]


def test_each_hop_reaches_further(build, frames, df):
    lake = build(frames)
    for hops, names in ((1, ["lands"]), (2, ["lands", "harbours"]), (3, ["lands", "harbours", "ships"])):
        assert list(joined(df, lake, max_hops=hops)[0]) == names


def test_the_joined_rows_are_those_of_joins_by_hand(build, frames, df):
    found, _ = joined(df, build(frames), max_hops=3)
    ships = found["ships"]
    assert ships.text == "land → lands.code → harbours.harbour → ships"
    by_hand = frames["lands"].assign(land=LANDS).set_index("land")["code"][df["land"]]
    harbour = by_hand.map(frames["harbours"].set_index("code")["harbour"])
    tons = harbour.map(frames["ships"].groupby("harbour")["tons"].mean())
    np.testing.assert_allclose(ships.frame[ships.new_columns["tons"]], tons)
    assert (ships.frame[ships.counted] == np.where(tons.isna(), 0, 2)).all()
    assert [hop.relationship for hop in ships.hops] == ["1:1", "1:1", "1:m"]


def test_a_table_that_brings_no_column_and_counts_nothing_has_no_name_of_a_count(df):
    for counted, name in ((True, "v"), (False, ""), (None, "")):
        step = JoinStep(["land"], "lands", ["land"], [], counted=counted)
        assert PathTable((), (step,), JoinAccount(KeyColumns(df, IndexSettings())), 1.0).counted == name


def test_scores_and_containments_are_multiplied(build, frames, df):
    lake = build(frames)
    ships = joined(df, lake, max_hops=3)[0]["ships"]
    assert ships.score == pytest.approx(np.prod([hop.score for hop in ships.hops]))
    assert ships.containment == pytest.approx(np.prod([hop.containment for hop in ships.hops]))
    assert ships.hops[1].containment == pytest.approx(48 / 50)
    just_above = ships.containment + 1e-9
    assert "ships" not in joined(df, lake, max_hops=3, threshold=just_above)[0]
    assert "harbours" not in joined(df, lake, max_hops=3, min_score=ships.hops[0].score * ships.hops[1].score + 1e-9)[0]


def test_a_key_is_a_value_of_the_table_and_no_mean(build, df, rng):
    """Of several rows the number that joins on would be their mean."""
    number = np.arange(1000, 1000 + 2 * N)
    frames = {
        "visits": pd.DataFrame({"land": np.repeat(LANDS, 2), "visit": rng.permutation(number)}),
        "guests": pd.DataFrame({"visit": np.arange(1000, 1000 + 2 * N), "guest": rng.normal(size=2 * N)}),
    }
    assert list(joined(df, build(frames))[0]) == ["visits"]


def test_row_numbers_join_under_one_name_only(build, rng):
    df = pd.DataFrame({"house_nr": rng.permutation(100), "size": rng.normal(size=100)})
    frames = {
        "same": pd.DataFrame({"house_nr": np.arange(100), "a": rng.normal(size=100)}),
        "other": pd.DataFrame({"ticket": np.arange(100), "b": rng.normal(size=100)}),
        "id": pd.DataFrame({"id": np.arange(100), "c": rng.normal(size=100)}),
    }
    lake = build(frames)
    assert list(joined(df, lake, min_score=0.0)[0]) == ["same"]
    named = joined(df[["house_nr"]].rename(columns={"house_nr": "q"}), lake, on=(("q",),), min_score=0.0)[0]
    assert set(named) == {"same", "other", "id"}, "the user says that it is a key"


def test_m_to_m_is_passed_over(build, df, rng):
    lake = build({"visits": pd.DataFrame({"land": np.repeat(LANDS, 2), "days": rng.normal(size=2 * N)})})
    doubled = pd.concat([df, df], ignore_index=True)
    found, passed = joined(doubled, lake)
    assert found == {} and passed[0].reason == "m:m: keys stand in several rows on both sides"
    assert list(joined(df, lake)[0]) == ["visits"]
    named = joined(doubled, lake, on=(("land",),))[0]["visits"]
    means = lake.table("visits").groupby("land")["days"].mean()
    np.testing.assert_allclose(
        named.frame[named.new_columns["days"]], means[doubled["land"]], err_msg="it is named as a key"
    )


def test_tables_without_other_columns_and_bad_rules_are_passed_over(build, frames, df):
    lake = build({"lands": frames["lands"], "names": pd.DataFrame({"land": LANDS, "one": "same"})})
    found, passed = joined(df, lake)
    assert list(found) == ["lands"] and [one.reason for one in passed] == ["it brings no column"]
    _, passed = joined(df, lake, join=join_options(aggregate="mean"))
    assert any("needs numbers" in one.reason for one in passed)


def test_columns_that_are_no_keys_are_not_followed(build, frames, df):
    lake = build(frames)
    options = PathOptions(max_hops=3)
    found = [r.table for r in path_tables(df, lake.snapshot, options, lambda table, column: column != "harbour")]
    assert found == ["lands", "harbours"]
    assert joined(df, lake, never=("land",))[0] == {}


def test_paths_to_a_table(build, frames, df):
    lake = build(frames)
    paths = lake.paths(df, "ships", max_hops=3)
    assert paths["path"].tolist() == ["land → lands.code → harbours.harbour → ships"]
    assert paths["n_hops"].tolist() == [3] and paths["on"].tolist() == ["land"]
    assert paths["column"].tolist() == ["harbour"]
    assert paths["score"][0] == pytest.approx(joined(df, lake, max_hops=3)[0]["ships"].score)
    assert len(lake.paths(df, "ships")) == 0
    assert list(lake.paths(df, "ships")) == list(paths)
    assert lake.paths(df, "lands", on="land")["path"].tolist() == ["land → lands"]
    assert len(lake.paths(df, "lands", on=["v"])) == 0


def test_names_that_look_like_patterns(build, frames, df):
    lake = build({"lands[1]*": frames["lands"], "lands1x": frames["lands"]})
    assert lake.paths(df, "lands[1]*")["path"].tolist() == ["land → lands[1]*"]


def test_illegal_arguments_of_paths(build, frames, df):
    lake = build(frames)
    with pytest.raises(TableNotFoundError):
        lake.paths(df, "no such table")
    with pytest.raises(InvalidParameterError, match="`max_hops` must be"):
        lake.paths(df, "ships", max_hops=0)
    with pytest.raises(InvalidParameterError, match="`min_score` must be"):
        lake.paths(df, "ships", min_score=3)
    with pytest.raises(ColumnNotFoundError, match="`on` must name a column"):
        lake.paths(df, "ships", on="city")
    with pytest.raises(InvalidTypeError, match="`df` must be a DataFrame of pandas or polars"):
        lake.paths([1], "ships")
