"""What tables a directory, a glob or a list of files holds: names, formats, sizes; nothing is opened."""

from __future__ import annotations

import glob as globbing
import os
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from dfjoin._validation import is_valid_text, show, strip_credentials
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.index.components import holds_index
from dfjoin.sources.directory_tree import (
    LINK_LEADS_OUT,
    NOT_UTF_8,
    Directory,
    ListedFile,
    LocalScan,
    add_below,
    renamed,
)
from dfjoin.sources.roots import (
    absolute_uri,
    cannot_be_opened,
    is_below,
    local_path,
    open_root,
)
from dfjoin.sources.table_kinds import KINDS, READABLE, UNREAD, files_below, is_hidden, kind_of_directory, kind_of_file
from dfjoin.types import Root, SkippedFile, TableSource

_GLOB = re.compile(r"[*?\[]")


class Listing:
    """The tables of a place, found as they are asked for.

    Parameters
    ----------
    source : str, os.PathLike, or iterable of these
        As in `list_tables`.
    kind : str
        What reads its files, whatever their names say; empty where these tell.

    Attributes
    ----------
    root : Root
        Where the paths start, with the id 0.

    Notes
    -----
    Memory: the directories above the one at hand and its entries, about 0.5 kB each, whatever the number of tables.
    Of a place on another file system, and of lists and globs, all entries are held.
    """

    def __init__(self, source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], kind: str = "") -> None:
        self._kind = kind
        self._skipped: list[SkippedFile] = []
        self._unread: dict[str, tuple[int, str]] = {}
        self._not_ready: dict[str, tuple[int, str]] = {}
        location, self._top = self._collect(source)
        uri = strip_credentials(location)
        self.root = Root(0, uri.rstrip("/").rpartition("/")[2] or "root", uri)

    def tables(self) -> Iterator[TableSource]:
        """Find the tables, once: the files of a directory by name, then the directories below it."""
        yield from self._tables_of(self._top, is_top=True)

    def skipped(self) -> list[SkippedFile]:
        """Return what was passed over with a reason, sorted by name; all of it when all tables were found."""
        found = list(self._skipped)
        for ending, (count, first) in self._unread.items():  # the reason once, however many files have the ending
            others = f" and {count - 1:,} more" if count > 1 else ""
            reason = f"dfjoin does not read {ending}: {first}{others}; {UNREAD[ending]}"
            found.append(SkippedFile(f"*{ending}", reason))
        for kind, (count, first) in self._not_ready.items():
            needed, others = KINDS[kind], f" and {count - 1:,} more" if count > 1 else ""
            noun = "table" if needed.has_version else "file"
            reason = (
                f"{count:,} {noun}{'s need' if count > 1 else ' needs'} `{needed.library}`, which is not installed: "
                f'{first}{others}; install it with: pip install "dfjoin[{needed.extra}]"'
            )
            found.append(SkippedFile(f"*{needed.endings[0] if needed.endings else kind}", reason))
        return sorted(found, key=lambda file: (file.name, file.reason))

    def _skip(self, path: str, reason: str) -> None:
        self._skipped.append(SkippedFile(path.encode("utf-8", "backslashreplace").decode(), reason))

    def _pass_over(self, path: str) -> None:
        """Take note of a file that is not read, if its ending is one of tables."""
        ending = os.path.splitext(path)[1].lower()  # noqa: PTH122
        if ending in UNREAD:
            _count(self._unread, ending, path)

    def _is_ready(self, kind: str, path: str) -> bool:
        """Tell whether what reads a table is installed; take note of the table if not."""
        if KINDS[kind].is_ready():
            return True
        _count(self._not_ready, kind, path)
        return False

    def _tables_of(self, tree: Directory, *, is_top: bool = False) -> Iterator[TableSource]:
        """Find the tables at and below a directory, and forget it."""
        kind = None if is_top else kind_of_directory(tree)
        if kind is not None and KINDS[kind].has_version:
            if self._is_ready(kind, tree.path):
                size = sum(file.size for file in files_below(tree))
                yield TableSource(tree.path, self.root, tree.path, kind, size, 0, (tree.path,))
        elif kind is not None:
            yield self._table(tree.path, kind, files_below(tree))
        else:
            for file in tree.files:
                known = self._kind or kind_of_file(file.path, file.explicit)
                format_ = known if file.explicit or not is_hidden(file.path) else None
                if format_ is not None:
                    if self._is_ready(format_, file.path):
                        yield self._table(file.path, format_, [file])
                elif file.explicit:
                    self._skip(file.path, f"its extension is none that dfjoin reads ({READABLE})")
                elif not is_hidden(file.path):
                    self._pass_over(file.path)
            tree.files.clear()
            for name, child in tree.children.items():
                if not name.startswith((".", "_")) and not holds_index(child.children):
                    yield from self._tables_of(child)
        tree.forget()

    def _table(self, path: str, kind: str, files: list[ListedFile]) -> TableSource:
        files = sorted(files, key=lambda f: f.path)
        parts = tuple(f.path for f in files)
        size = sum(f.size for f in files)
        mtime = max(f.mtime_ns for f in files)
        stats = () if parts == (path,) else tuple((f.size, f.mtime_ns) for f in files)
        return TableSource(path, self.root, path, kind, size, mtime, parts, part_stats=stats)

    def _collect(self, source: object) -> tuple[str, Directory]:
        """Return the place of the root, and its entries as a tree."""
        if isinstance(source, (str, os.PathLike)):
            location = absolute_uri(source)
            path = local_path(location)
            return _list_remote(location, lambda: _remote_tree(location)) if path is None else self._local(path, source)
        if isinstance(source, Iterable) and not isinstance(source, (bytes, dict)):
            items = list(source)
            if all(isinstance(item, (str, os.PathLike)) for item in items):
                return self._list([absolute_uri(item) for item in items])
        raise InvalidTypeError(
            f"`source` must be a path, a glob pattern, a URI or a list of paths; got {type(source).__name__}. "
            "Give the directory that holds the files."
        )

    def _local(self, path: str, source: str | os.PathLike[str]) -> tuple[str, Directory]:
        """Return the tree of a directory, a file or a glob of this machine."""
        _check_text(path)
        if os.path.isdir(path):  # noqa: PTH112
            return self._directory(path)
        if os.path.isfile(path):  # noqa: PTH113
            return self._files([path])
        if _GLOB.search(path):
            matches = sorted(globbing.glob(path, recursive=True))  # noqa: PTH207
            if not matches:
                fixed = path[: _GLOB.search(path).start()].rpartition("/")[0] or "/"  # type: ignore[union-attr]
                return fixed, Directory("")
            return self._files(matches, from_glob=True)
        raise InvalidParameterError(
            f"`source` must be an existing directory, file, glob pattern or list of files; got "
            f"{show(os.fspath(source))}, which does not exist here. Check the spelling, or give the absolute path."
        )

    def _list(self, locations: list[str]) -> tuple[str, Directory]:
        """Return the tree of a list of files."""
        paths = [local_path(location) for location in locations]
        local = [path for path in paths if path is not None]
        if not locations:
            return os.path.abspath(os.curdir), Directory("")  # noqa: PTH100
        if not local:
            return _list_remote(locations[0], lambda: _remote_files_tree(locations))
        if len(local) < len(locations):
            raise InvalidParameterError(
                "`source` must list files of one file system; got local paths and URIs together. "
                "Build the index from one and add the other."
            )
        for path in local:
            if not os.path.exists(path):  # noqa: PTH110
                raise InvalidParameterError(
                    f"`source` lists {path!r}, which does not exist. Remove it from the list, or correct its spelling."
                )
        return self._files(local)

    def _scan(self, path: str, skip: Callable[[str, str], None]) -> LocalScan:
        """Return what reads directories below a path."""
        return LocalScan(os.path.realpath(path), skip, lambda name: kind_of_file(name) is not None)

    def _directory(self, path: str) -> tuple[str, Directory]:
        """Return the tree of a directory."""
        looked = self._scan(path, lambda *_: None).directory(path, "")
        if holds_index(looked.children):
            raise InvalidParameterError(
                f"`source` {path!r} is a dfjoin index, not a lake. Give the directory of the tables."
            )
        if kind_of_directory(looked) is None:
            return path, self._scan(path, self._skip).directory(path, "")
        # The directory is itself one table: its root is the directory above, so that it has a name.
        base, _, name = path.rpartition("/")
        tree = self._scan(path, lambda below, reason: self._skip(f"{name}/{below}", reason)).directory(path, "")
        above = Directory("")
        add_below(above, name, renamed(tree, name))
        return base or "/", above

    def _files(self, paths: list[str], *, from_glob: bool = False) -> tuple[str, Directory]:
        """Make a tree of the given files; of directories only those that are one table each."""
        directories = [p for p in paths if os.path.isdir(p)]  # noqa: PTH112
        parents = {os.path.dirname(p) for p in paths}  # noqa: PTH120
        base = os.path.commonpath(sorted(parents))
        _check_text(base)
        scan = self._scan(base, self._skip)
        top = Directory("")
        for path in sorted(set(paths)):
            below = os.path.relpath(path, base).replace(os.sep, "/")
            if not is_valid_text(below):
                self._skip(below, NOT_UTF_8)
            elif os.path.islink(path) and not is_below(path, scan.real_root):  # noqa: PTH114
                self._skip(below, LINK_LEADS_OUT)
            elif path in directories:
                tree = scan.directory(path, below)
                if kind_of_directory(tree) is not None:
                    add_below(top, below, tree)
                elif not from_glob:
                    raise InvalidParameterError(
                        f"`source` lists the directory {path!r}, which is not one table. "
                        "Give a directory alone, or list its files."
                    )
            else:
                stat = os.stat(path)  # noqa: PTH116
                add_below(top, below, ListedFile(below, stat.st_size, stat.st_mtime_ns, explicit=True))
        return base, top


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
    listing = Listing(source)
    tables = sorted(listing.tables(), key=lambda table: table.name)
    return listing.root, tables, listing.skipped()


def _count(noted: dict[str, tuple[int, str]], kind: str, path: str) -> None:
    """Count a file, and keep the first by name."""
    count, first = noted.get(kind, (0, path))
    noted[kind] = count + 1, min(first, path)


def _check_text(path: str) -> None:
    """Raise if the path to all tables cannot be kept."""
    if not is_valid_text(path):
        raise InvalidParameterError(
            f"`source` must lie in directories whose names are UTF-8, got {show(path)}; rename the directory, or make "
            "a link to it under another name"
        )


def _list_remote(uri: str, collect: Callable[[], tuple[str, Directory]]) -> tuple[str, Directory]:
    """List a place on another machine; say what failed when it cannot be reached."""
    try:
        return collect()
    except (OSError, pa.ArrowException) as error:
        raise cannot_be_opened(uri, error) from error


def _remote_tree(uri: str) -> tuple[str, Directory]:
    filesystem, base = open_root(uri)
    if _GLOB.search(base):
        raise InvalidParameterError(
            f"`source` may be a glob pattern for local files only; got {strip_credentials(uri)!r}. "
            "Give the directory, or list the files."
        )
    info = filesystem.get_file_info(base)
    if info.type == fs.FileType.File:
        return _remote_files_tree([uri])
    if info.type == fs.FileType.NotFound:
        raise InvalidParameterError(
            f"`source` must be an existing directory or file; there is nothing at {strip_credentials(uri)!r}. "
            "Check the spelling and your access rights."
        )
    top = Directory("")
    for item in sorted(filesystem.get_file_info(fs.FileSelector(base, recursive=True)), key=lambda info: info.path):
        below = item.path[len(base) :].lstrip("/")
        if item.type == fs.FileType.File:
            add_below(top, below, ListedFile(below, item.size or 0, item.mtime_ns or 0))
        elif item.type == fs.FileType.Directory:
            add_below(top, f"{below}/.", Directory(f"{below}/."))
    return uri, top


def _common_directory(directories: list[str]) -> str:
    """Longest path that all of some URIs of directories begin with."""
    parts = [directory.split("/") for directory in directories]
    shared = [group[0] for group in zip(*parts, strict=False) if len(set(group)) == 1]
    n = next((i for i, group in enumerate(zip(*parts, strict=False)) if len(set(group)) > 1), len(shared))
    return "/".join(shared[:n])


def _remote_files_tree(uris: list[str]) -> tuple[str, Directory]:
    """Return the URI of the directory that files have in common, with their credentials and options, and its tree."""
    parts = [urlsplit(uri) for uri in uris]
    stores = {(part.scheme, part.netloc, part.query) for part in parts}
    base = _common_directory([part.path.rpartition("/")[0] for part in parts])
    if len(stores) > 1 or not (parts[0].netloc or base):
        raise InvalidParameterError(
            "`source` must list files of one file system; got URIs that have no directory in common, or other "
            "credentials or options. Build the index from one place and add the others."
        )
    ((scheme, netloc, query),) = stores
    location = f"{scheme}://{netloc}{base}{'?' if query else ''}{query}"
    filesystem, path = open_root(location)
    relative = [unquote(part.path[len(base) :]).lstrip("/") for part in parts]
    infos = filesystem.get_file_info([f"{path.rstrip('/')}/{below}" for below in relative])
    top = Directory("")
    for uri, below, info in zip(uris, relative, infos, strict=True):
        if info.type != fs.FileType.File:
            shown = strip_credentials(uri)
            raise InvalidParameterError(
                f"`source` lists {shown!r}, which is not a file. Remove it, or give the directory alone."
            )
        add_below(top, below, ListedFile(below, info.size or 0, info.mtime_ns or 0, explicit=True))
    return location, top
