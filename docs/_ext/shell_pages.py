"""The reference of the shell, a page a command, written from the parsers of its arguments."""

import argparse
import os
from pathlib import Path

from dfjoin.cli.main import _parsers

__all__ = ["shell_page", "write_shell_pages"]


def write_shell_pages(directory: Path) -> None:
    """Write a page for each command; a page that is already so stays untouched, and is not built again."""
    directory.mkdir(parents=True, exist_ok=True)
    os.environ["COLUMNS"] = "100"  # the width of usage lines
    for name, parser in _parsers()[1].items():
        page, text = directory / f"{name}.md", shell_page(name, parser)
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")


def shell_page(name: str, parser: argparse.ArgumentParser) -> str:
    """Write the page of a command: what it does, its calls, its options."""
    lines = [f"# dfjoin {name}", ""]
    is_open = False
    for line in (parser.description or "").splitlines():
        is_call = line.startswith("  ")
        if is_call and is_open and not line.strip().startswith("dfjoin "):
            lines[-1] += f" {line.strip()}"  # a call has as many lines as its explanation needs
            continue
        if is_call != is_open:
            lines += ["```bash" if is_call else "```"]
        is_open = is_call
        lines += [line.strip()]
    lines += ["```"] if is_open else []
    lines += ["", "```bash", parser.format_usage().removeprefix("usage: ").rstrip(), "```", ""]
    for title, is_option in (("Arguments", False), ("Options", True)):
        actions = [action for action in parser._actions if bool(action.option_strings) == is_option]
        if actions:
            lines += [f"## {title}", "", "| | |", "|---|---|"]
            lines += [f"| `{_spelling(action)}` | {_meaning(action)} |" for action in actions] + [""]
    return "\n".join(lines)


def _spelling(action: argparse.Action) -> str:
    if not action.option_strings:
        return str(action.metavar or action.dest)
    names = ", ".join(action.option_strings)
    if action.nargs == 0 or action.choices is not None:
        return names
    value = action.metavar or action.dest.upper()
    return f"{names} {' '.join(value) if isinstance(value, tuple) else value}"


def _meaning(action: argparse.Action) -> str:
    choices = ", ".join(f"`{choice}`" for choice in action.choices or ())
    text = (action.help or "").replace("%%", "%").replace("|", "\\|")
    return ": ".join(part for part in (text, choices) if part)
