"""Small lakes for the tests of the life of an index, what they answer, and other writers that come first."""

import pandas as pd

import dfjoin
from dfjoin.index import commit as commit_module
from dfjoin.index.commit import list_versions
from dfjoin.search.params import PLANS

OPTIONS = {"engine": "inline", "progress": False}
QUERY = pd.DataFrame({"q": ["p", "q", "r", "s", "t"]})


def frame(*values):
    return pd.DataFrame({"c": list(values), "n": range(len(values))})


def answers(lake, **options):
    hits = dfjoin.discover_joinable(QUERY, "q", lake, k=100, **options, rank="matched")
    return list(zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True))


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


def orphans(lake):
    """Paths below the index that no version names."""
    versions = [dfjoin.open_lake(lake.path, version=version) for version in list_versions(lake.path)]
    named = set().union(*(opened.manifest.named_paths() for opened in versions))
    for opened in versions:
        for segment in opened.segments:
            named |= {f"frames/{name}" for name in segment.catalog.tables().field("path").to_pylist()}
    places = ["segments/*", "segments/*/*", "tombstones/*", "frames/*", "runs/*"]
    found = [path.relative_to(lake.path).as_posix() for place in places for path in lake.path.glob(place)]
    return sorted(set(found) - named)
