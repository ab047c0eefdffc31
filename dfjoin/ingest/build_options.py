"""The options of a build and of adding tables, checked and frozen."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from dfjoin import _validation as check
from dfjoin.errors import IncompatibleSettingsError, InvalidParameterError, InvalidTypeError, did_you_mean, shortlist
from dfjoin.index.manifest import Manifest
from dfjoin.index.signatures import check_signature_settings
from dfjoin.ingest.progress import Shown
from dfjoin.types import IndexSettings
from dfjoin.values.unicode import UNICODE_VERSION
from dfjoin.vectors.axis_specs import AxisSpec

_FIXED = ("unicode_version", "tables", "columns", "exclude", "dialects", "partition_ends")  # set by other arguments
_LEGAL = {
    "delimiter": "one character",
    "decimal": '"." or ","',
    "header": "0, 1 or 2, the lines that name the columns",
    "encoding": "an encoding that Python knows",
}


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
    keep_data : bool
    progress : bool or callable
    embedder : object, optional
        What makes vectors of the texts; None: no vectors.
    axes : tuple of AxisSpec or None
        Columns of numbers that make vectors together, beside latitude and longitude; None: neither.
    workers : int
        Processes of this machine that read tables; more than one ask for the engine "inline".

    Raises
    ------
    InvalidParameterError
        If a value is none of these.
    """

    source: Any = field(repr=False)  # a URI may hold a password
    engine: str | None = None
    spark: Any = None
    on_error: str = "skip"
    keep_data: bool = True
    progress: Shown = True
    embedder: Any = None
    axes: tuple[AxisSpec, ...] | None = None
    workers: int = 1

    def __post_init__(self) -> None:
        check.check_choice(self.engine, "engine", (None, "spark", "inline"))
        check.check_choice(self.on_error, "on_error", ("skip", "raise"))
        check.check_flag(self.keep_data, "keep_data")
        if not isinstance(self.progress, bool) and not callable(self.progress):
            raise InvalidParameterError(
                f"`progress` must be True, False or a function, got {check.show(self.progress)}"
            )
        if check.check_positive_int(self.workers, "workers") > 1:
            if self.engine == "spark" or self.spark is not None:
                raise InvalidParameterError(
                    '`workers` are processes of engine="inline", and Spark has its own; leave out '
                    f"workers={self.workers}"
                )
            object.__setattr__(self, "engine", "inline")


def given_dialects(**given: Any) -> tuple[tuple[str, str, Any], ...]:
    """Check what is given of how files are written: `delimiter`, `decimal`, `header`, `encoding`.

    Parameters
    ----------
    **given
        For each a value for all tables, a dict of pattern of tables → value, or None.

    Returns
    -------
    tuple of (str, str, str or int)
        As `IndexSettings.dialects`; ``*`` is the pattern of a value for all tables.
    """
    rules: list[tuple[str, str, Any]] = []
    for name, value in given.items():
        by_pattern = value if isinstance(value, Mapping) else {} if value is None else {"*": value}
        for pattern, one in by_pattern.items():
            if not isinstance(pattern, str):
                raise InvalidTypeError(f"`{name}` must have patterns of tables as its keys, got {check.show(pattern)}")
            if not _is_legal(name, one):
                option = f"`{name}[{pattern!r}]`" if isinstance(value, Mapping) else f"`{name}`"
                raise InvalidParameterError(
                    f"{option} must be {_LEGAL[name]}, or a dict of pattern of tables → such a value, "
                    f"got {check.show(one)}"
                )
            rules.append((name, pattern, one))
    return tuple(rules)


def _is_legal(name: str, value: Any) -> bool:
    """Tell whether a dialect may have a value."""
    if name == "header":
        return isinstance(value, int) and not isinstance(value, bool) and value in (0, 1, 2)
    if not isinstance(value, str):
        return False
    if name == "delimiter":
        return len(value) == 1 and value.isascii() and value not in '\r\n"\0'
    if name == "decimal":
        return value in (".", ",")
    try:
        return isinstance(codecs.decode(b"", value), str)
    except (LookupError, ValueError, TypeError):
        return False


def index_settings(
    settings: Any, columns: Any = None, exclude: Any = None, dialects: Any = (), tables: Any = None
) -> IndexSettings:
    """Check the settings of a new index and complete them.

    Parameters
    ----------
    settings : dict, IndexSettings or None
    columns, exclude, tables : str, list of str or None
        Patterns of the columns to index, and to leave out, and of the tables to read.
    dialects : tuple
        As `given_dialects` returns them.
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
        tables=check.check_patterns(tables, "tables"),
        columns=check.check_patterns(columns, "columns"),
        exclude=check.check_patterns(exclude, "exclude"),
        dialects=dialects,
    )


def check_same_settings(base: Manifest, chosen: IndexSettings, settings: Any, **given: Any) -> None:
    """Refuse settings that differ from those of the index that is added to: they are frozen.

    `given` are the arguments `tables`, `columns` and `exclude`.
    """
    given = {"tables": None, "columns": None, "exclude": None, **given, "dialects": chosen.dialects or None}
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
