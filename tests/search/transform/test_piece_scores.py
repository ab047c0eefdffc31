"""Scores of columns by the pieces that they share with a query."""

import numpy as np
import pandas as pd
import pytest

from dfjoin.index.column_values import pack_values
from dfjoin.search.params import SearchParams, SearchStats
from dfjoin.search.query import make_query
from dfjoin.search.transform import piece_candidates
from dfjoin.search.transform.piece_candidates import HeldPieces, QueryPieces, order_columns, piece_bits, score_segments

OPTIONS = {"patterns": True}


def frames(first, last):
    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("etaoinshr"), 6)) for _ in range(400)]
    return {f"t{i:02}": pd.DataFrame({"c": words[8 * i : 8 * i + 40]}) for i in range(first, last)}


def scores(lake, query, **filters):
    """Names of the columns, best first, the evidence of each piece, and what was read."""
    values = make_query(pd.Series(query), lake.settings, name="q").values
    pieces = QueryPieces(pack_values(values.data, values.offsets, np.arange(len(values))), lake.settings.hash_seed)
    stats = SearchStats()
    held = HeldPieces(lake.segments, pieces)
    bits = piece_bits(held.counts, held.total)
    found = score_segments(held, pieces, bits, len(values), SearchParams(**filters), stats)
    order = order_columns(lake.segments, found)
    names = [
        lake.segments[number].catalog.table_name(column)
        for number, column in zip(found.segments[order].tolist(), found.columns[order].tolist(), strict=True)
    ]
    return names, bits, stats


@pytest.mark.parametrize("least", [1, 1 << 20])
def test_deleted_columns_count_in_no_score(build, monkeypatch, least):
    """Neither in how rare a piece is nor in how many postings the lake has."""
    monkeypatch.setattr(piece_candidates, "_LEAST_POSTINGS", least)
    every, kept = frames(0, 30), frames(0, 20)
    query = [f"{word} x" for word in kept["t05"]["c"]]
    lake, expected = build(every, settings=OPTIONS), build(kept, settings=OPTIONS)
    _, bits, _ = scores(lake, query)
    wanted_names, wanted_bits, wanted = scores(expected, query)
    lake.remove(sorted(set(every) - set(kept)))
    assert lake.segments[0].alive is not None
    for _ in range(2):
        own_names, own_bits, stats = scores(lake, query)
        assert own_names == wanted_names and np.array_equal(own_bits, wanted_bits)
        assert stats == wanted
        lake.compact(full=True)
    if least == 1:
        assert not np.array_equal(bits, wanted_bits), "the deleted columns would make a difference"
    assert own_names[0] == "t05"


def test_order_among_equal_scores_is_that_of_names_across_segments(build):
    same = frames(5, 6)["t05"]
    lake = build(dict.fromkeys(("z", "B"), same), settings=OPTIONS)
    lake.add(dict.fromkeys(("a", "é"), same), engine="inline", progress=False)
    assert len(lake.segments) == 2
    names, _, _ = scores(lake, [f"{word} x" for word in same["c"]])
    assert names == ["B", "a", "z", "é"]


def test_filters_take_columns_out_and_leave_the_evidence(build):
    lake = build(frames(0, 20), settings=OPTIONS)
    query = [f"{word} x" for word in frames(5, 6)["t05"]["c"]]
    names, bits, _ = scores(lake, query)
    some, same_bits, _ = scores(lake, query, exclude=("t05",))
    assert some == [name for name in names if name != "t05"] and np.array_equal(bits, same_bits)
