"""Keys of several columns on the way to a table, against merges by hand."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError
from dfjoin.join.lakes.path_search import PathOptions
from dfjoin.join.lakes.table_hops import PathTable, path_keys
from dfjoin.join.lakes.table_paths import path_tables

LANDS = [f"{a}{b}{c}ia" for a in "bd" for b in ("ar", "el", "os") for c in "klmnr"]
YEARS = np.arange(1990, 2010)


@pytest.fixture
def panel(rng):
    """A table of lands and years."""
    rows = pd.MultiIndex.from_product([LANDS, YEARS], names=["land", "year"]).to_frame(index=False)
    return rows.assign(rain=rng.normal(size=len(rows)), trade=rng.normal(size=len(rows)))


@pytest.fixture
def df(panel, rng):
    return panel[["land", "year"]].sample(300, random_state=3).assign(v=rng.normal(size=300)).reset_index(drop=True)


def only(df, lake, **options):
    (found,) = path_tables(df, lake.snapshot, PathOptions(max_hops=1, **options))
    return found


@pytest.mark.parametrize("on", [None, (("land", "year"),)])
def test_a_panel_is_joined_on_land_and_year(build, panel, df, on):
    found = only(df, build({"panel": panel.sample(frac=1, random_state=1)}), on=on)
    assert isinstance(found, PathTable) and set(found.hops[0].on) == {"land", "year"}
    expected = df.merge(panel, on=["land", "year"], how="left")
    np.testing.assert_allclose(found.frame[found.new_columns["rain"]], expected["rain"])
    assert found.hops[0].relationship == "1:1" and " + " in found.text.split(" → ")[0]


def test_a_named_key_is_that_key_alone(build, panel, df):
    lake = build({"panel": panel, "lands": pd.DataFrame({"land": LANDS, "area_of_it": np.arange(len(LANDS)) / 7})})
    found = {
        r.hops[-1].table: r for r in path_tables(df, lake.snapshot, PathOptions(on=(("land", "year"),), max_hops=1))
    }
    assert list(found) == ["panel"]
    both = PathOptions(on=path_keys([["land", "year"], "land"]), max_hops=1)
    found = {r.hops[-1].table: r.hops[-1].on for r in path_tables(df, lake.snapshot, both)}
    assert found == {"panel": ("land", "year"), "lands": ("land",)}


def test_no_second_column_is_one_that_may_never_be_a_key(build, panel, df):
    found = only(df, build({"panel": panel}), never=("year",))
    assert found.reason == "m:m: keys stand in several rows on both sides"


def test_rows_behind_a_key_of_two_columns_are_reached(build, panel, df, rng):
    codes = [f"K{i:04d}q" for i in rng.permutation(len(panel))]
    lake = build(
        {"panel": panel.assign(code=codes), "facts": pd.DataFrame({"code": codes, "size": np.arange(600) / 7})}
    )
    found = {r.table: r for r in path_tables(df, lake.snapshot, PathOptions(on=(("land", "year"),)))}
    expected = df.merge(panel.assign(size=np.arange(600) / 7), on=["land", "year"], how="left")["size"]
    np.testing.assert_allclose(found["facts"].frame[found["facts"].new_columns["size"]], expected)
    paths = lake.paths(df, "facts", on=["land", "year"])
    assert paths["path"].tolist() == ["land + year → panel.code → facts"] and paths["on"].tolist() == ["land + year"]


def test_keys_are_columns_of_the_frame(build, panel, df):
    lake = build({"panel": panel})
    with pytest.raises(ColumnNotFoundError, match="`on` must name a column"):
        list(path_tables(df, lake.snapshot, PathOptions(on=(("land", "month"),))))
    with pytest.raises(InvalidParameterError, match="`on` must name at least one column, got an empty list"):
        path_keys([["land"], []])
