"""Vectors of texts against the package fasttext: ``python -m tests.benchmarks.fasttext_library``.

Eight models, supervised or not, are trained by the package (extra ``fasttext``) on 3,000 texts in twelve scripts, in a process of
zeroed memory; then the package and dfjoin embed 100,000 texts. ``--trainings`` counts how often the package itself meets NaN
when it trains in a process that has freed memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from dfjoin.vectors.embedders import to_texts
from dfjoin.vectors.fasttext_files import read_fasttext
from tests.vectors.makers import texts_of_scripts
from tests.vectors.test_fasttext_library import NAMES, TRAIN, of_library


def train(place: Path) -> None:
    """Train the models of the tests."""
    texts = texts_of_scripts(3000)
    (place / "texts").write_text("\n".join(texts) + "\n", "utf-8")
    (place / "labelled").write_text("\n".join(f"__label__{i % 3} {t}" for i, t in enumerate(texts)) + "\n", "utf-8")
    command = [sys.executable, "-W", "ignore", "-c", TRAIN, str(place)]
    subprocess.run(command, env={**os.environ, "MALLOC_PERTURB_": "255"}, check=True)


def compare(place: Path, n: int) -> pd.DataFrame:
    """Embed texts by both: the largest difference of a number, and microseconds of CPU time a text."""
    import fasttext

    rows = {}
    for name in NAMES:
        texts = [text for text in texts_of_scripts(n, seed=1) if name != "words" or "__label__" not in text]
        library, model = fasttext.load_model(str(place / f"{name}.bin")), read_fasttext(place / f"{name}.bin")
        packed = to_texts(texts)
        model.embed(to_texts(texts[:10]))
        times = [time.process_time()]
        expected = of_library(library, texts)
        times.append(time.process_time())
        own = model.embed(packed)
        times.append(time.process_time())
        spent = np.diff(times) / len(texts) * 1e6
        rows[name] = {
            "texts": len(texts),
            "largest difference": float(np.abs(own - expected).max()),
            "package, µs": spent[0],
            "dfjoin, µs": spent[1],
        }
    return pd.DataFrame(rows).T


def bad_trainings(place: Path, n: int) -> int:
    """Count trainings by the package in this process that meet NaN or leave weights above 100."""
    import fasttext

    n_bad = 0
    for _ in range(n):
        garbage = [np.random.default_rng().normal(size=200_000) * 1e30 for _ in range(8)]
        del garbage
        try:
            options = {"thread": 1, "epoch": 1, "verbose": 0, "bucket": 1000, "dim": 50}
            matrix = fasttext.train_unsupervised(str(place / "texts"), **options).get_input_matrix()
            n_bad += not bool((np.abs(matrix) < 100).all())
        except RuntimeError:  # "Encountered NaN."
            n_bad += 1
    return n_bad


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--trainings", type=int, default=0)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        train(place)
        print(compare(place, options.texts).to_string(float_format="{:.3g}".format))
        if options.trainings:
            print(f"bad trainings: {bad_trainings(place, options.trainings)} of {options.trainings}")


if __name__ == "__main__":
    main()
