"""Lakes that the tests of the store share."""

import pytest

import dfjoin
from dfjoin.ingest import read_task as task
from tests.store.lakes import OPTIONS, frame


@pytest.fixture
def lake(build):
    return build({"a": frame("p", "q", "x"), "b": frame("p", "y"), "geo/c": frame("q", "r", "s")})


@pytest.fixture
def place(tmp_path):
    """A directory of three tables."""
    place = tmp_path / "files"
    (place / "sub").mkdir(parents=True)
    for name, values in {"t.csv": "pq", "u.csv": "qr", "sub/v.csv": "rst"}.items():
        frame(*values).to_csv(place / name, index=False)
    return place


@pytest.fixture
def filed(place, tmp_path):
    return dfjoin.build_lake(place, tmp_path / "filed.dfjoin", **OPTIONS)


@pytest.fixture
def read_tables(monkeypatch):
    """Names of the tables that builds read."""
    seen = []
    real = task.tables_of

    def watch(source, *args, **options):
        seen.append(source.name)
        return real(source, *args, **options)

    monkeypatch.setattr(task, "tables_of", watch)
    return seen
