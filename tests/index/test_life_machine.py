"""The life of an index as a state machine, against a plain dict of tables."""

import shutil
import tempfile
from pathlib import Path

import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import dfjoin
from dfjoin.errors import InvalidParameterError
from tests import oracles

WORDS = [f"w{i}" for i in range(8)]
columns = st.lists(st.sampled_from([*WORDS, None]), min_size=3, max_size=3)
tables = st.dictionaries(
    st.sampled_from(["a", "b", "é", "geo/x"]), st.dictionaries(st.sampled_from("xyz"), columns, min_size=1),
    min_size=1, max_size=3,
)  # fmt: skip
ANCHOR = {"0": {"c": ["w0", "w1", None]}}


class LifeOfAnIndex(RuleBasedStateMachine):
    """Every version keeps answering as it did when it was written."""

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.index = self.place / "lake.dfjoin"
        self.versions = {}
        self.lake = None
        self.n_added = 0

    def teardown(self):
        shutil.rmtree(self.place, ignore_errors=True)

    def write(self, content, if_exists):
        frames = {name: pd.DataFrame(values, dtype=object) for name, values in content.items()}
        self.lake = dfjoin.build_lake(frames, self.index, if_exists=if_exists, engine="inline", progress=False)

    @initialize(content=tables)
    def build(self, content):
        content = {**ANCHOR, **content}
        self.write(content, "error")
        self.versions[1] = content

    @rule(content=tables)
    def replace(self, content):
        content = {**ANCHOR, **content}
        self.write(content, "replace")
        self.versions[max(self.versions) + 1] = content

    @precondition(lambda self: self.n_added < 3)
    @rule(content=tables)
    def add(self, content):
        latest = self.versions[max(self.versions)]
        content = {f"{len(self.versions)}-{name}": values for name, values in (ANCHOR | content).items()}
        self.write(content, "add")
        root = list(self.lake.roots)[-1]
        self.n_added += 1
        self.versions[max(self.versions) + 1] = latest | {f"{root}/{name}": v for name, v in content.items()}

    @rule()
    def refuse_to_build_over(self):
        try:
            self.write(ANCHOR, "error")
        except InvalidParameterError as error:
            assert "is an index already" in str(error)
        else:
            raise AssertionError("an index was overwritten")

    @rule(data=st.data())
    def reopen(self, data):
        self.lake = dfjoin.open_lake(self.index, version=data.draw(st.sampled_from(sorted(self.versions))))

    @rule()
    def refresh(self):
        assert self.lake.refresh().version == max(self.versions)

    @rule(query=st.lists(st.sampled_from([*WORDS, "W1 ", "none"]), min_size=1, max_size=6), k=st.integers(1, 30))
    def query(self, query, k):
        content = self.versions[self.lake.version]
        sets = {
            (table, column): found
            for table, values in content.items()
            for column, cells in values.items()
            if len(found := oracles.value_set(cells)) >= 2
        }
        hits = dfjoin.discover_joinable(pd.DataFrame({"q": query}), "q", self.lake, k=k)
        found = list(zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True))
        assert found == oracles.rank(oracles.value_set(query), sets, k)

    @rule(data=st.data())
    def read(self, data):
        content = self.versions[self.lake.version]
        name = data.draw(st.sampled_from(sorted(content)))
        frame = self.lake.table(name)
        assert list(frame) == list(content[name])
        for column, cells in content[name].items():
            assert [None if pd.isna(v) else v for v in frame[column]] == cells

    @invariant()
    def lists_its_tables(self):
        if self.lake is not None:
            names = sorted(self.versions[self.lake.version], key=str.encode)
            assert self.lake.tables["table"].tolist() == names
            assert self.lake.info()["counts"]["tables"] == len(names)


LifeOfAnIndex.TestCase.settings = settings(max_examples=10, stateful_step_count=8, deadline=None)
TestLifeOfAnIndex = LifeOfAnIndex.TestCase
