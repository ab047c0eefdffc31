"""The table of the relations by distance that a step of a join may have; a further kind is a class and a line."""

from __future__ import annotations

from typing import Any

from dfjoin.search.distance.distance_join import DistanceRelation
from dfjoin.search.embedding.axes_join import AxesRelation
from dfjoin.search.embedding.near_join import NearRelation
from dfjoin.search.fuzzy.similar_join import SimilarRelation

__all__ = ["distance_relation"]

_KINDS: tuple[type[DistanceRelation], ...] = (NearRelation, SimilarRelation, AxesRelation)


def distance_relation(values: Any) -> DistanceRelation | None:
    """Read the relation of a step, or of a report, if it is one by distance.

    Parameters
    ----------
    values : dict or None
        As `JoinStep` has it.

    Returns
    -------
    DistanceRelation or None
        None if keys are equal, or related by programs.

    Raises
    ------
    InvalidTypeError, InvalidParameterError
        If it is one by distance, with an illegal part.
    """
    for kind in _KINDS:
        if isinstance(values, dict) and kind.KIND in values:
            return kind.from_dict(values)
    return None
