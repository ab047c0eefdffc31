"""Examples of methods whose docstrings have none: the blocks of `reference/method_examples.md`, each on its page."""

import re

from page_blocks import PROJECT, blocks_of

__all__ = ["add_example", "method_examples"]

_PAGE = PROJECT / "docs" / "reference" / "method_examples.md"


def method_examples() -> dict[str, list[str]]:
    """Read the page: name of each class or method → its example, as lines of reStructuredText."""
    examples = {}
    for part in re.split(r"^## ", _PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        name, _, text = part.partition("\n")
        (block,) = blocks_of(text)
        lines = [".. rubric:: Examples", "", "With the names of :doc:`/reference/method_examples`:", ""]
        for language, code in (("python", block.source), ("text", block.output)):
            if code:
                lines += [f".. code-block:: {language}", "", *(f"   {line}" for line in code.splitlines()), ""]
        examples[name.strip()] = lines
    return examples


def add_example(app, what, name, obj, options, lines):
    """Add its example to a docstring that has none; Sphinx calls it for each."""
    parts = name.split(".")
    for known in (".".join(parts[-2:]), parts[-1]):
        if known in _EXAMPLES and not any("Examples" in line for line in lines):
            lines += ["", *_EXAMPLES[known]]
            app.env.note_dependency(str(_PAGE))  # the page is made anew when the example is another
            return


_EXAMPLES = method_examples()
