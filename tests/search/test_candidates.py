"""The frame of candidates: what it explains, how it is shown and drawn."""

import pickle
import unicodedata

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError
from dfjoin.search import query
from dfjoin.search.candidates import JoinCandidates
from dfjoin.search.exact import searcher
from dfjoin.search.lsh import ensemble
from dfjoin.search.transform import candidate_programs
from dfjoin.transform.evidence import transform_join
from tests.search.searching import find


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
        assert "accidental: chance alone" in str(hits.explain()) and hits.explain().accidental is True

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

    def test_rows_of_one_search_that_are_put_together_again_keep_the_lake(self, hits):
        again = pd.concat([hits.iloc[[2]], hits.iloc[[0]]])
        assert [again.pairs(i).equals(hits.pairs(j)) for i, j in enumerate((2, 0))] == [True, True]

    def test_rows_of_several_searches_are_no_result_of_one(self, hits, lake):
        both = pd.concat([hits.iloc[[0]], find(["a"], lake)])
        with pytest.raises(InvalidParameterError, match="is made of several searches"):
            both.explain(0)

    @pytest.mark.parametrize("name", ["query_column", "table", "column"])
    def test_a_frame_without_a_column_that_names_its_candidates_says_so(self, hits, name):
        text = rf"`hits` must have the columns .* of a search result, but '{name}' is missing"
        for call in (
            lambda: hits.drop(columns=name).explain(0),
            lambda: hits.drop(columns=name).pairs(0),
            lambda: pd.DataFrame({"a": ["x"]}).auto_join(hits.drop(columns=name)),
        ):
            with pytest.raises(InvalidParameterError, match=text):
                call()
        with pytest.raises(InvalidParameterError, match="but 'containment' is missing"):
            hits.drop(columns="containment").plot_coverage()

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
    def test_repr_fits_100_columns(self, build, monkeypatch):
        monkeypatch.setenv("COLUMNS", "100")
        name = "a very long name of a table that lies deep below the root " * 2
        lake = build({name: pd.DataFrame({name: ["a", "b"], "c": ["a", "c"]})})
        df = pd.DataFrame({"q" * 60: ["a", "b"], "p" * 60: ["a", "x"]})
        for on in ("q" * 60, "*"):
            text = repr(dfjoin.discover_joinable(df, on, lake, rank="matched"))
            assert max(map(len, text.splitlines())) <= 100
            assert "containment" in text and "…" in text

    def test_repr_names_several_query_columns(self, lake):
        df = pd.DataFrame({"one": ["a", "b"], "two": ["y", "z"]})
        text = repr(dfjoin.discover_joinable(df, "*", lake, rank="matched"))
        assert "query_column" in text and "two" in text
        assert "query_column" not in repr(dfjoin.discover_joinable(df, "one", lake, rank="matched"))

    def test_html_escapes_names(self, build):
        lake = build({"<script>alert(1)</script>": pd.DataFrame({'"&<b>': ["a", "b"]})})
        text = find(["a"], lake, name="<i>q</i>")._repr_html_()
        assert "<script>" not in text and "&lt;script&gt;" in text
        assert "<b>" not in text and "&amp;&lt;b&gt;" in text and "<i>" not in text

    def test_html_of_many_rows_is_cut(self, build):
        lake = build({f"t{i}": pd.DataFrame({"c": ["a", "b"]}) for i in range(60)})
        hits = find(["a"], lake, k=60)
        assert len(hits) == 60 and "50 more rows" in hits._repr_html_()
        assert hits._repr_html_().count('class="card"') == 10

    def test_a_frame_of_fewer_columns_is_shown_as_pandas_does(self, lake):
        part = find(["a", "b"], lake)[["table", "matched"]]
        assert repr(part) == repr(pd.DataFrame(part)) and "<table" in part._repr_html_()


def test_repr_fits_a_terminal_and_is_whole_in_a_pipe(build, monkeypatch):
    name = "a long name of a table that lies deep below the root"
    lake = build({name: pd.DataFrame({name: ["a", "b"]})})
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["a", "b"]}), "q", lake, rank="matched")
    monkeypatch.delenv("COLUMNS", raising=False)
    assert repr(hits).count(name) == 2, "there is no terminal"
    monkeypatch.setenv("COLUMNS", "100")
    assert max(map(len, repr(hits).splitlines())) <= 100 and name not in repr(hits)


@pytest.fixture
def counts(monkeypatch):
    """How often a column was normalised, a query matched to a segment, programs applied, a signature drawn."""
    noted = dict.fromkeys(("normalize_column", "match_tokens", "join_rows", "sign_hashes"), 0)

    def count(module, name):
        original = getattr(module, name)

        def counted(*arguments, **options):
            noted[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(module, name, counted)

    for module in (query, transform_join):
        count(module, "normalize_column")
    count(searcher, "match_tokens")
    count(candidate_programs, "join_rows")
    count(ensemble, "sign_hashes")
    return noted


class TestNothingIsDoneTwice:
    def test_every_column_is_normalised_and_matched_once(self, lake, counts):
        df = pd.DataFrame({"one": ["a", "b"], "two": ["y", "z"], "real": [0.5, 1.5], "three": [7, 8]})
        hits = dfjoin.discover_joinable(df, None, lake, rank="matched")
        assert set(hits["query_column"]) == {"one", "two"}
        assert counts["normalize_column"] == 3, "once for each column, but for fractions, which are seen before"
        assert counts["match_tokens"] == 3 + 1, "once for each key-like column; and 7 and 8 with zeros in front"

    @pytest.mark.parametrize("options", [{}, {"weighted": True}, {"mode": "lsh", "threshold": 0.1}])
    def test_explain_and_pairs_use_what_the_search_matched(self, build, counts, options):
        words = [f"w{i}" for i in range(300)]
        lake = build({"a": pd.DataFrame({"c": words}), "b": pd.DataFrame({"c": words[:100]})})
        lake.add({"d": pd.DataFrame({"c": words[100:]})}, engine="inline", progress=False)
        hits = find([*words[50:], "x"], lake, **options)
        before = dict(counts)
        assert len(hits) == 3 and before["match_tokens"] == 2, "once for each segment"
        for i, matched in enumerate(hits["matched"]):
            assert hits.explain(i).matched == len(hits.pairs(i)) == matched
        assert counts == before

    def test_estimates_are_matched_when_they_are_explained_and_once(self, build, counts):
        words = [f"w{i}" for i in range(600)]
        lake = build({"a": pd.DataFrame({"c": words}), "b": pd.DataFrame({"c": words[:500]})})
        hits = find(words, lake, mode="lsh", threshold=0.6, verify=False)
        assert len(hits) == 2 and counts["match_tokens"] == 0 and counts["sign_hashes"] == 1
        for i in (0, 1, 0):
            assert hits.explain(i).matched == len(hits.pairs(i)) == {"a": 600, "b": 500}[hits["table"][i]]
        assert counts["match_tokens"] == counts["sign_hashes"] == 1

    def test_programs_are_not_applied_again(self, build, counts):
        names = [f"Name{chr(97 + i % 26)}{chr(97 + i // 26)}, First{i}" for i in range(60)]
        turned = [" ".join(reversed(name.split(", "))) for name in names]
        lake = build({"t": pd.DataFrame({"who": turned})}, settings={"patterns": True})
        hits = find(names, lake, mode="transform")
        before = dict(counts)
        assert len(hits) == 1 and before["join_rows"] == 1
        assert hits.explain(0).matched == len(hits.pairs(0)) == 60
        assert counts == before


class TestRows:
    def test_a_changed_row_is_named(self, lake):
        hits = find(["a", "b"], lake)
        hits.loc[0, "table"] = "other"
        with pytest.raises(InvalidParameterError, match=r"a row that the search found, got a changed one: `other`"):
            hits.explain(0)

    def test_a_result_can_be_pickled_and_explained(self, lake):
        hits = find(["a", "b"], lake)
        read = pickle.loads(pickle.dumps(hits))
        assert read.explain(0) == hits.explain(0)
        pd.testing.assert_frame_equal(read.pairs(0), hits.pairs(0))


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("on", ["a column with quite a long name, and more", "*"])
def test_repr_fits_the_terminal_at_hand(build, monkeypatch, columns, is_weighted, on):
    monkeypatch.setenv("COLUMNS", str(columns))
    values = [f"v{i}" for i in range(30)]
    name = "a column with quite a long name, and more"
    frames = {f"a/directory/of/many/tables/{i}/{'x' * 60}": pd.DataFrame({"y" * 60: values[i:]}) for i in range(3)}
    df = pd.DataFrame({name: values, "second " * 9: values[::-1]})
    hits = dfjoin.discover_joinable(df, on, build(frames), weighted=is_weighted, rank="matched")
    lines = repr(hits).splitlines()
    assert max(map(len, lines)) <= columns and len(lines) == len(hits) + 1
    assert all("a/" in line for line in lines[1:])


@pytest.mark.parametrize("columns", [40, 60, 80, 120, None])
@pytest.mark.parametrize("header", ["a header of some length ", "一个很长的列名称"])
def test_what_a_hit_brings_stands_last_and_is_cut(build, monkeypatch, columns, header):
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
    values = [f"v{i}" for i in range(40)]
    named = pd.DataFrame({"key": values, **{f"{header}{i}": values for i in range(6)}})
    hits = dfjoin.discover_joinable(named[["key"]], "key", build({"wide": named, "narrow": named.iloc[:, :2]}))
    lines = repr(hits).splitlines()
    assert all(line == line.rstrip() for line in lines)
    if columns is None:
        assert all(line.endswith(brings) for line, brings in zip(lines[1:], hits["brings"], strict=True))
        return
    widths = [len(line) + sum(unicodedata.east_asian_width(c) in "WF" for c in line) for line in lines]
    assert max(widths) <= columns and (columns == 40 or all(header[:2] in line for line in lines[1:]))


def test_repr_of_a_weighted_search_shows_rows(build):
    lake = build({"t": pd.DataFrame({"c": ["a", "b"]})})
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["a"] * 7 + ["x"]}), "q", lake, weighted=True, rank="matched")
    head, row = repr(hits).splitlines()
    assert head.split() == ["table", "column", "matched_rows", "row_containment", "accidental"]
    assert row.split()[3:5] == ["7", "0.875"]
