"""A segment: the lazily mapped, read-only view of one segment directory."""

from __future__ import annotations

import os
import uuid
import zlib
from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.errors import IncompatibleSettingsError, IndexCorruptedError
from dfjoin.index.catalog import Catalog
from dfjoin.index.component_files import check_crc, check_size, damaged, find_damage, map_component, save_array
from dfjoin.index.components import (
    EARLIER_VECTORS,
    PATTERNS,
    ROWS,
    SIGNATURES,
    TOMBSTONES,
    VECTORS,
    ComponentMeta,
    create_file,
    make_directory,
    segment_directory,
    tombstones_file,
)
from dfjoin.index.manifest import GroupMeta, SegmentMeta
from dfjoin.index.mirror import mirror_of
from dfjoin.index.soundness import Lengths, check_entries, check_shapes
from dfjoin.kernels.damage import DamagedArraysError
from dfjoin.kernels.records import Dictionary

if TYPE_CHECKING:
    from dfjoin.vectors.near_cells import VectorCells


# Tombstones: which columns of an immutable segment are still alive. A new file per change -------------------


def read_alive(index: Path, meta: SegmentMeta) -> NDArray[np.uint8] | None:
    """Read the alive mask of a segment.

    Parameters
    ----------
    index : Path
        Directory of the index.
    meta : SegmentMeta
        Its `tombstones` name the file, if there is one.

    Returns
    -------
    ndarray of uint8, shape (n_columns,), or None
        1 for a column that is alive; None when nothing was deleted.
    """
    if meta.tombstones is None:
        return None
    path = index / meta.tombstones["file"]
    mirror = mirror_of(index)
    if mirror is not None:
        mirror.fetch(meta.tombstones["file"])
    try:
        if zlib.crc32(path.read_bytes()) != meta.tombstones["crc32"]:
            raise ValueError("its CRC-32 is not the recorded one")
        alive = np.load(path, allow_pickle=False)
        if alive.dtype != np.uint8 or alive.shape != (meta.counts["columns"],):
            raise ValueError(f"it holds {alive.dtype} of shape {alive.shape}")
    except (OSError, ValueError, KeyError, EOFError, SyntaxError, TokenError) as error:
        raise damaged(meta.id, "tombstones", f"{path.name}: {error}") from error
    alive.flags.writeable = False
    return alive


def verify_alive(index: Path, meta: SegmentMeta) -> None:
    """Raise what `read_alive` raises, for the file where the index lies: the copy in a mirror may be sound."""
    mirror = mirror_of(index)
    if mirror is not None and meta.tombstones is not None:
        file, crc32 = meta.tombstones["file"], meta.tombstones["crc32"]
        found = mirror.checksum(file, crc32)
        if found is None or found[1] != crc32:
            what = "the file is missing" if found is None else "its CRC-32 is not the recorded one"
            raise damaged(meta.id, "tombstones", f"{Path(file).name}: {what}")
    read_alive(index, meta)


def write_alive(
    index: Path,
    segment_id: str,
    version: int,
    alive: NDArray[np.uint8],
    n_deleted_tables: int = 0,
    n_deleted_indexed: int = 0,
) -> dict[str, Any]:
    """Write an alive mask for one version; return its manifest entry.

    Parameters
    ----------
    index : Path
        Directory of the index.
    segment_id : str
    version : int
        The version that will name this file.
    alive : ndarray of uint8, shape (n_columns,)
    n_deleted_tables : int
        Tables whose columns are deleted.
    n_deleted_indexed : int
        Columns among the deleted that are indexed.

    Returns
    -------
    dict
        ``file``, ``n_deleted``, ``n_deleted_tables``, ``n_deleted_indexed``, ``crc32``.
    """
    make_directory(index / TOMBSTONES)
    # Writers that race for one version must not write one file.
    file = tombstones_file(segment_id, version, uuid.uuid4().hex[:8])
    path = index / file
    try:
        with create_file(path) as stream:
            save_array(stream, alive)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return {
        "file": file,
        "n_deleted": int((alive == 0).sum()),
        "n_deleted_tables": n_deleted_tables,
        "n_deleted_indexed": n_deleted_indexed,
        "crc32": zlib.crc32(path.read_bytes()),
    }


class Tokens(NamedTuple):
    """The arrays of a segment's ``tokens`` group; see FORMAT.md for each."""

    hash: NDArray[np.uint64]
    directory: NDArray[np.uint32]
    group: NDArray[np.uint32]
    value_offsets: NDArray[np.int64]
    value_bytes: NDArray[np.uint8]
    group_indptr: NDArray[np.int64]
    group_tokens: NDArray[np.uint32]
    list_indptr: NDArray[np.int64]
    list_columns: NDArray[np.int32]
    list_positions: NDArray[np.int32]
    set_indptr: NDArray[np.int64]
    set_lists: NDArray[np.uint32]

    @property
    def dictionary(self) -> Dictionary:
        """The arrays that say which token a value is."""
        return Dictionary(self.directory, self.hash, self.value_offsets, self.value_bytes)


class Signatures(NamedTuple):
    """The arrays of a segment's ``signatures`` group, see FORMAT.md, and the cardinality of each slot."""

    columns: NDArray[np.int32]
    values: NDArray[np.uint32]
    slots: NDArray[np.int32]
    sizes: NDArray[np.int64]


class Patterns(NamedTuple):
    """The arrays of a segment's ``patterns`` group; see FORMAT.md for each."""

    hash: NDArray[np.uint64]
    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    sizes: NDArray[np.int32]


class Vectors(NamedTuple):
    """The ``vectors`` group of a segment: the vectors and their tokens, in the order of their cells."""

    rows: NDArray[np.float32]
    tokens: NDArray[np.uint32]
    cells: VectorCells


class Rows(NamedTuple):
    """The ``rows`` group of a segment, its row signatures; see FORMAT.md for each array."""

    words: NDArray[np.uint64]
    starts: NDArray[np.int64]
    bits: NDArray[np.uint8]


class Segment:
    """Read-only view of one segment; nothing is read or mapped before it is asked for.

    Parameters
    ----------
    index : Path
        Local directory of the index.
    meta : SegmentMeta
        What the manifest says of the segment.
    is_compared : bool
        Compare the CRC-32 of each file that is mapped, and all its entries: for changes, which would make damage
        permanent. Searches compare what they rely on.
    """

    def __init__(self, index: Path, meta: SegmentMeta, *, is_compared: bool = False) -> None:
        self.meta = meta
        self.index = index
        self.directory = segment_directory(index, meta.id)
        self._is_compared = is_compared
        self._lengths: dict[str, Lengths] = {}
        self._sound: set[str] = set()

    @property
    def n_columns(self) -> int:
        """Columns of the segment, those that are not indexed included."""
        return self.meta.counts["columns"]

    @property
    def n_tokens(self) -> int:
        """Distinct values of the segment."""
        return self.meta.counts["tokens"]

    @cached_property
    def tokens(self) -> Tokens:
        """Map the ``tokens`` group.

        What relies on all entries of an array asks `sound_tokens` for it.
        """
        tokens = Tokens(*self._map("tokens", Tokens._fields))
        n_prefixes = tokens.directory.size - 1
        if n_prefixes < 2 or n_prefixes & (n_prefixes - 1) or n_prefixes > 1 << 32:
            raise self.damaged("directory", f"{n_prefixes} prefixes are no power of two")
        return tokens

    def sound_tokens(self, *names: str) -> Tokens:
        """Map the ``tokens`` group, some arrays of which were compared whole, each once. O(entries)."""
        tokens = self.tokens
        for name in names:
            if name not in self._sound:
                group = self._group("tokens")
                check_entries(name, getattr(tokens, name), self._lengths[group.id], self.meta.id)
                self._sound.add(name)
        return tokens

    @cached_property
    def signatures(self) -> Signatures:
        """Map the ``signatures`` group.

        Raises
        ------
        IncompatibleSettingsError
            If the segment has none.
        """
        if self.meta.group("signatures") is None:
            raise IncompatibleSettingsError(
                f'segment {self.meta.id} of the index has no signatures, which mode="lsh" needs; add them with '
                "`lake.add_signatures()`"
            )
        columns, values, slots = self._map("signatures", SIGNATURES, sound=("signature_columns",))
        sizes = self.catalog.numbers["cardinality"][columns]
        if np.any(sizes[1:] < sizes[:-1]):
            raise self.damaged("signature_columns", "they are not in the order of their cardinality")
        return Signatures(columns, values, slots, sizes)

    @cached_property
    def patterns(self) -> Patterns:
        """Map the ``patterns`` group.

        Raises
        ------
        IncompatibleSettingsError
            If the segment has none.
        """
        if self.meta.group("patterns") is None:
            raise IncompatibleSettingsError(
                f'segment {self.meta.id} of the index has no pattern tokens, which mode="transform" needs; add them '
                "with `lake.add_patterns()`"
            )
        return Patterns(*self._map("patterns", PATTERNS))

    @cached_property
    def vectors(self) -> Vectors:
        """Map the ``vectors`` group.

        Raises
        ------
        IncompatibleSettingsError
            If the segment has none.
        """
        if self.meta.group("vectors") is None:
            raise IncompatibleSettingsError(
                f'segment {self.meta.id} of the index has no vectors, which mode="embedding" needs; add them with '
                "`lake.add_vectors()`"
            )
        from dfjoin.vectors.near_cells import make_cells  # compiles kernels
        from dfjoin.vectors.trees import MAX_AXES, Projection

        is_earlier = any(meta.name == "vector_blocks" for meta in self._group("vectors").components)
        arrays = self._map(
            "vectors", EARLIER_VECTORS if is_earlier else VECTORS, sound=("vector_tokens", "vector_cells")
        )
        rows, tokens, centers, blocks, ends, cosines, axes, center = arrays
        most_axes = blocks.shape[1] - 1 if is_earlier else 2 * (blocks.shape[1] - 2)
        n_axes = min(center.size, MAX_AXES, max(0, most_axes))  # earlier versions kept 16 axes
        if axes.shape[1] != n_axes:
            raise self.damaged("vector_axes", f"it has {axes.shape[1]} axes where the features need {n_axes}")
        try:
            cells = make_cells(Projection(axes, center), centers, blocks, ends, cosines)
        except ValueError as error:
            raise self.damaged("vector_blocks" if is_earlier else "vector_words", str(error)) from error
        return Vectors(rows, tokens, cells)

    @cached_property
    def rows(self) -> Rows | None:
        """Map the ``rows`` group; None where the segment has none."""
        if self.meta.group("rows") is None:
            return None
        return Rows(*self._map("rows", ROWS, sound=("row_starts",)))

    @cached_property
    def catalog(self) -> Catalog:
        """Open the ``catalog`` group."""
        (meta,) = self._group("catalog").components
        check_size(self.directory, meta)
        # Arrow follows the offsets in a file without looking: damage must be found before.
        check_crc(self.directory, meta)
        catalog = Catalog(self.directory / meta.file)
        if catalog.n_columns != self.n_columns:
            raise self.damaged("catalog", f"it lists {catalog.n_columns} columns, the manifest says {self.n_columns}")
        return catalog

    @cached_property
    def alive(self) -> NDArray[np.uint8] | None:
        """Return 1 for each column that is not deleted, shape (n_columns,); None when all are alive."""
        return read_alive(self.index, self.meta)

    def damaged(self, component: str, what: str) -> IndexCorruptedError:
        """Return the error for a component of this segment, see `dfjoin.index.component_files.damaged`."""
        return damaged(self.meta.id, component, what)

    def alive_table_names(self, patterns: Sequence[str] = ()) -> list[str]:
        """Return the names of the tables that are not deleted, by code point; if patterns are given, of those named."""
        names = self.catalog.table_names()
        if self.alive is None and not patterns:
            return names
        is_wanted = self.alive_tables()
        if patterns:
            is_wanted = is_wanted & self.catalog.tables_named(patterns)
        return [names[table] for table in np.flatnonzero(is_wanted).tolist()]

    def find_alive_table(self, name: str) -> int:
        """Return the number of the alive table of that name, -1 if there is none."""
        table = self.catalog.find_table(name)
        return table if table >= 0 and self.is_table_alive(table) else -1

    def is_table_alive(self, table: int) -> bool:
        """Tell whether a table is not deleted."""
        if self.alive is None:
            return True
        record = self.catalog.table_record(table)
        first, width = record["first_column"], record["n_columns"]
        return width == 0 or bool(self.alive[first : first + width].any())

    def alive_tables(self) -> NDArray[np.bool_]:
        """Tell which tables are not deleted; bool, shape (n_tables,)."""
        tables = self.catalog.tables()
        first = tables.field("first_column").to_numpy()
        width = tables.field("n_columns").to_numpy()
        if self.alive is None:
            return np.ones(len(tables), bool)
        mask = np.append(self.alive, np.uint8(1)) > 0
        return (width == 0) | mask[np.minimum(first, self.n_columns)]

    def map_group(self, group: GroupMeta, names: Iterable[str], sound: Container[str] = ()) -> list[NDArray]:
        """Map components of a group, in the order of their names.

        Parameters
        ----------
        group : GroupMeta
        names : iterable of str
        sound : container of str
            Those whose entries are compared, too. O(entries).

        Raises
        ------
        IndexCorruptedError
            If they are not what FORMAT.md says.
        """
        by_name = {c.name: c for c in group.components}
        arrays: dict[str, NDArray] = {}
        for name in names:
            if name not in by_name:
                raise self.damaged(name, "it is not in the manifest")
            arrays[name] = map_component(self.directory, by_name[name], is_compared=self._is_compared)
        known = {"columns": self.n_columns, "tokens": self.n_tokens}
        lengths = self._lengths[group.id] = check_shapes(arrays, known, self.meta.id)
        for name, array in arrays.items():
            if self._is_compared or name in sound:
                check_entries(name, array, lengths, self.meta.id)
        return list(arrays.values())

    def _map(self, group_name: str, names: Iterable[str], sound: Container[str] = ()) -> list[NDArray]:
        """Map components of the group of a name."""
        return self.map_group(self._group(group_name), names, sound)

    def _group(self, name: str) -> GroupMeta:
        group = self.meta.group(name)
        if group is None:
            raise self.damaged(name, "the segment has no such group of components")
        return group

    def verify(self) -> list[str]:
        """Read every file and compare size and CRC-32; return what is wrong, nothing when all is well."""
        problems = []
        try:
            verify_alive(self.index, self.meta)
        except IndexCorruptedError as error:
            problems.append(str(error))
        for group in self.meta.groups:
            found = ((meta.name, find_damage(self.directory, meta)) for meta in group.components)
            problems += [str(self.damaged(name, what)) for name, what in found if what]
        return problems

    def wrong_crc(self, meta: ComponentMeta) -> IndexCorruptedError:
        """Return the error that a component file is not what was written."""
        return self.damaged(meta.name, f"its CRC-32 is not the recorded one ({meta.file})")


class SegmentPool:
    """Segments of the versions of one index; what is open already is not opened again.

    Segments are immutable, so versions share them; one whose tombstones changed is another object.

    Parameters
    ----------
    path : Path
        Local directory of the index.
    known : iterable of Segment
        Segments of the index that are open.
    """

    def __init__(self, path: Path, known: Iterable[Segment] = ()) -> None:
        self.path = path
        self._segments = {_identity(segment.meta): segment for segment in known}

    def of(self, metas: Iterable[SegmentMeta]) -> list[Segment]:
        """Return the segments that a version lists, in its order."""
        found = []
        for meta in metas:
            key = _identity(meta)
            segment = self._segments.get(key)
            if segment is None or segment.meta != meta:
                segment = self._segments[key] = Segment(self.path, meta)
            found.append(segment)
        return found


def _identity(meta: SegmentMeta) -> tuple[str, str]:
    return meta.id, str(meta.tombstones)


class reading:
    """Run kernels over a component: ``with reading("group", "names …", segment.meta.id): …``.

    Parameters
    ----------
    component : str
        The component, or the components, that are at fault where the kernel finds damage.
    what : str
        What is wrong with it then.
    segment : str, optional
        Identifier of the segment.

    Raises
    ------
    IndexCorruptedError
        In the place of `DamagedArraysError`.
    """

    def __init__(self, component: str, what: str, segment: str | None = None) -> None:
        self._component = component
        self._what = what
        self._segment = segment

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, DamagedArraysError):
            raise damaged(self._segment, self._component, f"it {self._what}") from error
