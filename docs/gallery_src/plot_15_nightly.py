"""
An index that follows its lake
==============================

Tables are added, replaced and removed by commits; a search sees one version, and older versions can be had back.
"""

import tempfile
from pathlib import Path

import pandas as pd
from matplotlib import pyplot

import dfjoin

files = sorted(Path("data/football").glob("*.csv"))
lake = dfjoin.build_lake(
    {files[0].name: pd.read_csv(files[0])}, tempfile.mkdtemp() + "/lake", engine="inline", progress=False
)
for file in files[1:6]:
    lake = lake.add({file.name: pd.read_csv(file)}, engine="inline", progress=False)
history = lake.versions().sort_values("version")

_, ax = pyplot.subplots(figsize=(6, 2.8), layout="constrained")
ax.step(history["version"], history["tables"], where="mid", color="#1f4e79")
ax.set(xlabel="version", ylabel="tables")

# %%
history[["version", "operation", "tables", "columns", "segments"]]
