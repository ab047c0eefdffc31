"""Which keys within a radius are partners, where not simply the nearest: the likely right, or the clearly nearest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dfjoin.errors import InvalidParameterError
from dfjoin.fuzzy.fuzzy_join import apply_fuzzy, find_fuzzy
from dfjoin.fuzzy.result import FuzzyJoin, FuzzySettings
from dfjoin.search.distance.distance_join import DistanceKeys, DistanceRelation, NearPairs, PairedKeys, TextKeys
from dfjoin.store.snapshot import Snapshot
from dfjoin.values.normalize import ValueSet


class LikelyKeys(DistanceKeys):
    """The texts of a column of a frame, to be joined with those texts of a table that are likely the same thing.

    Parameters
    ----------
    keys : TextKeys
        Measure the distances.
    values : ValueSet
        The column of the frame.
    relation : DistanceRelation
        With a precision. With `likeness` the threshold of an earlier join holds, and nothing is estimated anew.

    Notes
    -----
    Equal texts are joined. The others are those that the fuzzy join of two frames accepts: how much nearer the nearest
    text is than the second one, and how usual its difference is, say how likely a pair is right
    (`dfjoin.fuzzy.fuzzy_join.find_fuzzy`). The distance bounds what is accepted. All texts of the table are compared,
    since those that join nothing tell what different things look like; cost as of `find_fuzzy`.
    """

    def __init__(self, keys: TextKeys, values: ValueSet, relation: DistanceRelation) -> None:
        self.codes, self.n_keys, self.partners = keys.codes, keys.n_keys, relation.partners
        self._keys, self._texts, self._relation = keys, _texts(values), relation

    def read(self, parts: Sequence[ValueSet]) -> tuple[ValueSet, NDArray[np.int64], int]:
        """See `DistanceKeys`."""
        return self._keys.read(parts)

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """See `DistanceKeys`; rows without a key alone do not, as the others are to be compared."""
        return self._keys.read(parts)[1] >= 0

    def near(self, keys: ValueSet) -> NearPairs:
        """See `DistanceKeys`."""
        return self._pairs(keys)[0]

    def pairs(self, parts: Sequence[ValueSet]) -> PairedKeys:
        """Pair the keys with those of a table that are likely right."""
        keys, codes, n = self.read(parts)
        near, likeness = self._pairs(keys)
        chances = np.append(np.ones(near.left.size - len(likeness)), likeness.chances)
        return PairedKeys(*near[:2], codes, n, self._keys.shown(near.distances), chances, likeness)

    def _pairs(self, keys: ValueSet) -> tuple[NearPairs, FuzzyJoin]:
        """Return equal pairs, then likely ones; and the latter with what is expected of them."""
        equal = self._keys.equal(keys)
        theirs = np.flatnonzero(equal >= 0)
        left, known = self._texts, (equal[theirs], theirs)
        if self._relation.likeness is None:
            precision = self._relation.precision
            assert precision is not None
            found = find_fuzzy(left, _texts(keys), precision=precision, known=known)
        else:
            found = apply_fuzzy(left, _texts(keys), FuzzySettings.from_dict(self._relation.likeness), known=known)
        pairs = self._keys.measured(keys, found.left_rows, found.right_rows)
        is_near = self._keys.is_within(pairs)
        found = found.take(np.flatnonzero(is_near))
        distances = np.append(np.full(theirs.size, -1.0), pairs.distances[is_near])
        return NearPairs(np.append(known[0], found.left_rows), np.append(theirs, found.right_rows), distances), found


class ClearKeys(DistanceKeys):
    """Keys that join their nearest partner only if the next one is clearly farther; an equal one always.

    Parameters
    ----------
    keys : DistanceKeys
        Pair each key with its nearest partner.
    wide : DistanceKeys
        Pair each key with all within the radius and the margin.
    margin : float
        In the unit of the radius.

    Notes
    -----
    O(pairs within the radius and the margin).
    """

    def __init__(self, keys: DistanceKeys, wide: DistanceKeys, margin: float) -> None:
        self.codes, self.n_keys, self.partners = keys.codes, keys.n_keys, keys.partners
        self._keys, self._wide, self._margin = keys, wide, margin

    def read(self, parts: Sequence[ValueSet]) -> tuple[Any, NDArray[np.int64], int]:
        """See `DistanceKeys`."""
        return self._keys.read(parts)

    def may_join(self, parts: Sequence[ValueSet]) -> NDArray[np.bool_]:
        """See `DistanceKeys`; the next ones are read, too."""
        return self._wide.may_join(parts)

    def near(self, keys: Any) -> NearPairs:
        """See `DistanceKeys`."""
        return self._keys.near(keys)

    def pairs(self, parts: Sequence[ValueSet]) -> PairedKeys:
        """Pair the keys with their nearest partners, where no other one is nearly as near."""
        found, every = self._keys.pairs(parts), self._wide.pairs(parts)
        partner = np.full(self.n_keys, -1)
        partner[found.left] = found.right
        is_other = every.right != partner[every.left]
        following = np.full(self.n_keys, np.inf)
        np.minimum.at(following, every.left[is_other], every.distances[is_other])
        is_clear = (following[found.left] - found.distances >= self._margin) | (found.distances == 0)
        kept = (found.left[is_clear], found.right[is_clear], found.distances[is_clear])
        return found._replace(left=kept[0], right=kept[1], distances=kept[2])


def decided_keys(
    keys: DistanceKeys, parts: Sequence[ValueSet], relation: DistanceRelation, snapshot: Snapshot | None
) -> DistanceKeys:
    """Return keys that are joined as a relation says: within its radius, by its margin, or at its precision.

    Parameters
    ----------
    keys : DistanceKeys
        Those within the radius.
    parts, relation, snapshot
        As of `DistanceRelation.keys`.

    Raises
    ------
    InvalidParameterError
        If points are to be joined at a precision.
    """
    if relation.min_margin is not None:
        return ClearKeys(keys, relation.wider().keys(parts, snapshot), relation.min_margin)
    if relation.precision is None:
        return keys
    if not isinstance(keys, TextKeys):
        raise InvalidParameterError(
            f"`precision` must be left out for columns of numbers, got {relation.precision:g}: it is estimated for "
            "texts, by how usual a difference is; points join by `radius`, and `min_margin` leaves out what is in doubt"
        )
    return LikelyKeys(keys, parts[0], relation)


def _texts(values: ValueSet) -> pa.Array:
    return pa.array(values.values(), pa.large_string())
