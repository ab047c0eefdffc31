"""Rows and targets of all kinds, as a data scientist passes them."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.augment.input_rows import checked_target, draw_rows, split_target
from dfjoin.errors import ColumnNotFoundError, DfjoinWarning, InvalidParameterError

OPTIONS = {"max_hops": 1, "tables": ["climate", "noise0"]}


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame({"a": range(6)})


@pytest.mark.parametrize(
    ("y", "is_class"),
    [
        ([0.5, 1.5, 2.5, 3.5, 4.5, 5.5], False),
        (np.array([0.5, 1, 2, 3, 4, 5], dtype=object), False),
        ([Decimal("0.5")] * 3 + [Decimal("1.25")] * 3, False),
        (pd.Series([0.5, 1, 2, 3, 4, 5], dtype="double[pyarrow]"), False),
        (pd.Series([1, 2, 3, 1, 2, 3], dtype="Int64"), True),
        ([True, False] * 3, True),
        (pd.Series([True, False] * 3, dtype="boolean"), True),
        (["yes", "no"] * 3, True),
        (pd.Series(["yes", "no"] * 3, dtype="string"), True),
        (pd.Series(["yes", "no"] * 3, dtype="category"), True),
        (pd.Series(["a", "b", "c"] * 2).convert_dtypes(dtype_backend="pyarrow"), True),
    ],
)
def test_targets_of_all_dtypes(frame, y, is_class):
    target = checked_target(frame, y, "auto")
    assert target.is_class is is_class
    want = pd.factorize(np.asarray(y, dtype=object).astype(str), sort=True)[0]
    if is_class:
        same = target.codes[:, None] == target.codes
        np.testing.assert_array_equal(same, want[:, None] == want)
    else:
        np.testing.assert_allclose(target.values[:, 0] * np.asarray(y, float).std(), np.asarray(y, float))


@pytest.mark.parametrize("y", [[None, 1, 1, 1, 1, 1], [np.nan] + [0.5] * 5, [np.inf] + [0.5] * 5, ["a", None] * 3])
def test_rows_without_a_target_are_told(frame, y):
    with pytest.raises(InvalidParameterError, match="`y` must have a value in every row"):
        checked_target(frame, pd.Series(y), "auto")


def test_targets_of_another_shape_are_told(frame):
    with pytest.raises(ValueError, match="1d array"):
        checked_target(frame, np.zeros((6, 2)), "auto")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        checked_target(frame, [0.5] * 5, "auto")


def test_a_shuffled_index_is_warned_of(frame):
    y = pd.Series(np.arange(6) / 4)
    with pytest.warns(DfjoinWarning, match="`X` and `y` have the same index in another order"):
        checked_target(frame, y[::-1], "auto")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in (y, y.set_axis(list("abcdef")), y.set_axis([0] * 6), y.to_numpy()):
            checked_target(frame, other, "auto")


def test_of_many_classes_the_frequent_ones_are_told_apart(frame):
    labels = [f"c{i}" for i in range(30) for _ in range(30 - i)]
    target = checked_target(pd.DataFrame(index=range(len(labels))), labels, "auto")
    assert target.values.shape == (len(labels), 21)
    frequent = [f"c{i}" for i in range(20)]
    np.testing.assert_array_equal(target.codes == 20, ~np.isin(labels, frequent))
    assert len(set(target.codes[np.isin(labels, frequent)].tolist())) == 20


def test_the_target_is_taken_out():
    X = pd.DataFrame({"a": [1, 2], "y": [3, 4]})
    own, y = split_target(X, None, "y")
    assert list(own) == ["a"] and y.tolist() == [3, 4]
    own, y = split_target(X, [7, 8], "y")
    assert list(own) == ["a"] and y == [7, 8]
    assert split_target(X, None, None)[1] is None
    assert split_target(X[["a"]], [7, 8], "y")[1] == [7, 8]
    with pytest.raises(ColumnNotFoundError, match=r"`target` must name a column of X \('a', 'y'\), or pass y, got 'z'"):
        split_target(X, None, "z")
    with pytest.raises(ColumnNotFoundError, match="an array has no names"):
        split_target(X.to_numpy(), None, 1)


def test_rows_are_drawn_of_many():
    frame = pd.DataFrame({"a": np.arange(25_000)})
    target = checked_target(frame, np.arange(25_000) / 3, "auto")
    drawn, own, groups = draw_rows(frame, target, np.arange(25_000) % 7, 0, 600)
    rows = drawn["a"].to_numpy()
    assert len(rows) == 20_000 and (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(own.labels, rows / 3)
    np.testing.assert_array_equal(groups, rows % 7)
    assert draw_rows(frame[:9], None, None, 0, 600)[0].equals(frame[:9])


@pytest.mark.parametrize(("seconds", "n_rows"), [(0.1, 2_000), (3, 3_000), (20, 20_000), (600, 20_000)])
def test_a_small_budget_draws_fewer_rows(seconds, n_rows):
    frame = pd.DataFrame({"a": np.arange(25_000)})
    assert len(draw_rows(frame, None, None, 0, seconds)[0]) == n_rows


def test_several_levels_of_columns_are_told(world, world_lake):
    X = world.X.set_axis(pd.MultiIndex.from_product([["own"], list(world.X)]), axis=1)
    with pytest.raises(InvalidParameterError, match="`X` must have one name for each column, got columns of 2 levels"):
        dfjoin.LakeAugmenter(world_lake).fit(X, world.y)


def test_arrays_and_frames_in_turn(world, world_lake):
    """scikit-learn warns that names are missing and goes on by position; so does the augmenter."""
    framed = dfjoin.LakeAugmenter(world_lake, **OPTIONS).fit(world.X, world.y)
    want = framed.transform(world.X)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = framed.transform(world.X.to_numpy())
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found[:, 2].astype(float), want["rain"])
    plain = dfjoin.LakeAugmenter(world_lake, on="x0", **OPTIONS).fit(world.X.to_numpy(), world.y)
    assert plain.features_ == ["rain"]
    with pytest.warns(UserWarning, match="fitted without feature names"):
        found = plain.transform(world.X)
    assert list(found) == ["x0", "x1", "rain"]
    np.testing.assert_allclose(found["rain"], want["rain"])


def test_numbers_of_an_array_of_objects_are_numbers(world, world_lake):
    """The weight of an array that has texts too is a feature of the base, and no text."""
    found = dfjoin.LakeAugmenter(world_lake, **OPTIONS).fit(world.X.to_numpy(), world.y)
    assert found.report_.gain == dfjoin.LakeAugmenter(world_lake, **OPTIONS).fit(world.X, world.y).report_.gain


def test_frames_of_polars(world, world_lake):
    polars = pytest.importorskip("polars")
    X, y = polars.from_pandas(world.X), polars.Series(world.y.to_numpy())
    found = dfjoin.LakeAugmenter(world_lake, **OPTIONS).set_output(transform="polars").fit(X, y)
    out = found.transform(X)
    assert isinstance(out, polars.DataFrame) and out.columns == ["land", "weight", "rain"]
    np.testing.assert_array_equal(out["rain"].to_numpy(), world.frames["climate"]["rain"])
    named = dfjoin.LakeAugmenter(world_lake, target="cost", **OPTIONS)
    assert named.fit(X.with_columns(cost=y)).features_ == ["rain"]


@pytest.mark.parametrize(
    ("cut", "features"),
    [
        (lambda y: np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75])), ["rain"]),
        (lambda y: (y > np.quantile(y, 0.9)).astype(int), ["rain"]),
        (lambda y: (y > np.quantile(y, 0.99)).astype(int), []),
        (lambda y: ["one"] * len(y), []),
    ],
    ids=["four classes", "10 of 100", "1 of 100", "one class"],
)
def test_targets_of_many_and_of_rare_classes(world, world_lake, cut, features):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dfjoin.LakeAugmenter(world_lake, **OPTIONS).fit(world.X, cut(world.y))
    assert found.features_ == features
    assert list(found.transform(world.X.head())) == ["land", "weight", *features]
