"""The transformer: conventions of scikit-learn, what is joined, and that transform repeats it on any rows."""

import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.augment.budget import OutOfTimeError
from dfjoin.errors import ColumnNotFoundError, InvalidParameterError, InvalidTypeError, TableChangedError
from tests.conftest import PROJECT


def test_checks_of_scikit_learn(build, monkeypatch):
    from sklearn.utils.estimator_checks import check_estimator

    index = build({"t": pd.DataFrame({"a": ["x", "y"]})}).path

    class Checked(dfjoin.LakeAugmenter):
        """An augmenter that scikit-learn can make without a lake: it has one while it is fitted."""

        __qualname__ = "Checked"

        def __init__(self, lake=None, *, k=None, select="auto"):
            super().__init__(lake, k=k, select=select)

        def fit(self, X, y=None, groups=None):
            kept, self.lake = self.lake, index
            try:
                return super().fit(X, y, groups)
            finally:
                self.lake = kept

    monkeypatch.setattr(sys.modules[__name__], "Checked", Checked, raising=False)  # where pickle looks for it
    check_estimator(Checked())


def numbers_pipeline(lake, **options):
    """An augmenter, then the columns of numbers, then a forest."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline

    numbers = make_column_transformer(("passthrough", make_column_selector(dtype_include="number")))
    forest = RandomForestRegressor(40, min_samples_leaf=3, random_state=0)
    return make_pipeline(dfjoin.LakeAugmenter(lake, **options), numbers, forest)


def test_it_takes_what_helps_and_leaves_the_noise(world, fitted):
    assert fitted.tables_ == ["climate", "wealth"]
    assert fitted.features_ == ["rain", "wealth__codes__wealth"]
    assert fitted.report_.refused == {} and fitted.report_.stopped == ""
    assert fitted.report_.gain > 0.4
    paths = [one.path for one in fitted.report_.joined]
    assert paths == ["land → climate", "land → codes.code → wealth"]
    assert set(fitted.report_.passed_over) >= {"noise0", "noise2", "visits"}
    assert "joined land → codes.code → wealth (1:1, 1:1, 100.0% of the rows, score" in str(fitted.report_)


def test_the_report_is_a_frame_and_a_card(fitted):
    report = fitted.report_
    frame = report.to_frame()
    assert list(frame["table"]) == fitted.tables_ and list(frame["gain"]) == [one.gain for one in report.joined]
    assert [name for names in frame["columns"] for name in names] == fitted.features_
    page = report._repr_html_()
    for one in report.joined:
        assert one.path.replace(">", "&gt;") in page and f"{one.gain:.1%} ± {one.error:.1%}" in page
    assert f"falls by {report.gain:.1%}" in page and "passed over" in page
    evil = replace(report.joined[0], path="<script>", columns={"a": "<b>"}, gain=None, error=None)
    other = replace(report, joined=(evil,), refused={f"<t>/{i}": f"<why {i}>" for i in range(12)}, stopped="<x>")
    page = other._repr_html_()
    assert "<script>" not in page and "<why" not in page and "&lt;x&gt;" in page and "and 2 more" in page
    assert np.isnan(other.to_frame()["gain"][0]) and len(replace(report, joined=()).to_frame()) == 0


def test_transform_brings_the_values_of_the_tables(world, fitted):
    out = fitted.transform(world.X)
    assert list(out) == ["land", "weight", "rain", "wealth__codes__wealth"] == list(fitted.get_feature_names_out())
    np.testing.assert_array_equal(out["rain"], world.frames["climate"]["rain"])
    codes = world.frames["codes"].assign(land=world.X["land"]).merge(world.frames["wealth"], on="code")
    np.testing.assert_array_equal(out["wealth__codes__wealth"], codes.set_index("land")["wealth"][world.X["land"]])
    assert out.attrs["dfjoin"]["joined"][0]["table"] == "climate"


@pytest.mark.parametrize(
    "rows", [slice(0, 0), slice(7, 8), slice(None, None, -3)], ids=["no rows", "one row", "some rows backwards"]
)
def test_columns_and_dtypes_do_not_depend_on_the_rows(world, fitted, rows):
    X = world.X.set_axis(np.arange(len(world.X)) * 10).iloc[rows]
    out = fitted.transform(X)
    whole = fitted.transform(world.X)
    assert out.dtypes.to_dict() == whole.dtypes.to_dict()
    assert out.index.equals(X.index)
    expected = whole.set_axis(np.arange(len(whole)) * 10).iloc[rows]
    pd.testing.assert_frame_equal(out, expected)


def test_rows_without_a_partner_get_nulls(world, fitted):
    out = fitted.transform(pd.DataFrame({"land": ["nowhere", None], "weight": [1.0, 2.0]}))
    assert out[fitted.features_].isna().all(axis=None)
    assert out.dtypes.to_dict() == fitted.transform(world.X).dtypes.to_dict()


def test_the_plan_is_a_plan_of_auto_join(world, fitted):
    wide = world.X.auto_join(fitted.plan_)
    pd.testing.assert_frame_equal(wide[fitted.features_], fitted.transform(world.X)[fitted.features_])
    assert "code__codes" in wide or "code" in wide, "the key of the second join is there, too"


def test_the_same_arguments_give_the_same_features(world, world_lake):
    from sklearn.base import clone

    first = dfjoin.LakeAugmenter(world_lake, max_hops=1, tables=["climate", "noise0"]).fit(world.X, world.y)
    again = clone(first).fit(world.X, world.y)
    assert again.features_ == first.features_ == ["rain"]
    assert again.plan_ == first.plan_


def test_a_pickle_holds_no_lake_and_works_in_another_process(world, fitted, tmp_path):
    data = pickle.dumps(fitted)
    assert len(data) < 30_000
    assert b"climate" in data and np.float64(world.frames["climate"]["rain"][0]).tobytes() not in data
    pipeline = numbers_pipeline(fitted.lake, k=1, select="relevance").fit(world.X, world.y)
    (tmp_path / "pipeline.pickle").write_bytes(pickle.dumps(pipeline))
    world.X.to_parquet(tmp_path / "rows.parquet")
    code = (
        "import pickle, pandas as pd, numpy as np\n"
        "pipeline = pickle.load(open('pipeline.pickle', 'rb'))\n"
        "np.save('predicted.npy', pipeline.predict(pd.read_parquet('rows.parquet')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "predicted.npy"), pipeline.predict(world.X))


def test_a_pipeline_predicts_better_and_can_be_searched(world, world_lake):
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline

    base = make_pipeline(*numbers_pipeline(world_lake).steps[1:][0][1:], RandomForestRegressor(40, random_state=0))
    before = cross_val_score(base, world.X, world.y, cv=3).mean()
    search = GridSearchCV(
        numbers_pipeline(world_lake, select="relevance", max_hops=1),
        {"lakeaugmenter__k": [1, 3], "lakeaugmenter__min_score": [0.5, 1.0]},
        cv=3,
        error_score="raise",
    ).fit(world.X, world.y)
    assert search.best_params_["lakeaugmenter__min_score"] == 0.5
    assert search.best_score_ > before + 0.3
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] == pytest.approx(scores[3]), "no score reaches 1: nothing is joined"


def test_set_output_and_arrays(world, world_lake, fitted):
    from sklearn.base import clone

    out = clone(fitted).set_params(select=None, k=1, tables="climate").set_output(transform="pandas")
    wide = out.fit_transform(world.X, world.y)
    assert list(wide) == ["land", "weight", "rain", "static", "label"] or "rain" in wide
    array = dfjoin.LakeAugmenter(world_lake, tables="climate", select=None).fit(world.X.to_numpy())
    joined = array.transform(world.X.to_numpy())
    assert isinstance(joined, np.ndarray) and joined.shape[1] == 2 + len(array.features_)
    assert list(array.get_feature_names_out()[:2]) == ["x0", "x1"]


def test_without_a_target_the_most_useful_tables_are_taken(world, world_lake):
    found = dfjoin.LakeAugmenter(world_lake, k=3).fit(world.X)
    assert len(found.tables_) == 3 and found.report_.gain is None
    assert len(found.transform(world.X)) == len(world.X)


def test_the_target_may_be_a_column_of_the_frame(world, world_lake):
    found = dfjoin.LakeAugmenter(world_lake, target="cost", tables="climate").fit(world.X.assign(cost=world.y))
    assert found.features_ == ["rain"]
    assert list(found.feature_names_in_) == ["land", "weight"]
    for X in (world.X, world.X.assign(cost=0.0)):
        assert list(found.transform(X)) == ["land", "weight", *found.features_]


def test_classes_are_predicted_as_well(world, world_lake):
    y = np.where(world.y > 0, "high", "low")
    found = dfjoin.LakeAugmenter(world_lake, tables=["climate", "noise0"]).fit(world.X, y)
    assert found.features_ == ["rain"]


def groups_that_are_held_out(monkeypatch):
    """A list that takes the groups of rows of each cross-validation."""
    from dfjoin.augment import elimination

    seen, real = [], elimination.fold_rows
    monkeypatch.setattr(elimination, "fold_rows", lambda *a: seen.append(a[1]) or real(*a))
    return seen


def test_rows_of_one_key_or_one_group_are_held_out_together(world, world_lake, monkeypatch):
    seen = groups_that_are_held_out(monkeypatch)
    X, y = pd.concat([world.X] * 2, ignore_index=True), pd.concat([world.y] * 2, ignore_index=True)
    augmenter = dfjoin.LakeAugmenter(world_lake, max_hops=1, tables="climate")
    assert augmenter.fit(X, y).tables_ == ["climate"]
    np.testing.assert_array_equal(seen[0][: len(world.X)], seen[0][len(world.X) :])
    seen.clear()
    augmenter.fit(X, y, groups=np.arange(len(X)))
    assert len(set(seen[0].tolist())) == len(X)
    seen.clear()
    augmenter.fit(world.X, world.y)
    assert seen[0] is None, "every row has a key of its own"


def test_groups_are_routed_as_metadata(world, world_lake):
    import sklearn
    from sklearn.model_selection import GroupKFold, cross_val_score

    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = numbers_pipeline(world_lake, max_hops=1, tables="climate")
        pipeline.steps[0][1].set_fit_request(groups=True)
        groups = np.arange(len(world.X)) % 40
        result = cross_val_score(
            pipeline, world.X, world.y, cv=GroupKFold(3), params={"groups": groups}, error_score="raise"
        )
    assert result.shape == (3,)


def test_leaks_are_refused_by_name_and_allowed_by_pattern(world, leaky_lake):
    found = dfjoin.LakeAugmenter(leaky_lake).fit(world.X, world.y)
    assert found.tables_ == ["climate"]
    assert set(found.report_.refused) == {"copy/weight", "copy/cost", "answers/cost_eur", "answers/rank_"}
    text = str(found.report_)
    assert "refused answers/cost_eur: it is the target in another unit" in text
    assert "refused answers/rank_: it is a function of the target: both have the same order, up" in text
    assert "refused copy/weight and 1 more of its columns: it comes from a copy of the frame" in text
    allowed = dfjoin.LakeAugmenter(leaky_lake, allow="answers/cost*").fit(world.X, world.y)
    assert allowed.features_[0] == "cost_eur"
    assert "answers/cost_eur" not in allowed.report_.refused


def test_suspicious_columns_are_taken_with_a_warning_or_refused(world, tmp_path):
    """Bands of the target in one table, and parts of it in two tables, which neither of them tells of alone."""
    rng = np.random.default_rng(0)
    part = 9 * rng.normal(size=len(world.y))
    frames = {
        "bands": pd.DataFrame({"land": world.X["land"], "band": pd.qcut(world.y, 10, labels=False).astype(str)}),
        "north": pd.DataFrame({"land": world.X["land"], "north": part}),
        "south": pd.DataFrame({"land": world.X["land"], "south": world.y - part}),
        "climate": world.frames["climate"],
    }
    lake = dfjoin.build_lake(frames, tmp_path / "lake", engine="inline", progress=False)
    with pytest.warns(UserWarning, match="made of the target .*bands/band.* or name in `allow` what is no leak"):
        found = dfjoin.LakeAugmenter(lake, select=None, k=9).fit(world.X, world.y)
    report = found.report_
    assert report.refused == {} and set(report.taken_though_suspicious) == {"bands/band", "north/north", "south/south"}
    assert "its 10 values are bands of the target, which do not overlap; it explains 9" in str(report)
    assert "added up with 1 others" in report.suspicious["south/south"] and "suspicious" in report._repr_html_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        safe = dfjoin.LakeAugmenter(lake, select=None, k=9, on_suspicious="refuse").fit(world.X, world.y)
        allowed = dfjoin.LakeAugmenter(lake, select=None, k=9, allow=["bands", "north/*", "south/*"]).fit(
            world.X, world.y
        )
    assert safe.tables_ == ["climate"] and safe.report_.suspicious == {}
    assert safe.report_.refused["north/north"].startswith("it is suspicious: it is a part of the target")
    assert set(allowed.tables_) == set(frames) and allowed.report_.suspicious == {}


def test_as_of_brings_what_was_known_before(world, tmp_path):
    rng = np.random.default_rng(0)
    lands, n = world.X["land"], len(world.X)
    early, late = rng.normal(size=(2, n))
    yearly = pd.DataFrame(
        {"land": np.tile(lands, 2), "year": np.repeat([2018, 2020], n), "drought": np.concatenate([early, late])}
    )
    frames = {"yearly": yearly, "climate": world.frames["climate"]}
    lake = dfjoin.build_lake(frames, tmp_path / "lake", engine="inline", progress=False)
    X = world.X.assign(day=pd.Timestamp("2020-05-01"))
    y = early + 0.6 * rng.normal(size=n)
    found = dfjoin.LakeAugmenter(lake, as_of="day").fit(X, y)
    assert found.features_ == ["drought"]
    np.testing.assert_allclose(found.transform(X)["drought"], early, err_msg="2020 has not ended")
    later = found.transform(X.assign(day=pd.Timestamp("2021-01-01")))
    np.testing.assert_allclose(later["drought"], (early + late) / 2)
    assert found.report_.passed_over["climate"].startswith("it has no column of dates")
    assert "only rows dated before day, by year" in str(dfjoin.report(later))
    allowed = dfjoin.LakeAugmenter(lake, as_of="day", allow="climate").fit(X, world.y)
    assert "rain" in allowed.features_
    with pytest.raises(InvalidParameterError, match="`as_of` must name a column of dates, got 'land' of dtype"):
        dfjoin.LakeAugmenter(lake, as_of="land").fit(X, y)
    with pytest.raises(ColumnNotFoundError, match="`as_of` must name a column of the frame"):
        dfjoin.LakeAugmenter(lake, as_of="when").fit(X, y)


def test_days_are_joined_with_months_and_months_are_held_out_together(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    months = pd.period_range("1990-01", "1999-12", freq="M")
    level = rng.normal(size=len(months))
    tables = {"rates": pd.DataFrame({"month": [m.strftime("%b %Y") for m in months], "bank_rate": level})}
    lake = dfjoin.build_lake(tables, tmp_path / "lake", engine="inline", progress=False)
    days = pd.date_range("1990-01-02", "1999-12-30", freq="10D")
    own = pd.Series(level, months)[days.to_period("M")].to_numpy()
    X = pd.DataFrame({"date": days, "v": rng.normal(size=len(days))})
    seen = groups_that_are_held_out(monkeypatch)
    found = dfjoin.LakeAugmenter(lake).fit(X, own + X["v"] + rng.normal(0, 0.3, len(days)))
    assert found.features_ == ["bank_rate"]
    assert len(set(seen[0].tolist())) == len(months)
    np.testing.assert_allclose(found.transform(X)["bank_rate"], own)


def test_the_joins_are_a_tree(fitted):
    assert fitted.report_.join_tree().splitlines() == [
        "X",
        "└─ land → climate",
        "└─ land → codes",
        "   └─ code → wealth",
    ]
    assert "<u style=" in fitted.report_._repr_html_()
    assert (fitted.report_.to_frame()["coverage"] == 1).all()


def test_the_joins_are_a_graph_that_is_drawn(fitted):
    card = ElementTree.fromstring(f"<card>{fitted.report_._repr_html_()}</card>")
    svg = card.find(".//svg")
    boxes = {box.find("title").text: box.find("rect") for box in svg.iter("g")}
    places = {name: (int(box.get("x")), int(box.get("y"))) for name, box in boxes.items()}
    assert set(places) == {"X, the rows", "climate", "codes", "wealth"} and len(set(places.values())) == 4
    assert places["X, the rows"][0] < places["codes"][0] < places["wealth"][0]
    arrows = svg.findall("path")
    assert [text.text for text in svg.findall("text")] == ["land", "land", "code"] and len(arrows) == 3
    x, y = places["wealth"]
    assert arrows[2].get("d").endswith(f" {x} {y + int(boxes['wealth'].get('height')) // 2}")


def test_no_time_to_measure_is_time_for_relevance(world, world_lake, monkeypatch):
    from dfjoin.augment import budget

    now, ticks = [0.0], [0.0]
    monkeypatch.setattr(budget.time, "process_time", lambda: now.__setitem__(0, now[0] + ticks[0]) or now[0])
    begin = budget.AugmentBudget.begin

    def measured(own, stage):
        begin(own, stage)
        ticks[0] = 0.4 if stage == "choose" else ticks[0]  # each look at the clock takes so long then

    monkeypatch.setattr(budget.AugmentBudget, "begin", measured)
    found = dfjoin.LakeAugmenter(world_lake, budget=3).fit(world.X, world.y)
    assert {"climate", "wealth"} <= set(found.tables_) and found.report_.gain is None
    told = "the budget of 3 seconds is used: the most relevant tables were taken, nothing was measured"
    assert found.report_.stopped == told


def test_infinite_and_huge_cells_say_nothing_on_the_screen(world, tmp_path):
    odd = np.where(np.arange(len(world.y)) % 7 == 0, np.inf, 1e300 * world.weight)
    table = pd.DataFrame({"land": np.repeat(world.X["land"], 2), "odd": np.repeat(odd, 2), "even": 5e-324})
    frames = {"odd": table, "climate": world.frames["climate"]}
    lake = dfjoin.build_lake(frames, tmp_path / "lake", engine="inline", progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dfjoin.LakeAugmenter(lake).fit(world.X, world.y).tables_ == ["climate"]


def test_a_budget_ends_the_search(world, world_lake):
    few = dfjoin.LakeAugmenter(world_lake, budget={"tables": 2}).fit(world.X, world.y)
    assert few.report_.n_read == 2 and few.report_.stopped == "the budget of 2 tables is used"
    none = dfjoin.LakeAugmenter(world_lake, budget=1e-9).fit(world.X, world.y)
    assert none.tables_ == [] and "seconds is used" in none.report_.stopped
    assert list(none.transform(world.X)) == ["land", "weight"]


@pytest.mark.parametrize("n_folds", [0, 1, 3])
@pytest.mark.parametrize(
    ("error", "told"),
    [(KeyboardInterrupt(), "it was interrupted"), (OutOfTimeError("the budget of 1 seconds is used"), "the budget of")],
)
def test_folds_that_are_complete_decide_when_fit_is_ended(world, world_lake, monkeypatch, n_folds, error, told):
    from dfjoin.augment import elimination

    real, known = elimination._Elimination._best, set()

    def end(own, model, ranked, kept, n_next, seed):
        known.add(seed)
        if len(known) > n_folds:
            raise error
        return real(own, model, ranked, kept, n_next, seed)

    monkeypatch.setattr(elimination._Elimination, "_best", end)
    found = dfjoin.LakeAugmenter(world_lake).fit(world.X, world.y)
    assert {"climate", "wealth"} <= set(found.tables_), "without a fold by relevance"
    assert n_folds == 0 or len(found.tables_) == 2
    assert found.report_.stopped.startswith(told) and f"stopped: {told}" in str(found.report_)
    assert list(found.transform(world.X)) == ["land", "weight", *found.features_]


def test_ctrl_c_while_tables_are_read(world, world_lake, monkeypatch):
    from dfjoin.augment import find_features

    def press(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(find_features, "screen_table", press)
    found = dfjoin.LakeAugmenter(world_lake).fit(world.X, world.y)
    assert found.tables_ == [] and found.report_.stopped == "it was interrupted"


def test_a_pattern_that_matches_no_table_is_told(world, world_lake):
    with pytest.warns(dfjoin.errors.DfjoinWarning, match="`tables` 'clima' matches no table of the lake; did you mean"):
        assert dfjoin.LakeAugmenter(world_lake, tables="clima").fit(world.X, world.y).tables_ == []


def test_progress_is_told_on_standard_error(world, world_lake, capsys):
    dfjoin.LakeAugmenter(world_lake, select="relevance", max_hops=1, tables="climate", progress=True).fit(
        world.X, world.y
    )
    assert "s: read land → climate" in capsys.readouterr().err


def test_a_table_that_changed_is_an_error_of_transform(world, tmp_path):
    path = tmp_path / "lake"
    path.mkdir()
    world.frames["climate"].to_csv(path / "climate.csv", index=False)
    lake = dfjoin.build_lake(path, tmp_path / "index", engine="inline", progress=False)
    found = dfjoin.LakeAugmenter(lake).fit(world.X, world.y)
    world.frames["climate"].iloc[:-1].to_csv(path / "climate.csv", index=False)
    with pytest.raises(TableChangedError, match="is not the one that was indexed"):
        found.transform(world.X)
    with pytest.warns(dfjoin.errors.DfjoinWarning, match="is not the one that was indexed"):
        found.set_params(on_stale="warn").transform(world.X)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"select": "best"}, InvalidParameterError, "`select` must be one of"),
        ({"task": "ranking"}, InvalidParameterError, "`task` must be one of"),
        ({"k": 0}, InvalidParameterError, "`k` must be"),
        ({"max_hops": 6}, InvalidParameterError, "`max_hops` must be at most 5, got 6"),
        ({"aggregate": None}, InvalidParameterError, "`aggregate` must be a rule here, got None"),
        ({"budget": -1}, InvalidParameterError, "`budget` must be a number of seconds, or a dict"),
        ({"budget": {"hours": 1}}, InvalidParameterError, "`budget` must be a number of seconds, or a dict"),
        (
            {"on": "city"},
            ColumnNotFoundError,
            "`on` must name a column of the frame \\('land', 'weight'\\), got 'city'",
        ),
        ({"on": "land", "target": "land"}, InvalidParameterError, "`on` must not name the column of `target`, 'land'"),
        (
            {"on": "land", "as_of": "land"},
            InvalidParameterError,
            "`on` must not name the column of `as_of`, 'land': it",
        ),
        ({"progress": 1}, InvalidParameterError, "`progress` must be"),
        ({"allow": 3}, InvalidTypeError, "`allow` must be"),
        ({"min_score": 2}, InvalidParameterError, "`min_score` must be"),
    ],
)
def test_illegal_arguments_are_told(world, world_lake, options, error, text):
    with pytest.raises(error, match=text):
        dfjoin.LakeAugmenter(world_lake, **options).fit(world.X, world.y)


def test_illegal_rows_are_told(world, world_lake):
    augmenter = dfjoin.LakeAugmenter(world_lake)
    with pytest.raises(
        ColumnNotFoundError, match=r"got 'land'; it is a level of the index: pass df.reset_index\('land'"
    ):
        dfjoin.LakeAugmenter(world_lake, on="land").fit(world.X.set_index("land"), world.y)
    with pytest.raises(
        InvalidParameterError, match=r"`as_of` must name a column of dates, got .day. .* years with form"
    ):
        dfjoin.LakeAugmenter(world_lake, as_of="day").fit(world.X.assign(day=2020), world.y)
    with pytest.raises(InvalidParameterError, match="`X` must have at least one row to learn from"):
        augmenter.fit(world.X.iloc[:0], [])
    with pytest.raises(InvalidParameterError, match="`y` must have a value in every row"):
        augmenter.fit(world.X, world.y.where(world.y > 0))
    with pytest.raises(InvalidParameterError, match='`task` "regression" needs numbers as target'):
        augmenter.set_params(task="regression").fit(world.X, ["a", "b"] * (len(world.X) // 2))


def test_it_needs_the_extra(monkeypatch):
    from dfjoin._optional import import_optional

    with pytest.raises(dfjoin.errors.MissingDependencyError, match=r'pip install "dfjoin\[sklearn\]"'):
        import_optional("sklearn.no_such_module", extra="sklearn", purpose="LakeAugmenter")


@pytest.mark.parametrize("on", [None, ["land", "year"]])
def test_keys_of_two_columns(tmp_path, on):
    rng = np.random.default_rng(1)
    lands = [f"{a}{b}land" for a in ("bor", "cam", "del", "fir", "gul") for b in ("ba", "ce", "di", "fo")]
    panel = pd.MultiIndex.from_product([lands, np.arange(1990, 2010)], names=["land", "year"]).to_frame(index=False)
    panel["rain"] = rng.normal(size=len(panel))
    lake = dfjoin.build_lake({"panel": panel}, tmp_path / "lake", engine="inline", progress=False)
    df = panel.sample(300, random_state=0).reset_index(drop=True)
    X, y = df[["land", "year"]], df["rain"] * 3 + rng.normal(0, 0.5, 300)
    augmenter = dfjoin.LakeAugmenter(lake, on=on, allow="panel").fit(X, y)
    assert augmenter.plan_.steps[0].on in (["land", "year"], ["year", "land"])
    np.testing.assert_allclose(augmenter.transform(X)["rain"], df["rain"])
    assert "land + year → panel" in str(augmenter.report_) or "year + land → panel" in str(augmenter.report_)
    unseen = pd.DataFrame({"land": ["nowhere", lands[0]], "year": [1990, 2050]})
    assert augmenter.transform(unseen)["rain"].isna().all()


class _OtherFrame:
    """A frame of another library."""

    def __init__(self, frame):
        self._frame = frame

    def to_pandas(self):
        return self._frame


def test_rows_of_other_kinds(world, world_lake):
    want = dfjoin.LakeAugmenter(world_lake, max_hops=1).fit(world.X, world.y).transform(world.X)
    listed = world.X.assign(parts=[[1, 2]] * len(world.X))
    kinds = (
        _OtherFrame(world.X),
        world.X.convert_dtypes(dtype_backend="pyarrow"),
        world.X.astype({"land": "category"}),
    )
    for X in (*kinds, world.X.set_axis([0] * len(world.X)), listed):
        found = dfjoin.LakeAugmenter(world_lake, max_hops=1).fit(X, world.y.to_numpy())
        assert found.features_ == ["rain"]
        np.testing.assert_allclose(found.transform(X)["rain"].to_numpy(), want["rain"])
    doubled = pd.concat([world.X, world.X["weight"]], axis=1)
    with pytest.raises(InvalidParameterError, match=r"`X` has columns of the same name \('weight'\); rename them"):
        dfjoin.LakeAugmenter(world_lake).fit(doubled, world.y)


def test_tables_that_were_not_tried_are_told(world, world_lake):
    near = dfjoin.LakeAugmenter(world_lake, max_hops=1, select=None).fit(world.X, world.y).report_
    assert near.passed_over["wealth"] == "not tried: it is 2 joins away, more than `max_hops`" and near.n_read == 6
    few = dfjoin.LakeAugmenter(world_lake, select=None, budget={"tables": 2}).fit(world.X, world.y).report_
    reason = "not tried: the budget of 2 tables is used"
    assert few.n_read == 2 and [*few.passed_over.values()].count(reason) == 4
