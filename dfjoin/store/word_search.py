"""Finding tables and columns by words: BM25 over names, headers and samples of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin import _validation as check
from dfjoin.errors import InvalidParameterError
from dfjoin.index.catalog import Catalog
from dfjoin.store.snapshot import Snapshot

_K1 = 1.2
_FIELD_WEIGHTS = 3.0, 2.0, 1.0
_LENGTH_WEIGHTS = 0.5, 0.6, 0.75
"""Weight of names of tables, of headers and of samples, and how much the length of each counts (b of BM25F)."""

_WHOLE, _BEGIN, _INSIDE = 1.0, 0.5, 0.25
"""Weight of a word that stands alone, of one that others begin with, and of one within another."""

_SHORTEST_PART = 4
"""Characters that a word needs to be found within others."""

_MOST_WORDS, _MOST_COLUMNS = 32, 8

_STOP_WORDS = frozenset(
    {"a", "an", "and", "are", "at", "by", "for", "from", "in", "is", "of", "on", "or", "per", "the", "to"}
)

_WORD = re.compile(r"[^\W_]+")


class _Field(NamedTuple):
    """Lowered texts of one field, end to end, and the table of each.

    Attributes
    ----------
    data : bytes
    offsets : ndarray of int64, shape (n_texts + 1,)
    tables : ndarray of int64, shape (n_texts,)
    lengths : ndarray of float64, shape (n_tables,)
        Bytes of the field in each table, relative to the mean.
    """

    data: bytes
    offsets: NDArray[np.int64]
    tables: NDArray[np.int64]
    lengths: NDArray[np.float64]


@dataclass(frozen=True)
class _Corpus:
    """The texts of one catalogue: names of tables, names of columns, samples; and the column of each sample."""

    fields: tuple[_Field, ...]
    n_tables: int
    sample_columns: NDArray[np.int64]


_CORPORA: WeakKeyDictionary[Catalog, _Corpus] = WeakKeyDictionary()


def search_words(snapshot: Snapshot, words: str, k: int | None) -> pd.DataFrame:
    """Find tables by words, see `dfjoin.Lake.search`.

    Notes
    -----
    Okapi BM25 with fields (Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009,
    sections 3.5 and 3.6): a table is a document of three fields. The texts of a catalogue are lowered once; a word is
    then looked for in all of them at once, about 1 ms for each MB. A word stands alone between characters that are
    neither letter nor digit; the plural of an English word counts as the word.
    """
    found = _words(words)
    if k is not None:
        k = check.check_positive_int(k, "k")
    parts: list[tuple[NDArray[np.float64], _Corpus, NDArray[np.bool_]]] = []
    for segment in snapshot.segments:
        corpus = _corpus_of(segment.catalog)
        is_alive = np.ones(corpus.n_tables, bool) if segment.alive is None else segment.alive_tables()
        parts.append((np.stack([_frequency(corpus, word) for word in found]) * is_alive, corpus, is_alive))
    n_tables = sum(int(is_alive.sum()) for _, _, is_alive in parts)
    n_holding = sum((np.count_nonzero(frequency, axis=1) for frequency, _, _ in parts), np.zeros(len(found), np.int64))
    weights = np.log1p((n_tables - n_holding + 0.5) / (n_holding + 0.5))
    rows: list[tuple[float, str, int, int]] = []
    for number, (frequency, _, _) in enumerate(parts):
        scores = weights @ (frequency * (_K1 + 1) / (frequency + _K1))
        names = snapshot.segments[number].catalog.tables().field("name")
        held = np.flatnonzero(scores > 0)
        best = held if k is None else held[np.argsort(-scores[held], kind="stable")[: 2 * k]]
        rows += [(-float(scores[table]), names[int(table)].as_py(), number, int(table)) for table in best]
    rows.sort()
    return _frame(snapshot, found, rows[:k], [frequency for frequency, _, _ in parts])


def _words(words: str) -> list[str]:
    """Return the words to look for, lowered, each once."""
    if not isinstance(words, str) or not _WORD.search(words):
        raise InvalidParameterError(f"`words` must be a text with a word in it, got {check.show(words)}")
    found = list(dict.fromkeys(_WORD.findall(words.lower())))[:_MOST_WORDS]
    return [word for word in found if word not in _STOP_WORDS] or found


def _corpus_of(catalog: Catalog) -> _Corpus:
    """Return the texts of a catalogue, lowered when they are first asked for."""
    known = _CORPORA.get(catalog)
    if known is None:
        columns = catalog.columns()
        of_column = columns.field("table").to_numpy().astype(np.int64)
        samples = columns.field("samples")
        sample_columns = pc.list_parent_indices(samples).to_numpy().astype(np.int64)
        n = catalog.n_tables
        fields = (
            _field(catalog.tables().field("name"), np.arange(n), n),
            _field(columns.field("name"), of_column, n),
            _field(samples.flatten(), of_column[sample_columns], n),
        )
        known = _CORPORA[catalog] = _Corpus(fields, n, sample_columns)
    return known


def _field(texts: pa.Array, tables: NDArray[np.int64], n_tables: int) -> _Field:
    lowered = pc.utf8_lower(texts.cast(pa.large_string()))
    lengths = pc.binary_length(lowered).to_numpy(zero_copy_only=False).astype(np.int64)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    data = b"" if not offsets[-1] else lowered.buffers()[2].to_pybytes()
    if lowered.offset or len(data) != offsets[-1]:
        data = "".join(lowered.to_pylist()).encode()
    sums = np.bincount(tables, lengths, minlength=n_tables)
    return _Field(data, offsets, tables, sums / max(1.0, float(sums.mean()) if n_tables else 1.0))


def _frequency(corpus: _Corpus, word: str) -> NDArray[np.float64]:
    """Return how often a word stands in each table, weighted by field, form and length."""
    total = np.zeros(corpus.n_tables)
    for field, weight, b in zip(corpus.fields, _FIELD_WEIGHTS, _LENGTH_WEIGHTS, strict=True):
        texts, forms = _hits(field, word)
        if texts.size:
            counts = np.bincount(field.tables[texts], forms, minlength=corpus.n_tables)
            total += weight * counts / (1 - b + b * field.lengths)
    return total


def _hits(field: _Field, word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the texts that hold a word, each as often as it does, and the weight of each hit."""
    stem = _stem(word)
    pattern = re.compile(re.escape(stem.encode()))
    starts = np.array([match.start() for match in pattern.finditer(field.data)], np.int64)
    texts = np.searchsorted(field.offsets, starts, "right") - 1
    ends = field.offsets[texts + 1]
    is_kept = starts + len(stem.encode()) <= ends  # not across the border of two texts
    starts, texts, ends = starts[is_kept], texts[is_kept], ends[is_kept]
    data = np.frombuffer(field.data + bytes(8), np.uint8)
    begins = (starts == field.offsets[texts]) | ~_is_part(data[starts - 1])
    is_whole = np.zeros(starts.size, bool)
    for ending in _ENDINGS if stem != word or len(word) > 2 else (b"",):
        after = starts + len(stem.encode())
        is_form = _continues(data, after, ending)
        stop = after + len(ending)
        is_form &= (stop == ends) | ((stop < ends) & ~_is_part(data[np.minimum(stop, data.size - 1)]))
        is_whole |= is_form
    weight = np.where(begins & is_whole, _WHOLE, np.where(begins, _BEGIN, _INSIDE))
    is_wanted = weight == _WHOLE
    if len(word) >= _SHORTEST_PART:
        rest = word[len(stem) :].encode()
        is_wanted |= _continues(data, starts + len(stem.encode()), rest) & (starts + len(word.encode()) <= ends)
    return texts[is_wanted], weight[is_wanted]


def _continues(data: NDArray[np.uint8], positions: NDArray[np.int64], text: bytes) -> NDArray[np.bool_]:
    """Tell at which positions a text stands."""
    is_there = np.ones(positions.size, bool)
    for position, byte in enumerate(text):
        is_there &= data[np.minimum(positions + position, data.size - 1)] == byte
    return is_there


_ENDINGS = (b"", b"s", b"es", b"y", b"ies")


def _stem(word: str) -> str:
    """Return what a word and its plural have in common.

    Examples
    --------
    >>> [_stem(word) for word in ("county", "counties", "states", "class", "gdp")]
    ['count', 'count', 'state', 'class', 'gdp']
    """
    for ending in ("ies", "y"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending)
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _is_part(byte: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Tell which bytes belong to letters or digits; every byte above ASCII does."""
    return ((byte >= 97) & (byte <= 122)) | ((byte >= 48) & (byte <= 57)) | (byte >= 128)


def _frame(
    snapshot: Snapshot,
    words: Sequence[str],
    rows: Sequence[tuple[float, str, int, int]],
    frequencies: Sequence[NDArray[np.float64]],
) -> pd.DataFrame:
    """Make the frame of the best tables: which words each holds, and which of its columns hold one."""
    matching = [
        _matching_columns(snapshot.segments[n].catalog, words, {t for _, _, m, t in rows if m == n})
        for n in range(len(snapshot.segments))
    ]
    records = []
    for score, name, number, table in rows:
        record = snapshot.segments[number].catalog.table_record(table)
        held = [word for word, frequency in zip(words, frequencies[number][:, table], strict=True) if frequency > 0]
        names = matching[number].get(table, [])
        records.append((name, -score, " ".join(held), names, record["n_rows"], record["n_columns"]))
    columns = ["table", "score", "words", "columns", "n_rows", "n_columns"]
    frame = pd.DataFrame(records, columns=columns)
    return frame.astype({"table": "str", "score": "float64", "words": "str", "n_rows": "int64", "n_columns": "int64"})


def _matching_columns(catalog: Catalog, words: Sequence[str], tables: set[int]) -> dict[int, list[str]]:
    """Return for some tables the columns whose name or samples hold a word, best first."""
    corpus = _corpus_of(catalog)
    _, headers, samples = corpus.fields
    weights: dict[int, float] = {}
    for word in words:
        for field, weight, of_text in ((headers, 2.0, None), (samples, 1.0, corpus.sample_columns)):
            texts, forms = _hits(field, word)
            is_near = np.isin(field.tables[texts], list(tables))
            for text, form in zip(texts[is_near].tolist(), forms[is_near].tolist(), strict=True):
                column = text if of_text is None else int(of_text[text])
                weights[column] = weights.get(column, 0.0) + weight * form
    found: dict[int, list[str]] = {}
    for column in sorted(weights, key=lambda column: (-weights[column], column)):
        names = found.setdefault(int(catalog.numbers["table"][column]), [])
        if len(names) < _MOST_COLUMNS:
            names.append(catalog.column_name(column))
    return found
