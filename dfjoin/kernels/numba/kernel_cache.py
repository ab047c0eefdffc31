"""Where compiled kernels are kept and found: in a cache of this user, and among those that come with the package."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
import pickle
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from dfjoin.kernels.numba.kernel_compiler import rebuild
from dfjoin.kernels.numba.shipped_kernels import SHIPPED, PortableTarget

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


_PACKAGE = __package__.rpartition(".")[0]  # of all kernels, which this folder is a part of


_COMMENT = re.compile(rb"#[^\n]*")


class KernelSources:
    """The source files of a package of kernels, as they are when this object is made.

    Its files are read before anything is compiled: read later they could be newer than what was imported. Imports are
    found by their text, since parsing all files takes 0.2 seconds.

    Parameters
    ----------
    root : pathlib.Path
        Directory of the package; folders in it count too.
    package : str
        Its dotted name. Imports are absolute, as the house rules ask.
    """

    def __init__(self, root: Path, package: str) -> None:
        name = re.escape(package).encode()
        self._from = re.compile(rb"from " + name + rb"((?:\.\w+)*) import (\([^)]*\)|[^\n]*)")
        self._import = re.compile(rb"import " + name + rb"((?:\.\w+)*)")
        paths = [path for pattern in ("*.py", "[a-z]*/*.py") for path in root.glob(pattern)]
        self._texts = {path: path.read_bytes() for path in paths}
        self._names = {path: "." + ".".join(path.relative_to(root).with_suffix("").parts) for path in paths}
        self._modules = {name.removesuffix(".__init__").encode(): path for path, name in self._names.items()}
        self._imports: dict[Path, set[Path]] = {}
        self._digests: dict[frozenset[Path], str] = {}

    def digest(self, *files: Path) -> str:
        """Return a digest of files, and of all files of the package that they import, directly or not.

        Parameters
        ----------
        *files : pathlib.Path
            A file outside of the package is read when it is first asked for. One that cannot be read counts by name.

        Returns
        -------
        str
            The same wherever the package lies.
        """
        asked = frozenset(files)
        if asked not in self._digests:
            found, ahead = set(files), list(files)
            while ahead:
                new = self.imports(ahead.pop()) - found
                found |= new
                ahead += new
            digest = hashlib.blake2b(digest_size=16)
            for name, path in sorted((self._names.get(path, path.name), path) for path in found):
                digest.update(name.encode() + b"\0" + hashlib.blake2b(self._text(path)).digest())
            self._digests[asked] = digest.hexdigest()
        return self._digests[asked]

    def imports(self, path: Path) -> set[Path]:
        """Return the files of the package that a file imports, inside functions and for types too.

        Parameters
        ----------
        path : pathlib.Path

        Returns
        -------
        set of pathlib.Path
        """
        if path not in self._imports:
            text = self._text(path)
            names = set(self._import.findall(text))
            for module, listed in self._from.findall(text):
                names |= {module, *(module + b"." + name for name in re.findall(rb"\w+", _COMMENT.sub(b"", listed)))}
            self._imports[path] = {self._modules[name] for name in names if name in self._modules} - {path}
        return self._imports[path]

    def _text(self, path: Path) -> bytes:
        if path not in self._texts:
            try:
                self._texts[path] = path.read_bytes()
            except OSError:  # typed by hand, or part of an archive, whose own time numba looks at
                self._texts[path] = b""
        return self._texts[path]


_SOURCES = KernelSources(Path(__file__).parents[1], _PACKAGE)

_TARGET = PortableTarget()


class _OwnDirectory:
    """Where numba finds no place that can be written: a temporary directory that nobody but this user can write.

    Where the system has none, it lies in the scratch space that a cluster gives to a worker of Spark. The path is empty
    where there is none either: nothing is kept then.
    """

    def __init__(self, py_file: str, line: int) -> None:
        self._py_file, self._line = py_file, line

    def get_cache_path(self) -> str:
        return _temporary_directory()

    def get_source_stamp(self) -> None:
        return None

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        return None


@functools.cache
def _temporary_directory() -> str:
    scratch = ",".join(os.environ.get(name, "") for name in ("SPARK_LOCAL_DIRS", "LOCAL_DIRS"))
    try:
        directories = [tempfile.gettempdir()]
    except OSError:
        directories = []
    directories += [directory for directory in scratch.split(",") if directory]
    return next((own for directory in directories if (own := _own_directory(directory))), "")


def _own_directory(parent: str) -> str:
    """Return a directory of this user alone below a place of all; nothing where it cannot be had.

    What lies in a cache is run, so that a directory of somebody else is not one.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    try:
        directory = Path(parent) / f"dfjoin-numba-{user}"
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
        is_own = stat.S_ISDIR(found.st_mode) and (
            os.name == "nt" or (found.st_uid == user and not found.st_mode & 0o77)
        )
        if is_own:
            tempfile.TemporaryFile(dir=directory).close()
    except OSError:
        return ""
    return str(directory) if is_own else ""


@functools.cache
def _ensure_writable(path: str) -> None:
    """Make a directory and write a file there, once for all kernels of a folder; raise OSError if that fails."""
    Path(path).mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=path).close()


def _tried_once(locator: type) -> type:
    """Return one of numba's ways to find a place that tries a directory for the first kernel alone."""

    def ensure_cache_path(self: Any) -> None:
        _ensure_writable(self.get_cache_path())

    return type(locator.__name__, (locator,), {"ensure_cache_path": ensure_cache_path})


class _KernelCacheImpl(CompileResultCacheImpl):  # type: ignore[misc]
    """Numba's place where the user says, beside the sources, or in the user's cache; else one of our own."""

    _locator_classes = tuple(map(_tried_once, CompileResultCacheImpl._locator_classes))

    def __init__(self, py_func: Callable[..., Any]) -> None:
        try:
            super().__init__(py_func)
        except (RuntimeError, OSError):
            path = inspect.getfile(py_func)
            self._locator = _OwnDirectory(path, py_func.__code__.co_firstlineno)
            name = f"{Path(path).stem}.{py_func.__qualname__}"
            self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))

    def rebuild(self, context: Any, kept: tuple[Any, ...]) -> Any:
        return rebuild(context, kept)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """What any process compiled of one kernel, from the sources that it depends on as they are now.

    Numba looks at the file of a function, and not at those of the functions that are compiled into it, nor of the
    named tuples that it takes. A cache that can no longer be read or written, on a full disk for example, costs time
    and not the search. A kernel that is not in the user's cache is taken from those that come with the package, if
    this processor can run them.

    Parameters
    ----------
    function : callable
        The kernel in Python.
    allocates : bool
        Whether its machine code needs numba's runtime.

    Attributes
    ----------
    is_kept : bool
        Whether there is a place for what is compiled.
    """

    _impl_class = _KernelCacheImpl
    _turns: dict[str, CompileTurn] = {}  # noqa: RUF012
    """Of the caches of this process, one for each folder of kernels. No folder imports one that imports it, so that
    two processes never wait for each other."""

    def __init__(self, function: Callable[..., Any], *, allocates: bool = True) -> None:
        super().__init__(function)
        self._allocates = allocates
        stamp = _SOURCES.digest(Path(function.__code__.co_filename))
        name = self._impl.filename_base
        self._cache_file = KernelCacheFile(self.cache_path, name, stamp)
        self._shipped_file = KernelCacheFile(str(SHIPPED), name, stamp)
        self.is_kept = bool(self.cache_path)
        self.turn = self._turns.setdefault(self.cache_path, CompileTurn(Path(self.cache_path)))

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return what was compiled for a signature; None if the caller, whose turn it then is, has to compile it.

        Before it loads a function numba imports all that it can compile (and SciPy with that), half a second in each
        process. Machine code needs nothing of it unless it allocates; where a function has to be compiled, the compiler
        does the same.
        """
        if self._allocates:
            context.refresh()
        found = self._kept(signature, context)
        if found is None and _TARGET.runs_here:
            shipped = self._shipped_file.load(self._index_key(signature, _TARGET))
            found = None if shipped is None else self._impl.rebuild(context, shipped)
        if found is None and self.is_kept and self.turn.take():
            found = self._kept(signature, context)
        return found

    def _kept(self, signature: Any, context: Any) -> Any:
        """Return what the cache of this user has."""
        if self.is_kept:
            with self._guard_against_spurious_io_errors():
                return self._load_overload(signature, context)
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep what was compiled, if it can be kept."""
        if self.is_kept:
            with contextlib.suppress(OSError), _writing_alone(Path(self.cache_path)):
                super().save_overload(signature, compiled)

    def _index_key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        files = _depends_on(self._py_func, getattr(signature, "args", signature))
        return (*super()._index_key(signature, codegen), _SOURCES.digest(*files))


def _depends_on(function: Callable[..., Any], types_of_arguments: Iterable[Any]) -> Iterator[Path]:
    """Yield the files that define a function and the named tuples that it is called with."""
    yield Path(function.__code__.co_filename)
    ahead = list(types_of_arguments)
    while ahead:
        type_ = ahead.pop()
        if isinstance(type_, types.BaseTuple):
            ahead += type_
        if isinstance(type_, types.BaseNamedTuple):
            file = getattr(sys.modules.get(type_.instance_class.__module__), "__file__", None)
            if file is not None:
                yield Path(file)


@contextlib.contextmanager
def _writing_alone(directory: Path) -> Iterator[None]:
    """Let one process at a time write to a cache: of two that add to the same index one would be lost."""
    if fcntl is None:
        yield
        return
    with (directory / ".dfjoin.lock").open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


# The files of a compile cache, as numba writes them, of which each says what was compiled -------------------


_UNREADABLE = (AttributeError, ImportError, EOFError, OSError, pickle.UnpicklingError)
"""What names something that is gone from the sources or from numba, or was cut short."""


class KernelCacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's index and data files of one kernel, with the key of what was compiled beside the machine code.

    Numba numbers its data files. An index that it finds out of date, of another version of numba or of a source that
    was edited, starts anew at 1 and is written before the data file, so that another process may read the old machine
    code under the new key. What stands here under another key is not read.
    """

    def load(self, key: Any) -> Any:
        """Return what was compiled for a key; None where nothing was, or something else lies in its place."""
        kept_key, compiled = super().load((self._version, key)) or (None, None)
        return compiled if kept_key == (self._version, key) else None

    def save(self, key: Any, data: Any) -> None:
        """Write what was compiled for a key."""
        key = (self._version, key)
        super().save(key, (key, data))

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except _UNREADABLE:
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            found = super()._load_data(name)
        except _UNREADABLE:
            return None
        return found if isinstance(found, tuple) and len(found) == 2 else None


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


_LONGEST_WAIT = 60.0  # seconds; a kernel takes at most some ten
_PAUSE = 0.02


class CompileTurn:
    """The right to compile for a cache, which one process has at a time.

    It costs nothing where everything is found in the cache. A process that died has lost it. After a minute of waiting
    a process compiles without it: what is compiled is the same, and only time is lost. Threads of a process come here
    one at a time, as numba's own lock says.

    Parameters
    ----------
    directory : Path
        Directory of the cache.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._stream: BinaryIO | None = None
        self._depth = 0

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Give the turn back at the end of the outermost block, if it was taken inside."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0 and self._stream is not None:
                self._stream.close()
                self._stream = None

    def take(self) -> bool:
        """Take the turn; return whether another process had it, and may have compiled what is wanted."""
        if fcntl is None or self._stream is not None:
            return False
        try:
            stream = (self._directory / ".dfjoin.turn").open("ab")
        except OSError:  # nothing is kept there: nobody to wait for
            return False
        until = time.monotonic() + _LONGEST_WAIT
        has_waited = False
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                has_waited = True
            except OSError:  # a file system without locks
                stream.close()
                return False
            else:
                self._stream = stream
                return has_waited
            if time.monotonic() > until:
                stream.close()
                return True
            time.sleep(_PAUSE)
