"""The columns of a lake, numbered over all segments, and what their names tell."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.index.segment import Segment
from dfjoin.kernels.lists.usefulness import HEADER
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.header_words import (
    DIGITS,
    NAME_FEATURES,
    UNSPECIFIC,
    HeaderWords,
    NamedColumns,
    compare_names,
)
from dfjoin.search.usefulness.lake_facts import facts_of
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.header_meaning import headers_of, number_meaning, table_stems
from dfjoin.values.headers import PERSON_ROLES, PERSONS, RELATIONS, ROLES

FEWEST_ROWS = 2
_DATE = KINDS.index("date")
_INTEGER = KINDS.index("integer")


class LakeColumns:
    """What the catalogues say of the columns of a lake, numbered over all segments.

    Parameters
    ----------
    snapshot : Snapshot
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        catalogs = [segment.catalog for segment in snapshot.segments]
        self.offsets = np.append(0, np.cumsum([catalog.n_columns for catalog in catalogs])).astype(np.int64)
        tables = np.append(0, np.cumsum([catalog.n_tables for catalog in catalogs])).astype(np.int64)
        numbers = [catalog.numbers for catalog in catalogs]
        self.table_of = _joined([own["table"] + tables[i] for i, own in enumerate(numbers)], np.int64)
        self.cardinality = _joined([own["cardinality"] for own in numbers], np.int64)
        self.n_rows = _joined([own["n_rows"] for own in numbers], np.int64)
        self.n_null = _joined([own["n_null"] for own in numbers], np.int64)
        self.kind = _joined([own["kind"] for own in numbers], np.int8)
        self.is_indexed = _joined([own["is_indexed"] for own in numbers], np.int8) > 0
        self.records = np.concatenate(
            [facts_of(segment).columns.records for segment in snapshot.segments] or [np.empty((0, HEADER + 1))]
        )
        self.is_alive = _joined(
            [np.ones(s.n_columns, np.uint8) if s.alive is None else s.alive for s in snapshot.segments], np.uint8
        )

    @cached_property
    def family(self) -> NDArray[np.uint64]:
        """A number for each column that those of tables of one schema in one folder share, see `LakeFacts.family`."""
        facts = [facts_of(segment) for segment in self.snapshot.segments]
        return _joined([one.family[one.table_of] for one in facts], np.uint64)

    @property
    def families(self) -> Iterator[tuple[str, int]]:
        """The name of each table, and the number that the tables of its family share."""
        for segment in self.snapshot.segments:
            yield from zip(segment.catalog.table_names(), facts_of(segment).family.tolist(), strict=True)

    @cached_property
    def folder(self) -> NDArray[np.uint64]:
        """A number for each table that those of one folder share."""
        return _joined([facts_of(segment).folder for segment in self.snapshot.segments], np.uint64)

    def in_tables(self, patterns: tuple[str, ...]) -> NDArray[np.bool_]:
        """Tell which columns stand in tables whose name matches a pattern (``fnmatch``, case-sensitive)."""
        named = [segment.catalog.tables_named(patterns) for segment in self.snapshot.segments]
        return _joined(named, np.bool_)[self.table_of]

    @cached_property
    def headers(self) -> pa.Array:
        """The names of the columns."""
        catalogs = [segment.catalog for segment in self.snapshot.segments]
        return pa.chunked_array([c.columns().field("name") for c in catalogs], pa.string()).combine_chunks()

    @cached_property
    def named(self) -> NamedColumns:
        """The names as words."""
        catalogs = [segment.catalog for segment in self.snapshot.segments]
        tables = pa.chunked_array([c.tables().field("name") for c in catalogs], pa.string()).combine_chunks()
        is_alive = np.concatenate([*(segment.alive_tables() for segment in self.snapshot.segments), np.empty(0, bool)])
        of_tables = without_common(headers_of(_last_parts(tables)), self.folder, is_alive)
        words = without_relations(headers_of(self.headers)), of_tables
        return NamedColumns(*words, as_read_only(self.table_of))

    @cached_property
    def is_role(self) -> NDArray[np.bool_]:
        """Columns whose header names a role that one row of a table has for another one, such as parent."""
        return find_roles(self.named)

    def name(self, column: int) -> tuple[str, str]:
        """Return the names of a column's table and of the column."""
        segment, first = self.segment_of(column)
        return segment.catalog.table_name(column - first), segment.catalog.column_name(column - first)

    def segment_of(self, column: int) -> tuple[Segment, int]:
        """Return the segment of a column, and the number of the first column that it has."""
        number = int(np.searchsorted(self.offsets, column, "right")) - 1
        return self.snapshot.segments[number], int(self.offsets[number])

    @cached_property
    def is_key_name(self) -> NDArray[np.bool_]:
        """Columns whose header has a word such as id, or specific words which all stand in the name of the table."""
        own = self._own_names
        return self.is_identifier | ((own["own_key"] > 0) & (own["table_share"] > 0))

    @cached_property
    def is_identifier(self) -> NDArray[np.bool_]:
        """Columns whose header has a word such as id."""
        return self._own_names["identifier"] > 0

    @cached_property
    def names_other(self) -> NDArray[np.bool_]:
        """Columns whose header has a specific word that is not in the name of their table: they name another one."""
        return self._own_names["own_key"] == 0

    @cached_property
    def _own_names(self) -> dict[str, NDArray[np.float64]]:
        """What the names of each column and of its table tell."""
        every = np.arange(self.cardinality.size)
        return compare_pairs(self, every, every)

    @cached_property
    def is_referring(self) -> NDArray[np.bool_]:
        """Columns that may refer to a key or be one.

        These are no dates and no whole numbers that the header says are measured or counted, and their header has a
        word that no program gave it.
        """
        headers = self.named.headers
        is_word = (headers.marks & DIGITS == 0) & ~np.isin(headers.words, headers_of(["unnamed"]).words)
        owner = np.repeat(np.arange(headers.joined.size), np.diff(headers.indptr))
        found = (np.bincount(owner, is_word, headers.joined.size) > 0) & (self.kind != _DATE)
        numbers = np.flatnonzero(found & (self.kind == _INTEGER))
        names = self.headers.take(pa.array(numbers)).dictionary_encode()
        is_measure = [number_meaning(name) == "measure" for name in names.dictionary.to_pylist()]
        found[numbers] = ~np.array(is_measure, bool)[names.indices.to_numpy()]
        return found

    @property
    def is_key(self) -> NDArray[np.bool_]:
        """Columns that can be referred to: every row has a value, and no value occurs twice."""
        return (self.n_null == 0) & (self.cardinality == self.n_rows) & (self.n_rows >= FEWEST_ROWS) & self.is_indexed


def _joined(parts: list[NDArray], dtype: type) -> NDArray:
    """Put the columns of all segments one after the other."""
    return np.concatenate([*parts, np.empty(0, dtype)]).astype(dtype)


def _last_parts(tables: pa.Array) -> pa.Array:
    """Return the names of tables without folders, schemas and endings of files: ``lake/sales.store.csv`` is store."""
    return pc.replace_substring_regex(table_stems(tables), r"^.*\.([^.]+)$", r"\1")


def compare_pairs(
    columns: LakeColumns, left: NDArray[np.int64], right: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Compare the names of pairs: an array for each of `NAME_FEATURES`."""
    out = np.empty((left.size, len(NAME_FEATURES)))
    compare_names(as_read_only(left), as_read_only(right), columns.named, out)
    return dict(zip(NAME_FEATURES, out.T, strict=True))


# Words in the names of columns that tell how one row refers to another one ----------------------------------


_FOUR_BYTES = np.uint64(32)
_FEWEST_TABLES = 4
"""Tables that a folder has at least where words that most of their names share say nothing."""


def without_relations(headers: HeaderWords) -> HeaderWords:
    """Mark the words of headers that tell how, and not to what, a column refers.

    Parameters
    ----------
    headers : HeaderWords

    Returns
    -------
    HeaderWords
        The words that count are ship in ``ship_via``, staff in ``manager_staff_id``, manager in ``manager_id``.
    """
    marks = headers.marks | np.where(np.isin(headers.words, _hashes(RELATIONS)), UNSPECIFIC, 0).astype(np.uint8)
    is_role = np.isin(headers.words, _hashes(ROLES + PERSON_ROLES))
    owner = np.repeat(np.arange(headers.joined.size), np.diff(headers.indptr))
    has_subject = np.zeros(headers.joined.size, bool)
    has_subject[owner[(marks & UNSPECIFIC == 0) & ~is_role]] = True
    marks[is_role & has_subject[owner]] |= UNSPECIFIC
    return headers._replace(marks=as_read_only(marks))


def without_common(tables: HeaderWords, folders: NDArray[np.uint64], is_alive: NDArray[np.bool_]) -> HeaderWords:
    """Mark the words of names of tables that most tables of their folder share, such as a prefix of an export.

    Parameters
    ----------
    tables : HeaderWords
    folders : ndarray of uint64, shape (n_tables,)
        A number for each folder.
    is_alive : ndarray of bool, shape (n_tables,)
        Tables that were not removed; the others do not count.

    Returns
    -------
    HeaderWords
        A name of which no other specific word would be left keeps its words.

    Examples
    --------
    >>> names = headers_of(["export_orders", "export_order_lines", "export_shops", "export_prices", "export"])
    >>> (without_common(names, np.zeros(5, np.uint64), np.ones(5, bool)).marks & UNSPECIFIC).tolist()
    [1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
    """
    owner = np.repeat(np.arange(tables.joined.size), np.diff(tables.indptr))
    _, folder = np.unique(folders, return_inverse=True)
    _, word = np.unique(_in_words(folder[owner].astype(np.uint64), tables.words), return_inverse=True)
    by_table = np.unique(np.column_stack([word, owner]), axis=0)
    n_having = np.bincount(by_table[:, 0], is_alive[by_table[:, 1]])[word]
    n_in_folder = np.bincount(folder, is_alive)[folder[owner]]
    is_common = (2 * n_having > n_in_folder) & (n_in_folder >= _FEWEST_TABLES)
    has_other = np.zeros(tables.joined.size, bool)
    has_other[owner[~is_common & (tables.marks & UNSPECIFIC == 0)]] = True
    marks = tables.marks | np.where(is_common & has_other[owner], UNSPECIFIC, 0).astype(np.uint8)
    return tables._replace(marks=as_read_only(marks))


def find_roles(columns: NamedColumns) -> NDArray[np.bool_]:
    """Tell which columns name a role that one row of their table has for another one.

    Parameters
    ----------
    columns : NamedColumns

    Returns
    -------
    ndarray of bool, shape (n_columns,)
        The header has a word such as parent, or, in a table of persons, one such as manager; its other words, but for
        those of identifiers, stand in the name of the table.

    Examples
    --------
    >>> tables = headers_of(["categories", "staff", "shops"])
    >>> headers = headers_of(["parent_category_id", "manager", "manager", "next shop", "next delivery"])
    >>> find_roles(NamedColumns(headers, tables, np.array([0, 1, 2, 2, 2]))).tolist()
    [True, True, False, True, False]
    """
    headers, tables = columns.headers, columns.tables
    owner = np.repeat(np.arange(headers.joined.size), np.diff(headers.indptr))
    table_owner = np.repeat(np.arange(tables.joined.size), np.diff(tables.indptr))
    is_of_persons = np.zeros(tables.joined.size, bool)
    is_of_persons[table_owner[np.isin(tables.words, _hashes(PERSONS))]] = True
    table = columns.table_of[owner]
    is_role = np.isin(headers.words, _hashes(ROLES))
    is_role |= np.isin(headers.words, _hashes(PERSON_ROLES)) & is_of_persons[table]
    own_words = _in_words(table_owner.astype(np.uint64), tables.starts >> _FOUR_BYTES)
    is_known = (
        is_role
        | (headers.marks & UNSPECIFIC > 0)
        | np.isin(_in_words(table.astype(np.uint64), headers.starts >> _FOUR_BYTES), own_words)
    )
    found = np.zeros(headers.joined.size, bool)
    found[owner[is_role]] = True
    found[owner[~is_known]] = False
    return found


def _in_words(owner: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of the owner of each word and of the word."""
    return (owner + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) ^ words


@cache
def _hashes(words: tuple[str, ...]) -> NDArray[np.uint64]:
    """Return the hashes of words."""
    return headers_of(words).joined
