"""Steps on columns of strings, against the same steps on one string."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.number_operators import STYLES, Linear
from dfjoin.programs.string_column import StringColumn
from tests.programs.strategies import STEPS, TEXTS


@given(STEPS, st.lists(TEXTS, max_size=20))
def test_columns_give_what_single_texts_give(step, texts):
    found = step.apply(StringColumn.of(pa.array(texts, pa.string()))).to_arrow().to_pylist()
    assert found == [(step(text) or None) if text else None for text in texts]


@pytest.mark.parametrize("texts", [[], [None], [""], [None, "", None]])
@given(step=STEPS)
def test_columns_without_a_text_give_nulls(texts, step):
    assert step.apply(StringColumn.of(pa.array(texts, pa.string()))).to_arrow().to_pylist() == [None] * len(texts)


@given(st.lists(TEXTS, max_size=9))
def test_strings_come_back_from_plain_sliced_and_chunked_arrays(texts):
    expected = [text or None for text in texts]
    arrays = [
        pa.array(texts, pa.string()),
        pa.array(["xx", *texts], pa.large_string())[1:],
        pa.chunked_array([texts[:3], texts[3:]], pa.string()),
    ]
    for array in arrays:
        column = StringColumn.of(array)
        assert column.to_arrow().to_pylist() == expected
        assert column.n_bytes == sum(len(text.encode()) for text in texts if text)


def test_arrays_of_a_column_are_read_only():
    column = StringColumn.of(pa.array(["a", None]))
    assert not any(array.flags.writeable for array in column.spans)


@pytest.mark.parametrize("digits", [0, 6, 7, 8, 12])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("scale", ["0.000001", "-0.000001", "0.0000009", "99999"])
def test_numbers_at_the_limits_are_the_same_in_columns(digits, style, scale):
    texts = ["1", "0.999999", "0.5", "0", "-1", "999999999.999999"]
    step = Linear(scale, "0", max(digits, 1) if style == "significant" else digits, style)
    found = step.apply(StringColumn.of(pa.array(texts))).to_arrow().to_pylist()
    assert found == [step(text) for text in texts]
