"""The page: search, join, transform and search again in the browser.

Run: python examples/explore.py; a line on standard input ends it.
"""

import sys
import tempfile
from pathlib import Path

import pandas as pd

import dfjoin

here = Path(__file__).parent
df = pd.read_csv(here / "facilities.csv")

with tempfile.TemporaryDirectory() as scratch:
    lake = dfjoin.build_lake(here / "lake", Path(scratch) / "example.dfjoin", engine="inline", progress=False)
    page = lake.explore(df, open_browser=sys.stdin.isatty())
    print(f"Open {page.url}", flush=True)
    sys.stdin.readline()
    page.stop()
