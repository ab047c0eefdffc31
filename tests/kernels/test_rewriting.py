import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.texts import rewriting
from tests.kernels.test_spans import spans_of, texts_of

TEXTS = st.lists(st.text("aB 0é😀", max_size=8), max_size=12)


def run(kernel, texts, *arguments):
    """Run a kernel that writes into a buffer just large enough."""
    spans = spans_of(texts)
    out = np.empty(len("".join(texts).encode()), np.uint8)
    return texts_of(out, *kernel(spans, *arguments, out))


def table(**changes):
    """Code point → code point with some changed."""
    found = np.arange(300, dtype=np.uint32)
    for old, new in changes.items():
        found[ord(old)] = ord(new)
    return found


@given(TEXTS)
def test_map_runs_treats_the_first_of_each_value_apart(texts):
    found = run(rewriting.map_runs, texts, np.zeros(300, np.uint8), -1, table(a="x"), table(a="y", é="z"))
    rest = [text[1:].replace("a", "y").replace("é", "z") for text in texts]
    assert found == [(t[0].replace("a", "x") + r) if t else None for t, r in zip(texts, rest, strict=True)]


@given(TEXTS)
def test_map_runs_treats_the_first_of_each_run_apart(texts):
    classes = np.zeros(300, np.uint8)
    classes[[ord("a"), ord("é")]] = 4
    found = run(rewriting.map_runs, texts, classes, 4, table(a="x", B="!"), table(a="y"))

    def one(match):
        return match[0][0].replace("a", "x") + match[0][1:].replace("a", "y")

    assert found == [re.sub("[aé]+", one, text) or None for text in texts]


@given(TEXTS)
def test_copy_spans_lays_strings_out_as_arrow_does(texts):
    spans = spans_of(texts)
    joined = "".join(texts).encode()
    out, offsets = np.empty(len(joined), np.uint8), np.empty(len(texts) + 1, np.int32)
    rewriting.copy_spans(spans, out, offsets)
    assert bytes(out) == joined
    assert [bytes(out[a:b]).decode() for a, b in zip(offsets, offsets[1:], strict=False)] == texts
