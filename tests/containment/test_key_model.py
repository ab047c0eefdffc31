"""The published model of foreign keys."""

import json

import numpy as np

from dfjoin.containment.key_features import KEY_FEATURES
from dfjoin.containment.key_model import KEY_MODEL_FILE, key_model


def features(**values):
    return np.array([float(values.get(name, 0)) for name in KEY_FEATURES])


def test_the_file_names_its_data_and_every_feature():
    text = json.loads(KEY_MODEL_FILE.read_text("utf-8"))
    assert tuple(text["features"]) == key_model().names == KEY_FEATURES
    assert {"what", "command", "data", "held_out"} <= set(text)


def test_names_make_a_key_likely_and_chance_does_not():
    named = features(named=1, key_named=1, same_folder=1, identifier=1, first_column=1, is_closest=1)
    chance = features(first_column=1, other_keys=3, unnamed_coverage=0.1)
    likely, unlikely = key_model().probabilities(np.stack([named, chance]))
    assert likely > 0.7 > 0.1 > unlikely


def test_evidence_is_told_in_words():
    for_it, against = key_model().evidence(features(named=1, first_column=1, is_closest=1, identifier=1))
    assert "the header names the key" in for_it
    for_it, against = key_model().evidence(features(named=1), True)
    assert "the header names a role of another row of the same table" in for_it
    for_it, against = key_model().evidence(features(own_serial_key=1, other_keys=4))
    assert "the column names the rows of its own table" in against
    assert "the key's table lies in another folder" in against
    every = [
        text for value in (0, 1) for side in key_model().evidence(np.full(len(KEY_FEATURES), value)) for text in side
    ]
    assert all(text and not text[0].isupper() for text in every)
