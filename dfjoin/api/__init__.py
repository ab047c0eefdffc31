"""The documented functions: argument checks, then one call into ingest, search or join.

Accessors, the command line, Spark and SQL call these and take their documentation from here. What they
do is imported when they are called, so that ``import dfjoin`` compiles nothing.
"""

from dfjoin.api.building import build_lake, register_embedder
from dfjoin.api.discovery import discover_joinable, discover_joinable_batch
from dfjoin.api.joining import auto_join, containment_join, report

__all__ = [
    "auto_join",
    "build_lake",
    "containment_join",
    "discover_joinable",
    "discover_joinable_batch",
    "register_embedder",
    "report",
]
