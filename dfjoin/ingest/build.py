"""Building a lake index: argument checks, the choice of an engine, one commit."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from dfjoin import _validation as check
from dfjoin.errors import (
    IncompatibleSettingsError,
    IndexNotFoundError,
    InvalidParameterError,
    InvalidTypeError,
    shortlist,
)
from dfjoin.index.manifest import Manifest, latest_version, read_manifest
from dfjoin.index.signatures import check_signature_settings
from dfjoin.ingest.driver import Engine, InlineEngine, build_version
from dfjoin.ingest.source import gather
from dfjoin.lake import Lake
from dfjoin.types import IndexSettings
from dfjoin.values.unicode import UNICODE_VERSION

__all__ = ["build_lake"]

_FIXED = ("unicode_version", "columns", "exclude", "partition_ends")  # of IndexSettings, set by other arguments


def build_lake(
    source: Any,
    index: str | os.PathLike[str],
    *,
    if_exists: str = "error",
    engine: str = "spark",
    spark: Any = None,
    columns: str | list[str] | None = None,
    exclude: str | list[str] | None = None,
    embedder: Any = None,
    vectors: Any = None,
    settings: dict[str, Any] | IndexSettings | None = None,
    keep_data: bool = True,
    on_error: str = "skip",
    progress: bool = True,
) -> Lake:
    """Build the index of a lake and open it.

    Reads every table once, normalises every value, and commits the index in one step: a build that is
    interrupted, killed or fails leaves what was there before.

    Parameters
    ----------
    source : path, glob, list of paths, Spark table name or list of them, dict of name → DataFrame
        A directory is searched for CSV and TSV (any delimiter, plain, .gz, .zst), Parquet (files and
        directories of part files) and JSON lines; hidden files and dfjoin indexes are passed over.
    index : path
        Directory of the index; made, for its owner only, when it does not exist.
    if_exists : {"error", "replace", "add"}
        What to do when there is an index: ``"replace"`` commits the new content as its next version,
        ``"add"`` adds the tables to those that are there.
    engine : {"spark", "inline"}
        Where the work is done: by Spark tasks, or in this process (small lakes, no Java).
    spark : SparkSession, optional
        The session to use; by default the active one, else a local one that is started here.
    columns, exclude : str or list of str, optional
        Patterns (``fnmatch``) of ``table/column`` to index, and to leave out: values of other columns are
        not copied into the index.
    embedder, vectors : None
        Of the embedding mode, which this version does not have.
    settings : dict or IndexSettings, optional
        ``null_spellings`` (default: the empty text alone; ``NA`` is text), ``dayfirst``, ``samples``
        (values kept per column, 0 for none), ``segment_bytes``, ``task_bytes``, ``hash_seed``; and for
        ``mode="lsh"``: ``permutations`` (values of a MinHash signature, default 256, 0 for none),
        ``signature_min`` (distinct values from which on a column gets one, default: as many as
        permutations), ``partitions`` (32), ``partitioning`` (``"optimal"`` or ``"equal_depth"``),
        ``keep_sets`` (False drops the token sets of columns that have a signature); and ``patterns`` (True
        indexes the pattern tokens that ``mode="transform"`` needs, default False; `Lake.add_patterns` adds
        them later).
    keep_data : bool, default True
        Keep frames given in memory as Parquet inside the index, so that they can be joined.
    on_error : {"skip", "raise"}
        What to do with a table that cannot be read; skipped ones are listed in ``lake.info()["skipped"]``.
    progress : bool, default True
        Show tables, rows, bytes and time left on standard error.

    Returns
    -------
    Lake
        Opened at the new version.

    Raises
    ------
    InvalidParameterError
        If there is an index already and `if_exists` is ``"error"``, or an argument is illegal.
    MissingDependencyError
        If Spark is asked for and pyspark or Java cannot be found.
    TableReadError
        With ``on_error="raise"``.
    ConcurrentCommitError
        If another writer committed to the same index meanwhile; nothing of this build is visible.

    See Also
    --------
    open_lake, spark_ext.build_index

    Notes
    -----
    One pass over the files. Memory per task: about three times ``task_bytes``, and in the merging task
    the segment that is written (``segment_bytes``). The index is a copy of every distinct value of every
    indexed column: text, integers (floats and decimals with integral values included) and dates, with
    two distinct values or more.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile
    >>> frames = {"cities": pd.DataFrame({"city": ["Rome", "Oslo"], "people": [2.75, 0.7]})}
    >>> lake = dfjoin.build_lake(frames, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
    >>> lake.tables[["table", "n_rows", "n_columns"]]
        table  n_rows  n_columns
    0  cities       2          2
    """
    check.check_choice(if_exists, "if_exists", ("error", "replace", "add"))
    check.check_choice(engine, "engine", ("spark", "inline"))
    check.check_choice(on_error, "on_error", ("skip", "raise"))
    check.check_choice(keep_data, "keep_data", (True, False))
    for name, value in (("embedder", embedder), ("vectors", vectors)):
        if value is not None:
            raise IncompatibleSettingsError(
                f"`{name}` builds vectors, which this version of dfjoin does not have; leave it out"
            )
    path = _index_path(index)
    base = _base(path, if_exists)
    chosen = _settings(settings, columns, exclude)
    if if_exists == "add" and base is not None:
        _check_same_settings(base, chosen, settings, columns, exclude)
        return Lake(path).add(
            source, engine=engine, spark=spark, on_error=on_error, keep_data=keep_data, progress=progress
        )
    return _build(source, path, base, chosen, engine, spark, keep_data, on_error, progress)


def _build(source, path, base, settings, engine, spark, keep_data, on_error, progress) -> Lake:
    """Gather the input, run the engine, commit."""
    is_new = base is None and not path.exists()
    scratch = None if keep_data else Path(tempfile.mkdtemp(prefix="dfjoin-frames-"))
    try:
        runner, spark_tables = _engine(engine, spark, source, path, settings, on_error)
        given = gather(source, path, [], spark_tables=spark_tables, scratch=scratch)
        build_version(path, base, given, settings, runner, on_error=on_error, progress=progress)
    except BaseException:
        if is_new and latest_version(path) == 0:
            shutil.rmtree(path, ignore_errors=True)
        raise
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
    return Lake(path)


def _index_path(index: str | os.PathLike[str]) -> Path:
    """Return the local directory that `index` names."""
    if not isinstance(index, (str, os.PathLike)):
        raise InvalidTypeError(f"`index` must be a path, got {type(index).__name__}")
    text = os.fspath(index)
    if "://" in text and not text.startswith("file://"):
        raise InvalidParameterError(
            f"`index` must be a local path in this version, got {text!r}; build it locally and copy it"
        )
    return Path(text.removeprefix("file://")).absolute()


def _base(path: Path, if_exists: str) -> Manifest | None:
    """Return the version that a build follows, or raise when there is one and there must not be."""
    try:
        base = read_manifest(path)
    except IndexNotFoundError:
        if path.is_dir() and any(path.iterdir()):
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


def _settings(settings: Any, columns: Any, exclude: Any) -> IndexSettings:
    """Check the settings and complete them."""
    if settings is None:
        chosen = IndexSettings()
    elif isinstance(settings, IndexSettings):
        chosen = settings
    elif isinstance(settings, dict):
        legal = [f.name for f in fields(IndexSettings) if f.name not in _FIXED]
        for name in settings:
            if name not in legal:
                raise InvalidParameterError(f"`settings` may hold {shortlist(legal, 15)}, got {name!r}")
        chosen = IndexSettings.from_dict(settings)
    else:
        raise InvalidTypeError(f"`settings` must be a dict or IndexSettings, got {type(settings).__name__}")
    spellings = check.check_patterns(chosen.null_spellings, "settings['null_spellings']")
    check.check_choice(chosen.dayfirst, "settings['dayfirst']", (None, True, False))
    if isinstance(chosen.samples, bool) or not isinstance(chosen.samples, int) or chosen.samples < 0:
        raise InvalidParameterError(f"`settings['samples']` must be an integer of at least 0, got {chosen.samples!r}")
    for name in ("segment_bytes", "task_bytes", "hash_seed"):
        check.check_positive_int(getattr(chosen, name), f"settings['{name}']")
    check.check_choice(chosen.patterns, "settings['patterns']", (True, False))
    check_signature_settings(chosen)
    return replace(
        chosen,
        null_spellings=spellings,
        unicode_version=UNICODE_VERSION,
        partition_ends=(),
        columns=check.check_patterns(columns, "columns"),
        exclude=check.check_patterns(exclude, "exclude"),
    )


def _check_same_settings(base: Manifest, chosen: IndexSettings, settings: Any, columns: Any, exclude: Any) -> None:
    """Refuse settings that differ from those of the index that is added to: they are frozen."""
    given = {"columns": columns, "exclude": exclude}
    differing = [
        f.name
        for f in fields(IndexSettings)
        if f.name not in ("unicode_version", "partition_ends")
        and (settings is not None if f.name not in given else given[f.name] is not None)
        and getattr(chosen, f.name) != getattr(base.settings, f.name)
    ]
    if differing:
        raise IncompatibleSettingsError(
            f"`settings` differ from those of the index in {shortlist(differing)}, which are frozen; "
            'leave them out, or build anew with if_exists="replace"'
        )


def _engine(
    engine: str, spark: Any, source: Any, path: Path, settings: IndexSettings, on_error: str
) -> tuple[Engine, Any]:
    """Return what runs the tasks, and what reads Spark tables."""
    if engine == "inline":
        if spark is not None:
            raise InvalidParameterError('`spark` belongs to engine="spark", but the engine is "inline"')
        return InlineEngine(), None
    from spark_ext.build import SparkEngine, spark_reader

    runner = SparkEngine(spark)
    return runner, spark_reader(runner.spark, path, settings, on_error)
