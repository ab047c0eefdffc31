"""Candidates for foreign keys and their features."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.containment.key_features import KEY_FEATURES, find_key_pairs, key_features, own_roles
from dfjoin.containment.lake_columns import LakeColumns


@pytest.fixture
def frames():
    return {
        "species": pd.DataFrame({"id": [1, 2, 3], "name": ["oak", "elm", "fir"]}),
        "trees": pd.DataFrame({"tree": [7, 8, 9, 5], "species_id": [1, 1, 2, 9], "parent": [7, 7, None, 5]}),
        "cuts": pd.DataFrame({"tree": [7, 7, 8], "country": ["fr", "fr", "fr"]}),
        "country": pd.DataFrame({"code": ["fr", "de"], "name": ["France", "Germany"]}),
        "flags": pd.DataFrame({"flag": ["fr", "it"]}),
    }


def names_of(columns, pairs):
    return {
        (*columns.name(a), *columns.name(b)): m
        for a, b, m in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.matched.tolist(), strict=True)
    }


@pytest.mark.parametrize("is_cut", [False, True])
def test_keys_that_hold_a_column_are_its_candidates_in_any_segments(build, frames, is_cut):
    lake = build({n: f for n, f in frames.items() if not is_cut or n in ("species", "cuts")})
    if is_cut:
        rest = {n: f for n, f in frames.items() if n not in ("species", "cuts")}
        lake.add(rest, engine="inline", progress=False)
    columns = LakeColumns(lake.snapshot)
    found = names_of(columns, find_key_pairs(columns, 0.6).keys)
    assert found == {
        ("cuts", "tree", "trees", "tree"): 2,
        ("trees", "species_id", "species", "id"): 2,
        ("trees", "parent", "trees", "tree"): 2,
        ("cuts", "country", "country", "code"): 1,  # of one value: by its sample and its name, and not with `flags`
    }
    lake.remove("country")
    columns = LakeColumns(lake.snapshot)
    assert len(names_of(columns, find_key_pairs(columns, 0.6).keys)) == 3


def test_features_tell_the_key_that_is_meant(build, frames):
    lake = build(frames | {"numbers": pd.DataFrame({"n": range(1, 20), "v": [1.5] * 19})})
    columns = LakeColumns(lake.snapshot)
    pairs = find_key_pairs(columns, 0.6).keys
    values = dict(zip(names_of(columns, pairs), key_features(columns, pairs), strict=True))
    meant = dict(zip(KEY_FEATURES, values["trees", "species_id", "species", "id"], strict=True))
    chance = dict(zip(KEY_FEATURES, values["trees", "species_id", "numbers", "n"], strict=True))
    assert meant["named"] == 1 and chance["named"] == 0
    assert meant["is_closest"] == meant["key_named"] == 1
    assert chance["is_closest"] == chance["key_named"] == 0
    assert meant["unnamed_coverage"] == 0 and chance["unnamed_coverage"] == pytest.approx(3 / 19)
    assert meant["other_keys"] == pytest.approx(np.log(2))


def test_a_role_refers_to_a_row_of_the_own_table(build, frames):
    lake = build(frames)
    columns = LakeColumns(lake.snapshot)
    pairs = find_key_pairs(columns, 0.6).keys
    values = dict(zip(names_of(columns, pairs), key_features(columns, pairs), strict=True))
    own = dict(zip(KEY_FEATURES, values["trees", "parent", "trees", "tree"], strict=True))
    assert own["named"] == own["is_closest"] == 1
    told = dict(zip(names_of(columns, pairs), own_roles(columns, pairs).tolist(), strict=True))
    assert [pair for pair, is_role in told.items() if is_role] == [("trees", "parent", "trees", "tree")]


def test_a_lake_without_columns_has_no_candidates(build):
    columns = LakeColumns(build({"a": pd.DataFrame({"x": [1.5]})}).snapshot)
    pairs = find_key_pairs(columns, 0.9).keys
    assert pairs.left.size == 0
    assert key_features(columns, pairs).shape == (0, len(KEY_FEATURES))


def test_of_two_keys_of_the_same_values_the_one_that_names_the_other_table_refers(build):
    ids = range(100, 140)
    films = pd.DataFrame({"film_id": ids, "title": [f"t{i}" for i in ids]})
    lengths = pd.DataFrame({"film_id": list(ids)[::-1], "length": [60.5 + i for i in ids]})
    copy = films.assign(title=[f"{i} again" for i in ids]).iloc[:38]  # nearly all of them
    lake = build({"a/film": films, "a/film_length": lengths, "b/films": copy})
    columns = LakeColumns(lake.snapshot)
    found = names_of(columns, find_key_pairs(columns, 0.9).keys)
    assert set(found) == {
        ("a/film_length", "film_id", "a/film", "film_id"),
        ("a/film_length", "film_id", "b/films", "film_id"),
    }


def test_a_column_of_one_value_refers_to_what_it_names_in_its_folder_only(build):
    languages = pd.DataFrame({"language": ["en", "fr"], "speakers": [5.5, 7.5]})
    one = pd.DataFrame({"film": ["a", "b"], "language": "en"})
    other = pd.DataFrame({"code": ["en", "it"], "used in language": ["x", "y"]})
    lake = build({"x/languages": languages, "x/film": one, "x/codes": other, "y/film": one.assign(year=[1.5, 2.5])})
    columns = LakeColumns(lake.snapshot)
    assert set(names_of(columns, find_key_pairs(columns, 0.9).keys)) == {
        ("x/film", "language", "x/languages", "language")
    }


def test_numbers_that_were_counted_refer_to_no_key(build):
    keys = pd.DataFrame({"player_id": range(1, 30), "name": [f"s{i}" for i in range(29)]})
    games = pd.DataFrame({"player": [1, 2, 3, 3], "number of players": [1, 2, 3, 3], "place": ["a", "b", "b", "c"]})
    columns = LakeColumns(build({"players": keys, "games": games}).snapshot)
    assert {own for _, own, _, _ in names_of(columns, find_key_pairs(columns, 0.9).keys)} == {"player"}


def test_the_key_of_the_own_folder_comes_first_and_words_of_all_tables_do_not_count(build):
    shops = pd.DataFrame({"id": range(200, 240), "town": [f"t{i % 7}" for i in range(40)]})
    rest = {f"a/data v2 {name}": pd.DataFrame({"x": [i + 0.5]}) for i, name in enumerate(("rain", "wind", "sun"))}
    sales = pd.DataFrame({"shop_id": [200, 201, 201, 230], "price": [1.5, 2.5, 3.5, 4.5]})
    lake = build({"a/data v2 sales": sales, "a/data v2 shops": shops, "b/shops": shops.iloc[:35]} | rest)
    columns = LakeColumns(lake.snapshot)
    pairs = find_key_pairs(columns, 0.9).keys
    values = dict(zip(names_of(columns, pairs), key_features(columns, pairs), strict=True))
    own, other = (
        dict(zip(KEY_FEATURES, values["a/data v2 sales", "shop_id", table, "id"], strict=True))
        for table in ("a/data v2 shops", "b/shops")
    )
    assert own["named"] == other["named"] == own["same_folder"] == own["is_closest"] == 1
    assert other["same_folder"] == other["is_closest"] == 0


def test_a_measure_of_one_value_refers_to_no_key(build):
    rooms = pd.DataFrame({"id": range(1, 30), "room": [f"r{i}" for i in range(29)]})
    flats = pd.DataFrame({"flat": list("abcd"), "number of rooms": 3, "room": 3})
    columns = LakeColumns(build({"rooms": rooms, "flats": flats}).snapshot)
    assert {own for _, own, _, _ in names_of(columns, find_key_pairs(columns, 0.9).keys)} == {"room"}


def test_a_number_of_one_value_refers_to_no_key_of_texts(build):
    flats = pd.DataFrame({"flat": list("abcd"), "room": 3})
    for rooms, expected in (([3, 4, 5], {("flats", "room", "rooms", "room")}), (["3", "4b", "5"], set())):
        lake = build({"rooms": pd.DataFrame({"room": rooms, "size": [9.5, 8.5, 7.5]}), "flats": flats})
        columns = LakeColumns(lake.snapshot)
        assert set(names_of(columns, find_key_pairs(columns, 0.9).keys)) == expected


def test_a_role_refers_to_a_row_of_the_own_table_where_each_row_has_it(build):
    numbers = range(100, 140)
    persons = pd.DataFrame({"person_id": numbers, "spouse_id": [n ^ 1 for n in numbers], "code": [*numbers][::-1]})
    columns = LakeColumns(build({"persons": persons}).snapshot)
    found = names_of(columns, find_key_pairs(columns, 0.9).keys)
    assert set(found) == {("persons", "spouse_id", "persons", key) for key in ("person_id", "code")}


def test_words_of_removed_tables_do_not_count(build):
    shops = {"a/orders": {"id": range(100, 140), "at": [f"t{i}" for i in range(40)]}}
    shops |= {"a/order lines": {"order": [100 + i % 30 for i in range(90)]}, "a/b": {"x": [1.5]}, "a/c": {"y": [2.5]}}
    further = {f"a/order {name}": {name: [f"{name}{i}" for i in range(5)]} for name in ("k", "l", "m", "n", "o")}
    alone, lake = (build({name: pd.DataFrame(one) for name, one in each.items()}) for each in (shops, shops | further))
    lake.remove(list(further))
    before, after = (own.join_graph().candidates for own in (alone, lake))
    pd.testing.assert_frame_equal(before, after)
    assert len(after) == 1


def _best(lake):
    graph = lake.join_graph()
    return {(r.table, r.column): (r.key_table, r.key_column) for r in graph.edges.itertuples()}


def _numbered(n, *names):
    return pd.DataFrame({name: range(1, n + 1) if i == 0 else np.arange(n) % 7 for i, name in enumerate(names)})


def _repeating(n, times, *names):
    return pd.DataFrame({name: np.tile(np.arange(1, n + 1), times) + 1000 * i for i, name in enumerate(names)})


@pytest.mark.parametrize("side", ["loyalty", "customer_details"])
def test_a_column_refers_to_the_table_that_it_names_and_not_to_a_side_table_with_the_same_header(build, side):
    frames = {
        "customers": _numbered(60, "id", "city"),
        side: _numbered(50, "customer_id", "points"),
        "orders": _repeating(40, 3, "customer_id", "weight"),
    }
    assert _best(build(frames))["orders", "customer_id"] == ("customers", "id")


def test_a_column_refers_to_the_side_table_whose_name_its_table_bears(build):
    frames = {
        "customers": _numbered(60, "id", "city"),
        "loyalty": _numbered(50, "customer_id", "since"),
        "loyalty_points": _repeating(40, 3, "customer_id", "weight"),
    }
    assert _best(build(frames))["loyalty_points", "customer_id"] == ("loyalty", "customer_id")


def test_a_word_of_all_tables_is_one_of_the_header_too(build):
    frames = {
        "bird_species": _numbered(60, "id", "order"),
        "bird_species_texts": _numbered(50, "bird_species_id", "length"),
        "bird_names": _repeating(40, 3, "bird_species_id", "weight"),
        "bird_sites": _numbered(9, "id", "area"),
        "birds": _numbered(90, "id", "wing"),
    }
    assert _best(build(frames))["bird_names", "bird_species_id"] == ("bird_species", "id")
