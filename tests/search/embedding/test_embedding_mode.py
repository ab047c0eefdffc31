"""The mode as a user meets it: columns of the result, evidence, and what is missing."""

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import IncompatibleSettingsError
from dfjoin.search.modes import mode_of
from dfjoin.search.params import search_params
from dfjoin.search.query import make_query
from tests.search.protocol import candidates
from tests.vectors.makers import letters

FRAMES = {
    "cities": pd.DataFrame({"city": ["paris", "new york", "sao paulo", "berlin"], "n": [1, 2, 3, 4]}),
    "towns": pd.DataFrame({"town": ["lima", "oslo", "quito"], "day": ["2020-01-01", "2020-01-02", "2020-01-03"]}),
}
QUERY = ["Berlin", "Parris", "NEW YORCK", "2", None, "Berlin"]
OPTIONS = {"radius": 0.2}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    path = tmp_path_factory.mktemp("mode") / "x"
    return dfjoin.build_lake(FRAMES, path, engine="inline", progress=False, embedder=letters)


def test_the_result_has_no_jaccard_and_no_relationship(lake):
    hits = pd.DataFrame({"q": QUERY}).discover_joinable("q", lake, mode="embedding", **OPTIONS)
    assert hits[["table", "column", "matched", "query_cardinality"]].to_numpy().tolist() == [
        ["cities", "city", 3, 4], ["cities", "n", 1, 4]
    ]  # fmt: skip
    assert hits["jaccard"].isna().all() and hits["relationship"].isna().all() and hits["exact"].all()
    assert hits["relationship"].dtype == pd.Series(["a"]).dtype and (hits["method"] == "embedding").all()
    assert hits.attrs["dfjoin"]["complete"] and hits.attrs["dfjoin"]["searches"][0]["near_pairs"] == 3
    assert "city" in repr(hits) and "cities" in hits._repr_html_()


def test_pairs_have_distances(lake):
    found = candidates("embedding", lake, QUERY, **OPTIONS)
    pairs = mode_of("embedding").pairs(found["cities", "city"])
    assert pairs[["query_value", "candidate_value", "query_rows"]].to_numpy().tolist() == [
        ["Berlin", "berlin", 2], ["Parris", "paris", 1], ["NEW YORCK", "new york", 1]
    ]  # fmt: skip
    a, b = (letters([v])[0] / np.linalg.norm(letters([v])[0]) for v in ("parris", "paris"))
    np.testing.assert_allclose(pairs["distance"].iloc[1], np.linalg.norm(a - b) / 2, rtol=1e-6)
    assert pairs["distance"].iloc[0] == 0
    by_number = mode_of("embedding").pairs(found["cities", "n"])
    assert by_number[["query_value", "distance"]].to_numpy().tolist() == [["2", 0.0]]


def test_an_explanation_shows_values_and_distances(lake):
    found = candidates("embedding", lake, QUERY, **OPTIONS)["cities", "city"]
    told = mode_of("embedding").explain(found)
    assert told.shared[0] == "Berlin ~ berlin (0)" and told.shared[1].startswith("Parris ~ paris (0.16")
    assert (told.only_query, told.only_candidate, told.n_alone) == (["2"], ["sao paulo"], 1)
    text = str(told)
    assert text.startswith("'q' joins cities column 'city', euclidean distance up to 0.4 (0.2 of 2)")
    assert "only in the table: 1, as 'sao paulo'" in text and "3 within the radius" in text


def test_an_index_without_vectors_names_the_remedy(build):
    lake = build(FRAMES)
    df = pd.DataFrame({"q": QUERY})
    with pytest.raises(
        IncompatibleSettingsError, match=r"has no vectors, .* add them with `lake.add_vectors\(\)`, or use"
    ):
        df.discover_joinable("q", lake, mode="embedding")
    lake.add_vectors(letters)
    assert len(df.discover_joinable("q", lake, mode="embedding")) == 2
    manifest = lake.manifest
    from dataclasses import replace

    bare = [replace(s, groups=tuple(g for g in s.groups if g.name != "vectors")) for s in manifest.segments]
    snapshot = lake.snapshot.at(replace(manifest, segments=tuple(bare)))
    query = make_query(df["q"], snapshot.settings)
    with pytest.raises(IncompatibleSettingsError, match="1 of the 1 segments of the index have no vectors"):
        mode_of("embedding").search(snapshot, query, search_params(mode="embedding"))
