"""What the catalogue of a segment says of its columns and tables, as arrays that every search uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.index.catalog import KINDS
from dfjoin.index.segment import Segment
from dfjoin.kernels.hashing import K1, hash_values
from dfjoin.kernels.lists.evidence import CONTENT, FAMILY, N_ROWS, NAME, TableColumns
from dfjoin.kernels.lists.usefulness import (
    CARDINALITY,
    HEADER,
    HIGH,
    IS_SERIAL,
    IS_UNIQUE,
    IS_YEARS,
    KIND,
    LOG_CARDINALITY,
    LOW,
    POSITION,
    SERIAL_SHARE,
    TABLE,
    ColumnRecords,
    TableNumbers,
)
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.kernels.texts.header_relations import HeaderPositions, briefs_of
from dfjoin.kernels.texts.header_words import DIGITS, SHORT, HeaderWords
from dfjoin.store.snapshot import Snapshot
from dfjoin.store.table import is_mostly_null
from dfjoin.values.header_meaning import are_codes, headers_of, table_stems
from dfjoin.values.normalize import pack_strings
from dfjoin.values.profile import Profile

FIRST_YEAR, LAST_YEAR = 1500, 2100
"""Integers in this range may be years."""

_KIND_CODES = np.array(
    [1 if kind == "text" else 2 * (kind in ("integer", "decimal", "float")) for kind in KINDS], np.int8
)

_NO_RANGE = (0.0, -1.0)
"""Lowest and highest integer of a column that has other values."""

_OF_NUMBERS = 2
_FEW_COLUMNS = 5
_NUMBER = np.uint64(1)
_SHIFT = np.uint64(29)
_BITS_OF_COLUMN = 32
_SEED = np.uint64(7)


class LakeFacts:
    """Names of the columns and tables of a segment as words, where they stand, and which tables are of one family.

    Parameters
    ----------
    segment : Segment

    Notes
    -----
    Made once for each open segment, when it is first searched for what is useful. O(bytes of the names).
    """

    def __init__(self, segment: Segment) -> None:
        catalog = segment.catalog
        numbers = catalog.numbers
        self._numbers = numbers
        self.n_tables = catalog.n_tables
        self.names: HeaderWords = headers_of(catalog.columns().field("name"))
        self.table_of: NDArray[np.int32] = numbers["table"]
        tables = catalog.tables()
        self.tables: HeaderWords = headers_of(table_stems(tables.field("name")))
        self.first: NDArray[np.int64] = tables.field("first_column").to_numpy()
        self.width: NDArray[np.int64] = tables.field("n_columns").to_numpy().astype(np.int64)
        self.fingerprint: NDArray[np.uint64] = tables.field("fingerprint").to_numpy()
        is_number = _kinds_of(numbers) == _OF_NUMBERS
        n_numbers = np.bincount(self.table_of, weights=is_number, minlength=self.n_tables)
        self.number_share: NDArray[np.float64] = n_numbers / np.maximum(1, self.width)
        self.n_named: NDArray[np.int64] = np.bincount(self.table_of[self.names.joined != 0], minlength=self.n_tables)
        self._folders = pc.replace_substring_regex(tables.field("name"), r"[^/]*$", "")
        by_header = np.argsort(self.names.joined, kind="stable")
        self.sorted_headers: NDArray[np.uint64] = self.names.joined[by_header]
        self.tables_by_header: NDArray[np.int32] = self.table_of[by_header]
        is_first = np.append(True, self.sorted_headers[1:] != self.sorted_headers[:-1])
        number = np.empty(by_header.size, np.int64)
        number[by_header] = np.cumsum(is_first) - 1
        headers = _chosen_headers(self.names, by_header[is_first[: number.size]])
        self.n_headers = headers.joined.size
        self.columns = ColumnRecords(
            _records(numbers, self.width, number, are_codes(headers)), headers, briefs_of(headers)
        )

    def table_numbers(self, series: NDArray[np.float64], folders: NDArray[np.int64]) -> TableNumbers:
        """Return what the kernel that scores candidates needs of the tables."""
        return TableNumbers(self.tables, briefs_of(self.tables), self.n_named, series, self.number_share, folders)

    def header_positions(self, folders: NDArray[np.int64], is_alive: NDArray[np.uint8]) -> HeaderPositions:
        """Return where the headers of the tables stand."""
        return HeaderPositions(self.sorted_headers, self.tables_by_header, self.n_named, folders, is_alive)

    @cached_property
    def listed(self) -> TableColumns:
        """The columns of each table, to name those that it brings."""
        numbers = self._numbers
        is_late = is_mostly_null(numbers).astype(np.uint8)
        return TableColumns(self.table_of, self.first, self.width, self.names.joined, numbers["position"], is_late)

    @cached_property
    def folder(self) -> NDArray[np.uint64]:
        """A number for each table that tables of one folder share."""
        return hash_values(*pack_strings(self._folders.to_pylist()), _SEED)

    @cached_property
    def family(self) -> NDArray[np.uint64]:
        """A number for each table that tables of one family share.

        Tables are of one family if they lie in one folder and have the same headers; those of fewer than five columns,
        if also the words of their names agree, numbers and words of at most three letters apart.
        """
        joined = self.names.joined
        schema = _sums((joined ^ (joined >> _SHIFT)) * K1, self.first, self.first + self.width)
        marks = self.tables.marks
        words = np.where(marks & (DIGITS | SHORT) > 0, np.uint64(0), self.tables.words * K1)
        skeleton = _sums(words, self.tables.indptr[:-1], self.tables.indptr[1:])
        of_name = np.where(self.width >= _FEW_COLUMNS, _NUMBER, skeleton)
        family = (schema ^ (schema >> _SHIFT)) * K1 + (of_name ^ (of_name >> _SHIFT)) * K1 * K1 + self.folder
        return family ^ (family >> _SHIFT)

    def folded(self, table_ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what decides the family of each column, and its order among equals, see `FoldedHits`.

        Parameters
        ----------
        table_ranks : ndarray of int64, shape (n_tables,)
            Place of each table among all tables of the lake by name.
        """
        headers, n_columns = self.names.joined, self.table_of.size
        folded = np.empty((n_columns, NAME + 1), np.int64)
        folded[:, FAMILY] = (self.family[self.table_of] + headers).view(np.int64)
        # Tables of Spark have no fingerprint, and are not alike for that.
        content = np.where(self.fingerprint > 0, self.fingerprint, (table_ranks.view(np.uint64) + _NUMBER) * K1)
        folded[:, CONTENT] = (content[self.table_of] + headers).view(np.int64)
        folded[:, N_ROWS] = self._numbers["n_rows"]
        folded[:, NAME] = (table_ranks[self.table_of] << _BITS_OF_COLUMN) + np.arange(n_columns)
        return folded


def _kinds_of(numbers: dict[str, NDArray[Any]]) -> NDArray[np.int8]:
    """Return the kind of each column as `ColumnRecords` codes it."""
    return _KIND_CODES[numbers["kind"]]


def _records(
    numbers: dict[str, NDArray[Any]], width: NDArray[np.int64], header: NDArray[np.int64], is_code: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Lay what the catalogue says of each column side by side, see `ColumnRecords`."""
    low, high, cardinality = numbers["min_integer"], numbers["max_integer"], numbers["cardinality"].astype(np.float64)
    has_range = numbers["has_range"] > 0
    is_dense = cardinality >= SERIAL_SHARE * (high.astype(np.float64) - low + 1)
    records = np.empty((cardinality.size, HEADER + 1))
    records[:, CARDINALITY] = np.maximum(1, cardinality)
    records[:, LOG_CARDINALITY] = np.log(records[:, CARDINALITY])
    records[:, KIND] = _kinds_of(numbers)
    records[:, IS_UNIQUE] = cardinality == numbers["n_rows"] - numbers["n_null"]
    records[:, IS_SERIAL] = has_range & ((low == 0) | (low == 1)) & is_dense
    records[:, IS_YEARS] = has_range & (low >= FIRST_YEAR) & (high <= LAST_YEAR) & ~is_code[header]
    records[:, POSITION] = np.maximum(0, numbers["position"]) / np.maximum(1, width)[numbers["table"]]
    records[:, TABLE] = numbers["table"]
    records[:, LOW] = np.where(has_range, low, _NO_RANGE[0])
    records[:, HIGH] = np.where(has_range, high, _NO_RANGE[1])
    records[:, HEADER] = header
    return records


def record_of(profile: Profile, cardinality: int, is_unique: bool, is_code: bool) -> NDArray[np.float64]:
    """Return the record of a column that stands alone, the first of its table, see `ColumnRecords`."""
    low, high = profile.min_integer, profile.max_integer
    record = np.zeros((1, HEADER + 1))
    record[0, CARDINALITY] = max(1, cardinality)
    record[0, LOG_CARDINALITY] = np.log(max(1, cardinality))
    record[0, KIND] = _KIND_CODES[KINDS.index(profile.kind)]
    record[0, IS_UNIQUE] = is_unique
    record[0, IS_SERIAL] = profile.has_range and low in (0, 1) and cardinality >= SERIAL_SHARE * (high - low + 1)
    record[0, IS_YEARS] = profile.has_range and low >= FIRST_YEAR and high <= LAST_YEAR and not is_code
    record[0, [LOW, HIGH]] = (low, high) if profile.has_range else _NO_RANGE
    return record


def _chosen_headers(names: HeaderWords, chosen: NDArray[np.int64]) -> HeaderWords:
    """Return some of the names."""
    starts, lengths = names.indptr[chosen], np.diff(names.indptr)[chosen]
    indptr = np.append(0, np.cumsum(lengths))
    positions = expand_stretches(starts, lengths)
    return HeaderWords(
        names.joined[chosen], indptr, names.words[positions], names.starts[positions], names.marks[positions]
    )


def _sums(values: NDArray[np.uint64], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Add up stretches of hashes, modulo 2^64: the sum does not depend on their order."""
    total = np.zeros(values.size + 1, np.uint64)
    np.cumsum(values, out=total[1:])
    return total[ends] - total[starts]


_FACTS: WeakKeyDictionary[Segment, LakeFacts] = WeakKeyDictionary()


def facts_of(segment: Segment) -> LakeFacts:
    """Return the facts of a segment: made once for as long as it is open."""
    facts = _FACTS.get(segment)
    if facts is None:
        facts = _FACTS.setdefault(segment, LakeFacts(segment))
    return facts


def table_headers(snapshot: Snapshot, table: str) -> frozenset[int]:
    """Return the hashes of the headers of a table. O(columns of the table)."""
    segment, number = snapshot.find_table(table)
    facts = facts_of(segment)
    return frozenset(facts.names.joined[facts.first[number] : facts.first[number] + facts.width[number]].tolist())


@dataclass(frozen=True)
class SnapshotTables:
    """What is known of the tables and columns of a snapshot, one entry of each list for a segment.

    Parameters
    ----------
    numbers : list of TableNumbers
        With the logarithm of the number of tables of the family of each in the lake; removed ones do not count.
    positions : list of HeaderPositions
    folded : list of ndarray of int64
        Of each column, see `FoldedHits`.
    has_tables : ndarray of bool, shape (n_folders,)
        Folders with a table that was not removed.
    """

    numbers: list[TableNumbers]
    positions: list[HeaderPositions]
    folded: list[NDArray[np.int64]]
    has_tables: NDArray[np.bool_]


_TABLES: WeakKeyDictionary[Snapshot, SnapshotTables] = WeakKeyDictionary()


def tables_of(snapshot: Snapshot) -> SnapshotTables:
    """Return what is known of the tables of a snapshot: made once for as long as it is open. O(tables)."""
    tables = _TABLES.get(snapshot)
    if tables is None:
        every = [facts_of(segment) for segment in snapshot.segments]
        alive = [_alive_tables(segment, facts) for segment, facts in zip(snapshot.segments, every, strict=True)]
        ends = np.cumsum([facts.n_tables for facts in every])[:-1]
        n_alive, family = _counted([facts.family for facts in every], alive)
        series = np.split(np.log(np.maximum(1, n_alive))[family], ends)
        n_alive, folder = _counted([facts.folder for facts in every], alive)
        folders = np.split(folder, ends)
        if not every:  # numpy parts nothing into one empty part
            series = folders = []
        made = SnapshotTables(
            [facts.table_numbers(one, folder) for facts, one, folder in zip(every, series, folders, strict=True)],
            [facts.header_positions(folder, own) for facts, folder, own in zip(every, folders, alive, strict=True)],
            [facts.folded(ranks) for facts, ranks in zip(every, _ranks_by_name(snapshot), strict=True)],
            n_alive > 0,
        )
        tables = _TABLES.setdefault(snapshot, made)
    return tables


def _ranks_by_name(snapshot: Snapshot) -> list[NDArray[np.int64]]:
    """Return the place of each table of each segment among all tables by name; a segment has them in this order."""
    names = [segment.catalog.tables().field("name") for segment in snapshot.segments]
    if len(names) < 2:
        return [np.arange(len(one)) for one in names]
    ranks = np.empty(sum(map(len, names)), np.int64)
    ranks[pc.sort_indices(pa.chunked_array(names)).to_numpy()] = np.arange(ranks.size)
    return np.split(ranks, np.cumsum([len(one) for one in names])[:-1])


def _counted(
    keys: list[NDArray[np.uint64]], alive: list[NDArray[np.uint8]]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Count the tables of each key that are alive; return the counts, and the number of the key of each table."""
    if not keys:
        return np.ones(0), np.empty(0, np.int64)
    _, number = np.unique(np.concatenate(keys), return_inverse=True)
    return np.bincount(number, np.concatenate(alive)).astype(np.float64), number.astype(np.int64)


def _alive_tables(segment: Segment, facts: LakeFacts) -> NDArray[np.uint8]:
    """Return 1 for each table of a segment that was not removed."""
    if segment.alive is None:
        return np.ones(facts.n_tables, np.uint8)
    return (np.bincount(facts.table_of, weights=segment.alive, minlength=facts.n_tables) > 0).astype(np.uint8)
