"""Keys that a database declares, of columns that a lake reads."""

from dfjoin.sources.declared_keys import DeclaredKeys


def test_a_key_with_a_column_that_is_not_read_is_no_key():
    declared = DeclaredKeys(keys=(("id",), ("country", "code")))
    assert declared.renamed({"id": "id.1", "country": "country"}).keys == (("id.1",),)
    assert declared.renamed({"code": "c", "country": "d"}).keys == (("d", "c"),)
