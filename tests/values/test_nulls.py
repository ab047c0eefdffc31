"""Null spellings by evidence, against the rule as FORMAT.md has it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.types import IndexSettings
from dfjoin.values.normalize import keep_values, normalize_column, settings_for
from dfjoin.values.nulls import NULL_TEXTS, NullEvidence
from tests.index.format_reader import NULL_TEXTS as STATED
from tests.index.format_reader import nulls_by_evidence

SETTINGS = IndexSettings()
PLAIN = IndexSettings(null_evidence=False)


def normalized(cells, settings=SETTINGS):
    return normalize_column(pa.array(cells, pa.string()), settings)


def test_the_texts_are_those_of_the_format_and_in_canonical_form():
    assert set(NULL_TEXTS) == STATED and len(NULL_TEXTS) == len(STATED)
    found = normalized(NULL_TEXTS, PLAIN)
    assert found.values() == list(NULL_TEXTS) and not found.classes.any(), "texts, neither numbers nor dates"


@pytest.mark.parametrize(
    ("cells", "nulls"),
    [
        (["3", "NA", "4", "-", "na"], {"na", "-"}),
        (["2020-01-01", "N/A"], {"n/a"}),
        (["1.5", "1e3", "NaN", "(blank)"], {"nan", "(blank)"}),
        (["Ann", "Bo", "None", "*", "#N/A"], {"none", "*", "#n/a"}),
        (["y", "n", "NA"], {"na"}),
        (["de", "fr", "NA"], set()),
        (["de", "NA"], {"na"}),
        (["yes", "no", "NA"], {"na"}),
        (["af", "an", "as", "eu", "oc", "sa", "NA", "-"], {"-"}),
        (["+", "-"], set()),
        (["+", "-", "NA"], {"na"}),
        (["a", "b", "-"], {"-"}),
        (["NA"], set()),
        (["NA", "-"], {"na", "-"}),
        (["H", "B", "C", "N", "O", "He", "Li", "Be", "Ne", "Al", "Na"], set()),
        ([*"abcdefghijklmnopqrstuvwxyz", *"+!&%#", ".", "NA"], {"na"}),
    ],
)
def test_the_other_values_decide(cells, nulls):
    found = normalized(cells)
    plain = normalized(cells, PLAIN)
    assert set(found.nulls) == nulls and list(found.nulls) == sorted(nulls)
    expected = [None if v in nulls else v for v in (plain.value(code) for code in plain.codes)]
    assert [None if code < 0 else found.value(code) for code in found.codes] == expected


CODES = st.text(st.sampled_from("abnorz"), min_size=1, max_size=4)
CELLS = st.one_of(
    st.sampled_from(NULL_TEXTS), CODES, st.sampled_from(["+", "&&", "12", "1.5", "2020-01-01", "ä", "%1"])
)


@given(st.lists(CELLS, max_size=40), st.sampled_from([1, 12345]))
def test_the_decision_is_that_of_the_format(cells, seed):
    settings = IndexSettings(hash_seed=seed)
    found = normalized(cells, settings)
    assert set(found.nulls) == nulls_by_evidence(normalized(cells, PLAIN).values(), seed)
    again = normalized(cells, settings_for(settings, "", found.nulls))
    assert again.values() == found.values() and again.codes.tolist() == found.codes.tolist()


def test_three_letters_are_a_code_among_many_of_as_many():
    codes = [f"{a}{b}x" for a in "abcde" for b in "fghij"]
    assert not normalized([*codes, "NAN"]).nulls, "the airport of Nadi"
    assert normalized([*codes[:15], "NAN"]).nulls and normalized([*codes, "NAN", *map(str, range(9))]).nulls


@given(st.lists(CELLS, min_size=1, max_size=20), st.data())
def test_parts_decide_as_the_whole(cells, data):
    values = sorted(set(normalized(cells, PLAIN).values()))
    whole, parts = NullEvidence(), NullEvidence()
    doubtful = set(values) & set(NULL_TEXTS)
    halves = [values, *([v for v in values if data.draw(st.booleans()) or v == values[-1]] for _ in range(2)), values]
    for evidence, some in zip((whole, parts, parts, parts), halves, strict=True):
        found = normalized(some, PLAIN)
        places = np.array([i for i, v in enumerate(found.values()) if v in doubtful], np.int64)
        evidence.add(found.hashes, found.data, found.offsets, places)
    assert whole.decide(doubtful) == parts.decide(doubtful)


def test_kept_values_keep_their_order_and_rows():
    found = normalized(["a", "bb", "a", None, "ccc", "bb"])
    kept = keep_values(found, np.array([True, False, True]))
    assert kept.values() == ["a", "ccc"] and kept.codes.tolist() == [0, -1, 0, -1, 1, -1]


def test_all_digit_dates_are_read_without_the_nulls():
    found = normalized(["25/12/2020", "01/02/2020", "NA"])
    assert found.values() == ["2020-12-25", "2020-02-01"] and (found.date_order, found.nulls) == ("dmy", ("na",))


def test_given_spellings_are_all_there_are():
    assert normalized(["3", "NA", "x"], IndexSettings.from_dict({"null_spellings": ["x"]})).values() == ["3", "na"]


@given(
    st.lists(st.sampled_from(["de", "fr", "it", "x", "12", "+", "?", "abc", "NA", "-"]), max_size=12),
    st.integers(0, 12),
)
def test_evidence_of_parts_is_that_of_the_whole(cells, cut):
    """Collected apart, written down and united."""

    def collected(part):
        values, evidence = normalized(part, PLAIN), NullEvidence()
        places = np.array([i for i, text in enumerate(values.values()) if text in NULL_TEXTS], np.int64)
        evidence.add(values.hashes, values.data, values.offsets, places)
        return evidence

    whole, united = collected(cells), NullEvidence()
    for part in (cells[:cut], cells[cut:]):
        united.merge(NullEvidence.from_bytes(collected(part).to_bytes()))
    assert united.to_bytes() == whole.to_bytes()
    assert united.decide(["na", "-"]) == whole.decide(["na", "-"])
