"""Damage passes through kernels that call each other, up to Python."""

import numpy as np
import pytest

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.numba._compile import njit_inner, njit_lean


@njit_inner
def _read(array, place):
    if place >= array.shape[0]:
        raise DamagedArraysError
    return array[place]


@njit_lean
def _follow(array, place, n_steps):
    for _ in range(n_steps):
        place = _read(array, place)
    return place


CHAIN = np.array([2, 9, 1], np.int64)


def test_an_inner_kernel_says_that_arrays_are_damaged():
    assert _follow(CHAIN, 0, 3) == 9
    with pytest.raises(DamagedArraysError):
        _follow(CHAIN, 0, 4)
    assert _follow(CHAIN, 0, 2) == 1, "the kernel is as good as before"


def test_damage_is_an_error_of_a_value():
    with pytest.raises(ValueError):
        _follow(CHAIN, 3, 1)
