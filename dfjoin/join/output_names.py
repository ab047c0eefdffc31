"""Names of joined columns: the plain name if it is free and says enough, else one that says where it comes from."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from pathlib import PurePosixPath
from typing import Any

from dfjoin.values.header_meaning import says_nothing_alone

_ENDINGS = (".gz", ".zst")


def stem_of(table: str) -> str:
    """Return the short name of a table: its file name without extensions, or a Spark table's last part.

    Examples
    --------
    >>> stem_of("geo/countries.csv.gz"), stem_of("db.sales.orders"), stem_of("")
    ('countries', 'orders', 'right')
    """
    name = PurePosixPath(table).name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    if "/" in table or re.search(r"\.(csv|tsv|tab|psv|txt|parquet|pq|jsonl|ndjson)$", name):
        name = name.rpartition(".")[0] or name
    else:
        name = name.rpartition(".")[2]
    return name or "right"


class _CaselessNames(set[Hashable]):
    """Names of which those that differ by case alone are one."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(_folded(name))

    def add(self, name: Hashable) -> None:
        """Take a name."""
        super().add(_folded(name))


def _folded(name: Any) -> Any:
    return name.casefold() if isinstance(name, str) else name


def taken_names(labels: Iterable[Hashable], *, ignores_case: bool) -> set[Hashable]:
    """Return the names that are not free beside some labels: these, and what they print as.

    Examples
    --------
    >>> ["capital" in taken_names(["Capital"], ignores_case=ignores) for ignores in (True, False)]
    [True, False]
    """
    names = {name for label in labels for name in (label, str(label))}
    return _CaselessNames(map(_folded, names)) if ignores_case else names


def free_name(name: str, stem: str, taken: set[Hashable]) -> str:
    """Return `name` if it is free, else ``name__stem``, else that with a number; and take it."""
    candidates = [name, f"{name}__{stem}"]
    number = 2
    while candidates[0] in taken:
        candidates.pop(0)
        if not candidates:
            candidates.append(f"{name}__{stem}_{number}")
            number += 1
    taken.add(candidates[0])
    return candidates[0]


def output_names(
    columns: Iterable[str], stem: str, taken: set[Hashable], *, is_stem_named: bool = False, subject: str = ""
) -> dict[str, str]:
    """Find a name for each column, none of them in `taken` or used twice; `taken` grows.

    Parameters
    ----------
    columns : iterable of str
    stem : str
        Short name of the table.
    taken : set
        Names that are not free.
    is_stem_named : bool
        Give names that say nothing alone the stem of the table, see `says_nothing_alone`.
    subject : str, default ""
        What all rows of the table are about, which every name says unless it does so already.

    Examples
    --------
    >>> output_names(["area", "name"], "countries", {"name"})
    {'area': 'area', 'name': 'name__countries'}
    >>> output_names(["area", "1995"], "population", set(), is_stem_named=True)
    {'area': 'area', '1995': '1995__population'}
    >>> output_names(["deaths", "deaths in Spain"], "covid", set(), subject="Spain")
    {'deaths': 'deaths__Spain', 'deaths in Spain': 'deaths in Spain'}
    """
    wanted = {name: f"{name}__{stem}" if is_stem_named and says_nothing_alone(name) else name for name in columns}
    if subject:
        about = subject.casefold()
        wanted = {c: name if about in name.casefold() else f"{name}__{subject}" for c, name in wanted.items()}
    return {column: free_name(name, stem, taken) for column, name in wanted.items()}
