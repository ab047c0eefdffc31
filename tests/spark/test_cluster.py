"""A cluster of several processes: a standalone master and two workers on loopback, which do not see the driver's directory.

All of it runs in processes of its own. The driver's working directory is hidden from the master and the workers where
the system can do that (a mount namespace of their own).
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE_LAKE, PROJECT

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.slow,
]  # each of seven processes starts Java or compiles

SMALL_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

DRIVER = """
import json, os, signal, subprocess, sys, threading, time
from pathlib import Path
import pandas as pd
import dfjoin
import spark_ext
from dfjoin.errors import EngineError, TableReadError
from dfjoin.ingest import axes_driver, embed_driver

embed_driver._SMALL_STRETCH = 200  # the example lake has few values
axes_driver._SMALL_BYTES = 1
shared, master = Path(sys.argv[1]), sys.argv[2]
facts = {}
began = time.monotonic()


def note(name, value):
    facts[name] = value
    print(f"{time.monotonic() - began:6.1f} s {name}", file=sys.stderr, flush=True)


def killing(mark, whom):
    # A table whose first task kills its Python worker, or the executor above it.
    def kill_once(batches):
        import os, signal
        from pathlib import Path
        if whom == "always" or not Path(mark).exists():
            Path(mark).touch()
            pid = os.getpid()
            if whom == "executor":
                for _ in range(2):  # above the worker is the daemon, and above that Java
                    pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(pid, signal.SIGKILL)
        yield from batches
    return kill_once


def same(lake, reference):
    columns = ["table", "column", "kind", "is_indexed", "n_rows", "n_null", "cardinality"]
    return lake.columns[columns].equals(reference.columns[columns])


def is_clean(index):
    # No scratch, and of the segments exactly those that the version names.
    lake = dfjoin.open_lake(index)
    names = {segment.meta.id for segment in lake.segments}
    return (lake.verify() == [], os.listdir(index / "runs") == [], names == set(os.listdir(index / "segments")))


if __name__ == "__main__":
    spark = spark_ext.start_session(**{
        "spark.master": master, "spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.cores.max": "2",
        "spark.executor.extraJavaOptions": sys.argv[3], "spark.default.parallelism": "2",
        "spark.executorEnv.NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", ""),
    })
    note("session", spark.sparkContext.master)
    hidden = Path.cwd()
    lake_there = os.path.relpath(shared / "lake")
    facts["sees"] = spark.range(0, 1, 1, 1).mapInArrow(
        lambda batches: iter([__import__("pyarrow").record_batch({"x": [os.path.exists(str(hidden / "driver.py"))]})]),
        "x boolean",
    ).toArrow()["x"].to_pylist()
    inline = dfjoin.build_lake(shared / "lake", hidden / "inline", engine="inline", progress=False)
    settings = {"segment_bytes": 20_000}

    # The index where everybody sees it, by relative paths.
    lake = dfjoin.build_lake(lake_there, os.path.relpath(shared / "index"), progress=False, settings=settings)
    note("shared", [same(lake, inline), len(lake.segments) > 1, *is_clean(shared / "index")])

    # The index where only the driver sees it: workers hand back what they write.
    lake = dfjoin.build_lake(shared / "lake", "private", progress=False)
    note("private", [same(lake, inline), *is_clean(hidden / "private")])

    # Vectors by tasks where they see the index, else by the driver: the same files.
    for place in (shared / "index", hidden / "private"):
        vectors = []
        for engine in ({"spark": spark}, {}):
            lake = dfjoin.open_lake(place).add_vectors("fasttext", progress=False, **engine)
            vectors.append([(c.name, c.crc32) for s in lake.manifest.segments for c in s.group("vectors").components])
        note(f"vectors {place.name}", [vectors[0] == vectors[1], *is_clean(place)])
    of_private = vectors[0]

    # The index on another file system; its copy is the driver's, and each executor has one of its own.
    uri = f"local://{shared / 'remote'}"
    lake = dfjoin.build_lake(shared / "lake", uri, progress=False)

    def search(batches):
        import os
        import tempfile
        import dfjoin
        import pandas as pd
        import pyarrow as pa
        os.environ["DFJOIN_CACHE_DIR"] = tempfile.mkdtemp()
        hits = pd.DataFrame({"c": ["France", "peru"]}).discover_joinable("c", dfjoin.open_lake(uri), rank="matched", k=1)
        yield pa.record_batch({"matched": hits["matched"].to_numpy()})

    # The driver named the segments, and neither wrote nor read their tokens, nor the points of their tables.
    tokens = [path.name for path in Path(lake.path).rglob("*.npy")]
    left = sorted(path.name for path in (shared / "remote").iterdir() if any(path.iterdir()))
    note("written by executors", [tokens, left])
    found = spark.range(0, 1, 1, 1).mapInArrow(search, "matched long").toArrow()["matched"].to_pylist()
    note("remote", [same(lake, inline), lake.verify() == [], str(lake.path).startswith(str(hidden)), found == [2]])

    # Vectors of the same texts: executors write them where the index lies.
    lake.add_vectors("fasttext", spark=spark, progress=False)
    made = [(c.name, c.crc32) for s in lake.manifest.segments for c in s.group("vectors").components]
    own = [path.name for path in Path(lake.path).rglob("*.npy") if path.name.startswith("vector")]
    points = [[c.crc32 for g in one.manifest.segments[0].groups_of("axes") for c in g.components] for one in (lake, inline)]
    note("axes remote", [points[0] == points[1], len(points[0]) > 0])
    note("vectors remote", [made == of_private, own, lake.verify()])

    # It lives there: tables that only the driver sees, tables of Spark, compaction in tasks, and what is left over.
    lake.add("own", engine="spark", progress=False)
    lake.add({"s": spark.range(0, 50).selectExpr("cast(id as string) as key")}, progress=False)
    lake.remove("codes/official_languages.csv")
    lake.compact(full=True, engine="spark", spark=spark)
    names = dfjoin.open_lake(uri).tables["table"].tolist()
    note("lives", [len(names), [name for name in names if name in ("own/t.csv", "s")], lake.verify(), len(lake.segments)])
    lake.vacuum(0)
    note("vacuum", [lake.verify() == [], len(os.listdir(shared / "remote" / "segments"))])

    # A source that only the driver sees is read by the driver.
    lake = dfjoin.build_lake("own", "of-own", engine="spark", progress=False)
    note("own", lake.columns["cardinality"].tolist())

    # Tasks that are killed: the worker, then the whole executor. Other tasks take over.
    for whom in ("worker", "executor"):
        frame = spark.range(0, 1000, 1, 4).selectExpr("cast(id as string) as key", "id % 10 as digit")
        table = frame.mapInArrow(killing(str(shared / whom), whom), frame.schema)
        lake = dfjoin.build_lake({"t": table}, shared / f"killed-{whom}", progress=False)
        cardinalities = lake.columns.set_index("column")["cardinality"].to_dict()
        note(f"killed {whom}", [cardinalities, *is_clean(shared / f"killed-{whom}"), (shared / whom).exists()])

    # A task that dies every time: an error, and no index.
    table = frame.mapInArrow(killing(str(shared / "always"), "always"), frame.schema)
    try:
        dfjoin.build_lake({"t": table}, shared / "failed", progress=False, on_error="raise")
    except TableReadError as error:
        note("always", [str(error), (shared / "failed").exists()])

    # What was built is searched and joined.
    lake = dfjoin.open_lake(shared / "index")
    df = pd.read_csv(shared / "facilities.csv")
    hits = df.discover_joinable("Country", lake, k=3)
    wide = df.auto_join(lake, on="Country")
    note("joined", [hits["table"].tolist(), len(wide), "capital" in wide.columns])

    # The same from Spark, in tasks: a worker is killed while the query is read, then an executor.
    spark_ext.enable(spark)
    for whom in ("search", "executor"):
        countries = spark.createDataFrame([(name,) for name in df["Country"]], "Country string").repartition(2)
        query = countries.mapInArrow(killing(str(shared / f"{whom}-in-search"), whom), countries.schema)
        found = query.discover_joinable("Country", str(shared / "index"), k=3, where="cluster").toPandas()
        note(f"{whom} killed in a search", [found["table"].tolist(), (shared / f"{whom}-in-search").exists()])
    rows = countries.auto_join(str(shared / "index"), on="Country").toPandas()
    elsewhere = countries.discover_joinable("Country", uri, k=3, where="cluster").toPandas()
    note("joined in Spark", [len(rows), "capital" in rows.columns, elsewhere["table"].tolist()])
    print(json.dumps(facts))
"""


def java(name, *arguments):
    """The command that runs a class of Spark."""
    import pyspark

    home = Path(pyspark.__file__).parent
    return [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]


def hiding(directory):
    """The command in front of one that is not to see a directory; empty where the system cannot do that."""
    if shutil.which("unshare") is None:
        return []
    flags = ["-m"] if os.geteuid() == 0 else ["-Urm"]
    command = ["unshare", *flags, "sh", "-c", f'mount -t tmpfs none "{directory}" && exec "$@"', "sh"]
    done = subprocess.run([*command, "true"], capture_output=True, check=False)
    return command if done.returncode == 0 else []


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(log, pattern, n=1):
    until = time.monotonic() + 90
    while time.monotonic() < until:
        if len(re.findall(pattern, log.read_text())) >= n:
            return
        time.sleep(0.2)
    pytest.fail(f"the cluster did not start: {log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def cluster():
    """Master, two workers, a directory that all see, and the driver's own."""
    pytest.importorskip("pyspark")
    from spark_ext.session import find_java_home

    with contextlib.ExitStack() as stack:
        shared = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dfjoin-shared-")))
        hidden = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dfjoin-driver-")))
        shutil.copytree(EXAMPLE_LAKE, shared / "lake")
        shutil.copy(EXAMPLE_LAKE.parent / "facilities.csv", shared)
        (hidden / "own").mkdir()
        (hidden / "own" / "t.csv").write_text("a,b\nx,1\ny,2\nz,3\n")
        (hidden / "driver.py").write_text(DRIVER)
        home = find_java_home()
        environment = {
            **os.environ,
            **({} if home is None else {"JAVA_HOME": home}),
            "PYTHONPATH": str(PROJECT),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_JAVA_OPTS": SMALL_JAVA,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(shared / "scratch"),
        }
        log = shared / "cluster.log"
        stream = stack.enter_context(log.open("ab"))
        port = free_port()
        master = f"spark://127.0.0.1:{port}"
        before = hiding(hidden)

        def start(*command):
            child = subprocess.Popen(
                [*before, *command], stdout=stream, stderr=stream, env=environment, cwd=shared, start_new_session=True
            )
            stack.callback(child.wait)
            stack.callback(os.killpg, child.pid, signal.SIGKILL)

        start(*java("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"))
        wait_for(log, "I have been elected leader")
        for number in (1, 2):
            place = ["--work-dir", str(shared / f"worker-{number}"), "--webui-port", "0", "--host", "127.0.0.1"]
            start(*java("worker.Worker", "--cores", "1", "--memory", "600m", *place, master))
        wait_for(log, "Successfully registered with master", 2)
        yield shared, hidden, master, environment, bool(before)


def test_a_cluster_builds_and_survives_what_is_killed(cluster):
    shared, hidden, master, environment, is_hidden = cluster
    command = [sys.executable, "driver.py", str(shared), master, SMALL_JAVA]
    environment = {**environment, "DFJOIN_CACHE_DIR": str(hidden / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=hidden, env=environment, timeout=540)
    assert done.returncode == 0, done.stderr[-3000:] + (shared / "cluster.log").read_text()[-2000:]
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["sees"] == [not is_hidden]
    assert facts["shared"] == [True] * 5
    assert facts["private"] == [True] * 4
    assert facts["vectors index"] == facts["vectors private"] == [True] * 4
    assert facts["remote"] == [True] * 4
    assert facts["written by executors"] == [[], ["manifests", "segments"]]
    assert facts["vectors remote"] == [True, [], []]
    assert facts["axes remote"] == [True, True]
    assert facts["lives"] == [27, ["own/t.csv", "s"], [], 1]
    assert facts["vacuum"] == [True, 1]
    assert facts["own"] == [3, 3]
    for whom in ("worker", "executor"):
        assert facts[f"killed {whom}"] == [{"digit": 10, "key": 1000}, True, True, True, True]
    message, is_there = facts["always"]
    assert message.startswith("the Spark table `t` cannot be read: ") and not is_there
    best = ["geo/countries.csv", "geo/capitals.csv", "codes/calling_codes.csv"]
    assert facts["joined"] == [best, 12, True]
    assert facts["search killed in a search"] == facts["executor killed in a search"] == [best, True]
    assert facts["joined in Spark"] == [12, True, best]
