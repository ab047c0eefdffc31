import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.calendar_operators import ReadDuration, WriteDuration


@pytest.mark.parametrize(
    ("first", "text", "expected"),
    [
        ("hours", "02:45:45", "9945"),
        ("minutes", "2:45:45.250", "9945.25"),
        ("hours", "12:05", "43500"),
        ("minutes", "12:05", "725"),
        ("hours", "100:00:00.0", "360000"),
        ("hours", "1:60", None),
        ("hours", "1:2:3:4", None),
        ("hours", "12", None),
        ("hours", "1:30 h", None),
    ],
)
def test_durations_are_read_as_seconds(first, text, expected):
    assert ReadDuration(first)(text) == expected


@pytest.mark.parametrize(
    ("layout", "text", "expected"),
    [
        ("H:MM:SS", "9945", "2:45:45"),
        ("HH:MM:SS", "9945", "02:45:45"),
        ("HH:MM:SS", "3600000", "1000:00:00"),
        ("H:MM", "5400", "1:30"),
        ("HH:MM", "5401", None),
        ("M:SS", "725", "12:05"),
        ("MM:SS", "65", "01:05"),
        ("M:SS", "6.5", None),
        ("M:SS", "-6", None),
        ("M:SS", "1234567890", None),
    ],
)
def test_durations_are_written(layout, text, expected):
    assert WriteDuration(layout)(text) == expected


@given(st.integers(0, 10**9 - 1), st.sampled_from(["H:MM:SS", "HH:MM:SS"]))
def test_what_is_written_is_read_again(seconds, layout):
    assert ReadDuration("hours")(WriteDuration(layout)(str(seconds))) == str(seconds)
