import datetime
import itertools
import os
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.dates import (
    LONGEST,
    canonical_time,
    day_month_year,
    day_month_year_votes,
    rewrite_day_month_year,
    write_moments,
)
from dfjoin.kernels.texts.numbers import DATE, TIMESTAMP
from tests.kernels.packing import pack, run_in_place
from tests.oracles.values import as_date, naive_day_month_year, naive_hash

UTC = datetime.UTC
MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]


@given(st.dates(), st.data())
def test_every_spelling_of_a_date_becomes_the_iso_date(day, data):
    month = MONTHS[day.month - 1]
    if data.draw(st.booleans()):
        month = month[:3] + data.draw(st.sampled_from(["", "."]))
    number = data.draw(st.sampled_from([str(day.day), f"{day.day:02}"]))
    year = f"{day.year:04}"
    spelled = data.draw(
        st.sampled_from(
            [
                day.isoformat(),
                day.isoformat().replace("-", "/"),
                f"{number} {month} {year}",
                f"{number}-{month}-{year}",
                f"{number}/{month}/{year}",
                f"{month} {number}, {year}",
                f"{month} {number} {year}",
                f"{number} {month}, {year}",
                f"{day.isoformat()}t00:00",
                f"{day.isoformat()} 00:00:00",
                f"{day.isoformat()}t00:00:00.000z",
            ]
        )
    )
    assert run_in_place(canonical_time, spelled) == (day.isoformat(), DATE)


EPOCH = datetime.datetime(1970, 1, 1)
NO_JIT = os.environ.get("NUMBA_DISABLE_JIT") == "1"
MOMENTS = st.datetimes() | st.dates().map(lambda day: datetime.datetime.combine(day, datetime.time()))


@given(st.lists(MOMENTS, max_size=9), st.integers(0, 2**64 - 1))
def test_moments_are_written_as_python_does_and_hashed(moments, seed):
    numbers = np.array([(moment - EPOCH) // datetime.timedelta(microseconds=1) for moment in moments], np.int64)
    n = len(moments)
    packed = np.empty(n, np.uint64), np.empty(LONGEST * n + 8, np.uint8), np.zeros(n + 1, np.int64)
    classes = np.empty(n, np.int8)
    write_moments(as_read_only(numbers), np.uint64(seed), packed, classes)
    hashes, data, offsets = packed
    expected = [moment.isoformat().lower().removesuffix("t00:00:00") for moment in moments]
    assert [bytes(data[i:j]).decode() for i, j in itertools.pairwise(offsets)] == expected
    assert classes.tolist() == [TIMESTAMP if "t" in text else DATE for text in expected]
    assert hashes.tolist() == [naive_hash(text.encode(), seed) for text in expected]


def test_every_day_of_four_hundred_years_is_written():
    days = np.arange(np.datetime64("1600-01-01"), np.datetime64("2000-03-02"))[:: 7 if NO_JIT else 1]
    n = days.size
    packed = np.empty(n, np.uint64), np.empty(LONGEST * n + 8, np.uint8), np.zeros(n + 1, np.int64)
    write_moments(
        as_read_only(days.astype("datetime64[us]").astype(np.int64)), np.uint64(0), packed, np.empty(n, np.int8)
    )
    assert bytes(packed[1][: 10 * n]).decode() == "".join(np.datetime_as_string(days).tolist())


@given(st.datetimes(), st.sampled_from(["t", " "]))
def test_naive_timestamps_are_written_to_the_microsecond(moment, mark):
    expected = moment.isoformat().lower() if moment.time() != datetime.time() else moment.date().isoformat()
    written, kind = run_in_place(canonical_time, moment.isoformat(mark))
    assert written == expected
    assert kind == (TIMESTAMP if "t" in expected else DATE)


@given(
    st.datetimes(datetime.datetime(1, 1, 3), datetime.datetime(9999, 12, 29)),
    st.integers(-14 * 60, 14 * 60),
    st.sampled_from([":", ""]),
)
def test_zoned_timestamps_become_utc(moment, minutes, colon):
    zone = datetime.timezone(datetime.timedelta(minutes=minutes))
    sign, size = "-" if minutes < 0 else "+", abs(minutes)
    spelled = f"{moment.isoformat()}{sign}{size // 60:02}{colon}{size % 60:02}".lower()
    utc = moment.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)
    expected = utc.isoformat().lower() if utc.time() != datetime.time() else utc.date().isoformat()
    assert run_in_place(canonical_time, spelled)[0] == expected


@pytest.mark.parametrize(
    ("text", "written", "kind"),
    [
        ("2020-02-29", "2020-02-29", 3),
        ("2021-02-29", "2021-02-29", 0),
        ("1900-02-29", "1900-02-29", 0),
        ("2000/02/29", "2000-02-29", 3),
        ("2020-13-01", "2020-13-01", 0),
        ("0000-01-01", "0000-01-01", 0),
        ("2020-01-01t10:30", "2020-01-01t10:30:00", 4),
        ("2020-01-01 24:00", "2020-01-01 24:00", 0),
        ("2020-01-01 10:60", "2020-01-01 10:60", 0),
        ("2020-01-01 10:00:60", "2020-01-01 10:00:60", 0),
        ("2020-01-01t10:00:00.5", "2020-01-01t10:00:00.500000", 4),
        ("2020-01-01t10:00:00,25z", "2020-01-01t10:00:00.250000", 4),
        ("2020-01-01t10:00:00.123456789", "2020-01-01t10:00:00.123456", 4),
        ("2020-01-01t10:00:00.1234567890", "2020-01-01t10:00:00.1234567890", 0),
        ("2020-01-01t10:00:00.", "2020-01-01t10:00:00.", 0),
        ("2020-01-01 23:30:00 utc", "2020-01-01t23:30:00", 4),
        ("2020-01-01 23:30-01", "2020-01-02t00:30:00", 4),
        ("2020-12-31 23:00-01", "2021-01-01", 3),
        ("2020-03-01 00:30+01", "2020-02-29t23:30:00", 4),
        ("2020-01-01t01:00+01:00", "2020-01-01", 3),
        ("2020-01-01t01:00+15", "2020-01-01t01:00+15", 0),
        ("2020-01-01t01:00+01:75", "2020-01-01t01:00+01:75", 0),
        ("2020-01-01t01:00 gmt", "2020-01-01t01:00 gmt", 0),
        ("0001-01-01t01:00+02:00", "0001-01-01t01:00+02:00", 0),
        ("9999-12-31t23:00-02:00", "9999-12-31t23:00-02:00", 0),
        ("2020/01/01 10:00", "2020/01/01 10:00", 0),
        ("2020-01/01", "2020-01/01", 0),
        ("2020.01.01", "2020.01.01", 0),
        ("sept 5, 2020", "2020-09-05", 3),
        ("sept. 5 2020", "2020-09-05", 3),
        ("5 sep 2020", "2020-09-05", 3),
        ("may 32, 2020", "may 32, 2020", 0),
        ("feb 30 2020", "feb 30 2020", 0),
        ("mayor 5 2020", "mayor 5 2020", 0),
        ("may 5 20", "may 5 20", 0),
        ("may 0, 2020", "may 0, 2020", 0),
        ("5may2020", "5may2020", 0),
        ("1/2/2020", "1/2/2020", 6),
        ("31.12.2020", "31.12.2020", 6),
        ("12-31-2020", "12-31-2020", 6),
        ("13/13/2020", "13/13/2020", 0),
        ("1/2.2020", "1/2.2020", 0),
        ("1/2/20", "1/2/20", 0),
        ("30/2/2020", "30/2/2020", 0),
        ("2020-01-01t10", "2020-01-01t10", 0),
        ("2020-01-01x10:00", "2020-01-01x10:00", 0),
        ("2020-01-01" + " " * 31, "2020-01-01" + " " * 31, 0),
    ],
)
def test_these_times_are_read_so(text, written, kind):
    assert run_in_place(canonical_time, text) == (written, kind)


SLASHED = st.from_regex(r"[0-3]?[0-9][-/.][0-3]?[0-9][-/.][0-2][0-9]{3}", fullmatch=True)
DMY = st.tuples(SLASHED, st.sampled_from("-/.")).map(lambda p: re.sub(r"[-/.]", p[1], p[0]))


@given(st.one_of(SLASHED, DMY, st.sampled_from(["", "1", "1/", "1/2", "1/2/", "1/2/3", "a/2/2020", "1/2/2020x"])))
def test_day_month_year_is_read_as_its_three_numbers(text):
    data, offsets = pack([text.encode()])
    expected = naive_day_month_year(text)
    assert tuple(map(int, day_month_year(data, 0, offsets[1]))) == (expected or (0, 0, 0))


@given(st.lists(st.one_of(DMY, st.just("paris")), max_size=12))
def test_votes_count_the_values_that_exclude_a_reading(texts):
    data, offsets = pack([t.encode() for t in texts])
    read = [r for r in map(naive_day_month_year, texts) if r]
    only_day = sum(as_date(second, first, year) is None for first, second, year in read)
    only_month = sum(as_date(first, second, year) is None for first, second, year in read)
    assert tuple(map(int, day_month_year_votes(data, offsets))) == (only_day, only_month)


@given(st.lists(st.one_of(DMY, st.just("paris"), st.just("2020-05-01")), max_size=12), st.booleans())
def test_rewritten_dates_follow_the_given_reading_and_other_values_stay(texts, is_day_first):
    data, offsets = pack([t.encode() for t in texts])
    out = np.empty(int(offsets[-1]) + 10 * len(texts), np.uint8)
    ends = rewrite_day_month_year(data, offsets, is_day_first, out)
    expected = []
    for text in texts:
        first, second, year = naive_day_month_year(text) or (0, 0, 0)
        date = as_date(first, second, year) if is_day_first else as_date(second, first, year)
        expected.append(date.isoformat() if date else text)
    assert [out[a:b].tobytes().decode() for a, b in itertools.pairwise(ends)] == expected
