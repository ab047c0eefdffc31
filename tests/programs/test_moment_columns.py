"""Columns of moments against one moment at a time."""

import datetime
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs import time_operators
from dfjoin.programs.string_column import StringColumn
from dfjoin.programs.time_operators import ORDERS, MoveTime, ReadTime, WriteTime
from tests.programs.strategies import TEXTS

_LAYOUTS = ["%Y-%m-%d %H:%M:%S", "%-d %B %y", "%^b %-m", "%~A, %a", "%I:%M %p", "%-I%~p", "%j %-j", "%G-W%V-%u", "Q%q", "%-d%o", "%%%H", "%-G %-S"]  # fmt: skip
_SPELLINGS = [*_LAYOUTS[:2], "%d/%m/%Y %H:%M", "%m.%d.%y", "%A, %B %-d, %Y at %I:%M %p", "%Y%m%d", "%Y %j", "%H:%M:%S", "%Y%m%d%H%M%S", "%b %d", "%B", "%d-%m-%YT%H:%M:%SZ", "%H%M", "%Y-%m", "%a %b %d %H:%M:%S %Y"]  # fmt: skip


def spelled(rng):
    """A moment in some spelling, sometimes spoilt."""
    days = rng.choice([rng.randrange(3_652_059), 730_000 + rng.randrange(3_000), *(rng.randrange(-3, 3) % 3_652_059,)])
    moment = datetime.datetime.fromordinal(days + 1) + datetime.timedelta(seconds=rng.randrange(86_400))
    text = moment.strftime(rng.choice(_SPELLINGS).replace("%-d", str(moment.day)))
    if rng.random() < 0.3:
        place = rng.randrange(len(text))
        text = text[:place] + rng.choice("0123456789?./-: éſK") + text[place + 1 :]
    return text.upper() if rng.random() < 0.1 else text


@pytest.fixture(autouse=True)
def _arrays(monkeypatch):
    monkeypatch.setattr(time_operators, "_FEW", 0)


def both(step, texts):
    """Results of a column, and of each text by itself."""
    found = step.apply(StringColumn.of(pa.array(texts, pa.string()))).to_arrow().to_pylist()
    return found, [(step(text) or None) if text else None for text in texts]


@pytest.mark.parametrize("order", sorted(ORDERS))
def test_every_order_is_read_as_one_by_one(order):
    rng = random.Random(order)
    texts = [spelled(rng) for _ in range(400)]
    for orders in (order, f"{order} y-m-d", f"d/m/y {order}"):
        found, wanted = both(ReadTime(orders, 30), texts)
        assert found == wanted


def moments(rng):
    parts = [f"{rng.choice([rng.randrange(1, 10_000), 9999, 1, 2024, 1900]):04d}", f"{rng.randrange(14):02d}"]
    parts += [
        f"{rng.randrange(33):02d}",
        f"{rng.randrange(25):02d}",
        f"{rng.randrange(61):02d}",
        f"{rng.randrange(61):02d}",
    ]
    if rng.random() < 0.3:
        parts[:3] = "????", "??", "??"
    parts = ["?" * len(part) if rng.random() < 0.1 else part for part in parts]
    return "{}-{}-{}T{}:{}:{}".format(*parts)


@pytest.mark.parametrize("step", [*map(WriteTime, _LAYOUTS), MoveTime(0, 1, 0), MoveTime(-90_000, 900, 3), MoveTime(5_000_000, 86_400, -1)])  # fmt: skip
def test_moments_are_moved_and_written_as_one_by_one(step):
    rng = random.Random(str(step))
    found, wanted = both(step, [moments(rng) for _ in range(1_500)] + ["", "x", "2024-02-29T00:00:00", "2023-02-29T00:00:00", None])  # fmt: skip
    assert found == wanted
    assert sum(text is not None for text in found) > 50


@given(st.lists(TEXTS, max_size=30), st.sampled_from(sorted(ORDERS)), st.sampled_from(_LAYOUTS))
def test_any_text_is_read_or_refused_as_one_by_one(texts, order, layout):
    for step in (ReadTime(order), MoveTime(1, 1, 1), WriteTime(layout)):
        found, wanted = both(step, texts)
        assert found == wanted
