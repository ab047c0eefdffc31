"""What makes a file or a directory a table: its name, and the names of what it holds."""

from __future__ import annotations

import re

from dfjoin.sources.directory_tree import Directory, ListedFile

__all__ = ["READABLE", "UNREAD", "files_below", "is_hidden", "kind_of_directory", "kind_of_file"]

_DELIMITED = (".csv", ".tsv", ".tab", ".psv")
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
_COMPRESSED = (".gz", ".zst")
READABLE = "CSV (.csv .tsv .tab .psv, .txt when named), .parquet, .pq, .jsonl, .ndjson, with .gz or .zst"
"""The endings that are read, for people."""

UNREAD = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), "save each sheet as CSV"),
    **dict.fromkeys((".feather", ".arrow", ".orc", ".avro", ".dta", ".sav", ".sas7bdat", ".rds"), "save it as Parquet"),
    ".json": "write a record a line, as .jsonl",
    ".zip": "unpack it",
}
"""Endings of tables that dfjoin does not read, and what makes them readable."""

_PART = re.compile(r"part[-_.]", re.IGNORECASE)
_PARTITION = re.compile(r"[^=/]+=[^/]*$")
_DATASET_MARKS = {"_SUCCESS", "_metadata", "_common_metadata"}


def kind_of_file(name: str, explicit: bool = False) -> str | None:
    """Return the format that a file name announces, None when dfjoin does not read such files.

    Parameters
    ----------
    name : str
    explicit : bool
        Whether the file was named by itself; ``.txt`` is a table then.
    """
    base = name.lower()
    for ending in _COMPRESSED:
        base = base.removesuffix(ending)
    is_packed = base != name.lower()
    if base.endswith(_DELIMITED) or (explicit and base.endswith((".txt", ".dat", ".data"))):
        return "delimited"
    if base.endswith(_JSON_LINES):
        return "jsonl"
    if base.endswith(_PARQUET) and not is_packed:
        return "parquet"
    return None


def kind_of_directory(tree: Directory) -> str | None:
    """Tell whether a directory is one table: Parquet parts, ``key=value`` folders, Delta or Iceberg."""
    if "_delta_log" in tree.children:
        return "delta"
    metadata = tree.children.get("metadata")
    if metadata is not None and any(f.path.endswith(".metadata.json") for f in metadata.files):
        return "iceberg"
    visible = [f for f in tree.files if not is_hidden(f.path)]
    names = [f.path.rpartition("/")[2] for f in visible]
    is_parts = bool(names) and all(_PART.match(n) and kind_of_file(n) == "parquet" for n in names)
    is_marked = any(f.path.rpartition("/")[2] in _DATASET_MARKS for f in tree.files)
    if is_parts and (is_marked or len(names) > 1 or not tree.children):
        return "parquet"
    folders = [name for name in tree.children if not name.startswith((".", "_"))]
    if folders and not visible and all(_PARTITION.fullmatch(name) for name in folders):
        kinds = {kind_of_file(f.path) for f in files_below(tree)}
        return "parquet" if kinds == {"parquet"} else None
    return None


def files_below(tree: Directory) -> list[ListedFile]:
    """List the visible files of a directory and of those below it."""
    found = [f for f in tree.files if not is_hidden(f.path)]
    for child in tree.children.values():
        found += files_below(child)
    return found


def is_hidden(path: str) -> bool:
    """Tell whether a file is passed over by its name."""
    return path.rpartition("/")[2].startswith((".", "_"))
