"""A lake where it is known what helps: tables that tell of the target, noise, copies, and a table behind another."""

import numpy as np
import pandas as pd
import pytest

import dfjoin

# It comes with scikit-learn, which takes a second to load: tests import that themselves.
pytest.importorskip("threadpoolctl")

N_LANDS = 240
SYLLABLES = ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu"]


def land_names(n):
    """Names that are no numbers, all different."""
    return [SYLLABLES[i // 100 % 10] + SYLLABLES[i // 10 % 10] + SYLLABLES[i % 10] + "nia" for i in range(n)]


class World:
    """Frames of a lake and a frame with a target that follows from two of its tables."""

    def __init__(self, n_lands=N_LANDS, seed=5):
        rng = np.random.default_rng(seed)
        lands = land_names(n_lands)
        code = [f"{SYLLABLES[i % 10][0]}{i:03d}X" for i in rng.permutation(n_lands)]
        rain = rng.normal(100, 20, n_lands)
        wealth = rng.normal(0, 1, n_lands)
        visits = rng.integers(1, 6, n_lands)
        self.weight = rng.normal(0, 1, n_lands)
        y = 2 * (rain - 100) / 20 + 1.5 * wealth + self.weight + rng.normal(0, 0.5, n_lands)
        self.X = pd.DataFrame({"land": lands, "weight": self.weight})
        self.y = pd.Series(y, name="cost")
        self.frames = {
            "climate": pd.DataFrame({"land": lands, "rain": rain, "static": 1.5, "label": lands}),
            "codes": pd.DataFrame({"land": [name.upper() for name in lands], "code": code}),
            "wealth": pd.DataFrame({"code": code, "wealth": wealth, "hue": rng.normal(size=n_lands)}),
            "visits": pd.DataFrame(
                {"land": np.repeat(lands, visits), "days": rng.integers(1, 30, visits.sum()).astype(float)}
            ),
        }
        for i in range(3):
            values = {f"n{i}{j}": rng.normal(size=n_lands) for j in range(5)}
            self.frames[f"noise{i}"] = pd.DataFrame({"land": lands, **values})
        self.copy = self.X.assign(cost=y)


@pytest.fixture(scope="package", autouse=True)
def few_trees():
    """What helps here helps much: a few trees see it, in one thread as in `find_features`; other tests have them all."""
    from dfjoin.augment import boosting, held_out

    with pytest.MonkeyPatch.context() as patch, held_out.one_thread():
        patch.setattr(boosting, "N_TREES", 12)
        yield


@pytest.fixture(scope="session")
def world():
    return World()


@pytest.fixture(scope="session")
def world_lake(world, tmp_path_factory):
    index = tmp_path_factory.mktemp("world") / "lake"
    return dfjoin.build_lake(world.frames, index, engine="inline", progress=False)


@pytest.fixture(scope="session")
def leaky_lake(world, tmp_path_factory):
    frames = {
        "copy": world.copy,
        "climate": world.frames["climate"],
        "answers": pd.DataFrame({"land": world.X["land"], "cost_eur": 3 * world.y + 1, "rank_": world.y.round(1)}),
    }
    index = tmp_path_factory.mktemp("leaky") / "lake"
    return dfjoin.build_lake(frames, index, engine="inline", progress=False)


@pytest.fixture(scope="session")
def fitted(world, world_lake):
    return dfjoin.LakeAugmenter(world_lake).fit(world.X, world.y)
