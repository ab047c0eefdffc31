"""The table of modes: what each has, and that nothing else asks for a mode by its name."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import dfjoin
from dfjoin.search.exact.exact_mode import ExactMode
from dfjoin.search.modes import Mode, mode_of
from dfjoin.search.params import MODES

PACKAGE = Path(dfjoin.__file__).parent


@pytest.mark.parametrize("name", MODES)
def test_a_mode_lives_in_the_folder_of_its_name(name):
    mode = mode_of(name)
    assert type(mode).__module__ == f"dfjoin.search.{name}.{name}_mode" and mode is mode_of(name)
    assert mode.nothing_found.startswith("no column of the lake")
    for method in ("check", "search", "explain", "pairs"):
        assert getattr(type(mode), method) is not getattr(Mode, method), f"{name} has no `{method}`"


def test_a_further_mode_is_one_line(lake, monkeypatch):
    """What a mode adds to the frame and says of a row comes from its class alone."""

    class Louder(ExactMode):
        def columns(self, found):
            return {"kind": ["any"] * len(found.hits), "loud": ["yes"] * len(found.hits)}

    monkeypatch.setattr("dfjoin.search.exact.exact_mode.ExactMode", Louder)
    mode_of.cache_clear()
    try:
        hits = dfjoin.discover_joinable(pd.DataFrame({"q": ["a"]}), "q", lake, rank="matched")
        assert set(hits["table"]) == {"many", "ones"} and (hits["kind"] == "any").all()
        assert list(hits)[-1] == "loud" and (hits["loud"] == "yes").all() and hits.explain(0).matched == 1
    finally:
        monkeypatch.undo()
        mode_of.cache_clear()


def _compared_with(tree):
    """Texts that something is compared with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                leaves = side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side]
                yield from (leaf.value for leaf in leaves if isinstance(leaf, ast.Constant))
        elif isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant):
            yield node.value.value


def test_nothing_compares_with_the_name_of_a_mode():
    compared = {path: set(_compared_with(ast.parse(path.read_text("utf-8")))) for path in PACKAGE.rglob("*.py")}
    assert [path for path, texts in compared.items() if texts & set(MODES)] == []


LIGHT = """
import sys, dfjoin.search.modes, dfjoin.search.params
assert dfjoin.search.params.MODES
print([name for name in sys.modules if name.startswith(("numba", "dfjoin.kernels"))])
"""


def test_the_table_compiles_nothing():
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], cwd=PACKAGE.parent, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("mode", ["exact", "two columns", *MODES[1:]])
def test_an_explanation_speaks_to_people_before_its_details(build, mode):
    names = [f"{last}, Al{i}x" for i, last in enumerate(["Smith", "Jones", "Brown", "Garcia", "Davis"] * 8)]
    people = pd.DataFrame({"name": names, "town": [f"town {i % 9}" for i in range(40)]})
    lake = build({"people": people.assign(v=range(40))}, settings={"patterns": True}, embedder="ngrams")
    on, df = "name", people
    if mode == "transform":
        df = pd.DataFrame({"name": [" ".join(name.split(", ")[::-1]) for name in people["name"]]})
    on, mode = (["name", "town"], "exact") if mode == "two columns" else (on, mode)
    told = str(dfjoin.discover_joinable(df, on, lake, mode=mode).explain(0))
    for_people, details = told.split("\n  details\n")
    assert "joins people" in for_people and "40 of 40 values" in for_people and "found by" in details
    assert not re.search(r"\b(bits?|lists?|tokens?|sets?|segments?|postings?|pruned)\b", for_people)
