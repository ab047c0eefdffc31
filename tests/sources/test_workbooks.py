"""Workbooks: sheets are tables, several tables of a sheet are told apart, cells are what a person sees."""

import datetime as dt
import zipfile

import pyarrow as pa
import pytest

import dfjoin
from dfjoin.errors import TableReadError
from dfjoin.sources import workbook_reader
from dfjoin.sources.listing import list_tables
from dfjoin.sources.readers import open_table, tables_of
from dfjoin.types import GivenDialect

openpyxl = pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")


def write_book(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def read_all(path):
    _, sources, _ = list_tables(path)
    found = {}
    for source in sources:
        for own, opened in tables_of(source, GivenDialect(), 1000):
            reader = opened()
            table = pa.Table.from_batches(reader.batches())
            again = open_table(own, dialect=reader.dialect)
            assert pa.Table.from_batches(again.batches()).equals(table)
            found[own.name] = table.to_pydict()
    return found


SIMPLE = [["city", "n"], ["Rome", 1], ["Oslo", 2]]
READ = {"city": ["Rome", "Oslo"], "n": [1, 2]}
OTHER = {"country": ["Italy", "Peru"], "area": [301.5, 1285.0], "since": [dt.date(1961, 3, 17), dt.date(1921, 7, 28)]}
COUNTRIES = [list(OTHER), *map(list, zip(*OTHER.values(), strict=True))]


@pytest.mark.parametrize(
    "rows",
    [
        SIMPLE,
        [["Cities of the world"], [], *SIMPLE],
        [["Cities of the world"], ["by size"], *SIMPLE],
        [[], [], *[[None, None, *row] for row in SIMPLE]],
        [*SIMPLE, [], ["Source: a survey"]],
        [["Cities"], [], *[[None, *row] for row in SIMPLE], [], ["* estimated"], ["** old"]],
        [SIMPLE[0], SIMPLE[1], [], SIMPLE[2]],
        [[" city ", "n"], ["Rome", 1.0], ["Oslo", 2.0]],
    ],
)
def test_a_table_is_found_among_titles_notes_and_empty_borders(tmp_path, rows):
    write_book(tmp_path / "book.xlsx", **{"Sheet 1": rows})
    assert read_all(tmp_path / "book.xlsx") == {"book.xlsx/Sheet 1": READ}


@pytest.mark.parametrize("gap", [[[]], [[], []], [[], ["Countries"], []], [[], ["Countries"]]])
def test_tables_below_each_other_are_told_apart(tmp_path, gap):
    write_book(tmp_path / "book.xlsx", Both=[["Title"], *SIMPLE, *gap, *COUNTRIES], Empty=[], Second=SIMPLE)
    assert read_all(tmp_path / "book.xlsx") == {
        "book.xlsx/Both": READ,
        "book.xlsx/Both/2": OTHER,
        "book.xlsx/Second": READ,
    }


def test_cells_are_what_a_person_sees(tmp_path):
    rows = [
        ["code", "mixed", "share", "day", "moment", "yes", "note"],
        ["007", 1, 0.5, dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4), True, "x"],
        ["010", "1", 0.25, dt.date(2020, 1, 3), dt.datetime(2020, 1, 3), False, None],
        ["100", dt.date(2020, 5, 6), None, None, dt.datetime(2020, 1, 4), None, 2.5],
    ]
    write_book(tmp_path / "book.xlsx", S=rows)
    assert read_all(tmp_path / "book.xlsx")["book.xlsx/S"] == {
        "code": ["007", "010", "100"],
        "mixed": ["1", "1", "2020-05-06"],
        "share": [0.5, 0.25, None],
        "day": [dt.date(2020, 1, 2), dt.date(2020, 1, 3), None],
        "moment": [row[4] for row in rows[1:]],
        "yes": [True, False, None],
        "note": ["x", None, "2.5"],
    }


ODS = """<?xml version="1.0" encoding="UTF-8"?><office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" office:version="1.2"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">
<office:body><office:spreadsheet><table:table table:name="S">%s</table:table></office:spreadsheet></office:body>
</office:document-content>"""


MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>"""


def test_workbooks_of_libreoffice_and_old_excel(tmp_path):
    cells = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="float" office:value="{cell}"/>'
            if isinstance(cell, int)
            else f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>'
            for cell in row
        )
        + "</table:table-row>"
        for row in SIMPLE
    )
    write_ods(tmp_path / "a.ods", cells)
    xlwt = pytest.importorskip("xlwt")
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    for i, row in enumerate(SIMPLE):
        for j, cell in enumerate(row):
            sheet.write(i, j, cell)
    book.save(str(tmp_path / "b.xls"))
    assert read_all(tmp_path) == {"a.ods/S": READ, "b.xls/S": READ}


def ods_cell(attributes="", text=1):
    return f'<table:table-cell office:value-type="float" office:value="{text}"{attributes}/>'


def ods_row(cells, repeated=1):
    return f'<table:table-row table:number-rows-repeated="{repeated}">{cells}</table:table-row>'


def write_ods(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", ODS % content)
        archive.writestr("META-INF/manifest.xml", MANIFEST)


ODS_REST = '<table:table-cell table:style-name="ce1" table:number-columns-repeated="16382"/>'
ODS_COVERED = '<table:covered-table-cell table:number-columns-repeated="16383"></table:covered-table-cell>'


def test_empty_cells_of_libreoffice_repeat_up_to_the_end_of_a_sheet(tmp_path):
    name = '<table:table-cell office:value-type="string"{}><text:p>{}</text:p></table:table-cell>'
    write_ods(
        tmp_path / "a.ods",
        ods_row(name.format(' table:number-columns-spanned="16384"', "title") + ODS_COVERED)
        + ods_row(name.format("", "a") + name.format("", "b") + ODS_REST)
        + ods_row(ods_cell(' table:number-columns-repeated="2"') + ODS_REST, 3000)
        + ods_row(ODS_REST, 1_045_574),
    )
    assert read_all(tmp_path) == {"a.ods/S": {"a": [1] * 3000, "b": [1] * 3000}}


WIDE = ods_cell(' table:number-columns-repeated="2000"')
TOO_MANY = "its sheets have more than 33,554,432 cells up to the last of each"
UNCLEAR = "it is not clear how often its cells repeat"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (ods_row(WIDE, 17_000), TOO_MANY),
        (
            ods_row(
                "\n<table:table-cell table:number-columns-repeated = '2000' ><text:p>1</text:p> </table:table-cell>",
                17_000,
            ),
            TOO_MANY,
        ),
        (ods_row(ODS_REST + ods_cell()) + ods_row(ODS_REST, 3000) + ods_row(ods_cell()), TOO_MANY),
        ((ods_row(WIDE, 9000) + '</table:table><table:table table:name="T">') * 2, TOO_MANY),
        (ods_row(WIDE, 17_000).replace("</table:table-row>", "</table:table-row >"), TOO_MANY),
        (ods_row(WIDE, "&#49;7000"), UNCLEAR),
        (ods_row("<!-- </table:table-row> -->" + WIDE, 17_000), UNCLEAR),
        (" " * (17 << 20), "a row is longer than 16 MiB"),
    ],
)
def test_cells_of_libreoffice_that_repeat_without_end_are_refused(tmp_path, content, reason):
    write_ods(tmp_path / "a.ods", content)
    _, (source,), _ = list_tables(tmp_path)
    with pytest.raises(TableReadError, match=reason):
        list(tables_of(source, GivenDialect(), 1000))


def test_a_workbook_that_claims_all_cells_is_refused(tmp_path):
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "a", "z"
    book.save(tmp_path / "far.xlsx")
    (tmp_path / "cut.xlsx").write_bytes((tmp_path / "far.xlsx").read_bytes()[:2000])
    _, sources, _ = list_tables(tmp_path)
    for source, reason in zip(
        sources, ["File is not a zip file", "a sheet has more than 33,554,432 cells"], strict=True
    ):
        with pytest.raises(TableReadError, match=reason):
            list(tables_of(source, GivenDialect(), 1000))


def test_a_long_sheet_of_few_columns_is_read(tmp_path):
    """Its first and its last cell are of two columns; a hundred rules of its look are no cells."""
    write_book(tmp_path / "near.xlsx", A=SIMPLE)
    with zipfile.ZipFile(tmp_path / "near.xlsx") as near, zipfile.ZipFile(tmp_path / "long.xlsx", "w") as long:
        for name in near.namelist():
            data = near.read(name)
            if name.startswith("xl/worksheets/"):
                data = data.replace(b'<row r="3"', b'<row r="650000"').replace(b'r="A3"', b'r="A650000"')
                data = data.replace(b'r="B3"', b'r="B650000"')
                data = data.replace(b"<sheetData>", b"<!--" + b" " * (3 << 20) + b"--><sheetData>")
                data = data.replace(b"</sheetData>", b"</sheetData>" + b'<conditionalFormatting sqref="A1"/>' * 100)
            long.writestr(name, data)
    (tmp_path / "near.xlsx").unlink()
    _, (source,), _ = list_tables(tmp_path)
    ((_, opened),) = tables_of(source, GivenDialect(), 1000)
    assert pa.Table.from_batches(opened().batches()).to_pydict() == READ


@pytest.mark.parametrize(
    ("given", "claimed"),
    [
        ('r="A2"', "r='XFD1048576'"),
        ('<c r="A2"', '<c\nr = "XFD1048576"'),
        ('<c r="A2"', f'<c r{" " * 3000}="XFD1048576"'),
        ('r="A2"', 'r="xfd1048576"'),
        ('r="A2"', 'r="A99999999999"'),
        ('<row r="2"><c r="A2"', '<row r="1048576">' + "<c><v>1</v></c>" * 100 + "<c"),
        ('<row r="2"><c r="A2"', '<row r="1048576">' + "<x:c><v>1</v></x:c>" * 100 + "<c"),
    ],
)
def test_cells_that_claim_all_memory_are_refused_however_they_are_written(tmp_path, given, claimed):
    write_book(tmp_path / "near.xlsx", A=SIMPLE)
    with zipfile.ZipFile(tmp_path / "near.xlsx") as near, zipfile.ZipFile(tmp_path / "far.xlsx", "w") as far:
        for name in near.namelist():
            data = near.read(name)
            if name.startswith("xl/worksheets/"):
                assert given.encode() in data
                data = data.replace(given.encode(), claimed.encode())
                name = "xl/elsewhere/sheet1.xml"
            data = data.replace(b"/xl/worksheets/", b"/xl/elsewhere/")
            far.writestr(name, data)
    (tmp_path / "near.xlsx").unlink()
    _, (source,), _ = list_tables(tmp_path)
    with pytest.raises(TableReadError, match="a sheet has more than 33,554,432 cells"):
        list(tables_of(source, GivenDialect(), 1000))


def test_merged_cells_are_what_a_person_sees(tmp_path):
    """A value holds for all rows of its cell, and groups of columns stand above their names."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["Region", "Sales", None, "Note"], [None, 2020, 2021, None], ["North", 1, 2, "a"], [None, 3, 4, "b"]):
        sheet.append(row)
    for row in (["South", 5, 6, "c"], [None, 7, 8, None], [None, 9, 10, None]):
        sheet.append(row)
    for cells in ("A1:A2", "D1:D2", "B1:C1", "A3:A4", "A5:A7"):
        sheet.merge_cells(cells)
    titled = book.create_sheet("Titled")
    for row in (["Sales of the year", None, None], [None, None, None], ["a", "b", "c"], [1, "x", 2], [3, None, 4]):
        titled.append([None, *row])
    for cells in ("B1:D1", "C4:C5"):
        titled.merge_cells(cells)
    two = book.create_sheet("Two")
    for row in (*SIMPLE, [None], ["Land", "People"], [None, "then", "now"], ["Peru", 1, 2], ["Chad", 3, 4]):
        two.append(row)
    for cells in ("A5:A6", "B5:C5"):
        two.merge_cells(cells)
    book.save(tmp_path / "m.xlsx")
    assert read_all(tmp_path / "m.xlsx") == {
        "m.xlsx/Sheet": {
            "Region": ["North", "North", "South", "South", "South"],
            "Sales 2020": [1, 3, 5, 7, 9],
            "Sales 2021": [2, 4, 6, 8, 10],
            "Note": ["a", "b", "c", None, None],
        },
        "m.xlsx/Titled": {"a": [1, 3], "b": ["x", "x"], "c": [2, 4]},
        "m.xlsx/Two": READ,
        "m.xlsx/Two/2": {"Land": ["Peru", "Chad"], "People then": [1, 3], "People now": [2, 4]},
    }


@pytest.mark.parametrize("cells", ["B2:B4", "A2:B4", "F2:G3", "H2:H4", "C9:D9"])
def test_merged_cells_without_a_value_change_nothing(tmp_path, cells):
    """Forms are drawn by empty merged cells, beside a table and below it."""
    book = openpyxl.Workbook()
    for row in (["city", "n", "note"], ["Rome", 1, "old"], ["Oslo", 2, None], ["Lima", 3, "new"], ["Bern", 4, None]):
        book.active.append([None, None, *row])
    book.active.merge_cells(cells)
    book.save(tmp_path / "m.xlsx")
    read = {"city": ["Rome", "Oslo", "Lima", "Bern"], "n": [1, 2, 3, 4], "note": ["old", None, "new", None]}
    assert read_all(tmp_path) == {"m.xlsx/Sheet": read}


@pytest.mark.parametrize("is_each", [True, False])
@pytest.mark.parametrize("second", [None, "Lee"])
def test_a_name_above_a_wide_cell_is_the_only_line_of_names(tmp_path, is_each, second):
    """The first row of data is no second line of names, as it has values in the columns beside."""
    book = openpyxl.Workbook()
    book.active.append(["person", None, "age", "town"])
    for number in range(4):
        book.active.append([f"Ann {number}", second, 20 + number, f"town {number}"])
    for row in range(1, 6 if is_each and second is None else 2):
        book.active.merge_cells(f"A{row}:B{row}")
    book.save(tmp_path / "m.xlsx")
    read = read_all(tmp_path)["m.xlsx/Sheet"]
    assert list(read) == ["person", "Unnamed: 1", "age", "town"]
    assert read["person"] == [f"Ann {number}" for number in range(4)] and read["age"] == [20, 21, 22, 23]
    assert read["Unnamed: 1"] == [second] * 4


def test_values_that_hold_for_two_rows_are_no_names(tmp_path):
    book = openpyxl.Workbook()
    for row in (["north", 1], [None, 2], ["south", 3], [None, 4], ["west", 5], [None, 6]):
        book.active.append(row)
    for cells in ("A1:A2", "A3:A4", "A5:A6"):
        book.active.merge_cells(cells)
    book.save(tmp_path / "m.xlsx")
    regions = ["north", "north", "south", "south", "west", "west"]
    assert read_all(tmp_path)["m.xlsx/Sheet"] == {"column_0": regions, "column_1": [1, 2, 3, 4, 5, 6]}


def test_what_is_named_like_a_workbook_has_a_reason(tmp_path):
    (tmp_path / "t.xls").write_text("a\tb\n1\t2\n")
    with zipfile.ZipFile(tmp_path / "u.xlsx", "w") as archive:
        archive.writestr("xl/workbook.bin", b"")
    _, sources, _ = list_tables(tmp_path)
    reasons = (
        r"it is no workbook, whatever its name says; a text is read as \.csv",
        r"it is a binary workbook, whatever its name says; save it as \.xlsx",
    )
    for source, reason in zip(sources, reasons, strict=True):
        with pytest.raises(TableReadError, match=reason):
            list(tables_of(source, GivenDialect(), 1000))


def test_a_workbook_of_too_much_content_or_columns_has_a_reason(tmp_path, monkeypatch):
    write_book(tmp_path / "book.xlsx", Sheet=SIMPLE)
    _, (source,), _ = list_tables(tmp_path)
    ((_, opened),) = tables_of(source, GivenDialect(), 1)
    with pytest.raises(TableReadError, match=r"more than 1 columns, .*; allow more by the setting max_columns"):
        opened()
    monkeypatch.setattr(workbook_reader, "_MAX_BYTES", 100)
    with pytest.raises(TableReadError, match="its content is larger than 0 GiB"):
        list(tables_of(source, GivenDialect(), 1000))


def test_a_workbook_follows_its_changes(tmp_path):
    place, index = tmp_path / "lake", tmp_path / "i.dfjoin"
    place.mkdir()
    write_book(place / "book.xlsx", A=SIMPLE, B=COUNTRIES)
    lake = dfjoin.build_lake(place, index, engine="inline", progress=False)
    assert lake.tables["table"].tolist() == ["book.xlsx/A", "book.xlsx/B"]
    assert lake.table("book.xlsx/B").to_dict("list")["country"] == OTHER["country"]
    assert lake.describe("book.xlsx/B")["dialect"] == "rows 1 to 3, columns 1 to 3"
    same = lake.add(place, progress=False)
    assert same.info()["version"] == lake.info()["version"]
    write_book(place / "book.xlsx", B=[*COUNTRIES, ["Chad", 1284.0, None]], C=SIMPLE)
    assert lake.check()["state"].tolist() == ["changed", "changed"]
    later = same.add(place, progress=False)
    assert later.tables["table"].tolist() == ["book.xlsx/B", "book.xlsx/C"] and later.check().empty
    wide = dfjoin.auto_join(lake.table("book.xlsx/B", on_stale="ignore")[["country"]], later, on="country")
    assert wide["area"].tolist() == [301.5, 1285.0] or len(wide) == 3
    (place / "book.xlsx").write_bytes(b"PK\x03\x04 cut")
    kept = later.add(place, progress=False)
    assert kept.tables["table"].tolist() == ["book.xlsx/B", "book.xlsx/C"]
    assert kept.info()["skipped"][0]["name"] == "book.xlsx"


def test_percentages_stay_numbers(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "share"], [1, 0.12345], [2, 0.5]):
        book.active.append(row)
    book.active["B2"].number_format = "0%"
    book.save(tmp_path / "p.xlsx")
    assert read_all(tmp_path / "p.xlsx")["p.xlsx/Sheet"] == {"a": [1, 2], "share": [0.12345, 0.5]}
