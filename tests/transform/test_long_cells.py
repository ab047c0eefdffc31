"""Programs of columns with long cells: learned from what they begin with, within bounded memory."""

import random
import tracemalloc

import pyarrow as pa

from dfjoin.transform.find_programs import find_programs


def _cells(n, size):
    rng = random.Random(1)
    words = ["".join(rng.choice("abcdefghij") for _ in range(6)) for _ in range(5000)]
    return [" ".join(rng.choice(words) for _ in range(size // 7)) for _ in range(n)]


def _peak(size):
    ids = [f"{i * 7919 % 100_003:05d}" for i in range(60)]
    left = {"a": pa.array([f"{i}: {text}" for i, text in zip(ids, _cells(60, size), strict=True)])}
    right = {"b": pa.array([f"Nr. {i}" for i in ids])}
    tracemalloc.start()
    found = find_programs(left, right)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [str(one.program) for one in found.programs] == ["'nr. ' + a.split(': ')[0]"]
    return peak


def test_memory_follows_the_number_of_long_cells_and_not_their_length():
    _peak(500)  # what is loaded on first use
    short, long = _peak(2_000), _peak(20_000)
    assert long - short < 20 * 60 * 18_000  # twenty bytes for each byte more, where suffixes took 36 of one column


def test_long_cells_are_named_in_what_was_tried():
    cells = _cells(20, 3_000)
    tried = find_programs({"a": pa.array(cells)}, {"b": pa.array([str(i) for i in range(20)])}).tried
    assert "a: of texts above 400 characters so many are looked at" in tried
