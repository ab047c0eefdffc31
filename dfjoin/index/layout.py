"""Where the parts of an index lie: every directory and file name, once. FORMAT.md shows the tree."""

from __future__ import annotations

import os
import re
from collections.abc import Container
from pathlib import Path
from typing import BinaryIO

__all__ = [
    "CATALOG_FILE",
    "FRAMES",
    "MANIFESTS",
    "MODELS",
    "ROW_PLACES_FILE",
    "ROW_WORDS_FILE",
    "RUNS",
    "SEGMENTS",
    "TOMBSTONES",
    "UNDECIDED_FILE",
    "create_file",
    "group_directory",
    "holds_index",
    "is_mark_of",
    "make_directories",
    "make_directory",
    "manifest_path",
    "model_directory",
    "run_directory",
    "segment_directory",
    "tombstones_file",
    "version_of",
]

MANIFESTS = "manifests"
"""One JSON file for each version."""

SEGMENTS = "segments"
"""One directory for each segment, with a directory for each of its component groups."""

TOMBSTONES = "tombstones"
"""Masks of the columns that are not deleted."""

FRAMES = "frames"
"""Tables that were given in memory, as Parquet."""

MODELS = "models"
"""Models of words that the index was embedded with, one directory each."""

RUNS = "runs"
"""Scratch of builds and compactions."""

CATALOG_FILE = "catalog.arrow"
"""The one file of the group ``catalog``, and of a run's catalogue."""

UNDECIDED_FILE = "undecided.arrow"
"""What a part of a table leaves open, beside its run."""

ROW_WORDS_FILE = "rows.words"
"""The packed rows of a run's tables."""

ROW_PLACES_FILE = "rows.npy"
"""Where the rows of each column of a run begin among these, and the bits of each."""

_MANIFEST_NAME = re.compile(r"([0-9]{20})\.json")


def manifest_path(index: Path, version: int) -> Path:
    """Return the file of a version's manifest."""
    return index / MANIFESTS / f"{version:020d}.json"


def version_of(name: str) -> int | None:
    """Return the version that a file among the manifests is named by, None for any other file."""
    match = _MANIFEST_NAME.fullmatch(name)
    return None if match is None else int(match[1])


def segment_directory(index: Path, segment: str) -> Path:
    """Return the directory of a segment, by its id."""
    return index / SEGMENTS / segment


def group_directory(index: Path, segment: str, group: str) -> Path:
    """Return the directory of a component group, by the ids of its segment and its own."""
    return index / SEGMENTS / segment / group


def model_directory(index: Path, model: str) -> Path:
    """Return the directory of a model of words, by its id."""
    return index / MODELS / model


def tombstones_file(segment: str, version: int, mark: str) -> str:
    """Return the path below the index of an alive mask; `mark` tells apart writers that race for one version."""
    return f"{TOMBSTONES}/{segment}.{version:020d}.{mark}.npy"


def run_directory(index: Path, run: str) -> Path:
    """Return the directory of a run, by its id."""
    return index / RUNS / run


def is_mark_of(file: str, version: int) -> bool:
    """Tell whether a path below the index is that of an alive mask made for a version."""
    return file.startswith(f"{TOMBSTONES}/") and f".{version:020d}." in file


def make_directories(index: Path) -> None:
    """Make the directories of an index that are missing; the index itself for its owner only."""
    index.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in (RUNS, SEGMENTS, MANIFESTS):
        make_directory(index / name)


def make_directory(path: Path) -> None:
    """Make a directory of an index, and those above it that are missing, for whom the one above them is open."""
    missing = [directory for directory in (path, *path.parents) if not directory.exists()]
    for directory in reversed(missing):
        directory.mkdir(mode=0o700 | directory.parent.stat().st_mode & 0o077, exist_ok=True)


def create_file(path: Path) -> BinaryIO:
    """Create a file of an index, for whom the directory that it lies in is open.

    A copy of what is inside a directory of the owner's has to be the owner's, too.

    Raises
    ------
    FileExistsError
        If there is one of that name.
    """
    mode = 0o600 | path.parent.stat().st_mode & 0o066
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode))  # Path.open takes no opener


def holds_index(names: Container[str]) -> bool:
    """Tell whether a directory with entries of these names is an index."""
    return MANIFESTS in names and SEGMENTS in names
