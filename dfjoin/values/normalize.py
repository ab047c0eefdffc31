"""Cell → canonical value: one code for the lake, the query and the rows of a join.

The canonical form is a function of the single value and its declared type, whatever stands in the other
rows. There are two exceptions, which a column decides: all-digit day/month/year, and texts that stand for a null (see
`normalize_column`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels.sorting import are_ascending, are_sorted
from dfjoin.kernels.texts import dates, strings
from dfjoin.kernels.texts import numbers as spellings
from dfjoin.kernels.texts.integers import HeldIntegers, number_integers, write_integers
from dfjoin.kernels.texts.numbers import INTEGER
from dfjoin.kernels.texts.strings import find_hashes
from dfjoin.types import IndexSettings
from dfjoin.values.cells import cell_texts, moments, plain_array, whole_numbers, whole_text
from dfjoin.values.nulls import NULL_TEXTS, NullEvidence
from dfjoin.values.unicode import ascii_table, fold_table, identity_table, normalize_text

# The distinct canonical values of a column as arrays, and which row holds which -----------------------------


PADDING = 8
"""Bytes behind the last value: kernels load eight bytes at a time."""
NO_CODES = np.empty(0, np.int32)


class PackedTexts(NamedTuple):
    """Texts one after the other, and their hashes.

    Attributes
    ----------
    hashes : ndarray of uint64, shape (n,)
    data : ndarray of uint8
        UTF-8 bytes, then at least 8 bytes that mean nothing.
    offsets : ndarray of int64, shape (n + 1,)
        Where each lies in `data`.
    """

    hashes: NDArray[np.uint64]
    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]


@dataclass(frozen=True)
class WrittenIntegers:
    """Whole numbers as texts, their digits: these are written when they are first read.

    Parameters
    ----------
    numbers : ndarray of int64, shape (n_values,)
        All different.
    seed : int
        Of the hashes.
    known : HeldIntegers, optional
        The table over them, where it is made already.
    is_ascending : bool, default False
        Whether they are known to ascend: as row numbers and sorted keys do, which need no table.
    """

    numbers: NDArray[np.int64]
    seed: int
    known: HeldIntegers | None = None
    is_ascending: bool = False

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest number, of at least one."""
        ends = (self.numbers[0], self.numbers[-1]) if self.is_ascending else (self.numbers.min(), self.numbers.max())
        return int(ends[0]), int(ends[1])

    @cached_property
    def held(self) -> HeldIntegers:
        """The table over the numbers, by which others are looked up."""
        return _enter_integers(self.numbers, _NO_NULLS)[0] if self.known is None else self.known

    @cached_property
    def packed(self) -> PackedTexts:
        """The digits."""
        numbers = self.numbers
        longest = max(len(str(bound)) for bound in (numbers.min(initial=0), numbers.max(initial=0)))
        data = np.empty(longest * numbers.size + PADDING, np.uint8)
        offsets, hashes = np.zeros(numbers.size + 1, np.int64), np.empty(numbers.size, np.uint64)
        write_integers(numbers, np.uint64(self.seed), data, offsets, hashes)
        return PackedTexts(read_only(hashes), read_only(data), read_only(offsets))


@dataclass(frozen=True, slots=True)
class ValueSet:
    """The distinct non-null canonical values of a column, in the order of their first row, and which row holds which.

    Parameters
    ----------
    texts : PackedTexts or WrittenIntegers
        The values; the latter where a column held all of them as whole numbers.
    classes : ndarray of int8, shape (n_values,)
        Class of each, see `dfjoin.kernels.texts.numbers`.
    codes : ndarray of int32, shape (n_rows,)
        Number of each row's value; -1 for a null.
    date_order : {"", "dmy", "mdy"}
        The reading of all-digit dates that was applied, if any.
    nulls : tuple of str
        Texts that the other values made nulls.

    Notes
    -----
    The arrays of the values are made read-only: a kernel is compiled apart for arrays that may be written.
    """

    texts: PackedTexts | WrittenIntegers
    classes: NDArray[np.int8]
    codes: NDArray[np.int32] = field(default_factory=lambda: NO_CODES)
    date_order: str = ""
    nulls: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.classes.setflags(write=False)
        if isinstance(self.texts, PackedTexts):
            for array in self.texts:
                array.setflags(write=False)

    def __len__(self) -> int:
        return int(self.classes.shape[0])

    @property
    def packed(self) -> PackedTexts:
        """The values as texts."""
        return self.texts if isinstance(self.texts, PackedTexts) else self.texts.packed

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """Hash of each value."""
        return self.packed.hashes

    @property
    def data(self) -> NDArray[np.uint8]:
        """The texts of the values one after the other."""
        return self.packed.data

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each value lies in `data`."""
        return self.packed.offsets

    @property
    def integers(self) -> WrittenIntegers | None:
        """The values as numbers, where all are whole numbers that a column held as such."""
        return None if isinstance(self.texts, PackedTexts) else self.texts

    @property
    def n_rows(self) -> int:
        """Rows of the column, nulls included."""
        return int(self.codes.shape[0])

    def value(self, code: int) -> str:
        """Return one canonical value as text."""
        if self.integers is not None:
            return str(self.integers.numbers[code])
        packed = self.packed
        return packed.data[packed.offsets[code] : packed.offsets[code + 1]].tobytes().decode("utf-8", "replace")

    def values(self) -> list[str]:
        """Return all canonical values as text, in the order of their first row."""
        ends = self.offsets.tolist()
        data = self.data[ends[0] : ends[-1]].tobytes()
        return [data[start:end].decode("utf-8", "replace") for start, end in pairwise(ends)]

    def without_rows(self) -> ValueSet:
        """Return the values alone."""
        return self if self.codes is NO_CODES else replace(self, codes=NO_CODES)

    def row_counts(self) -> NDArray[np.int64]:
        """Count the rows of each value; int64, shape (n_values,)."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self)).astype(np.int64)

    def first_rows(self) -> NDArray[np.int64]:
        """Return the first row of each value; int64, shape (n_values,)."""
        rows = np.full(len(self), -1, np.int64)
        present = np.flatnonzero(self.codes >= 0)[::-1]
        rows[self.codes[present]] = present
        return rows


NO_VALUES = ValueSet(
    PackedTexts(np.empty(0, np.uint64), np.zeros(PADDING, np.uint8), np.zeros(1, np.int64)), np.empty(0, np.int8)
)


def keep_values(values: ValueSet, is_held: NDArray[np.bool_]) -> ValueSet:
    """Keep some of the values; the rows of the others become null, the order stays.

    Parameters
    ----------
    values : ValueSet
    is_held : ndarray of bool, shape (n_values,)
    """
    numbers = np.append(np.where(is_held, np.cumsum(is_held) - 1, -1), -1).astype(np.int32)
    codes = numbers[values.codes]
    texts: PackedTexts | WrittenIntegers
    if isinstance(values.texts, WrittenIntegers):
        texts = replace(values.texts, numbers=read_only(values.texts.numbers[is_held]), known=None)
    else:
        texts = _keep_texts(values.texts, is_held)
    return replace(values, texts=texts, classes=values.classes[is_held], codes=codes)


def with_own_numbers(values: ValueSet) -> ValueSet:
    """Copy numbers that are those of a frame: a result keeps them, and the frame may be written to."""
    if values.integers is None or values.integers.numbers.base is None:
        return values
    return replace(values, texts=replace(values.integers, numbers=read_only(values.integers.numbers.copy())))


def _keep_texts(texts: PackedTexts, is_held: NDArray[np.bool_]) -> PackedTexts:
    """Keep some of the texts."""
    lengths = np.diff(texts.offsets)
    offsets = np.append(0, np.cumsum(lengths[is_held]))
    data = np.zeros(int(offsets[-1]) + PADDING, np.uint8)
    data[: int(offsets[-1])] = texts.data[: int(texts.offsets[-1])][np.repeat(is_held, lengths)]
    return PackedTexts(texts.hashes[is_held], data, offsets)


def pack_strings(values: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pack texts as read-only bytes (8 of padding behind) and int64 offsets, shape (n + 1,)."""
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    offsets = np.array([0, *accumulate(map(len, encoded))], np.int64)
    data = np.frombuffer(b"".join(encoded) + bytes(PADDING), np.uint8)
    offsets.flags.writeable = False
    return data, offsets


def read_only(array: NDArray) -> NDArray:
    """Forbid writing to an array, and return it: a kernel is compiled apart for arrays that may be written."""
    array.setflags(write=False)
    return array


def table_size(n: int) -> int:
    """Return the size of a hash table for n values: a power of two above 1.5 n."""
    return 1 << max(4, int(1.5 * n).bit_length())


_NO_BITMAP = read_only(np.empty(0, np.uint8))
_NO_NULLS = read_only(np.empty(0, np.bool_))
_SHORT_BYTES = 1 << 15
"""Up to so many bytes a copy that Python looks at takes less time than calls of numpy."""


def new_table(n: int, n_bytes: int, n_columns: int = 1) -> strings.ValueTable:
    """Make an empty table for the values of n rows, with so many bytes of room, of columns with as many rows each."""
    offsets = np.empty(n + 1, np.int64)
    offsets[0] = 0
    slots, hashes = np.zeros(table_size(n // n_columns), np.uint64), np.empty(n, np.uint64)
    return strings.ValueTable(
        np.empty(n_bytes, np.uint8), slots, hashes, offsets, np.empty(n, np.int8), np.zeros(n_columns, np.int64)
    )


def new_block() -> strings.Block:
    """Make the scratch of `add_text`."""
    n = strings.BLOCK
    recent = np.full(strings.RECENT, -1)
    sources = np.empty(n, np.int64)
    return strings.Block(np.empty(n + 1, np.int64), np.empty(n, np.int8), np.empty(n, np.uint64), sources, recent)


def text_of(array: pa.Array) -> strings.Text:
    """View an Arrow string array as the kernel takes it: read-only, offsets of 64 bits."""
    bitmap, starts_buffer, data_buffer = array.buffers()
    n = len(array)
    dtype = np.dtype(np.int64 if pa.types.is_large_string(array.type) else np.int32)
    if starts_buffer is None or n == 0:
        starts = np.zeros(n + 1, np.int64)
    else:
        starts = np.frombuffer(starts_buffer, dtype, n + 1, array.offset * dtype.itemsize)
        starts = starts.astype(np.int64, copy=False)
    # `_fold` never loads past the end of a value's own bytes, so the data need no padding.
    data = _NO_BITMAP if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    validity = _NO_BITMAP if bitmap is None else np.frombuffer(bitmap, np.uint8)
    return strings.Text(read_only(data), read_only(starts), read_only(validity))


def distinct_values(array: pa.Array, seed: int, null_hashes: NDArray[np.uint64]) -> ValueSet:
    """Run the kernel over one Arrow string array; hand the rest to Python."""
    n = len(array)
    text = text_of(array)
    raw_bytes = int(text.starts[-1]) - int(text.starts[0])
    table = new_table(n, raw_bytes * 2 + 32 * n + 64)
    codes = np.empty(n, np.int32)
    rules = rules_for(text, null_hashes)
    strings.add_text(text, array.offset, rules, np.uint64(seed), table, codes, new_block())
    if table.size[0] < n:  # else every row brought a value of its own: none can be deferred
        _add_deferred(array, codes, rules, seed, table)
    return _values_of(table, codes)


def _values_of(table: strings.ValueTable, codes: NDArray[np.int32]) -> ValueSet:
    """Return the values of a table, read-only."""
    size = int(table.size[0])
    end = int(table.offsets[size])
    data = table.data
    if 4 * end + 1024 < data.shape[0]:  # do not hold on to much more than the values
        data = data[: end + PADDING].copy()
    texts = PackedTexts(table.hashes[:size], data, table.offsets[: size + 1])
    return ValueSet(texts, table.classes[:size], codes)


def rules_for(text: strings.Text, null_hashes: NDArray[np.uint64]) -> strings.TextRules:
    """Return the rules for some texts: ASCII needs no table of all code points."""
    return strings.TextRules(fold_table() if _has_high_bytes(text) else ascii_table(), null_hashes)


def _has_high_bytes(text: strings.Text) -> bool:
    """Tell whether any byte of the slice is not ASCII."""
    piece = text.data[int(text.starts[0]) : int(text.starts[-1])]
    cut = piece.size & ~7 if piece.size > _SHORT_BYTES else 0
    if cut and bool(np.bitwise_or.reduce(piece[:cut].view(np.uint64)) & np.uint64(0x8080808080808080)):
        return True
    return not piece[cut:].tobytes().isascii()


def _add_deferred(
    array: pa.Array, codes: NDArray[np.int32], rules: strings.TextRules, seed: int, table: strings.ValueTable
) -> None:
    """Normalise in Python the values that the kernel left, each distinct one once."""
    if codes.size == 0 or codes.min() != strings.DEFERRED:
        return
    rows = np.flatnonzero(codes == strings.DEFERRED)
    encoded = pc.dictionary_encode(array.take(pa.array(rows)))
    raw = encoded.dictionary.cast(pa.large_binary()).to_pylist()  # a file may hold bytes that are no UTF-8
    data, starts = pack_strings([normalize_text(value.decode("utf-8", "replace")) for value in raw])
    needed = int(table.offsets[table.size[0]]) + int(starts[-1]) + 32 * len(raw) + 64
    if needed > table.data.shape[0]:
        table.data.resize(needed, refcheck=False)
    new_codes = np.empty(len(raw), np.int32)
    text = strings.Text(data, starts, _NO_BITMAP)
    rules = rules._replace(fold_table=identity_table())
    strings.add_text(text, 0, rules, np.uint64(seed), table, new_codes, new_block())
    codes[rows] = new_codes[encoded.indices.to_numpy()]


def _enter_integers(numbers: NDArray[np.int64], is_null: NDArray[np.bool_]) -> tuple[HeldIntegers, NDArray[np.int32]]:
    """Number the distinct ones of some integers, and give each row its number; `is_null` is empty where no row is."""
    is_held: Any = ~is_null if is_null.size else True
    bounds = (int(numbers.min(initial=_INT64.max, where=is_held)), int(numbers.max(initial=_INT64.min, where=is_held)))
    slots, distinct = np.zeros(table_size(numbers.size), np.int32), np.empty(numbers.size, np.int64)
    codes = np.empty(numbers.size, np.int32)
    room = HeldIntegers(slots, distinct, *bounds)
    size = number_integers(read_only(numbers), read_only(is_null), room, codes)
    distinct = read_only(distinct[:size].copy())
    if slots.size > 4 * table_size(size):  # do not hold on to much more than the values
        return _enter_integers(distinct, _NO_NULLS)[0], codes
    return HeldIntegers(read_only(slots), distinct, *bounds), codes


def distinct_integers(
    numbers: NDArray[np.int64], is_null: NDArray[np.bool_], seed: int, nulls: NDArray[np.int64]
) -> ValueSet:
    """Make a ValueSet of whole numbers, of which digits are the canonical form.

    Parameters
    ----------
    numbers : ndarray of int64, shape (n,)
        Become those of the set, where they ascend.
    is_null : ndarray of bool, shape (n,) or (0,)
        Rows without a number, empty where there are none.
    seed : int
        As of `distinct_values`.
    nulls : ndarray of int64
        Numbers that stand for a null.
    """
    distinct, codes, held = _distinct_numbers(numbers, is_null)
    texts = WrittenIntegers(distinct, seed, held, is_ascending=held is None)
    values = ValueSet(texts, np.full(distinct.size, INTEGER, np.int8), codes)
    return _without(values, np.isin(distinct, nulls) if nulls.size else np.zeros(0, bool))


def _distinct_numbers(
    numbers: NDArray[np.int64], is_null: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int32], HeldIntegers | None]:
    """Return the distinct integers of a column, the number that each row has among them, and the table over them.

    Those that ascend, as row numbers and sorted keys, need no table until others ask for it.
    """
    if not is_null.size and are_ascending(numbers):
        return read_only(numbers), np.arange(numbers.size, dtype=np.int32), None
    if not is_null.size and are_sorted(numbers):
        is_first = np.append(True, numbers[1:] != numbers[:-1])
        return read_only(numbers[is_first]), np.cumsum(is_first, dtype=np.int32) - 1, None
    held, codes = _enter_integers(numbers, is_null)
    return held.numbers, codes, held


def _without(values: ValueSet, is_left_out: NDArray[np.bool_]) -> ValueSet:
    """Leave out some values; the rows of these become null."""
    return keep_values(values, ~is_left_out) if is_left_out.any() else values


def distinct_packed(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], seed: int, null_hashes: NDArray[np.uint64]
) -> ValueSet:
    """Make a ValueSet of packed canonical values that may repeat; without those of the null hashes."""
    n = offsets.shape[0] - 1
    table = new_table(n, int(offsets[-1]) + 32 * n + 64)
    codes = np.empty(n, np.int32)
    rules = strings.TextRules(identity_table(), null_hashes)
    text = strings.Text(data, offsets, _NO_BITMAP)
    strings.add_text(text, 0, rules, np.uint64(seed), table, codes, new_block())
    return _values_of(table, codes)


_NO_HASHES = read_only(np.empty(0, np.uint64))
_INT64 = np.iinfo(np.int64)
_DIGITS = re.compile("0|-?[1-9][0-9]*")
_NOWHERE = np.empty(0, np.int64)


def normalize_column(array: pa.Array | pa.ChunkedArray, settings: IndexSettings) -> ValueSet:
    """Compute the distinct canonical values of a column.

    Text: NFKC, white space collapsed, trimmed, casefolded, equal to Python's functions on every code
    point. Text that is an integer in plain spelling, and numbers with an integral value, are their
    digits; dates, midnight timestamps and ISO or month-name spellings the ISO date; other timestamps
    ISO to the microsecond (zoned ones in UTC). All-digit day/month/year stays text unless every value
    of the column is one and some exclude one reading, or `settings` say how to read it. Nulls, NaN and
    the null spellings are left out; so are texts as ``NA`` and ``-``, where the other values make them nulls
    (`dfjoin.values.nulls.NullEvidence`) and the settings say that evidence counts.

    Parameters
    ----------
    array : pyarrow Array or ChunkedArray
        A column of any type that `is_searchable_type` accepts; booleans become true and false.
    settings : IndexSettings
        Null spellings and whether evidence counts, hash seed, day-first reading.

    Returns
    -------
    ValueSet

    Notes
    -----
    O(bytes), one pass; values with characters that combine take Python's functions, about 0.5 µs each.

    Examples
    --------
    >>> import pyarrow as pa
    >>> normalize_column(pa.array(["Paris ", "PARIS", "1.0", None, ""]), IndexSettings()).values()
    ['paris', '1']
    >>> normalize_column(pa.array(["3", "NA", "4"]), IndexSettings()).values()
    ['3', '4']
    """
    found = normalize_batch(array, settings)
    positions = null_codes(found, settings)
    if positions.size:
        evidence = NullEvidence()
        evidence.add(found.hashes, found.data, found.offsets, positions)
        found = drop_nulls(found, positions, evidence)
    return read_dates(found, settings)


@lru_cache(maxsize=8)
def null_table(seed: int) -> NDArray[np.uint64]:
    """Return the hash table of the texts that may be nulls, as `find_hashes` takes it."""
    packed, offsets = pack_strings(list(NULL_TEXTS))  # canonical already: no table of all code points is made for them
    hashes = distinct_packed(packed, offsets, seed, _NO_HASHES).hashes
    table = np.zeros(4096, np.uint64)  # sparse, so that nearly every other value ends at its first slot
    for h in hashes.tolist():
        slot = h % table.size
        while table[slot]:
            slot = (slot + 1) % table.size
        table[slot] = h
    return read_only(table)


def null_codes(values: ValueSet, settings: IndexSettings) -> NDArray[np.int64]:
    """Return the numbers of the values that evidence may make nulls, ascending; none where it does not count."""
    if not settings.null_evidence or not len(values) or values.integers is not None:  # none of `NULL_TEXTS` is a number
        return _NOWHERE
    found = np.empty(len(NULL_TEXTS), np.int64)
    return found[: find_hashes(values.hashes, null_table(settings.hash_seed), found)]


def drop_nulls(values: ValueSet, positions: NDArray[np.int64], evidence: NullEvidence) -> ValueSet:
    """Leave out the values that are nulls by the evidence of the whole column.

    Parameters
    ----------
    values : ValueSet
    positions : ndarray of int64
        As `null_codes` found them.
    evidence : NullEvidence
        Of all other values of the column.
    """
    texts = {values.value(position): position for position in positions.tolist()}
    nulls = evidence.decide(texts)
    if not nulls:
        return values
    is_held = np.ones(len(values), bool)
    is_held[[texts[text] for text in nulls]] = False
    return replace(keep_values(values, is_held), nulls=nulls)


@lru_cache(maxsize=64)
def _null_integers(spellings_: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the null spellings that a whole number has in its canonical form, as numbers."""
    found = distinct_values(pa.array([whole_text(spelling) for spelling in spellings_], pa.string()), 0, _NO_HASHES)
    numbers = [int(text) for text in found.values() if _DIGITS.fullmatch(text)]
    return np.array([number for number in numbers if -(2**63) <= number < 2**63], np.int64)


@lru_cache(maxsize=64)
def _hash_nulls(spellings_: tuple[str, ...], seed: int, dayfirst: bool | None) -> NDArray[np.uint64]:
    """Hash the null spellings in their canonical form: before and after all-digit dates are read."""
    texts = pa.array([whole_text(spelling) for spelling in spellings_], pa.string())
    found = distinct_values(texts, seed, _NO_HASHES)
    read = read_dates(found, IndexSettings((), False, dayfirst, seed))
    hashes = np.unique(np.concatenate([found.hashes, read.hashes]))
    return read_only(hashes)


def null_hashes(settings: IndexSettings) -> NDArray[np.uint64]:
    """Return the hashes of the texts that the settings make nulls, ascending."""
    return _hash_nulls(settings.null_spellings, settings.hash_seed, settings.dayfirst)


def read_dates(found: ValueSet, settings: IndexSettings) -> ValueSet:
    """Apply the reading of all-digit dates that the settings give or the whole column itself tells.

    The column tells when every value is such a date and some values exclude one of the readings.
    """
    if len(found) == 0 or found.classes.max() < spellings.DAY_MONTH_YEAR:
        return found
    is_day_first = settings.dayfirst
    if is_day_first is None:
        if found.classes.min() < spellings.DAY_MONTH_YEAR:
            return found
        n_day_first, n_month_first = dates.day_month_year_votes(found.data, found.offsets)
        if (n_day_first > 0) == (n_month_first > 0):
            return found
        is_day_first = n_day_first > 0
    out = np.empty(int(found.offsets[-1]) + 10 * len(found) + PADDING, np.uint8)
    offsets = dates.rewrite_day_month_year(found.data, found.offsets, is_day_first, out)
    return replace(respell(found, out, offsets, settings), date_order="dmy" if is_day_first else "mdy")


def respell(values: ValueSet, data: NDArray[np.uint8], offsets: NDArray[np.int64], settings: IndexSettings) -> ValueSet:
    """Give values other spellings; those that become one are united, and their rows follow.

    Parameters
    ----------
    values : ValueSet
    data : ndarray of uint8
        The new spellings one after the other, then 8 bytes that mean nothing.
    offsets : ndarray of int64, shape (n_values + 1,)
    settings : IndexSettings
        Those that made the values.
    """
    merged = distinct_packed(read_only(data), read_only(offsets), settings.hash_seed, null_hashes(settings))
    codes = np.where(values.codes >= 0, merged.codes[values.codes], values.codes).astype(np.int32)
    return replace(merged, codes=codes, date_order=values.date_order, nulls=values.nulls)


def unite_value_sets(parts: list[ValueSet], settings: IndexSettings) -> ValueSet:
    """Unite the value sets of several batches of one column.

    Parameters
    ----------
    parts : list of ValueSet
        In row order, at least one, from `normalize_batch`.
    settings : IndexSettings
        Those that made them.

    Returns
    -------
    ValueSet
        Without `codes`: the rows are gone, the distinct values remain.

    Notes
    -----
    O(bytes of the distinct values of the parts).
    """
    if len(parts) == 1:
        return parts[0]
    integers = [part.integers.numbers for part in parts if part.integers is not None]
    if len(integers) == len(parts):
        merged = distinct_integers(np.concatenate(integers), _NO_NULLS, settings.hash_seed, _NOWHERE)
        return merged.without_rows()
    data = np.concatenate([part.data[: part.offsets[-1]] for part in parts] + [np.zeros(8, np.uint8)])
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    merged = distinct_packed(read_only(data), read_only(offsets), settings.hash_seed, null_hashes(settings))
    return merged.without_rows()


def normalize_batch(array: pa.Array | pa.ChunkedArray, settings: IndexSettings) -> ValueSet:
    """Compute the distinct canonical values of one batch of a column that has more to come.

    As `normalize_column`, but all-digit dates keep their text until `read_dates` decides for the whole
    column, and so do texts that may be nulls, until `drop_nulls` does.
    """
    array = plain_array(array)
    numbers = whole_numbers(array)
    if numbers is not None:
        return distinct_integers(*numbers, settings.hash_seed, _null_integers(settings.null_spellings))
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        return _distinct_dates(array, settings)
    return distinct_values(cell_texts(array), settings.hash_seed, null_hashes(settings))


def _distinct_dates(array: pa.Array, settings: IndexSettings) -> ValueSet:
    """Write each date or time once, however many rows have it."""
    numbers, codes, _ = _distinct_numbers(*moments(array))
    n = numbers.size
    packed = PackedTexts(
        np.empty(n, np.uint64), np.empty(dates.LONGEST * n + PADDING, np.uint8), np.zeros(n + 1, np.int64)
    )
    classes = np.empty(n, np.int8)
    dates.write_moments(numbers, np.uint64(settings.hash_seed), packed, classes)
    return _without(ValueSet(packed, classes, codes), np.isin(packed.hashes, null_hashes(settings)))


def settings_for(settings: IndexSettings, date_order: str, nulls: tuple[str, ...] = ()) -> IndexSettings:
    """Return the settings that read a batch as a catalogued column is read, whatever values are in it.

    Parameters
    ----------
    settings : IndexSettings
    date_order : str
        How its all-digit dates are read; empty: as text.
    nulls : tuple of str
        Texts that its values made nulls.
    """
    if nulls:
        settings = replace(settings, null_spellings=(*settings.null_spellings, *nulls), null_evidence=False)
    return replace(settings, dayfirst=date_order == "dmy") if date_order else settings
