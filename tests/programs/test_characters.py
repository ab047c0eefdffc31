import re
import zlib

import numpy as np
import pytest

from dfjoin.programs.characters import CLASSES, LOWER, PLAIN, UPPER, character_table, class_table, pattern_of


@pytest.mark.parametrize("kind", sorted(CLASSES))
def test_table_and_pattern_say_the_same_of_every_code_point(kind):
    text = "".join(chr(c) for c in range(0x40000) if not 0xD800 <= c < 0xE000)
    found = {ord(c) for c in re.findall(pattern_of(kind), text)}
    assert found == set(np.flatnonzero(class_table() & CLASSES[kind]).tolist())


def test_casing_is_one_to_one_and_agrees_with_python_on_its_letters():
    assert len(LOWER[0]) == len(set(LOWER[0])) == len(set(LOWER[1]))
    assert [c.upper() for c in UPPER[0]] == list(UPPER[1])
    assert [c.lower() for c in LOWER[0]] == list(LOWER[1])


def test_the_tables_are_frozen():
    # A change would give stored programs another meaning: it needs a new version of their form.
    written = "|".join([*LOWER, *PLAIN, *(pattern_of(kind) for kind in sorted(CLASSES))])
    assert zlib.crc32(written.encode()) == CRC


def test_accents_are_taken_off():
    assert "Łódź Ñandú".translate(str.maketrans(*PLAIN)) == "Łodz Nandu"
    assert chr(character_table(PLAIN)[ord("é")]) == "e"


CRC = 2331511660
