"""The evidence in words says what the numbers mean."""

import pandas as pd

LANDS = ["Switzerland", "Germany", "Netherlands", "Liechtenstein", "Azerbaijan", "Mozambique"]


def test_the_rarity_of_values_is_told_of_a_usual_lake(build):
    lake = build({"lands": pd.DataFrame({"land": LANDS, "area": range(70, 76)})})
    told = pd.DataFrame({"country": LANDS}).discover_joinable("country", lake, min_score=0).explain(0)
    (line,) = [line for line in told.evidence_for if "usual lake" in line]
    assert line.startswith("the shared values are rare, in about ") and " of 65,536 columns of a usual lake" in line


def test_a_lone_shared_value_is_told(build):
    towns = [f"town number {i}" for i in range(30)]
    lake = build({"t": pd.DataFrame({"place": ["town number 3", "x", "y", "z"], "rain": [1.5, 2.5, 3.5, 4.5]})})
    told = pd.DataFrame({"town": towns}).discover_joinable("town", lake, min_score=0).explain(0)
    assert "only one of your values is shared" in told.evidence_against


def test_a_query_of_one_value_can_share_no_more(build):
    lake = build({"t": pd.DataFrame({"town": ["town number 3", "x", "y", "z"], "rain": [1.5, 2.5, 3.5, 4.5]})})
    told = pd.DataFrame({"town": ["town number 3"]}).discover_joinable("town", lake, min_score=0).explain(0)
    assert not [line for line in (*told.evidence_for, *told.evidence_against) if "only one of" in line]
