"""Texts as people write them differently: with a typo, in another format, abbreviated, or their words in another order.

A lake's own values, changed so, tell how far an embedder moves a text that means the same.
"""

from __future__ import annotations

import random

__all__ = ["CHANGES", "change_text"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LETTERS_A_TYPO = 8
"""A text has a typo for so many characters, one at least and three at most."""


def change_text(text: str, kind: int, rng: random.Random) -> str:
    """Change a text in one of the kinds of `CHANGES`, by its number; it may stay as it is, and does if empty."""
    if not text.strip():
        return text
    return CHANGES[kind % len(CHANGES)](text, rng)


def _mistype(text: str, rng: random.Random) -> str:
    for _ in range(min(3, max(1, len(text) // _LETTERS_A_TYPO))):
        i, letter = rng.randrange(len(text)), rng.choice(_LETTERS)
        text = rng.choice(
            [
                text[:i] + letter + text[i:],
                text[:i] + text[i + 1 :] or text,
                text[:i] + letter + text[i + 1 :],
                text[:i] + text[i : i + 2][::-1] + text[i + 2 :],
            ]
        )
    return text


def _reformat(text: str, rng: random.Random) -> str:
    words = text.split()
    return rng.choice(["-".join(words), "".join(words), f"{text}.", text.replace(" ", ". ")])


def _abbreviate(text: str, rng: random.Random) -> str:
    words = text.split()
    long = [i for i, word in enumerate(words) if len(word) > 3]
    if long:
        i = rng.choice(long)
        words[i] = words[i][: rng.randrange(1, 4)] + "."
    return " ".join(words)


def _reorder(text: str, rng: random.Random) -> str:
    words = text.split()
    if len(words) > 1 and rng.random() < 0.5:
        return f"{words[-1]}, {' '.join(words[:-1])}"
    return " ".join(rng.sample(words, len(words)))


CHANGES = (_mistype, _reformat, _abbreviate, _reorder)
"""The kinds of change: functions of a text and a generator."""
