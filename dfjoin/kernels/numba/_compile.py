"""The one place that says how kernels are compiled, and the few machine instructions numba lacks."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import config, types
from numba.core import cgutils, event
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

from dfjoin.kernels.numba.cache_file import KernelCacheFile
from dfjoin.kernels.numba.compile_turn import CompileTurn
from dfjoin.kernels.numba.compile_watch import CompileWatch
from dfjoin.kernels.numba.held_interrupts import holding_interrupts
from dfjoin.kernels.numba.kernel_sources import KernelSources

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "first_set_byte",
    "load_u64",
    "mum",
    "njit",
    "njit_generic",
    "njit_inlined",
    "njit_inner",
    "njit_lean",
    "prefetch",
    "store_u64",
    "watch",
]

_MASK = (1 << 64) - 1
_KERNELS = __package__.rpartition(".")[0]  # the package of all kernels, which this folder is a part of


def _numba_has_a_place() -> bool:
    """Tell whether numba can write its cache where the user says, beside this module, or in the user's cache."""

    def probe() -> None:
        """Be a function of this directory, as the kernels are."""

    try:
        numba.njit(cache=True)(probe)
    except (RuntimeError, OSError):
        return False
    return True


def _temporary_place() -> str:
    """Return a temporary directory that nobody but this user can write; nothing where there is none.

    Where the system has none, it lies in the scratch space that a cluster gives to a worker of Spark.
    """
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


_HAS_PLACE = _numba_has_a_place()
_OWN_PLACE = "" if _HAS_PLACE else _temporary_place()
_IS_KEPT = _HAS_PLACE or bool(_OWN_PLACE)
_OPTIONS: dict[str, Any] = {"nogil": True, "cache": _IS_KEPT, "no_cfunc_wrapper": True}

watch = CompileWatch(_KERNELS, _IS_KEPT)
"""What was compiled in this process."""
event.register("numba:compile", watch)


_SOURCES = KernelSources(Path(__file__).parents[1], _KERNELS)


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


_TURNS: dict[str, CompileTurn] = {}
"""Of the caches of this process, one for each folder of kernels. No folder imports one that imports it, so that two
processes never wait for each other."""


def _keep_by_sources(dispatcher: Any) -> None:
    """Find in the cache only what was compiled, by any process, from the sources that it depends on as they are now.

    Numba looks at the file of a function, and not at those of the functions that are compiled into it, nor of the
    named tuples that it takes. A cache that can no longer be read or written, on a full disk for example,
    costs time and not the search.

    Before it loads a function numba imports all that it can compile (and SciPy with that), half a second in each
    process. Machine code needs nothing of it unless it allocates; where a function has to be compiled, the compiler
    does the same.
    """
    cache = dispatcher._cache
    key_of = getattr(cache, "_index_key", None)
    if key_of is None:
        return

    def key_by_sources(signature: Any, codegen: Any) -> tuple[Any, ...]:
        files = _depends_on(dispatcher.py_func, getattr(signature, "args", signature))
        return (*key_of(signature, codegen), _SOURCES.digest(*files))

    cache._index_key = key_by_sources
    cache._cache_file = KernelCacheFile(
        cache.cache_path, cache._impl.filename_base, cache._impl.locator.get_source_stamp()
    )
    save = cache.save_overload

    def save_or_not(signature: Any, compiled: Any) -> None:
        with contextlib.suppress(OSError), _writing_alone(Path(cache.cache_path)):
            save(signature, compiled)

    cache.save_overload = save_or_not
    turn = _TURNS.setdefault(cache.cache_path, CompileTurn(Path(cache.cache_path)))
    load, compile_now = cache.load_overload, dispatcher.compile
    if not dispatcher.targetoptions.get("_nrt", True):

        def load(signature: Any, context: Any) -> Any:
            with cache._guard_against_spurious_io_errors():
                return cache._load_overload(signature, context)
            return None

    def load_or_wait(signature: Any, context: Any) -> Any:
        found = load(signature, context)
        return load(signature, context) if found is None and turn.take() else found

    def compile_in_turn(signature: Any) -> Any:
        with global_compiler_lock, turn.scope():
            return compile_now(signature)

    cache.load_overload = load_or_wait
    dispatcher.compile = compile_in_turn


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    """Compile lazily, once for each combination of types.

    Numba would compile a function that is called with the constant 2 apart from one that is called with an integer;
    a variable that starts as 0 is such a constant when its type is first looked at. The machine code of both is the
    same, since small functions are inlined, so constants are taken as integers here.
    """
    place = config.CACHE_DIR
    try:
        config.CACHE_DIR = _OWN_PLACE or place  # read when the function is decorated, and no setting of others
        dispatcher = numba.njit(**(_OPTIONS | options))(function)
    finally:
        config.CACHE_DIR = place
    if not config.DISABLE_JIT:
        resolve = dispatcher.get_call_template

        def resolve_without_constants(args: Any, kws: Any) -> Any:
            plain = tuple(types.unliteral(type_) for type_ in args)
            return resolve(plain, {name: types.unliteral(type_) for name, type_ in kws.items()})

        compile_for = dispatcher._compile_for_args

        def compile_whole(*args: Any, **kws: Any) -> Any:
            with holding_interrupts():
                return compile_for(*args, **kws)

        dispatcher.get_call_template = resolve_without_constants
        dispatcher._compile_for_args = compile_whole
        _keep_by_sources(dispatcher)
    return dispatcher


def njit(function: Callable[..., Any]) -> Any:
    """Compile `function` lazily: cached, without the interpreter lock, serial, no fast math."""
    return _compile(function)


def njit_lean(function: Callable[..., Any]) -> Any:
    """Compile as `njit`, without reference counting: for functions that allocate nothing.

    Counting references costs an atomic operation for each array of each call, which in the inner
    functions of a per-value loop is more than the work itself.
    """
    return _compile(function, _nrt=False)


def njit_inner(function: Callable[..., Any]) -> Any:
    """Compile as `njit_lean`, for kernels to call and not for Python, which spares a third of the time of small ones.

    Without a way to convert Python's objects, a call from Python would be one to no address: it raises TypeError.
    """
    return _for_kernels_alone(_compile(function, _nrt=False, no_cpython_wrapper=True))


def _for_kernels_alone(dispatcher: Any) -> Any:
    """Let compiled versions of a kernel be found by other kernels, and not by Python."""
    if config.DISABLE_JIT:
        return dispatcher
    name = dispatcher.py_func.__name__

    def add_overload(compiled: Any) -> None:
        dispatcher.overloads[tuple(compiled.signature.args)] = compiled

    def refuse(*args: Any, **kws: Any) -> None:
        raise TypeError(f"{name} is compiled for other kernels to call, not for Python")

    dispatcher.add_overload = add_overload
    dispatcher._compile_for_args = refuse
    return dispatcher


def njit_generic(function: Callable[..., Any]) -> Any:
    """Compile as `njit_inner`, for a function made of another, which has no place in the cache."""
    return _for_kernels_alone(_compile(function, _nrt=False, no_cpython_wrapper=True, cache=False))


def njit_inlined(function: Callable[..., Any]) -> Any:
    """Compile as `njit_inner` into each caller, so that arguments that are constant there choose the code."""
    return _for_kernels_alone(_compile(function, _nrt=False, no_cpython_wrapper=True, forceinline=True))


if config.DISABLE_JIT:  # the same operations in plain Python, for coverage and readable failures

    def mum(a: Any, b: Any) -> Any:
        """Multiply two 64-bit numbers; return the high half of the product xor the low half."""
        product = int(a) * int(b)
        return np.uint64((product >> 64) ^ (product & _MASK))

    def load_u64(array: Any, position: int) -> Any:
        """Load 8 bytes of a uint8 array as a little-endian number."""
        return np.uint64(int.from_bytes(array[position : position + 8].tobytes(), "little"))

    def store_u64(array: Any, position: int, value: Any) -> None:
        """Store a number as 8 little-endian bytes of a uint8 array."""
        array[position : position + 8] = np.frombuffer(int(value).to_bytes(8, "little"), np.uint8)

    def first_set_byte(value: Any) -> int:
        """Return the number of the lowest byte that has a bit set, 8 if none has."""
        number = int(value)
        return 8 if number == 0 else ((number & -number).bit_length() - 1) // 8

    def prefetch(array: Any, position: int) -> None:
        """Do nothing; compiled, it asks for the cache line of ``array[position]``."""

else:

    @intrinsic
    def mum(typingctx: Any, a: Any, b: Any) -> Any:
        """Multiply two 64-bit numbers; return the high half of the product xor the low half."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            wide = cgutils.ir.IntType(128)
            product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
            high = builder.trunc(builder.lshr(product, wide(64)), cgutils.ir.IntType(64))
            return builder.xor(high, builder.trunc(product, cgutils.ir.IntType(64)))

        return types.uint64(types.uint64, types.uint64), codegen

    def _element_pointer(context: Any, builder: Any, array_type: Any, array: Any, position: Any) -> Any:
        data = context.make_array(array_type)(context, builder, array).data
        return builder.gep(data, [position])

    @intrinsic
    def load_u64(typingctx: Any, array: Any, position: Any) -> Any:
        """Load 8 bytes of a uint8 array as a little-endian number; the caller guarantees the bounds."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            wide = builder.bitcast(pointer, cgutils.ir.IntType(64).as_pointer())
            loaded = builder.load(wide)
            loaded.align = 1
            return loaded

        return types.uint64(array, types.intp), codegen

    @intrinsic
    def store_u64(typingctx: Any, array: Any, position: Any, value: Any) -> Any:
        """Store a number as 8 little-endian bytes of a uint8 array; the caller guarantees the bounds."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            wide = builder.bitcast(pointer, cgutils.ir.IntType(64).as_pointer())
            builder.store(args[2], wide).align = 1
            return context.get_dummy_value()

        return types.void(array, types.intp, types.uint64), codegen

    @intrinsic
    def first_set_byte(typingctx: Any, value: Any) -> Any:
        """Return the number of the lowest byte that has a bit set, 8 if none has."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            zeros = builder.cttz(args[0], cgutils.ir.Constant(cgutils.ir.IntType(1), 0))
            return builder.lshr(zeros, cgutils.ir.IntType(64)(3))

        return types.int64(types.uint64), codegen

    @intrinsic
    def prefetch(typingctx: Any, array: Any, position: Any) -> Any:
        """Ask for the cache line of ``array[position]``; never faults, whatever the position."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            byte_pointer = cgutils.ir.IntType(8).as_pointer()
            integer = cgutils.ir.IntType(32)
            function_type = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [byte_pointer, integer, integer, integer])
            function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0i8")
            builder.call(function, [builder.bitcast(pointer, byte_pointer), integer(0), integer(3), integer(1)])
            return context.get_dummy_value()

        return types.void(array, types.intp), codegen
