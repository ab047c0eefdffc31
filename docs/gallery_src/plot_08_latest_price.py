"""
The latest price before a date
==============================

``how="asof"`` joins the latest row that is not after the date of a row, here the monthly price of oil.
"""

import pandas as pd
from matplotlib import pyplot

import dfjoin

oil = pd.read_csv("data/oil-prices/brent-monthly.csv", parse_dates=["Date"])
orders = pd.DataFrame({"ordered": pd.date_range("2007-02-11", "2012-11-30", freq="113D"), "barrels": 100})
priced = orders.auto_join(oil, on="ordered", right_on="Date", how="asof")
print(dfjoin.report(priced))

_, ax = pyplot.subplots(figsize=(8, 3.5), layout="constrained")
shown = oil[oil["Date"].between("2007-01-01", "2012-12-31")]
ax.step(shown["Date"], shown["Price"], where="post", color="#9aa5b1", label="monthly price")
ax.plot(priced["ordered"], priced["Price"], "o", color="#1f4e79", label="joined to an order")
ax.set_ylabel("dollars a barrel")
ax.legend(frameon=False)
