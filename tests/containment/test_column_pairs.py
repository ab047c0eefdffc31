"""The containment join of a lake's columns against brute force over the frames."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.containment.subset_join import METHODS
from dfjoin.errors import DfjoinWarning, InvalidParameterError


def random_lake(rng, n_tables):
    frames = {}
    for t in range(n_tables):
        n = int(rng.integers(1, 60))
        columns = {}
        for c in range(int(rng.integers(1, 5))):
            domain = int(rng.choice([3, 30, 300]))
            columns[f"c{c}"] = [f"{'abc'[domain % 7 % 3]}{v}" for v in rng.integers(0, domain, n)]
        frames[f"t{t:02d}"] = pd.DataFrame(columns)
    return frames


def naive_columns(frames, threshold, least):
    columns = [(t, c, set(frame[c])) for t, frame in frames.items() for c in frame.columns]
    columns = [one for one in columns if len(one[2]) >= max(least, 2)]
    return sorted(
        (t, c, u, d, len(a), len(b), len(a & b), len(a & b) / len(a))
        for t, c, a in columns
        for u, d, b in columns
        if t != u and a & b and len(a & b) / len(a) >= threshold
    )


def rows(pairs):
    frame = pairs.to_frame()
    return [tuple(row) for row in frame.itertuples(index=False)]


@pytest.mark.parametrize("threshold", [1.0, 0.8, 0.2])
def test_pairs_are_those_of_brute_force_in_any_number_of_segments(rng, build, threshold):
    frames = random_lake(rng, 24)
    names = list(frames)
    lake = build({name: frames[name] for name in names[:12]})
    lake.add({name: frames[name] for name in names[12:18]}, engine="inline", progress=False)
    lake.add({name: frames[name] for name in names[18:]}, engine="inline", progress=False)
    assert len(lake.segments) == 3
    for least in (2, 7):
        assert rows(lake.containment_join(threshold, least)) == naive_columns(frames, threshold, least)
    lake.remove([names[0], names[20]])
    left = {name: frames[name] for name in names if name not in (names[0], names[20])}
    expected = naive_columns(left, threshold, 2)
    assert rows(lake.containment_join(threshold)) == expected
    lake.compact(full=True)
    assert len(lake.segments) == 1
    methods = [None] if threshold < 1 else [None, *METHODS]
    for method in methods:
        assert rows(lake.containment_join(threshold, method=method)) == expected


def test_pairs_stream_and_tell_their_columns(build):
    lake = build({"a": pd.DataFrame({"x": ["p", "q"]}), "b": pd.DataFrame({"y": ["p", "q", "r"]})})
    pairs = lake.containment_join()
    assert "of the columns of" in repr(pairs)
    assert pairs.count() == 1
    (frame,) = pairs
    assert frame.dtypes["matched"] == np.int64 and frame["containment"].tolist() == [1.0]


def test_a_lake_without_tables_has_no_pairs(build):
    assert build({"a": pd.DataFrame({"x": [1.5]})}).containment_join().count() == 0


def test_columns_without_sets_are_told(rng, build):
    frame = pd.DataFrame({"x": [f"v{i}" for i in range(80)]})
    settings = {"permutations": 32, "signature_min": 50, "keep_sets": False}
    lake = build({"a": frame, "b": frame, "c": frame[:9], "d": frame[:5]}, settings=settings)
    with pytest.warns(DfjoinWarning, match="the index keeps no sets of columns with signatures"):
        assert rows(lake.containment_join()) == [("d", "x", "c", "x", 5, 9, 5, 1.0)]


def test_wrong_arguments_are_refused(build):
    lake = build({"a": pd.DataFrame({"x": ["p", "q"]})})
    with pytest.raises(InvalidParameterError, match="`min_cardinality` must be at least 1, got 0"):
        lake.containment_join(min_cardinality=0)
    with pytest.raises(InvalidParameterError, match="`threshold` must be between 0 and 1, got 2"):
        lake.containment_join(2)
