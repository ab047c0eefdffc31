"""Rows of one key that other columns tell apart."""

import pandas as pd
import pyarrow as pa
import pytest

from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions
from dfjoin.join.relation.break_ties import break_ties
from dfjoin.join.relation.relate import relate
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.types import IndexSettings
from dfjoin.values.key_index import expand_pairs

NAMES = [
    f"{a}{b}{c}" for a in ("Al", "Be", "Cor") for b in ("ton", "mar", "vin", "dus") for c in ("ski", "sen", "ov", "ez")
]


def rows_of(relation):
    """Pairs of rows that a relation joins."""
    of_pair, right = expand_pairs(relation.pairs.right, relation.right.index.codes, relation.right.index.n_keys)
    found = set()
    for pair, row in zip(of_pair.tolist(), right.tolist(), strict=True):
        own = relation.left.index.codes == relation.pairs.left[pair]
        found |= {(int(i), row) for i in own.nonzero()[0]}
    return found


def broken(left, right):
    """Relate the first columns of two frames, break the ties; return the pairs of rows before and after."""
    texts = [
        {frame.columns[0]: Column(frame.columns[0], pa.array(frame.iloc[:, 0], pa.string()))} for frame in (left, right)
    ]
    relation, _ = relate(*texts, None, None, JoinOptions(fuzzy=False))
    after = break_ties(relation, *(KeyColumns(frame, IndexSettings()) for frame in (left, right)))
    return rows_of(relation), rows_of(after), after is relation


@pytest.fixture
def frames():
    names = [*NAMES, NAMES[3], NAMES[7]]
    n = len(names)
    left = pd.DataFrame({"who": [f"{name}*" for name in names], "year": range(1900, 1900 + 7 * n, 7)})
    right = pd.DataFrame({"name": names, "term": [f"from {y} to {y + 4}" for y in left["year"]]})
    return left, right, {(i, i) for i in range(n)}


def test_columns_that_agree_for_other_keys_decide(frames):
    left, right, truth = frames
    before, after, _ = broken(left, right)
    assert len(before) == len(truth) + 4
    assert after == truth


def test_nothing_is_given_up_where_nothing_agrees(frames):
    left, right, _ = frames
    for other in (right.assign(term="x"), right.assign(term=right["term"].to_numpy()[::-1])):
        before, after, is_same = broken(left, other)
        assert before == after and is_same


def test_a_row_without_a_word_for_it_gets_what_the_others_leave(frames):
    left, right, truth = frames
    silent = left.assign(year=left["year"].astype("Int64").mask(left.index == len(left) - 1))
    _, after, _ = broken(silent, right)
    assert after == truth


def test_a_relation_of_many_to_many_is_not_touched():
    names = [name for name in NAMES[:12] for _ in range(2)]
    left = pd.DataFrame({"who": [f"{name}*" for name in names], "year": range(24)})
    right = pd.DataFrame({"name": names, "year": range(24)})
    texts = {"who": Column("who", pa.array(left["who"]))}, {"name": Column("name", pa.array(right["name"]))}
    relation, _ = relate(*texts, ["who"], ["name"], JoinOptions(fuzzy=False))
    assert break_ties(relation, *(KeyColumns(frame, IndexSettings()) for frame in (left, right))) is relation


def test_keys_that_are_several_on_one_side_are_one_tie(frames):
    left, right, truth = frames
    numbered = right.assign(name=[f"{i:02d}. {name}" for i, name in enumerate(right["name"])])
    plain = left.assign(who=[text.rstrip("*") for text in left["who"]])
    _, after, _ = broken(plain, numbered)
    assert after == truth
