"""The options of a build and of adding tables, checked and frozen."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from dfjoin import _validation as check
from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError, InvalidTypeError, did_you_mean, shortlist
from dfjoin.index.manifest import Manifest
from dfjoin.index.signatures import check_signature_settings
from dfjoin.types import IndexSettings
from dfjoin.values.unicode import UNICODE_VERSION
from dfjoin.vectors.axis_specs import AxisSpec

__all__ = ["BuildOptions", "check_same_settings", "index_settings"]

_FIXED = ("unicode_version", "columns", "exclude", "partition_ends")  # of IndexSettings, set by other arguments


@dataclass(frozen=True)
class BuildOptions:
    """What to read into an index, where and how; see `dfjoin.build_lake` for each.

    Parameters
    ----------
    source : object
        Where the tables are, or the tables.
    engine : {"spark", "inline", None}
        Where the work is done; None: by the size of the input.
    spark : SparkSession, optional
    on_error : {"skip", "raise"}
    keep_data, progress : bool
    embedder : object, optional
        What makes vectors of the texts; None: no vectors.
    axes : tuple of AxisSpec or None
        Columns of numbers that make vectors together, beside latitude and longitude; None: neither.

    Raises
    ------
    InvalidParameterError
        If a value is none of these.
    """

    source: Any
    engine: str | None = None
    spark: Any = None
    on_error: str = "skip"
    keep_data: bool = True
    progress: bool = True
    embedder: Any = None
    axes: tuple[AxisSpec, ...] | None = None

    def __post_init__(self) -> None:
        check.check_choice(self.engine, "engine", (None, "spark", "inline"))
        check.check_choice(self.on_error, "on_error", ("skip", "raise"))
        check.check_flag(self.keep_data, "keep_data")
        check.check_flag(self.progress, "progress")


def index_settings(settings: Any, columns: Any = None, exclude: Any = None) -> IndexSettings:
    """Check the settings of a new index and complete them.

    Parameters
    ----------
    settings : dict, IndexSettings or None
    columns, exclude : str, list of str or None
        Patterns of the columns to index, and to leave out.
    """
    if settings is None:
        chosen = IndexSettings()
    elif isinstance(settings, IndexSettings):
        chosen = settings
    elif isinstance(settings, dict):
        legal = [f.name for f in fields(IndexSettings) if f.name not in _FIXED]
        for name in settings:
            if name not in legal:
                raise InvalidParameterError(
                    f"`settings` may hold {shortlist(legal, 15)}, got {check.show(name)}{did_you_mean(name, legal)}"
                )
        chosen = IndexSettings.from_dict(settings)
    else:
        raise InvalidTypeError(f"`settings` must be a dict or IndexSettings, got {type(settings).__name__}")
    spellings = check.check_names(chosen.null_spellings, "settings['null_spellings']", "a text or a list of texts")
    check.check_choice(chosen.dayfirst, "settings['dayfirst']", (None, True, False))
    if isinstance(chosen.samples, bool) or not isinstance(chosen.samples, int) or chosen.samples < 0:
        raise InvalidParameterError(
            f"`settings['samples']` must be an integer of at least 0, got {check.show(chosen.samples)}"
        )
    sizes = ("segment_bytes", "task_bytes", "hash_seed", "max_columns")
    numbers: dict[str, Any] = {
        name: check.check_positive_int(getattr(chosen, name), f"settings['{name}']") for name in sizes
    }
    check.check_flag(chosen.patterns, "settings['patterns']")
    check.check_flag(chosen.row_signatures, "settings['row_signatures']")
    check.check_flag(chosen.null_evidence, "settings['null_evidence']")
    return replace(
        check_signature_settings(chosen),
        **numbers,
        null_spellings=spellings,
        null_evidence=chosen.null_evidence and spellings == IndexSettings.null_spellings,
        unicode_version=UNICODE_VERSION,
        partition_ends=(),
        columns=check.check_patterns(columns, "columns"),
        exclude=check.check_patterns(exclude, "exclude"),
    )


def check_same_settings(base: Manifest, chosen: IndexSettings, settings: Any, columns: Any, exclude: Any) -> None:
    """Refuse settings that differ from those of the index that is added to: they are frozen."""
    given = {"columns": columns, "exclude": exclude}
    if isinstance(settings, dict) and not {"null_spellings", "null_evidence"} & set(settings):
        chosen = replace(chosen, null_evidence=base.settings.null_evidence)
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
