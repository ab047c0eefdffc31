"""What a release needs: notes from the change log, a version that it names, and metadata."""

import importlib.util
import tomllib

import pytest

import dfjoin
from tests.conftest import PROJECT


def _notes_of(*arguments):
    spec = importlib.util.spec_from_file_location("release_notes", PROJECT / ".ci" / "release_notes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.notes_of(*arguments)


LOG = "# Changelog\n\nwords\n\n## [0.3.0] - 2027-01-01\n\n### Search\n- new\n\n## [0.2.0] - 2026-12-01\n- first\n"


def test_notes_are_the_section_of_a_version_and_how_to_install_it():
    assert _notes_of(LOG) == '# dfjoin 0.3.0\n\n## Search\n- new\n\nInstall: `pip install "dfjoin==0.3.0"`\n'
    assert _notes_of(LOG, "0.2.0") == '# dfjoin 0.2.0\n\n- first\n\nInstall: `pip install "dfjoin==0.2.0"`\n'
    with pytest.raises(ValueError, match=r"^CHANGELOG.md has no section '9'; it has 0.3.0, 0.2.0$"):
        _notes_of(LOG, "9")


def test_the_change_log_has_the_version_of_the_package():
    assert _notes_of((PROJECT / "CHANGELOG.md").read_text("utf-8")).startswith(f"# dfjoin {dfjoin.__version__}\n")


def test_each_supported_python_is_a_classifier_and_extras_name_what_exists():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    minors = [line.rpartition("3.")[2] for line in project["classifiers"] if "Python :: 3." in line]
    assert minors[0] == project["requires-python"].rpartition("3.")[2] and len(minors) >= 3
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    assert set(everything.partition("[")[2].rstrip("]").split(",")) <= set(extras)
