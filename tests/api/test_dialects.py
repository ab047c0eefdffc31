"""How CSV files are written: kept with the index, given by the user, named to people, and used when tables are read."""

import json

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IncompatibleSettingsError, IndexVersionError, InvalidParameterError, InvalidTypeError
from dfjoin.index import manifest

GERMAN = "Kunde;Betrag;Menge\nA1;1.234,50;1.200\nB2;7,25;3\nC3;12,00;1.999\n"


@pytest.fixture
def place(tmp_path):
    lake = tmp_path / "lake"
    (lake / "eu").mkdir(parents=True)
    (lake / "a.csv").write_text(GERMAN)
    (lake / "eu" / "b.csv").write_text("u;v\nx;1.234\ny;2.345\n")
    return lake


def build(place, **options):
    return dfjoin.build_lake(place, place.parent / "i.dfjoin", engine="inline", progress=False, **options)


def test_numbers_with_a_decimal_comma_are_numbers_in_tables_profiles_and_joins(place):
    lake = build(place)
    table = lake.table("a.csv")
    assert table.to_dict("list") == {
        "Kunde": ["A1", "B2", "C3"],
        "Betrag": [1234.5, 7.25, 12.0],
        "Menge": [1200, 3, 1999],
    }
    columns = lake.columns.set_index(["table", "column"])
    assert columns.loc[("a.csv", "Menge"), ["kind", "min", "max"]].tolist() == ["integer", "3", "1999"]
    assert lake.table("a.csv", ["Menge"])["Menge"].tolist() == [1200, 3, 1999]
    joined = pd.DataFrame({"n": [1999, 3, 1200]}).auto_join(lake, on="n", tables="a.csv", min_score=0)
    assert "C3" in joined.astype(str).to_string()


def test_the_dialect_is_named(place):
    lake = build(place)
    named = lake.tables.set_index("table")["dialect"]
    assert named["a.csv"] == "; · utf-8 · decimal comma · thousands ."
    assert lake.describe("a.csv")["dialect"] == named["a.csv"]
    assert set(lake.columns.loc[lake.columns["table"] == "a.csv", "dialect"]) == {named["a.csv"]}


def test_a_reader_that_does_not_know_dialects_refuses_the_index(place, monkeypatch):
    """It would read `1.234,50` as a text, where the index has a number."""
    lake = build(place)
    lake.compact(full=True)
    earlier = tuple(name for name in manifest._FEATURES if name != "dialects")
    with monkeypatch.context() as reader:
        reader.setattr(manifest, "_FEATURES", earlier)
        with pytest.raises(IndexVersionError, match=r"needs the features 'dialects', this dfjoin .* upgrade dfjoin"):
            dfjoin.open_lake(lake.path)
    lake.remove("a.csv").compact(full=True)
    monkeypatch.setattr(manifest, "_FEATURES", earlier)
    assert dfjoin.open_lake(lake.path).tables["table"].tolist() == ["eu/b.csv"], "nothing of it needs the feature"


def test_given_dialects_are_a_feature_too(place):
    (place / "a.csv").unlink()
    lake = build(place, decimal={"eu/*": "."})
    assert "dialects" in json.loads(lake.manifest.to_json())["writer_features"]


def test_doubtful_files_are_listed_with_the_reason(place):
    info = build(place).info()
    reason = "1.234 may have a decimal point or a mark of thousands"
    assert (info["n_doubtful"], info["doubtful"]) == (1, [{"name": "eu/b.csv", "reason": reason}])


def test_what_is_given_holds_for_the_patterns_and_for_files_that_are_added(place):
    lake = build(place, decimal={"eu/*": ","}, header={"eu/*": 0})
    assert lake.info()["doubtful"] == []
    assert lake.table("eu/b.csv").to_dict("list") == {"column_0": ["u", "x", "y"], "column_1": ["v", "1.234", "2.345"]}
    assert lake.table("a.csv")["Betrag"].tolist() == [1234.5, 7.25, 12.0]
    (place / "eu" / "c.csv").write_text("u;v\nx;1.234\n")
    assert lake.add(place, progress=False).table("eu/c.csv").columns.tolist() == ["column_0", "column_1"]
    (place / "eu" / "c.csv").write_text("u;v\nx;1.234\nz;3.5\n")
    assert lake.replace(place / "eu" / "c.csv", progress=False).table("eu/c.csv").shape == (3, 2)


def test_a_given_delimiter_and_encoding_are_taken(tmp_path):
    (tmp_path / "t.csv").write_bytes("a~b\nł;1~2\nś;3~4\n".encode("cp1250"))
    lake = dfjoin.build_lake(
        tmp_path, tmp_path / "i.dfjoin", engine="inline", progress=False, delimiter="~", encoding="cp1250"
    )
    assert lake.table("t.csv").to_dict("list") == {"a": ["ł;1", "ś;3"], "b": [2, 4]}


def test_an_index_is_added_to_with_the_dialects_that_it_was_built_with(place):
    build(place, delimiter=";")
    assert build(place, delimiter=";", if_exists="add").version
    with pytest.raises(IncompatibleSettingsError, match="dialects"):
        build(place, delimiter=",", if_exists="add")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"delimiter": ";;"},
            "`delimiter` must be one character, or a dict of pattern of tables → such a value, got ';;'",
        ),
        ({"decimal": ";"}, '`decimal` must be "." or ",", or a dict'),
        ({"header": 3}, "`header` must be 0, 1 or 2, the lines that name the columns, or a dict .* got 3"),
        ({"header": True}, "`header` must be 0, 1 or 2"),
        ({"encoding": {"a*": "klingon"}}, r"`encoding\['a\*'\]` must be an encoding that Python knows"),
    ],
)
def test_what_cannot_be_is_refused(place, given, text):
    with pytest.raises(InvalidParameterError, match=text):
        build(place, **given)


def test_patterns_are_texts(place):
    with pytest.raises(InvalidTypeError, match="`header` must have patterns of tables as its keys, got 1"):
        build(place, header={1: 0})


def test_the_shell_takes_and_names_dialects(place, capsys):
    from dfjoin.cli.main import main

    index = str(place.parent / "i.dfjoin")
    options = ["--delimiter", ";", "--header", "eu/*=0", "--engine", "inline", "--quiet"]
    assert main(["build", str(place), index, *options]) == 0
    assert main(["info", index, "--doubtful"]) == 0
    assert main(["show", index, "a.csv"]) == 0
    printed = capsys.readouterr().out
    assert "; · utf-8 · decimal comma · thousands ." in printed
    settings = dfjoin.open_lake(index).info()["settings"]["dialects"]
    assert json.loads(json.dumps(settings)) == [["delimiter", "*", ";"], ["header", "eu/*", 0]]
