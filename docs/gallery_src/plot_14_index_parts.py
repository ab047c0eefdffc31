"""
What an index consists of
=========================

An index has parts for the modes of search. Values and posting lists are always there; signatures, n-grams and vectors
are made when they are asked for, and each has its price in bytes.
"""

import tempfile

import dfjoin

lake = dfjoin.build_lake(
    "data", tempfile.mkdtemp() + "/lake", engine="inline", progress=False, settings={"patterns": True}
)
lake = lake.add_signatures(signature_min=10)
axes = lake.plot_contents()
