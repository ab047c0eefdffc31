"""Doctests run, and what is public has the sections of the house template."""

import ast
import dataclasses
import doctest
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import pytest

import dfjoin
from dfjoin.join.rows.report import JoinReport
from dfjoin.search.candidates import Explanation

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "dfjoin"
ORDER = ["Parameters", "Returns", "Raises", "Warns", "See Also", "Notes", "Examples"]
MODULES = sorted(
    ".".join(p.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")
    for p in PACKAGE.rglob("*.py")
    if p.name != "__main__.py"
)
KERNELS = [name for name in MODULES if name.startswith("dfjoin.kernels.") and not name.endswith("._compile")]


@pytest.mark.usefixtures("own_temporary_files")
def test_doctests():
    failed = {}
    for name in MODULES:
        failed[name], _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert {name: n for name, n in failed.items() if n} == {}


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


def _public_methods(owner):
    """Methods of a class that users call, inherited ones too, as long as dfjoin defines them."""
    for name, member in inspect.getmembers(owner):
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function) and function.__module__.startswith("dfjoin"):
            yield f"{owner.__name__}.{name}", function


RESULTS = [JoinReport, Explanation]
"""Classes of objects that public functions return."""


def _public(kind):
    """Public names of the package of one kind, and what they are."""
    return [(name, value) for name in dfjoin.__all__ if kind(value := getattr(dfjoin, name))]


def _public_classes():
    return [*_public(inspect.isclass), *((owner.__name__, owner) for owner in RESULTS)]


def _contract():
    """All that users call: name, function."""
    yield from _public(inspect.isfunction)
    for _, owner in _public_classes():
        yield from _public_methods(owner)


def test_public_functions_document_their_parameters_and_results():
    functions = list(_contract())
    assert len(functions) > 50
    for name, function in functions:
        node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        text = ast.get_docstring(node)
        assert text, name
        assert text.splitlines()[0].endswith("."), name
        sections = _sections(text)
        assert sections == [s for s in ORDER if s in sections], f"{name}: sections come in the order of the template"
        documented = _documented_parameters(text) if "Parameters" in sections else []
        assert sorted(documented) == sorted(_parameters(node)), name
        if _returns_something(node) and "eturn" not in text.splitlines()[0]:
            assert "Returns" in sections, name


def test_public_classes_document_what_they_are_made_of():
    for name, owner in _public_classes():
        text = inspect.getdoc(owner)
        assert text.splitlines()[0].endswith("."), name
        for part, member in inspect.getmembers(owner):
            if isinstance(member, property) and part[0] != "_" and member.fget.__module__.startswith("dfjoin"):
                assert inspect.getdoc(member), f"{name}.{part}"
        if dataclasses.is_dataclass(owner):
            assert sorted(_documented_parameters(text)) == sorted(f.name for f in dataclasses.fields(owner)), name


def _kernel_functions():
    for name in KERNELS:
        path = PROJECT / (name.replace(".", "/") + ".py")
        if path.name == "__init__.py" or not path.exists():
            continue
        for title, node in _functions(path):
            if any("jit" in ast.unparse(d) for d in node.decorator_list):
                yield f"{path.stem}.{title}", node


def test_kernels_state_arrays_shapes_and_cost():
    kernels = list(_kernel_functions())
    assert len(kernels) > 150
    for name, node in kernels:
        text = ast.get_docstring(node)
        assert text, f"{name}: a kernel needs a docstring"
        sections = _sections(text)
        assert sections == [s for s in ORDER if s in sections], name
        assert "Parameters" in sections, name
        assert sorted(_documented_parameters(text)) == sorted(_parameters(node)), name
        assert "Returns" in sections or not _returns_something(node), name


def test_every_module_and_public_name_is_documented():
    for name in MODULES:
        module = importlib.import_module(name)
        assert module.__doc__, f"{name} needs a docstring"
        for public, value in vars(module).items():
            if inspect.isfunction(value) or inspect.isclass(value):
                own = value.__module__ == name and not public.startswith("_")
                assert not own or inspect.getdoc(value), f"{name}.{public}"


def test_docstrings_hold_no_path_of_a_machine():
    for path in PACKAGE.rglob("*.py"):
        assert not re.search(r"/(?:home|root|work|Users)/", path.read_text("utf-8")), path.name
