"""Names as words, and which say nothing of a subject."""

import pyarrow as pa
import pytest

from dfjoin.kernels.texts.header_words import DIGITS, GENERIC, IDENTIFIER, NAMING, SHORT, UNSPECIFIC
from dfjoin.values.header_meaning import (
    headers_of,
    is_generic,
    is_year_name,
    names_agree,
    number_meaning,
    says_nothing_alone,
    share_a_word,
    table_stems,
)


def joined(*names):
    return headers_of(list(names)).joined.tolist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("country_name", "CountryNames"), ("Country Name", "country-name"), ("categories", "Category"),
        ("État", "etat"), ("GDP (2010)", "gdp 2010"), ("class", "CLASS"), ("ΟΔΟΣ", "οδός"), ("İl", "il"),
    ],
)  # fmt: skip
def test_names_of_the_same_words_are_one(one, other):
    assert joined(one) == joined(other) != joined("another")


def test_words_are_cut_at_signs_digits_and_capitals():
    header = headers_of(["speciesID2"])
    assert header.words.tolist() == headers_of(["species", "id", "2"]).words.tolist()
    assert header.indptr.tolist() == [0, 3]
    assert header.marks.tolist() == [0, UNSPECIFIC | IDENTIFIER | GENERIC | SHORT | NAMING, DIGITS | SHORT]


@pytest.mark.parametrize(("name", "same"), [("price (€)", "price"), ("2000–2010", "2000-2010"), ("l’été", "l'ete")])
def test_signs_above_ascii_part_words_and_are_none(name, same):
    assert joined(name) == joined(same)
    assert not names_agree("cost – net €", "fee – gross €") and not share_a_word("cost – net €", "fee – gross €")
    assert names_agree("€", "€") and not names_agree("€", "£"), "it is all that the name has"


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


@pytest.mark.parametrize(
    ("meaning", "names"),
    [
        ("code", ["zip_code", "zipCode", "customer_id", "ISBN", "area code", "student_id_2", "FIPS", "PLZ"]),
        (
            "code",
            [
                *(
                    "Kundennummer",
                    "Gemeindeschlüssel",
                    "identifiant",
                    "código_postal",
                    "CEP",
                    "codice fiscale",
                    "sleutel",
                ),
                *("postinumero", "tunnus", "nyckel", "klucz", "identifikátor", "azonosító", "Kodu", "КОД", "инн"),
                *(
                    "κωδικός",
                    "kode wilayah",
                    "编号",
                    "客户编号",
                    "郵便番号",
                    "商品コード",
                    "우편번호",
                    "상품코드",
                    "رمز",
                ),
            ],
        ),
        ("number", ["house number", "phone_no", "numero", "номер", "№.1"]),
        ("class", ["year", "Jahr", "año", "month", "sex", "customer", "district", "age_group", "birth year"]),
        (
            "measure",
            ["number of rooms", "numero de casas", "customers", "population", "zip count", "precio", "area_km2"],
        ),
        ("coordinate", ["lat", "Longitude", "pickup_latitude", "easting", "coord_x1"]),
        ("axis", ["x", "point_y"]),
        ("class", ["account", "county_fp", "game_index", "round"]),
        ("code", ["siteid", "orderno 2", "STATEFP"]),
        ("measure", ["accounts", "home_team_score"]),
        ("", ["n", "covid", "paid", "yearling", "num_rows", ""]),
    ],
)
def test_names_say_what_numbers_under_them_are(meaning, names):
    assert {name: number_meaning(name) for name in names} == dict.fromkeys(names, meaning)


def test_years_and_names_that_say_nothing():
    assert [is_year_name(name) for name in ("Year", "fiscalYear", "annee", "Années", "yearling", 1995)] == [
        *(True, True, True, True, False, False)
    ]
    alone = ["Value", "values", "1995", "column_2", "Unnamed: 0", "", "1.5"]
    others = ["area", "first name", "total area", "Key_0_0", "value2"]
    assert [name for name in (*alone, *others) if says_nothing_alone(name)] == alone


def test_the_meaning_of_a_name_is_computed_once():
    number_meaning("zip of a parcel")
    known = number_meaning.cache_info().hits
    number_meaning("zip of a parcel")
    assert number_meaning.cache_info().hits == known + 1
