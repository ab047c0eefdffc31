"""A tiny run of the benchmark of search by distance."""

from tests.benchmarks import pexeso_tables, similarity


def test_the_contenders_agree(capsys):
    similarity.main(
        ["--vectors", "2000", "--queries", "40", "--rounds", "1", "--radii", "0.04", "0.3", "--rivals", "pexeso"]
    )
    out = capsys.readouterr().out
    assert out.count("pexeso") == 4 and out.count("variance in 16 axes") == 2


def test_the_tables_of_pexeso_run(capsys):
    pexeso_tables.main(["--vectors", "600", "--queries", "20", "--radii", "0.06"])
    told = capsys.readouterr().out
    assert "without 3 to 6" in told and "pivots" in told and "threshold" in told
