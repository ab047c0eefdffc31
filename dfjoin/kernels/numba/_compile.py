"""The one place that says how kernels are compiled, and the few machine instructions numba lacks."""

from __future__ import annotations

import contextlib
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numba
import numpy as np
from numba import config, types
from numba.core import cgutils, event
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

from dfjoin.kernels.numba.kernel_cache import KernelCache
from dfjoin.kernels.numba.kernel_compiler import KernelCompiler

__all__ = [
    "CompileWatch",
    "first_set_byte",
    "holding_interrupts",
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
_REPORTED_AFTER, _REPORTED_EACH = 2.0, 10.0  # seconds


class CompileWatch(event.Listener):
    """Counts the kernels that are compiled, and says on standard error that this takes time, and how far it is.

    Parameters
    ----------
    package : str
        Functions of its modules are watched, with all that is compiled for them.
    is_kept : bool
        Whether later processes find what is compiled.

    Attributes
    ----------
    n_compiled : int
        Functions of the package compiled so far.
    seconds : float
        How long this took.
    """

    def __init__(self, package: str, is_kept: bool) -> None:
        self.n_compiled = 0
        self.seconds = 0.0
        self._reported_at = 0.0
        self._package = package
        self._is_kept = is_kept
        self._n_open = 0
        self._since = 0.0

    def on_start(self, event: Any) -> None:
        """Note that a function begins to be compiled."""
        if self._n_open == 0:
            if not self._is_watched(event):
                return
            self._since = time.perf_counter()
        self._n_open += 1

    def on_end(self, event: Any) -> None:
        """Note that a function is compiled; a function that is compiled for another ends before that one."""
        if self._n_open == 0:
            return
        self._n_open -= 1
        self.n_compiled += self._is_watched(event)
        spent = self.seconds + time.perf_counter() - self._since
        if self._n_open == 0:
            self.seconds = spent
        if spent <= (self._reported_at + _REPORTED_EACH if self._reported_at else _REPORTED_AFTER):
            return
        done = f"{self.n_compiled:,} compiled in {spent:.0f} s"
        if not self._reported_at:
            kept = "kept for later runs" if self._is_kept else "not kept, for want of a writable NUMBA_CACHE_DIR"
            done += f", {kept}; `dfjoin warmup` compiles all of them at once"
        self._reported_at = spent
        print(f"dfjoin compiles its kernels on first use: {done}", file=sys.stderr)

    def _is_watched(self, event: Any) -> bool:
        module = event.data["dispatcher"].py_func.__module__
        return module == self._package or module.startswith(self._package + ".")


watch = CompileWatch(_KERNELS, KernelCache(lambda: None).is_kept)
"""What was compiled in this process."""
event.register("numba:compile", watch)


def _find_in_cache(dispatcher: Any) -> None:
    """Compile only what no cache has, in turn with the other processes that use the same cache.

    The cache is looked for when the kernel is first needed, since most kernels of a process never are.
    """
    compile_now = dispatcher.compile

    def compile_in_turn(signature: Any) -> Any:
        with global_compiler_lock:
            if not isinstance(dispatcher._cache, KernelCache):
                allocates = dispatcher.targetoptions.get("_nrt", True)
                dispatcher._cache = KernelCache(dispatcher.py_func, allocates=allocates)
            with dispatcher._cache.turn.scope(), _pausing_collection():
                return compile_now(signature)

    dispatcher.compile = compile_in_turn


@contextlib.contextmanager
def _pausing_collection() -> Iterator[None]:
    """Collect no garbage while numba compiles, which makes so many objects that this takes a tenth of the time."""
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_collecting:
            gc.enable()


def _compile(function: Callable[..., Any], is_cached: bool = True, **options: Any) -> Any:
    """Compile lazily, once for each combination of types.

    Numba would compile a function that is called with the constant 2 apart from one that is called with an integer;
    a variable that starts as 0 is such a constant when its type is first looked at. The machine code of both is the
    same, since small functions are inlined, so constants are taken as integers here.
    """
    dispatcher = numba.njit(nogil=True, no_cfunc_wrapper=True, pipeline_class=KernelCompiler, **options)(function)
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
        if is_cached:
            _find_in_cache(dispatcher)
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
    return _for_kernels_alone(_compile(function, is_cached=False, _nrt=False, no_cpython_wrapper=True))


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


# Ctrl-C while machine code is loaded: it waits for the end of that, where it would be lost ------------------


@contextmanager
def holding_interrupts() -> Iterator[None]:
    """Hold back an interruption (SIGINT) until the end of the block; a second one is let through at once.

    LLVM calls back into Python while it loads machine code, and drops an exception that a signal raises there. The
    handler that is set up, whatever it is, runs at the end of the block instead. Outside the main thread, where no
    signal is handled, and where Python handles none, the block simply runs.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append((number, frame))
        if len(held) > 1:
            held.clear()
            handler(number, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if held:
            handler(*held[0])
