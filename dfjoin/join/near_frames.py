"""Joining two frames by distance: places and other points, texts by their n-grams or their spelling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dfjoin._validation import show
from dfjoin.errors import InvalidParameterError
from dfjoin.join.keys import KeyColumns
from dfjoin.join.options import JoinOptions
from dfjoin.join.relation.frame_keys import KeyLabels, named_keys
from dfjoin.search.distance.distance_join import DistanceRelation, with_partners, with_precision
from dfjoin.search.embedding.axes_join import AxesRelation, point_radius
from dfjoin.search.embedding.axes_query import check_points, is_numeric, read_points
from dfjoin.search.embedding.near_join import NearRelation, ngrams_of_frames
from dfjoin.search.embedding.near_search import NGRAM_RADIUS, vector_radius, with_radius
from dfjoin.search.fuzzy.similar_join import SimilarRelation
from dfjoin.search.fuzzy.similar_texts import spelling_radius
from dfjoin.search.params import search_params
from dfjoin.values.frames import select_column

__all__ = ["NEAR_MODES", "NearColumns", "near_keys"]

NearColumns = tuple[list[Any], list[Any], DistanceRelation]
"""Key columns of the left frame, those of the right one, and how near they have to be."""


def near_keys(left: KeyColumns, right: KeyColumns, options: JoinOptions) -> NearColumns:
    """Decide which columns of two frames are joined by distance, and how near they have to be.

    Parameters
    ----------
    left, right : KeyColumns
    options : JoinOptions
        Names the columns, the radius, its unit and metric, and which keys within it are partners.

    Returns
    -------
    labels, right_labels : list
        Of places latitude first.
    relation : DistanceRelation

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If the columns are not named, or do not fit the mode or the unit.
    """
    named = named_keys(left.frame, right.frame, options)
    if named is None:
        raise InvalidParameterError(
            f"`on` must name the columns that are near those of the other frame with mode={options.mode!r}, as "
            f'on=["lat", "lon"]; got {show(options.on)}'
        )
    labels, right_labels = named
    if len(labels) != len(right_labels):
        raise InvalidParameterError(
            f"`right_on` must name as many columns as `on` ({len(labels)}), got {len(right_labels)}, with "
            f"mode={options.mode!r}"
        )
    labels, right_labels, relation = _DECIDE[options.mode](left, right, (labels, right_labels), options)
    held = with_partners(relation.to_dict(), options.partners, options.min_margin)
    held = with_precision(held, options.precision, is_bounded=options.radius is not None)
    return labels, right_labels, type(relation).from_dict(held or {})


def _by_spelling(left: KeyColumns, right: KeyColumns, keys: KeyLabels, options: JoinOptions) -> NearColumns:
    """Relate two columns of text by how they are spelled."""
    _check_texts(left, right, keys, options)
    limit = spelling_radius(options.radius, options.radius_unit, options.metric)
    return *keys, SimilarRelation(limit.radius, limit.unit, limit.metric)


def _by_vectors(left: KeyColumns, right: KeyColumns, keys: KeyLabels, options: JoinOptions) -> NearColumns:
    """Relate columns of numbers by their points, and two columns of text by their n-grams."""
    if _are_points(left, keys[0]):
        return _points(left, right, keys, options)
    _check_texts(left, right, keys, options)
    params = search_params(
        mode=options.mode, radius=options.radius, radius_unit=options.radius_unit, metric=options.metric
    )
    params, identity = with_radius(params, NGRAM_RADIUS), ngrams_of_frames().identity
    vector_radius(params)  # raises if the unit is not one of vectors
    return *keys, NearRelation(params.radius or 0.0, params.radius_unit or "", params.metric or "", identity)


_DECIDE: dict[str, Callable[[KeyColumns, KeyColumns, KeyLabels, JoinOptions], NearColumns]] = {
    "embedding": _by_vectors,
    "fuzzy": _by_spelling,
}

NEAR_MODES = tuple(_DECIDE)
"""Modes by which two frames are joined, as a lake is searched by them."""


def _check_texts(left: KeyColumns, right: KeyColumns, keys: KeyLabels, options: JoinOptions) -> None:
    """Raise unless the keys are one column of either frame that holds no numbers."""
    if len(keys[0]) != 1 or any(_are_points(side, own) for side, own in zip((left, right), keys, strict=True)):
        raise InvalidParameterError(
            f"`on` must name one column of text of both frames with mode={options.mode!r}, got {show(keys[0])} and "
            f'{show(keys[1])}; columns of numbers need mode="embedding" and a radius'
        )


def _are_points(side: KeyColumns, labels: Sequence[Any]) -> bool:
    """Tell whether columns are searched as numbers: several are, and one that holds numbers."""
    return len(labels) > 1 or is_numeric(select_column(side.frame, labels[0], "on"))


def _points(left: KeyColumns, right: KeyColumns, keys: KeyLabels, options: JoinOptions) -> NearColumns:
    """Return columns of numbers in the order of their axes, and how near they have to be."""
    order = check_points(keys[0], options.radius_unit)
    labels, right_labels = ([own[i] for i in order] for own in keys)
    radius = point_radius(options.radius, options.radius_unit, options.metric)
    lengths = []
    for side, own in ((left, labels), (right, right_labels)):
        points, *_ = read_points(side.frame, own, side.settings, radius.unit)  # raises without numbers, and warns
        lengths.append(points.shape[1])
    if len(left.frame) and len(right.frame) and lengths[0] != lengths[1]:
        raise InvalidParameterError(
            f"`on` must name points of one length in both frames, got {lengths[0]} numbers in {show(labels)} and "
            f"{lengths[1]} in {show(right_labels)}; name the columns of the same axes"
        )
    scales = [1.0] * len(labels)
    return labels, right_labels, AxesRelation(radius.radius, radius.unit, scales)
