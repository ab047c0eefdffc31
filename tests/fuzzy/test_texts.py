import numpy as np
import pyarrow as pa
import pytest

from dfjoin.fuzzy import texts as texts_module
from dfjoin.fuzzy.texts import cut_texts, fold_text, fold_texts, mark_asides


@pytest.mark.parametrize(
    ("raw", "folded"),
    [
        ("  Zoë's  CAFÉ—bar ", "zoe s cafe bar"),
        ("snake_case-and/slash", "snake case and slash"),
        ("Straße", "strasse"),
        ("ＦＵＬＬ width", "full width"),
        ("日本 東京", "日本 東京"),
        ("東京都北区", "東京 京都 都北 北区"),
        ("カレー 3号室、市", "カレ レー 3 号室 市"),
        ("हिन्दी भाषा।", "हिन्दी भाषा"),
        ("தமிழ்_நாடு", "தமிழ் நாடு"),
        ("ภาษาไทย, ที่", "ภาษาไทย ที่"),
        ("Việt Nam", "viet nam"),
        ("パリ", "パリ"),
        ("バリ", "バリ"),
        ("ﾊﾞﾘ", "バリ"),
        ("+", "+"),
        ("???", "???"),
        ("", ""),
        ("  ", ""),
        ("i̇stanbul", "istanbul"),
    ],
)
def test_folding_keeps_letters_and_digits(raw, folded):
    assert fold_text(raw) == folded
    assert fold_text(folded) == folded


def test_equal_texts_share_a_number_and_nulls_have_none():
    texts = fold_texts(pa.array(["B-b", None, "a", "b B", "", "  "]))
    assert texts.values == ["a", "b b"]
    assert texts.codes.tolist() == [1, -1, 0, 1, -1, -1]
    assert texts.n_present == 3
    indptr, rows = texts.rows_of()
    assert (indptr.tolist(), rows.tolist()) == ([0, 1, 3], [2, 0, 3])


@pytest.mark.parametrize("column", [pa.array([], pa.string()), pa.nulls(2, pa.string()), pa.nulls(2)])
def test_columns_without_texts(column):
    texts = fold_texts(column)
    assert texts.values == []
    assert texts.codes.tolist() == [-1] * len(column)
    assert texts.code_points.offsets.tolist() == [0]
    assert texts.code_points.points.size == 0


def test_chunks_slices_and_dictionaries_are_the_same_column():
    plain = pa.array(["x", "a", None, "b"])
    expected = fold_texts(plain.slice(1)).codes.tolist()
    for column in (pa.chunked_array([["a"], [None, "b"]]), plain.slice(1).dictionary_encode()):
        assert fold_texts(column).codes.tolist() == expected == [0, -1, 1]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("The Summit (Reno), Nevada", [2, 3]),
        ("(The) Summit", [0]),
        ("(all of it)", []),
        ("A [b] c {d; e} f", [1, 3, 4, 5]),
        ("plain", []),
        ("open (never closed", [1, 2]),
        (", b", []),
        (", a (b)", [1]),
        (" ".join(["w"] * 70) + " (x)", []),
    ],
)
def test_words_in_brackets_and_behind_commas_are_marked(value, words):
    assert mark_asides(value) == sum(1 << word for word in words)
    assert fold_texts(pa.array([value])).asides.tolist() == [sum(1 << word for word in words)]


def test_long_texts_stay_different_and_are_compared_by_their_beginning():
    texts = fold_texts(pa.array(["a" * 5000, "a" * 5001, "b"]))
    assert len(texts) == 3
    cut, same = cut_texts(texts, fold_texts(pa.array(["c"])))
    assert np.diff(cut.code_points.offsets).tolist() == [2000, 2000, 1]
    assert same.values == ["c"] and cut.codes.tolist() == texts.codes.tolist()


def test_many_long_texts_are_cut_to_the_same_shorter_length(monkeypatch):
    monkeypatch.setattr(texts_module, "_CHARACTERS_IN_ALL", 600)
    many, few = fold_texts(pa.array(["a" * i for i in range(1, 300, 75)])), fold_texts(pa.array(["a" * 226, "b" * 400]))
    assert [len(value) for value in cut_texts(many, few)[0].values] == [1, 76, 150, 150]
    assert [len(value) for value in cut_texts(few, many)[0].values] == [150, 150], "as much as of the other column"
    monkeypatch.setattr(texts_module, "_CHARACTERS_IN_ALL", 1)
    assert [len(value) for value in cut_texts(few, many)[0].values] == [100, 100], "at least 100"


@pytest.mark.parametrize(("value", "folded"), [("Øst Łódź", "ost lodz"), ("Æther þorn", "aether thorn"), ("ß", "ss")])
def test_letters_with_strokes_are_folded(value, folded):
    assert fold_text(value) == folded
