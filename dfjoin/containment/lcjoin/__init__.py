"""LCJoin: the three methods of a paper for set containment joins, for those who want them.

Source: Yang et al., "Internal and external memory set containment join", VLDB Journal 2021, the long version of
LCJoin (ICDE 2019). A join uses them with ``method="cross"``, ``"tree"`` and ``"partitions"`` only. The default,
``"scan"`` (`subset_join`), was faster at every measured setting: 2 to 13 times as fast as ``"cross"``, 7 to 70 times
as ``"tree"``, 5 to 34 times as ``"partitions"``, see ``docs/measurements/containment.md``. All methods return the
same pairs.
"""
