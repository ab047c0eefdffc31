"""The set containment join on Spark against the one in this process."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
import spark_ext
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError

pytestmark = pytest.mark.spark


def test_arrays_are_joined_as_in_this_process(spark, rng):
    def sets(n, largest):
        return [[f"v{e}" for e in rng.integers(0, 12, rng.integers(0, largest))] for _ in range(n)]

    left, right = sets(40, 5), sets(50, 9)
    left[3], right[4], left[5] = None, None, ["a", None]
    frames = [
        spark.createDataFrame([(f"{name}{i}", one) for i, one in enumerate(side)], "id string, items array<string>")
        for name, side in (("l", left), ("r", right))
    ]
    found = spark_ext.containment_join(*frames, on="items", key="id", tasks=3)
    assert found.columns == ["left", "right", "matched"]
    expected = dfjoin.containment_join(left, right).to_frame()
    wanted = {(f"l{a}", f"r{b}", m) for a, b, m, _ in expected.itertuples(index=False)}
    rows = [tuple(row) for row in found.collect()]
    assert set(rows) == wanted and len(rows) == len(wanted)


def test_arrays_are_named_as_the_session_compares_names(spark):
    frame = spark.sql("SELECT 1 AS `k.1`, array('x') AS `t``x`")
    assert [tuple(row) for row in spark_ext.containment_join(frame, on="T`x", key="K.1").collect()] == [(1, 1, 1)]
    with pytest.raises(ColumnNotFoundError, match=r"`on` must name a column of the frame .*did you mean 't`x'"):
        spark_ext.containment_join(frame, on="t`xx", key="k.1")
    with pytest.raises(InvalidTypeError, match=r"`on` must name a column of arrays, got 'k\.1' of type int"):
        spark_ext.containment_join(frame, on="k.1", key="k.1")
    with pytest.raises(InvalidParameterError, match="`tasks` must be at least 1, got 0"):
        spark_ext.containment_join(frame, on="t`x", key="k.1", tasks=0)


def test_the_columns_of_an_index_are_joined_by_tasks(spark, rng, build):
    frames = {f"t{i}": pd.DataFrame({"a": [f"v{v}" for v in rng.integers(0, 9, 20)], "b": range(20)}) for i in range(6)}
    lake = build(frames)
    lake.add({"more": pd.DataFrame({"b": np.arange(30)})}, engine="inline", progress=False)
    for threshold in (1.0, 0.7):
        found = spark_ext.lake_containment_join(spark, lake, threshold=threshold, tasks=3).toPandas()
        expected = lake.containment_join(threshold).to_frame()
        names = list(expected.columns)
        assert list(found.columns) == names
        pd.testing.assert_frame_equal(found.sort_values(names[:4], ignore_index=True), expected)
    with pytest.raises(InvalidParameterError, match="`threshold` must be above 0"):
        spark_ext.lake_containment_join(spark, lake.path, threshold=0)
    with pytest.raises(InvalidParameterError, match="`min_cardinality` must be at least 1, got 0"):
        spark_ext.lake_containment_join(spark, lake.path, min_cardinality=0)
