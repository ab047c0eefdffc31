"""One version of an index, opened: what search, join and the store read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dfjoin import _validation as check
from dfjoin.errors import InvalidTypeError, TableNotFoundError, did_you_mean, shortlist
from dfjoin.index.catalog import find_root
from dfjoin.index.commit import read_manifest
from dfjoin.index.manifest import Manifest
from dfjoin.index.mirror import index_path, index_uri, mirror_of
from dfjoin.index.segment import Segment, SegmentPool
from dfjoin.sources.database_server import uri_of
from dfjoin.sources.roots import catalogued_source, open_root
from dfjoin.sources.table_kinds import kind_of_scheme
from dfjoin.types import IndexSettings, Root, TableSource


def open_snapshot(
    index: str | os.PathLike[str], version: int | None = None, roots: Mapping[str, str] | None = None
) -> Snapshot:
    """Open one version of an index, the latest by default; see `dfjoin.open_lake`."""
    path = index_path(index)
    if version is not None:
        version = check.check_positive_int(version, "version")
    return Snapshot(path, read_manifest(path, version), _checked_roots(roots))


def _checked_roots(roots: Any) -> dict[str, str]:
    """Return the argument `roots` as a dict of locations, or raise."""
    if roots is None:
        return {}
    if not isinstance(roots, Mapping):
        raise InvalidTypeError(f"`roots` must map names of roots to their new places, got {check.show(roots)}")
    return {name: _without_credentials(location) for name, location in roots.items()}


def _without_credentials(location: Any) -> str:
    """Return a location without what is secret, which is remembered in this process."""
    uri = uri_of(location) if callable(location) else location
    kind = kind_of_scheme(uri) if isinstance(uri, str) else None
    if kind is not None and not kind.endings:
        from dfjoin.sources.readers import function_of  # brings the kernels, which opening an index needs not

        return function_of("location_of", kind.name)(location)
    checked = check.check_path(location, "roots")
    if checked != check.strip_credentials(checked):
        open_root(checked)
    return check.strip_credentials(checked)


def latest_snapshot(index: str | os.PathLike[str], known: Snapshot | None = None) -> Snapshot:
    """Open the latest version of an index, or return the snapshot that is known if it is of that.

    Parameters
    ----------
    index : path
    known : Snapshot, optional
        Opened before at the same location; segments that both versions have stay open.

    Notes
    -----
    Reads the names of the manifests and the latest one: half a millisecond.
    """
    if known is None:
        return open_snapshot(index)
    latest = read_manifest(known.path)
    if (latest.index_uuid, latest.version) == (known.manifest.index_uuid, known.version):
        return known
    return known.at(latest) if latest.index_uuid == known.manifest.index_uuid else open_snapshot(index)


class Snapshot:
    """An index at one version: its manifest, segments, settings and roots. It does not change.

    Parameters
    ----------
    path : Path
        Directory of the index.
    manifest : Manifest
        The version.
    moved : dict of str
        Name of a root → the location of its tables now.
    known : tuple of Segment
        Segments of other versions that are open already.

    Notes
    -----
    Segments are opened and mapped when they are used. Safe to share between threads. Pickles as path, version and
    moved roots.
    """

    def __init__(self, path: Path, manifest: Manifest, moved: dict[str, str], known: tuple[Segment, ...] = ()) -> None:
        self.path = path
        self.manifest = manifest
        self.moved = moved
        self.segments: tuple[Segment, ...] = tuple(SegmentPool(path, known).of(manifest.segments))
        names = {root.name or root.uri for root in manifest.roots}
        unknown = [name for name in moved if name not in names]
        if unknown:
            raise InvalidTypeError(
                f"`roots` must name roots of the index ({shortlist(sorted(names))}), got {check.show(unknown[0])}"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return open_snapshot, (self.location, self.version, self.moved)

    @property
    def location(self) -> str:
        """Where another process opens the index: its absolute path, or its URI on another file system."""
        return index_uri(self.path.absolute())

    @property
    def n_fetched_bytes(self) -> int:
        """Bytes of the index that this process has copied from another file system, 0 for one of this machine."""
        mirror = mirror_of(self.path)
        return 0 if mirror is None else mirror.n_fetched_bytes

    @property
    def version(self) -> int:
        """Number of the version."""
        return self.manifest.version

    @property
    def settings(self) -> IndexSettings:
        """What the index was built with."""
        return self.manifest.settings

    @property
    def roots(self) -> tuple[Root, ...]:
        """The roots of the index, at their present locations."""
        return tuple(self._moved_root(root) for root in self.manifest.roots)

    def at(self, manifest: Manifest) -> Snapshot:
        """Return the snapshot of another version of the same index; segments that are open stay open."""
        return Snapshot(self.path, manifest, self.moved, self.segments)

    def pool(self) -> SegmentPool:
        """Return what opens segments of any version; those of this one are open."""
        return SegmentPool(self.path, self.segments)

    def root_of(self, root_id: int) -> Root:
        """Return a root of the index at its present location."""
        return self._moved_root(find_root(self.manifest.roots, root_id))

    def locations(self) -> dict[str, str]:
        """Return the present location of each root, by name; by its old location for a root without a name."""
        return {old.name or old.uri: new.uri for old, new in zip(self.manifest.roots, self.roots, strict=True)}

    def moved_roots(self) -> dict[int, str]:
        """Return the present locations of the roots that were moved, by id."""
        return {old.id: new.uri for old, new in zip(self.manifest.roots, self.roots, strict=True) if new is not old}

    def _moved_root(self, root: Root) -> Root:
        location = self.moved.get(root.name or root.uri)
        return root if location is None else replace(root, uri=os.fspath(location))

    def source_of(self, record: dict[str, Any]) -> TableSource:
        """Return where the table of a catalogue record is read from."""
        return catalogued_source(self.path, self.root_of(record["root"]), record)

    def has_table(self, name: str) -> bool:
        """Tell whether an alive table has that name."""
        _check_table_name(name)
        return any(segment.find_alive_table(name) >= 0 for segment in self.segments)

    def find_table(self, name: str) -> tuple[Segment, int]:
        """Return the segment that holds a table, and the table's number there.

        Raises
        ------
        TableNotFoundError
            If no alive table has that name.
        """
        _check_table_name(name)
        for segment in self.segments:
            table = segment.find_alive_table(name)
            if table >= 0:
                return segment, table
        names = [table for segment in self.segments for table in segment.alive_table_names()]
        raise TableNotFoundError(
            f"`name` must be a table of the lake ({shortlist(names)}), got {check.show(name)}"
            + did_you_mean(name, names)
        )


def _check_table_name(name: Any) -> None:
    """Raise `InvalidTypeError` unless the name of a table is text."""
    if not isinstance(name, str):
        raise InvalidTypeError(f"`name` must be the name of a table, got {check.show(name)}")
