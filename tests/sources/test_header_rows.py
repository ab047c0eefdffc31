"""Titles, headers of no, one and two lines, and data."""

import pytest

from dfjoin.sources.delimited import join_headers
from dfjoin.sources.sniff import CellKind, find_header, kind_of_cell


def found(text, given=None):
    rows = [line.split(";") for line in text.splitlines() if line]
    width = max(map(len, rows))
    header = find_header(rows, width, given)
    return header.first, header.n_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n1;x\n2;y\n", (0, 1)),
        ("1;x\n2;y\n", (0, 0)),
        ("2020-01-01;x\n2020-01-02;y\n", (0, 0)),
        ("c;2020-01-01;2020-01-02\nx;1;2\ny;3;4\n", (0, 1)),
        ("fr;a;z\nit;b;z\nfr;c;y\n", (0, 0)),  # texts that come again
        ("r;2019;;2020;\n;in;out;in;out\nx;1;2;3;4\ny;5;6;7;8\n", (0, 2)),
        ("time;temp;hum\n;C;%\n1;2;3\n4;5;6\n", (0, 2)),
        ("time;temp;hum\n;C;%\n1;2;3\n", (0, 1)),  # one row does not tell what its columns hold
        ("name;n;k\nx;hidden;hidden\ny;1;2\nz;3;4\n", (0, 1)),
        ("party;a;b\nleft;18 (M);19 (B)\nright;4;5\ncentre;6;7\n", (0, 1)),
        ("Owner;Ann\nYear;2020\nday;text;n;k\n1;x;2;3\n2;y;4;5\n", (2, 1)),
        ("# by hand\na;b\n1;2\n3;4\n", (1, 1)),
        ("# made; by hand\na;b\n1;2\n3;4\n", (1, 1)),
        ("#;name\n1;x\n2;y\n", (0, 1)),
    ],
)
def test_the_header_is_found(text, expected):
    assert found(text) == expected


def test_a_given_header_is_taken():
    text = "a;b\nx;y\n1;2\n3;4\n"
    assert [found(text, given)[1] for given in (0, 1, 2)] == [0, 1, 2]


def test_groups_hold_for_the_columns_to_their_right():
    assert join_headers([["", "2019", "", ""], ["id", "in", "out", ""]]) == ["id", "2019 in", "2019 out", ""]
    assert join_headers([["a", "b"]]) == ["a", "b"]


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("", CellKind.EMPTY), ("n/a", CellKind.EMPTY), ("-", CellKind.EMPTY), ("x", CellKind.TEXT), ("12 kg", CellKind.TEXT),
        ("1", CellKind.NUMBER), ("-1.234,50", CellKind.NUMBER), ("12 %", CellKind.NUMBER), ("1e5", CellKind.NUMBER),
        ("2020-01-01", CellKind.DATE), ("1.2.2020", CellKind.DATE), ("10:30", CellKind.DATE),
    ],
)  # fmt: skip
def test_cells_are_known_by_their_spelling(cell, kind):
    assert kind_of_cell(cell) is kind
