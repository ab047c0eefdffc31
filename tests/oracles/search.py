"""Naive versions of what search does with candidate columns."""

__all__ = ["rank_columns"]


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
