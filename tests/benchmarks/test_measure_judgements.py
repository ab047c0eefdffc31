"""The labels of columns of numbers are whole, and of many sources."""

import pandas as pd

from tests.benchmarks.measures import CONSTANTS, JUDGEMENTS, Labelled, cross_validated, wrong


def test_each_column_has_a_label_and_a_reason_once():
    judged = pd.read_csv(JUDGEMENTS, dtype=str)
    assert judged["table"].nunique() == len(judged) > 250 and judged["label"].isin(["code", "measure", "open"]).all()
    assert judged["reason"].str.len().min() >= 5 and (judged["label"] == "code").sum() > 70
    assert judged["table"].str.split("/").str[0].nunique() > 80


def test_a_constant_is_chosen_by_other_sources():
    from dfjoin.values.profile import number_column

    unique, few = (number_column(pd.Series(range(3, 3 * n, 3)).to_numpy(float), is_exact=True) for n in (60, 20))
    columns = [Labelled(source, "t", "n", unique, False) for source in "abc"] + [Labelled("a", "t", "n", few, False)]
    assert wrong(columns).tolist() == [False, False, False, True]
    neutral, others = CONSTANTS["_FEW_ROWS"]
    assert cross_validated(columns, "_FEW_ROWS", (neutral, *others)).tolist() == [False, False, False, True]
    columns.append(Labelled("b", "t", "n", few, False))
    assert not cross_validated(columns, "_FEW_ROWS", (neutral, *others)).any()
