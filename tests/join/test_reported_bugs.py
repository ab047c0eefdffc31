"""What a trial of joins between frames found wrong: one test for each sentence, some with details elsewhere."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinWarning, InvalidParameterError, NoMatchError

FIRST = ["Ada", "Bea", "Cid", "Dan", "Eva", "Fay", "Gus", "Hal", "Ivy", "Jon"]
LAST = ["Abel", "Brook", "Cole", "Dunn", "Earl", "Frost", "Gray", "Hart", "Irons", "Jude"]
PEOPLE = pd.DataFrame({"name": [f"{b}, {a}" for a, b in zip(FIRST, LAST, strict=True)]})
STAFF = pd.DataFrame({"who": [f"{a} {b}" for a, b in zip(FIRST, LAST, strict=True)][::-1], "salary": range(10)})
PAID = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]


def relation_of(wide):
    return wide.attrs["dfjoin"]["joined"][0]["relation"]


def learned(wide):
    transform = relation_of(wide)["transform"]
    return [dfjoin.Program.from_dict(one["program"]) for one in transform["programs"]]


@pytest.mark.parametrize(
    "options", [{}, {"examples": [("24.76", "54.472"), ("6.95", "15.29")]}], ids=["named", "taught"]
)
def test_fractions_of_which_few_are_equal_are_keys(options):
    price = (np.random.default_rng(1).choice(20_000, 40, replace=False) / 100).tolist()
    left = pd.DataFrame({"price": [2.5, 3.25, *price]})
    cost = [round(2.2 * value, 3) for value in left["price"]]
    right = pd.DataFrame({"cost": cost[::-1], "row": range(len(cost))})
    wide = left.auto_join(right, on="price", right_on="cost", aggregate=None, **options)
    assert wide.attrs["dfjoin"]["joined"][0]["matched"] == len(set(left["price"]))


def test_exported_code_that_would_match_nothing_is_said_so():
    shouted = STAFF.assign(who=[name.swapcase() if i % 2 else name for i, name in enumerate(STAFF["who"])])
    wide = PEOPLE.auto_join(shouted)
    (program,) = learned(wide)
    namespace = {}
    exec(program.to_python("made"), namespace)
    n_equal = sum(namespace["made"](name) in set(shouted["who"]) for name in PEOPLE["name"])
    assert relation_of(wide)["transform"]["n_respelled"] == 10 - n_equal > 0
    assert re.search("exported code", str(dfjoin.report(wide)))


def test_exported_code_matches_by_plain_equality_where_one_casing_fits():
    shouted = STAFF.assign(who=STAFF["who"].str.upper())
    wide = PEOPLE.auto_join(shouted)
    (program,) = learned(wide)
    assert {program(name) for name in PEOPLE["name"]} == set(shouted["who"])
    assert relation_of(wide)["transform"]["n_respelled"] == 0


def test_named_keys_without_a_match_are_warned_of():
    with pytest.warns(DfjoinWarning, match="no row found a partner on name = k"):
        PEOPLE.auto_join(pd.DataFrame({"k": ["12", "77", "95"], "v": [1, 2, 3]}), on="name", right_on="k")


def test_named_keys_without_a_match_raise_if_asked_to():
    other = pd.DataFrame({"k": ["12", "77", "95"], "v": [1, 2, 3]})
    with pytest.raises(NoMatchError, match="no row found a partner on name = k"):
        PEOPLE.auto_join(other, on="name", right_on="k", on_no_match="raise")


def test_two_columns_may_be_named_for_one():
    both = pd.DataFrame({"first": FIRST, "last": LAST})
    assert both.auto_join(STAFF, on=["first", "last"], right_on="who")["salary"].tolist() == PAID


def test_examples_reach_targets_of_several_columns():
    both = pd.DataFrame({"first": FIRST[::-1], "last": LAST[::-1], "salary": range(10)})
    examples = [("Abel, Ada", ("Ada", "Abel")), ("Brook, Bea", ("Bea", "Brook"))]
    wide = PEOPLE.auto_join(both, on="name", right_on=["first", "last"], examples=examples)
    assert wide["salary"].tolist() == PAID


@pytest.mark.parametrize(
    "spoil",
    [
        lambda found: found["programs"][0].update(support=10**400),
        lambda found: found.pop("programs"),
        lambda found: found["programs"][0]["program"]["pieces"][0].pop("steps"),
        lambda found: found["programs"][0]["program"]["pieces"].append({"constant": "\udc00"}),
        lambda found: found["programs"][0]["program"].update(pieces=[{"constant": "x"}] * 10**5),
    ],
    ids=["overflow", "missing key", "missing part", "lone surrogate", "huge"],
)
def test_a_hostile_plan_gives_an_error_of_this_package(spoil):
    plan = json.loads(json.dumps(PEOPLE.auto_join(STAFF).attrs["dfjoin"]["plan"]))
    spoil(plan["steps"][0]["relation"])
    with pytest.raises((InvalidParameterError, dfjoin.errors.InvalidTypeError)):
        PEOPLE.auto_join(STAFF, plan=plan)


@pytest.mark.parametrize("name", ["class", "re", "len", "split_part", "annotations", "a b", ""])
def test_functions_get_no_name_that_their_code_uses(name):
    with pytest.raises(InvalidParameterError, match="`name` must be a Python identifier that is no keyword"):
        dfjoin.Program.identity("a").to_python(name)


def test_examples_whose_pairs_differ_in_case_only_join():
    shouted = pd.DataFrame({"who": PEOPLE["name"].str.upper()[::-1].tolist(), "salary": range(10)})
    wide = PEOPLE.auto_join(shouted, examples=[("Abel, Ada", "ABEL, ADA"), ("Brook, Bea", "BROOK, BEA")])
    assert wide["salary"].tolist() == PAID


def test_it_is_not_said_that_nothing_is_shared_where_relations_were_tried():
    other = pd.DataFrame({"k": ["12", "77", "95"], "v": [1, 2, 3]})
    with pytest.warns(DfjoinWarning) as caught:
        PEOPLE.auto_join(other)
    assert "no candidate shares a value with the frame" not in str(caught[0].message)


def test_the_report_shows_the_program_of_the_target_and_no_program_without_rows():
    numbered = STAFF.assign(who=[f"{i}) {who}" for i, who in enumerate(STAFF["who"], 11)])
    text = str(dfjoin.report(PEOPLE.auto_join(numbered, on="name", right_on="who")))
    assert re.search(r"by who\.split\(.*: 10 rows", text) and not re.search(r"\b0 rows, precision", text)
    text = str(dfjoin.report(PEOPLE.auto_join(pd.concat([STAFF.assign(who=PEOPLE["name"] + " (1)"), STAFF]))))
    assert not re.search(r"\b0 rows, precision", text)


@pytest.mark.parametrize("n_plain", [3, 5, 7])
def test_equal_keys_never_hide_lost_zeros(n_plain):
    codes = [f"{10_000 + 7 * i}" for i in range(n_plain)] + [f"{100 + 7 * i:05d}" for i in range(10 - n_plain)]
    left, right = pd.DataFrame({"zip": [int(code) for code in codes]}), pd.DataFrame({"zip": codes, "v": range(10)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wide = left.auto_join(right, on="zip")
    is_padded = wide.attrs["dfjoin"]["joined"][0].get("pad") == 5
    assert is_padded or any("when written with zeros up to 5 digits" in str(one.message) for one in caught)


def test_a_relation_is_applied_to_other_frames():
    plan = PEOPLE[:7].auto_join(STAFF).attrs["dfjoin"]["plan"]
    others = pd.DataFrame({"who": ["Kim Kent", "Leo Lane"], "salary": [1, 2]})
    wide = pd.DataFrame({"name": ["Lane, Leo", "Kent, Kim", "Moor, Mia"]}).auto_join(others, plan=plan)
    assert wide["salary"].astype("float64").fillna(-1).tolist() == [2, 1, -1]


@pytest.mark.parametrize("extra", ["left", "right"])
def test_what_is_no_key_by_equality_is_none_by_a_program_or_by_likeness(extra):
    """Rows of one brand have nothing to do with each other, however the brand is found in them."""
    rng = np.random.default_rng(0)
    brands = ["canon", "hp", "epson", "brother", "lexmark", "xerox", "dell", "sony", "acer", "asus", "lenovo", "ricoh"]
    own, theirs = (rng.choice(brands, n).astype(object) for n in (200, 1000))
    (own if extra == "left" else theirs)[7:12] = "lexmark intl"
    left = pd.DataFrame({"title": [f"{brand} {rng.integers(10**6)}" for brand in own], "brand": own})
    right = pd.DataFrame({"brand": theirs, "weight": rng.normal(size=1000)})
    with pytest.warns(DfjoinWarning):
        wide = left.auto_join(right)
    assert not wide.attrs["dfjoin"]["joined"] and list(wide.columns) == ["title", "brand"]
    assert "rows have several partners on both sides" in str(dfjoin.report(wide))
