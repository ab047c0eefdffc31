"""How well a program does on rows whose results are not known: it should give a result, and one like those taught."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dfjoin.programs.conditions import shape_of

_NUMBER = re.compile("-?[0-9.,]+")
_NO_RESULT = 12.0
"""Weight of a program that gives no result for any other row."""
_STRANGE = 10.0
"""Weight of a program whose every result has kinds of characters that no example has."""
_OTHER_LENGTH = 4.0
_OTHER_SHAPE = 2.0


def _kinds(text: str) -> set[str]:
    """Return the characters that are neither letters nor digits, and which kinds of those there are."""
    return {
        "9" if c.isdigit() else "a" if c.islower() else "A" if c.isupper() else "x" if c.isalpha() else c for c in text
    }


def marks_beside(rows: Sequence[Sequence[str]], others: Sequence[Sequence[str]]) -> list[set[str]]:
    """Return the marks of each other row that no row of an example has, but for the points of numbers.

    Examples
    --------
    >>> marks_beside([("2",)], [("-2.5",), ("3",), ("a/b.c",)]) == [{"-"}, set(), {"/", "."}]
    True
    """
    known = {c for row in rows for text in row for c in text}
    return [
        {c for text in row for c in text if not (c.isalnum() or (c in ".," and _NUMBER.fullmatch(text)))} - known
        for row in others
    ]


class OutputLikeness:
    """What the taught results look like, to compare others with.

    Parameters
    ----------
    targets : sequence of str
    """

    def __init__(self, targets: Sequence[str]) -> None:
        self._kinds = set().union(*map(_kinds, targets))
        self._shapes = {shape_of(target) for target in targets}
        lengths = [len(target) for target in targets]
        self._least, self._most = 0.5 * min(lengths) - 2, 2 * max(lengths) + 3

    def penalty(self, results: Sequence[str | None], new: Sequence[set[str]] = ()) -> float:
        """Return what a program's results for other rows add to its weight; 0 if all of them are alike.

        Parameters
        ----------
        results : sequence of str or None
        new : sequence of set of str, optional
            Marks that the results may have though none of an example has one, see `marks_beside`.

        Notes
        -----
        Shares of the rows without a result, with kinds of characters that no example has, of quite another length,
        and of another shape, each times a weight; one row more counts as alike, since few rows tell little. The weights
        were set by hand and not fitted; varying them changes few solved tasks (see tests/benchmarks/NOTES.md).
        """
        if not results:
            return 0.0
        missing = strange = unlike = 0.0
        for position, result in enumerate(results):
            if not result:
                missing += 1
                continue
            strange += bool(_kinds(result) - self._kinds - (new[position] if new else set()))
            unlike += _OTHER_LENGTH * (not self._least <= len(result) <= self._most)
            unlike += _OTHER_SHAPE * (shape_of(result) not in self._shapes)
        n = len(results) + 1
        return (_NO_RESULT * missing + _STRANGE * strange + unlike) / n
