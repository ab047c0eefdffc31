"""The layers: who may import whom, read from the sources with `ast`, imports inside functions included.

`LAYERS` is the order, from the top to the bottom. `EDGES` names each edge that exists; it has to go down, and an
edge that no import uses any more has to be removed here.
"""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "dfjoin"
SPARK = PROJECT / "spark_ext"
FILES = sorted(p for root in (PACKAGE, SPARK) for p in root.rglob("*.py"))
MAX_LINES = 450
"""Lines of a file without blank lines, comments and docstrings; above it, look for a second responsibility."""

LAYERS = (
    ("__main__",),
    ("dfjoin",),
    ("cli", "accessors", "spark_ext", "augment"),
    ("page",),
    ("api",),
    ("lake",),
    ("join",),
    ("containment",),
    ("search",),
    ("store",),
    ("ingest",),
    ("sources",),
    ("index",),
    ("transform", "fuzzy", "vectors"),
    ("programs",),
    ("frames",),
    ("values",),
    ("kernels",),
    ("_plots",),
    ("types", "_validation", "_optional", "_html"),
    ("errors", "_version", "_user_cache", "_graph_picture"),
    ("_visible",),
)
"""From the top to the bottom; units of one layer do not import each other. ``dfjoin`` is the package itself."""

BASE = {
    "types",
    "errors",
    "_validation",
    "_optional",
    "_html",
    "_version",
    "_visible",
    "_user_cache",
    "_plots",
    "_graph_picture",
}
"""What every layer but the kernels may import; these edges are not listed."""

EDGES = {
    "__main__": {"cli"},
    "dfjoin": {"accessors", "api"},
    "cli": {
        "page",
        "api",
        "lake",
        "join",
        "containment",
        "search",
        "store",
        "index",
        "sources",
        "programs",
        "vectors",
        "kernels",
    },
    "accessors": {"api"},
    "augment": {"lake", "join", "search", "store", "frames", "values", "kernels"},
    "spark_ext": {
        "api",
        "lake",
        "join",
        "containment",
        "search",
        "store",
        "ingest",
        "sources",
        "transform",
        "vectors",
        "programs",
        "frames",
        "values",
        "kernels",
    },
    "page": {"api", "lake"},
    "api": {"lake", "join", "containment", "search", "ingest", "vectors", "frames"},
    "lake": {"join", "containment", "store", "ingest", "index"},
    "join": {"search", "store", "index", "transform", "fuzzy", "programs", "frames", "values", "kernels"},
    "containment": {"search", "store", "index", "frames", "values", "kernels"},
    "search": {"store", "index", "transform", "fuzzy", "vectors", "programs", "frames", "values", "kernels"},
    "store": {"ingest", "index", "sources", "vectors", "values"},
    "ingest": {"index", "sources", "vectors", "frames", "values", "kernels"},
    "index": {"vectors", "kernels"},
    "sources": {"index", "values"},
    "transform": {"programs", "values", "kernels"},
    "fuzzy": {"values", "kernels"},
    "vectors": {"values", "kernels"},
    "programs": {"kernels"},
    "frames": {"values"},
    "values": {"kernels"},
    "kernels": set(),
}
"""Unit → units below it that it imports."""

UPWARDS = {("dfjoin/ingest/engine.py", "spark_ext"), ("dfjoin/lake/handle.py", "page")}
"""Imports that go up: the Spark engine and the page are found when they are asked for."""


def _unit(path):
    """The package or top module of a file: ``join``, ``api``, ``dfjoin`` for the package itself."""
    if path.is_relative_to(SPARK):
        return "spark_ext"
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "dfjoin" if parts == ("__init__",) else parts[0]


UNITS = {_unit(p) for p in FILES}


def _target(module):
    """The unit that an imported module belongs to; None for modules of others."""
    root, *rest = module.split(".")
    if root == "spark_ext":
        return "spark_ext"
    if root != "dfjoin":
        return None
    return rest[0] if rest and rest[0] in UNITS else "dfjoin"


@cache
def _nodes(path):
    """All nodes of a file, which is parsed once for all tests."""
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def imported_modules(nodes):
    """List the modules that nodes of a source import, at the top, inside functions and for types alike."""
    found = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module in ("dfjoin", "spark_ext"):
                found += [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                found.append(node.module)
    return found


def _name(path):
    return path.relative_to(PROJECT).as_posix()


@cache
def _imports():
    """File → the modules that it imports."""
    return {_name(p): imported_modules(_nodes(p)) for p in FILES}


def forbidden_imports(name, unit, modules):
    """Return the imports of a file that no edge allows."""
    allowed = EDGES.get(unit, set()) | {unit} | (BASE if unit != "kernels" else set())
    targets = {module: _target(module) for module in modules}
    return [
        module
        for module, target in targets.items()
        if target is not None and target not in allowed and (name, target) not in UPWARDS
    ]


def test_imports_are_edges_of_the_table():
    wrong = {_name(p): forbidden_imports(_name(p), _unit(p), _imports()[_name(p)]) for p in FILES}
    assert {name: modules for name, modules in wrong.items() if modules} == {}, "the layers do not allow these imports"


def test_every_unit_has_one_layer():
    placed = [unit for layer in LAYERS for unit in layer]
    assert sorted(placed) == sorted(UNITS)


def test_every_edge_goes_down():
    depth = {unit: number for number, layer in enumerate(LAYERS) for unit in layer}
    upward = [(a, b) for a, targets in EDGES.items() for b in targets if depth[a] >= depth[b]]
    assert upward == []
    below = [(_unit(p), t) for p in FILES for m in _imports()[_name(p)] if (t := _target(m)) in BASE]
    assert [(a, b) for a, b in below if a != b and depth[a] >= depth[b]] == []


def test_every_edge_is_used():
    used = {(_unit(p), _target(m)) for p in FILES for m in _imports()[_name(p)]}
    assert [(a, b) for a, targets in EDGES.items() for b in targets if (a, b) not in used] == []
    assert {(name, target) for name, target in UPWARDS if target in map(_target, _imports()[name])} == UPWARDS


def _imported_by(text):
    return imported_modules(ast.walk(ast.parse(text)))


def test_an_upward_import_inside_a_function_is_found():
    text = "def search():\n    from dfjoin.join.auto import join\n    return join\n"
    assert forbidden_imports("dfjoin/search/new.py", "search", _imported_by(text)) == ["dfjoin.join.auto"]
    for_types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dfjoin.lake import Lake\n"
    assert forbidden_imports("dfjoin/store/new.py", "store", _imported_by(for_types)) == ["dfjoin.lake"]
    by_package = "def f():\n    import dfjoin\n    return dfjoin.open_lake\n"
    assert forbidden_imports("dfjoin/index/new.py", "index", _imported_by(by_package)) == ["dfjoin"]


def imported_files(name, nodes, files):
    """List the files that a file imports: of ``from a.b import c`` that of the module ``a.b.c``, else that of ``a.b``."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            options = [(alias.name,) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            options = [(f"{node.module}.{alias.name}", node.module) for alias in node.names]
        else:
            continue
        for modules in options:
            paths = [module.replace(".", "/") + end for module in modules for end in (".py", "/__init__.py")]
            found.update([path for path in paths if path in files][:1])
    return found - {name}


def circle_of(imports):
    """Return the files that are left when those that import none of the others are taken away, one after the other."""
    left = dict(imports)
    while free := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in free:
            del left[name]
    while free := left.keys() - set().union(*left.values()):
        for name in free:
            del left[name]
    return sorted(left)


def _downward_imports():
    """Path of each file → the files that it imports, but for what `UPWARDS` allows, which is called by nothing else."""
    files = {_name(p): _unit(p) for p in FILES}
    found = {path: imported_files(_name(path), _nodes(path), files) for path in FILES}
    return {path: {t for t in names if (_name(path), files[t]) not in UPWARDS} for path, names in found.items()}


def test_no_files_import_each_other_in_a_circle():
    """Imports inside functions and for types count: each file can be read after those that it imports."""
    assert circle_of({_name(path): names for path, names in _downward_imports().items()}) == []


def test_no_folders_of_a_package_import_each_other_in_a_circle():
    """A folder and the package that it lies in may: what enters the package stands beside its folders.

    In `search` the modes ask `usefulness` for evidence, which counts the posting lists of `exact`.
    """
    imports = {}
    for path, names in _downward_imports().items():
        targets = {Path(name).parent for name in names}
        imports.setdefault(Path(_name(path)).parent, set()).update(targets)
    for parent in {folder.parent for folder in imports} - {Path("dfjoin/search")}:
        beside = {folder for folder in imports if folder.parent == parent}
        assert circle_of({folder: (imports[folder] & beside) - {folder} for folder in beside}) == []


def test_a_circle_of_files_is_found():
    texts = {
        "dfjoin/a.py": "from dfjoin import b\n",
        "dfjoin/b.py": "from dfjoin.below.c import d\n",
        "dfjoin/below/c.py": "def f():\n    import dfjoin.a\n",
        "dfjoin/above.py": "from dfjoin.a import something\n",
        "dfjoin/__init__.py": "from dfjoin.above import more\n",
        "dfjoin/free.py": "from dfjoin import more\n",
    }
    imports = {name: imported_files(name, ast.walk(ast.parse(text)), texts) for name, text in texts.items()}
    assert circle_of(imports) == ["dfjoin/a.py", "dfjoin/b.py", "dfjoin/below/c.py"]
    del imports["dfjoin/below/c.py"]
    assert circle_of(imports) == []


def test_a_file_name_occurs_once():
    names = [p.name for p in FILES if p.is_relative_to(PACKAGE) and p.name != "__init__.py"]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_a_class_name_occurs_once():
    names = [node.name for p in FILES for node in _nodes(p) if isinstance(node, ast.ClassDef)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


# Libraries -------------------------------------------------------------------------------------------------


def _users(*libraries):
    """Files that import one of the libraries."""
    return {name for name, modules in _imports().items() for m in modules if m.partition(".")[0] in libraries}


def test_numba_is_imported_by_kernels_only():
    assert _users("numba", "llvmlite")
    assert all(name.startswith("dfjoin/kernels/") for name in _users("numba", "llvmlite"))


def _decorators(path):
    for node in _nodes(path):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                yield ast.unparse(decorator)


def test_only_kernels_are_compiled():
    compiled = {_name(p) for p in FILES if any("jit" in d for d in _decorators(p))}
    assert compiled
    assert all(name.startswith("dfjoin/kernels/") for name in compiled)


def test_kernels_import_nothing_but_numpy_numba_and_the_standard_library():
    for name, modules in _imports().items():
        if name.startswith("dfjoin/kernels/"):
            roots = {module.partition(".")[0] for module in modules} - {"dfjoin"}
            assert roots - set(sys.stdlib_module_names) <= {"numpy", "numba", "llvmlite"}, (
                name
            )  # llvmlite is a part of numba


def test_pyspark_is_imported_by_spark_ext_only():
    assert all(name.startswith("spark_ext/") for name in _users("pyspark", "py4j"))


def test_pandas_is_not_imported_by_index_and_kernels():
    for name in _users("pandas"):
        assert not name.startswith(("dfjoin/index/", "dfjoin/kernels/"))


def test_optional_libraries_are_imported_through_import_optional_only():
    assert _users("matplotlib", "duckdb", "polars", "sklearn") == set()


LIGHT = """
import sys, dfjoin
heavy = {"numba", "llvmlite", "pyspark", "py4j", "matplotlib", "sklearn", "spark_ext"} & set(sys.modules)
assert not heavy, heavy
assert not [m for m in sys.modules if m.startswith("dfjoin.kernels")]
import pandas
assert hasattr(pandas.DataFrame, "auto_join") and hasattr(pandas.DataFrame, "dfjoin")
dfjoin.open_lake, dfjoin.Lake
assert "numba" not in sys.modules
print("light")
"""


def test_import_dfjoin_and_opening_a_lake_bring_no_heavy_library():
    done = subprocess.run([sys.executable, "-c", LIGHT], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "light", done.stderr


# Files and functions ---------------------------------------------------------------------------------------


def _code_lines(path):
    """Number of lines that hold code: no blank lines, comments or docstrings."""
    documented = set()
    for node in _nodes(path):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documented.update(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(path.read_text("utf-8").splitlines(), 1)
    return sum(1 for number, line in lines if number not in documented and line.strip() and line.strip()[0] != "#")


def test_no_file_is_long():
    lines = {_name(p): _code_lines(p) for p in FILES}
    assert {name: n for name, n in lines.items() if n > MAX_LINES} == {}


def test_no_file_is_a_drawer():
    drawers = {"utils.py", "helpers.py", "misc.py", "common.py", "util.py", "helper.py"}
    assert not [p for p in FILES if p.name in drawers]


MAX_PARAMETERS = 6
CONTRACT = {
    "dfjoin/api/building.py",
    "dfjoin/api/discovery.py",
    "dfjoin/api/joining.py",
    "dfjoin/lake/handle.py",
    "dfjoin/augment/lake_augmenter.py",
}
"""Files whose functions are the public contract, and take as many arguments as a user may give."""


def _functions(path):
    for node in _nodes(path):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            yield node, [name for name in names if name not in ("self", "cls")]


def test_functions_below_api_take_records():
    """Kernels take arrays, one by one where a record costs time; all others at most six parameters."""
    found = [
        f"{_name(path)}:{node.lineno} {node.name} ({len(names)})"
        for path in FILES
        if _name(path) not in CONTRACT and not _name(path).startswith("dfjoin/kernels/")
        for node, names in _functions(path)
        if len(names) > MAX_PARAMETERS
    ]
    assert found == []


def test_argument_lists_are_formatted():
    marked = [p for p in FILES if "fmt: skip" in p.read_text("utf-8") or "fmt: off" in p.read_text("utf-8")]
    assert [_name(p) for p in marked] == []


def test_no_private_name_is_imported():
    for path in FILES:
        for node in _nodes(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("dfjoin.", "spark_ext.")):
                private = [a.name for a in node.names if a.name.startswith("_") and not a.name.startswith("__")]
                assert not private, f"{_name(path)} imports {private} from {node.module}"


# Modes -----------------------------------------------------------------------------------------------------

KNOWS_MODES = {"dfjoin/search/params.py"}
"""The names of the modes, and the table of arguments that belong to a mode."""


def test_modes_are_told_apart_in_one_place():
    """Elsewhere nothing is compared with the name of a mode: a further mode is a folder and a line of the table."""
    names = {p.name for p in (PACKAGE / "search").iterdir() if p.is_dir() and not p.name.startswith("_")}
    assert {"exact", "lsh", "transform"} <= names
    found = []
    for path in FILES:
        if _name(path) in KNOWS_MODES:
            continue
        for node in _nodes(path):
            if isinstance(node, ast.Compare):
                parts = [node.left, *node.comparators]
                values = {c.value for part in parts for c in ast.walk(part) if isinstance(c, ast.Constant)}
                if values & names and "mode" in ast.unparse(node):
                    found.append(f"{_name(path)}:{node.lineno} {ast.unparse(node)}")
    assert found == []
