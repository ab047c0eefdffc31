import numpy as np
import pyarrow as pa
import pytest

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


def test_rows_that_repeat_recent_bytes_have_their_codes_whatever_their_length():
    rng = np.random.default_rng(3)
    texts = [
        "",
        " ",
        "NA",
        "e\u0301",
        "\ufb01n",
        "12.0",
        *("x" * n + "y" for n in range(20)),
        *(f"{i:012}" for i in range(700)),
    ]
    texts += [f"same beginning {i:03} and same end" for i in range(40)]
    cells = [None if i < 0 else texts[i] for i in rng.integers(-3, len(texts), 3000).tolist()]
    found = normalize_column(pa.array(cells), IndexSettings())
    settings = IndexSettings(null_evidence=False)
    alone = {text: normalize_column(pa.array([text]), settings).values() for text in texts} | {None: []}
    expected = [alone[cell][0] if alone[cell] not in ([], ["na"]) else None for cell in cells]
    assert [None if c < 0 else found.value(c) for c in found.codes] == expected
    assert sorted(found.values()) == sorted({value for value in expected if value is not None})


@pytest.mark.parametrize("n_repeating", [0, 2000])
def test_repetition_that_begins_or_ends_late_changes_nothing(n_repeating):
    cells = [f"k{i % 3}" for i in range(n_repeating)] + [f"value {i}" for i in range(5000)] + ["k1", "value 3", "k1"]
    found = normalize_column(pa.array(cells), IndexSettings())
    assert [found.value(c) for c in found.codes] == cells


@pytest.mark.parametrize("alphabet", ["aZ ", "b\x7f~ \t", "xY\x1f\x0e \u00e9"])
def test_words_of_eight_bytes_are_folded_as_characters_are(rng, alphabet):
    lengths = np.repeat(np.arange(27), 60)
    texts = ["".join(rng.choice(list(alphabet), n)) for n in lengths.tolist()] + ["A b C", " a", "a ", "a  b"]
    settings = IndexSettings(null_spellings=(), null_evidence=False)
    found = normalize_column(pa.array(texts), settings)
    values = found.values()
    assert [values[code] for code in found.codes.tolist()] == [" ".join(text.split()).casefold() for text in texts]


@pytest.mark.parametrize("alphabet", ["aZ ", "xY\0\x1f\x7f \t\n", "@[`{ \u00e9\u3000"])
@pytest.mark.parametrize("behind", [b"", b" ", b"A" * 8, b"\xff" * 7])
def test_bytes_around_a_value_change_nothing(rng, alphabet, behind):
    settings = IndexSettings(null_spellings=(), null_evidence=False)
    for n in range(1, 41):
        cells = ["".join(rng.choice(list(alphabet), m)) for m in (n, 3, n)]
        _, offsets, data = pa.array(cells).buffers()
        data = pa.py_buffer(data.to_pybytes()[: sum(len(cell.encode()) for cell in cells)] + behind)
        array = pa.Array.from_buffers(pa.string(), 3, [None, offsets, data])
        for first, last in ((0, 3), (0, 1), (1, 2), (2, 3)):
            found = normalize_column(array.slice(first, last - first), settings)
            expected = [" ".join(cell.split()).casefold() for cell in cells[first:last]]
            assert [found.value(code) for code in found.codes.tolist()] == expected
