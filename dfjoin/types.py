"""Frozen records that cross the layers of dfjoin."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Root:
    """A location that tables come from.

    Parameters
    ----------
    id : int
        Number of the root within its index, from 0.
    name : str
        Short name; tables of every root but the first carry it as a prefix.
    uri : str
        Absolute path or URI, without user info.
    kind : {"files", "spark", "memory", "database"}
        What reads its tables.
    """

    id: int
    name: str
    uri: str
    kind: Literal["files", "spark", "memory", "database"] = "files"


@dataclass(frozen=True)
class Dialect:
    """How a delimited file is to be read; kept in the catalogue so that it is read so again.

    Parameters
    ----------
    encoding : str
        Python codec name (``utf-8``, ``cp1252``, ``utf-16`` …).
    delimiter, quote_char : str
        One character each; an empty `quote_char` means that nothing is quoted.
    double_quote : bool
        A quote inside a quoted cell is written twice.
    escape_char : str
        Character that escapes a quote, or empty.
    skip_lines : int
        Physical lines above the header (title lines, comments).
    header_lines : int
        Records that name the columns: 0 (names are ``column_0``, ``column_1`` …), 1, or 2, as of groups and columns, or
        of columns and units.
    implicit_index : bool
        Data rows have one field more than the header: the first column has no name (R's row names).
    ragged : bool
        Rows differ in length; short ones are padded with nulls, long ones keep extra columns.
    compression : str
        ``""``, ``"gz"``, ``"zst"``, ``"bz2"`` or ``"xz"``.
    decimal, thousands : str
        Marks of numbers; `thousands` is empty where nothing stands between thousands, and a blank stands for every kind
        of blank.
    number_columns : tuple of int
        Positions of the columns whose numbers are written with these marks; they are read as plain numbers.
    doubt : str
        Why the file may have to be read in another way; empty where nothing speaks for that.
    cells : tuple of int
        Of a table in a sheet of a workbook, counted from its first filled cell: the row of its header and its first
        column, the row and the column after its last ones; empty for texts.
    """

    encoding: str = "utf-8"
    delimiter: str = ","
    quote_char: str = '"'
    double_quote: bool = True
    escape_char: str = ""
    skip_lines: int = 0
    header_lines: int = 1
    implicit_index: bool = False
    ragged: bool = False
    compression: str = ""
    decimal: str = "."
    thousands: str = ""
    number_columns: tuple[int, ...] = ()
    doubt: str = ""
    cells: tuple[int, ...] = ()

    @property
    def has_header(self) -> bool:
        """Whether the file names its columns."""
        return self.header_lines > 0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values; of those that dfjoin 0.1.0 does not know, what differs from it."""
        old = {name: getattr(self, name) for name in _FIRST_FIELDS}
        is_new = {name: value != _PLAIN[name] for name, value in self.__dict__.items() if name not in old}
        is_new["header_lines"] = self.header_lines > 1  # `has_header` says none and one
        new = {name: getattr(self, name) for name, holds in is_new.items() if holds}
        return {**old, **{name: list(value) if isinstance(value, tuple) else value for name, value in new.items()}}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Dialect:
        """Make a dialect from JSON values, as from `to_dict`; unknown fields are ignored."""
        known = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        known.setdefault("header_lines", int(values.get("has_header", True)))
        lists = {name: tuple(known.get(name, ())) for name in ("number_columns", "cells")}
        return cls(**{**known, **lists})

    def __str__(self) -> str:
        """Say how the file is written, for people."""
        if self.cells:
            top, left, end, right = self.cells
            return f"rows {top + 1} to {end}, columns {left + 1} to {right}"
        parts = [_SPELLED.get(self.delimiter, self.delimiter), self.encoding]
        if self.decimal != ".":
            parts.append("decimal comma")
        if self.thousands:
            parts.append(f"thousands {_SPELLED.get(self.thousands, self.thousands)}")
        if self.header_lines != 1:
            parts.append(f"{self.header_lines or 'no'} header lines")
        if self.skip_lines:
            parts.append(f"{self.skip_lines} lines above")
        return " · ".join(parts)


_SPELLED = {"\t": "tab", " ": "blank", "\x1f": "no delimiter"}
_PLAIN = {name: known.default for name, known in Dialect.__dataclass_fields__.items()}
_FIRST_FIELDS = (
    *("encoding", "delimiter", "quote_char", "double_quote", "escape_char", "skip_lines", "has_header"),
    *("implicit_index", "ragged", "compression"),
)


@dataclass(frozen=True)
class GivenDialect:
    """What the user says of how a delimited file is written; the file itself tells what is None.

    Parameters
    ----------
    delimiter : str, optional
        One character.
    decimal : {".", ","}, optional
        Mark before decimals.
    header : {0, 1, 2}, optional
        Lines that name the columns.
    encoding : str, optional
        Python codec name.
    """

    delimiter: str | None = None
    decimal: str | None = None
    header: int | None = None
    encoding: str | None = None


@dataclass(frozen=True)
class TableSource:
    """A table of a root before it is read.

    Parameters
    ----------
    name : str
        Name in the lake: POSIX path below the root with the extension, prefixed for later roots.
    root : Root
        Where it comes from.
    path : str
        POSIX path below the root; a directory for a partitioned Parquet table; for one of the tables that a file holds
        the path of the file and the name of the table in it.
    format : str
        What reads it: a name of `dfjoin.sources.table_kinds.KINDS`, ``spark`` or ``memory``.
    size : int
        Bytes, of all parts.
    mtime_ns : int
        Latest modification time in nanoseconds since 1970, 0 when the location has none.
    parts : tuple of str
        POSIX paths below the root of the files that make up the table, sorted; one for a plain file.
    part_stats : tuple of (int, int)
        Bytes and modification time of each of `parts`, if the table is a directory of files; else empty.
    left_out : tuple of dict
        Catalogue records of the columns that its file does not have, because the patterns of the index leave them out.
    version : str
        `dfjoin.index.catalog.KEPT` for a frame that was given in memory and whose file is below the index; ``v3`` or a
        time in ISO format for a Delta or Iceberg table that is read as it was, empty for the latest.
    """

    name: str
    root: Root
    path: str
    format: str
    size: int
    mtime_ns: int
    parts: tuple[str, ...] = field(default=())
    left_out: tuple[dict[str, Any], ...] = field(default=(), hash=False)
    version: str = ""
    part_stats: tuple[tuple[int, int], ...] = ()

    @property
    def member(self) -> str:
        """Its name in the file that holds it and others; empty for a file that is one table, or for all of them."""
        return self.path[len(self.parts[0]) + 1 :] if self.parts and self.path.startswith(f"{self.parts[0]}/") else ""


@dataclass(frozen=True)
class SkippedFile:
    """A file that is no table dfjoin can read, with the reason in words, its size and modification time."""

    name: str
    reason: str
    size: int = 0
    mtime_ns: int = 0


@dataclass(frozen=True)
class IndexSettings:
    """What an index was built with; frozen in its manifest and applied to every query.

    Parameters
    ----------
    null_spellings : tuple of str
        Values that mean null in every column, compared after normalisation; the empty cell by default.
    null_evidence : bool
        Texts as ``NA`` and ``-`` are nulls too in the columns whose other values say so; not where `null_spellings`
        are given, and not in an index that was built before this rule.
    dayfirst : bool or None
        How to read all-digit day/month/year values; None: as the column itself tells, else as text.
    hash_seed : int
        Seed of the 64-bit value hash.
    unicode_version : str
        Version of the Unicode tables that normalised the lake.
    samples : int
        Sample values kept per column in the catalogue; 0 keeps none.
    segment_bytes : int
        Target size of a segment's ``tokens`` group, in bytes.
    task_bytes : int
        Memory that a build task may use for distinct values before it spills, in bytes.
    tables : tuple of str
        Patterns (``fnmatch``) of the tables to read; all if there is none.
    columns, exclude : tuple of str
        Patterns ``table/column`` (``fnmatch``) of the columns to index, and of those to leave out.
    dialects : tuple of (str, str, str or int)
        What is given of how delimited files are written: a field of `GivenDialect`, a pattern of tables, the value.
    permutations : int
        Values of a column's MinHash signature; 0 makes no signatures.
    signature_min : int or None
        Distinct values from which on a column gets a signature; None: as many as `permutations`. Smaller
        columns are always answered from their posting lists.
    partitions : int
        Partitions of the signed columns by set size, at most.
    partitioning : {"optimal", "equal_depth"}
        How the partitions are cut.
    partition_ends : tuple of int
        Largest set size of each partition; cut when the index is built, so that no later change of its
        segments changes which columns are found.
    keep_sets : bool
        Keep the token sets of columns that have a signature. Without them the index answers for such
        columns by estimates only.
    patterns : bool
        Index the pattern tokens of text and date columns, which ``mode="transform"`` searches.
    row_signatures : bool
        Keep which value each row of a table has in each indexed column, for searches with keys of several columns.
    max_columns : int
        The most columns that a table may have; one with more is skipped with the reason.
    """

    null_spellings: tuple[str, ...] = ("",)
    null_evidence: bool = True
    dayfirst: bool | None = None
    hash_seed: int = 0x5DF0_A1B2_C3D4_E5F6
    unicode_version: str = ""
    samples: int = 5
    segment_bytes: int = 512 << 20
    task_bytes: int = 256 << 20
    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    dialects: tuple[tuple[str, str, Any], ...] = ()
    permutations: int = 256
    signature_min: int | None = None
    partitions: int = 32
    partitioning: str = "optimal"
    partition_ends: tuple[int, ...] = ()
    keep_sets: bool = True
    patterns: bool = False
    row_signatures: bool = False
    max_columns: int = 100_000

    @property
    def smallest_signed(self) -> int:
        """Distinct values from which on a column gets a signature."""
        return self.permutations if self.signature_min is None else self.signature_min

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in self.__dict__.items()}

    def given_dialect(self, table: str) -> GivenDialect:
        """Return what is given of how a table is written: of each field the first pattern that matches it.

        Parameters
        ----------
        table : str
            Name of the table.

        Returns
        -------
        GivenDialect
        """
        given: dict[str, Any] = {}
        for name, pattern, value in self.dialects:
            if name not in given and (pattern == table or fnmatch.fnmatchcase(table, pattern)):
                given[name] = value
        return GivenDialect(**given)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> IndexSettings:
        """Make settings from JSON values.

        Parameters
        ----------
        values : dict
            Field → value, as from `to_dict`; unknown fields are ignored. Given `null_spellings` are all there are,
            unless `null_evidence` is given, too.

        Returns
        -------
        IndexSettings
        """
        read: dict[str, Any] = {f: _frozen(values[f]) for f in cls.__dataclass_fields__ if f in values}
        return cls(**{"null_evidence": "null_spellings" not in values, **read})


def _frozen(value: Any) -> Any:
    """Return a JSON value with tuples in the place of lists."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
