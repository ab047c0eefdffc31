"""`Lake`, the public handle: one call down for each method, and a base class for each group of methods."""

from dfjoin.lake.handle import Lake, open_lake, refuse_swapped, resolve_lake
from dfjoin.lake.opened_lake import moved_roots_of

__all__ = ["Lake", "moved_roots_of", "open_lake", "refuse_swapped", "resolve_lake"]
