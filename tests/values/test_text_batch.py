"""Columns that are read together: each is as if it was read alone."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.types import IndexSettings
from dfjoin.values import text_batch
from dfjoin.values.normalize import normalize_batch, null_codes
from dfjoin.values.profile import profile_values
from dfjoin.values.text_batch import normalize_texts

NUMBERS = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(
        ["-0.5", ".5", "5.", "1e400", "9007199254740993.5", "0.0000000000000000001", "00.5", "--1", "1.2.3"]
    ),
)
CELLS = st.one_of(
    NUMBERS,
    st.sampled_from(["", "NA", "-", "e\u0301", "\ufb01n", "ÉTÉ", " a  b ", "12/11/2020", "2020-01-02", "true"]),
    st.text(max_size=9),
    st.none(),
)


def as_before(array, settings):
    """What one column alone tells: its values, and the profile and the samples where these are decided."""
    values = normalize_batch(array, settings)
    is_open = null_codes(values, settings).size or values.classes.max(initial=0) > 5
    firsts = [row for row in values.first_rows().tolist() if row < 64][: settings.samples]
    samples = [array[row].as_py() for row in firsts]
    return values, (None if is_open else profile_values(values, array.type), [] if is_open else samples)


@given(st.lists(st.lists(st.one_of(CELLS, NUMBERS), min_size=6, max_size=6), min_size=1, max_size=5), st.booleans())
def test_columns_together_are_what_each_is_alone(columns, with_rows):
    settings = IndexSettings(samples=3, null_spellings=("", "x"), null_evidence=with_rows)
    arrays = [pa.array(cells, pa.string()) for cells in columns]
    for array, read in zip(arrays, normalize_texts(arrays, settings, with_rows), strict=True):
        values, decided = as_before(array, settings)
        if read is None:  # a value that Python normalises
            assert not "".join(filter(None, array.to_pylist())).isascii()
            continue
        assert (read.profile, read.samples) == decided
        assert read.values.values() == values.values()
        assert read.values.hashes.tolist() == values.hashes.tolist()
        assert read.values.classes.tolist() == values.classes.tolist()
        assert read.n_null == np.count_nonzero(values.codes < 0)
        assert not (with_rows or read.profile is None) or read.values.codes.tolist() == values.codes.tolist()


@pytest.mark.parametrize(
    ("most_cells", "most_bytes"), [(1, 1 << 20), (2500, 1 << 20), (1 << 20, 40_000), (1 << 20, 1 << 20)]
)
def test_long_columns_share_a_call_up_to_a_size(monkeypatch, most_cells, most_bytes):
    monkeypatch.setattr(text_batch, "_MOST_CELLS", most_cells)
    monkeypatch.setattr(text_batch, "_MOST_BYTES", most_bytes)
    texts = pa.array(["before", *(f"Value {i % 700}" for i in range(1000))]).slice(1)
    columns = [texts, pa.array(range(1000)), texts, pa.array([str(i % 7) for i in range(1000)])]
    read = normalize_texts(columns, IndexSettings(), with_rows=True)
    assert read[1] is None
    for array, found in zip(columns, read, strict=True):
        assert found is None or found.values.values() == normalize_batch(array, IndexSettings()).values()
        assert found is None or found.values.codes.tolist() == normalize_batch(array, IndexSettings()).codes.tolist()


def test_more_samples_than_any_array_can_hold_may_be_asked_for():
    texts = pa.array([f"Value {i % 70}" for i in range(100)])
    (read,) = normalize_texts([texts], IndexSettings(samples=2**62), with_rows=False)
    assert read.samples == texts.to_pylist()[: text_batch.SAMPLE_ROWS]


def test_bytes_that_are_no_text_leave_the_samples_open():
    damaged = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], "i4")), pa.py_buffer(b"\xe1\x80")]
    )
    whole = pa.array(["a"])
    overlong = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 3], "i4")), pa.py_buffer(b"\xe0\x81\x81")]
    )
    read = normalize_texts([whole, damaged, overlong], IndexSettings(), with_rows=False)
    assert read[1] is None
    assert [one and one.samples for one in read[::2]] == [[], []]
