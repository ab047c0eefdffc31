"""One process at a time compiles for a cache; nobody waits for ever."""

import pytest

from dfjoin.kernels.numba import kernel_cache


@pytest.mark.skipif(kernel_cache.fcntl is None, reason="no locks of files")
def test_a_turn_is_waited_for_and_given_back(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "_LONGEST_WAIT", 0.1)
    one, other = kernel_cache.CompileTurn(tmp_path), kernel_cache.CompileTurn(tmp_path)
    with one.scope():
        with one.scope():
            assert one.take() is False and one.take() is False  # nobody had it; it is ours
        with other.scope():
            assert other.take() is True  # after waiting in vain it goes on without it
    with other.scope():
        assert other.take() is False
    nowhere = kernel_cache.CompileTurn(tmp_path / "missing")
    with nowhere.scope():
        assert nowhere.take() is False
