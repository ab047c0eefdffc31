"""The equality matcher, against a dict of values."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.errors import IndexCorruptedError
from dfjoin.index.segment import Tokens
from dfjoin.kernels.lists.postings import build_directory
from dfjoin.search.exact.posting_lists import match_tokens
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from tests.kernels.packing import pack

SETTINGS = IndexSettings()
VALUES = st.lists(
    st.one_of(st.sampled_from(["a", "ab", "b", "é", "x" * 9, "x" * 300]), st.integers(-50, 50).map(str)), max_size=60
)


def value_set(values):
    return normalize_column(pa.array(values, pa.string()), SETTINGS)


class HeldTokens:
    """Values as the tokens of a segment are stored: in the order of their hashes."""

    def __init__(self, values):
        self.order = np.argsort(values.hashes, kind="stable")
        self.hash = values.hashes[self.order]
        self.directory = build_directory(self.hash, 3)
        self.value_bytes, self.value_offsets = pack([values.value(number).encode() for number in self.order.tolist()])
        self.hash.flags.writeable = self.directory.flags.writeable = False

    @property
    def dictionary(self):
        return Tokens.dictionary.fget(self)


def value_of(vocabulary, token):
    start, end = vocabulary.value_offsets[token : token + 2].tolist()
    return vocabulary.value_bytes[start:end].tobytes().decode()


@given(VALUES, VALUES)
def test_each_value_finds_its_token_and_no_other(query, held):
    query, held = value_set(query), value_set(held)
    vocabulary = HeldTokens(held)
    numbers = {value: number for number, value in enumerate(held.values())}
    tokens = match_tokens(query, vocabulary)
    assert [-1 if t < 0 else vocabulary.order[t] for t in tokens] == [numbers.get(v, -1) for v in query.values()]


@given(VALUES, VALUES, st.integers(1, 3))
def test_equal_hashes_are_told_apart_by_the_bytes(query, held, n_hashes):
    query, held = value_set(query), value_set(held)
    query = replace(query, texts=query.packed._replace(hashes=query.hashes % np.uint64(n_hashes)))
    held = replace(held, texts=held.packed._replace(hashes=held.hashes % np.uint64(n_hashes)))
    vocabulary = HeldTokens(held)
    found = [None if t < 0 else value_of(vocabulary, t) for t in match_tokens(query, vocabulary)]
    assert found == [value if value in held.values() else None for value in query.values()]


def test_nothing_is_found_in_an_empty_vocabulary_and_for_an_empty_query():
    none, some = value_set([]), value_set(["a", "b"])
    assert match_tokens(some, HeldTokens(none)).tolist() == [-1, -1]
    assert match_tokens(none, HeldTokens(some)).tolist() == []


def test_the_tokens_of_a_segment_are_found(build):
    words = [f"word {i}" for i in range(0, 3000, 3)]
    (segment,) = build({"t": pd.DataFrame({"c": words})}).segments
    query = value_set([f"Word {i}" for i in range(1000)])
    found = match_tokens(query, segment.tokens)
    expected = [value if value in set(words) else None for value in query.values()]
    assert [None if t < 0 else value_of(segment.tokens, t) for t in found] == expected


@pytest.mark.parametrize("offset", [-1, 10**9])
def test_offsets_that_lead_outside_are_an_error_of_the_index(offset):
    vocabulary = HeldTokens(value_set(["a", "b"]))
    vocabulary.value_offsets = np.full_like(vocabulary.value_offsets, offset)
    vocabulary.value_offsets[-1] = 2
    with pytest.raises(
        IndexCorruptedError, match=r"`value_offsets` of the index is damaged: it points outside `value_b"
    ):
        match_tokens(value_set(["a", "b"]), vocabulary)
