"""Joining two frames: which keys are taken, and what is brought."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinError, DfjoinWarning, InvalidParameterError, JoinExpansionError, NoMatchError
from dfjoin.join.relation import frame_relation

LAND = ["peru", "chad", "mali"]


def test_labels_of_the_other_frame_that_are_one_text_are_refused_or_told_apart():
    other = pd.DataFrame({"k": LAND, 1: [1, 2, 3], "1": [4, 5, 6]})
    try:
        wide = dfjoin.auto_join(pd.DataFrame({"k": LAND}), other, on="k", aggregate=None)
    except DfjoinError:
        return
    assert wide.shape == (3, 3)
    assert wide.columns.is_unique


def test_a_column_that_is_brought_does_not_print_as_another_label():
    frame = pd.DataFrame({0: LAND, 1: [1.5, 2.5, 3.5]})
    wide = frame.auto_join(frame.iloc[::-1].assign(**{"2": 7}), on=0)
    assert list(wide.columns) == [0, 1, "1__right", "2"]


def test_labels_of_the_other_frame_that_are_no_text_stay_where_they_are_free():
    frame = pd.DataFrame({"k": LAND, 2019: 1})
    other = pd.DataFrame({"k": LAND, 2019: 2, 2020: 3, pd.Timestamp("2021-01-01"): 4, "note": "x"})
    wide = frame.auto_join(other, on="k")
    assert list(wide.columns) == ["k", 2019, "2019__right", 2020, pd.Timestamp("2021-01-01"), "note"]
    again = frame.auto_join(other, plan=dfjoin.report(wide).to_dict()["plan"])
    pd.testing.assert_frame_equal(again, wide)
    twice = frame.auto_join(pd.DataFrame({"k": LAND, 1: 2, "1": 3}), on="k")
    assert len({str(label) for label in twice}) == 4, "a file tells them apart"


def test_a_learned_join_that_multiplies_rows_names_the_key():
    names = [f"{a}, {b}" for a in ("Adler", "Brook", "Crane", "Drake") for b in ("Ann", "Bea", "Cid")]
    people = [" ".join(name.split(", ")[::-1]) for name in names]
    other = pd.DataFrame({"person": people * 3, "v": range(36)})
    with pytest.raises(
        JoinExpansionError, match=r"the join with the other frame .* the worst key, 'Adler, Ann', stands"
    ):
        dfjoin.auto_join(pd.DataFrame({"name": names}), other, aggregate=None, max_expansion=2)


def test_named_keys_that_reach_the_threshold_are_not_learned():
    df = pd.DataFrame({"k": [f"key {i}" for i in range(10)]})
    other = pd.DataFrame({"k": [f"key {i}" for i in range(5)], "v": range(5)})
    assert dfjoin.auto_join(df, other, on="k").attrs["dfjoin"]["passed_over"] == []
    below = dfjoin.auto_join(df, other, on="k", threshold=0.51)
    assert below.attrs["dfjoin"]["passed_over"], "what was tried is told"
    assert below["v"].notna().sum() == 5, "equal keys are joined all the same"
    composite = df.assign(j="x"), other.assign(j="x")
    wide = dfjoin.auto_join(*composite, on=["k", "j"], threshold=0.9)
    assert wide.attrs["dfjoin"]["passed_over"] == [], "a composite key is meant whole"


def test_cells_that_list_keys_are_reported_and_joined_again_by_a_plan():
    papers = pd.DataFrame({"authors": ["Ann; Bob", "Cid", "Bob;Dan;Ann", "Eve; Cid", "Dan; Fay"] * 2, "n": range(10)})
    people = pd.DataFrame({"name": ["ann", "bob", "cid", "dan", "eve", "fay"], "age": [10, 20, 30, 40, 50, 60]})
    papers["authors"] += [""] * 5 + ["; Gus"] * 5
    wide = dfjoin.auto_join(papers, people, on="authors", right_on="name")
    assert wide["age"].tolist() == [15, 30, 70 / 3, 40, 50] * 2
    assert "separated by ';'" in str(dfjoin.report(wide))
    again = dfjoin.auto_join(papers.iloc[:2], people, plan=wide.attrs["dfjoin"]["plan"])
    assert again["age"].tolist() == [15, 30]


def test_a_chosen_column_that_is_nearly_a_key_on_one_side_is_enough(monkeypatch):
    asked = []
    monkeypatch.setattr(frame_relation, "relate", lambda *args, **kwargs: asked.append(args) or (None, []))
    df = pd.DataFrame({"kind": list("abcde") * 4})
    nearly = pd.DataFrame({"kind": [*"abcdefgh", "a", "b"], "v": np.arange(10) * 1.5})
    assert dfjoin.auto_join(df, nearly)["v"].notna().all() and not asked
    less = pd.DataFrame({"kind": [*"abcdefg", "a", "b"], "v": np.arange(9) * 1.5})
    assert dfjoin.auto_join(df, less)["v"].notna().all()
    assert len(asked) == 1, "7 of 9 are fewer than four fifths"
    assert dfjoin.auto_join(nearly, df.assign(v=1), how="inner").shape[0] == 7 and len(asked) == 1


# Lost zeros and the order of dates ----------------------------------------------------------------------------

ZIPS = pd.DataFrame({"zip": ["00501", "02134", "10001", "90210"], "city": ["Holtsville", "Boston", "New York", "LA"]})


@pytest.mark.parametrize("options", [{"on": "zip"}, {"on": "zip", "transform": False, "fuzzy": False}, {}])
def test_pad_joins_integers_with_codes_that_kept_their_zeros(options):
    df = pd.DataFrame({"zip": [501, 2134, 90210]})
    assert df.auto_join(ZIPS, pad=5, **options)["city"].tolist() == ["Holtsville", "Boston", "LA"]
    back = ZIPS.auto_join(df.assign(n=[1.5, 2.5, 3.5]), pad=5, **options)
    assert back["n"].tolist()[:2] == [1.5, 2.5] and back["n"].isna().tolist() == [False, False, True, False]


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
def test_pad_with_rows_that_only_one_side_has(how):
    wide = pd.DataFrame({"zip": [501, 7]}).auto_join(ZIPS, on="zip", pad=5, how=how, aggregate=None)
    both = wide["city"].notna() & wide["zip"].isin([501])
    assert both.sum() == 1 and (wide["city"] == "Holtsville").sum() == 1
    assert len(wide) == {"left": 2, "inner": 1, "right": 4, "outer": 5}[how]
    if how in ("right", "outer"):
        assert set(wide["zip"][wide["zip"].isin(ZIPS["zip"])]) == {"02134", "10001", "90210"}


@pytest.mark.parametrize("others_are_integers", [False, True])
@pytest.mark.parametrize("on", ["zip", None])
@pytest.mark.filterwarnings("error")
def test_lost_zeros_between_two_frames_are_written_and_reported(on, others_are_integers):
    frames = [pd.DataFrame({"zip": [501, 2134, 7]}), ZIPS][:: -1 if others_are_integers else 1]
    wide = frames[0].auto_join(frames[1], on=on, threshold=0.4)
    (step,) = wide.attrs["dfjoin"]["joined"]
    assert (step["matched"], step["pad"]) == (2, 5)
    assert "zeros: integers of zip were written with 5 digits" in str(dfjoin.report(wide))


FIPS = [f"{number:02d}" for number in range(1, 57) if number not in (3, 7, 14, 43, 52)]
STATES = [f"Land of {'abcdefghijklmnopqrstuvwxyz'[i % 26] * (3 + i // 26)}" for i in range(len(FIPS))]


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        ({"row": range(1, 46)}, {"FIPS": FIPS}, r"chance may explain the shared values \(0 bits of evidence"),
        ({"row": range(1, 13)}, {"month": [f"{i:02d}" for i in range(1, 13)]}, "chance may explain the shared values"),
        ({"round": [*range(1, 47)] * 11}, {"FIPS": FIPS * 2}, "no key: a shared value stands in 11.0 rows on the left"),
    ],
)
@pytest.mark.filterwarnings("ignore:the join with the other frame on round")
def test_integers_that_are_no_key_are_none_with_zeros_either(left, right, reason):
    left, right = (pd.DataFrame({key: list(values) for key, values in side.items()}) for side in (left, right))
    for own, theirs in ((left, right), (right, left)):
        wide = own.assign(a=0.5).auto_join(theirs.assign(v=1.5), on_no_match="ignore")
        assert not wide.attrs["dfjoin"]["joined"]
        zeros = [one for one in wide.attrs["dfjoin"]["passed_over"] if "with zeros up to 2 digits" in one["column"]]
        assert len(zeros) == 1
    wide = left.assign(a=0.5).auto_join(right.assign(v=1.5), on_no_match="ignore")
    assert re.search(f"with zeros up to 2 digits: {reason}", str(dfjoin.report(wide)))
    named = left.auto_join(right.assign(v=1.5), on=left.columns[0], right_on=right.columns[0])
    assert named.attrs["dfjoin"]["joined"][0]["pad"] == 2, "who names the columns means them"


def test_integers_with_evidence_join_with_zeros():
    rng = np.random.default_rng(0)
    codes = np.sort(rng.choice(np.arange(1_000, 60_000), 400, replace=False))
    counties = pd.DataFrame({"GEOID": [f"{code:05d}" for code in codes], "v": np.arange(400) + 0.5})
    wide = pd.DataFrame({"county": rng.permutation(codes)[:300]}).auto_join(counties)
    assert wide.attrs["dfjoin"]["joined"][0]["pad"] == 5 and wide["v"].notna().all()
    states = pd.DataFrame({"st": [int(code) for code in FIPS], "state": STATES})
    wide = (
        states.drop(columns="state")
        .assign(name=STATES)
        .auto_join(pd.DataFrame({"FIPS": FIPS, "v": np.arange(len(FIPS)) + 0.5, "label": STATES}), on_no_match="ignore")
    )
    assert wide["v"].tolist() == (np.arange(len(FIPS)) + 0.5).tolist(), "names in the same rows agree"


@pytest.mark.parametrize("others_are_integers", [False, True])
def test_lost_zeros_that_help_too_little_are_told_with_a_remedy_that_works(others_are_integers):
    plain = {"transform": False, "fuzzy": False, "on_no_match": "ignore"}
    frames = [pd.DataFrame({"zip": [501, 2134, 7]}), ZIPS][:: -1 if others_are_integers else 1]
    with pytest.warns(DfjoinWarning, match="match 2 values of 'zip' when written with zeros up to 5 digits") as caught:
        frames[0].auto_join(frames[1], threshold=0.9, **plain)
    text = str(caught[0].message)
    assert "and 0 as they are; read the column with dtype=str, or pass `pad=5`" in text
    assert ("'zip' of the other frame match" in text) is others_are_integers
    assert "with on='zip', right_on='zip'" in text
    wide = frames[0].auto_join(frames[1], on="zip", pad=5, **plain)
    assert wide.attrs["dfjoin"]["joined"][0]["matched"] == 2


def test_lost_zeros_are_told_where_some_integers_match_as_they_are():
    df = pd.DataFrame({"zip": [501, 10001, 90210]})
    with pytest.warns(DfjoinWarning, match=r"match 3 values of 'zip' when .* up to 5 digits, and 2 as they are"):
        df.auto_join(ZIPS, on="zip")


@pytest.mark.parametrize("other", [["501", "2134"], ["00600", "x"], [0.5, 501.0], ["0", "0x"]])
@pytest.mark.filterwarnings("error")
def test_no_warning_between_frames_where_zeros_do_not_help(other):
    df = pd.DataFrame({"zip": [501, 2134]})
    df.auto_join(pd.DataFrame({"zip": other, "v": [1, 2]}), on="zip", on_no_match="ignore")


@pytest.mark.parametrize("dayfirst", [True, False])
def test_dayfirst_says_how_dates_of_digits_are_read(dayfirst):
    df = pd.DataFrame({"day": ["03/04/2024", "05/06/2024"]})
    other = pd.DataFrame({"day": ["2024-04-03", "2024-06-05", "2024-03-04", "2024-05-06"], "v": [1, 2, 3, 4]})
    assert df.auto_join(other, on="day", dayfirst=dayfirst)["v"].tolist() == ([1, 2] if dayfirst else [3, 4])


@pytest.mark.parametrize("label", [1, ("a", 2), 1.5, pd.Timestamp("2024-01-01")])
def test_columns_and_rules_are_given_by_labels_of_any_type(label):
    df = pd.DataFrame({"k": LAND})
    other = pd.DataFrame([["peru", 1, 4], ["peru", 2, 5], ["chad", 3, 6]])
    other.columns = pd.Index(["k", label, "more"], dtype=object)
    wide = df.auto_join(other, on="k", columns=[label], aggregate={label: "max"})
    (name,) = [c for c in wide if c not in ("k", "right_rows")]
    assert wide[name].fillna(0).tolist() == [2, 3, 0]
    json.dumps(wide.attrs["dfjoin"])


# Nothing in common -----------------------------------------------------------------------------------------

ONES, OTHERS = pd.DataFrame({"k": ["qa", "qb", "qc"]}), pd.DataFrame({"k2": ["x1", "y2", "z3"], "v": [1, 2, 3]})


def test_named_keys_without_a_match_are_warned_of_or_raise():
    with pytest.warns(DfjoinWarning, match="no row found a partner on k = k2.*; name other keys, or leave `on` out"):
        wide = ONES.auto_join(OTHERS, on="k", right_on="k2")
    assert wide["v"].isna().all()
    with pytest.raises(NoMatchError, match=r"no row found a partner on k = k2.* to get the columns without values"):
        ONES.auto_join(OTHERS, on="k", right_on="k2", on_no_match="raise")
    assert ONES.auto_join(OTHERS, on="k", right_on="k2", on_no_match="ignore").shape == (3, 2)
    assert ONES[:0].auto_join(OTHERS, on="k", right_on="k2", on_no_match="raise").shape == (0, 2)


def test_it_is_said_that_relations_were_looked_for():
    with pytest.warns(
        DfjoinWarning, match="share a value, and no program or likeness relates any|relations that were tried"
    ):
        ONES.auto_join(OTHERS)
    with pytest.warns(DfjoinWarning, match="no candidate shares a value with the frame"):
        ONES.auto_join(OTHERS, transform=False, fuzzy=False)


def test_examples_without_a_column_that_could_hold_them():
    text = "`examples` must hold values of the tables, but the table of `on` has no column of text"
    with pytest.raises(InvalidParameterError, match=text):
        pd.DataFrame({"a": [True, False]}).auto_join(pd.DataFrame({"b": ["x", "y"]}), examples=[("1.5", "x")])


@pytest.fixture
def prices(rng):
    return np.unique(np.round(rng.lognormal(3, 1, 60), 2))[:50]


@pytest.mark.parametrize("named", [{}, {"on": "price", "right_on": "cost"}])
def test_fractions_are_related_as_numbers(prices, named):
    costs = np.round(1.1075 * prices, 4)
    df = pd.DataFrame({"price": prices, "x": range(50)})
    wide = dfjoin.auto_join(df, pd.DataFrame({"cost": costs, "y": range(50)}).iloc[::-1], **named)
    assert wide["cost"].tolist() == costs.tolist()
    assert wide["y"].tolist() == list(range(50))


def test_fractions_of_binary_arithmetic_are_related(prices):
    df, other = pd.DataFrame({"cm": prices}), pd.DataFrame({"inch": prices / 2.54, "v": range(50)})
    assert dfjoin.auto_join(df, other, on="cm", right_on="inch")["v"].tolist() == list(range(50))
    df, other = pd.DataFrame({"cm": prices * 2.54}), pd.DataFrame({"inch": prices, "v": range(50)})
    assert dfjoin.auto_join(df, other, on="cm", right_on="inch")["v"].tolist() == list(range(50))


def test_fractions_are_keys_beside_texts(prices):
    other = pd.DataFrame({"cost": [f"${price:,.2f}" for price in prices], "v": range(50)})
    wide = dfjoin.auto_join(pd.DataFrame({"price": prices}), other, on="price", right_on="cost")
    assert wide["v"].notna().mean() >= 0.95
    assert (wide["v"].dropna() == wide["v"].dropna().index).all()


def test_fractions_are_keys_of_examples(prices):
    df, other = pd.DataFrame({"price": prices}), pd.DataFrame({"cost": np.round(prices * 2, 2), "v": range(50)})
    examples = [(str(price), str(round(price * 2, 2))) for price in prices[:3]]
    wide = dfjoin.auto_join(df, other, on="price", right_on="cost", examples=examples)
    assert wide["v"].tolist() == list(range(50))


def test_unrelated_fractions_join_nothing(rng):
    df, other = (pd.DataFrame({name: rng.lognormal(3, 1, 80)}) for name in ("price", "cost"))
    other["v"] = range(80)
    assert "v" not in dfjoin.auto_join(df, other, on_no_match="ignore")


def test_examples_may_name_fractions_that_nothing_relates():
    df, other = pd.DataFrame({"a": [1.5, 2.5]}), pd.DataFrame({"b": ["x", "y"]})
    assert len(dfjoin.auto_join(df, other, examples=[("1.5", "x")], on_no_match="ignore")) == 2


def test_a_relation_of_other_columns_is_taken_if_it_joins_the_same_rows_and_more():
    rng = np.random.default_rng(4)
    words = ["".join(rng.choice(list("abcdefghijklmnoprstuvw"), 8)).capitalize() for _ in range(130)]
    names, towns, others = words[:30], words[30:60], words[60:]
    left = pd.DataFrame({"area": [f"{name} Province" for name in names], "town": towns})
    right = pd.DataFrame({"name": [*names, *others[:5]], "town": [*towns[:18], *others[5:22]], "v": range(35)})
    wide = dfjoin.auto_join(left, right.sample(frac=1, random_state=1), aggregate=None)
    assert wide.attrs["dfjoin"]["joined"][0]["on"] == ["area"]
    assert wide["v"].tolist() == list(range(30))
    # Where both relations contradict each other, the equal keys are kept.
    mixed = right.assign(name=[*np.roll(names, 1), *others[:5]])
    wide = dfjoin.auto_join(left, mixed, aggregate=None)
    assert wide.attrs["dfjoin"]["joined"][0]["on"] == ["town"]
    # Where equality joins nearly all, nothing else is looked for.
    wide = dfjoin.auto_join(left, right.assign(town=[*towns[:28], *others[5:12]]), aggregate=None)
    assert wide.attrs["dfjoin"]["joined"][0]["on"] == ["town"]


NATIONS = [
    "Belgium",
    "Belize",
    "Austria",
    "Canada",
    "Denmark",
    "France",
    "Germany",
    "Hungary",
    "Italy",
    "Japan",
    "Kenya",
]


def _relationship(left, right, **options):
    (step,) = dfjoin.auto_join(left, right, **options).attrs["dfjoin"]["joined"]
    return step["relationship"]


@pytest.mark.parametrize("how", ["left", "outer"])
def test_programs_that_lead_to_one_row_are_many_to_one(how):
    nations = pd.DataFrame({"nation": NATIONS})
    codes = pd.DataFrame({"code": [name[:3].upper() for name in NATIONS[1:]]})
    options = {"on": "nation", "right_on": "code", "how": how}
    assert _relationship(nations, codes, **options) == "m:1"
    assert _relationship(nations[1:], codes, **options) == "1:1"
    assert _relationship(nations, pd.concat([codes, codes[1:2]]), aggregate=None, **options) == "m:m"
    options |= {"on": "code", "right_on": "nation"}
    assert _relationship(codes, nations, aggregate=None, **options) == "1:m"
    assert _relationship(pd.concat([codes, codes[1:2]]), nations, aggregate=None, **options) == "m:m"


def test_likeness_and_numbers_that_lead_to_one_row_are_many_to_one():
    words = [
        f"{a} {b} company" for a in ("north", "south", "blue", "green") for b in ("water", "steel", "paper", "glass")
    ]
    typed = pd.DataFrame({"firm": [word.replace("company", "compnay") for word in words]})
    options = {"on": "firm", "transform": False, "fuzzy": True}
    assert _relationship(pd.DataFrame({"firm": words}), typed, **options) == "1:1"
    twice = pd.DataFrame({"firm": [*words, words[0].replace(" ", "-", 1)]})
    assert _relationship(twice, typed, **options) == "m:1"
    assert _relationship(typed, twice, **options) == "1:m"
    celsius = np.random.default_rng(1).permutation(4_000)[:200] / 8 + 0.125
    exact = pd.DataFrame({"celsius": celsius})
    rounded = pd.DataFrame({"fahrenheit": np.unique(np.round(celsius * 1.8 + 32)).astype(int)})
    assert rounded.size < exact.size
    assert _relationship(exact, rounded, on="celsius", right_on="fahrenheit") == "m:1"


def test_many_to_many_of_a_program_is_warned_of():
    nations = pd.DataFrame({"nation": NATIONS})
    codes = pd.DataFrame({"code": [name[:3].upper() for name in [*NATIONS[1:], "Belize"]]})
    with pytest.warns(DfjoinWarning, match="on nation = code is m:m: rows have several partners on both sides"):
        dfjoin.auto_join(nations, codes, on="nation", right_on="code", aggregate=None)


def test_a_plan_says_what_share_of_new_rows_it_explains_and_warns_when_that_falls():
    names = [f"{first} {last}" for first in ("Ann", "Bob", "Cy", "Dee", "Eve") for last in ("Lee", "Ray", "Poe", "Fox")]
    swapped = [", ".join(name.split()[::-1]) for name in names]
    left, right = pd.DataFrame({"name": swapped}), pd.DataFrame({"who": names, "n": range(20)})
    plan = dfjoin.auto_join(left, right, on="name", right_on="who", fuzzy=False).attrs["dfjoin"]["plan"]
    same = dfjoin.auto_join(left[:5], right, plan=plan)
    assert "the plan explains 5 of 5 rows; 100.0% when it was made" in str(dfjoin.report(same))
    mixed = pd.DataFrame({"name": swapped[:6] + [name.replace(", ", "/") for name in swapped[6:]]})
    text = r"explain 6 of 20 rows \(30\.0%\); when it was made they explained 100\.0%: join the frames without `plan`"
    with pytest.warns(DfjoinWarning, match=text):
        again = dfjoin.auto_join(mixed, right, plan=plan)
    assert again["n"].notna().sum() == 6


def test_a_plan_whose_programs_read_the_right_frame_does_not_warn_of_few_left_rows():
    days = pd.date_range("2019-01-01", periods=30, freq="17D")
    left = pd.DataFrame({"title": [f"Report of {day:%B %d, %Y} (final)" for day in days]})
    right = pd.DataFrame({"day": days.strftime("%Y-%m-%d"), "n": range(30)})
    plan = dfjoin.auto_join(left, right, on="title", right_on="day").attrs["dfjoin"]["plan"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dfjoin.auto_join(left[3:5], right, plan=plan)["n"].tolist() == [3, 4]
        new = pd.DataFrame({"title": ["Report of May 01, 2019 (final)"]})
        assert dfjoin.auto_join(new, right, plan=plan, on_no_match="ignore")["n"].isna().all()
    other = pd.DataFrame({"title": [f"Final report, {day:%d.%m.%y}" for day in days]})
    with pytest.warns(DfjoinWarning, match="the programs of `plan` explain 0 of 30 rows"):
        dfjoin.auto_join(other, right, plan=plan, on_no_match="ignore")


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("is_named", [True, False])
def test_days_of_timestamps_are_written_as_days_where_texts_hold_them(unit, is_named):
    days = pd.date_range("2019-01-01", periods=12, freq="17D")
    titles = pd.DataFrame({"title": [f"Report of {day:%B %d, %Y} (final)" for day in days], "v": range(12)})
    dates = pd.DataFrame({"day": days.astype(f"datetime64[{unit}]"), "w": np.sqrt(np.arange(12))}).iloc[::-1]
    named = {"on": "title", "right_on": "day"} if is_named else {}
    wide = titles.auto_join(dates, aggregate=None, **named)
    assert wide["w"].tolist() == dates["w"].tolist()[::-1]
    plan = wide.attrs["dfjoin"]["plan"]
    again = titles.head(2).auto_join(dates.assign(day=dates["day"].dt.date), plan=plan)
    assert again["w"].tolist() == wide["w"].tolist()[:2], "as days of Python are"


def _sorted(frame):
    return frame.sort_values("land").reset_index(drop=True)


class TestLevelsOfTheIndex:
    """A named level of the index is a key like a column; the oracle is the same join after ``reset_index``."""

    PANEL = pd.DataFrame(
        {"land": np.repeat(["peru", "chad", "mali", "laos"], 3), "year": [2001, 2002, 2003] * 4, "v": range(12)}
    )

    @pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
    @pytest.mark.parametrize("levels", [["land"], ["land", "year"]])
    @pytest.mark.parametrize("is_named", [True, False])
    def test_of_both_frames(self, how, levels, is_named):
        own = self.PANEL if len(levels) == 2 else self.PANEL.drop_duplicates("land")[["land", "v"]]
        other = own.drop(columns="v").assign(w=np.sqrt(np.arange(len(own)))).iloc[2:].sample(frac=1, random_state=3)
        other.loc[len(other) + 20] = ["fiji", *([2001] if len(levels) == 2 else []), 99]
        options = {"how": how, "on": levels if is_named else None}
        wide = own.auto_join(other, **options)
        pd.testing.assert_frame_equal(own.set_index(levels).auto_join(other, **options), wide.set_index(levels))
        joined = own.set_index(levels).auto_join(other.set_index(levels), **options)
        pd.testing.assert_frame_equal(joined, wide.set_index(levels))
        assert joined.attrs["dfjoin"]["joined"][0]["on"] == levels
        again = own.set_index(levels).auto_join(other.set_index(levels), plan=joined.attrs["dfjoin"]["plan"])
        pd.testing.assert_frame_equal(again, joined)

    def test_the_index_stays_and_nothing_else_is_changed(self):
        index = pd.MultiIndex.from_arrays([list("ab"), ["peru", "chad"], [1, 2]], names=[None, "land", "v"])
        df = pd.DataFrame({"v": [1, 2]}, index)  # of the levels, `land` alone is a column: `v` is one already
        df.attrs["mine"] = 1
        before = df.copy()
        other = pd.DataFrame({"land": ["chad", "peru"], "w": [8, 9]})
        wide = df.auto_join(other, on="land")
        assert list(wide.columns) == ["v", "w"]
        assert wide["w"].tolist() == [9, 8]
        assert wide.index.equals(index)
        assert wide.index.names == index.names
        assert wide.attrs["mine"] == 1
        pd.testing.assert_frame_equal(df, before)
        alone = df.auto_join(pd.DataFrame({"x": ["z"]}), on_no_match="ignore")
        pd.testing.assert_frame_equal(pd.DataFrame(alone), before)

    def test_over_a_lake(self, build):
        lake = build({"facts": pd.DataFrame({"land": ["chad", "mali", "peru", "laos"], "area": [4.5, 3.5, 2.5, 1.5]})})
        df = self.PANEL.set_index(["land", "year"])
        hits = df.discover_joinable("land", lake)
        columns = self.PANEL.discover_joinable("land", lake)
        pd.testing.assert_frame_equal(pd.DataFrame(hits), pd.DataFrame(columns))
        assert len(df.discover_joinable(None, lake)) == len(columns) == 1
        expected = self.PANEL.auto_join(hits).set_index(["land", "year"])
        for other in (hits, lake):
            pd.testing.assert_frame_equal(df.auto_join(other), expected)
        assert expected["area"].notna().all()

    @pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
    @pytest.mark.parametrize("on", ["land", None])
    @pytest.mark.parametrize("is_reset", [False, True])
    def test_under_a_header_of_several_levels(self, how, on, is_reset):
        lands = pd.DataFrame({"land": ["laos", "peru", "fiji", "chad", "mali"], "w": [1.5, 2.5, 3.5, 4.5, 5.5]})
        grouped = self.PANEL.groupby("land").agg({"v": ["sum", "max"]})
        flat = grouped.set_axis(["v sum", "v max"], axis=1).reset_index()
        grouped = grouped.reset_index() if is_reset else grouped
        expected = lands.merge(flat, how=how, on="land")
        wide = lands.auto_join(grouped, on=on, how=how)
        pd.testing.assert_frame_equal(_sorted(wide), _sorted(expected), check_dtype=False)
        wide = grouped.auto_join(lands, on=on, how=how)
        wide = wide.set_axis([" ".join(filter(None, label)) for label in wide.columns], axis=1)
        wide = wide if is_reset else wide.reset_index()
        pd.testing.assert_frame_equal(_sorted(wide), _sorted(flat.merge(lands, how=how, on="land")), check_dtype=False)

    def test_names_that_do_not_tell_one_level_are_no_keys(self):
        twice = pd.MultiIndex.from_arrays([LAND, LAND[::-1]], names=["land", "land"])
        with pytest.raises(DfjoinError, match=r"'land'; it is a level of the index: pass df\.reset_index"):
            pd.DataFrame({"v": range(3)}, twice).auto_join(pd.DataFrame({"land": LAND, "w": range(3)}), on="land")


@pytest.mark.parametrize("how", ["right", "outer"])
def test_right_rows_without_a_key_are_left_out_with_a_warning_or_stay_without_aggregates(how):
    left = pd.DataFrame({"k": ["a", "b"], "v": [1, 2]})
    right = pd.DataFrame({"k": ["a", None, "c", None], "w": [1.5, 2.5, 3.5, 4.5]})
    with pytest.warns(DfjoinWarning, match="^2 rows of the other frame without a key are left out, .* aggregate=None"):
        wide = left.auto_join(right, on="k", how=how)
    assert wide["w"].dropna().tolist() == [1.5, 3.5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = left.auto_join(right, on="k", how=how, aggregate=None)
        left.auto_join(right, on="k")
    assert sorted(whole["w"].dropna()) == sorted(left.merge(right, on="k", how=how)["w"].dropna())
