"""Ctrl-C while kernels are compiled or loaded."""

import signal
import threading

import pytest
from numba import config
from numba.core import event

from dfjoin.kernels.numba._compile import holding_interrupts, njit


@pytest.fixture(autouse=True)
def handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interruption_comes_at_the_end_of_the_block():
    done = []
    with pytest.raises(KeyboardInterrupt), holding_interrupts():
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert done == [1] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interruption_is_let_through():
    done = []
    with pytest.raises(KeyboardInterrupt), holding_interrupts():
        signal.raise_signal(signal.SIGINT)
        done.append(1)
        signal.raise_signal(signal.SIGINT)
        done.append(2)
    assert done == [1]
    with holding_interrupts():
        pass  # nothing is left of it


def test_the_handler_of_the_caller_is_called_and_errors_pass():
    seen = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    with pytest.raises(ValueError, match="own"), holding_interrupts():
        signal.raise_signal(signal.SIGINT)
        assert seen == []
        raise ValueError("own")
    assert seen == [signal.SIGINT]


def test_other_threads_and_ignored_signals_are_left_alone():
    def block():
        with holding_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    handlers = []
    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    block()
    assert handlers == [signal.default_int_handler, signal.SIG_IGN]


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_a_kernel_whose_compilation_is_interrupted_is_whole(tmp_path):
    class Interrupt(event.Listener):
        def on_start(self, event):
            signal.raise_signal(signal.SIGINT)

        def on_end(self, event):
            pass

    namespace = {"__file__": str(tmp_path / "k.py"), "__name__": "k"}
    (tmp_path / "k.py").write_text("def twice(number):\n    return number * 2\n")
    exec(compile((tmp_path / "k.py").read_text(), str(tmp_path / "k.py"), "exec"), namespace)
    kernel = njit(namespace["twice"])
    with pytest.raises(KeyboardInterrupt), event.install_listener("numba:compile", Interrupt()):
        kernel(3)
    assert len(kernel.overloads) == 1
    assert kernel(3) == 6
