"""What the tests of sources share."""

import pytest


@pytest.fixture
def lake(tmp_path):
    """Make a directory of files: ``lake("a.csv", "b/c.parquet")`` returns its path."""

    def make(*names):
        base = tmp_path / "lake"
        base.mkdir(exist_ok=True)
        for name in names:
            path = base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(name.encode())
        return base

    return make
