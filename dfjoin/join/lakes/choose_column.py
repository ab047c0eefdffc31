"""Which column of a frame a lake join without `on` is made on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.join.keys import KeyColumns
from dfjoin.join.lakes.lake_candidates import LakeCandidates
from dfjoin.search.found import RowName, name_of_row

__all__ = ["ColumnChoice"]


class ColumnChoice:
    """The choice of a query column: that whose best acceptable candidate is the best of all.

    Candidates are compared by usefulness, then by shared values. Columns whose best candidates are equally good are no
    conflict if they lead to the same rows: the first one is taken. A table is read
    only where nothing but its rows tells whether it brings anything new, and only for a candidate that is the best
    unless its rows speak against it; the column that comes next takes its place then.

    Parameters
    ----------
    candidates : LakeCandidates
    left : KeyColumns
    """

    def __init__(self, candidates: LakeCandidates, left: KeyColumns) -> None:
        self._candidates = candidates
        self._left = left
        self._reasons: dict[RowName, str] = {}

    def of(self, rows: list[Any]) -> str | None:
        """Choose among the query columns of some candidates; None if none of these is acceptable in time."""
        by_column = self._by_column(rows)
        while best := self._best_rows(by_column):
            if self._candidates.is_time_over():
                return None
            reasons = [
                self._reasons.get(name_of_row(row), self._candidates.known_reason(self._left, row)) for row in best
            ]
            for i, row in enumerate(best):
                if reasons[i] is None and reasons.count("") < 2:
                    reasons[i] = self._candidates.reason_against(self._left, row)
            accepted = [row for row, reason in zip(best, reasons, strict=True) if reason == ""]
            if len(accepted) > 1 and not self._is_one_join(accepted):
                names = [row.query_column for row in accepted]
                raise InvalidParameterError(
                    f"`on` must be given: the columns {shortlist(names)} join equally well (usefulness "
                    f"{accepted[0].usefulness:.3f}, {accepted[0].matched:,} values); pass on={names[0]!r}, for example"
                )
            if len(accepted) > 1:
                return accepted[0].query_column
            if len(accepted) == len(best):  # the only one: read it now
                reasons = [self._candidates.reason_against(self._left, best[0])]
                if reasons == [""]:
                    return best[0].query_column
            known = zip(best, reasons, strict=True)
            self._reasons |= {name_of_row(row): reason for row, reason in known if reason is not None}
        return None

    def _is_one_join(self, rows: list[Any]) -> bool:
        """Tell whether candidates of several query columns lead to the same rows of one table.

        Other columns of the table are taken to do so; the same one does if the values are equal row by row.
        """
        queries = self._candidates.queries
        known: dict[str, NDArray[np.uint64]] = {}
        for row in rows:
            values = queries[row.query_column].values
            keys = np.append(values.hashes, np.uint64(0))[values.codes]
            if row.table != rows[0].table or not np.array_equal(known.setdefault(row.column, keys), keys):
                return False
        return True

    def _by_column(self, rows: list[Any]) -> list[list[Any]]:
        """Return the candidates of each query column, the last one first: each table once, on its best column."""
        found: dict[str, dict[str, Any]] = {}
        for row in rows:
            if not self._candidates.rank_reason(row):
                found.setdefault(row.query_column, {}).setdefault(row.table, row)
        return [list(tables.values())[::-1] for tables in found.values()]

    def _best_rows(self, by_column: list[list[Any]]) -> list[Any]:
        """Return the best candidates of those that are the first of their query column with nothing against them."""
        for rows_of_one in by_column:
            while rows_of_one and self._reasons.get(name_of_row(rows_of_one[-1])):
                rows_of_one.pop()
        first = [rows_of_one[-1] for rows_of_one in by_column if rows_of_one]
        best = max(((row.usefulness, row.matched) for row in first), default=None)
        return [row for row in first if (row.usefulness, row.matched) == best]
