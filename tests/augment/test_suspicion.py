"""Columns that are made of the target, and columns that only follow it."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.augment.encoding import encode_column, encode_target
from dfjoin.augment.suspicion import banded, combined, includes_own_rows, parts_of_target

N = 600


def bands(column, y):
    return banded(encode_column(pd.Series(column)), encode_target(y, "auto"))


def test_bands_of_numbers(rng):
    y = rng.normal(size=N)
    for n in (2, 5, 10, 60):
        band = np.digitize(y, np.quantile(y, np.arange(1, n) / n))
        names = rng.permutation(n)[band]
        assert bands(names.astype(str), y) == f"its {n} values are bands of the target, which do not overlap"
    moved = np.digitize(y, [-1, -0.3, 0.3, 1])
    moved[:4] = 4 - moved[:4]
    assert bands(moved, y), "four rows out of place"
    moved[:40] = 4 - moved[:40]
    assert bands(moved, y) == "", "forty"
    assert bands(np.digitize(y + 0.2 * rng.normal(size=N), [-1, -0.3, 0.3, 1]), y) == "", "noise"
    assert bands(rng.integers(0, 5, N), y) == ""
    assert bands(np.arange(N), y) == "", "a value for each row"
    assert bands(y > np.sort(y)[-4], y) == "", "three rows are few"
    assert bands(np.where(y > 0, 1.0, np.nan), y), "null is a value"
    assert bands(["x"] * N, y) == ""


def test_groups_of_classes(rng):
    y = rng.choice(list("abcd"), N)
    assert bands(np.isin(y, ["a", "b"]), y) == "each class of the target has one value of it"
    assert bands(np.isin(y, ["a", "b"]) ^ (rng.random(N) < 0.2), y) == ""
    assert bands(rng.integers(0, 2, N), y) == ""


@pytest.mark.parametrize("scale", [1.0, 1e9])
def test_parts(rng, scale):
    parts = scale * rng.gamma(2.0, size=(4, N))
    columns = [encode_column(pd.Series(part)) for part in parts]
    y = np.round(parts[0] + 0.5 * parts[2], 6)
    assert parts_of_target(columns, [], encode_target(y, "auto")) == ([0, 2], "added up")
    assert parts_of_target(columns, [columns[2]], encode_target(y, "auto")) == ([0], "added up")
    assert parts_of_target(columns, [columns[0], columns[2]], encode_target(y, "auto")) == ([], ""), "the frame has it"
    assert parts_of_target(columns, [], encode_target(parts[1] / parts[3], "auto")) == ([1, 3], "multiplied")
    assert parts_of_target(columns[:1], [], encode_target(y, "auto")) == ([], "")
    assert parts_of_target(columns, [], encode_target(y > y.mean(), "auto")) == ([], ""), "classes have no parts"
    assert parts_of_target([], [], encode_target(y, "auto")) == ([], "")


def test_pairs_of_columns_that_say_the_class(rng):
    y = rng.choice(["p", "q"], N)
    noise = rng.integers(0, 2, N)
    key = (y == "p") ^ (noise == 1)
    columns = [encode_column(pd.Series(column)) for column in (noise, rng.integers(0, 3, N), key, rng.normal(size=N))]
    assert combined(columns, encode_target(y, "auto")) == [(0, 2)]
    assert combined([columns[0], columns[2]], encode_target(y, "auto")) == [(0, 1)]
    assert combined(columns[:2], encode_target(y, "auto")) == []
    assert combined(columns, encode_target(rng.normal(size=N), "auto")) == []


def grouped(rng, n_rows):
    """Numbers of groups with an effect of their own each, and the groups."""
    groups = np.repeat(np.arange(80), n_rows)
    effect = rng.normal(size=80)
    return groups, effect, effect[groups] + rng.normal(size=groups.size)


@pytest.mark.parametrize("n_rows", [3, 8])
def test_group_means_that_count_the_own_rows(rng, n_rows):
    groups, _, y = grouped(rng, n_rows)
    own = pd.Series(y).groupby(groups).transform("mean")
    assert includes_own_rows(encode_column(100 * own + 7), encode_target(y, "auto"), groups)
    assert includes_own_rows(encode_column(own), encode_target(y, "auto")), "groups are told by their value"
    assert includes_own_rows(encode_column(7 - own), encode_target(y, "auto"), groups), "a mean of losses falls"
    share = pd.Series(y > 0, dtype=float).groupby(groups).transform("mean")
    assert includes_own_rows(encode_column(share), encode_target(y > 0, "auto"), groups), "shares of a class"


def test_means_of_other_rows_never_count_the_own(rng):
    """Independent draws: what is known of a group without the rows is told by none of 60."""
    for _ in range(20):
        groups, effect, y = grouped(rng, 5)
        target = encode_target(y, "auto")
        others = effect + rng.normal(size=80) / 5**0.5
        for column in (effect, others, np.exp(effect), -effect, -others):
            assert not includes_own_rows(encode_column(pd.Series(column[groups])), target, groups)


def test_too_few_groups_say_nothing(rng):
    y = rng.normal(size=N)
    own = pd.Series(y).groupby(np.arange(N) % 5).transform("mean")
    assert not includes_own_rows(encode_column(own), encode_target(y, "auto"))
    assert not includes_own_rows(encode_column(pd.Series(y)), encode_target(y, "auto")), "a group for each row"
    texts = encode_column(pd.Series(np.arange(N) // 4).astype(str))
    assert not includes_own_rows(texts, encode_target(y, "auto"))
