import numpy as np
import pyarrow as pa
import pytest

from dfjoin.fuzzy.match_model import published_model
from dfjoin.fuzzy.match_problem import is_left_reference, set_up
from dfjoin.fuzzy.texts import fold_texts


def folded(*values):
    return fold_texts(pa.array(values, pa.string()))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (folded("a", "b", "b"), folded("a", "b"), False),
        (folded("a", "b"), folded("a", "b", "b"), True),
        (folded("a", "b", "c"), folded("a", "b"), True),
        (folded("a", "b"), folded("a", "b"), False),
        (folded(), folded("a"), False),
    ],
)
def test_the_reference_is_the_column_that_is_more_like_a_key_then_the_longer_one(left, right, expected):
    assert is_left_reference(left, right) is expected


def test_known_texts_are_no_targets_and_are_compared_with_their_nearest():
    reference, query = folded("red fox", "blue bird", "green frog"), folded("red foxx", "blue birds", "gren frog")
    known = np.array([0, 2]), np.array([0, 1])  # the first is right, the second is not
    problem = set_up(reference, query, known, published_model())
    assert [query.values[i] for i in problem.target_texts] == ["gren frog"]
    assert sorted(problem.is_known_right.tolist()) == [False, True]
    assert len(problem.targets) == 1
