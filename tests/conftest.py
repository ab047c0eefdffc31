"""Shared fixtures: hypothesis profiles, the example lake, one Spark session for all that need it."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import dfjoin
from dfjoin.kernels.numba._compile import watch

settings.register_profile(
    "short", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("long", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("DFJOIN_HYPOTHESIS", "short"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts what runs in the background so
    signal.signal(signal.SIGINT, signal.default_int_handler)

# pytest takes some ten seconds to rewrite the asserts of all tests, so what it has made is kept, whatever
# PYTHONDONTWRITEBYTECODE says; compiled kernels are kept beside the sources, too.
sys.dont_write_bytecode = False

watch.is_told = True  # whether the kernels are compiled already changes nothing that a command prints

PROJECT = Path(__file__).parent.parent
EXAMPLE_LAKE = PROJECT / "examples" / "lake"


def pytest_collection_modifyitems(items):
    """Mark the tests of the shared Spark session; with `--dist loadgroup` one process runs them all.

    Tests that start Spark in processes of their own run beside them.
    """
    for item in items:
        if "spark" in item.fixturenames:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session", autouse=True)
def no_user_files(tmp_path_factory):
    """Give the session directories of its own: nothing that a user keeps decides a test, and no test writes there.

    Compiled kernels stay where they are: they depend on the sources alone.
    """
    home = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "LOCALAPPDATA", "APPDATA"):
            patch.setenv(name, str(home))
        yield home


@pytest.fixture
def rng():
    """A seeded generator."""
    return np.random.default_rng(20240609)


@pytest.fixture(scope="session")
def example_lake(tmp_path_factory):
    """The bundled lake, built once in this process; tests must not change it."""
    index = tmp_path_factory.mktemp("example") / "lake.dfjoin"
    return dfjoin.build_lake(EXAMPLE_LAKE, index, engine="inline", progress=False)


@pytest.fixture
def build(tmp_path):
    """Build a lake of frames in this process: ``build({"name": frame}, **options)``."""
    count = 0

    def make(frames, **options):
        nonlocal count
        count += 1
        index = tmp_path / f"lake-{count}.dfjoin"
        return dfjoin.build_lake(frames, index, engine="inline", progress=False, **options)

    return make


@pytest.fixture
def own_spark():
    """For tests that start Spark in processes of their own; skipped where it cannot start."""
    session = pytest.importorskip("spark_ext.session")
    if not session.is_startable():
        pytest.skip("Spark cannot start")


@pytest.fixture(scope="session")
def spark():
    """One local Spark session for the whole run; skipped where Spark cannot start."""
    pytest.importorskip("pyspark")
    from spark_ext.session import start_session

    session = start_session(**{"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()
