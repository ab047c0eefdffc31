"""The Spark engine: requests as tasks of one job, Spark tables read partition by partition."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from dfjoin.errors import EngineError, TableReadError
from dfjoin.ingest.apart import FilePart, carry_out_apart, keep_file, request_places, run_apart
from dfjoin.ingest.read_task import RunMeta, TableFeed, build_part
from dfjoin.ingest.requests import execute
from dfjoin.ingest.source import Input, SparkReader
from dfjoin.types import IndexSettings, Root
from spark_ext.probe import Workers, cause_of, collect_or_explain, probe_workers
from spark_ext.session import start_session, without_pandas_warning
from spark_ext.tables import SessionTable, empty_batch, wall_time

__all__ = ["SparkEngine"]

_FILES = "task long, file string, data binary, result string"


class SparkEngine:
    """Runs requests as Spark tasks, one each; nothing but their short results comes to the driver.

    Where the workers do not see the files of the driver, they hand back the files that they write, piece by piece;
    tables that they do not see are read by the driver, and so are runs merged.

    Parameters
    ----------
    spark : SparkSession, optional
        Classic or Connect; the active one, or a local one started here, by default.
    """

    def __init__(self, spark: Any = None) -> None:
        self.spark = start_session() if spark is None else spark
        self.is_here = False
        self.n_slots = self._slots()

    def _slots(self) -> int:
        try:
            return max(1, int(self.spark.sparkContext.defaultParallelism))
        except Exception:  # Connect has no context: what it raises for that differs between versions
            return 4

    def run(self, requests: list[str], work: Path, on_table: Callable[[int, int], None]) -> list[str]:
        """Carry out requests as the tasks of one job.

        Requests wait in files below `work`, so that no closure grows with the lake; tasks count what they
        read in files beside them.
        """
        if not requests:
            return []
        places = sorted({place for request in requests for place in request_places(request)})
        workers = probe_workers(self.spark, work, places)
        if not workers.shares_files:
            return self._run_apart(requests, workers)
        place = work / f"requests-{uuid.uuid4().hex[:8]}"
        place.mkdir()
        for number, request in enumerate(requests):
            (place / f"{number}.json").write_text(request)
        n = len(requests)
        with without_pandas_warning():
            frame = self.spark.range(0, n, 1, n).mapInArrow(_TaskRunner(str(place)), "result string")
        return collect_or_explain(frame).column("result").to_pylist()

    def _run_apart(self, requests: list[str], workers: Workers) -> list[str]:
        """Carry out requests by workers that do not share the driver's files, as far as they see what to read."""
        afar = [request for request in requests if request_places(request) and workers.sees >= request_places(request)]
        results = [execute(request) for request in requests if request not in afar]
        if not afar:
            return results
        n = len(afar)
        told = pa.table({"task": pa.array(range(n)), "request": pa.array(afar, pa.string())})
        with without_pandas_warning():
            frame = self.spark.createDataFrame(told).repartitionByRange(n, "task").mapInArrow(_run_requests, _FILES)
        return results + self.fetch(frame, Path(json.loads(afar[0])["index"]))

    def fetch(self, frame: Any, index: Path) -> list[str]:
        """Let tasks run, each once; write the files that they hand back, partition by partition; return results."""
        from pyspark import StorageLevel

        kept = frame.persist(StorageLevel.DISK_ONLY)
        try:
            with without_pandas_warning():
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


class _TaskRunner:
    """What a task does: read the request that its id names, carry it out, hand back the result."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                request = (Path(self._place) / f"{number}.json").read_text()
                yield _one_result(execute(request))


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
        return self._table.version()

    def __call__(self, work: Path) -> list[RunMeta]:
        """Run the job."""
        engine = self._engine
        try:
            reader = self._reader()
            if probe_workers(engine.spark, work).shares_files:
                frame = self._table.numbered.mapInArrow(partial(reader.read_into, work), "result string")
                found = collect_or_explain(frame).column("result").to_pylist()
            else:
                found = engine.fetch(self._table.numbered.mapInArrow(reader.read_apart, _FILES), work)
        except EngineError as error:
            raise self._unreadable(str(error).splitlines()[-1]) from error
        except _spark_error() as error:
            raise self._unreadable(cause_of(error)) from error
        # A table without a partition has no task.
        metas = found or [reader.read(work, iter(()))]
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

    def read_into(self, place: Path, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a run of the partition where the driver sees it."""
        yield _one_result(self.read(place, batches))

    def read_apart(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a run of the partition and hand its files back as rows."""
        for part in run_apart(lambda place: self.read(place, batches)):
            yield _file_row(0, part)

    def read(self, place: Path, batches: Iterator[pa.RecordBatch]) -> str:
        """Write a run of some batches below a place; return its meta as JSON text."""
        local = map(wall_time, chain([self._empty], batches))
        feed = TableFeed(self._record, self._columns, local, 0)
        return json.dumps(asdict(build_part(feed, place, IndexSettings.from_dict(self._settings))))
