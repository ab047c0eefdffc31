"""Integers that have lost their leading zeros: when a search warns, and what the remedy finds."""

import warnings

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinWarning
from tests.search.searching import find


class TestZeroPadding:
    @pytest.fixture
    def codes(self, build):
        return build(
            {
                "zips": pd.DataFrame({"zip": ["00501", "02134", "10001", "90210"]}),
                "rows": pd.DataFrame({"no": [1, 2, 501]}),
            }
        )

    def test_the_warning_names_column_width_and_remedy(self, codes):
        with pytest.warns(DfjoinWarning, match=r"column 'Postal' match 3 values.*up to 5 digits, and 1") as caught:
            hits = dfjoin.discover_joinable(pd.DataFrame({"Postal": [501, 2134, 90210]}), "Postal", codes)
        message = str(caught[0].message)
        assert "dtype=str" in message and "`pad=5`" in message
        assert caught[0].filename == __file__
        assert hits["matched"].max() == 1

    def test_pad_finds_the_matches_without_a_warning(self, codes):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            hits = find([501, 2134, 90210], codes, name="Postal", pad=5)
        assert (hits["table"][0], hits["matched"][0]) == ("zips", 3)

    def test_a_width_beyond_the_longest_number(self, codes):
        with pytest.warns(DfjoinWarning, match="`pad=5`"):
            find([501, 2134], codes)

    @pytest.mark.parametrize("width", [3, 4, 5, 8, 18])
    def test_a_width_is_found_where_the_vocabulary_holds_its_spellings(self, build, width):
        lake = build({"ids": pd.DataFrame({"id": [str(i).zfill(width) for i in range(1, 60)], "v": range(59)})})
        expected = rf"match 59 values when written with zeros up to {width} digits, and 0 as.*`pad={width}`"
        with pytest.warns(DfjoinWarning, match=expected):
            find(list(range(1, 60)), lake, tables="ids", kinds="text")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            find([51, 7], build({"zips": pd.DataFrame({"zip": ["00501", "02134", "10001"]})}))

    def test_nothing_is_searched_when_every_value_is_found_as_it_is(self, codes, monkeypatch):
        """No width can match more than all."""

        def fail(*_):
            raise AssertionError("padded")

        monkeypatch.setattr("dfjoin.search.lost_zeros.pad_integers", fail)
        find([1, 501], codes)
        with pytest.raises(AssertionError, match="padded"):
            find([1, 502], codes)

    @pytest.mark.parametrize("query", [["00501", "02134"], [10001, 90210], [-501, 2134], [0.5, 501.0]])
    def test_no_warning_where_zeros_do_not_help(self, codes, query):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            find(query, codes)

    def test_batch_gives_no_warning(self, codes):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            hits = dfjoin.discover_joinable_batch({"Postal": [501, 2134, 90210]}, codes)
        assert hits["matched"].max() == 1
