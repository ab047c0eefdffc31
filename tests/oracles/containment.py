"""Set containment as it is defined: every pair of sets is compared."""

import numpy as np


def sets_of(collection):
    """The sets of a collection as Python sets; None for a row without one."""
    found = [
        frozenset(collection.elements[a:b].tolist())
        for a, b in zip(collection.indptr[:-1].tolist(), collection.indptr[1:].tolist(), strict=True)
    ]
    if collection.is_absent is not None:
        found = [None if absent else one for one, absent in zip(found, collection.is_absent.tolist(), strict=True)]
    return found


def naive_pairs(left, right, threshold=1.0, weights=None):
    """Sorted (left, right, matched) of all pairs whose containment reaches the threshold; matched may be weighted."""

    def weigh(elements):
        return sum(1 if weights is None else int(weights[e]) for e in elements)

    found = []
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            if a is None or b is None:
                continue
            matched = weigh(a & b)
            if not a or (matched and matched / weigh(a) >= threshold):
                found.append((i, j, matched))
    return found


def random_sets(rng, n, n_elements, largest, skew):
    """Offsets and elements of random sets: skewed, some empty, some of one element, some equal."""
    weights = 1 / np.arange(1, n_elements + 1) ** skew
    sizes = rng.integers(0, largest + 1, n)
    sets = [np.unique(rng.choice(n_elements, size, p=weights / weights.sum())) for size in sizes.tolist()]
    for i in range(0, n - 1, 5):
        sets[i + 1] = sets[i]
    indptr = np.append(0, np.cumsum([one.size for one in sets])).astype(np.int64)
    return indptr, np.concatenate([*sets, np.empty(0, np.int64)]).astype(np.int64)
