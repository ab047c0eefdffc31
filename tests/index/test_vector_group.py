"""The group `vectors`: what it holds of a segment, and what is left of it when segments are merged."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IncompatibleSettingsError, IndexCorruptedError, InvalidParameterError
from dfjoin.index import segment as segments
from dfjoin.index.column_values import value_of_token
from dfjoin.index.components import VECTORS
from dfjoin.index.vector_group import text_columns, text_tokens, texts_of
from dfjoin.kernels.vectors.vector_blocks import FAR, fill_blocks
from dfjoin.vectors.embedders import to_texts, unit_rows
from dfjoin.vectors.trees import features_of
from tests.vectors.makers import letters

OPTIONS = {"engine": "inline", "progress": False}


def frames():
    names = [f"{a}{b}" for a in "abcde" for b in "vwxyz"]
    return {
        "one": pd.DataFrame({"name": names, "number": range(25), "day": pd.date_range("2020-01-01", periods=25)}),
        "two": pd.DataFrame({"other": [*names[:9], "12-3"], "code": ["x1", "x2"] * 5}),
    }


def held(lake):
    """Value → vector, over all segments."""
    found = {}
    for segment in lake.segments:
        stored = segment.vectors
        for token, row in zip(stored.tokens.tolist(), stored.rows, strict=True):
            found[value_of_token(segment, token)] = row
    return found


def test_each_text_has_one_vector(build):
    lake = build(frames(), embedder=letters)
    (segment,) = lake.segments
    catalog = segment.catalog
    names = [catalog.column_name(i) for i in np.flatnonzero(text_columns(segment)).tolist()]
    assert names == ["name", "code", "other"]
    texts = [value_of_token(segment, token) for token in text_tokens(segment).tolist()]
    assert sorted(texts) == sorted({*frames()["one"]["name"], "12-3", "x1", "x2"})
    found = held(lake)
    assert set(found) == set(texts) - {"12-3"}  # without a letter: the zero vector
    for text, row in found.items():
        np.testing.assert_array_equal(row, unit_rows(letters([text]))[0])
    assert {c.name for c in segment.meta.group("vectors").components} == set(VECTORS)
    assert lake.verify() == []


def test_values_are_copied_as_texts(build):
    (segment,) = build(frames()).segments
    chosen = text_tokens(segment)[::3]
    offsets, data = texts_of(segment.tokens, chosen)
    expected = to_texts([value_of_token(segment, token) for token in chosen.tolist()])
    np.testing.assert_array_equal(offsets, expected[0])
    assert data[: offsets[-1]].tobytes() == expected[1][: offsets[-1]].tobytes()


def test_vectors_are_kept_right_by_every_change(build):
    """Add, replace, remove, compact: the vectors are those of an index that is built anew."""
    parts = frames()
    lake = build({"one": parts["one"]}, embedder=letters)
    lake.add({"two": parts["two"], "three": pd.DataFrame({"gone": ["only here", "and here"]})}, **OPTIONS)
    assert "only here" in held(lake) and len(lake.segments) == 2
    lake.replace({"two": pd.DataFrame({"other": ["new value", "av"]})}, **OPTIONS)
    lake.remove("three")
    lake.compact(full=True)
    expected = held(build({"one": parts["one"], "two": pd.DataFrame({"other": ["new value", "av"]})}, embedder=letters))
    found = held(lake)
    assert len(lake.segments) == 1 and set(found) == set(expected)
    for text, row in expected.items():
        np.testing.assert_array_equal(found[text], row)
    lake.vacuum(retain=0)
    assert held(dfjoin.open_lake(lake.path)).keys() == found.keys() and lake.verify() == []


def test_segments_of_which_one_has_none_are_merged_without(build):
    lake = build({"one": frames()["one"]})
    lake.add_vectors(letters)
    other = lake.segments[0].meta
    lake.add({"two": frames()["two"]}, **OPTIONS)
    metas = [other, lake.segments[1].meta]
    bare = [m if i else type(m)(m.id, m.counts, m.groups[:2]) for i, m in enumerate(metas)]
    from dfjoin.ingest.merge_task import merge_segments

    assert merge_segments(metas, lake.path, lake.settings)[1].group("vectors") is not None
    assert merge_segments(bare, lake.path, lake.settings)[1].group("vectors") is None


def test_an_embedder_must_keep_to_the_length_that_it_was_tried_with(build):
    def growing(texts):
        return np.ones((len(texts), 4 if "paris" in texts else 5))

    with pytest.raises(InvalidParameterError, match=r"vectors of one length, but .*growing returned some of 4 numbers"):
        build(frames(), embedder=growing)


def test_an_index_without_text_has_an_empty_group(build):
    lake = build({"n": pd.DataFrame({"number": range(9)})}, embedder=letters)
    assert lake.segments[0].vectors.rows.shape == (0, 26)
    hits = pd.DataFrame({"q": ["some", "text", "3"]}).discover_joinable("q", lake, mode="embedding", rank="matched")
    assert hits["matched"].tolist() == [1]


def test_an_index_without_vectors_says_so(build):
    (segment,) = build(frames()).segments
    with pytest.raises(
        IncompatibleSettingsError, match=r"has no vectors, which mode=\"embedding\" needs; add them with"
    ):
        _ = segment.vectors


@pytest.mark.parametrize(
    "component",
    [
        "vector_tokens",
        "vector_center",
        "vector_words",
        "vector_axes",
        "vector_cells",
        "vector_cosines",
        "vector_centers",
    ],
)
def test_components_that_do_not_fit_are_damage(build, component, monkeypatch):
    lake = build(frames(), embedder=letters)
    (segment,) = lake.segments
    arrays = dict(zip(VECTORS, segment._map("vectors", VECTORS), strict=True))
    arrays[component] = arrays[component][:-1] if component != "vector_axes" else arrays[component][:, :-1]
    monkeypatch.setattr(segments, "map_component", lambda _, meta, is_compared: arrays[meta.name])
    with pytest.raises(IndexCorruptedError, match="component `vector_"):
        _ = segment.vectors


def test_features_that_earlier_versions_wrote_are_read(build):
    lake = build(frames(), embedder=letters)
    (segment,) = lake.segments
    stored = segment.vectors
    floats = np.full((-(-len(stored.rows) // 64), 25, 64), FAR, np.float32)
    fill_blocks(features_of(stored.rows, stored.cells.projection), np.arange(len(stored.rows)), floats)
    arrays = dict(zip(VECTORS, segment._map("vectors", VECTORS), strict=True)) | {"vector_words": floats}
    group = segment._group("vectors")
    older = tuple(replace(c, name=c.name.replace("_words", "_blocks")) for c in group.components)
    segment._group = lambda _: replace(group, components=older)
    segment._map = lambda _, names, sound: list(arrays.values()) if "vector_blocks" in names else []
    del segment.vectors
    np.testing.assert_array_equal(segment.vectors.cells.blocks.words, stored.cells.blocks.words)
