"""The runner of joins by programs on a set of one tiny case, so that it cannot rot."""

import json

import pytest

from tests.benchmarks import drawn_pairs, everyday, transform

NAMES = ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Edsger Dijkstra", "Barbara Liskov"]


@pytest.fixture
def folder(tmp_path):
    case = tmp_path / "tde" / "names"
    case.mkdir(parents=True)
    made = [f"{name.split()[1]}, {name.split()[0]}" for name in NAMES]
    (case / "left.csv").write_text("name\n" + "\n".join(NAMES) + "\n", "utf-8")
    (case / "right.csv").write_text("key\n" + "\n".join(f'"{m}"' for m in made) + "\n", "utf-8")
    rows = [f'{i},{i},{name},"{m}"' for i, (name, m) in enumerate(zip(NAMES, made, strict=True))]
    (case / "truth.csv").write_text("left_row,right_row,left_key,right_key\n" + "\n".join(rows) + "\n", "utf-8")
    meta = {"case": "names", "left_key": "name", "right_key": "key", "truth_level": "row"}
    (case / "meta.json").write_text(json.dumps(meta), "utf-8")
    return tmp_path


def test_tables_are_joined_by_every_method(folder):
    rows = transform.run_tables(folder / "tde", verbose=False)
    assert [row["F1"] for row in rows[:2]] == [1.0, 1.0]
    assert rows[2]["method"].startswith("TF-IDF")
    assert 0 < rows[2]["F1"] <= 1


def test_examples_are_solved(folder):
    rows = transform.run_examples(folder / "tde", verbose=False)
    assert {row["examples"]: row["solved"] for row in rows} == {"1": True, "2": True, "3": True, "half": True}


def test_scale_is_measured(capsys):
    transform.run_scale([50])
    assert "authors" in capsys.readouterr().out


def test_the_command_prints_a_table(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["transform", str(folder), "tde"])
    transform.main()
    shown = capsys.readouterr().out
    assert "program, columns unknown" in shown
    assert "solved" in shown


@pytest.mark.parametrize(("found", "expected"), [(set(), (1.0, 0.0, 0.0)), ({(1, 1)}, (1.0, 0.5, 2 / 3))])
def test_scores(found, expected):
    assert transform.score(found, {(1, 1), (2, 2)}) == pytest.approx(expected)


def test_drawn_pairs_have_their_truth():
    name, left, right, truth, is_named = drawn_pairs.make(12)
    assert name.startswith("amounts") and is_named
    assert all(f"${int(left['key'][i]) / 100:,.2f}" == right["ref"][j] for i, j in truth) and len(truth) > 20
    assert everyday.scored(left, right, truth, is_named=is_named)["verdict"] == "right"
