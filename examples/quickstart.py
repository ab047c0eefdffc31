"""The five-minute tour: build an index of the example lake, find what joins, join it.

Run it with ``python examples/quickstart.py``; ``--inline`` builds in this process instead of on Spark.
"""

import sys
import tempfile
from pathlib import Path

import pandas as pd

import dfjoin

HERE = Path(__file__).parent


def main() -> None:
    """Take the tour."""
    engine = "inline" if "--inline" in sys.argv else "spark"
    index = Path(tempfile.mkdtemp()) / "example.dfjoin"
    lake = dfjoin.build_lake(HERE / "lake", index, engine=engine)
    print(lake)

    df = pd.read_csv(HERE / "facilities.csv")
    hits = df.discover_joinable("Country", lake, k=5)
    print("\nWhat joins with `Country`:")
    print(hits)
    print("\nWhy the first one:")
    print(hits.explain(0))

    wide = df.auto_join(lake, on="Country")
    print("\nJoined:")
    print(wide.to_string())
    print()
    print(dfjoin.report(wide))

    # The same columns again, for new rows.
    new = pd.DataFrame({"Country": ["spain", "Kenya"]})
    again = new.auto_join(wide.attrs["dfjoin"]["plan"])
    print("\nThe same join for new rows:")
    print(again.to_string())

    # `Postal` was read as numbers and has lost its zeros: dfjoin notices, and says what to do.
    print("\nWhat joins with `Postal`:")
    print(df.discover_joinable("Postal", lake, pad=5))


if __name__ == "__main__":
    main()
