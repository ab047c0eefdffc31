"""How kernels are compiled: what is found in the cache, and who may call whom."""

import importlib
import json
import os
import pickle
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numba import config

from dfjoin.kernels.numba import kernel_cache, kernel_compiler, shipped_kernels
from dfjoin.kernels.numba._compile import njit_inner, njit_lean

MODULES = (
    sys.modules["dfjoin.kernels.numba._compile"],
    kernel_cache,
    kernel_compiler,
    shipped_kernels,
)
"""What a package of kernels needs to be compiled."""

compiled_only = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

IS_ROOT = os.name == "posix" and os.geteuid() == 0
AS_ANYBODY = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if IS_ROOT and shutil.which("setpriv") else []
"""How root runs a command that may not write what is read-only."""

modes_only = pytest.mark.skipif(
    os.name != "posix" or (IS_ROOT and not AS_ANYBODY), reason="modes do not keep us from writing"
)

SERVER = """
import json, os, sys, traceback
import numba
from numba.core.config import reload_config
numba.njit(lambda a: a + 1)(1)
for line in sys.stdin:
    out, environment, code, *arguments = json.loads(line)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    status = 1
    try:
        for number, end in ((1, "out"), (2, "err")):
            os.dup2(os.open(out + end, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.environ.clear()
        os.environ.update(environment)
        reload_config()
        sys.argv = ["-c", *arguments]
        exec(code, {"__name__": "__main__"})
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
"""
"""Forks a process for each line that it reads: numba is loaded, and has compiled; nothing of dfjoin is."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Start the server, and return the start of the names of the files that its processes write."""
    command = [*AS_ANYBODY, sys.executable, "-B", "-c", SERVER]  # an edit in the same second is seen
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process, tmp_path_factory.mktemp("server") / "std"
        process.stdin.close()


@pytest.fixture
def run_python(server):
    """Run code as ``python -c`` does, in a process that need not load numba; return what it prints."""
    process, place = server

    def run(code, *arguments, env=os.environ):
        request = [str(place), dict(env), code, *map(str, arguments)]
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        status = int(process.stdout.readline())
        assert status == 0, Path(f"{place}err").read_text("utf-8")
        return Path(f"{place}out").read_text("utf-8")

    return run


USE = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from dfjoin.kernels.numba._compile import watch
from dfjoin.kernels.outer import total
print(total(np.arange(4)), watch.n_compiled)
"""


def make_kernels(root):
    """Make a package of kernels that holds only the modules that compile."""
    folder = root / "dfjoin" / "kernels"
    (folder / "numba").mkdir(parents=True)
    for package in (folder.parent, folder, folder / "numba"):
        (package / "__init__.py").touch()
    for module in MODULES:
        shutil.copy(module.__file__, folder / "numba")
    return folder


@pytest.fixture
def kernels(tmp_path):
    return make_kernels(tmp_path)


USE_OF_A_RECORD = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from dfjoin.kernels import records
from dfjoin.kernels.numba._compile import watch
from dfjoin.kernels.outer import difference
print(difference((np.arange(2), records.RECORD(np.array([5]), np.array([3])))), watch.n_compiled)
"""

DIFFERENCE = """
from dfjoin.kernels.numba._compile import njit_lean

@njit_lean
def difference(pair):
    return pair[1].{}[0] - pair[1].b[0]
"""


@compiled_only
def test_a_kernel_is_compiled_anew_when_a_record_that_it_takes_was_edited(kernels, run_python, tmp_path):
    """The file of the kernel names that of the record nowhere: the record comes as an argument."""
    (kernels / "outer.py").write_text(DIFFERENCE.format("a"))

    def run(name, *fields):
        lines = "".join(f"    {field}: np.ndarray\n" for field in fields)
        source = f"import typing\nimport numpy as np\n\nclass {name}(typing.NamedTuple):\n{lines}\nRECORD = {name}\n"
        (kernels / "records.py").write_text(source)
        return run_python(USE_OF_A_RECORD, tmp_path).split()

    assert run("Old", "a", "b") == ["2", "1"]
    assert run("Old", "a", "b") == ["2", "0"]
    assert run("Old", "b", "a") == ["-2", "1"]
    assert run("Old", "b", "a") == ["-2", "0"]
    assert run("New", "a", "b") == ["2", "1"]
    assert run("New", "a", "b") == ["2", "0"]


USE_OF_THREE = """
import sys
sys.path.insert(0, sys.argv[1])
from dfjoin.kernels.numba._compile import watch
counts = []
from dfjoin.kernels import base, middle, apart
for kernel in (base.plus, middle.twice, apart.times):
    before = watch.n_compiled
    result = kernel(3)
    counts.append(watch.n_compiled - before)
    print(result, end=" ")
print(counts)
"""


@compiled_only
def test_an_edited_file_of_kernels_costs_those_that_import_it_and_no_others(kernels, run_python, tmp_path):
    head = "from dfjoin.kernels.numba._compile import njit_lean\n"
    files = {
        "constants.py": "STEP = 1\n",
        "base.py": f"{head}from dfjoin.kernels.constants import STEP\n\n@njit_lean\ndef plus(a):\n    return a + STEP\n",
        "middle.py": f"{head}from dfjoin.kernels.base import plus\n\n@njit_lean\ndef twice(a):\n    return plus(plus(a))\n",
        "apart.py": f"{head}\n@njit_lean\ndef times(a):\n    return a * 2\n",
    }

    def run(**edited):
        for name, text in {**files, **{f"{name}.py": text for name, text in edited.items()}}.items():
            if not (kernels / name).exists() or (kernels / name).read_text() != text:
                (kernels / name).write_text(text)
        files.update({f"{name}.py": text for name, text in edited.items()})
        return run_python(USE_OF_THREE, tmp_path).strip()

    assert run() == "4 5 6 [1, 1, 1]"
    assert run() == "4 5 6 [0, 0, 0]"
    assert run(apart=files["apart.py"].replace("2", "3")) == "4 5 9 [0, 0, 1]"
    assert run(middle=files["middle.py"].replace("plus(plus(a))", "plus(a)")) == "4 4 9 [0, 1, 0]"
    assert run(constants="STEP = 7\n") == "10 10 9 [1, 1, 0]", "a number of a file without kernels"
    assert run() == "10 10 9 [0, 0, 0]"


@compiled_only
def test_a_kernel_is_compiled_anew_when_one_that_it_calls_was_edited(kernels, run_python, tmp_path):
    head = "from dfjoin.kernels.numba._compile import njit_inner, njit_lean\n"
    (kernels / "outer.py").write_text(
        f"{head}from dfjoin.kernels.inner import add\n\n@njit_lean\ndef total(a):\n    t = 0\n"
        "    for i in range(a.shape[0]):\n        t = add(t, a[i])\n    return t\n"
    )

    def run(sign):
        (kernels / "inner.py").write_text(f"{head}\n@njit_inner\ndef add(a, b):\n    return a {sign} b\n")
        return run_python(USE, tmp_path).split()

    assert run("+") == ["6", "2"]
    assert run("+") == ["6", "0"]
    assert run("-") == ["-6", "2"]
    assert run("-") == ["-6", "0"]


SMALL_KERNEL = """
from dfjoin.kernels.numba._compile import njit_lean

@njit_lean
def total(a):
    t = 0
    for i in range(a.shape[0]):
        t += a[i]
    return t
"""


class ReadOnly:
    """A package of kernels that its user cannot write, and the home and temporary directory of the user."""

    def __init__(self, folder, run_python):
        self.run_python = run_python
        self.package, self.home, self.temporary = (folder / name for name in ("package", "home", "temporary"))
        self.home.mkdir()
        self.temporary.mkdir()
        kernels = make_kernels(self.package)
        (kernels / "outer.py").write_text(SMALL_KERNEL)
        for folder in (kernels, kernels / "numba"):
            folder.chmod(0o555)

    def run(self):
        """Return the sum of 0 to 3 that a process of the user makes, and how many kernels it compiled for that."""
        kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
        own = {"HOME": str(self.home), "TMPDIR": str(self.temporary)}
        return self.run_python(USE, self.package, env={**kept, **own}).split()


@pytest.fixture
def read_only(tmp_path, run_python):
    return ReadOnly(tmp_path, run_python)


@compiled_only
@modes_only
def test_a_package_that_cannot_be_written_uses_the_cache_of_the_user(read_only):
    assert read_only.run() == ["6", "1"]
    assert read_only.run() == ["6", "0"]
    assert not list(read_only.temporary.iterdir())


@compiled_only
@modes_only
@pytest.mark.parametrize("what", ["home is a file", "home cannot be written", "the cache of home is a file"])
def test_without_a_cache_of_the_user_a_temporary_directory_keeps_what_is_compiled(read_only, what):
    if what == "home is a file":
        read_only.home.rmdir()
        read_only.home.write_text("")
    elif what == "home cannot be written":
        read_only.home.chmod(0o555)
    else:
        (read_only.home / ".cache").write_text("")
    assert read_only.run() == ["6", "1"]
    assert read_only.run() == ["6", "0"]
    (place,) = read_only.temporary.iterdir()
    assert place.name.startswith("dfjoin-numba-") and place.stat().st_mode & 0o777 == 0o700


@compiled_only
@modes_only
@pytest.mark.parametrize("is_file", [True, False])
def test_without_any_place_of_its_own_nothing_is_kept_and_all_works(read_only, is_file):
    (read_only.home / ".cache").write_text("")
    place = read_only.temporary / f"dfjoin-numba-{os.getuid()}"
    if is_file:
        place.write_text("")
    else:  # anybody could put code there
        place.mkdir()
        place.chmod(0o777)
    assert read_only.run() == ["6", "1"]
    assert read_only.run() == ["6", "1"]
    assert is_file or not list(place.iterdir())


@compiled_only
@modes_only
def test_without_a_temporary_directory_the_scratch_space_of_a_worker_keeps_what_is_compiled(read_only, monkeypatch):
    (read_only.home / ".cache").write_text("")
    (read_only.temporary / f"dfjoin-numba-{os.getuid()}").write_text("")
    scratch = read_only.home.parent / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"/no/such/place,{scratch}")
    assert read_only.run() == ["6", "1"]
    assert read_only.run() == ["6", "0"]
    assert [place.name for place in scratch.iterdir()] == [f"dfjoin-numba-{os.getuid()}"]


USE_OF_TWO = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from dfjoin.kernels.numba._compile import watch
from dfjoin.kernels.outer import grown, total
print(total(np.arange(4)), watch.n_compiled, "numba.np.arraymath" in sys.modules, "scipy.linalg" in sys.modules)
if "more" in sys.argv:
    print(grown(np.arange(4)).tolist(), total(np.arange(4.0)), "numba.np.arraymath" in sys.modules)
"""

TWO = """
from dfjoin.kernels.numba._compile import njit, njit_lean

@njit_lean
def total(values):
    found = values[0]
    for i in range(1, values.shape[0]):
        found += values[i]
    return found

@njit
def grown(values):
    return values + 1
"""


@compiled_only
def test_a_kernel_that_is_in_the_cache_is_loaded_without_what_compiles(kernels, tmp_path):
    """What allocates is loaded with it, and what is in no cache is compiled afterwards, in the same process."""
    (kernels / "outer.py").write_text(TWO)

    def run(*arguments):
        command = [sys.executable, "-c", USE_OF_TWO, str(tmp_path), *arguments]
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return done.stdout.split("\n")[:-1]

    assert run()[0].startswith("6 1 True")  # compiled
    assert run() == ["6 0 False False"]
    for _ in range(2):  # both are compiled, then both are loaded
        assert run("more") == ["6 0 False False", "[1, 2, 3, 4] 6.0 True"]


@compiled_only
def test_processes_that_start_together_compile_a_kernel_once(kernels, tmp_path):
    (kernels / "outer.py").write_text(SMALL_KERNEL)
    command = [sys.executable, "-c", USE, str(tmp_path)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [child.communicate(timeout=120)[0].split() for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    assert [output[0] for output in outputs] == ["6"] * 3
    assert sum(int(output[1]) for output in outputs) == 1


@compiled_only
def test_a_full_disk_costs_the_cache_and_not_the_result(monkeypatch):
    @njit_lean
    def twice(a):
        return a + a

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kernel_cache.KernelCacheFile, "save", fail)
    assert twice(21) == 42


@compiled_only
def test_a_kernel_for_kernels_cannot_be_called_from_python():
    @njit_inner
    def double(a):
        return 2 * a

    @njit_lean
    def sum_of_doubles(array):
        total = 0
        for i in range(array.shape[0]):
            total += double(array[i])
        return total

    with pytest.raises(TypeError, match="double is compiled for other kernels to call, not for Python"):
        double(np.int64(3))
    assert sum_of_doubles(np.arange(4)) == 12
    with pytest.raises(TypeError, match="not for Python"):
        double(np.int64(3))


USE_OF_AN_INNER = """
import sys
sys.path.insert(0, sys.argv[1])
from numba.core.codegen import JITCodeLibrary
from dfjoin.kernels.numba._compile import watch
made = []
load = JITCodeLibrary._finalize_specific
JITCodeLibrary._finalize_specific = lambda library: made.append(library.name) or load(library)
from dfjoin.kernels import first, second
kernel = {"first": first.half, "second": second.halves}[sys.argv[2]]
try:
    print(kernel(4), end=" ")
    kernel(3)
except Exception as error:
    made = [name for name in made if name in ("half", "halve", "halves", "same")]
    print(type(error).__name__, error, watch.n_compiled, *made)
"""


@compiled_only
def test_a_kernel_for_kernels_is_kept_and_has_machine_code_in_its_callers_alone(kernels, run_python, tmp_path):
    head = "from dfjoin.kernels.numba._compile import njit_inner, njit_lean\n"
    files = {
        "inner": "@njit_inner\ndef same(a):\n    return a\n\n@njit_inner\ndef halve(a):\n    if a % 2:\n"
        "        raise ValueError('odd')\n    return same(a) // 2\n",
        "first": "from dfjoin.kernels.inner import halve\n\n@njit_lean\ndef half(a):\n    return halve(a)\n",
        "second": "from dfjoin.kernels.inner import halve\n\n@njit_lean\ndef halves(a):\n    return halve(a) + halve(a)\n",
    }
    for name, text in files.items():
        (kernels / f"{name}.py").write_text(head + text)

    def run(name):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        return run_python(USE_OF_AN_INNER, tmp_path, name, env=environment).strip()

    assert run("first") == "2 ValueError odd 3 half"
    assert run("second") == "4 ValueError odd 1 halves", "the other two are in the cache"
    assert run("second") == "4 ValueError odd 0 halves"


@compiled_only
def test_a_kernel_called_with_a_constant_and_a_variable_is_compiled_once():
    @njit_lean
    def add(a, b):
        return a + b

    @njit_lean
    def count(n):
        total = 0
        for _ in range(n):
            total = add(total, 1)
        return add(total, n)

    assert count(5) == 10
    assert len(add.overloads) == 1


@compiled_only
def test_machine_code_that_lies_in_the_place_of_another_is_not_run(kernels, run_python, tmp_path):
    """A process may read between the moments when another one writes an index and the data that it names."""
    (kernels / "outer.py").write_text(SMALL_KERNEL)

    def run():
        return run_python(USE, tmp_path).split()

    assert run() == ["6", "1"]
    (data,) = kernels.rglob("outer.total*.nbc")
    old = data.read_bytes()
    (kernels / "outer.py").write_text(SMALL_KERNEL.replace("t += a[i]", "t += 2 * a[i]"))
    assert run() == ["12", "1"]
    (data,) = kernels.rglob("outer.total*.nbc")
    kept = data.read_bytes()
    for what, found in {
        "another kernel": old,
        "numba's own form": pickle.dumps((1,) * 14),
        "cut short": kept[: len(kept) // 2],
    }.items():
        data.write_bytes(found)
        assert run() == ["12", "1"], what
        (data,) = kernels.rglob("outer.total*.nbc")
        assert data.read_bytes() != found, f"{what} is replaced"
    assert run() == ["12", "0"]


@compiled_only
def test_what_another_version_of_numba_compiled_is_not_run(kernels, run_python, tmp_path):
    (kernels / "outer.py").write_text(SMALL_KERNEL)
    other = USE.replace("import numpy", "import numba; numba.__version__ = '0.0.1'; import numpy")

    def run(text):
        return run_python(text, tmp_path).split()

    assert run(other) == ["6", "1"]
    (data,) = kernels.rglob("outer.total*.nbc")
    of_other = data.read_bytes()
    assert run(USE) == ["6", "1"]
    data.write_bytes(of_other)
    assert run(USE) == ["6", "1"]


SHIP = """
import sys
sys.path.insert(0, sys.argv[1])
from dfjoin.kernels.numba.shipped_kernels import ship_kernels
ship_kernels([sys.executable, *sys.argv[2:]])
"""

portable_only = pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels are shipped for x86_64")


def ship(root):
    subprocess.run([sys.executable, "-c", SHIP, str(root), "-c", USE, str(root)], check=True, timeout=120)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The compiled kernels of a package of `SMALL_KERNEL`, made once; tests copy them into packages of their own."""
    root = tmp_path_factory.mktemp("shipped")
    kernels = make_kernels(root)
    (kernels / "outer.py").write_text(SMALL_KERNEL)
    ship(root)
    return kernels / "compiled"


@compiled_only
@modes_only
@portable_only
@pytest.mark.parametrize("has_place", [True, False])
def test_kernels_of_the_package_are_not_compiled_by_who_cannot_write(read_only, shipped, has_place):
    kernels = read_only.package / "dfjoin" / "kernels"
    kernels.chmod(0o755)
    shutil.copytree(shipped, kernels / "compiled")
    kernels.chmod(0o555)
    assert not list(kernels.rglob("__pycache__/*.nb?"))
    if not has_place:
        (read_only.home / ".cache").write_text("")
        (read_only.temporary / f"dfjoin-numba-{os.getuid()}").write_text("")
    assert read_only.run() == ["6", "0"]
    assert not list(read_only.home.rglob("*.nb?")) and not list(read_only.temporary.rglob("*.nb?"))


OTHERS = {
    "another version of numba": "import numba; numba.__version__ = '0.0.1'",
    "another machine": "import platform; platform.machine = lambda: 'aarch64'",
}
OTHER_PROCESSORS = {
    "a processor that lacks a feature": "import llvmlite.binding as b; f = b.get_host_cpu_features(); "
    "f['avx2'] = False; b.get_host_cpu_features = lambda: f",
    "another processor by name": "import os; os.environ['NUMBA_CPU_NAME'] = 'generic'; ",
    "bounds that are checked": "import os; os.environ['NUMBA_BOUNDSCHECK'] = '1'; ",
}
"""What numba reads when it is loaded."""


@compiled_only
@portable_only
@pytest.mark.parametrize("what", [*OTHERS, *OTHER_PROCESSORS, "an edited source"])
def test_kernels_of_the_package_are_compiled_anew_for(kernels, shipped, run_python, tmp_path, what):
    edited = SMALL_KERNEL.replace("t += a[i]", "t += 2 * a[i]") if what == "an edited source" else SMALL_KERNEL
    (kernels / "outer.py").write_text(edited)
    shutil.copytree(shipped, kernels / "compiled")
    if what in OTHER_PROCESSORS:
        command = [sys.executable, "-c", OTHER_PROCESSORS[what] + USE, str(tmp_path)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    else:
        printed = run_python(OTHERS.get(what, "") + USE, tmp_path)
    assert printed.split() == ["6" if edited == SMALL_KERNEL else "12", "1"]


@compiled_only
@portable_only
def test_kernels_of_the_package_are_found_on_windows(kernels, shipped, run_python, tmp_path):
    (kernels / "outer.py").write_text(SMALL_KERNEL)
    shutil.copytree(shipped, kernels / "compiled")
    on_windows = "import platform; platform.machine = lambda: 'AMD64'" + USE
    assert run_python(on_windows, tmp_path).split() == ["6", "0"]


@compiled_only
@portable_only
def test_kernels_of_the_package_are_replaced_when_all_are_compiled(kernels, tmp_path):
    (kernels / "outer.py").write_text(SMALL_KERNEL)
    old = kernels / "compiled" / "0.0.1-another"
    old.mkdir(parents=True)
    (old / "outer.nbi").touch()
    command = [sys.executable, "-c", SHIP, str(tmp_path), "-c", "raise SystemExit(3)"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "returned non-zero exit status 3" in done.stderr
    assert list((kernels / "compiled").iterdir()) == [old]
    for _ in range(2):  # the second time there are kernels, and all are compiled again
        ship(tmp_path)
        (own,) = (kernels / "compiled").iterdir()
        assert own != old and len(list(own.glob("outer.total*.nb?"))) == 2 and own.stat().st_mode & 0o055 == 0o055


@compiled_only
@modes_only
@portable_only
def test_a_package_that_cannot_be_written_is_an_error_before_anything_is_compiled(read_only):
    command = [*AS_ANYBODY, sys.executable, "-c", SHIP, str(read_only.package), "-c", "print('compiled')"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "PermissionError" in done.stderr and done.returncode == 1
    assert "ship_kernels" in done.stderr and "CalledProcessError" not in done.stderr and not done.stdout


PROJECT = Path(__file__).parents[2]

WARMUP = f"""
import subprocess, sys
assert sys.argv[1:] == ["warmup", "--portable"]
subprocess.run([sys.executable, "-c", {SHIP!r}, ".", "-c", {USE!r}, "."], check=True)
"""

COPYING = """
import shutil, sys
assert sys.argv[1:] == ["warmup", "--portable"]
shutil.rmtree("dfjoin/kernels/compiled")
shutil.copytree({!r}, "dfjoin/kernels/compiled")
"""
"""For a second wheel, of another platform: what the first one compiles, without compiling it again."""


@compiled_only
@portable_only
@pytest.mark.parametrize("given", ["", "manylinux_2_28_x86_64", None])
def test_a_wheel_has_compiled_kernels_if_they_can_be_compiled(kernels, shipped, run_python, tmp_path, given):
    """It is for the platform that the builder gives, by default that of this Python; without kernels it is for all."""
    pytest.importorskip("setuptools", "77")
    is_able = given is not None
    warmup = (COPYING.format(str(shipped)) if given else WARMUP) if is_able else "raise SystemExit(2)"
    (kernels / "outer.py").write_text(SMALL_KERNEL)
    (kernels.parent / "_version.py").write_text('__version__ = "1"')
    for place in (kernels, tmp_path / "build" / "lib" / "dfjoin" / "kernels"):
        (place / "compiled" / "stale").mkdir(parents=True)
        (place / "compiled" / "stale" / "outer.nbi").touch()
    (kernels.parent / "__main__.py").write_text(warmup)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, tmp_path)
    shutil.copytree(PROJECT / "packaging", tmp_path / "packaging")
    options = {"--build-option": f"--plat-name={given}"} if given else None
    build = f"import sys; sys.path[:0] = ['packaging']; import kernel_backend as k; k.build_wheel('.', {options})"
    done = subprocess.run([sys.executable, "-c", build], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert is_able or "the wheel has no compiled kernels" in done.stderr
    (wheel,) = tmp_path.glob("dfjoin-1-*.whl")
    tag = given or re.sub("[-.]", "_", sysconfig.get_platform())
    own = f"cp{sys.version_info.major}{sys.version_info.minor}-none-{tag}"
    assert wheel.stem == f"dfjoin-1-{own if is_able else 'py3-none-any'}"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
        assert not [name for name in archive.namelist() if "stale" in name]
    assert run_python(USE, tmp_path / "installed").split() == ["6", "0" if is_able else "1"]


def test_building_a_wheel_needs_what_using_it_needs(monkeypatch):
    pytest.importorskip("setuptools", "77")
    monkeypatch.syspath_prepend(PROJECT / "packaging")
    monkeypatch.chdir(PROJECT)
    backend = importlib.import_module("kernel_backend")
    assert any(one.startswith("numba") for one in backend.get_requires_for_build_wheel())
    assert not any(one.startswith("numba") for one in backend.get_requires_for_build_editable())
