"""Words of headers that tell how a column refers to rows, and to which."""

import numpy as np
import pytest

from dfjoin.containment.lake_columns import find_roles, without_relations
from dfjoin.kernels.texts.header_words import UNSPECIFIC, NamedColumns
from dfjoin.values.header_meaning import headers_of


@pytest.mark.parametrize(
    ("header", "counted"),
    [("ShipVia", 1), ("manager_staff_id", 1), ("manager_id", 1), ("parent", 1), ("ship city", 2), ("reference_no", 0)],
)
def test_words_that_name_what_is_meant_are_counted(header, counted):
    assert np.count_nonzero(without_relations(headers_of([header])).marks & UNSPECIFIC == 0) == counted


@pytest.mark.parametrize(
    ("header", "table", "is_role"),
    [
        ("ReportsTo", "Employees", True),
        ("parent_id", "nodes", True),
        ("ParentCategoryID", "categories", True),
        ("manager", "staff", True),
        ("manager", "stores", False),
        ("next_delivery", "orders", False),
        ("id", "nodes", False),
    ],
)
def test_a_role_is_one_of_a_row_of_the_same_table(header, table, is_role):
    for change in (without_relations, lambda words: words):
        columns = NamedColumns(change(headers_of([header])), headers_of([table]), np.zeros(1, np.int64))
        assert find_roles(columns).tolist() == [is_role]
