"""dfjoin: find what joins with your DataFrame in a data lake, and join it.

``import dfjoin`` gives pandas DataFrames ``discover_joinable``, ``auto_join`` and the namespace ``dfjoin``.
"""

from __future__ import annotations

import importlib
from typing import Any

from dfjoin import errors
from dfjoin._version import __version__
from dfjoin.accessors import register as _register
from dfjoin.api import (
    auto_join,
    build_lake,
    containment_join,
    discover_joinable,
    discover_joinable_batch,
    register_embedder,
    report,
)

# Imported on first use: they bring numba and Arrow's readers with them.
_LAZY = {
    "IndexSettings": "dfjoin.types",
    "JoinCandidates": "dfjoin.search.candidates",
    "JoinPlan": "dfjoin.join.plan",
    "Lake": "dfjoin.lake",
    "LakeAugmenter": "dfjoin.augment.lake_augmenter",
    "Metric": "dfjoin.vectors.metrics",
    "Program": "dfjoin.programs.program",
    "open_lake": "dfjoin.lake",
    "register_metric": "dfjoin.vectors.metrics",
    "repair": "dfjoin.store.repair",
}

__all__ = [
    "IndexSettings",
    "JoinCandidates",
    "JoinPlan",
    "Lake",
    "LakeAugmenter",
    "Metric",
    "Program",
    "__version__",
    "auto_join",
    "build_lake",
    "containment_join",
    "discover_joinable",
    "discover_joinable_batch",
    "errors",
    "open_lake",
    "register_embedder",
    "register_metric",
    "repair",
    "report",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module 'dfjoin' has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)


_register()
