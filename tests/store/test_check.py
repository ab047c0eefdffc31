"""Tables that changed, moved or vanished since they were indexed."""

import os
import shutil

import dfjoin
from dfjoin.errors import (
    TableReadError,
)
from dfjoin.store import check as check_module
from tests.store.lakes import OPTIONS, frame, names


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
        assert lake.check()["state"].tolist() == ["missing"] * 3

    def test_a_copy_beside_the_missing_one(self, filed, place):
        """A file that the index knows is no place that another has moved to."""
        shutil.copy(place / "u.csv", place / "t.csv")
        filed.add(place, **OPTIONS)
        (place / "t.csv").unlink()
        assert filed.check()["state"].tolist() == ["missing"]

    def test_a_directory_that_the_index_knows_is_no_place_to_move_to(self, tmp_path):
        """Of two directories of part files with the same content, one vanishes: it was not moved."""
        place = tmp_path / "files"
        for name in ("x", "y"):
            (place / name).mkdir(parents=True)
        frame("p", "q").to_parquet(place / "x" / "part-0.parquet")
        frame("r", "s").to_parquet(place / "x" / "part-1.parquet")
        for part in ("part-0.parquet", "part-1.parquet"):
            shutil.copy(place / "x" / part, place / "y" / part)
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        assert names(lake) == ["x", "y"] and lake.check().empty
        shutil.rmtree(place / "y")
        assert lake.check()["state"].tolist() == ["missing"]

    def test_data_that_was_not_kept_is_not_missing(self, build):
        """There never was a file to compare with."""
        lake = build({"a": frame("p", "q")}, keep_data=False)
        assert lake.check().empty

    def test_an_unreadable_file_among_those_looked_through(self, tmp_path, monkeypatch):
        place = tmp_path / "files"
        place.mkdir()
        frame("p", "q").to_csv(place / "t.csv", index=False)
        lake = dfjoin.build_lake(place, tmp_path / "lake", **OPTIONS)
        (place / "t.csv").rename(place / "u.csv")
        real = check_module.current_fingerprint

        def refuse(source):
            if source.path == "u.csv":
                raise TableReadError("it vanished meanwhile")
            return real(source)

        monkeypatch.setattr(check_module, "current_fingerprint", refuse)
        assert lake.check()["state"].tolist() == ["missing"]


def test_a_new_part_file_changes_a_table(tmp_path):
    """`add` reads such a table again, `check` says that it is as it was."""
    (tmp_path / "files" / "x").mkdir(parents=True)
    frame("p", "q").to_parquet(tmp_path / "files" / "x" / "part-0.parquet")
    frame("r", "s").to_parquet(tmp_path / "files" / "x" / "part-1.parquet")
    lake = dfjoin.build_lake(tmp_path / "files", tmp_path / "lake", **OPTIONS)
    frame("t", "u").to_parquet(tmp_path / "files" / "x" / "part-2.parquet")
    assert lake.check()["state"].tolist() == ["changed"]
