"""A relation of the keys of two tables: the distinct keys of either side, and the pairs that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.fuzzy.result import FuzzyJoin
from dfjoin.join.keys import ElementKeys
from dfjoin.join.plan import SavedRelation
from dfjoin.kernels.sorting import distinct_numbers
from dfjoin.transform.evidence.prepared_columns import count_distinct
from dfjoin.transform.evidence.transform_join import TransformJoin
from dfjoin.values.key_index import KeyIndex, expand_pairs, number_rows

KINDS = ("equal", "program", "fuzzy", "reviewed")
"""How a pair of keys was matched, by number."""


@dataclass(frozen=True)
class DistinctKeys:
    """The distinct keys of one side, in the spelling that the rows have.

    Parameters
    ----------
    index : KeyIndex
        Key of each row; rows whose columns are all null have one like others.
    columns : dict of str to pyarrow Array
        One entry a key.
    """

    index: KeyIndex
    columns: dict[str, pa.Array]

    def texts(self) -> pa.Array:
        """Return each key as one text, its parts with a space between; of several a null is an empty one."""
        arrays = list(self.columns.values())
        if len(arrays) == 1:
            return arrays[0]
        return pc.binary_join_element_wise(*[a.cast(pa.string()).fill_null("") for a in arrays], " ")

    def as_struct(self) -> pa.StructArray:
        """Return each key with its columns apart."""
        return pa.StructArray.from_arrays(
            [a.cast(pa.large_string()) for a in self.columns.values()], list(self.columns)
        )


def distinct_keys(columns: dict[str, pa.Array]) -> DistinctKeys:
    """Number the keys that some columns of strings, at least one, make together."""
    encoded = [pc.dictionary_encode(array, null_encoding="encode") for array in columns.values()]
    parts = [(e.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(e.dictionary)) for e in encoded]
    codes, n_keys, _ = number_rows(parts)
    first = np.full(n_keys, -1, np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    return DistinctKeys(KeyIndex(codes, n_keys), {name: array.take(pa.array(first)) for name, array in columns.items()})


class KeyPairs(NamedTuple):
    """Which keys of the left side belong to which of the right; arrays of shape (n_pairs,).

    Parameters
    ----------
    left, right : ndarray of int64
        Numbers of the keys.
    kinds : ndarray of int8
        How they were matched, by number in `KINDS`.
    distances : ndarray of float64
        0 for equal keys and for those that a program relates.
    chances : ndarray of float64
        How likely each pair is right, by estimate; 1 for equal keys.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    kinds: NDArray[np.int8]
    distances: NDArray[np.float64]
    chances: NDArray[np.float64]


@dataclass(frozen=True)
class Relation:
    """How the keys of two tables belong together.

    Parameters
    ----------
    left_columns, right_columns : list of str
        The key columns.
    left, right : DistinctKeys
    pairs : KeyPairs
        By left key, then right key; each pair once.
    programs : TransformJoin
        The programs, or what was tried.
    fuzzy : FuzzyJoin or None
        The fuzzy join, or why there is none; None if it was not looked for.
    elements : ElementKeys or None
        Which side holds several values in a cell, each of which is a key; None: neither.
    n_respelled : int
        Pairs of programs whose texts are equal in canonical form only: exported code does not match them by ``=``. Of
        many pairs the first 50,000 of each program are looked at.
    """

    left_columns: list[str]
    right_columns: list[str]
    left: DistinctKeys
    right: DistinctKeys
    pairs: KeyPairs
    programs: TransformJoin
    fuzzy: FuzzyJoin | None = None
    elements: ElementKeys | None = None
    n_respelled: int = 0

    def row_pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of both tables that are joined; int64, shape (n_row_pairs,) each."""
        own, theirs = self.left.index, self.right.index
        of_pair, right_rows = expand_pairs(self.pairs.right, theirs.codes, theirs.n_keys)
        left_rows, at = expand_pairs(own.codes, self.pairs.left[of_pair], own.n_keys)
        return left_rows, right_rows[at]

    def one_sided(self) -> float:
        """Return the pairs of rows that a relation of one to one, or of many to one, would have, over those there are.

        As `dfjoin.join.relation.key_evidence.one_sided`, of keys that need not be equal; 1 where no row has a partner.
        """
        sides = (self.left.index, self.pairs.left), (self.right.index, self.pairs.right)
        rows = [np.bincount(index.codes[index.codes >= 0], minlength=index.n_keys) for index, _ in sides]
        joined = [int(count[distinct_numbers(keys)].sum()) for count, (_, keys) in zip(rows, sides, strict=True)]
        n_pairs = int((rows[0][self.pairs.left] * rows[1][self.pairs.right]).sum())
        return max(joined) / n_pairs if n_pairs else 1.0

    def with_reviewed(self, reviewed: Sequence[tuple[str, str, bool]]) -> Relation:
        """Return the relation with the pairs that a person accepted, and without those that one rejected.

        Parameters
        ----------
        reviewed : sequence of (left value, right value, bool)
            Texts of keys of one column, as the cells are written; of one pair the last answer counts.

        Notes
        -----
        O((pairs + keys + answers) log). A text that no row has is passed over.
        """
        texts = [pa.array([one[side] for one in reviewed], pa.large_string()) for side in (0, 1)]
        keys = [
            pc.index_in(text, value_set=side.texts().cast(pa.large_string())).fill_null(-1).to_numpy()
            for text, side in zip(texts, (self.left, self.right), strict=True)
        ]
        answers = {
            (own, other): is_right
            for own, other, (_, _, is_right) in zip(*(side.tolist() for side in keys), reviewed, strict=True)
            if own >= 0 and other >= 0
        }
        known = zip(self.pairs.left.tolist(), self.pairs.right.tolist(), strict=True)
        kept = np.array([answers.get(pair, True) for pair in known], bool)
        are_held = set(zip(self.pairs.left[kept].tolist(), self.pairs.right[kept].tolist(), strict=True))
        new = [pair for pair, is_right in answers.items() if is_right and pair not in are_held]
        left = np.append(self.pairs.left[kept], np.array([own for own, _ in new], np.int64))
        right = np.append(self.pairs.right[kept], np.array([other for _, other in new], np.int64))
        kinds = np.append(self.pairs.kinds[kept], np.full(len(new), KINDS.index("reviewed"), np.int8))
        distances = np.append(self.pairs.distances[kept], np.zeros(len(new)))
        chances = np.append(self.pairs.chances[kept], np.ones(len(new)))
        order = np.lexsort((right, left))
        return replace(self, pairs=KeyPairs(*(one[order] for one in (left, right, kinds, distances, chances))))

    def explained(self) -> tuple[int, int]:
        """Return the rows of the source that programs join, or that are equal, and all of its rows that have a key."""
        source, _ = self.programs.ordered((self.left, self.pairs.left), (self.right, self.pairs.right))
        return self._explained(*source)

    def explained_on_the_left(self) -> tuple[int, int]:
        """Return what `explained` does, of the left side, whether it is the source or not."""
        return self._explained(self.left, self.pairs.left)

    def _explained(self, side: DistinctKeys, keys: NDArray[np.int64]) -> tuple[int, int]:
        joined = np.zeros(side.index.n_keys, np.bool_)
        joined[keys[self.pairs.kinds < KINDS.index("fuzzy")]] = True
        is_key = pc.is_valid(side.texts()).to_numpy(zero_copy_only=False)
        codes = side.index.codes
        return int((joined & is_key)[codes].sum()), int(is_key[codes].sum())

    def saved(self) -> SavedRelation:
        """Return what can be applied to other tables."""
        is_alike = self.fuzzy is not None and len(self.fuzzy)
        likeness = self.fuzzy.settings if self.fuzzy is not None and is_alike else None
        return SavedRelation(self.programs, likeness, self.elements)

    def describe(self) -> dict[str, Any]:
        """Return what was found as plain JSON values, for the report."""
        keys, kinds, n_keys = self.pairs.left, self.pairs.kinds, self.left.index.n_keys
        found: dict[str, Any] = {
            "n_keys": {kind: count_distinct(keys[kinds == n], n_keys) for n, kind in enumerate(KINDS[:3])}
        }
        if (kinds == KINDS.index("reviewed")).any():
            found["n_keys"]["reviewed"] = count_distinct(keys[kinds == KINDS.index("reviewed")], n_keys)
        if self.programs.found:
            found["transform"] = {**self.programs.to_saved(), "n_respelled": self.n_respelled}
        if self.elements is not None:
            found["elements"] = self.elements.to_dict()
        if self.fuzzy is not None and len(self.fuzzy):
            found["fuzzy"] = self.fuzzy.to_dict()
        return found
