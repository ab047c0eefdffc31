"""Every file of a small index, flipped and truncated: named by verify(), never a crash."""

import contextlib
import shutil
import time

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IndexCorruptedError, InvalidParameterError
from dfjoin.index.components import TOKENS
from dfjoin.store import verify

COMPONENTS = [*TOKENS, "catalog"]
QUERY = pd.DataFrame({"q": ["w1", "W2", "w19", "none", "5"]})


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    place = tmp_path_factory.mktemp("sound")
    words = [f"w{i}" for i in range(20)]
    frames = {
        "a": pd.DataFrame({"x": words, "y": words[:10] * 2}),
        "b": pd.DataFrame({"x": words[5:15], "n": range(10)}),
        "c": pd.DataFrame({"x": [*words[10:], "other"]}),
    }
    return dfjoin.build_lake(frames, place / "lake.dfjoin", engine="inline", progress=False)


@pytest.fixture
def damage(sound, tmp_path):
    """Copy the index and change the file of one component: ``damage(name, change)``."""

    def make(name, change):
        index = tmp_path / "lake.dfjoin"
        shutil.copytree(sound.path, index, dirs_exist_ok=True)
        (segment,) = sound.segments
        (meta,) = [c for g in segment.meta.groups for c in g.components if c.name == name]
        path = index / "segments" / segment.meta.id / meta.file
        path.write_bytes(change(bytearray(path.read_bytes())))
        return dfjoin.open_lake(index)

    return make


def search_and_explain(lake):
    hits = dfjoin.discover_joinable(QUERY, "q", lake, rank="matched")
    for i in range(len(hits)):
        hits.explain(i)
        hits.pairs(i)
    return hits


def test_a_sound_index_verifies(sound):
    assert sound.verify() == []
    assert len(search_and_explain(sound)) == 4


@pytest.mark.parametrize("name", COMPONENTS)
@pytest.mark.parametrize("where", [0.0, 0.5, 0.999])
def test_one_flipped_bit_is_named_by_verify(damage, name, where):
    def flip(data):
        data[int(where * len(data))] ^= 0x40
        return data

    (problem,) = damage(name, flip).verify()
    assert f"component `{name}` of segment" in problem and "its CRC-32 is not the recorded one" in problem


@pytest.mark.parametrize("name", COMPONENTS)
@pytest.mark.parametrize("keep", [0.0, 0.5, 0.99])
def test_a_truncated_file_is_named_by_verify_and_search(damage, name, keep):
    lake = damage(name, lambda data: data[: int(keep * len(data))])
    (problem,) = lake.verify()
    assert f"component `{name}`" in problem and "the manifest says" in problem
    with pytest.raises(IndexCorruptedError, match=f"component `{name}`"):
        dfjoin.discover_joinable(QUERY, "q", lake, rank="matched")


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_longer_file_is_named(damage, name):
    lake = damage(name, lambda data: data + b"0")
    assert f"component `{name}`" in lake.verify()[0]
    with pytest.raises(IndexCorruptedError, match=f"component `{name}`"):
        dfjoin.discover_joinable(QUERY, "q", lake, rank="matched")


@pytest.mark.parametrize("name", TOKENS)
def test_a_search_over_flipped_bytes_never_crashes(damage, name):
    """Wherever a byte is changed, a search gives rows or IndexCorruptedError, nothing else."""
    size = len(damage(name, lambda data: data).segments[0].tokens._asdict()[name].tobytes())
    for place in range(0, size, max(1, size // 12)):
        for mask in (0x01, 0x80):

            def flip(data, place=place, mask=mask):
                data[len(data) - size + place] ^= mask
                return data

            lake = damage(name, flip)
            with contextlib.suppress(IndexCorruptedError):
                dfjoin.discover_joinable(QUERY, "q", lake, rank="matched")


def test_a_search_over_a_flipped_catalogue_never_crashes(damage):
    sizes = []
    lake = damage("catalog", lambda data: (sizes.append(len(data)), data)[1])
    assert len(search_and_explain(lake)) == 4
    for place in range(0, sizes[0], max(1, sizes[0] // 40)):

        def flip(data, place=place):
            data[place] ^= 0x04
            return data

        lake = damage("catalog", flip)
        assert len(lake.verify()) == 1
        with contextlib.suppress(IndexCorruptedError):
            dfjoin.discover_joinable(QUERY, "q", lake, rank="matched")


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_missing_file_is_named(damage, name):
    lake = damage(name, lambda data: data)
    (segment,) = lake.segments
    (meta,) = [c for g in segment.meta.groups for c in g.components if c.name == name]
    (segment.directory / meta.file).unlink()
    (problem,) = lake.verify()
    assert f"component `{name}`" in problem and "the file is missing" in problem
    with pytest.raises(IndexCorruptedError, match=f"component `{name}`.*the file is missing"):
        dfjoin.discover_joinable(QUERY, "q", lake, rank="matched")


def test_several_damaged_files_are_all_named(damage, sound):
    lake = damage("hash", lambda data: data[:-1])
    (segment,) = lake.segments
    (meta,) = [c for g in segment.meta.groups for c in g.components if c.name == "group"]
    (segment.directory / meta.file).unlink()
    assert len(lake.verify()) == 2 and sound.verify() == []


def test_verify_names_a_kept_frame_whose_content_is_another(sound, damage):
    lake = damage("hash", lambda data: data)
    assert lake.verify() == []
    (file, *_) = sorted((lake.path / "frames").iterdir())
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    (problem,) = lake.verify()
    assert problem.startswith("the kept frame `") and f"({file.name}): its content is not the one written" in problem
    (table,) = [name for name in lake.tables["table"] if f"`{name}`" in problem]
    assert lake.check()["table"].tolist() == [table]


def test_verify_names_a_kept_frame_that_is_missing(sound, damage):
    lake = damage("hash", lambda data: data)
    (file, *_) = sorted((lake.path / "frames").iterdir())
    file.unlink()
    (problem,) = lake.verify()
    assert problem.startswith("the kept frame `") and problem.endswith(f"({file.name}): its file is missing")
    (missing,) = lake.check().itertuples(index=False)
    assert missing.state == "missing" and f"`{missing.table}`" in problem


def test_a_frame_that_was_not_kept_is_no_damage(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y"]})
    lake = dfjoin.build_lake({"t": frame}, tmp_path / "i", engine="inline", keep_data=False, progress=False)
    assert lake.verify() == [] and lake.check().empty
    lake.add({"u": frame}, progress=False)
    (file,) = (tmp_path / "i" / "frames").iterdir()
    file.unlink()
    assert [problem.split("`")[1] for problem in lake.verify()] == lake.check()["table"].tolist() == ["u"]


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_sample_of_a_small_index_is_all_of_it(damage, name):
    def flip(data):
        data[len(data) // 2] ^= 1
        return data

    path = damage(name, flip).path
    with pytest.raises(
        IndexCorruptedError, match=rf"component `{name}`.*its CRC-32 .*; Lake.verify\(\) lists all damage"
    ):
        dfjoin.open_lake(path, verify="sample")


def test_a_sample_names_a_file_that_was_cut(damage):
    path = damage("hash", lambda data: data[:-1]).path
    with pytest.raises(IndexCorruptedError, match=r"component `hash` .* bytes, the manifest says .*dfjoin\.repair"):
        dfjoin.open_lake(path, verify="sample")


def test_a_sample_is_bounded_by_time_and_drawn_by_its_seed(sound, damage, monkeypatch):
    assert dfjoin.open_lake(sound.path, verify="sample").version == sound.version
    lake = damage("hash", lambda data: data)
    read = []
    crc_until = verify._crc_until
    monkeypatch.setattr(verify, "_crc_until", lambda s, meta, end: read.append(meta.name) or crc_until(s, meta, end))
    orders = []
    for seed in (1, 1, 2):
        read.clear()
        assert verify.verify_sample(lake.snapshot, seed, 60) == []
        orders.append(tuple(read))
    assert orders[0] == orders[1] != orders[2] and sorted(orders[0]) == sorted(orders[2])
    read.clear()
    assert verify.verify_sample(lake.snapshot, 1, -1) == [] and read == []
    monkeypatch.setattr(verify, "_CHUNK", 1)
    begin = time.monotonic()
    verify.verify_sample(lake.snapshot, 1, 0.02)
    assert time.monotonic() - begin < 1


def test_an_unknown_way_to_verify_is_refused(sound):
    with pytest.raises(InvalidParameterError, match="`verify` must be one of None, 'sample', got 'full'"):
        dfjoin.open_lake(sound.path, verify="full")
