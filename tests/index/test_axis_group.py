"""The groups `axes`: what they hold, and damage that is found."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.errors import IndexCorruptedError
from dfjoin.index.axis_group import axis_spaces
from dfjoin.index.components import AXES
from dfjoin.vectors.axis_points import place_points

FRAMES = {
    "a": pd.DataFrame({"lat": [1.0, 2.0, 2.0], "lon": [5.0, 6.0, 6.0], "x": [1.0, 2.0, 1e300]}),
    "b": pd.DataFrame({"lat": [2.0, 3.0], "lon": [6.0, 7.0], "x": [2.0, -0.0]}),
}


def test_points_and_the_sets_that_hold_them(build):
    (segment,) = build(FRAMES, axes=[["x"]]).segments
    spaces = axis_spaces(segment)
    assert [space.shape for space in spaces] == [(1, 1, (1.0,)), (2, 3, (1.0, 1.0))]
    number, place = spaces
    held = [sorted(np.asarray(number.rows)[number.points_of(i)].ravel().tolist()) for i in range(2)]
    assert held == [[1, 2, 1e300], [0, 2]] and number.sizes.tolist() == [3, 2]
    assert place.shape.is_place and place.sizes.tolist() == [2, 2] and len(place.rows) == 3
    names = [[segment.catalog.column_name(c) for c in columns] for columns in place.columns]
    assert names == [["lat", "lon"]] * 2
    points = np.asarray(place.rows)[place.points_of(1)]
    expected = place_points(np.array([2.0, 3.0]), np.array([6.0, 7.0]))
    np.testing.assert_array_equal(np.sort(points, axis=0), np.sort(expected, axis=0))
    assert {c.name for c in segment.meta.groups_of("axes")[0].components} == set(AXES)


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        ("axis_group", lambda a: a + 9, r"its numbers go from -?\d+ to -?\d+ where there are"),
        ("axis_columns", lambda a: a + 99, r"its numbers go from -?\d+ to -?\d+ where there are"),
        ("axis_lists", lambda a: a - 9, r"its numbers go from -?\d+ to -?\d+ where there are"),
        ("axis_indptr", lambda a: a[::-1], r"it goes from \d+ to 0, not from 0 to"),
        ("axis_unit", lambda a: -a, "component `axis_unit` .* it is -"),
    ],
)
def test_damage_is_found(build, name, change, text):
    lake = build(FRAMES)
    (segment,) = lake.segments
    (group,) = segment.meta.groups_of("axes")
    path = segment.directory / next(c.file for c in group.components if c.name == name)
    stored = np.load(path)
    with path.open("r+b") as stream:
        stream.seek(path.stat().st_size - stored.nbytes)
        stream.write(np.ascontiguousarray(change(stored)).astype(stored.dtype).tobytes())
    with pytest.raises(IndexCorruptedError, match=text):
        axis_spaces(lake.refresh().segments[0])
    assert lake.verify()
