"""Columns of frames in Arrow, compared with their cells one by one."""

import datetime
import ipaddress
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError
from dfjoin.types import IndexSettings
from dfjoin.values.frames import (
    NOT_INDEXED,
    arrow_to_series,
    column_to_arrow,
    frame_of_columns,
    frame_to_table,
    is_pandas,
    is_spark,
    select_column,
)
from dfjoin.values.normalize import normalize_column
from tests.oracles import canonical
from tests.oracles.frames import arrow_cell, span_text

DAYS = ["2020-02-29", None, "1960-05-06"]
NUMBERS = [1, None, 3]

COLUMNS = {
    **{name: pd.Series([0, 1, 100], dtype=name) for name in ("int8", "uint8", "int32", "uint16")},
    "int64": pd.Series([-(2**63), 2**63 - 1, 2**53 + 1]),
    "uint64": pd.Series([0, 2**64 - 1], dtype="uint64"),
    "float32": pd.Series([0.5, np.nan, 3.0], dtype="float32"),
    "float64": pd.Series([0.1, np.nan, -np.inf, 1e300]),
    "bool": pd.Series([True, False]),
    "nullable integers": pd.Series([2**53 + 1, None, -1], dtype="Int64"),
    "nullable floats": pd.Series([0.5, None], dtype="Float64"),
    "nullable booleans": pd.Series([True, None], dtype="boolean"),
    "text of Python": pd.Series(["a", None, "é"], dtype=pd.StringDtype("python")),
    "text of Arrow": pd.Series(["a", None, "é"], dtype=pd.StringDtype("pyarrow")),
    "text as objects": pd.Series(["a", None, np.nan, pd.NA, "é"], dtype=object),
    "integers as objects": pd.Series([1, None, 2**62], dtype=object),
    "nothing": pd.Series([None, np.nan], dtype=object),
    "decimals": pd.Series([Decimal("1.50"), None, Decimal("-2.25")], dtype=object),
    "days": pd.Series([datetime.date(2020, 2, 29), None], dtype=object),
    "moments": pd.Series(pd.to_datetime(DAYS)),
    "moments in seconds": pd.Series(pd.to_datetime(DAYS)).astype("datetime64[s]"),
    "moments of a zone": pd.Series(pd.to_datetime(DAYS)).dt.tz_localize("Europe/Berlin"),
    "spans": pd.Series(pd.to_timedelta(["1h", None])),
    "periods": pd.Series(pd.PeriodIndex(["2020-01", None], freq="M")),
    "intervals": pd.Series([pd.Interval(0, 1), None, pd.Interval(1, 2)], dtype="interval"),
    "complex numbers": pd.Series([1 + 2j, np.nan]),
    "categories of text": pd.Series(pd.Categorical(["b", None, "a", "b"])),
    "categories of integers": pd.Series(pd.Categorical([3, None, 1])),
    "categories of floats": pd.Series(pd.Categorical([0.5, None, 2.0])),
    "categories of moments": pd.Series(pd.Categorical(pd.to_datetime(DAYS))),
    "no categories": pd.Series(pd.Categorical([None, None])),
    "many categories": pd.Series(pd.Categorical([f"v{i % 300}" for i in range(600)])),
    "Arrow's integers": pd.Series(NUMBERS, dtype=pd.ArrowDtype(pa.int32())),
    "Arrow's text": pd.Series(["a", None], dtype=pd.ArrowDtype(pa.string())),
    "Arrow's days": pd.Series([datetime.date(2020, 1, 2), None], dtype=pd.ArrowDtype(pa.date32())),
    "no rows": pd.Series([], dtype="float64"),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_each_cell_keeps_its_value(name):
    column = COLUMNS[name]
    expected = [span_text(arrow_cell(value)) for value in column]
    assert column_to_arrow(column).to_pylist() == expected
    part = column.iloc[1:]
    assert column_to_arrow(part).to_pylist() == expected[1:], "of a slice, only its rows"


WORDS = st.sampled_from(["Peru", "x y", "é", "7", "007", "", "true"])
MISSING = st.sampled_from([None, np.nan, pd.NA, pd.NaT])
INTEGERS = st.integers(-(2**70), 2**70)
FLOATS = st.one_of(st.integers(-(2**60), 2**60).map(float), st.sampled_from([0.5, -2.25]))
DATES = st.dates(datetime.date(1000, 1, 1))
MOMENTS = st.datetimes(datetime.datetime(1000, 1, 1))
MIXED = st.one_of(
    *(
        st.lists(st.one_of(MISSING, WORDS, *cells), max_size=12)
        for cells in ((INTEGERS, FLOATS), (INTEGERS, st.booleans()), (DATES,), (DATES, MOMENTS), (MOMENTS, INTEGERS))
    )
)


def rows_of(column):
    found = normalize_column(column_to_arrow(column), IndexSettings())
    return [None if code < 0 else found.value(code) for code in found.codes]


def naive_cell(value):
    return canonical(None if value is pd.NA or value is pd.NaT else value)


@given(MIXED)
def test_a_mixed_column_has_the_values_of_its_cells(cells):
    assert rows_of(pd.Series(cells, dtype=object)) == [naive_cell(cell) for cell in cells]


@pytest.mark.parametrize("cells", [(0, 1), (1, 0)])
def test_days_and_moments_of_one_column_keep_their_times(cells):
    values = [datetime.date(2024, 3, 1), datetime.datetime(2024, 3, 2, 12, 30)]
    expected = ["2024-03-01", "2024-03-02t12:30:00"]
    assert rows_of(pd.Series([values[i] for i in cells], dtype=object)) == [expected[i] for i in cells]


def test_decimals_beside_other_numbers_are_what_they_are_alone():
    cells = [Decimal("1.10"), Decimal("1E+3"), 0.5, "x", Decimal("1e40"), Decimal("nan")]
    assert rows_of(pd.Series(cells, dtype=object)) == ["1.1", "1000", "0.5", "x", "1" + "0" * 40, None]


def test_objects_are_written_by_their_own_type_whatever_stands_beside_them():
    one = uuid.UUID(int=7)
    cells = [one, datetime.timedelta(hours=1), datetime.time(12, 30), True, "x", ipaddress.ip_address("10.0.0.1")]
    expected = [str(one), "pt1h", "12:30:00", "true", "x", "10.0.0.1"]
    assert rows_of(pd.Series(cells, dtype=object)) == expected
    assert [rows_of(pd.Series([cell], dtype=object))[0] for cell in cells] == expected


def test_text_with_half_a_surrogate_pair_is_indexed_with_the_replacement_character():
    assert rows_of(pd.Series(["a\ud800", "b", None], dtype=object)) == ["a\ufffd", "b", None]
    labels = pd.Index(["x\udfff"], dtype=object)
    table = frame_to_table(pd.Series(["a\ud800"], dtype=object).to_frame().set_axis(labels, axis=1))
    assert table.to_pydict() == {"x\ufffd": ["a\ufffd"]}


class Speechless:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("cell", "found"),
    [(object(), "object, which prints another text each time"), (Speechless(), "Speechless"), ([1, "a"], "list")],
)
def test_objects_without_a_text_that_lasts_are_named_and_stored_with_the_reason(cell, found):
    column = pd.Series([cell, None], name="c", dtype=object)
    with pytest.raises(InvalidTypeError, match=f"'c' holds {found}: turn its values into text first"):
        column_to_arrow(column)
    (field,) = frame_to_table(column.to_frame()).schema
    kind = type(cell).__name__
    assert field.metadata[NOT_INDEXED].decode() == f"its objects ({kind}) have no text that stays the same"


def test_what_pandas_has_no_value_for_comes_as_near_as_it_can():
    def series(array):
        return arrow_to_series(pa.chunked_array([array]))

    far = pa.array([2**31 - 1, None], pa.int32()).view(pa.date32())
    assert str(series(far)[0].year) == "5881580"
    assert series(pa.array([1_001, None], pa.time64("ns")))[0] == datetime.time(0, 0, 0, 1)
    zoned = series(pa.array([0, None]).view(pa.timestamp("us", "Mars/Phobos")))
    assert zoned[0] == pd.Timestamp(0, tz="UTC") and zoned[1] is pd.NaT
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    assert series(union).tolist() == [1, "b"]
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8()))
    assert series(flags).tolist() == [True, False, pd.NA]
    bins = pa.array(pd.Series(pd.arrays.IntervalArray.from_breaks([0, 1, 2])))
    bins = bins.take(pa.array([0, None, 1]))
    assert [str(v) for v in series(bins)] == ["(0, 1]", "nan", "(1, 2]"]


def test_values_of_a_mixed_column_are_spelled_as_their_types_spell_them():
    cells = [
        "x",
        True,
        np.False_,
        2.0,
        np.float32(0.5),
        -0.0,
        2**70,
        Decimal("1.50"),
        datetime.date(2020, 1, 2),
        1 + 2j,
    ]
    spelled = ["x", "true", "false", "2", "0.5", "0", str(2**70), "1.5", "2020-01-02", "(1+2j)"]
    assert column_to_arrow(pd.Series(cells, dtype=object)).to_pylist() == spelled


def test_sparse_numbers_and_bins_are_values_too():
    """Arrow has no type for them."""
    sparse = pd.Series([0.0, 1.0, np.nan, 2.5], dtype=pd.SparseDtype("float64"))
    assert rows_of(sparse) == ["0", "1", None, "2.5"]
    bins = pd.cut(pd.Series([1.0, np.nan, 9.0]), [0, 5, 10])
    assert column_to_arrow(bins).to_pylist() == ["(0, 5]", None, "(5, 10]"]


@given(st.lists(st.one_of(WORDS, st.integers(-5, 5), st.sampled_from([0.5, 2.0])), min_size=1, max_size=12))
def test_categories_of_mixed_values_are_as_the_values(cells):
    column = pd.Series(cells, dtype=object)
    assert rows_of(column.astype("category")) == rows_of(column)


NO_TEXT = {
    "lists": ([[1], [2]], "list<item: int64>"),
    "dicts": ([{"a": 1}], "struct<a: int64>"),
    "bytes": ([b"x", None], "binary"),
    "lists among text": (["a", [1]], "list"),
    "a dict among text": (["a", {"a": 1}], "dict"),
    "a tuple among numbers": ([1, (1, 2)], "tuple"),
    "a set among text": (["a", {1}], "set"),
    "bytes among numbers": ([1.5, b"x"], "bytes"),
    "an array among text": (["a", np.array([1])], "ndarray"),
}


@pytest.mark.parametrize("name", NO_TEXT)
def test_values_without_a_text_are_refused(name):
    cells, held = NO_TEXT[name]
    with pytest.raises(InvalidTypeError) as caught:
        column_to_arrow(pd.Series(cells, dtype=object, name="c"), "right_on")
    assert str(caught.value) == (
        f"`right_on` must name a column of text, numbers, dates or booleans; 'c' holds {held}: "
        "turn its values into text first"
    )


@pytest.mark.parametrize("type_", [pa.list_(pa.int8()), pa.large_binary()], ids=str)
def test_columns_of_arrow_without_a_text_are_refused(type_):
    with pytest.raises(InvalidTypeError, match=r"^`on` must name a column of text.*: turn its values into text first$"):
        column_to_arrow(pd.Series([None], dtype=pd.ArrowDtype(type_)))


class TestSelect:
    FRAME = pd.DataFrame([[1, 2, 3]], columns=["a", 7, ("x", 1)])

    @pytest.mark.parametrize(("name", "cell"), [("a", 1), (7, 2), (("x", 1), 3)])
    def test_a_label_of_any_kind(self, name, cell):
        assert select_column(self.FRAME, name, "on").tolist() == [cell]

    @pytest.mark.parametrize("name", ["b", "7", None, ["a"], {}, slice(0, 1)], ids=repr)
    def test_the_error_lists_the_columns(self, name):
        with pytest.raises(ColumnNotFoundError) as caught:
            select_column(self.FRAME, name, "right_on")
        assert str(caught.value) == (f"`right_on` must name a column of the frame ('a', 7, ('x', 1)), got {name!r}")

    @pytest.mark.parametrize("labels", [["a", "b", "a", "a"], ["a", "a", "a", "b"]], ids=["apart", "together"])
    def test_a_repeated_label_is_refused(self, labels):
        frame = pd.DataFrame([range(4)], columns=labels)
        with pytest.raises(InvalidParameterError) as caught:
            select_column(frame, "a", "on")
        assert str(caught.value) == (
            "`on` must name one column, but 3 columns of the frame are called 'a'; rename them"
        )
        assert select_column(frame, "b", "on").tolist() == [labels.index("b")]

    def test_a_level_of_the_index_is_no_column(self):
        frame = pd.DataFrame({"a": [1]}, index=pd.Index([5], name="n"))
        with pytest.raises(ColumnNotFoundError) as caught:
            select_column(frame, "n", "on")
        assert str(caught.value) == (
            "`on` must name a column of the frame ('a'), got 'n'; it is a level of the index: pass df.reset_index('n')"
        )

    def test_labels_of_several_levels(self):
        frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("x", "a"), ("x", "b")]))
        assert select_column(frame, ("x", "b"), "on").tolist() == [2]
        with pytest.raises(InvalidParameterError) as caught:
            select_column(frame, "x", "on")
        assert str(caught.value) == (
            "`on` must name one column, but 'x' stands for 2 columns of a header with 2 levels; "
            "give a label of all levels, such as ('x', 'a')"
        )


class TestTable:
    def test_named_levels_of_the_index_become_columns(self):
        index = pd.MultiIndex.from_tuples([("p", 1), ("q", 2)], names=["a", None])
        table = frame_to_table(pd.DataFrame({"c": [0.5, None]}, index=index))
        assert table.to_pydict() == {"a": ["p", "q"], "c": [0.5, None]}
        assert frame_to_table(pd.DataFrame({"c": [1]}, index=["r"])).column_names == ["c"]
        assert frame_to_table(pd.DataFrame({"c": [1]}, index=pd.Index([5], name="n"))).to_pydict() == {
            "n": [5],
            "c": [1],
        }

    def test_labels_become_the_names_of_a_header(self):
        labels = ["a", "a", "", 7, None, ("x", 1), " b\nc "]
        table = frame_to_table(pd.DataFrame([range(7)], columns=pd.Index(labels, dtype=object, tupleize_cols=False)))
        assert table.column_names == ["a", "a.1", "Unnamed: 2", "7", "None", "x 1", "b c"]
        assert table.to_pylist() == [dict(zip(table.column_names, range(7), strict=True))]

    def test_a_column_without_a_common_type_becomes_text(self):
        table = frame_to_table(pd.DataFrame({"c": ["a", 1, None, 2.0], "d": ["a", [1], None, 2]}))
        assert table.to_pydict() == {"c": ["a", "1", None, "2"], "d": ["a", "[1]", None, "2"]}

    def test_lists_bytes_and_dicts_stay_what_they_are(self):
        cells = {"l": [[1], None], "b": [b"x", None], "d": [{"a": 1}, None]}
        table = frame_to_table(pd.DataFrame(cells))
        assert table.to_pydict() == cells
        assert pa.types.is_list(table.schema.field("l").type)

    def test_a_frame_of_every_dtype(self):
        columns = {name: column.head(2).reset_index(drop=True) for name, column in COLUMNS.items() if len(column)}
        table = frame_to_table(pd.DataFrame(columns))
        assert table.to_pydict() == {name: [arrow_cell(value) for value in column] for name, column in columns.items()}

    def test_columns_side_by_side_are_those_of_a_frame_of_pandas(self):
        columns = {name: column.head(2).reset_index(drop=True) for name, column in COLUMNS.items() if len(column) > 1}
        found = frame_of_columns(columns)
        pd.testing.assert_frame_equal(found, pd.DataFrame(columns))
        again = frame_of_columns({name: column.set_axis([7, 7]) for name, column in columns.items()})
        pd.testing.assert_frame_equal(again, found)  # by position, whatever labels they have

    def test_a_frame_without_columns_has_none(self):
        assert frame_to_table(pd.DataFrame(index=[1, 2])).num_columns == 0


class TestKindsOfFrames:
    def test_pandas_frames_and_what_inherits_from_them(self):
        class Mine(pd.DataFrame):
            pass

        assert is_pandas(pd.DataFrame()) and is_pandas(Mine())
        assert not any(map(is_pandas, [pd.Series([1]), pd.DataFrame, {}, None]))

    @pytest.mark.parametrize(
        ("module", "name", "expected"),
        [
            ("pyspark.sql.dataframe", "DataFrame", True),
            ("pyspark.sql.connect.dataframe", "DataFrame", True),
            ("pyspark.sql.column", "Column", False),
            ("pyspark.pandas.frame", "DataFrame", False),
            ("mine", "DataFrame", False),
        ],
    )
    def test_frames_of_spark_are_known_by_their_class(self, module, name, expected):
        frame = type(name, (), {"__module__": module})
        assert is_spark(frame()) is is_spark(type("Mine", (frame,), {})()) is expected
        assert not is_spark(pd.DataFrame())
