"""What the workers of a Spark session are: tasks on all of them look, before any other runs."""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import functions as F

from dfjoin._version import __version__
from dfjoin.errors import DfjoinWarning, EngineError, InvalidParameterError, warn
from dfjoin.ingest.at_store import store_location
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.unicode import UNICODE_VERSION
from spark_ext.jobs import described, is_local, n_cores, this_python
from spark_ext.session import uninterrupted
from spark_ext.transfer import collect

__all__ = [
    "Workers",
    "cause_of",
    "collect_or_explain",
    "probe_workers",
    "require_index",
    "require_workers",
    "warn_of_workers",
]

_FLOORS = {"numpy": (2, 0), "pyarrow": (18,), "numba": (0, 61)}
_REMEDY = """\
Give the workers the environment of this process:
- a Python that has dfjoin on every machine: PYSPARK_PYTHON, set to its path before the session starts;
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
    shares_files : bool
        What the driver writes below the place that was asked for is read by all of them, and the other way round.
    sees : frozenset of str
        Places, of those asked for, that exist for all of them.
    sees_store : bool
        All of them open the URI that was asked for, and read what the driver writes below it.
    """

    shares_files: bool
    sees: frozenset[str]
    sees_store: bool = False


_fit: WeakKeyDictionary[Any, set[tuple[str, int, str]]] = WeakKeyDictionary()
"""Sessions whose workers have what dfjoin needs → the indexes that they see, by place, version and identity."""


def probe_workers(spark: Any, directory: Path, paths: Sequence[str] = ()) -> Workers:
    """Look at the workers of a session by as many tasks as it has cores, so that each executor gets some.

    Parameters
    ----------
    spark : SparkSession
    directory : Path
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
        If a worker lacks what dfjoin needs, or has it in another version; the message has a table of both sides.

    Notes
    -----
    Python has to be of the same minor version, dfjoin and the Unicode tables the same, as the values of the lake
    and of a query are normalised by both sides; numpy, pyarrow and numba of a version that dfjoin supports. In a
    local session whose workers were looked at before, nothing runs. Executors that come later are not looked at.
    """
    if is_local(spark) and spark in _fit:
        return Workers(True, frozenset(paths))
    mark = uuid.uuid4().hex
    note, answer = directory / f"probe-{mark}", directory / f"probe-{mark}-seen"
    note.write_text(mark)
    store = store_location(directory)
    if store is not None:
        store.send(note)
    try:
        found = _ask(
            spark,
            {
                "note": str(note),
                "answer": str(answer),
                "mark": mark,
                "paths": list(paths),
                "store": None if store is None else [store.uri, store.name(str(note))],
            },
        )
        shares_files = all(one["answer"] is not None and Path(one["answer"]).exists() for one in found)
    finally:
        for path in directory.glob(f"probe-{mark}*"):
            path.unlink(missing_ok=True)
        if store is not None:
            store.discard(note)
    sees = frozenset(path for path in paths if all(path in one["sees"] for one in found))
    return Workers(shares_files or is_local(spark), sees, all(one["sees_store"] for one in found))


def require_workers(spark: Any) -> None:
    """Raise `EngineError` unless the workers of a session have what dfjoin needs; they are looked at once."""
    if spark not in _fit:
        _ask(spark, {})


def warn_of_workers(spark: Any) -> None:
    """Warn in one line if the workers of a session on other machines lack what dfjoin needs."""
    if is_local(spark):  # they run this Python
        return
    try:
        require_workers(spark)
    except EngineError as error:
        reason = str(error).splitlines()[-1]
        warn(
            f"SQL functions, builds and searches in tasks fail on workers of this session ({reason}); set "
            "PYSPARK_PYTHON to a Python that has dfjoin on every machine, before the session starts",
            DfjoinWarning,
        )


def require_index(spark: Any, snapshot: Snapshot, otherwise: str = 'pass where="driver"') -> None:
    """Raise unless all workers find the same version of an index at the same place.

    Parameters
    ----------
    spark : SparkSession
    snapshot : Snapshot
    otherwise : str
        What to do where executors cannot read it.

    Raises
    ------
    EngineError
        If a worker lacks what dfjoin needs.
    InvalidParameterError
        If a worker does not find the index.

    Notes
    -----
    They are looked at once in a session for each version of an index.
    """
    asked = (snapshot.location, snapshot.version, snapshot.manifest.index_uuid)
    if asked in _fit.get(spark, ()):
        return
    found = _ask(spark, {"index": asked[:2]})
    lacking = {one["host"]: one["index"] for one in found if one["index"] != asked[2]}
    if lacking:
        hosts, reason = ", ".join(sorted(lacking)), next(iter(lacking.values()))
        raise InvalidParameterError(
            f"the index must lie where tasks read it, and they do not find it at {asked[0]!r} on {hosts} ({reason}); "
            f"put it where executors read it, or {otherwise}"
        )
    _fit[spark].add(asked)


def _ask(spark: Any, asked: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask the workers, see `_look`; raise unless all have what dfjoin needs."""
    with described(spark, "look at the workers"):
        n = n_cores(spark)
        with this_python(spark), uninterrupted():
            look = F.udf(_look(asked), "string", useArrow=False)  # workers may lack pyarrow, or have one that fails
            frame = spark.range(0, n, 1, n).select(look("id"))
        found = [json.loads(text) for text in collect_or_explain(frame, _REMEDY).column(0).to_pylist()]
    _require_fit(found)
    _fit.setdefault(spark, set())
    return found


def _look(asked: dict[str, Any]) -> Any:
    """Return what the task does; it imports nothing of dfjoin before it has found out whether that is there.

    Parameters
    ----------
    asked : dict
        Each may be missing: ``note``, a file with the text ``mark``; ``answer``, the beginning of the name of a file to
        write; ``paths`` to look for; ``store``, the URI of the index and the name of the note below it; ``index``, the
        place and the version of one to open.
    """

    def look(_task: int) -> str:
        import importlib
        import json
        import os
        import platform
        import socket
        import unicodedata
        import uuid

        versions = {"python": platform.python_version(), "unicode": unicodedata.unidata_version}
        problems = {}
        for name in ("numpy", "pyarrow", "numba", "dfjoin", "spark_ext.build"):
            try:
                module = importlib.import_module(name)
                versions[name] = getattr(module, "__version__", "")
            except Exception as error:
                problems[name] = f"{type(error).__name__}: {error}"
        facts = {
            "host": socket.gethostname(),
            "versions": versions,
            "problems": problems,
            "answer": None,
            "sees": [path for path in asked.get("paths", ()) if os.path.exists(path)],  # noqa: PTH110
            "sees_store": False,
            "index": None,
        }
        try:
            with open(asked.get("note", "")) as stream:  # noqa: PTH123 (nothing is imported that a worker may lack)
                shares = stream.read() == asked["mark"]
            if shares:
                answer = f"{asked['answer']}-{uuid.uuid4().hex}"
                with open(answer, "w"):  # noqa: PTH123
                    facts["answer"] = answer
        except OSError:
            pass
        if asked.get("store") is not None:
            try:
                from pyarrow import fs

                filesystem, base = fs.FileSystem.from_uri(asked["store"][0])
                with filesystem.open_input_stream(f"{base}/{asked['store'][1]}") as file:
                    facts["sees_store"] = file.read().decode() == asked["mark"]
            except Exception:  # whatever the reason: files come back as rows then
                pass
        if asked.get("index") is not None and not problems:
            try:
                snapshots = importlib.import_module("dfjoin.store.snapshot")
                facts["index"] = snapshots.open_snapshot(*asked["index"]).manifest.index_uuid
            except Exception as error:
                facts["index"] = str(error)
        return json.dumps(facts)

    return look


def _require_fit(found: Sequence[dict[str, Any]]) -> None:
    """Raise `EngineError` unless what all workers have goes with what this process has; hosts are named."""
    here = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "dfjoin": __version__,
        "unicode": UNICODE_VERSION,
        **{name: metadata.version(name) for name in ("numpy", "pyarrow", "numba")},
    }
    wrong: dict[str, str] = {}
    tables = []
    for facts in found:
        host, there = facts["host"], facts["versions"]
        lacks = _lacks(here, there, facts["problems"])
        if not lacks or host in wrong:
            continue
        wrong[host] = f"on {host}: {'; '.join(lacks)}"
        rows = [f"  {name:10}{here[name]:12}{there.get(name, 'missing')}" for name in here]
        tables.append("\n".join([f"  {'':10}{'here':12}on {host}", *rows]))
    if wrong:
        raise EngineError(
            "\n".join(
                ["Spark's workers cannot do what dfjoin asks for:", *tables[:3], _REMEDY, ". ".join(wrong.values())]
            )
        )


def _lacks(here: dict[str, str], there: dict[str, str], problems: dict[str, str]) -> list[str]:
    """List what a worker lacks."""
    wrong = [f"`{name}` cannot be imported there: {text}" for name, text in problems.items()]
    for name in ("python", "dfjoin", "unicode", *_FLOORS):
        if name in there and not _goes_with(name, there[name], here[name]):
            wrong.append(f"`{name}` is {there[name]} there, and {here[name]} here")
    return wrong


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
    except EngineError:  # cancelled
        raise
    except Exception as error:
        advice = f"\n{remedy}" if remedy else ""
        message = f"a task of Spark failed; its error is on the last line{advice}\n{cause_of(error)}"
        raise EngineError(message) from error


def cause_of(error: BaseException) -> str:
    """Return the line that tells why a task failed.

    The last line of the worker's traceback, else the last cause that Java names, else the first line there is.

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
    causes = [line.strip().removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    # The first line of an error that py4j hands on names a call; Java's own begins the second one.
    own = [line.removeprefix(": ").strip() for line in lines if line.startswith(": ")]
    message = [*causes[::-1], *own, *(line.strip() for line in lines)]
    return full or next((line for line in message if line), type(error).__name__)
