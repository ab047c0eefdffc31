"""The Spark engine: requests as tasks of one job, Spark tables read partition by partition."""

from __future__ import annotations

import json
import uuid
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.errors import InvalidParameterError, TableReadError
from dfjoin.ingest.read_task import RunMeta, TableFeed, build_part
from dfjoin.ingest.requests import execute
from dfjoin.ingest.source import Input, SparkReader
from dfjoin.types import IndexSettings, Root
from dfjoin.values.names import clean_names
from spark_ext.session import start_session

__all__ = ["SparkEngine"]


class SparkEngine:
    """Runs requests as Spark tasks, one each; nothing but their short results comes to the driver.

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
        place = work / f"requests-{uuid.uuid4().hex[:8]}"
        place.mkdir()
        for number, request in enumerate(requests):
            (place / f"{number}.json").write_text(request)
        n = len(requests)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            frame = self.spark.range(0, n, 1, n).mapInArrow(_TaskRunner(str(place)), "result string")
        return _collect(self.spark, frame).column("result").to_pylist()

    def spark_reader(self, index: Path, settings: IndexSettings) -> SparkReader:
        """Return what turns Spark tables into an input of a build.

        Each table is one job whose tasks write a run per partition. One that cannot be read is an error.
        """

        def read(tables: dict[str, Any], root: Root) -> Input:
            given = Input([root], [])
            for name in sorted(tables):
                frame = _frame(self.spark, tables[name])
                given.names.append(name)
                reader = _PartReader(name, root.id, clean_names(frame.columns), str(index), settings.to_dict())
                given.extra.append(_Job(self.spark, frame, reader))
            return given

        return read


def _collect(spark: Any, frame: Any) -> pa.Table:
    """Collect a small frame; an interrupted driver stops its tasks."""
    tag = f"dfjoin-{uuid.uuid4().hex}"
    spark.addTag(tag)
    try:
        with warnings.catch_warnings():  # no pandas is involved here, only Arrow
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
            return frame.toArrow()
    except KeyboardInterrupt:
        spark.interruptTag(tag)
        raise
    except Exception as error:
        if "SPARK_JOB_CANCELLED" in str(error):  # pyspark's own handler of Ctrl-C came first
            raise KeyboardInterrupt from error
        raise
    finally:
        spark.removeTag(tag)


class _TaskRunner:
    """What a task does: read the request that its id names, carry it out, hand back the result."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                request = (Path(self._place) / f"{number}.json").read_text()
                yield pa.record_batch([pa.array([execute(request)], pa.string())], names=["result"])


def _frame(spark: Any, table: Any) -> Any:
    if not isinstance(table, str):
        return table
    if not spark.catalog.tableExists(table):
        raise InvalidParameterError(
            f"`source` {table!r} is neither a path that exists here nor a table of the Spark session; "
            "check the spelling"
        )
    return spark.table(table)


class _Job:
    """Reads one Spark table: a run per partition, nothing collected but their metas."""

    def __init__(self, spark: Any, frame: Any, reader: _PartReader) -> None:
        self._spark = spark
        self._frame = frame
        self._task = reader

    def __call__(self) -> list[RunMeta]:
        """Run the job."""
        try:
            found = _collect(self._spark, self._frame.mapInArrow(self._task, "result string"))
        except Exception as error:
            raise TableReadError(
                f"the Spark table `{self._task.name}` cannot be read: {str(error).splitlines()[0]}"
            ) from error
        return [RunMeta(**json.loads(text)) for text in found.column("result").to_pylist()]


class _PartReader:
    """What a task does with a partition of a Spark table."""

    def __init__(self, name: str, root: int, columns: list[str], index: str, settings: dict[str, Any]) -> None:
        self.name = name
        self._root = root
        self._columns = columns
        self._index = index
        self._settings = settings

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        local = (_wall_time(batch) for batch in batches)
        record = {
            "name": self.name,
            "root": self._root,
            "path": self.name,
            "format": "spark",
            "size": 0,
            "mtime_ns": 0,
            "fingerprint": 0,
            "dialect": "",
            "parts": [],
            "version": "",
        }
        feed = TableFeed(record, self._columns, local, 0)
        meta = build_part(feed, Path(self._index), IndexSettings.from_dict(self._settings))
        yield pa.record_batch([pa.array([json.dumps(asdict(meta))], pa.string())], names=["result"])


def _wall_time(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Read timestamps as the session's clock shows them."""
    columns = [
        pc.local_timestamp(column) if pa.types.is_timestamp(column.type) and column.type.tz else column
        for column in batch.columns
    ]
    return pa.record_batch(columns, names=[str(i) for i in range(len(columns))])
