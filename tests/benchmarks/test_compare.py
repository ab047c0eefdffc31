"""Two checkouts in turns: this one against itself, in which nothing is faster than the other."""

import pytest

from tests.benchmarks.compare import LEAST_ROUNDS, compare
from tests.conftest import EXAMPLE_LAKE, PROJECT

QUERIES = "table_path,column,distinct_values,interval,column_index\ngeo/countries.csv,country,24,10-100,0\n"


@pytest.mark.slow  # processes of both checkouts
def test_searches_and_processes_are_timed_in_both_checkouts(example_lake, tmp_path):
    queries = tmp_path / "queries.csv"
    queries.write_text(QUERIES)
    arguments = [str(example_lake.path), str(EXAMPLE_LAKE), "--queries", str(queries), "--every", "1"]
    table = compare(PROJECT, [*arguments, "--only", "search", "process, import"], 0.0)
    searches = [f"search, 10-100 values, rank={rank}" for rank in ("matched", "useful")]
    assert table.index.tolist() == [*searches, "process, import"]
    assert table["rounds"].tolist() == [LEAST_ROUNDS] * 3
    assert (table[["other ms", "this ms", "median ratio", "ratio of CPU"]] > 0).all().all()
    assert table["median ratio"].tolist() == table["p95 ratio"].tolist()  # one query a row
    assert table["this ms"].idxmax() == "process, import"
    assert 0.1 < table.loc["process, import", "ratio of CPU"] < 10, "the time of children counts"
