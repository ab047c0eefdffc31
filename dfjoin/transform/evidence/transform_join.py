"""The result of learning: a join by programs as data, and the row pairs that it joins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin._validation import show
from dfjoin._visible import visible_lines
from dfjoin.errors import InvalidParameterError, InvalidTypeError
from dfjoin.programs.confidence import Confidence
from dfjoin.programs.program import Program
from dfjoin.transform.evidence.prepared_columns import SETTINGS, Column, as_columns
from dfjoin.values.key_index import Vocabulary, expand_pairs, pair_codes
from dfjoin.values.normalize import normalize_column

MAX_PROGRAMS = 100
"""Programs of a stored join; learned ones have fewer."""

_LARGEST = 2.0**63
_LONGEST_BASIS = 1000

_T = TypeVar("_T")

Table = Mapping[str, pa.Array | Column] | Sequence[tuple[str, pa.Array | Column]]


@dataclass(frozen=True, slots=True)
class RankedProgram:
    """One program of a join.

    Parameters
    ----------
    program : Program
        It joins by every result: one that is a value of the other table has that for it.
    support : int
        Rows of the source that it joins and no program before it.
    coverage : float
        `support` ÷ rows of the source whose main column is not null.
    precision : float
        Estimated share of its joined values that join the right value; see `Outcome.precision`.
    evidence : float
        Evidence against chance in bits, minus the description length of the program.
    confidence : Confidence or None
        Of a program that examples taught: by it the stored program leaves out results that are not sure.
    """

    program: Program
    support: int
    coverage: float
    precision: float
    evidence: float
    confidence: Confidence | None = None


@dataclass(frozen=True, slots=True)
class TransformJoin:
    """A join by programs, or none.

    Parameters
    ----------
    direction : {"left_to_right", "right_to_left", ""}
        The first table named is the source, whose rows the programs read; empty if nothing was found.
    source_columns : tuple of str
        Columns of the source that some program reads, the main one first.
    target_columns : tuple of str
        Columns of the other table that `target` reads.
    target : Program or None
        Gives the values that the programs' results are compared with: a copy of a column, or a part of one.
    programs : tuple of RankedProgram
        In the order in which they are tried on a row; the first whose result is a target value joins.
    source_coverage, target_coverage : float
        Share of the distinct values of the main source column and of the target that are joined.
    tried : tuple of str
        The programs that were not accepted and why, one line each.
    basis : str
        What the decision rests on where it is no evidence against chance; else empty.
    """

    direction: Literal["left_to_right", "right_to_left", ""] = ""
    source_columns: tuple[str, ...] = ()
    target_columns: tuple[str, ...] = ()
    target: Program | None = None
    programs: tuple[RankedProgram, ...] = ()
    source_coverage: float = 0.0
    target_coverage: float = 0.0
    tried: tuple[str, ...] = ()
    basis: str = ""

    @property
    def found(self) -> bool:
        """Whether there is a join."""
        return bool(self.programs)

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the columns of the left table, and of the right one, that are related."""
        return self.ordered(self.source_columns, self.target_columns)

    def ordered(self, left: _T, right: _T) -> tuple[_T, _T]:
        """Return what is of the source and what is of the target, given that of the left and right side; or back."""
        return (right, left) if self.direction == "right_to_left" else (left, right)

    def __str__(self) -> str:
        if not self.found:
            return visible_lines(["no join found", *(f"  {line}" for line in self.tried)])
        lines = [
            f"{ranked.program} = {self.target}: {ranked.support} rows, precision about {ranked.precision:.3f}"
            for ranked in self.programs
        ]
        return visible_lines(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        return {
            "direction": self.direction,
            "source_columns": list(self.source_columns),
            "target_columns": list(self.target_columns),
            "target": None if self.target is None else self.target.to_dict(),
            "programs": [
                {
                    "program": replace(ranked.program, confidence=ranked.confidence).to_dict(),
                    "text": str(ranked.program),
                    "support": ranked.support,
                    "coverage": ranked.coverage,
                    "precision": ranked.precision,
                    "evidence": ranked.evidence,
                }
                for ranked in self.programs
            ],
            "source_coverage": self.source_coverage,
            "target_coverage": self.target_coverage,
            "tried": list(self.tried),
        } | ({"basis": self.basis} if self.basis else {})

    def to_saved(self) -> dict[str, Any]:
        """Return what `to_dict` does, without what else was tried."""
        return {key: value for key, value in self.to_dict().items() if key != "tried"}

    @classmethod
    def from_dict(cls, values: Any) -> TransformJoin:
        """Read what `to_dict` wrote, and check every part of it; `tried` may be left out.

        Raises
        ------
        InvalidTypeError, InvalidParameterError
            Saying which part is wrong.
        """
        if not isinstance(values, Mapping) or not isinstance(values.get("programs"), list):
            raise InvalidTypeError(f"a join by programs must be a JSON object with programs, got {values!r:.80}")
        direction, target = values.get("direction"), values.get("target")
        if direction not in ("left_to_right", "right_to_left", "") or bool(direction) != bool(values["programs"]):
            raise InvalidParameterError(
                f"`direction` of a join by programs must be left_to_right or right_to_left, empty without programs; "
                f"got {direction!r:.80}"
            )
        if bool(direction) != (target is not None):
            raise InvalidParameterError(
                "`target` of a join by programs must be given with programs, and only with them"
            )
        if len(values["programs"]) > MAX_PROGRAMS:
            raise InvalidParameterError(
                f"a join by programs must have at most {MAX_PROGRAMS} programs, got {len(values['programs']):,}"
            )
        found = cls(
            direction,
            _names(values, "source_columns"),
            _names(values, "target_columns"),
            None if target is None else Program.from_dict(target),
            tuple(_ranked(entry) for entry in values["programs"]),
            _number(values, "source_coverage"),
            _number(values, "target_coverage"),
            _names({"tried": [], **values}, "tried"),
            str(values.get("basis", ""))[:_LONGEST_BASIS],
        )
        found._check_columns()
        return found

    def _check_columns(self) -> None:
        """Raise when a program reads a column that the join does not name."""
        sides = (("source_columns", [ranked.program for ranked in self.programs]), ("target_columns", [self.target]))
        for key, programs in sides:
            known = getattr(self, key)
            unknown = [name for program in programs if program for name in program.columns if name not in known]
            if unknown:
                raise InvalidParameterError(
                    f"`{key}` of a join by programs must name the columns that the programs read, got "
                    f"{list(known)!r:.80} and a program of {unknown[0]!r:.80}"
                )


def _names(values: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Read a list of texts of a stored join."""
    names = values.get(key)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidTypeError(f"`{key}` of a join by programs must be a list of texts, got {names!r:.80}")
    return tuple(names)


def _number(values: Mapping[str, Any], key: str) -> float:
    """Read a number of a stored join."""
    number = values.get(key)
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not abs(number) < _LARGEST:
        raise InvalidTypeError(f"`{key}` of a join by programs must be a number below 2^63, got {show(number)}")
    return number


def _ranked(values: Any) -> RankedProgram:
    """Read one program of a stored join."""
    if not isinstance(values, Mapping):
        raise InvalidTypeError(f"`programs` of a join must be JSON objects, got {values!r:.80}")
    support, coverage, precision, evidence = (
        _number(values, key) for key in ("support", "coverage", "precision", "evidence")
    )
    program = Program.from_dict(values.get("program"))
    return RankedProgram(program.certain, int(support), coverage, precision, evidence, program.confidence)


@dataclass(frozen=True, slots=True)
class RowJoin:
    """Joined rows.

    Parameters
    ----------
    left_rows, right_rows : ndarray of int64, shape (n_pairs,)
        Rows of the two tables, by left row, then right row.
    programs : ndarray of int16, shape (n_pairs,)
        Number of the program that joins each pair.
    """

    left_rows: NDArray[np.int64]
    right_rows: NDArray[np.int64]
    programs: NDArray[np.int16]


def join_rows(found: TransformJoin, left: Table, right: Table) -> RowJoin:
    """Apply the programs of a result and join by equality of canonical values.

    Each source row joins the rows of at most one target value: that of the first program whose result is
    one. A null joins nothing.

    Parameters
    ----------
    found : TransformJoin
    left, right : mapping or sequence of (name, pyarrow Array of strings)
        Tables with the columns that `found` names; not necessarily those it was learned from.

    Returns
    -------
    RowJoin
        Empty if nothing was found.

    Notes
    -----
    Linear in rows and pairs.
    """
    nothing = np.empty(0, np.int64)
    if not found.found or found.target is None:
        return RowJoin(nothing, nothing, nothing.astype(np.int16))
    sources, targets = ({c.name: c.array for c in as_columns(side)} for side in found.ordered(left, right))
    wanted = normalize_column(found.target.apply([targets[name] for name in found.target.columns]), SETTINGS)
    vocabulary = Vocabulary(wanted)
    n_rows = len(next(iter(sources.values())))
    chosen = np.full(n_rows, -1, np.int64)
    program_of = np.full(n_rows, -1, np.int16)
    for number, ranked in enumerate(found.programs):
        outputs = normalize_column(ranked.program.apply([sources[name] for name in ranked.program.columns]), SETTINGS)
        if len(outputs) == 0:
            continue
        hits = vocabulary.codes_of(outputs)
        row_targets = np.where(outputs.codes >= 0, hits[outputs.codes], -1)
        is_new = (chosen < 0) & (row_targets >= 0)
        chosen[is_new], program_of[is_new] = row_targets[is_new], number
    source_rows, target_rows = expand_pairs(chosen, wanted.codes, len(wanted))
    left_rows, right_rows = found.ordered(source_rows, target_rows)
    order = np.argsort(pair_codes(left_rows, right_rows, int(right_rows.max(initial=0)) + 1), kind="stable")
    return RowJoin(left_rows[order], right_rows[order], program_of[source_rows][order])
