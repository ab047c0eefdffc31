"""Rows of two sides that have the same key against the nested loop."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dfjoin
from dfjoin.join.keys import take_values
from dfjoin.types import IndexSettings
from dfjoin.values.key_index import expand_pairs
from dfjoin.values.normalize import normalize_column


@given(
    st.lists(st.integers(-1, 4), max_size=15),
    st.lists(st.integers(-1, 4), max_size=15),
)
def test_expand_pairs_is_the_nested_loop(left, right):
    rows = expand_pairs(np.array(left, np.int64), np.array(right, np.int64), 5)
    expected = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a == b >= 0]
    assert list(zip(rows[0].tolist(), rows[1].tolist(), strict=True)) == expected


FORMS = {
    "integers": lambda numbers: pd.Series(numbers, dtype="Int64"),
    "Arrow's integers": lambda numbers: pd.Series(numbers, dtype=pd.ArrowDtype(pa.int64())),
    "objects": lambda numbers: pd.Series(numbers, dtype=object),
    "decimals": lambda numbers: pd.Series([None if n is None else Decimal(n) for n in numbers], dtype=object),
    "texts": lambda numbers: pd.Series([None if n is None else f" {n} " for n in numbers], dtype=object),
    "texts and others": lambda numbers: pd.Series([*("x" if n is None else str(n) for n in numbers)], dtype=object),
    "floats": lambda numbers: pd.Series([None if n is None else float(n) for n in numbers], dtype=float),
    "numpy's integers": lambda numbers: pd.Series([-77 if n is None else n for n in numbers], dtype=np.int64),
}
EXACT = st.integers(-30, 30) | st.integers(10**9, 10**9 + 9) | st.integers(-(2**53), 2**53)
LARGE = st.integers(-30, 30) | st.integers(-(2**63), 2**63 - 1)


@settings(max_examples=80)
@given(st.lists(st.sampled_from([*FORMS]), min_size=2, max_size=2), st.data())
def test_whole_numbers_join_by_what_they_are_in_any_form(forms, data):
    one = EXACT if "floats" in forms else LARGE
    own = data.draw(st.lists(st.none() | one, min_size=1, max_size=12))
    theirs = [None, -77, *data.draw(st.lists(one.filter(lambda n: n != -77), max_size=12, unique=True))]
    if forms[1] == "numpy's integers":
        theirs.remove(None)  # it would be -77 too, a key in two rows
    left, right = FORMS[forms[0]](own), FORMS[forms[1]](theirs)
    other = pd.DataFrame({"k": right, "row": range(len(right))})
    found = dfjoin.auto_join(
        pd.DataFrame({"k": left}), other, on="k", columns=["row"], transform=False, fuzzy=False, on_no_match="ignore"
    )

    def spelled(keys):
        return [None if pd.isna(key) else str(int(key)) if str(key).strip() != "x" else "x" for key in keys]

    known = pd.DataFrame({"k": spelled(right), "row": range(len(right))}).dropna()
    expected = pd.DataFrame({"k": spelled(left)}).merge(known, how="left")
    assert [None if pd.isna(row) else int(row) for row in found["row"]] == [
        None if pd.isna(row) else int(row) for row in expected["row"]
    ]


@pytest.mark.parametrize("rows", [[0, 1, 2], [2], [3, 0, 3], [], [3, 2, 1, 0]], ids=str)
def test_values_of_some_rows_are_those_of_the_rows_alone(rows):
    cells = ["a", "b", None, "c"]
    taken = take_values(normalize_column(pa.array(cells), IndexSettings()), np.array(rows, np.int64))
    texts = taken.values()
    assert [texts[code] if code >= 0 else None for code in taken.codes] == [cells[row] for row in rows]
    assert sorted(texts) == sorted({cells[row] for row in rows} - {None}), "and no other value is left"
