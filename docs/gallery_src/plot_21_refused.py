"""
Nothing in common, nothing joined
=================================

Two tables whose keys agree by accident are not joined, and the report says why: an answer that is worth as much as a
join.
"""

from itertools import product

import numpy as np
import pandas as pd
from matplotlib import pyplot

import dfjoin

folder = "../../examples/lake/"
names = ["science/planets.csv", "sport/world_cups.csv", "geo/countries.csv", "geo/capitals.csv", "geo/rivers.csv"]
tables = {name: pd.read_csv(folder + name, keep_default_na=False) for name in names}
shares = np.full((len(names), len(names)), np.nan)
for (i, left), (j, right) in product(enumerate(names), repeat=2):
    if i < j:
        report = dfjoin.report(tables[left].auto_join(tables[right], on_no_match="ignore")).to_dict()
        shares[i, j] = sum(step["coverage"] for step in report["joined"])

_, ax = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
for i, j in zip(*np.nonzero(shares >= 0), strict=True):
    text = f"{shares[i, j]:.0%}" if shares[i, j] else "refused"
    ax.text(j, i, text, ha="center", va="center", color="white" if shares[i, j] > 0.5 else "black", fontsize=8)
short = [name.partition("/")[2] for name in names]
ax.set_xticks(range(len(names)), short, rotation=20)
ax.set_yticks(range(len(names)), short)
ax.set_title("share of the rows that find a partner", fontsize=10)

# %%
# Why planets are not joined with winners of world cups.
print(dfjoin.report(tables[names[0]].auto_join(tables[names[1]], on_no_match="ignore")))
