"""Made the index beside this file, once, with dfjoin 0.1.0; later versions have to open it as it is."""

import datetime
import sys
from pathlib import Path

import pandas as pd

import dfjoin


def main(index: Path) -> None:
    """Build, add, remove: a segment with tombstones and one without."""
    options = {"engine": "inline", "progress": False}
    cities = pd.DataFrame(
        {"city": ["Paris", "Lima", "Ōsaka", None], "since": [datetime.date(2020, 1, d) for d in (1, 2, 3, 4)]}
    )
    codes = pd.DataFrame({"code": ["007", "08", "1.0"], "number": [7, 8, 1], "share": [0.5, 1.5, 2.5]})
    gone = pd.DataFrame({"city": ["Paris", "Lima"]})
    lake = dfjoin.build_lake({"cities": cities, "codes": codes, "gone": gone}, index, **options)
    lake.add({"more": pd.DataFrame({"town": ["lima ", "PARIS", "Oslo"]})}, **options).remove("gone")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
