"""Pairs that are alike have to tell something of each column of a composite key."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dfjoin.fuzzy.result import FuzzyJoin
from dfjoin.join.relation.pair_keys import keep_explained

FIRSTS = ["Ann", "Bob", "Cid", "Dee", "Eva", "Fay", "Gus", "Hal", "Ivy", "Jon"]
LASTS = ["Smith", "Jones", "Brown", "White", "Green", "Black", "Stone", "Woods", "Marsh", "Field"]
QUIET = {"on_no_match": "ignore", "aggregate": None, "how": "inner"}


def found(pairs):
    left, right = np.array(pairs, np.int64).reshape(-1, 2).T
    return FuzzyJoin(
        left,
        right,
        np.full(left.size, 0.2),
        np.ones(left.size),
        np.full(left.size, 0.01),
        None,
        0.99,
        0.9,
        "some joined",
        ((0.9, 0.99),),
    )


@pytest.mark.parametrize(
    ("first", "last", "text", "is_kept"),
    [
        ("Fay", "Black", "Zoe Black", False),
        ("Fay", "Black", "Black, F.", True),
        ("Fay", None, "Zoe Black", False),
        (None, "Black", "Zoe Black", True),
        ("-", "Black", "Zoe Black", True),
        ("Alexander", "Black", "Alex Black", True),
        ("Jonathan", "Black", "Jonahtan Black", True),
        ("7", "Black", "70 Black", False),
        ("Al", "Black", "Alexander Black", False),
        ("Zoe", "Black", "Zoe", False),
        ("Zoe", "Black", None, False),
    ],
)
def test_a_text_tells_of_each_column(first, last, text, is_kept):
    columns = {"first": pa.array([first], pa.string()), "last": pa.array([last], pa.string())}
    texts = pa.array([text], pa.string())
    kept = keep_explained(found([(0, 0)]), columns, texts, True)
    assert len(kept) == is_kept
    if not is_kept:
        assert (
            kept.estimated_precision is None and "tells nothing of one of the columns" in kept.reason and not kept.curve
        )


def test_the_other_pairs_stay_as_they_are():
    columns = {"a": pa.array(["x1", "y1", "z1"]), "b": pa.array(["u", "v", "w"])}
    texts = pa.array(["w z1", "y1 q", "x1 u"])
    every = found([(2, 0), (1, 1), (0, 2)])
    kept = keep_explained(FuzzyJoin(every.right_rows, every.left_rows, *every_fields(every)), columns, texts, False)
    assert kept.left_rows.tolist() == [0, 2] and kept.right_rows.tolist() == [2, 0]
    assert kept.estimated_precision == 0.99 and kept.errors.shape == kept.distances.shape == (2,)
    empty = found([])
    assert keep_explained(empty, columns, texts, True) is empty


def every_fields(one):
    return (
        one.distances,
        one.chances,
        one.errors,
        one.settings,
        one.estimated_precision,
        one.estimated_recall,
        one.reason,
    )


@pytest.mark.parametrize("names", [{}, {"on": ["first", "last"], "right_on": "name"}])
def test_a_relative_is_another_person(names):
    staff = pd.DataFrame({"first": FIRSTS, "last": LASTS})
    known = [f"{a} {b}" for a, b in zip(FIRSTS[:5], LASTS[:5], strict=True)]
    pay = pd.DataFrame({"name": [*known, *(f"Zoe {b}" for b in LASTS[5:])], "salary": range(10)})
    wide = staff.auto_join(pay, **names, **QUIET)
    assert wide["first"].tolist() == FIRSTS[:5] and wide["salary"].tolist() == [0, 1, 2, 3, 4]
