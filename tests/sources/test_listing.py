import os
import tracemalloc

import pyarrow as pa
import pytest
from pyarrow import fs, parquet

import dfjoin
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.sources import roots, table_kinds
from dfjoin.sources.listing import Listing, list_tables
from dfjoin.sources.readers import open_table, reader_of
from dfjoin.sources.roots import (
    resolve,
)
from dfjoin.sources.table_kinds import KINDS, kind_of_file
from dfjoin.types import Root

LINK_LEADS_OUT = "a link that leads out of the root; give the place it leads to as a root of its own"
LINKED_DIRECTORY = "a link to a directory; directories are listed where they are"


def names_of(source, **options):
    _, tables, skipped = list_tables(source, **options)
    return [t.name for t in tables], {s.name: s.reason for s in skipped}


def test_files_of_every_format_are_listed_with_their_format(lake):
    base = lake(
        "a.csv",
        "b.TSV",
        "c.tab",
        "d.psv",
        "e.parquet",
        "f.PQ",
        "g.jsonl",
        "h.ndjson",
        "i.csv.gz",
        "j.jsonl.zst",
    )
    _, tables, skipped = list_tables(base)
    formats = {t.name: t.format for t in tables}
    assert formats == {
        **dict.fromkeys(["a.csv", "b.TSV", "c.tab", "d.psv", "i.csv.gz"], "delimited"),
        **dict.fromkeys(["e.parquet", "f.PQ"], "parquet"),
        **dict.fromkeys(["g.jsonl", "h.ndjson", "j.jsonl.zst"], "jsonl"),
    }
    assert skipped == []


def test_what_a_listing_says_of_a_file_is_true(lake):
    base = lake("sub/a.csv")
    stat = (base / "sub" / "a.csv").stat()
    root, (table,), _ = list_tables(base)
    assert root == Root(0, "lake", str(base))
    assert (table.name, table.path, table.parts, table.root) == (
        "sub/a.csv",
        "sub/a.csv",
        ("sub/a.csv",),
        root,
    )
    assert (table.size, table.mtime_ns) == (stat.st_size, stat.st_mtime_ns)


def test_other_files_hidden_ones_and_indexes_are_passed_over_in_silence(lake):
    base = lake(
        "a.csv",
        "readme.txt",
        "model.pkl",
        "noext",
        "e.parquet.gz",
        "e.xlsx.gz",
        ".b.csv",
        "_c.csv",
        ".git/d.csv",
        "_tmp/e.csv",
        "lake.dfjoin/manifests/1.json",
        "lake.dfjoin/segments/s/f.parquet",
        "lake.dfjoin/g.csv",
    )
    assert names_of(base) == (["a.csv"], {})
    for name in (".b.csv", "_c.csv"):
        assert names_of(base / name) == ([name], {}), "who names a file means it"


def test_tables_of_other_formats_are_listed_once_for_each_ending(lake):
    base = lake("a.csv", "x.xlsb", "sub/y.XLSB", "old.dta", ".z.dta", "_h/z.dta")
    assert names_of(base) == (
        ["a.csv"],
        {
            "*.xlsb": "dfjoin does not read .xlsb: sub/y.XLSB and 1 more; save it as .xlsx",
            "*.dta": "dfjoin does not read .dta: old.dta; save it as Parquet",
        },
    )


def test_a_missing_library_is_told_once_for_each_kind(lake, monkeypatch):
    monkeypatch.setattr(table_kinds, "_is_installed", lambda library: False)
    base = lake("a.csv", "x.xlsx", "sub/y.ods", "sub/z.xls", "b.avro")
    assert names_of(base) == (
        ["a.csv"],
        {
            "*.xlsx": "3 files need `python_calamine`, which is not installed: sub/y.ods and 2 more; install it with: "
            'pip install "dfjoin[excel]"',
            "*.avro": "1 file needs `fastavro`, which is not installed: b.avro; install it with: "
            'pip install "dfjoin[avro]"',
        },
    )
    lake_of = dfjoin.build_lake(base, base.parent / "i.dfjoin", engine="inline", progress=False, on_error="raise")
    assert [record["name"] for record in lake_of.info()["skipped"]] == ["*.avro", "*.xlsx"]


def test_every_kind_has_its_reader():
    for name, kind in KINDS.items():
        assert callable(reader_of(name)) and kind.name == name
        assert all(kind_of_file(f"x{ending}") == name for ending in kind.endings)
        assert bool(kind.library) == bool(kind.extra)


def test_tables_are_sorted_by_name_by_code_point(lake):
    names = ["Z.csv", "a.csv", "a/b.csv", "a-b.csv", "é.csv", "\U0001f600.csv", "\ufb01.csv", "a b.csv"]
    assert names_of(lake(*names))[0] == sorted(names)


def test_an_empty_directory_has_no_tables(lake):
    assert names_of(lake()) == ([], {})


@pytest.mark.parametrize(
    "files",
    [
        ["sales/part-0.parquet", "sales/part-1.parquet"],
        ["sales/part-0.parquet", "sales/_SUCCESS"],
        ["sales/part-0.parquet"],
        ["sales/year=2020/x.parquet", "sales/year=2021/y.parquet", "sales/_metadata"],
        ["sales/y=1/m=2/x.parquet"],
        ["sales/PART_1.pq", "sales/part.2.parquet", "sales/.crc"],
    ],
)
def test_a_directory_of_parquet_parts_is_one_table(lake, files):
    base = lake(*files, "other.csv")
    for source in (base, str(base / "*")):
        _, tables, skipped = list_tables(source)
        assert [(t.name, t.format) for t in tables] == [("other.csv", "delimited"), ("sales", "parquet")]
        parts = [f for f in sorted(files) if f.endswith((".parquet", ".pq"))]
        assert tables[1].parts == tuple(parts)
        assert tables[1].size == sum(map(len, parts))
        assert skipped == []


@pytest.mark.parametrize(
    "files",
    [
        ["d/a.parquet", "d/b.parquet"],
        ["d/part-0.parquet", "d/other.parquet"],
        ["d/part-0.parquet", "d/a.csv"],
        ["d/y=1/a.csv", "d/y=2/b.csv"],
        ["d/y=1/a.parquet", "d/plain/b.parquet"],
    ],
)
def test_any_other_directory_is_tables_of_their_own(lake, files):
    assert names_of(lake(*files)) == (sorted(files), {})


def test_a_directory_that_is_one_table_itself_is_named_after_itself(lake):
    base = lake("y=1/a.parquet", "y=2/b.parquet")
    root, (table,), _ = list_tables(base)
    assert (root.uri, table.name, table.parts) == (
        str(base.parent),
        "lake",
        ("lake/y=1/a.parquet", "lake/y=2/b.parquet"),
    )


@pytest.mark.parametrize(
    ("mark", "kind", "library"),
    [("_delta_log/0.json", "delta", "deltalake"), ("metadata/v1.metadata.json", "iceberg", "pyiceberg")],
)
def test_a_delta_or_iceberg_directory_is_one_table(lake, monkeypatch, mark, kind, library):
    base = lake("a.csv", f"t/{mark}", "t/part-0.parquet", "t/data/x.parquet", f"u/{mark}")
    monkeypatch.setattr(table_kinds, "_is_installed", lambda library: True)
    for source, name in ((base, "t"), (base / "t", "t")):
        table = next(table for table in list_tables(source)[1] if table.name == name)
        assert (table.format, table.path, table.parts, table.mtime_ns) == (kind, "t", ("t",), 0)
    monkeypatch.setattr(table_kinds, "_is_installed", lambda library: False)
    reason = f'2 tables need `{library}`, which is not installed: t and 1 more; install it with: pip install "dfjoin[{kind}]"'
    assert names_of(base) == (["a.csv"], {f"*{kind}": reason})


def test_a_list_of_files_starts_at_their_common_directory(lake):
    base = lake("x/a.csv", "x/y/b.csv", "z.csv", "x/notes.txt")
    root, tables, skipped = list_tables(
        [base / "x" / "y" / "b.csv", str(base / "x" / "a.csv"), base / "x" / "notes.txt"]
    )
    assert (root.uri, [t.name for t in tables]) == (str(base / "x"), ["a.csv", "notes.txt", "y/b.csv"])
    assert skipped == []


def test_a_file_is_a_list_of_one(lake):
    base = lake("x/a.csv")
    root, (table,), _ = list_tables(base / "x" / "a.csv")
    assert (root.uri, table.name) == (str(base / "x"), "a.csv")
    assert names_of([base / "x" / "a.csv"]) == (["a.csv"], {})


def test_a_named_file_of_another_kind_is_skipped_with_the_reason(lake):
    base = lake("a.csv", "b.xlsb")
    names, skipped = names_of([base / "a.csv", base / "b.xlsb"])
    assert names == ["a.csv"]
    assert list(skipped) == ["b.xlsb"]
    assert skipped["b.xlsb"].startswith("its extension is none that dfjoin reads (.csv")


def test_a_glob_names_files_across_directories(lake):
    base = lake("x/a.csv", "x/y/b.csv", "z.tsv", "x/c.parquet")
    assert names_of(f"{base}/**/*.csv") == (["a.csv", "y/b.csv"], {})
    root, tables, _ = list_tables(f"{base}/*/none*.csv")
    assert (root.uri, tables) == (str(base), [])


def test_nothing_in_a_list_is_no_tables():
    assert names_of([]) == ([], {})


def test_a_file_uri_is_its_path(lake):
    base = lake("a b.csv")
    assert names_of(base.as_uri()) == (["a b.csv"], {})


def test_a_relative_path_and_one_of_the_home_are_made_absolute(lake, monkeypatch):
    base = lake("a.csv")
    monkeypatch.chdir(base.parent)
    assert list_tables("lake")[0].uri == str(base)
    monkeypatch.setenv("HOME", str(base.parent))
    assert list_tables("~/lake")[0].uri == str(base)


def test_links_that_lead_out_of_the_root_are_skipped_with_the_reason(lake, tmp_path):
    base = lake("a.csv", "sub/b.csv")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_text("a,b\n")
    (outside / "secret.xlsb").write_text("x")
    (base / "out.csv").symlink_to(outside / "secret.csv")
    (base / "out.xlsb").symlink_to(outside / "secret.xlsb")
    (base / "outdir").symlink_to(outside)
    (base / "sub" / "up").symlink_to(base)
    (base / "in.csv").symlink_to(base / "a.csv")
    (base / "gone.csv").symlink_to(base / "nothing.csv")
    names, skipped = names_of(base)
    assert names == ["a.csv", "in.csv", "sub/b.csv"]
    reason = skipped.pop("gone.csv")
    assert reason.startswith("it cannot be read (")
    assert skipped == {"out.csv": LINK_LEADS_OUT, "outdir": LINK_LEADS_OUT, "sub/up": LINKED_DIRECTORY}
    assert names_of([base / "a.csv", base / "out.csv"]) == (["a.csv"], {"out.csv": LINK_LEADS_OUT})


def test_a_directory_that_cannot_be_read_is_skipped_with_the_reason(lake, monkeypatch):
    base = lake("a.csv", "sub/b.csv")
    scan = os.scandir

    def refuse(path):
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert names_of(base) == (["a.csv"], {"sub": "the directory cannot be read (Permission denied)"})


def test_a_place_that_does_not_exist_is_an_error(lake):
    base = lake("a.csv")
    with pytest.raises(InvalidParameterError, match=r"must be an existing directory, file, glob .* got '.*/no'"):
        list_tables(base / "no")
    with pytest.raises(InvalidParameterError, match=r"`source` lists '.*/no.csv', which does not exist"):
        list_tables([base / "a.csv", base / "no.csv"])


@pytest.mark.parametrize("source", [7, None, b"a.csv", {"a": 1}, ["a.csv", 7]], ids=str)
def test_a_source_of_another_type_is_an_error(source):
    with pytest.raises(InvalidTypeError, match="`source` must be a path, a glob pattern, a URI or a list of paths"):
        list_tables(source)


def test_an_index_is_no_lake(lake):
    base = lake("i/manifests/1.json", "i/segments/s/x.parquet")
    with pytest.raises(InvalidParameterError, match="is a dfjoin index, not a lake"):
        list_tables(base / "i")


def test_a_list_may_name_directories_that_are_one_table_only(lake):
    base = lake("sales/part-0.parquet", "sales/part-1.parquet", "b/a.csv", "c.csv")
    assert names_of([base / "sales", base / "c.csv"]) == (["c.csv", "sales"], {})
    with pytest.raises(InvalidParameterError, match=r"lists the directory '.*/b', which is not one table"):
        list_tables([base / "b", base / "c.csv"])
    assert names_of(f"{base}/*") == (["c.csv", "sales"], {})


def test_local_files_and_uris_do_not_mix(lake):
    base = lake("a.csv")
    with pytest.raises(InvalidParameterError, match="files of one file system; got local paths and URIs together"):
        list_tables([base / "a.csv", "s3://bucket/b.csv"])


@pytest.fixture
def remote(lake, monkeypatch):
    """A lake at ``s3://bucket/…`` that is in truth a local directory."""

    def make(*names):
        base = lake(*names)
        filesystem = fs.SubTreeFileSystem(str(base), fs.LocalFileSystem())
        opened = {"s3://bucket": (filesystem, "")}
        for path in ["", *base.rglob("*"), base / "none", base / "x*"]:
            below = path and path.relative_to(base).as_posix()
            opened[f"s3://bucket/{below}".rstrip("/")] = (filesystem, below)
        monkeypatch.setattr(roots, "_opened", opened)
        return base

    return make


def test_a_remote_directory_is_listed_like_a_local_one(remote):
    remote(
        "d/a.csv",
        "d/sales/y=1/x.parquet",
        "d/.hidden/b.csv",
        "d/t/_delta_log/0.json",
        "d/i/manifests/m",
        "d/i/segments/s.csv",
        "d/sub/é.csv",
    )
    root, tables, skipped = list_tables("s3://bucket/d/")
    assert (root.uri, root.name) == ("s3://bucket/d", "d")
    found = {t.name for t in tables} | {s.name for s in skipped}  # Delta, where its library is installed
    assert found - {"t", "*delta"} == {"a.csv", "sales", "sub/é.csv"} and len(found) == 4
    assert resolve(root, "sub/é.csv") == "d/sub/é.csv"


def test_a_remote_file_is_read_like_a_local_one(remote):
    base = remote("d/a.csv", "d/b.csv")
    (base / "d" / "a.csv").write_text("n,m\nx,1\ny,2\n")
    root, (table,), _ = list_tables("s3://bucket/d/a.csv")
    assert (root.uri, table.name, table.size) == ("s3://bucket/d", "a.csv", 12)
    assert [batch.num_rows for batch in open_table(table).batches()] == [2]
    assert names_of(["s3://bucket/d/b.csv", "s3://bucket/d/a.csv"]) == (["a.csv", "b.csv"], {})


def test_remote_places_that_cannot_be_listed_are_errors(remote):
    remote("d/a.csv")
    with pytest.raises(InvalidParameterError, match="a glob pattern for local files only; got 's3://bucket/x\\*'"):
        list_tables("s3://bucket/x*")
    with pytest.raises(InvalidParameterError, match="there is nothing at 's3://bucket/none'"):
        list_tables("s3://bucket/none")
    with pytest.raises(InvalidParameterError, match="`source` lists 's3://bucket/d', which is not a file"):
        list_tables(["s3://bucket/d"])
    with pytest.raises(InvalidParameterError, match="URIs that have no directory in common"):
        list_tables(["s3://bucket/d/a.csv", "gs://other/b.csv"])


def test_a_link_to_the_lake_itself_is_followed(lake, tmp_path):
    base = lake("sub/t.parquet")
    parquet.write_table(pa.table({"a": [1]}), base / "sub" / "t.parquet")
    (tmp_path / "link").symlink_to(base)
    root, (table,), skipped = list_tables(tmp_path / "link")
    assert (root.uri, table.name, skipped) == (str(tmp_path / "link"), "sub/t.parquet", [])
    assert [batch.num_rows for batch in open_table(table).batches()] == [1]


def test_what_is_held_does_not_grow_with_the_lake(tmp_path):
    """A walk holds the directory at hand, and what was found is forgotten."""
    peaks = []
    for n_directories in (5, 40):
        place = tmp_path / str(n_directories)
        for number in range(n_directories):
            (place / f"d{number}").mkdir(parents=True)
            for file in range(50):
                (place / f"d{number}" / f"t{file}.csv").touch()
        n_tables = sum(1 for _ in Listing(place).tables())  # first: Python keeps up to 2,000 small tuples for later use
        listing = Listing(place)
        tracemalloc.start()
        try:
            assert sum(1 for _ in listing.tables()) == n_tables == 50 * n_directories
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < peaks[0] + 35 * 2000, "a directory of its own costs its name, not its files"


def test_a_table_of_folders_names_what_it_skips_below_itself(tmp_path):
    place = tmp_path / "table"
    (place / "year=1").mkdir(parents=True)
    (place / "year=1" / "a.parquet").touch()
    (place / "year=1" / "b.parquet").symlink_to("/etc/hostname")
    _, tables, skipped = list_tables(place)
    assert [table.name for table in tables] == ["table"]
    assert [file.name for file in skipped] == ["table/year=1/b.parquet"]


NOT_UTF_8 = "its name is not UTF-8, so that no index can hold it; rename it"


@pytest.mark.parametrize(
    ("path", "skipped"),
    [
        (b"dir\xff/t.csv", r"dir\udcff"),
        (b"a/dir\xff/b/t.csv", r"a/dir\udcff"),
        (b"f\xff.csv", r"f\udcff.csv"),
        (b"p/year=\xff/part-0.parquet", r"p/year=\udcff"),
        (b"p/part-\xff.parquet", r"p/part-\udcff.parquet"),
    ],
)
def test_names_that_are_not_utf_8_are_skipped_where_they_are(lake, path, skipped):
    base = lake("ok.csv", "p/part-1.parquet")
    place = os.path.join(os.fsencode(base), path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "wb") as file:
        file.write(b"a\n1\n")
    assert names_of(base) == (["ok.csv", "p"], {skipped: NOT_UTF_8})
    names, reasons = names_of([str(base / "ok.csv"), os.fsdecode(place)])
    assert names == ["ok.csv"] and list(reasons.values()) == [NOT_UTF_8]
    assert all(reason == NOT_UTF_8 for reason in names_of(f"{base}/**/*.csv")[1].values())


def test_a_source_in_a_directory_that_is_not_utf_8_is_an_error(tmp_path):
    place = os.path.join(os.fsencode(tmp_path), b"dir\xff")
    os.mkdir(place)
    file = os.path.join(place, b"t.csv")
    with open(file, "wb") as opened:
        opened.write(b"a\n1\n")
    for source in (os.fsdecode(place), os.fsdecode(file), [os.fsdecode(file)]):
        with pytest.raises(InvalidParameterError, match="`source` must lie in directories whose names are UTF-8, got "):
            list_tables(source)
