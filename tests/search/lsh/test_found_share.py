"""Expected recall: the probability that a column is found, and the share that is stated, against measured ones."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.search.lsh.bands import choose_bands, jaccard_of
from dfjoin.search.lsh.expected_recall import fewest_agreeing, number_behind, probability_found, uniform_recall

N_QUERY = 1000
DISTRIBUTIONS = {
    "uniform": lambda rng, n: rng.uniform(0, 1, n),
    "falling": lambda rng, n: rng.beta(1, 6, n),
    "just above": lambda rng, n: np.clip(rng.normal(0.33, 0.03, n), 0, 1),
}


@pytest.mark.parametrize(("n_rows", "bands"), [(64, (16, 4)), (64, (64, 1)), (60, (7, 8)), (600, (100, 6))])
@pytest.mark.parametrize("similarity", [0.02, 0.3, 0.7])
def test_probability_against_simulated_signatures(n_rows, bands, similarity):
    b, r = bands
    agrees = np.random.default_rng(3).random((4000, n_rows)) < similarity
    has_band = agrees[:, : b * r].reshape(-1, b, r).all(axis=2).any(axis=1)
    for share in (0.0, similarity):
        fewest = int(share * n_rows)
        measured = float((has_band & (agrees.sum(axis=1) >= fewest)).mean())
        (found,) = probability_found(np.array([similarity]), np.array([fewest]), n_rows, bands)
        assert found == pytest.approx(measured, abs=0.025)


def test_ends_of_similarity():
    found = probability_found(np.array([0.0, 1.0]), np.array([0, 64]), 64, (8, 8))
    assert found == pytest.approx([0, 1], abs=1e-6)


def test_what_agrees_too_little_is_left_out():
    sizes = np.array([1.0, 1.0, 1.0, 0.5])
    fewest = fewest_agreeing(sizes, 1.0, 256, 0.95, is_counted=True)
    assert (np.array([255, 170, 90, 128]) >= fewest).tolist() == [False, False, False, True]
    assert fewest_agreeing(sizes, 1.0, 256, 1.0, is_counted=True).tolist() == [0] * 4
    assert fewest_agreeing(sizes, 1.0, 256, 1.0, is_counted=False).tolist() == [256, 256, 256, 128]


def test_uniform_recall_is_the_mean_over_the_columns_above_the_threshold():
    bands = choose_bands(128, 0.4, 8, 0.95)
    t = np.linspace(0.4, 1, 2001)
    ratio = np.full(t.size, 2**0.5)
    for is_counted in (True, False):
        fewest = fewest_agreeing(ratio, 0.4, 128, 0.95, is_counted)
        found = probability_found(jaccard_of(t, ratio, 1), fewest, 128, (bands.n_bands, bands.n_band_rows))
        stated = uniform_recall(128, 0.4, 2**0.5, bands, 0.95, is_counted)
        assert stated == pytest.approx(found.mean(), abs=2e-3)
    assert uniform_recall(128, 0.4, 2**0.5, bands, 0.95, True) < bands.recall


def test_no_columns_stand_for_none_and_many_for_all_of_them():
    none = np.empty(0, np.int64)
    assert number_behind(np.empty(0), none, 128, none, none) == 0
    n = np.full(1000, 16)
    every = number_behind(np.full(1000, 0.5), np.zeros(1000, np.int64), 128, n, np.full(1000, 4))
    (found,) = probability_found(np.array([0.5]), np.array([0]), 128, (16, 4))
    assert every == pytest.approx(1000 / found)


@pytest.fixture(scope="module", params=sorted(DISTRIBUTIONS))
def drawn(request, tmp_path_factory):
    """A query, a lake of 300 columns of known containment, drawn from a distribution."""
    rng = np.random.default_rng(11)
    query = np.array([f"q{i}" for i in range(N_QUERY)], object)
    frames, truth = {}, {}
    for i, share in enumerate(DISTRIBUTIONS[request.param](rng, 300).tolist()):
        own = rng.choice(query, int(share * N_QUERY), replace=False)
        size = max(int(N_QUERY * 2 ** rng.uniform(-1, 1.5)), own.size, 200)
        others = np.array([f"x{i}_{j}" for j in range(size - own.size)], object)
        frames[f"t{i:03d}"] = pd.DataFrame({"c": np.concatenate([own, others])})
        truth[f"t{i:03d}"] = own.size / N_QUERY
    settings = {"permutations": 128, "signature_min": 100}
    index = tmp_path_factory.mktemp("drawn") / "lake"
    return query, dfjoin.build_lake(frames, index, settings=settings, engine="inline", progress=False), truth


def test_the_recall_that_is_stated_is_the_one_that_is_measured(drawn):
    """Stated within 0.06 of what is measured, whatever the distribution: three standard errors of some 200 columns."""
    query, lake, truth = drawn
    df = pd.DataFrame({"q": query})
    for threshold in (0.1, 0.3):
        wanted = {table for table, share in truth.items() if share >= threshold}
        for recall in (0.7, 0.95):
            hits = df.discover_joinable("q", lake, mode="lsh", threshold=threshold, recall=recall, rank="matched")
            (search,) = hits.attrs["dfjoin"]["searches"]
            assert set(hits["table"]) <= wanted
            error = 3 * np.sqrt(0.2 / len(wanted))
            assert search["expected_recall"] == pytest.approx(len(hits) / len(wanted), abs=max(0.06, error))
