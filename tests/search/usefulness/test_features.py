"""Features of candidates against plain sets, over a lake of numbers and texts under telling and generic names."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dfjoin.kernels.lists.usefulness import FEATURES, GAIN, N_SCORES, OF_HEADER, OF_TABLE, SCORE, score_candidates
from dfjoin.search.exact.searcher import MatchedQuery
from dfjoin.search.params import search_params
from dfjoin.search.query import make_query
from dfjoin.search.usefulness import features
from dfjoin.search.usefulness.features import count_evidence, features_of, query_facts, scores_of
from dfjoin.search.usefulness.lake_facts import facts_of, tables_of
from dfjoin.search.usefulness.model import model
from tests.oracles import usefulness as oracle

TOWNS = [f"town {a}{b}" for a in "klmnpr" for b in "aeiou"]
TABLES = {
    "species": {"id": range(1, 21), "name": TOWNS[:20], "weight": range(300, 320)},
    "towns": {"town": TOWNS, "people": range(900, 930), "year": [1990 + i % 9 for i in range(30)]},
    "visits": {"species_id": [1 + i % 12 for i in range(40)], "town": (TOWNS * 2)[:40], "day": range(40)},
    "scores": {"score": ["1-0", "2-1", "0-0", "3-2"], "town": TOWNS[:4]},
    "codes": {"code": ["0071", "0072", "kx9", "zz"], "town_code": TOWNS[5:9]},
    "years": {"year": range(1980, 2004), "total": range(24)},
    "customers": {"customer_number": [70211, 70954, 71002, 74440, 79001], "house_no": ["1", "2", "3b", "9", "11"]},
    "generals": {"number": [*map(str, range(1, 12)), "acting"], "general": TOWNS[:12]},
    "widths": {"width": ["02", "05", "07", "99", "3"], "points": [4, 5, 6, 7, 70211]},
}
FRAMES = {
    "plain": {"town": TOWNS[3:25], "people": range(22)},
    "foreign": {"species_id": [1, 2, 3, 5, 8, 8], "note": TOWNS[:6]},
    "years": {"year": [1985, 1990, 1990, 2000], "weight": range(4)},
    "results": {"score": ["1-0", "2-1", "5-5"], "x": TOWNS[:3]},
    "generic": {"code": ["0071", "kx9", "qq"], "name": TOWNS[:3]},
    "digits": {"2010": TOWNS[:9], "town": TOWNS[1:10]},
    "serial": {"no": range(1, 30), "town": TOWNS[:29]},
    "padded": {"nr": [f"{i:02d}" for i in range(1, 20)], "town": TOWNS[:19]},
    "short": {"spec": [1, 2, 3, 5, 8, 8], "cust_no": [70211, 70954, 71002, 70211, 70211, 90000]},
    "mixed": {"house": ["1", "2", "7", "12a"], "x": TOWNS[:4]},
    "worded": {"tie no": [*map(str, range(1, 9)), "EF"], "town": TOWNS[:9]},
    "one": {"town": [TOWNS[3]] * 2, "people": [907, 907]},
}


def asked(lake, frame, label):
    """What features are computed of: the snapshot, the facts of a query column, and the evidence of every candidate."""
    snapshot = lake.snapshot
    query = replace(make_query(frame[label], snapshot.settings), companions=tuple(frame.columns))
    evidence, _ = count_evidence(snapshot, MatchedQuery(snapshot, query.values), search_params(threshold=0.0))
    return snapshot, query_facts(query), evidence


def computed(lake, frame, label):
    """Table and column of every candidate → its features."""
    snapshot, facts, evidence = asked(lake, frame, label)
    rows, _ = features_of(snapshot, facts, evidence, model().numbers)
    scores = scores_of(snapshot, facts, evidence, model().numbers)
    assert (scores == model().scores(rows)).all()  # whether the features are kept or not
    found = {}
    for number, column, row in zip(evidence.hits.segments, evidence.hits.columns, rows, strict=True):
        catalog = snapshot.segments[number].catalog
        found[catalog.table_name(int(column)), catalog.column_name(int(column))] = dict(zip(FEATURES, row, strict=True))
    return found


@pytest.fixture(params=["one segment", "two segments"])
def lake(request, build):
    frames = {name: pd.DataFrame(columns) for name, columns in TABLES.items()}
    if request.param == "one segment":
        return build(frames)
    lake = build(dict(list(frames.items())[:3]))
    lake.add(dict(list(frames.items())[3:]), engine="inline", progress=False)
    return lake


def texts(values):
    return [str(value) for value in values]


def test_features_are_those_of_plain_sets(lake):
    columns = {(t, c): texts(values) for t, one in TABLES.items() for c, values in one.items()}
    n_compared = 0
    for frame in FRAMES.values():
        for label, values in frame.items():
            own = texts(values)
            holding = {v: sum(v in held for held in columns.values()) for v in own}
            usual = {v: oracle.usual_holding(v, n, len(columns)) for v, n in holding.items()}
            found = computed(lake, pd.DataFrame(frame), label)
            assert set(found) == {key for key, held in columns.items() if set(held) & set(own)}
            for (table, header), row in found.items():
                candidate = header, columns[table, header]
                headers = list(TABLES[table])
                is_number = [oracle.is_number(columns[table, h]) for h in headers]
                expected = oracle.features((label, own), list(frame), candidate, table, headers, usual)
                expected |= {"series": 0.0, "number_columns": sum(is_number) / len(headers), "same_folder": 0.0}
                expected |= {"unnamed_numbers": oracle.unnamed_numbers((label, own), candidate)}
                expected |= oracle.number_features((label, own), candidate, table)
                assert set(expected) == set(FEATURES)
                for name, value in expected.items():
                    assert math.isclose(row[name], value, rel_tol=1e-3, abs_tol=1e-3), (
                        label,
                        table,
                        header,
                        name,
                        row[name],
                        value,
                    )
                n_compared += 1
    assert n_compared > 40


def test_no_score_that_is_shown_changes_where_names_of_others_are_not_read(lake):
    n_unread = 0
    for frame in FRAMES.values():
        for label in frame:
            given = asked(lake, pd.DataFrame(frame), label)
            every = scores_of(*given, model().numbers)
            for smallest in (0.1, 0.5, 0.9):
                found = scores_of(*given, model().numbers, smallest)
                is_shown = every[SCORE] >= smallest
                assert (found[:, is_shown] == every[:, is_shown]).all()
                assert (found[SCORE, ~is_shown] < smallest).all() and (found[SCORE] >= every[SCORE]).all()
                n_unread += int(np.count_nonzero(found[GAIN] == 0))
    assert n_unread > 10


def test_the_bound_of_a_score_knows_each_feature_of_it(lake):
    """What only names or the table tell, and is missing in these lists, would be that of another candidate, or chance."""
    n_bounded = 0
    for frame in FRAMES.values():
        for label in frame:
            for _, inputs in features._by_segment(*asked(lake, pd.DataFrame(frame), label), model().numbers, 1.0):
                sums, weight = inputs.evidence
                for i in range(inputs.columns.size):
                    one = inputs._replace(columns=inputs.columns[i : i + 1], evidence=(sums[i : i + 1], weight))
                    known, scores = np.full((1, len(FEATURES)), np.nan), np.empty((N_SCORES, 1))
                    score_candidates(*one, known, scores)
                    if scores[GAIN, 0] == 0:
                        n_bounded += 1
                        unread = {name for name in model().score.names if np.isnan(known[0, FEATURES.index(name)])}
                        assert unread <= {FEATURES[j] for j in (*OF_HEADER, *OF_TABLE)}
    assert n_bounded > 20


def test_a_query_without_values_has_no_candidates_and_no_features(lake):
    for values in ([], ["not there"]):
        assert computed(lake, pd.DataFrame({"a": pd.Series(values, dtype=object)}), "a") == {}


def test_the_facts_of_a_segment_are_made_once(build):
    segment = build({name: pd.DataFrame(columns) for name, columns in TABLES.items()}).snapshot.segments[0]
    facts = facts_of(segment)
    assert facts_of(segment) is facts and facts.n_tables == len(TABLES)


@pytest.mark.parametrize(
    ("names", "headers", "is_one"),
    [
        (("s/2019", "s/2020"), (["a", "b", "c", "d", "e"], ["e", "d", "c", "b", "a"]), True),
        (("s/x_2019", "s/x_2020"), (["a", "b"], ["a", "b"]), True),
        (("s/rivers", "s/mountains"), (["a", "b"], ["a", "b"]), False),
        (("s/rivers", "s/mountains"), (["a", "b", "c", "d", "e"], ["a", "b", "c", "d", "e"]), True),
        (("s/2019", "t/2019"), (["a", "b", "c", "d", "e"], ["a", "b", "c", "d", "e"]), False),
        (("s/2019", "s/2020"), (["a", "b", "c", "d", "e"], ["a", "b", "c", "d", "f"]), False),
    ],
)
def test_families_are_tables_of_one_folder_and_schema(build, names, headers, is_one):
    frames = {n: pd.DataFrame({h: ["u", "v", n] for h in own}) for n, own in zip(names, headers, strict=True)}
    first, second = facts_of(build(frames).snapshot.segments[0]).family
    assert (first == second) == is_one


def test_tables_of_one_family_are_counted_over_all_segments_without_removed_ones(build):
    frames = {f"s/{year}": pd.DataFrame({h: [h, str(year)] for h in "abcde"}) for year in range(2018, 2023)}
    lake = build(dict(list(frames.items())[:3]) | {"other": pd.DataFrame({"a": ["a", "x"]})})
    lake.add(dict(list(frames.items())[3:]), engine="inline", progress=False)
    lake.remove("s/2018")
    first, second = (one.series for one in tables_of(lake.snapshot).numbers)
    assert tables_of(lake.snapshot) is tables_of(lake.snapshot)
    names = [t for segment in lake.snapshot.segments for t in segment.catalog.table_names()]
    told = dict(zip(names, np.concatenate([first, second]).tolist(), strict=True))
    assert {name: round(math.exp(value)) for name, value in told.items() if name != "s/2018"} == {
        "other": 1, "s/2019": 4, "s/2020": 4, "s/2021": 4, "s/2022": 4,
    }  # fmt: skip
