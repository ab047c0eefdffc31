"""Doctests run, and what is public has the sections of the house template."""

import ast
import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import dfjoin

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "dfjoin"
ORDER = ["Parameters", "Returns", "Raises", "Warns", "See Also", "Notes", "Examples"]
MODULES = sorted(
    ".".join(p.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")
    for p in PACKAGE.rglob("*.py")
    if p.name != "__main__.py"
)
KERNELS = [name for name in MODULES if name.startswith("dfjoin.kernels.") and not name.endswith("._compile")]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_there_are_doctests_for_the_four_verbs():
    finder = doctest.DocTestFinder(recurse=False)
    for name in ("auto_join", "discover_joinable", "discover_joinable_batch", "report", "build_lake", "open_lake"):
        function = getattr(dfjoin, name)
        assert sum(len(test.examples) for test in finder.find(function, name)) >= 2, name


def _sections(text):
    """Titles of numpydoc sections, in order."""
    return re.findall(r"^ *([A-Z][A-Za-z ]+)\n *-{3,}$", inspect.cleandoc(text or ""), re.MULTILINE)


def _documented_parameters(text):
    lines = inspect.cleandoc(text).split("Parameters\n----------\n", 1)[1].splitlines()
    names = []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if set(below.strip()) == {"-"}:
            break
        if line and not line.startswith(" "):
            names += [name.strip().lstrip("*") for name in line.partition(" :")[0].split(",")]
    return names


def _functions(path):
    """Public functions and methods of a file: name, node, text."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for child in node.body:
                if isinstance(child, ast.FunctionDef) and not child.name.startswith("_"):
                    yield f"{node.name}.{child.name}", child


def _returns_something(node):
    own = []

    def visit(parent):
        for child in ast.iter_child_nodes(parent):
            if isinstance(child, (ast.FunctionDef, ast.Lambda)):
                continue
            if isinstance(child, ast.Return) and child.value is not None:
                own.append(child)
            visit(child)

    visit(node)
    return any(not (isinstance(r.value, ast.Constant) and r.value.value is None) for r in own)


def _parameters(node):
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def _is_property(node):
    return any("property" in ast.unparse(d) for d in node.decorator_list)


API = [
    pytest.param(node, id=f"{name}.{title}")
    for name in ("api", "build", "lake")
    for title, node in _functions(PACKAGE / f"{name}.py")
    if not _is_property(node)
]
FOR_DFJOIN_ITSELF = {"has_table", "find_table", "root_of", "resolve_lake", "close"}
"""Public in Python's sense, not documented for users: a line that says what they do is enough."""


@pytest.mark.parametrize("node", API)
def test_public_functions_have_parameters_and_returns(node):
    text = ast.get_docstring(node)
    assert text
    assert text.splitlines()[0].endswith(".")
    sections = _sections(text)
    assert sections == [s for s in ORDER if s in sections], "sections come in the order of the template"
    if node.name in FOR_DFJOIN_ITSELF:
        return
    if _parameters(node):
        assert "Parameters" in sections
        documented = _documented_parameters(text)
        assert [name for name in _parameters(node) if name not in documented] == []
    if _returns_something(node) and "eturn" not in text.splitlines()[0]:
        assert "Returns" in sections


def _kernel_functions():
    for name in KERNELS:
        path = PROJECT / (name.replace(".", "/") + ".py")
        if path.name == "__init__.py" or not path.exists():
            continue
        for title, node in _functions(path):
            if any("jit" in ast.unparse(d) for d in node.decorator_list):
                yield pytest.param(node, id=f"{path.stem}.{title}")


@pytest.mark.parametrize("node", list(_kernel_functions()))
def test_kernels_state_arrays_shapes_and_cost(node):
    text = ast.get_docstring(node)
    assert text, "a kernel needs a docstring"
    sections = _sections(text)
    assert sections == [s for s in ORDER if s in sections]
    assert "Parameters" in sections
    documented = _documented_parameters(text)
    assert [name for name in _parameters(node) if name not in documented] == []
    assert "Returns" in sections or not _returns_something(node)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_and_public_name_is_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} needs a docstring"
    for public in getattr(module, "__all__", []):
        value = getattr(module, public)
        if inspect.isfunction(value) or inspect.isclass(value):
            assert inspect.getdoc(value), f"{name}.{public}"


def test_docstrings_hold_no_path_of_a_machine():
    for path in PACKAGE.rglob("*.py"):
        assert not re.search(r"/(?:home|root|work|Users)/", path.read_text("utf-8")), path.name
