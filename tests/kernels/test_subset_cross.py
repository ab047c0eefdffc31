"""Cross-cutting intersection on the running example of the paper."""

import numpy as np

from dfjoin.containment.lcjoin.tree_join import cross_pairs, tree_pairs
from dfjoin.containment.set_collection import encode_sides

LEFT = [[1, 2, 3, 4], [2, 3, 5], [1, 2, 5, 6]]
RIGHT = [[1, 3, 4, 5, 6], [1, 3, 5], [1, 2, 3, 4, 6], [2, 4, 5, 6], [2, 3, 4, 5, 6], [2, 3, 4, 6], [1, 2, 3, 6]]


def test_the_running_example_gives_its_two_pairs():
    sides = encode_sides(LEFT, RIGHT)
    for method in (cross_pairs, tree_pairs):
        (part,) = method(*sides)
        order = np.argsort(part.left)
        assert part.left[order].tolist() == [0, 1]
        assert part.right[order].tolist() == [2, 4]
        assert part.matched[order].tolist() == [4, 3]
