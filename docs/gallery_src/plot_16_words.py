"""
Find tables by words
====================

Before there is a frame to join, tables are found by words in their names, columns and values.
"""

import tempfile

from matplotlib import pyplot

import dfjoin

lake = dfjoin.build_lake("data", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
found = lake.search("country currency", k=8)
_, ax = pyplot.subplots(figsize=(8, 3), layout="constrained")
ax.barh(found["table"][::-1], found["score"][::-1], color="#1f4e79")
ax.set_xlabel("score (BM25)")

# %%
found
