"""A small lake for the tests of search."""

import pandas as pd
import pytest


@pytest.fixture
def lake(build):
    return build(
        {
            "ones": pd.DataFrame({"key": ["a", "b", "c", "d"], "other": ["a", "a", "x", None]}),
            "many": pd.DataFrame({"key": ["A", "b ", "b", None, "y", "z"]}),
        }
    )
