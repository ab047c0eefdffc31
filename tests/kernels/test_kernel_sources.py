"""Which files a kernel depends on: the text of imports says what the parsed source says."""

import ast
from pathlib import Path

import pytest

import dfjoin.kernels
from dfjoin.kernels.numba.kernel_cache import KernelSources

KERNELS = Path(dfjoin.kernels.__file__).parent


def imports_by_ast(path, root, package):
    """Files below a package that a file imports, parsed."""
    names = {package}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    below = [name.removeprefix(package).replace(".", "/") for name in names if f"{name}.".startswith(f"{package}.")]
    options = [root / f"{name.lstrip('/')}{end}" for name in below if name for end in (".py", "/__init__.py")]
    return {option for option in options if option.is_file() and option != path}


def test_imports_found_by_text_are_those_of_the_parsed_files():
    sources = KernelSources(KERNELS, "dfjoin.kernels")
    files = list(KERNELS.rglob("*.py"))
    found = {path: sources.imports(path) - {KERNELS / "__init__.py"} for path in files}
    assert found == {path: imports_by_ast(path, KERNELS, "dfjoin.kernels") for path in files}
    assert sum(map(len, found.values())) > len(files)


FILES = {
    "__init__.py": "",
    "first.py": "from some.kernels.second import two\n",
    "second.py": "from some.kernels import (\n    deep,  # a module, not another\n)\nfrom some.kernels.deep.third import three\n",
    "deep/__init__.py": "",
    "deep/third.py": "def f():\n    import some.kernels.first\n",
    "alone.py": "from some.kernels_of_others.second import two\n",
    "another.py": "from elsewhere import some\n",
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def changed_by(root, edited):
    """Names of the files whose digest an edit changes."""
    before, path = KernelSources(root, "some.kernels"), root / edited
    path.write_text(path.read_text() + "# edited\n")
    after = KernelSources(root, "some.kernels")
    return {name for name in FILES if before.digest(root / name) != after.digest(root / name)}


@pytest.mark.parametrize(
    ("edited", "changed"),
    [
        ("first.py", {"first.py", "second.py", "deep/third.py"}),  # a circle
        ("deep/third.py", {"first.py", "second.py", "deep/third.py"}),
        ("deep/__init__.py", {"first.py", "second.py", "deep/third.py", "deep/__init__.py"}),
        ("alone.py", {"alone.py"}),
        ("another.py", {"another.py"}),
    ],
)
def test_an_edit_changes_the_digests_of_those_that_reach_the_file(root, edited, changed):
    assert changed_by(root, edited) == changed


def test_the_digest_is_that_of_the_files_together_wherever_they_lie(root, tmp_path_factory):
    sources = KernelSources(root, "some.kernels")
    alone, another = root / "alone.py", root / "another.py"
    assert sources.digest(alone, another) == sources.digest(another, alone)
    assert len({sources.digest(alone, another), sources.digest(alone), sources.digest(another)}) == 3
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name, text in FILES.items():
        (elsewhere / name).parent.mkdir(exist_ok=True)
        (elsewhere / name).write_text(text)
    assert KernelSources(elsewhere, "some.kernels").digest(elsewhere / "first.py") == sources.digest(root / "first.py")


def test_sources_are_those_of_the_beginning(root):
    sources = KernelSources(root, "some.kernels")
    unread = KernelSources(root, "some.kernels")
    first = sources.digest(root / "first.py")
    (root / "first.py").write_text("edited while the process runs\n")
    assert unread.digest(root / "first.py") == first


def test_a_file_outside_is_read_and_one_that_is_missing_counts_by_name(root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "own.py"
    outside.write_text("from some.kernels.alone import one\n")
    sources = KernelSources(root, "some.kernels")
    assert sources.imports(outside) == {root / "alone.py"}
    missing = [sources.digest(Path(name)) for name in ("<stdin>", "<other>")]
    assert len({sources.digest(outside), *missing}) == 3
