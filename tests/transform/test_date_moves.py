from dfjoin.programs.calendar_operators import MoveDate
from dfjoin.transform.compose.moments import date_moves, serial_readers, serial_writers

UNKNOWN = "T??:??:??"


def best(dates, targets, orders=("y-m-d",)):
    found = date_moves([date + UNKNOWN for date in dates], orders, targets)
    return found[0][1] if found else None


def test_ends_of_units_are_the_likeliest_moves():
    assert best(["2021-02-03", "2020-02-29"], ["2021-02-28", "2020-02-29"]) == MoveDate("month", 1, -1)
    assert best(["2021-02-03", "2020-05-29"], ["2021-03-31", "2020-06-30"]) == MoveDate("quarter", 3, -1)
    assert best(["2021-02-03", "2020-05-29"], ["2021-02-07", "2020-05-31"]) == MoveDate("week", 0, 6)


def test_one_date_is_moved_by_likely_days_only():
    assert best(["2021-02-03"], ["2021-02-10"]) == MoveDate("day", 0, 7)
    assert best(["2021-02-03"], ["2021-04-22"]) is None


def test_years_without_dates_are_those_of_a_fiscal_year():
    moved = date_moves(["2021-12-26" + UNKNOWN, "2019-01-08" + UNKNOWN], [], ["FY2022", "FY2019"])
    assert MoveDate("month", 3, 0) in [move for _, move in moved]
    assert date_moves(["2021-??-26" + UNKNOWN], [], ["FY2022"]) == []


def test_counts_are_dates_of_plausible_years_only():
    assert [step.origin for step in serial_readers(["44556"], ["43051"])] == ["excel days", "unix days"]
    assert [step.origin for step in serial_readers(["1640476800"], [])] == ["unix seconds"]
    assert serial_readers(["12557"], ["990000"]) == []
    assert serial_readers(["2021-01-01"], []) == []
    (writer,) = serial_writers(["2021-12-26" + UNKNOWN], ["1640476800"])
    assert writer.origin == "unix seconds"
