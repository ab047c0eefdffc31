"""
JOSIE: what is read, against k
==============================

JOSIE (Zhu, Deng, Nargesian and Miller, SIGMOD 2019) finds the k columns with the largest overlap. It reads posting
lists and sets in an order that lets it stop early. To read all posting lists (``"mergelist"``) costs the same for every
k. Here over 51 real tables, by the counts that each search gives: for k of 1 and 2 ``"probeset"`` and ``"josie"`` read
less, from 5 on they read more, as the lists of so small a lake are short and the sets of candidates are not.
"""

import tempfile

import pandas as pd
from matplotlib import pyplot

import dfjoin

lake = dfjoin.build_lake("data", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
names = {"football/england-2017-18-eng.1.csv": "Team 1", "country-codes/country-codes.csv": "ISO3166-1-Alpha-2"}
names |= {"s-and-p-500-companies/constituents.csv": "Symbol", "language-codes/language-codes-3b2.csv": "alpha2"}
ks = [1, 2, 5, 10, 20]
read = {plan: [] for plan in ("mergelist", "probeset", "josie")}
for plan, counts in read.items():
    for k in ks:
        total = 0
        for table, column in names.items():
            frame = pd.read_csv(f"data/{table}", keep_default_na=False)
            hits = frame.discover_joinable(column, lake, rank="matched", k=k, plan=plan)
            total += hits.explain(0).found_by["bytes_read"]
        counts.append(total / len(names))

_, ax = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
for (plan, counts), style in zip(read.items(), ("-", "--", ":"), strict=True):
    ax.plot(ks, counts, style, marker="o", color="#1f4e79", label=plan)
ax.set(xlabel="k", ylabel="bytes read, mean of four queries", ylim=(0, None))
ax.legend(frameon=False)
