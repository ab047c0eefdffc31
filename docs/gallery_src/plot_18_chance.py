"""
A match by chance, and a join that means something
==================================================

Small numbers are found in many columns. The score says how likely two columns mean the same; the count of shared values
does not.
"""

import tempfile

import pandas as pd
from matplotlib import pyplot

import dfjoin

lake = dfjoin.build_lake("data", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
companies = pd.read_csv("data/s-and-p-500-companies/constituents.csv")
frames = {"Symbol": companies[["Symbol"]], "Founded": companies[["Founded"]].head(300)}
_, ax = pyplot.subplots(figsize=(6, 4), layout="constrained")
for (name, frame), marker in zip(frames.items(), "os", strict=True):
    hits = frame.discover_joinable(name, lake, k=30, min_score=0)
    ax.plot(
        hits["containment"],
        hits["score"],
        marker,
        color="#1f4e79",
        fillstyle="full" if marker == "o" else "none",
        label=name,
    )
ax.set(xlabel="share of the values that are found", ylabel="score", xlim=(0, 1.03), ylim=(-0.03, 1.03))
ax.axhline(0.5, color="#52606d", linewidth=0.8, linestyle="--")
ax.legend(frameon=False)
