"""Families and the columns that tables bring, against plain loops over lists."""

import numpy as np
import pytest

from dfjoin.kernels.lists.evidence import (
    N_ROWS,
    NAME,
    Families,
    FoldedHits,
    TableColumns,
    fold_families,
    list_new_columns,
)


def naive_fold(hits, limit):
    """Families as lists of places, the one first that stands for each, and the places that were read."""
    keys, number, found, read = [tuple(row[:2]) for row in hits.columns.tolist()], {}, [], []
    for place in sorted(range(len(keys)), key=lambda p: naive_key(p, hits)):
        family, content = keys[place]
        known = number.get(family, number.get(content))
        if known is None:
            if len(found) == limit:
                break
            known = len(found)
            found.append([])
        number[family] = number[content] = known
        found[known].append(place)
        read.append(place)
    rest = set(range(len(keys))) - set(read)
    for part in (0, 1):
        for place in sorted(rest):
            if keys[place][part] in number:
                found[number[keys[place][part]]].append(place)
                rest.remove(place)
    for own in found:
        own.insert(0, own.pop(own.index(naive_first(own, hits))))
    return found, read


def naive_key(p, hits):
    return -hits.useful[p], -hits.matched[p], hits.cardinality[p], hits.columns[p, NAME]


def naive_first(own, hits):
    near = [p for p in own if hits.useful[p] >= 0.95 * max(hits.useful[q] for q in own)]
    near = [p for p in near if hits.matched[p] == max(hits.matched[q] for q in near)][:200]
    near = [p for p in near if hits.columns[p, N_ROWS] == max(hits.columns[q, N_ROWS] for q in near)]
    return max(near, key=lambda p: hits.columns[p, NAME])


def fold(hits, limit):
    n, size = hits.useful.size, 1 << int(4 * hits.useful.size + 15).bit_length()
    indptr, members, heap = np.zeros(limit + 1, np.int64), np.full(n, -1), np.full(n, -1)
    families = Families(
        indptr, members, heap, np.zeros(n, np.int32), np.empty(size, np.int64), np.zeros(size, np.int32)
    )
    n_families, n_read = fold_families(hits, limit, families)
    ends = indptr[: n_families + 1].tolist()
    assert ends[0] == 0
    return [members[a:b].tolist() for a, b in zip(ends, ends[1:], strict=False)], heap[::-1][:n_read].tolist()


def hits_of(useful, matched, cardinality, *columns):
    counts = np.array(matched, np.int64), np.array(cardinality, np.int64)
    return FoldedHits(np.array(useful, float), *counts, np.column_stack(columns).astype(np.int64))


def some_hits(rng, n, n_keys):
    matched, cardinality, n_rows = (rng.integers(1, 4, n) for _ in range(3))
    family, content = (rng.integers(0, n_keys, n) << shift for shift in (0, 40))
    return hits_of(np.round(rng.random(n), 1), matched, cardinality, family, content, n_rows, rng.permutation(n))


@pytest.mark.parametrize("n", [0, 1, 7, 60, 400])
@pytest.mark.parametrize("n_keys", [1, 5, 300])
@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_families_are_those_of_a_plain_loop(rng, n, n_keys, limit):
    hits = some_hits(rng, n, n_keys)
    assert fold(hits, min(limit, n)) == naive_fold(hits, min(limit, n))


def test_a_shared_content_joins_two_families_from_there_on():
    ones = np.ones(4)
    hits = hits_of(ones, ones, ones, [1, 2, 2, 1], [8, 9, 8, 9], range(4), range(4))
    assert fold(hits, 4) == ([[3, 0], [2, 1]], [0, 1, 2, 3])


def test_rows_of_two_hundred_members_that_share_the_most_are_compared():
    ones, matched = np.ones(300), np.where(np.arange(300) == 5, 1, 2)
    hits = hits_of(ones, matched, ones, ones, ones, range(300), range(300))
    own = [p for p in range(300) if p != 5] + [5]
    assert fold(hits, 1) == ([[own[199], *own[:199], *own[200:]]], own)


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
    for own, companions in ((0, []), (7, []), (7, [0, 2, 5])):
        known, frame = {own, *companions} - {0}, (np.uint64(own), np.array(companions, np.uint64))
        columns = rng.permutation(n)
        chosen, counts = np.empty((n, limit), np.int64), np.empty(n, np.int64)
        list_new_columns(columns, tables, *frame, chosen, counts)
        for column, found, count in zip(columns.tolist(), chosen.tolist(), counts.tolist(), strict=True):
            assert (found[: min(count, limit)], count) == naive_new_columns(column, tables, known, limit)
