"""PEXESO: block and verify with pivots and grids, the plan of a paper for searches by distance.

Source: Dong et al., "Efficient joinable table discovery in data lakes: a high-dimensional similarity-based approach",
ICDE 2021. A search uses it with ``plan="pexeso"``, and for metrics that a user registered: it needs no more than
distances and the triangle inequality. For Euclidean distance and angles the default (`near_plans`: cells of vectors, or
a product of matrices) was 12 to 160 times as fast, see ``tests/benchmarks/NOTES.md``. All plans return the same rows.
"""
