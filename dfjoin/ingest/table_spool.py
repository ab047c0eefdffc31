"""The tables that a build reads, in a file: what the driver holds does not grow with the lake."""

from __future__ import annotations

import json
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator

from dfjoin.ingest.balance import estimated_bytes
from dfjoin.types import Root, TableSource

__all__ = ["TableSpool"]

_IN_MEMORY = 1 << 20
_CHUNK = 1 << 18


class TableSpool(Collection[TableSource]):
    """Tables in the order in which they came, read again as often as they are asked for.

    Parameters
    ----------
    tables : iterable of TableSource
        Read once.

    Attributes
    ----------
    n_bytes : int
        Bytes of all files.
    work : int
        Sum of `estimated_bytes`.

    Notes
    -----
    Above 1 MiB, at about 100 bytes a table and its path twice, they lie in a temporary file that has no name.
    """

    def __init__(self, tables: Iterable[TableSource]) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (closed with the spool)
        weakref.finalize(self, self._file.close)
        self._roots: list[Root] = []
        self._n = self.n_bytes = self.work = 0
        for table in tables:
            self._put(table)

    def _put(self, table: TableSource) -> None:
        if table.root not in self._roots:
            self._roots.append(table.root)
        parts = None if table.parts == (table.path,) else table.parts
        same = (table.name, table.path, table.format, table.size, table.mtime_ns)
        values = (self._roots.index(table.root), *same, parts, table.left_out, table.version, table.part_stats)
        self._file.write(json.dumps(values).encode() + b"\n")
        self._n += 1
        self.n_bytes += table.size
        self.work += estimated_bytes(table)

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> Iterator[TableSource]:
        start, rest = 0, b""
        while True:
            self._file.seek(start)  # another reader may have been there meanwhile
            chunk = self._file.read(_CHUNK)
            if not chunk:
                self._file.seek(0, 2)
                return
            start += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                root, name, path, format_, size, mtime, parts, left_out, version, stats = json.loads(line)
                parts = (path,) if parts is None else tuple(parts)
                own, state = self._roots[root], (tuple(left_out), version, tuple(map(tuple, stats)))
                yield TableSource(name, own, path, format_, size, mtime, parts, *state)

    def __contains__(self, table: object) -> bool:
        return any(table == own for own in self)
