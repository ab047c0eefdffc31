"""Learned joins: the probability that chance explains a number of hits."""

import math
from itertools import combinations, permutations


def binomial_tail(k, n, p):
    """The probability of at least k hits among n, each of probability p, term by term."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def line_hits(xs, ys, decimals):
    """The most numbers of `xs` that one line through two pairs of numbers carries to numbers of `ys`, rounded."""
    best = 0
    for x1, x2 in combinations(xs, 2):
        for y1, y2 in permutations(ys, 2):
            scale = (y2 - y1) / (x2 - x1)
            made = {round(y1 + scale * (x - x1), decimals) for x in xs}
            best = max(best, len(made & {round(y, decimals) for y in ys}))
    return best
