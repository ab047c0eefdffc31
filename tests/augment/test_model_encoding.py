"""Columns that a model can be trained with, of any types, whatever the rows."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.augment.model_encoding import ModelEncoding
from dfjoin.errors import InvalidParameterError

N = 200


@pytest.fixture
def frame(rng):
    names = [f"{a}{b} street" for a in ["north", "south", "east", "west"] for b in range(50)]
    return pd.DataFrame(
        {
            "size": rng.normal(size=N),
            "is_open": rng.random(N) < 0.5,
            "day": pd.Timestamp("2024-02-28") + pd.to_timedelta(rng.integers(0, 300, N), unit="D"),
            "took": pd.to_timedelta(rng.integers(1, 90, N), unit="h"),
            "soil": rng.choice(["clay", "sand", None], N),
            "level": pd.Categorical(rng.choice(["low", "high"], N)),
            "place": names,
            "zoned": pd.date_range("2024-01-01", periods=N, tz="Europe/Rome"),
            "empty": pd.Series([None] * N, dtype=object),
        }
    )


def test_each_kind_of_column(frame):
    encoding = ModelEncoding(frame, 0)
    found = encoding.encode(frame)
    assert list(found) == encoding.names and (found.dtypes == np.float64).all() and found.index.equals(frame.index)
    np.testing.assert_array_equal(found["size"], frame["size"])
    np.testing.assert_array_equal(found["day_month"], frame["day"].dt.month)
    assert pd.Timestamp("1970-01-01") + pd.Timedelta(days=found["day_days"][3]) == frame["day"][3]
    np.testing.assert_allclose(found["took"], frame["took"].dt.total_seconds() / 86_400)
    np.testing.assert_array_equal(found["soil_clay"], (frame["soil"] == "clay").astype(float))
    assert not found.loc[frame["soil"].isna(), ["soil_clay", "soil_sand"]].any(axis=None)
    places = found.filter(like="place_").to_numpy()
    assert places.shape == (N, 10)
    north, south = places[:50], places[50:100]
    assert np.linalg.norm(north - north.mean(axis=0)) < np.linalg.norm(north - south.mean(axis=0)), "spelled alike"


@pytest.mark.filterwarnings("error")
def test_texts_of_rows_that_have_none(frame):
    encoding = ModelEncoding(frame, 0)
    found = encoding.encode(frame.head(3).assign(soil=np.nan, level=np.nan, place=np.nan))
    assert list(found) == encoding.names
    assert not found[["soil_clay", "soil_sand", "level_high", "level_low"]].any(axis=None)
    assert np.isfinite(found.filter(like="place_")).all(axis=None)


def test_names_that_are_taken():
    frame = pd.DataFrame({"soil": ["clay", "sand"] * 3, "soil_clay": np.arange(6.0)})
    found = ModelEncoding(frame, 0).encode(frame)
    assert list(found) == ["soil_clay__2", "soil_sand", "soil_clay"]
    np.testing.assert_array_equal(found["soil_clay"], frame["soil_clay"])


def test_texts_of_few_grams():
    frame = pd.DataFrame({"a": ["a" * i for i in range(1, 60)]})
    found = ModelEncoding(frame, 0).encode(frame)
    assert 1 <= found.shape[1] < 10 and np.isfinite(found).all(axis=None)


def test_objects_that_are_dates_or_numbers():
    days = pd.Series(pd.date_range("2024-01-30", periods=60))
    prices = np.linspace(0, 9, 60).round(2)
    frame = pd.DataFrame({"day": [*days.dt.date[:59], None], "price": [None, *map(Decimal, map(str, prices[1:]))]})
    encoding = ModelEncoding(frame, 0)
    found = encoding.encode(frame)
    assert list(found) == ["day_days", "day_year", "day_month", "day_day_of_week", "price"]
    np.testing.assert_array_equal(found["day_month"], days.dt.month.astype(float).where(np.arange(60) < 59))
    np.testing.assert_array_equal(found["price"], [np.nan, *prices[1:]])
    pd.testing.assert_frame_equal(encoding.encode(frame.tail(1)), found.tail(1))


def test_rows_that_are_encoded_later(frame):
    encoding = ModelEncoding(frame, 0)
    whole = encoding.encode(frame)
    pd.testing.assert_frame_equal(encoding.encode(frame.iloc[[5, 3]]), whole.iloc[[5, 3]])
    other = frame.head(2).assign(soil=["chalk", "sand"], place=[None, "new"], day=[pd.NaT, pd.Timestamp("2030-01-01")])
    found = encoding.encode(other)
    assert found.loc[0, ["soil_clay", "soil_sand"]].tolist() == [0, 0] and np.isnan(found.loc[0, "day_year"])
    assert encoding.encode(frame.iloc[:0]).shape == (0, len(encoding.names))


def test_an_augmenter_that_encodes_is_followed_by_a_model(world, world_lake, tmp_path):
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline

    augmenter = dfjoin.LakeAugmenter(world_lake, encode=True, max_hops=1, tables=["climate", "codes"], select=None, k=2)
    out = augmenter.fit(world.X, world.y).transform(world.X)
    assert list(out) == list(augmenter.get_feature_names_out()) and (out.dtypes == np.float64).all()
    assert augmenter.features_ != list(out) and "rain" in out
    polars = pytest.importorskip("polars")
    other = augmenter.transform(polars.from_pandas(world.X))
    assert isinstance(other, polars.DataFrame)
    pd.testing.assert_frame_equal(other.to_pandas(), out, check_dtype=False)
    pipeline = make_pipeline(dfjoin.LakeAugmenter(world_lake, encode=True, max_hops=1), SimpleImputer(), Ridge(100.0))
    base = make_pipeline(SimpleImputer(), Ridge(100.0))
    scores = cross_val_score(pipeline, world.X, world.y, cv=3)
    assert scores.mean() > cross_val_score(base, world.X[["weight"]], world.y, cv=3).mean() + 0.1
    with pytest.raises(InvalidParameterError, match="`encode` must be one of True, False, got"):
        dfjoin.LakeAugmenter(world_lake, encode="yes").fit(world.X, world.y)
