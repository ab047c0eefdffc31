"""Search by transformation: a transformed copy among unrelated columns is found, first, and counted rightly."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IncompatibleSettingsError, IndexCorruptedError
from dfjoin.index.segment import Patterns

OPTIONS = {"engine": "inline", "progress": False}


SMALL = {"patterns": True}


LETTERS = list("etaoinshrdlucmfwyp")


def words(rng, n):
    return ["".join(rng.choice(LETTERS, rng.integers(4, 9))) for _ in range(n)]


def people(seed, n):
    """Distinct names as "Last, First"."""
    rng = np.random.default_rng(seed)
    return list(dict.fromkeys(f"{a.title()}, {b.title()}" for a, b in zip(words(rng, n), words(rng, n), strict=True)))


def turned(name):
    last, first = name.split(", ")
    return f"{first} {last}"


def unrelated(n_tables, seed=7):
    """Tables of names and codes that have nothing to do with one another."""
    rng = np.random.default_rng(seed)
    frames = {}
    for i in range(n_tables):
        names = [turned(name) for name in people(1000 + i, 30)]
        codes = [f"{a[:2].upper()}-{b}" for a, b in zip(words(rng, 30), rng.integers(100, 99999, 30), strict=True)]
        frames[f"other{i:03}"] = pd.DataFrame({"who": names, "code": codes[: len(names)]})
    return frames


QUERY = people(1, 40)


DF = pd.DataFrame({"name": [*QUERY, *QUERY[:5], None]})


HIDDEN = pd.DataFrame({"person": [turned(n).upper() for n in QUERY[10:][::-1]] + ["NOBODY ELSE"], "age": range(31)})


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A lake of 200 columns, one of them a transformed copy; tests must not change it."""
    frames = {**unrelated(100), "hidden": HIDDEN}
    return dfjoin.build_lake(frames, tmp_path_factory.mktemp("lake") / "x", settings=SMALL, **OPTIONS)


def find(lake, df=DF, on="name", **options):
    return dfjoin.discover_joinable(df, on, lake, mode="transform", **options, rank="matched")


def rows(hits):
    return list(zip(hits["table"], hits["column"], hits["matched"], strict=True))


class TestFound:
    def test_a_transformed_copy_among_unrelated_columns(self, lake):
        hits = find(lake)
        assert rows(hits) == [("hidden", "person", 30)]
        (row,) = hits.to_dict(orient="records")
        assert row["query_cardinality"] == 40 and row["cardinality"] == 31 and row["containment"] == 0.75
        assert row["method"] == "transform" and row["exact"] is True and np.isnan(row["jaccard"])
        assert row["relationship"] == "m:1" and row["kind"] == "text" and not row["accidental"]
        assert hits.attrs["dfjoin"]["mode"] == "transform" and hits.attrs["dfjoin"]["complete"] is False
        assert len(dfjoin.discover_joinable(DF, "name", lake, rank="matched")) == 0

    def test_a_filtered_result_keeps_its_programs(self, lake):
        hits = find(lake).query("matched > 3").iloc[[0]]
        assert len(hits.pairs(0)) == 30

    def test_weights_threshold_and_k(self, lake):
        weighted = find(lake, pd.DataFrame({"name": [*QUERY, *QUERY[20:]]}), weighted=True)
        assert weighted["matched_rows"].tolist() == [50] and weighted["row_containment"].tolist() == [50 / 60]
        assert rows(find(lake, threshold=0.75)) == rows(find(lake, k=1)) == [("hidden", "person", 30)]
        assert rows(find(lake, threshold=0.76)) == []

    def test_filters(self, lake):
        assert (
            rows(find(lake, exclude="hid*"))
            == rows(find(lake, tables="other*"))
            == rows(find(lake, kinds="date"))
            == []
        )
        assert len(find(lake, tables="hid*", kinds="text")) == 1

    def test_right_to_left(self, build):
        """The query holds what a program makes of the column of the lake."""
        longer = [f"{n} ({1900 + i % 60})" for i, n in enumerate(QUERY)]
        lake = build({"t": pd.DataFrame({"long": longer}), **unrelated(5)}, settings=SMALL)
        hits = find(lake)
        assert rows(hits) == [("t", "long", 40)]
        assert hits.context.joins["name", "t", "long"].direction == "right_to_left"
        assert hits.pairs(0)["candidate_value"].tolist() == [text.casefold() for text in longer]

    def test_few_values_in_a_large_column(self, build):
        """Programs are learned from the values that share pieces, and hold for the whole column."""
        large = [turned(n) for n in people(50, 6000)]
        lake = build({"t": pd.DataFrame({"who": large + [turned(n) for n in QUERY]}), **unrelated(5)}, settings=SMALL)
        assert rows(find(lake)) == [("t", "who", 40)]

    def test_many_values_against_a_small_column(self, build):
        lake = build({"t": pd.DataFrame({"who": [turned(n) for n in QUERY]}), **unrelated(5)}, settings=SMALL)
        assert rows(find(lake, pd.DataFrame({"name": people(50, 6000) + QUERY}))) == [("t", "who", 40)]

    def test_dates_in_another_spelling(self, build):
        days = pd.date_range("2019-01-07", periods=60, freq="11D")
        lake = build({"t": pd.DataFrame({"day": days.strftime("%Y%m%d") + "x"}), **unrelated(5)}, settings=SMALL)
        assert rows(find(lake, pd.DataFrame({"name": days}))) == [("t", "day", 60)]

    def test_several_query_columns_and_the_batch(self, lake):
        df = pd.DataFrame({"name": QUERY, "none": people(77, 60)[:40]})
        assert find(lake, df, None)["query_column"].tolist() == ["name"]
        batch = dfjoin.discover_joinable_batch(
            {"a": QUERY, "b": df["none"]}, lake, mode="transform", n_threads=2, rank="matched"
        )
        assert rows(batch) == [("hidden", "person", 30)] and len(batch.pairs(0)) == 30
        assert rows(df.discover_joinable("name", lake, mode="transform", rank="matched")) == rows(find(lake))

    def test_copies_under_other_names_are_learned_once(self, build):
        person = HIDDEN["person"]
        longer = [f"{n} ({1900 + i % 60})" for i, n in enumerate(QUERY)]
        frames = {f"p{i}": pd.DataFrame({f"who{i}": person}) for i in range(3)}
        frames |= {f"q{i}": pd.DataFrame({f"long{i}": longer}) for i in range(3)}
        hits = find(build(frames, settings=SMALL))
        assert rows(hits) == [(f"q{i}", f"long{i}", 40) for i in range(3)] + [
            (f"p{i}", f"who{i}", 30) for i in range(3)
        ]
        assert hits.context.stats["name"].candidates == 2
        for i in range(6):
            assert len(hits.pairs(i)) == hits["matched"][i] and hits["column"][i] in str(hits.explain(i).program)

    def test_programs_belong_to_their_rows_when_ranks_and_scores_differ(self, build):
        """Pieces in a large column are weaker evidence: it is learned from last, and matches most."""
        small = [f"{n} ({1900 + i % 60})" for i, n in enumerate(QUERY[:20])]
        large = [turned(n) for n in people(50, 6000) + QUERY]
        lake = build({"large": pd.DataFrame({"who": large}), "small": pd.DataFrame({"long": small})}, settings=SMALL)
        hits = find(lake)
        assert rows(hits) == [("large", "who", 40), ("small", "long", 20)]
        assert [len(hits.pairs(i)) for i in range(2)] == [40, 20]
        assert [hits.context.joins["name", *row[:2]].direction for row in rows(hits)] == [
            "left_to_right",
            "right_to_left",
        ]


class TestNotFound:
    def test_the_search_ends_after_four_candidates_that_give_nothing(self, build):
        """A word of each of the query's values among words at random: pieces are shared, and no program makes them."""
        rng = np.random.default_rng(9)

        def hide(name):
            return " ".join(rng.permutation([name.split(", ")[rng.integers(2)], *words(rng, 3)]))

        frames = {f"t{i}": pd.DataFrame({"who": [hide(name) for name in QUERY]}) for i in range(8)}
        hits = find(build(frames, settings=SMALL))
        assert len(hits) == 0 and hits.context.stats["name"].candidates == 4

    def test_a_program_that_joins_no_more_than_equality_does(self, build):
        names = QUERY[:20]
        lake = build({"t": pd.DataFrame({"who": [*names, *map(turned, names)]}), **unrelated(5)}, settings=SMALL)
        assert rows(find(lake)) == []
        more = [*names, *map(turned, QUERY[:30])]
        lake = build({"t": pd.DataFrame({"who": more}), **unrelated(5)}, settings=SMALL)
        assert rows(find(lake)) == [("t", "who", 30)]

    def test_an_unrelated_lake_gives_no_rows(self, build):
        lake = build(unrelated(60), settings=SMALL)
        hits = find(lake)
        assert len(hits) == 0 and "program" in hits.columns and hits.attrs["dfjoin"]["complete"] is False

    def test_what_joins_by_equality_is_left_to_exact_search(self, build):
        copy = pd.DataFrame({"same": QUERY, "turned": [turned(n) for n in QUERY]})
        lake = build({"t": copy, **unrelated(5)}, settings=SMALL)
        assert rows(find(lake)) == [("t", "turned", 40)]

    def test_a_column_without_values(self, lake):
        assert len(find(lake, pd.DataFrame({"name": [None, None]}))) == 0

    def test_values_without_pieces(self, lake):
        assert len(find(lake, pd.DataFrame({"name": ["a", "b", "-"]}))) == 0

    def test_a_lake_without_tables(self, build):
        lake = build({"t": HIDDEN}, settings=SMALL)
        lake.remove("t")
        assert len(find(lake)) == 0
        assert len(find(lake.compact(full=True))) == 0


def same(one, other):
    pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(other))


class TestLife:
    def test_rows_do_not_depend_on_segments(self, lake, build):
        names = sorted(unrelated(100))
        first = {name: frame for name, frame in unrelated(100).items() if name in names[:40]}
        cut = build({**first, "hidden": HIDDEN}, settings=SMALL)
        cut.add({name: frame for name, frame in unrelated(100).items() if name not in first}, **OPTIONS)
        assert len(cut.segments) == 2
        same(find(cut), find(lake))
        cut.compact(full=True)
        same(find(cut), find(lake))

    def test_deleted_columns_count_nowhere(self, lake, build):
        more = {"copy": HIDDEN, "more": pd.DataFrame({"who": QUERY})}
        other = build({**unrelated(100), "hidden": HIDDEN, **more}, settings=SMALL)
        assert [row[0] for row in rows(find(other))] == ["copy", "hidden"]
        other.remove(["copy", "more"])
        same(find(other), find(lake))

    def test_added_later(self, lake, build):
        other = build({**unrelated(100), "hidden": HIDDEN})
        with pytest.raises(IncompatibleSettingsError, match=r"no pattern tokens, .*`lake.add_patterns\(\)`, or use"):
            find(other)
        same(find(other.add_patterns()), find(lake))

    def test_columns_whose_sets_were_dropped_are_not_found(self, build):
        settings = {**SMALL, "permutations": 16, "keep_sets": False}
        assert rows(find(build({"hidden": HIDDEN}, settings=settings))) == []
        assert rows(find(build({"hidden": HIDDEN}, settings={**settings, "signature_min": 100}))) == [
            ("hidden", "person", 30)
        ]


@pytest.mark.parametrize(
    ("field", "value"),
    [("indptr", -1), ("indptr", 10**9), ("columns", -1), ("columns", 10**6)],
)
def test_damaged_lists_are_refused(build, field, value):
    lake = build({"hidden": HIDDEN}, settings=SMALL)
    segment = lake.segments[0]
    arrays = segment.patterns._asdict()
    arrays[field] = np.full_like(arrays[field], value)
    segment.__dict__["patterns"] = Patterns(**arrays)
    with pytest.raises(IndexCorruptedError, match=f"component `.*pattern_{field}` .* names entries"):
        find(lake)
