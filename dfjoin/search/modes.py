"""The modes of search, and what each of them is."""

from __future__ import annotations

__all__ = ["MODES"]

MODES = ("exact", "lsh", "transform")
"""Names of the modes, in the order in which messages list them."""
