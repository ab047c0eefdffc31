import pytest

from dfjoin.programs.code_operators import Coded
from dfjoin.programs.text_operators import Case, Count, Gaps, Headline, Replace, Reverse, Translate
from dfjoin.transform.compose.rewritings import rewritings


@pytest.mark.parametrize(
    ("texts", "targets", "steps"),
    [
        (("112",), ("112th",), (Coded("ordinal"),)),
        (("the lord", "a"), ("8", "1"), (Count("characters"),)),
        (("the lord of",), ("The Lord of",), (Headline(),)),
        (("aTale",), ("a_tale",), (Gaps("_"), Case("lower"))),
        (("abcd",), ("dcba",), (Reverse(),)),
        (("GATT", "CAG"), ("CTAA", "GTC"), (Translate("ACGT", "TGCA"),)),
        (("thatwill", "thathave"), ("will", "have"), (Replace("that", ""),)),
    ],
)
def test_deep_ways_are_for_examples_alone(texts, targets, steps):
    assert steps in list(rewritings(texts, targets, computes=True, is_deep=True))
    assert steps not in list(rewritings(texts, targets, computes=True, is_deep=False))


def test_no_character_is_replaced_by_two():
    candidates = rewritings(("abab", "cd"), ("xyzy", "cd"), computes=True, is_deep=True)
    assert not any(steps[0].operator is Translate for steps in candidates)
