"""Keys of a table of the lake that equality leaves without a partner: programs and likeness, as between two frames."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions
from dfjoin.join.plan import JoinStep
from dfjoin.join.relation.frame_relation import choose_relation
from dfjoin.join.relation.similar_keys import is_named_by_words
from dfjoin.store.table import LakeTable
from dfjoin.values.value_set import ValueSet

__all__ = ["TableRelations"]


_MOST_LEFT = 5_000
"""Keys that equality may leave on either side: so many take about a second, and a search reads dozens of tables."""


class TableRelations:
    """The relations of keys of frames with keys of tables; tables with the same keys are related once.

    Parameters
    ----------
    options : JoinOptions
        `transform`, `fuzzy`, `precision` and `threshold`.
    """

    def __init__(self, options: JoinOptions) -> None:
        self._options = options
        self._known: dict[Any, dict[str, Any] | None] = {}

    def complete(self, left: KeyColumns, table: LakeTable, step: JoinStep) -> JoinStep:
        """Let a step relate keys that are not equal, where `dfjoin.auto_join` of two frames would.

        Parameters
        ----------
        left : KeyColumns
            The frame; its key columns alone are looked at.
        table : LakeTable
        step : JoinStep
            By equal keys.

        Returns
        -------
        JoinStep
            With a relation, if equality leaves texts of both sides alone and programs or likeness join more of them;
            else the step as it was given, as for keys of several columns and for periods.

        Notes
        -----
        The key column of the table is read whole. The decision is that of two frames whose keys are named, see
        `dfjoin.join.relation.frame_relation.choose_relation`. Codes whose letters tell nothing are not tried, nor more
        than 5,000 keys that equality leaves: of each table that would take seconds.
        """
        options = self._options
        if not options.is_relation_allowed or len(step.on) != 1 or step.relation is not None or step.period is not None:
            return step
        own = KeyColumns(left.frame[list(step.on)], left.settings)
        if own.query(0).profile.kind != "text":
            return step
        right = KeyColumns(table.to_frame(list(table.batches(step.right_on)), step.right_on), table.settings)
        if not _is_quick(own.values(0), right.values(0)):
            return step
        keys = list(step.on), list(step.right_on)
        contents = tuple(side.values(0).hashes.tobytes() for side in (own, right))
        key = (*step.on, *step.right_on, *map(hash, contents))
        if key not in self._known:
            relation, _ = choose_relation(own, right, keys, keys, options)
            self._known[key] = None if relation is None else relation.saved().to_dict()
        return step if self._known[key] is None else replace(step, relation=self._known[key])


def _is_quick(own: ValueSet, theirs: ValueSet) -> bool:
    """Tell whether few keys are left that are names, by which programs and likeness may relate them."""
    left = [np.flatnonzero(~np.isin(a.hashes, b.hashes)) for a, b in ((own, theirs), (theirs, own))]
    if max(map(np.size, left)) > _MOST_LEFT:
        return False
    texts = [pa.array(values.values(), pa.string()) for values in (own, theirs)]
    return all(is_named_by_words(side, False) for side in texts)
