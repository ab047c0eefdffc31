"""Where tasks run: what the arguments ask for, else by the size of the input."""

import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.ingest import engine as module
from dfjoin.ingest.engine import InlineEngine, LateEngine, choose_engine, engine_for
from dfjoin.types import IndexSettings, Root, TableSource


class OnSpark:
    """Stands for the engine of Spark."""

    def __init__(self, spark):
        self.spark = spark


class Session:
    """Stands for a Spark session."""

    catalog = None

    def range(self):
        pass


@pytest.fixture(autouse=True)
def no_spark(monkeypatch):
    monkeypatch.setattr(module, "_spark_engine", OnSpark)


def test_what_the_arguments_ask_for():
    assert isinstance(choose_engine("inline", None), InlineEngine)
    assert choose_engine(None, None) is None
    session = Session()
    for name in (None, "spark"):
        assert choose_engine(name, session).spark is session
    assert choose_engine("spark", None).spark is None
    with pytest.raises(InvalidParameterError, match='`spark` belongs to engine="spark", but the engine is "inline"'):
        choose_engine("inline", session)


@pytest.mark.parametrize(("n_bytes", "is_here"), [(0, True), (63 << 20, True), (64 << 20, False), (1 << 40, False)])
def test_by_size(n_bytes, is_here):
    tables = [TableSource(f"t{n}", Root(0, "r", "/r"), "t.csv", "delimited", n_bytes // 4, 0) for n in range(4)]
    assert isinstance(engine_for(tables), InlineEngine) == is_here


def test_tasks_run_in_order_in_this_process(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(module, "execute", lambda request, on_table: calls.append(request) or request.upper())
    engine = InlineEngine()
    assert engine.run(["a", "b"], tmp_path, lambda *_: None) == ["A", "B"] and calls == ["a", "b"]
    assert (engine.n_slots, engine.is_here, engine.spark_reader(tmp_path, IndexSettings())) == (1, True, None)


def test_what_is_no_session_is_refused():
    for name in (None, "spark"):
        for wrong in (object(), 5, "local"):
            with pytest.raises(InvalidTypeError, match=r"`spark` must be a SparkSession, got \w+; leave it out"):
                LateEngine(name, wrong)
    with pytest.raises(InvalidTypeError, match="`spark` must be a SparkSession, got object"):
        choose_engine(None, object())


@pytest.mark.parametrize("source", ["no/such/place", "no_such_place", "missing.csv", ["a.csv", "b.csv"], 5, {"t": 5}])
def test_a_wrong_source_is_found_before_spark_starts(tmp_path, monkeypatch, source):
    monkeypatch.setattr(module, "_spark_engine", lambda spark: pytest.fail("Spark was started"))
    monkeypatch.setattr(module, "_is_session_there", lambda: False)
    with pytest.raises((InvalidParameterError, InvalidTypeError), match="`source`"):
        dfjoin.build_lake(source, tmp_path / "i", engine="spark")
    assert not (tmp_path / "i").exists()


def test_a_name_without_a_session_says_what_to_pass(tmp_path):
    with pytest.raises(
        InvalidParameterError, match=r"'db\.t' is no path that exists here, and there is no Spark session"
    ):
        read = LateEngine("spark", None).spark_reader(tmp_path, IndexSettings())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_is_session_there", lambda: False)
            read({"db.t": "db.t"}, Root(0, "", "spark:", "spark"))


def test_a_late_engine_starts_once_and_only_for_work(tmp_path):
    late = LateEngine("spark", None)
    assert late.start([]) is late.start([]) and isinstance(late.start([]), OnSpark)
    assert isinstance(LateEngine(None, None).start([]), InlineEngine)
    for name in ("inline", None):
        assert LateEngine(name, None).spark_reader(tmp_path, IndexSettings()) is None
