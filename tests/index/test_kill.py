"""A build that is killed leaves the version before, whenever the kill comes."""

import subprocess
import sys
import time

import pandas as pd
import pytest

import dfjoin
from tests.conftest import EXAMPLE_LAKE

BUILD = """
import sys
import dfjoin
print("ready", flush=True)
while True:
    dfjoin.build_lake(sys.argv[1], sys.argv[2], engine="inline", if_exists="replace", progress=False)
"""


@pytest.mark.parametrize("delay", [0.0, 0.15, 0.4, 0.8])
def test_kill_9_leaves_a_version_that_answers(tmp_path, delay):
    index = tmp_path / "lake.dfjoin"
    first = dfjoin.build_lake(EXAMPLE_LAKE, index, engine="inline", progress=False)
    df = pd.DataFrame({"c": ["France", "Italy", "Peru"]})
    expected = pd.DataFrame(df.discover_joinable("c", first, rank="matched"))
    command = [sys.executable, "-c", BUILD, str(EXAMPLE_LAKE), str(index)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(delay)
    child.kill()
    child.communicate()
    lake = dfjoin.open_lake(index)
    assert lake.verify() == []
    pd.testing.assert_frame_equal(pd.DataFrame(df.discover_joinable("c", lake, rank="matched")), expected)
    again = dfjoin.build_lake(EXAMPLE_LAKE, index, engine="inline", if_exists="replace", progress=False)
    assert again.version == lake.version + 1
