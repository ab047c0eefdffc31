"""Compile every kernel ahead of its first use, by using each: a tiny lake, and all that can be done with it."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

from dfjoin.api import auto_join, discover_joinable
from dfjoin.errors import DfjoinError
from dfjoin.ingest.build import build

__all__ = ["warm_up"]
