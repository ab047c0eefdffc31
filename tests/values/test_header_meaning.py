"""Names as words, and which say nothing of a subject."""

import pyarrow as pa
import pytest

from dfjoin.kernels.header_words import DIGITS, GENERIC, IDENTIFIER, NAMING, SHORT, UNSPECIFIC
from dfjoin.values.header_meaning import headers_of, is_generic, table_stems


def joined(*names):
    return headers_of(list(names)).joined.tolist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("country_name", "CountryNames"), ("Country Name", "country-name"), ("categories", "Category"),
        ("État", "etat"), ("GDP (2010)", "gdp 2010"), ("class", "CLASS"),
    ],
)  # fmt: skip
def test_names_of_the_same_words_are_one(one, other):
    assert joined(one) == joined(other) != joined("another")


def test_words_are_cut_at_signs_digits_and_capitals():
    header = headers_of(["speciesID2"])
    assert header.words.tolist() == headers_of(["species", "id", "2"]).words.tolist()
    assert header.indptr.tolist() == [0, 3]
    assert header.marks.tolist() == [0, UNSPECIFIC | IDENTIFIER | GENERIC | SHORT | NAMING, DIGITS | SHORT]


def test_a_name_without_words_has_no_hash():
    assert joined("", "--", "€€"[:0]) == [0, 0, 0]
    assert headers_of([]).indptr.tolist() == [0]


def test_ascii_names_of_an_array_and_of_a_list_are_one():
    names = ["a b", "IDs", "x1"]
    by_array, by_list = headers_of(pa.array([*names, "é"])), headers_of([*names, "é"])
    for one, other in zip(by_array, by_list, strict=True):
        assert one.tolist() == other.tolist()
    assert by_list.joined.tolist()[:3] == joined(*names)


def test_generic_names():
    assert [is_generic(headers_of([name])) for name in ("id", "Name", "country id", "code")] == [
        True,
        True,
        False,
        True,
    ]


def test_stems_are_last_parts_without_endings():
    names = pa.array(["a/b/c d.csv", "x.tsv.gz", "frame", "p.q/r.Parquet"])
    assert table_stems(names).to_pylist() == ["c d", "x", "frame", "r"]
