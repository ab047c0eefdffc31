"""Cells: each vector in one, by falling cosine; the same vectors give the same cells; arrays that do not fit."""

import numpy as np
import pytest

from dfjoin.vectors import near_cells as vector_cells
from dfjoin.vectors.embedders import unit_rows
from dfjoin.vectors.near_cells import build_cells, caps_of, make_cells


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return unit_rows(rng.normal(size=(30, 12))[rng.integers(0, 30, 3000)] + rng.normal(size=(3000, 12)) * 0.1)


def test_each_vector_is_in_one_cell_by_falling_cosine(rows, monkeypatch):
    monkeypatch.setattr(vector_cells, "_OF_CELL", 100)
    steps = []
    cells, order = build_cells(rows, steps.append)
    assert sorted(order.tolist()) == list(range(3000)) and steps[-1] == 1.0 and steps == sorted(steps)
    indptr, cosines = cells.blocks.indptr, cells.blocks.cosines
    assert 20 <= indptr.size - 1 <= 45
    np.testing.assert_allclose(np.linalg.norm(cells.centers, axis=1), 1, atol=1e-6)
    for center, first, last in zip(cells.centers, indptr, indptr[1:], strict=False):
        own = cosines[first:last]
        assert (np.diff(own) <= 0).all()
        np.testing.assert_allclose(own, rows[order[first:last]] @ center, atol=1e-6)
    near_own = np.array(cosines).mean()
    assert near_own > 0.9  # clusters are found
    again, same = build_cells(rows)
    np.testing.assert_array_equal(same, order)
    np.testing.assert_array_equal(again.centers, cells.centers)


def test_the_cap_of_a_radius_is_on_the_safe_side():
    for radius in (0.0, 0.1, 1.0, 1.9, 2.0, 3.0):
        several = caps_of(np.array([radius / 2, radius]), 64)
        cap = several.widest
        assert (cap.cosine, cap.sine, cap.radius) == (several.cosines[1], several.sines[1], radius)
        assert -1 <= cap.cosine <= max(-1.0, 1 - radius**2 / 2) and 0 < cap.error < 1e-4
        assert cap.sine**2 + cap.cosine**2 >= 1


def test_arrays_that_do_not_fit_are_refused(rows):
    cells, _ = build_cells(rows)
    parts = cells.blocks
    blocks = parts.words.reshape(-1, 10, 64)
    arrays = {"centers": cells.centers, "blocks": blocks, "indptr": parts.indptr, "cosines": parts.cosines}
    assert make_cells(cells.projection, **arrays).blocks.indptr is not None
    for changed in (
        {"centers": cells.centers[:-1]},
        {"centers": cells.centers[:, :-1]},
        {"blocks": blocks[:-1]},
        {"indptr": parts.indptr[::-1].copy()},
        {"indptr": parts.indptr + 1},
        {"cosines": parts.cosines[:-70]},
    ):
        with pytest.raises(ValueError, match=r"do not (hold|divide)"):
            make_cells(cells.projection, **(arrays | changed))
