"""
From a question to a scatter plot
=================================

Is corruption perceived as less where incomes are more equal? One frame, one call, one picture; the names of countries
differ between the two sources, and the join says which found no partner.
"""

import pandas as pd
from matplotlib import pyplot

import dfjoin

cpi = pd.read_csv("data/corruption-perceptions-index/cpi.csv", encoding="latin-1")
gini = (
    pd.read_csv("data/gini-index/gini-index.csv", encoding="latin-1")
    .sort_values("Year")
    .drop_duplicates("Country Name", keep="last")
)
mine = cpi.loc[cpi["2015"] > 0, ["country", "2015"]]
wide = mine.auto_join(gini[["Country Name", "Value"]], on="country", right_on="Country Name", aliases=True)
print(dfjoin.report(wide))

_, ax = pyplot.subplots(figsize=(6, 4), layout="constrained")
ax.plot(wide["Value"], wide["2015"], "o", color="#1f4e79", alpha=0.6)
ax.set(xlabel="Gini index (World Bank)", ylabel="corruption perceptions index\n2015 (10: very clean)")
