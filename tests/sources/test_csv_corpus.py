"""The corpus of CSV dialects is read as people read it: names, rows, and numbers as numbers."""

import pytest

from tests.benchmarks.csv_dialects import is_right, read_with_dfjoin
from tests.sources.csv_corpus import COUNTRIES, corpus


@pytest.fixture(scope="module")
def cases():
    return list(corpus())


def test_the_corpus_is_as_large_and_varied_as_it_has_to_be(cases):
    assert len(cases) >= 150 and len({case.name for case in cases}) == len(cases)
    assert len({country.code for country in COUNTRIES}) >= 11


def test_nearly_all_files_are_read_right_and_no_header_is_wrong(cases, tmp_path):
    wrong, wrong_headers = [], []
    for case in cases:
        path = tmp_path / case.name
        path.write_bytes(case.data)
        found = read_with_dfjoin(path)
        if not is_right(case, found, numbers=True):
            wrong.append(case.name)
        if [name.strip() for name in found[0]] != list(case.columns):
            wrong_headers.append(case.name)
    assert not wrong_headers
    assert len(wrong) <= 0.02 * len(cases), wrong


def test_a_truth_that_differs_is_not_right(cases):
    case = next(case for case in cases if case.name == "invoices.csv")
    rows = [list(row) for row in case.rows]
    assert is_right(case, (list(case.columns), rows), numbers=True)
    rows[0][2] = 5.0
    assert not is_right(case, (list(case.columns), rows), numbers=False)
    assert not is_right(case, (["a", "b", "c"], list(case.rows)), numbers=False)
