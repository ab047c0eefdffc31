"""Columns of every type that Arrow and pandas have here, in files and in memory, through the public functions.

The types are listed from the factories and the registry of the installed versions, so that one that a new version
brings is asked for here.
"""

import datetime as dt
import decimal
import inspect
import ipaddress
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import dfjoin
from dfjoin.errors import InvalidTypeError
from dfjoin.values.cells import cell_texts, register_pandas_types
from dfjoin.values.frames import column_to_arrow

N = 12
KEYS = [f"key {i}" for i in range(N)]
WORDS = ["oak", "elm", "ash", "fir", "yew", "box", "sloe", "lime", "pear", "plum", "birch", "alder"]
NUMBERS = list(range(1, N + 1))

register_pandas_types()


def storage_of(type_, values):
    return pa.ExtensionArray.from_storage(type_, pa.array(values, type_.storage_type))


def of_numbers(type_, factor=1):
    return pa.array([n * factor for n in NUMBERS], pa.int64()).cast(type_)


def of_lists(type_):
    return pa.array([[n] for n in NUMBERS], type_)


DICTIONARY = pa.array(NUMBERS[::-1], pa.int8())
CODES = pa.array([n % 3 for n in NUMBERS], pa.int8())
UNION_PARTS = [pa.array(NUMBERS), pa.array(KEYS)]
UNION_TYPES = pa.array([n % 2 for n in NUMBERS], pa.int8())
RUN_ENDS = pa.array([*range(2, N, 2), N], pa.int32())

FACTORIES = {
    "binary": lambda: [
        pa.array([k.encode() for k in KEYS], pa.binary()),
        pa.array([b"%2d" % n for n in NUMBERS], pa.binary(2)),
    ],
    "binary_view": lambda: [pa.array([k.encode() for k in KEYS], pa.binary_view())],
    "bool8": lambda: [storage_of(pa.bool8(), [n % 2 for n in NUMBERS])],
    "bool_": lambda: [pa.array([n % 2 == 0 for n in NUMBERS])],
    "date32": lambda: [
        pa.array(NUMBERS, pa.int32()).cast(pa.date32()),
        pa.array([*NUMBERS[1:], 2**31 - 1], pa.int32()).view(pa.date32()),
    ],
    "date64": lambda: [
        of_numbers(pa.date64(), 86_400_000),
        pa.array([*(n * 86_400_000 for n in NUMBERS[1:]), 2**53 // 86_400_000 * 86_400_000]).view(pa.date64()),
    ],
    "decimal128": lambda: [
        pa.array(NUMBERS, pa.decimal128(9, 2)),
        pa.array([decimal.Decimal(n) / 8 for n in NUMBERS], pa.decimal128(9, 3)),
    ],
    "decimal256": lambda: [pa.array(NUMBERS, pa.decimal256(50, 2))],
    "decimal32": lambda: [pa.array(NUMBERS, pa.decimal32(5, 2))],
    "decimal64": lambda: [pa.array(NUMBERS, pa.decimal64(9, 2))],
    "dense_union": lambda: [pa.UnionArray.from_dense(UNION_TYPES, pa.array(range(N), pa.int32()), UNION_PARTS)],
    "dictionary": lambda: (
        [
            pa.DictionaryArray.from_arrays(CODES, pa.array(values))
            for values in (
                ["a", "b", "c"],
                [7, 8, 9],
                [1.5, 2.5, None],
                [dt.timedelta(1), None, dt.timedelta(2)],
                [b"a", b"b", b"c"],
            )
        ]
        + [pa.DictionaryArray.from_arrays(CODES, pa.array([1, 2, 3], pa.decimal32(5, 2)))]
    ),
    "duration": lambda: [of_numbers(pa.duration(unit), 1000) for unit in ("s", "ms", "us", "ns")],
    "fixed_shape_tensor": lambda: [pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(4.0 * N).reshape(N, 2, 2))],
    "float16": lambda: [pa.array(np.array(NUMBERS, np.float16) / 2)],
    "float32": lambda: [pa.array(np.array(NUMBERS, np.float32)), pa.array(np.array(NUMBERS, np.float32) / 3)],
    "float64": lambda: [pa.array([n / 3 for n in NUMBERS])],
    "json_": lambda: [storage_of(pa.json_(), [f'{{"a": {n}}}' for n in NUMBERS])],
    "large_binary": lambda: [pa.array([k.encode() for k in KEYS], pa.large_binary())],
    "large_list": lambda: [
        of_lists(pa.large_list(pa.int8())),
        pa.array([[k] for k in KEYS], pa.large_list(pa.string_view())),
    ],
    "large_list_view": lambda: [of_lists(pa.large_list_view(pa.int8()))],
    "large_string": lambda: [pa.array(KEYS, pa.large_string())],
    "list_": lambda: [
        of_lists(pa.list_(pa.int8())),
        of_lists(pa.list_(pa.int8(), 1)),
        pa.array([[k] for k in KEYS], pa.list_(pa.string_view())),
    ],
    "list_view": lambda: [of_lists(pa.list_view(pa.int8()))],
    "map_": lambda: [pa.array([[(k, 1)] for k in KEYS], pa.map_(pa.string(), pa.int8()))],
    "month_day_nano_interval": lambda: [pa.array([(n, -n, 10**9 * n) for n in NUMBERS], pa.month_day_nano_interval())],
    "null": lambda: [pa.nulls(N)],
    "opaque": lambda: [
        storage_of(pa.opaque(pa.string(), "inet", "postgresql"), KEYS),
        storage_of(pa.opaque(pa.binary(), "geometry", "postgresql"), [k.encode() for k in KEYS]),
    ],
    "run_end_encoded": lambda: [
        pa.RunEndEncodedArray.from_arrays(RUN_ENDS, pa.array(values))
        for values in (KEYS[: len(RUN_ENDS)], NUMBERS[: len(RUN_ENDS)], [dt.timedelta(n) for n in range(len(RUN_ENDS))])
    ],
    "sparse_union": lambda: [pa.UnionArray.from_sparse(UNION_TYPES, UNION_PARTS)],
    "string": lambda: [pa.array(KEYS)],
    "string_view": lambda: [pa.array(KEYS, pa.string_view())],
    "struct": lambda: [
        pa.array([{"a": n} for n in NUMBERS]),
        pa.array([{"a": k} for k in KEYS], pa.struct([("a", pa.string_view())])),
    ],
    "time32": lambda: [pa.array(NUMBERS, pa.int32()).cast(pa.time32(unit)) for unit in ("s", "ms")],
    "time64": lambda: [of_numbers(pa.time64("us"), 10**6), of_numbers(pa.time64("ns"), 1001)],
    "timestamp": lambda: (
        [of_numbers(pa.timestamp(unit), 10**6) for unit in ("s", "ms", "us", "ns")]
        + [
            pa.array(NUMBERS).view(pa.timestamp("us", zone))
            for zone in ("UTC", "Europe/Paris", "+05:30", "Mars/Phobos")
        ]
        + [pa.array([*NUMBERS[1:], 2**63 - 1]).view(pa.timestamp(unit)) for unit in ("s", "ms", "us")]
    ),
    "uuid": lambda: [storage_of(pa.uuid(), [uuid.UUID(int=n).bytes for n in NUMBERS])],
} | {
    f"{sign}int{bits}": lambda sign=sign, bits=bits: [pa.array(NUMBERS, pa.type_for_alias(f"{sign}int{bits}"))]
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
"""Columns of each type, by the name of the factory that makes the type."""

NO_FACTORIES = {"utf8", "large_utf8", "union", "from_numpy_dtype", "infer_type", "type_for_alias"}
"""Functions that return types that others make."""


def type_factories():
    """The functions of pyarrow that make a data type."""
    found = set()
    for name in dir(pa):
        function = getattr(pa, name)
        if name.startswith("_") or not callable(function) or isinstance(function, type) or name in NO_FACTORIES:
            continue
        about = (inspect.getdoc(function) or "").lower().replace(" ", "")
        if name in FACTORIES or "datatype" in about.split("returns")[-1][:200]:
            found.add(name)
    return found


IS_OLDER = int(pa.__version__.partition(".")[0]) < 21
NOT_WHEN_OLDER = {"bool8-0", "fixed_shape_tensor-0", "opaque-0", "opaque-1", "timestamp-8", "uuid-0"}
"""Columns that pandas 2 cannot hold, or that an older pyarrow does not write as text."""


def columns_of(name):
    """The columns of a factory; none where it needs a type that this older pyarrow lacks."""
    try:
        return FACTORIES[name]()
    except AttributeError:
        if not IS_OLDER:
            raise
        return []


def arrow_columns():
    for name in sorted(FACTORIES):
        for i, array in enumerate(columns_of(name)):
            if not (IS_OLDER and f"{name}-{i}" in NOT_WHEN_OLDER):
                yield pytest.param(array, id=f"{name}-{i}")
    for index in (pd.period_range("2024-01", periods=N, freq="M"), pd.interval_range(0, N)):
        yield pytest.param(pa.array(pd.Series(index)), id=str(index.dtype))


class Named:
    """An object whose text is its own."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"named {self.name}"


class Broken:
    """An object that cannot be printed."""

    def __repr__(self):
        raise RuntimeError("no text")


DAYS = [dt.date(2024, 1, n) for n in NUMBERS]
TIMES = [dt.datetime(2024, 1, n, 12, 30) for n in NUMBERS]

PANDAS = {
    "category": [
        pd.Categorical([n % 3 for n in NUMBERS]),
        pd.Categorical(pd.to_timedelta(NUMBERS, "s")),
        pd.Categorical(DAYS),
    ],
    "datetime64[ns, UTC]": [pd.date_range("2024", periods=N, tz="Asia/Tokyo")],
    "period": [pd.period_range("2024-01", periods=N, freq="M"), pd.period_range("2024", periods=N, freq="h")],
    "interval": [pd.interval_range(0, N), pd.interval_range(pd.Timestamp("2024"), periods=N), pd.cut(NUMBERS, 3)],
    "Sparse": [pd.arrays.SparseArray([n % 2 for n in NUMBERS]), pd.arrays.SparseArray([1.5, *[np.nan] * (N - 1)])],
    "string": [pd.array(KEYS, dtype=pd.StringDtype(storage)) for storage in ("python", "pyarrow")],
    "boolean": [pd.array([True, None] * (N // 2), "boolean")],
    "arrow": [pd.array(NUMBERS, pd.ArrowDtype(pa.int64()))],
} | {
    name: [pd.array([None, *NUMBERS[1:]], name)]
    for name in (
        f"{kind}{bits}"
        for kind, all_bits in (("Int", (8, 16, 32, 64)), ("UInt", (8, 16, 32, 64)), ("Float", (32, 64)))
        for bits in all_bits
    )
}
"""Columns of each dtype that pandas registers."""

NUMPY = (
    [np.array(NUMBERS).astype(code) for code in "bBhHiIlLqQefdFD?"]
    + [np.array(NUMBERS, f"m8[{unit}]") for unit in ("s", "ms", "us", "ns")]
    + [np.array(NUMBERS, f"M8[{unit}]") for unit in ("s", "ms", "us", "ns")]
    + [np.array([2**50, *NUMBERS[1:]], "M8[s]")]
)

OBJECTS = {
    "uuids": [uuid.UUID(int=n) for n in NUMBERS],
    "days and times": [*DAYS[:6], *TIMES[6:]],
    "times of the day": [t.time() for t in TIMES],
    "spans": [dt.timedelta(n) for n in NUMBERS],
    "spans and text": [dt.timedelta(1), *KEYS[1:]],
    "naive and aware": [*TIMES[:6], *(t.replace(tzinfo=dt.UTC) for t in TIMES[6:])],
    "surrogates": ["\ud800", "a\udfff", "\ud83d\ude00", *KEYS[3:]],
    "decimals and floats": [decimal.Decimal("1.10"), decimal.Decimal("1E+3"), *(n + 0.5 for n in NUMBERS[2:])],
    "numbers and flags": [True, 2, 3.5, *NUMBERS[3:]],
    "large integers": [2**70 + n for n in NUMBERS],
    "addresses": [ipaddress.ip_address(n) for n in NUMBERS],
    "named": [Named(n) for n in NUMBERS],
    "plain objects": [object() for _ in NUMBERS],
    "broken": [Broken() for _ in NUMBERS],
    "functions": [lambda: None for _ in NUMBERS],
    "bytes": [k.encode() for k in KEYS],
    "text and bytes": [*KEYS[:6], *(k.encode() for k in KEYS[6:])],
    "lists": [[n] for n in NUMBERS],
    "lists of all sorts": [[n, "a"] for n in NUMBERS],
    "sets": [{n} for n in NUMBERS],
    "dicts": [{"a": n} for n in NUMBERS],
    "arrays": [np.arange(n) for n in NUMBERS],
    "complex": [complex(n, 1) for n in NUMBERS],
    "nothing": [None, pd.NA, pd.NaT, np.nan, decimal.Decimal("nan"), *[None] * (N - 5)],
}
"""Columns of objects."""


def frame_columns():
    for name, columns in PANDAS.items():
        for i, column in enumerate(columns):
            yield pytest.param(pd.Series(column), id=f"{name}-{i}")
    for array in NUMPY:
        yield pytest.param(pd.Series(array), id=str(array.dtype))
    for name, values in OBJECTS.items():
        yield pytest.param(pd.Series(values, dtype=object), id=name)
    for parameter in arrow_columns():
        (array,) = parameter.values
        if not isinstance(array.type, (pa.DictionaryType, pa.SparseUnionType, pa.DenseUnionType)):
            values = pd.arrays.ArrowExtensionArray(pa.chunked_array([array]))
            yield pytest.param(pd.Series(values), id=f"arrow-{parameter.id}")


def texts_of(column):
    """The texts of a column as a join reads them; what it is where it is refused."""
    try:
        return tuple(cell_texts(column_to_arrow(column)).to_pylist())
    except InvalidTypeError:
        return id(column)


@pytest.fixture(scope="module")
def first_turns():
    """The first of the columns of frames that hold the same texts."""
    turns = {}
    for turn, parameter in enumerate(frame_columns()):
        turns.setdefault(texts_of(*parameter.values), turn)
    return set(turns.values())


def test_each_factory_of_arrow_and_each_dtype_of_pandas_is_fed():
    assert type_factories() <= set(FACTORIES)
    dtypes = {dtype.__name__ for dtype in pd.core.dtypes.base._registry.dtypes}
    fed = {type(pd.Series(column).dtype).__name__ for columns in PANDAS.values() for column in columns}
    assert dtypes <= fed


def allow(found):
    """Call a function that may refuse the column `odd`, in words, and do nothing else."""
    try:
        return found()
    except InvalidTypeError as error:
        assert "'odd'" in str(error)
        assert "turn its values into text first" in str(error)
        return None


def check_lake(lake, df, turn):
    columns = lake.columns.set_index(["table", "column"])
    assert ((columns["reason"] == "") == columns["is_indexed"]).all()
    odd = columns.loc[next(t for t in lake.tables["table"] if not t.startswith("plain")), "odd"]
    assert odd["n_rows"] == N
    name = odd.name[0]
    assert len(lake.table(name)) == N
    found = df.discover_joinable("key", lake, rank="matched")
    assert set(found["table"]) == set(lake.tables["table"])
    df.discover_joinable("*", lake, rank="matched")
    own = allow(lambda: df.discover_joinable("odd", lake, rank="matched"))
    if odd["is_indexed"]:
        assert (own["table"] == name).any()
        assert (own.loc[(own["table"] == name) & (own["column"] == "odd"), "containment"] == 1).all()
    for hits in (found, own):
        for place in range(0 if hits is None else len(hits)):
            assert hits.explain(place).matched > 0
            assert len(hits.pairs(place)) > 0
    # the ways to join and the rules have their turn over the columns of all types
    how, rule = HOWS[turn % len(HOWS)], LAKE_RULES[turn % len(LAKE_RULES)]
    assert len(df.auto_join(lake, on="key", how=how, min_score=0)) == N
    allow(lambda: df.auto_join(lake, on="odd", how=how, min_score=0))
    picked = found[found["table"] == name]
    assert len(df.auto_join(picked, aggregate=rule)) == N


def check_frames(df, other, turn, is_first):
    # over the columns of all types each pair of a way to join and a rule has its turn
    options = {"on": "odd", "how": HOWS[turn % len(HOWS)], "aggregate": RULES[turn // len(HOWS) % len(RULES)]}
    assert len(df.auto_join(other, on="key", how=options["how"])) == N
    allow(lambda: df.auto_join(other, **options, max_expansion=N))
    # so have the sides of a join with texts. Relations with numbers in texts are the dearest part, and both sides are
    # texts before they are compared: of the types that hold the same texts one is compared with such texts
    texts = KEYS if is_first else WORDS
    sides = (df, other.assign(odd=texts))[:: 1 if turn % 2 else -1]
    allow(lambda: sides[0].auto_join(sides[1], **options, fuzzy=False))
    assert len(df.auto_join(PLAIN)) == len(PLAIN.auto_join(other)) == N


HOWS = ("left", "inner", "right", "outer")
RULES = ("auto", "first", "count", None)
LAKE_RULES = ("auto", "first", "count", "nunique", "most_frequent")

PLAIN = pd.DataFrame({"key": KEYS, "value": [f"v{n}" for n in NUMBERS]})


@pytest.mark.filterwarnings("ignore::dfjoin.errors.DfjoinWarning")
@pytest.mark.parametrize(
    ("turn", "array"), [pytest.param(i, *p.values, id=p.id) for i, p in enumerate(arrow_columns())]
)
def test_a_file_with_a_column_of_any_arrow_type_is_indexed_found_and_joined(turn, array, tmp_path):
    try:
        parquet.write_table(pa.table({"key": KEYS, "odd": array, "more": NUMBERS}), tmp_path / "odd.parquet")
    except pa.ArrowException:
        pytest.skip("Parquet does not hold this type")
    PLAIN.to_csv(tmp_path / "plain.csv", index=False)
    lake = dfjoin.build_lake(tmp_path, tmp_path / "index", engine="inline", on_error="raise")
    check_lake(lake, lake.table("odd.parquet"), turn)


@pytest.mark.filterwarnings("ignore::dfjoin.errors.DfjoinWarning")
@pytest.mark.parametrize(
    ("turn", "column"), [pytest.param(i, *p.values, id=p.id) for i, p in enumerate(frame_columns())]
)
def test_a_frame_with_a_column_of_any_dtype_is_indexed_searched_and_joined(turn, column, first_turns, tmp_path):
    df = pd.DataFrame({"key": KEYS, "odd": column})
    other = df.assign(more=NUMBERS)
    lake = dfjoin.build_lake({"plain": PLAIN, "odd": other}, tmp_path / "index", engine="inline", on_error="raise")
    check_lake(lake, df, turn)
    check_frames(df, other, turn, turn in first_turns)
