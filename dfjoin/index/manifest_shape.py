"""The shape of a manifest: what each field may be. FORMAT.md says what it means."""

from __future__ import annotations

from dfjoin.index.json_shape import AnyOf, Flag, ListOf, MapOf, Number, OneOf, OrNull, Record, Row, TextValue, Whole

__all__ = ["MANIFEST", "VERSION"]

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
