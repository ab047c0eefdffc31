"""Random joins in Spark beside the same joins in pandas, in several settings of the session.

``python -m tests.benchmarks.spark_parity [cases] [seed]``: each case is a random pair of frames, random options, and one
of four settings (zone, ANSI, case rule, adaptive execution, fallback of Arrow); it is joined by pandas, with a right
frame whose keys come to the driver, and with one that is held to be large. Prints the number of cases, and each
difference of rows, or of schemas between the two joins of Spark, with the seed that makes it again. ``SPARK_REMOTE=local[2]``
does it through Connect, ``SPARK_MASTER=local-cluster[2,1,1024]`` on a standalone cluster of this machine.
"""

from __future__ import annotations

import datetime
import itertools
import os
import sys
import time
import warnings

import numpy as np
import pyarrow as pa

import spark_ext
from dfjoin.errors import DfjoinError
from spark_ext import join as spark_join
from spark_ext.session import start_session
from tests.benchmarks.spark_searches import cpu_seconds
from tests.spark.frames import pair, rows

_SETTINGS = [
    {
        "spark.sql.session.timeZone": zone,
        "spark.sql.ansi.enabled": ansi,
        "spark.sql.caseSensitive": case,
        "spark.sql.adaptive.enabled": adaptive,
        "spark.sql.execution.arrow.pyspark.fallback.enabled": ansi,
    }
    for zone, ansi, case, adaptive in (
        ("UTC", "true", "false", "true"),
        ("Asia/Kolkata", "false", "true", "true"),
        ("America/New_York", "true", "true", "false"),
        ("Asia/Kolkata", "true", "false", "false"),
    )
]
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Compiling Java for a dozen rows takes longer than the join."""

_DAY = datetime.date(2024, 3, 9)
_KEYS = {
    "text": ["a", "A ", "b", "Zürich", "STRASSE", "straße", "1", "01", "1.0", "NA", "-", "", None],
    "codes": ["001", "1", "10", "00010", "7.50", None],
    "int": [1, 2, 3, -3, 10, None],
    "float": [1.0, 2.5, -0.0, 3.0, float("nan"), None],
    "day": [_DAY + datetime.timedelta(days=n) for n in range(4)] + [None],
    "time": [datetime.datetime(2024, 3, 9) + datetime.timedelta(hours=6 * n) for n in range(6)] + [None],
    "spelled": ["2024-03-09", "10 March 2024", "2024-03-11 06:00:00", "12 Main Street 90210", "x", None],
}
_TYPES = {"int": pa.int64(), "float": pa.float64(), "day": pa.date32(), "time": pa.timestamp("us")}
_VALUES = {
    "n": (pa.int32(), [1, 2, 3, None]),
    "x": (pa.float64(), [0.5, 1.5, 2.5, None]),
    "s": (pa.string(), ["p", "q", "r", "", None]),
    "f": (pa.bool_(), [True, False, None]),
    "d": (pa.date32(), _KEYS["day"]),
    "t": (pa.timestamp("us"), _KEYS["time"]),
}


def _column(rng, type_, values, n):
    return pa.array([values[i] for i in rng.integers(0, len(values), n)], type_)


def _case(rng):
    """Make the columns of both frames, and options."""
    n_left, n_right = int(rng.integers(1, 12)), int(rng.integers(1, 12))
    kind = str(rng.choice(list(_KEYS)))
    alike = {"text": ["codes"], "codes": ["text", "int"], "int": ["float", "codes"], "float": ["int"]}
    alike |= {"day": ["time", "spelled"], "time": ["day", "spelled"], "spelled": ["day", "time"]}
    other = str(rng.choice([kind, kind, *alike[kind]]))
    left = {"k": _column(rng, _TYPES.get(kind, pa.string()), _KEYS[kind], n_left), "row": pa.array(range(n_left))}
    right = {
        "k": _column(rng, _TYPES.get(other, pa.string()), _KEYS[other], n_right),
        "place": pa.array(range(n_right)),
    }
    on = ["k"]
    if rng.random() < 0.3:
        left["k2"], right["k2"] = (_column(rng, pa.string(), _KEYS["text"][:3], n) for n in (n_left, n_right))
        on = ["k2", "k"]
    for name in rng.choice(list(_VALUES), 3, replace=False).tolist():
        right[name] = _column(rng, *_VALUES[name], n_right)
    options = {"how": str(rng.choice(["left", "left", "inner", "outer", "right"])), "on_no_match": "ignore"}
    options |= {"aggregate": rng.choice([None, None, "first", "last", "auto"]), "indicator": bool(rng.random() < 0.3)}
    if len(on) > 1 and kind in ("day", "time") and other in ("day", "time") and rng.random() < 0.6:
        options["how"] = "asof"
    return left, right, on if len(on) > 1 else "k", options


def _outcome(run):
    """Return the rows of a join without its filled keys, and its schema; what was raised where it is dfjoin's."""
    try:
        found = run()
        schema = getattr(found, "schema", None)
        names = [name for name in found.columns if name not in ("k", "k2")]
        return rows(found[names] if schema is None else found.select(*names)), schema
    except DfjoinError as error:
        return type(error).__name__, None


def main(cases=2000, seed=0):
    """Print the differences."""
    master = os.environ.get("SPARK_MASTER", "local[2]")
    spark = start_session(**{"spark.master": master})
    for name, value in {"spark.sql.shuffle.partitions": "2", **_INTERPRETED}.items():
        spark.conf.set(name, value)  # Connect takes none at the start
    spark_ext.enable(spark)
    warnings.simplefilter("ignore")
    begin, differences = time.monotonic(), 0
    few = spark_join._SMALL_ROWS
    for number, settings in zip(range(cases), itertools.cycle(_SETTINGS), strict=False):
        for name, value in settings.items():
            spark.conf.set(name, value)
        left, right, on, options = _case(np.random.default_rng([seed, number]))
        (mine, own), (theirs, others) = pair(spark, **left), pair(spark, **right)
        options |= {"on": on, "transform": False, "fuzzy": False} if options["how"] != "asof" else {"on": on}
        if number % 3 == 0:  # times of the session's clock, too
            own, others = (
                frame.selectExpr(
                    *(f"cast({n} AS timestamp) AS {n}" if t == "timestamp_ntz" else n for n, t in frame.dtypes)
                )
                for frame in (own, others)
            )
        want, _ = _outcome(lambda: mine.auto_join(theirs, **options))
        found, schemas = [], []
        for most in (few, 1):
            spark_join._SMALL_ROWS = most
            result, schema = _outcome(lambda: own.auto_join(others, **options))
            found.append(result)
            schemas.append(schema)
        spark_join._SMALL_ROWS = few
        for what, one, two in (
            ("pandas, small", want, found[0]),
            ("small, large", found[0], found[1]),
            ("schemas", schemas[0], schemas[1]),
        ):
            if one != two:
                differences += 1
                types = left["k"].type, right["k"].type
                print(f"case {number} of seed {seed}: {what}: {options} {types}\n  {one}\n  {two}", flush=True)
        if number % 10 == 9:
            print(f"{number + 1} cases, {differences} differences, {_seconds(begin)}", flush=True)
    print(f"{cases} cases, {differences} differences, {_seconds(begin)}")


def _seconds(begin):
    """Return wall seconds since a time, and the CPU seconds of this process and of those below it."""
    used = cpu_seconds(os.getpid())
    told = ", ".join(f"{name} {seconds:.0f}" for name, seconds in used.items() if seconds >= 1)
    return f"{time.monotonic() - begin:.0f} s; CPU seconds: {told}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
