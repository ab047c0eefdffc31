"""mode="lsh": verified rows are right, what may be missing is said, and nothing depends on how the index is cut."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import (
    ApproximateResultWarning,
    IncompatibleSettingsError,
    IndexCorruptedError,
    InvalidParameterError,
    InvalidTypeError,
)
from dfjoin.index.commit import commit
from dfjoin.index.component_files import write_component
from dfjoin.search.exact.costs import ReadCosts
from dfjoin.search.lsh.ensemble import _EnsembleSearch
from tests import oracles

OPTIONS = {"engine": "inline", "progress": False}


SIGNED = {"permutations": 128, "signature_min": 8}


@pytest.fixture(autouse=True)
def signatures(monkeypatch):
    """Let signatures answer, though lakes are small."""
    monkeypatch.setattr("dfjoin.search.lsh.ensemble.READ_COSTS", ReadCosts(1e9, 1e9, 0.0, 0.0, 0.0, 0.0))


RECALL = 0.9
"""Least share of the columns above the threshold that the seeded lakes below must find at the default target."""


def some_lake(rng, n_columns=60, n_words=3000):
    """Columns of Zipf sizes, a third of them cut from other columns."""
    words = np.array([f"w{i}" for i in range(n_words)])
    sets = []
    for number in range(n_columns):
        size = int(min(n_words // 2, 12 * (rng.pareto(0.8) + 1)))
        if number % 3 == 2:
            source = sets[rng.integers(number)]
            size = max(2, int(source.size * rng.uniform(0.3, 1)))
            sets.append(rng.choice(source, size, replace=False))
        else:
            sets.append(rng.choice(words, size, replace=False))
    frames = {f"t{i:02d}": pd.DataFrame({"c": values}) for i, values in enumerate(sets)}
    return frames, {(f"t{i:02d}", "c"): set(values.tolist()) for i, values in enumerate(sets) if len(values) >= 2}


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A lake of large and small columns, its sets, and queries cut from them."""
    rng = np.random.default_rng(5)
    frames, sets = some_lake(rng, 150)
    index = tmp_path_factory.mktemp("many") / "lake"
    lake = dfjoin.build_lake(frames, index, settings=SIGNED, **OPTIONS)
    queries = []
    for table in rng.choice(sorted(frames), 40, replace=False).tolist():
        values = frames[table]["c"].to_numpy()
        kept = rng.choice(values, max(1, int(values.size * rng.uniform(0.4, 1))), replace=False)
        queries.append(np.append(kept, [f"new{i}" for i in range(int(rng.integers(1, 1 + kept.size // 2 + 1)))]))
    return lake, sets, queries


def rows(hits):
    return list(zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True))


def ask(query, lake, **options):
    return dfjoin.discover_joinable(pd.DataFrame({"q": query}), "q", lake, mode="lsh", **options, rank="matched")


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.8, 1.0])
def test_verified_rows_are_right_and_few_are_missing(many, threshold):
    lake, sets, queries = many
    n_expected = n_found = 0
    for query in queries:
        expected = oracles.rank(oracles.value_set(query), sets, threshold=threshold)
        hits = ask(query, lake, threshold=threshold)
        assert [row for row in expected if row in rows(hits)] == rows(hits), "precision 1, in the order of results"
        assert hits["exact"].all() and (hits["containment_error"] == 0).all() and set(hits["method"]) <= {"lsh"}
        if hits.attrs["dfjoin"]["complete"]:
            assert rows(hits) == expected
        n_expected += len(expected)
        n_found += len(hits)
    assert n_found >= RECALL * n_expected, f"recall {n_found / n_expected:.3f} at {threshold}"


def test_some_answers_came_from_signatures(many):
    lake, _, queries = many
    told = [ask(query, lake, threshold=0.5).attrs["dfjoin"] for query in queries]
    assert 0 < sum(t["complete"] for t in told) < len(told)
    for t in told:
        (search,) = t["searches"]
        assert t["mode"] == "lsh" and t["complete"] == search["is_complete"]
        assert (search["expected_recall"] == 1) == t["complete"] or search["expected_recall"] > 0.9


@pytest.mark.parametrize("k", [1, 3, 10, 1000])
def test_k_by_lowering_the_threshold(many, k):
    lake, sets, queries = many
    n_expected = n_found = 0
    for query in queries:
        expected = oracles.rank(oracles.value_set(query), sets, k=k)
        hits = ask(query, lake, k=k)
        found = rows(hits)
        assert len(found) <= k and all(len(oracles.value_set(query) & sets[t, c]) == m for t, c, m in found)
        if hits.attrs["dfjoin"]["complete"]:
            assert found == expected
        n_expected += sum(m for _, _, m in expected)
        n_found += sum(m for _, _, m in found)
    assert n_found >= RECALL * n_expected, f"{n_found} of {n_expected} matches at k = {k}"


@pytest.mark.parametrize("options", [{"threshold": 0.3}, {"k": 5}, {"threshold": 0.3, "k": 3}, {"weighted": True}])
@pytest.mark.parametrize("n_sets", [0, 3])
def test_where_signatures_save_too_little_the_answer_is_that_of_exact_search(many, monkeypatch, options, n_sets):
    """From the start, or once so many sets would have been read; it says that it is complete."""
    lake, _, queries = many
    monkeypatch.setattr("dfjoin.search.lsh.ensemble.READ_COSTS", ReadCosts(1e-6, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr("dfjoin.search.lsh.ensemble._EnsembleSearch.budget_ns", n_sets)
    count, counted = _EnsembleSearch._count, []
    monkeypatch.setattr(_EnsembleSearch, "_count", lambda *given: counted.append(given[-1].size) or count(*given))
    n_exact, n_before = 0, 0
    for query in queries:
        counted.clear()
        hits = ask(query, lake, **options)
        expected = dfjoin.discover_joinable(pd.DataFrame({"q": query}), "q", lake, **options, rank="matched")
        (search,) = hits.attrs["dfjoin"]["searches"]
        if search["plan"] != "lsh":
            assert rows(hits) == rows(expected) and hits.attrs["dfjoin"]["complete"]
            exact = expected.attrs["dfjoin"]["searches"][0]
            assert search["expected_recall"] == 1 and search["n_found"] == exact["n_found"]
            assert search["sets_read"] == exact["sets_read"] + sum(counted), "and what was read before is told"
            assert bool(search["signatures_compared"]) == ("lsh" in search["plan"])
            n_exact += 1
            n_before += sum(counted)
    assert (n_before > 0) == (n_sets > 0 and options != {"threshold": 0.3})
    assert n_exact > len(queries) / 2 if n_sets else n_exact == len(queries)


def test_signatures_answer_where_posting_lists_take_long(many, monkeypatch):
    lake, _, queries = many
    for posting_ns, is_exact in ((0.0, True), (1e6, False)):
        monkeypatch.setattr("dfjoin.search.lsh.ensemble.READ_COSTS", ReadCosts(posting_ns=posting_ns))
        told = [ask(query, lake, threshold=0.9).attrs["dfjoin"]["searches"][0] for query in queries]
        assert all(one["is_complete"] for one in told) == is_exact


@pytest.mark.parametrize(("n_columns", "plan"), [(20, "mergelist"), (1000, "lsh")])
def test_the_costs_of_reading_decide_what_answers(build, rng, monkeypatch, n_columns, plan):
    """With the costs as they are: few postings are read, many are not."""
    monkeypatch.setattr("dfjoin.search.lsh.ensemble.READ_COSTS", ReadCosts())
    words = np.arange(100_000, 103_000)
    columns = {f"c{i}": rng.permutation(words)[:1500] for i in range(n_columns)}
    lake = build({"t": pd.DataFrame(columns), "u": pd.DataFrame({"all": words})}, settings=SIGNED)
    hits = ask(words, lake, threshold=0.9)
    assert hits["column"].tolist() == ["all"]
    assert hits.attrs["dfjoin"]["searches"][0]["plan"] == plan


@pytest.mark.parametrize("component", ["list_columns", "set_lists"])
def test_postings_and_sets_that_lead_outside(build, monkeypatch, component):
    words = [f"w{i}" for i in range(300)]
    lake = build({"a": pd.DataFrame({"x": words, "y": words})}, settings={"permutations": 16})
    (meta,) = lake.manifest.segments
    values = np.full(getattr(lake.segments[0].tokens, component).size, 99)
    bad = write_component(lake.segments[0].directory, "other", component, values)
    groups = tuple(
        replace(g, components=tuple(bad if c.name == component else c for c in g.components)) for g in meta.groups
    )
    commit(lake.path, lake.manifest.next("test", segments=(replace(meta, groups=groups),)))
    if component == "list_columns":
        monkeypatch.setattr("dfjoin.search.lsh.ensemble.READ_COSTS", ReadCosts())
    damaged = dfjoin.open_lake(lake.path)
    for _ in range(2):
        with pytest.raises(IndexCorruptedError, match="component `list_columns` or `set_lists` of segment"):
            ask(words, damaged, threshold=0.5)


def test_k_with_a_threshold_returns_the_best_of_those_above_it(many):
    lake, _, queries = many
    for query in queries[:15]:
        every, best = ask(query, lake, threshold=0.4), ask(query, lake, threshold=0.4, k=2)
        assert rows(best) == rows(every)[: len(best)] and len(best) == min(2, len(every))


def test_without_k_and_threshold_there_are_ten(many):
    lake, _, queries = many
    assert all(len(ask(query, lake)) <= 10 for query in queries[:5])


def test_small_queries_and_small_columns_are_answered_exactly(many):
    """Whatever a column of fewer values than are signed can reach is searched in the posting lists."""
    lake, sets, _ = many
    for query in (["w1"], ["w1", "w2", "w3"], [f"w{i}" for i in range(60)]):
        hits = ask(query, lake, threshold=0.1)
        assert rows(hits) == oracles.rank(set(query), sets, threshold=0.1)
        assert hits.attrs["dfjoin"]["complete"]


def test_no_column_is_large_enough(many):
    lake, _, _ = many
    hits = ask([f"x{i}" for i in range(5000)], lake, threshold=0.9)
    assert len(hits) == 0 and hits.attrs["dfjoin"]["complete"]


@pytest.mark.parametrize("values", [[], [None, None], ["", ""]])
def test_empty_queries_give_empty_results(many, values):
    lake, _, _ = many
    for verify in (True, False):
        hits = dfjoin.discover_joinable(
            pd.DataFrame({"q": pd.Series(values, dtype=object)}),
            "q",
            lake,
            mode="lsh",
            threshold=0.5,
            verify=verify,
            rank="matched",
        )
        assert len(hits) == 0 and list(hits)[-1] == "containment_error" and hits.attrs["dfjoin"]["complete"]


class TestEstimates:
    def test_they_are_flagged_and_as_near_as_they_say(self, many):
        lake, sets, queries = many
        errors = []
        for query in queries:
            wanted = oracles.value_set(query)
            hits = ask(query, lake, threshold=0.3, verify=False)
            for row in hits.itertuples():
                truth = len(wanted & sets[row.table, row.column]) / len(wanted)
                if row.exact:
                    assert row.containment == truth and row.containment_error == 0
                else:
                    assert row.containment_error > 0 and 0 < row.containment <= 1
                    errors.append((row.containment - truth) / row.containment_error)
        assert len(errors) > 50
        assert np.mean(np.abs(errors) <= 2.5) > 0.95

    @pytest.mark.parametrize(
        "options", [{"threshold": 0.5}, {"threshold": 0.9, "weighted": True}, {"threshold": 0.4, "k": 5}]
    )
    def test_none_is_below_the_threshold(self, many, options):
        lake, _, queries = many
        share = "row_containment" if options.get("weighted") else "containment"
        n_estimated = 0
        for query in queries[:20]:
            estimated = ask(query, lake, verify=False, **options)
            assert (estimated[share] >= options["threshold"]).all() and estimated["matched"].is_monotonic_decreasing
            n_estimated += int((~estimated["exact"]).sum())
        assert n_estimated > 10

    def test_verified_rows_whose_estimate_reaches_the_threshold_are_among_them(self, many):
        lake, _, queries = many
        for query in queries[:15]:
            verified, estimated = (ask(query, lake, threshold=0.5, verify=v) for v in (True, False))
            every = ask(query, lake, threshold=0.1, verify=False)
            known = {row[:2]: row[2] for row in rows(every)}
            n_needed = 0.5 * len(oracles.value_set(query))
            expected = {row[:2] for row in rows(verified) if known.get(row[:2], 0) >= n_needed}
            assert expected <= {row[:2] for row in rows(estimated)}

    def test_they_do_not_depend_on_the_thresholds_that_were_tried(self, many):
        lake, _, queries = many
        n_compared = 0
        for query in queries:
            hits = ask(query, lake, threshold=0.1, verify=False)
            known = {row[:2]: row[2] for row in rows(hits[~hits["exact"]])}
            for options in ({"k": 2}, {"k": 5}, {"threshold": 0.4}, {"threshold": 0.6}):
                hits = ask(query, lake, verify=False, **options)
                for row in hits[~hits["exact"]].itertuples():
                    n_compared += (row.table, row.column) in known
                    assert known.get((row.table, row.column), row.matched) == row.matched
        assert n_compared > 30

    def test_no_set_is_read(self, many):
        lake, _, queries = many
        (search,) = ask(max(queries, key=len), lake, threshold=0.8, verify=False).attrs["dfjoin"]["searches"]
        assert search["bytes_read"] == search["n_found"] == 0 and search["signatures_compared"] > 0


def test_a_higher_recall_buys_candidates(many):
    lake, _, queries = many
    counts, found = {}, {}
    for recall in (0.0, 0.5, 0.99, 1.0):
        told = [ask(query, lake, threshold=0.5, recall=recall) for query in queries]
        counts[recall] = sum(hits.attrs["dfjoin"]["searches"][0]["candidates"] for hits in told)
        found[recall] = sum(map(len, told))
    assert counts[0.0] <= counts[0.5] < counts[0.99] < counts[1.0]
    assert found[0.5] <= found[0.99] <= found[1.0]


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A lake whose large columns are signatures alone, its sets and frames."""
    frames, sets = some_lake(np.random.default_rng(5), 60)
    small = pd.DataFrame({"c": ["w1", "only", "w2"]})
    frames, sets = {**frames, "small": small}, {**sets, ("small", "c"): {"w1", "only", "w2"}}
    index = tmp_path_factory.mktemp("bare") / "lake"
    return dfjoin.build_lake(frames, index, settings={**SIGNED, "keep_sets": False}, **OPTIONS), sets, frames


@pytest.mark.filterwarnings("ignore:the index keeps no token sets")
class TestWithoutSets:
    def test_large_columns_are_estimated_and_small_ones_counted(self, bare):
        lake, sets, frames = bare
        for table in list(frames)[:20]:
            query = frames[table]["c"].tolist()
            for row in ask(query, lake, threshold=0.2).itertuples():
                assert row.exact == (row.cardinality < 8)
                if row.exact:
                    assert row.matched == len(set(query) & sets[row.table, row.column])

    def test_columns_equal_to_the_query_are_found(self, bare):
        lake, _sets, frames = bare
        for table in frames:
            query = frames[table]["c"].tolist()
            if len(query) >= 2:
                assert (table, "c") in [row[:2] for row in rows(ask(query, lake, threshold=1.0))]

    def test_small_columns_in_the_same_answer(self, bare):
        lake, _, _ = bare
        for options in ({"threshold": 0.9}, {"k": 1}, {"k": 100}):
            hits = ask(["w1", "w2", "only"], lake, **options)
            assert rows(hits)[0] == ("small", "c", 3) and hits["exact"].iloc[0]

    def test_exact_search_says_what_to_do(self, bare):
        lake, _, frames = bare
        df = frames["t00"]
        for call in (
            lambda: df.discover_joinable("c", lake, rank="matched"),
            lambda: dfjoin.discover_joinable_batch({"c": df["c"]}, lake, rank="matched"),
            lambda: df.auto_join(lake, on="c"),
        ):
            with pytest.raises(IncompatibleSettingsError, match=r"no token sets .*keep_sets=False.*use mode=\"lsh\""):
                call()

    def test_estimates_in_the_place_of_counts_are_warned_of(self, bare):
        lake, _, frames = bare
        query = max(frames.values(), key=len)["c"].tolist()
        with pytest.warns(ApproximateResultWarning, match="estimates where `exact` is False, with the standard error"):
            ask(query, lake, threshold=0.9)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ask(query, lake, threshold=0.9, verify=False)
            ask(["w1", "w2", "only"], lake, threshold=0.99)

    def test_an_estimate_is_of_one_value_at_least(self, bare):
        """A row of two small signatures that agrees stands for less than half a value."""
        lake, _, _ = bare
        n_small = 0
        for start in range(0, 3000, 250):
            hits = ask([f"w{i}" for i in range(start, start + 12)], lake, threshold=0.01, recall=1.0)
            estimated = hits[~hits["exact"]]
            n_small += int((estimated["cardinality"] < 40).sum())
            assert (estimated["matched"] >= 1).all()
        assert n_small > 0

    def test_progressive_stays_an_estimate(self, bare):
        lake, _, frames = bare
        table = max(frames, key=lambda name: len(frames[name]))
        first, second = ask(frames[table]["c"].tolist(), lake, threshold=0.5, progressive=True)
        assert rows(first) == rows(second) and not second.attrs["dfjoin"]["complete"]

    def test_a_join_with_a_picked_candidate(self, bare):
        lake, _, frames = bare
        table = max(frames, key=lambda name: len(frames[name]))
        df = pd.DataFrame({"q": frames[table]["c"].tolist()[:500]})
        hits = df.discover_joinable("q", lake, mode="lsh", threshold=0.9, rank="matched")
        wide = df.auto_join(hits.iloc[[0]])
        assert wide["c_rows" if "c_rows" in wide else wide.columns[-1]].notna().all()


def test_progressive_gives_estimates_and_then_the_exact_answer(many):
    lake, sets, queries = many
    query = max(queries, key=len)
    answers = ask(query, lake, threshold=0.5, progressive=True)
    first = next(answers)
    assert not first["exact"].any() and not first.attrs["dfjoin"]["complete"]
    second = next(answers)
    assert rows(second) == oracles.rank(oracles.value_set(query), sets, threshold=0.5)
    assert second.attrs["dfjoin"]["complete"] and second.attrs["dfjoin"]["mode"] == "exact"
    assert list(answers) == []


def test_a_join_over_a_lake_by_signatures(many):
    lake, _, queries = many
    df = pd.DataFrame({"q": max(queries, key=len)})
    hits = ask(df["q"], lake)
    wide = df.auto_join(lake, on="q", mode="lsh", threshold=0.0, on_no_match="ignore")
    seen = {step["table"] for step in (*wide.attrs["dfjoin"]["joined"], *wide.attrs["dfjoin"]["passed_over"])}
    assert set(hits["table"]) & seen and len(wide) == len(df)


def test_a_batch_gives_the_rows_of_single_searches(many):
    lake, _, queries = many
    columns = {str(i): pd.Series(query) for i, query in enumerate(queries[:8])}
    for options in ({}, {"verify": False}, {"recall": 0.5}):
        batch = dfjoin.discover_joinable_batch(
            columns, lake, mode="lsh", threshold=0.4, n_threads=3, **options, rank="matched"
        )
        for name, column in columns.items():
            own = batch[batch["query_column"] == name]
            assert rows(own) == rows(ask(column, lake, threshold=0.4, **options))


def test_weights(rng, build):
    frames, sets = some_lake(rng, 40)
    lake = build(frames, settings=SIGNED)
    for table in list(frames)[:12]:
        values = frames[table]["c"].to_numpy()
        query = np.append(values, rng.choice(values, values.size))
        weights = pd.Series(query).value_counts().to_dict()
        hits = ask(query, lake, threshold=0.6, weighted=True)
        expected = oracles.rank(set(values), sets, threshold=0.6, weights=weights)
        found = list(zip(hits["table"], hits["column"], hits["matched_rows"].tolist(), strict=True))
        assert [row for row in expected if row in found] == found and (table, "c") in [row[:2] for row in found]
        assert all(m == len(set(values) & sets[t, c]) for t, c, m in rows(hits))
        assert list(hits)[-3:] == ["matched_rows", "row_containment", "containment_error"]
        estimated = ask(query, lake, threshold=0.6, weighted=True, verify=False)
        assert (estimated["matched_rows"] <= query.size).all()


def test_filters_and_deleted_tables(many, tmp_path):
    lake, _sets, queries = many
    query = max(queries, key=len)
    every = rows(ask(query, lake, threshold=0.3))
    some = rows(ask(query, lake, threshold=0.3, tables="t[0-4]*", exclude="t1*", kinds="text"))
    assert some == [row for row in every if row[0][1] in "0234"]
    assert rows(ask(query, lake, threshold=0.3, kinds="date")) == []
    frames, _ = some_lake(np.random.default_rng(5), 30)
    own = dfjoin.build_lake(frames, tmp_path / "own", settings=SIGNED, **OPTIONS)
    query = max(frames.values(), key=len)["c"].tolist()
    before = rows(ask(query, own, threshold=0.2))
    own.remove(before[0][0])
    assert rows(ask(query, own, threshold=0.2)) == before[1:]
    assert rows(ask(query, own, threshold=0.2, verify=False)) != []


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_rows_do_not_depend_on_segments(seed):
    import tempfile

    rng = np.random.default_rng(seed)
    frames, _ = some_lake(rng, 24, 600)
    names = list(frames)
    rng.shuffle(names)
    with tempfile.TemporaryDirectory() as place:
        whole = dfjoin.build_lake(frames, f"{place}/whole", settings=SIGNED, **OPTIONS)
        cut = dfjoin.build_lake(frames, f"{place}/cut", settings=SIGNED, **OPTIONS)
        cut.remove(names[:12])
        for start in (0, 4, 8):
            cut.add({name: frames[name] for name in names[start : start + 4]}, **OPTIONS)
        merged = dfjoin.open_lake(cut.path).compact(full=True)
        assert len(cut.segments) == 4 and len(merged.segments) == 1
        query = [*frames[names[0]]["c"].tolist()[:300], "other"]
        for options in ({"threshold": 0.4}, {"k": 3}, {"threshold": 0.4, "verify": False}, {"k": 3, "recall": 0.5}):
            expected = ask(query, whole, **options)
            for other in (cut, merged):
                pd.testing.assert_frame_equal(pd.DataFrame(ask(query, other, **options)), pd.DataFrame(expected))


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "error", "text"),
        [
            ({"threshold": 1.5}, InvalidParameterError, "`threshold` must be between 0 and 1, got 1.5"),
            ({"threshold": "high"}, InvalidTypeError, "`threshold` must be a number"),
            ({"recall": 2}, InvalidParameterError, "`recall` must be between 0 and 1, got 2"),
            ({"recall": "all"}, InvalidTypeError, "`recall` must be a number between 0 and 1"),
            ({"verify": 1}, InvalidParameterError, "`verify` must be one of True, False, got 1"),
            ({"progressive": 1}, InvalidParameterError, "`progressive` must be one of True, False, got 1"),
            ({"plan": "josie"}, InvalidParameterError, "`plan` belongs to mode=\"exact\", but the mode is 'lsh'"),
            ({"mode": "exact", "recall": 0.9}, InvalidParameterError, '`recall` belongs to mode="lsh"'),
            ({"mode": "exact", "progressive": True}, InvalidParameterError, '`progressive` belongs to mode="lsh"'),
        ],
    )
    def test_arguments(self, many, options, error, text):
        with pytest.raises(error, match=text):
            dfjoin.discover_joinable(
                pd.DataFrame({"q": ["a"]}), "q", many[0], **{"mode": "lsh", **options}, rank="matched"
            )

    def test_an_index_without_signatures(self, build):
        lake = build({"a": pd.DataFrame({"x": ["u", "v"]})}, settings={"permutations": 0})
        with pytest.raises(IncompatibleSettingsError, match=r"no signatures, .*`lake.add_signatures\(\)`, or use"):
            ask(["u"], lake)
        with pytest.raises(IncompatibleSettingsError, match="no signatures"):
            ask(["u"], lake, progressive=True)
        assert rows(ask(["u", "v"], lake.add_signatures(permutations=8))) == [("a", "x", 2)]

    def test_signatures_of_other_settings(self, build):
        """A segment whose signatures are not those that the manifest tells of."""
        words = [f"w{i}" for i in range(300)]
        lake = build({"a": pd.DataFrame({"x": words})}, settings={"permutations": 64})
        other = build({"a": pd.DataFrame({"x": words})}, settings={"permutations": 32})
        settings = replace(other.settings, permutations=64, signature_min=None)
        commit(other.path, other.manifest.next("test", settings=settings))
        assert len(ask(words, lake, threshold=0.5)) == 1
        with pytest.raises(IncompatibleSettingsError, match=r"signatures of 32 values .* of 64; .*add_signatures\(\)"):
            ask(words, dfjoin.open_lake(other.path), threshold=0.5)

    def test_slots_that_lead_outside(self, build):
        words = [f"w{i}" for i in range(300)]
        lake = build({"a": pd.DataFrame({"x": words, "y": words})}, settings={"permutations": 16})
        (meta,) = lake.manifest.segments
        bad = write_component(lake.segments[0].directory, "other", "signature_slots", np.full((16, 2), 7))
        groups = tuple(
            replace(g, components=tuple(bad if c.name == "signature_slots" else c for c in g.components))
            for g in meta.groups
        )
        commit(lake.path, lake.manifest.next("test", segments=(replace(meta, groups=groups),)))
        with pytest.raises(IndexCorruptedError, match="`signature_slots` of the index is damaged: it names slots"):
            ask(words, dfjoin.open_lake(lake.path), threshold=0.5)
