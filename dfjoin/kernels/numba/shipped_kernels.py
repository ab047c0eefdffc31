"""Kernels that come compiled with the package, for all processors of a common level."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import llvmlite.binding
import numba
from numba import config

_TRIPLE = llvmlite.binding.get_process_triple()
_X86_64_V3 = (
    "x86-64-v3",
    ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf"),
)
_LEVEL_OF_MACHINE = {"x86_64": _X86_64_V3, "amd64": _X86_64_V3}
"""For each machine, as ``platform.machine`` names it (``AMD64`` on Windows), LLVM's name of a level of processors, and
the features that code for this level may use."""

SHIPPED = Path(__file__).parents[1] / "compiled" / f"{numba.__version__}-{_TRIPLE}"
"""What this version of numba compiled. It is trusted as the sources beside it are: who writes here can write them."""


class PortableTarget:
    """What the kernels that come with the package are compiled for.

    Attributes
    ----------
    level : str
        LLVM's name of the level of processors; empty where none is known for this machine.
    runs_here : bool
        Whether such kernels are there, this processor has all features that they may use, and numba's settings ask for
        no other code: for another processor, or with bounds of arrays checked.
    """

    def __init__(self) -> None:
        self.level, features = _LEVEL_OF_MACHINE.get(platform.machine().lower(), ("", ()))
        has = llvmlite.binding.get_host_cpu_features()
        is_usual = not (config.CPU_NAME or config.BOUNDSCHECK)
        is_there = bool(self.level) and is_usual and SHIPPED.is_dir()
        self.runs_here = is_there and all(has.get(feature) for feature in features)

    def magic_tuple(self) -> tuple[str, str, str]:
        """Return it as numba's code generator names a target in the key of a cache."""
        return _TRIPLE, self.level, ""


def ship_kernels(command: list[str]) -> str:
    """Run a command that uses kernels, and put all that it compiles, for the portable level, into the package.

    Kernels that were there before are removed, those of other versions of numba, too; they stay if it fails.

    Parameters
    ----------
    command : list of str
        It has to be of this version of numba.

    Returns
    -------
    str
        What the command writes.

    Raises
    ------
    OSError
        If the package cannot be written; the command is not run then.
    CalledProcessError
        If the command fails.
    """
    everything = SHIPPED.parent
    everything.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=everything) as draft, tempfile.TemporaryDirectory() as directory:
        made = Path(draft, SHIPPED.name)
        made.mkdir()
        # A process that is told its processor takes nothing from the package.
        target = {"NUMBA_CPU_NAME": PortableTarget().level, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": directory}
        done = subprocess.run(command, env=os.environ | target, stdout=subprocess.PIPE, text=True, check=True)
        for file in Path(directory).rglob("*.nb[ci]"):  # numba's names for indexes and for data
            shutil.copyfile(file, made / file.name)
        for old in everything.iterdir():
            if old != made.parent:
                shutil.rmtree(old)
        made.rename(SHIPPED)
    return done.stdout
