"""Short runs of the fault harnesses, full disks, closed directories, and manifests that lead elsewhere."""

import builtins
import errno
import io
import json
import os
import shutil
import subprocess
import sys
from itertools import product

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinError, IndexCorruptedError, IndexFormatError
from dfjoin.index import commit as commit_module
from dfjoin.index.commit import list_versions
from dfjoin.index.manifest import seal
from tests.benchmarks.crash import orphans, run_crashes
from tests.benchmarks.mutate import prepare, run_mutations
from tests.benchmarks.writers import run_writers

OLD = {"a": pd.DataFrame({"c": ["p", "q", "old"]}), "b": pd.DataFrame({"c": ["p", "x"]})}
NEW = {"d": pd.DataFrame({"c": ["p", "q", "new"], "n": [1, 2, 3]})}
QUERY = pd.DataFrame({"q": ["p", "q", "old", "new"]})
OLD_ANSWERS = [("a", "c", 3), ("b", "c", 1)]
NEW_ANSWERS = [("a", "c", 3), ("d", "c", 3), ("b", "c", 1)]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """An index of `OLD`, built once; tests damage copies of it."""
    index = tmp_path_factory.mktemp("sound") / "lake.dfjoin"
    dfjoin.build_lake(OLD, index, engine="inline", progress=False)
    return index


@pytest.fixture
def index(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "lake.dfjoin")


def answers(index):
    hits = dfjoin.discover_joinable(QUERY, "q", dfjoin.open_lake(index), rank="matched")
    return list(zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True))


def add(index):
    return dfjoin.open_lake(index).add(NEW, engine="inline", progress=False)


class TestHarnesses:
    @pytest.mark.parametrize(("files", "kills"), [("links", 20), ("claims", 8), ("mirror", 8)])
    def test_killed_writers_lose_nothing(self, tmp_path, files, kills):
        figures, operations, _ = run_crashes(kills, seed=3, files=files, place=tmp_path)
        assert figures["failures"] == [] and figures["kills"] >= kills
        assert operations["killed"].sum() > 0

    @pytest.mark.slow
    def test_damaged_indexes_never_lie_or_crash(self, tmp_path):
        sound = prepare(tmp_path)
        for is_hostile, n in ((False, 60), (True, 40)):
            figures = run_mutations(n, seed=5, is_hostile=is_hostile, place=tmp_path, sound=sound)
            assert figures["failures"] == [] and figures["mutations"] == n

    @pytest.mark.slow
    def test_writers_at_the_same_time_lose_nothing(self, tmp_path):
        assert run_writers(3, 24, place=tmp_path)["segments"] == 25


class Full:
    """A disk that is full from the n-th write or new file on."""

    def __init__(self, monkeypatch, index, after):
        self.left, self.index, self.n_refused = after, str(index), 0
        real_open = io.open

        def opened(file, mode="r", *args, **options):
            writes = isinstance(file, (str, os.PathLike)) and set(mode) & set("wxa+")
            inside = writes and os.fspath(file).startswith(self.index)
            if inside:
                self.spend()
            stream = real_open(file, mode, *args, **options)
            return Stream(stream, self) if inside else stream

        monkeypatch.setattr(io, "open", opened)
        monkeypatch.setattr(builtins, "open", opened)

    def spend(self):
        self.left -= 1
        if self.left < 0:
            self.n_refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Stream:
    """A file whose writes need room."""

    def __init__(self, stream, disk):
        self._stream, self._disk = stream, disk

    def write(self, data):
        self._disk.spend()
        return self._stream.write(data)

    def __enter__(self):
        self._stream.__enter__()
        return self

    def __exit__(self, *args):
        return self._stream.__exit__(*args)

    def __getattr__(self, name):
        return getattr(self._stream, name)


class TestFullDisk:
    @pytest.mark.parametrize("after", [0, 1, 2, 3, 5, 8, 13, 21, 26, 30, 33, 36])
    def test_an_add_leaves_the_version_before_and_says_so(self, index, monkeypatch, after):
        with monkeypatch.context() as patch:
            disk = Full(patch, index, after)
            try:
                add(index)
            except OSError as error:
                assert error.errno == errno.ENOSPC and "No space left" in str(error)
            except DfjoinError as error:
                assert "No space left" in str(error)
            else:
                assert disk.n_refused == 0
        is_done = disk.n_refused == 0
        assert list_versions(index) == ([1, 2] if is_done else [1])
        lake = dfjoin.open_lake(index)
        assert lake.verify() == []
        assert answers(index) == (NEW_ANSWERS if is_done else OLD_ANSWERS)
        lake.vacuum(0)
        assert orphans(index) == []
        if not is_done:
            assert add(index).version == 2 and answers(index) == NEW_ANSWERS

    def test_the_writes_of_an_add_are_all_met(self, index, monkeypatch):
        with monkeypatch.context() as patch:
            disk = Full(patch, index, 10_000)
            add(index)
        assert 10_000 - disk.left >= 20

    @pytest.mark.parametrize("name", ["remove", "compact", "restore"])
    def test_other_changes_leave_the_version_before(self, index, monkeypatch, name):
        add(index)
        for after in range(60):
            with monkeypatch.context() as patch:
                disk = Full(patch, index, after)
                lake = dfjoin.open_lake(index)
                calls = {
                    "remove": lambda lake=lake: lake.remove("b"),
                    "compact": lambda lake=lake: lake.compact(full=True),
                    "restore": lambda lake=lake: lake.restore(1),
                }
                try:
                    calls[name]()
                except (OSError, DfjoinError) as error:
                    assert "No space left" in str(error)
            if not disk.n_refused:
                break
            assert list_versions(index) == [1, 2] and answers(index) == NEW_ANSWERS
            assert dfjoin.open_lake(index).verify() == []
        assert list_versions(index) == [1, 2, 3]
        assert dfjoin.open_lake(index).verify() == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("name", ["add", "remove", "replace", "restore", "build"])
def test_an_interruption_just_after_the_commit_leaves_the_new_version(index, monkeypatch, name, error):
    interrupt_after_commit(index, monkeypatch, name, error)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interruption_just_after_a_compaction_leaves_the_new_version(index, monkeypatch, error):
    interrupt_after_commit(index, monkeypatch, "compact", error)


def interrupt_after_commit(index, monkeypatch, name, error):
    add(index)

    def fail(_directory):
        raise error("stopped by the test")

    lake = dfjoin.open_lake(index)
    calls = {
        "add": lambda: lake.add({"e": OLD["a"]}, engine="inline", progress=False),
        "replace": lambda: lake.replace({"a": OLD["a"]}, engine="inline", progress=False),
        "remove": lambda: lake.remove("b"),
        "restore": lambda: lake.restore(1),
        "compact": lambda: lake.compact(full=True),
        "build": lambda: dfjoin.build_lake(NEW, index, engine="inline", if_exists="replace", progress=False),
    }
    with monkeypatch.context() as patch:
        patch.setattr(commit_module, "_sync_directory", fail)
        with pytest.raises(error, match="stopped by the test"):
            calls[name]()
    latest = dfjoin.open_lake(index)
    assert latest.version == 3 and latest.verify() == [] and answers(index)


def test_damaged_tombstones_are_known_to_verify_and_repair(index):
    dfjoin.open_lake(index).remove("b")
    (path,) = (index / "tombstones").iterdir()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(IndexCorruptedError, match="tombstones"):
        answers(index)
    (problem,) = dfjoin.open_lake(index).verify()
    assert "tombstones" in problem
    assert dfjoin.repair(index)["problems"] == [problem]
    answers(index)


class TestPermissions:
    def test_a_directory_that_may_not_be_written(self, index):
        if os.geteuid() == 0:
            pytest.skip("root may write everywhere")
        for directory in ("manifests", "segments", "runs", "frames"):
            (index / directory).chmod(0o500)
            try:
                with pytest.raises((OSError, DfjoinError), match=r"[Pp]ermission"):
                    add(index)
            finally:
                (index / directory).chmod(0o700)
            assert list_versions(index) == [1] and answers(index) == OLD_ANSWERS

    def test_files_that_may_not_be_read(self, index):
        if os.geteuid() == 0:
            pytest.skip("root may read everything")
        for path in sorted(index.rglob("*.npy")) + sorted(index.rglob("*.json")):
            path.chmod(0)
            try:
                with pytest.raises((OSError, DfjoinError)):
                    answers(index)
            finally:
                path.chmod(0o600)
        assert answers(index) == OLD_ANSWERS


# Opens each index and asks it everything; prints for each the errors, and the files outside that were opened.
ASK = """
import json, sys
opened = []
def hook(event, args):
    if event == "open" and isinstance(args[0], str):
        opened.append(args[0])
sys.addaudithook(hook)
import dfjoin, pandas as pd
def attempt(function):
    try:
        return function()
    except dfjoin.errors.DfjoinError as error:
        errors.append(type(error).__name__)
for index in sys.argv[1:]:
    errors = []
    opened.clear()
    lake = attempt(lambda: dfjoin.open_lake(index))
    if lake is not None:
        attempt(lambda: dfjoin.discover_joinable(pd.DataFrame({"q": ["p", "q"]}), "q", lake))
        attempt(lambda: lake.tables)
        attempt(lambda: lake.verify())
    print(json.dumps([errors, len(opened), [f for f in opened if "/outside/" in f]]))
"""


def edit(index, change):
    """Edit the manifest of an index as JSON."""
    path = index / "manifests" / f"{1:020d}.json"
    values = json.loads(path.read_text())
    change(values)
    path.write_text(seal(values))


WHATS = ("component", "segment", "tombstones")
WAYS = ("absolute", "parents", "backslash", "dot parents", "nul")


def lead_elsewhere(values, outside, what, way):
    """Let a manifest name a file or directory outside the index."""
    segment = values["segments"][0]
    component = segment["groups"][0]["components"][0]
    below = {
        "component": f"segments/{segment['id']}/{component['file']}",
        "segment": f"segments/{segment['id']}",
        "tombstones": "segments/mask.npy",
    }[what]
    ups = {"component": "../../../outside", "segment": "../../outside", "tombstones": "../outside"}[what]
    path = {
        "absolute": f"{outside}/{below}",
        "parents": f"{ups}/{below}",
        "backslash": f"{ups}/{below}".replace("/", "\\"),
        "dot parents": f"./x/../{ups}/{below}",
        "nul": f"{outside}/{below}\0",
    }[way]
    if what == "component":
        component["file"] = path
    elif what == "segment":
        segment["id"] = path
    else:
        segment["tombstones"] = {"file": path, "n_deleted": 0, "crc32": 0}


@pytest.fixture(scope="module")
def asked(sound, tmp_path_factory):
    """What an index says whose manifest leads elsewhere, by what leads there and how: one process asks all."""
    place = tmp_path_factory.mktemp("elsewhere")
    # a sound copy of the segments, outside each index: a reader that followed a path there would succeed
    shutil.copytree(sound / "segments", place / "outside" / "segments")
    cases = {(what, way): place / f"{i}.dfjoin" for i, (what, way) in enumerate(product(WHATS, WAYS))}
    for (what, way), index in cases.items():
        shutil.copytree(sound, index)
        edit(index, lambda values, what=what, way=way: lead_elsewhere(values, place / "outside", what, way))
    asked = [sys.executable, "-c", ASK, str(sound), *map(str, cases.values())]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    of_sound, *answers = map(json.loads, done.stdout.splitlines())
    assert of_sound[0] == [] and of_sound[1] > 5, "opened files are seen"
    return dict(zip(cases, answers, strict=True))


class TestManifestsThatLeadElsewhere:
    @pytest.mark.parametrize("what", WHATS)
    @pytest.mark.parametrize("way", WAYS)
    def test_nothing_outside_is_read(self, asked, what, way):
        errors, _, outside = asked[what, way]
        assert errors == ["IndexCorruptedError"] and outside == []

    @pytest.mark.parametrize("number", [-1, -(2**63), 2**31, 2**62, 2**63, 2**64, 10**40, 1e300])
    @pytest.mark.parametrize("field", ["shape", "size", "columns", "tokens"])
    def test_sizes_that_cannot_be_are_refused(self, index, number, field):
        def change(values):
            segment = values["segments"][0]
            if field == "columns":
                segment["counts"]["columns"] = number
            elif field == "tokens":
                for component in segment["groups"][0]["components"]:
                    if component["name"] == "hash":
                        component["shape"], component["size"] = [number], number
            else:
                component = segment["groups"][0]["components"][0]
                component[field] = [number] if field == "shape" else number

        edit(index, change)
        with pytest.raises(IndexCorruptedError):
            answers(index)

    @pytest.mark.parametrize("number", [2**31, 2**62])
    def test_a_file_whose_own_header_is_out_of_measure_is_refused(self, index, number):
        (path,) = (index / "segments").rglob("hash.npy")
        data = path.read_bytes()
        begin = data.index(b"(") + 1
        end = data.index(b",)", begin)
        text = str(number).encode()
        padded = data[:begin] + text + data[end:]
        cut = padded.index(b"\n") - (len(padded) - len(data))
        path.write_bytes(padded[:cut] + padded[padded.index(b"\n") :])
        assert path.stat().st_size == len(data)
        with pytest.raises(IndexCorruptedError):
            answers(index)

    @pytest.mark.parametrize("depth", [100, 3000, 100_000])
    def test_deep_nesting_is_refused(self, index, depth):
        path = index / "manifests" / f"{1:020d}.json"
        text = path.read_text()
        path.write_text(text[: text.rindex("}")] + ', "extra": ' + "[" * depth + "]" * depth + "}")
        with pytest.raises(IndexFormatError):
            answers(index)
