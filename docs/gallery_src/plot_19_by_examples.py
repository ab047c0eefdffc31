"""
Teach a join by examples
========================

Where nothing is learned from the two columns alone, a few pairs show what is meant.
"""

import pandas as pd
from matplotlib import pyplot

import dfjoin

airlines = pd.read_csv("../../examples/lake/transport/airlines.csv")
badges = pd.DataFrame(
    {"badge": [f"{code}/{year}/crew" for code, year in zip(airlines["code"], airlines["founded"], strict=True)]}
)
examples = [(badges["badge"][i], airlines["code"][i]) for i in (0, 1, 2)]
wide = badges.auto_join(airlines, on="badge", right_on="code", examples=examples)
print(dfjoin.report(wide))

_, ax = pyplot.subplots(figsize=(6, 1.6), layout="constrained")
equal = badges.merge(airlines, left_on="badge", right_on="code", how="left")
ax.barh(
    ["by 3 examples", "by equality"], [wide["airline"].notna().sum(), equal["airline"].notna().sum()], color="#1f4e79"
)
ax.set(xlabel="rows with a partner", xlim=(0, len(badges)))

# %%
wide.head()
