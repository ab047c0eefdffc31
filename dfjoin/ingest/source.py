"""The argument `source` of a build → roots, tables, and readers of Spark tables."""

from __future__ import annotations

import os
import re
import tempfile
import uuid
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from dfjoin._validation import is_valid_text, show
from dfjoin.errors import InvalidParameterError, InvalidTypeError, MissingDependencyError, TableReadError
from dfjoin.frames.given_frame import is_frame, stored_frame
from dfjoin.index.catalog import KEPT
from dfjoin.index.commit import Uncommitted
from dfjoin.index.components import FRAMES, create_file, make_directory
from dfjoin.ingest.left_out import describe_left_out, is_wanted, is_wanted_table, may_hold_wanted
from dfjoin.ingest.read_task import RunMeta
from dfjoin.ingest.row_spool import TableSpool
from dfjoin.sources.database_server import uri_of
from dfjoin.sources.listing import Listing
from dfjoin.sources.readers import function_of
from dfjoin.sources.roots import split_version
from dfjoin.sources.table_kinds import KINDS, READABLE, TableKind, kind_of_scheme
from dfjoin.types import IndexSettings, Root, SkippedFile, TableSource
from dfjoin.values.frames import frame_to_table, is_pandas, is_spark

_SPARK_NAME = re.compile(r"(\w+|`[^`]+`)(\.(\w+|`[^`]+`)){0,3}")


class TableJob(Protocol):
    """Reads a table that an engine reads by itself, into runs.

    `path` is what its engine knows it by, empty for a frame; `root` the id of its root.
    """

    @property
    def name(self) -> str:
        """Name of the table in the lake."""
        ...  # pragma: no cover

    @property
    def path(self) -> str:
        """See above."""
        ...  # pragma: no cover

    @property
    def root(self) -> int:
        """Id of its root."""
        ...  # pragma: no cover

    @property
    def version(self) -> str:
        """What tells the content of the table from another one; empty where nothing does."""
        ...  # pragma: no cover

    def __call__(self, work: Path) -> list[RunMeta]:
        """Write runs below `work`, as tasks do; raises `TableReadError` if the table cannot be read."""
        ...  # pragma: no cover


@dataclass
class Input:
    """What a build reads.

    Parameters
    ----------
    roots : list of Root
        New roots of the index.
    tables : collection of TableSource
        Tables to read; those of files lie in a file themselves.
    skipped : list of SkippedFile
        Files that the listing passed over with a reason.
    extra : list of TableJob
        Tables that an engine reads by itself (Spark tables), and those of which only the new files are read.
    """

    roots: list[Root]
    tables: Collection[TableSource]
    skipped: list[SkippedFile] = field(default_factory=list)
    extra: list[TableJob] = field(default_factory=list)


SparkReader: TypeAlias = Callable[[dict[str, Any], Root], Input]
"""Turns Spark tables (name → table name or Spark DataFrame) and their root into an input."""


@contextmanager
def frames_directory(index: Path, is_kept: bool) -> Iterator[Path]:
    """Give the directory for frames that come in memory: that of the index, or a temporary one."""
    if is_kept:
        yield index / FRAMES
        return
    with tempfile.TemporaryDirectory(prefix="dfjoin-frames-") as scratch:
        yield Path(scratch)


def gather(
    source: Any,
    roots: list[Root],
    spark_tables: SparkReader | None,
    frames: Path,
    written: Uncommitted,
    settings: IndexSettings,
) -> Input:
    """List what a build is to read.

    Parameters
    ----------
    source : path, glob, list of paths, URI, callable, Spark table name or list of them, mapping of str to DataFrame
        As in `dfjoin.build_lake`.
    roots : list of Root
        Roots that the index has already; tables of a further one are prefixed with its name.
    spark_tables : callable, optional
        Reads Spark tables; None where there is no Spark session.
    frames : Path
        Directory that frames are written into.
    written : Uncommitted
        Takes note of what is written.
    settings : IndexSettings
        Its patterns tell which tables are read, and which columns of frames are not written.

    Returns
    -------
    Input

    Raises
    ------
    InvalidTypeError, InvalidParameterError
        If the source is of another kind, does not exist, or needs Spark and there is none.
    """
    if is_pandas(source) or is_spark(source) or is_frame(source) or isinstance(source, pd.Series):
        raise InvalidTypeError(
            f"`source` must be a path, a list of paths or a dict of name → DataFrame, got a {type(source).__name__}; "
            'give the table a name: {"name": df}'
        )
    if isinstance(source, Mapping):
        given = _gather_frames(dict(source), roots, spark_tables, _FrameFiles(frames, written, settings))
    elif _are_spark_names(source):
        names = [source] if isinstance(source, str) else list(source)
        if spark_tables is None:
            raise InvalidParameterError(
                f"`source` {names[0]!r} is no path that exists here; if it is a Spark table, build it in "
                "Python, by spark_ext.build_index(spark, tables=[...], index=...), else check the spelling"
            )
        given = spark_tables({name: name for name in names}, root_for("spark", "spark:", "spark", roots))
    elif (uri := _uri_of(source)) is not None and (kind := kind_of_scheme(uri)) is not None:
        given = _gather_database(source, uri, kind, roots)
    else:
        given = _gather_files(source, roots)
    if settings.tables:
        given.tables = TableSpool(table for table in given.tables if _may_be_wanted(table, settings))
        given.extra = [job for job in given.extra if is_wanted_table(job.name, settings)]
    given.roots = [*roots, *(root for root in given.roots if root not in roots)]
    if not given.tables and not given.extra:
        first = f"{given.skipped[0].name}: {given.skipped[0].reason}" if given.skipped else ""
        reasons = f"; {len(given.skipped)} skipped, the first: {first}" if first else ""
        named = "`tables` names" if settings.tables else "dfjoin reads"
        raise InvalidParameterError(f"`source` holds no table that {named} ({READABLE}){reasons}; check the path")
    return given


def _may_be_wanted(table: TableSource, settings: IndexSettings) -> bool:
    """Tell whether a source is, or may hold, a table that the patterns let be read."""
    is_one = is_wanted_table if not KINDS[table.format].has_members else may_hold_wanted
    return is_one(table.name, settings)


def _uri_of(source: Any) -> str | None:
    """Return the text of a source, or the one that it returns; None for a source of another kind."""
    if not callable(source):
        return source if isinstance(source, str) else None
    uri = uri_of(source)
    kind = kind_of_scheme(uri)
    if kind is None or kind.endings:
        raise InvalidTypeError(
            "`source` may be a function that returns the URI of a database on a server, as "
            f"postgresql://user:password@host/database; got one that returns a URI of {urlsplit(uri).scheme!r}"
        )
    return uri


def root_for(kind: str, uri: str, name: str, roots: list[Root]) -> Root:
    """Return the root of that kind and location: the one the index has, else a new one.

    The id of a later root follows from its kind and location, so that writers who add the same one at the
    same time give it the same id.
    """
    for root in roots:
        if (root.kind, root.uri) == (kind, uri):
            return root
    if not roots:
        return Root(0, name if kind in ("files", "database") else "", uri, kind)  # type: ignore[arg-type]
    taken = {root.id for root in roots}
    number = zlib.crc32(f"{kind}|{uri}".encode()) & 0x7FFFFFFF
    while number in taken:
        number = (number + 1) & 0x7FFFFFFF
    return Root(number, _free_name(name, {root.name for root in roots}), uri, kind)  # type: ignore[arg-type]


def _gather_database(source: Any, uri: str, kind: TableKind, roots: list[Root]) -> Input:
    """List the tables of a database, a file or a server; `source` is its URI, or returns it."""
    if not kind.is_ready():
        raise MissingDependencyError(
            f"`source` is a database of {kind.name}, and reading it needs `{kind.library}`, which is not installed; "
            f'install it with: pip install "dfjoin[{kind.extra}]"'
        )
    if kind.endings:
        path = unquote(uri.partition("://")[2].partition("?")[0]).removeprefix("/")
        return _gather_files(path if os.path.exists(path) else f"/{path}", roots, kind.name)  # noqa: PTH110
    location = function_of("location_of", kind.name)(source)
    root = root_for("database", location, location.rstrip("/").rpartition("/")[2], roots)
    prefix = "" if not roots or root == roots[0] else f"{root.name}/"
    try:
        listed = [replace(table, name=prefix + table.name) for table in function_of("tables_of", kind.name)(root)]
    except TableReadError as error:
        raise InvalidParameterError(
            f"`source` must be a database that can be read: {error}. Check host and name; user and password may "
            "stand in the URI, which is kept without them, or in the environment, or a function returns the URI"
        ) from None
    return Input([root], TableSpool(listed))


def _gather_files(source: Any, roots: list[Root], kind: str = "") -> Input:
    """List files; those below a root of the index belong to it, others make a new root.

    Their names are their paths below the root, behind the root's name unless it is the first.
    """
    source, version = split_version(source)
    listing = Listing(source, kind)
    listed = listing.root
    above = [r for r in roots if r.kind == "files" and f"{listed.uri}/".startswith(f"{r.uri.rstrip('/')}/")]
    root = max(above, key=lambda r: len(r.uri)) if above else root_for("files", listed.uri, listed.name, roots)
    below = listed.uri[len(root.uri.rstrip("/")) :].lstrip("/")
    start = f"{below}/" if below else ""
    prefix = start if not roots or root == roots[0] else f"{root.name}/{start}"
    ending = f"@{version}" if version else ""
    tables = TableSpool(
        TableSource(
            prefix + table.name + ending,
            root,
            start + table.path,
            table.format,
            table.size,
            table.mtime_ns,
            tuple([start + part for part in table.parts]),
            version=version,
            part_stats=table.part_stats,
        )
        for table in listing.tables()
    )
    if version and [KINDS[table.format].has_version and not table.member for table in tables] != [True]:
        raise InvalidParameterError(
            f"`source` names version {version!r}, which a Delta or Iceberg table may have; give the directory of one"
        )
    return Input([root], tables, [SkippedFile(prefix + file.name, file.reason) for file in listing.skipped()])


def _free_name(name: str, taken: set[str]) -> str:
    """Return the name of a root, with a number behind it when it is taken."""
    suffix = 1
    free = name
    while free in taken:
        suffix += 1
        free = f"{name}-{suffix}"
    return free


def _are_spark_names(source: Any) -> bool:
    """Tell whether the source names Spark tables: identifiers, none of them an existing path."""
    names = [source] if isinstance(source, str) else source
    if not isinstance(names, (list, tuple)) or not names:
        return False
    return all(
        isinstance(name, str) and _SPARK_NAME.fullmatch(name) is not None and not os.path.exists(name)  # noqa: PTH110
        for name in names
    )


def _gather_frames(
    given_frames: dict[str, Any],
    roots: list[Root],
    spark_tables: SparkReader | None,
    files: _FrameFiles,
) -> Input:
    """Write pandas frames as Parquet; leave Spark frames to Spark."""
    if not given_frames:
        raise InvalidParameterError("`source` must hold at least one table, got an empty mapping")
    in_memory: dict[str, pa.Table] = {}
    on_spark: dict[str, Any] = {}
    for name, frame in given_frames.items():
        if not isinstance(name, str) or not name.strip():
            raise InvalidTypeError(f"`source` must map table names to frames, got the name {show(name)}")
        if not is_valid_text(name):
            raise InvalidParameterError(
                f"`source` must map table names to frames, got the name {show(name)}, which is no valid Unicode text"
            )
        if is_spark(frame):
            on_spark[name] = frame
        elif is_pandas(frame):
            in_memory[name] = frame_to_table(frame)
        elif is_frame(frame):
            in_memory[name] = frame_to_table(stored_frame(frame))
        else:
            raise InvalidTypeError(
                f"`source` must map names to frames of pandas, polars, Arrow, DuckDB or Spark, got "
                f"{type(frame).__name__} for {show(name)}"
            )
    given = Input([], [])
    if in_memory:
        root = root_for("memory", FRAMES, "memory", roots)
        given.tables = files.write(in_memory, root)
        given.roots.append(root)
    if on_spark:
        if spark_tables is None:
            raise InvalidParameterError(
                '`source` holds Spark DataFrames, which neither engine="inline" nor `workers` read; leave both '
                'out, or use engine="spark"'
            )
        spark = spark_tables(on_spark, root_for("spark", "spark:", "spark", [*roots, *given.roots]))
        given.roots += spark.roots
        given.extra += spark.extra
    return given


@dataclass(frozen=True)
class _FrameFiles:
    """Where frames that come in memory are written as Parquet, without what the patterns leave out.

    Parameters
    ----------
    directory : Path
    written : Uncommitted
        Takes note of the files.
    settings : IndexSettings
    """

    directory: Path
    written: Uncommitted
    settings: IndexSettings

    def write(self, frames: dict[str, pa.Table], root: Root) -> list[TableSource]:
        """Write frames; return them as tables of files."""
        directory = self.directory
        directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_directory(directory)
        here = Root(root.id, root.name, str(directory), "files")
        version = KEPT if directory == self.written.index / FRAMES else ""
        tables = []
        for name in sorted(frames):
            frame, file = frames[name], f"{uuid.uuid4().hex}.parquet"
            prefixed = f"{root.name}/{name}" if root.name else name
            if not is_wanted_table(prefixed, self.settings):
                continue
            kept = [column for column in frame.column_names if is_wanted(prefixed, column, self.settings)]
            left_out = tuple(
                describe_left_out(column, frame.column(column), self.settings)
                for column in frame.column_names
                if not is_wanted(prefixed, column, self.settings)
            )
            draft = (
                directory / f".{file}"
            )  # what another process finds in a mirror is sent with its own commit, so it is whole
            self.written.add(directory / file, draft)
            with create_file(draft) as stream:
                parquet.write_table(frame.select(kept), stream, compression="zstd")
            draft.replace(directory / file)
            stat = (directory / file).stat()
            size, time = stat.st_size, stat.st_mtime_ns
            tables.append(TableSource(prefixed, here, file, "parquet", size, time, (file,), left_out, version))
        return tables
