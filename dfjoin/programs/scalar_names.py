"""Normal forms of names on one string.

The same contract as `dfjoin.programs.scalar`: `Program.to_python` pastes the source of each function, which uses
built-ins and `re` alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dfjoin.programs.scalar import lower_case, map_characters

__all__ = ["name_entity", "normal_name", "plain_name"]


def normal_name(text: str, upper: str, lower: str, accented: str, plain: str, rules: Sequence[tuple[str, str]]) -> str:
    """Write a text in small letters without accents, and replace what each pattern matches, one after the other."""
    text = map_characters(lower_case(text, upper, lower), accented, plain)
    for pattern, new in rules:
        text = re.sub(pattern, new, text)
    return text


def plain_name(text: str, tables: Sequence[tuple[str, str]], rules: Sequence[tuple[str, str]]) -> str:
    """Replace characters by tables, and what each pattern matches, one after the other."""
    for old, new in tables:
        text = map_characters(text, old, new)
    for pattern, new in rules:
        text = re.sub(pattern, new, text)
    return text


def name_entity(
    text: str, tables: Sequence[tuple[str, str]], rules: Sequence[tuple[str, str]], keys: str, values: str
) -> str:
    """Return what a table has for the plain form of a name, else the form; keys and values with U+001F between."""
    name = plain_name(text, tables, rules)
    return dict(zip(keys.split("\x1f"), values.split("\x1f"), strict=True)).get(name, name)
