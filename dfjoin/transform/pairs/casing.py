"""The casing of a learned program: programs are learned on folded texts, and compared with ``=`` after their export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Constant, Extract, Piece
from dfjoin.programs.text_operators import CASES, Case
from dfjoin.transform.evidence.prepared_columns import SETTINGS, as_columns
from dfjoin.transform.evidence.transform_join import Table, TransformJoin
from dfjoin.values.key_index import Vocabulary
from dfjoin.values.normalize import normalize_column
from dfjoin.values.shares import NEARLY_ALL

_MAX_ROWS = 2_000
_MAX_PAIRS = 200
"""Joined rows that the casing is learned from."""
_MAX_STEPS = 8


def restore_casing(program: Program, rows: Sequence[Sequence[str | None]], targets: Sequence[str]) -> Program:
    """Give the pieces of a program the casing that its targets have, where one casing fits nearly all of them.

    Parameters
    ----------
    program : Program
    rows : sequence of sequence of str or None
        Rows that it joins: a text for each of its columns.
    targets : sequence of str
        The value that each joins, as the table spells it.

    Returns
    -------
    Program
        The program itself if no casing helps. Its results differ from those of the program by casing alone.

    Notes
    -----
    Each piece is compared with the characters that it stands for in targets of equal length; the casing that most of
    them have is taken if nearly all results are then spelled as their targets.
    """
    before = sum(program(*row) == target for row, target in zip(rows, targets, strict=True))
    if not rows or before >= NEARLY_ALL * len(rows):
        return program
    votes: list[Counter[str]] = [Counter() for _ in program.pieces]
    for row, target in zip(rows, targets, strict=True):
        parts = [piece(row) for piece in program.pieces]
        whole = "".join(part or "" for part in parts)
        if not all(parts) or len(whole) != len(target) or whole.lower() != target.lower():
            continue
        at = 0
        for number, part in enumerate(parts):
            text = part or ""
            segment = target[at : at + len(text)]
            at += len(text)
            if isinstance(program.pieces[number], Constant):
                votes[number][segment] += 1
            else:
                votes[number].update(style for style in ("", *CASES) if _cased(text, style) == segment)
    pieces = tuple(_voted(piece, vote) for piece, vote in zip(program.pieces, votes, strict=True))
    changed = replace(program, pieces=pieces)
    after = sum(changed(*row) == target for row, target in zip(rows, targets, strict=True))
    return changed if after >= NEARLY_ALL * len(rows) else program


def _cased(text: str, style: str) -> str | None:
    return Case(style)(text) if style else text


def _voted(piece: Piece, votes: Counter[str]) -> Piece:
    """Return a piece in the casing with most votes; of equally many the first: as it is, then lower, upper, title."""
    if not votes:
        return piece
    most = max(votes.values())
    if isinstance(piece, Constant):
        return Constant(min(text for text, count in votes.items() if count == most))
    if not isinstance(piece, Extract):  # numbers
        return piece
    style = next(style for style in ("", *CASES) if votes[style] == most)
    is_possible = style and len(piece.steps) < _MAX_STEPS
    return Extract(piece.column, (*piece.steps, Case(style))) if is_possible else piece


def spell_as_targets(found: TransformJoin, left: Table, right: Table) -> TransformJoin:
    """Return a join whose programs spell their results as the table does that they join.

    Parameters
    ----------
    found : TransformJoin
        Learned from the tables.
    left, right : mapping or sequence of (name, pyarrow Array of strings)
        In the spelling of their rows.

    Notes
    -----
    2,000 rows of the source are looked at, spread over all.
    """
    if not found.found or found.target is None:
        return found
    sources, targets = ({column.name: column for column in as_columns(side)} for side in found.ordered(left, right))
    spelled = found.target.apply([targets[name].array for name in found.target.columns])
    wanted = (
        targets[found.target.columns[0]].values if found.target.is_identity else normalize_column(spelled, SETTINGS)
    )
    first_rows = wanted.first_rows()
    programs = []
    for ranked in found.programs:
        arrays = [sources[name].array for name in ranked.program.columns]
        rows = pa.array(np.arange(0, len(arrays[0]), max(1, len(arrays[0]) // _MAX_ROWS)))
        taken = [array.take(rows) for array in arrays]
        outputs = normalize_column(ranked.program.apply(taken), SETTINGS)
        hits = Vocabulary(wanted).codes_of(outputs)
        joined = np.where(outputs.codes >= 0, np.append(hits, -1)[outputs.codes], -1)
        chosen = np.flatnonzero(joined >= 0)[:_MAX_PAIRS]
        texts = [array.take(pa.array(chosen)).to_pylist() for array in taken]
        values = spelled.take(pa.array(first_rows[joined[chosen]])).to_pylist()
        program = restore_casing(ranked.program, list(zip(*texts, strict=True)), values)
        is_same = program == ranked.program  # else other programs would differ from it by casing alone
        programs.append(replace(ranked, program=program, confidence=ranked.confidence if is_same else None))
    return replace(found, programs=tuple(programs))
