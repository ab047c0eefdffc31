"""The life of an index as a state machine, against a plain dict of tables; every plan, after every step.

``DFJOIN_HYPOTHESIS=long`` runs ten thousand steps; tests/benchmarks/life.py runs as many as asked for.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import dfjoin
from dfjoin.errors import ConcurrentCommitError, InvalidParameterError, TableNotFoundError
from dfjoin.index import commit as commit_module
from dfjoin.index.commit import list_versions
from dfjoin.search.params import PLANS
from tests import oracles

WORDS = [f"w{i}" for i in range(8)]
NAMES = ["a", "b", "é", "geo/x", "geo/y"]
STEPS = 50
columns = st.lists(st.sampled_from([*WORDS, None]), min_size=3, max_size=3)
tables = st.dictionaries(
    st.sampled_from(NAMES), st.dictionaries(st.sampled_from("xyz"), columns, min_size=1), min_size=1, max_size=3
)
queries = st.lists(st.sampled_from([*WORDS, "W1 ", "none"]), min_size=1, max_size=6)
OPTIONS = {"engine": "inline", "progress": False}


def frames_of(content):
    return {name: pd.DataFrame(values, dtype=object) for name, values in content.items()}


def sets_of(content):
    """Value sets of the columns that are indexed: those of two values or more."""
    return {
        (table, column): found
        for table, values in content.items()
        for column, cells in values.items()
        if len(found := oracles.value_set(cells)) >= 2
    }


class LifeOfAnIndex(RuleBasedStateMachine):
    """Every version keeps answering as it did when it was written, whatever is done to the index."""

    n_steps = 0
    """Steps done by all machines of this process."""

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="dfjoin-machine-"))
        self.index = self.place / "lake.dfjoin"
        self.versions = {}
        self.lake = None
        self.query = WORDS[:3]

    def teardown(self):
        shutil.rmtree(self.place, ignore_errors=True)

    @property
    def latest(self):
        return self.versions[max(self.versions)]

    def record(self, content):
        """Note what the next version holds; the lake object stands there."""
        version = max(self.versions, default=0) + 1
        self.versions[version] = content
        assert self.lake.version == version

    @initialize(
        content=tables, segment_bytes=st.sampled_from([1 << 12, 1 << 28]), signature_min=st.sampled_from([1, 3, None])
    )
    def build(self, content, segment_bytes, signature_min):
        settings = {"segment_bytes": segment_bytes, "permutations": 64, "signature_min": signature_min}
        self.lake = dfjoin.build_lake(frames_of(content), self.index, settings=settings, **OPTIONS)
        self.record(content)

    @rule(content=tables)
    def add(self, content):
        taken = sorted(set(content) & set(self.latest))
        if taken:
            with pytest.raises(InvalidParameterError, match="whose names the index has already"):
                self.lake.add(frames_of(content), **OPTIONS)
        content = {name: values for name, values in content.items() if name not in taken}
        if content:
            self.lake.add(frames_of(content), **OPTIONS)
            self.record(self.latest | content)

    @rule(content=tables)
    def replace(self, content):
        self.lake.replace(frames_of(content), **OPTIONS)
        self.record(self.latest | content)

    @rule(content=tables)
    def build_anew(self, content):
        self.lake = dfjoin.build_lake(frames_of(content), self.index, if_exists="replace", **OPTIONS)
        self.record(content)

    @rule(names=st.lists(st.sampled_from([*NAMES, "geo/*", "no*"]), min_size=1, max_size=2, unique=True))
    def remove(self, names):
        chosen = {"geo/*": [n for n in self.latest if n.startswith("geo/")], "no*": []}
        gone = [[n for n in chosen.get(name, [name]) if n in self.latest] for name in names]
        if not all(gone):
            with pytest.raises(TableNotFoundError, match="`tables` must name tables of the lake"):
                self.lake.remove(names)
            return
        self.lake.remove(names)
        flat = {name for group in gone for name in group}
        self.record({name: values for name, values in self.latest.items() if name not in flat})

    @rule(full=st.booleans())
    def compact(self, full):
        self.lake.compact(full=full)
        if self.lake.version not in self.versions:
            self.record(self.latest)
        assert self.lake.version == max(self.versions)
        if full:
            assert all(not segment.tombstones for segment in self.lake.manifest.segments)

    @rule(dry_run=st.booleans())
    def vacuum(self, dry_run):
        before = sorted(self.versions)
        report = self.lake.vacuum(0, dry_run=dry_run)
        assert report["versions"] == before[:-1]
        if dry_run:
            return
        self.versions = {before[-1]: self.latest}
        self.lake.refresh()
        named = {segment.id for segment in self.lake.manifest.segments}
        assert {path.name for path in (self.index / "segments").iterdir()} == named

    @rule(data=st.data())
    def restore(self, data):
        version = data.draw(st.sampled_from(sorted(self.versions)))
        self.lake.restore(version)
        self.record(self.versions[version])

    @rule(data=st.data())
    def reopen(self, data):
        self.lake = dfjoin.open_lake(self.index, version=data.draw(st.sampled_from(sorted(self.versions))))

    @rule()
    def refresh(self):
        assert self.lake.refresh().version == max(self.versions)

    @rule(content=tables, other=tables, kind=st.sampled_from(["add", "replace", "remove", "compact"]))
    def overtaken(self, content, other, kind):
        """Another writer replaces tables just before a change is committed."""
        real = commit_module.commit

        def commit(index, manifest):
            commit_module.commit = real
            dfjoin.open_lake(self.index).replace(frames_of(other), **OPTIONS)
            self.versions[max(self.versions) + 1] = self.latest | other
            real(index, manifest)

        before = self.latest
        gone = sorted(before)[:1]
        content = {name: values for name, values in content.items() if kind == "replace" or name not in before}
        if (kind in ("add", "replace") and not content) or (kind == "remove" and not gone):
            return
        commit_module.commit = commit
        try:
            if kind in ("add", "replace"):
                getattr(self.lake, kind)(frames_of(content), **OPTIONS)
                merged = self.latest | content
            elif kind == "remove":
                self.lake.remove(gone)
                merged = {name: values for name, values in self.latest.items() if name not in gone}
            else:
                self.lake.compact(full=True)
                merged = self.latest
            was_overtaken = commit_module.commit is real
        except ConcurrentCommitError as error:
            assert "nothing of this" in str(error)
            new = set(content) - set(before) if kind in ("add", "replace") else set()
            assert kind == "compact" or new & set(other), "the two changes go together"
            self.lake.refresh()
            return
        finally:
            commit_module.commit = real
        if kind == "compact" and not was_overtaken:  # there was nothing to merge
            self.lake.refresh()
            return
        self.record(merged)

    @rule()
    def refuse_to_build_over(self):
        with pytest.raises(InvalidParameterError, match="is an index already"):
            dfjoin.build_lake(frames_of({"a": {"x": WORDS[:3]}}), self.index, **OPTIONS)

    @rule(query=queries)
    def ask_for_other_values(self, query):
        self.query = query

    @precondition(lambda self: self.lake is not None and self.versions[self.lake.version])
    @rule(data=st.data())
    def read(self, data):
        content = self.versions[self.lake.version]
        name = data.draw(st.sampled_from(sorted(content)))
        frame = self.lake.table(name)
        assert list(frame) == list(content[name])
        for column, cells in content[name].items():
            assert [None if pd.isna(v) else v for v in frame[column]] == cells

    @invariant()
    def is_what_it_was(self):
        """The tables of the version at hand, its counts, and its answers by every plan."""
        if self.lake is None:
            return
        LifeOfAnIndex.n_steps += 1
        assert list_versions(self.index) == sorted(self.versions)
        content = self.versions[self.lake.version]
        names = sorted(content, key=str.encode)
        assert self.lake.tables["table"].tolist() == names
        counts = self.lake.info()["counts"]
        assert counts.get("tables", 0) == len(names)
        assert counts.get("columns", 0) == len(self.lake.columns) == sum(map(len, content.values()))
        sets = sets_of(content)
        query = pd.DataFrame({"q": self.query})
        expected = oracles.rank(oracles.value_set(self.query), sets, 30)
        for plan in (None, *PLANS):
            hits = dfjoin.discover_joinable(query, "q", self.lake, k=30, plan=plan, rank="matched")
            found = list(zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True))
            assert found == expected, f"plan {plan}"
        signed = dfjoin.discover_joinable(query, "q", self.lake, k=30, mode="lsh", recall=1.0, rank="matched")
        found = list(zip(signed["table"], signed["column"], signed["matched"].tolist(), strict=True))
        assert found == [row for row in expected if row in found], "what signatures find is counted and ranked"
        missing = [row for row in expected if row not in found]
        assert not (missing and signed.attrs["dfjoin"]["complete"])
        # A column that is equal to the query agrees with it in every row.
        equal = [row for row in expected if sets[row[:2]] == oracles.value_set(self.query)]
        assert not [row for row in equal if row in missing]


IS_LONG = os.environ.get("DFJOIN_HYPOTHESIS") == "long"
LifeOfAnIndex.TestCase.settings = settings(
    max_examples=10_000 // STEPS if IS_LONG else 8, stateful_step_count=STEPS if IS_LONG else 12, deadline=None
)
TestLifeOfAnIndex = LifeOfAnIndex.TestCase
