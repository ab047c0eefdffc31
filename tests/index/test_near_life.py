"""The life of an index with vectors and places as a state machine: its answers by distance are those of all pairs."""

import os
import shutil
import tempfile
from pathlib import Path

import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import dfjoin
from dfjoin.index.components import VECTORS
from tests.oracles.places import count_points, haversine
from tests.oracles.vectors import count_near, unit
from tests.vectors.makers import letters, scattered

WORDS = ["paris", "pariss", "rome", "romes", "oslo", "12-3"]
PLACES = [(48.0, 2.0), (48.0, 2.001), (41.9, 12.5), (60.0, 10.0)]
NAMES = ["a", "b", "geo/c"]
OPTIONS = {"engine": "inline", "progress": False}
tables = st.dictionaries(
    st.sampled_from(NAMES),
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(PLACES)), min_size=2, max_size=4, unique=True),
    min_size=1,
    max_size=2,
)
EMBEDDERS = {"letters": letters, "scattered": scattered}


def frames_of(content):
    return {
        name: pd.DataFrame(
            {"word": [word for word, _ in rows], "lat": [p[0] for _, p in rows], "lon": [p[1] for _, p in rows]}
        )
        for name, rows in content.items()
    }


def found_by(hits):
    return dict(zip(hits["table"], hits["matched"].tolist(), strict=True))


class LifeWithVectors(RuleBasedStateMachine):
    """Whatever is done to the index, each segment has its vectors and places, and no other."""

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="dfjoin-near-"))
        self.lake = None

    def teardown(self):
        shutil.rmtree(self.place, ignore_errors=True)

    def record(self, content, embedder=None):
        self.content, self.embedder = content, embedder or self.embedder
        self.versions[self.lake.version] = self.content, self.embedder

    @initialize(content=tables, embedder=st.sampled_from(sorted(EMBEDDERS)))
    def build(self, content, embedder):
        given = {"embedder": EMBEDDERS[embedder], "settings": {"permutations": 0}}
        self.lake = dfjoin.build_lake(frames_of(content), self.place / "lake.dfjoin", **given, **OPTIONS)
        self.versions = {}
        self.record(content, embedder)

    @rule(content=tables)
    def replace(self, content):
        self.lake.replace(frames_of(content), **OPTIONS)
        self.record(self.content | content)

    @rule(name=st.sampled_from(NAMES))
    def remove(self, name):
        if name in self.content:
            self.lake.remove(name)
            self.record({other: rows for other, rows in self.content.items() if other != name})

    @rule(full=st.booleans())
    def compact(self, full):
        self.lake.compact(full=full)
        self.record(self.content)

    @rule(embedder=st.sampled_from(sorted(EMBEDDERS)))
    def embed_anew(self, embedder):
        self.lake.add_vectors(EMBEDDERS[embedder], progress=False)
        self.record(self.content, embedder)

    @rule()
    def read_axes_anew(self):
        self.lake.add_axes()
        self.record(self.content)

    @rule()
    def vacuum(self):
        self.lake.vacuum(0)
        self.versions = {self.lake.version: (self.content, self.embedder)}

    @rule(data=st.data())
    def restore(self, data):
        version = data.draw(st.sampled_from(sorted(self.versions)))
        content, embedder = self.versions[version]
        self.lake.restore(version)
        self.record(content, embedder)

    @invariant()
    def answers_are_those_of_all_pairs(self):
        if self.lake is None:
            return
        own = {name: rows for name, rows in self.content.items() if len({word for word, _ in rows}) >= 2}
        for segment in self.lake.segments:
            groups = [group.name for group in segment.meta.groups]
            assert groups.count("vectors") == 1 and len(segment._map("vectors", VECTORS)) == len(VECTORS)
        embed = EMBEDDERS[self.embedder]
        columns = {name: ([word for word, _ in rows], True) for name, rows in own.items()}
        query = pd.DataFrame({"q": ["paris", "romes", "bern", "12-3"]})
        for radius, plan in ((0.0, "tree"), (0.3, None), (0.3, "pexeso")):
            expected = count_near(query["q"], columns, lambda value: unit(embed([value])[0]), radius)
            near = {"radius": radius, "radius_unit": "absolute", "plan": plan, "threshold": 0.0}
            hits = query.discover_joinable("q", self.lake, mode="embedding", **near)
            assert found_by(hits) == {name: n for name, (n, _) in expected.items()}
        points = pd.DataFrame([PLACES[0], PLACES[2]], columns=["lat", "lon"])
        expected = count_points(
            PLACES[:1] + PLACES[2:3], {n: [p for _, p in rows] for n, rows in self.content.items()}, haversine, 100.0
        )
        near = {"radius": 100, "radius_unit": "m", "threshold": 0.0}
        hits = points.discover_joinable(["lat", "lon"], self.lake, mode="embedding", **near)
        assert found_by(hits) == {name: n for name, (n, _) in expected.items()}


IS_LONG = os.environ.get("DFJOIN_HYPOTHESIS") == "long"
LifeWithVectors.TestCase.settings = settings(
    max_examples=100 if IS_LONG else 5, stateful_step_count=30 if IS_LONG else 10, deadline=None
)
TestLifeWithVectors = LifeWithVectors.TestCase
