"""JOSIE and ProbeSet, two plans of exact search that may end before all posting lists are read.

Source: Zhu et al., "JOSIE: overlap set similarity search for finding joinable tables in data lakes", SIGMOD 2019. A
search uses them with ``plan="josie"`` and ``plan="probeset"``; without `plan` JOSIE is tried where merging is expensive
and the lists are long for the number of columns that are asked for (`searcher.run_plan`). With the index in memory the
default, MergeList (`posting_lists`), was 1.5 to 24 times as fast; with ``k=1`` JOSIE reads 8 to 38 % of its bytes, see
``docs/measurements/search.md``. All plans return the same rows.
"""
