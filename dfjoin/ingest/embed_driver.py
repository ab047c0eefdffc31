"""The second job of a build: vectors for the values of segments that are written already."""

from __future__ import annotations

from collections.abc import Sequence

from dfjoin.errors import warn
from dfjoin.index.commit import Uncommitted, scratch_directory
from dfjoin.index.components import group_directory
from dfjoin.index.manifest import Manifest, SegmentMeta
from dfjoin.index.segment import Segment
from dfjoin.index.stored_model import open_embedder
from dfjoin.index.vector_group import embed_segment, text_columns, text_tokens
from dfjoin.ingest.chosen_embedder import IndexEmbedder, ToTrain, default_radius, train_embedder
from dfjoin.ingest.embed_task import EmbeddedStretch, EmbedJob, Stretch
from dfjoin.ingest.engine import Engine
from dfjoin.ingest.progress import Progress, Shown
from dfjoin.ingest.requests import (
    cells_request,
    embed_request,
    radius_request,
    read_radius,
    read_stretch,
    read_vectors,
)
from dfjoin.ingest.sent_embedder import send_embedder

_EMBEDDING = "embedding values"
_STRETCHES_PER_SLOT = 3
_SMALL_STRETCH = 1 << 13  # fewer values are not worth a task


def add_vectors_of(
    segments: Sequence[SegmentMeta],
    chosen: IndexEmbedder | ToTrain,
    written: Uncommitted,
    engine: Engine,
    is_shown: Shown,
) -> tuple[list[SegmentMeta], IndexEmbedder]:
    """Embed the values of segments, by a model that is trained on them where none is given.

    Parameters
    ----------
    segments : sequence of SegmentMeta
    chosen : IndexEmbedder or ToTrain
    written : Uncommitted
        Of the index; takes note of what is written.
    engine : Engine
        Where values are embedded, unless they are few; training is done in this process.
    is_shown : bool
        Whether progress is shown.

    Returns
    -------
    segments : list of SegmentMeta
        Manifest entries with vectors.
    embedder : IndexEmbedder

    Warns
    -----
    DfjoinWarning
        If there are texts, and none has a vector.
    """
    if isinstance(chosen, ToTrain):
        chosen = train_embedder(chosen.abbreviations, segments, written, is_shown)
    sizes = [] if engine.is_here else [_most_texts(Segment(written.index, one)) for one in segments]
    if sum(sizes) < _SMALL_STRETCH:  # the model would have to be sent first
        if chosen.is_new:
            opened = [Segment(written.index, one, is_compared=True) for one in segments]
            chosen = chosen.with_radius(default_radius(chosen.embedder, opened))
        done = _embed_here(segments, chosen, written, is_shown)
    else:
        done, chosen = _TaskDriver(engine, sizes).embed(segments, chosen, written, is_shown)
    _warn_of_none(done, chosen, written)
    return done, chosen


def _warn_of_none(segments: Sequence[SegmentMeta], chosen: IndexEmbedder, written: Uncommitted) -> None:
    """Warn if no text of segments has a vector."""
    components = (part for one in segments for group in one.groups_of("vectors") for part in group.components)
    if any(part.name == "vector_tokens" and part.shape[0] for part in components):
        return
    n = sum(text_tokens(Segment(written.index, one)).size for one in segments)
    if n:
        warn(
            f"embedded 0 of {n:,} texts: {chosen.meta.identity} returned zeros for all of them, so that equal values "
            "alone match; give `lake.add_vectors` an embedder that knows words of these texts"
        )


def embed_new(
    base: Manifest, segments: Sequence[SegmentMeta], written: Uncommitted, engine: Engine, is_shown: Shown
) -> list[SegmentMeta]:
    """Embed the values of new segments of an index that has vectors; others are returned as they are."""
    if base.embedder is None:
        return list(segments)
    chosen = IndexEmbedder(open_embedder(written.index, base, is_compared=True), base.embedder)
    return add_vectors_of(segments, chosen, written, engine, is_shown)[0]


def _most_texts(segment: Segment) -> int:
    """Return a number that the values of text columns do not exceed, from the catalogue alone."""
    sizes = segment.catalog.numbers["cardinality"]
    return min(segment.n_tokens, int(sizes[text_columns(segment) > 0].sum()))


def _embed_here(
    segments: Sequence[SegmentMeta], chosen: IndexEmbedder, written: Uncommitted, is_shown: Shown
) -> list[SegmentMeta]:
    """Embed the values of segments in this process, one segment after the other."""
    done: list[SegmentMeta] = []
    total, before = max(1, sum(one.counts["tokens"] for one in segments)), 0
    with Progress(is_shown, 0, 0, stage=_EMBEDDING) as progress:

        def tell(share: float) -> None:
            progress.tell(_EMBEDDING, (before + share * one.counts["tokens"]) / total)

        for one in segments:
            tell(0.0)
            group = embed_segment(
                Segment(written.index, one, is_compared=True), chosen.embedder, chosen.meta.dimension, tell
            )
            before += one.counts["tokens"]
            written.add(group_directory(written.index, one.id, group.id))
            done.append(one.with_group(group))
    return done


class _TaskDriver:
    """Lets tasks of an engine embed values: stretches of all segments first, then the cells of each segment.

    Parameters
    ----------
    engine : Engine
    sizes : list of int
        At least as many as the values of each segment that are embedded.
    """

    def __init__(self, engine: Engine, sizes: list[int]) -> None:
        self._engine, self._sizes = engine, sizes

    def embed(
        self, segments: Sequence[SegmentMeta], chosen: IndexEmbedder, written: Uncommitted, is_shown: Shown
    ) -> tuple[list[SegmentMeta], IndexEmbedder]:
        """Embed the values of segments; for a new embedder one task chooses the radius first.

        What tasks write lies in a scratch directory until all of them are done. Tasks of an index on another file
        system write groups where they belong: those of a job that fails are orphans.
        """
        index = written.index
        with scratch_directory(index, "vectors") as work:
            with Progress(is_shown, 0, sum(self._sizes), work, stage="embedding") as shown:
                job = EmbedJob(str(index), str(work), send_embedder(chosen, index, work), chosen.meta.dimension)
                if chosen.is_new:
                    request = radius_request(job, segments, work / "radius.json")
                    (result,) = self._engine.run([request], work, shown.add)
                    chosen = chosen.with_radius(read_radius(result))
                requests = [
                    embed_request(job, stretch, work / f"embedding-{number}.json")
                    for number, stretch in enumerate(self._stretches(segments))
                ]
                found = [read_stretch(result) for result in self._engine.run(requests, work, shown.add)]
                shown.begin("gathering", sum(stretch.n for stretch in found))
                requests = [
                    cells_request(job, one, _of_segment(found, one), (work, work / f"gathering-{number}.json"))
                    for number, one in enumerate(segments)
                ]
                made = [read_vectors(result) for result in self._engine.run(requests, work, shown.add)]
            for one in made:
                written.move_groups("vectors", one, work)
            by_id = {one.id: one for one in made}
            return [by_id[one.id] for one in segments], chosen

    def _stretches(self, segments: Sequence[SegmentMeta]) -> list[Stretch]:
        """Cut the values of segments into stretches: enough for all slots, none hardly worth a task."""
        step = max(_SMALL_STRETCH, -(-sum(self._sizes) // (self._engine.n_slots * _STRETCHES_PER_SLOT)))
        return [
            Stretch(one.to_dict(), part, n_parts, size // n_parts)
            for one, size in zip(segments, self._sizes, strict=True)
            for n_parts in [-(-size // step)]
            for part in range(n_parts)
        ]


def _of_segment(found: list[EmbeddedStretch], segment: SegmentMeta) -> list[EmbeddedStretch]:
    """Return the stretches of a segment, in order."""
    return sorted((one for one in found if one.segment == segment.id), key=lambda one: one.part)
