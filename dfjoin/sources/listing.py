"""What tables a directory, a glob or a list of files holds: names, formats, sizes; nothing is opened."""

from __future__ import annotations

import glob as globbing
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from stat import S_ISREG

import pyarrow as pa
from pyarrow import fs

from dfjoin._validation import show, strip_credentials
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.index.layout import holds_index
from dfjoin.sources.roots import (
    absolute_uri,
    cannot_be_opened,
    is_below,
    local_path,
    open_root,
)
from dfjoin.types import Root, SkippedFile, TableSource

__all__ = ["list_tables"]

_DELIMITED = (".csv", ".tsv", ".tab", ".psv")
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
_COMPRESSED = (".gz", ".zst")
_UNREAD = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), "save each sheet as CSV"),
    **dict.fromkeys((".feather", ".arrow", ".orc", ".avro", ".dta", ".sav", ".sas7bdat", ".rds"), "save it as Parquet"),
    ".json": "write a record a line, as .jsonl",
    ".zip": "unpack it",
}
"""Endings of tables that dfjoin does not read, and what makes them readable."""
_READABLE = "CSV (.csv .tsv .tab .psv, .txt when named), .parquet, .pq, .jsonl, .ndjson, with .gz or .zst"
_PART = re.compile(r"part[-_.]", re.IGNORECASE)
_PARTITION = re.compile(r"[^=/]+=[^/]*$")
_DATASET_MARKS = {"_SUCCESS", "_metadata", "_common_metadata"}
_GLOB = re.compile(r"[*?\[]")

_AS_SPARK_TABLE = "give it as a Spark table"
_LINK_LEADS_OUT = "a link that leads out of the root; give the place it leads to as a root of its own"
_LINKED_DIRECTORY = "a link to a directory; directories are listed where they are"


@dataclass(slots=True)
class _File:
    path: str  # POSIX, below the root
    size: int
    mtime_ns: int
    explicit: bool = False


@dataclass(slots=True)
class _Directory:
    path: str
    files: list[_File] = field(default_factory=list)
    children: dict[str, _Directory] = field(default_factory=dict)


@dataclass(slots=True)
class _Listing:
    root: Root
    tables: list[TableSource] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    unread: dict[str, list[str]] = field(default_factory=dict)

    def add(self, path: str, kind: str, files: list[_File]) -> None:
        parts = tuple(sorted(f.path for f in files))
        size = sum(f.size for f in files)
        mtime = max(f.mtime_ns for f in files)
        self.tables.append(TableSource(path, self.root, path, kind, size, mtime, parts))  # type: ignore[arg-type]

    def skip(self, path: str, reason: str) -> None:
        shown = path.encode("utf-8", "replace").decode()
        self.skipped.append(SkippedFile(shown, reason))

    def pass_over(self, path: str) -> None:
        """Take note of a file that is not read, if its ending is one of tables."""
        ending = os.path.splitext(path)[1].lower()  # noqa: PTH122
        if ending in _UNREAD:
            self.unread.setdefault(ending, []).append(path)

    def skip_unread(self) -> None:
        """Give the reason for each ending once, however many files have it."""
        for ending, paths in self.unread.items():
            others = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
            self.skip(f"*{ending}", f"dfjoin does not read {ending}: {min(paths)}{others}; {_UNREAD[ending]}")


def list_tables(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
) -> tuple[Root, list[TableSource], list[SkippedFile]]:
    """List the tables of a directory, a glob, or a list of files.

    A table is a file that dfjoin reads, or a directory of Parquet part files or ``key=value`` folders.
    Hidden files and directories (a leading ``.`` or ``_``), dfjoin indexes and files with other
    extensions are passed over in silence; what looks like a table and is none that can be read is
    listed with the reason: workbooks, ``.json`` and the like in an entry for each extension. No link
    that leads out of the root is followed. No table is an empty list.

    Parameters
    ----------
    source : str, os.PathLike, or iterable of these
        A directory, a file, a glob pattern of local files (``**`` crosses directories), a list of files,
        or a URI of a directory or file that pyarrow.fs opens.

    Returns
    -------
    root : Root
        Where the paths start, with the id 0 and the last part of its path as its name. For a glob or a list, the
        longest directory common to the files.
    tables : list of TableSource
        Sorted by name, by code point.
    skipped : list of SkippedFile
        Sorted by name.

    Raises
    ------
    InvalidParameterError
        The place does not exist, or files of a list lie on different file systems.
    InvalidTypeError
        `source` is of another type.

    Notes
    -----
    One pass over the directory entries; no file is opened. User info is removed from a URI before it
    is stored; within this process the root can still be opened.
    """
    place, entries, skipped = _collect(source)
    uri = strip_credentials(place)
    found = _Listing(Root(0, uri.rstrip("/").rpartition("/")[2] or "root", uri))
    for path, reason in skipped:
        found.skip(path, reason)
    _classify(entries, found, is_top=True)
    found.skip_unread()
    found.tables.sort(key=lambda table: table.name)
    found.skipped.sort(key=lambda file: (file.name, file.reason))
    return found.root, found.tables, found.skipped


_Collected = tuple[str, _Directory, list[tuple[str, str]]]


def _collect(source: object) -> _Collected:
    """Return the place of the root, its entries as a tree, and what is skipped already."""
    if isinstance(source, (str, os.PathLike)):
        place = absolute_uri(source)
        path = local_path(place)
        if path is None:
            return _reaching(place, lambda: _collect_remote(place))
        if os.path.isdir(path):  # noqa: PTH112
            return _collect_directory(path)
        if os.path.isfile(path):  # noqa: PTH113
            return _collect_files([path])
        if _GLOB.search(path):
            matches = sorted(globbing.glob(path, recursive=True))  # noqa: PTH207
            if not matches:
                fixed = path[: _GLOB.search(path).start()].rpartition("/")[0] or "/"  # type: ignore[union-attr]
                return fixed, _Directory(""), []
            return _collect_files(matches, from_glob=True)
        raise InvalidParameterError(
            f"`source` must be an existing directory, file, glob pattern or list of files; got "
            f"{show(os.fspath(source))}, which does not exist here. Check the spelling, or give the absolute path."
        )
    if isinstance(source, Iterable) and not isinstance(source, (bytes, dict)):
        items = list(source)
        if all(isinstance(item, (str, os.PathLike)) for item in items):
            return _collect_list([absolute_uri(item) for item in items])
    raise InvalidTypeError(
        f"`source` must be a path, a glob pattern, a URI or a list of paths; got {type(source).__name__}. "
        "Give the directory that holds the files."
    )


def _collect_list(places: list[str]) -> _Collected:
    paths = [local_path(place) for place in places]
    local = [path for path in paths if path is not None]
    if not places:
        return os.path.abspath(os.curdir), _Directory(""), []  # noqa: PTH100
    if not local:
        return _reaching(places[0], lambda: _collect_remote_files(places))
    if len(local) < len(places):
        raise InvalidParameterError(
            "`source` must list files of one file system; got local paths and URIs together. "
            "Build the index from one and add the other."
        )
    for path in local:
        if not os.path.exists(path):  # noqa: PTH110
            raise InvalidParameterError(
                f"`source` lists {path!r}, which does not exist. Remove it from the list, or correct its spelling."
            )
    return _collect_files(local)


def _collect_directory(path: str) -> _Collected:
    skipped: list[tuple[str, str]] = []
    tree = _scan(path, "", os.path.realpath(path), skipped)
    if _is_index(tree):
        raise InvalidParameterError(
            f"`source` {path!r} is a dfjoin index, not a lake. Give the directory of the tables."
        )
    if _own_kind(tree) is None:
        return path, tree, skipped
    # The directory is itself one table: its root is the directory above, so that it has a name.
    base, _, name = path.rpartition("/")
    top = _Directory("", children={name: _renamed(tree, name)})
    return base or "/", top, [(f"{name}/{p}", reason) for p, reason in skipped]


def _renamed(tree: _Directory, above: str) -> _Directory:
    files = [_File(f"{above}/{f.path}", f.size, f.mtime_ns, f.explicit) for f in tree.files]
    children = {name: _renamed(child, above) for name, child in tree.children.items()}
    return _Directory(f"{above}/{tree.path}".rstrip("/"), files, children)


def _scan(path: str, below: str, real_root: str, skipped: list[tuple[str, str]]) -> _Directory:
    """Read a directory and those below it; `below` is its POSIX path from the root."""
    node = _Directory(below)
    start = f"{below}/" if below else ""
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        skipped.append((below or ".", f"the directory cannot be read ({error.strerror})"))
        return node
    for entry in entries:
        name = start + entry.name
        try:
            if entry.is_symlink():
                if not is_below(entry.path, real_root):
                    if _kind(entry.name, explicit=False) is not None or entry.is_dir():
                        skipped.append((name, _LINK_LEADS_OUT))
                    continue
                if entry.is_dir():
                    skipped.append((name, _LINKED_DIRECTORY))
                    continue
            if entry.is_dir():
                child = _scan_child(entry, name, real_root, skipped)
                node.children[entry.name] = child
            else:
                stat = entry.stat()
                if not S_ISREG(stat.st_mode):
                    if _kind(entry.name, explicit=False) is not None:
                        skipped.append((name, "a pipe, socket or device, not a file"))
                    continue
                if not _is_text(entry.name):
                    skipped.append((name, "its name is not valid in the file system's encoding; rename it"))
                    continue
                node.files.append(_File(name, stat.st_size, stat.st_mtime_ns))
        except OSError as error:
            skipped.append((name, f"it cannot be read ({error.strerror})"))
    return node


def _is_text(name: str) -> bool:
    """Tell whether a file name is text: one with bytes that the encoding lacks cannot be stored."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _scan_child(entry: os.DirEntry[str], name: str, real_root: str, skipped: list[tuple[str, str]]) -> _Directory:
    if entry.name.startswith((".", "_")):
        return _Directory(name)  # its name may matter (`_delta_log`), its content never does
    return _scan(entry.path, name, real_root, skipped)


def _collect_files(paths: list[str], *, from_glob: bool = False) -> _Collected:
    """Make a tree of the given files; of directories only those that are one table each."""
    directories = [p for p in paths if os.path.isdir(p)]  # noqa: PTH112
    parents = {os.path.dirname(p) for p in paths}  # noqa: PTH120
    base = os.path.commonpath(sorted(parents))
    real = os.path.realpath(base)
    top = _Directory("")
    skipped: list[tuple[str, str]] = []
    for path in sorted(set(paths)):
        below = os.path.relpath(path, base).replace(os.sep, "/")
        if os.path.islink(path) and not is_below(path, real):  # noqa: PTH114
            skipped.append((below, _LINK_LEADS_OUT))
        elif path in directories:
            tree = _scan(path, below, real, skipped)
            if _own_kind(tree) is not None:
                _hang(top, below, tree)
            elif not from_glob:
                raise InvalidParameterError(
                    f"`source` lists the directory {path!r}, which is not one table. "
                    "Give a directory alone, or list its files."
                )
        else:
            stat = os.stat(path)  # noqa: PTH116
            file = _File(below, stat.st_size, stat.st_mtime_ns, explicit=True)
            _hang(top, below, file)
    return base, top, skipped


def _hang(top: _Directory, below: str, item: _File | _Directory) -> None:
    *above, name = below.split("/")
    node = top
    for i, part in enumerate(above):
        node = node.children.setdefault(part, _Directory("/".join(above[: i + 1])))
    if isinstance(item, _File):
        node.files.append(item)
    else:
        node.children[name] = item


def _reaching(uri: str, collect: Callable[[], _Collected]) -> _Collected:
    """List a place on another machine; say what failed when it cannot be reached."""
    try:
        return collect()
    except (OSError, pa.ArrowException) as error:
        raise cannot_be_opened(uri, error) from error


def _collect_remote(uri: str) -> _Collected:
    filesystem, base = open_root(uri)
    if _GLOB.search(base):
        raise InvalidParameterError(
            f"`source` may be a glob pattern for local files only; got {strip_credentials(uri)!r}. "
            "Give the directory, or list the files."
        )
    info = filesystem.get_file_info(base)
    if info.type == fs.FileType.File:
        return _collect_remote_files([uri])
    if info.type == fs.FileType.NotFound:
        raise InvalidParameterError(
            f"`source` must be an existing directory or file; there is nothing at {strip_credentials(uri)!r}. "
            "Check the spelling and your access rights."
        )
    top = _Directory("")
    for item in filesystem.get_file_info(fs.FileSelector(base, recursive=True)):
        below = item.path[len(base) :].lstrip("/")
        if item.type == fs.FileType.File:
            _hang(top, below, _File(below, item.size or 0, item.mtime_ns or 0))
        elif item.type == fs.FileType.Directory:
            _hang(top, f"{below}/.", _Directory(f"{below}/."))
    return uri, top, []


def _common_directory(directories: list[str]) -> str:
    """Longest path that all of some URIs of directories begin with."""
    parts = [directory.split("/") for directory in directories]
    shared = [group[0] for group in zip(*parts, strict=False) if len(set(group)) == 1]
    n = next((i for i, group in enumerate(zip(*parts, strict=False)) if len(set(group)) > 1), len(shared))
    return "/".join(shared[:n])


def _collect_remote_files(uris: list[str]) -> _Collected:
    stripped = [strip_credentials(uri) for uri in uris]
    base = _common_directory([uri.rpartition("/")[0] for uri in stripped])
    if "://" not in base or base.endswith(":/"):
        raise InvalidParameterError(
            "`source` must list files of one file system; got URIs that have no directory in common. "
            "Build the index from one place and add the others."
        )
    top = _Directory("")
    for uri, shown in zip(uris, stripped, strict=True):
        filesystem, path = open_root(uri)
        info = filesystem.get_file_info(path)
        if info.type != fs.FileType.File:
            raise InvalidParameterError(
                f"`source` lists {shown!r}, which is not a file. Remove it, or give the directory alone."
            )
        below = shown[len(base) + 1 :]
        _hang(top, below, _File(below, info.size or 0, info.mtime_ns or 0, explicit=True))
    return base, top, []


def _kind(name: str, explicit: bool) -> str | None:
    """Return the format that a file name announces, None when dfjoin does not read such files."""
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


def _own_kind(tree: _Directory) -> str | None:
    """Tell whether a directory is one table: Parquet parts, ``key=value`` folders, Delta or Iceberg."""
    if "_delta_log" in tree.children:
        return "delta"
    metadata = tree.children.get("metadata")
    if metadata is not None and any(f.path.endswith(".metadata.json") for f in metadata.files):
        return "iceberg"
    visible = [f for f in tree.files if not _is_hidden(f.path)]
    names = [f.path.rpartition("/")[2] for f in visible]
    is_parts = bool(names) and all(_PART.match(n) and _kind(n, explicit=False) == "parquet" for n in names)
    is_marked = any(f.path.rpartition("/")[2] in _DATASET_MARKS for f in tree.files)
    if is_parts and (is_marked or len(names) > 1 or not tree.children):
        return "parquet"
    folders = [name for name in tree.children if not name.startswith((".", "_"))]
    if folders and not visible and all(_PARTITION.fullmatch(name) for name in folders):
        kinds = {_kind(f.path, explicit=False) for f in _all_files(tree)}
        return "parquet" if kinds == {"parquet"} else None
    return None


def _all_files(tree: _Directory) -> list[_File]:
    """List the visible files of a directory and of those below it."""
    found = [f for f in tree.files if not _is_hidden(f.path)]
    for child in tree.children.values():
        found += _all_files(child)
    return found


def _is_hidden(path: str) -> bool:
    return path.rpartition("/")[2].startswith((".", "_"))


def _is_index(tree: _Directory) -> bool:
    return holds_index(tree.children)


def _classify(tree: _Directory, found: _Listing, *, is_top: bool = False) -> None:
    """Add the tables at and below a directory."""
    kind = None if is_top else _own_kind(tree)
    if kind in ("delta", "iceberg"):
        found.skip(tree.path, f"a {kind.capitalize()} table; {_AS_SPARK_TABLE}")
        return
    if kind is not None:
        found.add(tree.path, kind, _all_files(tree))
        return
    for file in tree.files:
        format_ = None if _is_hidden(file.path) else _kind(file.path, file.explicit)
        if format_ is not None:
            found.add(file.path, format_, [file])
        elif file.explicit:
            found.skip(file.path, f"its extension is none that dfjoin reads ({_READABLE})")
        elif not _is_hidden(file.path):
            found.pass_over(file.path)
    for name, child in tree.children.items():
        if not name.startswith((".", "_")) and not _is_index(child):
            _classify(child, found)
