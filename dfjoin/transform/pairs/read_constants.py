"""Constants of learned programs that the source holds: a year that all rows share is read, and not written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from dfjoin.programs.characters import pattern_of
from dfjoin.programs.part_operators import CharacterRun
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import MAX_PIECES, Constant, Extract, Piece
from dfjoin.transform.evidence.prepared_columns import as_columns
from dfjoin.transform.evidence.transform_join import RankedProgram, Table, TransformJoin, join_rows

_TOKEN = re.compile(f"([0-9]{{2,}}|{pattern_of('letters')}{{2,}})")
_RUNS = {kind: re.compile(f"{pattern_of(kind)}+") for kind in ("digits", "letters")}
_RUN_NUMBERS = (0, 1, 2, -1, -2)
"""Runs of digits or letters, from either end, among which a constant is looked for."""
_MAX_ROWS = 2_000

Texts = Sequence[Sequence[str]]
"""The texts of some rows, one sequence for each column of a program."""


def read_constants(found: TransformJoin, left: Table, right: Table) -> TransformJoin:
    """Replace constants of programs by what stands in the source, where all rows that join hold them at one position.

    Parameters
    ----------
    found : TransformJoin
        Learned from the tables.
    left, right : mapping or sequence of (name, pyarrow Array of strings)

    Returns
    -------
    TransformJoin
        Its programs join what they joined, and rows that hold something else there.

    Notes
    -----
    Numbers and words of at least two characters are looked for among the first three and the last two runs of digits or
    letters of each column. 2,000 rows that join are looked at, spread over all. A program whose year is read explains
    next year's rows, which the sample could not show.
    """
    if not any(_tokens(ranked.program) for ranked in found.programs):
        return found
    rows = join_rows(found, left, right)
    source_rows, _ = found.ordered(rows.left_rows, rows.right_rows)
    sources = {column.name: column.array for column in as_columns(found.ordered(left, right)[0])}
    programs = []
    for number, ranked in enumerate(found.programs):
        joined = np.unique(source_rows[rows.programs == number])
        taken = pa.array(joined[:: max(1, -(-joined.size // _MAX_ROWS))])
        texts = [sources[name].take(taken).to_pylist() for name in ranked.program.columns]
        programs.append(replace(ranked, program=_with_readings(ranked.program, texts)))
    if all(new.program == old.program for new, old in zip(programs, found.programs, strict=True)):
        return found
    firsts = {new.program: number for number, new in reversed(list(enumerate(programs)))}
    different = sorted(firsts.values())  # two programs that wrote different years may read one
    changed = replace(found, programs=tuple(programs[number] for number in different))
    counted = zip(_counted(changed, left, right), (found.programs[number] for number in different), strict=True)
    return replace(changed, programs=tuple(new if new.support >= old.support else old for new, old in counted))


def _tokens(program: Program) -> list[str]:
    """Return the numbers and words that a program writes."""
    return [token for piece in program.pieces if isinstance(piece, Constant) for token in _TOKEN.findall(piece.text)]


def _with_readings(program: Program, texts: Texts) -> Program:
    """Return the program with readings in place of constants."""
    if not texts or not texts[0]:
        return program
    pieces: list[Piece] = []
    for piece in program.pieces:
        pieces += _parts_of(piece, texts) if isinstance(piece, Constant) else [piece]
    return replace(program, pieces=tuple(pieces)) if len(pieces) <= MAX_PIECES else program


def _parts_of(constant: Constant, texts: Texts) -> Iterator[Piece]:
    """Yield a constant in parts, of which some are read."""
    rest = ""
    for part in filter(None, _TOKEN.split(constant.text)):
        reading = _reading_of(part, texts) if _TOKEN.fullmatch(part) else None
        if reading is None:
            rest += part
            continue
        if rest:
            yield Constant(rest)
        yield reading
        rest = ""
    if rest:
        yield Constant(rest)


def _reading_of(token: str, texts: Texts) -> Extract | None:
    """Return the run that is a number or a word in all rows; None if there is none."""
    kind = "digits" if token.isdigit() else "letters"
    for column, cells in enumerate(texts):
        runs = [_RUNS[kind].findall(cell) for cell in cells]
        for number in _RUN_NUMBERS:
            at_least = number + 1 if number >= 0 else -number
            if all(len(found) >= at_least and found[number].lower() == token.lower() for found in runs):
                return Extract(column, (CharacterRun(kind, number),))
    return None


def _counted(found: TransformJoin, left: Table, right: Table) -> Iterator[RankedProgram]:
    """Yield the programs of a join with the rows that they join now."""
    rows = join_rows(found, left, right)
    source_rows, _ = found.ordered(rows.left_rows, rows.right_rows)
    for number, ranked in enumerate(found.programs):
        support = int(np.unique(source_rows[rows.programs == number]).size)
        n_rows = ranked.support / ranked.coverage if ranked.coverage else support
        yield replace(ranked, support=support, coverage=min(1.0, support / max(1.0, n_rows)))
