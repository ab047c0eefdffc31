"""A generated lake: Zipf value frequencies and set sizes, a quarter of the columns near copies of others.

The segment is written by the same writer that builds use, from a run that is made here instead of read
from files: a hundred million postings in minutes.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa

from dfjoin.index.catalog import COLUMN_FIELDS, KINDS, SKIPPED_FIELDS, TABLE_FIELDS
from dfjoin.index.commit import commit
from dfjoin.index.manifest import Manifest, SegmentMeta
from dfjoin.index.runs import PADDING, Run
from dfjoin.index.segment_writer import SegmentRecords, write_segment
from dfjoin.kernels.hashing import hash_values
from dfjoin.kernels.sorting import argsort_u64
from dfjoin.types import IndexSettings, Root
from dfjoin.values.unicode import UNICODE_VERSION

COLUMNS_PER_TABLE = 10
HEAD_SHARE = 1 / 45_000  # shift of the law, of the vocabulary; the longest list is then a tenth of the columns
SETTINGS = IndexSettings(unicode_version=UNICODE_VERSION, samples=0)
WIDTH = 12  # bytes of each value: "v" and eleven digits


def spell(tokens):
    """The value of each token, as an array of bytes of shape (n, WIDTH)."""
    out = np.empty((tokens.size, WIDTH), np.uint8)
    out[:, 0] = ord("v")
    rest = tokens.astype(np.int64)
    for place in range(WIDTH - 1, 0, -1):
        out[:, place] = 48 + rest % 10
        rest //= 10
    return out


def draw_pairs(n_columns: int, n_pairs: int, n_tokens: int, seed: int):
    """Distinct (column, token) pairs as int64 arrays sorted by column, then token."""
    rng = np.random.default_rng(seed)
    sizes = 10 * (rng.pareto(0.9, n_columns) + 1)
    sizes = np.minimum(sizes, 200_000)
    sizes = np.maximum(2, sizes * (1.18 * n_pairs / sizes.sum())).astype(np.int64)
    column = np.repeat(np.arange(n_columns), sizes)
    # Inverse-transform sampling of a Zipf-Mandelbrot law of exponent 1: no value is in every second column.
    uniform = rng.random(column.size)
    head = max(2.0, n_tokens * HEAD_SHARE)
    token = (head * ((n_tokens + head) / head) ** uniform - head).astype(np.int64)
    flat = rng.random(column.size) < 0.55  # values that occur in few columns
    token[flat] = rng.integers(0, n_tokens, int(flat.sum()))
    starts = np.cumsum(sizes) - sizes
    for copy in rng.choice(n_columns, n_columns // 4, replace=False).tolist():
        other = int(rng.integers(n_columns))
        n = min(int(sizes[copy]), int(sizes[other]) * 9 // 10)
        if n:
            token[starts[copy] : starts[copy] + n] = token[starts[other] : starts[other] + n]
    pair = column * np.int64(n_tokens) + token
    pair.sort()
    pair = pair[np.append(True, pair[1:] != pair[:-1])]
    return pair // n_tokens, pair % n_tokens


def generate(index: Path, n_columns: int, n_pairs: int, seed: int = 1) -> None:
    """Write a lake of `n_columns` columns and about `n_pairs` distinct values in all, as version 1."""
    index.mkdir(parents=True)
    commit_segments(index, [write_generated(index, n_columns, n_pairs, seed)])


def commit_segments(index: Path, segments: list[SegmentMeta]) -> None:
    """Make segments the index, at the version that has their number."""
    root = Root(0, "generated", "generated:", "spark")
    commit(index, Manifest(uuid.uuid4().hex, len(segments), SETTINGS, (root,), tuple(segments)))


def write_generated(index: Path, n_columns: int, n_pairs: int, seed: int = 1) -> SegmentMeta:
    """Write a segment of `n_columns` columns; those of other seeds have other tables and draw the same values."""
    n_tokens = max(50_000, n_pairs // 6)
    column, token = draw_pairs(n_columns, n_pairs, n_tokens, seed)
    order = np.argsort(token, kind="stable")
    token, column = token[order], column[order].astype(np.int32)
    first = np.flatnonzero(np.append(True, token[1:] != token[:-1]))
    values = spell(token[first])
    counts = np.diff(np.append(first, token.size))
    data = np.concatenate([values.reshape(-1), np.zeros(PADDING, np.uint8)])
    offsets = np.arange(first.size + 1, dtype=np.int64) * WIDTH
    data.flags.writeable = offsets.flags.writeable = False
    hashes = hash_values(data, offsets, np.uint64(SETTINGS.hash_seed))
    by_hash = argsort_u64(hashes).astype(np.int64)
    counts = counts[by_hash]
    indptr = np.append(0, np.cumsum(counts))
    source = np.repeat(first[by_hash] - indptr[:-1], counts) + np.arange(token.size)
    run = Run(
        hashes[by_hash],
        offsets,
        np.concatenate([values[by_hash].reshape(-1), np.zeros(PADDING, np.uint8)]),
        indptr,
        column[source],
    )
    cardinality = np.bincount(column, minlength=n_columns)
    del column, token, order, source, values, hashes
    return write_segment(index, [run], _catalog(n_columns, cardinality, seed))


def _catalog(n_columns: int, cardinality, seed: int) -> SegmentRecords:
    n_tables = -(-n_columns // COLUMNS_PER_TABLE)
    widths = np.full(n_tables, COLUMNS_PER_TABLE)
    widths[-1] = n_columns - COLUMNS_PER_TABLE * (n_tables - 1)
    tables = {
        "name": [f"t{seed}-{i:08d}" for i in range(n_tables)],
        "format": pa.array(["spark"] * n_tables),
        "first_column": np.cumsum(widths) - widths,
        "n_columns": widths,
        "n_rows": np.full(n_tables, 1000),
    }
    columns = {
        "table": np.repeat(np.arange(n_tables), widths),
        "name": [f"c{i % COLUMNS_PER_TABLE}" for i in range(n_columns)],
        "kind": np.full(n_columns, KINDS.index("text")),
        "is_indexed": np.ones(n_columns, np.int8),
        "n_rows": cardinality,
        "cardinality": cardinality,
    }
    skipped = pa.array([], SKIPPED_FIELDS)
    return SegmentRecords(_records(tables, TABLE_FIELDS), _records(columns, COLUMN_FIELDS), skipped)


def _records(values, fields):
    n = len(next(iter(values.values())))
    arrays = [pa.array(values[f.name], f.type) if f.name in values else _default(f.type, n) for f in list(fields)]
    return pa.StructArray.from_arrays(arrays, fields=list(fields))


def _default(type_, n):
    if pa.types.is_list(type_):
        return pa.array([[]] * n, type_)
    return pa.array(["" if pa.types.is_string(type_) else 0] * n, type_)
