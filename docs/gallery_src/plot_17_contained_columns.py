"""
Which columns hold which
========================

All pairs of columns of which one holds all values of the other, or a share of them: candidates of keys, subsets and
copies.
"""

import tempfile

from matplotlib import pyplot

import dfjoin

lake = dfjoin.build_lake("data", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
pairs = lake.containment_join(threshold=0.5, min_cardinality=20).to_frame()
pairs = pairs[pairs.iloc[:, 0] != pairs.iloc[:, 2]]
_, ax = pyplot.subplots(figsize=(6, 2.8), layout="constrained")
ax.hist(pairs["containment"], bins=20, color="#1f4e79", edgecolor="white")
ax.set(xlabel="share of the left column that the right one holds", ylabel="pairs of columns")

# %%
pairs.head(10)
