"""Building an index: all of a version from one source, committed once."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import numpy as np

from dfjoin import _validation as check
from dfjoin.errors import IndexNotFoundError, InvalidParameterError, shortlist
from dfjoin.index.commit import Uncommitted, commit, read_manifest
from dfjoin.index.components import MANIFESTS, RUNS, SEGMENTS, make_directories
from dfjoin.index.manifest import Manifest, SegmentMeta, now
from dfjoin.index.mirror import index_path
from dfjoin.index.segment import Segment
from dfjoin.ingest.axes_driver import add_axes_of
from dfjoin.ingest.axes_task import AxesReader
from dfjoin.ingest.build_options import BuildOptions
from dfjoin.ingest.chosen_embedder import choose_for_index
from dfjoin.ingest.driver import freeze_partitions, nothing_read, write_segments
from dfjoin.ingest.embed_driver import add_vectors_of
from dfjoin.ingest.engine import LateEngine
from dfjoin.ingest.left_out import is_wanted
from dfjoin.ingest.sent_embedder import require_sendable
from dfjoin.ingest.source import frames_directory, gather
from dfjoin.sources.database_server import one_snapshot
from dfjoin.types import IndexSettings


def find_base(index: str | os.PathLike[str], if_exists: str) -> tuple[Path, Manifest | None]:
    """Check the arguments `index` and `if_exists` of `dfjoin.build_lake`.

    Returns
    -------
    path : Path
        Local directory that `index` names, or that stands for a URI.
    base : Manifest or None
        The version that the build follows, None where there is no index.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If `index` is no path that can be used, holds other files, or is an index and must not be one.
    """
    check.check_choice(if_exists, "if_exists", ("error", "replace", "add"))
    path = index_path(index)
    if path.exists() and not path.is_dir():
        raise InvalidParameterError(f"`index` must be a directory or a new path, but `{path}` is a file")
    return path, _base(path, if_exists)


def build(path: Path, base: Manifest | None, settings: IndexSettings, options: BuildOptions) -> Manifest:
    """Read tables and commit them as the whole of the version that follows `base`.

    Parameters
    ----------
    path : Path
        Directory of the index; made for its owner only when it does not exist.
    base : Manifest or None
    settings : IndexSettings
    options : BuildOptions

    Returns
    -------
    Manifest
        As committed.

    Raises
    ------
    ConcurrentCommitError
        If another writer committed in the meantime.
    TableReadError
        If nothing can be read, or with ``on_error="raise"`` for the first table that cannot.

    Notes
    -----
    Whatever interrupts it, the version before stays the latest; what was written is removed, or is an
    orphan that no version names.
    """
    with Uncommitted(path) as written, frames_directory(path, options.keep_data) as frames, one_snapshot():
        chosen = None if options.embedder is None else choose_for_index(options.embedder, None, settings)
        late = LateEngine(options.engine, options.spark, options.progress, workers=options.workers)
        _make(path)
        given = gather(options.source, [], late.spark_reader(settings), frames, written, settings)
        engine = late.start(given.tables)
        if chosen is not None and not engine.is_here:
            require_sendable(chosen)
        built = write_segments(given, settings, late.start_readers(given.tables), options, written)
        segments = [one.meta for one in built]
        _refuse_nothing(path, segments, settings)
        embedder = None
        if chosen is not None:
            segments, made = add_vectors_of(segments, chosen, written, engine, options.progress)
            embedder = made.meta
        if options.axes is not None:
            reader = AxesReader(path, settings, given.roots, options.axes)
            segments = add_axes_of(segments, reader, written, engine)
        manifest = Manifest(
            base.index_uuid if base else uuid.uuid4().hex,
            base.version + 1 if base else 1,
            freeze_partitions(settings, (one.sizes for one in built)),
            tuple(given.roots),
            tuple(segments),
            created_at=now(),
            operation="replace all" if base else "build",
            embedder=embedder,
            axes=options.axes,
        )
        commit(path, manifest)
        return manifest


def _refuse_nothing(path: Path, segments: list[SegmentMeta], settings: IndexSettings) -> None:
    """Raise the reasons where every table was skipped, or patterns leave no column: nothing would be found."""
    if segments and not any(meta.counts["tables"] for meta in segments):
        skipped = [file for meta in segments for file in Segment(path, meta).catalog.skipped().to_pylist()]
        raise nothing_read([(file["name"], file["reason"]) for file in skipped])
    if any(meta.counts["indexed_columns"] for meta in segments):
        return
    catalogs = [Segment(path, meta).catalog for meta in segments]
    names = [pair for one in catalogs for pair in zip(*one.names_of(np.arange(one.n_columns)), strict=True)]
    if names and not any(is_wanted(table, column, settings) for table, column in names):
        argument, patterns = ("columns", settings.columns) if settings.columns else ("exclude", settings.exclude)
        raise InvalidParameterError(
            f"`{argument}` must leave a column to be indexed, got {shortlist(patterns)}, which leaves none of "
            f"{len(names):,}; patterns are of table/column, as {'/'.join(names[0])!r}, and '*/name' is a column of any "
            "table"
        )


def _make(path: Path) -> None:
    """Make the directory of an index, or raise saying why it cannot be made."""
    try:
        make_directories(path)
    except OSError as error:
        raise InvalidParameterError(
            f"`index` must be a directory that can be written, but `{path}` cannot be made: {error.strerror}"
        ) from error


def _is_free(path: Path) -> bool:
    """Tell whether a directory is empty, or holds what a killed first build left: no version names it."""
    names = {entry.name for entry in path.iterdir()}
    return not names or (names == {RUNS, SEGMENTS, MANIFESTS} and not any((path / MANIFESTS).iterdir()))


def _base(path: Path, if_exists: str) -> Manifest | None:
    """Return the version that a build follows, or raise when there is one and there must not be."""
    try:
        base = read_manifest(path)
    except IndexNotFoundError:
        if path.is_dir() and not _is_free(path):
            raise InvalidParameterError(
                f"`index` must be a new or empty directory, or an index; `{path}` holds other files"
            ) from None
        return None
    if if_exists == "error":
        raise InvalidParameterError(
            f'`index` {str(path)!r} is an index already (version {base.version}); pass if_exists="replace" '
            'to build it anew, or if_exists="add" to add the tables'
        )
    return base
