"""Directories of a lake and what is in them, read when they are looked at and forgotten when they are done."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from stat import S_ISREG
from typing import TypeAlias

from dfjoin._validation import is_valid_text
from dfjoin.sources.roots import is_below

LINK_LEADS_OUT = "a link that leads out of the root; give the place it leads to as a root of its own"
NOT_UTF_8 = "its name is not UTF-8, so that no index can hold it; rename it"
_LINKED_DIRECTORY = "a link to a directory; directories are listed where they are"


@dataclass(slots=True)
class ListedFile:
    """A file: its POSIX path below the root, bytes, modification time, and whether it was named by itself."""

    path: str
    size: int
    mtime_ns: int
    explicit: bool = False


_Entries: TypeAlias = "tuple[list[ListedFile], dict[str, Directory]]"


class Directory:
    """A directory of a lake.

    Parameters
    ----------
    path : str
        POSIX path below the root.
    read : callable, optional
        Returns its files and directories; called when these are first asked for. None: they are put there.
    """

    __slots__ = ("_children", "_files", "_read", "path")

    def __init__(self, path: str, read: Callable[[], _Entries] | None = None) -> None:
        self.path = path
        self._read = read
        self._files: list[ListedFile] = []
        self._children: dict[str, Directory] = {}

    def _open(self) -> None:
        if self._read is not None:
            read, self._read = self._read, None
            self._files, self._children = read()

    @property
    def files(self) -> list[ListedFile]:
        """Its files, by name."""
        self._open()
        return self._files

    @property
    def children(self) -> dict[str, Directory]:
        """The directories in it, by name."""
        self._open()
        return self._children

    def forget(self) -> None:
        """Drop what is known of it, so that no more than one path of a lake is held; it is empty from now on."""
        self._read, self._files, self._children = None, [], {}


def add_below(top: Directory, below: str, item: ListedFile | Directory) -> None:
    """Put a file or directory at a path below a directory, and make the directories between them."""
    *above, name = below.split("/")
    node = top
    for i, part in enumerate(above):
        node = node.children.setdefault(part, Directory("/".join(above[: i + 1])))
    if isinstance(item, ListedFile):
        node.files.append(item)
    else:
        node.children[name] = item


def renamed(tree: Directory, above: str) -> Directory:
    """Return a directory with all below it, as seen from a root that is further up."""
    copy = Directory(f"{above}/{tree.path}".rstrip("/"))
    copy.files.extend(ListedFile(f"{above}/{f.path}", f.size, f.mtime_ns, f.explicit) for f in tree.files)
    copy.children.update({name: renamed(child, above) for name, child in tree.children.items()})
    return copy


@dataclass(frozen=True)
class LocalScan:
    """How directories of this machine are read.

    Parameters
    ----------
    real_root : str
        The root with its links followed: no link that leads out of it is.
    skip : callable
        Called with the path and the reason for an entry that is passed over.
    is_table : callable
        Tells by its name whether a file would be a table.
    """

    real_root: str
    skip: Callable[[str, str], None]
    is_table: Callable[[str], bool]

    def directory(self, path: str, below: str) -> Directory:
        """Return a directory; `below` is its POSIX path from the root."""
        return Directory(below, lambda: self._read(path, below))

    def _read(self, path: str, below: str) -> _Entries:
        """Read the entries of a directory, by name."""
        files: list[ListedFile] = []
        children: dict[str, Directory] = {}
        start = f"{below}/" if below else ""
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError as error:
            self.skip(below or ".", f"the directory cannot be read ({error.strerror})")
            return files, children
        for entry in entries:
            name = start + entry.name
            try:
                if self._is_passed_over(entry, name):
                    continue
                if entry.is_dir():
                    # The name of a hidden directory may matter (`_delta_log`), its content never does.
                    is_hidden = entry.name.startswith((".", "_"))
                    children[entry.name] = Directory(name) if is_hidden else self.directory(entry.path, name)
                else:
                    stat = entry.stat()  # what the first look at the entry has kept
                    files.append(ListedFile(name, stat.st_size, stat.st_mtime_ns))
            except OSError as error:
                self.skip(name, f"it cannot be read ({error.strerror})")
        return files, children

    def _is_passed_over(self, entry: os.DirEntry[str], name: str) -> bool:
        """Tell whether an entry is neither a directory nor a file of the root, and say why if it looks like a table."""
        if not is_valid_text(entry.name):
            self.skip(name, NOT_UTF_8)
            return True
        if entry.is_symlink():
            if not is_below(entry.path, self.real_root):
                if self.is_table(entry.name) or entry.is_dir():
                    self.skip(name, LINK_LEADS_OUT)
                return True
            if entry.is_dir():
                self.skip(name, _LINKED_DIRECTORY)
                return True
        if entry.is_dir():
            return False
        if not S_ISREG(entry.stat().st_mode):
            if self.is_table(entry.name):
                self.skip(name, "a pipe, socket or device, not a file")
            return True
        return False
