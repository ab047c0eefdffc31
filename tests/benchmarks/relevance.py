"""Are the first hits worth showing? Judged candidates of real lakes, against other rankings, cross-validated.

The truth is a directory with ``queries.csv`` and ``judgements.csv`` (grades 2, 1, 0); the model is fitted to it and to
the foreign keys of relational databases, each a lake of its own.
"""

from __future__ import annotations

import csv
import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.kernels.lists import usefulness
from dfjoin.kernels.lists.evidence import weigh_values
from dfjoin.kernels.lists.usefulness import FEATURES
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.params import search_params
from dfjoin.search.query import make_query
from dfjoin.search.usefulness import features
from dfjoin.search.usefulness.features import count_evidence, features_of, folded_of, query_facts
from dfjoin.search.usefulness.model import MODEL_FILE, LinearModel, UsefulnessModel, model
from tests.benchmarks.number_cases import number_cases

_OF_GAIN = (
    "shared", "covered", "nothing_new", "new_columns", "both_text", "position_in_table", "series", "number_columns",
    "unique_candidate", "many_to_many", "held_by_query",
)  # fmt: skip
SCORE = tuple(name for name in FEATURES if name not in _OF_GAIN)
"""What says how likely a join is: a further feature belongs here unless it says what a join brings."""
BRINGS = (
    "shared", "covered", "nothing_new", "new_columns", "both_text", "position_in_table",
    "header_in_table_name", "disjoint_headers", "header_elsewhere", "series", "number_columns", "same_folder",
    "held_by_query",
)  # fmt: skip
OF_THE_LAKE = ("rare_containment", "spread", "smaller_containment", "larger_containment", "same_folder")
"""Features that depend on other tables."""
NUMBER_JUDGEMENTS = Path(__file__).with_name("judged_numbers.csv")
DRAWN = Path(__file__).with_name("judged_draw.csv")
"""Hits of drawn columns, as searches showed them when they were drawn."""
HELD_OUT = 20261123
"""Seed of the draw that nothing is fitted to."""
RIDGE = 16.0
KEY_WEIGHT = 0.3
DRAWN_WEIGHT = 0.3
MADE_WEIGHT = 0.3
MEASURE_WEIGHT, N_MEASURES = 0.5, 40
SMALL_WEIGHT, SMALL_COLUMNS = 0.5, 10
FEW_WEIGHT, FEW_VALUES = 0.05, (4, 8, 16, 50)
FLOOR, REPEATED, MANY_TO_MANY = 0.3, 0.98, 0.96
CODE_LETTERS = 3
FOLDS = 10


def read_judgements(directory: Path) -> tuple[list[dict], dict[str, dict[tuple[str, str], int]]]:
    """The query columns, and the grade of each judged candidate of each."""
    with (directory / "queries.csv").open(newline="") as stream:
        queries = list(csv.DictReader(stream))
    grades: dict[str, dict[tuple[str, str], int]] = {}
    with (directory / "judgements.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            grades.setdefault(row["query"], {})[row["table"], row["column"]] = int(row["grade"])
    return queries, grades


def _candidates(lake, frame: pd.DataFrame, label, own_table: str) -> pd.DataFrame:
    """All columns of other tables that share a value with a column of a frame, with their features.

    Columns of the name ``small …`` are the features that they would have in a lake of nothing but their table.
    """
    snapshot = lake.snapshot
    query = replace(make_query(frame[label], snapshot.settings), companions=tuple(map(str, frame.columns)))
    matched, params = MatchedQuery(snapshot, query.values), search_params(threshold=0.0)
    evidence, _ = count_evidence(snapshot, matched, params)
    found, _ = features_of(snapshot, query_facts(query), evidence, model().numbers)
    with mock.patch.object(features, "weigh_values", _weigh_in_small_lake):
        in_table, _ = count_evidence(snapshot, matched, params)
        alone, _ = features_of(snapshot, query_facts(query), in_table, model().numbers)
    alone[:, FEATURES.index("same_folder")] = 0.0  # all tables lie in one folder
    rows = pd.DataFrame(found, columns=list(FEATURES))
    rows = rows.assign(**{f"small {name}": alone[:, FEATURES.index(name)] for name in OF_THE_LAKE})
    tables, columns = [], []
    for number, column in zip(evidence.hits.segments.tolist(), evidence.hits.columns.tolist(), strict=True):
        catalog = snapshot.segments[number].catalog
        tables.append(catalog.table_name(column))
        columns.append(catalog.column_name(column))
    rows["table"], rows["column"] = tables, columns
    rows["matched"], rows["n_values"], rows["n_query"] = (
        evidence.hits.matched,
        evidence.hits.cardinality,
        len(query.values),
    )
    rows["family"], rows["content"], *_ = folded_of(snapshot, evidence.hits, np.arange(len(rows))).T
    rows["kind"] = _kind_of(query)
    return rows[rows["table"] != own_table]


def _kind_of(query) -> str:
    """Return the kind of a key; a code is a text with a digit, or of three letters at most."""
    if query.kind == "date" or query_facts(query).is_years:
        return "date"
    if query.kind != "text":
        return "whole number"
    values = query.values.values()[:200]
    n_codes = sum(any(c.isdigit() for c in value) or len(value) <= CODE_LETTERS for value in values)
    return "code" if n_codes > len(values) / 2 else "text"


def _weigh_in_small_lake(data, offsets, n_holding, n_columns, rows, weights) -> None:
    """Weigh values as if one table of ten columns were the lake."""
    weigh_values(data, offsets, np.minimum(n_holding, 1), SMALL_COLUMNS, rows, weights)


def judged_features(lake, directory: Path) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The judged candidates with their features, grade, query and the source that the query comes from.

    Returns
    -------
    rows : DataFrame
        Those that share a value with their query.
    unshared : DataFrame
        The others, as they lost a null spelling that was compared when they were judged: features are zeros.
    measures : DataFrame
        A sample of the unjudged candidates of queries that are measures, which nobody joins on: all have grade 0.
    """
    queries, grades = read_judgements(directory)
    parts, unshared, measures = [], [], []
    for query in queries:
        wanted = grades[query["query"]]
        rows = _candidates(lake, lake.table(query["table"]), query["column"], "")
        names = list(zip(rows["table"], rows["column"], strict=True))
        rows["grade"] = [wanted.get(name, -1) for name in names]
        other = pd.DataFrame(0.0, index=range(len(wanted.keys() - set(names))), columns=rows.columns)
        other["grade"] = [grade for name, grade in wanted.items() if name not in set(names)]
        others = rows[rows["grade"] < 0] if query["role"] == "measure" else rows[:0]
        others = others.sample(min(len(others), N_MEASURES), random_state=1).assign(grade=0)
        of_query = {"query": query["query"], "group": query["table"].split("/")[0]}
        of_query |= {"query_table": query["table"], "query_column": query["column"]}
        parts.append(rows[rows["grade"] >= 0].assign(**of_query))
        unshared.append(other.assign(**of_query))
        measures.append(others.assign(**of_query))
    rows, other, others = (pd.concat(one, ignore_index=True) for one in (parts, unshared, measures))
    return rows, other, others


def few_features(lake, directory: Path, seed: int = 7) -> pd.DataFrame:
    """The judged candidates that share a value with a few values of their query, drawn, as tables of few rows have.

    What joins with a column joins with a part of it, so that the grades are those of the whole column.
    """
    queries, grades = read_judgements(directory)
    rng, parts = np.random.default_rng(seed), []
    for query in queries:
        frame, label, wanted = lake.table(query["table"]), query["column"], grades[query["query"]]
        values = frame[label].dropna().drop_duplicates()
        for n_values in FEW_VALUES:
            if values.size < 2 * n_values:
                continue
            drawn = values.sample(n_values, random_state=int(rng.integers(1 << 30)))
            rows = _candidates(lake, frame[frame[label].isin(drawn)].head(5 * n_values), label, "")
            names = zip(rows["table"], rows["column"], strict=True)
            rows["grade"] = [wanted.get(name, -1) for name in names]
            own = {"query": f"{n_values} values of {query['query']}", "group": query["table"].split("/")[0]}
            parts.append(rows[rows["grade"] >= 0].assign(**own, drawn=n_values))
    return pd.concat(parts, ignore_index=True)


def graded_features(lake, judged: pd.DataFrame) -> pd.DataFrame:
    """The candidates that a file grades (`judged_numbers.csv`, `judged_draw.csv`), of the tables that the lake has."""
    judged = judged.dropna(subset=["table", "grade"])
    known, parts = set(lake.tables["table"]), []
    for (table, column), wanted in judged.groupby(["query_table", "query_column"], sort=False):
        if table not in known:
            continue
        grades = dict(
            zip(zip(wanted["table"], wanted["column"], strict=True), wanted["grade"].astype(int), strict=True)
        )
        rows = _candidates(lake, lake.table(table), column, table)
        rows = rows.assign(grade=[grades.get(pair, -1) for pair in zip(rows["table"], rows["column"], strict=True)])
        name = f"{table}/{column}"
        parts.append(rows[rows["grade"] >= 0].assign(query=name, group=table.split("/")[0]))
    return pd.concat(parts, ignore_index=True)


def key_features(directory: Path) -> pd.DataFrame:
    """Candidates of the foreign keys of databases: 2 for the declared key, 1 for what refers to the same key."""
    parts = []
    for database in sorted(path.parent for path in directory.glob("*/truth.csv")):
        with tempfile.TemporaryDirectory() as place:
            lake = dfjoin.build_lake(database / "tables", Path(place) / "index", engine="inline", progress=False)
            truth = pd.read_csv(database / "truth.csv")
            names = {name.rsplit(".", 1)[0]: name for name in lake.tables["table"]}
            wanted: dict[tuple[str, str], set[tuple[str, str]]] = {}
            for row in truth.itertuples():
                own = names[row.fk_table], row.fk_column
                wanted.setdefault(own, set()).add((names[row.pk_table], row.pk_column))
            root = _classes(wanted)
            for (table, column), keys in wanted.items():
                frame = lake.table(table)
                if frame[column].notna().sum() == 0:
                    continue
                rows = _candidates(lake, frame, column, table).copy()
                pairs = list(zip(rows["table"], rows["column"], strict=True))
                same = root((table, column))
                rows["grade"] = [2 if pair in keys else int(root(pair) == same) for pair in pairs]
                rows["query"], rows["group"] = f"{database.name}/{table}/{column}", database.name
                parts.append(rows)
    return pd.concat(parts, ignore_index=True)


def made_features() -> pd.DataFrame:
    """Candidates of made databases whose keys are whole numbers: 2 for what belongs together, 0 for all others."""
    parts = []
    for case in number_cases():
        with tempfile.TemporaryDirectory() as place:
            lake = dfjoin.build_lake(case.tables, Path(place) / "index", engine="inline", progress=False)
            for table, column, wanted in case.queries:
                rows = _candidates(lake, case.tables[table], column, table)
                pairs = zip(rows["table"], rows["column"], strict=True)
                rows = rows.assign(grade=[2 * (pair in wanted) for pair in pairs])
                name = f"{case.language}/{case.numbers}/{table}/{column}"
                parts.append(rows.assign(query=name, group=case.language, numbers=case.numbers))
    return pd.concat(parts, ignore_index=True)


def _classes(wanted: dict) -> Callable:
    """Group columns that refer to one another, over any number of steps."""
    parent: dict = {}

    def root(pair):
        while parent.setdefault(pair, pair) != pair:
            pair = parent[pair]
        return pair

    for own, keys in wanted.items():
        for key in keys:
            parent[root(own)] = root(key)
    return root


# Fitting ---------------------------------------------------------------------------------------------------


def fit_logistic(x: np.ndarray, y: np.ndarray, weights: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
    """Fit a logistic regression with a ridge penalty by Newton's method; the bias comes first and is not penalised."""
    design = np.column_stack([np.ones(len(x)), x])
    penalty = np.full(design.shape[1], ridge)
    penalty[0] = 1e-6
    found = np.zeros(design.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        gradient = design.T @ (weights * (p - y)) + penalty * found
        curvature = (design * (weights * np.maximum(p * (1 - p), 1e-4))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        found -= step
        if np.abs(step).max() < 1e-8:
            break
    return found


def fit_model(rows: pd.DataFrame, names: tuple[str, ...], is_true: np.ndarray, weights: np.ndarray) -> LinearModel:
    """Fit one of the two regressions to some rows."""
    x = rows[list(names)].to_numpy(float)
    means, scales = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-6)
    found = fit_logistic(np.clip((x - means) / scales, -5, 5), is_true.astype(float), weights)
    return LinearModel(names, means, scales, found[1:], float(found[0]))


def fit_both(rows: pd.DataFrame) -> tuple[LinearModel, LinearModel]:
    """Fit the score to all rows, and what a hit brings to the judged ones, databases and measures that are no accident."""
    weights = rows["weight"].to_numpy(float)
    grade = rows["grade"].to_numpy()
    related = grade > 0
    score = fit_model(rows, SCORE, related, weights)
    related &= ~rows["part"].isin(["made", "numbers", "drawn", "few"]).to_numpy()
    return score, fit_model(rows[related], BRINGS, grade[related] == 2, weights[related])


def predict(rows: pd.DataFrame, models: tuple[LinearModel, LinearModel]) -> tuple[np.ndarray, np.ndarray]:
    """Score and usefulness of some rows."""
    both = UsefulnessModel(*models, FLOOR, REPEATED, MANY_TO_MANY)
    scores = both.scores(np.ascontiguousarray(rows[list(FEATURES)].to_numpy(float)))
    return scores[usefulness.SCORE], scores[usefulness.USEFULNESS]


def cross_validate(rows: pd.DataFrame, by: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Score and usefulness of each row by models that have not seen its query, its source or its database."""
    groups = np.array(rows[by].unique(), object)
    np.random.default_rng(seed).shuffle(groups)
    score, usefulness = np.zeros(len(rows)), np.zeros(len(rows))
    for fold in range(FOLDS):
        held = rows[by].isin(groups[fold::FOLDS]).to_numpy()
        if held.any():
            score[held], usefulness[held] = predict(rows[held], fit_both(rows[~held]))
    return score, usefulness


# Measures --------------------------------------------------------------------------------------------------


def area(values: np.ndarray, is_true: np.ndarray) -> float:
    """Area under the curve: how often a true pair is above a false one."""
    ranks = pd.Series(values).rank().to_numpy()
    n = int(is_true.sum())
    return float((ranks[is_true].sum() - n * (n + 1) / 2) / (n * (~is_true).sum()))


def gain(grades: np.ndarray) -> float:
    """Discounted gain of the first ten."""
    first = 2.0 ** grades[:10] - 1
    return float((first / np.log2(np.arange(2, 2 + first.size))).sum())


def measure(rows: pd.DataFrame, ranking: np.ndarray, score: np.ndarray | None = None) -> dict[str, float]:
    """The measures of one ranking; with a probability also what is shown at 0.5 and its calibration."""
    grade = rows["grade"].to_numpy()
    ndcg, first, n_junk, n_top, n_shown, n_shown_junk, n_twos, n_places = [], [], 0, 0, 0, 0, 0, 0
    for places in rows.groupby("query", sort=False).indices.values():
        order = places[np.argsort(-ranking[places], kind="stable")]
        g = grade[order]
        if (g == 2).any():
            ndcg.append(gain(g) / gain(np.sort(g)[::-1]))
            first.append(g[0] == 2)
        n_junk += int((g[:10] == 0).sum())
        n_top += g[:10].size
        n_places += min(10, int((g == 2).sum()))
        if score is not None:
            shown = grade[order[score[order] >= 0.5][:10]]
            n_shown += shown.size
            n_shown_junk += int((shown == 0).sum())
            n_twos += int((shown == 2).sum())
    found = {"nDCG@10": np.mean(ndcg), "P@1": np.mean(first), "junk@10": n_junk / n_top}
    found |= {"AUC > 0": area(ranking if score is None else score, grade > 0), "AUC 2": area(ranking, grade == 2)}
    if score is not None:
        found |= {"shown": n_shown, "junk shown": n_shown_junk / max(1, n_shown), "2s shown": n_twos / n_places}
        found["calibration"] = calibration(score, grade > 0)
    return {name: float(value) for name, value in found.items()}


def calibration(score: np.ndarray, is_true: np.ndarray) -> float:
    """Mean difference of the predicted and the true share, over tenths of the score."""
    bins = np.minimum((score * 10).astype(int), 9)
    used = [bins == b for b in range(10) if (bins == b).any()]
    return float(sum(b.mean() * abs(is_true[b].mean() - score[b].mean()) for b in used))


def spread(rows: pd.DataFrame, ranking: np.ndarray, score: np.ndarray, rounds: int = 200, seed: int = 0) -> pd.Series:
    """Standard deviation of each measure over draws of the queries with replacement."""
    rng = np.random.default_rng(seed)
    places = list(rows.groupby("query", sort=False).indices.values())
    found = []
    for _ in range(rounds):
        drawn = [places[i] for i in rng.integers(0, len(places), len(places))]
        at = np.concatenate(drawn)
        names = np.repeat(np.arange(len(drawn)), [p.size for p in drawn])
        found.append(measure(rows.iloc[at].assign(query=names), ranking[at], score[at]))
    return pd.DataFrame(found).std()


def first_keys(rows: pd.DataFrame, ranking: np.ndarray) -> tuple[float, float]:
    """Share of foreign keys whose key comes first, and mean reciprocal rank."""
    ranks = []
    for places in rows.groupby("query", sort=False).indices.values():
        g = rows["grade"].to_numpy()[places[np.argsort(-ranking[places], kind="stable")]]
        if (g == 2).any():
            ranks.append(1 + int(np.argmax(g == 2)))
    return float(np.mean(np.array(ranks) == 1)), float(np.mean(1 / np.array(ranks)))


# Other rankings --------------------------------------------------------------------------------------------


def _normal(x: np.ndarray, mean: float, deviation: float) -> np.ndarray:
    return np.array([0.5 * (1 + math.erf((v - mean) / (deviation * math.sqrt(2)))) for v in x])


def _truncated(x: np.ndarray, mean: float, deviation: float) -> np.ndarray:
    """Distribution function of a normal variable that is known to lie between 0 and 1."""
    low, high = _normal(np.array([0.0, 1.0]), mean, deviation)
    return (_normal(x, mean, deviation) - low) / (high - low)


def nextiajd(rows: pd.DataFrame, strictness: float = 0.25) -> np.ndarray:
    """The continuous join quality of NextiaJD (arXiv 2305.19629, section 4): containment and cardinality proportion.

    The product of the distribution functions of two normal variables that lie between 0 and 1, with the means
    0.44 + strictness / 4 and strictness / 4 and the deviations 0.19 and 0.28. These constants are those of the code that
    the authors publish with their system ODIN (class CalculateQuality); the text of the paper was not compared. By a
    strictness from 0 to 2 nDCG@10 changes by 0.014.
    """
    containment = (rows["matched"] / rows["n_query"]).to_numpy()
    small, large = np.minimum(rows["n_query"], rows["n_values"]), np.maximum(rows["n_query"], rows["n_values"])
    proportion = (small / large).to_numpy()
    return _truncated(containment, 0.44 + strictness / 4, 0.19) * _truncated(proportion, strictness / 4, 0.28)


def multiset_quality(lake, rows: pd.DataFrame) -> np.ndarray:
    """Freyja's two terms (arXiv 2412.06637, section III): multiset Jaccard, times the root of the cardinality proportion."""
    counts: dict[tuple[str, str], tuple[dict[str, int], int]] = {}

    def rows_of(table: str, column: str) -> tuple[dict[str, int], int]:
        if (table, column) not in counts:
            query = make_query(lake.table(table)[column], lake.snapshot.settings)
            repeats = query.values.row_counts()
            counts[table, column] = dict(zip(query.values.values(), repeats.tolist(), strict=True)), int(repeats.sum())
        return counts[table, column]

    found = np.zeros(len(rows))
    for i, row in enumerate(rows.itertuples()):
        own, n_own = rows_of(row.query_table, row.query_column)
        theirs, n_theirs = rows_of(row.table, row.column)
        few, many = (own, theirs) if len(own) <= len(theirs) else (theirs, own)
        shared = sum(min(n, many.get(value, 0)) for value, n in few.items())
        proportion = min(row.n_query, row.n_values) / max(row.n_query, row.n_values)
        found[i] = shared / (n_own + n_theirs) * math.sqrt(proportion)
    return found


# The command -----------------------------------------------------------------------------------------------


def families_shown(rows: pd.DataFrame, ranking: np.ndarray, score: np.ndarray) -> dict[str, float]:
    """Junk and useful candidates among the first ten families at 0.5, as a search shows them."""
    grade, n_twos, n_places, n_junk, n_shown = rows["grade"].to_numpy(), 0, 0, 0, 0
    family, content = rows["family"].to_numpy(), rows["content"].to_numpy()
    for places in rows.groupby("query", sort=False).indices.values():
        order = places[np.argsort(-ranking[places], kind="stable")]
        n_places += min(10, int((grade[order] == 2).sum()))
        number: dict[int, int] = {}
        members: list[list[int]] = []
        for place in order[score[order] >= 0.5].tolist():
            known = number.get(int(family[place]), number.get(int(content[place])))
            if known is None:
                known = len(members)
                members.append([])
            number[int(family[place])] = number[int(content[place])] = known
            members[known].append(int(grade[place]))
        shown = members[:10]
        n_shown += len(shown)
        n_junk += sum(grades[0] == 0 for grades in shown)
        n_twos += min(10, sum(grades.count(2) for grades in shown))
    return {"families": n_shown, "junk of families": n_junk / max(1, n_shown), "2s in families": n_twos / n_places}


def all_rows(lake, judgements: Path, keys: Path | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The candidates that the model is fitted to, with their weight and part; and the judged ones without a shared value."""
    rows, unshared, measures = judged_features(lake, judgements)
    alone = rows.assign(**{name: rows[f"small {name}"] for name in OF_THE_LAKE})
    parts = {"judged": rows.assign(weight=1.0), "measures": measures.assign(weight=MEASURE_WEIGHT)}
    parts["small"] = alone.assign(weight=SMALL_WEIGHT)
    parts["few"] = few_features(lake, judgements).assign(weight=FEW_WEIGHT)
    parts["numbers"] = graded_features(lake, pd.read_csv(NUMBER_JUDGEMENTS)).assign(weight=1.0)
    drawn = pd.read_csv(DRAWN)
    parts["drawn"] = graded_features(lake, drawn[drawn["seed"] != HELD_OUT]).assign(weight=DRAWN_WEIGHT)
    parts["made"] = made_features().assign(weight=MADE_WEIGHT)
    if keys is not None:
        parts["keys"] = key_features(keys).assign(weight=KEY_WEIGHT)
    return pd.concat([one.assign(part=name) for name, one in parts.items()], ignore_index=True), unshared


def other_rankings(lake, rows: pd.DataFrame, unshared: pd.DataFrame) -> dict[str, dict[str, float]]:
    """The measures of the rankings by other metrics."""
    jaccard = rows["matched"] / (rows["n_query"] + rows["n_values"] - rows["matched"])
    found = {"matched": rows["matched"] - 1e-7 * rows["n_values"], "jaccard": jaccard}
    found |= {"NextiaJD": nextiajd(rows), "Freyja's terms": multiset_quality(lake, rows)}
    both = pd.concat([rows, unshared], ignore_index=True)
    return {name: measure(both, _padded(values, unshared, -1)) for name, values in found.items()}


def _padded(values, unshared: pd.DataFrame, last: float) -> np.ndarray:
    return np.append(np.asarray(values, float), np.full(len(unshared), last))


def print_keys(every: pd.DataFrame, usefulness: np.ndarray, name: str) -> None:
    """Print for how many foreign keys the declared key comes first."""
    is_key = (every["part"] == "keys").to_numpy()
    if not is_key.any():
        return
    own = every[is_key].reset_index(drop=True)
    plain = first_keys(own, (own["matched"] - 1e-7 * own["n_values"]).to_numpy())
    useful = first_keys(own, usefulness[is_key])
    told = [
        f"{n} {a:.3f} by matched, {b:.3f} useful" for n, a, b in zip(("recall@1", "MRR"), plain, useful, strict=True)
    ]
    print(f"foreign keys, {name}: " + ", ".join(told))


def print_made(every: pd.DataFrame, score: np.ndarray) -> None:
    """Print how whole numbers of the made databases are scored, by their kind and by the side of the reference."""
    made = every.assign(score=score)[(every["part"] == "made").to_numpy()]
    side = np.where(made["query"].str.contains("/facts/"), "from the reference", "from the key")
    is_true = (made["grade"] > 0).to_numpy()
    shown = made.assign(side=side, shown=score[made.index] >= 0.5)[is_true].groupby(["side", "numbers"])["shown"].mean()
    print(
        "made whole numbers, share of what belongs together at 0.5 or more:\n"
        + shown.to_string(float_format="{:.3f}".format)
    )
    print(f"highest score of what does not: {made['score'][~is_true].max():.3f}")


def print_few(every: pd.DataFrame, score: np.ndarray) -> None:
    """Print how parts of the judged queries are scored, by the values that are drawn."""
    few = every.assign(score=score)[(every["part"] == "few").to_numpy()]
    for n_values, rows in few.groupby("drawn"):
        grade, own = rows["grade"].to_numpy(), rows["score"].to_numpy()
        shown = [f"{(own[grade == g] >= 0.5).mean():.3f} of grade {g}" for g in (2, 1, 0)]
        print(
            f"{n_values:.0f} values of a query, by source: AUC {area(own, grade > 0):.3f}, calibration "
            f"{calibration(own, grade > 0):.3f}, at 0.5 or more: {', '.join(shown)}"
        )


def print_drawn(every: pd.DataFrame, score: np.ndarray) -> None:
    """Print how many of the hits of the draws are still shown, and how many of these are junk."""
    is_drawn = (every["part"] == "drawn").to_numpy()
    grade, shown = every["grade"].to_numpy()[is_drawn], score[is_drawn] >= 0.5
    print(
        f"hits of the draws, by source: {grade.size}, junk {int((grade == 0).sum())}; shown {int(shown.sum())}, "
        f"junk {int((grade[shown] == 0).sum())}"
    )


def print_held_out(every: pd.DataFrame, lake) -> None:
    """Print the same of the draw that nothing is fitted to, by a model that is fitted to all else."""
    drawn = pd.read_csv(DRAWN)
    rows = graded_features(lake, drawn[drawn["seed"] == HELD_OUT])
    is_junk, shown = rows["grade"].to_numpy() == 0, predict(rows, fit_both(every))[0] >= 0.5
    print(
        f"hits of the draw {HELD_OUT}, held out: {len(rows)}, junk {int(is_junk.sum())}; shown {int(shown.sum())}, "
        f"junk {int(is_junk[shown].sum())}"
    )


def run_relevance(lake, judgements: Path, keys: Path | None, writes: bool) -> None:
    """Print the measures of every ranking, cross-validated by query and by source; with `writes` fit model.json anew.

    Judged candidates that share no value any more come last in every ranking, and have the score 0.
    """
    every, unshared = all_rows(lake, judgements, keys)
    grade = every["grade"].to_numpy()
    of_part = {name: (every["part"] == name).to_numpy() for name in every["part"].unique()}
    judged, is_real = of_part["judged"], of_part["judged"] | of_part["numbers"]
    rows, numbers = (every[of_part[name]].reset_index(drop=True) for name in ("judged", "numbers"))
    both = pd.concat([rows, unshared], ignore_index=True)
    table = other_rankings(lake, rows, unshared)
    figures: dict[str, dict[str, float]] = {}
    for by, name in (("query", "by query"), ("group", "by source")):
        score, usefulness = cross_validate(every, by)
        told = measure(both, _padded(usefulness[judged], unshared, -1), _padded(score[judged], unshared, 0))
        told |= families_shown(rows, usefulness[judged], score[judged])
        told["AUC > 0, small"] = area(score[of_part["small"]], grade[of_part["small"]] > 0)
        figures[name] = table[f'rank="useful", {name}'] = told
        own = usefulness[of_part["numbers"]], score[of_part["numbers"]]
        table[f"judged numbers, {name}"] = measure(numbers, *own) | families_shown(numbers, *own)
        print_keys(every, usefulness, name)
        if by == "query":
            deviations, tenths = spread(rows, usefulness[judged], score[judged]), score[judged]
    print(pd.DataFrame(table).T.to_string(float_format="{:.3f}".format))
    print("deviation over draws of queries:", ", ".join(f"{k} {v:.3f}" for k, v in deviations.items()))
    for kind, places in every[is_real].groupby("kind").groups.items():
        is_true = grade[places] > 0
        print(
            f"{kind}, by source: AUC {area(score[places], is_true):.3f}, calibration {calibration(score[places], is_true):.3f}, {len(places)} candidates"
        )
    print_made(every, score)
    print_few(every, score)
    print_drawn(every, score)
    print_held_out(every, lake)
    print("calibration, predicted and true share by tenth of the score:")
    bins = np.minimum((tenths * 10).astype(int), 9)
    for b in range(10):
        held = bins == b
        if held.any():
            print(f"  {tenths[held].mean():.3f} {(rows['grade'].to_numpy()[held] > 0).mean():.3f} ({held.sum()})")
    if writes:
        write_model(every, figures)


def write_model(every: pd.DataFrame, figures: dict[str, dict[str, float]]) -> None:
    """Fit the model to all rows and write it as the package's."""
    score, brings = fit_both(every)
    n_of = every["part"].value_counts()
    text = {
        "what": "score: probability that two columns mean the same and do not share values by chance; brings: that the "
        "join says something new; usefulness = score * (floor + (1 - floor) * brings), times `repeated` or `many_to_many`",
        "command": "python -m tests.benchmarks relevance JUDGEMENTS LAKE --keys DATABASES --fit",
        "data": f"{n_of['judged']} judged candidates of {every['query'][every['part'] == 'judged'].nunique()} query "
        f"columns of one lake; the same as if their table were the whole lake, which count {SMALL_WEIGHT} each; "
        f"{n_of['few']} candidates of {', '.join(map(str, FEW_VALUES))} values of these, {FEW_WEIGHT} each, for the score alone; "
        f"{n_of['numbers']} judged candidates of whole numbers, and {n_of['made']} candidates of made databases whose keys "
        f"are whole numbers, {MADE_WEIGHT} each, and {n_of['drawn']} graded hits of drawn columns, {DRAWN_WEIGHT} each, all for the score alone; {n_of['measures']} unjudged candidates of columns that are measures, as accidents, {MEASURE_WEIGHT} each; and "
        f"{n_of.get('keys', 0)} candidates of foreign keys of relational databases, {KEY_WEIGHT} each; all were seen in "
        "development",
        "cross_validated": {name: {k: round(v, 3) for k, v in one.items()} for name, one in figures.items()},
        "floor": FLOOR,
        "repeated": REPEATED,
        "many_to_many": MANY_TO_MANY,
    }
    for name, one in (("score", score), ("brings", brings)):
        columns = zip(one.names, one.means.tolist(), one.scales.tolist(), one.weights.tolist(), strict=True)
        text[name] = {
            "bias": round(one.bias, 4),
            "features": {n: {"mean": _short(m), "scale": _short(s), "weight": _short(w)} for n, m, s, w in columns},
        }
    MODEL_FILE.write_text(json.dumps(text, indent=1).replace("\n    ", " ").replace("\n   }", " }") + "\n")


def _short(value: float) -> float:
    return float(f"{value:.4g}")
