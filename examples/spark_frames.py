"""Spark: search and join without leaving it. The lake, the frames and the results are in Spark or beside it.

Run it where pyspark is installed: ``python examples/spark_frames.py``. In a notebook of a cluster `spark` is there
already, and the index lies where executors read it.
"""

import tempfile
from pathlib import Path

import dfjoin
import spark_ext

HERE = Path(__file__).parent


def main() -> None:
    """Search a lake for a column of a Spark DataFrame, join it, and join two frames by a learned program."""
    spark = spark_ext.start_session()  # the active session, else a local one
    spark_ext.enable(spark)
    index = tempfile.mkdtemp() + "/lake.dfjoin"
    lake = dfjoin.build_lake(HERE / "lake", index, engine="inline", progress=False)

    facilities = spark.read.csv(f"file://{HERE / 'facilities.csv'}", header=True, inferSchema=True)
    hits = facilities.discover_joinable("Country", lake, k=3)
    print("What joins with `Country`:")
    for row in hits.select("table", "column", "score", "matched").collect():
        print(f"  {row['table']}: {row['column']}, {row['matched']} values, score {row['score']:.2f}")
    print("\nWhy the first one:")
    print(spark_ext.explain(hits, facilities, 0))

    wide = facilities.auto_join(hits.limit(1))
    print("\nJoined:")
    print(spark_ext.report(wide))
    for row in wide.select("facility", "Country", "capital").limit(3).collect():
        print(" ", row["facility"], row["Country"], row["capital"])

    left = spark.createDataFrame([("Curie, Marie",), ("Darwin, Charles",), ("Noether, Emmy",)], "name string")
    right = spark.createDataFrame(
        [("Marie Curie", 1867), ("Charles Darwin", 1809), ("Emmy Noether", 1882)], "person string, born int"
    )
    print("\nTwo frames whose keys are written differently:")
    print(spark_ext.report(left.auto_join(right)))

    facilities.createOrReplaceTempView("facilities")
    print("\nFrom SQL:")
    print([row[0] for row in spark.sql("SELECT dfjoin_normalize(' PARIS ')").collect()])
    call = f"dfjoin_discover(TABLE(SELECT Country FROM facilities), column => 'Country', lake => '{index}', k => 1)"
    print([row["table"] for row in spark.sql(f"SELECT * FROM {call}").collect()])


if __name__ == "__main__":
    main()
