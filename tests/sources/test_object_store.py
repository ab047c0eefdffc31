"""An index and tables at ``s3://``: built, changed, searched and joined; and what faults of the store do to them."""

import logging
import uuid

import pandas as pd
import pytest
from pyarrow import fs

import dfjoin
from dfjoin._validation import strip_credentials
from dfjoin.errors import IndexNotFoundError, IndexWriteError, InvalidParameterError, TableChangedError
from dfjoin.index import file_store
from dfjoin.sources.roots import is_opened_with_credentials
from tests.sources.faulty_proxy import FaultyProxy

TOWNS = pd.DataFrame({"town": [f"town {n}" for n in range(300)], "people": range(300)})
FRAME = pd.DataFrame({"town": ["Town 7", "TOWN 8", "nowhere"]})
ATTEMPTS = 3
"""Here; each further one waits twice as long as the one before."""


@pytest.fixture(scope="module")
def server():
    """Moto's server of S3: its port."""
    moto = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    yield running.get_host_and_port()[1]
    running.stop()


class Store:
    """A bucket behind a proxy."""

    def __init__(self, port: int, bucket: str) -> None:
        self.proxy = FaultyProxy(port)
        self.bucket = bucket
        self.options = f"?endpoint_override=127.0.0.1:{self.proxy.port}&scheme=http&region=us-east-1"
        options = {"endpoint_override": f"127.0.0.1:{port}", "scheme": "http", "region": "us-east-1"}
        self.files = fs.S3FileSystem(**options, allow_bucket_creation=True)
        self.files.create_dir(bucket)

    def uri(self, path: str) -> str:
        return f"s3://{self.bucket}/{path}{self.options}"

    def write(self, path: str, frame: pd.DataFrame) -> None:
        with self.files.open_output_stream(f"{self.bucket}/{path}") as stream:
            stream.write(frame.to_csv(index=False).encode() if path.endswith(".csv") else frame.to_parquet())

    def build(self, index: str = "index"):
        return dfjoin.build_lake(self.uri("tables"), self.uri(index), engine="inline", progress=False)


@pytest.fixture
def store(server, tmp_path, monkeypatch):
    for name, value in {
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "s3cr3t",
        "AWS_EC2_METADATA_DISABLED": "true",
        "DFJOIN_CACHE_DIR": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(file_store, "ATTEMPTS", ATTEMPTS)
    store = Store(server, f"bucket-{uuid.uuid4().hex}")
    store.write("tables/towns.csv", TOWNS)
    store.write("tables/deep/halves.parquet", TOWNS.iloc[::2].rename(columns={"people": "half"}))
    yield store
    store.proxy.close()


def test_a_lake_lives_at_s3(store, server, tmp_path, monkeypatch):
    lake = store.build()
    assert not is_opened_with_credentials(strip_credentials(store.uri("tables"))), (
        "it is opened by other processes, too"
    )
    assert lake.tables["table"].tolist() == ["deep/halves.parquet", "towns.csv"] and lake.info()["skipped"] == []
    hits = FRAME.discover_joinable("town", lake, rank="matched")
    assert hits["matched"].tolist() == [2, 1]
    wide = FRAME.auto_join(lake, on="town", tables="towns.csv")
    assert wide["people"].tolist()[:2] == [7, 8]
    assert lake.add(store.uri("tables"), progress=False).version == 1 and lake.check().empty
    store.write("tables/more.csv", TOWNS.assign(more=TOWNS["people"] % 7))
    store.write("tables/towns.csv", TOWNS.assign(people=TOWNS["people"] + 1000))
    with pytest.raises(TableChangedError, match="its content is another"):
        lake.table("towns.csv")
    lake.add(store.uri("tables"), progress=False)
    assert lake.version == 2 and FRAME.auto_join(lake, on="town", tables="towns.csv")["people"].tolist()[:2] == [
        1007,
        1008,
    ]
    lake.remove("more.csv")
    lake.compact(full=True)
    assert lake.tables["table"].tolist() == ["deep/halves.parquet", "towns.csv"] and lake.verify() == []
    lake.vacuum(retain=1)
    monkeypatch.setenv("DFJOIN_CACHE_DIR", str(tmp_path / "other"))  # as on another machine
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server}")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    again = dfjoin.open_lake(f"s3://{store.bucket}/index")
    assert again.version == lake.version
    assert FRAME.discover_joinable("town", again, rank="matched")["matched"].tolist() == [2, 1]
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"s3cr3t" not in file.read_bytes()


@pytest.mark.slow
def test_files_are_read_from_their_own_store(store, tmp_path, monkeypatch):
    """The options of the URI of a file hold for it, and its credentials are known to this process alone."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    store.write("tables/a b/other.csv", TOWNS)

    def given(path):
        return store.uri(path).replace("s3://", "s3://someone:s3cr3t@")

    one = dfjoin.build_lake(given("tables/towns.csv"), tmp_path / "one", engine="inline", progress=False)
    assert one.tables["table"].tolist() == ["towns.csv"]
    assert FRAME.auto_join(one, on="town")["people"].tolist()[:2] == [7, 8]
    files = [given("tables/a%20b/other.csv"), given("tables/deep/halves.parquet"), given("tables/towns.csv")]
    for index, options in {"two": {"engine": "inline"}, "three": {"workers": 2}}.items():
        lake = dfjoin.build_lake(files, tmp_path / index, progress=False, **options)
        assert lake.tables["table"].tolist() == ["a b/other.csv", "deep/halves.parquet", "towns.csv"]
        assert FRAME.auto_join(lake, on="town", tables="a b/*")["people"].tolist()[:2] == [7, 8]
        assert lake.add(files, progress=False).version == 1 and lake.check().empty
        kept = b"".join(file.read_bytes() for file in (tmp_path / index).rglob("*") if file.is_file())
        assert b"s3cr3t" not in kept and b"someone" not in kept
    assert is_opened_with_credentials(strip_credentials(store.uri("tables")))
    with pytest.raises(InvalidParameterError, match="no directory in common, or other credentials or options"):
        dfjoin.build_lake([files[0], store.uri("tables/towns.csv")], tmp_path / "four", progress=False)
    with pytest.raises(InvalidParameterError, match="which is not a file") as caught:
        dfjoin.build_lake([given("tables/gone.csv")], tmp_path / "four", progress=False)
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.slow
def test_a_build_by_spark_keeps_credentials_here(store, spark, tmp_path, monkeypatch, caplog, capfd):
    """No request names them, and tasks, which could not open the store, carry none of those requests out."""
    build = pytest.importorskip("spark_ext.build")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    caplog.set_level(logging.DEBUG)
    files = [
        store.uri(f"tables/{name}").replace("s3://", "s3://someone:s3cr3t@")
        for name in ("deep/halves.parquet", "towns.csv")
    ]
    requests, here = [], []
    waiting = build._WaitingRequests

    class Recorded(waiting):
        def __init__(self, work, given):
            super().__init__(work, given)
            requests.extend(self.read(number) for number in range(self.n))
            here.append(self.secret == set(range(self.n)))

    monkeypatch.setattr(build, "_WaitingRequests", Recorded)
    lake = dfjoin.build_lake(files, tmp_path / "index", engine="spark", spark=spark, progress=False)
    assert lake.tables["table"].tolist() == ["deep/halves.parquet", "towns.csv"] and lake.info()["skipped"] == []
    assert FRAME.discover_joinable("town", lake, rank="matched")["matched"].tolist() == [2, 1]
    assert here[0] and any("towns.csv" in request for request in requests)
    with pytest.raises(InvalidParameterError, match="which is not a file") as caught:
        gone = [files[0].replace("halves", "gone")]
        dfjoin.build_lake(gone, tmp_path / "other", engine="spark", spark=spark, progress=False)
    kept = [file.read_text("latin-1") for file in tmp_path.rglob("*") if file.is_file()]
    shown = capfd.readouterr()
    for text in (*requests, *kept, str(caught.value), repr(lake.info()), caplog.text, shown.out, shown.err):
        assert "s3cr3t" not in text and "someone" not in text


@pytest.mark.parametrize("fault", ["500", "cut", "slow", "hang"])
def test_what_passes_is_tried_again(store, fault):
    proxy = store.proxy
    proxy.fault = lambda method, path, n: fault if method == "GET" and path.endswith("towns.csv") and n == 1 else ""
    lake = store.build()
    assert proxy.counts[fault] == 1 and len(lake.tables) == 2 and lake.info()["skipped"] == []
    assert FRAME.auto_join(lake, on="town", tables="towns.csv")["people"].tolist()[:2] == [7, 8]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["500", "cut"])
def test_what_stays_is_told_with_the_number_of_attempts(store, fault):
    proxy = store.proxy
    proxy.fault = lambda method, path, _: fault if method == "GET" and path.endswith("towns.csv") else ""
    lake = store.build()
    assert proxy.counts[fault] == ATTEMPTS
    (skipped,) = lake.info()["skipped"]
    assert skipped["name"] == "towns.csv" and "AWS Error" in skipped["reason"]
    assert skipped["reason"].endswith(f"({ATTEMPTS} attempts)")
    proxy.reset()
    lake.add(store.uri("tables"), progress=False)  # a fault of the store is none of the file: it is read again
    assert len(lake.tables) == 2


@pytest.mark.slow
def test_writes_that_fail_leave_the_version_before(store):
    proxy = store.proxy
    lake = store.build()
    store.write("tables/more.csv", TOWNS.assign(more=TOWNS["people"] % 7))
    # a fault that is tried again costs its waits once: what is written is the same to the store
    for fault, attempts, part in (
        ("expired", 1, "catalog.arrow"),
        ("expired", 1, "manifests/"),
        ("500", ATTEMPTS, "manifests/"),
    ):
        proxy.reset()
        proxy.fault = lambda method, path, _, p=part, f=fault: f if method == "PUT" and p in path else ""
        with pytest.raises(IndexWriteError, match=r"cannot be written: .*Nothing of this change is visible") as caught:
            lake.add(store.uri("tables"), progress=False)
        assert ("token has expired" in str(caught.value)) == (fault == "expired")
        assert (f"({ATTEMPTS} attempts)" in str(caught.value)) == (attempts > 1) and proxy.counts[fault] == attempts
        proxy.reset()
        assert lake.refresh().version == 1 and len(lake.tables) == 2
    assert lake.add(store.uri("tables"), progress=False).version == 2 and len(lake.tables) == 3


def test_expired_credentials_are_told(store):
    store.proxy.fault = lambda *_: "expired"
    with pytest.raises(IndexNotFoundError, match=r"token has expired. Check the network and the credentials"):
        store.build()
    assert store.proxy.counts["expired"] < ATTEMPTS, "asking again does not help"
    store.proxy.fault = lambda _, path, __: "" if "index" in path else "expired"
    with pytest.raises(InvalidParameterError, match=r"cannot be opened: OSError: .*Check the network, the credentials"):
        dfjoin.build_lake(store.uri("tables"), "unused.dfjoin", engine="inline", progress=False)
