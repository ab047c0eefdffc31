"""What makes a file, a directory or a database a table: the one list of the kinds that are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

from dfjoin.sources.directory_tree import Directory, ListedFile


@dataclass(frozen=True)
class TableKind:
    """A kind of source: how it is recognised, what reads it, what that needs and costs.

    Parameters
    ----------
    name : str
        The `format` of its tables in the catalogue.
    endings : tuple of str
        Of its files, in small letters.
    reader : str
        Module of `dfjoin.sources`; its function ``open_<name>`` opens a table, or ``members_of_<name>`` yields
        the tables that a file holds.
    schemes : tuple of str
        Of URIs that name such a file or database.
    library, extra : str
        The module that has to be there, and the extra of dfjoin that installs it; empty where nothing is needed.
    has_members : bool
        One file holds any number of tables.
    is_stream : bool
        Read in order, so that it may be compressed.
    is_untyped : bool
        Has no types, or not for every column: its texts are read by what the whole column holds.
    has_version : bool
        The function ``fingerprint_of_<name>`` of the reader tells the state of a table, and not the bytes of its files
        alone.
    has_log : bool
        It tells which files came since an earlier state, see `TableFile.since`.
    work : int
        Bytes of plain text that take as long to read as a byte of the file.
    """

    name: str
    endings: tuple[str, ...]
    reader: str
    schemes: tuple[str, ...] = ()
    library: str = ""
    extra: str = ""
    has_members: bool = False
    is_stream: bool = False
    is_untyped: bool = False
    has_version: bool = False
    has_log: bool = False
    work: int = 1

    def is_ready(self) -> bool:
        """Tell whether the library that reads such files is installed."""
        return not self.library or _is_installed(self.library)


KINDS = {
    kind.name: kind
    for kind in (
        TableKind("delimited", (".csv", ".tsv", ".tab", ".psv"), "delimited_reader", is_stream=True, is_untyped=True),
        TableKind("parquet", (".parquet", ".pq"), "parquet_reader", work=5),
        TableKind("orc", (".orc",), "orc_reader", work=5),
        TableKind("arrow", (".feather", ".arrow", ".ipc", ".arrows"), "arrow_reader", work=2),
        TableKind("avro", (".avro",), "avro_reader", library="fastavro", extra="avro", is_stream=True, work=5),
        TableKind("jsonl", (".jsonl", ".ndjson"), "json_reader", is_stream=True, is_untyped=True),
        TableKind("json", (".json", ".geojson"), "document_reader", has_members=True, is_stream=True, is_untyped=True),
        TableKind(
            "workbook",
            (".xlsx", ".xlsm", ".xls", ".ods"),
            "workbook_reader",
            library="python_calamine",
            extra="excel",
            has_members=True,
            is_untyped=True,
            work=5,
        ),
        TableKind(
            "sqlite",
            (".sqlite", ".sqlite3", ".db"),
            "sqlite_reader",
            schemes=("sqlite",),
            has_members=True,
            has_version=True,
            work=2,
        ),
        TableKind(
            "duckdb",
            (".duckdb", ".ddb"),
            "duckdb_reader",
            schemes=("duckdb",),
            library="duckdb",
            extra="databases",
            has_members=True,
            work=5,
        ),
        TableKind(
            "postgresql",
            (),
            "postgresql_reader",
            schemes=("postgresql", "postgres"),
            library="adbc_driver_postgresql",
            extra="databases",
            has_version=True,
        ),
        TableKind(
            "mysql",
            (),
            "mysql_reader",
            schemes=("mysql", "mariadb"),
            library="pymysql",
            extra="databases",
            has_version=True,
        ),
        TableKind(
            "delta",
            (),
            "delta_reader",
            library="deltalake",
            extra="delta",
            has_version=True,
            has_log=True,
            work=5,
        ),
        TableKind(
            "iceberg",
            (),
            "iceberg_reader",
            schemes=("iceberg",),
            library="pyiceberg",
            extra="iceberg",
            has_version=True,
            has_log=True,
            work=5,
        ),
        TableKind("zip", (".zip",), "archive_reader", has_members=True, work=5),
    )
}
"""The kinds that are read, by name. A further kind is a file and a line here."""

UNREAD = {
    **dict.fromkeys((".dta", ".sav", ".sas7bdat", ".rds"), "save it as Parquet"),
    ".xlsb": "save it as .xlsx",
    **dict.fromkeys((".7z", ".rar", ".tar"), "unpack it"),
}
"""Endings of tables that dfjoin does not read, and what makes them readable."""

COMPRESSED = (".gz", ".zst", ".bz2", ".xz")
_ENDINGS = " ".join(ending for kind in KINDS.values() for ending in kind.endings)
READABLE = f"{_ENDINGS}, .txt when named; texts and .avro with {' '.join(COMPRESSED)}, too"
"""The endings that are read, for people."""

_NAMED_TEXTS = (".txt", ".dat", ".data")
_BY_ENDING = {ending: kind for kind in KINDS.values() for ending in kind.endings}
_PART = re.compile(r"part[-_.]", re.IGNORECASE)
_PARTITION = re.compile(r"[^=/]+=[^/]*$")
_DATASET_MARKS = {"_SUCCESS", "_metadata", "_common_metadata"}


@cache
def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ImportError:
        return False


def kind_of_scheme(uri: str) -> TableKind | None:
    """Return the kind of database that a URI names, None for other URIs and paths."""
    scheme, colon, _ = uri.partition("://")
    found = (kind for kind in KINDS.values() if scheme.lower() in kind.schemes)
    return next(found, None) if colon else None


def kind_of_file(name: str, explicit: bool = False) -> str | None:
    """Return the kind that a file name announces, None when dfjoin does not read such files.

    Parameters
    ----------
    name : str
    explicit : bool
        Whether the file was named by itself; ``.txt`` is a table then.
    """
    base = name.lower()
    for ending in COMPRESSED:
        base = base.removesuffix(ending)
    kind = _BY_ENDING.get(f".{base.rpartition('.')[2]}")
    if kind is None:
        return "delimited" if explicit and base.endswith(_NAMED_TEXTS) else None
    return kind.name if kind.is_stream or len(base) == len(name) else None


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
