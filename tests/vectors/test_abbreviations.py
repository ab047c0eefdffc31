"""Abbreviations: words of the table alone are written out, on both sides."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.vectors.abbreviations import ABBREVIATIONS, abbreviations_for, expand_texts
from dfjoin.vectors.embedders import FunctionEmbedder, to_texts
from tests.vectors.makers import letters


def spelled(texts):
    offsets, data = texts
    return [data[a:b].tobytes().decode() for a, b in zip(offsets, offsets[1:], strict=False)]


def test_whole_words_are_written_out():
    texts = ["12 north st.", "stone st", "", "5 jan 2020", "ST. John Ave", "café rd.", "street", "estimate"]
    expected = [
        "12 north street",
        "stone street",
        "",
        "5 january 2020",
        "street John avenue",
        "café road",
        "street",
        "estimate",
    ]
    assert spelled(expand_texts(to_texts(texts), ABBREVIATIONS)) == expected
    assert spelled(expand_texts(to_texts(["univ. of x"]), {"univ": "university"})) == ["university of x"]
    for kept in ([], ["plain"], ["a", "b"]):
        assert spelled(expand_texts(to_texts(kept), ABBREVIATIONS)) == kept


def test_the_table_of_an_embedder():
    own = FunctionEmbedder(letters, "f")
    assert abbreviations_for(None, None) == ABBREVIATIONS and abbreviations_for(own, None) == {}
    assert abbreviations_for(own, {"Hq": "headquarters"}) == {"hq": "headquarters"}
    assert abbreviations_for(None, {"st": "saint"})["st"] == "saint" and abbreviations_for(None, {}) == {}
    with pytest.raises(InvalidTypeError, match="`abbreviations` must map words to texts"):
        abbreviations_for(None, ["st"])
    with pytest.raises(InvalidTypeError, match="`abbreviations` must map words to texts"):
        abbreviations_for(None, {"st": 1})
    with pytest.raises(InvalidParameterError, match="`abbreviations` must map single words"):
        abbreviations_for(None, {"st.": "street"})
    with pytest.raises(InvalidParameterError, match="`abbreviations` must have at most 10,000 entries"):
        abbreviations_for(None, {f"w{i}": "x" for i in range(10_001)})


def test_an_index_keeps_its_table(build):
    lake = build({"t": pd.DataFrame({"org": ["univ. of kent", "acme hq", "other"], "n": [1, 2, 3]})}, embedder=letters)
    df = pd.DataFrame({"q": ["university of kent", "acme headquarters"]})
    near = {"mode": "embedding", "radius": 0.01, "rank": "matched"}
    assert len(df.discover_joinable("q", lake, **near)) == 0
    lake.add_vectors(letters, abbreviations={"univ": "university", "hq": "headquarters"}, progress=False)
    for own in (lake, dfjoin.open_lake(lake.path)):
        hits = df.discover_joinable("q", own, **near)
        assert hits["matched"].tolist() == [2]
    assert df.auto_join(hits)["n"].tolist() == [1, 2]
    lake.add({"u": pd.DataFrame({"org": ["big hq", "univ of oslo"]})}, engine="inline", progress=False)
    lake.compact(full=True)
    other = pd.DataFrame({"q": ["big headquarters", "university of oslo"]})
    assert other.discover_joinable("q", lake, **near)["matched"].tolist() == [2]
    assert lake.verify() == []
