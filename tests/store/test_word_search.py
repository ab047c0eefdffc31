"""Finding tables by words, against a naive BM25 with fields."""

import math
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin.errors import InvalidParameterError
from dfjoin.store.word_search import search_words

FRAMES = {
    "geo/county_population.csv": pd.DataFrame({"county": ["Ada", "Bay"], "people": [5, 7]}),
    "geo/counties.csv": pd.DataFrame({"name": ["Ada", "Bay"], "population": [5, 7]}),
    "sport/medals.csv": pd.DataFrame({"country": ["Peru", "Chad"], "gold": [1, 2], "silver": [3, 4]}),
    "sport/countrywide.csv": pd.DataFrame({"club": ["Ada United", "Chad City"], "points": [3, 1]}),
}


@pytest.fixture
def lake(build):
    return build({name.removesuffix(".csv"): frame for name, frame in FRAMES.items()})


def tables(lake, words, **options):
    return lake.search(words, **options)["table"].tolist()


def test_words_stand_in_names_headers_and_samples(lake):
    found = lake.search("Population by COUNTY")
    assert set(found["table"][:2]) == {"geo/county_population", "geo/counties"}
    assert found["words"][:2].tolist() == ["population county"] * 2, "by does not count"
    assert found["score"].is_monotonic_decreasing and (found["score"] > 0).all()
    by_table = found.set_index("table")
    assert by_table.loc["geo/county_population", "columns"] == ["county"]
    assert by_table.loc["geo/counties", "columns"] == ["population"]
    assert by_table.loc["geo/counties", ["n_rows", "n_columns"]].tolist() == [2, 2]
    assert tables(lake, "chad") == ["sport/medals", "sport/countrywide"]
    assert lake.search("peru")["columns"].tolist() == [["country"]]


def test_a_plural_is_the_word_and_a_part_counts_less(lake):
    assert set(tables(lake, "counties")) == set(tables(lake, "county")) == {"geo/county_population", "geo/counties"}
    found = lake.search("country")
    assert found["table"].tolist() == ["sport/medals", "sport/countrywide"], "alone before within another"
    assert "geo/counties" not in found["table"].tolist()
    assert tables(lake, "wide") == ["sport/countrywide"] and not tables(lake, "ide")


def test_k_ties_and_nothing(lake):
    assert len(tables(lake, "sport geo", k=1)) == 1 and len(tables(lake, "sport geo", k=None)) == 4
    scores = lake.search("geo").set_index("table")["score"]
    assert list(scores.index) == sorted(scores.index, key=lambda table: (-scores[table], table))
    nothing = lake.search("xyzzy")
    assert len(nothing) == 0 and list(nothing) == ["table", "score", "words", "columns", "n_rows", "n_columns"]


def test_every_segment_is_searched_and_what_is_removed_is_not(lake):
    lake.add({"geo/more": pd.DataFrame({"county": ["Cass", "Dade"], "v": [1.5, 2.5]})}, engine="inline", progress=False)
    assert "geo/more" in tables(lake, "county") and tables(lake, "cass") == ["geo/more"]
    lake.remove("geo/more")
    assert "geo/more" not in tables(lake, "county") and not tables(lake, "cass")


@pytest.mark.parametrize("words", ["", " - ", None, 3, ["a"]])
def test_words_are_needed(lake, words):
    with pytest.raises(InvalidParameterError, match="`words` must be a text with a word in it, got"):
        lake.search(words)
    with pytest.raises(InvalidParameterError, match="`k` must be"):
        lake.search("county", k=0)


def test_letters_of_other_alphabets(build):
    lake = build(
        {
            "städte": pd.DataFrame({"Ort": ["Zürich", "Genf"], "Höhe": [408, 375]}),
            "b": pd.DataFrame({"x": ["ZÜRICHSEE", "y"]}),
        }
    )
    assert tables(lake, "ZÜRICH") == ["städte", "b"] and tables(lake, "höhe") == ["städte"]


def naive(frames, words):
    """BM25 with fields over whole words and parts of words, text by text."""
    fields = {name: ([name], list(df), [str(v) for c in df for v in df[c]]) for name, df in frames.items()}
    lengths = {name: [sum(len(t.lower().encode()) for t in texts) for texts in own] for name, own in fields.items()}
    means = [max(1.0, sum(own[i] for own in lengths.values()) / len(frames)) for i in range(3)]
    scores = dict.fromkeys(frames, 0.0)
    for word in words:
        frequency = {}
        for name, own in fields.items():
            total = 0.0
            for i, (weight, b) in enumerate([(3, 0.5), (2, 0.6), (1, 0.75)]):
                hits = sum(
                    _weight(word, text.lower(), m.start()) for text in own[i] for m in re.finditer(word, text.lower())
                )
                total += weight * hits / (1 - b + b * lengths[name][i] / means[i])
            frequency[name] = total
        n_holding = sum(f > 0 for f in frequency.values())
        idf = math.log1p((len(frames) - n_holding + 0.5) / (n_holding + 0.5))
        for name, f in frequency.items():
            scores[name] += idf * f * 2.2 / (f + 1.2)
    return {name: score for name, score in scores.items() if score > 0}


def _weight(word, text, start):
    before, after = text[:start][-1:], text[start + len(word) :]
    is_begin = not before.isalnum()
    is_whole = any(after.startswith(e) and not after[len(e) :][:1].isalnum() for e in ("", "s", "es", "y", "ies"))
    return 1.0 if is_begin and is_whole else 0.0 if len(word) < 4 else 0.5 if is_begin else 0.25


WORDS = ["abba", "noon", "reed", "gdp"]
TEXTS = st.lists(
    st.sampled_from([*WORDS, *(w + "s" for w in WORDS), "x-abba", "noonday", "afternoon", "q", "reed abba"]),
    min_size=2,
    max_size=3,
    unique=True,
)


@given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True),
)
def test_scores_are_those_of_the_definition(tmp_path_factory, tables, words):
    frames = {f"{i}/{name[0]}": pd.DataFrame(dict.fromkeys(columns, name)) for i, (name, columns) in enumerate(tables)}
    lake = dfjoin.build_lake(frames, tmp_path_factory.mktemp("w") / "lake", engine="inline", progress=False)
    found = search_words(lake.snapshot, " ".join(words), None)
    expected = naive(frames, words)
    assert dict(zip(found["table"], found["score"], strict=True)) == pytest.approx(expected)
    assert found["table"].tolist() == sorted(expected, key=lambda name: (-round(expected[name], 9), name))
