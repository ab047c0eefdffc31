"""
Which tables refer to a table
=============================

The join graph has the likely foreign keys of a lake. Its picture shows the neighbourhood of one table, which can be
read however large the lake is.
"""

import tempfile

import dfjoin

lake = dfjoin.build_lake("../../examples/lake", tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
graph = lake.join_graph(min_score=0.4)
axes = graph.plot("codes/calling_codes.csv")

# %%
# A graph of few tables is drawn whole.
axes = graph.plot()

# %%
# The edges as a table, with what speaks for one of them.
print(graph.explain(*graph.edges.loc[0, ["table", "column"]]))
graph.edges[["table", "column", "key_table", "key_column", "score"]].head()
