"""Which columns make vectors: the argument `axes`, and headers of places."""

import pytest

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.vectors.axis_specs import AxisSpec, check_axes, find_places, order_of_place


def test_entries_of_axes():
    assert check_axes(None) == () and check_axes([]) is None
    assert check_axes([["x", "y"], ["v"]]) == (AxisSpec(("x", "y"), (1.0, 1.0)), AxisSpec(("v",), (1.0,)))
    assert check_axes([{"x": 1, "t": 0.5}]) == (AxisSpec(("x", "t"), (1.0, 0.5)),)
    place = AxisSpec(("lat", "lon"), (1.0, 1.0), True)
    assert check_axes([["lon", "lat"]]) == check_axes([["lat", "lon"]]) == (place,)
    assert check_axes([{"places": ["north", "east"]}]) == (AxisSpec(("north", "east"), (1.0, 1.0), True),)
    assert check_axes([{"places": 2.0}]) == (AxisSpec(("places",), (2.0,)),)
    assert AxisSpec.from_dict(place.to_dict()) == place


@pytest.mark.parametrize(
    ("axes", "error", "text"),
    [
        (
            "lat",
            InvalidTypeError,
            "`axes` must be a list of lists of column names, as .*got 'lat'; \\[\\] indexes none",
        ),
        ({"x": 1}, InvalidTypeError, "`axes` must be a list of lists"),
        (1, InvalidTypeError, "`axes` must be a list of lists .*got 1"),
        (["x"], InvalidTypeError, "each entry of `axes` must be a list of column names, a dict of column name"),
        ([[1, 2]], InvalidTypeError, "each entry of `axes` must be a list of column names"),
        ([[]], InvalidParameterError, "each entry of `axes` must name 1 to 64 different columns, got \\[\\]"),
        ([["x", "x"]], InvalidParameterError, "must name 1 to 64 different columns"),
        ([{"places": ["x"]}], InvalidParameterError, "must name 2 different columns"),
        ([{"x": 0}], InvalidParameterError, "a scale of `axes` must be a finite number above 0, got 0"),
        ([{"x": True}], InvalidParameterError, "a scale of `axes` must be a finite number above 0, got True"),
        ([["x"]] * 1001, InvalidParameterError, "`axes` must have at most 1000 entries, got 1001"),
    ],
)
def test_illegal_axes(axes, error, text):
    with pytest.raises(error, match=text):
        check_axes(axes)


@pytest.mark.parametrize(
    "values",
    [
        {"columns": [], "scales": [], "is_place": False},
        {"columns": ["a"], "scales": [-1], "is_place": False},
        {"columns": ["a"], "scales": [float("inf")], "is_place": False},
        {"columns": ["a"], "scales": [1], "is_place": True},
        {"columns": ["a", "b"], "scales": [1], "is_place": False},
    ],
)
def test_a_damaged_manifest_is_refused(values):
    with pytest.raises(ValueError, match=r"axes are 1 to 64 columns with a scale above 0 each|a place has two columns"):
        AxisSpec.from_dict(values)


@pytest.mark.parametrize(
    ("headers", "order"),
    [
        (["lat", "lon"], (0, 1)), (["LONGITUDE", "Latitude"], (1, 0)), (["Latitude (Y)", "Longitude (X)"], (0, 1)),
        (["pickupLat", "pickupLng"], (0, 1)), (["geo.latitude", "geo.longitude"], (0, 1)), (["reclat", "reclong"], (0, 1)),
        (["lat", "long"], (0, 1)), (["latitude_deg", "longitude_deg"], (0, 1)), (["start_lat", "end_lng"], None),
        (["platform", "londonderry"], None), (["a", "b"], None), (["lat", "lat"], None), (["lat"], None), ([1, 2], None),
    ],
)  # fmt: skip
def test_headers_of_places(headers, order):
    assert order_of_place(headers) == order


def test_a_longitude_belongs_to_one_latitude():
    assert find_places(["end_lng", "start_lat", "end_lat", "start_lng", "lat"]) == [(1, 3), (2, 0)]
    assert find_places([]) == [] and find_places(["lat", "lat ", "lon"]) == [(0, 2)]
