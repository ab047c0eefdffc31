"""Cell → canonical value: one code for the lake, the query and the rows of a join.

The canonical form is a function of the single value and its declared type, whatever stands in the other
rows. There are two exceptions, which a column decides: all-digit day/month/year, and texts that stand for a null (see
`normalize_column`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels import dates, strings
from dfjoin.kernels import numbers as spellings
from dfjoin.kernels.null_texts import find_hashes
from dfjoin.kernels.ragged import expand_stretches
from dfjoin.types import IndexSettings
from dfjoin.values.cells import cell_texts, whole_text
from dfjoin.values.nulls import NULL_TEXTS, NullEvidence
from dfjoin.values.unicode import ascii_table, fold_table, identity_table, normalize_text

__all__ = [
    "ValueSet",
    "drop_nulls",
    "keep_values",
    "normalize_batch",
    "normalize_column",
    "null_places",
    "pack_strings",
    "pad_integers",
    "read_dates",
    "respell_zeros",
    "settings_for",
    "strip_zeros",
    "unite_value_sets",
]

_PADDING = 8  # kernels load eight bytes at a time
_NO_BITMAP = np.empty(0, np.uint8)
_NO_BITMAP.flags.writeable = False
_NO_HASHES = np.empty(0, np.uint64)
_NO_HASHES.flags.writeable = False


@dataclass(frozen=True, slots=True)
class ValueSet:
    """The distinct non-null canonical values of a column, and which row holds which.

    Parameters
    ----------
    hashes : ndarray of uint64, shape (n_values,)
        Hash of each value, in the order of their first row.
    data : ndarray of uint8
        Their UTF-8 bytes one after the other, then at least 8 bytes that mean nothing.
    offsets : ndarray of int64, shape (n_values + 1,)
        Where each lies in `data`.
    classes : ndarray of int8, shape (n_values,)
        Class of each, see `dfjoin.kernels.numbers`.
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

    hashes: NDArray[np.uint64]
    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    classes: NDArray[np.int8]
    codes: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    date_order: str = ""
    nulls: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.hashes, self.data, self.offsets, self.classes):
            array.setflags(write=False)

    def __len__(self) -> int:
        return int(self.hashes.shape[0])

    @property
    def n_rows(self) -> int:
        """Rows of the column, nulls included."""
        return int(self.codes.shape[0])

    def value(self, code: int) -> str:
        """Return one canonical value as text."""
        return self.data[self.offsets[code] : self.offsets[code + 1]].tobytes().decode("utf-8", "replace")

    def values(self) -> list[str]:
        """Return all canonical values as text, in the order of their first row."""
        return [self.value(code) for code in range(len(self))]

    def row_counts(self) -> NDArray[np.int64]:
        """Count the rows of each value; int64, shape (n_values,)."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self)).astype(np.int64)

    def first_rows(self) -> NDArray[np.int64]:
        """Return the first row of each value; int64, shape (n_values,)."""
        rows = np.full(len(self), -1, np.int64)
        present = np.flatnonzero(self.codes >= 0)[::-1]
        rows[self.codes[present]] = present
        return rows


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
    found = _distinct(cell_texts(array), settings.hash_seed, _null_hashes_of(settings))
    places = null_places(found, settings)
    if places.size:
        evidence = NullEvidence()
        evidence.add(found.hashes, found.data, found.offsets, places)
        found = drop_nulls(found, places, evidence)
    return read_dates(found, settings)


@lru_cache(maxsize=8)
def _null_table(seed: int) -> NDArray[np.uint64]:
    """Return the hash table of the texts that may be nulls, as `find_hashes` takes it."""
    hashes = _distinct(pa.array(NULL_TEXTS, pa.string()), seed, _NO_HASHES).hashes
    table = np.zeros(4096, np.uint64)  # sparse, so that nearly every other value ends at its first place
    for h in hashes.tolist():
        slot = h % table.size
        while table[slot]:
            slot = (slot + 1) % table.size
        table[slot] = h
    return _locked(table)


_NOWHERE = np.empty(0, np.int64)


def null_places(values: ValueSet, settings: IndexSettings) -> NDArray[np.int64]:
    """Return the numbers of the values that evidence may make nulls, ascending; none where it does not count."""
    if not settings.null_evidence or not len(values):
        return _NOWHERE
    found = np.empty(len(NULL_TEXTS), np.int64)
    return found[: find_hashes(values.hashes, _null_table(settings.hash_seed), found)]


def drop_nulls(values: ValueSet, places: NDArray[np.int64], evidence: NullEvidence) -> ValueSet:
    """Leave out the values that are nulls by the evidence of the whole column.

    Parameters
    ----------
    values : ValueSet
    places : ndarray of int64
        As `null_places` found them.
    evidence : NullEvidence
        Of all other values of the column.
    """
    texts = {values.value(place): place for place in places.tolist()}
    nulls = evidence.decide(texts)
    if not nulls:
        return values
    is_held = np.ones(len(values), bool)
    is_held[[texts[text] for text in nulls]] = False
    return replace(keep_values(values, is_held), nulls=nulls)


def keep_values(values: ValueSet, is_held: NDArray[np.bool_]) -> ValueSet:
    """Keep some of the values; the rows of the others become null, the order stays.

    Parameters
    ----------
    values : ValueSet
    is_held : ndarray of bool, shape (n_values,)
    """
    held = np.flatnonzero(is_held)
    lengths = np.diff(values.offsets)
    offsets = np.zeros(held.size + 1, np.int64)
    np.cumsum(lengths[held], out=offsets[1:])
    data = np.zeros(int(offsets[-1]) + _PADDING, np.uint8)
    data[: int(offsets[-1])] = values.data[: int(values.offsets[-1])][np.repeat(is_held, lengths)]
    numbers = np.append(np.where(is_held, np.cumsum(is_held) - 1, -1), -1).astype(np.int32)
    hashes, codes = values.hashes[held], numbers[values.codes]
    return replace(values, hashes=hashes, data=data, offsets=offsets, classes=values.classes[held], codes=codes)


@lru_cache(maxsize=64)
def _null_hashes(spellings_: tuple[str, ...], seed: int, dayfirst: bool | None) -> NDArray[np.uint64]:
    """Hash the null spellings in their canonical form: before and after all-digit dates are read."""
    texts = pa.array([whole_text(spelling) for spelling in spellings_], pa.string())
    found = _distinct(texts, seed, _NO_HASHES)
    read = read_dates(found, IndexSettings((), False, dayfirst, seed))
    hashes = np.unique(np.concatenate([found.hashes, read.hashes]))
    hashes.flags.writeable = False
    return hashes


def _null_hashes_of(settings: IndexSettings) -> NDArray[np.uint64]:
    return _null_hashes(settings.null_spellings, settings.hash_seed, settings.dayfirst)


def pack_strings(values: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pack texts as read-only bytes (8 of padding behind) and int64 offsets, shape (n + 1,)."""
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(value) for value in encoded], out=offsets[1:])
    data = np.frombuffer(b"".join(encoded) + bytes(_PADDING), np.uint8)
    offsets.flags.writeable = False
    return data, offsets


def _table_size(n: int) -> int:
    """Return the size of a hash table for n values: a power of two above 1.5 n."""
    return 1 << max(4, int(1.5 * n).bit_length())


def _new_table(n: int, n_bytes: int) -> strings.ValueTable:
    """Make an empty table for n values, with so many bytes of room."""
    offsets = np.empty(n + 1, np.int64)
    offsets[0] = 0
    slots, hashes = np.zeros(_table_size(n), np.uint64), np.empty(n, np.uint64)
    return strings.ValueTable(
        np.empty(n_bytes, np.uint8), slots, hashes, offsets, np.empty(n, np.int8), np.zeros(1, np.int64)
    )


def _new_block() -> strings.Block:
    n = strings.BLOCK
    recent = np.full(strings.RECENT, -1)
    sources = np.empty(n, np.int64)
    return strings.Block(np.empty(n + 1, np.int64), np.empty(n, np.int8), np.empty(n, np.uint64), sources, recent)


def _text_of(array: pa.Array) -> strings.Text:
    """View an Arrow string array as the kernel takes it: read-only, offsets of 64 bits."""
    bitmap, starts_buffer, data_buffer = array.buffers()
    n = len(array)
    dtype = np.dtype(np.int64 if pa.types.is_large_string(array.type) else np.int32)
    if starts_buffer is None or n == 0:
        starts = np.zeros(n + 1, np.int64)
    else:
        starts = np.frombuffer(starts_buffer, dtype, n + 1, array.offset * dtype.itemsize).astype(np.int64)
    # `_fold` never loads past the end of a value's own bytes, so the data need no padding.
    data = _NO_BITMAP if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
    validity = _NO_BITMAP if bitmap is None else np.frombuffer(bitmap, np.uint8)
    return strings.Text(_locked(data), _locked(starts), _locked(validity))


def _distinct(array: pa.Array, seed: int, null_hashes: NDArray[np.uint64]) -> ValueSet:
    """Run the kernel over one Arrow string array; hand the rest to Python."""
    n = len(array)
    text = _text_of(array)
    raw_bytes = int(text.starts[-1]) - int(text.starts[0])
    table = _new_table(n, raw_bytes * 2 + 32 * n + 64)
    codes = np.empty(n, np.int32)
    rules = strings.TextRules(fold_table() if _has_high_bytes(text) else ascii_table(), null_hashes)
    strings.add_text(text, array.offset, rules, np.uint64(seed), table, codes, _new_block())
    if table.size[0] < n:  # else every row brought a value of its own: none can be deferred
        _add_deferred(array, codes, rules, seed, table)
    return _values_of(table, codes)


def _values_of(table: strings.ValueTable, codes: NDArray[np.int32]) -> ValueSet:
    """Return the values of a table, read-only."""
    size = int(table.size[0])
    end = int(table.offsets[size])
    data = table.data
    if 4 * end + 1024 < data.shape[0]:  # do not hold on to much more than the values
        data = data[: end + _PADDING].copy()
    return ValueSet(table.hashes[:size], data, table.offsets[: size + 1], table.classes[:size], codes)


def _has_high_bytes(text: strings.Text) -> bool:
    """Tell whether any byte of the slice is not ASCII."""
    piece = text.data[int(text.starts[0]) : int(text.starts[-1])]
    words = piece[: piece.size & ~7].view(np.uint64)
    if words.size and bool(np.bitwise_or.reduce(words) & np.uint64(0x8080808080808080)):
        return True
    tail = piece[piece.size & ~7 :]
    return bool(tail.size and tail.max() >= 128)


def _locked(array: NDArray) -> NDArray:
    array.setflags(write=False)
    return array


def _add_deferred(
    array: pa.Array, codes: NDArray[np.int32], rules: strings.TextRules, seed: int, table: strings.ValueTable
) -> None:
    """Normalise in Python the values that the kernel left, each distinct one once."""
    if codes.min(initial=0) != strings.DEFERRED:
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
    strings.add_text(text, 0, rules, np.uint64(seed), table, new_codes, _new_block())
    codes[rows] = new_codes[encoded.indices.to_numpy()]


def _deduplicate(data: NDArray[np.uint8], offsets: NDArray[np.int64], settings: IndexSettings) -> ValueSet:
    """Make a ValueSet of packed canonical values that may repeat."""
    n = offsets.shape[0] - 1
    table = _new_table(n, int(offsets[-1]) + 32 * n + 64)
    codes = np.empty(n, np.int32)
    seed = settings.hash_seed
    rules = strings.TextRules(identity_table(), _null_hashes_of(settings))
    text = strings.Text(data, offsets, _NO_BITMAP)
    strings.add_text(text, 0, rules, np.uint64(seed), table, codes, _new_block())
    return _values_of(table, codes)


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
    out = np.empty(int(found.offsets[-1]) + 10 * len(found) + _PADDING, np.uint8)
    offsets = dates.rewrite_day_month_year(found.data, found.offsets, is_day_first, out)
    merged = _deduplicate(_locked(out), _locked(offsets), settings)
    codes = np.where(found.codes >= 0, merged.codes[found.codes], found.codes).astype(np.int32)
    order = "dmy" if is_day_first else "mdy"
    return replace(merged, codes=codes, date_order=order, nulls=found.nulls)


def pad_integers(values: ValueSet, width: int, settings: IndexSettings) -> ValueSet:
    """Write the integers among the values with zeros in front, up to `width` digits; as text, thus.

    Parameters
    ----------
    values : ValueSet
    width : int
        Digits; longer and negative integers stay as they are.
    settings : IndexSettings
        Those that made the values.

    Returns
    -------
    ValueSet
        With the same number of rows. ``7`` and ``07`` at width 2 become one value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> settings = IndexSettings()
    >>> pad_integers(normalize_column(pa.array([7, 1234, -3]), settings), 3, settings).values()
    ['007', '1234', '-3']
    """
    is_short = (values.classes == spellings.INTEGER) & (np.diff(values.offsets) < width)
    is_short &= values.data[values.offsets[:-1]] != ord("-")
    if not is_short.any():
        return values
    lengths = np.diff(values.offsets)
    wide = np.where(is_short, width, lengths)
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(wide, out=offsets[1:])
    out = np.full(int(offsets[-1]) + _PADDING, ord("0"), np.uint8)
    # Each value keeps its own bytes, at the end of the room it now has.
    starts = np.repeat(offsets[1:] - lengths - values.offsets[:-1], lengths)
    total = int(values.offsets[-1])
    out[starts + np.arange(total)] = values.data[:total]
    merged = _deduplicate(_locked(out), _locked(offsets), settings)
    codes = np.where(values.codes >= 0, merged.codes[values.codes], values.codes).astype(np.int32)
    return replace(merged, codes=codes, date_order=values.date_order, nulls=values.nulls)


def strip_zeros(values: ValueSet, width: int, settings: IndexSettings) -> ValueSet:
    """Read the digit texts of one width as integers: without the zeros in front of them.

    Parameters
    ----------
    values : ValueSet
    width : int
        Digits; texts of another length stay as they are.
    settings : IndexSettings
        Those that made the values.

    Returns
    -------
    ValueSet
        With the same number of rows. ``07`` and ``7`` at width 2 become one value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> settings = IndexSettings()
    >>> strip_zeros(normalize_column(pa.array(["00501", "0501", "10001", "a"]), settings), 5, settings).values()
    ['501', '0501', '10001', 'a']
    """
    lengths = np.diff(values.offsets)
    places = np.flatnonzero((lengths == width) & (values.data[values.offsets[:-1]] == ord("0")))
    digits = values.data[values.offsets[places][:, None] + np.arange(width)]
    is_code = ((digits >= ord("0")) & (digits <= ord("9"))).all(axis=1) if places.size else np.zeros(0, bool)
    places, digits = places[is_code], digits[is_code]
    if not places.size:
        return values
    n_zeros = np.minimum(np.argmax(np.c_[digits != ord("0"), np.ones(places.size, bool)], axis=1), width - 1)
    starts, kept = values.offsets[:-1].copy(), lengths.copy()
    starts[places] += n_zeros
    kept[places] -= n_zeros
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(kept, out=offsets[1:])
    out = np.zeros(int(offsets[-1]) + _PADDING, np.uint8)
    out[: int(offsets[-1])] = values.data[expand_stretches(starts, kept)]
    merged = _deduplicate(_locked(out), _locked(offsets), settings)
    codes = np.where(values.codes >= 0, merged.codes[values.codes], values.codes).astype(np.int32)
    return replace(merged, codes=codes, date_order=values.date_order, nulls=values.nulls)


def respell_zeros(values: ValueSet, pad: int | None, settings: IndexSettings) -> ValueSet:
    """Write zeros in front of integers up to `pad` digits; read texts of −`pad` digits without theirs; or leave all."""
    if pad is None:
        return values
    return pad_integers(values, pad, settings) if pad > 0 else strip_zeros(values, -pad, settings)


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
    data = np.concatenate([part.data[: part.offsets[-1]] for part in parts] + [np.zeros(8, np.uint8)])
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    merged = _deduplicate(_locked(data), _locked(offsets), settings)
    return ValueSet(merged.hashes, merged.data, merged.offsets, merged.classes)


def normalize_batch(array: pa.Array | pa.ChunkedArray, settings: IndexSettings) -> ValueSet:
    """Compute the distinct canonical values of one batch of a column that has more to come.

    As `normalize_column`, but all-digit dates keep their text until `read_dates` decides for the whole
    column, and so do texts that may be nulls, until `drop_nulls` does.
    """
    return _distinct(cell_texts(array), settings.hash_seed, _null_hashes_of(settings))


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
