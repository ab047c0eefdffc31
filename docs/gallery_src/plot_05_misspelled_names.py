"""
Misspelled names: precision against recall
==========================================

Names with typos are joined by similarity, at the precision that is asked for. The curve shows what another precision
would cost or bring; it is an estimate, made without labels.
"""

import random

import pandas as pd

import dfjoin

companies = pd.read_csv("data/s-and-p-500-companies/constituents.csv")
rng = random.Random(5)


def mistype(name):
    """Lose or double a letter, one to four times."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        i = rng.randrange(len(name))
        name = name[:i] + rng.choice(["", 2 * name[i]]) + name[i + 1 :]
    return name


mine = pd.DataFrame({"company": companies["Security"].map(mistype), "is": companies["Security"]})
wide = mine.auto_join(companies, on="company", right_on="Security", precision=0.95, transform=False)
axes = dfjoin.report(wide).plot_precision()

# %%
# Here the truth is known.
joined = wide.dropna(subset="Symbol")
right = joined["is"].map(companies.drop_duplicates("Security").set_index("Security")["Symbol"]) == joined["Symbol"]
print(f"{len(joined)} of {len(mine)} rows joined, {right.mean():.1%} of them rightly")
print(dfjoin.report(wide))
