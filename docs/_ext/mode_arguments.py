"""Arguments that some modes of a search alone have: their part of a page, written from the record that checks them."""

import inspect
import re
from pathlib import Path

from dfjoin.search.params import BELONGS, SearchParams

__all__ = ["mode_arguments", "write_mode_arguments"]


def write_mode_arguments(file: Path) -> None:
    """Write what ``search_details.md`` includes; a file that is already so stays untouched."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = mode_arguments()
    if not file.exists() or file.read_text("utf-8") != text:
        file.write_text(text, "utf-8")


def mode_arguments() -> str:
    """Write a section for each argument, in the order of the record: its type, and what its docstring says."""
    parameters = inspect.getdoc(SearchParams).partition("----------\n")[2]
    sections = re.findall(r"^(\w+) : (.*)\n((?:\n?    .*\n?)*)", parameters, re.MULTILINE)
    return "\n".join(
        f"### `{name}`\n\n*{kind}*\n\n{inspect.cleandoc(text)}\n" for name, kind, text in sections if name in BELONGS
    )
