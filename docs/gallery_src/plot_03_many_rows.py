"""
One row for each of mine
========================

A country has several languages. A plain merge would repeat the rows of the frame; dfjoin makes one row of those that
share a key, and says how, and how many rows disagree.
"""

import pandas as pd
from matplotlib import pyplot

import dfjoin

countries = pd.read_csv("../../examples/lake/geo/countries.csv", keep_default_na=False)[["country", "continent"]]
languages = pd.read_csv("../../examples/lake/codes/official_languages.csv")
merged = countries.merge(languages, how="left")
joined = countries.auto_join(languages, on="country")

_, ax = pyplot.subplots(figsize=(6, 2.2), layout="constrained")
ax.barh(
    ["my rows", "merge", "auto_join", "auto_join, aggregate=None"][::-1],
    [len(countries.auto_join(languages, on="country", aggregate=None)), len(joined), len(merged), len(countries)],
    color=["#dbe5ee", "#1f4e79", "#dbe5ee", "#1f4e79"],
    edgecolor="#52606d",
)
ax.set_xlabel("rows")

# %%
print(dfjoin.report(joined))
joined.head()
