"""What one character becomes: the tables of code points against `unicodedata`, on every code point."""

import re
import sys
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.values.unicode import (
    UNICODE_VERSION,
    ascii_table,
    fold_table,
    identity_table,
    normalize_text,
    normalize_texts,
)

SLOW = 0xFFFFFFFF
POINTS = [c for c in range(0x30000) if not 0xD800 <= c < 0xE000]


def alone(point):
    """What Python makes of one character by itself, a space for white space."""
    compatible = unicodedata.normalize("NFKC", chr(point))
    return " " if compatible.isspace() else compatible.casefold()


@pytest.fixture(scope="module")
def combining():
    """Code points that merge with one before them, or change places: found by composing them."""
    pairs = {}
    for point in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            pairs[point] = [int(part, 16) for part in parts]
    seconds = {
        second for first, second in pairs.values() if len(unicodedata.normalize("NFC", chr(first) + chr(second))) == 1
    }
    jamo = {
        c
        for c in range(0x1160, 0x1200)
        for first in "\u1100\uac00"
        if len(unicodedata.normalize("NFC", first + chr(c))) == 1
    }
    return seconds | jamo | {c for c in POINTS if unicodedata.combining(chr(c))}


def test_a_mapped_character_becomes_what_python_makes_of_it():
    table = fold_table()
    assert [hex(c) for c in POINTS if table[c] != SLOW and chr(table[c]) != alone(c)] == []


def test_a_mapped_character_does_not_depend_on_its_neighbours():
    table = fold_table()
    quick = np.flatnonzero(table != SLOW)
    assert quick.size > 100_000
    assert [hex(c) for c in quick.tolist() if normalize_text(f"x{chr(c)}x")[1:-1] != chr(table[c])] == []


def test_characters_that_combine_are_left_to_python(combining):
    table = fold_table()
    assert len(combining) > 800
    assert [hex(c) for c in sorted(combining) if c < table.size and table[c] != SLOW] == []


def test_what_becomes_one_character_and_combines_with_none_is_mapped(combining):
    """The table would be right if it left all to Python, and slow. Unicode excludes two Tibetan pairs from composition."""
    table = fold_table()
    left = [c for c in POINTS if table[c] == SLOW and len(alone(c)) == 1]
    assert [hex(c) for c in left if not {c, ord(unicodedata.normalize("NFKC", chr(c)))} & combining] == [
        "0xfb5",
        "0xfb7",
    ]


def test_white_space_becomes_a_space():
    table = fold_table()
    assert {chr(c) for c in POINTS if table[c] == 32} >= {chr(c) for c in POINTS if chr(c).isspace()} - {"\x00"}


def test_surrogates_are_left_to_python():
    assert (fold_table()[0xD800:0xE000] == SLOW).all()


def test_tables_are_made_once_and_cannot_be_written():
    for table in (fold_table, identity_table, ascii_table):
        assert table() is table() and table().dtype == np.uint32 and not table().flags.writeable


def test_the_table_of_identities_has_every_code_point():
    assert identity_table().tolist() == list(range(sys.maxunicode + 1))


def test_the_table_of_ascii_has_none():
    assert ascii_table().size == 0


def test_the_version_is_that_of_python():
    assert unicodedata.unidata_version == UNICODE_VERSION


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Straße \t N\u00ba\n5 ", "strasse no 5"),
        ("e\u0301", "\u00e9"),
        ("ﬁn", "fin"),
        ("Ⅻ", "xii"),
        ("１２", "12"),
        ("\u3000a\u00a0\u2003b\x1c", "a b"),
        ("ΟΔΟΣ", "οδοσ"),
        ("İ", "i\u0307"),
        ("\u1100\u1161", "\uac00"),
        ("\u00a8x", "\u0308x"),
        ("", ""),
        (" \n", ""),
        ("a\u200bb", "a\u200bb"),
    ],
)
def test_the_canonical_text(text, expected):
    assert normalize_text(text) == expected


TEXTS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("aÄéﬁ \u00a0\u0301ßΣ가")), max_size=8
)


@given(TEXTS, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_spellings_that_unicode_calls_compatible_are_one_value(text, form):
    assert normalize_text(unicodedata.normalize(form, text)) == normalize_text(text)


@given(
    st.lists(st.text("aÄ-5ß", min_size=1, max_size=3), max_size=4),
    st.text(" \t\n\r\u00a0\u3000", min_size=1, max_size=3),
)
def test_any_white_space_is_one_space_between_words(words, space):
    text = normalize_text(space + space.join(words) + space)
    assert text == normalize_text(" ".join(words)) and not re.search(r"^\s|\s\s|\s$|[^\S ]", text)


@given(
    st.lists(st.text("aZ9, \t\n\x1c\u00a0é\u0301ﬁ²ß\u3000", max_size=6)),
    st.sampled_from([pa.string(), pa.large_string()]),
)
def test_arrays_of_texts_are_normalised_one_by_one(texts, type_):
    made = normalize_texts(pa.array(texts, type_))
    assert made.type == type_
    assert made.to_pylist() == [normalize_text(text) for text in texts]
