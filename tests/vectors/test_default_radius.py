"""The radius that a lake's own values choose, against all pairs."""

import math
import random

import numpy as np
import pytest

from dfjoin.vectors.default_radius import CHANGES, change_text, choose_radius
from dfjoin.vectors.embedders import FunctionEmbedder, choose_embedder, to_texts, unit_rows
from tests.vectors.makers import letters

NAMES = choose_embedder("ngrams")


def columns_of(n_columns, n_values):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), 7)) for _ in range(3000)]
    return [[" ".join(rng.choice(words, 2)) for _ in range(n_values)] for _ in range(n_columns)]


def part_of(text, unit):
    """Which part of the radius a text has."""
    return 0.5 ** (math.ceil(2 * math.log2(max(len(text), 20) / 20)) / 4) if unit == "by_length" else 1.0


def naive(embedder, columns, radius, unit="fraction"):
    """Shares of changed values with their own nearest, another one nearest, and another one in its place; and of pairs."""
    rng, n, n_tried, counts, strange = random.Random(0), 0, 0, np.zeros(3), []
    for values in columns:
        right = wrong = 0
        rows = unit_rows(embedder.embed(to_texts(values))).astype(float)
        for i in range(0, len(values), 2):
            text = change_text(values[i], n_tried, rng)
            n_tried += 1
            if text == values[i]:
                continue
            n += 1
            gaps = np.linalg.norm(rows - unit_rows(embedder.embed(to_texts([text])))[0], axis=1) / 2
            gaps /= part_of(text, unit)
            others = np.delete(gaps, i).min()
            counts += [gaps[i] <= min(others, radius), others < gaps[i] and others <= radius, others <= radius]
            right, wrong = right + (gaps[i] <= radius), wrong + (np.delete(gaps, i) <= radius).sum()
        strange += [wrong / (right + wrong)] if right + wrong else []
    return np.append(counts / n, np.mean(strange)), n


@pytest.mark.parametrize("embedder", [NAMES, FunctionEmbedder(letters, "letters")])
def test_the_evidence_is_that_of_brute_force(embedder):
    columns = columns_of(6, 60)
    sample = to_texts([value for values in columns for value in values])
    radius, told, unit = choose_radius(embedder, columns, sample, 360)
    shares, n = naive(embedder, columns, radius, unit)
    names = "found", "wrong", "strangers", "strange_pairs"
    np.testing.assert_allclose([told[name] for name in names], shares, atol=0.01)
    assert told["changed"] == n and shares[3] <= 0.11
    rows, rng = unit_rows(embedder.embed(sample)).astype(float), random.Random(0)
    sources = [value for values in columns for value in values[::2]]
    changed = [change_text(value, i, rng) for i, value in enumerate(sources)]
    if sum(one != other for one, other in zip(changed, sources, strict=True)) == len(sources):
        gaps = np.sqrt(np.maximum(0, 2 - 2 * unit_rows(embedder.embed(to_texts(changed))) @ rows.T)) / 2
        gaps /= np.array([part_of(text, unit) for text in changed])[:, None]
        assert abs(told["pairs"] - (gaps <= radius).mean() * 360) < 0.05 * told["pairs"] + 0.1
        usual = np.sort((gaps <= radius).mean(axis=1))[: math.ceil(0.75 * n)]
        assert usual.mean() * 360 <= 10.1


def test_a_larger_lake_has_a_smaller_radius_and_a_tiny_one_none():
    columns = columns_of(6, 60)
    sample = to_texts([value for values in columns for value in values])
    small, large = (choose_radius(NAMES, columns, sample, n) for n in (360, 4000))
    assert 0 < large.radius < small.radius
    assert choose_radius(NAMES, columns[:1], sample, 60) == (0.0, {}, "fraction")
    assert choose_radius(NAMES, [], to_texts([]), 0) == (0.0, {}, "fraction")


def test_pairs_are_those_of_all_values_though_the_usual_ones_choose_the_radius():
    columns = columns_of(6, 60)
    crowded = [f"{columns[0][i % 3]} {i:03}" for i in range(60)]  # a sixth of the values, which differ in digits
    columns[0] = crowded
    sample = to_texts([value for values in columns for value in values])
    radius, told, unit = choose_radius(NAMES, columns, sample, 360 * 50)
    rows, rng = unit_rows(NAMES.embed(sample)).astype(float), random.Random(0)
    sources = [value for values in columns for value in values[::2]]
    changed = [change_text(value, i, rng) for i, value in enumerate(sources)]
    changed = [one for one, other in zip(changed, sources, strict=True) if one != other]
    cosines = unit_rows(NAMES.embed(to_texts(changed))) @ rows.T
    gaps = np.sqrt(np.maximum(0, 2 - 2 * cosines)) / 2 / np.array([part_of(text, unit) for text in changed])[:, None]
    within = (gaps <= radius).mean(axis=1) * 360 * 50
    assert np.sort(within)[: math.ceil(0.75 * within.size)].mean() <= 10 < within.mean()
    assert abs(told["pairs"] - within.mean()) < 0.01 * within.mean()


def test_texts_are_changed_in_each_kind():
    rng = random.Random(1)
    for kind in range(len(CHANGES)):
        changed = {change_text("grand duchy of luxembourg", kind, rng) for _ in range(20)}
        assert len(changed) > 2 and max(map(len, changed)) <= 29
    assert sorted(change_text("b a", 3, random.Random(3)).replace(",", "").split()) == ["a", "b"]
    assert all(change_text(text, kind, rng) for text in ("a", "é") for kind in range(4))


def test_values_of_one_word_are_changed_in_every_other_kind():
    columns = [[f"{chr(97 + i % 26)}alue{i}{chr(97 + i % 7)}" for i in range(256)] for _ in range(4)]
    _, told, _ = choose_radius(NAMES, columns, to_texts([value for values in columns for value in values]), 1024)
    assert told["changed"] > 0.5 * 512, "words in another order are the same there, and count as tried"


def test_an_empty_text_stays_as_it_is():
    assert [change_text("", kind, random.Random(0)) for kind in range(4)] == [""] * 4


def test_names_that_share_a_long_phrase_have_a_radius_by_length():
    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), 7)) for _ in range(4000)]
    short = [[str(word) for word in rng.choice(words, 80, replace=False)] for _ in range(4)]
    long = [[f"{' '.join(rng.choice(words, 2))} association of {words[i]}" for _ in range(80)] for i in range(4)]
    columns = short + long
    _, told, unit = choose_radius(NAMES, columns, to_texts([value for values in columns for value in values]), 640)
    assert unit == "by_length" and told["strange_pairs"] <= 0.1
    whole = max(step / 100 for step in range(1, 71) if naive(NAMES, columns, step / 100)[0][3] <= 0.1)
    assert told["found"] > naive(NAMES, columns, whole)[0][0] + 0.05


def test_texts_that_are_all_short_have_one_radius():
    columns = columns_of(6, 60)
    assert max(len(value) for values in columns for value in values) <= 16
    _, _, unit = choose_radius(NAMES, columns, to_texts([value for values in columns for value in values]), 360)
    assert unit == "fraction", "no length has a part of it: both radii find as much"
