"""Texts, patterns and repeated operands as Spark SQL, whatever settings the session has."""

from __future__ import annotations

END = "(?!(?s:.))"
"""The end of a text as a pattern; ``$`` would also match before a line end."""
_UNSAFE = set("'\\$`\"")


def quote(text: str) -> str:
    """Write a text as an expression that means it under every parser setting of Spark.

    Quotes and backslashes are read differently under ``escapedStringLiterals`` and the versions of
    Spark, ``${...}`` may be substituted, and control characters do not survive pasting: a text that
    has any of them is written by its bytes.

    Examples
    --------
    >>> print(quote(", "), quote("it's"))
    ', ' CAST(X'69742773' AS STRING)
    """
    if all(c not in _UNSAFE and (" " <= c <= "~" or c.isalnum()) for c in text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex().upper()}' AS STRING)"


def bind(operand: str, body: str) -> str:
    """Name an operand that `body` uses more than once ``x``, so that it is written once."""
    return f"transform(array({operand}), x -> {body})[0]"


def when_empty(expression: str) -> str:
    """Turn an empty result into a null."""
    return f"nullif({expression}, '')"
