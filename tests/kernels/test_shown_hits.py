"""Families and the columns that tables bring, against plain loops over lists."""

import numpy as np
import pytest

from dfjoin.kernels.lists.evidence import Families, FoldedHits, TableColumns, fold_families, list_new_columns

COUNTED = ("useful", "matched", "n_rows")


def naive_fold(order, hits, limit):
    """Families as lists of places, and the places of each of which one stands first."""
    keys, number, found = list(zip(hits.family.tolist(), hits.content.tolist(), strict=True)), {}, []
    rest = set(range(len(keys)))
    for place in order:
        family, content = keys[place]
        known = number.get(family, number.get(content))
        if known is None:
            if len(found) == limit:
                break
            known = len(found)
            found.append([])
        number[family] = number[content] = known
        found[known].append(place)
        rest.remove(place)
    for part in (0, 1):
        for place in sorted(rest):
            if keys[place][part] in number:
                found[number[keys[place][part]]].append(place)
                rest.remove(place)
    return found, [naive_first(own, hits) for own in found]


def naive_first(own, hits):
    near = [p for p in own if hits.useful[p] >= 0.95 * max(hits.useful[q] for q in own)]
    near = [p for p in near if hits.matched[p] == max(hits.matched[q] for q in near)][:200]
    return [p for p in near if hits.n_rows[p] == max(hits.n_rows[q] for q in near)]


def fold(order, hits, limit):
    n, size = hits.useful.size, 1 << int(4 * order.size + 15).bit_length()
    indptr, members, first, n_first = np.zeros(limit + 1, np.int64), np.full(n, -1), np.full(n, -1), np.full(limit, -1)
    keys, numbers = np.empty(size, np.uint64), np.zeros(size, np.int32)
    families = Families(indptr, members, first, n_first, np.zeros(n, np.int32), keys, numbers)
    n_families = fold_families(order, hits, limit, families)
    ends = indptr[: n_families + 1].tolist()
    spans = list(zip(ends, ends[1:], strict=False))
    assert ends[0] == 0
    found = [members[a:b].tolist() for a, b in spans]
    firsts = [first[a : a + m].tolist() for (a, _), m in zip(spans, n_first.tolist(), strict=False)]
    return found, [[own[i] for i in heads] for own, heads in zip(found, firsts, strict=True)]


def some_hits(rng, n, n_keys):
    useful = np.round(rng.random(n), 1)
    matched, n_rows = (rng.integers(1, 4, n) for _ in range(2))
    family, content = (rng.integers(0, n_keys, n).astype(np.uint64) << np.uint64(shift) for shift in (0, 40))
    return FoldedHits(useful, matched, n_rows, family, content)


@pytest.mark.parametrize("n", [0, 1, 7, 60, 400])
@pytest.mark.parametrize("n_keys", [1, 5, 300])
@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_families_are_those_of_a_plain_loop(rng, n, n_keys, limit):
    hits = some_hits(rng, n, n_keys)
    order = np.lexsort((np.arange(n), -hits.useful))
    for read in (order, order[: n // 2]):
        assert fold(read, hits, min(limit, read.size)) == naive_fold(read.tolist(), hits, limit)


def test_a_shared_content_joins_two_families_from_there_on():
    hits = FoldedHits(
        np.ones(4), np.ones(4, np.int64), np.arange(4), *np.array([[1, 2, 2, 1], [8, 9, 8, 9]], np.uint64)
    )
    assert fold(np.arange(4), hits, 4) == ([[0, 3], [1, 2]], [[3], [2]])


def test_rows_of_two_hundred_members_that_share_the_most_are_compared():
    matched = np.where(np.arange(300) == 5, 1, 2)
    hits = FoldedHits(np.ones(300), matched, np.arange(300), *np.ones((2, 300), np.uint64))
    assert fold(np.arange(300), hits, 1) == ([list(range(300))], [[200]])


def naive_new_columns(column, tables, known, limit):
    table = tables.table_of[column]
    held = [
        (tables.is_late[c], tables.positions[c], c)
        for c in range(tables.first[table], tables.first[table] + tables.width[table])
        if c != column and tables.positions[c] >= 0 and (tables.headers[c] == 0 or tables.headers[c] not in known)
    ]
    return [c for *_, c in sorted(held)][:limit], len(held)


@pytest.mark.parametrize("limit", [1, 3, 8])
def test_new_columns_come_in_the_order_of_the_file_and_late_ones_behind(rng, limit):
    width = np.array([1, 5, 30, 0, 12])
    first, n = np.cumsum(width) - width, int(width.sum())
    positions = np.concatenate([rng.permutation(w) for w in width]).astype(np.int32)
    positions[rng.random(n) < 0.1] = -1
    headers, is_late = rng.integers(0, 9, n).astype(np.uint64), (rng.random(n) < 0.3).astype(np.uint8)
    tables = TableColumns(np.repeat(np.arange(5), width).astype(np.int32), first, width, headers, positions, is_late)
    for known in (np.empty(0, np.uint64), np.array([0, 2, 5], np.uint64)):
        columns = rng.permutation(n)
        chosen, counts = np.empty((n, limit), np.int64), np.empty(n, np.int64)
        list_new_columns(columns, tables, known, chosen, counts)
        for column, own, count in zip(columns.tolist(), chosen.tolist(), counts.tolist(), strict=True):
            assert (own[: min(count, limit)], count) == naive_new_columns(column, tables, known, limit)
