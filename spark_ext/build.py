"""The Spark engine: requests as tasks of one job, Spark tables read partition by partition."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from dfjoin.errors import EngineError, TableReadError
from dfjoin.ingest.apart import FilePart, carry_out_apart, keep_file, request_paths, run_apart
from dfjoin.ingest.at_store import StoreLocation, store_location
from dfjoin.ingest.read_task import RunMeta, TableFeed, build_part
from dfjoin.ingest.requests import execute, head_of
from dfjoin.ingest.source import Input, SparkReader
from dfjoin.sources.database_server import has_credentials
from dfjoin.sources.roots import is_opened_with_credentials
from dfjoin.types import IndexSettings, Root
from spark_ext.jobs import described, in_tasks, n_cores
from spark_ext.probe import cause_of, collect_or_explain, probe_workers
from spark_ext.session import start_session, uninterrupted, without_pandas_warning
from spark_ext.tables import SessionTable, empty_batch, wall_time

__all__ = ["SparkEngine"]

_FILES = "task long, file string, data binary, result string"


class SparkEngine:
    """Runs requests as Spark tasks, one each; nothing but their short results comes to the driver.

    Databases whose URI has credentials are read by the driver: these go nowhere. Where the environment of the workers
    tells user and password, databases are read in tasks. Where the workers do not see the files of the driver, tables
    that they do not see are read by the driver. If they reach the index on another file system, they write runs and
    segments there. If not, they hand back the files of their runs, piece by piece, and the driver merges these.

    Parameters
    ----------
    spark : SparkSession, optional
        Classic or Connect; the active one, or a local one started here, by default.
    """

    def __init__(self, spark: Any = None) -> None:
        self.spark = start_session() if spark is None else spark
        self.is_here, self.is_repeated = False, True
        self.n_slots = n_cores(self.spark)

    def run(self, requests: Iterable[str], work: Path, on_table: Callable[[int, int], None]) -> list[str]:
        """Carry out requests as the tasks of one job.

        Requests wait in files below `work`, so that neither a closure nor this process grows with the lake; tasks
        count what they read in files beside them.
        """
        waiting = _WaitingRequests(work, requests)
        if not waiting.n:
            return []
        workers = probe_workers(self.spark, work, waiting.paths())
        if workers.shares_files:
            results = [execute(waiting.read(number)) for number in sorted(waiting.secret)]
            return results + self._run_tasks(waiting.n, _TaskRunner(str(waiting.directory), frozenset(waiting.secret)))
        unseen = {number for number, paths in enumerate(waiting.paths_of) if not paths <= workers.sees}
        own = sorted(unseen | waiting.secret)
        store = store_location(work) if workers.sees_store else None
        if store is None:
            return self._run_apart(waiting, own)
        results = [store.carry_out(waiting.read(number)) for number in own]
        for path in sorted(waiting.sent):
            store.send_new(Path(path))
        store.send(waiting.directory)
        return results + self._run_tasks(waiting.n, _TaskRunner(str(waiting.directory), frozenset(own), store))

    def _run_tasks(self, n: int, runner: _TaskRunner) -> list[str]:
        """Run tasks, one for each request; return their results."""
        frame = in_tasks(self.spark.range(0, n, 1, n), runner, "result string")
        with described(self.spark, f"build: {n} tasks"):
            return collect_or_explain(frame).column("result").to_pylist()

    def _run_apart(self, waiting: _WaitingRequests, own: list[int]) -> list[str]:
        """Carry out requests by workers that share no files with the driver; they read tables into runs alone."""
        here = waiting.of_index.union(own)
        afar = [number for number in range(waiting.n) if waiting.paths_of[number] and number not in here]
        results = [execute(waiting.read(number)) for number in range(waiting.n) if number not in afar]
        if not afar:
            return results
        requests = [waiting.read(number) for number in afar]
        asked = pa.table({"task": pa.array(afar, pa.int64()), "request": pa.array(requests, pa.string())})
        with without_pandas_warning():
            frame = self.spark.createDataFrame(asked).repartitionByRange(len(afar), "task")
        frame = in_tasks(frame, _run_requests, _FILES)
        return results + self.fetch(frame, Path(json.loads(requests[0])["index"]))

    def fetch(self, frame: Any, index: Path) -> list[str]:
        """Let tasks run, each once; write the files that they hand back, partition by partition; return results."""
        from pyspark import StorageLevel

        kept = frame.persist(StorageLevel.DISK_ONLY)
        try:
            with without_pandas_warning(), described(self.spark, "build: tasks that hand back what they write"):
                _or_cause(kept.count)
                results = []
                for row in _or_cause(kept.toLocalIterator):
                    if row.result is None:
                        keep_file(index, FilePart(row.file, bytes(row.data)))
                    else:
                        results.append(row.result)
                return results
        finally:
            kept.unpersist()

    def spark_reader(self, settings: IndexSettings) -> SparkReader:
        """Return what turns Spark tables into an input of a build.

        Each table is one job whose tasks write a run per partition. One that cannot be read is an error.
        """

        def read(tables: dict[str, Any], root: Root) -> Input:
            given = Input([root], [])
            for name in sorted(tables):
                table = SessionTable(self.spark, name, tables[name])
                given.extra.append(_Job(self, table, root.id, settings))
            return given

        return read


def _or_cause(action: Callable[[], Any]) -> Any:
    """Do what runs tasks; one that fails is an `EngineError` with the cause on the last line."""
    try:
        return action()
    except Exception as error:
        raise EngineError(f"a task of Spark failed; its error is on the last line\n{cause_of(error)}") from error


class _WaitingRequests:
    """Requests in files below the scratch directory of a build, where tasks find them by number.

    Parameters
    ----------
    work : Path
        The directory.
    requests : iterable of str
        Read once, and not kept.
    """

    def __init__(self, work: Path, requests: Iterable[str]) -> None:
        self.directory = work / f"requests-{uuid.uuid4().hex[:8]}"
        self.directory.mkdir()
        self.paths_of: list[frozenset[str]] = []
        self.sent: set[str] = set()
        """Directories of the index that tasks read, and that the driver may have written here."""
        self.of_index: set[int] = set()
        """Requests that read such directories."""
        self.secret: set[int] = set()
        """Requests that read a database or an object store whose credentials this process alone has."""
        for request in requests:
            self._file(self.n).write_text(request)
            head = head_of(request)
            if "sent" in head:
                self.of_index.add(self.n)
                self.sent.update(head["sent"])
            uris = [root["uri"] for root in head.get("roots", [])]
            if any(has_credentials(uri) or is_opened_with_credentials(uri) for uri in uris):
                self.secret.add(self.n)
            self.paths_of.append(request_paths(head))

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.paths_of)

    def _file(self, number: int) -> Path:
        return self.directory / f"{number}.json"

    def paths(self) -> list[str]:
        """Return the local places that they read tables from."""
        return sorted(frozenset().union(*self.paths_of))

    def read(self, number: int) -> str:
        """Return one of them."""
        return self._file(number).read_text()


class _TaskRunner:
    """What a task does: read the request that its id names, carry it out, hand back the result.

    Parameters
    ----------
    directory : str
        Directory of the requests, as the driver names it.
    own : frozenset of int
        Requests that the driver carries out itself.
    store : StoreLocation, optional
        Where requests and files are if workers do not see those of the driver.
    """

    def __init__(self, directory: str, own: frozenset[int] = frozenset(), store: StoreLocation | None = None) -> None:
        self._directory, self._own, self._store = directory, own, store

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                if number in self._own:
                    continue
                name = f"{self._directory}/{number}.json"
                if self._store is None:
                    yield _one_result(execute(Path(name).read_text()))
                else:
                    yield _one_result(self._store.carry_out(self._store.request(name)))


def _one_result(result: str) -> pa.RecordBatch:
    return pa.record_batch([pa.array([result], pa.string())], names=["result"])


def _run_requests(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Carry out requests apart from the driver's files: the files that come of it are rows."""
    for batch in batches:
        for task, request in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            for part in carry_out_apart(request):
                yield _file_row(task, part)


def _file_row(task: int, part: FilePart | str) -> pa.RecordBatch:
    """Return a piece of a file, or the result of a task, as a row."""
    is_file = isinstance(part, FilePart)
    return pa.record_batch(
        [
            pa.array([task], pa.int64()),
            pa.array([part.name if is_file else None], pa.string()),  # type: ignore[union-attr]
            pa.array([part.data if is_file else None], pa.binary()),  # type: ignore[union-attr]
            pa.array([None if is_file else part], pa.string()),
        ],
        names=["task", "file", "data", "result"],
    )


class _Job:
    """Reads one Spark table: a run per partition, nothing collected but their metas."""

    def __init__(self, engine: SparkEngine, table: SessionTable, root: int, settings: IndexSettings) -> None:
        self._engine = engine
        self._table = table
        self._settings = settings
        self.name, self.path, self.root = table.name, table.path, root

    @cached_property
    def version(self) -> str:
        """What tells the content of the table from another one; looked up before the table is read."""
        with described(self._engine.spark, "build: the version of a table of Spark"):
            return self._table.version()

    def __call__(self, work: Path) -> list[RunMeta]:
        """Run the job."""
        engine = self._engine
        try:
            reader = self._reader()
            workers = probe_workers(engine.spark, work)
            store = None if workers.shares_files or not workers.sees_store else store_location(work)
            if workers.shares_files or store is not None:
                with uninterrupted():
                    frame = in_tasks(self._table.numbered, partial(reader.read_into, work, store), "result string")
                with described(engine.spark, "build: read a table of Spark"):
                    found = collect_or_explain(frame).column("result").to_pylist()
            else:
                found = engine.fetch(in_tasks(self._table.numbered, reader.read_apart, _FILES), work)
        except EngineError as error:
            raise self._unreadable(str(error).splitlines()[-1]) from error
        except TableReadError as error:  # its version
            raise self._unreadable(str(error)) from error
        except _spark_error() as error:
            raise self._unreadable(cause_of(error)) from error
        # A table without a partition has no task.
        metas = found or [reader.write(work, store, iter(()))]
        return [RunMeta(**json.loads(text)) for text in metas]

    def _reader(self) -> _PartReader:
        record = {
            "name": self.name,
            "root": self.root,
            "path": self.path,
            "format": "spark",
            "size": 0,
            "mtime_ns": 0,
            "fingerprint": 0,
            "dialect": "",
            "parts": [],
            "part_sizes": [],
            "part_times": [],
            "part_fingerprints": [],
            "version": self.version,
        }
        empty = empty_batch(self._table.numbered)
        return _PartReader(record, self._table.column_names, empty, self._settings.to_dict())

    def _unreadable(self, reason: str) -> TableReadError:
        return TableReadError(f"the Spark table `{self.name}` cannot be read: {reason}")


def _spark_error() -> type[Exception]:
    """Return the class of the errors by which Spark refuses a table."""
    from pyspark.errors import PySparkException

    return PySparkException


class _PartReader:
    """What a task does with a partition of a Spark table.

    Parameters
    ----------
    record : dict
        What the catalogue says of the table but for what reading tells.
    columns : list of str
    empty : pyarrow.RecordBatch
        Has the types of the columns, which a partition without rows does not tell.
    settings : dict
    """

    def __init__(
        self, record: dict[str, Any], columns: list[str], empty: pa.RecordBatch, settings: dict[str, Any]
    ) -> None:
        self._record = record
        self._columns = columns
        self._empty = empty
        self._settings = settings

    def read_into(
        self, directory: Path, store: StoreLocation | None, batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """Write a run of the partition as a task does."""
        yield _one_result(self.write(directory, store, batches))

    def write(self, directory: Path, store: StoreLocation | None, batches: Iterator[pa.RecordBatch]) -> str:
        """Write a run of some batches where the driver sees it, or where the index lies; return its meta."""
        if store is None:
            return self.read(directory, batches)
        return store.write_run(directory, lambda here: self.read(here, batches))

    def read_apart(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a run of the partition and hand its files back as rows."""
        for part in run_apart(lambda scratch: self.read(scratch, batches)):
            yield _file_row(0, part)

    def read(self, directory: Path, batches: Iterator[pa.RecordBatch]) -> str:
        """Write a run of some batches below a place; return its meta as JSON text."""
        local = map(wall_time, chain([self._empty], batches))
        feed = TableFeed(self._record, self._columns, local, 0)
        return json.dumps(asdict(build_part(feed, directory, IndexSettings.from_dict(self._settings))))
