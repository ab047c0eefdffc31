"""The only list of component files: names, dtypes, shapes, groups, and what the manifest says of one."""

from __future__ import annotations

import os
import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np


class Component(NamedTuple):
    """What FORMAT.md says of one component; an array that is not so is damaged.

    Parameters
    ----------
    dtype : numpy.dtype
    shape : tuple of str
        Length of each dimension, as a sum of named lengths and numbers. Components of a group that name the same
        length have it in common; `columns` and `tokens` are those of the segment.
    divides : str
        Entries are offsets that divide something of that length: they ascend from 0 to it.
    below : str
        Entries are numbers from 0 to that length, without it.
    """

    dtype: np.dtype
    shape: tuple[str, ...]
    divides: str = ""
    below: str = ""


def _component(dtype: str, *shape: str, divides: str = "", below: str = "") -> Component:
    return Component(np.dtype(dtype), shape, divides, below)


TOKENS: dict[str, Component] = {
    # Hash of each token's value, ascending; a token is a distinct value of the segment.
    "hash": _component("<u8", "tokens"),
    # Where the tokens begin whose hash starts with each prefix; the look-up starts here.
    "directory": _component("<u4", "prefixes + 1", divides="tokens"),
    # Group of each token: the tokens that exactly the same columns hold.
    "group": _component("<u4", "tokens", below="columns + lists"),
    # Where each token's value lies in `value_bytes`.
    "value_offsets": _component("<i8", "tokens + 1", divides="bytes"),
    # The canonical values in UTF-8, one after the other, and eight bytes that kernels may load.
    "value_bytes": _component("u1", "bytes + 8"),
    # Where the tokens of each group lie in `group_tokens`; first one group per column, then the lists.
    "group_indptr": _component("<i8", "columns + lists + 1", divides="tokens"),
    # Tokens by group: from a set back to its values.
    "group_tokens": _component("<u4", "tokens", below="tokens"),
    # Where each posting list lies in `list_columns`.
    "list_indptr": _component("<i8", "lists + 1", divides="postings"),
    # Columns of each posting list, ascending; each distinct list is stored once.
    "list_columns": _component("<i4", "postings", below="columns"),
    # Tokens of that column before this list, in the order of its set: bounds what is left to read.
    "list_positions": _component("<i4", "postings", below="tokens"),
    # Where the lists of each column lie in `set_lists`.
    "set_indptr": _component("<i8", "columns + 1", divides="postings"),
    # Posting lists that each column is in, ascending: with its private group, the column's set.
    "set_lists": _component("<u4", "postings", below="lists"),
}
"""Components of the ``tokens`` group, all one-dimensional."""

SIGNATURES: dict[str, Component] = {
    # Column of each slot; slots number the signed columns by set size.
    "signature_columns": _component("<i4", "signed", below="columns"),
    # Each row of the signature matrix, ascending, so that a value is found by bisection.
    "signature_values": _component("<u4", "permutations", "signed"),
    # Slot that each of these values belongs to.
    "signature_slots": _component("<i4", "permutations", "signed", below="signed"),
}
"""Components of the ``signatures`` group."""

PATTERNS: dict[str, Component] = {
    # Hash of each piece, strictly ascending.
    "pattern_hash": _component("<u8", "pieces"),
    # Where the columns of each piece lie in `pattern_columns`.
    "pattern_indptr": _component("<i8", "pieces + 1", divides="pattern_postings"),
    # Columns with a value that holds the piece, ascending.
    "pattern_columns": _component("<i4", "pattern_postings", below="columns"),
    # Distinct pieces of each column, by which scores are normed.
    "pattern_sizes": _component("<i4", "columns"),
}
"""Components of the ``patterns`` group, all one-dimensional."""

VECTORS: dict[str, Component] = {
    # The unit vectors, in the order of the cells.
    "vector_rows": _component("<f4", "vectors", "d"),
    # Token of each vector.
    "vector_tokens": _component("<u4", "vectors", below="tokens"),
    # Centers of the cells.
    "vector_centers": _component("<f4", "cells", "d"),
    # Rounded features of 64 neighbours, two in a word: what a search reads first.
    "vector_words": _component("<i4", "blocks", "words", "64"),
    # Where each cell begins.
    "vector_cells": _component("<i8", "cells + 1", divides="vectors"),
    # Cosine of each vector to the center of its cell.
    "vector_cosines": _component("<f4", "vectors"),
    # Orthonormal axes that features are coordinates along.
    "vector_axes": _component("<f8", "d", "axes"),
    # The point from which they are measured.
    "vector_center": _component("<f8", "d"),
}
"""Components of the ``vectors`` group."""

EARLIER_VECTORS = {name.replace("_words", "_blocks"): component for name, component in VECTORS.items()}
EARLIER_VECTORS["vector_blocks"] = _component("<f4", "blocks", "width", "64")
"""Components as earlier versions wrote them: features are not rounded."""

AXES: dict[str, Component] = {
    # The distinct points, in the order of the blocks.
    "axis_rows": _component("<f8", "points", "d"),
    # Where each list lies in `axis_lists`.
    "axis_indptr": _component("<i8", "lists + 1", divides="listed"),
    # Distinct points of each set.
    "axis_sizes": _component("<i8", "sets"),
    # Set of each point, or, from the number of sets on, its list of sets.
    "axis_group": _component("<u4", "points", below="sets + lists"),
    # Sets of each list, ascending.
    "axis_lists": _component("<i4", "listed", below="sets"),
    # Columns of each set, in the order of the axes.
    "axis_columns": _component("<i4", "sets", "scales", below="columns"),
    # What each column is multiplied by.
    "axis_scales": _component("<f8", "scales"),
    # Features of 64 neighbours, their boxes, and the projection that makes features, as of vectors.
    "axis_blocks": _component("<f4", "blocks", "width", "64"),
    "axis_boxes": _component("<f4", "boxes", "ends", "64"),
    "axis_projection": _component("<f8", "d", "axes"),
    "axis_center": _component("<f8", "d"),
    # Points are divided by this power of two before their features are computed.
    "axis_unit": _component("<f8", "1"),
}
"""Components of an ``axes`` group."""

ROWS: dict[str, Component] = {
    # Codes of the rows of each column, as many bits each.
    "row_words": _component("<u8", "words"),
    # Where the words of each column lie in `row_words`.
    "row_starts": _component("<i8", "columns + 1", divides="words"),
    # Bits of a code of each column; 0 where its rows are not kept.
    "row_bits": _component("u1", "columns"),
}
"""Components of the ``rows`` group, all one-dimensional."""

WORD_MODEL: dict[str, Component] = {
    # Where the words lie in `word_bytes`.
    "word_offsets": _component("<i8", "words + 1"),
    # The words in UTF-8, one after the other.
    "word_bytes": _component("u1", "bytes"),
    # A row for each word, then one for each bucket of n-grams.
    "word_matrix": _component("<f4", "words + buckets", "d"),
}
"""Components of a trained model of words, which lies beside the segments."""

COMPONENTS = {**TOKENS, **SIGNATURES, **PATTERNS, **EARLIER_VECTORS, **VECTORS, **AXES, **ROWS, **WORD_MODEL}
"""Every component."""

DTYPES = {name: component.dtype for name, component in COMPONENTS.items()}
"""Every component and its dtype."""

GROUPS = ("tokens", "catalog", "signatures", "patterns", "vectors", "axes", "rows")
"""Component groups that this version reads and writes; each is a feature of the manifest."""


@dataclass(frozen=True)
class ComponentMeta:
    """What the manifest says of one component file.

    Parameters
    ----------
    name : str
        Component, see `TOKENS`, `SIGNATURES` and `PATTERNS`.
    file : str
        POSIX path below the segment's directory.
    dtype : str
        numpy dtype string, or ``arrow-ipc``.
    shape : tuple of int
        Shape of the array; the number of bytes for an Arrow file.
    size : int
        Bytes of the file.
    crc32 : int
        CRC-32 of the whole file.
    """

    name: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    crc32: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {**self.__dict__, "shape": list(self.shape)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ComponentMeta:
        """Make a record from JSON values; unknown fields are ignored."""
        shape = tuple(int(n) for n in values["shape"])
        return cls(values["name"], values["file"], values["dtype"], shape, values["size"], values["crc32"])


# Where the parts of an index lie: every directory and file name, once. FORMAT.md shows the tree -------------


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

ROW_OFFSETS_FILE = "rows.npy"
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
