"""Damage that a kernel meets names the component, and nothing else is touched."""

import numpy as np
import pytest

from dfjoin.errors import IndexCorruptedError
from dfjoin.index.segment import reading
from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.lists.vocabulary import gather_groups

REMEDY = "call dfjoin.repair, or build the index again"


@pytest.mark.parametrize(("segment", "place"), [(None, "the index"), ("ab12", "segment ab12")])
def test_damage_becomes_the_error_of_the_component(segment, place):
    with pytest.raises(IndexCorruptedError) as caught, reading("group", "names lists that are not there", segment):
        raise DamagedArraysError
    assert str(caught.value) == f"component `group` of {place} is damaged: it names lists that are not there; {REMEDY}"
    assert isinstance(caught.value.__cause__, DamagedArraysError)


def test_damage_that_a_kernel_finds_is_reported():
    tokens = np.array([0, 1], np.int64)
    with pytest.raises(IndexCorruptedError, match="`group` of the index"), reading("group", "is wrong"):
        gather_groups(tokens, np.array([1, 3], np.uint32), 3)
    with reading("group", "is wrong"):
        gather_groups(tokens := np.array([1, -1, 0], np.int64), np.array([1, 2], np.uint32), 3)
    assert tokens.tolist() == [2, -1, 1]


@pytest.mark.parametrize("error", [ValueError, IndexError, KeyboardInterrupt, MemoryError])
def test_other_errors_pass_as_they_are(error):
    raised = error("something else")
    with pytest.raises(error) as caught, reading("group", "is wrong", "ab12"):
        raise raised
    assert caught.value is raised and caught.value.__cause__ is None
