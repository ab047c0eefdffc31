"""What compiling costs: what is counted, and when it is told."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import config, njit

from dfjoin.kernels.numba import _compile
from dfjoin.kernels.numba._compile import CompileWatch, watch


class Clock:
    now = 100.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_compile, "time", clock)
    return clock


def event_of(module):
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


OURS, NUMBAS, ANOTHERS = event_of("dfjoin.kernels.a"), event_of("numba.np"), event_of("dfjoin.kernels_of_a_user")


def test_compiling_is_counted_with_what_is_compiled_for_it(clock, capsys):
    watch = CompileWatch("dfjoin.kernels", True)
    watch.on_start(OURS)
    watch.on_start(NUMBAS)
    watch.on_start(OURS)
    clock.now += 1.5
    for one in (OURS, NUMBAS, OURS):
        watch.on_end(one)
    assert (watch.n_compiled, watch.seconds) == (2, 1.5)
    for foreign in (NUMBAS, ANOTHERS):
        watch.on_start(foreign)
        clock.now += 60
        watch.on_end(foreign)
    assert (watch.n_compiled, watch.seconds) == (2, 1.5)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("is_kept", "end"), [(True, "kept for later runs"), (False, "not kept, for want of a writable NUMBA_CACHE_DIR")]
)
def test_above_two_seconds_it_is_told_how_far_it_is_and_again_after_ten(clock, capsys, is_kept, end):
    watch = CompileWatch("dfjoin.kernels", is_kept)
    for seconds in (1.5, 0.5):
        watch.on_start(OURS)
        clock.now += seconds
        watch.on_end(OURS)
    assert capsys.readouterr().err == ""
    watch.on_start(OURS)
    watch.on_start(OURS)
    clock.now += 0.1
    watch.on_end(OURS)
    start = "dfjoin compiles its kernels on first use"
    rest = "`dfjoin warmup` compiles all of them at once"
    assert capsys.readouterr().err == f"{start}: 3 compiled in 2 s, {end}; {rest}\n"
    clock.now += 9
    watch.on_end(OURS)
    assert capsys.readouterr().err == ""
    watch.on_start(OURS)
    clock.now += 2
    watch.on_end(OURS)
    assert capsys.readouterr().err == f"{start}: 5 compiled in 13 s\n"
    assert watch.seconds == pytest.approx(13.1)


def test_an_end_without_a_start_is_passed_over(clock):
    """The watch may be set up while a function is being compiled."""
    watch = CompileWatch("dfjoin.kernels", True)
    watch.on_end(OURS)
    assert (watch.n_compiled, watch.seconds) == (0, 0.0)
    watch.on_start(OURS)
    clock.now += 1
    watch.on_end(OURS)
    assert (watch.n_compiled, watch.seconds) == (1, 1.0)


def test_the_package_itself_is_watched_and_what_begins_like_it_is_not(clock):
    watch = CompileWatch("dfjoin", True)
    for module in ("dfjoin", "dfjoin.kernels.a", "dfjoin_of_a_user", "mydfjoin"):
        watch.on_start(event_of(module))
        watch.on_end(event_of(module))
    assert watch.n_compiled == 2


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_numba_tells_the_watch_what_is_compiled():
    def double(a):
        return 2 * a

    double.__module__ = "dfjoin.kernels.made_up"
    kernel = njit(double)
    n_compiled, seconds = watch.n_compiled, watch.seconds
    for number in (np.int64(3), np.int64(4), np.float64(0.5)):
        assert kernel(number) == 2 * number
    assert watch.n_compiled == n_compiled + 2 and watch.seconds > seconds
