"""The build backend: that of setuptools, with kernels in each wheel that are compiled already.

A wheel compiles them for about a minute, once, so that its users do not. It is for the Python and the platform that
compiled them; without kernels it is for all. An editable installation does not compile:
its user would wait for all kernels and needs some, and an edit of the sources would make them useless.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

PROJECT = Path(__file__).parents[1]
_KERNELS = Path("dfjoin", "kernels", "compiled")


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what building a wheel needs: that which using it needs, as the kernels are compiled by being used."""
    needed: list[str] = build_meta.get_requires_for_build_wheel(config_settings)
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return needed + project["dependencies"]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build a wheel; return its name. Where the kernels cannot be compiled ahead, users compile them at first use.

    What is given by ``--build-option`` comes last and counts, as ``--plat-name=manylinux_2_28_x86_64`` for an upload.
    """
    shutil.rmtree(PROJECT / "build" / "lib" / _KERNELS, ignore_errors=True)  # setuptools packs what it copied before
    done = subprocess.run([sys.executable, "-m", "dfjoin", "warmup", "--portable"], cwd=PROJECT)
    if done.returncode:
        shutil.rmtree(PROJECT / _KERNELS, ignore_errors=True)  # of other versions
        print("the wheel has no compiled kernels", file=sys.stderr)
        return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    given = (config_settings or {}).get("--build-option", [])
    options = [f"--python-tag={python}", f"--plat-name={platform}"]
    options += shlex.split(given) if isinstance(given, str) else given
    settings = {**(config_settings or {}), "--build-option": options}
    return build_meta.build_wheel(wheel_directory, settings, metadata_directory)
