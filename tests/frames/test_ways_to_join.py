"""Each way of joining gives in polars and Arrow what it gives in pandas, and again by its plan."""

import datetime as dt
import warnings

import numpy as np
import polars as pl
import pytest

import dfjoin
from tests.benchmarks.frame_cases import cells, in_kind

RNG = np.random.default_rng(0)
DAYS = [dt.date(2024, 1, 1) + dt.timedelta(i) for i in range(8)]
WORDS = ["".join(RNG.choice(list("abcdefghijklmnop"), 9)) for _ in range(60)]
NAMES = [
    ("Obama, Barack(1961-)", "Barack Obama"),
    ("Bush, George W.(1946-)", "George W. Bush"),
    ("Clinton, Bill(1946-)", "Bill Clinton"),
    ("Carter, Jimmy(1924-)", "Jimmy Carter"),
]

JOINS = {
    "program": (
        pl.DataFrame({"name": [a for a, _ in NAMES]}),
        pl.DataFrame(
            {"president": [b for _, b in NAMES][::-1], "party": pl.Series(list("DRDD"), dtype=pl.Categorical)}
        ),
        {"indicator": True},
    ),
    "fuzzy": (
        pl.DataFrame({"w": WORDS}),
        pl.DataFrame({"v": [w[:-1] + "z" for w in WORDS], "n": list(range(60))}),
        {"on": "w", "right_on": "v", "fuzzy": True},
    ),
    "asof": (
        pl.DataFrame({"shop": ["a", "b", "a", "c"], "day": DAYS[3:7]}),
        pl.DataFrame(
            {
                "shop": ["A", "a", "b", None],
                "day": pl.Series(DAYS[:4]).cast(pl.Datetime("us")),
                "p": [1, 2, None, 4],
                "l": [[1], [2], None, [3]],
            }
        ),
        {"on": ["shop", "day"], "how": "asof"},
    ),
    "asof_dates": (
        pl.DataFrame({"day": DAYS[3:7]}),
        pl.DataFrame({"month": ["2024-01", "2023-12"], "p": [1, 2]}),
        {"on": "day", "right_on": "month", "how": "asof"},
    ),
    "composite": (
        pl.DataFrame({"a": ["x", "y", "x"], "b": pl.Series([1, 2, None], dtype=pl.UInt8)}),
        pl.DataFrame({"a": ["X", "Y"], "b": ["1", "2.0"], "v": [dt.time(1), None]}),
        {"on": ["a", "b"]},
    ),
    "geo": (
        pl.DataFrame({"lat": [1.0, 2.0, None], "lon": [3.0, 4.0, 5.0]}),
        pl.DataFrame({"lat": [1.001, 50.0], "lon": [3.0, 4.0], "n": ["p", "q"]}),
        {"on": ["lat", "lon"], "mode": "embedding", "radius": 10, "radius_unit": "km", "indicator": True},
    ),
    "points": (
        pl.DataFrame({"x": [1, 2, 30]}),
        pl.DataFrame({"y": pl.Series([1.2, 29.5], dtype=pl.Float32), "n": ["p", "q"]}),
        {"on": "x", "right_on": "y", "mode": "embedding", "radius": 1, "radius_unit": "absolute"},
    ),
    "vectors": (
        pl.DataFrame({"x": [[1.0, 2.0], [5.0, 6.0]]}),
        pl.DataFrame({"y": [[1.0, 2.1], [9.0, 9.0]], "n": ["p", "q"]}),
        {"on": "x", "right_on": "y", "mode": "embedding", "radius": 1, "radius_unit": "absolute"},
    ),
    "edits": (
        pl.DataFrame({"x": ["Switzerlnd"]}),
        pl.DataFrame({"y": pl.Series(["Switzerland"], dtype=pl.Enum(["Switzerland"])), "n": [1]}),
        {"on": "x", "right_on": "y", "mode": "fuzzy"},
    ),
    "elements": (
        pl.DataFrame({"codes": ["a1; b2", "c3; a1", "b2"] * 4}),
        pl.DataFrame({"code": ["a1", "b2", "c3"], "n": [1, 2, 3]}),
        {"on": "codes", "right_on": "code", "transform": True},
    ),
    "zeros": (
        pl.DataFrame({"zip": pl.Series([501, 502, 90210], dtype=pl.Int32)}),
        pl.DataFrame({"z": ["00501", "00502", "90210"], "n": [1, 2, 3]}),
        {"on": "zip", "right_on": "z"},
    ),
    "periods": (
        pl.DataFrame({"day": DAYS}),
        pl.DataFrame({"m": ["JAN 2024"], "n": [1]}),
        {"on": "day", "right_on": "m", "transform": True},
    ),
}


def _told(result):
    steps = dfjoin.report(result).to_dict()["joined"]
    return [{k: v for k, v in step.items() if k not in ("rows", "without_partner")} for step in steps]


@pytest.mark.parametrize("name", JOINS)
def test_each_way_of_joining_is_that_of_pandas(name):
    left, right, options = JOINS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted, *others = (
            dfjoin.auto_join(in_kind(left, kind, None), in_kind(right, kind, None), **options)
            for kind in ("pandas", "polars", "arrow")
        )
        assert _told(wanted)
        for result in others:
            assert cells(result) == cells(wanted)
            assert _told(result) == _told(wanted)
            again = dfjoin.auto_join(left, right, plan=dfjoin.report(result).to_dict()["plan"])
            assert cells(again) == cells(result)
