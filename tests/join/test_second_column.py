"""Joins of a lake on several columns: named, picked, by a plan, and found where one column is m:m."""

import numpy as np
import pandas as pd
import pytest

import dfjoin

LANDS, YEARS = ["Peru", "Chad", "Laos", "Mali", "Fiji", "Cuba"], [2018, 2019, 2020]
PANEL = pd.DataFrame([(land, year) for land in LANDS for year in YEARS], columns=["country", "year"])
TABLES = {
    "rain": PANEL.assign(rain=np.arange(18) + 0.25),
    "rivers": pd.DataFrame({"country": LANDS * 2, "river": [f"river {i}" for i in range(12)]}),
}
DF = PANEL.sample(frac=1, random_state=1).rename(columns={"country": "nation"}).assign(x=np.arange(18) / 7)
QUIET = {"on_no_match": "ignore"}


def _joined(wide):
    return [(step["on"], step["table"], step["relationship"]) for step in wide.attrs["dfjoin"]["joined"]]


def _rain(wide):
    expected = DF.merge(TABLES["rain"], left_on=["nation", "year"], right_on=["country", "year"], how="left")["rain"]
    return wide["rain"].tolist() == expected.tolist()


def test_a_key_of_two_columns_is_joined_row_by_row(build):
    lake = build(TABLES)
    wide = DF.auto_join(lake, on=["nation", "year"])
    assert _joined(wide) == [(["nation", "year"], "rain", "1:1")] and _rain(wide)
    plan = wide.attrs["dfjoin"]["plan"]
    assert _rain(DF.auto_join(plan)) and plan["steps"][0]["right_on"] == ["country", "year"]
    hits = DF.discover_joinable(["nation", "year"], lake)
    assert _rain(DF.auto_join(hits.iloc[[0]]))
    assert DF.auto_join(lake, on=["nation", "year"], columns=["rain"]).columns.tolist() == [*DF.columns, "rain"]


def test_why_a_key_is_not_joined_is_told(build):
    own = DF.assign(year=DF["year"] + 2)
    report = own.auto_join(build(TABLES), on=["nation", "year"], **QUIET).attrs["dfjoin"]
    assert not report["joined"]
    assert report["passed_over"][0]["reason"].startswith("containment 0.333 is below the threshold 0.5")


@pytest.mark.parametrize("on", ["nation", None])
def test_a_second_column_is_found_where_one_is_many_to_many(build, on):
    wide = DF.auto_join(build(TABLES), on=on, tables="rain")
    assert _joined(wide) == [(["nation", "year"], "rain", "1:1")] and _rain(wide)


def test_without_a_second_column_rows_that_have_nothing_to_do_with_each_other_do_not_meet(build):
    wide = DF.auto_join(build(TABLES), on="nation", tables="rivers", **QUIET)
    assert not wide.attrs["dfjoin"]["joined"]
    assert wide.attrs["dfjoin"]["passed_over"][0]["reason"].startswith("m:m: keys stand in several rows on both sides")


def test_no_second_column_is_taken_below_the_threshold_or_the_score(build):
    lake = build(TABLES)
    for options in ({"threshold": 0.9}, {"min_score": 0.9999}):
        own = pd.concat([DF, DF.assign(year=1950 + np.arange(18))], ignore_index=True)
        wide = own.auto_join(lake, on="nation", tables="rain", **options, **QUIET)
        assert not wide.attrs["dfjoin"]["joined"]


def test_a_column_of_the_same_things_is_no_second_column(build):
    games = [(a, b) for a in LANDS for b in LANDS if a != b]
    own = pd.DataFrame(games, columns=["home", "away"]).assign(goals=np.arange(30) / 8)
    lake = build({"last_year": own.sample(frac=1, random_state=2).assign(points=lambda f: f.pop("goals") + 100)})
    assert not own.auto_join(lake, on="home", **QUIET).attrs["dfjoin"]["joined"]
    assert own.auto_join(lake, on=["home", "away"])["points"].tolist() == (own["goals"] + 100).tolist()


def test_the_shell_takes_several_columns(tmp_path, build, capsys):
    from dfjoin.cli.main import main

    DF.to_csv(tmp_path / "own.csv", index=False)
    lake = build(TABLES)
    index = str(lake.path)
    assert (
        main(["discover", index, str(tmp_path / "own.csv"), "--on", "nation", "--on", "year", "--format", "csv"]) == 0
    )
    assert "country + year" in capsys.readouterr().out
    assert (
        main(
            ["join", str(tmp_path / "own.csv"), index, "--on", "nation", "--on", "year", "-o", str(tmp_path / "w.csv")]
        )
        == 0
    )
    assert pd.read_csv(tmp_path / "w.csv")["rain"].notna().all()
    assert main(["discover", index, str(tmp_path / "own.csv"), "--on", "nation", "--on", "x"]) == 0
    assert "no table has rows with these keys" in capsys.readouterr().out


def test_a_report_says_both_columns(build):
    wide = DF.auto_join(build(TABLES), on="nation", tables="rain")
    assert "joined rain on nation + year = country + year, 1:1" in str(dfjoin.report(wide))


GOVERNORS = pd.DataFrame(
    {
        "first_name": ["Kay", "Mike", "Doug", "Gavin", "Jared", "Ned", "Ron", "Brian"],
        "last_name": ["Ivey", "Dunleavy", "Ducey", "Newsom", "Polis", "Lamont", "DeSantis", "Kemp"],
    }
)


def test_people_are_joined_by_both_names_with_a_table_that_has_each_last_name_once(build):
    lake = build({"governors": GOVERNORS.assign(born=np.arange(1944, 1952) + 0.5)})
    df = pd.concat([GOVERNORS[2:], pd.DataFrame({"first_name": ["Mary", "Otto"], "last_name": ["Ivey", "Dunleavy"]})])
    wide = df.assign(x=1.5).auto_join(lake)
    assert _joined(wide) == [(["first_name", "last_name"], "governors", "1:1")]
    assert wide["born"].tolist()[:6] == [1946.5 + i for i in range(6)] and wide["born"][6:].isna().all()


def test_other_people_of_the_same_last_names_are_not_joined(build):
    lake = build({"governors": GOVERNORS.assign(born=np.arange(1944, 1952) + 0.5)})
    df = GOVERNORS.assign(first_name=GOVERNORS["first_name"].to_numpy()[::-1])
    report = df.auto_join(lake, **QUIET).attrs["dfjoin"]
    assert not report["joined"]
    reasons = [row["reason"] for row in report["passed_over"] if row["column"] == "last_name"]
    assert reasons == [
        "too few pairs of first_name and last_name stand in one row of it: name the key with `on` if it is meant"
    ]
    assert _joined(df.auto_join(lake, on="last_name")) == [(["last_name"], "governors", "1:1")]


@pytest.mark.parametrize("states", [["Ohio"], ["Ohio", "Texas"], ["Ohio", "Guam"]])
def test_cities_of_few_states_are_not_joined_with_those_of_others(build, states):
    cities = pd.DataFrame({"city": [f"Town {i}" for i in range(42)], "state": ["Ohio", "Texas", "Oregon"] * 14})
    cities["rain"] = np.arange(42) / 8
    lake = build({"cities": cities})
    own = cities[cities["state"].isin(states)].reset_index(drop=True)
    wide = own[["city", "state"]].auto_join(lake)
    assert _joined(wide) == [(["city", "state"], "cities", "1:1")]
    assert wide["rain"].tolist() == own["rain"].tolist()
    others = cities[["city"]].assign(state=np.resize(np.repeat(states, 7), 42))
    assert not _joined(others.auto_join(lake, **QUIET))


def test_a_column_of_few_values_that_completes_no_name_is_no_reason_against_a_key(build):
    shops = pd.DataFrame({"shop": [f"shop {i}" for i in range(42)], "grade": np.repeat(["good", "bad"], 21)})
    sales = pd.DataFrame({"shop": shops["shop"].repeat(3), "grade": np.repeat(["bad", "good"], 63)})
    sales["price"] = np.arange(126) / 8
    assert _joined(shops.auto_join(build({"sales": sales}))) == [(["shop"], "sales", "1:m")]


def test_the_year_in_which_an_award_began_is_not_that_of_its_winners(build):
    awards = pd.DataFrame(
        {"award": [f"award {i}" for i in range(9)], "year_introduced": [1982 + i % 3 for i in range(9)]}
    )
    winners = pd.DataFrame(
        [(f"award {i}", 1982 + i % 3 + 4 * n, f"team {i + n}") for i in range(9) for n in range(5)],
        columns=["award", "year", "team_name"],
    )
    wide = awards.auto_join(build({"winners": winners}))
    assert _joined(wide) == [(["award"], "winners", "1:m")]
    same = awards.rename(columns={"year_introduced": "Year"}).auto_join(build({"winners": winners}))
    assert _joined(same) == [(["award", "Year"], "winners", "1:1")]


def test_a_table_that_one_column_names_is_not_joined_by_a_pair_of_others(build):
    """A driver's team and nationality are those of another driver of the next season."""
    drivers = pd.DataFrame(
        {
            "driver": [f"driver {i}" for i in range(24)],
            "team": [f"team {i // 4}" for i in range(24)],
            "country": [f"country {i % 4 + 4 * (i % 2)}" for i in range(24)],
        }
    )
    older = drivers.assign(driver=[f"driver {i if i < 20 else i + 9}" for i in range(24)], points=np.arange(24) + 0.5)
    others = older.assign(driver=[f"pilot {i}" for i in range(24)], wins=np.arange(24) * 2.5).drop(columns="points")
    lake = build({"older": older, "others": others})
    wide = drivers.auto_join(lake, k=2)
    assert (["driver"], "older", "1:1") in _joined(wide) and wide["points"].isna().sum() == 4
