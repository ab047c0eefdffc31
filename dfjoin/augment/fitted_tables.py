"""The tables of a plan as they were when it was fitted: another content under the same name is no silent change."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from dfjoin.errors import TableChangedError, TableNotFoundError, warn
from dfjoin.join.plan import JoinPlan
from dfjoin.store.snapshot import Snapshot
from dfjoin.store.table import content_of

__all__ = ["check_fitted_tables", "table_contents"]


def table_contents(snapshot: Snapshot, plan: JoinPlan) -> dict[str, str]:
    """Return what tells the content of each table of a plan from another content of the same name."""
    return {step.table: _content(snapshot, step.table) for step in plan.steps}


def _content(snapshot: Snapshot, table: str) -> str:
    return hashlib.blake2b(repr(content_of(snapshot, table)).encode(), digest_size=16).hexdigest()


def check_fitted_tables(snapshot: Snapshot, contents: Mapping[str, str], on_stale: str) -> None:
    """Compare the tables of a plan with those that it was fitted to.

    Parameters
    ----------
    snapshot : Snapshot
        The index as it is now.
    contents : mapping of str
        Of `table_contents`.
    on_stale : {"error", "warn", "ignore"}
        What to do where a table has another content.

    Raises
    ------
    TableChangedError
        If a table has left the lake, or has changed and `on_stale` is ``"error"``.
    """
    for table, content in contents.items():
        try:
            now = _content(snapshot, table)
        except TableNotFoundError:
            raise TableChangedError(f"the table `{table}` has left the lake since fit; fit again") from None
        if now == content or on_stale == "ignore":
            continue
        text = f"the table `{table}` is not the one that was joined by fit: the lake has read it anew"
        if on_stale == "error":
            raise TableChangedError(f'{text}; fit again, or pass on_stale="warn" to go on')
        warn(text)
