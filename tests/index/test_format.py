"""FORMAT.md is true and sufficient: a reader written from it alone answers as dfjoin does."""

import ast
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfjoin
from dfjoin.index import catalog, components, manifest
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from tests.index import format_reader
from tests.index.format_reader import Index, canonical, signature, value_hash

COMPAT = Path(__file__).parent / "compat"
TEXT = (Path(dfjoin.__file__).parent / "index" / "FORMAT.md").read_text("utf-8")
SETTINGS = IndexSettings()


def test_the_reader_imports_no_dfjoin():
    tree = ast.parse(Path(format_reader.__file__).read_text("utf-8"))
    names = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    names += [alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names]
    assert not [name for name in names if name.partition(".")[0] in ("dfjoin", "tests")]


def test_vectors_of_the_hash():
    rows = re.findall(r"^\| (?:`(.+)`|\(empty\)) \| `([0-9a-f]{16})` \| `([0-9a-f]{16})` \|$", TEXT, re.M)
    assert len(rows) == 7
    for value, *hashes in rows:
        for seed, hash_ in zip((1, SETTINGS.hash_seed), hashes, strict=True):
            assert f"{value_hash(value, seed):016x}" == hash_
            if value:
                found = normalize_column(pa.array([value]), IndexSettings(hash_seed=seed))
                assert f"{int(found.hashes[0]):016x}" == hash_


def test_vector_of_the_signature():
    (stated,) = re.findall(r"has, with 8 rows .* the\s+signature\s+`([0-9 ]+)`", TEXT)
    assert signature(["lima", "oslo", "paris"], 8, SETTINGS.hash_seed) == [int(n) for n in stated.split()]


def test_the_exact_overlap_in_the_committed_index():
    index, lake = Index(COMPAT / "v1" / "index"), dfjoin.open_lake(COMPAT / "v1" / "index")
    for texts in (
        ["paris", " LIMA", "ŌSAKA", "x"],
        ["7", "8.0", "1", "9"],
        ["2020-01-02", "3 Jan. 2020"],
        ["007", "08"],
    ):
        hits = dfjoin.discover_joinable(pd.DataFrame({"q": texts}), "q", lake, k=100, rank="matched")
        expected = {(t, c): m for t, c, m in zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True)}
        assert index.overlap(texts) == expected and expected


def test_sets_are_those_of_the_posting_lists():
    for segment in Index(COMPAT / "v1" / "index").segments:
        for number, column in enumerate(segment.columns):
            values = segment.values_of(number)
            assert len(values) == (column["cardinality"] if column["is_indexed"] else 0)
            assert all(segment.count([value], SETTINGS.hash_seed)[number] == 1 for value in values)


@pytest.mark.filterwarnings("ignore:the index keeps no token sets")
def test_signatures_in_the_committed_index():
    """Where the sets are not kept the signatures answer: a column agrees with itself in every row."""
    place = COMPAT / "v1_signatures" / "index"
    index = Index(place)
    words = [f"Word {i}" for i in range(60)]
    assert index.agreement(words)["large", "w"] == 32 == index.settings["permutations"]
    assert index.agreement(words[20:50])["more", "w"] == 32
    assert index.overlap(words) == {("small", "w"): 4}
    hits = dfjoin.discover_joinable(
        pd.DataFrame({"q": words[:4]}), "q", dfjoin.open_lake(place), mode="lsh", threshold=1, rank="matched"
    )
    assert ("small", 4) in list(zip(hits["table"], hits["matched"], strict=True))


def test_an_index_of_today(build):
    """Several segments, columns in common, a deleted table, dates, codes and numbers."""
    lake = build(
        {
            "a": pd.DataFrame({"x": [f"v{i}" for i in range(50)], "d": pd.date_range("2024-01-01", periods=50)}),
            "b": pd.DataFrame({"x": [*[f"V{i}" for i in range(25, 74)], "NA"], "n": [*range(49), "-"]}),
            "c": pd.DataFrame({"x": ["v1", "v2"], "y": ["v2", "v3"]}),
        },
        settings={"permutations": 16},
    ).add({"e": pd.DataFrame({"z": ["v30", "v31", "07", "5 May 2024"]})}, engine="inline", progress=False)
    lake.remove("c")
    index = Index(lake.path)
    texts = [f"v{i}" for i in range(0, 75, 2)] + ["v31", "NA", "-", "7", "07", "2024/01/05", "May 5, 2024", "30.0"]
    hits = dfjoin.discover_joinable(pd.DataFrame({"q": texts}), "q", lake, k=100, rank="matched")
    expected = {(t, c): m for t, c, m in zip(hits["table"], hits["column"], hits["matched"].tolist(), strict=True)}
    assert index.overlap(texts) == expected and len(expected) == 5
    assert index.agreement([f"v{i}" for i in range(50)])["a", "x"] == 16


PIECES = st.sampled_from(
    ["2024", "-", "/", ".", "5", "05", "31", "13", " ", ",", "may", "Sept", "January", "t", "T", "12:30", ":59", ".5", "z",
     "+02:00", "+14", " UTC", "-0", "1", ".0", "Straße", "ﬁ", "\u00a0", "2020-02-29", "2021-02-29", "9999-12-31"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=8).map("".join), st.sampled_from([None, True, False]))
def test_canonical_values(text, day_first):
    settings = IndexSettings(null_spellings=("", "5", "N/A"), dayfirst=day_first)
    if day_first is None:
        text = f"{text}x" if re.fullmatch(r"\s*\d{1,2}([-/.])\d{1,2}\1\d{4}\s*", text) else text  # its column decides
    found = normalize_column(pa.array([text]), settings).values()
    expected = canonical(text, settings.to_dict())
    assert found == ([] if expected is None else [expected])


@pytest.mark.parametrize("change", ["crc32", "version", "feature", "size", "path", "catalogue"])
def test_what_a_reader_must_refuse_both_refuse(tmp_path, change):
    index = tmp_path / "index"
    shutil.copytree(COMPAT / "v1" / "index", index)
    path = components.manifest_path(index, 3)
    values = json.loads(path.read_text("utf-8"))
    component = values["segments"][0]["groups"][0]["components"][0]
    if change == "crc32":
        values["crc32"] ^= 1
        path.write_text(json.dumps(values))
    elif change == "catalogue":
        (file, *_) = (index / "segments").rglob("catalog.arrow")
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    else:
        edits = {
            "version": lambda: values.update(version=2),
            "feature": lambda: values["reader_features"].append("later"),
            "size": lambda: component.update(size=component["size"] + 1),
            "path": lambda: component.update(file="../" + component["file"]),
        }
        edits[change]()
        path.write_text(manifest.seal(values))
    with pytest.raises(ValueError):
        Index(index)
    with pytest.raises(dfjoin.errors.IndexFormatError):
        lake = dfjoin.open_lake(index)
        lake.columns  # noqa: B018
        dfjoin.discover_joinable(pd.DataFrame({"q": ["paris"]}), "q", lake, rank="matched")


def test_every_component_and_field_is_in_the_text():
    for name, component in (
        components.TOKENS | components.SIGNATURES | components.PATTERNS | components.VECTORS | components.AXES
    ).items():
        assert re.search(rf"^\| `{name}` \| {component.dtype.name} \|", TEXT, re.M), name
    for fields in (catalog.TABLE_FIELDS, catalog.COLUMN_FIELDS, catalog.SKIPPED_FIELDS):
        for field in fields:
            assert re.search(rf"\b{field.name}\b", TEXT[TEXT.index("## Group `catalog`") :]), field.name
    for number, kind in enumerate(catalog.KINDS):
        assert f"{number} {kind}" in TEXT
    for name, component in components.WORD_MODEL.items():
        assert f"`{name}` ({component.dtype.name})" in TEXT
    for group in components.GROUPS:
        assert f"## Group `{group}`" in TEXT
    for directory in (
        components.MANIFESTS,
        components.SEGMENTS,
        components.TOMBSTONES,
        components.FRAMES,
        components.RUNS,
        components.MODELS,
    ):
        assert f"<index>/{directory}/" in TEXT


def test_posting_lists_are_in_the_stated_order(build, rng):
    words = [f"w{i}" for i in range(200)]
    tables = {f"t{n}": pd.DataFrame({"c": rng.choice(words, 120, replace=False)}) for n in range(12)}
    (segment,) = Index(build(tables).path).segments
    bounds = segment["list_indptr"]
    lists = [segment["list_columns"][a:b].tolist() for a, b in zip(bounds, bounds[1:], strict=False)]
    assert len(lists) > 50 and lists == sorted(lists, key=lambda columns: (len(columns).bit_length(), columns))
    assert np.all(np.diff(segment["hash"].astype(object)) >= 0)
