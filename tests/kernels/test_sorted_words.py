"""Words of texts in order, against sorted sets."""

from itertools import pairwise

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.sorted_words import sort_words
from dfjoin.vectors.embedders import to_texts
from tests.oracles.spelling import sorted_words


@given(st.lists(st.text("abB9é中ÿ ,-\u2013\u206f\u2070\u1fff\u3000😀", max_size=14), max_size=6))
@example(["b a b", "ab a", "", "–", "x" * 20, "x" * 21])
@settings(max_examples=60, deadline=None)
def test_words_are_those_of_sorted_sets(texts):
    offsets, data = to_texts(texts)
    given_texts = map(as_read_only, (data, offsets, np.arange(len(texts), dtype=np.uint32)))
    out, most = np.zeros(data.size, np.uint8), 20
    ends = np.zeros(len(texts) + 1, np.int64)
    sort_words(*given_texts, most, np.empty((2, 2 * most + 1), np.int64), out, ends)
    found = [out[start:end].tobytes().decode() for start, end in pairwise(ends.tolist())]
    assert found == [sorted_words(text) if len(text) <= most else "" for text in texts]
