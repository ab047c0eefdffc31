"""Frames whose key is two columns, joined with a lake without `on`: by the pair, by a part of it, or not at all.

``python -m tests.benchmarks.tuple_tasks INDEX``
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.errors import DfjoinError

TASKS = (
    ("kjhealy__fips-codes/county_fips_master.csv", "county_name", "state_name"),
    ("hadley__data-housing-crisis/data__county-data__county-fips.csv", "county", "state"),
    ("lxndrblz__Airports/citycodes.csv", "city", "country"),
    ("datasets__co2-fossil-by-nation/data__fossil-fuel-co2-emissions-by-nation.csv", "Country", "Year"),
    ("datasets__exchange-rates/data__yearly.csv", "Country", "Date"),
    ("CivilServiceUSA__us-senate/us-senate__data__us-senate.csv", "first_name", "last_name"),
    ("CivilServiceUSA__us-governors/us-governors__data__us-governors.csv", "first_name", "last_name"),
    ("chadwickbureau__baseballdatabank/core__AllstarFull.csv", "playerID", "yearID"),
    ("fivethirtyeight__data/nba-raptor__modern_RAPTOR_by_team.csv", "player_name", "season"),
    ("fivethirtyeight__data/nba-draymond__draymond.csv", "player", "season"),
    ("datasets__football-datasets/datasets__bundesliga__season-0910.csv", "HomeTeam", "AwayTeam"),
    ("jokecamp__FootballData/World_Cups__world-cup-2002__group_matches.csv", "home", "away"),
    ("hadley__data-housing-crisis/data__fhfa-house-price-index__fhfa-house-price-index-state.csv", "state", "year"),
    ("fivethirtyeight__data/primary-candidates-2018__dem_candidates.csv", "State", "District"),
)
"""A table of the lake and the two columns that name its rows."""


def made_frame(table: pd.DataFrame, names: list[str], seed: int) -> pd.DataFrame:
    """At most 200 of the pairs of a table, in an order of their own, with a made measure."""
    pairs = table[names].dropna().drop_duplicates()
    frame = pairs.sample(min(200, max(5, len(pairs) * 6 // 10)), random_state=seed).reset_index(drop=True)
    return frame.assign(spend=np.random.default_rng(seed).lognormal(3, 1, len(frame)).round(2))


def try_task(lake, name: str, names: list[str], seed: int) -> tuple[str, str]:
    """Outcome of a task, and what was joined or why nothing was."""
    frame = made_frame(lake.table(name), names, seed)
    try:
        report = dfjoin.auto_join(frame, lake, on_no_match="ignore").attrs["dfjoin"]
    except DfjoinError as error:
        return "stopped", str(error)
    if not report["joined"]:
        return "nothing", "; ".join(f"{p['table']} {p['column']}: {p['reason']}" for p in report["passed_over"][:2])
    keys = [set(step["on"]) for step in report["joined"]]
    outcome = "pair" if all(key >= set(names) for key in keys) else "part"
    return outcome, "; ".join(f"{s['table']} by {s['on']} = {s['right_on']}" for s in report["joined"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lake = dfjoin.open_lake(options.index)
    outcomes: dict[str, int] = {}
    for name, *names in TASKS:
        outcome, told = try_task(lake, name, names, options.seed)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        print(f"{outcome:8} {' + '.join(names)}: {told}", flush=True)
    print(outcomes)


if __name__ == "__main__":
    main()
