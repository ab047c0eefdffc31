"""Naive references: dicts, sets and loops, written from the design and not from the code.

Nothing here imports kernels, search or values.
"""

import datetime
import re
import unicodedata

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.0+)?")


def canonical_text(text):
    """The canonical form of a text that is no date: NFKC, white space, casefold, plain integers."""
    text = unicodedata.normalize("NFKC", text)
    text = " ".join(text.split()).casefold()
    if _INTEGER.fullmatch(text):
        digits = text.partition(".")[0]
        return "0" if digits == "-0" else digits
    return text


def canonical(value):
    """The canonical form of one Python value, None for a null."""
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, datetime.datetime):
        if (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0):
            return value.date().isoformat()
        return value.isoformat().casefold()
    if isinstance(value, datetime.date):
        return value.isoformat()
    text = canonical_text(value)
    return text or None


def value_set(values):
    """The distinct canonical values of a column."""
    return {c for v in values if (c := canonical(v)) is not None}


def rank(query, columns, k=None, threshold=None, weights=None):
    """Exact join discovery by comparing the query with every column.

    Parameters
    ----------
    query : set of str
    columns : dict of (table, column) -> set of str
        The indexed columns.
    k, threshold
        As in discover_joinable; both None: k = 10.
    weights : dict of str -> int, optional
        Rows of each query value: rank by rows.

    Returns
    -------
    list of (table, column, matched)
        In the order of results; matched rows when there are weights.
    """
    if k is None and threshold is None:
        k = 10
    total = sum(weights.values()) if weights else len(query)
    found = []
    for (table, column), values in columns.items():
        shared = query & values
        score = sum(weights[v] for v in shared) if weights else len(shared)
        if score >= 1 and (threshold is None or score / total >= threshold):
            found.append((-score, len(values), table.encode(), column.encode(), table, column))
    found.sort()
    return [(t, c, -score) for score, _, _, _, t, c in found[:k]]
