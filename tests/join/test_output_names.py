"""Names of joined columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfjoin.join.output_names import free_name, output_names, stem_of


@pytest.mark.parametrize(
    ("table", "stem"),
    [
        ("geo/countries.csv", "countries"),
        ("geo/countries.csv.gz", "countries"),
        ("geo/countries.tsv.zst", "countries"),
        ("countries.parquet", "countries"),
        ("books.jsonl", "books"),
        ("db.sales.orders", "orders"),
        ("orders", "orders"),
        ("deep/er/no_extension", "no_extension"),
        ("a/b.c.csv", "b.c"),
        ("", "right"),
    ],
)
def test_stem_is_the_file_name_without_extensions_or_the_last_part(table, stem):
    assert stem_of(table) == stem


def test_free_name_prefers_the_plain_one_then_the_stem_then_a_number():
    taken = set()
    names = [free_name("area", "geo", taken) for _ in range(4)]
    assert names == ["area", "area__geo", "area__geo_2", "area__geo_3"]
    assert taken == set(names)


def test_a_stem_name_that_is_taken_by_a_user_column_is_not_used():
    taken = {"area", "area__geo"}
    assert free_name("area", "geo", taken) == "area__geo_2"


@given(
    st.lists(st.sampled_from(["a", "a__s", "a__s_2", "b", "b__s"]), unique=True),
    st.sets(st.sampled_from(["a", "a__s", "a__s_2", "a__s_3", "b"])),
)
def test_output_names_never_collide(columns, taken):
    before = set(taken)
    names = output_names(columns, "s", taken)
    assert list(names) == columns
    assert len(set(names.values())) == len(columns)
    assert not before & set(names.values())
    assert taken == before | set(names.values())
    for column, name in names.items():
        assert name == column or name.startswith(f"{column}__s")


def test_a_free_name_is_kept_plain():
    assert output_names(["x", "y"], "s", {"y", "z"}) == {"x": "x", "y": "y__s"}
