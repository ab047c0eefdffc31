"""How large is the package? ``python -m tests.benchmarks.counts``.

Counts code lines (no docstrings, comments, blank lines), files, names in each folder, classes, numeric constants,
arguments of the two verbs, and CPU seconds in which pytest collects the tests.
"""

import argparse
import ast
import inspect
import io
import re
import resource
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

import dfjoin
from tests.benchmarks.thresholds import THRESHOLDS
from tests.conftest import PROJECT

PACKAGE = Path(dfjoin.__file__).parent
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.DEDENT, tokenize.ENDMARKER}
_NUMBER = re.compile(r"[-+*/<() .e_]*\d[-+*/<() .e_\d]*")


def count_source(text: str) -> Counter[str]:
    """Count the lines of code, the classes and the numeric constants of a module."""
    tree = ast.parse(text)
    tokens = [one for one in tokenize.generate_tokens(io.StringIO(text).readline) if one.type not in _LAYOUT]
    lines = {number for one in tokens for number in range(one.start[0], one.end[0] + 1)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):  # a docstring
            lines.difference_update(range(node.lineno, node.end_lineno + 1))
    values = [ast.unparse(n.value) for n in tree.body if isinstance(n, ast.Assign | ast.AnnAssign) and n.value]
    numbers = sum(bool(_NUMBER.fullmatch(value)) for value in values)
    classes = sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree))
    return Counter({"code lines": len(lines), "files": 1, "classes": classes, "numeric constants": numbers})


def main() -> None:
    argparse.ArgumentParser(prog="python -m tests.benchmarks.counts", description=__doc__).parse_args()
    total = sum((count_source(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")), Counter())
    for name, n in {**total, "numbers that decide joins (thresholds.py)": len(THRESHOLDS)}.items():
        print(f"{n:>8,} {name}")
    for verb in (dfjoin.discover_joinable, dfjoin.auto_join):  # without the frame
        print(f"{len(inspect.signature(verb).parameters) - 1:>8} arguments of {verb.__name__}")
    for folder in sorted({path.parent for path in PACKAGE.rglob("*.py")}):
        names = {path.relative_to(folder).parts[0] for path in folder.rglob("*.py")} - {"__init__.py"}
        print(f"{len(names):>8} names in {folder.relative_to(PACKAGE.parent)}")
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only"], cwd=PROJECT, stdout=subprocess.DEVNULL, check=True
    )
    print(f"{sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]):>8.1f} CPU seconds to collect the tests")


if __name__ == "__main__":
    main()
