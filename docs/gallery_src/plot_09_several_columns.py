"""
A key of several columns
========================

A match of football is known by two teams. Tables are found that hold the pairs, not only each of the columns.
"""

import tempfile

import pandas as pd

import dfjoin

lake = dfjoin.build_lake("data/football", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
season = pd.read_csv("data/football/2018-19-eng.1.csv").dropna(axis=1, how="all")
mine = season[["Team 1", "Team 2"]].iloc[::9].reset_index(drop=True)
hits = mine.discover_joinable(["Team 1", "Team 2"], lake, k=5, families=False)
axes = hits.plot_coverage()

# %%
# Each row of the key is found once in a season.
hits[["table", "matched", "containment"]]
