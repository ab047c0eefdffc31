"""A process of Python that works for a person: its time is limited, and it ends when the person leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

_LOOKED_AT = 0.02
"""Seconds between two looks whether the work is done."""


class LimitedProcess:
    """A script beside this file, in a process that does what the requests in directories ask for.

    Parameters
    ----------
    script : str
        It reads the paths of directories from its standard input, and makes a file ``done`` in each when it has done
        its work. It ends at the end of the input.
    """

    def __init__(self, script: str) -> None:
        found = {"PYTHONPATH": os.pathsep.join(sys.path), "ARROW_DEFAULT_MEMORY_POOL": "system"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name(script))],
            env=os.environ | found,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def is_alive(self) -> bool:
        """Whether it can be given work."""
        return self._process.poll() is None

    def run(self, directory: Path, seconds: float, is_left: Callable[[], bool] = lambda: False) -> str:
        """Let it do what the request in a directory asks for.

        Returns
        -------
        str
            Why the work is not done: ``time`` is over, the person has ``left``, or the process has ``ended``, as where
            it gets no more memory. Empty if the work is done. After any of them the process is to be ended.
        """
        assert self._process.stdin is not None
        end = time.monotonic() + seconds
        try:
            self._process.stdin.write(f"{directory}\n".encode())
            self._process.stdin.flush()
        except OSError:
            return "ended"
        while not (directory / "done").exists():
            if not self.is_alive:
                return "" if (directory / "done").exists() else "ended"
            if is_left():
                return "left"
            if time.monotonic() > end:
                return "time"
            time.sleep(_LOOKED_AT)
        return ""

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        with self._process:
            pass
