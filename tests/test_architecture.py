"""Who may import whom, read from the sources with `ast`; any edge that is not in the tables fails."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "dfjoin"
SPARK = PROJECT / "spark_ext"
FILES = sorted(p for root in (PACKAGE, SPARK) for p in root.rglob("*.py"))
OWN = [p for p in FILES if p.is_relative_to(PACKAGE)]
MAX_LINES = 450
LONGER = {}
"""Files above the limit, with the most lines they may have; each with a reason beside it."""

COMMON = {"errors", "types", "_validation", "_optional", "_version", "warn"}
"""What anyone above the kernels may import."""

AT_IMPORT = {
    "kernels": set(),
    "transform": {"values", "kernels"},
    "errors": set(),
    "types": set(),
    "_validation": set(),
    "_optional": set(),
    "_version": set(),
    "warn": set(),
    "values": {"kernels"},
    "fuzzy": {"values", "kernels"},
    "index": {"kernels"},
    "sources": {"values", "kernels"},
    "frames": {"sources"},
    "ingest": {"index", "sources", "values", "kernels", "frames"},
    "lake": {"index", "lake_life"},
    "lake_life": {"index"},
    "search": {"index", "values", "kernels", "frames", "lake", "transform"},
    "join": {"transform", "fuzzy", "search", "index", "sources", "values", "frames", "lake"},
    "build": {"lake", "ingest", "index", "values", "sources", "frames"},
    "life": {"lake", "ingest", "index", "sources", "values", "search"},
    "upkeep": {"ingest", "index", "sources", "values", "search"},
    "more_groups": {"ingest", "index"},
    "api": set(),
    "accessors": {"api"},
    "cli": {"cli_life"},
    "cli_life": set(),
    "__main__": {"cli"},
    "": {"api", "accessors"},
}
"""Package or module of dfjoin → others that it may import when it is imported, beside `COMMON`."""

WHEN_CALLED = {
    "api": {"search", "join", "spark_ext"},
    "cli": {"api", "build", "lake", "sources", "join", "search", "spark_ext"},
    "cli_life": {"lake"},
    "build": {"spark_ext"},
    "lake": {"search", "join"},
    "lake_life": {"life", "more_groups", "upkeep"},
    "life": {"spark_ext"},
}
"""Edges that are allowed inside functions only, so that ``import dfjoin`` stays light and acyclic."""

FOR_TYPES = {
    "api": {"search", "join", "lake"},
    "lake": {"search"},
    "search": {"lake"},
    "join": {"lake"},
    "upkeep": {"lake"},
}
"""Edges that exist for the type checker alone."""


def _unit(path):
    """Package or top module of a file of dfjoin: ``join``, ``api``, ``""`` for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "" if parts == ("__init__",) else parts[0]


def _imports(path):
    """Imported modules of a file with how they are imported: at import, when called, for types."""
    tree = ast.parse(path.read_text("utf-8"))
    found = []

    def visit(node, how):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            how = "called"
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                visit(child, "types")
            for child in node.orelse:
                visit(child, how)
            return
        if isinstance(node, ast.Import):
            found.extend((alias.name, how) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: imports are absolute"
            if node.module in ("dfjoin", "spark_ext"):
                found.extend((f"{node.module}.{alias.name}", how) for alias in node.names)
            else:
                found.append((node.module, how))
        for child in ast.iter_child_nodes(node):
            visit(child, how)

    visit(tree, "import")
    return found


def _name(path):
    return path.relative_to(PROJECT).as_posix()


EDGES = {_name(p): _imports(p) for p in FILES}


@pytest.mark.parametrize("path", OWN, ids=_name)
def test_only_the_edges_of_the_tables_exist(path):
    unit = _unit(path)
    assert unit in AT_IMPORT, f"{unit} is new: give it a place in the tables"
    everywhere = set() if unit == "kernels" else COMMON
    if unit in COMMON:
        everywhere = COMMON - {unit}
    at_import = AT_IMPORT[unit] | everywhere | {unit}
    allowed = {
        "import": at_import,
        "called": at_import | WHEN_CALLED.get(unit, set()),
        "types": at_import | FOR_TYPES.get(unit, set()),
    }
    wrong = []
    for module, how in EDGES[_name(path)]:
        root, _, rest = module.partition(".")
        target = rest.partition(".")[0] if root == "dfjoin" else root
        if root not in ("dfjoin", "spark_ext") or target in allowed[how]:
            continue
        wrong.append(f"{module} ({how})")
    assert not wrong, f"{_name(path)} imports {wrong}, which the layers do not allow"


def test_the_tables_name_units_that_exist():
    units = {_unit(p) for p in OWN}
    for table in (AT_IMPORT, WHEN_CALLED, FOR_TYPES):
        assert set(table) <= units
        for targets in table.values():
            assert targets <= units | {"spark_ext"}


def test_the_layers_have_no_cycle():
    order, left = [], {unit: targets - {unit} for unit, targets in AT_IMPORT.items()}
    while left:
        free = [unit for unit, targets in left.items() if not targets & set(left)]
        assert free, f"a cycle among {sorted(left)}"
        order += free
        left = {unit: targets for unit, targets in left.items() if unit not in free}
    assert order.index("kernels") < order.index("index") < order.index("search") < order.index("join")


def test_spark_ext_imports_neither_the_shell_nor_the_accessors():
    for path in FILES:
        if path.is_relative_to(SPARK):
            modules = {module for module, _ in EDGES[_name(path)]}
            assert not {m for m in modules if m.startswith(("dfjoin.cli.main", "dfjoin.accessors"))}, path


def _users(*libraries):
    """Files that import one of the libraries, in whatever way."""
    return {name for name, edges in EDGES.items() for module, _ in edges if module.partition(".")[0] in libraries}


def test_numba_is_imported_by_kernels_only():
    assert _users("numba", "llvmlite")
    assert all(name.startswith("dfjoin/kernels/") for name in _users("numba", "llvmlite"))


def _decorators(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                yield ast.unparse(decorator)


def test_only_kernels_are_compiled():
    compiled = {_name(p) for p in FILES if any("jit" in d for d in _decorators(p))}
    assert compiled
    assert all(name.startswith("dfjoin/kernels/") for name in compiled)


def test_kernels_import_nothing_but_numpy_numba_and_the_standard_library():
    for name, edges in EDGES.items():
        if name.startswith("dfjoin/kernels/"):
            roots = {module.partition(".")[0] for module, _ in edges} - {"dfjoin"}
            assert roots - set(sys.stdlib_module_names) <= {"numpy", "numba"}, name


def test_pyspark_is_imported_by_spark_ext_only():
    assert all(name.startswith("spark_ext/") for name in _users("pyspark", "py4j"))


def test_spark_ext_is_imported_lazily_where_it_is_allowed():
    for name, edges in EDGES.items():
        if name.startswith("dfjoin/"):
            for module, how in edges:
                if module.startswith("spark_ext"):
                    assert name in (
                        "dfjoin/ingest/build.py",
                        "dfjoin/api.py",
                        "dfjoin/cli/main.py",
                        "dfjoin/store/change.py",
                    )
                    assert how == "called"


def test_pandas_is_not_imported_by_index_kernels_and_matchers():
    for name in _users("pandas"):
        assert not name.startswith(("dfjoin/index/", "dfjoin/kernels/"))
        assert name != "dfjoin/search/exact/matcher.py"


def test_matplotlib_is_imported_by_nobody_but_through_the_optional_door():
    assert _users("matplotlib", "duckdb", "polars", "sklearn") == set()


LIGHT = """
import sys, dfjoin
heavy = {"numba", "llvmlite", "pyspark", "py4j", "matplotlib", "sklearn", "spark_ext"} & set(sys.modules)
assert not heavy, heavy
assert not [m for m in sys.modules if m.startswith("dfjoin.kernels")]
import pandas
assert hasattr(pandas.DataFrame, "auto_join") and hasattr(pandas.DataFrame, "dfjoin")
print("light")
"""


def test_import_dfjoin_brings_no_heavy_library():
    done = subprocess.run([sys.executable, "-c", LIGHT], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "light", done.stderr


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_no_file_is_long(path):
    n_lines = len(path.read_text("utf-8").splitlines())
    assert n_lines <= LONGER.get(_name(path), MAX_LINES), f"{n_lines} lines: split it"


def test_no_file_is_a_drawer():
    drawers = {"utils.py", "helpers.py", "misc.py", "common.py", "util.py", "helper.py"}
    assert not [p for p in FILES if p.name in drawers]
