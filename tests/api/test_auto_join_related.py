"""`auto_join` of two frames whose keys are not equal: by a program, by likeness, or not at all."""

import json

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.cli.main import main
from dfjoin.errors import DfjoinWarning, InvalidParameterError, InvalidTypeError

FIRST = ["Ann", "Bea", "Cid", "Dan", "Eve", "Fay", "Gus", "Hal", "Ivy", "Jan", "Kim", "Lea", "Max", "Ned", "Ola"]
LAST = ["Adler", "Brook", "Crane", "Drake", "Eagle", "Finch", "Goose", "Heron", "Ibis", "Jay", "Kite", "Lark", "Merle",
        "Noddy", "Osprey"]  # fmt: skip


@pytest.fixture
def left():
    names = [f"{last}, {first}" for first, last in zip(FIRST, LAST, strict=True)]
    return pd.DataFrame({"name": [*names, None, "Adler, Ann"], "n": range(17)}, index=range(100, 117))


@pytest.fixture
def right():
    people = [f"{first} {last}" for first, last in zip(FIRST, LAST, strict=True)]
    return pd.DataFrame({"person": people, "score": np.arange(15) + 0.25, "party": ["x", "y", "z"] * 5}).sample(
        frac=1, random_state=1, ignore_index=True
    )


def test_rows_order_index_and_duplicates_stay_and_the_key_is_brought(left, right):
    wide = dfjoin.auto_join(left, right)
    assert wide.index.tolist() == left.index.tolist()
    assert wide["name"].tolist()[:15] == left["name"].tolist()[:15]
    assert wide["person"].tolist()[:15] == [f"{f} {s}" for f, s in zip(FIRST, LAST, strict=True)]
    assert wide["score"].tolist()[:15] == [i + 0.25 for i in range(15)]
    assert pd.isna(wide["score"].iloc[15]) and wide["score"].iloc[16] == 0.25
    (step,) = wide.attrs["dfjoin"]["joined"]
    assert step["on"] == ["name"] and step["right_on"] == ["person"] and step["rows_matched"] == 16
    assert step["relation"]["n_keys"]["program"] == 15
    assert "name.split(', ')[1] + ' ' + name.split(', ')[0]" in str(dfjoin.report(wide))
    json.dumps(wide.attrs["dfjoin"])
    assert left.columns.tolist() == ["name", "n"], "the frame was not changed"


def test_the_other_way_round(left, right):
    wide = dfjoin.auto_join(right, left, aggregate=None)
    assert sorted(wide["n"].astype(int)) == sorted([*range(15), 16])
    assert len(wide) == 16, "Ann Adler stands in two rows of the other frame"


def test_the_kind_of_each_match_is_told_on_request(left, right):
    wide = dfjoin.auto_join(left, right, aggregate=None, indicator=True)
    assert wide["_match"].tolist()[:15] == ["program"] * 15 and pd.isna(wide["_match"].iloc[15])
    assert wide["_distance"].tolist()[:15] == [0.0] * 15 and pd.isna(wide["_distance"].iloc[15])
    assert wide["_merge"].tolist().count("both") == 16


@pytest.mark.parametrize("how", ["inner", "right", "outer"])
def test_the_rows_that_each_how_keeps(left, right, how):
    more = pd.concat([right, pd.DataFrame({"person": ["Zoe Zander"], "score": [9.5], "party": ["w"]})])
    wide = dfjoin.auto_join(left, more, how=how, aggregate=None)
    n_alone = {"inner": 0, "right": 1, "outer": 2}[how]
    assert len(wide) == 16 + n_alone
    assert ("Zoe Zander" in wide["person"].tolist()) == (how != "inner")
    assert wide["n"].isna().sum() == (how != "inner")


def test_equal_keys_are_joined_as_ever_when_they_suffice(right):
    df = pd.DataFrame({"who": right["person"].str.upper()})
    wide = dfjoin.auto_join(df, right)
    assert "relation" not in wide.attrs["dfjoin"]["joined"][0] and "person" not in wide.columns
    asked = dfjoin.auto_join(df.assign(who=df["who"].str.slice(0, 3) + "."), right, on_no_match="ignore")
    assert len(asked) == len(df)


def test_columns_that_are_no_keys_give_way_to_a_learned_key(left, right):
    df = left.dropna().assign(party=["x", "y", "z", "x"] * 4)
    wide = dfjoin.auto_join(df, right)
    assert wide.attrs["dfjoin"]["joined"][0]["on"] == ["name"]
    with pytest.warns(
        DfjoinWarning, match="no key: a shared value stands in 5.3 rows on the left and 5.0 on the right"
    ):
        dfjoin.auto_join(df, right, transform=False, fuzzy=False)


def test_nothing_is_learned_when_it_is_not_wanted(left, right):
    with pytest.warns(DfjoinWarning, match="no candidate shares a value"):
        wide = dfjoin.auto_join(left, right, transform=False, fuzzy=False)
    pd.testing.assert_frame_equal(pd.DataFrame(wide), left)


def test_given_keys_and_examples(left, right):
    wide = dfjoin.auto_join(
        left, right, on="name", right_on="person", fuzzy=False,
        examples=[("Adler, Ann", "Ann Adler"), ("Brook, Bea", "Bea Brook")],
    )  # fmt: skip
    assert wide["score"].notna().sum() == 16


def test_typing_errors_are_joined_by_likeness_and_others_are_not():
    rng = np.random.default_rng(5)
    cities = [f"{a}{b} {c}" for a in ("North", "Green", "Stone", "Oak", "High") for b in ("field", "wood", "brook",
              "ford", "ton") for c in ("Hills", "Springs", "Valley", "Harbor")]  # fmt: skip
    typed = list(cities)
    wrong = rng.choice(100, 30, replace=False)
    for i in wrong:
        at = int(rng.integers(1, len(typed[i]) - 1))
        typed[i] = typed[i][:at] + typed[i][at + 1 :]
    df = pd.DataFrame({"city": [*typed, "Completely Different"]})
    other = pd.DataFrame({"place": cities, "v": range(100)})
    wide = dfjoin.auto_join(df, other, fuzzy=True, transform=False, on="city", right_on="place", indicator=True)
    joined = wide["v"].notna()
    assert (wide["v"][joined].astype(int) == wide.index[joined]).mean() >= 0.95
    assert joined[:100].sum() >= 80 and not joined.iloc[100]
    assert set(wide["_match"].dropna()) == {"equal", "fuzzy"}
    assert (wide["_distance"][wide["_match"] == "fuzzy"] > 0).all()
    found = wide.attrs["dfjoin"]["joined"][0]["relation"]
    assert 0.95 <= found["fuzzy"]["estimated_precision"] <= 1 and "by likeness" in str(dfjoin.report(wide))


def test_unrelated_frames_are_not_joined_and_what_was_tried_is_told():
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), 9)) for _ in range(120)]
    df, other = pd.DataFrame({"a": words[:60]}), pd.DataFrame({"b": words[60:], "v": range(60)})
    wide = dfjoin.auto_join(df, other, on_no_match="ignore")
    assert wide.columns.tolist() == ["a"] and wide.attrs["dfjoin"]["joined"] == []
    wide = dfjoin.auto_join(df, other, on="a", right_on="b", aggregate=None)
    assert wide["v"].isna().all()
    assert any("a = b" in passed["reason"] for passed in wide.attrs["dfjoin"]["passed_over"])
    assert "tried a = b" in str(dfjoin.report(wide))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"transform": "yes"}, InvalidParameterError, "`transform` must be one of None, True, False, 'accept'"),
        ({"fuzzy": 1.5}, InvalidParameterError, "`fuzzy` must be one of None, True, False"),
        ({"precision": 95}, InvalidParameterError, "`precision` must be"),
        ({"examples": []}, InvalidTypeError, "`examples` must be a list of pairs"),
        ({"examples": "ab"}, InvalidTypeError, "`examples` must be a list of pairs"),
        ({"examples": [("a", 1)]}, InvalidTypeError, "`examples` must be pairs of texts"),
        ({"examples": [("a", "b")], "transform": False}, InvalidParameterError, "leave out transform=False"),
    ],
)
def test_wrong_options(left, right, options, error, message):
    with pytest.raises(error, match=message):
        dfjoin.auto_join(left, right, **options)


@pytest.mark.parametrize(
    "option", [{"transform": True}, {"fuzzy": False}, {"precision": 0.9}, {"examples": [("a", "b")]}]
)
def test_over_a_lake_they_do_not_apply(build, left, option):
    lake = build({"t": pd.DataFrame({"a": ["x", "y"], "v": [1, 2]})})
    with pytest.raises(InvalidParameterError, match=f"`{next(iter(option))}` does not apply when `other` is a lake"):
        dfjoin.auto_join(left, lake, **option)


def test_the_shell_reaches_all_of_it(left, right, tmp_path, capsys):
    left.to_csv(tmp_path / "left.csv", index=False)
    right.to_csv(tmp_path / "right.csv", index=False)
    out = tmp_path / "out.csv"
    files = [str(tmp_path / "left.csv"), str(tmp_path / "right.csv"), "-o", str(out)]
    assert main(["join", *files, "--indicator", "--precision", "0.9"]) == 0
    assert "name.split(', ')[1]" in capsys.readouterr().out
    assert pd.read_csv(out)["_match"].tolist().count("program") == 16
    assert main(["join", *files, "--no-transform", "--no-fuzzy"]) == 0
    assert "nothing was joined" in capsys.readouterr().out
    assert main(["join", *files, "--on", "name", "--right-on", "person", "--example", "Jay, Jan", "Jan Jay"]) == 0


def test_brands_of_two_catalogues_are_no_key_however_they_are_spelled():
    brands = ["Acme", "Bolt", "Cyan", "Delta", "Ember", "Flint", "Grove", "Helix", "Iris", "Jolt", "Krill", "Lumen"]
    left = pd.DataFrame(
        {"brand": [f"{b} Inc." for b in brands for _ in range(3)], "model": [f"m{i}" for i in range(36)]}
    )
    forms = ["The {} Corp", "{} GmbH", "{} & Co.", "{}, Ltd"] * 3
    spelled = [form.format(b) for b, form in zip(brands, forms, strict=True) for _ in range(4)]
    right = pd.DataFrame({"brand": spelled, "price": np.arange(48) + 0.5})
    wide = dfjoin.auto_join(left, right, on_no_match="ignore")
    assert wide.columns.tolist() == ["brand", "model"]
    assert "no key: rows have several partners on both sides; name it by `on`" in str(dfjoin.report(wide))
    assert len(dfjoin.auto_join(left, right, on="brand", how="inner", aggregate=None, max_expansion=10)) == 144


def test_a_table_is_looked_up_only_where_it_has_most_values():
    text = "AL AD AE AF AG AI AM AO AR AT AU AZ BB BD BE BF CA CH CI CN CO CR CU DE DK DO EE EG ES ET FI FR GA GB"
    states = ["Alabama", "Arkansas", "Arizona", "California", "Colorado", "Delaware", "Georgia", "Texas", "Iowa"]
    left, right = pd.DataFrame({"code": text.split()}), pd.DataFrame({"state": states, "seat": list("mrpsdalqv")})
    wide = dfjoin.auto_join(left, right, on_no_match="ignore")
    assert wide.columns.tolist() == ["code"]
    assert "tried code.look_up('state to long') = state: the table has 21% of the values" in str(dfjoin.report(wide))
    few = left[left["code"].isin(["AL", "AR", "AZ", "CA", "CO", "DE", "GA", "AT"])]
    assert dfjoin.auto_join(few, right)["state"].notna().sum() == 7
    named = {"on": "code", "right_on": "state", "on_no_match": "ignore"}
    wide = dfjoin.auto_join(left, right, **named)
    assert wide["seat"].notna().sum() == 0
    assert "the table has 21% of the values; pass transform='accept' to join by it" in str(dfjoin.report(wide))
    assert dfjoin.auto_join(left, right, transform="accept", **named)["seat"].notna().sum() == 7
