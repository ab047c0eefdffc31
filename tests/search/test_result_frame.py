"""The result frame: scores, relationship, accidental flag, dtypes."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ColumnNotFoundError
from dfjoin.search import candidates
from dfjoin.search.candidates import JoinCandidates
from tests.search.searching import check_dtypes, find


class TestScores:
    def test_containment_and_jaccard(self, lake):
        hits = find(["a", "B", "b", None, "q", "r"], lake)
        found = {(h.table, h.column): h for h in hits.itertuples()}
        assert set(found) == {("ones", "key"), ("ones", "other"), ("many", "key")}
        best = found["ones", "key"]
        assert (best.matched, best.query_cardinality, best.cardinality, best.n_rows) == (2, 4, 4, 4)
        assert best.containment == 0.5 and best.jaccard == 2 / 6
        assert found["ones", "other"].containment == 0.25 and found["ones", "other"].jaccard == 1 / 5
        assert found["many", "key"].n_rows == 6 and found["many", "key"].cardinality == 4
        assert (hits["method"] == "exact").all() and hits["exact"].all() and (hits["query_column"] == "q").all()

    def test_relationship_follows_the_uniqueness_of_both_whole_columns(self, lake):
        unique = find(["a", "b", None, None], lake).set_index(["table", "column"])["relationship"]
        assert unique["ones", "key"] == "1:1"
        assert unique["many", "key"] == "1:m"
        repeated = find(["a", "b", "zzz", "ZZZ"], lake).set_index(["table", "column"])["relationship"]
        assert repeated["ones", "key"] == "m:1"
        assert repeated["many", "key"] == "m:m"

    def test_weighted_adds_rows(self, lake):
        hits = find(["a", "A", "a", "c", None, "q"], lake, weighted=True)
        check_dtypes(hits, weighted=True)
        found = hits.set_index(["table", "column"])
        assert found.loc[("ones", "key"), "matched_rows"] == 4 and found.loc[("ones", "key"), "matched"] == 2
        assert found.loc[("ones", "key"), "row_containment"] == 4 / 5
        assert found.loc[("many", "key"), "matched_rows"] == 3

    def test_distinct_values_of_what_is_ranked_by_rows(self, build):
        """The order by rows is another than that by values."""
        lake = build({"one": pd.DataFrame({"c": ["a", "z"]}), "two": pd.DataFrame({"c": ["b", "c"]})})
        hits = find(["a", "a", "a", "b", "c"], lake, weighted=True)
        assert hits["table"].tolist() == ["one", "two"]
        assert hits["matched"].tolist() == [1, 2] and hits["matched_rows"].tolist() == [3, 2]

    def test_nulls_do_not_repeat_a_value(self, build):
        lake = build({"t": pd.DataFrame({"c": ["a", "b", None, None], "d": ["a", "b", "b", None]})})
        hits = find(["a", "b"], lake).set_index("column")["relationship"]
        assert hits["c"] == "1:1" and hits["d"] == "1:m"

    def test_an_identical_column_scores_one(self, lake):
        best = find(list("dcba"), lake, k=1).iloc[0]
        assert best["containment"] == best["jaccard"] == 1.0 and best["relationship"] == "1:1"


class TestShape:
    def test_hits_have_the_promised_dtypes(self, lake):
        check_dtypes(find(["a", "b"], lake))

    @pytest.mark.parametrize("weighted", [False, True])
    def test_zero_hits_have_all_columns_and_dtypes(self, lake, weighted):
        hits = find(["none", "nothing"], lake, weighted=weighted)
        assert len(hits) == 0 and isinstance(hits, JoinCandidates)
        check_dtypes(hits, weighted)
        assert isinstance(repr(hits), str) and isinstance(hits._repr_html_(), str)

    def test_a_frame_without_key_like_columns_gives_zero_rows(self, lake):
        hits = dfjoin.discover_joinable(pd.DataFrame({"x": [0.5, 1.5], "y": [True, False]}), "*", lake, rank="matched")
        assert len(hits) == 0
        check_dtypes(hits)

    def test_a_frame_without_columns_is_an_error(self, lake):
        with pytest.raises(ColumnNotFoundError, match=r"`df` must have at least one column"):
            dfjoin.discover_joinable(pd.DataFrame(index=[1, 2]), None, lake, rank="matched")

    def test_attributes_tell_what_was_read(self, lake):
        about = find(["a", "b"], lake).attrs["dfjoin"]
        assert about["mode"] == "exact" and about["complete"] is True
        assert about["index"] == str(lake.path) and about["version"] == 1
        (search,) = about["searches"]
        assert search["query_column"] == "q" and search["n_values"] == search["n_found"] == 2
        assert search["plan"] and search["bytes_read"] >= 0

    def test_the_frame_is_not_changed(self, lake):
        frame = pd.DataFrame({"q": ["a", None], "n": [1, 2]}, index=["r", "r"])
        before = frame.copy(deep=True)
        dfjoin.discover_joinable(frame, "q", lake, rank="matched")
        pd.testing.assert_frame_equal(frame, before)


class TestAccidental:
    @pytest.fixture
    def numbers(self, build, rng):
        return build(
            {
                "rows": pd.DataFrame({"No.": range(1, 101), "half": range(1, 200, 2)}),
                "ids": pd.DataFrame({"id": sorted(rng.choice(10**9, 200, replace=False).tolist())}),
            }
        )

    def test_row_numbers_join_nothing_by_themselves(self, numbers):
        hits = find(list(range(1, 51)), numbers).set_index("column")
        assert hits.loc["No.", "matched"] == 50 and hits.loc["No.", "accidental"]
        assert hits.loc["half", "matched"] == 25 and hits.loc["half", "accidental"]

    def test_a_header_that_says_something_counts(self, build):
        lake = build({"t": pd.DataFrame({"employee_number": range(1, 300), "x": range(1, 300)})})
        hits = find(list(range(1, 290)), lake, name="Employee Number").set_index("column")
        assert not hits.loc["employee_number", "accidental"]
        for header in ("x", "rank"):  # numbers under headers that name nothing
            assert find(list(range(1, 290)), lake, name=header).set_index("column").loc["x", "accidental"]

    def test_sparse_ids_are_not_flagged(self, numbers):
        ids = numbers.table("ids")["id"].tolist()
        (hit,) = find(ids[::4], numbers, name="ref").itertuples()
        assert hit.table == "ids" and hit.matched == 50 and not hit.accidental

    @pytest.mark.parametrize("mode", ["exact", "lsh"])
    def test_the_flag_is_that_of_the_score(self, numbers, rng, mode):
        for values in (range(1, 51), range(0, 150, 3), rng.choice(200, 60), numbers.table("ids")["id"].head(30)):
            df = pd.DataFrame({"No": np.asarray(values)})
            useful = dfjoin.discover_joinable(df, "No", numbers, mode=mode, threshold=0.0, families=False)
            scores = {(r.table, r.column): r.score for r in useful.itertuples()}
            hits = dfjoin.discover_joinable(df, "No", numbers, mode=mode, threshold=0.0, rank="matched")
            assert (
                len(hits)
                and [scores[r.table, r.column] < 0.1 for r in hits.itertuples()] == hits["accidental"].tolist()
            )

    def test_of_estimates_the_rarity_of_values_is_the_usual_one(self, build):
        lake = build({"t": pd.DataFrame({"n": range(1, 400), "employee_number": range(10**6, 10**6 + 399)})})
        for name, values, flag in (("x", range(1, 390), True), ("Employee Number", range(10**6, 10**6 + 390), False)):
            df = pd.DataFrame({name: values})
            hits = dfjoin.discover_joinable(df, df.columns[0], lake, mode="lsh", verify=False, k=1, rank="matched")
            assert not hits["exact"].any() and hits["accidental"].tolist() == [flag]

    def test_text_is_never_accidental(self, build):
        lake = build({"t": pd.DataFrame({"code": [f"c{i}" for i in range(100)], "mixed": [*range(99), "x"]})})
        assert not find([f"c{i}" for i in range(50)], lake)["accidental"].any()
        assert find(list(range(50)), lake)["accidental"].all(), "serial numbers are, in a column of texts too"

    def test_the_flag_does_not_depend_on_the_number_of_segments(self, build, monkeypatch):
        from dfjoin.ingest import driver

        monkeypatch.setattr(driver, "_TASK_INPUT_BYTES", 1)
        tables = {
            "a": pd.DataFrame({"n": range(1, 101)}),
            "b": pd.DataFrame({"n": [1, 10**6, 10**9]}),
            "c": pd.DataFrame({"t": ["1", "x", "y"]}),
        }
        lakes = [build(tables), build(tables, settings={"segment_bytes": 1})]
        assert [len(lake.segments) for lake in lakes] == [1, 3]
        one, three = (find(list(range(1, 31)), lake) for lake in lakes)
        pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(three))
        assert one["accidental"].tolist() == [True, True, True]
        assert one["kind"].tolist() == ["integer", "integer", "text"]


class TestFrame:
    @pytest.mark.parametrize("options", [{}, {"weighted": True}])
    def test_the_way_of_pandas_2_gives_the_same_frame(self, lake, monkeypatch, options):
        expected = find(["a", "B", "b", None, "q", "r"], lake, **options)
        monkeypatch.setattr(candidates, "create_dataframe_from_blocks", None)
        hits = find(["a", "B", "b", None, "q", "r"], lake, **options)
        assert type(hits) is type(expected) is JoinCandidates
        pd.testing.assert_frame_equal(hits, expected)
        check_dtypes(hits, "weighted" in options)

    def test_frames_share_nothing_that_can_be_changed(self, lake):
        first, second = find(["a", "b"], lake), find(["a", "b"], lake)
        first.columns.name = "changed"
        first.loc[:, "method"] = "changed"
        first.loc[:, "matched"] = 0
        third = find(["a", "b"], lake)
        for other in (second, third):
            assert other.columns.name is None
            assert (other["method"] == "exact").all() and (other["matched"] > 0).all()
