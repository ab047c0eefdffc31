"""Where tasks run: what the arguments ask for, else by the size of the input."""

import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.ingest import engine as module
from dfjoin.ingest.engine import InlineEngine, LateEngine, choose_engine, engine_for
from dfjoin.ingest.process_engine import ProcessEngine
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


def tables_of(n_bytes):
    return [TableSource(f"t{n}", Root(0, "r", "/r"), "t.csv", "delimited", n_bytes // 4, 0) for n in range(4)]


@pytest.mark.parametrize(("n_bytes", "is_here"), [(0, True), (255 << 20, True), (256 << 20, False), (1 << 40, False)])
def test_by_size(monkeypatch, n_bytes, is_here):
    monkeypatch.setattr(module, "is_session_there", lambda: False)
    monkeypatch.setattr(module, "_can_start_spark", lambda: True)
    assert isinstance(engine_for(tables_of(n_bytes)), InlineEngine) == is_here
    monkeypatch.setattr(module, "_can_start_spark", lambda: False)
    assert isinstance(engine_for(tables_of(n_bytes)), InlineEngine)


def test_an_active_session_is_used_unless_there_is_little_to_add(monkeypatch):
    monkeypatch.setattr(module, "is_session_there", lambda: True)
    assert isinstance(engine_for(tables_of(0)), OnSpark)
    assert isinstance(engine_for(tables_of(1 << 20), inline_below=2 << 20), InlineEngine)
    assert isinstance(engine_for(tables_of(3 << 20), inline_below=2 << 20), OnSpark)


def test_a_build_in_an_active_session_uses_it(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "is_session_there", lambda: True)
    monkeypatch.setattr(module, "_spark_engine", lambda spark: (_ for _ in ()).throw(RuntimeError("on Spark")))
    frames = {"t": pd.DataFrame({"a": ["x", "y"]})}
    with pytest.raises(RuntimeError, match="on Spark"):
        dfjoin.build_lake(frames, tmp_path / "i", progress=False)
    lake = dfjoin.build_lake(frames, tmp_path / "i", engine="inline", progress=False)
    assert lake.add({"u": frames["t"]}, progress=False).has_table("u")


def test_tasks_run_in_order_in_this_process(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(module, "execute", lambda request, on_table: calls.append(request) or request.upper())
    engine = InlineEngine()
    assert list(engine.run(["a", "b"], tmp_path, lambda *_: None)) == ["A", "B"] and calls == ["a", "b"]
    assert (engine.n_slots, engine.is_here, engine.spark_reader(IndexSettings())) == (1, True, None)


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
    monkeypatch.setattr(module, "is_session_there", lambda: False)
    with pytest.raises((InvalidParameterError, InvalidTypeError), match="`source`"):
        dfjoin.build_lake(source, tmp_path / "i", engine="spark")
    assert not (tmp_path / "i").exists()


def test_a_name_without_a_session_says_what_to_pass(tmp_path):
    with pytest.raises(
        InvalidParameterError, match=r"'db\.t' is no path that exists here, and there is no Spark session"
    ):
        read = LateEngine("spark", None).spark_reader(IndexSettings())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "is_session_there", lambda: False)
            read({"db.t": "db.t"}, Root(0, "", "spark:", "spark"))


def test_a_late_engine_starts_once_and_only_for_work(monkeypatch):
    monkeypatch.setattr(module, "is_session_there", lambda: False)
    late = LateEngine("spark", None)
    assert late.start([]) is late.start([]) and isinstance(late.start([]), OnSpark)
    assert isinstance(LateEngine(None, None).start([]), InlineEngine)
    assert LateEngine("inline", None).spark_reader(IndexSettings()) is None


def test_processes_read_tables_and_do_nothing_else():
    late = LateEngine("inline", None, workers=2)
    assert isinstance(late.start_readers([]), ProcessEngine) and isinstance(late.start([]), InlineEngine)
    alone = LateEngine("inline", None)
    assert alone.start_readers([]) is alone.start([])


def test_frames_of_spark_bring_their_session(monkeypatch):
    class Frame:
        sparkSession = Session()

    class Reading(OnSpark):
        def spark_reader(self, settings):
            return lambda tables, root: self.spark

    monkeypatch.setattr(module, "_spark_engine", Reading)
    read = LateEngine(None, None).spark_reader(IndexSettings())
    assert read({"t": Frame()}, Root(0, "", "spark:", "spark")) is Frame.sparkSession
