"""What commands read and write."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from dfjoin.cli.output import print_json, read_frame, summary, to_json, write_frame
from dfjoin.errors import InvalidParameterError, TableReadError

FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", "é"]})


@pytest.mark.parametrize("ending", ["csv", "CSV", "tsv", "parquet", "jsonl", "csv.gz", "tsv.xz", "jsonl.bz2"])
def test_a_table_comes_back_from_every_format(tmp_path, ending):
    path = str(tmp_path / f"t.{ending}")
    write_frame(FRAME, path)
    assert read_frame(path).astype(str).to_dict("list") == FRAME.astype(str).to_dict("list")


@pytest.mark.parametrize("name", ["x.xls", "x.parquet.gz", "x.gz", "x.csv.zst"])
def test_another_ending_is_refused(name):
    legal = "must end in .csv, .tsv, .parquet or .jsonl, texts also in .gz, .bz2, .xz behind it"
    with pytest.raises(InvalidParameterError, match=f"`--output` {legal}, got '{name}'"):
        write_frame(FRAME, name)


def test_a_directory_of_tables_of_several_formats_is_no_table(tmp_path):
    FRAME.to_parquet(tmp_path / "part-0.parquet")
    assert len(read_frame(str(tmp_path))) == 2
    FRAME.to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(InvalidParameterError, match=r"got the directory .*build an index of it first: dfjoin build"):
        read_frame(str(tmp_path), "other")


def test_without_a_path_it_is_csv(capsys, monkeypatch):
    write_frame(FRAME, None)
    text = capsys.readouterr().out
    assert text == "a,b\n1,x\n2,é\n"
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": io.BytesIO(text.encode())}))
    assert read_frame("-").to_dict("list") == {"a": ["1", "2"], "b": ["x", "é"]}


def test_an_error_of_standard_input_names_no_file_that_nobody_gave(monkeypatch):
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": io.BytesIO(b"")}))
    with pytest.raises(TableReadError, match=r"^standard input cannot be read: the file is empty$"):
        read_frame("-")


def test_numbers_of_numpy_are_json(capsys):
    assert print_json({"n": np.int64(3), "l": np.array([1.5]), "p": pd.Timestamp("2024-01-05"), "t": "é"}) == 0
    text = capsys.readouterr().out
    assert json.loads(text) == {"n": 3, "l": [1.5], "p": "2024-01-05 00:00:00", "t": "é"} and "é" in text


@pytest.mark.parametrize("missing", [pd.NA, pd.NaT, np.nan, np.inf, None, np.float32("nan")], ids=repr)
def test_what_json_has_no_word_for_is_null(missing):
    assert to_json({"a": [missing]}) == '{"a": [null]}'


def test_a_summary_names_the_reasons_of_what_was_skipped():
    info = {
        "index": "/x", "version": 2, "bytes": 2_500_000, "segments": [1, 2], "skipped": [{}] * 3,
        "counts": {"tables": 1000, "columns": 9, "indexed_columns": 7, "tokens": 12345},
        "skipped_reasons": {"the file is empty": 2, "a PDF document": 1},
    }  # fmt: skip
    assert summary(info).splitlines() == [
        "/x, version 2: 1,000 tables, 9 columns (7 indexed), 12,345 distinct values, 2.5 MB in 2 segment(s)",
        "skipped 3 files:",
        "  1 × a PDF document",
        "  2 × the file is empty",
    ]
