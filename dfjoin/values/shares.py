"""Numbers that many rules share: which share of something is nearly all of it, and how few of something may be chance.

Rules that ask the same ask it by the same number, so that none is tuned to a rule or a case. A number that one rule
alone needs stands beside that rule.
"""

from __future__ import annotations

NEARLY_ALL = 0.9
"""What holds for this share of the values holds for a column: real columns have values that are wrong or foreign."""
NEARLY_EVERY = 0.95
"""The same where nothing else speaks for a key: names of columns alone, or columns that tell rows apart together."""
MOST = 0.8
"""What holds for this share is a rule with exceptions: one in five rows may be missing, mistyped or out of date."""
KEY_UNIQUENESS = 0.8
"""Distinct values ÷ rows from which a column may be a key by itself."""
HALF = 0.5
"""Below it the opposite holds more often."""
SOME = 0.2
"""A share that exceptions do not reach."""
HARDLY_ANY = 0.1
"""A share that exceptions alone may make."""
FEW = 3
"""Fewer agree by accident."""
ENOUGH = 10
"""So many different values show what a column is like."""
MANY = 20
"""So many matches, one of them wrong, are right in nine of ten by more than luck."""
