"""``dfjoin warmup``: afterwards nothing is left to be compiled."""

import importlib
import json
import pkgutil
import re
import subprocess
import sys

import pytest
from numba import config
from numba.core.dispatcher import Dispatcher

import dfjoin.kernels
from dfjoin.cli.main import main
from dfjoin.cli.warmup import warm_up
from dfjoin.kernels.numba._compile import watch
from dfjoin.kernels.numba.shipped_kernels import SHIPPED
from tests.benchmarks.cold_start import PROJECT, run_tour

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


def kernels():
    for module in pkgutil.walk_packages(dfjoin.kernels.__path__, "dfjoin.kernels."):
        for name, kernel in vars(importlib.import_module(module.name)).items():
            if isinstance(kernel, Dispatcher) and kernel.py_func.__module__ == module.name:
                yield name, kernel


INNER = {
    "hash_bytes", "equal_bytes", "is_digit", "read_digits", "canonical_number", "canonical_time", "day_month_year",
    "write_utf8", "lower_bound", "is_member", "sort_lists_lexicographic", "offer", "rank_heap", "sum_set", "bound", "prefix_end",
    "set_cost", "filter_candidates", "order_candidates", "batch_net_cost", "set_net_cost", "read_utf8",
    "find_bytes", "is_in_class", "count_token", "null_spans",
}  # fmt: skip
"""Kernels that only kernels and tests call."""


def is_inner(name, kernel):
    """Kernels that only kernels call; where their callers are found in the cache they are not looked for."""
    return name in INNER or name.startswith("_") or kernel._compile_for_args.__name__ == "refuse"


def differ_in_writing(kernel):
    kinds = [re.sub(r"readonly |, (True|False), aligned=\w+|Mutable", "", str(types)) for types in kernel.overloads]
    return len(set(kinds)) < len(kinds)


def report_use():
    """Warm up, and print which kernels were not used and which were compiled twice."""
    warm_up()
    outer = [(name, kernel) for name, kernel in kernels() if not is_inner(name, kernel)]
    unused = [name for name, kernel in outer if not kernel.overloads]
    print(json.dumps({"unused": unused, "doubled": [name for name, kernel in outer if differ_in_writing(kernel)]}))


def test_every_kernel_is_used_and_the_tour_compiles_nothing_afterwards(capsys):
    # In a process of its own: other tests call kernels with arrays that may be written.
    command = [sys.executable, "-c", "from tests.cli.test_warmup import report_use; report_use()"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    use = json.loads(done.stdout.splitlines()[-1])
    assert use["unused"] == [], "kernels that a user would wait for: let the warm-up use them"
    assert use["doubled"] == [], "compiled twice, for arrays that may be written and that may not: pass read-only ones"
    assert main(["warmup", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"compiled": 0, "seconds": 0.0}
    tour = run_tour(PROJECT)
    assert tour["compiled"] == [], "the tour compiles what the warm-up does not: module, function, types"
    assert tour["error"] == ""


def test_what_was_compiled_is_told(monkeypatch, capsys):
    def compile_some():
        watch.n_compiled += 3
        watch.seconds += 2.4

    for part in ("_build", "_search", "_search_points", "_train", "_contain", "_boost"):
        monkeypatch.setattr(f"dfjoin.cli.warmup.{part}", lambda *arguments: None)
    monkeypatch.setattr("dfjoin.cli.warmup._join", compile_some)
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out == "3 functions compiled in 2 s\n"


def test_portable_kernels_are_made_by_a_process_of_their_own(monkeypatch, capsys):
    commands = []

    def ship(command):
        commands.append(command)
        return '{"compiled": 3, "seconds": 2.4}'

    monkeypatch.setattr("dfjoin.cli.warmup.ship_kernels", ship)
    assert main(["warmup", "--portable"]) == 0
    assert capsys.readouterr().out == "3 functions compiled in 2 s\n"
    assert commands == [[sys.executable, "-m", "dfjoin", "warmup", "--json"]]


def test_portable_kernels_that_cannot_be_made_or_kept(monkeypatch, capsys):
    def fail(command):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("dfjoin.cli.warmup.ship_kernels", fail)
    assert main(["warmup", "--portable"]) == 2
    text = (
        f"the compiled kernels cannot be written to {SHIPPED}: Permission denied; call it as the user who may write "
        "there, or `dfjoin warmup`, which keeps them in your own cache"
    )
    assert text in capsys.readouterr().err

    def end(command):
        raise subprocess.CalledProcessError(7, command)

    monkeypatch.setattr("dfjoin.cli.warmup.ship_kernels", end)
    assert main(["warmup", "--portable"]) == 2
    text = (
        "the kernels cannot be compiled: the process that uses them ended with status 7, and wrote the reason to "
        "standard error; the package is as it was before"
    )
    assert text in capsys.readouterr().err
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert main(["warmup", "--portable"]) == 2
    text = (
        "kernels for many processors can be made on x86_64, not on riscv64; `dfjoin warmup` compiles them for this one"
    )
    assert text in capsys.readouterr().err
