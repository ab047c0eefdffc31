"""How many bands of how many rows a partition is asked for."""

import numpy as np
import pytest

from dfjoin.search.lsh.bands import choose_bands, containment_of, jaccard_of, ratio_classes, standard_error


class TestTuning:
    def test_translations_are_inverse(self):
        sizes = np.array([10, 100, 5000])
        for t in (0.05, 0.1):
            assert containment_of(jaccard_of(t, sizes, 100), sizes, 100) == pytest.approx(t)
        assert containment_of(0.9, 10, 100) == 0.1

    def test_without_a_bound_it_is_the_pair_with_the_fewest_errors(self):
        """Equation 2.26 over all pairs, on thin slices."""
        upper, t = 2.0 ** (8 / 16), (np.arange(20_000) + 0.5) / 20_000
        s = t / (upper + 1 - t)

        def errors(b, r):
            found = 1 - (1 - s**r) ** b
            return float(np.mean(np.where(t < 0.5, found, 1 - found)))

        bands = choose_bands(64, 0.5, 8, 0.0)
        best = min(errors(b, r) for r in range(1, 65) for b in range(1, 64 // r + 1))
        assert errors(bands.n_bands, bands.n_band_rows) <= best + 0.005

    @pytest.mark.parametrize("recall", [0.5, 0.9, 0.99])
    @pytest.mark.parametrize("threshold", [0.0, 0.3, 0.95, 1.0])
    def test_the_recall_is_reached_where_it_can_be(self, threshold, recall):
        for ratio in (-16, 0, 3, 40):
            bands = choose_bands(256, threshold, ratio, recall)
            most = choose_bands(256, threshold, ratio, 1.0)
            if 2.0 ** (ratio / 16) < threshold:
                assert bands.n_bands == 0
                continue
            assert 0 < bands.n_bands * bands.n_band_rows <= 256
            assert (most.n_bands, most.n_band_rows) == (256, 1)
            assert bands.recall >= min(recall, most.recall) - 1e-9

    def test_a_threshold_of_one_still_finds_equal_columns(self):
        bands = choose_bands(256, 1.0, 0, 0.95)
        assert bands.recall > 0.99

    def test_ratios_are_rounded_up(self):
        for size, n_query in ((100, 100), (101, 100), (7, 1000), (10**9, 3)):
            upper = 2.0 ** (ratio_classes(np.array([size]), n_query)[0] / 16)
            assert upper >= min(size / n_query, 2**14) - 1e-6 and upper <= max(2**-14, size / n_query * 1.05)

    def test_standard_error_against_simulation(self, rng):
        s, m, sizes = 0.3, 256, 400
        drawn = containment_of(rng.binomial(m, s, 20_000) / m, sizes, 300)
        assert np.std(drawn) == pytest.approx(standard_error(s, sizes, 300, m), rel=0.05)
