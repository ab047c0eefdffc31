"""Records that cross the layers: frozen, and settings that survive JSON."""

import json
from dataclasses import FrozenInstanceError, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.types import Dialect, GivenDialect, IndexSettings, Root, SkippedFile, TableSource

ROOT = Root(0, "data", "/data")
TEXTS = st.lists(st.text(max_size=4), max_size=3).map(tuple)
SETTINGS = st.builds(
    IndexSettings,
    null_spellings=TEXTS,
    dayfirst=st.sampled_from([None, True, False]),
    hash_seed=st.integers(0, 2**64 - 1),
    unicode_version=st.sampled_from(["", "15.0.0"]),
    samples=st.integers(0, 9),
    columns=TEXTS,
    exclude=TEXTS,
    permutations=st.integers(0, 512),
    signature_min=st.one_of(st.none(), st.integers(1, 900)),
    partition_ends=st.lists(st.integers(1, 2**40), max_size=4).map(tuple),
    keep_sets=st.booleans(),
    patterns=st.booleans(),
)


@pytest.mark.parametrize(
    "record",
    [ROOT, Dialect(), TableSource("t", ROOT, "t.csv", "delimited", 1, 2), SkippedFile("x", "why"), IndexSettings()],
    ids=lambda record: type(record).__name__,
)
def test_records_are_frozen(record):
    for field in fields(record):
        with pytest.raises(FrozenInstanceError):
            setattr(record, field.name, None)


@given(SETTINGS)
def test_settings_come_back_from_json(settings):
    stored = json.loads(json.dumps(settings.to_dict()))
    assert stored == settings.to_dict(), "plain already"
    assert IndexSettings.from_dict(stored) == settings
    assert hash(IndexSettings.from_dict(stored)) == hash(settings)


def test_settings_of_another_version_are_read():
    """A field that is unknown is passed over, one that is missing has its default."""
    read = IndexSettings.from_dict({"samples": 2, "of_a_later_version": [1]})
    assert read == IndexSettings(samples=2)


@given(SETTINGS)
def test_columns_from_the_signature_minimum_on_are_signed(settings):
    if settings.signature_min is None:
        assert settings.smallest_signed == settings.permutations
    else:
        assert settings.smallest_signed == settings.signature_min


def test_only_the_empty_cell_is_null_by_default():
    assert IndexSettings().null_spellings == ("",)


def test_a_dialect_comes_back_from_json():
    dialect = Dialect("cp1252", ";", "'", False, "\\", 3, 2, True, True, "gz", ",", ".", (0, 2), "guessed")
    assert Dialect.from_dict(json.loads(json.dumps(dialect.to_dict()))) == dialect != Dialect()


def test_a_plain_dialect_is_kept_as_dfjoin_0_1_0_kept_it():
    kept = {
        "encoding": "utf-8", "delimiter": ",", "quote_char": '"', "double_quote": True, "escape_char": "", "skip_lines": 0,
        "has_header": False, "implicit_index": False, "ragged": False, "compression": "",
    }  # fmt: skip
    assert Dialect(header_lines=0).to_dict() == kept
    assert Dialect().to_dict() == {**kept, "has_header": True}
    assert Dialect.from_dict(kept) == Dialect(header_lines=0)
    assert Dialect.from_dict({**kept, "has_header": True, "later": 1}) == Dialect()


def test_a_dialect_is_told_in_words():
    assert str(Dialect()) == ", · utf-8"
    dialect = Dialect("cp1250", "\t", skip_lines=2, header_lines=0, decimal=",", thousands=" ")
    assert str(dialect) == "tab · cp1250 · decimal comma · thousands blank · no header lines · 2 lines above"


def test_of_given_dialects_the_first_pattern_counts():
    settings = IndexSettings(dialects=(("delimiter", "eu/*", ";"), ("delimiter", "*", ","), ("header", "*.txt", 2)))
    read = IndexSettings.from_dict(json.loads(json.dumps(settings.to_dict())))
    assert read == settings
    assert read.given_dialect("eu/a.csv") == GivenDialect(delimiter=";")
    assert read.given_dialect("us/a.txt") == GivenDialect(delimiter=",", header=2)


def test_the_name_of_a_table_is_a_pattern_that_matches_it():
    settings = IndexSettings(dialects=(("delimiter", "sales [2020].csv", ";"),))
    assert settings.given_dialect("sales [2020].csv").delimiter == ";"
    assert settings.given_dialect("sales 2.csv").delimiter == ";", "the brackets are those of a pattern, too"


def test_the_default_dialect_is_plain_csv():
    plain = Dialect()
    assert (plain.encoding, plain.delimiter, plain.quote_char, plain.compression) == ("utf-8", ",", '"', "")
    assert plain.has_header and plain.double_quote and not (plain.ragged or plain.implicit_index or plain.skip_lines)
