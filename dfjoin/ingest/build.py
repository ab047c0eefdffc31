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
from dfjoin.types import IndexSettings
from dfjoin.values.unicode import UNICODE_VERSION

__all__ = ["build", "check_build"]

_FIXED = ("unicode_version", "columns", "exclude", "partition_ends")  # of IndexSettings, set by other arguments


def check_build(
    index, *, if_exists, engine, columns, exclude, embedder, vectors, settings, keep_data, on_error
) -> tuple[Path, Manifest | None, IndexSettings]:
    """Check the arguments of `dfjoin.build_lake`; return the directory, the version it follows, and the settings."""
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
    return path, base, chosen


def build(source, path, base, settings, engine, spark, keep_data, on_error, progress) -> None:
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
