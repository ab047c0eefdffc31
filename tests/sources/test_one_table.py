"""One table read outside any lake."""

import io

import pytest

from dfjoin.errors import InvalidParameterError, TableReadError
from dfjoin.sources.one_table import read_table


def test_one_table_is_read_as_a_frame(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n2,\n")
    frame = read_table(str(path))
    assert frame.to_dict("list") == {"a": ["1", "2"], "b": ["x", ""]}
    assert read_table(io.BytesIO(b"n;m\n1;2\n3;4\n")).to_dict("list") == {"n": ["1", "3"], "m": ["2", "4"]}
    path.write_text("a,b\n")
    assert (list(read_table(str(path)).columns), len(read_table(str(path)))) == (["a", "b"], 0)


def test_one_table_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InvalidParameterError, match="`table` must be an existing file"):
        read_table(str(tmp_path / "no.csv"))


def test_one_table_of_another_kind_is_an_error(tmp_path):
    path = tmp_path / "t.xlsb"
    path.write_bytes(b"PK")
    with pytest.raises(TableReadError, match="cannot be read: its extension is none that dfjoin reads"):
        read_table(str(path))
    (tmp_path / "nothing").mkdir()
    with pytest.raises(InvalidParameterError, match="is not one table"):
        read_table(str(tmp_path / "nothing"))
