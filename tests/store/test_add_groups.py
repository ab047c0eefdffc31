"""Groups that an index is given later: nothing is left of them when they come to nothing."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import ConcurrentCommitError
from dfjoin.index import commit as commit_module
from tests.store.lakes import OPTIONS, frame, overtake
from tests.vectors.makers import letters

CALLS = {
    "patterns": lambda lake: lake.add_patterns(),
    "signatures": lambda lake: lake.add_signatures(permutations=8, signature_min=2),
    "vectors": lambda lake: lake.add_vectors(letters),
}


@pytest.fixture(params=CALLS)
def call(request):
    return CALLS[request.param]


@pytest.fixture
def bare(build):
    """Two segments without groups that can be added."""
    tables = {name: frame("peter pan", "wendy darling", name) for name in ("a", "b")}
    lake = build({"a": tables["a"]}, settings={"permutations": 0})
    return lake.add({"b": tables["b"]}, **OPTIONS)


def files(lake):
    return {path.relative_to(lake.path).as_posix() for path in lake.path.rglob("*") if "manifests" not in path.parts}


def test_what_failed_leaves_nothing(bare, call, monkeypatch):
    before = files(bare)

    def fail(index, manifest):
        raise OSError("no space")

    monkeypatch.setattr(commit_module, "commit", fail)
    with pytest.raises(OSError, match="no space"):
        call(bare)
    assert files(bare) == before


def test_another_writer_meanwhile_leaves_nothing_either(bare, call, monkeypatch):
    """The version is another then, which tells nothing about what was written here."""
    other = dfjoin.open_lake(bare.path)
    overtake(monkeypatch, lambda: other.remove("b"))
    with pytest.raises(ConcurrentCommitError, match=r"nothing of this change is visible: call add_\w+\(\) again"):
        call(bare)
    left = {name.split("-")[0] for name in files(bare) if name.count("/") == 2}
    assert {name.rsplit("/", 1)[-1] for name in left} == {"tokens", "catalog"}
    assert bare.refresh().verify() == [] and bare.version == 3
    assert call(bare).version == 4


def test_an_interruption_just_after_the_commit_keeps_them(bare, call, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(commit_module, "_sync_directory", interrupted)
        with pytest.raises(KeyboardInterrupt):
            call(bare)
    lake = bare.refresh()
    assert lake.version == 3 and lake.verify() == []
    assert {len(segment.meta.groups) for segment in lake.segments} == {3}


def test_both_find_what_they_are_for(bare):
    lake = bare.add_patterns().add_signatures(permutations=8, signature_min=2)
    query = pd.DataFrame({"q": ["wendy darling", "peter pan"], "p": ["pan, peter", "darling, wendy"]})
    assert set(query.discover_joinable("q", lake, mode="lsh", threshold=1, rank="matched")["table"]) == {"a", "b"}
    assert lake.add_patterns().version == lake.version == 4
