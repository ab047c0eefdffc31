"""
LCJoin: time against the number of sets
=======================================

LCJoin (Yang et al., VLDB Journal 2021) finds all pairs of sets of which one holds the other. The methods of the paper
intersect inverted lists at once; ``"scan"``, the default here, compares each set with those that hold its rarest
element.
Sets are the rows of a made collection with skewed elements, as in the paper, doubled from step to step.
"""

import time

import numpy as np
from matplotlib import pyplot

import dfjoin

rng = np.random.default_rng(1)
sizes = [2_000, 4_000, 8_000, 16_000]
methods = {"scan": "o-", "cross": "s--", "tree": "^:", "partitions": "D-."}
spent = {method: [] for method in methods}
for n in sizes:
    elements = np.minimum(rng.zipf(1.3, 8 * n), 10_000).astype(np.int64)
    indptr = np.arange(0, 8 * n + 1, 8)
    for method in methods:
        if n == sizes[0]:
            dfjoin.containment_join((indptr[:9], elements[:64]), method=method).count()  # compiles
        start = time.process_time()
        dfjoin.containment_join((indptr, elements), method=method).count()
        spent[method].append(1000 * (time.process_time() - start))

_, ax = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
for method, style in methods.items():
    ax.plot(sizes, spent[method], style, color="#1f4e79")
    ax.annotate(method, (sizes[-1], spent[method][-1]), (8, 0), textcoords="offset points", va="center")
ax.set(xlabel="sets of 8 elements", ylabel="CPU ms", yscale="log", xscale="log")
ax.spines[["top", "right"]].set_visible(False)
