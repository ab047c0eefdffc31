"""Every public function and method with each argument replaced by wrong values: only errors of dfjoin come back."""

import collections
import datetime
import decimal
import inspect
import os
import pathlib
import shutil
import warnings

import numpy as np
import pandas as pd
import pytest

import dfjoin
from dfjoin.errors import DfjoinError

FRAME = pd.DataFrame({"code": ["a", "b", "c"], "v": [1, 2, 3]})
OTHER = pd.DataFrame({"code": ["a", "b", "c"], "w": [4, 5, 6]})
PROGRAM = {"version": 1, "columns": ["a"], "pieces": [{"column": 0, "steps": [{"step": "case", "style": "lower"}]}]}
SHELLS_OF_TEXT = ["", " ", "x", "code", "\ud800", "a\0b", "*", "[", "left", "sum", "x" * 5000, np.str_("code")]


class Odd:
    """An object whose repr fails."""

    def __repr__(self):
        raise RuntimeError("no repr")


class OddPath(os.PathLike):
    """A path in bytes."""

    def __fspath__(self):
        return b"\xff"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """An index, files, and what was made of them; a module's tests change copies only."""
    place = tmp_path_factory.mktemp("wrong")
    (place / "file").write_text("x")
    (place / "t.csv").write_text("code,x\na,1\nb,2\n")
    (place / "dir").mkdir()
    lake = dfjoin.build_lake({"t": OTHER}, place / "index", engine="inline", progress=False)
    hits = FRAME.discover_joinable("code", lake, rank="matched")
    plan = FRAME.auto_join(lake, on="code").attrs["dfjoin"]["plan"]
    return collections.namedtuple("World", "place lake hits plan")(place, lake, hits, plan)


def wrong_values(world):
    """Values of wrong type, size and content; iterators are made anew at each call."""
    place, lake, hits, plan = world
    numbers = [0, 1, -1, 2**62, 2**70, -(2**70), 10**400, 0.5, float("nan"), float("inf"), -float("inf"), 1 + 2j]
    numbers += [np.int64(3), np.float64(0.3), np.bool_(True), decimal.Decimal("1"), decimal.Decimal("NaN")]
    numbers += [datetime.timedelta(1), datetime.date(2020, 1, 1), pd.Timestamp("2020"), pd.NA, pd.NaT]
    lists = [[], [None], [1], ["x"], ["code"], ["\ud800"], [[]], [object()], [b"x"], (), ("code",), ("code", "v")]
    lists += [set(), {"x"}, range(3), iter([]), iter(["code"]), (x for x in ["x"]), np.array([1, 2]), np.array(["x"])]
    lists += [[("a", "b")], [("a", 1)], [("a",)], [("\ud800", "b")], [["a", "b"], ["a", "b"]]]
    dicts = [{}, {"x": 1}, {1: 2}, {"t": FRAME}, {"t": 1}, {"": FRAME}, {"\ud800": FRAME}, {"a\0": FRAME}]
    dicts += [{"code": "sum"}, {"code": 1}, {object(): 1}, {"t": []}, {"t": [[1]]}, {"frames": place}]
    plans = [plan, {**plan, "steps": [1]}, {**plan, "steps": [{}]}, {**plan, "index": "/nope"}, {**plan, "index": "\0"}]
    plans += [{**plan, "steps": "x"}, {**plan, "how": 3}, {**plan, "max_expansion": "x"}, {**plan, "plan_version": 9}]
    frames = [FRAME, FRAME.iloc[:0], FRAME[[]], pd.Series([1]), pd.Series(["x"]), hits, hits.iloc[:0], lake]
    paths = [str(place), "file", "file/below", "dir", "index", "nope", "t.csv", "*.csv", "*.nope"]
    paths = [os.path.join(place, path) for path in paths] + [place / "nope", place / "t.csv", pathlib.Path("x" * 300)]
    paths += ["/proc/x", "/dev/null", "~nobody/x", "http://x/y", "foo://x", "file://", "://", OddPath()]
    objects = [None, True, False, b"", b"x", b"\xff", object(), Odd(), type, len, Ellipsis, NotImplemented]
    return [*numbers, *lists, *dicts, *plans, *frames, *paths, *objects, *SHELLS_OF_TEXT]


def consume(result):
    """Look at a result: iterators are run, texts are made."""
    return [repr(one) for one in result] if hasattr(result, "__next__") else repr(result)


def searching(**base):
    def call(world, **given):
        arguments = {"df": FRAME, "on": "code", "lake": world.lake, **base, **given}
        return dfjoin.discover_joinable(**arguments)

    return dfjoin.discover_joinable, call


def joining(other, **base):
    def call(world, **given):
        right = OTHER if other == "frame" else getattr(world, other)
        arguments = {"df": FRAME, "other": right, "on_no_match": "ignore", **base, **given}
        return dfjoin.report(dfjoin.auto_join(**arguments))

    return dfjoin.auto_join, call


def on_a_copy(method, **base):
    """A method of a lake, called on a copy of the index, which serves until a call is not refused."""

    def call(world, **given):
        copy = world.place / "copy"
        if not copy.exists():
            shutil.copytree(world.place / "index", copy)
        arguments = {name: value(world) if callable(value) else value for name, value in base.items()}
        shown = consume(getattr(dfjoin.open_lake(copy), method)(**{**arguments, **given}))
        shutil.rmtree(copy)
        return shown

    return getattr(dfjoin.Lake, method), call


def building(world, **given):
    copy = world.place / "built"
    shutil.rmtree(copy, ignore_errors=True)
    arguments = {"source": {"t": FRAME}, "index": copy, "engine": "inline", "progress": False, **given}
    return dfjoin.build_lake(**arguments)


def of_settings(world, **given):
    return building(world, settings=given)


QUICK = {"engine": "inline", "progress": False}
CALLS = {
    "build_lake": (dfjoin.build_lake, building),
    "settings": (dfjoin.IndexSettings, of_settings),
    "discover": searching(),
    "discover lsh": searching(mode="lsh", threshold=0.5),
    "discover transform": searching(mode="transform"),
    "batch": (
        dfjoin.discover_joinable_batch,
        lambda world, **given: dfjoin.discover_joinable_batch(**{"columns": {"q": ["a"]}, "lake": world.lake, **given}),
    ),
    "join lake": joining("lake", on="code"),
    "join frame": joining("frame", on="code"),
    "join frame, key chosen": joining("frame"),
    "join plan": joining("plan"),
    "join hits": joining("hits"),
    "report": (dfjoin.report, lambda world, **given: dfjoin.report(**given)),
    "open_lake": (
        dfjoin.open_lake,
        lambda world, **given: dfjoin.open_lake(**{"index": world.place / "index", **given}),
    ),
    "Lake": (dfjoin.Lake, lambda world, **given: dfjoin.Lake(**{"index": world.place / "index", **given})),
    "repair": (dfjoin.repair, lambda world, **given: dfjoin.repair(**given)),
    "Lake.has_table": on_a_copy("has_table", name="t"),
    "Lake.table": on_a_copy("table", name="t"),
    "Lake.add": on_a_copy("add", source=lambda world: world.place / "t.csv", **QUICK),
    "Lake.replace": on_a_copy("replace", source=lambda world: {"t": OTHER}, **QUICK),
    "Lake.remove": on_a_copy("remove", tables="t"),
    "Lake.add_signatures": on_a_copy("add_signatures"),
    "Lake.add_vectors": on_a_copy("add_vectors"),
    "Lake.add_row_signatures": on_a_copy("add_row_signatures"),
    "Lake.add_axes": on_a_copy("add_axes"),
    "Lake.paths": (
        dfjoin.Lake.paths,
        lambda world, **given: world.lake.paths(**{"df": FRAME, "table": "t", **given}),
    ),
    "Lake.containment_join": (
        dfjoin.Lake.containment_join,
        lambda world, **given: world.lake.containment_join(**given).to_frame(),
    ),
    "Lake.join_graph": (dfjoin.Lake.join_graph, lambda world, **given: world.lake.join_graph(**given)),
    "containment_join": (
        dfjoin.containment_join,
        lambda world, **given: dfjoin.containment_join(**{"left": [["a"]], "right": [["a", "b"]], **given}).to_frame(),
    ),
    "register_metric": (dfjoin.register_metric, lambda world, **given: dfjoin.register_metric(**given)),
    "register_embedder": (
        dfjoin.register_embedder,
        lambda world, **given: dfjoin.register_embedder(**{"embedder": consume, **given}),
    ),
    "Lake.save_embedder": on_a_copy("save_embedder"),
    "Lake.compact": on_a_copy("compact"),
    "Lake.vacuum": on_a_copy("vacuum"),
    "Lake.restore": on_a_copy("restore", version=1),
    "Lake.search": (dfjoin.Lake.search, lambda world, **given: world.lake.search(**{"words": "code", **given})),
    "Lake.describe": (dfjoin.Lake.describe, lambda world, **given: world.lake.describe(**{"name": "a", **given})),
    "similar": (dfjoin.JoinCandidates.similar, lambda world, **given: world.hits.similar(**given)),
    "explain": (dfjoin.JoinCandidates.explain, lambda world, **given: world.hits.explain(**given)),
    "pairs": (dfjoin.JoinCandidates.pairs, lambda world, **given: world.hits.pairs(**given)),
    "JoinPlan.from_dict": (dfjoin.JoinPlan.from_dict, lambda world, **given: dfjoin.JoinPlan.from_dict(**given)),
    "Program.from_dict": (dfjoin.Program.from_dict, lambda world, **given: dfjoin.Program.from_dict(**given)),
    "Program.apply": (
        dfjoin.Program.apply,
        lambda world, **given: dfjoin.Program.from_dict(PROGRAM).apply(**given),
    ),
    "Program.predict": (
        dfjoin.Program.predict,
        lambda world, **given: dfjoin.Program.from_dict(PROGRAM).predict(**{"texts": ["a"], **given}),
    ),
    "Program.to_python": (
        dfjoin.Program.to_python,
        lambda world, **given: dfjoin.Program.from_dict(PROGRAM).to_python(**given),
    ),
    "Program.to_spark_sql": (
        dfjoin.Program.to_spark_sql,
        lambda world, **given: dfjoin.Program.from_dict(PROGRAM).to_spark_sql(**given),
    ),
    "accessor": (
        pd.DataFrame.auto_join,
        lambda world, **given: FRAME.dfjoin.auto_join(**{"other": OTHER, "on": "code", **given}),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_only_errors_of_dfjoin_come_back(world, monkeypatch, name):
    monkeypatch.chdir(world.place / "dir")
    function, call = CALLS[name]
    parameters = [p for p in inspect.signature(function).parameters if p != "self"]
    # One call of a function has all values; the further ones, whose arguments are checked in the same place, a half each.
    alike = [other for other in CALLS if CALLS[other][0] is function]
    turn = alike.index(name)
    raw, n_refused = [], 0
    for place, parameter in enumerate(parameters):
        for number, value in enumerate(wrong_values(world)):
            if turn and (place + number + turn) % 2:
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    consume(call(world, **{parameter: value}))
            except DfjoinError as error:
                n_refused += 1
                assert len(str(error)) > 20
            except Exception as error:
                raw.append(f"{parameter}, value {number}: {type(error).__name__}: {str(error)[:80]!a}")
    assert not raw, "\n".join(raw)
    assert n_refused > len(parameters)


def test_every_public_function_and_method_with_arguments_is_called():
    called = {function for function, _ in CALLS.values()}
    public = {getattr(dfjoin, name) for name in dfjoin.__all__ if name not in ("errors", "__version__")}
    owners = (dfjoin.Lake, dfjoin.JoinCandidates, dfjoin.JoinPlan, dfjoin.Program)
    for owner in owners:
        own = [
            getattr(owner, name) for name, value in vars(owner).items() if not name.startswith("_") and callable(value)
        ]
        public |= {method for method in own if set(inspect.signature(method).parameters) - {"self"}}
    left_out = {
        dfjoin.JoinCandidates,
        dfjoin.Metric,
        dfjoin.JoinPlan,
        dfjoin.Program,
        dfjoin.JoinCandidates.plot_coverage,
        dfjoin.JoinCandidates.plot_matches,
        dfjoin.Lake.plot_contents,
        dfjoin.Lake.explore,  # starts a server: see tests/page
        dfjoin.LakeAugmenter,  # keeps its arguments, and checks them in fit: see tests/augment
    }
    assert {f.__qualname__ for f in public - left_out} - {f.__qualname__ for f in called} == set()
