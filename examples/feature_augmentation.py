"""Feature augmentation: a model scored before and after `auto_join`.

Shipments to countries cost more the heavier they are, the farther the capital lies from Berlin, and the larger
the country is. The cost is simulated from these facts with noise; the frame at hand knows weight and country
only. Joining the example lake brings area and coordinates; the test countries are ones the model never saw.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GroupKFold, cross_val_score

import dfjoin

HERE = Path(__file__).parent


def distance_from_berlin_km(latitude, longitude):
    """Great-circle distance, in km."""
    a, b = np.radians([latitude, longitude]), np.radians([52.52, 13.41])
    cosine = np.sin(a[0]) * np.sin(b[0]) + np.cos(a[0]) * np.cos(b[0]) * np.cos(a[1] - b[1])
    return 6371 * np.arccos(np.clip(cosine, -1, 1))


def shipments(n: int, seed: int) -> pd.DataFrame:
    """Simulate shipments; only weight, country and cost are kept."""
    rng = np.random.default_rng(seed)
    capitals = pd.read_csv(HERE / "lake/geo/capitals.csv")
    areas = pd.read_csv(HERE / "lake/geo/countries.csv", keep_default_na=False)
    facts = capitals.merge(areas[["country", "area_km2"]], on="country")
    rows = facts.iloc[rng.integers(0, len(facts), n)].reset_index(drop=True)
    weight = rng.gamma(2.0, 10.0, n)
    distance = distance_from_berlin_km(rows["latitude"].to_numpy(), rows["longitude"].to_numpy())
    cost = 5 + weight * (0.4 + distance / 5000) + 2 * np.log(rows["area_km2"]) + rng.normal(0, 3, n)
    return pd.DataFrame({"country": rows["country"].str.upper(), "weight": weight, "cost": cost})


def score(features: pd.DataFrame, target: pd.Series, groups: pd.Series) -> float:
    """Mean R² over folds whose countries the model has not seen."""
    model = RandomForestRegressor(60, min_samples_leaf=5, random_state=0, n_jobs=1)
    return cross_val_score(model, features, target, groups=groups, cv=GroupKFold(5), scoring="r2").mean()


def main() -> None:
    """Build, join, and score before and after."""
    engine = "inline" if "--inline" in sys.argv else "spark"
    lake = dfjoin.build_lake(HERE / "lake", Path(tempfile.mkdtemp()) / "lake", engine=engine, progress=False)
    df = shipments(1500, seed=7)
    before = score(df[["weight"]], df["cost"], df["country"])

    wide = df.auto_join(lake, on="country", k=2)
    print(dfjoin.report(wide))
    brought = [c["name"] for step in wide.attrs["dfjoin"]["joined"] for c in step["columns"]]
    numbers = wide[brought].select_dtypes("number").astype("float64").fillna(-1)
    after = score(pd.concat([wide[["weight"]], numbers], axis=1), wide["cost"], wide["country"])
    print(f"R² before: {before:.3f}, after: {after:.3f}")


if __name__ == "__main__":
    main()
