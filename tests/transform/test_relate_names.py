"""Names of people and organisations by normal forms: what is related, and what is refused."""

import itertools

import pyarrow as pa
import pytest

from dfjoin.programs.name_operators import NAME_FORMS, NormalName
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.transform_join import TransformJoin, join_rows
from dfjoin.transform.relations import relate_names as module
from dfjoin.transform.relations.relate_names import relate_names

PEOPLE = [
    "Dr. Andrew J. White",
    "Garc\u00eda, Jos\u00e9",
    "Smith, John, Ph.D.",
    "Pat O'Brien",
    "BEETHOVEN, Ludwig van",
    "Lee, Ann",
]
OTHERS = [
    "White, Andrew",
    "Jose Garcia (MD)",
    "John Smith, Jr.",
    "Mr. Pat OBrien",
    "Ludwig van Beethoven",
    "Ann K. Lee",
]


def related(left, right):
    columns = [Column("a", pa.array(left, pa.string())), Column("b", pa.array(right, pa.string()))]
    return relate_names(*columns, TransformJoin()), *({c.name: c.array} for c in columns)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("whole name", "Smith, Jr., John Q.", "john q smith"),
        ("first and last name", "Mr. J.R.R. Tolkien", "j tolkien"),
        ("initial and last name", "van der Berg, Jan", "j berg"),
        ("initial and last name", "White A", "a white"),
        ("first and last name", "Dr.", ""),
        ("organisation", "The University of Texas at Austin", "texas austin university"),
        ("organisation", "Weber & S\u00f6hne GmbH & Co. KG", "weber sohne"),
        ("organisation", "S.A.P. AG", "sap"),
        ("organisation", "Co", "co"),
    ],
)
def test_forms_leave_out_what_differs_between_spellings(kind, text, expected):
    assert NormalName(kind)(text) == expected


def test_people_are_related_whatever_their_forms():
    found, left, right = related(PEOPLE, OTHERS[::-1])
    rows = join_rows(found, left, right)
    assert rows.left_rows.tolist() == list(range(6)) and rows.right_rows.tolist() == list(range(6))[::-1]
    assert str(found.programs[0].program) == "a.normal_name('first and last name')"


def test_initials_serve_where_full_names_do_not():
    found, *_ = related(
        [name.replace("Ann", "A.") for name in PEOPLE], ["A. White", "J. Garcia", "J Smith", *OTHERS[3:]]
    )
    assert "initial and last name" in str(found.programs[0].program)


def test_two_people_of_one_initial_are_not_one():
    right = ["A. White", "B. Brown", "C. Clark", "D. Davis", "E. Evans"]
    left = ["Andrew White", "Anna White", "Bob Brown", "Cy Clark", "Dee Davis", "Ed Evans"]
    assert related(left, right)[0] is None
    assert related(left[1:], right)[0] is not None


def test_people_of_other_middle_names_are_others():
    left, right = (
        ["Ann B. Lee", "Bob C. Ray", "Cy D. Poe", "Dee E. Fox"],
        ["Ann X. Lee", "Bob Y. Ray", "Cy Z. Poe", "Dee W. Fox"],
    )
    assert related(left, right)[0] is None


def test_organisations_are_related_without_their_legal_forms():
    left = ["University of Texas", "Acme Corp.", "Weber & S\u00f6hne GmbH", "The Boeing Company", "Univ. of Iowa"]
    right = ["Texas University", "ACME Corporation", "Weber und Sohne", "Boeing", "University of Iowa"]
    found, *_ = related(left, right)
    assert "organisation" in str(found.programs[0].program) and found.programs[0].support == 4


def test_what_is_equal_already_gains_nothing():
    assert related(PEOPLE, PEOPLE)[0] is None
    assert related(PEOPLE[:3], OTHERS[:3])[0] is None


def test_numbers_and_codes_are_no_names():
    assert related(["1.5", "2.7", "3.1", "4.4", "10.2"], ["15", "27", "31", "44", "102"])[0] is None


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("organisation", "San Diego Zoo", "San Diego Ltd"),
        ("whole name", "Amit Kumar Sen", "Amit Kumar"),
        ("whole name", "Hon Sui Sen", "Sui"),
    ],
)
def test_words_that_are_names_too_stay(kind, one, other):
    assert NormalName(kind)(one) != NormalName(kind)(other)


@pytest.mark.parametrize("text", ["ACME Sp. z o.o.", "Acme sp. z.o.o.", "ACME"])
def test_a_polish_company_is_known_by_its_name(text):
    assert NormalName("organisation")(text) == "acme"


@pytest.mark.parametrize("layout", ["10.0.{}.{}", "West Dock {} {}", "ab:cd:{:02x}:0{}"])
def test_texts_that_differ_by_a_number_are_not_of_one_name(layout):
    left, right = ([layout.format(n, i) for i in range(1, 10)] for n in (1, 2))
    assert related(left, right)[0] is None


@pytest.mark.parametrize("layout", ["{}", "7-{}", "AB{}X"])
def test_codes_and_numbers_are_told_before_they_are_rewritten(layout, monkeypatch):
    calls = []
    monkeypatch.setattr(module, "NormalName", lambda kind: lambda text: calls.append(text))
    assert related(*([layout.format(i) for i in range(start, start + 99)] for start in (0, 50)))[0] is None
    assert not calls


def test_texts_whose_form_cannot_be_a_name_are_the_only_ones_left_out():
    parts = ["", " ", "-", ",", "'", "&", "+", "7", "Ann", "lee", "\u00e9", "\u4eba", "univ", "Co", "Dr", "the", "."]
    texts = ["".join(three) for three in itertools.product(parts, repeat=3)]
    for kind in NAME_FORMS:
        step = NormalName(kind)
        kept = module._possible(kind, texts)
        names = [text for text in texts if module._is_name(step(text) or "", kind)]
        assert set(names) <= set(kept) and len(kept) < len(texts)
        assert [module._written(step, text) for text in kept] == [step(text) or "" for text in kept]
