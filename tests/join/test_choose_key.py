"""The key of two frames when none is named."""

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dfjoin.errors import InvalidParameterError
from dfjoin.join.keys import KeyColumns
from dfjoin.join.relation.choose_key import choose_equal_keys, choose_key_of_one_value
from dfjoin.types import IndexSettings


def _choose(left, right, threshold=0.5):
    sides = [KeyColumns(pd.DataFrame(side), IndexSettings()) for side in (left, right)]
    return choose_equal_keys(*sides, threshold)


def _choose_one(left, right):
    sides = [KeyColumns(pd.DataFrame(side), IndexSettings()) for side in (left, right)]
    return choose_key_of_one_value(*sides, 0.5)


def test_containment_decides_before_the_number_of_values():
    left = {"few": ["a", "b", "b", "b", "b"], "many": ["p", "q", "r", "s", "t"]}
    right = {"x": ["a", "b", "c", "d", "e"], "y": ["p", "q", "r", "s", "u"]}
    assert _choose(left, right).keys == (["few"], ["x"])


def test_of_equal_containment_the_larger_overlap_is_taken():
    left = {"few": ["a", "b", "b"], "many": ["p", "q", "r"]}
    assert _choose(left, {"x": ["a", "b", "c"], "y": ["p", "q", "r"]}).keys == (["many"], ["y"])


def test_then_names_that_agree_and_then_a_right_key():
    left = {"one": ["a", "b", "c", "c"]}
    right = {"x": ["a", "b", "c", "d"], "ONE": ["a", "b", "c", "c"]}
    assert _choose(left, right).keys == (["one"], ["ONE"])
    right = {"x": ["a", "b", "c", "c"], "y": ["a", "b", "c", "d"]}
    assert _choose(left, right).keys == (["one"], ["y"])


def test_values_that_repeat_on_both_sides_are_a_key_if_the_names_of_the_columns_agree():
    person = [*(f"person {i}" for i in range(12)), "person 0", "person 1", "person 2", "person 3", "person 4"]
    spouse = [*(f"person {i}" for i in range(12)), "person 0", "person 1", "person 2", "person 3"]
    keys, passed, no_keys = _choose({"Person": person}, {"Spouse": spouse})
    assert no_keys == [("Person", "Spouse")]
    assert keys is None and "no key: a shared value stands in 1.4 rows on the left and 1.3 on the right" in passed[0][1]
    assert _choose({"Person": person}, {"person": spouse}).keys == (["Person"], ["person"])
    assert _choose({"Person": person}, {"Spouse": spouse[:13]}).keys == (["Person"], ["Spouse"])


def test_orders_are_found_by_their_ids_and_rows_by_none():
    orders = {"order_id": range(1000, 1040), "total": [i * 7 % 23 + 0.5 for i in range(40)]}
    items = {"OrderID": [1000 + i * 13 % 40 for i in range(100)], "qty": [i % 5 for i in range(100)]}
    assert _choose(orders, items).keys == (["order_id"], ["OrderID"])
    rows = [
        {name.replace("order", "row").replace("Order", "Row"): v for name, v in side.items()}
        for side in (orders, items)
    ]
    assert _choose(*rows).keys is None


def test_two_pairs_that_are_equally_good_are_an_error():
    left, right = {"one": ["a", "b"], "two": ["b", "a"]}, {"x": ["a", "b"]}
    with pytest.raises(InvalidParameterError, match=r"'one' = 'x' and 'two' = 'x' join equally well .*1\.000"):
        _choose(left, right)


@given(st.lists(st.integers(0, 4), min_size=3, max_size=8), st.randoms())
def test_equally_good_pairs_by_which_the_same_rows_meet_are_no_error(rows, random):
    left = {"code": [f"c{i}" for i in rows], "name": [f"name {i}" for i in rows]}
    order = sorted(set(rows))
    assume(len(order) > 2)
    random.shuffle(order)
    right = {"id": [f"C{i}" for i in order], "label": [f"Name {i}" for i in order]}
    assert _choose(left, right).keys == (["code"], ["id"])
    right["label"][:2] = right["label"][1::-1]
    with pytest.raises(InvalidParameterError, match="'code' = 'id' and 'name' = 'label' join equally well"):
        _choose(left, right)


def test_rows_that_have_one_of_two_keys_alone_meet_by_that_one_alone():
    left = {"code": ["c1", "c1", "c2", "c3"], "name": ["Name 1", None, "Name 2", "Name 3"]}
    right = {"id": ["C1", "C2", "C3"], "label": ["name 1", "name 2", "name 3"]}
    with pytest.raises(InvalidParameterError, match="join equally well"):
        _choose(left, right)


def test_what_did_not_pass_is_told_best_first():
    left = {"a": ["pear", "quince", "rhubarb", "sloe"], "n": [3, 4, 5, 60]}
    right = {
        "b": ["pear", "quince", "x", "y"] * 15,
        "c": ["pear", "x", "y", "z"] * 15,
        "rank": [3, 4, 5, *range(10, 67)],
    }
    keys, passed, _ = _choose(left, right, threshold=0.6)
    assert keys is None
    assert [columns for columns, _ in passed] == ["n = rank", "a = b", "a = c"]
    assert passed[0][1].startswith("accidental") and "0.500 is below the threshold 0.6" in passed[1][1]
    assert _choose(left, right, threshold=0.5).keys == (["a"], ["b"]), "at the threshold is enough"


def test_columns_without_keys_take_no_part():
    constant, flags, lists = ["a", "a"], [True, False], [[1], [2]]
    assert _choose({"f": flags, "l": lists}, {"f": flags, "l": lists}) == (None, [], [])
    assert _choose({"c": constant}, {"c": constant}) == (None, [], [])
    found = _choose_one({"c": constant}, {"c": constant})
    assert (found.keys, found.no_keys) == (None, [])
    assert found.passed_over == [
        (
            "c = c",
            "no key: it has one value, which stands in 2 rows of the other frame; name it by `on` if that is meant",
        )
    ]


@pytest.mark.parametrize("n_rows", [1, 3])
@pytest.mark.parametrize("n_others", [1, 4])
def test_a_column_of_one_value_is_the_key_if_one_row_of_its_namesake_has_it(n_rows, n_others):
    customers = pd.DataFrame(
        {"customer": ["Ada", "Bob", "Cem", "Dag"][:n_others], "town": ["p", "q", "r", "s"][:n_others]}
    )
    orders = pd.DataFrame({"customer": ["Ada"] * n_rows, "amount": [1.5, 2.5, 3.5][:n_rows]})
    assert _choose_one(orders, customers).keys == (["customer"], ["customer"])
    assert _choose_one(orders, customers.rename(columns={"customer": "owner"})).keys is None
    joined = orders.auto_join(customers)
    pd.testing.assert_frame_equal(joined, orders.merge(customers))


def test_a_column_of_one_value_is_no_key_beside_another_one_nor_as_a_part_of_a_name():
    left = {"year": [2020, 2020], "code": ["abcd", "efgh"]}
    assert _choose(left, {"year": [2019, 2020], "code": ["abcd", "efgh"]}).keys == (["code"], ["code"])
    person = {"first_name": ["Ann"], "last_name": ["Lee"]}
    found = _choose_one(person, {"first_name": ["Bob", "Cem"], "last_name": ["Lee", "Kay"]})
    assert found.keys is None and "the rest differs" in dict(found.passed_over)["last_name = last_name"]


def test_a_column_of_one_value_is_no_key_where_others_are_related():
    names = ["Obama, Barack", "Clinton, Bill", "Carter, Jimmy", "Bush, George"]
    left = pd.DataFrame({"name": names, "land": "US"})
    swapped = [" ".join(name.split(", ")[::-1]) for name in names]
    right = pd.DataFrame({"person": swapped, "land": ["US", "USA", "U.S.", "America"], "n": range(4)})
    assert left.auto_join(right, aggregate=None)["n"].tolist() == [0, 1, 2, 3]


def test_the_report_says_that_the_other_frame_has_one_value():
    left, right = {"code": ["abcd", "efgh", "ijkl"]}, {"code": ["abcd"]}
    found = _choose_one(left, right)
    assert found.keys is None and "the other frame has one value of it" in dict(found.passed_over)["code = code"]


def test_a_key_stands_in_one_row_of_one_side():
    left, right = {"brand": list("abcde") * 4}, {"brand": list("abcde") * 3}
    keys, passed, _ = _choose(left, right)
    assert keys is None
    text = (
        "no key: a shared value stands in 4.0 rows on the left and 3.0 on the right; name it by `on` if that is meant"
    )
    assert passed == [("brand = brand", text)]
    assert _choose(left, {"brand": list("abcde")}).keys == (["brand"], ["brand"])


N = 40
NAMES = [
    f"{a}{b}"
    for a in ("Oak", "Elm", "Ash", "Fir", "Yew")
    for b in ("ton", "by", "ley", "ford", "ham", "wick", "dale", "port")
]


@pytest.mark.parametrize(("own", "theirs"), [("id", "id"), ("rank", "no"), ("Unnamed: 0", "index")])
def test_row_numbers_relate_only_rows_that_agree_otherwise(own, theirs):
    left = {own: range(N), "town": NAMES}
    keys, passed, _ = _choose(left, {theirs: range(N), "place": NAMES[::-1], "v": list("ab") * 20})
    assert keys == (["town"], ["place"]) and [columns for columns, _ in passed] == [f"{own} = {theirs}"]
    assert "no other columns of these rows agree" in passed[0][1]
    keys, passed, _ = _choose({own: range(N), "kind": list("xyzw") * 10}, {theirs: range(N), "kind": list("ywzx") * 10})
    assert keys is None
    same = {theirs: range(N), "kind": list("xyzw") * 10}
    assert _choose({own: range(N), "kind": list("xyzw") * 10}, same).keys == ([own], [theirs])


def test_names_that_say_what_is_counted_are_evidence():
    assert _choose({"patient": range(N)}, {"patient_id": range(N), "v": range(100, 100 + N)}).keys == (
        ["patient"],
        ["patient_id"],
    )
    assert _choose({"year": range(1980, 2000)}, {"Year": range(1985, 2010)}).keys == (["year"], ["Year"])
    assert _choose({"stage": range(1, 22)}, {"rownames": range(1, 40)})[0] is None


def test_short_codes_of_another_list_are_no_evidence():
    letters = "abcdefghijklmnopqrstuvwxyz"
    codes = [a + b for a in letters for b in letters]
    others = codes[: len(codes) // 2 : 2] + codes[len(codes) // 2 :]
    own = codes[::3]
    assert _choose({"fips": own}, {"alpha": others})[0] is None
    assert _choose({"fips": own}, {"alpha": codes}).keys == (["fips"], ["alpha"])


def test_codes_of_two_systems_are_no_key_where_names_tell_it():
    names = [f"{a}land {b}" for a in "ABCDEFGH" for b in ("north", "south", "east", "west", "old")]
    codes = [f"{name[0]}{name[6].upper()}" for name in names]
    left = {"fips": codes, "country": names}
    right = {"alpha2": codes, "name": [*names[20:], *names[:20]]}
    keys, passed, _ = _choose(left, right)
    assert keys == (["country"], ["name"])
    assert (
        "fips = alpha2",
        "equal codes of different things: the names in these rows stand in other rows, too",
    ) in passed
