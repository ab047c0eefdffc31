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

__all__ = ["SHIPPED", "PortableTarget", "ship_kernels"]

_TRIPLE = llvmlite.binding.get_process_triple()
_LEVEL_OF_MACHINE = {
    "x86_64": ("x86-64-v3", ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf"))
}
"""For each machine, as ``platform.machine`` names it, LLVM's name of a level of processors, and the features that code
for this level may use."""

SHIPPED = Path(__file__).parents[1] / "compiled" / f"{numba.__version__}-{_TRIPLE}"
"""What this version of numba compiled. It is trusted as the sources beside it are: who writes here can write them."""


class PortableTarget:
    """What the kernels that come with the package are compiled for.

    Attributes
    ----------
    level : str
        LLVM's name of the level of processors; empty where none is known for this machine.
    runs_here : bool
        Whether such kernels are there, and this processor has all features that they may use.
    """

    def __init__(self) -> None:
        self.level, features = _LEVEL_OF_MACHINE.get(platform.machine(), ("", ()))
        has = llvmlite.binding.get_host_cpu_features()
        self.runs_here = bool(self.level) and SHIPPED.is_dir() and all(has.get(feature) for feature in features)

    def magic_tuple(self) -> tuple[str, str, str]:
        """Return it as numba's code generator names a target in the key of a cache."""
        return _TRIPLE, self.level, ""


def ship_kernels(command: list[str]) -> str:
    """Run a command that uses kernels, and put all that it compiles, for the portable level, into the package.

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
        If the package cannot be written.
    """
    shutil.rmtree(SHIPPED, ignore_errors=True)  # the command would take from there what it has to compile
    with tempfile.TemporaryDirectory() as place:
        target = {"NUMBA_CPU_NAME": PortableTarget().level, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": place}
        done = subprocess.run(command, env=os.environ | target, stdout=subprocess.PIPE, text=True, check=True)
        SHIPPED.mkdir(parents=True)
        for file in Path(place).rglob("*.nb[ci]"):  # numba's names for indexes and for data
            shutil.copyfile(file, SHIPPED / file.name)
    return done.stdout
