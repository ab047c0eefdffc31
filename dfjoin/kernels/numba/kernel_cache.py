"""Where compiled kernels are kept and found: in a cache of this user, and among those that come with the package."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache

from dfjoin.kernels.numba.cache_file import KernelCacheFile
from dfjoin.kernels.numba.compile_turn import CompileTurn
from dfjoin.kernels.numba.kernel_compiler import rebuild
from dfjoin.kernels.numba.kernel_sources import KernelSources
from dfjoin.kernels.numba.shipped_kernels import SHIPPED, PortableTarget

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["KernelCache"]

_PACKAGE = __package__.rpartition(".")[0]  # of all kernels, which this folder is a part of
_SOURCES = KernelSources(Path(__file__).parents[1], _PACKAGE)

_TARGET = PortableTarget()


class _OwnPlace:
    """Where numba finds no place that can be written: a temporary directory that nobody but this user can write.

    Where the system has none, it lies in the scratch space that a cluster gives to a worker of Spark. The path is empty
    where there is none either: nothing is kept then.
    """

    def __init__(self, py_file: str, line: int) -> None:
        self._py_file, self._line = py_file, line

    def get_cache_path(self) -> str:
        return _temporary_place()

    def get_source_stamp(self) -> None:
        return None

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        return None


@functools.cache
def _temporary_place() -> str:
    scratch = ",".join(os.environ.get(name, "") for name in ("SPARK_LOCAL_DIRS", "LOCAL_DIRS"))
    try:
        places = [tempfile.gettempdir()]
    except OSError:
        places = []
    places += [place for place in scratch.split(",") if place]
    return next((own for place in places if (own := _own_place(place))), "")


def _own_place(parent: str) -> str:
    """Return a directory of this user alone below a place of all; nothing where it cannot be had.

    What lies in a cache is run, so that a directory of somebody else is not one.
    """
    user = os.getuid() if hasattr(os, "getuid") else 0
    try:
        place = Path(parent) / f"dfjoin-numba-{user}"
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
        is_own = stat.S_ISDIR(found.st_mode) and (
            os.name == "nt" or (found.st_uid == user and not found.st_mode & 0o77)
        )
        if is_own:
            tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return ""
    return str(place) if is_own else ""


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
            self._locator = _OwnPlace(path, py_func.__code__.co_firstlineno)
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
def _writing_alone(place: Path) -> Iterator[None]:
    """Let one process at a time write to a cache: of two that add to the same index one would be lost."""
    if fcntl is None:
        yield
        return
    with (place / ".dfjoin.lock").open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
