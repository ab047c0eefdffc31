"""Searches with several query columns, one after the other and in a batch."""

import pandas as pd
import pytest

import dfjoin
from tests.search.searching import check_dtypes, find


class TestManyColumns:
    @pytest.fixture
    def df(self):
        return pd.DataFrame(
            {
                "one": ["a", "b", "c"], "real": [0.5, 1.5, 2.5], "flag": [True, False, True], "none": [None] * 3,
                "constant": ["a"] * 3, "two": ["y", "z", "q"], "lists": [[1], [2], [3]],
            }
        )  # fmt: skip

    @pytest.mark.parametrize("on", ["*", None])
    def test_star_is_every_key_like_column_in_turn(self, df, lake, on):
        every = dfjoin.discover_joinable(df, on, lake, k=2, rank="matched")
        single = [dfjoin.discover_joinable(df, name, lake, k=2, rank="matched") for name in ("one", "two")]
        expected = pd.concat([pd.DataFrame(hits) for hits in single], ignore_index=True)
        pd.testing.assert_frame_equal(pd.DataFrame(every), expected)
        assert every.explain(len(every) - 1).query_column == "two"

    def test_a_column_called_star_is_that_column(self, lake):
        df = pd.DataFrame({"*": ["a", "b"], "x": ["y", "z"]})
        assert set(dfjoin.discover_joinable(df, "*", lake, rank="matched")["query_column"]) == {"*"}

    def test_a_list_of_one_column(self, df, lake):
        listed = dfjoin.discover_joinable(df, ["one"], lake, rank="matched")
        pd.testing.assert_frame_equal(
            pd.DataFrame(listed), pd.DataFrame(dfjoin.discover_joinable(df, "one", lake, rank="matched"))
        )

    @pytest.mark.parametrize("options", [{}, {"k": 1}, {"threshold": 0.5}, {"weighted": True, "k": 3}])
    @pytest.mark.parametrize("n_threads", [1, 4, None])
    def test_batch_equals_single_calls(self, lake, df, options, n_threads):
        columns = {"b": df["two"], "a": df["one"], "c": ["a", "a", "x"], "none": []}
        batch = dfjoin.discover_joinable_batch(columns, lake, n_threads=n_threads, **options, rank="matched")
        single = [find(list(values), lake, name=name, **options) for name, values in columns.items()]
        expected = pd.concat([pd.DataFrame(hits) for hits in single if len(hits)], ignore_index=True)
        pd.testing.assert_frame_equal(pd.DataFrame(batch), expected)
        for i in range(len(batch)):
            assert len(batch.pairs(i)) == batch["matched"].iloc[i]

    def test_an_empty_batch_gives_zero_rows(self, lake):
        hits = dfjoin.discover_joinable_batch({}, lake, rank="matched")
        assert len(hits) == 0
        check_dtypes(hits)

    def test_labels_that_are_no_text(self, lake):
        df = pd.DataFrame({7: ["a", "b"], ("x", 1): ["y", "z"]})
        assert dfjoin.discover_joinable(df, 7, lake, rank="matched")["query_column"].unique().tolist() == ["7"]
        wide = pd.DataFrame([["a"], ["b"]], columns=pd.MultiIndex.from_tuples([("x", "y")]))
        hits = dfjoin.discover_joinable(wide, ("x", "y"), lake, rank="matched")
        assert hits["matched"].max() == 2 and hits.pairs(0)["query_value"].tolist() == ["a", "b"]
