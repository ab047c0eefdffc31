"""The code of a page: its blocks, what they print, and the page with what they print now.

A block of ``python`` is run, all of a page in one namespace, and a block without a language behind it is what it
prints, with the value of its last expression as a notebook shows it. A block of ``sh`` is run line by line where the
line is a command of dfjoin. Blocks of ``py``, ``bash``, ``sql`` and others are shown only.

``python docs/_ext/page_blocks.py PAGE…`` writes into pages what their blocks print now; look at the difference.
"""

import ast
import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["PROJECT", "PageBlock", "blocks_of", "pages", "run_block", "run_page"]

PROJECT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class PageBlock(NamedTuple):
    """A fenced block of code.

    Parameters
    ----------
    language : str
    source : str
    output : str or None
        The block without a language that follows, if one does.
    start, end : int
        Where the block stands in the page, its output included.
    """

    language: str
    source: str
    output: str | None
    start: int
    end: int


def pages() -> list[Path]:
    """List the pages of the site whose code is run; generated ones are not, and their code runs elsewhere."""
    generated = {PROJECT / "docs" / "_build", PROJECT / "docs" / "gallery", PROJECT / "docs/reference/generated"}
    found = (page for page in (PROJECT / "docs").rglob("*.md") if not generated & set(page.parents))
    return sorted(page for page in found if page.name != "decisions.md")


def blocks_of(text: str) -> Iterator[PageBlock]:
    """Read the blocks of a page in order; an output belongs to the block before it."""
    found = list(_FENCE.finditer(text))
    for match, after in pairwise([*found, None]):
        if match is not None and match[1]:
            has_output = after is not None and not after[1] and not text[match.end() : after.start()].strip()
            output, end = (after[2], after.end()) if has_output and after is not None else (None, match.end())
            yield PageBlock(match[1], match[2], output, match.start(), end)


def run_block(block: PageBlock, names: dict[str, Any]) -> str | None:
    """Run a block and return what it prints; None for a block that is shown only."""
    printed = io.StringIO()
    if block.language == "python":
        tree = ast.parse(block.source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, "<page>", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "<page>", "eval"), names)
                if value is not None:
                    print(repr(value))
        return _without_trailing_space(printed.getvalue())
    commands = [line for line in block.source.splitlines() if line.startswith("dfjoin ")]
    if block.language != "sh" or not commands:
        return None
    from dfjoin.cli.main import main

    with contextlib.redirect_stdout(printed):
        for line in commands:
            for command in line.split("&&"):
                assert main(shlex.split(command, comments=True)[1:]) in (0, None), command
    return _without_trailing_space(printed.getvalue())


def _without_trailing_space(text: str) -> str:
    """Return what was printed, with paths below the working directory as a reader of the page would write them."""
    text = text.replace(f"{Path.cwd()}{os.sep}", "")
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


def run_page(page: Path, names: dict[str, Any]) -> Iterator[tuple[PageBlock, str | None]]:
    """Run the blocks of a page in the working directory; give each with what it printed."""
    for block in blocks_of(page.read_text("utf-8")):
        yield block, run_block(block, names)


def _record(page: Path) -> None:
    """Write into a page what its blocks print."""
    text, parts, end = page.read_text("utf-8"), [], 0
    for block, printed in run_page(page, {}):
        if block.output is not None and printed is not None:
            parts += [text[end : block.start], f"```{block.language}\n{block.source}```\n\n```\n{printed}```"]
            end = block.end
    page.write_text("".join([*parts, text[end:]]), "utf-8")


if __name__ == "__main__":
    os.environ["COLUMNS"] = "140"
    for name in sys.argv[1:]:
        page = Path(name).resolve()
        with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
            shutil.copytree(PROJECT / "examples", "examples")
            _record(page)
