"""Two tables that do not join by equality: a program is learned, and can be taken along.

Run it with ``python examples/learned_join.py``. It needs no Spark.
"""

import sys
import tempfile
from pathlib import Path

import pandas as pd

import dfjoin

HERE = Path(__file__).parent


def main() -> None:
    """Join visits, which spell places in their own way, with the capitals of the example lake."""
    capitals = pd.read_csv(HERE / "lake" / "geo" / "capitals.csv", keep_default_na=False)
    visits = pd.DataFrame({"place": [f"{row.city} ({row.country})" for row in capitals.itertuples()][::-1]})
    visits["days"] = range(1, len(visits) + 1)

    wide = visits.auto_join(capitals, indicator=True)
    print(dfjoin.report(wide))

    (found,) = wide.attrs["dfjoin"]["joined"]
    program = dfjoin.Program.from_dict(found["relation"]["transform"]["programs"][0]["program"])
    print("\nThe same as Python:\n")
    print(program.to_python())
    print("\nThe same as Spark SQL:\n")
    print(program.to_spark_sql([f"`{column}`" for column in program.columns]))

    index = Path(tempfile.mkdtemp()) / "example.dfjoin"
    lake = dfjoin.build_lake(HERE / "lake", index, engine="inline", settings={"patterns": True}, progress=False)
    hits = visits.discover_joinable("place", lake, mode="transform", k=3)
    print("\nWhat joins in the lake after a program:\n")
    print(hits)
    print(hits.explain(0))


if __name__ == "__main__":
    sys.exit(main())
