"""Codes with and without the zeros in front of them."""

import pyarrow as pa
import pytest

from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from dfjoin.values.zero_padding import strip_zeros

SETTINGS = IndexSettings()


@pytest.mark.parametrize(
    ("cells", "width", "expected"),
    [
        (["00000", "00501", "10001"], 5, ["0", "501", "10001"]),
        (["000", "0000", "0a0", "007"], 3, ["0", "0000", "0a0", "7"]),
        (["07", "00", "7"], 2, ["7", "0", "7"]),
    ],
)
def test_codes_are_read_as_integers_and_that_of_zeros_alone_as_zero(cells, width, expected):
    stripped = strip_zeros(normalize_column(pa.array(cells), SETTINGS), width, SETTINGS)
    assert [stripped.value(code) for code in stripped.codes.tolist()] == expected
