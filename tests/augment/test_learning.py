"""The learner, the metric, the folds and the weights of the choice; what is read of the lake, once."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.augment import table_reading as reading
from dfjoin.augment.boosting import Columns
from dfjoin.augment.encoding import PredictionTarget, encode_target
from dfjoin.augment.held_out import Learning, train
from dfjoin.errors import InvalidParameterError
from dfjoin.join.lakes.path_search import PathSearch


def linear_model(name):
    from sklearn import linear_model, svm

    return getattr(svm if name == "LinearSVC" else linear_model, name)()


FEW = {"max_hops": 1, "tables": ["climate", "noise0"]}


@pytest.mark.parametrize(
    ("learner", "scoring"), [("Ridge", None), (None, "r2"), ("Ridge", "neg_mean_absolute_error"), (None, None)]
)
def test_any_learner_and_metric_choose_the_table_that_helps(world, world_lake, learner, scoring):
    learner = linear_model(learner) if learner else None
    found = dfjoin.LakeAugmenter(world_lake, learner=learner, scoring=scoring, **FEW).fit(world.X, world.y)
    assert found.tables_ == ["climate"] and 0.2 < found.report_.gain < 1


@pytest.mark.parametrize("learner", ["LogisticRegression", "LinearSVC"])
def test_classes(world, world_lake, learner):
    learner = linear_model(learner)
    y = np.where(world.y > world.y.mean(), "high", "low")
    found = dfjoin.LakeAugmenter(world_lake, learner=learner, scoring="accuracy", **FEW).fit(world.X, y)
    assert found.tables_ == ["climate"]


def test_folds_of_the_caller(world, world_lake, monkeypatch):
    from sklearn.model_selection import TimeSeriesSplit

    splits = []

    class Splitter(TimeSeriesSplit):
        def split(self, X, y=None, groups=None):
            for known, held in super().split(X, y, groups):
                splits.append(known.max() < held.min())
                yield known, held

    found = dfjoin.LakeAugmenter(world_lake, cv=Splitter(4), **FEW).fit(world.X, world.y)
    assert found.tables_ == ["climate"] and splits == [True] * 8, "four folds to choose by, and to measure by"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that groups are ignored, which nobody passed
        dfjoin.LakeAugmenter(world_lake, cv=3, **FEW).fit(world.X.iloc[np.arange(len(world.X)) // 2], world.y)
    assert dfjoin.LakeAugmenter(world_lake, cv=3, **FEW).fit(world.X, world.y).tables_ == ["climate"]


def test_a_number_of_folds_has_each_class_in_each_fold(world, world_lake, capsys):
    y = pd.qcut(world.y, 3, labels=["a", "b", "c"]).astype(str)
    order = np.argsort(y, kind="stable")
    augmenter = dfjoin.LakeAugmenter(world_lake, cv=3, progress=True, **FEW)
    assert augmenter.fit(world.X.iloc[order], y.iloc[order]).tables_ == ["climate"]
    assert "fold 1 of 3: " in capsys.readouterr().err


@pytest.mark.parametrize("cv", ["five", [(np.arange(9), np.arange(9, 12))]])
def test_splits_that_are_no_splitter(world, world_lake, cv):
    with pytest.raises(
        InvalidParameterError, match=r"`cv` must be a number of folds or a splitter .*cv=GroupKFold\(\)"
    ):
        dfjoin.LakeAugmenter(world_lake, cv=cv, **FEW).fit(world.X, world.y)


def test_a_scorer_on_another_scale(world, world_lake):
    """Its loss is far below 0; the gain is a share of it still."""
    from sklearn.metrics import r2_score

    scorer = lambda model, X, y: 500 + 100 * r2_score(y, model.predict(X))  # noqa: E731
    found = dfjoin.LakeAugmenter(world_lake, scoring=scorer, **FEW).fit(world.X, world.y)
    assert found.tables_ == ["climate"] and 0.02 < found.report_.gain < 1


def test_threads_share_what_is_kept(world, world_lake, monkeypatch):
    monkeypatch.setattr(reading, "_KEPT", type(reading._KEPT)())
    fit = lambda k: dfjoin.LakeAugmenter(world_lake, cache=True, select=None, k=k, max_hops=1).fit(world.X, world.y)  # noqa: E731
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(fit, [1, 2, 3, 4]))
    assert [len(one.tables_) for one in found] == [1, 2, 3, 4]
    assert len({one.report_.n_read for one in found}) == 1 == len(reading._KEPT)


def test_precision_is_of_modes_by_equality(world_lake):
    precision = [
        dfjoin.LakeAugmenter(world_lake, mode=m)._path_options().join.precision for m in ("exact", "embedding")
    ]
    assert precision == [0.95, None]


def test_rows_without_weight_do_not_count(world, world_lake):
    """The target follows the climate in the rows without weight alone."""
    rng = np.random.default_rng(0)
    is_noise = rng.random(len(world.y)) < 0.6
    y = np.where(is_noise, rng.normal(0, 3, len(world.y)), world.y)
    augmenter = dfjoin.LakeAugmenter(world_lake, **FEW)
    assert augmenter.fit(world.X, y, sample_weight=is_noise.astype(float)).tables_ == []
    assert augmenter.fit(world.X, y, sample_weight=(~is_noise).astype(float)).tables_ == ["climate"]


def test_weights_are_those_of_repeated_rows(rng):
    """A row of weight 2 counts as two rows, in training and in losses."""
    matrix, counts = rng.normal(size=(60, 2)), rng.integers(1, 3, 60)
    target = encode_target(matrix[:, 0] + rng.normal(size=60), "regression")
    twice = np.repeat(np.arange(60), counts)
    weighted = PredictionTarget(target.values, target.codes, target.labels, False, counts.astype(float))
    learning = Learning(linear_model("Ridge"))
    one = train(weighted, Columns(matrix), np.arange(2), np.arange(60), 0, learning)
    other = train(target.take(twice), Columns(matrix[twice]), np.arange(2), np.arange(twice.size), 0, learning)
    assert one.losses(np.arange(60)).sum() == pytest.approx(other.losses(np.arange(twice.size)).sum())


def test_nulls_are_filled_for_a_learner_that_takes_none(rng):
    matrix = rng.normal(size=(40, 2))
    matrix[::5, 1] = np.nan
    target = encode_target(matrix[:, 0], "regression")
    trained = train(target, Columns(matrix), np.arange(2), np.arange(40), 0, Learning(linear_model("Ridge")))
    assert np.isfinite(trained.losses(np.arange(40))).all()


def test_arguments_that_are_wrong(world, world_lake):
    with pytest.raises(
        InvalidParameterError, match="`learner` must be an estimator of scikit-learn that predicts, got"
    ):
        dfjoin.LakeAugmenter(world_lake, learner="ridge").fit(world.X, world.y)
    with pytest.raises(ValueError, match="no_such"):
        dfjoin.LakeAugmenter(world_lake, scoring="no_such").fit(world.X, world.y)
    with pytest.raises(ValueError, match="weight"):
        dfjoin.LakeAugmenter(world_lake, **FEW).fit(world.X, world.y, sample_weight=[1.0])


def test_a_grid_search_reads_each_table_once_for_each_fold(world, world_lake, monkeypatch):
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline

    class LastColumn(Ridge):
        """A model that takes any frame."""

        def fit(self, X, y):
            return super().fit(X.select_dtypes("number").fillna(0), y)

        def predict(self, X):
            return super().predict(X.select_dtypes("number").fillna(0))

    monkeypatch.setattr(reading, "_KEPT", type(reading._KEPT)())
    read = []
    join = PathSearch.join
    monkeypatch.setattr(PathSearch, "join", lambda self, lead: read.append(lead.hop.table) or join(self, lead))
    grid = {"lake__k": [1, 2], "lake__max_hops": [1, 2], "lake__select": ["relevance", None]}
    augmenter = dfjoin.LakeAugmenter(world_lake, cache=True)
    model = Pipeline([("lake", augmenter), ("model", LastColumn())])
    GridSearchCV(model, grid, cv=2, error_score="raise", refit=False).fit(world.X, world.y)
    names = pd.Series(read).value_counts()
    assert (names == 2).all() and set(names.index) == set(world.frames)
    alone = dfjoin.LakeAugmenter(world_lake, max_hops=2, select=None, k=9)
    kept = dfjoin.LakeAugmenter(world_lake, max_hops=2, select=None, k=9, cache=True)
    assert alone.fit(world.X, world.y).plan_ == kept.fit(world.X, world.y).plan_
    assert len(reading._KEPT) == 3
    kept.set_params(max_hops=1).fit(world.X, world.y)
    assert "wealth" not in kept.tables_ and len(reading._KEPT) == 3
