import numpy as np
import pyarrow as pa
import pytest

from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.relations.number_columns import read_numbers


def read(texts):
    return [(str(r.program), r.numbers.values.tolist()) for r in read_numbers(Column("a", pa.array(texts)))]


@pytest.mark.parametrize(
    ("texts", "program", "values"),
    [
        (["3", "1.5", None, "3.0"], "a", [1.5, 3.0]),
        (["33 psia", "17 psia"], "a.quantity('number')", [17.0, 33.0]),
        (["1.2 M", "500 K", "3 bn"], "a.quantity('magnitude')", [5e5, 1.2e6, 3e9]),
        (["1 kg", "2 lb"], "a.quantity('mass')", [907.18474, 1000.0]),
        (["0x1A", "0xFF", "0Xb0"], "a[2:].base(16 to 10)", [26.0, 176.0, 255.0]),
        (["1A", "ff", "b0"], "a.base(16 to 10)", [26.0, 176.0, 255.0]),
        (["0.123456789", "5.25", "7.1"], "a.round(6)", [0.123457, 5.25, 7.1]),
        (["12.340000000000002", "5.1", "7.000000000000001"], "a.round(2)", [5.1, 7.0, 12.34]),
    ],
)
def test_texts_are_read_as_numbers(texts, program, values):
    assert (program, values) in read(texts)


@pytest.mark.parametrize(
    "texts", [["x", "y"], ["1", "x", "y"], ["5", "5"], [], [None, None], ["2020-01-05", "2021-03-04"]]
)
def test_texts_and_too_few_numbers_are_not_read(texts):
    assert read(texts) == []


def test_other_bases_are_read_beside_plain_numbers():
    assert [program for program, _ in read(["10", "11", "101"])] == ["a", "a.base(2 to 10)", "a.base(8 to 10)"]


def test_the_last_digit_is_that_of_the_column():
    reading, *_ = read_numbers(Column("a", pa.array(["0.0393701", "0.314961", "26.2467", "100"])))
    assert reading.numbers.slack == pytest.approx([5e-8, 5e-7, 5e-5, 5e-4])
    assert reading.rows.tolist() == [0, 1, 2, 3]
    assert np.isclose(reading.numbers.own_unit[-1], 100)
