"""Naive joins: nested loops over rows, dicts of groups, comparison of columns row by row."""

import statistics
from collections import Counter

from tests.oracles import canonical


def nested_loop(left, right, how):
    """Pair the rows of two columns whose canonical values are equal.

    Parameters
    ----------
    left, right : list
        The keys.
    how : {"left", "inner", "right", "outer"}

    Returns
    -------
    list of (int or None, int or None)
        In the documented order, None for a side without a row.
    """
    left, right = [canonical(k) for k in left], [canonical(k) for k in right]
    pairs = []
    for i, a in enumerate(left):
        partners = [j for j, b in enumerate(right) if a is not None and a == b]
        pairs += [(i, j) for j in partners]
        if not partners and how in ("left", "outer"):
            pairs.append((i, None))
    if how in ("right", "outer"):
        used = {j for _, j in pairs}
        pairs += [(None, j) for j in range(len(right)) if j not in used]
    return pairs


def statistic(rule, values):
    """One statistic of the values of a key's rows in order, None for a null; None when there is none."""
    if rule in ("first", "last"):  # as the row has it, null or not
        return values[0 if rule == "first" else -1] if values else None
    values = [v for v in values if v is not None]
    if rule == "count":
        return len(values)
    if rule == "nunique":
        return len(set(values))
    if not values:
        return None
    if rule == "most_frequent":
        counts = Counter(values)
        return min(counts, key=lambda v: (-counts[v], v))
    if rule == "majority":
        return next((v for v, n in Counter(values).items() if 2 * n > len(values)), None)
    if rule == "std":
        return statistics.stdev(values) if len(values) > 1 else None
    return {
        "mean": lambda: sum(values) / len(values),
        "share": lambda: sum(values) / len(values),
        "sum": lambda: sum(values),
        "min": lambda: min(values),
        "max": lambda: max(values),
        "latest": lambda: max(values),
        "median": lambda: statistics.median(values),
    }[rule]()


def n_disagreeing(rows, chosen):
    """Count the rows (key, value) that have a value, and another one than was chosen for their key."""
    return sum(value is not None and (chosen[key] is None or differ(value, chosen[key])) for key, value in rows)


def differ(one, other):
    """Tell whether two values differ; fractions that differ by rounding do not."""
    if isinstance(one, float) or isinstance(other, float):
        return abs(one - other) > 1e-9 * abs(other)
    return one != other


def adds_columns(left, right, key, keeps_right_rows=False):
    """Tell whether a table brings a column that a frame does not have over the rows that find a partner.

    Parameters
    ----------
    left, right : dict of str -> list
        Columns of the frame and of the table.
    key : (str, str)
        Their key columns.
    keeps_right_rows : bool
        Whether rows of the table without a partner take part.
    """
    own = {name: [canonical(v) for v in values] for name, values in left.items()}
    theirs = {name: [canonical(v) for v in values] for name, values in right.items()}
    pairs = nested_loop(left[key[0]], right[key[1]], "inner")
    rows = sorted({i for i, _ in pairs})
    kept = range(len(theirs[key[1]])) if keeps_right_rows else sorted({j for _, j in pairs})
    for name, values in theirs.items():
        brought = {values[j] for j in kept} - {None}
        if name == key[1] or not brought:
            continue
        keys = {mine: {(own[key[0]][i], own[mine][i]) for i in rows if own[mine][i] is not None} for mine in own}
        several = [mine for mine in own if len(keys[mine]) >= 3 or mine.casefold() == name.casefold()]
        if not any(_is_there(own[mine], values, brought, rows, pairs) for mine in several):
            return True
    return False


def _is_there(mine, values, brought, rows, pairs):
    """Compare one column of the frame with one of the table."""
    held = {mine[i] for i in rows} - {None}
    if not held or not held <= brought:
        return False
    return all(any(values[j] == mine[i] for row, j in pairs if row == i) for i in rows if mine[i] is not None)
