"""Tables added, replaced and removed, versions restored: what is read, what is refused, who came first."""

import os
import pickle
import shutil

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import (
    ConcurrentCommitError,
    InvalidParameterError,
    InvalidTypeError,
    TableNotFoundError,
    TableReadError,
)
from dfjoin.index import commit as commit_module
from dfjoin.index.commit import list_versions
from tests.store.lakes import (
    OPTIONS,
    all_answers,
    answers,
    assert_same_content,
    frame,
    names,
    orphans,
    overtake,
)


class TestAdd:
    def test_a_new_table(self, lake, build):
        done = lake.add({"d": frame("t", "s")}, progress=False)
        assert done is lake and lake.version == 2 and len(lake.segments) == 2
        fresh = {name: lake.table(name) for name in names(lake)}
        assert list(fresh) == ["a", "b", "d", "geo/c"]
        assert_same_content(lake, build(fresh))
        assert_same_content(dfjoin.open_lake(lake.path), lake)

    def test_a_taken_name(self, lake):
        text = (
            r"`source` brings tables whose names the index has already: 'a', 'b'; use `Lake.replace\(source\)` to put "
            "them in their place, or give them other names"
        )
        with pytest.raises(InvalidParameterError, match=text):
            lake.add({"b": frame("z"), "a": frame("z"), "new": frame("z")}, **OPTIONS)
        assert lake.version == 1 and list_versions(lake.path) == [1]

    def test_a_removed_name_is_free(self, lake):
        lake.remove("a").add({"a": frame("t", "t2")}, **OPTIONS)
        assert names(lake) == ["a", "b", "geo/c"] and ("a", "c", 1) in all_answers(lake)
        assert lake.table("a")["c"].tolist() == ["t", "t2"]

    @pytest.mark.parametrize(
        ("argument", "value"),
        [("engine", "fast"), ("full", "yes"), ("on_error", "stop"), ("keep_data", "no")],
    )
    def test_illegal_arguments(self, lake, argument, value):
        with pytest.raises(InvalidParameterError, match=f"`{argument}` must be .*{value}"):
            lake.add({"d": frame("a", "b")}, **{"progress": False, argument: value})
        assert list_versions(lake.path) == [1]

    @pytest.mark.parametrize("source", [{}, 5, {"a": 5}, "no/such/place"])
    def test_illegal_sources(self, lake, source):
        with pytest.raises((InvalidParameterError, InvalidTypeError), match="`source`"):
            lake.add(source, **OPTIONS)
        assert list_versions(lake.path) == [1]

    def test_nothing_new(self, filed, place, read_tables):
        assert filed.add(place, **OPTIONS).version == 1 and list_versions(filed.path) == [1] and read_tables == []

    def test_only_what_is_new_is_read(self, filed, place, read_tables):
        frame("t", "z").to_csv(place / "sub" / "new.csv", index=False)
        filed.add(place, **OPTIONS)
        assert read_tables == ["sub/new.csv"] and filed.version == 2
        assert names(filed) == ["sub/new.csv", "sub/v.csv", "t.csv", "u.csv"] and len(filed.roots) == 1

    def test_a_touched_file_is_not_read(self, filed, place, read_tables):
        os.utime(place / "t.csv", ns=(1, 1))
        assert filed.add(place, **OPTIONS).version == 1 and read_tables == []

    @pytest.mark.parametrize("values", ["st", "sss"], ids=["same size", "other size"])
    def test_a_changed_file_takes_the_place_of_the_old(self, filed, place, read_tables, tmp_path, values):
        frame(*values).to_csv(place / "t.csv", index=False)
        os.utime(place / "t.csv", ns=(10**18, 10**18))
        filed.add(place, **OPTIONS)
        assert read_tables == ["t.csv"] and filed.version == 2
        assert_same_content(filed, dfjoin.build_lake(place, tmp_path / "fresh.dfjoin", **OPTIONS))
        assert filed.table("t.csv")["c"].tolist() == list(values)

    def test_full_reads_all(self, filed, place, read_tables, tmp_path):
        filed.add(place, full=True, **OPTIONS)
        assert sorted(read_tables) == ["sub/v.csv", "t.csv", "u.csv"] and filed.version == 2
        read_tables.clear()
        assert_same_content(filed, dfjoin.build_lake(place, tmp_path / "fresh.dfjoin", **OPTIONS))
        assert len(filed.segments) == 1

    @pytest.mark.parametrize("source", ["sub", "sub/*.csv", "sub/new.csv"])
    def test_a_part_of_a_root(self, filed, place, read_tables, source):
        frame("t", "z").to_csv(place / "sub" / "new.csv", index=False)
        filed.add(str(place / source), **OPTIONS)
        assert read_tables == ["sub/new.csv"] and len(filed.roots) == 1
        assert filed.table("sub/new.csv")["c"].tolist() == ["t", "z"]

    def test_a_vanished_file_stays_indexed(self, filed, place):
        (place / "t.csv").unlink()
        assert filed.add(place, **OPTIONS).version == 1 and "t.csv" in names(filed)

    def test_the_old_version_stays(self, filed, place):
        before = all_answers(filed)
        frame("s", "z").to_csv(place / "t.csv", index=False)
        filed.add(place, full=True, **OPTIONS)
        assert all_answers(dfjoin.open_lake(filed.path, version=1)) == before != all_answers(filed)

    def test_an_unreadable_file(self, filed, place):
        (place / "bad.parquet").write_bytes(b"no parquet at all")
        with pytest.raises(TableReadError):
            filed.add(place, on_error="raise", **OPTIONS)
        assert list_versions(filed.path) == [1] and len(list((filed.path / "segments").iterdir())) == 1
        frame("t", "z").to_csv(place / "new.csv", index=False)
        filed.add(place, **OPTIONS)
        assert "new.csv" in names(filed) and filed.info()["skipped"][0]["name"] == "bad.parquet"

    def test_data_that_is_not_kept(self, lake):
        n_frames = len(list((lake.path / "frames").iterdir()))
        lake.add({"d": frame("s", "t")}, keep_data=False, **OPTIONS)
        assert len(list((lake.path / "frames").iterdir())) == n_frames and ("d", "c", 2) in all_answers(lake)

    def test_two_writers_of_other_names(self, lake, monkeypatch):
        other = dfjoin.open_lake(lake.path)
        overtake(monkeypatch, lambda: other.add({"e": frame("s", "t")}, **OPTIONS))
        lake.add({"d": frame("r", "s")}, **OPTIONS)
        assert names(lake) == ["a", "b", "d", "e", "geo/c"] and lake.version == 3
        assert names(other) == ["a", "b", "e", "geo/c"]

    def test_two_writers_of_one_name(self, lake, monkeypatch):
        overtake(monkeypatch, lambda: dfjoin.open_lake(lake.path).add({"d": frame("s", "t")}, **OPTIONS))
        text = (
            r"another writer has added tables of the same names meanwhile: 'd'; nothing of this change is visible: use "
            r"`Lake.replace\(source\)` to put these in their place"
        )
        with pytest.raises(ConcurrentCommitError, match=text):
            lake.add({"d": frame("r", "s"), "e": frame("r")}, **OPTIONS)
        assert lake.version == 1 and names(lake.refresh()) == ["a", "b", "d", "geo/c"]
        assert lake.table("d")["c"].tolist() == ["s", "t"] and lake.verify() == []

    def test_two_writers_of_one_root(self, lake, place, monkeypatch):
        """The same new place has the same root, whoever comes first."""
        overtake(monkeypatch, lambda: dfjoin.open_lake(lake.path).add(place / "t.csv", **OPTIONS))
        try:
            lake.add([place / "u.csv", place / "sub" / "v.csv"], **OPTIONS)
        except ConcurrentCommitError as error:
            assert "has added the root" in str(error)
        assert lake.refresh().verify() == [] and len(set(names(lake))) == len(names(lake))

    def test_two_writers_of_two_roots_of_one_name(self, lake, tmp_path, monkeypatch):
        for parent in "xy":
            (tmp_path / parent / "more").mkdir(parents=True)
            frame("p", "q").to_csv(tmp_path / parent / "more" / "t.csv", index=False)
        overtake(monkeypatch, lambda: dfjoin.open_lake(lake.path).add(tmp_path / "x" / "more", **OPTIONS))
        text = (
            r"another writer has added the root '.*x/more' under the name 'more' meanwhile; nothing of this .*: repeat"
        )
        with pytest.raises(ConcurrentCommitError, match=f"{text}|tables of the same names"):
            lake.add(tmp_path / "y" / "more", **OPTIONS)
        lake.add(tmp_path / "y" / "more", **OPTIONS)
        assert names(lake)[-2:] == ["more-2/t.csv", "more/t.csv"]

    def test_a_writer_that_built_anew_with_other_settings(self, lake, monkeypatch):
        overtake(
            monkeypatch,
            lambda: dfjoin.build_lake(
                {"z": frame("p", "q")}, lake.path, if_exists="replace", settings={"samples": 1}, **OPTIONS
            ),
        )
        text = "another writer has replaced the whole index with other settings, vectors or axes meanwhile; nothing of this .*: repeat it"
        with pytest.raises(ConcurrentCommitError, match=text):
            lake.add({"d": frame("r", "s")}, **OPTIONS)
        assert names(lake.refresh()) == ["z"]

    def test_an_object_at_an_old_version_adds_to_the_latest(self, lake):
        old = dfjoin.open_lake(lake.path, version=1)
        lake.add({"d": frame("s", "t")}, **OPTIONS)
        assert names(old) == ["a", "b", "geo/c"]
        assert names(old.add({"e": frame("s", "t")}, **OPTIONS)) == ["a", "b", "d", "e", "geo/c"]


class TestReplace:
    def test_in_one_commit(self, lake, build):
        done = lake.replace({"a": frame("s", "t"), "d": frame("r", "z")}, **OPTIONS)
        assert done is lake and lake.version == 2 and names(lake) == ["a", "b", "d", "geo/c"]
        assert lake.table("a")["c"].tolist() == ["s", "t"]
        assert_same_content(lake, build({name: lake.table(name) for name in names(lake)}))
        assert names(dfjoin.open_lake(lake.path, version=1)) == ["a", "b", "geo/c"]

    def test_all_of_a_segment(self, lake):
        lake.replace({name: frame("z", "t") for name in names(lake)}, **OPTIONS)
        assert len(lake.segments) == 1 and answers(lake) == [("a", "c", 1), ("b", "c", 1), ("geo/c", "c", 1)]

    def test_again_and_again(self, lake, build):
        for number in range(5):
            lake.replace({"b": frame("p", f"v{number}")}, **OPTIONS)
        assert lake.version == 6 and lake.table("b")["c"].tolist() == ["p", "v4"]
        assert_same_content(lake, build({name: lake.table(name) for name in names(lake)}))

    def test_files(self, filed, place, tmp_path):
        frame("p", "q", "r").to_csv(place / "t.csv", index=False)
        filed.replace(place, **OPTIONS)
        assert_same_content(filed, dfjoin.build_lake(place, tmp_path / "fresh.dfjoin", **OPTIONS))

    def test_two_writers(self, lake, monkeypatch):
        """The one who commits last has the last word."""
        overtake(monkeypatch, lambda: dfjoin.open_lake(lake.path).replace({"a": frame("s", "t", "p")}, **OPTIONS))
        lake.replace({"a": frame("r", "s")}, **OPTIONS)
        assert lake.version == 3 and lake.table("a")["c"].tolist() == ["r", "s"] and names(lake) == ["a", "b", "geo/c"]
        assert lake.info()["counts"]["tables"] == 3 == len(lake.tables)

    def test_after_a_compaction_by_another(self, lake, monkeypatch):
        def compact():
            other = dfjoin.open_lake(lake.path).add({"z": frame("t", "u")}, **OPTIONS)
            assert len(other.compact(full=True).segments) == 1

        overtake(monkeypatch, compact)
        lake.replace({"a": frame("r", "s")}, **OPTIONS)
        assert names(lake) == ["a", "b", "geo/c", "z"] and lake.table("a")["c"].tolist() == ["r", "s"]


class TestRemove:
    @pytest.mark.parametrize(
        ("given", "left"),
        [
            ("a", ["b", "geo/c"]), (["a", "geo/c"], ["b"]), ("geo/*", ["a", "b"]), ("?", ["geo/c"]),
            (["a", "[ab]", "a"], ["geo/c"]), (["b", "*"], []),
        ],
    )  # fmt: skip
    def test_names_and_patterns(self, lake, build, given, left):
        frames = {name: lake.table(name) for name in left}
        done = lake.remove(given)
        assert done is lake and lake.version == 2 and names(lake) == left
        assert lake.columns["table"].unique().tolist() == left
        if left:
            assert_same_content(lake, build(frames))
        assert len(names(dfjoin.open_lake(lake.path, version=1))) == 3

    @pytest.mark.parametrize("given", ["no", ["a", "no"], "no*"])
    def test_unknown(self, lake, given):
        bad = given if isinstance(given, str) else given[1]
        text = rf"`tables` must name tables of the lake \('a', 'b', 'geo/c'\), got '{bad.replace('*', '[*]')}'"
        with pytest.raises(TableNotFoundError, match=text):
            lake.remove(given)
        with pytest.raises(TableNotFoundError, match="got 'go/c'; did you mean 'geo/c'"):
            lake.remove("go/c")
        assert list_versions(lake.path) == [1]

    def test_none(self, lake):
        with pytest.raises(InvalidParameterError, match="`tables` must name at least one table or pattern, got none"):
            lake.remove([])

    @pytest.mark.parametrize("given", [5, [5], b"a"])
    def test_another_type(self, lake, given):
        with pytest.raises(InvalidTypeError, match="`tables`"):
            lake.remove(given)

    def test_twice(self, lake):
        lake.remove("a")
        with pytest.raises(TableNotFoundError, match=r"\('b', 'geo/c'\), got 'a'"):
            lake.remove("a")
        with pytest.raises(TableNotFoundError, match="got 'a'"):
            lake.table("a")
        lake.remove("b")
        assert names(lake) == ["geo/c"] and lake.info()["counts"]["tables"] == 1

    def test_a_name_with_pattern_signs(self, build):
        lake = build({"t[1]": frame("p", "q"), "t1": frame("p", "r")})
        assert names(lake.remove("t[1]")) == ["t1"]

    def test_everything(self, lake):
        lake.remove("*")
        for opened in (lake, dfjoin.open_lake(lake.path), pickle.loads(pickle.dumps(lake))):
            assert names(opened) == [] and opened.columns.empty and all_answers(opened) == [] and opened.verify() == []
            assert opened.info()["counts"].get("tables", 0) == 0 and opened.check().empty
        assert "0 tables, 0 columns" in repr(lake) and lake.compact(full=True).version == 2
        with pytest.raises(TableNotFoundError):
            lake.remove("*")
        lake.add({"a": frame("p", "q")}, **OPTIONS)
        assert all_answers(lake) == [("a", "c", 2)] and lake.table("a")["n"].tolist() == [0, 1]

    def test_two_writers_of_one_table(self, lake, monkeypatch):
        overtake(monkeypatch, lambda: dfjoin.open_lake(lake.path).remove("a"))
        text = r"another writer has removed tables meanwhile: 'a'; nothing of this change is visible: refresh and repeat it"
        with pytest.raises(ConcurrentCommitError, match=text):
            lake.remove(["a", "b"])
        assert names(lake.refresh()) == ["b", "geo/c"]

    def test_two_writers_of_two_tables(self, lake, monkeypatch):
        overtake(monkeypatch, lambda: dfjoin.open_lake(lake.path).remove("a"))
        assert names(lake.remove("b")) == ["geo/c"] and lake.version == 3
        assert lake.info()["counts"]["tables"] == 1 and lake.info()["counts"]["columns"] == 2


class TestRestore:
    def test_an_older_version(self, lake):
        before, tables = all_answers(lake), lake.tables
        lake.replace({"a": frame("s", "t")}, **OPTIONS).remove("b").compact(full=True)
        assert lake.restore(1) is lake and lake.version == 5 and all_answers(lake) == before
        pd.testing.assert_frame_equal(lake.tables, tables)
        assert lake.table("a")["c"].tolist() == ["p", "q", "x"] and lake.verify() == []
        lake.vacuum(0)
        assert all_answers(dfjoin.open_lake(lake.path)) == before and lake.table("b")["c"].tolist() == ["p", "y"]

    def test_the_latest(self, lake):
        assert lake.restore(1).version == 2 and names(lake) == ["a", "b", "geo/c"]

    def test_settings_and_roots_come_back(self, lake, place):
        dfjoin.build_lake(place, lake.path, if_exists="replace", settings={"samples": 1}, **OPTIONS)
        lake.restore(1)
        assert lake.settings.samples == 5 and list(lake.roots) == ["frames"] and names(lake) == ["a", "b", "geo/c"]
        assert lake.table("a")["n"].tolist() == [0, 1, 2]

    def test_after_vacuum(self, lake):
        lake.remove("a").vacuum(0)
        with pytest.raises(InvalidParameterError, match=r"`version` must be a version .* has \(2\), got 1"):
            lake.restore(1)

    def test_without_its_segments(self, lake):
        lake.replace({name: frame("p", "q") for name in names(lake)}, **OPTIONS)
        shutil.rmtree(lake.path / "segments" / dfjoin.open_lake(lake.path, version=1).segments[0].meta.id)
        text = "`version` 1 cannot be restored: 1 of its segments were removed by vacuum"
        with pytest.raises(InvalidParameterError, match=text):
            lake.restore(1)
        assert lake.version == 2

    @pytest.mark.parametrize("version", [0, -1, True, "1", 1.0, None])
    def test_illegal_versions(self, lake, version):
        with pytest.raises((InvalidParameterError, InvalidTypeError), match="`version` must be"):
            lake.restore(version)
        assert list_versions(lake.path) == [1]

    def test_while_another_writes(self, lake, monkeypatch):
        overtake(monkeypatch, lambda: dfjoin.open_lake(lake.path).remove("a"))
        assert lake.restore(1).version == 3 and names(lake) == ["a", "b", "geo/c"]


class TestSkippedFiles:
    """A file that cannot be read is no table, so that it is new at each `add`."""

    @pytest.fixture
    def place(self, tmp_path):
        (tmp_path / "files").mkdir()
        frame("p", "q").to_csv(tmp_path / "files" / "t.csv", index=False)
        (tmp_path / "files" / "bad.parquet").write_bytes(b"no parquet at all")
        return tmp_path / "files"

    def test_adding_again_does_nothing(self, place, tmp_path):
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        lake.add(place, **OPTIONS)
        assert lake.version == 1 and len(lake.segments) == 1

    def test_it_is_listed_once(self, place, tmp_path):
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        for number in range(2):
            frame("r", "s").to_csv(place / f"n{number}.csv", index=False)
            lake.add(place, **OPTIONS)
        assert [record["name"] for record in lake.info()["skipped"]] == ["bad.parquet"]

    def test_it_is_listed_no_more_once_it_is_read(self, place, tmp_path):
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        frame("r", "s").to_parquet(place / "bad.parquet")
        lake.add(place, **OPTIONS)
        assert names(lake) == ["bad.parquet", "t.csv"] and lake.info()["skipped"] == []

    def test_skipped_files_are_not_forgotten_when_their_segment_is_emptied(self, place, tmp_path):
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        lake.replace(place / "t.csv", **OPTIONS)
        assert [record["name"] for record in lake.info()["skipped"]] == ["bad.parquet"]

    @pytest.mark.parametrize("call", ["add", "replace"])
    def test_a_changed_file_that_cannot_be_read_leaves_the_table_that_was_indexed(self, place, tmp_path, call):
        """The old table is superseded by nothing: it is gone, without a word."""
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        frame("r", "s").to_parquet(place / "u.parquet")
        lake.add(place, **OPTIONS)
        (place / "u.parquet").write_bytes(b"half written")
        getattr(lake, call)(place, **OPTIONS)
        assert "u.parquet" in names(lake)


def test_a_file_of_a_table_that_is_a_directory_is_not_added_a_second_time(tmp_path):
    parts = tmp_path / "data" / "sales"
    parts.mkdir(parents=True)
    for number in range(2):
        frame("p", "q", str(number)).to_parquet(parts / f"part-{number}.parquet")
    frame("r", "s").to_csv(tmp_path / "data" / "other.csv", index=False)
    lake = dfjoin.build_lake(tmp_path / "data", tmp_path / "ix", **OPTIONS)
    assert names(lake) == ["other.csv", "sales"]
    frame("x", "y").to_parquet(parts / "part-2.parquet")
    for method in (lake.add, lake.replace):
        for file in ("part-0.parquet", "part-2.parquet"):
            with pytest.raises(
                InvalidParameterError, match=f"names 'sales/{file}', which is a part of the table 'sales'"
            ):
                method(parts / file)
    assert names(dfjoin.open_lake(tmp_path / "ix")) == ["other.csv", "sales"]
    lake.add(parts)
    assert lake.tables.set_index("table").loc["sales", "n_rows"] == 8


def test_a_failed_add_leaves_no_frames(build):
    lake = build({"a": frame("p", "q")})
    with pytest.raises(ValueError, match="whose names the index has already"):
        lake.add({"a": frame("r", "s")}, **OPTIONS)
    assert len(list((lake.path / "frames").iterdir())) == 1


def test_replacing_what_another_writer_has_just_added(build, monkeypatch):
    """The later one puts its table in the place of the other; it is told to call `replace`, which it did."""
    lake = build({"a": frame("p", "q")})
    real = commit_module.commit

    def overtaken(*args):
        monkeypatch.setattr(commit_module, "commit", real)
        dfjoin.open_lake(lake.path).add({"b": frame("p", "r")}, **OPTIONS)
        real(*args)

    monkeypatch.setattr(commit_module, "commit", overtaken)
    lake.replace({"b": frame("p", "s")}, **OPTIONS)
    assert lake.version == 3 and names(lake) == ["a", "b"] and lake.table("b")["c"].tolist() == ["p", "s"]


def test_a_mapping_is_no_list_of_names(build):
    """Removing is not to be done on a guess: the keys of a dict of frames are taken as names."""
    lake = build({"a": frame("p", "q"), "b": frame("p", "r")})
    with pytest.raises(TypeError):
        lake.remove({"a": 1})


def test_a_root_that_was_moved_is_added_to_at_its_new_place(tmp_path):
    """The object knows where the root is now; its files are no second root, to be read once more."""
    (tmp_path / "files").mkdir()
    frame("p", "q").to_csv(tmp_path / "files" / "t.csv", index=False)
    dfjoin.build_lake(tmp_path / "files", tmp_path / "lake", **OPTIONS)
    (tmp_path / "files").rename(tmp_path / "elsewhere")
    frame("p", "r").to_csv(tmp_path / "elsewhere" / "u.csv", index=False)
    lake = dfjoin.open_lake(tmp_path / "lake", roots={"files": str(tmp_path / "elsewhere")})
    lake.add(tmp_path / "elsewhere", **OPTIONS)
    assert names(lake) == ["t.csv", "u.csv"]


@pytest.mark.parametrize("call", ["add", "replace", "compact", "add_row_signatures"])
def test_a_session_belongs_to_spark(build, call):
    """As in `build_lake`: an engine that is not Spark has no use for a session, and does not silently become it."""
    lake = build({"a": frame("p", "q")}).add({"b": frame("p", "r")}, **OPTIONS)
    tables = {"source": {"c": frame("r", "s")}}
    given = {"compact": {"full": True}, "add_row_signatures": {}}.get(call, tables)
    with pytest.raises(InvalidParameterError, match='`spark` belongs to engine="spark"'):
        getattr(lake, call)(**given, spark=object(), engine="inline")


@pytest.mark.parametrize("kind", ["compact", "add"])
def test_an_interruption_just_after_the_commit_deletes_no_segment_of_the_new_version(build, monkeypatch, kind):
    """`compact` removes what it wrote on any exception, though the version that names it is there."""
    lake = build({"a": frame("p", "q")}).add({"b": frame("p", "r")}, **OPTIONS)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commit_module, "_sync_directory", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lake.compact(full=True) if kind == "compact" else lake.add({"z": frame("p", "q")}, **OPTIONS)
    opened = dfjoin.open_lake(lake.path)
    assert opened.version == 3 and opened.verify() == [] and names(opened)[:2] == ["a", "b"]


@pytest.mark.parametrize("call", ["add", "replace", "remove", "compact"])
def test_another_writer_in_between_leaves_no_orphans(lake, monkeypatch, call):
    """The change is made again of the newer version or given up; either way every file is one that a version names."""
    lake.add({"d": frame("s", "t")}, **OPTIONS)
    other = dfjoin.open_lake(lake.path)
    calls = {
        "add": lambda: lake.add({"a2": frame("p", "q")}, **OPTIONS),
        "replace": lambda: lake.replace({"a": frame("p", "q")}, **OPTIONS),
        "remove": lambda: lake.remove("a"),
        "compact": lambda: lake.compact(full=True),
    }
    # Another table of the same segment goes, which each of these changes but the first marks or merges.
    overtake(monkeypatch, lambda: other.remove("b"))
    try:
        calls[call]()
    except ConcurrentCommitError:
        assert call == "compact"
    assert orphans(lake) == [] and dfjoin.open_lake(lake.path).verify() == []
    assert "b" not in names(dfjoin.open_lake(lake.path))


@pytest.mark.parametrize("call", ["add", "remove"])
def test_what_does_not_go_together_leaves_no_orphans(lake, monkeypatch, call):
    other = dfjoin.open_lake(lake.path)
    tables = {"z": frame("p", "q")}
    overtake(monkeypatch, lambda: other.remove("a") if call == "remove" else other.add(tables, **OPTIONS))
    with pytest.raises(ConcurrentCommitError):
        lake.remove(["a", "b"]) if call == "remove" else lake.add(tables, **OPTIONS)
    assert orphans(lake) == [] and dfjoin.open_lake(lake.path).version == 2


def test_interrupted_changes_leave_no_segment(lake, monkeypatch):
    """Whatever is interrupted before the commit: the version stays, what was written is removed."""
    lake.add({"d": frame("s", "t")}, **OPTIONS)
    before = all_answers(lake)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commit_module, "commit", interrupted)
    for call in (
        lambda: lake.add({"e": frame("p", "q")}, **OPTIONS),
        lambda: lake.replace({"a": frame("p", "q")}, **OPTIONS),
        lambda: lake.remove("a"),
        lambda: lake.compact(full=True),
        lambda: lake.restore(1),
    ):
        with pytest.raises(KeyboardInterrupt):
            call()
    assert list_versions(lake.path) == [1, 2] and len(list((lake.path / "segments").iterdir())) == 2
    assert lake.version == 2 and all_answers(lake) == before and list((lake.path / "runs").iterdir()) == []


class TestAFileThatBecameUnreadable:
    @pytest.fixture
    def broken(self, tmp_path):
        """A lake one of whose files has become HTML since it was indexed."""
        data = tmp_path / "data"
        data.mkdir()
        frame("p", "q").to_csv(data / "a.csv", index=False)
        frame("p", "r").to_csv(data / "b.csv", index=False)
        lake = dfjoin.build_lake(data, tmp_path / "lake", **OPTIONS)
        (data / "b.csv").write_text("<html><body>the server is down</body></html>")
        return lake, data

    def test_it_is_read_once_and_then_nothing_is_committed(self, broken):
        lake, data = broken
        lake.add(data, **OPTIONS)
        assert lake.version == 2
        for _ in range(3):
            lake.add(data, **OPTIONS)
        assert lake.version == 2 and len(lake.segments) == 2 and names(lake) == ["a.csv", "b.csv"]
        lake.add(data, full=True, **OPTIONS)
        assert lake.version == 3

    def test_its_reason_is_shown_while_the_older_table_is_there(self, broken):
        lake, data = broken
        assert lake.info()["skipped"] == []
        lake.add(data, **OPTIONS)
        shown = [{"name": "b.csv", "reason": "HTML or XML, not a table"}]
        assert lake.info()["skipped"] == shown
        lake.compact(full=True)
        assert lake.info()["skipped"] == shown and names(lake) == ["a.csv", "b.csv"]
        assert lake.add(data, **OPTIONS).version == lake.version and lake.info()["skipped"] == shown

    def test_it_is_read_again_when_it_changes(self, broken):
        lake, data = broken
        lake.add(data, **OPTIONS)
        (data / "b.csv").write_text("<html>still down</html>")
        assert lake.add(data, **OPTIONS).version == 3
        frame("p", "s", "t").to_csv(data / "b.csv", index=False)
        lake.add(data, **OPTIONS)
        assert lake.info()["skipped"] == [] and lake.table("b.csv")["c"].tolist() == ["p", "s", "t"]
        assert lake.compact(full=True).info()["skipped"] == []


def test_a_file_of_another_root_is_no_part_of_a_table_of_its_name(tmp_path):
    parts, other = tmp_path / "data" / "sales", tmp_path / "sales"
    parts.mkdir(parents=True)
    other.mkdir()
    for number in range(2):
        frame("p", str(number)).to_parquet(parts / f"part-{number}.parquet")
    frame("x", "y").to_csv(other / "x.csv", index=False)
    lake = dfjoin.build_lake(tmp_path / "data", tmp_path / "ix", **OPTIONS)
    assert names(lake) == ["sales"]
    assert names(lake.add(other)) == ["sales", "sales/x.csv"]
