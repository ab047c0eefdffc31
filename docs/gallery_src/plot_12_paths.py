"""
By way of another table
=======================

Shipments have a code of two letters, and the coordinates of capitals are filed by names of countries. The path between
them goes through a table that has both.
"""

import tempfile

import pandas as pd
from matplotlib import pyplot

import dfjoin

lake = dfjoin.build_lake("../../examples/lake", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
codes = ["FR", "JP", "BR", "KE", "NO", "AR", "DE", "IT", "ES", "PT", "EG", "MX"]
shipments = pd.DataFrame({"destination": codes, "weight": range(12)})
paths = lake.paths(shipments, "geo/capitals.csv")
paths

# %%
# The same as a picture: the frame at the left, a box for each table of the best path.
names = ["shipments." + paths["path"][0].split(" → ")[0], *paths["path"][0].split(" → ")[1:]]
_, ax = pyplot.subplots(figsize=(8, 1.4), layout="constrained")
for i, name in enumerate(names):
    ax.text(
        i, 0, name, ha="center", va="center", bbox={"boxstyle": "round", "facecolor": "#dbe5ee", "edgecolor": "#1f4e79"}
    )
    if i:
        ax.annotate("", (i - 0.32, 0), (i - 0.68, 0), arrowprops={"arrowstyle": "-|>", "color": "#1f4e79"})
ax.set(xlim=(-0.5, len(names) - 0.5), ylim=(-0.5, 0.5))
ax.set_axis_off()
