"""Naive versions of what search does with candidate columns."""

from itertools import permutations

__all__ = ["match_tuples", "rank_columns"]


def rank_columns(names, keys, k=None):
    """Sort columns by their keys, then by the names of table and column.

    Parameters
    ----------
    names : list of (table, column)
    keys : list of tuple
    k : int, optional

    Returns
    -------
    list of int
        Places of the columns, best first.
    """
    return sorted(range(len(names)), key=lambda i: (keys[i], names[i]))[:k]


def match_tuples(query, tables, normalise):
    """Count the distinct tuples of a key that stand in one row of each table, on the best choice of its columns.

    Parameters
    ----------
    query : list of tuple
        The key of each row of the frame.
    tables : dict of str to dict of str to list
        Table → column → cells.
    normalise : callable
        Cell → canonical value, None for a null.

    Returns
    -------
    list of (int, int, str, tuple of str)
        Shared tuples, distinct tuples of the table, table, columns; best first.
    """
    own = {key for key in (tuple(map(normalise, row)) for row in query) if None not in key}
    n_parts = len(query[0]) if query else 1
    found = []
    for table, columns in tables.items():
        ways = []
        for names in permutations(columns, n_parts):
            rows = list(zip(*(columns[name] for name in names), strict=True))
            theirs = {key for key in (tuple(map(normalise, row)) for row in rows) if None not in key}
            if own & theirs:
                ways.append((-len(own & theirs), len(theirs), names))
        if ways:
            best = min(ways)
            found.append((-best[0], best[1], table, best[2]))
    return sorted(found, key=lambda one: (-one[0], one[1], one[2], one[3]))
