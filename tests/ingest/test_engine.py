"""Where tasks run: what the arguments ask for, else by the size of the input."""

import pytest

from dfjoin.errors import InvalidParameterError
from dfjoin.ingest import engine as module
from dfjoin.ingest.engine import InlineEngine, choose_engine, engine_for
from dfjoin.types import IndexSettings, Root, TableSource


class OnSpark:
    """Stands for the engine of Spark."""

    def __init__(self, spark):
        self.spark = spark


@pytest.fixture(autouse=True)
def no_spark(monkeypatch):
    monkeypatch.setattr(module, "_spark_engine", OnSpark)


def test_what_the_arguments_ask_for():
    assert isinstance(choose_engine("inline", None), InlineEngine)
    assert choose_engine(None, None) is None
    session = object()
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
    assert list(engine.run(["a", "b"], tmp_path, lambda *_: None)) == ["A", "B"] and calls == ["a", "b"]
    assert (engine.n_slots, engine.is_here, engine.spark_reader(tmp_path, IndexSettings())) == (1, True, None)
