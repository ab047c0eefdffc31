"""The result frame: scores, relationship, accidental flag, evidence, how it is shown."""

import warnings

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ColumnNotFoundError, DfjoinWarning, InvalidParameterError
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.result_frame import RESULT_COLUMNS

DTYPES = {
    "matched": "int64", "containment": "float64", "jaccard": "float64", "query_cardinality": "int64",
    "cardinality": "int64", "n_rows": "int64", "accidental": "bool", "exact": "bool",
}  # fmt: skip
TEXTS = ("query_column", "table", "column", "kind", "relationship", "method")


def find(values, lake, name="q", **options):
    return dfjoin.discover_joinable(pd.DataFrame({name: values}), name, lake, **options)


def check_dtypes(hits, weighted=False):
    extra = ["matched_rows", "row_containment"] if weighted else []
    assert list(hits.columns) == [*RESULT_COLUMNS, *extra]
    for name, dtype in DTYPES.items():
        assert hits[name].dtype == dtype, name
    for name in TEXTS:
        assert hits[name].dtype == pd.Series(["a"]).dtype, name
    if weighted:
        assert hits["matched_rows"].dtype == "int64" and hits["row_containment"].dtype == "float64"
    assert isinstance(hits.index, pd.RangeIndex)


@pytest.fixture
def lake(build):
    return build(
        {
            "ones": pd.DataFrame({"key": ["a", "b", "c", "d"], "other": ["a", "a", "x", None]}),
            "many": pd.DataFrame({"key": ["A", "b ", "b", None, "y", "z"]}),
        }
    )


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
        hits = dfjoin.discover_joinable(pd.DataFrame({"x": [0.5, 1.5], "y": [True, False]}), "*", lake)
        assert len(hits) == 0
        check_dtypes(hits)

    def test_a_frame_without_columns_is_an_error(self, lake):
        with pytest.raises(ColumnNotFoundError, match=r"`df` must have at least one column"):
            dfjoin.discover_joinable(pd.DataFrame(index=[1, 2]), None, lake)

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
        dfjoin.discover_joinable(frame, "q", lake)
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

    @pytest.mark.parametrize("name", ["No.", "no", "NO", "N o"])
    def test_not_flagged_when_the_names_agree(self, numbers, name):
        hits = find(list(range(1, 51)), numbers, name=name).set_index("column")
        assert not hits.loc["No.", "accidental"] and hits.loc["half", "accidental"]

    def test_sparse_ids_are_not_flagged(self, numbers):
        ids = numbers.table("ids")["id"].tolist()
        (hit,) = find(ids[::4], numbers, name="ref").itertuples()
        assert hit.table == "ids" and hit.matched == 50 and not hit.accidental

    def test_more_than_the_ranges_predict_is_not_flagged(self, build):
        """All even numbers meet all even numbers: twice what the ranges predict."""
        lake = build({"t": pd.DataFrame({"even": range(0, 200, 2)})})
        assert find(list(range(0, 100, 2)), lake)["accidental"].tolist() == [False]
        assert find(list(range(100)), lake)["accidental"].tolist() == [True]

    def test_text_is_never_accidental(self, build):
        lake = build({"t": pd.DataFrame({"code": [f"c{i}" for i in range(100)], "mixed": [*range(99), "x"]})})
        assert not find([f"c{i}" for i in range(50)], lake)["accidental"].any()
        assert not find(list(range(50)), lake)["accidental"].any()

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
        assert one["accidental"].tolist() == [True, False, False]
        assert one["kind"].tolist() == ["integer", "integer", "text"]


class TestEvidence:
    @pytest.fixture
    def hits(self, lake):
        return find(["q", "B ", "b", None, "A", "r", "a", "b"], lake)

    def test_explain(self, hits, lake):
        told = hits.explain(0).to_dict()
        best = hits.iloc[0]
        assert (told["query_column"], told["table"], told["column"]) == ("q", best["table"], best["column"])
        assert told["matched"] == best["matched"] == 2 and told["query_cardinality"] == 4
        assert told["shared"] == ["B ", "A"]
        assert told["only_query"] == ["q", "r"]
        held = {"ones": {"c", "d"}, "many": {"y", "z"}}[best["table"]]
        assert set(told["only_candidate"]) == held
        assert told["found_by"]["n_values"] == 4
        text = str(hits.explain(0))
        assert "shared: 2 of 4 values (50.0%)" in text and "'B '" in text and "only in your column: 2" in text

    def test_explain_says_that_a_hit_is_accidental(self, build):
        lake = build({"t": pd.DataFrame({"n": range(100)})})
        hits = find(list(range(10)), lake)
        assert "accidental: both are integers" in str(hits.explain()) and hits.explain().accidental is True

    def test_pairs_in_the_user_s_spelling_and_order(self, hits):
        pairs = hits.pairs(0)
        assert pairs["query_value"].tolist() == ["B ", "A"]
        assert pairs["candidate_value"].tolist() == ["b", "a"]
        assert pairs["query_rows"].tolist() == [3, 2]

    def test_pairs_are_in_order_of_first_row(self, build, rng):
        values = [f"v{i}" for i in rng.permutation(500)]
        lake = build({"t": pd.DataFrame({"c": [*values[::3], "other"]})})
        query = [values[i] for i in rng.integers(0, 500, 700)]
        shared = set(values[::3])
        expected = [v for v in dict.fromkeys(query) if v in shared]
        pairs = find(query, lake).pairs(0)
        assert pairs["query_value"].tolist() == pairs["candidate_value"].tolist() == expected
        assert pairs["query_rows"].tolist() == [query.count(v) for v in expected]

    def test_positions_count_after_filtering(self, hits):
        other = hits[hits["column"] == "other"]
        assert len(other) == 1 and other.index.tolist() == [2]
        assert other.explain(0).column == "other" and other.pairs(0)["candidate_value"].tolist() == ["a"]
        assert hits.iloc[[2, 0]].explain(0).column == "other"
        assert hits.iloc[::-1].pairs(-1).equals(hits.pairs(0))
        assert hits.sort_values("cardinality").pairs(0)["candidate_value"].tolist() == ["a"]

    def test_evidence_agrees_with_the_counts_in_every_segment(self, build, monkeypatch, rng):
        from dfjoin.ingest import driver

        monkeypatch.setattr(driver, "_TASK_INPUT_BYTES", 1)
        tables = {
            f"t{i}": pd.DataFrame({"a": rng.integers(0, 60, 40), "b": [f"w{n}" for n in rng.integers(0, 30, 40)]})
            for i in range(6)
        }
        query = [*range(30), *[f"W{n}" for n in range(15)]]
        for options in ({}, {"segment_bytes": 1}):
            lake = build(tables, settings=options)
            hits = find(query, lake, k=100)
            assert len(hits) == 12
            for i, hit in enumerate(hits.itertuples()):
                held = {str(v) for v in tables[hit.table][hit.column]}
                shared = {str(v).lower() for v in query} & held
                assert set(hits.pairs(i)["candidate_value"]) == shared and hit.matched == len(shared)
                told = hits.explain(i)
                assert set(told.only_candidate) <= held - shared and told.cardinality == len(held)
                assert len(told.only_candidate) == min(5, len(held - shared))

    @pytest.mark.parametrize("i", [3, -4, "0", 0.0, None])
    def test_a_position_outside_is_an_error(self, hits, i):
        for method in (hits.explain, hits.pairs):
            with pytest.raises(InvalidParameterError, match=r"`i` must be a position in this frame of 3 rows"):
                method(i)

    def test_a_frame_that_lost_its_lake_says_so(self, hits, tmp_path):
        hits.to_csv(tmp_path / "hits.csv", index=False)
        read = JoinCandidates(pd.read_csv(tmp_path / "hits.csv"))
        with pytest.raises(InvalidParameterError, match=r"`hits` has lost its link to the lake"):
            read.explain(0)

    def test_evidence_of_padded_and_typed_queries(self, build):
        lake = build({"t": pd.DataFrame({"zip": ["00501", "02134", "10001"]})})
        hits = find([501, 2134, 7], lake, pad=5)
        assert hits.pairs(0).to_dict("list") == {
            "query_value": ["501", "2134"], "candidate_value": ["00501", "02134"], "query_rows": [1, 1]
        }  # fmt: skip
        assert hits.explain(0).shared == ["501", "2134"] and hits.explain(0).only_query == ["7"]

    def test_categorical_and_nullable_queries_are_explained(self, build):
        lake = build({"t": pd.DataFrame({"c": ["a", "b"], "n": [1, 2]})})
        categories = pd.Series(pd.Categorical(["a", None, "a", "z"]))
        assert find(categories, lake).pairs(0)["query_value"].tolist() == ["a"]
        assert find(categories, lake).pairs(0)["query_rows"].tolist() == [2]
        integers = pd.Series([None, 2, 5], dtype="Int64")
        assert find(integers, lake).pairs(0)["query_value"].tolist() == ["2"]


class TestDisplay:
    def test_repr_fits_100_columns(self, build):
        name = "a very long name of a table that lies deep below the root " * 2
        lake = build({name: pd.DataFrame({name: ["a", "b"], "c": ["a", "c"]})})
        df = pd.DataFrame({"q" * 60: ["a", "b"], "p" * 60: ["a", "x"]})
        for on in ("q" * 60, "*"):
            text = repr(dfjoin.discover_joinable(df, on, lake))
            assert max(map(len, text.splitlines())) <= 100
            assert "containment" in text and "…" in text

    def test_repr_names_several_query_columns(self, lake):
        df = pd.DataFrame({"one": ["a", "b"], "two": ["y", "z"]})
        text = repr(dfjoin.discover_joinable(df, "*", lake))
        assert "query_column" in text and "two" in text
        assert "query_column" not in repr(dfjoin.discover_joinable(df, "one", lake))

    def test_html_escapes_names(self, build):
        lake = build({"<script>alert(1)</script>": pd.DataFrame({'"&<b>': ["a", "b"]})})
        text = find(["a"], lake, name="<i>q</i>")._repr_html_()
        assert "<script>" not in text and "&lt;script&gt;" in text
        assert "<b>" not in text and "&amp;&lt;b&gt;" in text and "<i>" not in text

    def test_html_of_many_rows_is_cut(self, build):
        lake = build({f"t{i}": pd.DataFrame({"c": ["a", "b"]}) for i in range(60)})
        hits = find(["a"], lake, k=60)
        assert len(hits) == 60 and "10 more rows" in hits._repr_html_()
        assert hits._repr_html_().count("<tr>") == 51

    def test_a_frame_of_fewer_columns_is_shown_as_pandas_does(self, lake):
        part = find(["a", "b"], lake)[["table", "matched"]]
        assert repr(part) == repr(pd.DataFrame(part)) and "<table" in part._repr_html_()

    def test_plot_matches(self, build):
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        from matplotlib import pyplot

        lake = build({"t": pd.DataFrame({"n": range(20), "c": [f"w{i}" for i in range(20)]})})
        hits = find([*range(10)], lake)
        axes = hits.plot_matches()
        (bar,) = axes.patches
        assert bar.get_width() == 1.0 and bar.get_hatch() == "//"
        assert [label.get_text() for label in axes.get_yticklabels()] == ["t: n"]
        _, given = pyplot.subplots()
        hits = find([*range(10), "w1", "w2"], lake)
        assert hits.plot_matches(ax=given) is given
        widths = [patch.get_width() for patch in given.patches]
        assert widths == hits["containment"].tolist()
        find(["nothing"], lake).plot_matches()
        pyplot.close("all")


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
        every = dfjoin.discover_joinable(df, on, lake, k=2)
        single = [dfjoin.discover_joinable(df, name, lake, k=2) for name in ("one", "two")]
        expected = pd.concat([pd.DataFrame(hits) for hits in single], ignore_index=True)
        pd.testing.assert_frame_equal(pd.DataFrame(every), expected)
        assert every.explain(len(every) - 1).query_column == "two"

    def test_a_column_called_star_is_that_column(self, lake):
        df = pd.DataFrame({"*": ["a", "b"], "x": ["y", "z"]})
        assert set(dfjoin.discover_joinable(df, "*", lake)["query_column"]) == {"*"}

    def test_a_list_of_one_column(self, df, lake):
        listed = dfjoin.discover_joinable(df, ["one"], lake)
        pd.testing.assert_frame_equal(pd.DataFrame(listed), pd.DataFrame(dfjoin.discover_joinable(df, "one", lake)))

    @pytest.mark.parametrize("options", [{}, {"k": 1}, {"threshold": 0.5}, {"weighted": True, "k": 3}])
    @pytest.mark.parametrize("n_threads", [1, 4, None])
    def test_batch_equals_single_calls(self, lake, df, options, n_threads):
        columns = {"b": df["two"], "a": df["one"], "c": ["a", "a", "x"], "none": []}
        batch = dfjoin.discover_joinable_batch(columns, lake, n_threads=n_threads, **options)
        single = [find(list(values), lake, name=name, **options) for name, values in columns.items()]
        expected = pd.concat([pd.DataFrame(hits) for hits in single if len(hits)], ignore_index=True)
        pd.testing.assert_frame_equal(pd.DataFrame(batch), expected)
        for i in range(len(batch)):
            assert len(batch.pairs(i)) == batch["matched"].iloc[i]

    def test_an_empty_batch_gives_zero_rows(self, lake):
        hits = dfjoin.discover_joinable_batch({}, lake)
        assert len(hits) == 0
        check_dtypes(hits)

    def test_labels_that_are_no_text(self, lake):
        df = pd.DataFrame({7: ["a", "b"], ("x", 1): ["y", "z"]})
        assert dfjoin.discover_joinable(df, 7, lake)["query_column"].unique().tolist() == ["7"]
        wide = pd.DataFrame([["a"], ["b"]], columns=pd.MultiIndex.from_tuples([("x", "y")]))
        hits = dfjoin.discover_joinable(wide, ("x", "y"), lake)
        assert hits["matched"].max() == 2 and hits.pairs(0)["query_value"].tolist() == ["a", "b"]


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
            hits = find([501, 2134, 90210], codes, name="Postal")
        message = str(caught[0].message)
        assert "dtype=str" in message and "`pad=5`" in message
        assert caught[0].filename == __file__
        assert hits["matched"].max() == 1

    def test_pad_finds_the_matches_without_a_warning(self, codes):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            hits = find([501, 2134, 90210], codes, name="Postal", pad=5)
        assert (hits["table"][0], hits["matched"][0]) == ("zips", 3)

    def test_a_width_beyond_the_longest_number(self, codes):
        with pytest.warns(DfjoinWarning, match="`pad=5`"):
            find([501, 2134], codes)

    @pytest.mark.parametrize("query", [["00501", "02134"], [10001, 90210], [-501, 2134], [0.5, 501.0]])
    def test_no_warning_where_zeros_do_not_help(self, codes, query):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            find(query, codes)

    def test_batch_gives_no_warning(self, codes):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            hits = dfjoin.discover_joinable_batch({"Postal": [501, 2134, 90210]}, codes)
        assert hits["matched"].max() == 1


def test_all_digit_dates_follow_dayfirst(build):
    lake = build({"t": pd.DataFrame({"day": ["2024-02-01", "2024-03-01"]})})
    query = ["01/02/2024", "01/03/2024"]
    assert find(query, lake, dayfirst=True)["matched"].tolist() == [2]
    assert len(find(query, lake, dayfirst=False)) == 0
    assert len(find(query, lake)) == 0
    told = find([*query, "13/03/2024"], lake)
    assert told["matched"].tolist() == [2] and np.isclose(told["containment"][0], 2 / 3)
