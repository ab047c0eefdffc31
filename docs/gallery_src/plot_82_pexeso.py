"""
PEXESO: how many distances are left
===================================

PEXESO (Dong, Takeoka, Xiao and Oyamada, ICDE 2021) finds the columns with vectors near those of a query, and prunes: of
all pairs of a query value and a vector of the lake few are compared, the fewer the smaller the radius is. ``"pexeso"``
is the plan of the paper, by pivots; ``"tree"`` is the plan of dfjoin. It puts vectors that are near each other into
cells, and leaves out a cell whose centre is too far away. Vectors of n-grams have many dimensions, in which pivots
prune little: above a radius of 0.1 nearly all pairs are left.
"""

import tempfile

import pandas as pd
from matplotlib import pyplot

import dfjoin

lake = dfjoin.build_lake(
    "data",
    tempfile.mkdtemp() + "/lake",
    engine="inline",
    progress=False,
    embedder="ngrams",
    tables=["s-and-p*/*", "country-*/*", "football/*", "currency-codes/*"],
)
names = pd.read_csv("data/s-and-p-500-companies/constituents.csv")[["Security"]].iloc[::10]
radii = [0.1, 0.2, 0.3, 0.4]
left = {}
for plan in ("pexeso", "tree"):
    found = [names.discover_joinable("Security", lake, mode="embedding", radius=r, plan=plan, k=5) for r in radii]
    left[plan] = [hits.explain(0).found_by["distances"] for hits in found]

_, ax = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
for (plan, distances), style in zip(left.items(), ("--", "-"), strict=True):
    ax.plot(radii, distances, style, marker="o", color="#1f4e79", label=plan)
every = names.discover_joinable("Security", lake, mode="embedding", radius=0.7, plan="pexeso", k=5)  # prunes nothing
n_pairs = every.explain(0).found_by["distances"]
ax.axhline(n_pairs, color="#52606d", linewidth=0.8)
ax.annotate("all pairs", (radii[0], n_pairs), (0, 3), textcoords="offset points", fontsize=8)
ax.set(xlabel="radius", ylabel="distances computed", yscale="log", ylim=(1, 3 * n_pairs))
ax.legend(frameon=False)

# %%
pd.DataFrame(left, index=pd.Index(radii, name="radius"))
