"""Examples of functions whose docstrings have none: the blocks of two pages, each on the page of its function."""

import re

from page_blocks import PROJECT, blocks_of

__all__ = ["add_example", "method_examples"]

_PAGES = ("reference/method_examples", "reference/spark_examples")


def method_examples() -> dict[str, tuple[str, list[str]]]:
    """Read the pages: name of each function, class or method → its page, its example as reStructuredText."""
    examples = {}
    for page in _PAGES:
        text = (PROJECT / "docs" / f"{page}.md").read_text("utf-8")
        for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
            name, _, example = part.partition("\n")
            (block,) = blocks_of(example)
            lines = ["", ".. rubric:: Examples", "", f"With the names of :doc:`/{page}`:", ""]
            for language, code in (("python", block.source), ("text", block.output)):
                if code:
                    lines += [f".. code-block:: {language}", "", *(f"   {line}" for line in code.splitlines()), ""]
            examples[name.strip()] = page, lines
    return examples


def add_example(app, what, name, obj, options, lines):
    """Add its example to a docstring that has none; Sphinx calls it for each."""
    parts = name.split(".")
    known = next((key for key in (".".join(parts[-2:]), parts[-1]) if key in _EXAMPLES), None)
    if known is not None and not any("Examples" in line for line in lines):
        page, example = _EXAMPLES[known]
        lines += example
        app.env.note_dependency(f"{PROJECT}/docs/{page}.md")  # the page is made anew when the example is another


_EXAMPLES = method_examples()
