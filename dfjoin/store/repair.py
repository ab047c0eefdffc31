"""Bringing a damaged index back: unreadable versions are passed over, damaged segments dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dfjoin.errors import IndexCorruptedError, IndexFormatError, IndexNotFoundError, IndexVersionError
from dfjoin.index.commit import commit, commit_change, read_manifests
from dfjoin.index.manifest import Manifest
from dfjoin.index.mirror import index_path
from dfjoin.index.segment import Segment


def repair(path: Path) -> dict[str, Any]:
    """Drop what is damaged and commit what is left as the next version.

    A latest manifest that cannot be read is passed over for the newest one that can. Segments whose
    files are missing, truncated or changed are dropped; nothing is deleted from the disk.

    Parameters
    ----------
    path : path
        Directory of the index.

    Returns
    -------
    dict
        ``version`` (the one that is the latest now), ``unreadable_versions``, ``segments`` (ids dropped),
        ``tables`` (names lost, as far as their catalogue can be read), ``problems`` (as from `verify`).

    Raises
    ------
    IndexNotFoundError
        If there is no index at that location.
    IndexCorruptedError
        If no version can be read.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile
    >>> index = tempfile.mkdtemp() + "/lake"
    >>> _ = dfjoin.build_lake({"t": pd.DataFrame({"a": ["x", "y"]})}, index, engine="inline", progress=False)
    >>> dfjoin.repair(index)["problems"]
    []
    """
    path = index_path(path)
    unreadable: list[int] = []
    base: Manifest | None = None
    for version, manifest in read_manifests(path):
        if isinstance(manifest, IndexVersionError):
            raise manifest  # sound, but not for this dfjoin
        if isinstance(manifest, Manifest):
            base = manifest
            break
        unreadable.append(version)
    if base is None and not unreadable:
        raise IndexNotFoundError(f"there is no dfjoin index at `{path}`; build one with dfjoin.build_lake")
    if base is None:
        raise IndexCorruptedError(f"no version of the index at `{path}` can be read; build it again")
    problems: list[str] = []
    lost: list[str] = []
    tables: list[str] = []
    for meta in base.segments:
        segment = Segment(path, meta)
        found = segment.verify()
        if found:
            problems += found
            lost.append(meta.id)
            tables += _names_of(segment)
    report = {"unreadable_versions": unreadable, "segments": lost, "tables": sorted(tables), "problems": problems}
    if not unreadable and not lost:
        return {"version": base.version, **report}
    sound = tuple(meta for meta in base.segments if meta.id not in lost)
    if unreadable:  # the next version must stand above the ones that cannot be read
        above = base.next("repair", segments=sound, version=unreadable[0] + 1)
        commit(path, above)
        return {"version": above.version, **report}
    done = commit_change(
        path,
        lambda latest: latest.next("repair", segments=tuple(s for s in latest.segments if s.id not in lost)),
    )
    return {"version": done.version, **report}


def _names_of(segment: Segment) -> list[str]:
    """Names of a damaged segment's tables, if its catalogue can still be read."""
    try:
        return segment.alive_table_names()
    except IndexFormatError:
        try:
            return segment.catalog.table_names()  # its tombstones may be what is damaged
        except (IndexFormatError, ValueError):
            return []
    except ValueError:
        return []
