"""Texts of others where they meet a terminal: what it would obey, or not show, is written as an escape."""

from __future__ import annotations

import re
from collections.abc import Iterable

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, separators of lines, marks of direction (Unicode Standard Annex 9), and lone surrogates, which
stand for bytes of a file name that are no UTF-8."""

_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str) -> str:
    r"""Write a text so that it stays on its line, in its order, and asks nothing of a terminal.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        The same text, with control characters, marks of direction and lone surrogates as escapes, which Python and
        JSON read alike. It can be encoded as UTF-8. O(length).

    Notes
    -----
    Headers and names of files are texts of others: an escape sequence in them may write to the clipboard, change the
    title of the window or colour what follows; a mark of direction may show the end of a name before its beginning.

    Examples
    --------
    >>> print(visible("area\x1b[31m"), visible("a\u202etxt.exe"), visible("two\nlines"), visible("Zürich"))
    area\u001b[31m a\u202etxt.exe two\nlines Zürich
    """
    return _UNSEEN.sub(_escape, text)


def visible_lines(lines: Iterable[str]) -> str:
    r"""Put lines together, each as `visible` writes it: no name makes a line of its own.

    Examples
    --------
    >>> print(visible_lines(["columns: a\nb", "1 row"]))
    columns: a\nb
    1 row
    """
    return "\n".join(map(visible, lines))


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character, f"\\u{ord(character):04x}")
