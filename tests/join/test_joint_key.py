"""Keys of several columns of two frames that nobody named."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import DfjoinWarning

COUNTRIES = ["France", "Germany", "Spain", "Italy", "Poland", "Portugal", "Austria", "Norway", "Sweden", "Finland"]
TEAMS = ["Lions", "Bears", "Packers", "Vikings", "Colts", "Jets", "Bills", "Giants"]
FIRST = ["James", "Mary", "John", "Linda", "Robert", "Susan", "Michael", "Karen", "David", "Lisa", "Nancy", "Helen"]
LAST = ["Smith", "Brown", "Jones", "Garcia", "Miller", "Davis", "Lopez", "Wilson", "Taylor", "Moore", "Lee", "Clark"]


def _panel(*columns, names, shuffled=0):
    """Return a frame of every combination of some values, in an order drawn by a seed."""
    rows = pd.MultiIndex.from_product(columns, names=names).to_frame(index=False)
    rows = rows.sample(frac=1, random_state=shuffled) if shuffled else rows
    return rows.assign(**{f"v{shuffled}": np.arange(len(rows)) * 1.5 + shuffled}).reset_index(drop=True)


def _people(n, seed):
    """Return people none of whom has the first and the last name of another one."""
    numbers = np.random.default_rng(seed).permutation(len(FIRST) * len(LAST))[:n]
    return pd.DataFrame({"first": [FIRST[i % len(FIRST)] for i in numbers], "last": [LAST[i // 12] for i in numbers]})


def _keys(joined):
    """Return the columns by which a frame was joined with another one."""
    (step,) = joined.attrs["dfjoin"]["plan"]["steps"]
    return step["on"], step["right_on"]


def _same_as_merge(joined, left, right, on, right_on):
    """Compare a join by a key that the right frame has once with pandas' own."""
    merged = left.merge(right, how="left", left_on=on, right_on=right_on)
    brought = [column for column in right if column not in right_on]
    pd.testing.assert_frame_equal(joined[brought].reset_index(drop=True), merged[brought], check_dtype=False)


@pytest.mark.parametrize(
    "names", [["country", "year"], ["Entity", "Year"], ["Country Name", "fiscal_year"], ["nation", "Jahr"]]
)
def test_a_panel_is_joined_by_all_of_its_columns(names):
    left = _panel(COUNTRIES, range(2000, 2020), names=["country", "year"])
    right = _panel(COUNTRIES, range(2000, 2020), names=names, shuffled=1)
    joined = left.auto_join(right)
    assert _keys(joined) == (["country", "year"], names)
    _same_as_merge(joined, left, right, ["country", "year"], names)


@pytest.mark.parametrize(("name", "value"), [("country", "Spain"), ("year", 2007)])
def test_rows_that_were_chosen_by_one_value_of_a_key_are_joined_by_it_too(name, value):
    names = ["country", "year"]
    panel = _panel(COUNTRIES, range(2000, 2020), names=names)
    left = panel[panel[name] == value].reset_index(drop=True)
    right = _panel(COUNTRIES, range(2000, 2020), names=["Country", "Year"], shuffled=1)
    joined = left.auto_join(right)
    assert _keys(joined) == (names, ["Country", "Year"])
    _same_as_merge(joined, left, right, names, ["Country", "Year"])


def test_a_column_of_one_value_that_the_other_frame_lacks_or_names_otherwise_is_no_part_of_a_key():
    left = _panel(["Peru"], range(2000, 2020), names=["country", "year"]).assign(land="Spain", v0=1.5)
    right = _panel(COUNTRIES, range(2000, 2020), names=["country", "year"], shuffled=1)
    assert _keys(left.auto_join(right)) == (["year"], ["year"])


def test_a_third_column_is_part_of_a_key_where_two_are_one_on_the_left_alone():
    names = ["year", "month", "day"]
    panel = _panel(range(1994, 2004), range(1, 13), range(1, 31), names=names)
    left = panel[panel["year"] == 1996].reset_index(drop=True)
    right = _panel(range(1994, 2004), range(1, 13), range(1, 31), names=names, shuffled=1)
    joined = left.auto_join(right)
    assert _keys(joined) == (names, names)
    _same_as_merge(joined, left, right, names, names)


def test_three_columns_are_a_key_where_two_are_none():
    names = ["country", "year", "product"]
    left = _panel(COUNTRIES, range(2000, 2006), list("ABCD"), names=names)
    right = _panel(COUNTRIES, range(2000, 2006), list("ABCD"), names=names, shuffled=2).iloc[:200]
    joined = left.auto_join(right)
    assert _keys(joined) == (names, names)
    _same_as_merge(joined, left, right, names, names)


def test_home_and_away_teams_are_not_exchanged():
    games = pd.DataFrame([(a, b) for a in TEAMS for b in TEAMS if a != b], columns=["home", "away"])
    right = games.sample(frac=1, random_state=3).assign(visitors=np.arange(len(games)) * 100.0)
    joined = games.assign(goals=1.5).auto_join(right)
    assert _keys(joined) == (["home", "away"], ["home", "away"])
    _same_as_merge(joined, games, right, ["home", "away"], ["home", "away"])


def test_columns_that_may_be_exchanged_are_no_key():
    games = pd.DataFrame([(a, b) for a in TEAMS for b in TEAMS], columns=["one", "two"])
    with pytest.warns(DfjoinWarning, match="unchanged"):
        joined = games.auto_join(games.rename(columns={"one": "p", "two": "q"}).assign(goals=np.arange(64) / 2))
    assert list(joined) == ["one", "two"]


@pytest.mark.parametrize("names", [["first", "last"], ["given name", "surname"]])
@pytest.mark.parametrize("n", [12, 60])
def test_people_are_joined_by_both_names_and_never_by_one(names, n):
    right = _people(100, 0).assign(badge=[f"b{i}" for i in range(100)])
    left = right.sample(n, random_state=1)[["first", "last"]].set_axis(names, axis=1).assign(hours=2.5)
    joined = left.auto_join(right)
    assert _keys(joined) == (names, ["first", "last"])
    _same_as_merge(joined, left, right, names, ["first", "last"])


def test_a_name_that_the_left_frame_has_once_is_no_key_of_people_with_other_first_names():
    right = _people(100, 0).assign(born=1950.5)
    left = right.drop_duplicates("last")[["first", "last"]]
    assert left["last"].is_unique and not right["last"].is_unique
    assert _keys(left.auto_join(right)) == (["first", "last"], ["first", "last"])


def test_other_people_of_the_same_names_are_not_joined():
    people = _people(144, 5)
    left, right = people[:40], people[40:].assign(born=1950.5)
    repeated = left["last"].duplicated().any() and right["last"].duplicated().any()
    assert repeated and set(left["last"]) <= set(right["last"])
    with pytest.warns(DfjoinWarning, match="unchanged"):
        joined = left.auto_join(right)
    assert list(joined) == ["first", "last"]


CITIES = [
    *(("Portland", "Oregon"), ("Columbus", "Ohio"), ("Aurora", "Colorado"), ("Glendale", "Arizona")),
    *(("Arlington", "Texas"), ("Springfield", "Illinois"), ("Seattle", "Washington"), ("Denver", "Colorado")),
]
ELSEWHERE = [("Portland", "Maine"), ("Columbus", "Georgia"), ("Aurora", "Illinois"), ("Springfield", "Ohio")]


@pytest.mark.parametrize("names", [["city", "state"], ["Stadt", "Bundesland"], ["town name", "country"]])
def test_a_city_of_another_state_gets_nothing_where_the_right_frame_has_each_name_once(names):
    right = pd.DataFrame(CITIES, columns=names).assign(people=np.arange(8) * 1.5)
    for rows in (CITIES + ELSEWHERE, CITIES[4:] + ELSEWHERE):  # with each city several times, and once
        left = pd.DataFrame(rows, columns=names).assign(sales=2.5)
        joined = left.auto_join(right)
        assert _keys(joined) == (names, names)
        _same_as_merge(joined, left, right, names, names)


@pytest.mark.parametrize("state", ["Colorado", "Ohio"])
def test_a_city_of_another_state_gets_nothing_where_one_frame_has_the_rows_of_one_state(state):
    names = ["city", "state"]
    cities = pd.DataFrame(CITIES, columns=names).assign(people=np.arange(8) * 1.5)
    own = pd.DataFrame([(city, state) for city, _ in CITIES[1:3] + CITIES[7:] + [("Boulder", "")]], columns=names)
    for left, right in ((own, cities), (pd.concat([cities, cities[:2].assign(state="x")]), own.assign(sales=2.5))):
        joined = left.auto_join(right, threshold=0.1)
        assert _keys(joined) == (names, names)
        _same_as_merge(joined, left, right, names, names)


def test_a_state_that_is_written_otherwise_tells_nothing_of_its_cities():
    right = pd.DataFrame(CITIES, columns=["city", "state"]).assign(people=np.arange(8) * 1.5)
    left = pd.DataFrame({"city": ["Aurora", "Denver"], "state": "CO"})
    joined = left.auto_join(right)
    assert _keys(joined) == (["city"], ["city"])
    assert joined["people"].tolist() == [3.0, 10.5]


def test_a_key_that_is_no_part_of_a_name_stays_alone_where_an_attribute_differs():
    names = ["company", "state"]
    right = pd.DataFrame(CITIES, columns=names).assign(people=np.arange(8) * 1.5)
    left = pd.DataFrame(CITIES[4:] + ELSEWHERE, columns=names)
    assert _keys(left.auto_join(right)) == (["company"], ["company"])


@pytest.mark.parametrize("others", [["Ida", "Otto"], ["Helen", "Otto"]])
def test_people_of_other_first_names_are_not_joined_by_a_last_name_that_stands_once_on_either_side(others):
    right = pd.DataFrame({"first": FIRST, "last": LAST, "badge": [f"b{i}" for i in range(12)]})
    left = pd.DataFrame({"first": [*FIRST[:2], *others * 5], "last": LAST})
    with pytest.warns(DfjoinWarning, match="unchanged"):
        joined = left.auto_join(right)
    assert list(joined) == ["first", "last"]
    assert "too few pairs of first and last stand in one row" in str(dfjoin.report(joined))
    assert "badge" in left.auto_join(right, on="last")


def test_texts_whose_combinations_are_others_are_evidence_against_one_of_them():
    left = pd.DataFrame(
        {"town": [f"town {i % 30}" for i in range(36)], "street": [f"street {i % 9}" for i in range(36)]}
    )
    right = pd.DataFrame(
        {
            "town": [f"town {i % 30}" for i in range(33)],
            "street": [f"street {(i + 4) % 9}" for i in range(33)],
            "v": 0.5,
        }
    )
    with pytest.warns(DfjoinWarning, match="unchanged"):
        joined = left.auto_join(right)
    reason = "too few pairs of town and street stand in one row of the other frame; name it by `on` if that is meant"
    assert reason in str(dfjoin.report(joined))
    assert "v" in left.auto_join(right, on="town")


def test_a_shop_is_joined_with_all_years_of_its_sales():
    shops = pd.DataFrame({"shop": [f"shop {i}" for i in range(20)], "opening year": [2000 + i % 5 for i in range(20)]})
    sales = _panel(shops["shop"], range(2000, 2010), names=["shop", "year"], shuffled=1)
    assert _keys(shops.auto_join(sales)) == (["shop"], ["shop"])


def test_orders_and_shops_of_one_region_are_joined_by_the_shop():
    shops = pd.DataFrame({"shop": [f"shop {i}" for i in range(20)], "region": ["north", "south"] * 10, "size": 1.5})
    sales = pd.DataFrame({"shop": [f"shop {i % 20}" for i in range(90)], "region": ["north", "south"] * 45})
    assert _keys(sales.auto_join(shops)) == (["shop"], ["shop"])
    assert _keys(shops.auto_join(sales.assign(v=0.5))) == (["shop"], ["shop"])


def test_values_that_meet_in_every_way_are_no_key():
    rng = np.random.default_rng(0)
    frames = [
        pd.DataFrame({"city": rng.choice(["paris", "rome", "oslo"], n), "state": rng.choice(["open", "shut"], n)})
        for n in (50, 60)
    ]
    with pytest.warns(DfjoinWarning, match="unchanged"):
        assert list(frames[0].auto_join(frames[1].assign(v=0.5))) == ["city", "state"]


@given(st.integers(0, 2**32 - 1), st.floats(0.3, 1.0), st.floats(0.6, 1.0))
def test_a_joint_key_equals_a_merge_on_both_columns(seed, density, share):
    rng = np.random.default_rng(seed)
    cells = rng.permutation(len(FIRST) * len(LAST))
    right = pd.DataFrame({"first": [FIRST[i % 12] for i in cells], "last": [LAST[i // 12] for i in cells]})
    right = right.iloc[: int(density * len(right))].assign(v=lambda frame: np.arange(len(frame)) + 0.5)
    known = right.sample(frac=share, random_state=seed)[["first", "last"]]
    joined = known.auto_join(right)
    assert _keys(joined) == (["first", "last"], ["first", "last"])
    _same_as_merge(joined, known, right, ["first", "last"], ["first", "last"])
