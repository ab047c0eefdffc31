"""`Lake`, the public handle: one call down for each method, and a base class for each group of methods."""

from dfjoin.lake.handle import Lake, moved_roots_of, open_lake, refuse_swapped, resolve_lake

__all__ = ["Lake", "moved_roots_of", "open_lake", "refuse_swapped", "resolve_lake"]
