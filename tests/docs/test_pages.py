"""The pages of the site are true: their code runs and prints what they show, links lead somewhere, nothing is left out."""

import argparse
import inspect
import re
import shutil
import sys
import warnings
from operator import attrgetter

import pytest

import dfjoin
import spark_ext
from dfjoin import errors
from dfjoin.augment.augment_report import AugmentReport
from dfjoin.cli.main import _parsers
from dfjoin.containment.join_graph import JoinGraph
from dfjoin.containment.result_stream import ContainedPairs
from dfjoin.join.rows.report import JoinReport
from tests.conftest import PROJECT
from tests.docs import screenshots
from tests.test_docstrings import _public_methods

DOCS = PROJECT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
from method_examples import method_examples  # noqa: E402
from mode_arguments import mode_arguments  # noqa: E402
from notebooks import notebook_of, write_notebooks  # noqa: E402
from page_blocks import blocks_of, pages, run_page  # noqa: E402
from shell_pages import shell_page  # noqa: E402

PAGES = {page.relative_to(DOCS).with_suffix("").as_posix(): page for page in pages()}
WITH_SPARK = [name for name, page in PAGES.items() if "spark_ext.start_session()" in page.read_text("utf-8")]
SHOWN_ONLY = 8
"""Blocks of Python and of the shell that need a cluster, a store or a terminal: no more than these."""


def text_of(name):
    for ending in (".md", ".rst"):
        if (DOCS / (name + ending)).exists():
            return (DOCS / (name + ending)).read_text("utf-8")
    raise AssertionError(f"no page {name}")


# The code -----------------------------------------------------------------------------------------------


def check_page(name, place, monkeypatch):
    shutil.copytree(PROJECT / "examples", place / "examples")
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "140")  # as page_blocks.py has it
    for block, printed in run_page(PAGES[name], {}):
        if block.language == "py":
            compile(block.source.replace("%pip", "#"), name, "exec")
        if printed is not None and block.output is not None:
            assert printed == block.output, f"{name} shows something else; python docs/_ext/page_blocks.py records it"


@pytest.mark.usefixtures("own_temporary_files")
@pytest.mark.parametrize("name", sorted(set(PAGES) - set(WITH_SPARK)))
def test_the_code_of_a_page_prints_what_it_shows(name, tmp_path, monkeypatch):
    check_page(name, tmp_path, monkeypatch)


@pytest.mark.slow  # Spark and its workers take about ten seconds of CPU time a page
@pytest.mark.usefixtures("own_temporary_files")
@pytest.mark.parametrize("name", WITH_SPARK)
def test_the_code_of_a_page_about_spark_prints_what_it_shows(name, spark, tmp_path, monkeypatch):
    check_page(name, tmp_path, monkeypatch)


def test_nearly_all_code_is_run_and_compared():
    texts = [page for name, page in PAGES.items() if not name.startswith("measurements/")]  # commands of hours
    blocks = [block for page in texts for block in blocks_of(page.read_text("utf-8"))]
    of = {language: [b for b in blocks if b.language == language] for language in ("python", "sh", "py", "bash")}
    assert len(of["python"]) > 150 and sum(b.output is not None for b in of["python"]) > 140
    assert len(of["py"]) + len(of["bash"]) <= SHOWN_ONLY


def test_a_changed_output_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n2 * 3\n```\n\n```\n3\n```\n\n```py\n1 / 0\n```\n", "utf-8")
    (block, printed), (_, shown) = run_page(page, {})
    assert (printed, block.output, shown) == ("2\n6\n", "3\n", None)


# Notebooks ----------------------------------------------------------------------------------------------


def test_notebooks_have_the_code_that_the_pages_have(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    written = write_notebooks(tmp_path)
    assert [path.stem for path in written] == sorted(
        p.stem for p in (DOCS / "tutorials").glob("*.md") if p.stem != "index"
    )
    for path in written:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        cells = [cell.source + "\n" for cell in notebook.cells if cell.cell_type == "code"]
        assert cells == [
            b.source for b in blocks_of(PAGES[f"tutorials/{path.stem}"].read_text("utf-8")) if b.language == "python"
        ]
        assert f"generated/{path.name}" in text_of("tutorials/index")
    cell = notebook_of(PAGES["tutorials/first_join"])["cells"][3]
    assert cell["cell_type"] == "code" or "](own_lake.md)" not in cell["source"]


@pytest.mark.usefixtures("own_temporary_files")
@pytest.mark.slow  # a kernel of Jupyter imports and reads anew
def test_notebooks_run_in_a_kernel(tmp_path):
    """All in one, each in a place and with names of its own: a kernel for each would import the same again."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    names = sorted(p for p in PAGES if p.startswith("tutorials/") and p not in (*WITH_SPARK, "tutorials/index"))
    notebooks = [nbformat.from_dict(notebook_of(PAGES[name])) for name in names]
    whole = nbformat.v4.new_notebook(metadata=notebooks[0].metadata)
    for number, notebook in enumerate(notebooks):
        place = tmp_path / str(number)
        shutil.copytree(PROJECT / "examples", place / "examples")
        begin = nbformat.v4.new_code_cell(f"%reset -f\n%cd -q {place}")
        whole.cells += [begin, *notebook.cells]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Jupyter itself
        nbclient.NotebookClient(whole, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    for name, notebook in zip(names, notebooks, strict=True):
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert cells and all(cell.execution_count for cell in cells), name
        assert any(cell.outputs for cell in cells), name


# Links --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_files(name):
    page = PAGES[name]
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if not target.startswith(("http", "generated/")):
            place = (page.parent / target).resolve()
            generated = {"gallery/index.md", "measurements/index.md"}
            assert place.exists() or place.relative_to(DOCS).as_posix() in generated, f"{name} → {target}"


# Nothing is left out ------------------------------------------------------------------------------------


def test_the_reference_has_every_public_name_and_method():
    listed = set(re.findall(r"^   ~?([\w.]+)$", text_of("reference/python"), re.MULTILINE))
    assert set(dfjoin.__all__) - {"__version__", "errors"} <= listed
    of_pandas = {"discover_joinable", "auto_join"}  # a result is a frame of pandas
    for owner in (dfjoin.Lake, dfjoin.JoinCandidates, dfjoin.JoinPlan, dfjoin.Program):
        methods = {name for name, _ in _public_methods(owner)} - {f"{owner.__name__}.{verb}" for verb in of_pandas}
        assert methods <= listed
    for name, member in inspect.getmembers(dfjoin.Lake):
        assert name.startswith("_") or not isinstance(member, property) or f"Lake.{name}" in listed, name
    for owner in (JoinReport, JoinGraph, ContainedPairs, AugmentReport):
        for name, _ in _public_methods(owner):
            if not name.endswith("taken_though_suspicious"):
                assert f"{owner.__module__}.{name}".removeprefix("dfjoin.") in listed
    in_spark = set(re.findall(r"^   ([\w.]+)$", text_of("reference/spark"), re.MULTILINE))
    assert set(spark_ext.__all__) <= in_spark


def test_every_function_of_the_reference_has_an_example():
    examples = method_examples()
    for package, page in ((dfjoin, "reference/python"), (spark_ext, "reference/spark")):
        for name in re.findall(r"^   ~?([\w.]+)$", text_of(page), re.MULTILINE):
            is_shown = {".".join([package.__name__, *name.split(".")][-2:]), name.split(".")[-1]} & set(examples)
            assert is_shown or "Examples\n---" in inspect.getdoc(attrgetter(name)(package)), name
    assert examples["Lake.version"][1][5:8] == [".. code-block:: python", "", "   lake.version"]


def test_the_lake_lists_its_methods_by_task():
    text = inspect.getdoc(dfjoin.Lake)
    for name, member in inspect.getmembers(dfjoin.Lake):
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
            assert f"`{name}`" in text, name


def test_every_error_has_a_cause_and_a_remedy():
    text = text_of("reference/errors")
    for name in errors.__all__:
        if inspect.isclass(getattr(errors, name)):
            assert f"`{name}`" in text, name


def test_every_setting_and_extra_is_explained():
    text = text_of("reference/settings")
    inner = {"unicode_version", "partition_ends", "null_evidence", "dialects"}
    for name in set(dfjoin.IndexSettings.__dataclass_fields__) - inner:
        assert f"`{name}`" in text, name
    extras = re.search(
        r"\[project.optional-dependencies\]\n(.*?)\n\[", (PROJECT / "pyproject.toml").read_text(), re.DOTALL
    )
    for name in re.findall(r"^(\w+) = \[", extras[1], re.MULTILINE):
        assert name in ("all", "test", "lint", "docs", "benchmark") or f"`{name}`" in text, name
    sources = "".join(path.read_text("utf-8") for path in (PROJECT / "dfjoin").rglob("*.py"))
    for name in set(re.findall(r'environ\S*"(DFJOIN_\w+)"', sources)):
        assert f"`{name}`" in text, name


def test_every_function_of_sql_is_listed():
    from spark_ext.functions import _FUNCTIONS

    for name in (*_FUNCTIONS, "dfjoin_discover"):
        assert f"`{name}(" in text_of("reference/sql"), name


@pytest.mark.parametrize("name", _parsers()[1])
def test_every_command_has_a_page_with_all_its_options(name):
    parser = _parsers()[1][name]
    page = shell_page(name, parser)
    for action in parser._actions:
        for word in action.option_strings or [action.metavar or action.dest]:
            assert word in page, word
        if action.help and action.help != argparse.SUPPRESS:
            assert action.help.split()[0] in page
    assert page.count("```") % 2 == 0


DETAILS = {
    "search": "discover_joinable",
    "join": "auto_join",
    "build": "build_lake",
    "vectors": "Lake.add_vectors",
    "augment": "LakeAugmenter",
}


@pytest.mark.parametrize("name", DETAILS)
def test_the_details_have_every_argument_of_a_long_function(name):
    function, text = attrgetter(DETAILS[name])(dfjoin), text_of(f"reference/{name}_details")
    text = text.replace(":::{include} generated/mode_arguments.inc\n:::\n", mode_arguments())
    titles = re.findall(r"^### (.*)$", text.partition("\n## Attributes")[0], re.MULTILINE)
    listed = [word for title in titles for word in re.findall(r"`(\w+)`", title)]
    assert sorted(listed) == sorted(set(inspect.signature(function).parameters) - {"self"})
    assert f"/reference/{name}_details" in inspect.getdoc(function)
    assert len(inspect.getdoc(function).splitlines()) < 70


QUESTIONS = {
    "misspelled": 'mode="fuzzy"',
    "too many rows": "aggregate=",
    "nothing found": "min_score=0",
    "postal code and street": "fuzzy=True",
    "entity and year": 'on=["land", "year"]',
    "nearest place": 'radius_unit="km"',
    "latest value before": 'how="asof"',
    "in German": "aliases=True",
    "trust the score": "When not to trust it",
    "doubtful": "reviewed=",
    "colleague": '["plan"]',
    "rule in SQL": "to_spark_sql",
    "every night": "dfjoin add",
    "Excel": "postgresql://",
    "must not get into": "exclude=",
    "slow": "dfjoin warmup",
    "Databricks": "spark_ext.enable",
    "polars": "df.dfjoin.auto_join",
    "help my model": "LakeAugmenter",
    "error mean": "JoinExpansionError",
}
"""Words of a question → what its answer has to say."""


def test_the_start_page_answers_twenty_questions_with_one_click():
    table = re.findall(
        r"^\| (.+?) \| \[[^\]]+\]\(([^)]+)\) \|$", text_of("index").partition("## Twenty")[2], re.MULTILINE
    )
    assert len(table) == len(QUESTIONS) == 20
    for words, answer in QUESTIONS.items():
        (place,) = [place for question, place in table if all(w.lower() in question.lower() for w in words.split())]
        assert answer in (DOCS / place).read_text("utf-8"), f"{words}: {place}"


# Words --------------------------------------------------------------------------------------------------

NOT_HERE = "honest|trusted|hopeless|promises?|promised|merits?|judges?|wishes|doors?|told|leverage|utilize|simply|obviously|seamless|powerful|blazing"


@pytest.mark.parametrize(
    "name", [name for name in PAGES if not name.startswith("measurements/")]
)  # people judged there
def test_pages_use_the_words_of_the_house(name):
    found = re.findall(rf"\b(?:{NOT_HERE})\b", PAGES[name].read_text("utf-8"), re.IGNORECASE)
    assert not found


def test_the_glossary_has_each_word_once():
    words = re.findall(r"^([a-zA-Z][\w ]+)\n  ", text_of("reference/glossary"), re.MULTILINE)
    assert len(words) == len(set(words)) > 30 and [w.lower() for w in words] == sorted(w.lower() for w in words)


def test_a_dead_link_of_the_site_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(screenshots, "SITE", tmp_path)
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="b.html#y"></a><a href="#x"></a><a href="https://x.y"></a>', "utf-8"
    )
    (tmp_path / "b.html").write_text('<a href="a.html?q=1#x"></a><img src="c.svg"><a href="a.html#z"></a>', "utf-8")
    assert screenshots.dead_links() == ["a.html → b.html#y", "b.html → a.html#z", "b.html → c.svg"]
