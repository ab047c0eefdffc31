"""The benchmarks of the containment join run, and all contenders find the same number of pairs."""

import numpy as np
import pytest

from tests.benchmarks import containment
from tests.benchmarks.containment import contenders, in_own_process, synthetic
from tests.benchmarks.foreign_keys import measure, pooled, run_foreign_keys
from tests.oracles.containment import naive_pairs, sets_of

RIVALS = ["PRETTI", "LIMIT+", "TT-Join", "numpy rarest-first"]


@pytest.mark.parametrize("skew", [0.25, 1.0])
def test_every_contender_finds_the_pairs_of_brute_force(skew):
    sets = synthetic(250, 4, 40, skew)
    expected = len(naive_pairs(sets_of(sets), sets_of(sets)))
    known = contenders([name for name in contenders(None) if name.startswith("dfjoin") or name in RIVALS])
    assert {name: run(sets, sets) for name, run in known.items()} == dict.fromkeys(known, expected)


def test_a_run_has_a_process_of_its_own():
    sets = synthetic(300, 4, 40, 0.5)
    run = contenders(["dfjoin scan"])["dfjoin scan"]
    n, seconds, memory = in_own_process(run, sets, 60)
    assert n == run(sets, sets) and 0 <= seconds < 60 and memory > 0


def test_the_protocol_runs_at_a_tiny_share(monkeypatch, capsys):
    monkeypatch.setattr(containment, "VARIED", {"z": (0.25,)})
    table = containment.run_containment(0.0001, ["dfjoin scan", "TT-Join"], 60, None)
    assert len(table) == 2 and table["pairs"].notna().all()
    assert "setting" in capsys.readouterr().out


def test_the_join_beyond_memory_is_measured(capsys):
    table = containment.run_external(0.0002)
    assert (table["partitions"] >= 1).all() and (table["EXPRETTI pages"] > 0).all()
    assert "in memory" in capsys.readouterr().out


def test_foreign_keys_are_measured(tmp_path, capsys):
    for name, key in (("one", "city_id"), ("two", "town_id")):
        (tmp_path / name / "tables").mkdir(parents=True)
        rows = "".join(f"{i},n{i}\n" for i in range(20, 40))
        (tmp_path / name / "tables" / "place.csv").write_text(f"{key},name\n{rows}")
        rows = "".join(f"s{i},{20 + i % 17}\n" for i in range(60))
        (tmp_path / name / "tables" / "shop.csv").write_text(f"shop,{key}\n{rows}")
        truth = f"fk_table,fk_column,pk_table,pk_column,fk_distinct\nshop,{key},place,{key},17\n"
        (tmp_path / name / "truth.csv").write_text(truth)
    table = run_foreign_keys(tmp_path, False)
    assert table.loc["all", "keys"] == 2 and table.loc["all", "recall@1"] == 1
    assert "each database held out" in capsys.readouterr().out
    assert measure and pooled and np.isfinite(table["P"]).all()
