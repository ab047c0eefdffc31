"""Without `on`, columns of a frame that stand together in a table are one key; a named key is joined whatever its score."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinWarning, InvalidParameterError

FIRST = ["Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Tony", "John"]
LAST = ["Lovelace", "Hopper", "Turing", "Dijkstra", "Liskov", "Knuth", "Hoare", "Backus"]
LANDS = ["Norway", "Sweden", "Finland", "Denmark", "Iceland", "Estonia"]
TOWNS = ["Springfield", "Portland", "Columbus", "Aurora", "Salem", "Fairview"]
STATES = ["Illinois", "Oregon", "Ohio", "Maine", "Georgia", "Missouri"]


def pairs(one, other, shift=1):
    """Each value of one column with each of the other, with a measure that tells the rows apart."""
    rows = [(a, b) for i, a in enumerate(one) for j, b in enumerate(other) if (i + j) % (shift + 1) < shift]
    return [a for a, _ in rows], [b for _, b in rows]


TASKS = {
    "entity and year": (("land", "year"), *pairs(LANDS, range(1990, 2005), 7)),
    "first and last name": (("first_name", "last_name"), *pairs(FIRST, LAST)),
    "city and state": (("city", "state"), *pairs(TOWNS, STATES)),
    "team and season": (("team", "season"), *pairs([f"{t} FC" for t in TOWNS], range(1980, 2000), 9)),
}


def joined(wide):
    return [(tuple(step["on"]), step["table"]) for step in wide.attrs["dfjoin"]["joined"]]


@pytest.mark.parametrize("task", TASKS)
def test_columns_that_stand_together_are_one_key(build, task):
    names, one, other = TASKS[task]
    table = pd.DataFrame({names[0]: one, names[1]: other, "speed": np.arange(len(one)) * 1.37 + 2})
    df = table[list(names)].sample(frac=0.6, random_state=1).assign(spent=lambda d: np.arange(len(d)) * 0.71)
    lake = build({"figures": table, "notes": pd.DataFrame({"note": ["x", "y"], "mark": [1.5, 2.5]})})
    wide = dfjoin.auto_join(df.reset_index(drop=True), lake)
    assert joined(wide) == [(names, "figures")]
    expected = df.reset_index(drop=True).merge(table, on=list(names), how="left")
    assert wide["speed"].tolist() == expected["speed"].tolist()


def test_rows_that_were_chosen_by_one_year_are_joined_by_it_too(build):
    land, year = pairs(LANDS, range(1990, 2005))
    panel = pd.DataFrame({"land": land, "year": year, "speed": np.arange(len(land)) * 1.37 + 2})
    lake = build({"figures": panel, "notes": pd.DataFrame({"note": ["x", "y"], "mark": [1.5, 2.5]})})
    df = panel.loc[panel["year"] == 1995, ["year", "land"]].assign(spent=lambda d: np.arange(len(d)) * 0.71)
    wide = dfjoin.auto_join(df, lake)
    assert joined(wide) == [(("year", "land"), "figures")]
    assert wide["speed"].tolist() == panel.loc[df.index, "speed"].tolist()


def test_a_table_that_has_the_year_of_all_rows_for_others_is_not_joined_without_it(build):
    land, year = pairs(LANDS, range(1990, 2005))
    panel = pd.DataFrame({"land": land, "year": year, "speed": np.arange(len(land)) * 1.37})
    others = pd.DataFrame({"land": TOWNS, "year": 1995, "speed": np.arange(6) * 0.5})
    lake = build({"figures": pd.concat([panel[panel["year"] != 1995], others], ignore_index=True)})
    df = pd.DataFrame({"land": LANDS, "year": 1995, "spent": np.arange(6) * 0.71})
    wide = dfjoin.auto_join(df, lake, on_no_match="ignore")
    assert joined(wide) == []
    assert "too few pairs of land and year stand in one row of it" in str(dfjoin.report(wide))


def test_a_number_that_is_the_year_of_all_rows_under_another_header_tells_nothing(build):
    panel = pd.DataFrame([(land, year) for land in LANDS for year in range(2000, 2010)], columns=["land", "year"])
    panel = panel.assign(staff=[1960 + 7 * i % 50 for i in range(60)], speed=np.arange(60) * 1.37)
    assert 1995 in set(panel["staff"])
    df = pd.DataFrame({"land": LANDS, "year": 1995, "spent": np.arange(6) * 0.71})
    wide = dfjoin.auto_join(df, build({"figures": panel}))
    assert joined(wide) == [(("land",), "figures")]
    assert wide["speed"].tolist() == pytest.approx(panel.groupby("land")["speed"].mean()[LANDS].tolist())


def test_two_columns_that_lead_to_one_column_of_a_table_are_no_pair(build):
    teams = [f"Team {a}{b}" for a in "abcdef" for b in "uvwxyz"]
    players = pd.DataFrame({"team": teams * 3, "player": [f"p {i}" for i in range(108)], "goals": np.arange(108) / 2})
    df = pd.DataFrame({"home": teams, "away": teams[1:] + teams[:1], "spent": np.arange(36) * 0.71})
    with pytest.raises(InvalidParameterError, match="'home', 'away' join equally well"):
        dfjoin.auto_join(df, build({"players": players}))


def test_a_pair_that_the_table_has_several_times_is_the_key_where_no_column_is_one_alone(build):
    names, one, other = TASKS["city and state"]
    table = pd.DataFrame({"city": one * 2, "state": other * 2, "speed": np.arange(2 * len(one)) * 1.5})
    df = table.iloc[: len(one)].sample(frac=0.6, random_state=1)[list(names)].assign(spent=0.5)
    totals = pd.DataFrame({"state": STATES, "people": np.arange(6) * 1.25})
    wide = dfjoin.auto_join(df.reset_index(drop=True), build({"figures": table, "totals": totals}))
    assert joined(wide) == [(names, "figures")]
    expected = df.merge(table.groupby(list(names), as_index=False)["speed"].mean(), on=list(names), how="left")
    np.testing.assert_allclose(wide["speed"].to_numpy(float), expected["speed"])


def test_a_table_of_the_pair_alone_does_not_stand_before_one_that_brings_something(build):
    names, one, other = TASKS["city and state"]
    pair = pd.DataFrame({"city": one, "state": other, "seat": None})
    once_more = pd.concat([pair, pair.iloc[:2]], ignore_index=True).assign(speed=lambda d: np.arange(len(d)) * 1.5)
    states = pd.DataFrame({"state": STATES, "people": np.arange(6) * 1.25})
    lake = build({"towns": pair, "figures": once_more, "states": states})
    wide = dfjoin.auto_join(pair.iloc[::2].reset_index(drop=True).assign(spent=0.5), lake)
    assert joined(wide)[0] == (names, "figures")
    expected = pair.iloc[::2].merge(once_more.groupby(list(names), as_index=False)["speed"].mean(), on=list(names))
    np.testing.assert_allclose(wide["speed"].to_numpy(float), expected["speed"])


def test_a_pair_is_no_key_of_a_table_that_one_of_its_columns_names_alone(build):
    codes = [name[:3].upper() for name in LANDS]
    table = pd.DataFrame({"land": LANDS, "land_code": codes, "area": np.arange(6) * 1.5})
    df = pd.DataFrame({"land": LANDS * 2, "land_code": codes * 2, "visit": np.arange(12) * 0.5})
    ((on, name),) = joined(dfjoin.auto_join(df, build({"lands": table}), on_no_match="ignore")) or [((), "")]
    assert len(on) == 1 and name == "lands"


def test_by_a_part_of_a_key_whose_pairs_do_not_occur_nothing_is_joined(build):
    senate = pd.DataFrame({"first_name": FIRST * 2, "last_name": [f"{n}son" for n in LAST * 2], "seat": range(16)})
    df = pd.DataFrame({"first_name": FIRST, "last_name": LAST, "spent": np.arange(8) * 0.7})
    lake = build({"senate": senate})
    wide = dfjoin.auto_join(df, lake, on_no_match="ignore")
    assert joined(wide) == []
    reasons = [passed["reason"] for passed in wide.attrs["dfjoin"]["passed_over"]]
    assert (
        "too few pairs of first_name and last_name stand in one row of it: name the key with `on` if it is meant"
        in reasons
    )
    assert joined(dfjoin.auto_join(df, lake, on="first_name")) == [(("first_name",), "senate")]


def test_a_table_of_which_one_column_is_the_key_is_joined_by_it(build):
    table = pd.DataFrame(
        {"land": LANDS, "capital": ["Oslo", "Stockholm", "Helsinki", "Copenhagen", "Reykjavik", "Tallinn"]}
    )
    df = pd.DataFrame({"land": LANDS * 2, "visit": np.arange(12) * 0.5})
    assert joined(dfjoin.auto_join(df, build({"lands": table}))) == [(("land",), "lands")]


def test_a_named_key_is_a_decision_that_the_score_does_not_refuse(build):
    rng = np.random.default_rng(3)
    codes = rng.choice(np.arange(1000, 9999), 40, replace=False)
    table = pd.DataFrame({"post": codes, "height": np.arange(40) + 0.5})
    df = pd.DataFrame({"mail": rng.choice(codes, 90)})
    lake = build({"t": table})
    score = df.discover_joinable("mail", lake, min_score=0)["score"].iloc[0]
    assert 0.1 <= score < 0.5, "numbers that no header names"
    wide = dfjoin.auto_join(df, lake, on="mail")
    assert wide["height"].notna().all()
    against = wide.attrs["dfjoin"]["joined"][0]["against"]
    assert against.startswith(
        f"score {score:.2f} is below 0.5, a weak candidate, joined since the key or the table was"
    )
    assert f"against: {against}" in str(dfjoin.report(wide))
    with pytest.warns(DfjoinWarning, match="pass min_score=0 if it is meant"):
        assert dfjoin.auto_join(df, lake, on="mail", min_score=0.6).shape == df.shape, "a limit that is given holds"
    repeated = build({"t": pd.concat([table, table.assign(height=1.0)])})
    with pytest.warns(DfjoinWarning, match="pass min_score=0 if it is meant"):
        assert dfjoin.auto_join(df, repeated, on="mail").shape == df.shape, "it is not unique on the right side"


def test_a_named_table_is_joined_though_chance_explains_its_numbers(build):
    ranks = pd.DataFrame({"rank": range(1, 101), "title": [f"t{i}" for i in range(100)]})
    df = pd.DataFrame({"staff": [3, 4, 5, 60]})
    lake = build({"ranks": ranks})
    assert dfjoin.auto_join(df, lake, on="staff", on_no_match="ignore").shape == df.shape
    assert dfjoin.auto_join(df, lake, on="staff", tables="ranks")["title"].tolist() == ["t2", "t3", "t4", "t59"]
