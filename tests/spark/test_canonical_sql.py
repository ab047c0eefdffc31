"""The canonical form as Spark SQL against the one of Python, over all characters."""

import sys

import numpy as np
import pyarrow as pa
import pytest

from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from dfjoin.values.unicode import UNICODE_VERSION
from spark_ext import compiled_fold
from spark_ext.canonical_sql import FOLD, KeyClasses, key_sql
from spark_ext.join_keys import with_sql
from spark_ext.transfer import collect, to_spark
from tests.spark.frames import configured

pytestmark = pytest.mark.spark

SETTINGS = IndexSettings(null_evidence=False)


def both(spark, texts):
    """Return the canonical forms by Spark and by Python."""
    frame = to_spark(spark, pa.table({"t": pa.array(texts, pa.string())}))
    classes = KeyClasses(True, True, False, False)
    found = collect(with_sql(frame, key_sql("t", "string", classes, SETTINGS, None), "k").select("t", "k"))
    values = normalize_column(found.column("t").combine_chunks(), SETTINGS)
    want = pa.array(values.values(), pa.string()).take(pa.array(values.codes, mask=values.codes < 0))
    return found.column("t").to_pylist(), found.column("k").to_pylist(), want.to_pylist()


def test_every_character(spark):
    """Each one alone, up to the CJK blocks between letters, too; Python's version of Unicode has to know it."""
    import unicodedata

    assert unicodedata.unidata_version == UNICODE_VERSION
    points = np.setdiff1d(np.arange(1, sys.maxunicode + 1), np.arange(0xD800, 0xE000))
    known = [chr(point) for point in points.tolist() if unicodedata.category(chr(point)) not in ("Cn", "Co")]
    texts, found, want = both(spark, [*known, *(f"A{char}b" for char in known if char < "\u3200")])
    differ = [(text, one, other) for text, one, other in zip(texts, found, want, strict=True) if one != other]
    assert not differ, (len(differ), differ[:20])


@pytest.mark.parametrize("way", ["compiled", "by SQL, as on Connect", "in Python, where SQL is refused"])
def test_spaces_nulls_and_numbers(spark, way, monkeypatch):
    if way != "compiled":
        monkeypatch.setattr(compiled_fold, "fold_compiled", lambda frame, name: None)
        assert compiled_fold._allows_reflection(spark)
    if way.startswith("in Python"):
        monkeypatch.setattr(compiled_fold, "_reflects", {})
        monkeypatch.setattr(compiled_fold, "FOLD", "java_method('no.such.Class', 'fold', {0})")
    spaced = [
        f"{a}X{b}y{c}" for a in ("", " ", "\t") for b in ("", " ", "  ", "\t", " \n", "\x1f") for c in ("", " ", "\r")
    ]
    texts = [
        *spaced,
        None,
        "",
        " ",
        "\x7f",
        "a\x00b",
        "~",
        "1.0",
        "-0",
        "-0.00",
        "007",
        "1.50",
        "12.0 ",
        "e\u0301",
        "ﬁ\tﬂ",
    ]
    _, found, want = both(spark, texts)
    assert found == want
    if way.startswith("in Python"):
        assert compiled_fold._reflects == {spark: False}


@pytest.mark.parametrize("policy", ["CORRECTED", "LEGACY"])
def test_dates_and_times(spark, policy):
    """Whatever formatter a session asks for: that of Spark 2 has no microseconds."""
    moments = ["1500-01-01T00:00:00.5", "2020-01-06T00:00:00.000001", "2020-01-06", "9999-12-31T23:59:00.1", "NaT"]
    at = pa.array(np.array(moments, "datetime64[us]"))
    columns = ("cast(at AS timestamp_ntz) AS at", "cast(at AS date) AS day")
    frame = to_spark(spark, pa.table({"at": at})).selectExpr(*columns)
    with configured(spark, {"spark.sql.legacy.timeParserPolicy": policy}):
        for name, values in (("at", at), ("day", at.cast(pa.date32(), safe=False))):
            sql = key_sql(name, frame.schema[name].dataType.simpleString(), KeyClasses(), SETTINGS, None)
            found = collect(with_sql(frame, sql, "k").select("k")).column("k").to_pylist()
            canonical = normalize_column(values, SETTINGS)
            assert found == [*(canonical.values()[code] for code in canonical.codes[:-1]), None]


def test_the_fold_is_compiled_into_the_stage(spark):
    """Nothing of it is looked up by reflection, and Spark compiles the projection with what is before it."""
    frame = spark.range(3).selectExpr("concat('A', id) AS t")
    plan = with_sql(frame, ["t", FOLD], "k")._jdf.queryExecution().executedPlan().toString()
    assert "reflect(" not in plan and "foldCase" in plan
    assert plan.count("*(1) ") == 3, plan  # a projection, one before it, and the rows
