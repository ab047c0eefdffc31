"""Component groups that an existing index is given: signatures, pattern tokens, vectors, axes, row signatures.

The methods ``add_signatures``, ``add_patterns``, ``add_vectors``, ``add_axes`` and ``add_row_signatures`` of
`dfjoin.Lake` call these. The last two read tables, the others take what they need from the segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dfjoin import _validation as check
from dfjoin.errors import ConcurrentCommitError, IncompatibleSettingsError
from dfjoin.index.commit import Uncommitted, commit_change, read_manifest
from dfjoin.index.components import group_directory
from dfjoin.index.manifest import Manifest, SegmentMeta
from dfjoin.index.pieces import find_patterns, write_patterns
from dfjoin.index.segment import Segment, reading
from dfjoin.index.signatures import check_signature_settings, count_sizes, sign_large_columns, write_signatures
from dfjoin.index.stored_model import open_embedder
from dfjoin.ingest.axes_driver import add_axes_of
from dfjoin.ingest.axes_task import AxesReader
from dfjoin.ingest.chosen_embedder import IndexEmbedder, ToTrain, choose_for_index
from dfjoin.ingest.driver import freeze_partitions
from dfjoin.ingest.embed_driver import add_vectors_of
from dfjoin.ingest.engine import InlineEngine, choose_engine
from dfjoin.ingest.rows_task import RowsReader
from dfjoin.sources.roots import roots_at
from dfjoin.types import IndexSettings
from dfjoin.vectors.axis_specs import check_axes
from dfjoin.vectors.embedders import NGRAMS


class SignatureChoice(NamedTuple):
    """The arguments of `Lake.add_signatures`; settings of an index have the same names."""

    permutations: int
    signature_min: int | None
    partitions: int
    partitioning: str


class EmbedderChoice(NamedTuple):
    """The arguments of `Lake.add_vectors` that say what makes the vectors; both None: what the index has."""

    embedder: Any = None
    abbreviations: Any = None


def add_signatures(path: Path, given: SignatureChoice) -> Manifest:
    """Give the latest version signatures, see `Lake.add_signatures`."""
    base = read_manifest(path)
    wanted = check_signature_settings(replace(base.settings, **given._asdict()))
    check.check_positive_int(wanted.permutations, "permutations")
    has_all = all(segment.group("signatures") is not None for segment in base.segments)
    if has_all and wanted == base.settings:
        return base
    if not base.settings.keep_sets:
        raise IncompatibleSettingsError(
            "the index keeps no token sets of its large columns (keep_sets=False), so that their signatures cannot be "
            'made again; build it anew with if_exists="replace"'
        )
    catalogs = (Segment(path, meta).catalog.numbers for meta in base.segments)
    sizes = (count_sizes(numbers["cardinality"], numbers["is_indexed"] > 0, wanted) for numbers in catalogs)
    settings = freeze_partitions(wanted, sizes)
    return _add_group(path, base, settings, _with_signatures, "signatures")


def add_patterns(path: Path) -> Manifest:
    """Give the latest version the pieces of its values, see `Lake.add_patterns`."""
    base = read_manifest(path)
    if base.settings.patterns and all(segment.group("patterns") is not None for segment in base.segments):
        return base
    return _add_group(path, base, replace(base.settings, patterns=True), _with_patterns, "patterns")


def add_vectors(path: Path, given: EmbedderChoice, engine: str | None, spark: Any, is_shown: bool = True) -> Manifest:
    """Give the latest version vectors of its texts, see `Lake.add_vectors`."""
    check.check_choice(engine, "engine", (None, "spark", "inline"))
    check.check_flag(is_shown, "progress")
    base = read_manifest(path)
    missing = [segment for segment in base.segments if segment.group("vectors") is None]
    chosen: IndexEmbedder | ToTrain
    if base.embedder is not None and given.embedder is None and given.abbreviations is None:
        if not missing:
            return base
        chosen = IndexEmbedder(open_embedder(path, base, is_compared=True), base.embedder)
    else:
        missing = list(base.segments)
        named = NGRAMS if given.embedder is None else given.embedder
        chosen = choose_for_index(named, given.abbreviations, base.settings)
    runner = choose_engine(engine, spark) or InlineEngine()
    with Uncommitted(path) as written:
        made, used = add_vectors_of(missing, chosen, written, runner, is_shown)
        done = {segment.id: segment for segment in made}
        segments = tuple(done.get(segment.id, segment) for segment in base.segments)
        return _commit(path, base, "vectors", segments=segments, embedder=used.meta)


def add_axes(path: Path, axes: Any, moved: dict[int, str]) -> Manifest:
    """Give the latest version points of its columns of numbers, see `Lake.add_axes`."""
    base = read_manifest(path)
    specs = check_axes(axes) if axes is not None else base.axes or ()
    roots = roots_at(base.roots, moved)
    with Uncommitted(path) as written:
        segments: Sequence[SegmentMeta] = [segment.with_groups("axes", []) for segment in base.segments]
        if specs is not None:
            reader = AxesReader(path, base.settings, roots, specs)
            segments = add_axes_of(segments, reader, written, InlineEngine())
        return _commit(path, base, "axes", segments=tuple(segments), axes=specs)


def add_row_signatures(path: Path, moved: dict[int, str], *, engine: str | None, spark: Any) -> Manifest:
    """Give the latest version the rows of its tables, see `Lake.add_row_signatures`."""
    check.check_choice(engine, "engine", (None, "spark", "inline"))
    base = read_manifest(path)
    if base.settings.row_signatures and all(segment.group("rows") is not None for segment in base.segments):
        return base
    roots = roots_at(base.roots, moved)
    runner = choose_engine(engine, spark) or InlineEngine()
    reader = RowsReader(path, base.settings, roots, runner)

    def with_rows(segment: Segment, _: IndexSettings) -> SegmentMeta:
        return segment.meta.with_group(reader.write(segment))

    return _add_group(path, base, replace(base.settings, row_signatures=True), with_rows, "row signatures")


def _add_group(
    path: Path,
    base: Manifest,
    settings: IndexSettings,
    with_group: Callable[[Segment, IndexSettings], SegmentMeta],
    words: str,
) -> Manifest:
    """Give every segment another component group, written last, and commit new settings with them."""
    segments = []
    with Uncommitted(path) as written:
        for meta in base.segments:
            segment = with_group(Segment(path, meta, is_compared=True), settings)
            written.add(group_directory(path, meta.id, segment.groups[-1].id))
            segments.append(segment)
        return _commit(path, base, words, settings=settings, segments=tuple(segments))


def _commit(path: Path, base: Manifest, words: str, **changes: Any) -> Manifest:
    """Commit what was added to the segments of a version, unless another writer has changed the index meanwhile."""

    def change(latest: Manifest) -> Manifest:
        if any(getattr(latest, name) != getattr(base, name) for name in ("segments", "settings", *changes)):
            raise ConcurrentCommitError(
                f"another writer has changed the index while {words} were added; nothing of this change is visible: "
                f"call add_{words.replace(' ', '_')}() again"
            )
        return latest.next(f"add {words}", **changes)

    return commit_change(path, change)


def _with_signatures(segment: Segment, settings: IndexSettings) -> SegmentMeta:
    """Write new signatures for a segment; return its manifest entry with them."""
    numbers = segment.catalog.numbers
    cardinality = np.where(numbers["is_indexed"] > 0, numbers["cardinality"], 0)
    with reading("set_lists", "holds another number of values than the catalogue says", segment.meta.id):
        signed = sign_large_columns(segment.tokens._asdict(), cardinality, settings)
    return segment.meta.with_group(write_signatures(segment.directory, signed, numbers["cardinality"]))


def _with_patterns(segment: Segment, settings: IndexSettings) -> SegmentMeta:
    """Write pattern tokens for a segment; return its manifest entry with them."""
    numbers = segment.catalog.numbers
    kinds = np.where(numbers["is_indexed"] > 0, numbers["kind"], -1)
    return segment.meta.with_group(
        write_patterns(segment.directory, find_patterns(segment.tokens._asdict(), kinds, settings))
    )
