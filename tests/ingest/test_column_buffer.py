"""Columns and entries within a memory budget: spilled or not, the same values and the same record."""

import numpy as np
import pyarrow as pa
import pytest

from dfjoin.index.catalog import KINDS
from dfjoin.ingest.column_buffer import ColumnReader, EntryBuffer
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from dfjoin.values.nulls import NULL_TEXTS

SETTINGS = IndexSettings(samples=3)
WORDS = [f"word {i}" for i in range(40)]


def values_of(runs):
    """Column → values over some stretches."""
    found = {}
    for run in runs:
        for token in range(run.n_tokens):
            value = run.value_bytes[run.value_offsets[token] : run.value_offsets[token + 1]].tobytes().decode()
            for column in run.columns[run.indptr[token] : run.indptr[token + 1]].tolist():
                found.setdefault(column, []).append(value)
    return {column: sorted(values) for column, values in found.items()}


@pytest.mark.parametrize("budget", [1, 500, 1 << 20])
def test_entries_are_the_same_whatever_the_budget(tmp_path, budget):
    buffer = EntryBuffer(budget, tmp_path)
    for column, words in enumerate((WORDS, WORDS[10:20], [], WORDS[15:])):
        buffer.add(column, normalize_column(pa.array(words, pa.string()), SETTINGS))
    assert bool(list(tmp_path.iterdir())) == (budget < 1 << 20)
    found = values_of(buffer.finish(np.array([3, -1, 1, 0], np.int32)))
    assert found == {0: sorted(WORDS[15:]), 3: sorted(WORDS)}


def test_nothing_gives_no_run(tmp_path):
    assert EntryBuffer(1, tmp_path).finish(np.empty(0, np.int32)) == []


def read(batches, *, spills=(), type_=None, settings=SETTINGS, tmp_path=None, **options):
    """Read a column batch by batch, spilling behind some; return its record and values."""
    buffer = EntryBuffer(1 << 20, tmp_path)
    arrays = [pa.array(batch, type_) for batch in batches]
    reader = ColumnReader(arrays[0].type, settings)
    for number, array in enumerate(arrays):
        reader.add(array)
        if number in spills:
            reader.spill_into(buffer, 0)
    record = reader.finish(buffer, 0, options.get("is_part", False))
    found = values_of(buffer.finish(np.array([-1 if 0 in buffer.dropped else 0], np.int32))).get(0, [])
    return record, sorted(set(found))


@pytest.mark.parametrize(
    "batches",
    [
        [["b", "a", None], ["c", "a"], ["d"]],
        [["1", "2.0"], ["3", ""], ["-7"]],
        [["2024-01-05"], ["5 May 2024"], [None]],
        [["3"], ["x"], ["2024-01-05"]],
        [["3", "NA"], ["4", "-"], ["5", "NA"]],
        [["NA", "de"], ["fr"], ["it", "-"]],
        [["NA"], ["-"], ["NA"]],
        [["NA"], ["3"], ["NA", "4"]],
    ],
)
def test_a_column_that_is_spilled_has_the_same_record(tmp_path, batches):
    plain = read(batches, tmp_path=tmp_path)
    for spills in ((0,), (1,), (0, 1, 2)):
        assert _without_cardinality(read(batches, spills=spills, tmp_path=tmp_path)) == _without_cardinality(plain)
    values = set(read(batches, tmp_path=tmp_path, is_part=True)[1])
    assert values <= set(plain[1]) <= values | set(NULL_TEXTS)  # a part leaves open what may be a null


def _without_cardinality(result):
    """Parts that were spilled may hold a value twice: the segment counts its tokens."""
    record, values = result
    return {key: value for key, value in record.items() if key != "cardinality"}, values


def test_the_column_tells_how_its_digits_are_read(tmp_path):
    batches = [["3/4/2024", "25/4/2024"], ["1/2/2024", "NA"]]
    for spills in ((), (0,)):
        record, values = read(batches, spills=spills, tmp_path=tmp_path)
        assert record["date_order"] == "dmy" and values == ["2024-02-01", "2024-04-03", "2024-04-25"]
    record, values = read(batches, settings=IndexSettings(dayfirst=False), spills=(0,), tmp_path=tmp_path)
    assert values == ["2024-01-02", "2024-03-04", "25/4/2024"] and record["null_spellings"] == ["na"]


def test_texts_that_turn_out_to_be_nulls_are_counted_and_not_indexed(tmp_path):
    batches = [["3", "NA", "NA"], ["4", "-", None], ["5", "na", ""]]
    for spills in ((), (0,), (0, 1, 2)):
        record, values = read(batches, spills=spills, tmp_path=tmp_path)
        assert values == ["3", "4", "5"] and record["null_spellings"] == ["-", "na"]
        assert (record["n_rows"], record["n_null"], KINDS[record["kind"]]) == (9, 6, "integer")
        assert record["samples"] == ["3", "4", "5"]
    record, _ = read([["NA", "NA"], ["de", "-", "fr"], ["it"]], tmp_path=tmp_path)
    assert (record["samples"], record["null_spellings"]) == (["NA", "de", "fr"], ["-"])
    record, values = read(batches, settings=IndexSettings(null_evidence=False), tmp_path=tmp_path)
    assert values == ["-", "3", "4", "5", "na"] and (record["null_spellings"], record["n_null"]) == ([], 2)


def test_floats_with_a_fraction_are_never_spilled(tmp_path):
    batches = [[1.0, 2.0], [0.5, None], [7.5, float("nan"), 8.5]]
    whole, _ = read(batches, type_=pa.float64(), tmp_path=tmp_path)
    record, values = read(batches, type_=pa.float64(), spills=(1, 2), tmp_path=tmp_path)
    assert values == [] and not list(tmp_path.iterdir())
    assert record == whole and (record["n_rows"], record["n_null"], record["cardinality"]) == (7, 2, 5)
    assert (record["min"], record["max"]) == ("0.5", "8.5")
    repeated, _ = read([[0.5, 1.5], [0.5, 0.5]], type_=pa.float64(), spills=(0,), tmp_path=tmp_path)
    assert repeated["cardinality"] == 4, "an upper bound: what follows is not looked at"
    integral, values = read([[1.0, 2.0], [3.0]], type_=pa.float64(), spills=(0,), tmp_path=tmp_path)
    assert values == ["1", "2", "3"] and integral["is_indexed"] == 1


@pytest.mark.parametrize("type_", [pa.float16(), pa.float32(), pa.float64()])
def test_floats_that_are_not_counted_widen_the_range(tmp_path, type_):
    batches = [np.array(part, type_.to_pandas_dtype()) for part in ([0.5], [-2.25, np.inf], [7, np.nan])]
    record, _ = read(batches, type_=type_, spills=(0,), tmp_path=tmp_path)
    assert (record["min"], record["max"], record["cardinality"]) == ("-2.25", "7", 4)


def test_what_cannot_be_searched_is_counted(tmp_path):
    record, values = read([[b"x", None], [b"y"]], type_=pa.binary(), tmp_path=tmp_path)
    assert values == [] and (record["n_rows"], record["n_null"], record["is_indexed"]) == (3, 1, 0)


def test_samples_are_the_first_values_in_their_own_spelling(tmp_path):
    record, _ = read([["B ", "b", None, "A"], ["C", "D"]], tmp_path=tmp_path)
    assert record["samples"] == ["B ", "A", "C"]
    assert read([["x" * 200, "y"]], tmp_path=tmp_path)[0]["samples"] == ["x" * 100, "y"]


def test_a_column_that_turns_out_to_have_no_text_is_listed_with_the_reason(tmp_path, monkeypatch):
    def fail(array, settings):
        raise pa.ArrowNotImplementedError("of a version to come")

    buffer = EntryBuffer(1 << 20, tmp_path)
    reader = ColumnReader(pa.string(), IndexSettings())
    reader.add(pa.array(["a", "b"]))
    monkeypatch.setattr("dfjoin.ingest.column_buffer.normalize_batch", fail)
    reader.add(pa.array(["c", None]))
    reader.add(pa.array(["d", None]))
    record = reader.finish(buffer, 0)
    assert record["type"] == "string; not indexed: its values cannot be written as text (ArrowNotImplementedError)"
    assert (record["is_indexed"], record["n_rows"], record["n_null"], record["samples"]) == (0, 6, 2, [])
    assert buffer.dropped == {0}


def test_samples_of_dates_that_python_does_not_have_are_in_canonical_form(tmp_path):
    reader = ColumnReader(pa.date32(), IndexSettings())
    reader.add(pa.array([2**31 - 1, 0], pa.int32()).view(pa.date32()))
    assert reader.finish(EntryBuffer(1 << 20, tmp_path), 0)["samples"] == [
        "5881580-07-11",
        "1970-01-01",
    ]
