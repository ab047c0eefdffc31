"""
Codes that have lost their zeros
================================

A spreadsheet made ``2108`` of the postal code ``02108``. The search notices, and the join puts the zeros back.
"""

import tempfile
import warnings

import pandas as pd
from matplotlib import pyplot

import dfjoin

lake = dfjoin.build_lake("../../examples/lake", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
stations = pd.DataFrame({"zip": [2108, 3301, 4330, 5602, 6103, 94203], "passengers": [9, 4, 3, 2, 5, 7]})
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    plain = stations.merge(
        pd.read_csv("../../examples/lake/usa/zip_codes.csv", dtype=str)
        .astype({"zip": int})
        .assign(zip=lambda t: t["zip"].astype(str).str.zfill(5)),
        left_on=stations["zip"].astype(str),
        right_on="zip",
        how="left",
    )
    wide = stations.auto_join(lake, on="zip")
print(dfjoin.report(wide))

_, ax = pyplot.subplots(figsize=(6, 1.8), layout="constrained")
ax.barh(["auto_join", "texts as they are"], [wide["city"].notna().sum(), plain["city"].notna().sum()], color="#1f4e79")
ax.set(xlabel="rows with a partner", xlim=(0, len(stations)))

# %%
wide
