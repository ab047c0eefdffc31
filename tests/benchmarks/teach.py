"""Programs taught by examples: ``python -m tests.benchmarks.teach CASES_DIR [SET ...]``.

``CASES_DIR`` holds one folder for each set. A case is solved from its first k examples if all its other rows come out
right; it is "sure" if all have a confidence above the level, "wrong" if some result above the level is not right, and
"abstained" is the share of the tasks not solved in which none is. Each set has two halves, drawn by a hash of the name of the case: the contents of the ``open`` half were looked at
while operators were built, those of the ``closed`` half were not, so that the closed half tells what to expect elsewhere.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dfjoin.transform.compose.by_example import learn_from_examples
from tests.benchmarks.transform import EXAMPLES, examples_of

Example = tuple[tuple[str, ...], str]


def half_of(name: str) -> str:
    """Draw the half of a case by the hash of its name."""
    return ("open", "closed")[zlib.crc32(name.encode()) % 2]


def answers(examples: Sequence[Example], k: int) -> list[tuple[str | None, bool]]:
    """Learn from the first k examples; return what comes out for each other row, and whether its confidence suffices."""
    names = [f"column {i}" for i in range(len(examples[0][0]))]
    rows, targets = [row for row, _ in examples], [target for _, target in examples]
    if not all(targets[:k]):
        return [(None, False)] * len(rows[k:])
    programs = learn_from_examples(names, rows[:k], targets[:k], inputs=rows[k:])
    found = []
    for row in rows[k:]:
        sure, result = False, None
        for program in programs:
            texts = [row[names.index(name)] for name in program.columns]
            result = program.certain(*texts)
            if result is not None:
                sure = program(*texts) is not None
                break
        found.append((result, sure))
    return found


def run(folder: Path, counts: Sequence[int], shown: str) -> list[dict[str, object]]:
    """Measure the cases of one set."""
    rows: list[dict[str, object]] = []
    for name, examples in examples_of(folder):
        if len(examples) < 2:
            continue
        for k in counts:
            start = time.process_time()
            k_used = min(k, len(examples) - 1)
            found = answers(examples, k_used)
            seconds = time.process_time() - start
            targets = [target for _, target in examples[k_used:]]
            is_solved = all(out == target for (out, _), target in zip(found, targets, strict=True))
            is_wrong = any(sure and out != target for (out, sure), target in zip(found, targets, strict=True))
            is_full = is_solved and all(sure for _, sure in found)
            half = half_of(name)
            rows.append({
                "set": folder.name, "half": half, "case": name, "k": k, "solved": is_solved, "sure": is_full,
                "wrong": is_wrong, "abstained": np.nan if is_solved else float(not is_wrong), "s": seconds,
            })  # fmt: skip
            if shown == "all" or (shown == half and not is_solved):
                print(f"{'solved' if is_solved else '      '} k={k} {half:6s} {name:60s} {seconds:.2f}", flush=True)
    return rows


def main() -> None:
    """Print the share of solved cases for each set, half and number of examples, and CPU seconds of a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="directory of the sets")
    parser.add_argument("sets", nargs="*", help=f"names of sets; {', '.join(EXAMPLES)} by default")
    parser.add_argument("-k", type=int, nargs="+", default=[1, 2, 3], help="numbers of examples")
    parser.add_argument(
        "--show", choices=["open", "all"], default="", help="a line for each unsolved, or for each case"
    )
    parser.add_argument("--out", type=Path, help="file for a CSV with a row for each case")
    options = parser.parse_args()
    rows = [row for name in options.sets or EXAMPLES for row in run(options.folder / name, options.k, options.show)]
    frame = pd.DataFrame(rows)
    if options.out:
        frame.to_csv(options.out, index=False)
    both = pd.concat([frame, frame.assign(half="both")])
    table = both.groupby(["set", "k", "half"]).agg(
        cases=("solved", "size"),
        solved=("solved", "mean"),
        sure=("sure", "mean"),
        wrong=("wrong", "mean"),
        abstained=("abstained", "mean"),
        median_s=("s", "median"),
        p95_s=("s", lambda s: s.quantile(0.95)),
        max_s=("s", "max"),
    )
    print(table.to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main()
