"""Distances of spelling, naively: edits, and sets of 3-grams."""

from tests.oracles.fuzzy import edit_distance


def grams(text):
    """The 3-grams of a text with two marks before and behind it."""
    marked = ["", "", *text, "", ""]
    return {tuple(marked[i : i + 3]) for i in range(len(text) + 2)}


def spelling_distance(a, b, metric, unit):
    """The distance of two texts in the unit of a radius."""
    if metric == "jaccard":
        one, other = grams(a), grams(b)
        return 1 - len(one & other) / len(one | other)
    return edit_distance(a, b) / max(len(a), len(b)) if unit == "fraction" else edit_distance(a, b)
