"""Columns of a lake that name the same things otherwise, against names written out by hand; and joins with them."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError

THINGS = {
    "Germany": ["Deutschland", "Allemagne", "DE", "DEU"],
    "France": ["Frankreich", "France", "FR", "FRA"],
    "Spain": ["Spanien", "Espagne", "ES", "ESP"],
    "Japan": ["Japan", "Japon", "JP", "JPN"],
    "Brazil": ["Brasilien", "Brésil", "BR", "BRA"],
    "Egypt": ["Ägypten", "Égypte", "EG", "EGY"],
    "Norway": ["Norwegen", "Norvège", "NO", "NOR"],
    "United States": ["Vereinigte Staaten", "États-Unis", "US", "USA"],
}
ENGLISH = list(THINGS)
GERMAN, FRENCH, ALPHA2, ALPHA3 = (list(names) for names in zip(*THINGS.values(), strict=True))


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    tables = {
        "german": pd.DataFrame({"land": GERMAN, "area": range(8)}),
        "codes": pd.DataFrame({"iso": [*ALPHA2[:7], "PE"], "gdp": range(8)}),
        "mixed": pd.DataFrame({"place": [*FRENCH[:3], *ALPHA3[:3], "Peru", "Chad"], "n": range(8)}),
        "languages": pd.DataFrame({"code": ["de", "fr", "es", "no", "en", "ja", "ko", "sv"], "speakers": range(8)}),
        "english": pd.DataFrame({"country": ENGLISH, "capital": list("abcdefgh")}),
    }
    path = tmp_path_factory.mktemp("names") / "lake"
    return dfjoin.build_lake(tables, path, engine="inline", progress=False, embedder="ngrams")


@pytest.mark.parametrize("mode", ["exact", "fuzzy", "embedding"])
def test_other_names_are_found_in_any_mode(lake, mode):
    df = pd.DataFrame({"country": ENGLISH})
    hits = df.discover_joinable("country", lake, mode=mode, rank="useful", k=9, aliases=True)
    found = {row.table: (row.matched, row.alias) for row in hits.itertuples() if isinstance(row.alias, str)}
    assert found == {"german": (8, "country"), "codes": (7, "country"), "mixed": (3, "country")}
    assert set(hits["method"]) == {mode} and "english" in set(hits["table"])
    assert hits[hits["table"] == "english"]["alias"].isna().all()  # equal values match as many
    plain = df.discover_joinable("country", lake, mode=mode, rank="useful", k=9)
    assert "alias" not in plain and "codes" not in set(plain["table"])


def test_pairs_and_explanations_name_what_matches(lake):
    hits = pd.DataFrame({"country": ENGLISH}).discover_joinable("country", lake, k=9, aliases=True)
    place = hits["table"].tolist().index("mixed")
    pairs = set(hits.pairs(place)[["query_value", "candidate_value"]].itertuples(index=False, name=None))
    expected = {(ENGLISH[i], names[i].lower()) for names in (FRENCH, ALPHA3) for i in range(3)}
    assert pairs == expected
    text = str(hits.explain(place))
    assert "names of one country" in text and "3 of 8 values" in text


@pytest.mark.parametrize("options", [{}, {"on": "country"}, {"on": "country", "mode": "embedding"}])
def test_a_lake_is_joined_by_what_names_mean(lake, options):
    df = pd.DataFrame({"country": ["USA", "Deutschland", "Frankreich", "Espagne", "JPN", "Brasil"], "x": range(6)})
    wide = df.auto_join(lake, aliases=True, tables="codes", **options)
    assert wide["iso"].tolist()[1:] == ["DE", "FR", "ES", "JP", "BR"] and pd.isna(wide["iso"][0])
    assert "by country.entity('country') = iso.entity('country')" in str(dfjoin.report(wide))
    plan = wide.attrs["dfjoin"]["plan"]
    again = pd.DataFrame({"country": ["Norvège", "Peru"]}).auto_join(plan)
    assert again["iso"].tolist() == ["NO", "PE"]
    assert "iso" not in df.auto_join(lake, tables="codes", on_no_match="ignore", **options)


def test_the_indicator_tells_equal_names_from_others(lake):
    df = pd.DataFrame({"place": ["ES", "Spanien", "France", "Frankreich", "JPN", "Peru", "nowhere"]})
    wide = df.auto_join(lake, on="place", aliases=True, tables="mixed", indicator=True)
    chances = wide.set_index("place")["_probability"]
    kinds = [kind if isinstance(kind, str) else "" for kind in wide["_match"]]
    assert kinds == [
        "program",
        "program",
        "",
        "program",
        "",
        "equal",
        "",
    ]  # France meets itself, and FRA by its program
    assert chances["Peru"] == 1 and 0.8 < chances["Spanien"] < chances["France"] < 1
    assert chances[["JPN", "nowhere"]].isna().all()


def test_names_of_the_user(lake):
    df = pd.DataFrame({"who": ["the big one", "old europe", "nippon", "nowhere"]})
    given = {"The Big One": "United States", "old europe": "France", "Nippon": "Japan"}
    hits = df.discover_joinable("who", lake, k=9, aliases=given)
    found = dict(zip(hits["table"], hits["matched"], strict=True))
    assert found["english"] == 3 and set(hits["alias"]) == {"given"}
    with pytest.raises(InvalidParameterError, match="`aliases` must have at least one entry"):
        df.discover_joinable("who", lake, aliases={})


def test_codes_of_states_are_no_countries(lake):
    states = pd.DataFrame({"st": ["DE", "AL", "GA", "CO", "NE", "PA", "SC", "TX", "NY", "FL"]})
    hits = states.discover_joinable("st", lake, k=9, aliases=True)
    assert "alias" not in hits or hits["alias"].isna().all()


@pytest.mark.parametrize("options", [{"partners": "all"}, {"partners": "nearest"}, {"min_margin": 0.1}])
def test_partners_are_those_of_distance_alone(lake, options):
    df = pd.DataFrame({"country": ["USA", "Deutschland", "Frankreich", "Espagne", "JPN", "Brasil"]})
    wide = df.auto_join(lake, on="country", mode="fuzzy", tables="codes", aliases=True, **options)
    assert wide["iso"].tolist()[1:] == ["DE", "FR", "ES", "JP", "BR"]
    with pytest.raises(InvalidParameterError, match="belongs to candidates that were found by distance"):
        df.auto_join(lake, on="country", tables="codes", aliases=True, **options)


def test_where_names_are_not_looked_up_they_are_refused(lake):
    df = pd.DataFrame({"country": ENGLISH, "area": range(8)})
    right = pd.DataFrame({"country": GERMAN, "area": range(8), "n": range(8)})

    def refused(text, call, *arguments, **options):
        with pytest.raises(InvalidParameterError, match=text):
            call(*arguments, aliases=True, **options)

    hits = df.discover_joinable("country", lake, tables="codes", aliases=True)
    of_lake = df.auto_join(hits).attrs["dfjoin"]["plan"]
    of_frames = df[["country"]].auto_join(right, on="country").attrs["dfjoin"]["plan"]
    join, search = df.auto_join, df.discover_joinable
    refused("`aliases` does not apply when `other` is a search result, got True; leave it out", join, hits)
    refused("`aliases` does not apply when `other` is a plan, got True", join, of_lake)
    refused("`aliases` does not apply when `other` is joined by a plan, got True", join, right, plan=of_frames)
    refused("`aliases` does not apply when .* a DataFrame and mode='fuzzy'", join, right, on="country", mode="fuzzy")
    dated = right.assign(day=pd.Timestamp("2020-01-01"))
    refused('`aliases` does not apply when .* how="asof"', dated.auto_join, dated, on=["country", "day"], how="asof")
    refused("`aliases` relate .* programs of their own, got True and transform=False", join, right, transform=False)
    refused("`aliases` .* got True and `examples`; leave one", join, right, examples=[("Germany", "Deutschland")])
    for call in (search, lambda on, lake, **options: join(lake, on=on, **options)):
        refused("`aliases` goes with a key of one column, got 2 columns; leave", call, ["country", "area"], lake)
    refused(
        "`aliases` belong to .* got True and progressive=True", search, "country", lake, mode="lsh", progressive=True
    )


ENGLISH_NAMES = {
    "country": ["Germany", "Switzerland", "Hungary", "Netherlands"],
    "month": ["January", "March", "August", "December"],
    "day": ["Monday", "Wednesday", "Friday", "Sunday"],
    "language": ["German", "French", "Japanese", "Dutch"],
    "unit": ["kilogram", "metre", "litre", "hour"],
    "currency": ["Swiss franc", "Japanese yen", "US dollar", "Danish krone"],
}
OTHER_NAMES = [
    ("German", "currency", ["Schweizer Franken", "Japanischer Yen", "US-Dollar", "Dänische Krone"]),
    ("French", "unit", ["kilogramme", "mètre", "litres", "heure"]),
    ("Spanish", "day", ["lunes", "miércoles", "viernes", "domingo"]),
    ("Italian", "language", ["tedesco", "francese", "giapponese", "olandese"]),
    ("Portuguese", "country", ["Alemanha", "Suíça", "Hungria", "Países Baixos"]),
    ("Dutch", "month", ["januari", "maart", "augustus", "december"]),
    ("Polish", "country", ["Niemcy", "Szwajcaria", "Węgry", "Holandia"]),
    ("Russian", "month", ["январь", "март", "август", "декабрь"]),
    ("Turkish", "day", ["Pazartesi", "Çarşamba", "Cuma", "Pazar"]),
    ("Japanese", "country", ["ドイツ", "スイス", "ハンガリー", "オランダ"]),
    ("Chinese", "language", ["德语", "法语", "日语", "荷兰语"]),
    ("Korean", "month", ["1월", "3월", "8월", "12월"]),
    ("Arabic", "country", ["ألمانيا", "سويسرا", "هنغاريا", "هولندا"]),
    ("Swedish", "currency", ["schweizisk franc", "japansk yen", "US-dollar", "dansk krona"]),
]


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    tables = {kind: pd.DataFrame({"name": names, "n": range(4)}) for kind, names in ENGLISH_NAMES.items()}
    return dfjoin.build_lake(tables, tmp_path_factory.mktemp("english") / "lake", engine="inline", progress=False)


@pytest.mark.parametrize(("language", "kind", "names"), OTHER_NAMES)
def test_names_in_many_languages_find_the_english_ones(english, language, kind, names):
    hits = pd.DataFrame({"q": names}).discover_joinable("q", english, aliases=True, min_score=0.0)
    place = hits["table"].tolist().index(kind)
    pairs = dict(hits.pairs(place)[["query_value", "candidate_value"]].itertuples(index=False, name=None))
    expected = dict(zip(names, [name.lower() for name in ENGLISH_NAMES[kind]], strict=True))
    assert pairs == expected, language
