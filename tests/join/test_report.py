"""The report of a join: plain JSON, small, and a text that says what was done."""

import json

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.join.rows.report import MAX_BYTES, JoinReport, truncate_report

LIMIT = 64 * 1024


@pytest.fixture
def pair():
    df = pd.DataFrame({"land": ["peru", "CHAD", "Narnia", None]})
    lands = pd.DataFrame({"country": ["Peru", "Chad", "Chad"], "area": [1.5, 2.0, 4.0], "flag": [True, True, False]})
    return df, lands


def _size(report):
    return len(json.dumps(report, ensure_ascii=False).encode())


def test_values_and_text_of_a_small_join(pair):
    df, lands = pair
    wide = dfjoin.auto_join(df, lands, on="land", right_on="country")
    report = wide.attrs["dfjoin"]
    assert json.loads(json.dumps(report)) == report
    assert (report["rows_in"], report["rows_out"], report["how"]) == (4, 4, "left")
    (step,) = report["joined"]
    assert step["on"] == ["land"]
    assert step["right_on"] == ["country"]
    assert (step["matched"], step["rows_matched"], step["coverage"]) == (2, 2, 0.5)
    assert step["columns"] == [
        {"name": "area", "column": "area", "rule": "mean", "n_disagreeing": 2},
        {"name": "flag", "column": "flag", "rule": "share", "n_disagreeing": 0},
    ]
    assert report["plan"]["steps"][0]["names"] == {"area": "area", "flag": "flag"}
    text = str(dfjoin.report(wide))
    assert text.splitlines() == [
        "4 rows in, 4 rows out, how='left'",
        "joined the other frame on land = country, 1:m: 2 of 4 rows found a partner (50.0%)",
        "  columns: area (mean; 2 rows disagree), flag (share)",
    ]
    assert repr(dfjoin.report(wide)) == text
    assert dfjoin.report(wide).to_dict() == report


def test_text_tells_what_was_passed_over(build):
    frames = {f"t{i}": pd.DataFrame({f"m{i}": range(1, 50 + i), "v": range(101, 150 + i)}) for i in range(8)}
    wide = dfjoin.auto_join(pd.DataFrame({"n": [1, 2, 3, 4]}), build(frames), on="n", on_no_match="ignore")
    text = str(dfjoin.report(wide))
    assert "nothing was joined" in text
    assert len(wide.attrs["dfjoin"]["passed_over"]) == 8
    assert text.count("accidental, chance explains the shared values") == 5
    assert text.splitlines()[-1] == "passed over 3 more"


@pytest.mark.parametrize(("width", "of_lake"), [(10, False), (60, True)])
def test_3000_columns_of_long_names_stay_below_64_kib(build, width, of_lake):
    columns = {f"{'ü' * width}_{i:04}": [i * 1.5, i + 0.25] for i in range(3000)}
    other = pd.DataFrame({"key": ["a", "b"], **columns})
    df = pd.DataFrame({"key": ["A", "b", "x"]})
    wide = dfjoin.auto_join(df, build({"wide": other}) if of_lake else other, on="key")
    assert wide.shape == (3, 3001)
    report = wide.attrs["dfjoin"]
    assert _size(report) < LIMIT
    assert json.loads(json.dumps(report)) == report
    assert report["joined"][0]["n_columns"] == 3000
    assert report["plan"]["steps"][0]["table"] == ("wide" if of_lake else "")
    assert "3,000" in str(dfjoin.report(wide)) or "more" in str(dfjoin.report(wide))
    if of_lake:
        again = dfjoin.auto_join(df, report["plan"])
        assert list(again) == list(wide)


def test_truncating_leaves_a_small_report_alone(pair):
    wide = dfjoin.auto_join(pair[0], pair[1], on="land", right_on="country")
    before = json.dumps(wide.attrs["dfjoin"])
    assert json.dumps(truncate_report(json.loads(before))) == before
    assert MAX_BYTES == LIMIT


def test_truncating_shortens_what_was_passed_over_before_the_plan():
    report = {
        "rows_in": 1,
        "rows_out": 1,
        "how": "left",
        "joined": [],
        "n_passed_over": 50,
        "passed_over": [{"table": "t" * 3000, "column": "c", "reason": "r"} for _ in range(50)],
        "plan": {"steps": [{"names": {"a": "a__b"}}]},
    }
    short = truncate_report(report)
    assert _size(short) < LIMIT
    assert short["plan"]["steps"][0]["names"] == {"a": "a__b"}
    assert 0 < len(short["passed_over"]) < 50
    assert short["n_passed_over"] == 50
    assert "passed over 45 more" in str(JoinReport(short))


def test_the_report_of_a_key_that_no_column_is_alone_is_json():
    keys = pd.DataFrame({"a": ["x", "x", "y", "y"], "b": [1, 2, 1, 2]})
    for values, is_unique in (([1, 2, 3, 4], True), ([1, 2, 3, 4, 5], False)):
        other = pd.concat([keys, keys[:1]])[: len(values)].assign(v=values)
        report = dfjoin.report(keys.auto_join(other, on=["a", "b"])).to_dict()
        assert json.loads(json.dumps(report))["plan"]["steps"][0]["is_unique"] is is_unique


def test_a_report_survives_copies_but_not_being_absent(pair):
    df, lands = pair
    wide = dfjoin.auto_join(df, lands, on="land", right_on="country")
    assert str(dfjoin.report(wide.copy())) == str(dfjoin.report(wide))
    with pytest.raises(InvalidParameterError, match="`df` carries no join report"):
        dfjoin.report(df)
    with pytest.raises(InvalidTypeError, match="`df` must be a DataFrame that auto_join made, got dict"):
        dfjoin.report({})


def test_attrs_of_a_search_are_no_join_report(example_lake):
    hits = dfjoin.discover_joinable(pd.DataFrame({"c": ["Peru", "Chad"]}), "c", example_lake, rank="matched")
    with pytest.raises(InvalidParameterError, match="no join report"):
        dfjoin.report(hits)


@pytest.mark.parametrize("option", ["columns", "aggregate"])
def test_long_options_keep_the_report_below_64_kib(option):
    values = {f"{'x' * 40}{i:05}": [1.5, 2.5] for i in range(2000)}
    options = {"columns": list(values)} if option == "columns" else {"aggregate": dict.fromkeys(values, "mean")}
    other = pd.DataFrame({"key": ["a", "b"], **values})
    wide = dfjoin.auto_join(pd.DataFrame({"key": ["a", "b"]}), other, on="key", **options)
    assert wide.shape[1] == 2001
    assert len(json.dumps(wide.attrs["dfjoin"], ensure_ascii=False).encode()) < 64 * 1024


def test_the_column_line_of_a_shortened_report_is_readable():
    step = {
        "table": "t", "on": ["a"], "right_on": ["b"], "relationship": "1:1", "rows_matched": 1,
        "coverage": 1.0, "n_columns": 3000, "columns": [],
    }  # fmt: skip
    text = str(
        JoinReport(
            {"rows_in": 1, "rows_out": 1, "how": "left", "joined": [step], "passed_over": [], "n_passed_over": 0}
        )
    )
    assert "columns:  and" not in text


def test_the_text_counts_the_rows_that_each_step_had(build):
    lake = build(
        {
            "t": pd.DataFrame({"country": ["Peru", "Chad"], "area": [1.5, 2.5]}),
            "u": pd.DataFrame({"country": ["Peru", "Chad", "Togo"], "pop": [11, 12, 17]}),
        }
    )
    df = pd.DataFrame({"c": ["Peru", "Chad", "Mali", None]})
    wide = dfjoin.auto_join(df, lake, on="c", k=2, how="inner")
    lines = str(dfjoin.report(wide)).splitlines()
    assert "2 of 4 rows found a partner (50.0%)" in lines[1]
    assert "2 of 2 rows found a partner (100.0%)" in lines[3]


def test_the_text_shows_the_program_of_the_target_and_no_copied_key():
    copied = {"version": 1, "columns": ["k"], "pieces": [{"column": 0, "steps": []}]}
    joined = {"version": 1, "columns": ["k", "l"], "pieces": [{"column": 0, "steps": []}, {"column": 1, "steps": []}]}
    entry = {"text": "a.upper()", "support": 5, "precision": 0.99}
    wide = pd.DataFrame({"a": ["x"]}).auto_join(pd.DataFrame({"a": ["x"], "v": [1]}), on="a")
    values = wide.attrs["dfjoin"]
    for target, line in (
        (copied, "  by a.upper(): 5 rows"),
        (joined, "  by a.upper() = k + l: 5 rows"),
        (None, "  by a."),
    ):
        values["joined"][0]["relation"] = {"transform": {"target": target, "programs": [entry]}}
        assert line in str(JoinReport(values))
    values["joined"][0]["relation"] = {
        "transform": {"target": copied, "programs": [entry | {"support": 0}]},
        "fuzzy": {"n_pairs": 3, "estimated_precision": 0.97},
    }
    assert "  by likeness: 3 keys, precision about 0.970" in str(JoinReport(values)) and " 0 rows" not in str(
        JoinReport(values)
    )


def test_the_text_says_that_exported_code_would_not_match_some_keys():
    names = [f"{a}, {b}" for a in ("Adler", "Brook", "Crane", "Drake") for b in ("Ann", "Bea", "Cid")]
    people = [" ".join(name.split(", ")[::-1]) for name in names]
    left = pd.DataFrame({"name": names})
    wide = dfjoin.auto_join(left, pd.DataFrame({"person": people}), aggregate=None)
    assert "plain =" not in str(dfjoin.report(wide))
    shouted = [person.upper() if i < 3 else person for i, person in enumerate(people)]
    text = str(dfjoin.report(dfjoin.auto_join(left, pd.DataFrame({"person": shouted}), aggregate=None)))
    assert "3 of these keys are equal only when casing, blanks and zeros are made equal" in text
