"""States: each has an address that makes the same table again, elsewhere, later, and says what is another by then."""

import json
import os
import re
import shutil

import httpx
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError
from dfjoin.page.serve import explore
from dfjoin.page.simple_steps import Filter, Rename
from dfjoin.page.state_files import Recipe, StateFiles, as_stored, digest
from dfjoin.page.steps import JoinFound, RunSql, json_of_step
from dfjoin.page.work import StepError, Work

DF = pd.DataFrame({"country": ["Peru", "JAPAN", "Narnia"], "n": [1, 2, 3]})


@pytest.fixture
def work(example_lake, tmp_path):
    return Work(example_lake, tmp_path / "page")


@pytest.fixture
def state(work, tmp_path):
    return work.open(work.start_with_frame(DF, tmp_path / "frame.parquet"))


def added(work, state, step, is_left=None):
    return work.run(state.recipe.then(json_of_step(step)), is_left)


def joined(work, state):
    hits = dfjoin.discover_joinable(state.frame, "country", work.lake, tables="geo/countries.csv")
    plan = dfjoin.auto_join(state.frame, hits.iloc[[0]], columns=["capital"]).attrs["dfjoin"]["plan"]
    return added(work, state, JoinFound(plan, work.lake.version))


def test_a_state_is_the_same_in_another_process_s_memory_and_without_its_results(work, state, example_lake, tmp_path):
    last = added(
        work, added(work, joined(work, state), Filter("n", "<", 3)), RunSql("SELECT *, n * 2 AS m FROM t ORDER BY n")
    )
    assert last.frame.to_dict("list") == {
        "country": ["Peru", "JAPAN"],
        "n": [1, 2],
        "capital": ["Lima", "Tokyo"],
        "m": [2, 4],
    }
    again = Work(example_lake, tmp_path / "page").open(last.name)
    pd.testing.assert_frame_equal(again.frame, last.frame)
    shutil.rmtree(tmp_path / "page" / "results")
    (tmp_path / "page" / "results").mkdir()
    made = Work(example_lake, tmp_path / "page").open(last.name)
    pd.testing.assert_frame_equal(made.frame, last.frame)
    assert made.notes == [] and made.recipe == last.recipe


def test_states_are_plain_json(work, state, tmp_path):
    last = joined(work, state)
    values = json.loads((tmp_path / "page" / "states" / f"{last.name}.json").read_text())
    assert digest(values) == last.name and values["steps"][0]["kind"] == "join"


def test_a_step_that_fails_is_named_and_nothing_is_kept(work, state):
    before = added(work, state, Rename("n", "m"))
    with pytest.raises(StepError, match="needs the column 'n'") as error:
        added(work, before, Filter("n", "<", 2))
    assert error.value.number == 2 and work.files.recipe(error.value.recipe.name) is None


def test_a_source_that_is_gone_is_told_and_comes_back_when_it_is_brought_again(work, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("a,b\n1,x\n2,y\n")
    name = work.start_with_file("mine.csv", path)
    shutil.rmtree(tmp_path / "page" / "sources")
    shutil.rmtree(tmp_path / "page" / "results")
    fresh = Work(work.lake, tmp_path / "page")
    with pytest.raises(StepError, match=r"the file 'mine.csv' is not kept here any more; bring it again") as error:
        fresh.open(name)
    assert error.value.number == 0
    assert fresh.start_with_file("mine.csv", path) == name and fresh.open(name).frame["a"].tolist() == [1, 2]


def test_a_changed_table_and_a_newer_index_are_told(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    pd.DataFrame({"land": ["Peru", "Chad"], "code": ["PE", "TD"]}).to_csv(data / "lands.csv", index=False)
    lake = dfjoin.build_lake(data, tmp_path / "lake", engine="inline", progress=False)
    work = Work(lake, tmp_path / "page")
    name = work.start_with_table("lands.csv")
    assert work.open(name).notes == [] and work.newer_version() is None
    pd.DataFrame({"land": ["Peru", "Chad"], "code": ["PER", "TCD"]}).to_csv(data / "lands.csv", index=False)
    os.utime(data / "lands.csv", (1e9, 1e9))
    assert Work(lake, tmp_path / "page").open(name).frame["code"].tolist() == ["PE", "TD"], "of the index as it was"
    dfjoin.open_lake(tmp_path / "lake").add(data, engine="inline", progress=False)
    assert work.newer_version() == 2
    lake.refresh()
    notes = " ".join(work.open(name).notes)
    assert "lands.csv is not the one that this page was made with" in notes
    assert "made with version 1 of the index; its steps were run with version 2" in notes


def test_results_are_bounded_and_the_latest_stay(tmp_path):
    files = StateFiles(tmp_path, most_bytes=60_000)
    frame = pd.DataFrame({"a": range(5000)})
    for number in range(6):
        files.keep_result(digest(number), frame)
        os.utime(tmp_path / "results" / f"{digest(number)}.parquet", (number, number))
    kept = [number for number in range(6) if files.result(digest(number)) is not None]
    assert 0 < len(kept) < 6 and kept == list(range(6))[-len(kept) :]


def test_a_damaged_result_is_made_again(work, state, tmp_path):
    last = added(work, state, Rename("n", "m"))
    for path in (tmp_path / "page" / "results").iterdir():
        path.write_bytes(b"PAR1 damaged")
    assert Work(work.lake, tmp_path / "page").open(last.name).frame.columns.tolist() == ["country", "m"]


@pytest.mark.parametrize("name", ["", "none", "../../etc/passwd", "0" * 31, "G" * 32, "0" * 32])
def test_other_names_are_no_states(work, name):
    assert work.open(name) is None


def test_names_of_a_recipe_depend_on_all_that_makes_the_table():
    source = {"kind": "file", "sha256": "a"}
    names = {Recipe(source).name, Recipe({**source, "options": {}}).name, Recipe(source, ({"kind": "drop"},)).name}
    assert len(names) == 3 and all(re.fullmatch("[0-9a-f]{32}", name) for name in names)


def test_frames_that_arrow_does_not_hold_are_refused():
    with pytest.raises(InvalidParameterError, match="a table must have different names of columns, got two of '1'"):
        as_stored(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(InvalidParameterError, match="a column of the table must have cells of one type"):
        as_stored(pd.DataFrame({"a": [1, "x", {}]}))


def test_a_person_opens_the_address_of_another_one_on_a_server_that_was_started_again(example_lake):
    first = explore(example_lake, DF, open_browser=False)
    path = first.url.split("?")[0].removeprefix(first.url.split("/s/")[0])
    with httpx.Client(follow_redirects=True) as client:
        assert "Narnia" in client.get(first.url).text
    first.stop()
    second = explore(example_lake, open_browser=False)
    with httpx.Client(follow_redirects=True) as client:
        token = second.url.rpartition("?")[2]
        assert "Narnia" in client.get(f"{second.url.split('/?')[0]}{path}?{token}").text
    second.stop()


def test_cancelled_steps_end_and_another_index_is_told(work, state):
    with pytest.raises(InvalidParameterError, match=r"^the steps were cancelled$"):
        added(work, state, Rename("n", "m"), lambda: True)
    hits = dfjoin.discover_joinable(state.frame, "country", work.lake, tables="geo/countries.csv")
    plan = dfjoin.auto_join(state.frame, hits.iloc[[0]], columns=["capital"]).attrs["dfjoin"]["plan"]
    edition = work.edition()
    assert added(work, state, JoinFound(plan, **edition)).notes == []
    notes = added(work, state, JoinFound(plan, **edition | {"index": "0" * 32})).notes
    assert len(notes) == 1 and "made with another index" in notes[0]


def test_states_are_bounded(tmp_path):
    files = StateFiles(tmp_path, most_bytes=32_000)
    for number in range(100):
        files.keep(Recipe({"kind": "file", "name": f"{number}"}))
    assert sum(path.stat().st_size for path in (tmp_path / "states").iterdir()) <= 1000
