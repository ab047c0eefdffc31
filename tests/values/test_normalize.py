import datetime
import itertools
import unicodedata
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.join.keys import take_values
from dfjoin.types import IndexSettings
from dfjoin.values.cells import cell_texts, is_searchable_type
from dfjoin.values.key_index import Vocabulary
from dfjoin.values.normalize import (
    keep_values,
    normalize_batch,
    normalize_column,
    pack_strings,
    read_dates,
    unite_value_sets,
)
from dfjoin.values.zero_padding import pad_integers
from tests.oracles import canonical

SETTINGS = IndexSettings(null_evidence=False)  # for what evidence does, see test_nulls.py
UTC = datetime.UTC

# Letters that no date and no number in another spelling than the oracle's can be made of.
WORDS = st.text(
    st.one_of(
        st.characters(categories=["Lu", "Ll", "Lt", "Lo", "Lm", "Mn", "Mc", "Zs", "So", "Sm", "Po", "Cf"]),
        st.sampled_from(" \t\n\u00a0\u3000\u1e9eßİıΣςſﬁÅÅe\u0301\u0308가각ㄱ\uff21Ⅳ²½…－１"),
    ),
    max_size=12,
)


def rows_of(found):
    """The canonical value of each row, None for a null."""
    return [None if code < 0 else found.value(code) for code in found.codes]


def normalized(cells, type_=None, **settings):
    return rows_of(normalize_column(pa.array(cells, type_), replace(SETTINGS, **settings)))


def holds_no_date(texts):
    return not any(unicodedata.normalize("NFKC", t or "").strip()[:1].isdigit() for t in texts)


@given(st.lists(st.one_of(st.none(), WORDS), max_size=20).filter(holds_no_date))
def test_text_becomes_what_python_makes_of_it(cells):
    assert normalized(cells, pa.string()) == [canonical(cell) for cell in cells]


@given(st.lists(st.one_of(st.none(), WORDS, st.sampled_from(["A", "a ", "ß", "SS"])), max_size=40))
def test_distinct_values_are_numbered_by_their_first_row(cells):
    found = normalize_column(pa.array(cells, pa.string()), SETTINGS)
    rows = rows_of(found)
    present = [row for row in rows if row is not None]
    assert found.values() == list(dict.fromkeys(found.values()))
    assert set(found.values()) == set(present)
    assert found.row_counts().tolist() == [present.count(v) for v in found.values()]
    assert found.first_rows().tolist() == [rows.index(v) for v in found.values()]
    assert (len(found), found.n_rows) == (len(set(present)), len(cells))


def test_values_are_numbered_by_their_first_row_when_none_needs_python():
    assert normalize_column(pa.array(["b", "a", None, "B", "c"]), SETTINGS).values() == ["b", "a", "c"]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_the_arrow_type_of_text_does_not_matter(type_):
    cells = ["Straße", None, "STRASSE ", "", " ", "x" * 40, "e\u0301"]
    assert normalized(cells, type_) == ["strasse", None, "strasse", None, None, "x" * 40, "é"]


def test_every_code_point_alone_normalises_as_python_does():
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    expected = [canonical(point) for point in points]
    assert normalized(points, pa.string()) == expected


@pytest.mark.parametrize("frame", ["a{}", "{}a", "e{}", "\u1100{}", "{}\u0301", "a{}b", "\u0915{}"])
def test_every_code_point_beside_another_normalises_as_python_does(frame):
    step = 7  # of a prime step: each block of the tables is met
    points = [chr(c) for c in range(0x21, 0x32000, step) if not 0xD800 <= c < 0xE000]
    points += [chr(c) for c in range(0x80, 0x2000)] + [chr(c) for c in range(0x1100, 0x1200)]
    cells = [frame.format(point) for point in points]
    assert normalized(cells, pa.string()) == [canonical(cell) for cell in cells]


@pytest.mark.parametrize(
    "type_",
    [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()],
    ids=str,
)
def test_integers_become_their_digits_up_to_the_ends_of_their_type(type_):
    bits = type_.bit_width
    signed = pa.types.is_signed_integer(type_)
    ends = [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] if signed else [0, 2**bits - 1]
    assert normalized([*ends, 1, None, 0], type_) == [*map(str, ends), "1", None, "0"]


def test_integers_beyond_the_precision_of_floats_stay_apart():
    numbers = [2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2]
    assert normalized(numbers) == [str(n) for n in numbers]
    assert normalized([str(n) for n in numbers]) == [str(n) for n in numbers]


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=20))
def test_an_integer_and_its_text_are_one_value(numbers):
    expected = [canonical(number) for number in numbers]
    assert normalized(numbers, pa.int64()) == expected
    assert normalized([None if n is None else f" {n}.00" for n in numbers], pa.string()) == expected


@given(st.lists(st.one_of(st.none(), st.integers(-(2**53), 2**53).map(float)), max_size=20))
def test_floats_with_integral_values_become_their_digits(numbers):
    assert normalized(numbers, pa.float64()) == [canonical(number) for number in numbers]


@given(st.lists(st.floats(-1e15, 1e15).filter(lambda x: x == 0 or abs(x) > 1e-3), max_size=20))
def test_a_float_is_written_so_that_it_reads_back_as_itself(numbers):
    texts = normalized(numbers, pa.float64())
    assert [float(text) for text in texts] == [x + 0.0 for x in numbers]
    assert all("." not in text for text, x in zip(texts, numbers, strict=True) if x.is_integer())


def test_fractions_nulls_and_large_floats_keep_their_value():
    cells = [0.1, 2.5, -0.0, 1e18, 1e19, -1e22, 2.0**80, None, float("nan"), 3.0]
    expected = ["0.1", "2.5", "0", str(10**18), str(10**19), str(-(10**22)), str(2**80), None, None, "3"]
    assert normalized(cells, pa.float64()) == expected


def test_infinite_floats_are_values_and_nan_is_null():
    assert normalized([float("inf"), float("-inf"), float("nan"), 1.5]) == ["inf", "-inf", None, "1.5"]
    assert normalized([float("nan"), 1.0]) == [None, "1"]


def test_single_precision_floats_are_written_in_their_shortest_spelling():
    assert normalized([0.1, 2.0, None, 16777216.0], pa.float32()) == ["0.1", "2", None, "16777216"]


def test_decimals_with_an_integral_value_become_their_digits_and_others_lose_the_zeros_of_their_scale():
    cells = [Decimal("1.00"), Decimal("-3.50"), Decimal("12345678901234567890.00"), None, Decimal("0.00")]
    assert normalized(cells, pa.decimal128(38, 2)) == ["1", "-3.5", "12345678901234567890", None, "0"]
    assert normalized([Decimal("100"), Decimal("0")], pa.decimal128(5, 0)) == ["100", "0"]
    assert normalized([Decimal("10.10")], pa.decimal256(60, 4)) == normalized([10.1]) == ["10.1"]


def test_booleans_become_words():
    assert normalized([True, None, False]) == ["true", None, "false"]


def test_dates_become_iso_dates_of_every_type():
    day = datetime.date(2020, 2, 29)
    assert normalized([day, None], pa.date32()) == ["2020-02-29", None]
    assert normalized([day, None], pa.date64()) == ["2020-02-29", None]


def test_timestamps_are_written_to_the_microsecond_and_midnight_is_a_date():
    cells = [
        datetime.datetime(2020, 1, 1),
        datetime.datetime(2020, 1, 1, 10, 30),
        datetime.datetime(2020, 1, 1, 0, 0, 0, 7),
        datetime.datetime(1960, 5, 6, 7, 8, 9, 123000),
        None,
    ]
    for unit in ("ns", "us"):
        assert normalized(cells, pa.timestamp(unit)) == [canonical(cell) for cell in cells]
    whole = [cell and cell.replace(microsecond=0) for cell in cells]
    assert normalized(whole, pa.timestamp("s")) == [canonical(cell) for cell in whole]
    assert normalized([str(cell) if cell else None for cell in cells]) == [canonical(cell) for cell in cells]


@given(st.lists(st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)), max_size=10))
def test_a_timestamp_and_its_iso_text_are_one_value(moments):
    expected = [canonical(moment) for moment in moments]
    assert normalized(moments, pa.timestamp("us")) == expected
    assert normalized([m.isoformat(" ") for m in moments], pa.string()) == expected


def test_zoned_timestamps_are_utc(monkeypatch):
    monkeypatch.delenv("PYARROW_IGNORE_TIMEZONE", raising=False)  # pandas-on-Spark sets it for the whole process
    zone = datetime.timezone(datetime.timedelta(hours=2))
    cells = [datetime.datetime(2020, 1, 1, 2, tzinfo=zone), datetime.datetime(2020, 1, 1, 1, 30, tzinfo=zone)]
    expected = ["2020-01-01", "2019-12-31t23:30:00"]
    assert normalized(cells, pa.timestamp("us", "+02:00")) == expected
    assert normalized(cells, pa.timestamp("ns", "Europe/Berlin")) == expected
    assert normalized([c.isoformat() for c in cells]) == expected


def test_names_of_months_are_read():
    cells = ["5 May 2020", "May 5, 2020", "5-MAY-2020", "05\u00a0mai 2020", "2020/05/05", "Sept. 5, 2020"]
    assert normalized(cells) == ["2020-05-05"] * 3 + ["05 mai 2020", "2020-05-05", "2020-09-05"]


def test_full_width_digits_are_the_number_they_show():
    assert normalized(["１２", "－３.0", "２０２０-05-01", "Ⅻ"]) == ["12", "-3", "2020-05-01", "xii"]


@pytest.mark.parametrize("text", ["007", "+49", "1.10", "1e3", "1,000", "1_000", "0x1f", "1 000", "£5"])
def test_other_spellings_of_numbers_stay_text(text):
    assert normalized([text, "1000", "49"]) == [text, "1000", "49"]


def test_dictionary_arrays_are_their_values():
    array = pa.array(["b", "A", None, "a ", "b"]).dictionary_encode()
    assert rows_of(normalize_column(array, SETTINGS)) == ["b", "a", None, "a", "b"]
    numbers = pa.array([1.0, 2.0, None, 1.0]).dictionary_encode()
    assert rows_of(normalize_column(numbers, SETTINGS)) == ["1", "2", None, "1"]


def test_chunks_are_one_column_even_when_their_dictionaries_differ():
    chunked = pa.chunked_array([["a", "b"], [], ["B", None, "é"]], pa.string())
    assert rows_of(normalize_column(chunked, SETTINGS)) == ["a", "b", "b", None, "é"]
    parts = [pa.array(["x", "y"]).dictionary_encode(), pa.array(["y", "z"]).dictionary_encode()]
    assert rows_of(normalize_column(pa.chunked_array(parts), SETTINGS)) == ["x", "y", "y", "z"]


def test_a_slice_is_only_its_rows():
    array = pa.array(["no", None, "Ä", "b", None, "ä", "no"])
    assert rows_of(normalize_column(array.slice(1, 5), SETTINGS)) == [None, "ä", "b", None, "ä"]


@pytest.mark.parametrize("array", [pa.nulls(3), pa.array([None] * 3, pa.string()), pa.array([""] * 3)], ids=str)
def test_a_column_of_nulls_has_no_values(array):
    found = normalize_column(array, SETTINGS)
    assert (len(found), found.values(), rows_of(found)) == (0, [], [None] * 3)


def test_an_empty_column_has_no_rows():
    found = normalize_column(pa.array([], pa.string()), SETTINGS)
    assert (len(found), found.n_rows, found.first_rows().tolist()) == (0, 0, [])


def test_na_is_text_until_the_settings_say_that_it_is_null():
    cells = ["NA", "na ", "n/a", "", "-", "NaN", "null"]
    assert normalized(cells) == ["na", "na", "n/a", None, "-", "nan", "null"]
    spellings = ("", "N/A", " na", "-")
    assert normalized(cells, null_spellings=spellings) == [None, None, None, None, None, "nan", "null"]
    assert normalized(["", "a"], null_spellings=()) == ["", "a"]
    assert normalized(["-1", "1"], null_spellings=("-1",)) == [None, "1"]


@pytest.mark.parametrize(
    ("spelling", "cells"),
    [
        ("-999.0", ["-999.0", "-999", " -999.00 "]),
        ("-0", ["-0", "0", "0.0"]),
        ("1900-01-01 00:00:00", ["1900-01-01", "1 Jan 1900", "1900-01-01T00:00"]),
        ("1 Jan 1900", ["1900-01-01", "January 1, 1900"]),
        ("N/A", ["n/a", " N/A"]),
        ("1/1/1900", ["1/1/1900"]),
    ],
)
def test_a_null_spelling_goes_for_all_that_have_its_canonical_value(spelling, cells):
    assert normalized([*cells, "a"], pa.string(), null_spellings=(spelling,)) == [*[None] * len(cells), "a"]


def test_a_null_spelling_of_numbers_goes_for_numbers_of_every_type():
    for type_ in (pa.int64(), pa.float64(), pa.decimal128(9, 2)):
        assert normalized([-999, 1], type_, null_spellings=("-999.0",)) == [None, "1"]
    day = datetime.date(1900, 1, 1)
    assert normalized([day, None], pa.date32(), null_spellings=("1 Jan 1900",)) == [None, None]


def test_a_null_spelling_of_digits_is_read_as_the_dates_are():
    cells = ["2/1/1900", "1900-01-02", "1900-02-01"]
    assert normalized(cells, null_spellings=("2/1/1900",), dayfirst=True) == [None, None, "1900-02-01"]
    assert normalized(cells, null_spellings=("2/1/1900",), dayfirst=False) == [None, "1900-01-02", None]


def test_the_column_decides_how_all_digit_dates_are_read():
    found = normalize_column(pa.array(["1/2/2020", "25/12/2020", None]), SETTINGS)
    assert rows_of(found) == ["2020-02-01", "2020-12-25", None]
    assert found.date_order == "dmy"
    found = normalize_column(pa.array(["1/2/2020", "12/25/2020"]), SETTINGS)
    assert (rows_of(found), found.date_order) == (["2020-01-02", "2020-12-25"], "mdy")


@pytest.mark.parametrize(
    "cells",
    [
        ["1/2/2020", "3/4/2020"],
        ["1/2/2020", "25/12/2020", "12/25/2020"],
        ["1/2/2020", "25/12/2020", "unknown"],
        ["1/2/2020", "25/12/2020", "2020-05-01"],
    ],
    ids=["both readings", "contradiction", "a word", "an ISO date"],
)
def test_all_digit_dates_stay_text_when_the_column_does_not_decide(cells):
    found = normalize_column(pa.array(cells), SETTINGS)
    assert (rows_of(found), found.date_order) == (cells, "")


def test_the_settings_say_how_all_digit_dates_are_read():
    cells = ["1/2/2020", "25/12/2020", "word", "3.4.2021"]
    found = normalize_column(pa.array(cells), IndexSettings(dayfirst=True))
    assert (rows_of(found), found.date_order) == (["2020-02-01", "2020-12-25", "word", "2021-04-03"], "dmy")
    found = normalize_column(pa.array(cells), IndexSettings(dayfirst=False))
    assert (rows_of(found), found.date_order) == (["2020-01-02", "25/12/2020", "word", "2021-03-04"], "mdy")


def test_two_spellings_of_an_all_digit_date_become_one_value():
    found = normalize_column(pa.array(["1/2/2020", "01.02.2020", "31/1/2020"]), SETTINGS)
    assert found.values() == ["2020-02-01", "2020-01-31"]
    assert found.codes.tolist() == [0, 0, 1]


@given(st.lists(st.one_of(st.none(), st.integers(-12000, 12000)), max_size=20), st.integers(1, 6))
def test_padded_integers_have_zeros_in_front_up_to_the_width(numbers, width):
    found = pad_integers(normalize_column(pa.array(numbers, pa.int64()), SETTINGS), width, SETTINGS)
    expected = [None if n is None else str(n).zfill(width) if n >= 0 else str(n) for n in numbers]
    assert rows_of(found) == expected
    assert found.values() == list(dict.fromkeys(e for e in expected if e is not None))


def test_a_padded_integer_meets_the_text_that_was_padded_already():
    found = pad_integers(normalize_column(pa.array(["7", "07", "ab", "7.0", "é"]), SETTINGS), 2, SETTINGS)
    assert rows_of(found) == ["07", "07", "ab", "07", "é"]
    assert found.hashes.tolist() == normalize_column(pa.array(["07", "ab", "é"]), SETTINGS).hashes.tolist()


def test_padding_leaves_a_column_without_short_integers_as_it_is():
    found = normalize_column(pa.array(["ab", "-5", "12345"]), SETTINGS)
    assert pad_integers(found, 3, SETTINGS) is found


CELLS = st.one_of(
    st.none(),
    WORDS,
    st.integers(-9, 9).map(str),
    st.sampled_from(["1/2/2020", "25/12/2020", "2020-05-01", "5 May 2020", "1.0", "NA", "", "true", "1.50"]),
)


@given(st.lists(st.lists(CELLS, max_size=8), min_size=1, max_size=4), st.sampled_from([None, True, False]))
def test_united_batches_are_the_values_of_the_whole_column(batches, dayfirst):
    settings = IndexSettings(null_spellings=("", "na"), dayfirst=dayfirst)
    arrays = [pa.array(batch, pa.string()) for batch in batches]
    parts = [normalize_batch(array, settings) for array in arrays]
    united = read_dates(unite_value_sets(parts, settings), settings)
    whole = normalize_column(pa.chunked_array(arrays, pa.string()), settings)
    assert dict(zip(united.values(), united.classes.tolist(), strict=True)) == dict(
        zip(whole.values(), whole.classes.tolist(), strict=True)
    )
    assert set(united.hashes.tolist()) == set(whole.hashes.tolist())
    assert united.date_order == whole.date_order


def test_a_batch_leaves_all_digit_dates_to_the_column():
    assert normalize_batch(pa.array(["25/12/2020"]), SETTINGS).values() == ["25/12/2020"]


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        (pa.string(), True),
        (pa.int64(), True),
        (pa.float32(), True),
        (pa.decimal128(5, 2), True),
        (pa.date32(), True),
        (pa.timestamp("ns", "UTC"), True),
        (pa.dictionary(pa.int8(), pa.string()), True),
        (pa.null(), True),
        (pa.binary(), False),
        (pa.large_binary(), False),
        (pa.binary(4), False),
        (pa.binary_view(), False),
        (pa.list_(pa.int8()), False),
        (pa.struct([("a", pa.int8())]), False),
        (pa.map_(pa.string(), pa.int8()), False),
        (pa.bool_(), False),
        (pa.dictionary(pa.int8(), pa.binary()), False),
    ],
    ids=str,
)
def test_binary_nested_and_boolean_columns_are_not_searched(type_, expected):
    assert is_searchable_type(type_) is expected


def test_packed_strings_can_be_unpacked_and_are_read_only():
    texts = ["", "é", "abc", "\U0001f600"]
    data, offsets = pack_strings(texts)
    assert [data[a:b].tobytes().decode() for a, b in itertools.pairwise(offsets)] == texts
    assert data.shape[0] == offsets[-1] + 8
    assert not data.flags.writeable
    assert not offsets.flags.writeable


def test_pandas_columns_normalise_like_their_cells():
    frame = pd.DataFrame({"n": [1.0, None, 3.0], "t": ["Ä", None, " x "], "c": pd.Categorical(["a", "B", "a"])})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    rows = [rows_of(normalize_column(table[name], SETTINGS)) for name in frame]
    assert rows == [["1", None, "3"], ["ä", None, "x"], ["a", "b", "a"]]


def test_the_seed_changes_the_hashes_and_not_the_values():
    one = normalize_column(pa.array(["a", "", "b"]), IndexSettings(hash_seed=1))
    two = normalize_column(pa.array(["a", "", "b"]), IndexSettings(hash_seed=2))
    assert one.values() == two.values() == ["a", "b"]
    assert not set(one.hashes.tolist()) & set(two.hashes.tolist())


# Arrow writes a decimal zero of scale 7 and more as 0E-10.
def test_a_decimal_zero_of_any_scale_is_the_digit_zero():
    array = pa.array([Decimal("0"), Decimal("1")], pa.decimal128(20, 10))
    assert normalize_column(array, SETTINGS).values() == ["0", "1"]


# Arrow writes decimals of negative scale as 1E+3.
def test_decimals_of_negative_scale_are_their_digits():
    array = pa.array([Decimal("1000"), Decimal("12000")], pa.decimal128(5, -3))
    assert normalize_column(array, SETTINGS).values() == ["1000", "12000"]


# The cast from ns to us rounds towards zero: times before 1970 move up, here into another day.
def test_nanoseconds_before_1970_are_cut_as_those_of_their_text():
    array = pa.array([-1], pa.timestamp("ns"))
    text = pa.array(["1969-12-31T23:59:59.999999999"])
    assert normalize_column(text, SETTINGS).values() == ["1969-12-31t23:59:59.999999"]
    assert normalize_column(array, SETTINGS).values() == normalize_column(text, SETTINGS).values()


# Arrow's own rounding turns the earliest nanosecond into the latest.
def test_the_first_and_last_nanosecond_are_those_of_their_text():
    array = pa.array([-(2**63) + 1, None, 2**63 - 1]).view(pa.timestamp("ns"))
    written = ["1677-09-21t00:12:43.145224", "2262-04-11t23:47:16.854775"]
    assert normalize_column(array, SETTINGS).values() == written
    assert normalize_column(cell_texts(array), SETTINGS).values() == written


PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DATED = [pa.timestamp(unit, zone) for unit in PER_SECOND for zone in (None, "Asia/Tokyo")]


@given(
    st.lists(st.none() | st.integers(-40, 40), max_size=20),
    st.sampled_from([*DATED, pa.date32(), pa.date64()]),
    st.sampled_from([1, 997, 86_400]),
    st.booleans(),
)
def test_dates_are_the_values_that_python_writes(numbers, type_, step, is_sorted):
    if is_sorted:
        numbers = sorted(number for number in numbers if number is not None)
    is_date = pa.types.is_date(type_)
    per_second = 1 if is_date else PER_SECOND[type_.unit]
    width = {pa.date32(): 1, pa.date64(): 86_400_000}.get(type_, step)
    held = [None, *(None if number is None else number * width for number in numbers)]
    array = pa.array(held, pa.int32() if type_ == pa.date32() else pa.int64()).view(type_)[1:]
    texts = []
    for number in numbers:
        seconds = 86_400 * number if is_date and number is not None else number
        micro = None if number is None else seconds * (1 if is_date else step) * 10**6 // per_second
        moment = None if number is None else datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=micro)
        texts.append(moment and moment.isoformat().lower().removesuffix("t00:00:00"))
    settings = IndexSettings(("", "1970-01-01"))
    found, expected = normalize_column(array, settings), normalize_column(pa.array(texts, pa.string()), settings)
    assert found.values() == list(dict.fromkeys(text for text in texts if text and text != "1970-01-01"))
    for name in ("codes", "hashes", "classes", "offsets"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    assert found.codes.dtype == np.int32


def test_every_type_that_is_called_searchable_can_be_normalised():
    array = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    assert not is_searchable_type(array.type) or len(normalize_column(array, SETTINGS)) > 0


WHOLE = st.lists(st.one_of(st.none(), st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1)), max_size=80)


def test_distinct_integers_are_held_without_room_for_the_rows():
    found = normalize_column(pa.array(np.tile(np.arange(1990, 2024), 1000)), SETTINGS)
    arrays = [found.hashes, found.data, found.offsets, found.classes, found.integers.held.slots, found.integers.numbers]
    assert all((one if one.base is None else one.base).nbytes < 1000 for one in arrays)
    other = normalize_column(pa.array([2023, 1990, 5, 1989, 2023]), SETTINGS)
    assert Vocabulary(found).codes_of(other).tolist() == [33, 0, -1, -1]


@given(WHOLE, st.integers(0, 3), st.sampled_from(["", "7", "-3"]))
def test_whole_numbers_are_the_values_that_their_digits_are(numbers, offset, null):
    settings = IndexSettings(("", null))
    array = pa.array([1, 2, 3, *numbers], pa.int64()).slice(offset)
    found, expected = normalize_column(array, settings), normalize_column(array.cast(pa.string()), settings)
    assert found.values() == expected.values()
    for name in ("codes", "hashes", "classes", "offsets"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    assert found.integers.numbers.tolist() == [int(text) for text in found.values()]


@given(WHOLE, WHOLE, st.integers(1, 3))
def test_parts_of_whole_numbers_are_the_values_that_their_digits_are(numbers, more, every):
    arrays = [pa.array(numbers, pa.int64()), pa.array(more, pa.int64())]
    found = [normalize_batch(array, SETTINGS) for array in arrays]
    expected = [normalize_batch(array.cast(pa.string()), SETTINGS) for array in arrays]
    for one in (found, expected):
        one.append(unite_value_sets(one, SETTINGS))
        one.append(keep_values(one[0], np.arange(len(one[0])) % every == 0))
        one.append(take_values(one[1], np.arange(len(more), dtype=np.int64)[::every]))
    for integers, texts in zip(found, expected, strict=True):
        assert integers.values() == texts.values()
        for name in ("codes", "hashes", "classes", "offsets"):
            assert getattr(integers, name).tolist() == getattr(texts, name).tolist(), name
        for one, other in itertools.product((integers, texts), repeat=2):  # by numbers and by texts
            assert Vocabulary(one).codes_of(replace(other)).tolist() == list(range(len(other)))


@pytest.mark.parametrize(
    ("array", "is_whole"),
    [
        (pa.array([1.0, None, float("nan"), -0.0, 5e15], pa.float64()), True),
        (pa.array([1.0, 2.5]), False),
        (pa.array([float("inf"), 1.0]), False),
        (pa.array([2.0**63]), False),
        (pa.array([1, 2**64 - 1], pa.uint64()), False),
        (pa.array([3, 2**63 - 1, None], pa.uint64()), True),
        (pa.array([5, None, 5, -7], pa.int8()).dictionary_encode(), True),
        (pa.array([], pa.int32()), True),
        (pa.array([None, None], pa.float32()), True),
    ],
)
def test_columns_of_whole_numbers_are_read_as_numbers(array, is_whole):
    found = normalize_column(array, IndexSettings())
    texts = [
        None if v is None or v != v else str(int(v)) if v == v // 1 and abs(v) < 2e19 else str(v)
        for v in array.to_pylist()
    ]
    assert (found.integers is not None) == is_whole
    assert [None if code < 0 else found.value(code) for code in found.codes.tolist()] == texts
