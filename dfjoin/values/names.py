"""Names of columns: from the cells of a header or the labels of a frame."""

from __future__ import annotations

__all__ = ["clean_names"]


def clean_names(cells: list[str]) -> list[str]:
    """Make column names of header cells: trimmed, on one line, filled and unique.

    Examples
    --------
    >>> clean_names([" a ", "a", "", "first\\nname"])
    ['a', 'a.1', 'Unnamed: 2', 'first name']
    """
    names: list[str] = []
    taken = set()
    wanted = [" ".join(cell.split()) or f"Unnamed: {i}" for i, cell in enumerate(cells)]
    plain = set(wanted)
    counts: dict[str, int] = {}
    for name in wanted:
        unique = name
        while unique in taken or (unique != name and unique in plain):
            counts[name] = counts.get(name, 0) + 1
            unique = f"{name}.{counts[name]}"
        taken.add(unique)
        names.append(unique)
    return names
