"""A tiny run of the benchmark of search by distance."""

import numpy as np
import pandas as pd

import dfjoin
from tests.benchmarks import partitions, pexeso_groups, pexeso_tables, similarity
from tests.vectors.makers import letters


def test_the_contenders_agree(capsys):
    similarity.main(
        ["--vectors", "2000", "--queries", "40", "--rounds", "1", "--radii", "0.04", "0.3", "--rivals", "pexeso",
         "pivot table"]
    )  # fmt: skip
    out = capsys.readouterr().out
    assert out.count("pexeso") == 4 and out.count("variance in 16 axes") == 2


def test_the_tables_of_pexeso_run(capsys):
    pexeso_tables.main(["--vectors", "600", "--queries", "20", "--radii", "0.06"])
    told = capsys.readouterr().out
    assert "without 3 to 6" in told and "pivots" in told and "threshold" in told


def test_the_filters_of_whole_columns_lose_none(capsys):
    pexeso_groups.main(["--columns", "8", "--queries", "1", "--radii", "0.1", "--thresholds", "0.3", "0.9"])
    told = capsys.readouterr().out
    assert "by theorem 2" in told and "best first" in told


def test_partitions_are_compared(capsys, tmp_path):
    options = {"engine": "inline", "progress": False, "embedder": letters}
    words = [f"{a}{b}{c}" for a in "abcdefgh" for b in "klmn" for c in "xyz"]
    frames = {f"t{i}": pd.DataFrame({"word": words[i * 9 : i * 9 + 40]}) for i in range(4)}
    dfjoin.build_lake(frames, tmp_path / "x", **options)
    columns = partitions.of_lake(tmp_path / "x", 9)
    assert np.diff(columns.ends).tolist() == [40] * 4 and len(columns.rows) == len(np.unique(columns.members))
    partitions.main(["--columns", "6", "--parts", "2", "--queries", "2", "--radii", "0.05"])
    assert "by divergence" in capsys.readouterr().out
