import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.join.keys import ElementKeys, find_elements, match_elements
from dfjoin.values.unicode import normalize_text

KEYS = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal"]


def lists(rng, separator="; ", n=20):
    return [separator.join(rng.choice(KEYS, int(rng.integers(1, 4)), replace=False)) for _ in range(n)]


def array(values):
    return pa.array(values, pa.string())


def nobody(own, other, known):
    return None


@pytest.mark.parametrize("separator", [";", "|", "\n", ",", "/"])
def test_cells_that_list_keys_are_found_on_either_side(rng, separator):
    cells, keys = array(sorted(set(lists(rng, f" {separator} ")))), array([key.upper() for key in KEYS])
    assert find_elements(cells, keys) == ElementKeys("left", separator)
    assert find_elements(keys, cells) == ElementKeys("right", separator)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (
            ["Adler, Ann", "Brook, Bea", "Crane, Cid", "Drake, Dan", "Eagle, Eve", "Finch, Fay"],
            ["Ann", "Bea", "Cid"] * 2,
        ),
        ([f"{i},{i}00" for i in range(1, 9)], [str(i) for i in range(1000)]),
        ([f"{i}/{i}" for i in range(1, 9)], [str(i) for i in range(32)]),
        (["a; b", "c; d", "e"], ["a", "b", "c", "d", "e"]),
        (["a; b"] * 3 + [f"x{i}" for i in range(100)], ["a", "b"]),
        ([f"{k}; zz" for k in "abcdefgh"], [f"{k}; zz" for k in "abcdefgh"] + list("abcdefgh") + ["zz"]),
        ([], []),
    ],
)
def test_other_cells_are_no_lists(left, right):
    assert find_elements(array(sorted(set(left))), array(sorted(set(right)))) is None


@pytest.mark.parametrize("bare", [";", "; ", " ;; "])
def test_cells_that_hold_only_separators_list_nothing(bare):
    cells = array([f"{a}; {b}" for a, b in zip(KEYS, KEYS[1:], strict=False)] + [bare])
    assert find_elements(cells, array(KEYS)) == ElementKeys("left", ";")
    assert find_elements(array([bare] * 6), array(KEYS)) is None


def naive_elements(left, right):
    """Which side lists keys of the other, and by what: text by text."""
    best, chosen = 0.5, None
    for side, lists, keys in (("left", left, right), ("right", right, left)):
        known = {normalize_text(key) for key in keys if key is not None}
        cells = [cell for cell in lists if cell is not None]
        whole = sum(normalize_text(cell) in known for cell in cells) / max(1, len(cells))
        for separator in (";", "|", "\n", ",", "/"):
            parts = [[part.strip() for part in cell.split(separator) if part.strip()] for cell in cells]
            several = [[normalize_text(part) for part in cell] for cell in parts if len(cell) > 1]
            if len(several) < max(5, 0.1 * len(cells)):
                continue
            first, others = {cell[0] for cell in several}, {part for cell in several for part in cell[1:]}
            lacks = [not any(map(str.isalpha, part)) for part in first | others]
            if separator in (",", "/") and 2 * sum(lacks) >= len(lacks):
                continue
            share = min(len(first & known) / len(first), len(others & known) / len(others))
            if share >= best and share > whole and len((first | others) & known) >= 5:
                best, chosen = share, ElementKeys(side, separator)
    return chosen


PART = st.sampled_from(["a", "B", " c ", "d", "é", "e\u0301", "1", "02", "1,5", "\u00a0", "", "f  g"])
JOINED = st.tuples(st.lists(PART, max_size=4), st.sampled_from([";", "|", "\n", ",", "/", "; "])).map(
    lambda parts: parts[1].join(parts[0])
)
BARE = st.text("; |,/\n", max_size=3)  # cells that hold only separators
SIDE = st.lists(st.one_of(st.none(), PART, JOINED, BARE), max_size=14, unique=True)


@settings(max_examples=300)
@given(SIDE, SIDE, st.sampled_from([pa.string(), pa.large_string()]))
def test_lists_are_found_as_text_by_text(left, right, type_):
    found = find_elements(array(left), pa.array(right, type_))
    assert found == naive_elements(left, right)


CELL = st.one_of(st.none(), st.lists(st.sampled_from([*KEYS, "", "Ann", "zed"]), max_size=4).map(";".join))


@given(
    st.lists(CELL, max_size=8, unique=True), st.lists(st.sampled_from([*KEYS, "BOB", None]), max_size=8, unique=True)
)
def test_equal_values_are_all_paired(cells, keys):
    found, fuzzy = match_elements(ElementKeys("left", ";"), array(cells), array(keys), nobody)
    expected = sorted(
        {
            (i, j)
            for i, cell in enumerate(cells)
            for j, key in enumerate(keys)
            if cell is not None and key is not None and key.lower() in [part.lower() for part in cell.split(";")]
        }
    )
    assert fuzzy is None and list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == expected
    assert not found.is_alike.any() and not found.distances.any()
    swapped, _ = match_elements(ElementKeys("right", ";"), array(keys), array(cells), nobody)
    assert sorted(zip(swapped.right.tolist(), swapped.left.tolist(), strict=True)) == expected


def test_values_without_an_equal_key_are_left_to_likeness():
    asked = []

    class Found:
        left_rows, right_rows, distances = np.array([1]), np.array([1]), np.array([0.2])
        chances = np.array([0.9])

    def matcher(own, other, known):
        asked.append((own.to_pylist(), other.to_pylist(), [side.tolist() for side in known]))
        return Found

    cells, keys = array(["ann; bobb", "bobb", None]), array(["ann", "bob"])
    found, _ = match_elements(ElementKeys("left", ";"), cells, keys, matcher)
    assert asked == [(["ann", "bobb"], ["ann", "bob"], [[0], [0]])]
    assert list(zip(*(side.tolist() for side in found), strict=True)) == [
        (0, 0, False, 0.0, 1.0),
        (0, 1, True, 0.2, 0.9),
        (1, 1, True, 0.2, 0.9),
    ]


def test_elements_survive_json_and_hostile_ones_are_refused():
    assert ElementKeys.from_dict(ElementKeys("right", "|").to_dict()) == ElementKeys("right", "|")
    with pytest.raises(InvalidTypeError, match="`elements` must be a JSON object, got 3"):
        ElementKeys.from_dict(3)
    for spoilt in ({"side": "both"}, {"separator": ""}, {"separator": "x" * 10}, {"separator": None}):
        with pytest.raises(
            InvalidParameterError, match='`side` of elements must be "left" or "right", and `separator`'
        ):
            ElementKeys.from_dict({"side": "left", "separator": ";"} | spoilt)
