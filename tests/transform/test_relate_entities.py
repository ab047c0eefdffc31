"""Two frames whose keys name the same things in other languages or by codes."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.programs.entity_operators import Entity, fold_name
from dfjoin.transform.relations import relate_entities
from dfjoin.transform.relations.relate_entities import entity_steps, kinds_of

ENGLISH = {
    "country": ["United States", "Germany", "France", "Spain", "Italy", "Greece", "Sweden", "Japan"],
    "month": ["January", "February", "March", "May", "June", "July", "October", "December"],
    "weekday": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "language": ["German", "French", "Spanish", "Italian", "Greek", "Swedish", "Japanese", "English"],
    "unit": ["kilometer", "meter", "kilogram", "gram", "liter", "hour", "minute", "second"],
    "currency": ["Euro", "US Dollar", "Japanese Yen", "Swedish Krona", "Swiss Franc", "Indian Rupee", "Brazilian Real"],
}
OTHER = [
    ("country", "Vereinigte Staaten|Deutschland|Frankreich|Spanien|Italien|Griechenland|Schweden|Japan"),
    ("country", "États-Unis|Allemagne|France|Espagne|Italie|Grèce|Suède|Japon"),
    ("country", "Estados Unidos|Alemania|Francia|España|Italia|Grecia|Suecia|Japón"),
    ("country", "USA|Germania|Francia|Spagna|Italia|Grecia|Svezia|Giappone"),
    ("country", "Stany Zjednoczone|Niemcy|Francja|Hiszpania|Włochy|Grecja|Szwecja|Japonia"),
    ("country", "アメリカ合衆国|ドイツ|フランス|スペイン|イタリア|ギリシャ|スウェーデン|日本"),
    ("country", "美国|德国|法国|西班牙|意大利|希腊|瑞典|日本"),
    ("country", "USA|DEU|FRA|ESP|ITA|GRC|SWE|JPN"),
    ("month", "Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember"),
    ("month", "janv.|févr.|mars|mai|juin|juil.|oct.|déc."),
    ("month", "enero|febrero|marzo|mayo|junio|julio|octubre|diciembre"),
    ("month", "січень|лютий|березень|травень|червень|липень|жовтень|грудень"),
    ("weekday", "maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag"),
    ("weekday", "segunda-feira|terça-feira|quarta-feira|quinta-feira|sexta-feira|sábado|domingo"),
    ("language", "Deutsch|Französisch|Spanisch|Italienisch|Griechisch|Schwedisch|Japanisch|Englisch"),
    ("language", "de|fr|es|it|el|sv|ja|en"),
    ("unit", "km|m|kg|g|l|h|min|s"),
    ("unit", "Kilometer|Meter|Kilogramm|Gramm|Liter|Stunden|Minuten|Sekunden"),
    ("currency", "EUR|USD|JPY|SEK|CHF|INR|BRL"),
]


@pytest.mark.parametrize(("kind", "names"), OTHER)
def test_names_in_other_languages(kind, names):
    other = names.split("|")
    left = pd.DataFrame({"a": ENGLISH[kind]})
    right = pd.DataFrame({"b": other[::-1], "n": range(len(other))[::-1]})
    wide = left.auto_join(right, on="a", right_on="b")
    assert wide["n"].tolist() == list(range(len(other)))
    if max(map(len, other)) <= 3 and other[0].isascii():
        right = right.rename(columns={"b": f"{kind} code"})  # codes alone may mean anything
    unnamed = left.auto_join(right, aggregate=None)
    assert unnamed["n"].tolist() == list(range(len(other)))


@pytest.mark.parametrize(
    ("own", "other", "names"),
    [
        ("size", "unit", "S M L XL|second meter liter kilogram"),
        ("grade", "element", "C B F I H|carbon boron fluorine iodine hydrogen"),
        ("first_name", "month", "April May June August|Apr Mai Jun Aug"),
        ("country", "language", "DE FR IT ES PT NL|German French Italian Spanish Portuguese Dutch"),
        ("lang", "country", "sk is no id my|Slovakia Iceland Norway Indonesia Malaysia"),
    ],
)
def test_columns_that_nobody_named_show_that_they_are_of_one_kind(own, other, names):
    left, right = (pd.DataFrame({"k": side.split()}) for side in names.split("|"))
    right["n"] = range(len(right))
    unnamed = left.rename(columns={"k": own}).auto_join(right.rename(columns={"k": other}), on_no_match="ignore")
    assert "n" not in unnamed


def test_of_a_large_column_some_names_are_folded(monkeypatch):
    folded = []
    monkeypatch.setattr(relate_entities, "fold_name", lambda text: folded.append(text) or fold_name(text))
    texts = pd.Series(range(5_000)).map("street {} of a town".format)
    pd.DataFrame({"a": texts}).auto_join(pd.DataFrame({"b": texts[::-1] + "x"}), fuzzy=False, on_no_match="ignore")
    assert 0 < len(folded) < 400
    names = ENGLISH["country"] + OTHER[0][1].split("|")
    mixed = pd.DataFrame({"a": [*names, *(f"land {i}" for i in range(4))]})
    right = pd.DataFrame({"b": ["Allemagne", "Frankreich", "Italia", "Japon"], "n": range(4)})
    assert mixed.auto_join(right, fuzzy=False)["n"].notna().sum() > 4


def test_the_column_is_the_evidence():
    states = pd.DataFrame({"st": ["GA", "AL", "CA", "CO", "DE", "NY", "TX", "NE"]})
    assert [step.kind for step in kinds_of([s.lower() for s in states["st"]], entity_steps(None))] == ["US state"]
    names = ["Gabon", "Albania", "Canada", "Colombia", "Germany", "Peru", "Chad", "Niger"]
    countries = pd.DataFrame({"country": names, "n": range(8)})
    wide = states.auto_join(countries, on="st", right_on="country", on_no_match="ignore", fuzzy=False)
    assert "n" not in wide or wide["n"].isna().all()
    mixed = ["Georgia", "Texas", "Ohio", "Utah"], ["GA", "TX", "OH", "UT"]
    wide = pd.DataFrame({"a": mixed[0]}).auto_join(pd.DataFrame({"b": mixed[1], "n": range(4)}), on="a", right_on="b")
    assert wide["n"].tolist() == [0, 1, 2, 3]
    assert kinds_of(["georgia", "chad"], entity_steps(None))[0].kind == "country"


def test_what_equality_leaves_is_completed():
    names = [f"Country {i}" for i in range(3)]
    left = pd.DataFrame({"land": [*ENGLISH["country"], "USA", "Great Britain", *names]})
    right = pd.DataFrame({"land": [*ENGLISH["country"][1:], "U.S.A.", "U.K.", *names], "n": range(12)})
    wide = left.auto_join(right, on="land")
    assert wide["n"].tolist() == [7, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    for options in ({"aliases": False}, {"transform": False}):
        plain = left.auto_join(right, on="land", fuzzy=False, **options)["n"]
        assert plain[[0, 9]].isna().all() and plain[1:8].tolist() == list(range(7))


def test_names_of_the_user_and_the_plan():
    left = pd.DataFrame({"city": ["Big Apple", "L.A.", "Frisco", "Chicago"]})
    right = pd.DataFrame({"town": ["New York", "Los Angeles", "San Francisco", "Chicago"], "n": range(4)})
    given = {"big apple": "New York", "LA": "Los Angeles", "frisco": "San Francisco"}
    wide = left.auto_join(right, on="city", right_on="town", aliases=given)
    assert wide["n"].tolist() == [0, 1, 2, 3] and "city.entity('given')" in str(dfjoin.report(wide))
    plan = wide.attrs["dfjoin"]["plan"]
    assert pd.DataFrame({"city": ["LA"]}).auto_join(right, plan=plan)["n"].tolist() == [1]


def test_programs_are_exported():
    left, right = pd.DataFrame({"a": ENGLISH["weekday"]}), pd.DataFrame({"b": OTHER[12][1].split("|"), "n": range(7)})
    wide = left.auto_join(right, on="a", right_on="b")
    held = wide.attrs["dfjoin"]["plan"]["steps"][0]["relation"]["programs"][0]
    program = dfjoin.Program.from_dict(held.get("program", held))
    assert program("Donderdag") == "Thursday" and program.pieces[0].steps == (Entity("weekday"),)
    scope: dict[str, object] = {}
    exec(program.to_python(), scope)
    function = next(value for name, value in scope.items() if callable(value) and name == "transform")
    assert function("zo.") == "Sunday"
