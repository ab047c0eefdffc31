"""A tiny run of the benchmark of search by distance."""

from tests.benchmarks import similarity


def test_the_contenders_agree(capsys):
    similarity.main(
        ["--vectors", "2000", "--queries", "40", "--rounds", "1", "--radii", "0.04", "0.3", "--rivals", "pexeso"]
    )
    out = capsys.readouterr().out
    assert out.count("pexeso") == 4 and out.count("variance in 16 axes") == 2
