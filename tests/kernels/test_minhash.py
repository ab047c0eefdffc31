"""Signatures against a naive MinHash, and what makes them MinHash: agreement in each row with the Jaccard similarity."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.records import Groups, Sets
from dfjoin.kernels.sets.minhash import sign_columns, sign_hashes
from tests.oracles.values import MASK, naive_signature

SEED = np.uint64(0x5DF0_A1B2_C3D4_E5F6)
N_TRIALS = 40 if config.DISABLE_JIT else 2000


hash_sets = st.sets(st.integers(0, MASK), max_size=30)


@given(hash_sets, st.sampled_from([1, 2, 7, 16]))
def test_signature_is_that_of_a_naive_minhash(hashes, n_rows):
    given_ = np.array(sorted(hashes), np.uint64)
    assert sign_hashes(given_, n_rows, SEED).tolist() == naive_signature(sorted(hashes), n_rows, SEED)


@given(hash_sets, st.randoms())
def test_the_order_of_the_values_does_not_matter(hashes, random):
    shuffled = sorted(hashes)
    random.shuffle(shuffled)
    one = sign_hashes(np.array(sorted(hashes), np.uint64), 16, SEED)
    assert one.tolist() == sign_hashes(np.array(shuffled, np.uint64), 16, SEED).tolist()


def test_another_seed_draws_anew(rng):
    hashes = rng.integers(0, 2**64, 500, dtype=np.uint64)
    one, other = sign_hashes(hashes, 128, SEED), sign_hashes(hashes, 128, np.uint64(7))
    assert np.count_nonzero(one == other) == 0


def test_no_rounds_are_played_in_vain(rng):
    """A set far larger than the signature is done after one round: every number of it is of that round."""
    hashes = rng.integers(0, 2**64, 4000, dtype=np.uint64)
    assert sign_hashes(hashes, 32, SEED).tolist() == naive_signature(hashes.tolist(), 32, SEED)


@pytest.mark.parametrize(
    ("n_query", "n_other", "n_shared"),
    [(300, 300, 100), (300, 1000, 250), (10, 1000, 8), (20, 20, 15), (256, 256, 230), (1, 1, 1), (40, 50, 0)],
)
def test_the_estimate_of_the_jaccard_similarity_is_unbiased(rng, n_query, n_other, n_shared):
    n_rows, n_union = 64, n_query + n_other - n_shared
    jaccard = n_shared / n_union
    estimates = []
    for _ in range(N_TRIALS):
        union = rng.integers(0, 2**64, n_union, dtype=np.uint64)
        one = sign_hashes(union[:n_query], n_rows, SEED)
        other = sign_hashes(union[n_query - n_shared :], n_rows, SEED)
        estimates.append(np.mean(one == other))
    independent = jaccard * (1 - jaccard) / n_rows  # variance with independent hash functions
    assert abs(np.mean(estimates) - jaccard) <= 4 * np.sqrt(independent / N_TRIALS) + 1e-12
    assert np.var(estimates) <= 1.2 * independent + 1e-12 or config.DISABLE_JIT


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="thousands of signatures")
@pytest.mark.parametrize(("n_bands", "n_band_rows"), [(16, 1), (20, 2), (32, 4), (128, 2), (8, 8)])
@pytest.mark.parametrize(("n_set", "n_shared"), [(300, 150), (2000, 800), (1000, 950)])
def test_a_band_agrees_as_often_as_independent_rows_would(rng, n_bands, n_band_rows, n_set, n_shared):
    jaccard = n_shared / (2 * n_set - n_shared)
    n_hits = 0
    for _ in range(N_TRIALS):
        union = rng.integers(0, 2**64, 2 * n_set - n_shared, dtype=np.uint64)
        agree = sign_hashes(union[:n_set], 256, SEED) == sign_hashes(union[n_set - n_shared :], 256, SEED)
        n_hits += bool(agree[: n_bands * n_band_rows].reshape(n_bands, n_band_rows).all(axis=1).any())
    expected = 1 - (1 - jaccard**n_band_rows) ** n_bands
    noise = 4 * np.sqrt(expected * (1 - expected) / N_TRIALS)
    assert abs(n_hits / N_TRIALS - expected) <= noise + 0.01


def test_columns_are_signed_as_their_sets_are(rng):
    """Column 0 holds private tokens and two lists, column 1 one list, column 2 nothing."""
    token_hash = np.sort(rng.integers(0, 2**64, 1500, dtype=np.uint64))
    group_tokens = rng.permutation(1500).astype(np.uint32)
    group_indptr = np.array([0, 600, 600, 600, 1000, 1500])  # private 0, 1, 2, then lists 0 and 1
    set_indptr, set_lists = np.array([0, 2, 3, 3]), np.array([0, 1, 1], np.uint32)
    groups, sets = Groups(group_indptr, group_tokens), Sets(set_indptr, set_lists)
    cardinality, columns = np.array([1500, 500, 0]), np.array([0, 1, 2], np.int32)
    signed = sign_columns(columns, token_hash, groups, sets, cardinality, 64, SEED)
    for row, tokens in zip(signed, (group_tokens, group_tokens[1000:], group_tokens[:0]), strict=True):
        assert row.tolist() == sign_hashes(token_hash[tokens], 64, SEED).tolist()
    assert set(signed[2].tolist()) == {0xFFFFFFFF}
    with pytest.raises(DamagedArraysError):
        sign_columns(columns, token_hash, groups, sets, cardinality - 1, 64, SEED)
