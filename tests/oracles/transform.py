"""Learned joins: the probability that chance explains a number of hits."""

import math


def binomial_tail(k, n, p):
    """The probability of at least k hits among n, each of probability p, term by term."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
