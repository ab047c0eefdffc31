"""Tables that a frame reaches, read as far as a search asks for them, and kept for the next search of the same rows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dfjoin.augment.encoding import PredictionTarget
from dfjoin.augment.leakage import LeakFindings, LeakGuard
from dfjoin.join.lakes.path_search import PathOptions
from dfjoin.join.lakes.table_hops import PathTable, UnjoinedTable, WaitingTables
from dfjoin.join.lakes.table_paths import path_tables
from dfjoin.store.snapshot import Snapshot

MOST_HOPS = 5
"""Joins on the path to a table, at most."""

_MOST_KEPT = 8
"""Readings that are kept: the folds of a grid search, the whole rows, and some more."""

_KEPT: OrderedDict[Hashable, TableReading] = OrderedDict()
_KEPT_LOCK = threading.Lock()


@dataclass(frozen=True)
class ReadingTask:
    """What tables are read for.

    Parameters
    ----------
    frame : DataFrame
    target : PredictionTarget or None
    snapshot : Snapshot
    paths : PathOptions
    allow : sequence of str
        See `dfjoin.augment.leakage.is_allowed`.
    refuses_suspicious : bool
    """

    frame: pd.DataFrame
    target: PredictionTarget | None
    snapshot: Snapshot
    paths: PathOptions
    allow: Sequence[str]
    refuses_suspicious: bool


class TableReading:
    """Tables that are joined, the nearest first, each looked at for leaks when it is read.

    Parameters
    ----------
    task : ReadingTask
    groups_of : callable
        Takes a table that was joined; returns the key of each row by which it was, or None.

    Attributes
    ----------
    leaks : dict of LeakFindings
        Of the tables that were read.
    """

    def __init__(self, task: ReadingTask, groups_of: Callable[[PathTable], NDArray[np.int64] | None]) -> None:
        self.leaks: dict[str, LeakFindings] = {}
        self._task = task
        self._lock = threading.Lock()
        self.guard = LeakGuard(task.frame, task.target, task.snapshot.settings, task.allow)
        self._groups_of = groups_of
        self._found: list[PathTable | UnjoinedTable | WaitingTables] = []
        paths = replace(task.paths, max_hops=MOST_HOPS)  # it is read as far as `tables` is asked for
        self._further = path_tables(task.frame, task.snapshot, paths, self._is_key, with_waiting=True)

    @classmethod
    def kept(cls, task: ReadingTask, groups_of: Callable[[PathTable], NDArray[np.int64] | None]) -> TableReading:
        """Return the reading of the same rows and lake that is known, of any depth; else begin one, and keep it."""
        key = _key_of(replace(task, paths=replace(task.paths, max_hops=MOST_HOPS)))
        if key is None:
            return cls(task, groups_of)
        with _KEPT_LOCK:
            known = _KEPT.pop(key, None) or cls(task, groups_of)
            _KEPT[key] = known
            while len(_KEPT) > _MOST_KEPT:
                _KEPT.popitem(last=False)
        return known

    def tables(self, max_hops: int) -> Iterator[PathTable | UnjoinedTable | WaitingTables]:
        """Yield the tables of at most so many joins, and which ones one join more would read.

        Those that were read before are not read again.

        Several threads may do so at once: one of them reads, and the others wait for it.
        """
        position = 0
        while self._has_read(position):
            found = self._found[position]
            yield found
            if isinstance(found, WaitingTables) and found.n_hops > max_hops:
                return
            position += 1

    def _has_read(self, position: int) -> bool:
        """Read until the table at a position is there; False where there are fewer tables."""
        with self._lock:
            return position < len(self._found) or self._read_on()

    def _read_on(self) -> bool:
        try:
            found = next(self._further, None)
            if isinstance(found, PathTable):
                self.leaks[found.table] = self._looked_at(found)
        except BaseException:  # interrupted: what was found until then is no whole reading
            with _KEPT_LOCK:
                for key in [key for key, kept in _KEPT.items() if kept is self]:
                    del _KEPT[key]
            raise
        if found is not None:
            self._found.append(found)
        return found is not None

    def _looked_at(self, joined: PathTable) -> LeakFindings:
        leaks = self.guard.look_at(joined, self._groups_of(joined))
        if not self._task.refuses_suspicious:
            return leaks
        suspicious = {column: f"it is suspicious: {reason}" for column, reason in leaks.suspicious.items()}
        return LeakFindings(leaks.refused | suspicious, {}, leaks.known_before)

    def _is_key(self, joined: PathTable, column: str) -> bool:
        """Tell whether a column of a table may be the key of a further join: what gives the target away is none."""
        return column not in self.leaks[joined.table].refused


def _key_of(task: ReadingTask) -> Hashable:
    """Return what tells a reading from others; None for rows that cannot be compared."""
    try:
        marks = pd.util.hash_pandas_object(task.frame, index=False).to_numpy().tobytes()
        labels = b"" if task.target is None else pd.util.hash_pandas_object(task.target.labels).to_numpy().tobytes()
    except TypeError:  # cells that have no hash
        return None
    manifest = task.snapshot.manifest
    lake = str(task.snapshot.path), manifest.index_uuid, manifest.version
    columns = *map(repr, task.frame.columns), *map(str, task.frame.dtypes)
    is_class = task.target is not None and task.target.is_class
    return lake, columns, marks, labels, is_class, repr(task.paths), tuple(task.allow), task.refuses_suspicious
