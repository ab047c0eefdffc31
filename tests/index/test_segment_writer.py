"""Writing a segment: at once or in stretches, with the same bytes."""

import pandas as pd
import pytest

from dfjoin.index.runs import run_of_segment
from dfjoin.index.segment import Segment
from dfjoin.index.segment_writer import SegmentRecords, write_segment


@pytest.fixture
def segment(build):
    words = [f"w{i}" for i in range(40)]
    tables = {
        "a": pd.DataFrame({"x": words, "y": words[:20] * 2, "f": [0.5] * 40}),
        "b": pd.DataFrame({"x": words[10:30], "n": range(20)}),
    }
    (segment,) = build(tables, settings={"permutations": 0}).segments
    return segment


@pytest.mark.parametrize("cuts", [[], [0], [60], [20], [1, 2, 59], [30, 30]])
def test_a_segment_written_in_stretches_is_that_written_at_once(segment, cuts):
    run, catalog = run_of_segment(segment.tokens), segment.catalog
    bounds = [0, *cuts, run.n_tokens]
    stretches = (run.slice(a, b) for a, b in zip(bounds, bounds[1:], strict=False))
    records = SegmentRecords(catalog.tables(), catalog.columns(), catalog.skipped())
    meta = write_segment(segment.index, stretches, records)
    written = {c.name: (c.crc32, c.shape) for c in meta.group("tokens").components}
    assert written == {c.name: (c.crc32, c.shape) for c in segment.meta.group("tokens").components}
    assert meta.counts == segment.meta.counts
    other = Segment(segment.index, meta)
    assert other.verify() == []
    assert len(list(other.directory.iterdir())) == 2


def test_a_segment_without_values_in_several_stretches(segment):
    run, catalog = run_of_segment(segment.tokens).slice(0, 0), segment.catalog
    meta = write_segment(
        segment.index, iter([run, run]), SegmentRecords(catalog.tables(), catalog.columns(), catalog.skipped())
    )
    assert meta.counts["tokens"] == meta.counts["pairs"] == 0
    assert Segment(segment.index, meta).tokens.hash.size == 0
