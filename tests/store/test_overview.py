"""The catalogue, the versions and the summary of a lake."""

import pickle
import shutil
from datetime import datetime

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import (
    InvalidParameterError,
)
from dfjoin.index.components import manifest_path
from tests.store.lakes import OPTIONS, all_answers, frame, names


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

    def test_other_versions_are_listed_beside_an_unreadable_one(self, build):
        lake = build({"a": frame("p", "q")}).add({"b": frame("p", "r")}, **OPTIONS)
        manifest_path(lake.path, 1).write_text("{")
        assert 2 in lake.versions()["version"].tolist()
