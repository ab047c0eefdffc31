"""Distances of spelling, naively: edits, and sets of 3-grams."""

import re

from tests.oracles.fuzzy import edit_distance


def grams(text):
    """The 3-grams of a text with two marks before and behind it."""
    marked = ["", "", *text, "", ""]
    return {tuple(marked[i : i + 3]) for i in range(len(text) + 2)}


def sorted_words(text):
    """The distinct words of a text in the order of their characters; what is no letter or digit of ASCII ends one."""
    return " ".join(sorted(set(re.findall(r"[0-9A-Za-z\u0080-\u1fff\u2070-\U0010ffff]+", text))))


def spelling_distance(a, b, metric, unit):
    """The distance of two texts in the unit of a radius."""
    if metric == "tokens":
        return spelling_distance(sorted_words(a), sorted_words(b), "edit", unit)
    if metric == "jaccard":
        one, other = grams(a), grams(b)
        return 1 - len(one & other) / len(one | other)
    return edit_distance(a, b) / max(len(a), len(b)) if unit == "fraction" else edit_distance(a, b)
