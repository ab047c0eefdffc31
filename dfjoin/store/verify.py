"""Comparing the files of an index with what was recorded of them when they were written: all, or a sample."""

from __future__ import annotations

import random
import zlib
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from pyarrow import fs

from dfjoin.errors import IndexCorruptedError, IndexFormatError, InvalidParameterError, TableReadError
from dfjoin.index.catalog import KEPT, find_root
from dfjoin.index.component_files import check_size
from dfjoin.index.components import ComponentMeta
from dfjoin.index.mirror import mirror_of, store_of
from dfjoin.index.segment import Segment
from dfjoin.index.stored_model import verify_model
from dfjoin.sources.readers import fingerprint_of_files
from dfjoin.sources.roots import resolve
from dfjoin.store.snapshot import Snapshot

SECONDS = 0.08
"""How long a sample is read."""

_CHUNK = 1 << 20


def verify_all(snapshot: Snapshot) -> list[str]:
    """Compare every file with what was recorded of it; return what is damaged, see `Lake.verify`."""
    problems = [
        problem for segment in snapshot.segments for problem in [*segment.verify(), *_verify_frames(snapshot, segment)]
    ]
    return [*problems, *verify_model(snapshot.path, snapshot.manifest)]


def verify_sample(snapshot: Snapshot, seed: int, seconds: float = SECONDS) -> list[str]:
    """Compare some component files with their recorded CRC-32, and the sizes of all as far as time allows.

    Parameters
    ----------
    snapshot : Snapshot
    seed : int
        The files are read in an order that is drawn with it.
    seconds : float
        When the sample ends; a file that is not read to its end by then counts for nothing.

    Returns
    -------
    list of str
        One line for each damaged component.
    """
    end = monotonic() + seconds
    components = [
        (segment, meta) for segment in snapshot.segments for group in segment.meta.groups for meta in group.components
    ]
    random.Random(seed).shuffle(components)
    problems = []
    sound = []
    for segment, meta in components:
        if monotonic() > end:
            break
        try:
            check_size(segment.directory, meta)
        except IndexCorruptedError as error:
            problems.append(str(error))
        else:
            sound.append((segment, meta))
    for segment, meta in sound:
        crc = _crc_until(segment, meta, end)
        if crc is None:
            break
        if crc != meta.crc32:
            problems.append(str(segment.wrong_crc(meta)))
    return problems


def require_sound_sample(snapshot: Snapshot, seed: int) -> None:
    """Raise `IndexCorruptedError` when a sample of the component files is damaged."""
    problems = verify_sample(snapshot, seed)
    if problems:
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise IndexCorruptedError(f"{problems[0]}{more}; Lake.verify() lists all damage, dfjoin.repair leaves it out")


def _crc_until(segment: Segment, meta: ComponentMeta, end: float) -> int | None:
    """Compute the CRC-32 of a component file; None where the time was over before its end."""
    crc = 0
    with (segment.directory / meta.file).open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            if monotonic() > end:
                return None
            crc = zlib.crc32(chunk, crc)
    return crc


def _verify_frames(snapshot: Snapshot, segment: Segment) -> list[str]:
    """Compare the kept frames of a segment with their fingerprints; frames that were not kept have no file."""
    problems = []
    try:
        alive, records = segment.alive_tables().tolist(), segment.catalog.tables().to_pylist()
    except (IndexFormatError, ValueError):
        return []  # the catalogue is damaged, which is reported already
    for is_alive, record in zip(alive, records, strict=True):
        if not is_alive or snapshot.root_of(record["root"]).kind != "memory":
            continue
        try:
            mark = _mark_of_frame(snapshot, record)
        except (TableReadError, InvalidParameterError):
            if record["version"] == KEPT:  # older indexes do not tell a frame that was not kept from one that is gone
                problems.append(f"the kept frame `{record['name']}` ({record['path']}): its file is missing")
            continue
        if mark != record["fingerprint"]:
            problems.append(f"the kept frame `{record['name']}` ({record['path']}): its content is not the one written")
    return problems


def _mark_of_frame(snapshot: Snapshot, record: dict[str, Any]) -> int:
    """Compute the fingerprint of a kept frame where the index lies; a copy in a mirror that is another is removed."""
    frames = find_root(snapshot.manifest.roots, record["root"])
    here = replace(frames, uri=str(snapshot.path / frames.uri), kind="files")
    copies = [Path(resolve(here, part)) for part in record["parts"]]  # refuses what leads out of the index
    mark = fingerprint_of_files(*store_of(snapshot.path).at(f"{frames.uri}/{part}" for part in record["parts"]))
    is_copied = mirror_of(snapshot.path) is not None and all(copy.exists() for copy in copies)
    if is_copied and mark == record["fingerprint"] != fingerprint_of_files(fs.LocalFileSystem(), map(str, copies)):
        for copy in copies:
            copy.unlink()
    return mark
