"""`LakeAugmenter`: feature augmentation as a transformer of scikit-learn."""

from __future__ import annotations

import hashlib
import numbers
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dfjoin import _validation as check
from dfjoin._optional import import_optional
from dfjoin.augment.augment_report import AugmentReport
from dfjoin.augment.budget import AugmentBudget
from dfjoin.augment.elimination import SELECTIONS
from dfjoin.augment.encoding import TASKS, PredictionTarget
from dfjoin.augment.find_features import FeatureSearch, find_features
from dfjoin.augment.held_out import Learning, group_codes
from dfjoin.augment.input_rows import (
    as_pandas,
    checked_target,
    draw_rows,
    known_rows,
    rows_to_learn_from,
    split_target,
)
from dfjoin.augment.model_encoding import ModelEncoding
from dfjoin.augment.table_reading import MOST_HOPS
from dfjoin.errors import (
    ColumnNotFoundError,
    InvalidParameterError,
    TableChangedError,
    TableNotFoundError,
    shortlist,
    warn,
)
from dfjoin.frames.given_frame import given_frame
from dfjoin.join.auto import join_held
from dfjoin.join.lakes.path_search import PathOptions
from dfjoin.join.lakes.table_hops import FrameKeys, path_keys
from dfjoin.join.options import join_options
from dfjoin.join.plan import JoinPlan
from dfjoin.join.rules import AGE_RULES, check_rules
from dfjoin.lake import Lake, resolve_lake
from dfjoin.search.candidates import unknown_tables
from dfjoin.store.snapshot import Snapshot
from dfjoin.store.table import content_of
from dfjoin.values.frames import is_pandas, select_column
from dfjoin.values.header_meaning import is_year_name
from dfjoin.values.periods import read_periods

_PURPOSE = "LakeAugmenter"
_OF_JOINS = (
    *("mode", "radius", "radius_unit", "metric", "aggregate"),
    *("on_stale", "min_score", "threshold", "tables", "exclude"),
)
"""Arguments that say which tables are joined, and how."""

_base: Any = import_optional("sklearn.base", extra="sklearn", purpose=_PURPOSE)
_checks: Any = import_optional("sklearn.utils.validation", extra="sklearn", purpose=_PURPOSE)
_metrics: Any = import_optional("sklearn.metrics", extra="sklearn", purpose=_PURPOSE)
_model_selection: Any = import_optional("sklearn.model_selection", extra="sklearn", purpose=_PURPOSE)


class LakeAugmenter(_base.TransformerMixin, _base.BaseEstimator):
    """Add columns of a lake that help to predict a target, as a transformer of scikit-learn.

    `fit` searches the lake for tables that join with the rows, directly or through others, refuses what gives the
    target away, and keeps what helps a model on held-out rows. `transform` joins the same columns to any rows, and
    never multiplies them.

    Parameters
    ----------
    lake : Lake or path
        The index. A fitted augmenter is pickled with its path alone.
    on : column label, list of labels, list of lists, optional
        Key of X: one column, several that are a key together, or several keys. By default each column that may be one.
    k, max_hops : int, optional
        Tables that bring columns, and joins on the path to a table (5), at most.
    target : column label, optional
        The target, if it is a column of X.
    select : {"auto", "relevance", None}, default "auto"
        What is kept: what helps on held-out rows; what is most relevant, without a model; all columns of `k` tables.
    min_score, threshold : float, default 0.5
        Smallest score and smallest containment of a join.
    aggregate, aggregates, windows : rules, optional
        How several rows of a key become one; what is made of each column of such a table, to be chosen from; days
        before `as_of` of which that is made, too.
    tables, exclude, mode, radius, radius_unit, metric, precision : optional
        Which tables may be joined, how candidates are found, how far keys may be apart, as those of places are, and
        how right pairs of texts are to be; see `auto_join`.
    allow, on_suspicious : str or list of str; {"warn", "refuse"}
        Tables that are joined though they seem to give the target away; what becomes of columns that seem made of it.
    as_of : column label, optional
        Column of X with the date of each row: only rows of the lake that are dated before it are joined.
    encode : bool, default False
        Return columns of float64 alone, ready for a model.
    task, learner, scoring, cv : optional
        What is predicted, the model and the metric that ``select="auto"`` measures with, and which rows it holds out.
    budget, cache : float or dict, bool
        Seconds of CPU time (600) and tables (100) of `fit` at most; whether what it read is kept for further fits.
    on_stale : {"error", "warn", "ignore"}
        What `transform` does when a table is not the one that was indexed.
    random_state, progress : int and bool, optional
        Seed of folds and models; a line to standard error for each table.

    Attributes
    ----------
    plan_, report_, tables_, features_, dtypes_ : JoinPlan, AugmentReport, list, list, dict
        The joins; what was joined and refused, and why; tables, columns and their dtypes.
    n_features_in_, feature_names_in_ : int, ndarray of str

    Raises
    ------
    InvalidParameterError, InvalidTypeError, ColumnNotFoundError, TableChangedError
        By `fit`, if an argument is illegal; by `transform`, if a table has changed.

    Notes
    -----
    All arguments, what counts as a leak, costs and sources: :doc:`/reference/augment_details`.

    Examples
    --------
    >>> import dfjoin, numpy as np, pandas as pd, tempfile
    >>> land = [f"{a}{b}" for a in ["al", "be", "co", "du"] for b in ["ran", "nia", "stan", "land", "mark", "via"]]
    >>> area = pd.DataFrame({"land": land, "area": np.linspace(1, 9, 24)})
    >>> lake = dfjoin.build_lake({"area": area}, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
    >>> X = pd.DataFrame({"land": land * 5, "weight": np.linspace(1, 3, 120)})
    >>> y = 2 * np.tile(area["area"], 5) ** 0.5 + X["weight"] + np.random.default_rng(0).normal(0, 0.3, 120)
    >>> dfjoin.LakeAugmenter(lake).fit(X, y).transform(X.head(2))
        land    weight      area
    0  alran  1.000000  1.000000
    1  alnia  1.016807  1.347826
    """

    def __init__(
        self,
        lake: Any,
        *,
        on: Any = None,
        k: int | None = None,
        max_hops: int = 5,
        target: Any = None,
        select: str | None = "auto",
        min_score: float = 0.5,
        threshold: float = 0.5,
        aggregate: Any = "auto",
        aggregates: Any = "auto",
        windows: Any = None,
        tables: Any = None,
        exclude: Any = None,
        mode: str = "exact",
        radius: float | None = None,
        radius_unit: str | None = None,
        metric: str | None = None,
        precision: float | None = 0.95,
        allow: Any = None,
        on_suspicious: str = "warn",
        as_of: Any = None,
        encode: bool = False,
        task: str = "auto",
        learner: Any = None,
        scoring: Any = None,
        cv: Any = None,
        budget: Any = None,
        cache: bool = False,
        on_stale: str = "error",
        random_state: int | None = None,
        progress: bool = False,
    ) -> None:
        self.lake = lake
        self.on = on
        self.k = k
        self.max_hops = max_hops
        self.target = target
        self.select = select
        self.min_score = min_score
        self.threshold = threshold
        self.aggregate = aggregate
        self.aggregates = aggregates
        self.windows = windows
        self.tables = tables
        self.exclude = exclude
        self.mode = mode
        self.radius = radius
        self.radius_unit = radius_unit
        self.metric = metric
        self.precision = precision
        self.allow = allow
        self.on_suspicious = on_suspicious
        self.as_of = as_of
        self.task = task
        self.encode = encode
        self.learner = learner
        self.scoring = scoring
        self.cv = cv
        self.budget = budget
        self.cache = cache
        self.on_stale = on_stale
        self.random_state = random_state
        self.progress = progress

    def __getstate__(self) -> dict[str, Any]:
        """Pickle a fitted augmenter with the path of its lake, whose version may be gone when it is loaded."""
        state = {**super().__getstate__()}
        if "plan_" in state and isinstance(self.lake, Lake) and not self.lake.snapshot.moved:
            state["lake"] = self.lake.snapshot.location
        return state

    def __sklearn_tags__(self) -> Any:
        """Inform scikit-learn that texts and nulls are legal."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> LakeAugmenter:
        """Search, join, select, and freeze the plan.

        Parameters
        ----------
        X : DataFrame, shape (n_rows, n_columns)
            Of pandas, polars, Arrow or DuckDB. An array is taken as a frame with the columns x0, x1, …, which `on` and
            `as_of` name so; another frame that has a method ``to_pandas`` as what it returns.
        y : array-like, shape (n_rows,), optional
            The target, without nulls; rows are paired by position. Without one, and without `target`, nothing can be
            selected: the `k` most useful tables are kept. Of more than 20 classes the 20 most frequent ones are
            distinguished in the selection.
        groups : array-like, shape (n_rows,), optional
            Rows that are held out together; by default those of one key.
        sample_weight : array-like, shape (n_rows,), optional
            Weight of each row in the models and losses of the selection.

        Returns
        -------
        LakeAugmenter
            This object.
        """
        lake = resolve_lake(self.lake)
        options = self._path_options()
        budget = AugmentBudget.of(self.budget, check.check_flag(self.progress, "progress"))
        check.check_choice(self.select, "select", SELECTIONS)
        check.check_choice(self.task, "task", TASKS)
        encodes = check.check_flag(self.encode, "encode")
        check.check_choice(self.on_suspicious, "on_suspicious", ("warn", "refuse"))
        allow = () if self.allow is None else check.check_patterns(self.allow, "allow")
        k = None if self.k is None else check.check_positive_int(self.k, "k")
        self._check_aggregated(lake)
        if unknown := unknown_tables(lake.snapshot, options.join.tables or ()):
            warn(unknown)
        X, y = split_target(X, y, self.target)
        frame = rows_to_learn_from(self, X)
        self._check_keys(frame)
        target = None if y is None else checked_target(frame, y, self.task, sample_weight)
        learning = self._learning(target)
        codes = None
        if groups is not None:
            _checks.check_consistent_length(frame, groups)
            codes = group_codes(groups)
        seed = 0 if self.random_state is None else int(_checks.check_random_state(self.random_state).randint(1 << 30))
        sample, target, codes = draw_rows(frame.reset_index(drop=True), target, codes, seed, budget.seconds)
        search = FeatureSearch(
            sample,
            target,
            codes,
            lake.snapshot,
            options,
            self.select,
            k,
            allow,
            seed,
            budget,
            self.on_suspicious,
            check.check_flag(self.cache, "cache"),
            learning,
        )
        found = find_features(search)
        self.plan_: JoinPlan = found.frozen.plan
        self.report_: AugmentReport = found.report
        self.tables_ = [one.table for one in found.report.joined]
        self.features_ = list(found.frozen.features)
        self._labels = list(frame.columns)
        self._contents = {step.table: _content(lake.snapshot, step.table) for step in self.plan_.steps}
        wide = self._joined(frame.iloc[:1])
        self.dtypes_ = {name: _model_dtype(wide[name].dtype) for name in self.features_}
        self._encoding = None
        if encodes:
            self._encoding = ModelEncoding(self._wide(sample), seed)
        if suspicious := self.report_.taken_though_suspicious:
            warn(
                f"columns were taken that seem to be made of the target ({shortlist(suspicious)}), "
                'see `report_.suspicious`: leave them out by on_suspicious="refuse", or name in `allow` what is no leak'
            )
        return self

    def transform(self, X: Any) -> Any:
        """Join the features to rows.

        Parameters
        ----------
        X : DataFrame, shape (n_rows, n_columns)
            With the columns that `fit` saw, by name or, in an array, by position; it may lack the target.

        Returns
        -------
        DataFrame, shape (n_rows, n_columns + n_features)
            The columns of X, then the features, with the same names and dtypes whatever the rows match; null where a
            row finds no partner. Index and order of the rows are kept. A frame of polars, Arrow or DuckDB comes back
            where X was one, with features of the types that their tables have, and an array where X was one.
        """
        _checks.check_is_fitted(self, "plan_")
        given = given_frame(X)
        if given is not None and self._encoding is None:
            given = given.without(self.target)
            wide = self._joined(known_rows(self, given.frame, self._labels), holds_arrow=True)
            for name, dtype in self.dtypes_.items():
                if dtype == np.float64:  # other types are those of Arrow
                    wide[name] = self._as_fitted(wide[name], dtype)
            return given.rebuild(wide, {})
        X = as_pandas(X)
        is_frame = is_pandas(X)
        if is_frame and self.target is not None:
            X = X.drop(columns=[self.target], errors="ignore")
        wide = self._wide(known_rows(self, X, self._labels))
        if self._encoding is not None:
            wide = self._encoding.encode(wide)
        if given is not None:
            return given.replace(wide)
        return wide if is_frame else wide.to_numpy()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of X; they have to be those that `fit` saw.

        Returns
        -------
        ndarray of str objects, shape (n_columns + n_features,)
        """
        _checks.check_is_fitted(self, "plan_")
        own = _checks._check_feature_names_in(self, input_features)
        if self._encoding is not None:
            return np.asarray(self._encoding.names, dtype=object)
        return np.asarray([*own, *self.features_], dtype=object)

    def _wide(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Join the features to rows, with the dtypes that they have by `fit`."""
        wide = self._joined(frame)
        for name, dtype in self.dtypes_.items():
            if wide[name].dtype != dtype:
                wide[name] = self._as_fitted(wide[name], dtype)
        return wide

    def _as_fitted(self, column: pd.Series, dtype: Any) -> pd.Series:
        """Give a feature the dtype that it had when the plan was fitted."""
        try:
            return column.astype(dtype)
        except (TypeError, ValueError) as error:
            raise TableChangedError(
                f"the feature {check.show(column.name)} had the dtype {dtype} when fit joined it, and has "
                f"{column.dtype} now; fit again"
            ) from error

    def _check_keys(self, frame: pd.DataFrame) -> None:
        """Raise unless the columns that were named are there."""
        named = [label for key in self._on() or () for label in key]
        for argument, label in (("target", self.target), ("as_of", self.as_of)):
            if label is not None and label in named:
                raise InvalidParameterError(
                    f"`on` must not name the column of `{argument}`, {check.show(label)}: it is never a key"
                )
        for label in named:
            select_column(frame, label, "on")
        if self.as_of is not None:
            column = select_column(frame, self.as_of, "as_of")
            if read_periods(column, is_year=is_year_name(self.as_of)) is None:
                raise InvalidParameterError(
                    f"`as_of` must name a column of dates, got {check.show(self.as_of)} of dtype {column.dtype}; "
                    "convert it with pandas.to_datetime, years with format='%Y'"
                )

    def _on(self) -> FrameKeys | None:
        return path_keys(self.on)

    def _path_options(self) -> PathOptions:
        """Check the arguments of the joins and make their record."""
        if self.aggregate is None:
            raise InvalidParameterError("`aggregate` must be a rule here, got None: rows of X must not be multiplied")
        likeness = {"transform": False, "fuzzy": False} if self.precision is None else {"precision": self.precision}
        join = join_options(**{name: getattr(self, name) for name in _OF_JOINS}, **likeness)
        hops = check.check_positive_int(self.max_hops, "max_hops")
        if hops > MOST_HOPS:
            raise InvalidParameterError(f"`max_hops` must be at most {MOST_HOPS}, got {hops}")
        return PathOptions(
            on=self._on(),
            max_hops=hops,
            join=join if join.is_by_equality else replace(join, precision=None),
            never=() if self.as_of is None else (self.as_of,),
            as_of=self.as_of,
            aggregates=self._aggregates(),
            windows=self._windows(),
            undated=() if self.allow is None else check.check_patterns(self.allow, "allow"),
        )

    def _learning(self, target: PredictionTarget | None) -> Learning:
        """Check how columns are measured."""
        if self.learner is not None and not (hasattr(self.learner, "fit") and hasattr(self.learner, "predict")):
            raise InvalidParameterError(
                f"`learner` must be an estimator of scikit-learn that predicts, got {check.show(self.learner)}"
            )
        scorer = None if self.scoring is None else _metrics.get_scorer(self.scoring)
        return Learning(self.learner, scorer, self._splitter(target))

    def _splitter(self, target: PredictionTarget | None) -> Any:
        """Check which rows are held out; a number of folds of classes has a share of each class in every fold."""
        if self.cv is None:
            return None
        if not isinstance(self.cv, numbers.Integral) and (isinstance(self.cv, str) or not hasattr(self.cv, "split")):
            raise InvalidParameterError(
                f"`cv` must be a number of folds or a splitter of scikit-learn, got {check.show(self.cv)}; for folds "
                "of your own pass them as `groups` to fit, and cv=GroupKFold()"
            )
        is_class = target is not None and target.is_class
        return _model_selection.check_cv(self.cv, None if target is None else target.codes, classifier=is_class)

    def _aggregates(self) -> Any:
        """Check the rules of tables with several rows for a key."""
        given = self.aggregates
        if given is None or (isinstance(given, str) and given == "auto"):
            return given
        rules = (
            {column: check_rules(own) for column, own in given.items()}
            if isinstance(given, dict)
            else check_rules(given)
        )
        named = [rule for own in (rules.values() if isinstance(rules, dict) else [rules]) for rule in own]
        if self.as_of is None and (dated := [rule for rule in named if rule in AGE_RULES]):
            raise InvalidParameterError(
                f"`aggregates` rule {dated[0]!r} needs `as_of`, the column of X with the date of each row"
            )
        return rules

    def _check_aggregated(self, lake: Any) -> None:
        """Raise unless the columns that have rules of their own are in the lake."""
        columns = set(lake.columns["column"]) if isinstance(self.aggregates, dict) else set()
        for column in self.aggregates if isinstance(self.aggregates, dict) else ():
            if column not in columns:
                raise ColumnNotFoundError(
                    f"`aggregates` must name columns of tables of the lake ({shortlist(sorted(columns))}), got "
                    + check.show(column)
                )

    def _windows(self) -> tuple[int, ...]:
        if self.windows is None:
            return ()
        if self.as_of is None:
            raise InvalidParameterError(
                f"`windows` needs `as_of`, before which they lie, got {check.show(self.windows)}"
            )
        given = self.windows if isinstance(self.windows, (list, tuple)) else [self.windows]
        return tuple(check.check_positive_int(days, "windows") for days in given)

    def _joined(self, frame: pd.DataFrame, *, holds_arrow: bool = False) -> pd.DataFrame:
        """Carry out the plan: the columns of a frame, then the features; as Arrow, where the frame holds it."""
        if not self.plan_.steps:
            return frame.copy()
        lake = resolve_lake(self.lake).snapshot
        _check_fitted_tables(lake, self._contents, self.on_stale)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="no row found a partner|the join with .* is m:m")
            options = join_options(on_no_match="ignore", on_stale=self.on_stale, plan=self.plan_)
            wide, _ = join_held(frame, lake, replace(options, holds_arrow=holds_arrow))
        n_own = frame.shape[1]
        positions = {label: i for i, label in enumerate(wide.columns) if i >= n_own}
        result = wide.iloc[:, [*range(n_own), *(positions[name] for name in self.features_)]]
        result.attrs = wide.attrs
        return result


def _model_dtype(dtype: Any) -> Any:
    """Return the dtype of a feature: models of scikit-learn take NaN, and no ``pandas.NA`` in numbers."""
    is_masked = isinstance(dtype, pd.api.extensions.ExtensionDtype) and getattr(dtype, "na_value", None) is pd.NA
    is_number = pd.api.types.is_numeric_dtype(dtype) and not isinstance(dtype, pd.ArrowDtype)
    return np.dtype(np.float64) if is_masked and is_number else dtype


def _content(snapshot: Snapshot, table: str) -> str:
    """Return what tells the content of a table from another content of the same name."""
    return hashlib.blake2b(repr(content_of(snapshot, table)).encode(), digest_size=16).hexdigest()


def _check_fitted_tables(snapshot: Snapshot, contents: Mapping[str, str], on_stale: str) -> None:
    """Compare the tables of a plan with those that it was fitted to.

    Parameters
    ----------
    snapshot : Snapshot
        The index as it is now.
    contents : mapping of str
        Table → its `_content` when the plan was fitted.
    on_stale : {"error", "warn", "ignore"}
        What to do where a table has another content.

    Raises
    ------
    TableChangedError
        If a table has left the lake, or has changed and `on_stale` is ``"error"``.
    """
    for table, content in contents.items():
        try:
            now = _content(snapshot, table)
        except TableNotFoundError:
            raise TableChangedError(f"the table `{table}` has left the lake since fit; fit again") from None
        if now == content or on_stale == "ignore":
            continue
        text = f"the table `{table}` is not the one that was joined by fit: the lake has read it anew"
        if on_stale == "error":
            raise TableChangedError(f'{text}; fit again, or pass on_stale="warn" to go on')
        warn(text)
