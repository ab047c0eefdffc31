"""Pairing the keys of two tables: by programs first, then the rest, by likeness of what these make of the keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.fuzzy.result import FuzzyJoin
from dfjoin.join.relation.key_relation import KINDS, DistinctKeys, KeyPairs, Relation, distinct_keys
from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.tokenising import CodePoints, word_slices, word_tokens
from dfjoin.programs.program import Program
from dfjoin.transform.evidence.prepared_columns import Column
from dfjoin.transform.evidence.transform_join import RowJoin, TransformJoin, join_rows
from dfjoin.values.key_index import pair_codes
from dfjoin.values.shares import ENOUGH, HALF, SOME

_MAX_COMPARED = 50_000
"""Pairs of each program whose texts are compared as they are written."""

RestMatcher: TypeAlias = Callable[[pa.Array, pa.Array, KeyPairs], tuple[FuzzyJoin | None, str]]
"""What matches the keys that programs leave, given a text of each, and says why it found none."""


def pair_keys(
    programs: TransformJoin, left: TextColumns, right: TextColumns, match_rest: RestMatcher
) -> tuple[Relation, str]:
    """Pair the keys that programs relate, then those that a matcher finds for the rest.

    Parameters
    ----------
    programs : TransformJoin
        Programs, or the names of columns alone, whose keys are left to the matcher.
    left, right : mapping of str to Column
        Tables that have these columns.
    match_rest : RestMatcher

    Returns
    -------
    relation : Relation
    reason : str
        Why the matcher found nothing; empty if it did, or was not asked.
    """
    own_columns, other_columns = programs.columns
    own = distinct_keys({name: left[name].array for name in own_columns})
    other = distinct_keys({name: right[name].array for name in other_columns})
    rows = join_rows(programs, own.columns, other.columns)
    pairs, respelled = marked_pairs(programs, rows), _count_respelled(programs, rows, own, other)
    fuzzy, reason = match_rest(*texts_to_compare(programs, own, other), pairs)
    if reason:
        reason = f"{' + '.join(own_columns)} = {' + '.join(other_columns)}: {reason}"
    if fuzzy is not None and not _are_apart(programs, own, other):
        for side, texts, is_left in ((own, other.texts(), True), (other, own.texts(), False)):
            if len(side.columns) > 1:
                fuzzy = keep_explained(fuzzy, side.columns, texts, is_left)
    if fuzzy is not None:
        pairs = _with_fuzzy(pairs, fuzzy)
    keys = list(own_columns), list(other_columns), own, other
    return Relation(*keys, _sort_pairs(pairs), programs, fuzzy, n_respelled=respelled), reason


def _are_apart(programs: TransformJoin, left: DistinctKeys, right: DistinctKeys) -> bool:
    """Tell whether keys of several columns are compared column by column."""
    return not programs.programs and len(left.columns) == len(right.columns) > 1


def texts_to_compare(programs: TransformJoin, left: DistinctKeys, right: DistinctKeys) -> tuple[pa.Array, pa.Array]:
    """Return what likeness compares of each key: what the programs make of it, and of the rest the key itself.

    Parameters
    ----------
    programs : TransformJoin
    left, right : DistinctKeys

    Returns
    -------
    tuple of pyarrow Array
        An entry for each key of either side.

    Notes
    -----
    Keys of several columns that no program relates are compared column by column. A program that relates less than half
    of either column does not say how the keys of the others are written: these are compared as they are.
    """
    if _are_apart(programs, left, right):
        return left.as_struct(), right.as_struct()
    covered = max(programs.source_coverage, programs.target_coverage)
    if covered < HALF and len(left.columns) == len(right.columns) == 1:
        return left.texts(), right.texts()
    source, target = programs.ordered(left, right)
    made = _made(source, [ranked.program for ranked in programs.programs])
    return programs.ordered(made, _made(target, [] if programs.target is None else [programs.target]))


def _made(keys: DistinctKeys, programs: list[Program]) -> pa.Array:
    """Return the first result that programs have for each key, or the key where they have none."""
    made = [program.apply([keys.columns[name] for name in program.columns]) for program in programs]
    texts = [array.cast(pa.large_string()) for array in [*made, keys.texts()]]
    return pc.coalesce(*texts) if len(texts) > 1 else texts[0]


def marked_pairs(programs: TransformJoin, rows: RowJoin) -> KeyPairs:
    """Tell of pairs that programs join whether the keys are equal, and how likely they belong together."""
    is_copy = np.array([ranked.program.is_identity for ranked in programs.programs] or [False])
    is_copy &= programs.target is not None and programs.target.is_identity
    kinds = np.where(is_copy[rows.programs], KINDS.index("equal"), KINDS.index("program")).astype(np.int8)
    precisions = np.array([ranked.precision for ranked in programs.programs] or [1.0])
    chances = np.where(is_copy[rows.programs], 1.0, precisions[rows.programs])
    return KeyPairs(rows.left_rows, rows.right_rows, kinds, np.zeros(chances.size), chances)


def _count_respelled(programs: TransformJoin, rows: RowJoin, left: DistinctKeys, right: DistinctKeys) -> int:
    """Count pairs whose texts, as the programs write them, are equal in canonical form only; of many the first ones."""
    if programs.target is None:
        return 0
    source, target = programs.ordered(left, right)
    source_rows, target_rows = programs.ordered(rows.left_rows, rows.right_rows)
    count = 0
    for number, ranked in enumerate(programs.programs):
        if ranked.program.is_identity:  # equal keys, which no code is exported for
            continue
        chosen = np.flatnonzero(rows.programs == number)[:_MAX_COMPARED]
        texts = [
            program.apply([side.columns[name].take(pa.array(taken[chosen])) for name in program.columns])
            for program, side, taken in ((ranked.program, source, source_rows), (programs.target, target, target_rows))
        ]
        is_same = pc.equal(*(text.cast(pa.large_string()) for text in texts))
        count += chosen.size - (pc.sum(is_same).as_py() or 0)
    return count


def _with_fuzzy(pairs: KeyPairs, fuzzy: FuzzyJoin) -> KeyPairs:
    """Add the pairs of a fuzzy join."""
    kinds = np.full(len(fuzzy), KINDS.index("fuzzy"), np.int8)
    return KeyPairs(
        np.concatenate([pairs.left, fuzzy.left_rows]),
        np.concatenate([pairs.right, fuzzy.right_rows]),
        np.concatenate([pairs.kinds, kinds]),
        np.concatenate([pairs.distances, fuzzy.distances]),
        np.concatenate([pairs.chances, fuzzy.chances]),
    )


def _sort_pairs(pairs: KeyPairs) -> KeyPairs:
    """Sort pairs by left key, then right key; a key that a program joins is not joined by similarity as well."""
    order = np.argsort(pair_codes(pairs.left, pairs.right, int(pairs.right.max(initial=0)) + 1), kind="stable")
    left, right, kinds, distances, chances = pairs
    return KeyPairs(left[order], right[order], kinds[order], distances[order], chances[order])


# Keys of several columns against a text of all of them ------------------------------------------------------
#
# Of every key column one word must stand in the other text: equal, shortened or mistyped.


_WORD = re.compile(r"\w+")
_ALIKE = 0.7
"""Least share of the letters that two spellings of a word have in common."""


def keep_explained(found: FuzzyJoin, columns: Mapping[str, pa.Array], texts: pa.Array, is_left: bool) -> FuzzyJoin:
    """Leave out the pairs whose text explains nothing of one of the columns that the key is made of.

    ``Fay`` and ``Black`` are alike ``Zoe Black``, by one of two columns: it is another person.

    Parameters
    ----------
    found : FuzzyJoin
    columns : mapping of str to pyarrow.Array
        The columns of the composite key, each with one value a key.
    texts : pyarrow.Array
        The keys of the other side.
    is_left : bool
        Whether the composite key is that of the left rows.

    Returns
    -------
    FuzzyJoin
        A null, and a value without a letter or digit, is explained by any text. A word is explained by an equal one, by
        its initial or an abbreviation of three letters or more, and by a spelling with 70 % of its letters.

    Notes
    -----
    O(pairs × words of the key × words of the text).
    """
    own, others = (found.left_rows, found.right_rows) if is_left else (found.right_rows, found.left_rows)
    is_explained = np.ones(len(found), bool)
    other_words = [_words(text) for text in texts.cast(pa.large_string()).take(pa.array(others)).to_pylist()]
    for column in columns.values():
        values = column.cast(pa.large_string()).take(pa.array(own)).to_pylist()
        is_explained &= _are_explained(values, other_words)
    if is_explained.all():
        return found
    kept = found.take(np.flatnonzero(is_explained))
    if not is_explained.any():
        nothing = "what is alike tells nothing of one of the columns of the key"
        return replace(kept, estimated_precision=None, estimated_recall=None, reason=nothing, curve=())
    return kept


def _are_explained(values: list[str | None], others: list[list[str]]) -> NDArray[np.bool_]:
    """Tell for each value whether one of its words is explained by some other words."""
    words = [_words(value) for value in values]
    pairs = zip(words, others, strict=True)
    return np.array([not own or any(_is_same_word(a, b) for a in own for b in other) for own, other in pairs], bool)


def _words(text: str | None) -> list[str]:
    return _WORD.findall((text or "").casefold())


@lru_cache(1 << 16)
def _is_same_word(a: str, b: str) -> bool:
    """Tell whether two words may be one, written in full, by its initial, shortened or mistyped."""
    if a == b:
        return True
    if any(character.isdigit() for character in a + b):
        return False
    short, long = sorted((a, b), key=len)
    if len(short) != 2 and long.startswith(short):
        return True
    return len(short) > 2 and SequenceMatcher(None, a, b, autojunk=False).ratio() >= _ALIKE


# The choice of key columns for a join by similarity, where the caller names none ----------------------------


_MAX_WORDS = 1 << 16
"""Distinct words of a column that are compared."""
_MANY_SHAPES = 100
"""Distinct values without their digits that are enough, whatever their share: weekdays and months together make 84."""
_MAX_CHARACTERS = 200
"""Characters from the start of a value that are looked at."""
_MIN_LENGTH = 3
"""Bytes of the shortest word that counts."""
_BETWEEN_WORDS = r"[^\pL\pN]+"
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
"""Letters of Chinese and Japanese, which write no spaces: each two of them that stand side by side count as a word."""

TextColumns = Mapping[str, Column]
"""The columns of a table that can be keys, as strings, by name."""


def choose_similar_keys(left: TextColumns, right: TextColumns) -> tuple[str, str] | None:
    """Choose the pair of columns whose values share the most rare words.

    Parameters
    ----------
    left, right : mapping of str to Column

    Returns
    -------
    tuple of str or None
        None if no pair has a fifth of its weight in common. Columns with fewer than ten distinct values do
        not take part, nor do those that `is_named_by_words` refuses. Of equal pairs the first in the
        order of columns.

    Notes
    -----
    A word weighs log(n / number of values that hold it), n the values of its column; a pair of columns
    scores the shared weight over the smaller of both. Of columns of many words those are compared whose
    hash is smallest, up to one bound for all columns (bottom-k sampling, Cohen and Kaplan, PODC 2007): one
    side then holds in its sample what the other side has in its own, whatever the number of rows. The
    order of rows does not matter. O(characters + pairs of columns × 65,536).
    """
    sides = [
        {name: words for name, column in table.items() if (words := _words_of(column.array)) is not None}
        for table in (left, right)
    ]
    bound = min((_bound(hashes) for side in sides for hashes, _ in side.values()), default=np.uint64(0))
    kept = [{name: _below(words, bound) for name, words in side.items()} for side in sides]
    best, chosen = SOME, None
    for own, mine in kept[0].items():
        for other, theirs in kept[1].items():
            share = _shared_weight(mine, theirs)
            if share > best:
                best, chosen = share, (own, other)
    return chosen


def is_named_by_words(keys: pa.Array, is_chosen_by_caller: bool = False) -> bool:
    """Tell whether the values of a column are distinguished by more than their digits.

    Parameters
    ----------
    keys : pyarrow Array of strings, or of structs of strings
        Of a key of several columns one column must tell its values apart by more than digits.
    is_chosen_by_caller : bool, default False
        The caller names the columns, which may have fewer than ten values then.

    Returns
    -------
    bool
        False for dates, years, counts, sequential codes and the like: fewer than a fifth of the distinct values,
        or fewer than ten, stay distinct if each stretch of digits is taken for the same. Values
        that are alike are not the same thing there, but neighbours. A hundred that stay distinct are names, however
        many years or numbers each of them has.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_named_by_words(pa.array([f"INV-{i}" for i in range(100)]))
    False
    """
    columns = keys.flatten() if pa.types.is_struct(keys.type) else [keys]
    return any(_tells_apart(_folded(column), 1 if is_chosen_by_caller else ENOUGH) for column in columns)


Words = tuple[NDArray[np.uint64], NDArray[np.float64]]
"""Distinct hashes of words, ascending, and the weight of each."""


def _folded(array: pa.Array) -> pa.Array:
    """Return the distinct values, in lower case and cut to their first characters."""
    distinct = array.unique().drop_null().cast(pa.large_string())
    return pc.utf8_lower(pc.utf8_slice_codeunits(distinct, 0, _MAX_CHARACTERS))


def _tells_apart(folded: pa.Array, least: int = ENOUGH) -> bool:
    """Tell whether enough values stay distinct without their digits."""
    shapes = pc.count_distinct(pc.replace_substring_regex(folded, r"[0-9]+", "0")).as_py()
    return bool(shapes >= max(least, min(_MANY_SHAPES, SOME * len(folded))))


def _words_of(array: pa.Array) -> Words | None:
    """Return the words of a column's distinct values with their weights; None for a column that is no key."""
    folded = _folded(array)
    if len(folded) < ENOUGH or not _tells_apart(folded):
        return None
    texts = pc.replace_substring_regex(_pair_unspaced(folded), _BETWEEN_WORDS, " ")
    _, offsets, data = texts.buffers()
    bytes_ = CodePoints(
        as_read_only(np.frombuffer(data or b"", np.uint8).astype(np.uint32)),
        as_read_only(np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]),
    )
    indptr, hashes = word_tokens(bytes_)
    starts, ends = word_slices(bytes_)
    is_long = ends - starts >= _MIN_LENGTH
    rows = np.repeat(np.arange(len(folded)), np.diff(indptr))[is_long]
    hashes = hashes[is_long]
    order = np.lexsort((rows, hashes))
    hashes, rows = hashes[order], rows[order]
    is_first = np.ones(hashes.size, bool)
    is_first[1:] = (hashes[1:] != hashes[:-1]) | (rows[1:] != rows[:-1])
    found, counts = np.unique(hashes[is_first], return_counts=True)
    weights = np.log(len(folded) / counts)
    is_rare = weights > 0
    return (found[is_rare], weights[is_rare]) if is_rare.any() else None


def _pair_unspaced(texts: pa.Array) -> pa.Array:
    """Write Chinese and Japanese as pairs of letters, from the first of a stretch on, then from the second."""
    if not pc.any(pc.match_substring_regex(texts, _UNSPACED)).as_py():
        return texts
    shifted = pc.replace_substring_regex(texts, f"{_UNSPACED}({_UNSPACED}+)", r"\1")
    pairs = [pc.replace_substring_regex(one, f"({_UNSPACED}{{2}})", r" \1 ") for one in (texts, shifted)]
    return pc.binary_join_element_wise(*pairs, pa.scalar(" ", pa.large_string()))


def _bound(hashes: NDArray[np.uint64]) -> np.uint64:
    """Return the largest hash that a sample of a column's words would hold."""
    return np.uint64(hashes[min(_MAX_WORDS, hashes.size) - 1] if hashes.size > _MAX_WORDS else np.iinfo(np.uint64).max)


def _below(words: Words, bound: np.uint64) -> Words:
    """Return the words up to a hash."""
    n = int(np.searchsorted(words[0], bound, side="right"))
    return words[0][:n], words[1][:n]


def _shared_weight(mine: Words, theirs: Words) -> float:
    """Return the weight of common words over the smaller weight of the two columns."""
    _, own, other = np.intersect1d(mine[0], theirs[0], assume_unique=True, return_indices=True)
    whole = min(mine[1].sum(), theirs[1].sum())
    return float(np.minimum(mine[1][own], theirs[1][other]).sum() / whole) if whole > 0 else 0.0
