"""
Find what joins, and join it
============================

A list of facilities has a column ``Country``. Which tables of a folder of 26 say more about these countries?
"""

import tempfile

import pandas as pd

import dfjoin

lake = dfjoin.build_lake("../../examples/lake", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
facilities = pd.read_csv("../../examples/facilities.csv")
hits = facilities.discover_joinable("Country", lake, k=6)
axes = hits.plot_coverage()

# %%
# The best table is joined by one call. Every row stays, and no row is multiplied.
wide = facilities.auto_join(lake, on="Country")
print(dfjoin.report(wide))
wide
