"""A full disk: an error that says what to do, nothing left behind, and the version before is the latest."""

import contextlib
import errno
import subprocess
import sys

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinError, IndexWriteError
from dfjoin.index.commit import list_versions
from tests.store.lakes import OPTIONS, orphans

resource = pytest.importorskip("resource")

BIG = pd.DataFrame({"key": [f"key number {i}" for i in range(30_000)], "other": [f"{i:x}" for i in range(30_000)]})
SMALL = pd.DataFrame({"key": ["p", "q"]})
WHAT = (
    r"there is no room to write the index `.*lake`.*; what this change had written is removed, and version 1 is still"
)


@contextlib.contextmanager
def largest_file(n_bytes):
    """Let this process write no file of more bytes."""
    before, writes_none = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    sys.dont_write_bytecode = True  # Python would cut off what it keeps of a module that is imported meanwhile
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = writes_none


@pytest.fixture
def lake(tmp_path):
    return dfjoin.build_lake({"small": SMALL}, tmp_path / "lake", **OPTIONS)


# The frame takes about 200 kB as Parquet, its run a few files of up to 700 kB, the segment as many.
@pytest.mark.parametrize("n_bytes", [20_000, 100_000, 250_000, 400_000])
@pytest.mark.parametrize("task_bytes", [256 << 20, 400_000])
def test_an_add_without_room_leaves_nothing(tmp_path, n_bytes, task_bytes):
    path = tmp_path / "lake"
    lake = dfjoin.build_lake({"small": SMALL}, path, settings={"task_bytes": task_bytes}, **OPTIONS)
    with largest_file(n_bytes), pytest.raises(IndexWriteError, match=WHAT) as raised:
        lake.add({"big": BIG}, **OPTIONS)
    assert isinstance(raised.value, DfjoinError) and isinstance(raised.value, OSError)
    assert "make room (Lake.vacuum removes old versions), or build the index on a larger disk" in str(raised.value)
    assert list_versions(path) == [1] and orphans(lake) == [] and lake.verify() == []
    assert lake.add({"big": BIG}, **OPTIONS).version == 2


def test_a_build_without_room_leaves_no_index(tmp_path):
    with largest_file(300_000), pytest.raises(IndexWriteError, match="and there is no index"):
        dfjoin.build_lake({"big": BIG}, tmp_path / "lake", **OPTIONS)
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize(
    "call", [lambda x: x.compact(full=True), lambda x: x.add_patterns(), lambda x: x.add_signatures(permutations=64)]
)
def test_other_changes_without_room_leave_nothing(lake, call):
    lake.add({"big": BIG}, **OPTIONS)
    with largest_file(1000), pytest.raises(IndexWriteError, match="and version 2 is still the latest"):
        call(lake)
    assert orphans(lake) == [] and list_versions(lake.path) == [1, 2]


def test_a_removal_without_room(lake):
    lake.add({"big": BIG, "more": SMALL}, **OPTIONS)
    with largest_file(64), pytest.raises(IndexWriteError, match="and version 2 is still the latest"):
        lake.remove("more")
    assert list_versions(lake.path) == [1, 2] and orphans(lake) == []


@pytest.mark.parametrize("change", [lambda lake: lake.add({"more": SMALL}, **OPTIONS), lambda lake: lake.restore(1)])
def test_an_index_that_may_not_be_written(lake, monkeypatch, change):
    def refused(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("dfjoin.index.commit.os.access", lambda *_: False)
    monkeypatch.setattr("pathlib.Path.mkdir", refused)
    monkeypatch.setattr("dfjoin.index.file_store.FileStore.write", refused)
    told = (
        r"no right to write the index `.*lake` \(Read-only file system\).* version 1 is still the latest. Change a copy"
    )
    with pytest.raises(IndexWriteError, match=told):
        change(lake)


def test_the_disk_is_really_full(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)]
    if sys.platform != "linux" or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be made here")
    try:
        lake = dfjoin.build_lake({"small": SMALL}, place / "lake", **OPTIONS)
        used = sum(file.stat().st_size for file in lake.path.rglob("*") if file.is_file())
        with pytest.raises(
            IndexWriteError, match=r"No space left on device.*more than the [\d.]+ MB that are free now"
        ):
            lake.add({"big": BIG}, **OPTIONS)
        assert sum(file.stat().st_size for file in lake.path.rglob("*") if file.is_file()) == used
        assert dfjoin.open_lake(lake.path).version == 1 and orphans(lake) == []
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
