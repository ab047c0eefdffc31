"""The judgements of whole numbers and of a draw are whole, and the made databases hold the truth that they state."""

from pathlib import Path

import pandas as pd

from tests.benchmarks.number_cases import NUMBERS, WORDS, number_cases
from tests.benchmarks.relevance import NUMBER_JUDGEMENTS


def test_each_judged_pair_has_a_grade_and_a_reason_once():
    judged = pd.read_csv(NUMBER_JUDGEMENTS)
    assert len(judged) > 350 and judged["grade"].isin([0, 1, 2]).all()
    assert judged["reason"].str.len().min() > 5
    assert not judged.duplicated(["query_table", "query_column", "table", "column"]).any()
    assert (judged["query_table"] != judged["table"]).any() and judged.groupby("grade").size().min() > 30


def test_each_hit_of_the_draws_has_a_grade_and_a_reason_once():
    drawn = pd.read_csv(Path(__file__).with_name("judged_draw.csv"))
    shown = drawn[drawn["table"].notna()]
    assert shown["grade"].isin([0, 1, 2]).all() and shown["score"].ge(0.3).all()
    assert shown.loc[shown["seed"] != 20261204, "score"].ge(0.5).all()
    assert drawn["reason"].str.len().min() > 5
    assert not drawn.duplicated(["query_table", "query_column", "table", "column"]).any()
    queries = drawn.drop_duplicates(["query_table", "query_column"])
    assert queries.groupby("seed").size().to_dict() == {
        2027: 40,
        2028: 40,
        31415: 20,
        20261123: 40,
        20261202: 39,
        20261203: 40,
        20261204: 50,
        20261205: 40,
    }


def test_what_belongs_together_in_a_made_database_shares_its_values():
    n_cases = 0
    for case in number_cases():
        n_cases += 1
        assert sum(bool(wanted) for _, _, wanted in case.queries) == 4
        for table, column, wanted in case.queries:
            own = set(case.tables[table][column])
            for other, key in wanted:
                shared = own & set(case.tables[other][key])
                assert len(shared) >= 0.5 * min(len(own), case.tables[other][key].nunique())
    assert n_cases == len(WORDS) * len(NUMBERS) == 60
