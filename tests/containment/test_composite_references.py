"""Foreign keys of several columns are edges of the join graph."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.containment.composite_references import CompositeReference, reference_features
from dfjoin.containment.key_features import KEY_FEATURES
from dfjoin.containment.lake_columns import LakeColumns

EDGES = ["table", "column", "key_table", "key_column"]


@pytest.fixture
def frames():
    rng = np.random.default_rng(5)
    pairs = [(team, year) for team in range(30) for year in range(1990 + team % 7, 2010, 2 + team % 3)]
    clubs = pd.DataFrame(
        {
            "year": [y for _, y in pairs],
            "team_id": [f"T{t:02d}" for t, _ in pairs],
            "wins": rng.integers(0, 9, len(pairs)),
        }
    )
    rows = clubs.iloc[rng.integers(0, len(clubs), 400)]
    games = pd.DataFrame({"game": range(400), "team_id": rows["team_id"].to_numpy(), "year": rows["year"].to_numpy()})
    return {"clubs": clubs, "games": games}


def edges_of(lake, **options):
    return set(lake.join_graph(**options).edges[EDGES].itertuples(index=False, name=None))


def test_tuples_refer_to_the_key_that_they_are_together(build, frames):
    lake = build(frames)
    graph = lake.join_graph()
    found = {frozenset((row.table, row.key_table)): row for row in graph.edges.itertuples()}
    row = found[frozenset(("games", "clubs"))]
    assert (row.table, row.key_table) == ("games", "clubs")
    assert set(row.column.split(" + ")) == {"team_id", "year"} and row.column == row.key_column
    tuples = frames["games"][["team_id", "year"]].drop_duplicates()
    assert (row.cardinality, row.key_cardinality) == (len(tuples), len(frames["clubs"]))
    assert row.containment == 1 and row.coverage == pytest.approx(len(tuples) / len(frames["clubs"]))
    assert row.relationship == "n:1" and 0.5 <= row.score < 1 and not row.declared
    assert "refers to clubs." in graph.explain("games", row.column)
    assert graph.shortest_paths("games", "clubs")["left_column"].tolist() == [row.column]
    assert not edges_of(lake, tables=["games"])


@pytest.mark.parametrize("n_rows", [400, 100])
def test_tuples_that_the_key_lacks_do_not_refer_to_it(build, frames, n_rows):
    year = frames["games"]["year"].to_numpy(copy=True)
    year[:n_rows] = np.roll(year[:n_rows], 1)  # the values of the columns are the same, the rows are not
    frames["games"]["year"] = year
    assert not edges_of(build(frames))


def test_tuples_of_which_a_key_has_every_one_tell_nothing(build, frames):
    every = [(f"T{t:02d}", y) for t in range(30) for y in range(1990, 2010)]
    frames["clubs"] = pd.DataFrame(every, columns=["team_id", "year"]).assign(wins=0.5)
    assert not edges_of(build(frames))


def test_a_column_that_refers_to_the_table_alone_needs_no_other(build, frames):
    frames["clubs"].insert(0, "club_id", [f"C{i:03d}" for i in range(len(frames["clubs"]))])
    keys = frames["clubs"][["team_id", "year", "club_id"]]
    frames["games"] = frames["games"].merge(keys, on=["team_id", "year"])
    assert edges_of(build(frames)) == {("games", "club_id", "clubs", "club_id")}


def test_parts_that_refer_to_other_keys_do_not_belong_together(build, frames):
    clubs, games = (frames[name].rename(columns={"year": "season_id"}) for name in ("clubs", "games"))
    games = games.rename(columns={"team_id": "rival_team_id"})
    teams = pd.DataFrame({"id": [f"T{t:02d}" for t in range(30)], "city": [f"City {t}" for t in range(30)]})
    rivals = pd.DataFrame({"id": [f"T{t:02d}" for t in range(40)], "town": [f"Town {t}" for t in range(40)]})
    frames = {"clubs": clubs, "teams": teams, "games": games}
    (several,) = (row for row in build(frames).join_graph().edges.itertuples() if " + " in row.column)
    parts = set(zip(several.column.split(" + "), several.key_column.split(" + "), strict=True))
    assert parts == {("rival_team_id", "team_id"), ("season_id", "season_id")}
    found = edges_of(build(frames | {"rival_teams": rivals}))
    assert ("games", "rival_team_id", "rival_teams", "id") in found and ("clubs", "team_id", "teams", "id") in found
    assert not any(" + " in column for _, column, _, _ in found)


def test_of_keys_that_are_named_alike_the_smallest_is_the_closest(build, frames):
    rest = frames["clubs"][["team_id", "year"]]
    lake = build(frames | {"rosters": rest[:-20]})
    columns = LakeColumns(lake.snapshot)
    number = {columns.name(i): i for i in range(len(columns.kind))}
    names = "team_id", "year"
    left = tuple(number["games", name] for name in names)
    references = [
        CompositeReference(left, tuple(number[table, name] for name in names), 100, 100, n, True, False)
        for table, n in (("clubs", len(rest)), ("rosters", len(rest) - 20))
    ]
    is_closest = reference_features(columns, references)[:, KEY_FEATURES.index("is_closest")]
    assert is_closest.tolist() == [0, 1]


def test_a_table_that_cannot_be_read_is_left_out_with_a_warning(tmp_path, frames):
    (tmp_path / "t").mkdir()
    for name, frame in frames.items():
        frame.to_csv(tmp_path / "t" / f"{name}.csv", index=False)
    lake = dfjoin.build_lake(tmp_path / "t", tmp_path / "i", engine="inline", progress=False)
    assert len(edges_of(lake)) == 1
    (tmp_path / "t" / "clubs.csv").write_text("changed\n1\n")
    text = r"1 tables that may have keys of several columns could not be read, the first: .*clubs"
    with pytest.warns(UserWarning, match=text):
        assert not edges_of(lake)
