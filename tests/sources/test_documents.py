"""JSON documents, archives and compressed files."""

import bz2
import gzip
import json
import lzma
import zipfile
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import TableReadError
from dfjoin.sources import archive_reader, document_reader
from dfjoin.sources.listing import list_tables
from dfjoin.sources.readers import open_table, tables_of
from dfjoin.types import GivenDialect


def read_all(place):
    """Name of each table of a place → its columns, or the reason why it is not read."""
    _, sources, _ = list_tables(place)
    found = {}
    for source in sources:
        try:
            for own, opened in tables_of(source, GivenDialect(), 1000):
                try:
                    reader = opened()
                except TableReadError as error:
                    found[own.name] = str(error)
                    continue
                table = pa.Table.from_batches(reader.batches())
                again = open_table(own, dialect=reader.dialect)
                assert pa.Table.from_batches(again.batches()).equals(table)
                found[own.name] = table.to_pydict()
        except TableReadError as error:
            found[source.name] = str(error)
    return found


ORDERS = [
    {
        "id": 7,
        "to": {"city": "Rome", "at": {"lat": 41.9}},
        "items": [{"sku": "a", "n": 1}, {"sku": "b"}],
        "tags": ["x"],
    },
    {"id": 9, "to": {"city": "Oslo"}, "items": [{"sku": "a", "parts": [{"p": 1}]}], "paid": True},
    {"id": 8, "to": None, "items": []},
]
MAIN = {
    "id": ["7", "9", "8"],
    "to.city": ["Rome", "Oslo", None],
    "to.at.lat": ["41.9", None, None],
    "tags": ['["x"]', None, None],
    "paid": [None, "true", None],
    "to": [None, None, None],
}
ITEMS = {"parent.id": ["7", "7", "9"], "sku": ["a", "b", "a"], "n": ["1", None, None], "row": ["0", "1", "2"]}


@pytest.mark.parametrize("document", [ORDERS, {"version": 1, "orders": ORDERS, "more": []}])
def test_objects_are_rows_and_lists_in_them_tables(tmp_path, document):
    (tmp_path / "doc.json").write_text(json.dumps(document, indent=1))
    assert read_all(tmp_path) == {
        "doc.json": MAIN,
        "doc.json/items": ITEMS,
        "doc.json/items/parts": {"parent.row": ["2"], "p": ["1"]},
    }


def test_objects_with_the_same_fields_are_read_as_others_are(tmp_path, monkeypatch):
    """By column, and by object as where one of them has other fields."""
    for seed in range(60):
        random = np.random.default_rng(seed)
        leaves = [
            lambda: int(random.integers(-(2**40), 2**40)) * int(random.choice([1, 2**40])),
            lambda: float(random.normal()) * 10.0 ** int(random.integers(-30, 30)),
            lambda: str(random.choice(["", "ä", "1", "null"])),
            lambda: bool(random.random() < 0.5),
            lambda: None,
        ]

        def shape(depth=0):
            kind = random.choice(["leaf", "mixed", "object", "objects", "list"] if depth < 3 else ["leaf"])
            if kind in ("object", "objects"):
                fields = {f"f{i}": shape(depth + 1) for i in range(int(random.integers(1, 4)))}
                return kind, fields
            return kind, [leaves[i] for i in random.choice(5, 1 if kind == "leaf" else 3)]

        def value(told):
            kind, inner = told
            if kind == "object":
                return {name: value(one) for name, one in inner.items()}
            if kind == "objects":
                return [value(("object", inner)) for _ in range(int(random.integers(0, 3)))]
            cell = inner[int(random.integers(len(inner)))]()
            return [cell] * int(random.integers(0, 3)) if kind == "list" else cell

        told = {f"f{i}": shape() for i in range(3)}
        document = [value(("object", told)) for _ in range(int(random.integers(1, 6)))]
        (tmp_path / "d.json").write_text(json.dumps(document))
        found = read_all(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(document_reader, "_columns", lambda *given: None)
            assert str(found) == str(read_all(tmp_path)), seed


@pytest.mark.parametrize(
    "document",
    [
        [{"a": [], "b": [{"x": 1}]}, {"a": [{"y": 2}], "b": []}],
        [{"a": {"c": []}, "b": [{"x": 1}]}, {"a": {"c": [{"y": 2}]}, "b": [{"x": 3}]}],
        [{"v": 1, "k": [{"parent.row": 5, "x": 1}]}, {"v": 1, "k": [{"parent.row": [], "x": 2}]}],
        [{"v": 1, "k": [{"parent": {"row": 5}, "x": 1}]}, {"v": 1, "k": [{"parent": {"row": []}, "x": 2}]}],
        [{"a.b": 1, "a": {"b": [7]}}, {"a.b": 2, "a": {"b": []}}],
        [{"a": {"b": [7]}, "a.b": 1}, {"a": {"b": []}, "a.b": []}],
        [{"a.b": [{"x": 1}], "a": {"b": [{"x": 2}]}}, {"a.b": [{"x": 3}], "a": {"b": [{"x": 4}]}}],
        [{"row": 5, "v": 1, "k": [{"x": 1}]}, {"row": 5, "v": 1, "k": [{"x": 2}]}],
    ],
)
def test_tables_come_in_one_order_and_fields_of_one_name_have_one_value(tmp_path, monkeypatch, document):
    (tmp_path / "d.json").write_text(json.dumps(document))
    found = read_all(tmp_path)
    monkeypatch.setattr(document_reader, "_columns", lambda *given: None)
    assert str(found) == str(read_all(tmp_path)) and "d.json" in found


def test_other_documents(tmp_path):
    documents = {
        "two.json": json.dumps({"a": [{"x": 1}], "b": [{"y": 2}, {"y": 3}]}),
        "lines.json": '{"x": 1}\n{"x": 2}\n',
        "config.json": json.dumps({"name": "x", "list": [1, 2]}),
        "broken.json": '[{"x": 1}, {"x"',
        "empty.json": " ",
        "deep.json": "[" * 100_000,
        "deep_objects.json": '[{"a":' + '{"a":' * 60 + "1" + "}" * 61 + "]",
        "answer.json": json.dumps({"meta": {"n": 2}, "data": {"page": 1, "rows": [{"x": 1}, {"x": 2}]}}),
        "graph.json": json.dumps({"p": {"uses": [{"x": 1}]}, "q": {"uses": [{"x": 1}]}}),
        "halves.json": '[{"x": "\\ud800a", "\\udc00": 1}, {"x": "\\ud83d\\ude00", "\\udc00": 2}]',
        "halves.jsonl": '{"x": "\\ud800a"}\n{"x": "b", "\\udc00": 1}\n',
    }
    for name, text in documents.items():
        (tmp_path / name).write_text(text)
    found = read_all(tmp_path)
    assert found.pop("broken.json").startswith("it is not JSON (Expecting ':' delimiter")
    assert found == {
        "two.json/a": {"x": ["1"]},
        "two.json/b": {"y": ["2", "3"]},
        "lines.json": {"x": ["1", "2"]},
        "config.json": "it is neither an array of objects nor an object that has one",
        "empty.json": "the file is empty",
        "deep.json": "its lists or objects lie within each other too deep to be read",
        "deep_objects.json": "its objects lie within each other more than 50 deep",
        "answer.json": {"x": ["1", "2"]},
        "graph.json": "it is neither an array of objects nor an object that has one",
        "halves.json": {"x": ["\ufffda", "\U0001f600"], "\ufffd": ["1", "2"]},
        "halves.jsonl": {"x": ["\ufffda", "b"], "\ufffd": [None, "1"]},
    }


def test_cells_of_json_are_the_texts_that_python_writes(tmp_path):
    """Columns of one type are converted at once, by rules that hold for each value alone."""
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.uniform(-12, 20, 3000)
    floats = [
        *np.where(rng.random(3000) < 0.5, sizes, sizes.round(2)).tolist(),
        0.0,
        -0.0,
        1.0,
        1e-4,
        1e10,
        1e300,
        5e-324,
    ]
    columns = {
        "floats": floats,
        "gaps": [None if n % 3 else value for n, value in enumerate(floats)],
        "odd": [*floats[:-2], float("nan"), float("inf")],
        "mixed": [n if n % 2 else value for n, value in enumerate(floats)],
        "integers": [n * 10 ** (n % 25) for n in range(len(floats))],
        "booleans": [n % 2 == 0 for n in range(len(floats))],
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "c.jsonl").write_text(
        "".join(json.dumps({"x": {}, **row} if n else row) + "\n" for n, row in enumerate(rows))
    )
    texts = {name: [None if v is None else json.dumps(v) for v in values] for name, values in columns.items()}
    found = read_all(tmp_path)
    assert found["a.json"] == texts and found["b.jsonl"] == texts
    assert {name: found["c.jsonl"][name] for name in texts} == texts


def test_lines_of_json_that_are_one_object_together_are_refused(tmp_path):
    """Lines are parsed many at a time, and what is no line of its own is told all the same."""
    for name, text in {
        "a": '{"x": [1\n2]}\n',
        "b": '{"x": 1}, {"x": 2}\n',
        "c": '{"x": 1}\n\n{"x": [1\n2]}, {"y": 1}\n',
    }.items():
        (tmp_path / f"{name}.jsonl").write_text(text)
    found = read_all(tmp_path)
    assert [found[f"{name}.jsonl"][:18] for name in "abc"] == [
        "line 1 is not JSON",
        "line 1 is not JSON",
        "line 3 is not JSON",
    ]


CSV = b"city,n\nRome,1\nOslo,2\n"
CITIES = {"city": ["Rome", "Oslo"], "n": ["1", "2"]}


def test_compressed_variants(tmp_path):
    packers = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": pa.Codec("zstd").compress}
    documents = {"a.csv": CSV, "b.json": b'[{"x": 1}]', "c.jsonl": b'{"x": 1}\n'}
    for ending, pack in packers.items():
        for name, data in documents.items():
            packed = pack(data)
            (tmp_path / f"{name}.{ending}").write_bytes(packed if isinstance(packed, bytes) else packed.to_pybytes())
    (tmp_path / "two.csv.xz").write_bytes(lzma.compress(CSV) + lzma.compress(b"Lima,3\n"))
    (tmp_path / "long.csv.gz").write_bytes(gzip.compress(CSV + b"Lima,3\n" * 30_000))  # many times as long as its size
    found = read_all(tmp_path)
    assert found.pop("long.csv.gz")["n"] == ["1", "2", *["3"] * 30_000]
    assert found.pop("two.csv.xz") == {"city": ["Rome", "Oslo", "Lima"], "n": ["1", "2", "3"]}
    assert len(found) == 12
    assert all(found[f"a.csv.{ending}"] == CITIES for ending in packers)
    assert all(found[f"{name}.{ending}"] == {"x": ["1"]} for ending in packers for name in ("b.json", "c.jsonl"))
    (tmp_path / "cut.csv.xz").write_bytes(lzma.compress(CSV * 99)[:-30])
    (tmp_path / "none.csv.xz").write_bytes(b"no xz at all")
    found = read_all(tmp_path)
    assert found["cut.csv.xz"] == "OSError: the compressed file is cut off"
    assert found["none.csv.xz"].startswith("OSError: the file is not what its ending .xz says, or is damaged")


def test_documents_out_of_all_measure(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text(json.dumps(ORDERS))
    monkeypatch.setattr(document_reader, "_MAX_TABLES", 2)
    reason = "it holds more than 2 lists of objects"
    assert read_all(tmp_path)["a.json"] == reason
    monkeypatch.setattr(document_reader, "_MAX_BYTES", 20)
    reason = "the document is larger than 0 MiB; write a record a line, as .jsonl"
    assert read_all(tmp_path) == {"a.json": reason}


@pytest.mark.parametrize("rows", [[{"a": 1, "b": 2, "c": 3}] * 2, [{"a": 1}, {"b": 2, "c": 3}]])
def test_documents_of_more_columns_than_allowed(tmp_path, rows):
    (tmp_path / "a.json").write_text(json.dumps(rows))
    _, (source,), _ = list_tables(tmp_path)
    ((_, opened),) = tables_of(source, GivenDialect(), 2)
    with pytest.raises(TableReadError, match=r"more than 2 columns, .*; allow more by the setting max_columns"):
        opened()


def test_a_table_that_its_document_has_no_more(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"x": [{"n": 1}], "y": [{"n": 2}]}))
    _, (source,), _ = list_tables(tmp_path)
    own = [one for one, _ in tables_of(source, GivenDialect(), 9)][1]
    (tmp_path / "a.json").write_text(json.dumps({"x": [{"n": 1}], "z": [{"n": 2}]}))
    with pytest.raises(TableReadError, match="its file holds no table 'y' any more"):
        open_table(own)


def test_an_archive_without_tables(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("readme.txt.exe", b"no table")
    assert read_all(tmp_path) == {"a.zip": "it holds no table"}


def test_tables_of_an_archive(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in/cities.csv", CSV)
        archive.writestr("doc.json", json.dumps(ORDERS))
        archive.writestr("cities.csv.gz", gzip.compress(CSV))
        for passed_over in ("read.me", "__MACOSX/._cities.csv", ".hidden/x.csv", "in/"):
            archive.writestr(passed_over, CSV)
        for bad in ("../out.csv", "/abs.csv", "in\\x.csv", "in/../../out.csv"):
            archive.writestr(bad, CSV)
        archive.writestr("inner.zip", b"PK")
        archive.writestr("broken.parquet", b"PAR1 no")
        archive.writestr("lzma.csv", CSV, zipfile.ZIP_LZMA)
    found = read_all(tmp_path)
    assert [found.pop(f"a.zip/{name}") for name in ("in/cities.csv", "cities.csv.gz")] == [CITIES, CITIES]
    assert found.pop("a.zip/doc.json") == MAIN and found.pop("a.zip/doc.json/items") == ITEMS
    assert found.pop("a.zip/doc.json/items/parts")["p"] == ["1"]
    assert "broken.parquet" in next(name for name in found if "parquet" in name) and found.pop("a.zip/broken.parquet")
    leads_out = "its path leads out of the archive, or is no valid text"
    assert found == {
        **dict.fromkeys(["a.zip/../out.csv", "a.zip//abs.csv", "a.zip/in\\x.csv", "a.zip/in/../../out.csv"], leads_out),
        "a.zip/inner.zip": "an archive within an archive; unpack it",
        "a.zip/lzma.csv": "it is compressed by a method other than deflate and bzip2",
    }
    assert not (tmp_path.parent / "out.csv").exists()


def test_names_in_an_archive_are_utf8_whether_it_says_so_or_not(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("XXXXXX.csv", CSV)
        archive.writestr("YYYYY.csv", CSV)
    data = (tmp_path / "a.zip").read_bytes()
    for name, raw in {"XXXXXX": "größe".encode()[:-1], "YYYYY": "größe".encode("cp437")}.items():
        data = data.replace(name.encode(), raw)
    (tmp_path / "a.zip").write_bytes(data)
    assert set(read_all(tmp_path)) == {"a.zip/größ.csv", "a.zip/größe.csv"}


def test_avro_as_other_tools_write_it(tmp_path):
    fastavro = pytest.importorskip("fastavro")
    record = {"type": "record", "name": "inner", "fields": [{"name": "x", "type": "int"}]}
    fields = [
        {"name": "any", "type": ["null", "int", "string", record, {"type": "array", "items": "int"}]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-nanos"}},
        {"name": "here", "type": {"type": "long", "logicalType": "local-timestamp-nanos"}},
    ]
    moment = 1_700_000_000_000_000_123
    rows = [{"any": value, "at": moment, "here": moment} for value in (1, "é", {"x": 2}, [3, 4], None)]
    codecs = ["null", "deflate"]
    if find_spec("cramjam"):
        codecs.append("snappy")
    for codec in codecs:
        with (tmp_path / f"{codec}.avro").open("wb") as stream:
            fastavro.writer(stream, {"type": "record", "name": "r", "fields": fields}, rows, codec=codec)
    found = read_all(tmp_path)
    for codec in codecs:
        columns = found[f"{codec}.avro"]
        assert columns["any"] == ["1", "é", '{"x": 2}', "[3, 4]", None]
        assert [value.value for value in columns["at"] + columns["here"]] == [moment] * 10
        assert str(columns["at"][0].tz) == "UTC" and columns["here"][0].tz is None


def test_avro_without_fields_or_of_deep_records(tmp_path):
    fastavro = pytest.importorskip("fastavro")
    deep, value = "int", 1
    for n in range(30):
        deep = {"type": "record", "name": f"r{n}", "fields": [{"name": "x", "type": deep}]}
        value = {"x": value}
    for name, schema, row in (("a", {"type": "array", "items": "int"}, [1]), ("b", deep, value)):
        with (tmp_path / f"{name}.avro").open("wb") as stream:
            fastavro.writer(stream, schema, [row])
    assert read_all(tmp_path) == {
        "a.avro": "its values are no records with named fields",
        "b.avro": "its records lie within each other more than 20 deep",
    }


def test_avro_of_a_compression_that_is_not_installed(tmp_path, monkeypatch):
    fastavro = pytest.importorskip("fastavro")
    with (tmp_path / "a.avro").open("wb") as stream:
        fastavro.writer(stream, {"type": "record", "name": "r", "fields": []}, [{}], codec="null")
    data = (tmp_path / "a.avro").read_bytes()
    (tmp_path / "a.avro").write_bytes(data.replace(b"\x08null", b"\x0csnappy"))
    monkeypatch.setattr("dfjoin.sources.avro_reader.find_spec", lambda library: None)
    reason = 'it is compressed by Snappy; reading it needs: pip install "dfjoin[avro]"'
    assert read_all(tmp_path) == {"a.avro": reason}


def test_archives_out_of_all_measure(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(5):
            archive.writestr(f"{number}.csv", CSV)
    monkeypatch.setattr(archive_reader, "_MAX_BYTES", 4 * len(CSV))
    assert read_all(tmp_path) == {"a.zip": "the archive holds more than 0 GiB; unpack it"}
    monkeypatch.setattr(archive_reader, "_MAX_FILES", 4)
    assert read_all(tmp_path) == {"a.zip": "the archive has more than 4 entries; unpack it"}
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 nothing")
    assert read_all(tmp_path) == {"a.zip": "the archive is damaged or encrypted (Invalid position)"}


def test_a_lake_of_archives_and_documents_is_searched_joined_and_followed(tmp_path):
    place = tmp_path / "lake"
    place.mkdir()
    (place / "doc.json").write_text(json.dumps(ORDERS))
    with zipfile.ZipFile(place / "a.zip", "w") as archive:
        archive.writestr("cities.csv", "city;people\nRome;2,8\nOslo;0,7\nLima;10,1\n")
    lake = dfjoin.build_lake(place, tmp_path / "i.dfjoin", engine="inline", progress=False)
    names = ["a.zip/cities.csv", "doc.json", "doc.json/items", "doc.json/items/parts"]
    assert lake.tables["table"].tolist() == names
    assert lake.table("a.zip/cities.csv")["people"].tolist() == [2.8, 0.7, 10.1]
    assert lake.add(place, progress=False).info()["version"] == lake.info()["version"]
    wide = dfjoin.auto_join(lake.table("doc.json")[["to.city"]].dropna(), lake, on="to.city")
    assert wide["people"].tolist() == [2.8, 0.7]
    (place / "doc.json").write_text(json.dumps(ORDERS[:1]))
    later = lake.add(place, progress=False)
    assert later.tables["table"].tolist() == names[:3] and later.verify() == [] and later.check().empty


FORMATS = ("orc", "feather", "arrows", "avro", "json", "zip", "xlsx", "csv.xz")


def test_mutated_files_are_read_or_have_a_reason(tmp_path):
    """A few mutations of each format; ``python -m tests.benchmarks.mutate_sources`` makes 300 of each."""
    from tests.benchmarks.mutate_sources import mutate_formats

    told = mutate_formats(tmp_path, 12, np.random.default_rng(1))
    assert told and all(counts["read"] + counts["refused"] == 12 for counts in told.values())
