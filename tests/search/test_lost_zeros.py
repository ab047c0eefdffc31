"""Integers that have lost their leading zeros: when a search warns, and what the remedy finds."""

import warnings

import pandas as pd
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import DfjoinWarning
from dfjoin.search import spellings
from dfjoin.search.spellings import is_clearly_more
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from tests.search.searching import find


def find_useful(values, lake, name="q", **options):
    """Search as a user does who wants every row: by usefulness, whatever the score."""
    return dfjoin.discover_joinable(pd.DataFrame({name: values}), name, lake, min_score=0, **options)


class TestZeroPadding:
    @pytest.fixture
    def codes(self, build):
        return build(
            {
                "zips": pd.DataFrame({"zip": ["00501", "02134", "10001", "90210"]}),
                "rows": pd.DataFrame({"no": [1, 2, 501]}),
            }
        )

    def test_the_warning_names_column_width_and_remedy(self, codes):
        with pytest.warns(DfjoinWarning, match=r"column 'Postal' match 3 values.*up to 5 digits, and 1") as caught:
            hits = dfjoin.discover_joinable(pd.DataFrame({"Postal": [501, 2134, 90210]}), "Postal", codes, min_score=0)
        message = str(caught[0].message)
        assert "dtype=str" in message and "`pad=5`" in message
        assert caught[0].filename == __file__
        assert hits[["table", "matched", "pad"]].values.tolist() == [["zips", 3, 5], ["rows", 1, pd.NA]]
        assert hits["pad"].dtype == "Int64" and hits["containment"].tolist() == [1, 1 / 3]

    @pytest.mark.filterwarnings("ignore::dfjoin.errors.DfjoinWarning")
    def test_the_width_is_a_column_where_a_row_has_one(self, codes):
        found = {k: find_useful([1, 2, 501, 2134], codes, "no", k=k) for k in (1, 2)}
        assert [("pad" in hits, hits["table"].tolist()) for hits in found.values()] == [
            (False, ["rows"]),
            (True, ["rows", "zips"]),
        ]

    def test_pad_finds_the_matches_without_a_warning(self, codes):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            hits = find([501, 2134, 90210], codes, name="Postal", pad=5)
        assert (hits["table"][0], hits["matched"][0]) == ("zips", 3)

    def test_a_width_beyond_the_longest_number(self, codes):
        with pytest.warns(DfjoinWarning, match="`pad=5`"):
            find([501, 2134], codes)

    @pytest.mark.parametrize("width", [3, 4, 5, 8, 18])
    def test_a_width_is_found_where_the_vocabulary_holds_its_spellings(self, build, width):
        lake = build({"ids": pd.DataFrame({"id": [str(i).zfill(width) for i in range(1, 60)], "v": range(59)})})
        expected = rf"match 59 values when written with zeros up to {width} digits, and 0 as.*`pad={width}`"
        with pytest.warns(DfjoinWarning, match=expected):
            find(list(range(1, 60)), lake, tables="ids", kinds="text")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            find([51, 7], build({"zips": pd.DataFrame({"zip": ["00501", "02134", "10001"]})}))

    def test_nothing_is_searched_when_the_vocabulary_holds_no_other_spelling(self, codes, monkeypatch):
        def fail(*_):
            raise AssertionError("spelled anew")

        monkeypatch.setattr("dfjoin.search.spellings.respell_zeros", fail)
        find([1, 501], codes)
        find([10001, 90210, 501], codes)
        with pytest.raises(AssertionError, match="spelled anew"):
            find([501, 2134], codes)

    def test_values_of_the_full_width_are_no_reason_to_look_for_zeros(self, build):
        """Each of five short numbers is a code of some column, and no column has two of them."""
        values = list(range(10000, 10030))
        codes = {f"t{i}": pd.DataFrame({"c": [f"0000{i}", "x"]}) for i in range(1, 6)}
        lake = build(codes | {"codes": pd.DataFrame({"code": [str(value) for value in values]})})
        hits = find([*values, 1, 2, 3, 4, 5], lake)
        assert hits[["table", "matched"]].values.tolist() == [["codes", 30]]
        assert "pad" not in hits.attrs["dfjoin"]["searches"][0]

    @pytest.mark.parametrize("query", [["00501", "02134"], [10001, 90210], [-501, 2134], [0.5, 501.0]])
    def test_no_warning_where_zeros_do_not_help(self, codes, query):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            find(query, codes)

    def test_batch_gives_no_warning(self, codes):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            hits = dfjoin.discover_joinable_batch({"Postal": [501, 2134, 90210]}, codes, min_score=0)
        assert hits["matched"].max() == 3 and hits["pad"][0] == 5


STATES = {
    f"{state:02}": n for state, n in {1: 67, 2: 29, 4: 15, 5: 75, 6: 58, 12: 66, 13: 159, 36: 62, 48: 254}.items()
}
COUNTIES = [f"{state}{2 * i + 1:03}" for state, n in STATES.items() for i in range(n)]
"""Codes of counties; those of five states have a zero in front."""

N_ZEROS = sum(code[0] == "0" for code in COUNTIES)


@pytest.fixture
def lake(build):
    return build(
        {
            "texts": pd.DataFrame({"fips": COUNTIES, "people": [i * 1.5 for i in range(len(COUNTIES))]}),
            "numbers": pd.DataFrame(
                {"geoid": [int(c) for c in COUNTIES], "area": [i * 2.5 for i in range(len(COUNTIES))]}
            ),
            "ranks": pd.DataFrame({"rank": range(1, 60), "city": [f"c{i}" for i in range(59)]}),
        }
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("values", "other"), [(COUNTIES, "numbers"), ([int(c) for c in COUNTIES], "texts")])
class TestBothWays:
    def test_the_column_that_lost_or_kept_its_zeros_is_found_whole(self, lake, values, other):
        hits = find_useful(values, lake, name="county", families=False)
        by_table = hits.set_index("table")
        n = len(COUNTIES)
        assert by_table["matched"].to_dict() == {"texts": n, "numbers": n}
        assert by_table["pad"].dropna().to_dict() == {other: 5}
        i = hits["table"].tolist().index(other)
        text = str(hits.explain(i))
        assert (
            "  zeros: codes of 5 digits of your column were read without their zeros in front" in text
            if other == "numbers"
            else "  zeros: integers of your column were written with 5 digits, as the codes of the table are" in text
        )
        assert hits.explain(i).to_dict()["pad"] == (-5 if other == "numbers" else 5)
        assert "zeros:" not in str(hits.explain(1 - i))
        pairs = hits.pairs(i)
        assert len(pairs) == n and pairs["query_value"][0] == str(values[0])

    def test_it_is_joined_and_reported(self, lake, values, other):
        df = pd.DataFrame({"county": values})
        hits = df.discover_joinable("county", lake, families=False)
        for wide in (df.auto_join(lake, on="county", k=2), df.auto_join(hits)):
            assert wide["people"].notna().all() and wide["area"].notna().all()
            (step,) = (step for step in wide.attrs["dfjoin"]["joined"] if step["table"] == other)
            assert step["pad"] == (-5 if other == "numbers" else 5) and step["coverage"] == 1
            assert "  zeros: " in str(dfjoin.report(wide))
            again = df.iloc[:9].auto_join(wide.attrs["dfjoin"]["plan"])
            pd.testing.assert_frame_equal(again, wide.iloc[:9])

    def test_by_matched_values_rows_have_values_as_they_are(self, lake, values, other):
        n = len(COUNTIES)
        told = {"pad": -5 if other == "numbers" else 5, "n_matched_with_pad": n}
        for options in ({}, {"plan": "josie"}, {"weighted": True}, {"k": 2, "threshold": 0.1}, {"mode": "lsh"}):
            if options.get("mode") == "lsh":
                options = {**options, "threshold": 0.5}
            hits = find(values, lake, name="county", **options)
            assert "pad" not in hits and hits["matched"].is_monotonic_decreasing
            assert hits["matched"].iloc[:2].tolist() == [n, n - N_ZEROS] and hits["table"][1] == other
            (search,) = hits.attrs["dfjoin"]["searches"]
            assert told.items() <= search.items()
            assert "zeros:" not in str(hits.explain(1)) and len(hits.pairs(1)) == n - N_ZEROS


@pytest.mark.filterwarnings("error")
def test_little_gain_changes_nothing(build):
    lake = build({"t": pd.DataFrame({"id": [*range(100, 200), *range(10, 20)], "v": range(110)})})
    assert "pad" not in find_useful([*map(str, range(100, 200)), "011"], lake)
    assert "pad" not in find_useful(["007", "x", "y"], lake)


def test_by_matched_values_codes_without_zeros_are_warned_of(build):
    """The order is that of the counts; the remedy is the order by usefulness, where the row has its pad."""
    n = len(COUNTIES)
    lake = build({"numbers": pd.DataFrame({"geoid": [int(code) for code in COUNTIES], "area": range(n)})})
    with pytest.warns(DfjoinWarning, match=r'left out, .*; rank="useful" finds the columns of the lake that lost them'):
        hits = find(COUNTIES, lake, name="geoid", tables="numbers")
    assert hits["matched"].max() == n - N_ZEROS
    with pytest.warns(DfjoinWarning, match="left out, .*; rows with `pad` are the columns of the lake that lost them"):
        hits = find_useful(COUNTIES, lake, name="geoid")
    assert (hits["matched"].max(), hits["pad"].max()) == (n, 5)
    hits = dfjoin.discover_joinable_batch({"a": COUNTIES}, lake, rank="matched")
    assert "pad" not in hits and hits.attrs["dfjoin"]["searches"][0]["pad"] == -5


def test_by_matched_values_a_column_is_told_that_gains(build):
    """Most values of `long` match in either spelling; `codes` has fewer of them, and those with zeros."""
    long, short = [str(i) for i in range(10000, 10090)], [f"{i:05}" for i in range(10)]
    lake = build({"long": pd.DataFrame({"c": long}), "codes": pd.DataFrame({"c": [*long[:60], *short]})})
    hits = dfjoin.discover_joinable_batch({"a": [*map(int, long), *range(10)]}, lake, rank="matched")
    (search,) = hits.attrs["dfjoin"]["searches"]
    assert (search["pad"], search["n_matched_with_pad"]) == (5, 70)


def test_the_best_k_are_kept_and_every_query_column_has_its_own(lake):
    df = pd.DataFrame({"a": COUNTIES, "b": [f"c{i % 59}" for i in range(len(COUNTIES))]})
    hits = df.discover_joinable("*", lake, k=1)
    assert hits[["query_column", "matched"]].values.tolist() == [["a", len(COUNTIES)], ["b", 59]]
    hits = df.discover_joinable("a", lake, k=2, families=False)
    assert sorted(hits["table"]) == ["numbers", "texts"]
    assert len(df.discover_joinable("a", lake, threshold=0.99, families=False)) == 2


def test_a_search_by_usefulness_that_shows_nothing_does_not_warn(build):
    lake = build({"zips": pd.DataFrame({"zip": ["00501", "02134", "90210"], "name": ["a", "b", "c"]})})
    df = pd.DataFrame({"n": [501, 2134, 90210]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dfjoin.discover_joinable(df, "n", lake, min_score=0.99).empty
    with pytest.warns(DfjoinWarning, match="`pad=5`"):
        assert len(dfjoin.discover_joinable(df, "n", lake, min_score=0))


@pytest.mark.parametrize(
    ("respelled", "plain", "is_more"),
    [(2, 0, True), (1, 0, False), (40, 38, True), (100, 98, False), (10, 9, False), (100, 95, True), (5, 9, False)],
)
def test_a_spelling_matches_clearly_more_by_two_values_and_by_a_twentieth(respelled, plain, is_more):
    assert is_clearly_more(respelled, plain) is is_more


def test_digits_with_zeros_beside_longer_integers_are_no_codes_of_one_width():
    codes = [f"{i:05d}" for i in range(1, 40)]
    settings = IndexSettings()
    assert spellings._width_of_codes(normalize_column(pa.array(codes), settings)) == 5
    assert spellings._width_of_codes(normalize_column(pa.array([*codes, "123456"]), settings)) == 0


def test_rows_of_all_spellings_come_in_the_order_of_a_result():
    rows = pd.DataFrame(
        {
            "query_column": ["b", "a", "b", "a", "a", "b", "a"],
            "usefulness": [0.5, 0.2, 0.5, 0.9, 0.2, 0.7, 0.2],
            "matched": [3, 4, 4, 1, 4, 1, 5],
            "cardinality": [9, 8, 9, 9, 7, 9, 9],
        }
    )
    order = [3, 6, 4, 1, 5, 2, 0]
    assert spellings._best(rows, list(range(7)), ["a", "b"], None) == order
    assert spellings._best(rows, list(range(7)), ["a", "b"], 2) == [3, 6, 5, 2]
    assert spellings._best(rows, [0, 1, 4, 5], ["b", "a"], 5) == [5, 0, 4, 1]
    by_rows = rows.drop(columns="usefulness").assign(matched_rows=[1, 2, 3, 4, 5, 6, 7])
    assert spellings._best(by_rows, list(range(7)), ["a", "b"], 1) == [6, 5]
