"""One command of the shell: its name, its help, and ``--json``."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add_command"]


def add_command(commands: Any, name: str, text: str, run: Any) -> argparse.ArgumentParser:
    """Add a command with its help and ``--json``."""
    parser = commands.add_parser(
        name,
        help=text.partition("\n")[0],
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", help="write JSON, for programs")
    return parser
