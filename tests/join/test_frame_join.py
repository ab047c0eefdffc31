"""Joining two frames: which keys are taken, and what is brought."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinError, JoinExpansionError
from dfjoin.join import frame_join

LAND = ["peru", "chad", "mali"]


def test_labels_of_the_other_frame_that_are_one_text_are_refused_or_told_apart():
    other = pd.DataFrame({"k": LAND, 1: [1, 2, 3], "1": [4, 5, 6]})
    try:
        wide = dfjoin.auto_join(pd.DataFrame({"k": LAND}), other, on="k", aggregate=None)
    except DfjoinError:
        return
    assert wide.shape == (3, 3)
    assert wide.columns.is_unique


def test_a_learned_join_that_multiplies_rows_names_the_key():
    names = [f"{a}, {b}" for a in ("Adler", "Brook", "Crane", "Drake") for b in ("Ann", "Bea", "Cid")]
    people = [" ".join(name.split(", ")[::-1]) for name in names]
    other = pd.DataFrame({"person": people * 3, "v": range(36)})
    with pytest.raises(
        JoinExpansionError, match=r"the join with the other frame .* the worst key, 'Adler, Ann', stands"
    ):
        dfjoin.auto_join(pd.DataFrame({"name": names}), other, aggregate=None, max_expansion=2)


def test_named_keys_that_reach_the_threshold_are_not_learned():
    df = pd.DataFrame({"k": [f"key {i}" for i in range(10)]})
    other = pd.DataFrame({"k": [f"key {i}" for i in range(5)], "v": range(5)})
    assert dfjoin.auto_join(df, other, on="k").attrs["dfjoin"]["passed_over"] == []
    below = dfjoin.auto_join(df, other, on="k", threshold=0.51)
    assert below.attrs["dfjoin"]["passed_over"], "what was tried is told"
    assert below["v"].notna().sum() == 5, "equal keys are joined all the same"
    composite = df.assign(j="x"), other.assign(j="x")
    wide = dfjoin.auto_join(*composite, on=["k", "j"], threshold=0.9)
    assert wide.attrs["dfjoin"]["passed_over"] == [], "a composite key is meant whole"


def test_a_chosen_column_that_is_nearly_a_key_on_one_side_is_enough(monkeypatch):
    asked = []
    monkeypatch.setattr(frame_join, "relate", lambda *args: asked.append(args) or (None, []))
    df = pd.DataFrame({"kind": list("abcde") * 4})
    nearly = pd.DataFrame({"kind": [*"abcdefgh", "a", "b"], "v": range(10)})
    assert dfjoin.auto_join(df, nearly)["v"].notna().all() and not asked
    less = pd.DataFrame({"kind": [*"abcdefg", "a", "b"], "v": range(9)})
    assert dfjoin.auto_join(df, less)["v"].notna().all()
    assert len(asked) == 1, "7 of 9 are fewer than four fifths"
    assert dfjoin.auto_join(nearly, df.assign(v=1), how="inner").shape[0] == 7 and len(asked) == 1
