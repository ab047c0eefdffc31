"""
What matches, and what does not
===============================

A hit can be looked at before it is joined: which of your values were found, and what the other table has beside them.
"""

import tempfile

import pandas as pd

import dfjoin

lake = dfjoin.build_lake("../../examples/lake", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
facilities = pd.read_csv("../../examples/facilities.csv")
hits = facilities.discover_joinable("Country", lake)
axes = hits.plot_matches(0)

# %%
# The pairs of values, and the rows of the frame that hold each. Case and blanks at the ends do not matter.
hits.pairs(0)

# %%
# The same in words, with what counts for the hit and against it.
print(hits.explain(0))
