"""Feature augmentation: a pipeline that finds its own features in a lake, scored on countries that it never saw.

Shipments cost more the heavier they are, the farther the capital of their country lies from Berlin, and the larger the
country is. The cost is simulated from these facts with noise. The frame at hand knows the weight and the two letters of
the country only: the area is one join away, the coordinates of the capital two. The lake has 26 small real tables, most
of which say nothing of costs.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import dfjoin

HERE = Path(__file__).parent


def distance_from_berlin_km(latitude, longitude):
    """Great-circle distance, in km."""
    a, b = np.radians([latitude, longitude]), np.radians([52.52, 13.41])
    cosine = np.sin(a[0]) * np.sin(b[0]) + np.cos(a[0]) * np.cos(b[0]) * np.cos(a[1] - b[1])
    return 6371 * np.arccos(np.clip(cosine, -1, 1))


def shipments(n: int, seed: int) -> pd.DataFrame:
    """Simulate shipments; only weight, country code and cost are kept."""
    rng = np.random.default_rng(seed)
    capitals = pd.read_csv(HERE / "lake/geo/capitals.csv")
    areas = pd.read_csv(HERE / "lake/geo/countries.csv", keep_default_na=False)
    facts = capitals.merge(areas[["country", "iso2", "area_km2"]], on="country")
    rows = facts.iloc[rng.integers(0, len(facts), n)].reset_index(drop=True)
    weight = rng.gamma(2.0, 10.0, n)
    distance = distance_from_berlin_km(rows["latitude"].to_numpy(), rows["longitude"].to_numpy())
    cost = 5 + weight * (0.4 + distance / 5000) + 2 * np.log(rows["area_km2"]) + rng.normal(0, 3, n)
    return pd.DataFrame({"destination": rows["iso2"].str.lower(), "weight": weight, "cost": cost})


def model():
    """Make a model of numbers and of the frequent texts."""
    columns = make_column_transformer(
        (SimpleImputer(), make_column_selector(dtype_include="number")),
        (
            OneHotEncoder(max_categories=8, handle_unknown="infrequent_if_exist"),
            make_column_selector(dtype_exclude="number"),
        ),
    )
    return make_pipeline(columns, RandomForestRegressor(60, min_samples_leaf=5, random_state=0, n_jobs=1))


def main() -> None:
    """Score without and with the lake, and show what was joined."""
    engine = "inline" if "--inline" in sys.argv else "spark"
    place = Path(tempfile.mkdtemp())
    lake = dfjoin.build_lake(HERE / "lake", place / "lake", engine=engine, progress=False)
    df = shipments(1500, seed=7)
    X, y, countries = df[["destination", "weight"]], df["cost"], df["destination"]

    pipeline = make_pipeline(dfjoin.LakeAugmenter(lake), model())
    scores = {
        name: cross_val_score(candidate, X, y, groups=countries, cv=GroupKFold(3), error_score="raise").mean()
        for name, candidate in (("before", model()), ("after", pipeline))
    }
    print(f"R² before: {scores['before']:.3f}, after: {scores['after']:.3f}\n")

    augmenter = dfjoin.LakeAugmenter(lake).fit(X, y)
    print(augmenter.report_, "\n")
    print(augmenter.transform(X.head(3)).to_string(), "\n")
    print("Ways to the capitals:")
    print(lake.paths(X, "geo/capitals.csv")[["path", "score", "containment"]].to_string(), "\n")

    search = GridSearchCV(
        make_pipeline(dfjoin.LakeAugmenter(lake, select="relevance"), model()),  # no model is trained to select
        {"lakeaugmenter__k": [1, 4]},
        cv=GroupKFold(3),
        error_score="raise",
    ).fit(X, y, groups=countries)
    print(f"best of a grid: {search.best_params_}, R² {search.best_score_:.3f}")

    try:
        axes = augmenter.report_.plot_gains()
    except dfjoin.errors.MissingDependencyError as error:
        print(error)
    else:
        axes.figure.savefig(place / "gains.png")
        print("gain by table:", place / "gains.png")


if __name__ == "__main__":
    main()
