"""The site: ``python -m sphinx -W --keep-going docs docs/_build/html``."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from method_examples import add_example  # noqa: E402
from mode_arguments import write_mode_arguments  # noqa: E402
from notebooks import write_notebooks  # noqa: E402
from shell_pages import write_shell_pages  # noqa: E402

import dfjoin  # noqa: E402

project = "dfjoin"
author = "the dfjoin authors"
copyright = "the dfjoin authors, Apache-2.0"
version = release = dfjoin.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_ext", "gallery_src", "**/*.ipynb"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "dfjoin"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_search_summary = False  # a browser does not let a page on disk fetch the text of another
html_copy_source = False
highlight_language = "text"  # a block without a language is what code prints
smartquotes = False  # two hyphens begin an option
pygments_style, pygments_dark_style = "tango", "monokai"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
default_role = "py:obj"  # a name in backticks of a docstring is a link, where it has a page
autodoc_typehints = "none"  # numpydoc writes types beside the parameters
numpydoc_show_class_members = False  # each method has a page of its own
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "gallery_src",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "min_reported_time": 3600,
    "write_computation_times": False,
}


def setup(app):
    """Write the pages that are made of the code, before Sphinx looks for pages."""
    write_shell_pages(HERE / "reference/generated/shell")
    write_mode_arguments(HERE / "reference/generated/mode_arguments.inc")
    write_notebooks(HERE / "tutorials/generated")
    app.connect("autodoc-process-docstring", add_example)
