"""Names of columns and tables compared: what a person would say of each."""

import numpy as np
import pytest

from dfjoin.kernels.texts.header_words import NAME_FEATURES, NamedColumns, compare_names
from dfjoin.values.header_meaning import headers_of


def compare(column, table, key, key_table):
    columns = NamedColumns(headers_of([column, key]), headers_of([table, key_table]), np.array([0, 1]))
    out = np.empty((1, len(NAME_FEATURES)))
    compare_names(np.array([0]), np.array([1]), columns, out)
    return dict(zip(NAME_FEATURES, out[0].tolist(), strict=True))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("species_id", "trees", "id", "species"), {"header_share": 1, "table_share": 1, "same_header": 0}),
        (("species_id", "trees", "species_id", "species"), {"same_header": 1, "named_header": 1, "identifier": 1}),
        (("id", "trees", "id", "species"), {"same_header": 1, "named_header": 0, "header_share": 0}),
        (("SalesPersonID", "Store", "BusinessEntityID", "SalesPerson"), {"header_share": 1, "table_share": 1}),
        (("EmployeeID", "EmployeePay", "EmployeeID", "Employee"), {"table_in_table": 1, "own_key": 1}),
        (("ReportsTo", "Employees", "EmployeeID", "Employees"), {"header_share": 0, "identifier": 0, "own_key": 0}),
        (("ShipVia", "Orders", "ShipperID", "Shippers"), {"header_share": 0.5, "table_share": 1}),
        (("treeId", "trees", "id", "species"), {"own_key": 1, "header_share": 0, "table_in_table": 0}),
    ],
)
def test_names_tell_what_they_tell_people(names, expected):
    found = compare(*names)
    assert {name: found[name] for name in expected} == expected
