"""Columns of dates in different spellings."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.transform_join import join_rows
from dfjoin.transform.find_programs import find_programs
from dfjoin.transform.relations.relate_dates import date_program, days_may_be_exchanged

RNG = np.random.default_rng(5)
DAYS = [date(2019, 1, 1) + timedelta(days=int(n)) for n in RNG.choice(1500, 80, replace=False)]


def column(texts):
    return Column("day", pa.array(texts, pa.string()))


@pytest.mark.parametrize(
    ("own", "theirs"),
    [("%d-%b-%y", "%Y-%m-%d"), ("%m/%d/%y", "%d.%m.%Y"), ("%B %d, %Y", "%Y%m%d"), ("%d.%m.%y", "%Y/%m/%d")],
)
def test_dates_meet_whatever_their_spelling(own, theirs):
    left, right = (
        {"day": pa.array([d.strftime(own) for d in DAYS])},
        {"when": pa.array([d.strftime(theirs) for d in DAYS])},
    )
    rows = join_rows(find_programs(left, right), left, right)
    assert rows.left_rows.tolist() == rows.right_rows.tolist() == list(range(80))


def test_days_may_be_exchanged_where_both_readings_join():
    days = [date(2020 + y, m, d) for y in range(2) for m in range(1, 13) for d in range(1, 13)]
    plain = column([d.isoformat() for d in days])
    assert days_may_be_exchanged(column([d.strftime("%m/%d/%Y") for d in days]), plain)
    some = [d for d in days if d.day > d.month]  # read the other way they are other dates
    assert not days_may_be_exchanged(
        column([d.strftime("%m/%d/%Y") for d in some]), column([d.isoformat() for d in some])
    )
    assert not days_may_be_exchanged(column([f"13/12/{y}" for y in range(2000, 2020)]), plain)
    assert not days_may_be_exchanged(column(["abc", "d"]), plain)


def test_an_open_order_of_day_and_month_is_not_guessed():
    assert date_program(column(["4/7/23", "5/6/22"])) is None
    assert date_program(column(["4/7/23", "5/16/22"]))("4/7/23") == "2023-04-07"


@pytest.mark.parametrize(
    "texts", [["a", "b"], ["2023-04-01"], ["2023-04-01 10:00", "2023-04-02 11:00"], ["12", "x1"], []]
)
def test_other_columns_are_no_dates(texts):
    assert date_program(column(texts)) is None


SECONDS = [1_600_000_000 + int(n) for n in RNG.choice(10**8, 80, replace=False)]
MOMENTS = [datetime.fromtimestamp(n, UTC) for n in SECONDS]


@pytest.mark.parametrize(
    ("own", "theirs"),
    [
        ("%m/%d/%Y %I:%M:%S %p", "%Y-%m-%d %H:%M:%S.000000"),
        ("%d.%m.%Y %H:%M:%S", "%b %d, %Y %I:%M:%S %p"),
        ("%d-%b-%Y %H:%M:%S", "%s"),
        ("%Y-%m-%dT%H:%M:%SZ", "%s000"),
        ("%s", "%s000"),
    ],
)
def test_moments_meet_whatever_their_spelling(own, theirs):
    def spelled(layout):
        texts = [layout.replace("%s", str(n)) for n in SECONDS]
        return pa.array([moment.strftime(text) for moment, text in zip(MOMENTS, texts, strict=True)])

    left, right = {"at": spelled(own)}, {"when": spelled(theirs)}
    rows = join_rows(find_programs(left, right), left, right)
    assert rows.left_rows.tolist() == rows.right_rows.tolist() == list(range(80))


@pytest.mark.parametrize("fine", ["{m:%Y-%m-%d %H:%M:%S}.{n:03d}", "{s}{n:03d}"])
def test_parts_of_a_second_are_not_left_out(fine):
    texts = [
        fine.format(m=moment, s=second, n=n) for n, (moment, second) in enumerate(zip(MOMENTS, SECONDS, strict=True))
    ]
    assert date_program(column(texts), "%Y-%m-%d %H:%M:%S") is None


def test_a_dense_calendar_is_no_evidence():
    days = [date(2021, 1, 1) + timedelta(days=i) for i in range(365)]
    left = {"day": pa.array([d.strftime("%d-%b-%y") for d in days[::2]]), "x": pa.array([f"v{i}" for i in range(183)])}
    right = {"when": pa.array([d.strftime("%d.%m.%Y") for d in days]), "y": pa.array([f"w{i}" for i in range(365)])}
    assert not find_programs(left, right).found
