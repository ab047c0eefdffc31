"""The weeks of ISO 8601 that times are written with, against Python's calendar."""

import datetime

from dfjoin.programs.scalar_times import write_time


def test_weeks_at_the_turn_of_every_year_are_those_of_the_calendar():
    for year in range(1990, 2031):
        for month, day in [(12, d) for d in range(26, 32)] + [(1, d) for d in range(1, 7)]:
            date = datetime.date(year, month, day)
            iso_year, week, _ = date.isocalendar()
            assert write_time(f"{date}T00:00:00", "%G-%V") == f"{iso_year}-{week:02d}", date
