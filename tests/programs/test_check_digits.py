import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.programs.code_operators import CheckDigit, Isbn, Mod97


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("ean", "400638133393", "4006381333931"),
        ("ean", "7351353", "73513537"),
        ("ean", "03600029145", "036000291452"),
        ("luhn", "7992739871", "79927398713"),
        ("luhn", "411111111111111", "4111111111111111"),
        ("mod 11", "030640615", "0306406152"),
        ("mod 11", "156881111", "156881111X"),
        ("ean", "12-3", None),
        ("luhn", "1" * 31, None),
    ],
)
def test_check_digits_are_the_known_ones(kind, text, expected):
    assert CheckDigit(kind)(text) == expected


@pytest.mark.parametrize(
    ("length", "text", "expected"),
    [
        (13, "0-306-40615-2", "9780306406157"),
        (10, "978-0-306-40615-7", "0306406152"),
        (10, "0306406152", "0306406152"),
        (13, "9780306406157", "9780306406157"),
        (13, "1 56881 111 x", "9781568811116"),
        (10, "9781568811116", "156881111X"),
        (13, "0306406153", None),
        (10, "9780306406158", None),
        (10, "9791090636071", None),
        (13, "9791090636071", "9791090636071"),
        (13, "ISBN 0306406152", None),
    ],
)
def test_books_have_two_numbers(length, text, expected):
    assert Isbn(length)(text) == expected


@given(st.integers(0, 10**9 - 1))
def test_both_numbers_of_a_book_make_each_other(number):
    short = CheckDigit("mod 11")(f"{number:09d}")
    long = Isbn(13)(short)
    assert long == CheckDigit("ean")(f"978{number:09d}")
    assert Isbn(10)(long) == short


@given(st.integers(10**5, 10**15), st.integers(0, 14), st.integers(1, 9))
def test_a_changed_digit_changes_the_check_digit(number, place, more):
    text = str(number)
    place %= len(text)
    other = f"{text[:place]}{(int(text[place]) + more) % 10}{text[place + 1 :]}"
    for kind in ("luhn", "ean"):
        assert CheckDigit(kind)(text)[-1] != CheckDigit(kind)(other)[-1]


@pytest.mark.parametrize(
    ("country", "text", "expected"),
    [
        ("DE", "370400440532013000", "DE89370400440532013000"),
        ("GB", "NWBK60161331926819", "GB29NWBK60161331926819"),
        ("FR", "20041010050500013m02606", "FR1420041010050500013m02606"),
        ("NO", "86011117947", "NO9386011117947"),
        ("", "5493001KJTIIGC8Y1R", "5493001KJTIIGC8Y1R12"),
        ("DE", "3704 0044", None),
        ("DE", "1" * 31, None),
        ("", "", None),
    ],
)
def test_accounts_and_entities_have_two_check_digits(country, text, expected):
    assert Mod97(country)(text) == expected


@given(st.text("0123456789ABCXYZ", min_size=1, max_size=30), st.sampled_from(["", "DE", "GB"]))
def test_a_code_with_its_check_digits_leaves_one_of_97(text, country):
    made = Mod97(country)(text)
    turned = made[4:] + made[:4] if country else made
    assert int("".join(str(int(c, 36)) for c in turned)) % 97 == 1
