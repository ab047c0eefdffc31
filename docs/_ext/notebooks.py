"""Notebooks of the tutorials: ``python docs/_ext/notebooks.py DIRECTORY``; a build of the site makes them, too.

A page is the one source. Its blocks of Python become cells, with the outputs that the page shows and the tests compare.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from page_blocks import PROJECT, blocks_of

__all__ = ["notebook_of", "write_notebooks"]


def notebook_of(page: Path) -> dict[str, Any]:
    """Make the notebook of a page, as JSON of format 4."""
    text, cells, end = page.read_text("utf-8"), [], 0
    for block in blocks_of(text):
        if block.language == "python":
            cells += [*_markdown(text[end : block.start]), _code(block.source, block.output)]
            end = block.end
    cells += _markdown(text[end:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _markdown(text: str) -> list[dict[str, Any]]:
    """Make a cell of the text between blocks; links to other pages have no target beside a notebook."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\.(?:md|ipynb)[^)]*\)", r"\1", text).strip()
    return [{"cell_type": "markdown", "metadata": {}, "source": text}] if text else []


def _code(source: str, output: str | None) -> dict[str, Any]:
    outputs = [] if output is None else [{"output_type": "stream", "name": "stdout", "text": output}]
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None}
    return {**cell, "source": source.rstrip("\n"), "outputs": outputs}


def write_notebooks(directory: Path) -> list[Path]:
    """Write the notebooks of all tutorials that have code of Python into a directory; give their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for page in sorted((PROJECT / "docs" / "tutorials").glob("*.md")):
        notebook = notebook_of(page)
        if any(cell["cell_type"] == "code" for cell in notebook["cells"]):
            written.append(directory / f"{page.stem}.ipynb")
            written[-1].write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return written


if __name__ == "__main__":
    for path in write_notebooks(Path(sys.argv[1])):
        print(path)
