"""
Names that are written in another order
=======================================

One table says ``George Washington``, the other ``Washington, G.``. A program is learned from the two columns and shown,
and it can be taken along as Python or SQL. Two presidents are ``Adams, J.``: what they do not share stays empty.
"""

import pandas as pd
from matplotlib import pyplot

import dfjoin

presidents = pd.read_csv("../../examples/lake/usa/presidents.csv")
full = presidents["president"].str.rsplit(" ", n=1)
mine = pd.DataFrame({"name": [f"{last}, {first[0]}." for first, last in full]}).drop_duplicates()
mine["files"] = range(len(mine))
wide = mine.auto_join(presidents)
print(dfjoin.report(wide))

_, ax = pyplot.subplots(figsize=(6, 2.6), layout="constrained")
shown = wide.dropna(subset="president").head(8)[::-1].reset_index(drop=True)
for i, row in shown.iterrows():
    ax.text(0, i, row["name"], ha="right", va="center")
    ax.text(1, i, row["president"], ha="left", va="center")
    ax.plot([0.05, 0.95], [i, i], color="#1f4e79")
ax.set(xlim=(-0.7, 2), ylim=(-0.6, len(shown) - 0.4))
ax.set_axis_off()

# %%
# The program as a function of its own.
(step,) = wide.attrs["dfjoin"]["joined"]
program = dfjoin.Program.from_dict(step["relation"]["transform"]["programs"][0]["program"])
print(program.to_python())
