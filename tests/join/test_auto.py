"""`auto_join` from its arguments to its report: what is normalised, read and said on the way."""

import importlib
import pkgutil
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinWarning

LAND = ["peru", "chad", "mali"]
LANDS = ["Peru", "Chad", "Mali", "Oman", "Fiji"]
NAMES = ["Adler, Ann", "Brook, Bea", "Crane, Cid", "Drake, Dan", "Eagle, Eve", "Finch, Fay", "Goose, Gus", "Heron, Hal"]
PEOPLE = [" ".join(name.split(", ")[::-1]) for name in NAMES]
COUNTED = {
    "normalize_column": "dfjoin.values.normalize",
    "normalize_batch": "dfjoin.values.normalize",
    "column_to_arrow": "dfjoin.values.frames",
    "open_table": "dfjoin.sources.readers",
    "current_fingerprint": "dfjoin.sources.readers",
}


class Calls:
    """Calls of the counted functions: which module made them, and on what values."""

    def __init__(self):
        self.by_module = Counter()
        self.contents = Counter()

    def clear(self):
        self.by_module.clear()
        self.contents.clear()

    def count(self, *names):
        return sum(n for (name, _), n in self.by_module.items() if name in names)

    def of(self, values):
        """How often a column of these values was normalised."""
        return self.contents[tuple(values)]


@pytest.fixture
def calls(monkeypatch):
    """Count from here on; every module that has imported a function by name is counted as itself."""
    for module in pkgutil.walk_packages(dfjoin.__path__, "dfjoin."):
        if not module.name.startswith(("dfjoin.__main__", "dfjoin.page.")):  # the page needs libraries of its own
            importlib.import_module(module.name)
    counted = Calls()

    def wrap(name, original, module):
        def call(value, *args, **kwargs):
            counted.by_module[name, module.rpartition(".")[2]] += 1
            if name.startswith("normalize"):
                counted.contents[tuple(value.to_pylist())] += 1
            return original(value, *args, **kwargs)

        return call

    originals = {name: getattr(importlib.import_module(home), name) for name, home in COUNTED.items()}
    for module in [m for n, m in sys.modules.items() if n.startswith("dfjoin.")]:
        for name, original in originals.items():
            is_own = module.__name__ == COUNTED["normalize_batch"] and name == "normalize_batch"  # part of a column's
            if vars(module).get(name) is original and not is_own:
                monkeypatch.setattr(module, name, wrap(name, original, module.__name__))
    return counted


@pytest.fixture
def df():
    return pd.DataFrame({"land": LANDS, "who": ["a1", "b1", "c1", "d1", "e1"], "n": [100, 205, 303, 407, 501]})


@pytest.fixture
def areas():
    return pd.DataFrame({"country": [*LANDS, "Togo"], "area": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5], "code": list("pcmoft")})


@pytest.fixture
def lake(tmp_path, areas):
    folder = tmp_path / "data"
    folder.mkdir()
    areas.to_csv(folder / "areas.csv", index=False)
    rivers = pd.DataFrame({"state": LANDS[:4], "river": ["Ene", "Chari", "Niger", "Halfayn"]})
    rivers.to_csv(folder / "rivers.csv", index=False)
    pd.DataFrame({"tag": ["a1", "b1", "c1"], "w": ["u", "v", "w"]}).to_csv(folder / "tags.csv", index=False)
    pd.DataFrame({"person": PEOPLE, "wage": range(8)}).to_csv(folder / "staff.csv", index=False)
    index = tmp_path / "lake.dfjoin"
    return dfjoin.build_lake(folder, index, engine="inline", progress=False, settings={"patterns": True})


# Each key column is made Arrow and normalised once, each table is read once ------------------------------------


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
def test_two_frames_on_named_keys(calls, df, areas, how):
    dfjoin.auto_join(df, areas, on="land", right_on="country", how=how)
    assert calls.count("column_to_arrow") == calls.count("normalize_column") == 2


def test_two_frames_on_named_keys_that_do_not_match_enough(calls, df, areas):
    areas = areas.assign(country=[f"{name}?" for name in areas["country"]])
    dfjoin.auto_join(df, areas, on="land", right_on="country", transform=False, fuzzy=None, on_no_match="ignore")
    assert calls.by_module["normalize_column", "keys"] == 2


@pytest.mark.parametrize("how", ["left", "outer"])
def test_two_frames_on_keys_that_are_chosen(calls, df, areas, how):
    dfjoin.auto_join(df, areas, how=how)
    assert calls.count("column_to_arrow") == 6, "three columns on either side"
    assert calls.count("normalize_column") == 5, "a column of fractions is no key"


@pytest.mark.parametrize("keys", [{}, {"on": "name", "right_on": "person"}])
def test_two_frames_by_a_learned_program(calls, keys):
    left, right = pd.DataFrame({"name": NAMES}), pd.DataFrame({"person": PEOPLE})
    wide = dfjoin.auto_join(left, right, **keys)
    assert wide.attrs["dfjoin"]["joined"][0]["relation"]["n_keys"]["program"] == 8
    assert calls.count("column_to_arrow") == 2
    assert calls.by_module["normalize_column", "keys"] == 2
    assert calls.by_module["normalize_column", "prepared_columns"] == 0
    modules = {module for name, module in calls.by_module if name == "normalize_column"}
    assert modules <= {"keys", "outcome", "transform_join", "casing"}, (
        "what programs make of a key is normalised like it"
    )


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
@pytest.mark.parametrize("on", ["land", None])
def test_a_lake(df, lake, areas, calls, on, how):
    wide = dfjoin.auto_join(df, lake, on=on, how=how)
    assert wide.attrs["dfjoin"]["joined"][0]["table"] == "areas.csv"
    assert calls.count("open_table") == calls.count("current_fingerprint") == 1
    assert calls.of(df["land"]) == 1
    assert calls.of(areas["country"]) == 1
    assert calls.of(df["who"]) <= 1 and calls.of(df["n"]) <= 1


def test_several_tables_of_a_lake(df, lake, calls):
    wide = dfjoin.auto_join(df, lake, on="land", k=2, aggregate=None)
    assert len(wide.attrs["dfjoin"]["joined"]) == calls.count("open_table") == 2
    assert calls.of(df["land"]) == calls.of(df["who"]) == calls.of(df["n"]) == 1


def test_a_plan(calls, df, lake, areas):
    plan = dfjoin.auto_join(df, lake, on="land").attrs["dfjoin"]["plan"]
    calls.clear()
    dfjoin.auto_join(df, plan)
    assert calls.count("open_table") == calls.count("current_fingerprint") == 1
    assert calls.of(df["land"]) == 1 and calls.count("normalize_column") == 1
    assert calls.of(areas["country"]) == 1


def test_picked_candidates(calls, df, lake, areas):
    hits = dfjoin.discover_joinable(df, "land", lake, rank="matched")
    calls.clear()
    wide = dfjoin.auto_join(df, hits.iloc[:2], aggregate=None)
    assert [step["table"] for step in wide.attrs["dfjoin"]["joined"]] == ["areas.csv", "rivers.csv"]
    assert calls.count("open_table") == calls.count("current_fingerprint") == 2
    assert calls.of(df["land"]) == 1 and calls.count("normalize_column") == 1
    assert calls.of(areas["country"]) == 1


def test_picked_columns_of_one_table(calls, build):
    df = pd.DataFrame({"a": list("pqr"), "b": list("xyz")})
    hits = dfjoin.discover_joinable(
        df, None, build({"t": pd.DataFrame({"c": list("qrp"), "d": list("zxy")})}), rank="matched"
    )
    assert len(hits) == 2
    calls.clear()
    wide = dfjoin.auto_join(df, hits, aggregate=None)
    assert calls.count("open_table") == 1
    assert wide["d"].tolist() == list("yzx") and wide["c"].tolist() == list("rpq")


@pytest.mark.parametrize("how", ["left", "outer"])
def test_a_candidate_that_a_program_relates(calls, lake, how):
    df = pd.DataFrame({"name": [*NAMES, "Nobody, At All"]})
    hits = dfjoin.discover_joinable(df, "name", lake, mode="transform", rank="matched")
    calls.clear()
    wide = dfjoin.auto_join(df, hits.iloc[[0]], how=how)
    assert wide["wage"].tolist()[:8] == list(range(8))
    assert calls.count("open_table") == 1
    assert calls.of(df["name"]) == calls.of(PEOPLE) == 1
    assert calls.count("column_to_arrow") == 1


# What the index tells is not read ---------------------------------------------------------------------------


def test_of_copies_of_the_frame_one_is_read(calls, build):
    frame = pd.DataFrame({"city": ["Rome", "Oslo", "Lima", "Bonn"], "people": [10, 20, 30, 40], "zone": list("abcd")})
    rivers = pd.DataFrame({"city": frame["city"], "river": ["Tiber", "Alna", "Rimac", "Rhine"]})
    copy = frame.rename(columns={"people": "count", "zone": "area"})  # under the frame's names it would come last
    lake = build({"own": copy, "again": copy, "river": rivers, "third": copy})
    for on in ("city", None):
        calls.clear()
        wide = dfjoin.auto_join(frame, lake, on=on)
        report = wide.attrs["dfjoin"]
        assert [step["table"] for step in report["joined"]] == ["river"]
        assert {p["table"] for p in report["passed_over"] if "nothing new" in p["reason"]} <= {"own", "again", "third"}
        assert calls.count("open_table") == calls.count("current_fingerprint") == 2, "a copy and the river"


def test_a_copy_that_only_its_rows_tell_is_read_once(calls, build):
    frame = pd.DataFrame({"city": ["Rome", "Oslo", "Lima", "Bonn"], "zone": list("abcd"), "area": [0.5, 1.5, 2.5, 3.5]})
    rivers = pd.DataFrame({"place": frame["city"][:3], "river": ["Tiber", "Alna", "Rimac"]})
    lake = build({"own": frame.rename(columns={"zone": "part", "area": "size"}), "river": rivers})
    calls.clear()
    wide = dfjoin.auto_join(frame, lake)
    assert [step["table"] for step in wide.attrs["dfjoin"]["joined"]] == ["river"]
    assert calls.count("open_table") == 2, "its own table, for two query columns, and the river"


def test_two_keys_that_join_equally_well_are_told_without_reading(calls, build):
    lake = build({"t": pd.DataFrame({"k": LANDS, "v": list("pqrst")})})
    calls.clear()
    with pytest.raises(dfjoin.errors.InvalidParameterError, match="the columns 'one', 'two' join equally well"):
        dfjoin.auto_join(pd.DataFrame({"one": LANDS, "two": LANDS[::-1]}), lake)
    assert calls.count("open_table") == 0


def test_the_numbers_of_a_search_are_those_of_the_join(df, lake):
    hits = dfjoin.discover_joinable(df, None, lake, rank="matched")
    wide = dfjoin.auto_join(df, hits, aggregate=None)
    for step, (_, hit) in zip(wide.attrs["dfjoin"]["joined"], hits.iterrows(), strict=True):
        assert (step["matched"], step["containment"]) == (hit["matched"], hit["containment"])
    np.testing.assert_array_equal(wide["area"], [1.5, 2.5, 3.5, 4.5, 5.5])


# What is said -----------------------------------------------------------------------------------------------


def test_the_warning_points_at_the_line_of_the_user(build):
    lake = build({"far": pd.DataFrame({"place": ["Peru", "Bonn"], "note": ["x", "y"]})})
    with pytest.warns(dfjoin.errors.DfjoinWarning) as caught:
        pd.DataFrame({"land": LAND}).auto_join(lake, on="land", threshold=0.9)
    assert caught[0].filename == __file__


def test_a_warning_names_columns_of_equal_names_before_others():
    left = pd.DataFrame({"number": range(100, 140), "id": [f"part {i}" for i in range(40)]})
    right = pd.DataFrame({"id": [f"part {i}" for i in range(36, 80)], "code": range(106, 150)})
    text = (
        r"that of equal names, id = id: containment 0\.100 is below the threshold 0\.5; name it by `on` if it is meant"
    )
    with pytest.warns(DfjoinWarning, match=text):
        assert list(left.auto_join(right)) == ["number", "id"]
    assert left.auto_join(right, on="id")["code"].notna().sum() == 4
