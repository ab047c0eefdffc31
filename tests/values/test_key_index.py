"""Pairing of rows by key, against nested loops."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dfjoin
from dfjoin.types import IndexSettings
from dfjoin.values import key_index
from dfjoin.values.key_index import KeyIndex, MetKeys, Vocabulary, number_rows, pair_codes
from dfjoin.values.normalize import normalize_column, settings_for
from tests.oracles import canonical

SETTINGS = IndexSettings()
TEXTS = st.sampled_from([None, "a", "A ", "b", " B", "c", "1", "1.0", "01", "é", "", "  ", "ß", "ss"])
NUMBERS = st.sampled_from([None, 0, 1, 2, 10, -1])


def _part(values, type_=None):
    return normalize_column(pa.array(values, type_ or pa.string()), SETTINGS)


def _left(*columns):
    return KeyIndex.of([_part(column) for column in columns])


def _keys(*columns):
    """The canonical key of each row, None where a part is null."""
    rows = zip(*columns, strict=True)
    keys = [tuple(canonical(v) for v in row) for row in rows]
    return [None if None in key else key for key in keys]


def _parts(*columns):
    return [_part(column) for column in columns]


def _check_match(left, left_keys, right_keys, codes):
    known = {key: code for key, code in zip(left_keys, left.codes, strict=True) if key is not None}
    assert [int(c) for c in codes] == [int(known.get(key, -1)) if key is not None else -1 for key in right_keys]


@given(st.lists(TEXTS, max_size=12))
def test_left_codes_are_equal_exactly_where_the_keys_are(values):
    left, keys = _left(values), _keys(values)
    for i, key in enumerate(keys):
        assert (left.codes[i] == -1) == (key is None)
        for j in range(i):
            if key is not None and keys[j] is not None:
                assert (left.codes[i] == left.codes[j]) == (key == keys[j])
    assert left.n_keys == len({k for k in keys if k is not None})
    assert left.codes.max(initial=-1) < max(left.n_keys, 1)


@given(st.lists(TEXTS, max_size=12), st.lists(TEXTS, max_size=12))
def test_match_single_key(own, theirs):
    left = _left(own)
    _check_match(left, _keys(own), _keys(theirs), left.match(_parts(theirs)))


WORDS = st.lists(
    st.one_of(st.sampled_from(["a", "ab", "b", "é", "x" * 9, "x" * 300]), st.integers(-50, 50).map(str)), max_size=60
)


@given(WORDS, WORDS, st.sampled_from([1, 3, 2**40, 2**64 - 1]))
def test_values_of_equal_hashes_are_told_apart_by_their_bytes(own, theirs, end):
    own, theirs = (
        replace(part, texts=part.packed._replace(hashes=part.hashes % np.uint64(end))) for part in _parts(own, theirs)
    )
    numbers = {value: number for number, value in enumerate(own.values())}
    assert Vocabulary(own).codes_of(theirs).tolist() == [numbers.get(value, -1) for value in theirs.values()]


INTEGERS = st.lists(st.one_of(st.none(), st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1)), max_size=40)


@given(INTEGERS, INTEGERS, st.sampled_from([pa.int64(), pa.string()]))
def test_integers_are_paired_as_their_digits_are(own, theirs, type_):
    """Numbers with numbers are compared as such, and with texts as texts."""
    index, other = KeyIndex.of([_part(own, pa.int64())]), _part([None if v is None else str(v) for v in theirs])
    other = other if type_ == pa.string() else _part(theirs, type_)
    assert (other.integers is not None) == (type_ == pa.int64())
    _check_match(index, own, theirs, index.match([other]))


@given(INTEGERS, INTEGERS)
@example([1, 2, 3], [2, 2, 3, 5])
@example([4, 4], [4])
def test_sorted_integers_are_paired_without_a_table(own, theirs):
    own, theirs = (sorted(number for number in numbers if number is not None) for numbers in (own, theirs))
    index = KeyIndex.of([_part(own, pa.int64())])
    other = _part(theirs, pa.int64())
    _check_match(index, own, theirs, index.match([other]))
    for values, numbers in ((index.parts[0], own), (other, theirs)):
        assert values.integers.is_ascending and "held" not in vars(values.integers)
        assert not numbers or values.integers.bounds == (numbers[0], numbers[-1])


CODES = st.lists(st.integers(-1, 5), max_size=10) | st.integers(0, 6).map(lambda n: list(range(n)))


@given(left=CODES, right=CODES)
@example(left=[0, 0, 1], right=[0, 0, 1])
@example(left=[0, 1, -1], right=[0, 1, -1])
def test_rows_meet_as_in_a_nested_loop(left, right):
    codes = np.array(left, np.int64)
    met = MetKeys(codes, codes if left == right else np.array(right, np.int64), 6)
    pairs = [(i, j) for i, own in enumerate(left) for j, other in enumerate(right) if own == other >= 0]
    shared = {left[i] for i, _ in pairs}
    assert list(zip(*(rows.tolist() for rows in met.pairs()), strict=True)) == pairs
    assert met.n_pairs == len(pairs) and met.n_matched == len({i for i, _ in pairs}) and met.n_keys_met == len(shared)
    many = [any(side.count(key) > 1 for key in shared) for side in (left, right)]
    assert met.relationship == ":".join("m" if one else "1" for one in many)
    assert met.left_counts.tolist() == [left.count(key) for key in range(6)]
    assert met.right_counts.tolist() == [right.count(key) for key in range(6)]
    assert met.left_rows.tolist() == list(range(len(left)))
    assert met.is_right_unique == all(right.count(key) < 2 for key in range(6))
    assert (met.partners is None) == (not met.is_right_unique)
    if met.partners is not None:
        partner = dict(pairs)
        assert met.partners.tolist() == [partner.get(i, -1) for i in range(len(left))]
    assert met.is_row_by_row == (left == right == list(range(len(left))))
    has_partner = [key in shared for key in left]
    assert met.has_partner(slice(None)).tolist() == has_partner
    assert met.has_partner(np.arange(len(left))[::-1]).tolist() == has_partner[::-1]


ROWS = st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=12)


def _columns(rows):
    return [[row[i] for row in rows] for i in range(3)]


@given(ROWS, ROWS)
def test_match_composite_key(own, theirs):
    left = _left(*_columns(own))
    keys = _keys(*_columns(own))
    assert left.n_keys == len({k for k in keys if k is not None})
    assert [c == -1 for c in left.codes] == [k is None for k in keys]
    _check_match(left, keys, _keys(*_columns(theirs)), left.match(_parts(*_columns(theirs))))


@pytest.mark.parametrize("n_values", [3, 40, 5000])
def test_pairs_are_numbered_alike_whether_a_table_of_all_is_made_or_they_are_sorted(monkeypatch, n_values):
    rng = np.random.default_rng(n_values)
    own, theirs = ([rng.integers(-1, n_values, 200) for _ in range(3)] for _ in range(2))
    results = []
    for most in (key_index._MOST_PAIRS, 0):
        monkeypatch.setattr(key_index, "_MOST_PAIRS", most)
        codes, n_keys, pairs = number_rows([(part, n_values) for part in own])
        combined = theirs[0].astype(np.int64)
        for more, known in zip(theirs[1:], pairs, strict=True):
            combined = key_index._find_pairs(pair_codes(combined, more, n_values), known)
        results.append([codes.tolist(), n_keys, [known.tolist() for known in pairs], combined.tolist()])
    assert results[0] == results[1]


@given(ROWS, ROWS)
def test_match_all_numbers_every_key_of_the_right_side(own, theirs):
    left = _left(*_columns(own))
    left_keys, right_keys = _keys(*_columns(own)), _keys(*_columns(theirs))
    codes, n_keys = left.match_all(_parts(*_columns(theirs)))
    number = {key: int(code) for key, code in zip(left_keys, left.codes, strict=True) if key is not None}
    seen = dict(number)
    for key, code in zip(right_keys, codes, strict=True):
        if key is None:
            assert code == -1
            continue
        assert 0 <= code < n_keys
        assert seen.setdefault(key, int(code)) == code
        assert (code >= left.n_keys) == (key not in number)
    assert len(set(seen.values())) == len(seen)
    assert n_keys == len(seen)


def test_a_null_in_one_part_of_a_composite_key_never_matches():
    left = _left(["a", None, "a"], ["x", "x", None])
    assert left.codes.tolist() == [0, -1, -1]
    assert left.match(_parts(["a", None, "a"], ["x", "x", None])).tolist() == [0, -1, -1]


def test_all_null_left_side_matches_nothing():
    for columns in ([[None, None]], [[None, None], ["a", "b"]]):
        left = _left(*columns)
        assert left.n_keys == 0
        right = [["a", None]] * len(columns)
        assert left.match(_parts(*right)).tolist() == [-1, -1]
        codes, n_keys = left.match_all(_parts(*right))
        assert codes.tolist() == [0, -1]
        assert n_keys == 1


def test_parts_that_exist_only_in_other_combinations_do_not_match():
    left = _left(["a", "b"], ["x", "y"])
    assert left.match(_parts(["a", "b", "a"], ["y", "x", "x"])).tolist() == [-1, -1, left.codes[0]]


def test_numbers_text_and_floats_meet():
    left = KeyIndex.of([_part([1, 2, None], pa.int64())])
    codes = left.match([_part([1.0, 2.5, None, 2.0], pa.float64())])
    assert codes.tolist() == [left.codes[0], -1, -1, left.codes[1]]
    codes = left.match(_parts(["1", "1.0", " 2 ", "02"]))
    assert codes.tolist() == [left.codes[0], left.codes[0], left.codes[1], -1]


def test_match_accepts_chunked_arrays():
    left = _left(["a", "b"])
    chunked = pa.chunked_array([["b"], [], ["z", "a"]], pa.string())
    assert left.match([normalize_column(chunked, SETTINGS)]).tolist() == [left.codes[1], -1, left.codes[0]]


@pytest.mark.parametrize(("order", "dayfirst"), [("dmy", True), ("mdy", False)])
def test_settings_for_reads_all_digit_dates_as_the_column_does(order, dayfirst):
    settings = settings_for(SETTINGS, order)
    assert settings.dayfirst is dayfirst
    values = normalize_column(pa.array(["03/04/2020"]), settings)
    assert list(values.values()) == ["2020-04-03" if dayfirst else "2020-03-04"]


def test_settings_for_without_an_order_changes_nothing():
    assert settings_for(SETTINGS, "") is SETTINGS


@pytest.mark.parametrize("n_parts", [7, 8, 9, 12])
def test_composite_keys_of_many_parts_neither_vanish_nor_meet(n_parts):
    names = [f"c{i}" for i in range(n_parts)]
    df = pd.DataFrame({name: range(256) for name in names})
    other = df.assign(v=range(256))
    wide = dfjoin.auto_join(df, other, on=names, aggregate=None)
    assert wide["v"].fillna(-1).tolist() == list(range(256))
    shifted = other.assign(c0=(other["c0"] + 1) % 256)
    assert dfjoin.auto_join(df, shifted, on=names, aggregate=None)["v"].isna().all()


def test_codes_are_those_of_the_values_while_another_thread_asks_for_others():
    class Shared(Vocabulary):
        """Another thread has looked up other values by the third time that this one reads the last ones."""

        kept, n_reads = None, 0

        @property
        def _last(self):
            self.n_reads += 1
            return (others, codes_of_others) if self.n_reads == 3 else self.kept

        @_last.setter
        def _last(self, last):
            self.kept = last

    values, others = _part(["b", "q", "a"]), _part(["a", "b"])
    codes_of_others = Vocabulary(values).codes_of(others)
    shared = Shared(values)
    shared.codes_of(values)
    shared.n_reads = 0
    for _ in range(3):
        assert shared.codes_of(values).tolist() == [0, 1, 2]


ASCENDING = [*range(-70, 70), 10**12, 2**63 - 1]


@pytest.mark.parametrize(
    ("own", "theirs"),
    [
        (ASCENDING, ASCENDING),
        (ASCENDING, ASCENDING[::-1]),
        (ASCENDING[::-1], ASCENDING),
        (ASCENDING[::3], ASCENDING),
        ([*range(100), 50], [*range(101)]),
        ([*range(100)], [*range(99), 500]),
    ],
    ids=["equal", "theirs falls", "own falls", "own lacks some", "repeated at the end", "other at the end"],
)
@pytest.mark.parametrize("form", [int, "{:05d} x".format])
def test_keys_in_order_and_copies_of_them_are_found_as_any_others(own, theirs, form):
    """Ascending numbers need no table of their own, and equal columns no look-up."""
    type_ = pa.int64() if form is int else pa.string()
    left, right = (_part([form(key) for key in keys], type_) for keys in (own, theirs))
    numbers = {key: number for number, key in enumerate(dict.fromkeys(own))}
    assert left.codes.tolist() == [numbers[key] for key in own]
    assert left.values() == [str(form(key)) for key in numbers]
    assert Vocabulary(left).codes_of(right).tolist() == [numbers.get(key, -1) for key in dict.fromkeys(theirs)]
