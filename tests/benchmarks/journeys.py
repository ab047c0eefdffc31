"""How much code a call passes: ``python -m tests.benchmarks.journeys [--files NAME]``.

Seven calls over the example lake, each made once before it is counted, so that nothing is imported, compiled or opened
for the first time. Printed are the files of dfjoin that the call enters, the calls of Python functions in it, and those
of dfjoin's own functions. ``--files`` lists the files of the journeys whose name has the text.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd

import dfjoin

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "examples"
PACKAGE = str(Path(dfjoin.__file__).parent)
OPTIONS: dict[str, Any] = {"engine": "inline", "progress": False}


def journeys(place: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each journey, and the call."""
    lake = dfjoin.build_lake(EXAMPLES / "lake", place / "index", **OPTIONS)
    df = pd.read_csv(EXAMPLES / "facilities.csv")
    people = pd.DataFrame({"person": ["Curie, Marie", "Lovelace, Ada", "Hopper, Grace", "Noether, Emmy"]})
    names = pd.DataFrame({"name": ["Marie Curie", "Ada Lovelace", "Grace Hopper", "Emmy Noether"], "x": range(4)})
    numbers = iter(range(1000))

    yield "a build", lambda: dfjoin.build_lake({"names": names}, place / f"built{next(numbers)}", **OPTIONS)
    yield "a query column", lambda: df.discover_joinable("Country", lake)
    yield "a query column, by matches", lambda: df.discover_joinable("Country", lake, rank="matched")
    hits = df.discover_joinable("Country", lake)
    yield "an explanation", lambda: str(hits.explain(0))
    yield "a lake join", lambda: df.auto_join(lake, on="Country")
    yield "a join of four equal keys", lambda: names.auto_join(names.rename(columns={"x": "y"}))
    yield "a learned join of four names", lambda: people.auto_join(names)


def passed(call: Callable[[], object]) -> tuple[Counter[str], int]:
    """Count the calls of functions of each file of dfjoin, and of all Python functions."""
    files: Counter[str] = Counter()
    n_calls = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal n_calls
        if event == "call":
            n_calls += 1
            name = frame.f_code.co_filename
            if name.startswith(PACKAGE):
                files[name[len(PACKAGE) + 1 :]] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files, n_calls


def main() -> None:
    """Count the journeys."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", help="list the files of the journeys whose name has this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        rows = []
        for name, call in journeys(Path(place)):
            call()
            files, n_calls = passed(call)
            rows.append((name, len(files), n_calls, files.total()))
            if options.files and options.files in name:
                print(f"{name}:", *(f"  {n:6,} {file}" for file, n in sorted(files.items())), sep="\n")
    frame = pd.DataFrame(rows, columns=["journey", "files", "calls", "calls of dfjoin"]).set_index("journey")
    print(frame.to_string())


if __name__ == "__main__":
    main()
