"""Shared fixtures: hypothesis profiles, the example lake, one Spark session for all that need it."""

import atexit
import gc
import os
import signal
import tempfile
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

gc.disable()  # until the tests are collected: nothing that is made for them is garbage

watch.is_told = True  # whether the kernels are compiled already changes nothing that a command prints

PROJECT = Path(__file__).parent.parent
EXAMPLE_LAKE = PROJECT / "examples" / "lake"


def pytest_collection_modifyitems(config, items):
    """Mark the tests of the shared Spark session; in a process of pytest-xdist what takes long comes first.

    So no process works alone on a long file at the end. Tests that start Spark in processes of their own run beside
    those of the shared session.
    """
    for item in items:
        if "spark" in item.fixturenames:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))
    if hasattr(config, "workerinput"):
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: ("spark" not in item.fixturenames, item.path not in slow))


def pytest_collection_finish(session):
    """Leave out of every later collection of garbage what stays until the end: modules and ten thousand tests.

    Libraries that look for leaks when the process ends find none: by then it counts again.
    """
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give all tests of a file, or of an `xdist_group`, to one process of pytest-xdist: it makes shared fixtures once."""
    from xdist.scheduler import LoadGroupScheduling

    class FileScheduling(LoadGroupScheduling):
        def _split_scope(self, nodeid):
            group = super()._split_scope(nodeid)
            return group if group != nodeid else nodeid.partition("::")[0]

    if config.getvalue("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False  # the order is that of the items, above
    return FileScheduling(config, log)


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


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_disks():
    """Sync no file of this process: the system lives on. Processes that tests start sync theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: os.fstat(descriptor) and None)
        yield


@pytest.fixture
def own_temporary_files(tmp_path, monkeypatch):
    """Let examples leave what they make by `tempfile` in a directory of the test, which pytest removes."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv("TMPDIR", str(place))


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

    # With the first compiler alone Java keeps 48 MB of compiled code, and throws code away that it compiles again;
    # some hundred tests in one session need more.
    java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
    config = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": java}
    session = start_session(**config)
    yield session
    session.stop()
