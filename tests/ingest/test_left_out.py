"""Columns that the patterns leave out: listed with what their type or spelling tells, and no value is kept."""

import numpy as np
import pyarrow as pa
import pytest

from dfjoin.index.catalog import KINDS
from dfjoin.ingest.column_buffer import ColumnReader, EntryBuffer
from dfjoin.ingest.left_out import LeftOutColumn, describe_left_out, is_wanted
from dfjoin.types import IndexSettings

SETTINGS = IndexSettings()


def read(reader, batches, type_, tmp_path):
    buffer = EntryBuffer(1, tmp_path)
    for number, batch in enumerate(batches):
        reader.add(pa.array(batch, type_))
        if number % 2:
            reader.spill_into(buffer, 0)
    return reader.finish(buffer, 0), buffer


@pytest.mark.parametrize(
    "batches",
    [
        [["b", "a", None], ["c", ""], ["5", "", None]],
        [["1", "2"], ["3", ""], ["-7"]],
        [["1", "2.5"], ["3"]],
        [["2024-01-05"], ["5 May 2024"], [None]],
        [["2024-01-05"], ["25/4/2024"], [None]],
        [["3/4/2024", "25/4/2024"], ["1/2/2024"]],
        [["3/4/2024"], ["1/2/2024"]],
        [["yes"], ["no"]],
        [["yes"], ["2"]],
        [[None], [""]],
        [["1", "NA"], ["2"], ["NA", "-"]],
        [["de", "NA"], ["fr"], ["NA", "-"]],
        [["x"], ["NA"], ["y"]],
        [["NA"], ["NA"]],
    ],
)
@pytest.mark.parametrize("settings", [SETTINGS, IndexSettings(dayfirst=True), IndexSettings(null_evidence=False)])
def test_text_has_the_kind_that_it_would_have_if_it_were_indexed(tmp_path, batches, settings):
    same = ("type", "kind", "n_rows", "n_null", "null_spellings", "date_order")
    record, buffer = read(LeftOutColumn(pa.string(), settings), batches, pa.string(), tmp_path)
    (tmp_path / "wanted").mkdir()
    wanted, _ = read(ColumnReader(pa.string(), settings), batches, pa.string(), tmp_path / "wanted")
    if settings.dayfirst is not None:
        same = same[:-1]  # the settings say it already
    assert {name: record[name] for name in same} == {name: wanted[name] for name in same}
    assert (record["is_indexed"], record["cardinality"], record["min"], record["samples"]) == (0, 0, "", [])
    assert buffer.finish(np.array([-1], np.int32)) == [] and not list(tmp_path.glob("*/run"))


@pytest.mark.parametrize(
    ("values", "type_", "kind"),
    [
        ([1], pa.int8(), "integer"),
        ([1.5], pa.float32(), "float"),
        ([b"x"], pa.binary(), "binary"),
        ([True], pa.bool_(), "boolean"),
        ([[1]], pa.list_(pa.int8()), "nested"),
        ([None], pa.int8(), "empty"),
        ([1], pa.date32(), "date"),
        ([1], pa.timestamp("s"), "date"),
        ([None], pa.null(), "empty"),
        (["x"], pa.dictionary(pa.int8(), pa.string()), "text"),
    ],
)
def test_other_types_tell_their_kind_without_a_look_at_the_values(values, type_, kind):
    record = describe_left_out("c", pa.chunked_array([pa.array(values, type_)]), SETTINGS)
    assert (KINDS[record["kind"]], record["type"], record["n_rows"]) == (kind, str(type_), 1)
    assert record["position"] == -1 and record["name"] == "c"


def test_what_patterns_want():
    assert is_wanted("t", "c", SETTINGS)
    assert not is_wanted("t", "c", IndexSettings(exclude=("*/c",)))
    assert is_wanted("t", "c", IndexSettings(columns=("t/*",)))
    assert not is_wanted("t", "c", IndexSettings(columns=("u/*",)))
    assert not is_wanted("t", "c", IndexSettings(columns=("t/*",), exclude=("*/c",)))
    assert not is_wanted("sales [2020].csv", "c", IndexSettings(exclude=("sales [2020].csv/c",)))
    assert is_wanted("sales [2020].csv", "c", IndexSettings(columns=("sales [2020].csv/c",)))
