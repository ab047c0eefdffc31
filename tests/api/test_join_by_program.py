"""Tables of a lake that join after a learned program: joined as picked, by rank, and again by the plan."""

import json

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.cli.main import main
from dfjoin.errors import InvalidParameterError
from dfjoin.join.plan import JoinPlan

FIRST = ["Ann", "Bea", "Cid", "Dan", "Eve", "Fay", "Gus", "Hal", "Ivy", "Jan", "Kim", "Lea", "Max", "Ned", "Ola", "Pam"]
LAST = ["Adler", "Brook", "Crane", "Drake", "Eagle", "Finch", "Goose", "Heron", "Ibis", "Jay", "Kite", "Lark", "Merle",
        "Noddy", "Osprey", "Plover"]  # fmt: skip
PEOPLE = [f"{first} {last}" for first, last in zip(FIRST, LAST, strict=True)]


@pytest.fixture
def lake(build):
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(list("abcdefghijklmnop"), 7)) for _ in range(200)]
    noise = {f"noise{i}": pd.DataFrame({"w": words[20 * i : 20 * i + 20], "x": range(20)}) for i in range(5)}
    staff = pd.DataFrame({"person": [*PEOPLE, PEOPLE[2]], "wage": [*(100 + i for i in range(16)), 302]})
    lake = build({**noise, "staff": staff.sample(frac=1, random_state=2)})
    return lake.add_patterns() if hasattr(lake, "add_patterns") else lake


@pytest.fixture
def df():
    names = [f"{last}, {first}" for first, last in zip(FIRST, LAST, strict=True)]
    return pd.DataFrame({"name": [*names, None, "Nobody, At All"], "n": range(18)})


@pytest.fixture
def hits(df, lake):
    hits = df.discover_joinable("name", lake, mode="transform", rank="matched")
    assert hits["table"].tolist()[:1] == ["staff"] or hits["table"].str.endswith("staff").iloc[0]
    return hits


def test_a_picked_candidate_is_joined_by_its_program(df, hits):
    wide = df.auto_join(hits.iloc[[0]])
    assert len(wide) == len(df) and wide["n"].tolist() == df["n"].tolist()
    expected = [100 + i for i in range(16)]
    expected[2] = (102 + 302) / 2
    assert wide["wage"].tolist()[:16] == expected and wide["wage"].iloc[16:].isna().all()
    assert wide["person"].tolist()[:16] == PEOPLE, "a key that is not equal is brought along"
    report = str(dfjoin.report(wide))
    assert "name.split(', ')[1] + ' ' + name.split(', ')[0]" in report and "16 of 18 rows" in report


@pytest.mark.parametrize(("how", "n_rows"), [("left", 19), ("inner", 17), ("outer", 19), ("right", 17)])
def test_every_pair_of_rows(df, hits, how, n_rows):
    wide = df.auto_join(hits.iloc[[0]], how=how, aggregate=None)
    assert len(wide) == n_rows
    assert sorted(wide["wage"].dropna().astype(int)) == sorted([*(100 + i for i in range(16)), 302])


def test_rows_that_only_the_table_has(df, lake, hits):
    wide = df.iloc[:10].auto_join(hits.iloc[[0]], how="outer", aggregate=None)
    assert len(wide) == 17 and wide["n"].isna().sum() == 6
    assert set(wide["person"][wide["n"].isna()]) == set(PEOPLE[10:])


def test_the_plan_does_it_again_for_other_rows(df, hits):
    wide = df.auto_join(hits.iloc[[0]])
    plan = json.loads(json.dumps(wide.attrs["dfjoin"]["plan"]))
    again = df.iloc[5:9].reset_index(drop=True).auto_join(plan)
    assert again["wage"].tolist() == [105, 106, 107, 108]
    assert again.columns.tolist() == wide.columns.tolist()
    assert JoinPlan.from_dict(plan) == JoinPlan.from_dict(JoinPlan.from_dict(plan).to_dict())


@pytest.mark.parametrize("relation", [{"programs": 1}, [], {"direction": "up", "programs": []}])
def test_a_plan_with_a_broken_program_is_refused(df, hits, relation):
    plan = df.auto_join(hits.iloc[[0]]).attrs["dfjoin"]["plan"]
    plan["steps"][0]["relation"] = relation
    with pytest.raises((InvalidParameterError, dfjoin.errors.InvalidTypeError), match=r"`plan`|join by programs"):
        df.auto_join(plan)


def test_by_rank_over_the_lake(df, lake):
    wide = df.auto_join(lake, on="name", mode="transform")
    assert wide["wage"].notna().sum() == 16
    assert wide.attrs["dfjoin"]["joined"][0]["relation"]["transform"]["programs"]


def test_only_the_wanted_columns(df, hits):
    wide = df.auto_join(hits.iloc[[0]], columns="wage")
    assert [c for c in wide.columns if c not in df.columns] == ["wage", "staff_rows"]


def test_the_shell_builds_finds_and_joins(df, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    pd.DataFrame({"person": PEOPLE, "wage": range(16)}).to_csv(tmp_path / "data" / "staff.csv", index=False)
    df.to_csv(tmp_path / "df.csv", index=False)
    index, table = str(tmp_path / "ix.dfjoin"), str(tmp_path / "df.csv")
    assert main(["build", str(tmp_path / "data"), index, "--engine", "inline", "--patterns", "--quiet"]) == 0
    assert main(["discover", index, table, "--on", "name", "--mode", "transform", "--explain", "0"]) == 0
    assert "name.split(', ')[1]" in capsys.readouterr().out
    out = str(tmp_path / "wide.csv")
    assert main(["join", table, index, "--on", "name", "--mode", "transform", "-o", out]) == 0
    assert pd.read_csv(out)["wage"].notna().sum() == 16
