"""Names of one thing in many languages: the table, its folded names, and what a user adds."""

import pytest

from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.programs.entity_operators import ENTITY_KINDS, GIVEN, Entity, check_aliases, fold_name, name_table
from dfjoin.programs.lookup import look_up_pairs
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Extract
from dfjoin.programs.step_table import read_steps


@pytest.mark.parametrize(
    ("kind", "thing", "names"),
    [
        (
            "country",
            "United States",
            "USA|U.S.A.|us|Vereinigte Staaten|États-Unis|Estados Unidos|アメリカ合衆国|США|미국",
        ),
        ("country", "Germany", "DEU|de|Deutschland|Allemagne|Niemcy|ألمانيا|जर्मनी|德国|Γερμανία|Tyskland|Saksa"),
        ("country", "South Korea", "Korea, South|Republic of Korea|Korea (South)|KOR|Südkorea|Corée du Sud"),
        ("country", "Côte d’Ivoire", "Cote d'Ivoire|Ivory Coast|CI|Elfenbeinküste"),
        ("month", "March", "Mar.|März|mars|marzo|março|марта|三月|maart|marzec"),
        ("weekday", "Saturday", "Sat|Samstag|samedi|sábado|суббота|土曜日"),
        ("language", "German", "de|deu|Deutsch|allemand|alemán|немецкий|ドイツ語"),
        ("currency", "Japanese Yen", "JPY|yen japonés|Japanischer Yen"),
        ("unit", "kilometer", "km|kilometers|Kilometer|kilómetros|километр|chilometri"),
        ("US state", "Georgia", "GA|Ga."),
        ("Canadian province", "Quebec", "QC|Québec"),
        ("chemical element", "silver", "Ag"),
    ],
)
def test_names_of_one_thing(kind, thing, names):
    assert {Entity(kind)(name) for name in names.split("|")} == {thing}
    assert Entity(kind)(thing) == thing


def test_the_kind_tells_apart_and_others_stay():
    assert [Entity(kind)("Georgia") for kind in ("country", "US state", "month")] == ["Georgia", "Georgia", "georgia"]
    assert (Entity("country")("CA"), Entity("US state")("CA"), Entity("US state")("Bayern")) == (
        "Canada",
        "California",
        "bayern",
    )
    assert Entity("month")("listopad") == "listopad"  # November, and October in Croatian
    assert not Entity("country")("...")


def test_the_table_is_whole():
    sizes = {kind: len(name_table(kind).names) for kind in ENTITY_KINDS}
    assert sizes["country"] >= 240 and sizes["month"] == 12 and sizes["weekday"] == 7 and sizes[GIVEN] == 0
    assert sizes["chemical element"] == 118 and sizes["language"] > 150 and sizes["currency"] > 140
    for kind in ENTITY_KINDS:
        table = name_table(kind)
        assert all(fold_name(key) == key and not key.isdigit() for key in table.meanings)
        assert set(table.meanings.values()) == set(table.names)
        assert {fold_name(name) for names in table.names.values() for name in names} == set(table.meanings)
    names, shorts = (text.split(",") for text in look_up_pairs("state to short"))
    assert all(Entity("US state")(a) == Entity("US state")(b) for a, b in zip(names, shorts, strict=True))


def test_a_user_adds_names():
    step = Entity(GIVEN, "big apple\x1fla", "New York City\x1fLos Angeles")
    assert [step(text) for text in ("Big Apple", "L.A.", "new york city", "Rome")] == [
        "New York City",
        "Los Angeles",
        "New York City",
        "rome",
    ]
    own = Entity("country", "Yankeeland", "USA")
    assert own("yankeeland") == own("US") == "United States"
    program = Program(("a",), (Extract(0, (step,)),))
    assert Program.from_dict(program.to_dict()) == program


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (3, InvalidTypeError, r"`aliases` must be True, False or a dict of texts, .* got 3"),
        ({"a": 1}, InvalidTypeError, r"`aliases` must be True, False or a dict of texts"),
        ({}, InvalidParameterError, r"`aliases` must have at least one entry, names of 1 to 100 characters"),
        ({"": "a"}, InvalidParameterError, "`aliases` must have at least one entry"),
        ({"a": "b" * 101}, InvalidParameterError, "`aliases` must have at least one entry"),
        ({"a\x1fb": "c"}, InvalidParameterError, "`aliases` must have at least one entry"),
        (
            {"N.Y.C.": "New York City", "nyc": "Boston"},
            InvalidParameterError,
            "`aliases` must give each name one meaning, .* got 'New York City' and 'Boston' for 'nyc'; leave one",
        ),
        ({f"name {i}": "x" for i in range(9000)}, InvalidParameterError, "at most 20,000 characters in all"),
    ],
)
def test_illegal_aliases(value, error, text):
    with pytest.raises(error, match=text):
        check_aliases(value, "aliases")
    same = {"N.Y.C.": "New York City", "nyc": "new york city"}
    assert check_aliases(same, "aliases") == same and check_aliases(True, "aliases") is True


def test_hostile_steps_are_refused():
    with pytest.raises(InvalidParameterError, match="`keys` and `values` of step 'entity' must be equally many"):
        read_steps([{"step": "entity", "kind": "country", "keys": "a\x1fb", "values": "c"}])
    with pytest.raises(InvalidParameterError, match=r"`kind` .*must be one of 'country'"):
        read_steps([{"step": "entity", "kind": "planet", "keys": "", "values": ""}])


def test_tables_of_users_are_not_kept_for_ever():
    for number in range(100):
        name_table(GIVEN, f"name {number}", "thing")
    assert name_table.cache_info().currsize <= 64
