"""Lakes that nobody would make on purpose: names, headers, cells and archives that are out of all measure."""

import gzip
import json
import multiprocessing
import os
import time

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinError

GOOD = "city,n\nRome,1\nOslo,2\nLima,3\n"
QUERY = pd.DataFrame({"q": ["rome", "OSLO", "lima"]})
GIB = 1 << 30

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__])  # and thus dfjoin, once for all children


def highest():
    """Bytes of this process alone: `ru_maxrss` counts what its parent was before."""
    with open("/proc/self/status") as stream:
        return next(1024 * int(line.split()[1]) for line in stream if line.startswith("VmHWM"))


def report_build(lake, index, answer):
    begun, before = time.perf_counter(), highest()
    lake = dfjoin.build_lake(lake, index, engine="inline", progress=False)
    report = {"seconds": time.perf_counter() - begun, "before": before, "peak": highest()}
    skipped = [[record["name"], record["reason"]] for record in lake.info()["skipped"]]
    answer.send(report | {"tables": lake.tables["table"].tolist(), "skipped": skipped})


def build_in_child(lake, index, time_out=120):
    """Build a lake and report what it took; in a child, so that its peak is its own."""
    answer, sender = FORKS.Pipe(duplex=False)
    child = FORKS.Process(target=report_build, args=(lake, index, sender))
    with answer:
        child.start()
        sender.close()
        try:
            assert answer.poll(time_out), f"not built in {time_out} seconds"
            return answer.recv()
        finally:
            child.kill()
            child.join()


@pytest.fixture
def place(tmp_path):
    """A lake with one ordinary table."""
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "good.csv").write_text(GOOD)
    return lake


def check_good(index):
    """The ordinary table is found, and the index is whole."""
    lake = dfjoin.open_lake(index)
    hits = dfjoin.discover_joinable(QUERY, "q", lake, rank="matched")
    assert ("good.csv", "city", 3) in zip(hits["table"], hits["column"], hits["matched"], strict=True)
    assert lake.verify() == []
    return lake


NAMES = {
    "quote": 'it\'s "quoted".csv',
    "newline": "two\nlines.csv",
    "carriage return": "a\rb.csv",
    "tab and escape": "tab\there\x1b[31m.csv",
    "control": "bell\x07\x01.csv",
    "backslash": "back\\slash\\..\\x.csv",
    "spaces": "  spaces  .csv",
    "percent": "100%25 %2e%2e.csv",
    "glob": "[a]*?{b}.csv",
    "dollar": "$HOME `id` ;x.csv",
    "query": "a?b#c.csv",
    "equals": "k=v.csv",
    "long": "n" * 240 + ".csv",
    "long letters": "é" * 120 + ".csv",
    "right to left": "\u202egpj.csv",
    "decomposed": "e\u0301.csv",
    "dashes": "--index.csv",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_any_file_name_is_a_table_or_has_a_reason(place, tmp_path, name):
    (place / name).write_text("place,v\nRome,x\nOslo,y\nKyiv,z\n")
    index = tmp_path / "i.dfjoin"
    dfjoin.build_lake(place, index, engine="inline", progress=False)
    lake = check_good(index)
    names = lake.tables["table"].tolist()
    if name not in names:
        skipped = {record["name"]: record["reason"] for record in lake.info()["skipped"]}
        assert skipped[name], "neither a table nor skipped with a reason"
        return
    hits = dfjoin.discover_joinable(QUERY, "q", lake, rank="matched")
    assert (name, "place", 2) in zip(hits["table"], hits["column"], hits["matched"], strict=True)
    assert lake.table(name)["place"].tolist() == ["Rome", "Oslo", "Kyiv"]
    assert repr(hits) and hits._repr_html_() and str(hits.explain(0))
    assert lake.check().empty
    assert lake.remove(name.replace("[", "[[]") if name == NAMES["glob"] else name).has_table("good.csv")


def test_a_name_that_is_no_utf8_is_a_table_or_has_a_reason(place, tmp_path):
    try:
        with open(os.fsencode(place) + b"/caf\xe9.csv", "wb") as stream:
            stream.write(b"a,b\nx,1\ny,2\n")
    except OSError:
        pytest.skip("this file system refuses such names")
    index = tmp_path / "i.dfjoin"
    dfjoin.build_lake(place, index, engine="inline", progress=False)
    lake = check_good(index)
    assert len(lake.tables) + len(lake.info()["skipped"]) == 2


def test_deep_directories_and_loops_of_links_end(place, tmp_path):
    deep = place
    for _ in range(60):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "t.csv").write_text(GOOD)
    (place / "loop").symlink_to(place)
    (place / "nowhere.csv").symlink_to(tmp_path / "missing.csv")
    index = tmp_path / "i.dfjoin"
    begun = time.perf_counter()
    dfjoin.build_lake(place, index, engine="inline", progress=False)
    assert time.perf_counter() - begun < 20
    check_good(index)


def test_a_pipe_does_not_hang_the_build(place, tmp_path):
    os.mkfifo(place / "pipe.csv")
    report = build_in_child(place, tmp_path / "i.dfjoin", 10)
    assert report["tables"] == ["good.csv"]
    check_good(tmp_path / "i.dfjoin")


def test_column_names_of_ten_thousand_characters(place, tmp_path):
    long = ["x" * 10_000, "x" * 9_999 + "y", "é" * 10_000]
    (place / "long.csv").write_text(",".join(long) + "\n" + "Rome,1,2\nOslo,3,4\nLima,5,6\n")
    index = tmp_path / "i.dfjoin"
    dfjoin.build_lake(place, index, engine="inline", progress=False)
    lake = check_good(index)
    assert list(lake.table("long.csv")) == long
    hits = dfjoin.discover_joinable(QUERY, "q", lake, rank="matched")
    assert (long[0], 3) in zip(hits["column"], hits["matched"], strict=True)
    assert len(repr(hits)) < 5000
    assert len(str(hits.explain(1))) > 0


@pytest.mark.parametrize("n_columns", [10_000])
def test_a_header_of_very_many_columns_takes_bounded_time(place, tmp_path, n_columns):
    """200,000 columns: see the figures of `python -m tests.sources.test_hostile`."""
    write_wide(place / "wide.csv", n_columns)
    report = build_in_child(place, tmp_path / "i.dfjoin", 120)
    print(report)
    assert report["seconds"] < 60 and report["peak"] - report["before"] < GIB
    assert "wide.csv" in report["tables"] or report["skipped"][0][0] == "wide.csv"
    check_good(tmp_path / "i.dfjoin")


def write_wide(path, n_columns, n_rows=3):
    rows = [",".join(f"c{i}" for i in range(n_columns))]
    rows += [",".join(f"v{i}-{row}" for i in range(n_columns)) for row in range(n_rows)]
    path.write_text("\n".join(rows) + "\n")


TOO_WIDE = "it has more than 100,000 columns, the most that the index takes; allow more by the setting max_columns"
WIDE = {
    "commas.csv": lambda: "," * 3_000_000 + "\n1,2\n",
    "row.csv": lambda: "a,b\n1,2\n" + "," * 3_000_000 + "\n3,4\n",
    "quoted.csv": lambda: 'a,b\n"1",2\n' + "," * 3_000_000 + "\n3,4\n",
    "names.csv": lambda: ",".join(f"c{i}" for i in range(300_000)) + "\n",
    "line.jsonl": lambda: "{" + ",".join(f'"k{i}":1' for i in range(200_000)) + "}\n",
    "lines.jsonl": lambda: "".join(f'{{"k{i}":1}}\n' for i in range(150_000)),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_table_of_too_many_columns_is_skipped_in_bounded_memory(place, tmp_path, name):
    (place / name).write_text(WIDE[name]())
    report = build_in_child(place, tmp_path / "i.dfjoin", 60)
    print(report)
    assert report["skipped"] == [[name, TOO_WIDE]] and report["seconds"] < 20
    assert report["peak"] - report["before"] < 400 << 20
    check_good(tmp_path / "i.dfjoin")


def test_json_lines_that_each_bring_a_new_field_are_not_quadratic(place, tmp_path):
    lines = [json.dumps({"id": i, f"k{i}": f"v{i}"}) for i in range(8_000)]
    (place / "new.jsonl").write_text("\n".join(lines) + "\n")
    report = build_in_child(place, tmp_path / "i.dfjoin", 60)
    print(report)
    assert "new.jsonl" in report["tables"] and report["peak"] - report["before"] < 700 << 20
    table = check_good(tmp_path / "i.dfjoin").table("new.jsonl", ["id", "k0", "k7999"])
    assert table["id"].tolist() == list(range(8_000)) and table["k7999"].dropna().to_dict() == {7999: "v7999"}


def test_a_line_of_json_of_too_many_bytes_has_a_reason(place, tmp_path):
    (place / "long.jsonl").write_text('{"a": 1}\n{"a": "' + "v" * (90 << 20) + '"}\n')
    report = build_in_child(place, tmp_path / "i.dfjoin", 60)
    assert report["skipped"] == [["long.jsonl", "line 2 is longer than 64 MiB"]]
    assert report["peak"] - report["before"] < 500 << 20


@pytest.mark.parametrize("quoted", [False, True], ids=["bare", "quoted"])
def test_a_cell_of_sixty_megabytes_takes_bounded_memory(place, tmp_path, quoted):
    cell = "v" * (60 << 20)
    cell = f'"{cell}"' if quoted else cell
    (place / "cell.csv").write_text(f"a,b\nRome,1\n{cell},2\nOslo,3\n")
    report = build_in_child(place, tmp_path / "i.dfjoin")
    print(report)
    assert report["peak"] - report["before"] < GIB
    assert "cell.csv" in report["tables"] or report["skipped"][0][0] == "cell.csv"
    check_good(tmp_path / "i.dfjoin")


def test_an_unclosed_quote_takes_bounded_memory(place, tmp_path):
    (place / "open.csv").write_text('a,b\n"Rome,1\n' + "Oslo,2\n" * 4_000_000)
    report = build_in_child(place, tmp_path / "i.dfjoin")
    print(report)
    assert report["peak"] - report["before"] < GIB
    check_good(tmp_path / "i.dfjoin")


def write_bomb(path, line, n_bytes):
    """A gzip file of a few hundred kilobytes that holds `n_bytes` of one line again and again."""
    block = line * ((1 << 20) // len(line))
    with gzip.open(path, "wb", compresslevel=9) as stream:
        if line != b"\0":
            stream.write(b"a,b\n")
        for _ in range(n_bytes // len(block)):
            stream.write(block)


@pytest.mark.parametrize(
    ("line", "n_bytes"),
    [
        pytest.param(b"x,y\n", 64 << 20, id="rows"),
        pytest.param(b"\0", 400 << 20, id="zeros"),
        pytest.param(b"v", 256 << 20, id="one line"),
    ],
)
def test_a_small_file_that_expands_to_much_takes_bounded_memory(place, tmp_path, line, n_bytes):
    """See the figures of `python -m tests.sources.test_hostile` for 2 GiB."""
    write_bomb(place / "bomb.csv.gz", line, n_bytes)
    report = build_in_child(place, tmp_path / "i.dfjoin")
    print(report)
    assert report["peak"] - report["before"] < GIB
    if line == b"x,y\n":
        assert "bomb.csv.gz" in report["tables"]
    else:
        assert report["skipped"] == [["bomb.csv.gz", "a row is longer than 64 MiB; is a quote missing?"]]
    check_good(tmp_path / "i.dfjoin")


def test_files_that_are_not_what_they_say_have_a_reason(place, tmp_path):
    files = {
        "empty.csv": b"",
        "zeros.csv": bytes(5000),
        "bad.csv.gz": b"\x1f\x8b\x08\0\0\0\0\0garbage",
        "cut.csv.gz": gzip.compress(b"a,b\n" + b"x,1\n" * 9999)[:60],
        "bad.parquet": b"PAR1" + b"\xff" * 64 + b"PAR1",
        "bad.jsonl": b'{"a": ' + b"[" * 100_000 + b"\n",
        "huge-number.jsonl": b'{"a": 1' + b"0" * 400 + b"}\n",
        "image.csv": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20,
    }
    for name, data in files.items():
        (place / name).write_bytes(data)
    index = tmp_path / "i.dfjoin"
    report = build_in_child(place, index)
    seen = set(report["tables"]) | {name for name, _ in report["skipped"]}
    assert set(files) <= seen, set(files) - seen
    assert all(reason for _, reason in report["skipped"])
    check_good(index)


def test_a_file_without_permission_has_a_reason(place, tmp_path):
    (place / "secret.csv").write_text(GOOD)
    (place / "secret.csv").chmod(0)
    if os.access(place / "secret.csv", os.R_OK):
        pytest.skip("this user may read everything")
    dfjoin.build_lake(place, tmp_path / "i.dfjoin", engine="inline", progress=False)
    lake = check_good(tmp_path / "i.dfjoin")
    (record,) = lake.info()["skipped"]
    assert record["name"] == "secret.csv" and "permission" in record["reason"]


def test_on_error_raise_names_the_file(place, tmp_path):
    (place / "bad.parquet").write_bytes(b"PAR1" + b"\xff" * 64 + b"PAR1")
    with pytest.raises(DfjoinError, match=r"bad\.parquet"):
        dfjoin.build_lake(place, tmp_path / "i.dfjoin", engine="inline", progress=False, on_error="raise")


def main():
    """Measure what is too slow for the suite."""
    import shutil
    import tempfile
    from pathlib import Path

    cases = {
        "header of 50,000 columns": lambda p: write_wide(p / "wide.csv", 50_000),
        "header of 200,000 columns": lambda p: write_wide(p / "wide.csv", 200_000),
        "2 GiB of rows in a gzip file": lambda p: write_bomb(p / "bomb.csv.gz", b"x,y\n", 2 << 30),
        "2 GiB of zeros in a gzip file": lambda p: write_bomb(p / "bomb.csv.gz", b"\0", 2 << 30),
        "2 GiB of one line in a gzip file": lambda p: write_bomb(p / "bomb.csv.gz", b"v", 2 << 30),
    }
    for name, write in cases.items():
        place = Path(tempfile.mkdtemp(prefix="dfjoin-hostile-"))
        try:
            (place / "lake").mkdir()
            (place / "lake" / "good.csv").write_text(GOOD)
            write(place / "lake")
            report = build_in_child(place / "lake", place / "i.dfjoin", 400)
            peak = (report["peak"] - report["before"]) / 1e6
            skipped = [reason[:150] for _, reason in report["skipped"]]
            print(f"{name}: {report['seconds']:.1f} s, {peak:.0f} MB, skipped {skipped}", flush=True)
        except (EOFError, AssertionError) as error:
            print(f"{name}: {type(error).__name__}: {error!s:.300}", flush=True)
        finally:
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
