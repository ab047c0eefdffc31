"""Cell → canonical value: one code for the lake, the query and the rows of a join.

The canonical form is a function of the single value and its declared type, whatever stands in the other
rows. There are two exceptions, which a column decides: all-digit day/month/year, and texts that stand for a null (see
`normalize_column`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.kernels.texts import dates
from dfjoin.kernels.texts import numbers as spellings
from dfjoin.kernels.texts.null_texts import find_hashes
from dfjoin.types import IndexSettings
from dfjoin.values.cells import cell_texts, plain_array, whole_numbers, whole_text
from dfjoin.values.distinct import distinct_integers, distinct_packed, distinct_values
from dfjoin.values.nulls import NULL_TEXTS, NullEvidence
from dfjoin.values.value_set import PADDING, ValueSet, keep_values, pack_strings, read_only

__all__ = [
    "drop_nulls",
    "normalize_batch",
    "normalize_column",
    "null_hashes",
    "null_places",
    "read_dates",
    "respell",
    "settings_for",
    "unite_value_sets",
]

_NO_HASHES = read_only(np.empty(0, np.uint64))
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
    places = null_places(found, settings)
    if places.size:
        evidence = NullEvidence()
        evidence.add(found.hashes, found.data, found.offsets, places)
        found = drop_nulls(found, places, evidence)
    return read_dates(found, settings)


@lru_cache(maxsize=8)
def _null_table(seed: int) -> NDArray[np.uint64]:
    """Return the hash table of the texts that may be nulls, as `find_hashes` takes it."""
    packed, offsets = pack_strings(list(NULL_TEXTS))  # canonical already: no table of all code points is made for them
    hashes = distinct_packed(packed, offsets, seed, _NO_HASHES).hashes
    table = np.zeros(4096, np.uint64)  # sparse, so that nearly every other value ends at its first place
    for h in hashes.tolist():
        slot = h % table.size
        while table[slot]:
            slot = (slot + 1) % table.size
        table[slot] = h
    return read_only(table)


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
    data = np.concatenate([part.data[: part.offsets[-1]] for part in parts] + [np.zeros(8, np.uint8)])
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    merged = distinct_packed(read_only(data), read_only(offsets), settings.hash_seed, null_hashes(settings))
    return ValueSet(merged.hashes, merged.data, merged.offsets, merged.classes)


def normalize_batch(array: pa.Array | pa.ChunkedArray, settings: IndexSettings) -> ValueSet:
    """Compute the distinct canonical values of one batch of a column that has more to come.

    As `normalize_column`, but all-digit dates keep their text until `read_dates` decides for the whole
    column, and so do texts that may be nulls, until `drop_nulls` does.
    """
    array = plain_array(array)
    numbers = whole_numbers(array)
    if numbers is not None:
        return distinct_integers(*numbers, settings.hash_seed, null_hashes(settings))
    return distinct_values(cell_texts(array), settings.hash_seed, null_hashes(settings))


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
