"""Ctrl-C while machine code is loaded: it waits for the end of that, where it would be lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["holding_interrupts"]


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
