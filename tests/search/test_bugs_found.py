"""Tests that failed when they were written: each names a bug and passes once it is mended."""

import os
import stat

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IndexCorruptedError
from dfjoin.index import manifest
from dfjoin.index.components import ComponentMeta, map_component
from dfjoin.ingest.balance import pack_runs


@pytest.mark.parametrize("sizes", [[0], [0, 0], [0, 5], [5, 0]])
@pytest.mark.parametrize("target", [1, 100])
def test_empty_runs_are_packed_too(sizes, target):
    """A run without tokens has the size 0."""
    assert sorted(number for group in pack_runs(sizes, target) for number in group) == list(range(len(sizes)))


def test_a_lake_without_any_indexed_value_can_be_built_and_searched(build):
    lake = build({"a": pd.DataFrame({"x": [0.5, 1.5]}), "b": pd.DataFrame({"y": pd.Series([], dtype=object)})})
    assert lake.tables["table"].tolist() == ["a", "b"]
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["p", "q"]}), "q", lake)
    assert len(hits) == 0


def test_integers_meet_integers(build):
    """`parse_integers` allocates, but is compiled without reference counting: it does not compile."""
    lake = build({"a": pd.DataFrame({"n": [1, 2, 3]})})
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": [2, 3, 4]}), "q", lake)
    assert hits["matched"].tolist() == [2]


def test_the_number_of_query_values_is_reported(build):
    """`SearchStats.add` replaces it by that of a segment's search, which is 0."""
    lake = build({"a": pd.DataFrame({"c": ["a", "b", "c"]})})
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["a", "x"]}), "q", lake)
    (search,) = hits.attrs["dfjoin"]["searches"]
    assert (search["n_values"], search["n_found"]) == (2, 1)


def test_repr_fits_a_terminal(build):
    name = "a long name of a table that lies deep below the root"
    lake = build({name: pd.DataFrame({name: ["a", "b"]})})
    text = repr(dfjoin.discover_joinable(pd.DataFrame({"q": ["a", "b"]}), "q", lake))
    assert max(map(len, text.splitlines())) <= 100


def test_an_empty_component_file_is_damage(tmp_path):
    """numpy raises EOFError, not ValueError, for a file without a byte."""
    (tmp_path / "hash.npy").write_bytes(b"")
    with pytest.raises(IndexCorruptedError, match="`hash`"):
        map_component(tmp_path, ComponentMeta("hash", "hash.npy", "<u8", (0,), 0, 0))


@pytest.mark.parametrize("name", ["group_tokens", "set_lists"])
def test_evidence_from_damaged_components_is_an_index_error(build, name):
    """`explain` follows token and list numbers of the index without checking them."""
    lake = build({"a": pd.DataFrame({"x": ["p", "q", "r"], "y": ["p", "q", "z"]})})
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["p"]}), "q", lake)
    (segment,) = lake.segments
    sound = segment.tokens
    broken = np.full_like(getattr(sound, name), 1000)
    segment.__dict__["tokens"] = sound._replace(**{name: broken})
    with pytest.raises(IndexCorruptedError, match=name):
        hits.explain(0)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("is_first", [True, False])
def test_what_was_committed_is_not_discarded(build, monkeypatch, tmp_path, error, is_first):
    """After the link the version exists: an interruption in the sync behind it must not remove its segments."""
    index = tmp_path / "lake.dfjoin"
    options = {"engine": "inline", "progress": False}
    if not is_first:
        dfjoin.build_lake({"a": pd.DataFrame({"c": ["old", "b"]})}, index, **options)

    def fail(_directory):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(manifest, "_sync_directory", fail)
        with pytest.raises(error):
            dfjoin.build_lake({"a": pd.DataFrame({"c": ["new", "b"]})}, index, if_exists="replace", **options)
    if index.exists():
        lake = dfjoin.open_lake(index)
        assert lake.verify() == []
        assert dfjoin.discover_joinable(pd.DataFrame({"q": ["b"]}), "q", lake)["matched"].tolist() == [1]


PERIODS = {
    "period": (pd.Series(pd.period_range("2020-01", periods=2, freq="M")), "2020-01"),
    "interval": (pd.Series(pd.interval_range(0, 2)), "(0, 1]"),
    "complex": (pd.Series([1 + 2j, 3 + 4j]), "(1+2j)"),
}


@pytest.mark.parametrize("kind", PERIODS)
def test_columns_without_an_arrow_type_are_text(build, kind):
    """Strings of pandas convert themselves to Arrow, which takes no mask besides."""
    column, text = PERIODS[kind]
    query = pd.DataFrame({"q": column[:1]})
    lake = build({"t": pd.DataFrame({"c": [text, "other"], "n": ["a", "b"]})})
    assert dfjoin.discover_joinable(query, "q", lake)["matched"].tolist() == [1]
    lake = build({"t": pd.DataFrame({"c": column})})
    assert dfjoin.discover_joinable(pd.DataFrame({"q": [text]}), "q", lake)["matched"].tolist() == [1]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_an_index_of_frames_is_for_its_owner_only(build):
    """The directory of the frames is made first, and its parents with the default mode."""
    lake = build({"t": pd.DataFrame({"c": ["a", "b"]})})
    assert stat.S_IMODE(lake.path.stat().st_mode) == 0o700


def test_frames_added_twice_have_one_root(tmp_path):
    """Frames of one index have one root, so that `roots` holds it and `tables` knows where each is."""
    frame = pd.DataFrame({"c": ["a", "b"]})
    for name in ("a", "b", "c"):
        lake = dfjoin.build_lake({name: frame}, tmp_path / "lake", if_exists="add", engine="inline", progress=False)
    assert len(lake.roots) == 1 and lake.tables["table"].tolist() == ["a", "b", "c"]
    assert (lake.tables["root"] != "").all()
