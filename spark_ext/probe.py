"""What the workers of a Spark session are: one task looks, before any other runs."""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from dfjoin._version import __version__
from dfjoin.errors import EngineError
from dfjoin.ingest.at_store import store_place
from dfjoin.values.unicode import UNICODE_VERSION
from spark_ext.session import without_pandas_warning
from spark_ext.transfer import collect

__all__ = ["Workers", "cause_of", "collect_or_explain", "probe_workers"]

_FLOORS = {"numpy": (2, 0), "pyarrow": (18,), "numba": (0, 61)}
_REMEDY = """\
Give the workers the environment of this process:
- a packed environment: venv-pack -o environment.tar.gz, spark.archives=environment.tar.gz#environment, and
  PYSPARK_PYTHON=./environment/bin/python;
- Spark Connect: spark.addArtifact("environment.tar.gz#environment", archive=True), and
  spark.sql.execution.pyspark.python=environment/bin/python;
- Databricks and other managed clusters: install the library "dfjoin" on the cluster and restart it;
- or pass engine="inline", which needs no workers."""


@dataclass(frozen=True)
class Workers:
    """What the workers of a session are.

    Parameters
    ----------
    host : str
        Name of the machine that was looked at.
    shares_files : bool
        What the driver writes below the place that was asked for is read there, and the other way round.
    sees : frozenset of str
        Places, of those asked for, that exist there.
    reaches_store : bool
        The URI that was asked for is opened there, and what the driver writes below it is read.
    """

    host: str
    shares_files: bool
    sees: frozenset[str]
    reaches_store: bool = False


_fit: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
"""Sessions whose workers have what dfjoin needs."""


def probe_workers(spark: Any, place: Path, paths: Sequence[str] = ()) -> Workers:
    """Look at one worker of a session by a task.

    Parameters
    ----------
    spark : SparkSession
    place : Path
        Directory of the driver that workers should share. Where it stands for one on another file system, it is also
        asked whether workers reach that.
    paths : sequence of str
        Further places, of which it is asked whether workers see them.

    Returns
    -------
    Workers

    Raises
    ------
    EngineError
        If the worker lacks what dfjoin needs, or has it in another version; the message has a table of both sides.

    Notes
    -----
    Python has to be of the same minor version, dfjoin and the Unicode tables the same, as the values of the lake
    and of a query are normalised by both sides; numpy, pyarrow and numba of a version that dfjoin supports. In a
    local session whose workers were looked at before, nothing runs.
    """
    is_local = _is_local(spark)
    if is_local and spark in _fit:
        return Workers("", True, frozenset(paths))
    mark = uuid.uuid4().hex
    note, answer = place / f"probe-{mark}", place / f"probe-{mark}-seen"
    note.write_text(mark)
    store = store_place(place)
    if store is not None:
        store.send(note)
    try:
        asked = {
            "note": str(note),
            "answer": str(answer),
            "mark": mark,
            "paths": list(paths),
            "store": None if store is None else [store.uri, store.name(str(note))],
        }
        look = _look(asked)
        with without_pandas_warning():
            frame = spark.range(0, 1, 1, 1).mapInArrow(look, "facts string")
        found = json.loads(collect_or_explain(frame, _REMEDY).column(0)[0].as_py())
        shares_files = found["shares_files"] and answer.exists()
    finally:
        note.unlink(missing_ok=True)
        answer.unlink(missing_ok=True)
        if store is not None:
            store.discard(note)
    _require_fit(found)
    _fit[spark] = True
    return Workers(found["host"], shares_files or is_local, frozenset(found["sees"]), found["reaches_store"])


def _is_local(spark: Any) -> bool:
    """Tell whether the workers are processes of this machine."""
    try:
        return re.match(r"local(\[|$)", spark.sparkContext.master) is not None
    except Exception:  # Connect has no context: what it raises for that differs between versions
        return False


def _look(asked: dict[str, Any]) -> Any:
    """Return what the task does; it imports nothing of dfjoin before it has found out whether that is there.

    Parameters
    ----------
    asked : dict
        ``note``, a file with the text ``mark``; ``answer``, a file to write; ``paths`` to look for; ``store``, the URI
        of the index and the name of the note below it, None for an index on no other file system.
    """

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import importlib
        import json
        import os
        import platform
        import socket
        import unicodedata

        import pyarrow as pa

        versions = {"python": platform.python_version(), "unicode": unicodedata.unidata_version}
        problems = {}
        for name in ("numpy", "pyarrow", "numba", "dfjoin", "spark_ext.build"):
            try:
                module = importlib.import_module(name)
                versions[name] = getattr(module, "__version__", "")
            except Exception as error:
                problems[name] = f"{type(error).__name__}: {error}"
        shares = reaches = False
        try:
            with open(asked["note"]) as stream:  # noqa: PTH123 (nothing is imported that a worker may lack)
                shares = stream.read() == asked["mark"]
            if shares:
                with open(asked["answer"], "w"):  # noqa: PTH123
                    pass
        except OSError:
            shares = False
        if asked["store"] is not None:
            try:
                from pyarrow import fs

                filesystem, base = fs.FileSystem.from_uri(asked["store"][0])
                with filesystem.open_input_stream(f"{base}/{asked['store'][1]}") as file:
                    reaches = file.read().decode() == asked["mark"]
            except Exception:  # whatever the reason: files come back as rows then
                reaches = False
        facts = {
            "host": socket.gethostname(),
            "versions": versions,
            "problems": problems,
            "shares_files": shares,
            "sees": [path for path in asked["paths"] if os.path.exists(path)],  # noqa: PTH110
            "reaches_store": reaches,
        }
        for _ in batches:
            yield pa.record_batch([pa.array([json.dumps(facts)], pa.string())], names=["facts"])

    return look


def _require_fit(found: dict[str, Any]) -> None:
    """Raise `EngineError` unless what a worker has goes with what this process has."""
    here = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "dfjoin": __version__,
        "unicode": UNICODE_VERSION,
        **{name: metadata.version(name) for name in ("numpy", "pyarrow", "numba")},
    }
    there, problems = found["versions"], found["problems"]
    wrong = [f"`{name}` cannot be imported there: {text}" for name, text in problems.items()]
    for name in ("python", "dfjoin", "unicode", *_FLOORS):
        if name in there and not _goes_with(name, there[name], here[name]):
            wrong.append(f"`{name}` is {there[name]} there, and {here[name]} here")
    if not wrong:
        return
    rows = [f"  {name:10}{here[name]:12}{there.get(name, 'missing')}" for name in here]
    table = "\n".join([f"  {'':10}{'here':12}on {found['host']}", *rows])
    raise EngineError(f"Spark's workers cannot do what dfjoin asks for:\n{table}\n{_REMEDY}\n" + "; ".join(wrong))


def _goes_with(name: str, there: str, here: str) -> bool:
    """Tell whether a version of the worker goes with that of this process."""
    if name in _FLOORS:
        return _numbers(there) >= _FLOORS[name]
    return _numbers(there)[:2] == _numbers(here)[:2] if name == "python" else there == here


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def collect_or_explain(frame: Any, remedy: str = "") -> pa.Table:
    """Collect a small frame as `collect` does, and say why a task failed.

    Parameters
    ----------
    frame : Spark DataFrame
    remedy : str
        What to do when its tasks fail.

    Raises
    ------
    EngineError
        If a task fails; the last line is what it raised.
    """
    try:
        return collect(frame)
    except Exception as error:
        advice = f"\n{remedy}" if remedy else ""
        told = f"a task of Spark failed; its error is on the last line{advice}\n{cause_of(error)}"
        raise EngineError(told) from error


def cause_of(error: BaseException) -> str:
    """Return the line that tells why a task failed: the last one of the worker's traceback, else the first there is.

    Examples
    --------
    >>> text = "Job aborted: Traceback (most recent call last):\\n  File ...\\nKeyError: 'x'\\n\\n\\tat org.apache"
    >>> cause_of(RuntimeError(text))
    "KeyError: 'x'"
    """
    lines = str(error).splitlines()
    starts = [number for number, line in enumerate(lines) if "Traceback (most recent call last)" in line]
    if starts:
        for line in lines[starts[-1] + 1 :]:
            if line.strip() and not line.startswith((" ", "\t")):
                return line.strip()
    full = next((line.strip() for line in lines if "No space left on device" in line), None)
    return full or next((line.strip() for line in lines if line.strip()), type(error).__name__)
