"""
The same countries in other languages
=====================================

Names of countries, months and units are known in 34 languages, so that ``Deutschland`` finds ``Germany``.
"""

import tempfile

import pandas as pd

import dfjoin

lake = dfjoin.build_lake("../../examples/lake", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
trips = pd.DataFrame(
    {"Land": ["Deutschland", "Frankreich", "Schweiz", "Ägypten", "Neuseeland", "Vereinigtes Königreich", "Peru"]}
)
axes = trips.discover_joinable("Land", lake, aliases=True, k=4).plot_coverage()

# %%
# Without them, Peru alone is found.
print(trips.discover_joinable("Land", lake, k=4, rank="matched")[["table", "matched"]])
trips.auto_join(lake, on="Land", aliases=True)
