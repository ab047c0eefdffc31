"""Abbreviations of dates and addresses, written out before texts are embedded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.vectors.embedders import Embedder, FastTextEmbedder
from dfjoin.vectors.fasttext_model import Texts

_TABLE = """
mon monday tue tuesday wed wednesday thu thursday fri friday
jan january feb february mar march apr april jun june jul july aug august sep september sept september
oct october nov november dec december
st street str street ave avenue av avenue blvd boulevard rd road dr drive ln lane hwy highway pkwy parkway
sq square ct court pl place ter terrace apt apartment ste suite bldg building fl floor dept department
mt mount ft fort no number nr number
"""
_WORDS = _TABLE.split()

ABBREVIATIONS = dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))
"""Word → what it stands for. Both sides are written out, so that a wrong reading (``dr``, ``st``) does little harm."""

_MOST = 10_000
_LONGEST = 200
_WORD = re.compile(r"\w+")


def abbreviations_for(embedder: Embedder | None, given: Any) -> dict[str, str]:
    """Return the table of an embedder, checked.

    Parameters
    ----------
    embedder : Embedder or None
        None: fastText that is yet to be trained.
    given : dict or None
        Word → text, beside those of `ABBREVIATIONS` for fastText; an empty dict: none at all.

    Raises
    ------
    InvalidTypeError, InvalidParameterError
        If it is no such dict.

    Examples
    --------
    >>> abbreviations_for(None, {"Univ": "university"})["univ"], abbreviations_for(None, {})
    ('university', {})
    """
    known = ABBREVIATIONS if embedder is None or isinstance(embedder, FastTextEmbedder) else {}
    if given is None:
        return dict(known)
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for item in given.items() for text in item):
        raise InvalidTypeError(
            f'`abbreviations` must map words to texts, as {{"univ": "university"}}, got {show(given)}'
        )
    if len(given) > _MOST:
        raise InvalidParameterError(f"`abbreviations` must have at most {_MOST:,} entries, got {len(given):,}")
    for word, text in given.items():
        if not _WORD.fullmatch(word) or max(len(word), len(text)) > _LONGEST:
            raise InvalidParameterError(
                f"`abbreviations` must map single words to texts of at most {_LONGEST} characters, got {show(word)}; "
                "write words without a full stop"
            )
    return {**known, **{word.lower(): text for word, text in given.items()}} if given else {}


def expand_texts(texts: Texts, table: Mapping[str, str]) -> Texts:
    """Write out abbreviations: words of the table, with or without a full stop behind them.

    Parameters
    ----------
    texts : tuple of ndarray
        Offsets and UTF-8.
    table : dict

    Returns
    -------
    tuple of ndarray

    Notes
    -----
    Source: Dong et al., ICDE 2021, section II-A. O(bytes); few texts have one and are made Python's.
    """
    offsets, data = texts
    if not table or offsets.size < 2:
        return texts
    words = "|".join(sorted(map(re.escape, table), key=len, reverse=True))
    array = pa.Array.from_buffers(
        pa.large_binary(), offsets.size - 1, [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(data)]
    )
    has_one = pc.match_substring_regex(array, rf"(?i)\b({words})\b").to_numpy(zero_copy_only=False)
    positions = np.flatnonzero(has_one)
    if not positions.size:
        return texts
    pattern = re.compile(rf"\b(?:{words})\b\.?", re.IGNORECASE)

    def written(match: re.Match[str]) -> str:
        return table[match.group().rstrip(".").lower()]

    made = [
        pattern.sub(written, data[offsets[i] : offsets[i + 1]].tobytes().decode("utf-8", "surrogateescape")).encode(
            "utf-8", "surrogateescape"
        )
        for i in positions.tolist()
    ]
    return _replaced(texts, positions, made)


def _replaced(texts: Texts, positions: NDArray[np.int64], made: list[bytes]) -> Texts:
    """Return texts with others at some positions."""
    offsets, data = texts
    lengths = np.diff(offsets)
    lengths[positions] = [len(text) for text in made]
    out = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    parts, start = [], 0
    for position, text in zip(positions.tolist(), made, strict=True):
        parts += [data[offsets[start] : offsets[position]], np.frombuffer(text, np.uint8)]
        start = position + 1
    parts += [data[offsets[start] : offsets[-1]], np.zeros(8, np.uint8)]
    return out, np.concatenate(parts)


class ExpandingEmbedder:
    """An embedder of texts whose abbreviations are written out.

    Parameters
    ----------
    embedder : Embedder
    table : dict
        Abbreviations.
    """

    def __init__(self, embedder: Embedder, table: Mapping[str, str]) -> None:
        self.embedder, self.table = embedder, dict(table)
        digest = hashlib.blake2b(json.dumps(sorted(self.table.items())).encode(), digest_size=4)
        self.identity = f"{embedder.identity}+abbreviations:{digest.hexdigest()}"
        self.place = embedder.place

    def embed(self, texts: Texts) -> NDArray[np.float32]:
        """See `Embedder`."""
        return self.embedder.embed(expand_texts(texts, self.table))


def expanding(embedder: Embedder, table: Mapping[str, str]) -> Embedder:
    """Return an embedder before which abbreviations are written out; the same one for an empty table."""
    return ExpandingEmbedder(embedder, table) if table else embedder
