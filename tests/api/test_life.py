"""The life of an index through the public calls: add, replace, remove, compact, vacuum, restore, check, repair."""

import json
import os
import pickle
import shutil
import time
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import (
    ConcurrentCommitError,
    IndexCorruptedError,
    IndexNotFoundError,
    InvalidParameterError,
    InvalidTypeError,
    TableNotFoundError,
    TableReadError,
)
from dfjoin.index import commit as commit_module
from dfjoin.index.layout import manifest_path
from dfjoin.index.manifest import list_versions, seal
from dfjoin.ingest import read_task as task
from dfjoin.search.exact.searcher import PLANS

OPTIONS = {"engine": "inline", "progress": False}
QUERY = pd.DataFrame({"q": ["p", "q", "r", "s", "t"]})


def frame(*values):
    return pd.DataFrame({"c": list(values), "n": range(len(values))})


def answers(lake, **options):
    hits = dfjoin.discover_joinable(QUERY, "q", lake, k=100, **options)
    return list(zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True))


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


def all_answers(lake):
    found = {plan: answers(lake, plan=plan) for plan in (None, *PLANS)}
    assert all(rows == found[None] for rows in found.values())
    return found[None]


def names(lake):
    return lake.tables["table"].tolist()


def assert_same_content(lake, other):
    """Same tables, columns and answers; sizes and places of files may differ."""
    pd.testing.assert_frame_equal(
        lake.tables.drop(columns=["size", "root"]), other.tables.drop(columns=["size", "root"])
    )
    pd.testing.assert_frame_equal(lake.columns, other.columns)
    assert all_answers(lake) == all_answers(other)
    counts = [
        {k: x.info()["counts"].get(k, 0) for k in ("tables", "columns", "indexed_columns")} for x in (lake, other)
    ]
    assert counts[0] == counts[1]


@pytest.fixture
def lake(build):
    return build({"a": frame("p", "q", "x"), "b": frame("p", "y"), "geo/c": frame("q", "r", "s")})


@pytest.fixture
def place(tmp_path):
    """A directory of three tables."""
    place = tmp_path / "files"
    (place / "sub").mkdir(parents=True)
    for name, values in {"t.csv": "pq", "u.csv": "qr", "sub/v.csv": "rst"}.items():
        frame(*values).to_csv(place / name, index=False)
    return place


@pytest.fixture
def filed(place, tmp_path):
    return dfjoin.build_lake(place, tmp_path / "filed.dfjoin", **OPTIONS)


@pytest.fixture
def read_tables(monkeypatch):
    """Names of the tables that builds read."""
    seen = []
    real = task.open_table

    def watch(source, *args, **options):
        seen.append(source.name)
        return real(source, *args, **options)

    monkeypatch.setattr(task, "open_table", watch)
    return seen


def overtake(monkeypatch, action):
    """Let another writer act just before the next commit."""
    real = commit_module.commit

    def commit(*args):
        monkeypatch.setattr(commit_module, "commit", real)
        action()
        real(*args)

    monkeypatch.setattr(commit_module, "commit", commit)


def damage(lake, position, change):
    """Change the bytes of the largest component of a segment; return its id."""
    segment = lake.segments[position]
    meta = next(c for g in segment.meta.groups if g.name == "tokens" for c in g.components if c.name == "value_bytes")
    path = segment.directory / meta.file
    path.write_bytes(change(path.read_bytes()))
    return segment.meta.id


def flip(data):
    return bytes([data[0] ^ 1]) + data[1:]


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
        text = (
            "another writer has replaced the whole index with other settings meanwhile; nothing of this .*: repeat it"
        )
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


class TestCompact:
    @pytest.fixture
    def parts(self, lake):
        for number in range(4):
            lake.add({f"d{number}": frame("p", "t", f"only{number}"), f"e{number}": frame("s", "z")}, **OPTIONS)
        return lake

    @pytest.mark.parametrize("full", [False, True])
    def test_answers_stay(self, parts, build, full):
        parts.remove(["e*", "a"])
        tables, columns, before = parts.tables, parts.columns, all_answers(parts)
        assert len(parts.segments) == 5
        assert parts.compact(full=full) is parts and parts.version == 7 and len(parts.segments) == 1
        pd.testing.assert_frame_equal(parts.tables, tables)
        pd.testing.assert_frame_equal(parts.columns, columns)
        assert all_answers(parts) == before and parts.verify() == []
        assert_same_content(parts, build({name: parts.table(name) for name in names(parts)}))
        counts = parts.info()["counts"]
        fresh = build({name: parts.table(name) for name in names(parts)}).info()["counts"]
        assert counts == fresh, "every count is that of an index built afresh"
        assert parts.compact(full=full).version == 7

    def test_deleted_values_are_gone(self, parts):
        parts.remove("d2")
        parts.compact(full=True)
        parts.vacuum(0)
        files = [path for path in parts.path.rglob("*") if path.is_file()]
        assert len(files) > 5 and not any(b"only2" in path.read_bytes() for path in files)
        assert any(b"only1" in path.read_bytes() for path in files)

    def test_few_segments_stay(self, lake):
        lake.add({"d": frame("p", "t")}, **OPTIONS)
        assert lake.compact().version == 2 and len(lake.segments) == 2
        assert lake.compact(full=True).version == 3 and len(lake.segments) == 1

    def test_a_segment_of_which_much_is_deleted_is_written_anew(self, lake):
        lake.remove(["a", "b"])
        before = all_answers(lake)
        assert lake.segments[0].alive is not None
        lake.compact()
        assert lake.version == 3 and lake.segments[0].alive is None and all_answers(lake) == before

    def test_one_table(self, lake):
        assert lake.compact(full=True).version == 1 and lake.compact().version == 1

    def test_older_versions_stay(self, parts):
        before = all_answers(parts)
        parts.remove("d*").compact(full=True)
        assert all_answers(dfjoin.open_lake(parts.path, version=5)) == before

    def test_nothing_is_left_in_runs(self, parts):
        parts.compact()
        assert list((parts.path / "runs").iterdir()) == []

    def test_another_writer_changes_a_segment(self, parts, monkeypatch):
        n_segments = len(list((parts.path / "segments").iterdir()))
        overtake(monkeypatch, lambda: dfjoin.open_lake(parts.path).remove("d1"))
        text = (
            "another writer has changed 1 of the segments that were merged; nothing of this compaction is visible: "
            r"call compact\(\) again"
        )
        with pytest.raises(ConcurrentCommitError, match=text):
            parts.compact()
        assert len(list((parts.path / "segments").iterdir())) == n_segments
        before = all_answers(parts.refresh())
        assert all_answers(parts.compact()) == before and len(parts.segments) == 1

    def test_another_writer_adds(self, parts, monkeypatch):
        overtake(monkeypatch, lambda: dfjoin.open_lake(parts.path).add({"new": frame("p", "q")}, **OPTIONS))
        parts.compact()
        assert len(parts.segments) == 2 and "new" in names(parts)

    @pytest.mark.parametrize(("argument", "value"), [("full", 1.5), ("engine", "fast")])
    def test_illegal_arguments(self, lake, argument, value):
        with pytest.raises(InvalidParameterError, match=f"`{argument}` must be .*{value}"):
            lake.compact(**{argument: value})

    def test_file_lakes(self, filed, place):
        for number in range(5):
            frame("p", f"x{number}").to_csv(place / f"n{number}.csv", index=False)
            filed.add(place, **OPTIONS)
        before = all_answers(filed)
        filed.compact()
        assert len(filed.segments) == 1 and all_answers(filed) == before and filed.check().empty
        assert filed.add(place, **OPTIONS).version == 7 and filed.table("n3.csv")["c"].tolist() == ["p", "x3"]


def set_age(lake, version, days):
    """Make a version older than it is."""
    path = manifest_path(lake.path, version)
    values = json.loads(path.read_text("utf-8"))
    values["created_at"] = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    path.write_text(seal(values), "utf-8")


def make_old(path, days=30):
    """Make everything below a path look older."""
    then = time.time() - days * 86400
    for entry in [path, *path.rglob("*")]:
        os.utime(entry, (then, then))


class TestVacuum:
    @pytest.fixture
    def lived(self, lake):
        """Versions 1 to 4, of which the first two are 10 and 8 days old."""
        lake.add({"d": frame("s", "t")}, **OPTIONS)
        lake.replace({"a": frame("r", "z")}, **OPTIONS).compact(full=True)
        set_age(lake, 1, 10)
        set_age(lake, 2, 8)
        return lake

    @pytest.mark.parametrize(
        ("retain", "left"),
        [
            (None, [2, 3, 4]), (timedelta(days=9), [1, 2, 3, 4]), (7.9, [2, 3, 4]), (8.5, [1, 2, 3, 4]),
            (timedelta(0), [4]), (0, [4]), (0.0, [4]), (float("inf"), [1, 2, 3, 4]), (timedelta(seconds=3600), [2, 3, 4]),
        ],
    )  # fmt: skip
    def test_versions_are_kept_by_age(self, lived, retain, left):
        before = all_answers(lived)
        report = lived.vacuum(retain)
        assert list_versions(lived.path) == left and report["versions"] == [v for v in range(1, 5) if v not in left]
        assert report["dry_run"] is False
        for version in left:
            opened = dfjoin.open_lake(lived.path, version=version)
            assert opened.verify() == [] and opened.check().empty
            assert [len(opened.table(name)) > 0 for name in names(opened)]
        assert all_answers(dfjoin.open_lake(lived.path)) == before

    def test_the_latest_is_kept_however_old(self, lake):
        set_age(lake, 1, 1000)
        assert lake.vacuum(0) == {"versions": [], "files": 0, "bytes": 0, "dry_run": False}
        assert all_answers(dfjoin.open_lake(lake.path)) and lake.table("a")["c"].tolist() == ["p", "q", "x"]

    @pytest.mark.parametrize("retain", ["7", [7], True, datetime(2024, 1, 1), {}])
    def test_another_type(self, lived, retain):
        text = f"`retain` must be a timedelta or a number of days, got {type(retain).__name__}"
        with pytest.raises(InvalidTypeError, match=text):
            lived.vacuum(retain)
        assert len(list_versions(lived.path)) == 4

    @pytest.mark.parametrize("retain", [-1, -0.001, timedelta(seconds=-1), float("nan")])
    def test_negative(self, lived, retain):
        with pytest.raises(InvalidParameterError, match="`retain` must not be negative, got"):
            lived.vacuum(retain)
        assert len(list_versions(lived.path)) == 4

    def test_dry_run(self, lived):
        files = sorted(lived.path.rglob("*"))
        told = lived.vacuum(0, dry_run=True)
        assert sorted(lived.path.rglob("*")) == files and told["dry_run"] is True
        size = sum(path.stat().st_size for path in files if path.is_file() and path.parent.name != "manifests")
        done = lived.vacuum(0)
        assert {**done, "dry_run": True} == told and told["files"] > 0
        kept = (p for p in lived.path.rglob("*") if p.is_file() and p.parent.name != "manifests")
        assert told["bytes"] == size - sum(p.stat().st_size for p in kept)
        assert lived.vacuum(0) == {"versions": [], "files": 0, "bytes": 0, "dry_run": False}

    def test_what_nobody_needs_goes(self, lived):
        """Of five frames written and three segments, four and one are left; no tombstones, no drafts."""
        path = lived.path
        assert len(list((path / "frames").iterdir())) == 5 and len(list((path / "tombstones").iterdir())) == 1
        (path / "runs" / "build-dead").mkdir()
        (path / "runs" / "build-dead" / "x").write_text("x")
        (path / "manifests" / ".draft-1").write_text("x")
        (path / "segments" / "orphan").mkdir()
        (path / "frames" / "orphan.parquet").write_text("x")
        (path / "tombstones" / "orphan.npy").write_text("x")
        lived.vacuum(0)
        left = {name: len(list((path / name).iterdir())) for name in ("frames", "segments", "runs", "manifests")}
        assert left == {"frames": 4, "segments": 1, "runs": 0, "manifests": 1}
        assert not list((path / "tombstones").iterdir())
        assert {name: lived.table(name)["c"].tolist()[0] for name in names(lived)} == {
            "a": "r", "b": "p", "d": "s", "geo/c": "q",
        }  # fmt: skip

    def test_young_orphans_may_belong_to_a_writer(self, lived):
        path = lived.path
        places = [path / "segments" / "young", path / "runs" / "young", path / "frames" / "young.parquet"]
        old = [p.with_name(p.name.replace("young", "old")) for p in places]
        for place in [*places, *old]:
            place.mkdir() if not place.suffix else place.write_text("x")
        for place in old:
            make_old(place)
        make_old(places[0])
        (places[0] / "x").write_text("x")  # an old directory that is written to
        lived.vacuum(7)
        assert all(place.exists() for place in places) and not any(place.exists() for place in old)
        lived.vacuum(0)
        assert not any(place.exists() for place in places)

    def test_tombstones_of_the_latest_stay(self, lake):
        lake.remove("a").remove("b")
        assert len(list((lake.path / "tombstones").iterdir())) == 2
        lake.vacuum(0)
        assert len(list((lake.path / "tombstones").iterdir())) == 1
        assert names(dfjoin.open_lake(lake.path)) == ["geo/c"] and len(lake.segments) == 1

    def test_frames_of_deleted_tables_stay_as_long_as_a_version_needs_them(self, lake):
        lake.remove("a").vacuum(1)
        assert dfjoin.open_lake(lake.path, version=1).table("a")["c"].tolist() == ["p", "q", "x"]
        lake.compact(full=True).vacuum(0)
        assert len(list((lake.path / "frames").iterdir())) == 2

    def test_files_outside_the_index_stay(self, filed, place):
        filed.remove("*").vacuum(0)
        assert len(list(place.rglob("*.csv"))) == 3

    def test_an_empty_lake(self, lake):
        lake.remove("*")
        lake.vacuum(0)
        assert not list((lake.path / "segments").iterdir()) and not list((lake.path / "frames").iterdir())
        assert names(lake.add({"n": frame("p", "q")}, **OPTIONS)) == ["n"]

    def test_nothing_readable(self, lake):
        manifest_path(lake.path, 1).write_text("{")
        with pytest.raises(IndexCorruptedError, match=r"no version of the index at .* can be read, so .*dfjoin.repair"):
            lake.vacuum(0)
        assert (lake.path / "segments").exists() and list_versions(lake.path) == [1]

    def test_with_a_young_unreadable_version_no_file_goes(self, lived):
        """Nobody knows what it needs, until it has been superseded for as long as the retention."""
        manifest_path(lived.path, 2).write_text("{")
        n_files = len(list((lived.path / "segments").rglob("*")))
        report = lived.vacuum(1)
        assert report["files"] == 0 and len(list((lived.path / "segments").rglob("*"))) == n_files
        assert 2 in list_versions(lived.path) and 4 in list_versions(lived.path)
        assert lived.vacuum(0)["versions"][-1] == 3 and list_versions(lived.path) == [4]


class TestVersions:
    def test_a_row_each(self, lake):
        lake.add({"d": frame("s", "t")}, **OPTIONS).remove(["a", "b"]).replace({"d": frame("p", "q")}, **OPTIONS)
        lake.compact(full=True).restore(1)
        found = lake.versions()
        assert found.columns.tolist() == [
            "version", "created_at", "operation", "tables", "columns", "segments", "created_by",
        ]  # fmt: skip
        assert found["version"].tolist() == [1, 2, 3, 4, 5, 6] and found["tables"].tolist() == [3, 4, 2, 2, 2, 3]
        assert found["columns"].tolist() == [6, 8, 4, 4, 4, 6] and found["segments"].tolist() == [1, 2, 2, 2, 1, 1]
        first = ["build", "add 1 tables", "remove 2 tables", "replace 1 tables"]
        assert found["operation"].tolist() == [*first, "compact 2 segments", "restore version 1"]
        times = [datetime.fromisoformat(text) for text in found["created_at"]]
        assert times == sorted(times) and all(time.tzinfo is not None for time in times)
        assert set(found["created_by"]) == {f"dfjoin {dfjoin.__version__}"}

    def test_other_objects_keep_their_version(self, lake):
        old, pinned = dfjoin.open_lake(lake.path), dfjoin.open_lake(lake.path, version=1)
        before = all_answers(lake)
        lake.remove("a")
        for other in (old, pinned):
            assert other.version == 1 and all_answers(other) == before and other.table("a")["n"].tolist() == [0, 1, 2]
        assert old.refresh() is old and old.version == 2 and names(old) == ["b", "geo/c"]
        assert old.refresh().version == 2 and all_answers(old) == all_answers(lake)

    def test_a_version_that_is_not_there(self, lake):
        for call in (lambda v: dfjoin.open_lake(lake.path, version=v), lake.restore):
            with pytest.raises(InvalidParameterError, match=r"`version` must be a version .* has \(1\), got 7"):
                call(7)

    def test_pickles_stand_at_their_version(self, lake):
        old = pickle.dumps(lake)
        before = all_answers(lake)
        lake.remove("a")
        assert pickle.loads(old).version == 1 and all_answers(pickle.loads(old)) == before
        assert names(pickle.loads(pickle.dumps(lake))) == ["b", "geo/c"]
        lake.vacuum(0)
        with pytest.raises(InvalidParameterError, match="`version` must be a version that the index has"):
            pickle.loads(old)

    def test_a_copy_elsewhere(self, lake, tmp_path):
        """All that an index of frames needs lies below its directory."""
        lake.add({"d": frame("s", "t")}, **OPTIONS).remove("b")
        before, frames = all_answers(lake), {name: lake.table(name) for name in names(lake)}
        shutil.copytree(lake.path, tmp_path / "deep" / "copy")
        shutil.rmtree(lake.path)
        copy = dfjoin.open_lake(tmp_path / "deep" / "copy")
        assert all_answers(copy) == before and names(copy) == list(frames) and copy.verify() == []
        for name, expected in frames.items():
            pd.testing.assert_frame_equal(copy.table(name), expected)
        assert copy.check().empty and "b" in names(copy.restore(2))
        copy.add({"e": frame("p", "q")}, **OPTIONS).compact(full=True).vacuum(0)
        assert copy.table("e")["c"].tolist() == ["p", "q"] and copy.table("b")["c"].tolist() == ["p", "y"]


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


class TestCheck:
    def test_unchanged(self, filed, lake):
        for opened in (filed, lake):
            found = opened.check()
            assert found.empty and found.columns.tolist() == ["table", "state", "detail"]

    def test_changed_moved_and_missing(self, filed, place):
        frame("z", "q").to_csv(place / "t.csv", index=False)
        (place / "u.csv").rename(place / "sub" / "w.csv")
        (place / "sub" / "v.csv").unlink()
        found = filed.check().set_index("table")
        assert found["state"].to_dict() == {"t.csv": "changed", "u.csv": "moved", "sub/v.csv": "missing"}
        assert found["detail"]["t.csv"] == "its content is another" and found["detail"]["u.csv"] == "now at sub/w.csv"
        assert found["detail"]["sub/v.csv"] == "the file is not there any more"

    def test_touched_is_unchanged(self, filed, place):
        os.utime(place / "t.csv", ns=(1, 1))
        assert filed.check().empty

    def test_removed_tables_are_not_looked_at(self, filed, place):
        (place / "t.csv").unlink()
        assert filed.remove("t.csv").check().empty

    def test_a_root_that_is_gone(self, filed, place):
        shutil.rmtree(place)
        assert filed.check()["state"].tolist() == ["missing"] * 3

    def test_a_root_that_was_moved(self, filed, place, tmp_path):
        place.rename(tmp_path / "elsewhere")
        opened = dfjoin.open_lake(filed.path, roots={"files": str(tmp_path / "elsewhere")})
        assert opened.check().empty and opened.table("t.csv")["c"].tolist() == ["p", "q"]

    def test_frames(self, lake):
        for path in (lake.path / "frames").iterdir():
            path.unlink()
        assert lake.check().empty  # as with keep_data=False: there is nothing to compare with

    def test_a_copy_beside_the_missing_one(self, filed, place):
        """A file that the index knows is no place that another has moved to."""
        shutil.copy(place / "u.csv", place / "t.csv")
        filed.add(place, **OPTIONS)
        (place / "t.csv").unlink()
        assert filed.check()["state"].tolist() == ["missing"]


class TestRepair:
    @pytest.fixture
    def parts(self, lake):
        return lake.add({"d": frame("s", "t", "p"), "e": frame("z", "p")}, **OPTIONS)

    def test_nothing_to_do(self, parts):
        nothing = {"version": 2, "unreadable_versions": [], "segments": [], "tables": [], "problems": []}
        assert parts.repair() == nothing and list_versions(parts.path) == [1, 2]

    @pytest.mark.parametrize("change", [flip, lambda data: data[:-1], lambda data: b""], ids=["flip", "cut", "empty"])
    def test_a_damaged_segment_is_dropped(self, parts, change):
        lost = damage(parts, 1, change)
        assert parts.verify() != []
        report = parts.repair()
        assert report["version"] == 3 == parts.version and report["segments"] == [lost]
        assert report["tables"] == ["d", "e"] and report["unreadable_versions"] == []
        assert len(report["problems"]) == 1 and "component `value_bytes` of " in report["problems"][0]
        assert names(parts) == ["a", "b", "geo/c"] and parts.verify() == []
        assert all_answers(parts) == [("geo/c", "c", 3), ("a", "c", 2), ("b", "c", 1)]
        assert (parts.path / "segments" / lost).is_dir(), "nothing is deleted from the disk"
        assert dfjoin.repair(parts.path)["version"] == 3
        assert parts.versions()["operation"].tolist()[-1] == "repair"
        assert names(parts.add({"d": frame("s", "t")}, **OPTIONS)) == ["a", "b", "d", "geo/c"]

    def test_deleted_tables_are_not_lost(self, parts):
        parts.remove("d")
        damage(parts, 1, flip)
        assert parts.repair()["tables"] == ["e"]

    def test_a_segment_that_is_gone(self, parts):
        """Its catalogue is gone too, so that its tables cannot be named."""
        gone = parts.segments[0]
        shutil.rmtree(gone.directory)
        report = parts.repair()
        assert report["segments"] == [gone.meta.id] and report["tables"] == [] and len(report["problems"]) > 5
        assert names(parts) == ["d", "e"] and parts.verify() == []

    def test_all_segments_damaged(self, parts):
        damage(parts, 0, flip)
        damage(parts, 1, flip)
        assert parts.repair()["tables"] == ["a", "b", "d", "e", "geo/c"] and names(parts) == []
        assert all_answers(parts) == []

    @pytest.mark.parametrize("text", [b"{", b"", b"\xff\xfe", b"[]", b'{"format": "dfjoin-index"}'])
    def test_an_unreadable_latest_manifest(self, parts, text):
        manifest_path(parts.path, 2).write_bytes(text)
        with pytest.raises(IndexCorruptedError):
            dfjoin.open_lake(parts.path)
        report = dfjoin.repair(parts.path)
        assert report == {"version": 3, "unreadable_versions": [2], "segments": [], "tables": [], "problems": []}
        opened = dfjoin.open_lake(parts.path)
        assert opened.version == 3 and names(opened) == ["a", "b", "geo/c"] and opened.verify() == []
        assert dfjoin.repair(parts.path)["unreadable_versions"] == []

    def test_both(self, parts):
        parts.remove("a")
        manifest_path(parts.path, 3).write_text("{")
        damage(dfjoin.open_lake(parts.path, version=2), 0, flip)
        report = dfjoin.repair(parts.path)
        assert report["version"] == 4 and report["unreadable_versions"] == [3]
        assert report["tables"] == ["a", "b", "geo/c"] and names(dfjoin.open_lake(parts.path)) == ["d", "e"]

    def test_no_version_can_be_read(self, parts):
        for version in (1, 2):
            manifest_path(parts.path, version).write_text("{")
        with pytest.raises(IndexCorruptedError, match=r"no version of the index at .* can be read; build it again"):
            dfjoin.repair(parts.path)
        assert list_versions(parts.path) == [1, 2]

    def test_no_index(self, tmp_path):
        with pytest.raises(
            IndexNotFoundError, match=r"there is no dfjoin index at .*none`; build one with dfjoin.build_l"
        ):
            dfjoin.repair(tmp_path / "none")

    def test_while_another_adds(self, parts, monkeypatch):
        damage(parts, 1, flip)
        other = dfjoin.open_lake(parts.path)
        overtake(monkeypatch, lambda: other.add({"f": frame("p", "q")}, **OPTIONS))
        report = dfjoin.repair(parts.path)
        assert report["version"] == 4 and names(dfjoin.open_lake(parts.path)) == ["a", "b", "f", "geo/c"]


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
