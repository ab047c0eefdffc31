"""
Which tables help to predict
============================

``LakeAugmenter`` joins the tables that help to predict a target, and measures what each is worth on rows held out.
"""

import tempfile

import numpy as np
import pandas as pd

import dfjoin

lake = dfjoin.build_lake("../../examples/lake", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
areas = pd.read_csv("../../examples/lake/geo/countries.csv", keep_default_na=False)
rng = np.random.default_rng(7)
rows = areas.iloc[rng.integers(0, len(areas), 400)].reset_index(drop=True)
weight = rng.gamma(2.0, 10.0, 400)
cost = 5 + weight + 12 * np.log(rows["area_km2"].astype(float)) + rng.normal(0, 3, 400)
X = pd.DataFrame({"destination": rows["iso2"], "weight": weight})

augmenter = dfjoin.LakeAugmenter(lake, max_hops=1, random_state=0).fit(X, cost)
axes = augmenter.report_.plot_gains()

# %%
print(augmenter.report_)
