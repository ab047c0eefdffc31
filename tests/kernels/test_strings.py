import pyarrow as pa

from dfjoin.types import IndexSettings
from dfjoin.values.normalize import normalize_column
from tests.oracles.values import naive_hash


def test_equal_texts_share_a_code_and_their_hash_is_that_of_their_canonical_bytes():
    settings = IndexSettings()
    cells = [
        "Paris",
        " PARIS ",
        "paris\t",
        "Lyon",
        None,
        "\ufb01n",
        "FIN",
        "1.0",
        "1",
        "e\u0301t\u00e9",
        "\u00e9t\u00c9",
    ]
    found = normalize_column(pa.array(cells), settings)
    assert found.values() == ["paris", "lyon", "fin", "1", "été"]
    assert found.codes.tolist() == [0, 0, 0, 1, -1, 2, 2, 3, 3, 4, 4]
    assert found.hashes.tolist() == [naive_hash(v.encode(), settings.hash_seed) for v in found.values()]


def test_distinct_values_stay_distinct_across_blocks_and_in_sliced_arrays():
    cells = [f"value {i % 50}" if i % 7 else None for i in range(230)]
    array = pa.array(["before", *cells]).slice(1)
    found = normalize_column(array, IndexSettings())
    assert [None if c < 0 else found.value(c) for c in found.codes] == cells
    assert found.values() == list(dict.fromkeys(c for c in cells if c is not None))
