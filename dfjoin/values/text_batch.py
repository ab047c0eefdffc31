"""The text columns of a batch, normalised by few calls: most tables of a lake are small, and calls take longer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dfjoin.kernels.texts.numbers import DAY_MONTH_YEAR
from dfjoin.kernels.texts.strings import add_text
from dfjoin.kernels.texts.text_columns import MAY_BE_NULLS, N_FACTS, Facts, look_at_columns
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import (
    NO_CODES,
    PADDING,
    PackedTexts,
    ValueSet,
    new_block,
    new_table,
    null_hashes,
    null_table,
    read_only,
    rules_for,
    text_of,
)
from dfjoin.values.profile import INDEXED_KINDS, MAX_TEXT, Profile, kind_of_classes, profile_values

_MOST_CELLS, _MOST_BYTES = 1 << 16, 2 << 20
"""Columns are put together up to so many cells and bytes: larger ones take longer than a call, and memory."""

SAMPLE_ROWS = 64
"""Rows of a batch among which samples are looked for."""

_STRING = pa.string()
_NO_TABLE = read_only(np.zeros(1, np.uint64))


class TextColumn(NamedTuple):
    """What a batch has of a column of texts.

    Attributes
    ----------
    values : ValueSet
        As of `normalize_batch`. With the values of rows where these are asked for, or something is left open.
    n_null : int
        Rows without a value.
    profile : Profile or None
        Of these values; None where only all values of the column tell it.
    samples : list of str
        The first distinct values among the first rows, in the file's own spelling; empty without a profile.
    """

    values: ValueSet
    n_null: int
    profile: Profile | None
    samples: list[str]


def normalize_texts(columns: Sequence[pa.Array], settings: IndexSettings, with_rows: bool) -> list[TextColumn | None]:
    """Compute the distinct canonical values of columns of one batch, each by itself.

    Parameters
    ----------
    columns : sequence of pyarrow.Array
        Of one length.
    settings : IndexSettings
    with_rows : bool
        Which value each row has is wanted.

    Returns
    -------
    list of TextColumn or None
        As many as columns; None for those of other types than string, and those with a value that Python normalises.
    """
    found: list[TextColumn | None] = [None] * len(columns)
    positions = [i for i, column in enumerate(columns) if column.type == _STRING]
    if not positions or not len(columns[0]):
        return found
    n_bytes = sum(columns[i].get_total_buffer_size() for i in positions)
    n_together = max(1, min(_MOST_CELLS // len(columns[0]), _MOST_BYTES * len(positions) // max(1, n_bytes)))
    for start in range(0, len(positions), n_together):
        group = positions[start : start + n_together]
        arrays = [columns[i] for i in group]
        whole = pa.concat_arrays(arrays) if len(arrays) > 1 else arrays[0]
        for i, one in zip(group, _read_columns(whole, len(arrays), settings, with_rows), strict=True):
            found[i] = one
    return found


def _read_columns(array: pa.Array, n_columns: int, settings: IndexSettings, with_rows: bool) -> list[TextColumn | None]:
    """Normalise columns that lie one after the other."""
    text = text_of(array)
    n_rows = len(array) // n_columns
    n_bytes = int(text.starts[-1]) - int(text.starts[0])
    table = new_table(len(array), n_bytes * 2 + 32 * len(array) + 64, n_columns)
    codes = np.empty(len(array), np.int32)
    facts = Facts(
        np.empty((n_columns, N_FACTS), np.int64),
        np.empty(len(array) + n_columns, np.int64),
        np.empty((n_columns, min(settings.samples, SAMPLE_ROWS), 2), np.int64),
        null_table(settings.hash_seed) if settings.null_evidence else _NO_TABLE,
    )
    rules, seed = rules_for(text, null_hashes(settings)), np.uint64(settings.hash_seed)
    add_text(text, array.offset, rules, seed, table, codes, new_block())
    for array in (table.data, table.offsets):
        read_only(array)  # as the values that a column's profile is made of: else kernels are compiled for both
    look_at_columns(text, table, codes, SAMPLE_ROWS, facts)
    size = int(table.size[-1])
    hashes, classes = table.hashes[:size].copy(), table.classes[:size].copy()
    data, offsets = table.data[: int(table.offsets[size]) + PADDING].copy(), facts.offsets[: size + n_columns].copy()
    samples = _first_texts(text.data.data, facts.first_texts.tolist())
    found: list[TextColumn | None] = []
    start = first_byte = 0
    for number, (n, n_null, present, is_open, low, high, has_range) in enumerate(facts.numbers.tolist()):
        own = offsets[start + number : start + number + n + 1]
        texts = PackedTexts(hashes[start : start + n], data[first_byte : first_byte + int(own[-1]) + PADDING], own)
        first_byte += int(own[-1])
        held = classes[start : start + n]
        start += n
        if is_open > MAY_BE_NULLS:
            found.append(None)
            continue
        is_decided = not is_open and present < 1 << DAY_MONTH_YEAR
        rows = (
            codes[number * n_rows : (number + 1) * n_rows]
            if with_rows or samples is None or not is_decided
            else NO_CODES
        )
        values = ValueSet(texts, held, rows)
        if samples is not None and is_decided:
            profile = _profile_of(values, present, low, high, has_range)
            found.append(TextColumn(values, n_null, profile, samples[number]))
        else:
            found.append(TextColumn(values, n_null, None, []))
    return found


def _profile_of(values: ValueSet, present: int, low: int, high: int, has_range: int) -> Profile:
    """Return the profile of a column of texts, as `profile_values` computes it."""
    kind = _kind_of(present)
    n = len(values)
    if has_range:
        return Profile(kind, n, True, low, high, str(low), str(high))
    if low < 0 and kind == "float":
        return profile_values(values, _STRING)
    if kind not in INDEXED_KINDS and kind != "float":
        return Profile(kind, n)
    first, last = values.value(low)[:MAX_TEXT], values.value(high)[:MAX_TEXT]
    return Profile(kind, n, False, 0, 0, first, last)


@lru_cache(256)
def _kind_of(present: int) -> str:
    return kind_of_classes(present, _STRING)


def _first_texts(data: memoryview, bounds: list[list[list[int]]]) -> list[list[str]] | None:
    """Return the first texts of each column, as they are written; None where a file holds bytes that are no UTF-8."""
    try:
        return [[str(data[start:end], "utf-8") for start, end in own if start >= 0] for own in bounds]
    except UnicodeDecodeError:
        return None
