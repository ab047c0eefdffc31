"""Every file of a small index, flipped and truncated: named by verify(), never a crash."""

import contextlib
import shutil

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IndexCorruptedError
from dfjoin.index.components import TOKENS

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
    hits = dfjoin.discover_joinable(QUERY, "q", lake)
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
        dfjoin.discover_joinable(QUERY, "q", lake)


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_longer_file_is_named(damage, name):
    lake = damage(name, lambda data: data + b"0")
    assert f"component `{name}`" in lake.verify()[0]
    with pytest.raises(IndexCorruptedError, match=f"component `{name}`"):
        dfjoin.discover_joinable(QUERY, "q", lake)


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
                dfjoin.discover_joinable(QUERY, "q", lake)


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
            dfjoin.discover_joinable(QUERY, "q", lake)


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_missing_file_is_named(damage, name):
    lake = damage(name, lambda data: data)
    (segment,) = lake.segments
    (meta,) = [c for g in segment.meta.groups for c in g.components if c.name == name]
    (segment.directory / meta.file).unlink()
    (problem,) = lake.verify()
    assert f"component `{name}`" in problem and "the file is missing" in problem
    with pytest.raises(IndexCorruptedError, match=f"component `{name}`.*the file is missing"):
        dfjoin.discover_joinable(QUERY, "q", lake)


def test_several_damaged_files_are_all_named(damage, sound):
    lake = damage("hash", lambda data: data[:-1])
    (segment,) = lake.segments
    (meta,) = [c for g in segment.meta.groups for c in g.components if c.name == "group"]
    (segment.directory / meta.file).unlink()
    assert len(lake.verify()) == 2 and sound.verify() == []
