import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.texts.spans import (
    TO_THE_END,
    Spans,
    nth_run,
    slice_characters,
    split_part,
    text_after,
    text_before,
)
from tests.kernels.packing import pack

TEXTS = st.lists(st.text("aab,é€😀 ", max_size=9), max_size=12)
INDEX = st.integers(-5, 5)
SEPARATORS = st.sampled_from([",", "a", "aa", "é", ", ", "😀"])


def spans_of(texts):
    """Pack texts as spans; an empty text is a null."""
    data, offsets = pack([text.encode() for text in texts])
    starts, ends = offsets[:-1].copy(), offsets[1:].copy()
    starts[starts == ends] = -1
    return Spans(data, starts, ends)


def texts_of(data, starts, ends):
    """Unpack spans; nulls as None."""
    return [None if a < 0 else bytes(data[a:b]).decode() for a, b in zip(starts, ends, strict=True)]


def as_bytes(text):
    return np.frombuffer(text.encode(), np.uint8)


@given(TEXTS, SEPARATORS, INDEX)
def test_split_part_is_pythons_split(texts, separator, index):
    spans = spans_of(texts)
    found = texts_of(spans.data, *split_part(spans, as_bytes(separator), index))
    expected = []
    for text in texts:
        parts = text.split(separator)
        expected.append((parts[index] or None) if text and -len(parts) <= index < len(parts) else None)
    assert found == expected


@given(TEXTS, SEPARATORS)
def test_text_after_and_before_are_pythons_partition(texts, separator):
    spans = spans_of(texts)
    after = texts_of(spans.data, *text_after(spans, as_bytes(separator)))
    before = texts_of(spans.data, *text_before(spans, as_bytes(separator)))
    assert after == [text.partition(separator)[2] or None for text in texts]
    assert before == [text.rpartition(separator)[0] or None for text in texts]


@given(TEXTS, INDEX)
def test_nth_run_takes_maximal_runs(texts, index):
    classes = np.zeros(ord("€") + 1, np.uint8)  # "😀" lies behind its end
    classes[[ord("a"), ord("é"), ord("€")]] = 2
    classes[ord(",")] = 1
    spans = spans_of(texts)
    found = texts_of(spans.data, *nth_run(spans, classes, 2, index))
    expected = []
    for text in texts:
        runs = "".join(c if c in "aé€" else "|" for c in text).split("|")
        runs = [run for run in runs if run]
        expected.append(runs[index] if -len(runs) <= index < len(runs) else None)
    assert found == expected


@given(TEXTS, INDEX, st.none() | INDEX)
def test_slice_characters_is_pythons_slice(texts, start, stop):
    spans = spans_of(texts)
    found = slice_characters(spans, start, TO_THE_END if stop is None else stop)
    assert texts_of(spans.data, *found) == [text[start:stop] or None for text in texts]


def test_nothing_gives_nothing():
    spans = spans_of([])
    assert texts_of(spans.data, *split_part(spans, as_bytes(","), 0)) == []
