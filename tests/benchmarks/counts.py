"""How large is the package? ``python -m tests.benchmarks.counts``.

Counts code lines (no docstrings, comments, blank lines), files, names in each folder, classes, numeric constants,
arguments of the two verbs, files and Python calls of seven warm journeys, CPU seconds in which pytest collects the tests.
"""

import argparse
import ast
import inspect
import io
import re
import resource
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas as pd

import dfjoin
from tests.benchmarks.thresholds import THRESHOLDS
from tests.conftest import EXAMPLE_LAKE, PROJECT

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


def count_calls(run: Callable[[], object]) -> tuple[int, int]:
    """Run once, and again while files of the package and Python calls are counted; generators count when they go on."""
    run()
    files: Counter[str] = Counter()
    sys.setprofile(lambda frame, event, _: files.update([frame.f_code.co_filename] if event == "call" else []))
    try:
        run()
    finally:
        sys.setprofile(None)
    return sum(name.startswith(str(PACKAGE)) for name in files), files.total()


def count_journeys(folder: Path) -> pd.DataFrame:
    """Count files and calls of what users do most."""
    lake = dfjoin.build_lake(EXAMPLE_LAKE, folder / "index", engine="inline", progress=False)
    df = pd.read_csv(EXAMPLE_LAKE.parent / "facilities.csv")
    names = ["Obama, Barack(1961-)", "Bush, George W.(1946-)", "Clinton, Bill(1946-)", "Carter, Jimmy(1924-)"]
    presidents = ["Bill Clinton", "Jimmy Carter", "George W. Bush", "Barack Obama"]
    left, right = pd.DataFrame({"name": names}), pd.DataFrame({"president": presidents, "party": list("DDRD")})
    keys = pd.DataFrame({"key": [f"k{i}" for i in range(100)], "value": range(100)})
    plan = df.auto_join(lake, on="Country").attrs["dfjoin"]["plan"]
    journeys: dict[str, Callable[[], object]] = {
        "a query column": lambda: df.discover_joinable("Country", lake, k=3),
        "explain a hit": lambda: df.discover_joinable("Country", lake, k=3).explain(0),
        "a lake join": lambda: df.auto_join(lake, on="Country"),
        "a lake join by a plan": lambda: df.auto_join(plan),
        "a join of equal keys": lambda: keys.auto_join(keys, on="key"),
        "a learned join of four names": lambda: left.auto_join(right, aggregate=None),
        "open and add what is new": lambda: dfjoin.open_lake(folder / "index").add(EXAMPLE_LAKE, progress=False),
    }
    return pd.DataFrame(map(count_calls, journeys.values()), list(journeys), ["files of dfjoin", "Python calls"])


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
    with tempfile.TemporaryDirectory() as place:
        print(count_journeys(Path(place)).to_string())
    subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only"], cwd=PROJECT, stdout=subprocess.DEVNULL, check=True
    )
    print(f"{sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]):>8.1f} CPU seconds to collect the tests")


if __name__ == "__main__":
    main()
