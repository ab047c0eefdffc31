"""
LSH Ensemble: precision and recall against the threshold
========================================================

LSH Ensemble (Zhu, Nargesian, Pu and Miller, VLDB 2016) finds the columns that hold at least a share of the
query, from signatures of a fixed size. Its candidates may be wrong, or missed: precision and recall over real columns,
against exact search. By default dfjoin verifies candidates, so that precision is 1; here they are left as they are.
"""

import tempfile

import numpy as np
import pandas as pd
from matplotlib import pyplot

import dfjoin

lake = dfjoin.build_lake("data", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
lake = lake.add_signatures(signature_min=10)
columns = lake.columns
columns = columns[columns["is_indexed"] & (columns["cardinality"] >= 20) & (columns["kind"] == "text")]
columns = columns.sort_values(["table", "column"]).iloc[:: max(1, len(columns) // 15)]
queries = {f"{row.table}: {row.column}": lake.table(row.table, row.column)[row.column] for row in columns.itertuples()}
thresholds = [0.1, 0.3, 0.5, 0.7, 0.9]
precision, recall = [], []
for threshold in thresholds:
    p, r = [], []
    for values in queries.values():
        frame = pd.DataFrame({"q": values})
        search = {"threshold": threshold, "rank": "matched", "k": None}
        truth = frame.discover_joinable("q", lake, **search)
        found = frame.discover_joinable("q", lake, mode="lsh", verify=False, **search)
        truth = set(zip(truth["table"], truth["column"], strict=True))
        found = set(zip(found["table"], found["column"], strict=True))
        p.append(len(truth & found) / len(found) if found else np.nan)
        r.append(len(truth & found) / len(truth) if truth else np.nan)
    precision.append(np.nanmean(p))
    recall.append(np.nanmean(r))

_, ax = pyplot.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(thresholds, precision, "o-", color="#1f4e79", label="precision, not verified")
ax.plot(thresholds, recall, "s--", color="#1f4e79", label="recall")
ax.set(xlabel="threshold: share of the query that a column holds", ylim=(0.5, 1.03))
ax.legend(frameon=False)
