"""One manifest per version: a full snapshot of the index, committed by creating a file that was absent."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from dfjoin._version import __version__
from dfjoin.errors import (
    IndexCorruptedError,
    IndexVersionError,
    shortlist,
)
from dfjoin.index.catalog import DECLARED_KEYS, DIALECTS, PARTS
from dfjoin.index.components import MODELS, SEGMENTS, ComponentMeta
from dfjoin.index.json_shape import (
    AnyOf,
    Flag,
    ListOf,
    MapOf,
    Number,
    OneOf,
    OrNull,
    Record,
    Row,
    TextValue,
    Whole,
    check_shape,
)
from dfjoin.types import IndexSettings, Root
from dfjoin.vectors.axis_specs import AxisSpec

FORMAT_VERSION = 1
_FORMAT = "dfjoin-index"

_NULL_EVIDENCE = "null_evidence"
"""The feature of an index whose columns decide which texts are nulls: a query has to be read by the same rule."""

_TABLES = "tables"
"""The feature of an index whose settings say which tables are read: only a writer has to know."""

FEATURES = {
    "0.1.0": ("tokens", "catalog", "signatures"),
    "0.2.0": ("patterns", "vectors", "axes", "rows", _NULL_EVIDENCE, DIALECTS, PARTS, DECLARED_KEYS, _TABLES),
}
"""Version of dfjoin → the features of the format that it was the first to read; a new feature needs a new version."""

_FEATURES = tuple(feature for features in FEATURES.values() for feature in features)
_PLAIN_PATH = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)*", re.ASCII)


COUNTS = ("tables", "columns", "indexed_columns", "skipped", "tokens", "lists", "postings", "pairs")
"""What a segment counts."""

_DELETED_COUNTS = (
    ("columns", "n_deleted"),
    ("tables", "n_deleted_tables"),
    ("indexed_columns", "n_deleted_indexed"),
)


@dataclass(frozen=True)
class GroupMeta:
    """A component group of a segment: its name, its own id, and its files."""

    name: str
    id: str
    components: tuple[ComponentMeta, ...]


@dataclass(frozen=True)
class SegmentMeta:
    """What the manifest says of one segment; sizes as numbers, nothing per table or column.

    Parameters
    ----------
    id : str
        Name of its directory.
    counts : dict
        ``tables, columns, indexed_columns, skipped, tokens, lists, postings, pairs``.
    groups : tuple of GroupMeta
        Its component groups.
    tombstones : dict or None
        ``file``, ``n_deleted`` and ``crc32`` of the alive mask, once columns are deleted.
    features : tuple of str
        Features of the format that its catalogue needs, see `dfjoin.index.catalog.catalog_features`.
    """

    id: str
    counts: dict[str, int]
    groups: tuple[GroupMeta, ...]
    tombstones: dict[str, Any] | None = None
    features: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all components."""
        return sum(c.size for group in self.groups for c in group.components)

    def group(self, name: str) -> GroupMeta | None:
        """Return the component group of that name, None if the segment has none."""
        return next((group for group in self.groups if group.name == name), None)

    def groups_of(self, name: str) -> list[GroupMeta]:
        """Return the component groups of a name of which a segment may have several."""
        return [group for group in self.groups if group.name == name]

    def with_group(self, group: GroupMeta) -> SegmentMeta:
        """Return the entry with a group in the place of the one of its name."""
        return self.with_groups(group.name, [group])

    def with_groups(self, name: str, groups: Sequence[GroupMeta]) -> SegmentMeta:
        """Return the entry with some groups in the place of those of their name."""
        return replace(self, groups=(*(g for g in self.groups if g.name != name), *groups))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        groups = [{"name": g.name, "id": g.id, "components": [c.to_dict() for c in g.components]} for g in self.groups]
        needed = {"features": list(self.features)} if self.features else {}
        return {"id": self.id, "counts": self.counts, "groups": groups, "tombstones": self.tombstones, **needed}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> SegmentMeta:
        """Make a record from JSON values; unknown fields are ignored."""
        groups = tuple(
            GroupMeta(g["name"], g["id"], tuple(ComponentMeta.from_dict(c) for c in g["components"]))
            for g in values["groups"]
        )
        features = tuple(values.get("features", ()))
        return cls(values["id"], dict(values["counts"]), groups, values.get("tombstones"), features)


@dataclass(frozen=True)
class EmbedderMeta:
    """What the manifest says of the embedder that made the vectors.

    Parameters
    ----------
    identity : str
        Names it.
    dimension : int
        Length of a vector.
    probe : list of list of float
        First numbers of the vectors of a few texts, by which it is known again.
    place : str
        File that it was read from; empty for none.
    model : str
        Id of the model of words below ``models``; empty for none.
    ngrams : tuple of int
        Of the model: its shortest and longest n-gram; and of one that tasks are sent `word_ngrams` and `n_labels` of
        `FastTextModel` as well.
    components : tuple of ComponentMeta
        Its files.
    abbreviations : dict
        What words of a text are written out as before it is embedded.
    radius : float
        Of a search that gives none; 0 where none is known for the embedder.
    radius_unit : {"fraction", "by_length"}
        Its unit.
    evidence : dict
        What speaks for the radius, see `ChosenRadius`; empty where it was not measured.
    """

    identity: str
    dimension: int
    probe: list[list[float]]
    place: str = ""
    model: str = ""
    ngrams: tuple[int, ...] = (0, 0)
    components: tuple[ComponentMeta, ...] = ()
    abbreviations: dict[str, str] = field(default_factory=dict)
    radius: float = 0.0
    radius_unit: str = "fraction"
    evidence: dict[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        components = [c.to_dict() for c in self.components]
        return {**self.__dict__, "ngrams": list(self.ngrams), "components": components}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> EmbedderMeta:
        """Make a record from JSON values; unknown fields are ignored."""
        components = tuple(ComponentMeta.from_dict(c) for c in values["components"])
        probe = [[float(number) for number in row] for row in values["probe"]]
        ngrams = tuple(int(n) for n in values["ngrams"])
        texts = (str(values["place"]), str(values["model"]))
        table = {str(word): str(text) for word, text in values.get("abbreviations", {}).items()}
        radius, unit = float(values.get("radius", 0.0)), str(values.get("radius_unit", "fraction"))
        evidence = {str(name): float(number) for name, number in values.get("evidence", {}).items()}
        made = cls(str(values["identity"]), int(values["dimension"]), probe, *texts, ngrams, components, table)
        return replace(made, radius=radius, radius_unit=unit, evidence=evidence)


@dataclass(frozen=True)
class Manifest:
    """A snapshot of the index: settings, roots and segments of one version.

    `later_features` are those that only writers have to know and that this dfjoin does not: it reads such an index
    and refuses to change it. `axes` names the columns of numbers that make vectors together, beside pairs of latitude
    and longitude; None: neither are indexed.
    """

    index_uuid: str
    version: int
    settings: IndexSettings
    roots: tuple[Root, ...] = ()
    segments: tuple[SegmentMeta, ...] = ()
    created_by: str = field(default=f"dfjoin {__version__}")
    created_at: str = ""
    operation: str = "build"
    later_features: tuple[str, ...] = ()
    embedder: EmbedderMeta | None = None
    axes: tuple[AxisSpec, ...] | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Sum of the counts of all segments, without deleted tables and columns; zeros where there is no segment."""
        total = dict.fromkeys(COUNTS, 0)
        for segment in self.segments:
            for key in COUNTS:
                total[key] += segment.counts.get(key, 0)
            deleted = segment.tombstones or {}
            for key, name in _DELETED_COUNTS:
                total[key] -= deleted.get(name, 0)
        return total

    def named_paths(self) -> set[str]:
        """Return the paths below the index of what this version names: segments, their groups, alive masks."""
        named = set()
        for segment in self.segments:
            start = f"{SEGMENTS}/{segment.id}"
            named |= {start, *(f"{start}/{group.id}" for group in segment.groups)}
            if segment.tombstones is not None:
                named.add(segment.tombstones["file"])
        if self.embedder is not None and self.embedder.model:
            named.add(f"{MODELS}/{self.embedder.model}")
        return named

    def next(self, operation: str, **changes: Any) -> Manifest:
        """Return the manifest that follows this one, with some fields changed.

        Raises
        ------
        IndexVersionError
            If a change has to keep something up that this dfjoin does not know.
        """
        if self.later_features:
            raise IndexVersionError(
                f"a change of this index has to keep up {shortlist(self.later_features)}, which this dfjoin "
                f"{__version__} does not know; upgrade dfjoin to change it"
            )
        written: dict[str, Any] = {"created_by": f"dfjoin {__version__}", "created_at": now(), "operation": operation}
        return replace(self, **{"version": self.version + 1, **written, **changes})

    def to_json(self) -> str:
        """Write the manifest as JSON text."""
        features = sorted({group.name for segment in self.segments for group in segment.groups})
        features += [_NULL_EVIDENCE] if self.settings.null_evidence else []
        needed = {feature for segment in self.segments for feature in segment.features}
        features += sorted(needed | ({DIALECTS} if self.settings.dialects else set()))
        return seal(
            {
                "format": _FORMAT,
                "format_version": FORMAT_VERSION,
                "reader_features": features,
                "writer_features": [*features, *([_TABLES] if self.settings.tables else [])],
                "created_by": self.created_by,
                "created_at": self.created_at,
                "operation": self.operation,
                "index_uuid": self.index_uuid,
                "version": self.version,
                "settings": self.settings.to_dict(),
                "roots": [{"id": r.id, "name": r.name, "uri": r.uri, "kind": r.kind} for r in self.roots],
                "counts": self.counts,
                "segments": [segment.to_dict() for segment in self.segments],
                **({} if self.embedder is None else {"embedder": self.embedder.to_dict()}),
                **({} if self.axes is None else {"axes": [spec.to_dict() for spec in self.axes]}),
            }
        )

    @classmethod
    def from_json(cls, text: str, where: str) -> Manifest:
        """Read a manifest, after checking that this dfjoin understands all that it needs.

        Raises
        ------
        IndexCorruptedError
            If the text is no manifest, or names a path outside the index.
        IndexVersionError
            If the format version or a feature is unknown here.
        """
        try:
            values = json.loads(text, parse_constant=_refuse_constant)
            _check_version(values, where)
            check_shape(values, MANIFEST, "manifest")
            manifest = cls(
                str(values["index_uuid"]),
                int(values["version"]),
                IndexSettings.from_dict({"permutations": 0, **values["settings"]}),  # absent before signatures
                tuple(Root(r["id"], r["name"], r["uri"], r["kind"]) for r in values["roots"]),
                tuple(SegmentMeta.from_dict(s) for s in values["segments"]),
                str(values["created_by"]),
                str(values.get("created_at", "")),
                str(values.get("operation", "")),
                tuple(f for f in values.get("writer_features", ()) if f not in _FEATURES),
                None if values.get("embedder") is None else EmbedderMeta.from_dict(values["embedder"]),
                None if values.get("axes") is None else tuple(AxisSpec.from_dict(spec) for spec in values["axes"]),
            )
            _check_paths(manifest)
            _check_numbers(manifest)
        except (ValueError, RecursionError) as error:
            if isinstance(error, IndexVersionError):
                raise
            raise IndexCorruptedError(
                f"the manifest {where} cannot be read ({type(error).__name__}: {error}); "
                "open an older version with `version=`, call dfjoin.repair, or build the index again"
            ) from error
        return manifest


def now() -> str:
    """Return the time as ISO text in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _check_numbers(manifest: Manifest) -> None:
    """Refuse more deleted than there is, and segments, groups, components and roots that are named twice."""
    _check_once("a segment", [segment.id for segment in manifest.segments])
    _check_once("a root", [root.id for root in manifest.roots])
    for segment in manifest.segments:
        _check_once(f"a group of segment {segment.id}", [group.id for group in segment.groups])
        for group in segment.groups:
            _check_once(f"a component of group {group.id}", [component.name for component in group.components])
        deleted = segment.tombstones or {}
        if any(deleted.get(name, 0) > segment.counts[key] for key, name in _DELETED_COUNTS):
            raise ValueError(f"segment {segment.id} has more deleted than it holds")


def _check_once(what: str, names: Sequence[Any]) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"{what} is named twice")


def seal(values: dict[str, Any]) -> str:
    """Write a manifest's values as JSON text with their checksum.

    ``crc32`` is the CRC-32 of the JSON text of the other fields: sorted keys, no blanks, ASCII only.
    """
    rest = {key: value for key, value in values.items() if key != "crc32"}
    return json.dumps({**rest, "crc32": _checksum(rest)}, separators=(",", ":"))


def _checksum(values: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(values, separators=(",", ":"), sort_keys=True).encode())


def check_seal(text: str, version: int, where: Path) -> None:
    """Refuse a manifest that was edited, or put in the place of another version."""
    values = json.loads(text)
    if values.pop("crc32", None) != _checksum(values) or values["version"] != version:
        raise IndexCorruptedError(
            f"the manifest {where} is not as it was committed (its checksum or version differs); open an older "
            "version with `version=`, call dfjoin.repair, or build the index again"
        )


def _check_version(values: Any, where: str) -> None:
    if not isinstance(values, dict) or values.get("format") != _FORMAT:
        raise ValueError("it is not a dfjoin manifest")
    check_shape(values, VERSION, "manifest")
    version = values["format_version"]
    if version > FORMAT_VERSION:
        raise IndexVersionError(
            f"the index {where}, written by {values.get('created_by', 'a later dfjoin')!r:.60}, has format version "
            f"{version}, this dfjoin {__version__} reads up to {FORMAT_VERSION}; upgrade dfjoin"
        )
    unknown = [f for f in values["reader_features"] if f not in _FEATURES]
    if unknown:
        raise IndexVersionError(
            f"the index {where}, written by {values.get('created_by', 'a later dfjoin')!r:.60}, needs the features "
            f"{shortlist(unknown)}, this dfjoin {__version__} knows {shortlist(_FEATURES)}; upgrade dfjoin"
        )


def _check_paths(manifest: Manifest) -> None:
    """Refuse names that could lead outside the index."""
    if manifest.embedder is not None and manifest.embedder.model:
        _check_names([manifest.embedder.model, *(c.file for c in manifest.embedder.components)])
    for segment in manifest.segments:
        groups = segment.groups
        names = [segment.id, *(g.id for g in groups), *(c.file for group in groups for c in group.components)]
        if segment.tombstones is not None:
            names.append(segment.tombstones["file"])
        _check_names(names)
        if any("/" in name for name in (segment.id, *(group.id for group in groups))):
            raise ValueError(f"the id of segment {segment.id!r}, or of one of its groups, is not a plain name")


def _check_names(names: list[str]) -> None:
    for name in names:
        if _PLAIN_PATH.fullmatch(name) and ".." not in name:
            continue  # what is written looks so; an index of many segments has thousands of them
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name or not path.parts:
            raise ValueError(f"the path {name!r} leads outside the index")


_TEXTS, _NAME, _CRC = ListOf(TextValue()), TextValue(is_name=True), Whole(0, 2**32 - 1)
_COLUMNS = Whole(0, 2**31 - 1)
"""Ids of columns and tables are numbers of 32 bits with a sign."""
_NUMBERED = Whole(0, 2**32 - 1)
"""Numbers of tokens and lists are without one."""

_COMPONENT = Record(
    {"name": _NAME, "file": _NAME, "dtype": TextValue(), "shape": ListOf(Whole()), "size": Whole(), "crc32": _CRC}
)

_SEGMENT = Record(
    {
        "id": _NAME,
        "counts": Record(
            {"tables": _COLUMNS, "columns": _COLUMNS, "indexed_columns": _COLUMNS, "tokens": _NUMBERED},
            {"lists": _NUMBERED, "postings": Whole(), "pairs": Whole(), "skipped": Whole()},
        ),
        "groups": ListOf(Record({"name": TextValue(), "id": _NAME, "components": ListOf(_COMPONENT, low=1)})),
    },
    {
        "tombstones": OrNull(
            Record(
                {"file": _NAME, "n_deleted": _COLUMNS, "crc32": _CRC},
                {"n_deleted_tables": _COLUMNS, "n_deleted_indexed": _COLUMNS},
            )
        ),
        "features": _TEXTS,
    },
)

_DIALECTS = AnyOf(
    (
        Row((OneOf(("delimiter", "decimal", "encoding")), TextValue(), TextValue())),
        Row((OneOf(("header",)), TextValue(), Whole(0, 2))),
    )
)

_SETTINGS = Record(
    {},
    {
        "null_spellings": _TEXTS,
        "null_evidence": Flag(),
        "dayfirst": OrNull(Flag()),
        "hash_seed": Whole(0, 2**64 - 1),
        "unicode_version": TextValue(),
        "samples": Whole(),
        "segment_bytes": Whole(1),
        "task_bytes": Whole(1),
        "tables": _TEXTS,
        "columns": _TEXTS,
        "exclude": _TEXTS,
        "dialects": ListOf(_DIALECTS),
        "permutations": Whole(),
        "signature_min": OrNull(Whole()),
        "partitions": Whole(1),
        "partitioning": TextValue(),
        "partition_ends": ListOf(Whole()),
        "keep_sets": Flag(),
        "patterns": Flag(),
        "row_signatures": Flag(),
        "max_columns": Whole(1),
    },
)

_EMBEDDER = Record(
    {
        "identity": TextValue(),
        "dimension": Whole(1, 2**31 - 1),
        "probe": ListOf(ListOf(Number())),
        "place": TextValue(),
        "model": TextValue(),
        "ngrams": ListOf(_COLUMNS, 2, 2),
        "components": ListOf(_COMPONENT),
    },
    {"abbreviations": MapOf(TextValue()), "radius": Number(), "evidence": MapOf(Number())},
)

VERSION = Record({"format": TextValue(), "format_version": Whole(1), "reader_features": _TEXTS})
"""What tells whether this dfjoin reads the rest."""

MANIFEST = Record(
    {
        "created_by": TextValue(),
        "index_uuid": TextValue(),
        "version": Whole(1),
        "settings": _SETTINGS,
        "roots": ListOf(
            Record(
                {
                    "id": _COLUMNS,
                    "name": TextValue(),
                    "uri": TextValue(),
                    "kind": OneOf(("files", "spark", "memory", "database")),
                }
            )
        ),
        "segments": ListOf(_SEGMENT),
    },
    {
        "writer_features": _TEXTS,
        "created_at": TextValue(),
        "operation": TextValue(),
        "embedder": OrNull(_EMBEDDER),
        "axes": OrNull(ListOf(Record({"columns": _TEXTS, "scales": ListOf(Number()), "is_place": Flag()}))),
    },
)
"""All that is read of a manifest but what `VERSION` says and `crc32`."""
