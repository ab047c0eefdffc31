"""Optional libraries: those that are there, those that are missing, and those that are broken."""

import json.decoder
import sys

import pytest

from dfjoin._optional import import_optional
from dfjoin.errors import MissingDependencyError


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Write a library of a name that nothing else has: ``library(source)``."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(source):
        (tmp_path / "dfjoin_test_library.py").write_text(source)
        return "dfjoin_test_library"

    return write


def test_a_module_below_a_package_is_returned_itself():
    assert import_optional("json.decoder", extra="x", purpose="x") is json.decoder


def test_the_error_names_purpose_library_and_remedy():
    with pytest.raises(MissingDependencyError) as caught:
        import_optional("no_such_library.part", extra="plot", purpose="plot_matches()")
    assert str(caught.value) == (
        "plot_matches() needs `no_such_library`, which cannot be imported (No module named 'no_such_library'); "
        'install it with: pip install "dfjoin[plot]"'
    )
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_library_that_lacks_something_itself_says_what(library):
    name = library("raise ImportError('libz.so.9: cannot open shared object file')")
    with pytest.raises(MissingDependencyError, match=r"needs `dfjoin_test_library`.*\(libz\.so\.9: cannot open"):
        import_optional(name, extra="all", purpose="this")


def test_spark_without_its_library_names_the_extra(monkeypatch):
    import spark_ext

    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingDependencyError, match=r"spark_ext.enable\(\) needs `pyspark`.*\[spark\]"):
        spark_ext.enable()


def test_an_error_of_another_kind_is_not_hidden(library):
    name = library("raise ValueError('a fault of its own')")
    with pytest.raises(ValueError, match=r"^a fault of its own$"):
        import_optional(name, extra="all", purpose="this")
