"""The features of candidate columns, and the odds that a linear model gives them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lists.evidence import BITS, COUNT, REFERENCE_COLUMNS, SCALE, SPREAD, WEIGHT
from dfjoin.kernels.numba._compile import njit_inlined, njit_inner, njit_lean, prefetch
from dfjoin.kernels.sorting import is_member, lower_bound
from dfjoin.kernels.texts.header_relations import (
    ALIKE,
    DISJOINT,
    IN_FRAME,
    IN_TABLE,
    IS_MEASURE,
    IS_NAMING,
    JOINED,
    NAMES_TABLE,
    SAME,
    header_marks,
    is_identifier,
    table_marks,
)
from dfjoin.kernels.texts.header_words import HeaderWords

CARDINALITY, LOG_CARDINALITY, KIND, IS_UNIQUE, IS_SERIAL, IS_YEARS, POSITION, TABLE, LOW, HIGH, HEADER = range(11)
"""Columns of `ColumnRecords.records`. A kind is 0 for others, 1 for text, 2 for numbers; the range of integers is empty
for other columns."""

SCORE, GAIN, USEFULNESS, NOTHING_NEW = range(4)
"""Rows of what `score_candidates` writes: the score, what a join brings whatever repeats its values, the usefulness,
and whether the frame has all headers of the table."""

N_SCORES = 4

_KNOWN = 128
SERIAL_SHARE = 0.8
"""Integers that hold at least this share of their range fill it; from 0 or 1 on they are serial numbers."""

_CHANCE_BITS = 10.0
"""Bits by which the shared numbers exceed what ranges predict where half of them are taken to be shared by chance."""

_LABELS = 2.0
"""Texts that both columns repeat are labels, and need this many times the bits of a key to count as much."""

LIMIT = 5.0
"""A feature counts as far as this many standard deviations from its mean, and no farther."""

_MOST_ODDS = 30.0
_EVEN = 0.5
"""Score from which on a candidate is more likely a join than an accident."""

_BELOW = 6e-7
"""A score that is this much below another one is not rounded to it."""

_ROOM = 1e-9
"""Taken from the odds that a bound has to reach, of which the parts are added up in another order."""

_AHEAD = 8
"""Candidates whose records are fetched before they are read."""

_PARTS = 1e6
"""Scores are rounded to one part in this many."""

_ALL_NUMBERS = math.log(1e9)
_ALL_COLUMNS = math.log(REFERENCE_COLUMNS)
_LN2 = math.log(2.0)


class _FeatureColumns(NamedTuple):
    """The column of each feature in what `score_candidates` writes, see `FEATURES`."""

    information: int = 0
    information_per_value: int = 1
    rare_containment: int = 2
    spread: int = 3
    smaller_containment: int = 4
    larger_containment: int = 5
    shared: int = 6
    cardinality: int = 7
    same_specific_header: int = 8
    disjoint_headers: int = 9
    header_in_table_name: int = 10
    header_elsewhere: int = 11
    no_letters: int = 12
    no_letters_same_header: int = 13
    both_years: int = 14
    numeric_header: int = 15
    unique_query: int = 16
    both_text: int = 17
    position_in_table: int = 18
    new_columns: int = 19
    nothing_new: int = 20
    unique_candidate: int = 21
    many_to_many: int = 22
    series: int = 23
    number_columns: int = 24
    unnamed_numbers: int = 25
    by_chance: int = 26
    similar_size: int = 27
    refers: int = 28
    same_key_header: int = 29
    alike_header: int = 30
    names_key: int = 31
    measured: int = 32
    covered: int = 33
    other_headers: int = 34
    same_folder: int = 35
    lone_shared: int = 36
    held_by_query: int = 37


AT = _FeatureColumns()
FEATURES = _FeatureColumns._fields
"""Names of the features, in the order of their columns.

======================== ==============================================================================================
information              ln(1 + bits of the shared values), see `weigh_values`; of whole numbers only the bits by which
                         they exceed what the ranges of the columns predict, see `by_chance`
information_per_value    these bits of a shared value on the average
rare_containment         containment of the query, each value weighted by one over the root of the columns that hold it,
                         times one minus `by_chance`; of texts times `_weight_of_texts`
spread                   mean of ln(columns that hold a shared value); as far as `by_chance`, ln of all columns
smaller_, larger_        the smaller and the larger of the containment of the query in the candidate and the reverse,
                         times the same
shared, lone_shared      ln(1 + shared values), and whether only one value is shared of several that the query has
cardinality              ln(distinct values of the candidate), times one minus `by_chance`
same_specific_header     the headers have the same words, and not only words that stand in tables of any subject
disjoint_headers         both headers have specific words, and no two begin alike
header_in_table_name     a specific word of the query's header is in the name of the table
header_elsewhere         the frame has the candidate's header for another column, or the table the query's
no_letters               the query is text, hardly any value of which has a letter (scores, ranges, versions)
no_letters_same_header   the same, and the headers are the same
both_years               both are integers from 1500 to 2100
numeric_header           the query's header has no letter
unique_query             no value of the query occurs twice
both_text                both are text
position_in_table           position of the candidate in its table, 0 to 1
new_columns, nothing_new ln(1 + columns that the frame has not), and whether there is none
unique_candidate         no value of the candidate occurs twice
many_to_many             values of both occur twice
series                   ln(tables of the family of the candidate's table, see `LakeFacts.family`)
number_columns           share of the columns of the candidate's table that hold numbers
unnamed_numbers          both are numbers but no years, or the query has no letters, and no header says that they name
                         anything: measures, counts and ranks, see NAMING
by_chance                1 for whole numbers that the ranges of the columns predict, less the more bits exceed it: 1
                         for serial numbers, also padded or among few words, and for what lies in a range that is full;
                         0 for other texts and years
similar_size             the smaller number of values by the larger one, times `covered` and `by_chance`, if the headers
                         or the name of the table relate the columns: same_key_header, alike_header or names_key
refers                   `by_chance`, if they do, the query repeats its values, and the candidate holds each once
same_key_header          both are numbers, or the query serial numbers as texts, with the same specific header, and
                         it names no measure
alike_header             both are numbers; the specific words of one header are short for those of the other one
names_key                both are numbers; the candidate is the identifier of its table, which the query's header names
measured                 both are numbers, and a header says that they were measured or counted
covered, held_by_query   the larger containment and that of the candidate in the query, for whole numbers too
other_headers            ln(1 + other headers of the frame that the table has)
same_folder              the candidate's table lies in the folder of the table whose headers are most like the frame's
======================== ==============================================================================================
"""


OF_TABLE = (AT.header_in_table_name, AT.header_elsewhere, AT.other_headers, AT.same_folder)
"""Features that only the table tells, as far as the score has them."""

OF_NUMBERS = (AT.similar_size, AT.refers, AT.same_key_header, AT.alike_header, AT.names_key, AT.measured)
"""Those that only headers tell and that are zero where the query and the candidate are not both numbers."""

OF_HEADER = (
    AT.same_specific_header,
    AT.disjoint_headers,
    AT.no_letters_same_header,
    AT.unnamed_numbers,
    *OF_NUMBERS,
)
"""Features that only headers tell, as far as the score has them."""

_OF_KEYS = (AT.similar_size, AT.refers, AT.names_key)
"""Those of them that are larger, or the same, where the candidate is the key of its table."""


class ColumnRecords(NamedTuple):
    """What a search needs of each column of a segment, side by side, and the names that they have.

    `records` has the columns CARDINALITY to HEADER; HEADER is the number of a distinct header, of which `headers` are
    the words, and `briefs` what is looked at first, see `briefs_of`.
    """

    records: NDArray[np.float64]
    headers: HeaderWords
    briefs: NDArray[np.uint64]


class TableNumbers(NamedTuple):
    """What is known of the tables of a segment, whatever the query is.

    `n_columns` are those whose header has a letter or a digit; `series` and `number_share` are the features of their
    names; `folders` is a number for each that tables of one folder of the lake share.
    """

    names: HeaderWords
    briefs: NDArray[np.uint64]
    n_columns: NDArray[np.int64]
    series: NDArray[np.float64]
    number_share: NDArray[np.float64]
    folders: NDArray[np.int64]


class MetNames(NamedTuple):
    """What is known of the headers and the names of tables that were met, zeros at first."""

    headers: NDArray[np.uint8]
    tables: NDArray[np.uint8]


PLACE_OF, MEAN, RATE, WEIGHT_OF = range(4)
"""Columns of the features of a logistic regression: the column of each in `FEATURES`, its mean, one over its scale, and
its weight. The first row has the bias in place of a weight."""


OTHERS, NUMBERS, TABLE_ALONE = range(3)
"""Columns of `ModelNumbers.bounds`."""


class ModelNumbers(NamedTuple):
    """The published model, see `UsefulnessModel`; `most` is 1 for features that raise the score, else 0.

    The odds of the score are the sum of what is known without a name, of what only headers tell, and of what only the
    table tells; `brings` is a logistic regression of its own. `bounds` has what names add to the odds of the score at
    most, a row for frames whose other headers are not known, and one for those where they are: names of both where not
    both columns are numbers (OTHERS), or both are (NUMBERS), and the table alone.
    """

    by_values: NDArray[np.float64]
    by_header: NDArray[np.float64]
    by_table: NDArray[np.float64]
    brings: NDArray[np.float64]
    most: NDArray[np.float64]
    bounds: NDArray[np.float64]
    floor: float
    repeated: float
    many_to_many: float


class QueryFacts(NamedTuple):
    """What is known of a query column apart from its values.

    `header` is its name, `companions` are the distinct hashes of the names of the other columns of its frame, sorted,
    none where the frame is not known; `integers` the values that are integers, sorted. No value occurs twice
    (`is_unique`); its kind (`is_number`, `is_text`); integers from 0 or 1 on with few gaps (`is_serial`), or texts
    that are such with zeros in front, or nearly all integers with few gaps, but for years (`is_text_serial`); integers
    that may be years (`is_years`); a text column of whose values hardly any has a letter (`has_no_letters`). Its name
    stands in tables of any subject (`is_generic`), has no letter (`has_digits_alone`), says that numbers under it name
    something (`is_naming`), or that they were measured or counted (`is_measure`).
    """

    header: HeaderWords
    companions: NDArray[np.uint64]
    integers: NDArray[np.int64]
    n_values: int
    is_unique: bool
    is_number: bool
    is_text: bool
    is_serial: bool
    is_text_serial: bool
    is_years: bool
    has_no_letters: bool
    is_generic: bool
    has_digits_alone: bool
    is_naming: bool
    is_measure: bool


@njit_inner
def _weigh_range(record, query, matched):
    """Compare the shared whole numbers with what the ranges of both columns predict.

    Parameters
    ----------
    record : ndarray of float64
        Of the candidate; if its range is not known, as it has texts, too, it is taken to be the query's.
    query : QueryFacts
        A query with integers.
    matched : float
        Shared values.

    Returns
    -------
    by_chance, bits : float
        1 where as many values are shared as is expected, less the more there are; and their information: the divergence
        of the share of the query's numbers in the candidate's range that it holds from the share of that range that it
        fills, and the bits that it takes to place the range of both among all numbers.

    Notes
    -----
    A column that begins at 0 or 1 is taken to fill the range up to the query's last number as far as it has values for
    it: a few large numbers make no serial number rare. Where the query or the candidate fills its range, any numbers
    there are shared, so that none tells anything. O(log n).
    """
    integers, low, high = query.integers, record[LOW], record[HIGH]
    n = integers.shape[0]
    if high < low:
        low, high = np.float64(integers[0]), np.float64(integers[n - 1])
    n_in = lower_bound(integers, 0, n, high + 1) - lower_bound(integers, 0, n, low)
    n_in = max(matched, float(n_in))
    end = min(high, float(integers[n - 1])) if 0 <= low <= 1 else high
    density = min(1.0, record[CARDINALITY] / max(1.0, end - low + 1))
    held = matched / n_in
    own_density = n / max(1.0, float(integers[n - 1]) - float(integers[0]) + 1.0)
    bits = 0.0
    if held > density and max(density, own_density) < SERIAL_SHARE:
        bits = matched * math.log2(held / density)
        if held < 1.0:
            bits += (n_in - matched) * math.log2((1.0 - held) / (1.0 - density))
        bits = min(bits, matched * math.log2(1.0 / own_density))
    by_chance = _CHANCE_BITS / (_CHANCE_BITS + bits)
    first, last = min(low, float(integers[0])), max(high, float(integers[n - 1]))
    if first > 0:
        bits += math.log2(_ALL_NUMBERS / min(_ALL_NUMBERS, math.log((last + 1.0) / first)))
    return by_chance, bits


@njit_inner
def _weight_of_texts(spread, matched, are_labels):
    """Return how far the containment of two sets of texts counts.

    Any two columns of answers hold *yes* and *no*: that two columns have the same few usual texts tells little. The
    bits by which the shared texts are rare, log2(all columns ÷ columns that hold it) of each, are compared with those
    that chance may explain, twice as many of labels; the square lets a few more texts count in full.
    """
    bits = matched * max(0.0, _ALL_COLUMNS - spread) / _LN2
    least = _LABELS * _CHANCE_BITS if are_labels else _CHANCE_BITS
    return bits * bits / (bits * bits + least * least)


@njit_inner
def _marks_of_header(header, known, query, marks):
    """Return what a header has to do with the query's; it is compared once."""
    if marks[header] == 0:
        marks[header] = _KNOWN | header_marks(header, known.headers, known.briefs, query.header)
        if is_member(query.companions, known.briefs[header, JOINED]):
            marks[header] |= IN_FRAME
    return marks[header]


@njit_inner
def _marks_of_table(table, tables, query, marks):
    """Return what the name of a table has to do with the query's header; it is compared once."""
    if marks[table] == 0:
        marks[table] = _KNOWN | table_marks(table, tables.names, tables.briefs, query.header)
    return marks[table]


@njit_inner
def _set_kinds(record, query, out):
    """Write what kinds of columns the query and a candidate are."""
    is_unique = record[IS_UNIQUE] != 0.0
    out[AT.no_letters] = query.has_no_letters
    out[AT.both_years] = record[IS_YEARS] if query.is_years else 0.0
    out[AT.numeric_header] = query.has_digits_alone
    out[AT.unique_query] = query.is_unique
    out[AT.unique_candidate] = record[IS_UNIQUE]
    out[AT.many_to_many] = not is_unique and not query.is_unique
    out[AT.both_text] = record[KIND] == 1.0 and query.is_text
    out[AT.position_in_table] = record[POSITION]


@njit_inlined
def _set_values(sums, record, query, total_weight, out):
    """Write all that no name is needed for; return `by_chance`, the containment of the query, and shared values."""
    matched, size, n_query = float(max(np.int64(1), sums[COUNT])), record[CARDINALITY], float(max(1, query.n_values))
    own, theirs = matched / n_query, matched / size
    bits, by_chance = float(sums[BITS]) / SCALE, 0.0
    has_integers = query.integers.shape[0] > 0 and (query.is_number or record[HIGH] >= record[LOW])
    if query.is_text_serial:
        bits, by_chance = 0.0, 1.0
    elif has_integers and not (query.is_years and record[IS_YEARS] != 0.0):
        by_chance, beyond = _weigh_range(record, query, matched)
        bits = min(bits, beyond)
    is_by_value = 1.0 - by_chance
    rarity, spread = float(sums[WEIGHT]) / SCALE / max(total_weight, 1e-9), float(sums[SPREAD]) / SCALE / matched
    out[AT.information] = math.log(1.0 + bits)
    out[AT.information_per_value] = bits / matched
    weight = is_by_value
    if query.is_text and record[KIND] == 1.0:
        weight *= _weight_of_texts(spread, matched, record[IS_UNIQUE] == 0.0 and not query.is_unique)
    out[AT.rare_containment] = rarity * weight
    out[AT.spread] = spread * is_by_value + _ALL_COLUMNS * by_chance
    out[AT.smaller_containment] = min(own, theirs) * weight
    out[AT.larger_containment] = max(own, theirs) * weight
    out[AT.covered], out[AT.held_by_query] = max(own, theirs), theirs
    out[AT.lone_shared] = matched <= 1.0 and n_query > 1.0
    out[AT.cardinality] = record[LOG_CARDINALITY] * is_by_value
    out[AT.by_chance] = by_chance
    _set_kinds(record, query, out)
    return by_chance, own, matched


@njit_inner
def _set_table(table, tables, frame, is_new, is_companion, out):
    """Write what the table of a candidate brings, and what it has to do with the frame."""
    n_held, n_named = frame.n_held[table], frame.n_named[table]
    n_new = tables.n_columns[table] - n_held - n_named - np.int64(is_new)
    out[AT.new_columns] = math.log(1.0 + max(np.int64(0), n_new))
    out[AT.nothing_new] = n_new <= 0
    out[AT.other_headers] = math.log(1.0 + max(np.int64(0), n_held - np.int64(is_companion)))
    out[AT.series] = tables.series[table]
    out[AT.number_columns] = tables.number_share[table]
    out[AT.same_folder] = frame.is_near[tables.folders[table]]


@njit_inner
def _set_header(query, mark, out):
    """Write what two headers tell of columns of any kind."""
    is_same = mark & SAME != 0
    out[AT.no_letters_same_header] = query.has_no_letters and is_same
    out[AT.same_specific_header] = is_same and not query.is_generic
    out[AT.disjoint_headers] = mark & DISJOINT != 0


@njit_inner
def _set_numbers(record, query, mark, is_key, by_chance, own, out):
    """Write what headers say of two columns of whole numbers, and of those that they relate how the sets compare."""
    has_number = query.is_number and record[KIND] == 2.0
    has_years = query.is_years and record[IS_YEARS] != 0.0
    are_numbers = query.is_text_serial or has_number
    is_measure = query.is_measure or mark & IS_MEASURE != 0
    names_alone = are_numbers and not (query.is_generic or is_measure)
    is_same, is_alike = names_alone and mark & SAME != 0 and not has_years, names_alone and mark & ALIKE != 0
    is_named = has_years or query.is_naming or mark & IS_NAMING != 0
    relation = by_chance if is_same or is_alike or is_key else 0.0
    size, n_query = record[CARDINALITY], float(max(1, query.n_values))
    is_reference = record[IS_UNIQUE] != 0.0 and not query.is_unique and own >= 1.0
    out[AT.unnamed_numbers] = (query.has_no_letters or has_number) and not is_named
    out[AT.same_key_header] = is_same
    out[AT.alike_header] = is_alike
    out[AT.names_key] = is_key
    out[AT.measured] = are_numbers and is_measure
    out[AT.similar_size] = relation * min(size, n_query) / max(size, n_query) * out[AT.covered]
    out[AT.refers] = relation if is_reference else 0.0


@njit_inner
def _set_named(record, lake, query, met, values, out):
    """Write the features that depend on names and tables; `_set_values` has written the others, and gave `values`."""
    known, tables, frame = lake
    table, header = np.int64(record[TABLE]), np.int64(record[HEADER])
    mark = _marks_of_header(header, known, query, met.headers)
    of_table = _marks_of_table(table, tables, query, met.tables)
    is_same, is_companion = mark & SAME != 0, mark & IN_FRAME != 0
    is_key = (query.is_text_serial or (query.is_number and record[KIND] == 2.0)) and not query.is_generic
    if is_key:
        is_key = of_table & NAMES_TABLE != 0 and is_identifier(header, known.headers, table, tables.names, query.header)
    is_new = known.briefs[header, JOINED] != 0 and not (is_same or is_companion)
    _set_table(table, tables, frame, is_new, is_companion, out)
    _set_numbers(record, query, mark, is_key, values[0], values[1], out)
    _set_header(query, mark, out)
    out[AT.header_in_table_name] = of_table & IN_TABLE != 0
    out[AT.shared] = math.log(1.0 + values[2])
    out[AT.header_elsewhere] = not is_same and (is_companion or frame.n_named[table] != 0)


@njit_inner
def _most_with_header(record, query, mark, model, values, out):
    """Return the most that the header of a candidate adds to its odds, whatever the name of its table is.

    `values` are by_chance and own, see `_set_values`.
    """
    may_be_key = (query.is_text_serial or (query.is_number and record[KIND] == 2.0)) and not query.is_generic
    _set_numbers(record, query, mark, may_be_key, values[0], values[1], out)
    for feature in _OF_KEYS:
        out[feature] *= model.most[feature]
    _set_header(query, mark, out)
    return _odds(out, model.by_header)


@njit_inlined
def _may_have_score(least_odds, odds, record, lake, query, most, model, met, values, out):
    """Tell whether a candidate may have a score, whatever names say that were not read.

    `odds` are what its values tell, and `most` what names add to them at most, a row of `ModelNumbers.bounds`.
    """
    are_numbers = query.is_text_serial or (query.is_number and record[KIND] == 2.0)
    if odds + (most[NUMBERS] if are_numbers else most[OTHERS]) < least_odds:
        return False
    known, _, _ = lake
    mark = _marks_of_header(np.int64(record[HEADER]), known, query, met.headers)
    return odds + most[TABLE_ALONE] + _most_with_header(record, query, mark, model, values, out) >= least_odds


@njit_inner
def _rounded(score):
    """Round a score, so that equal columns have equal scores whatever else is computed with them."""
    return np.rint(score * _PARTS) / _PARTS


@njit_inner
def _odds(features, part):
    """Return the odds that features have in a logistic regression, or a part of it."""
    odds = part[0, WEIGHT_OF]
    for j in range(1, part.shape[0]):
        value = (features[np.uint64(np.int64(part[j, PLACE_OF]))] - part[j, MEAN]) * part[j, RATE]
        odds += part[j, WEIGHT_OF] * min(max(value, -LIMIT), LIMIT)
    return odds


@njit_inner
def _probability(odds):
    """Return the probability that odds say."""
    return _rounded(1.0 / (1.0 + math.exp(-min(max(odds, -_MOST_ODDS), _MOST_ODDS))))


@njit_inner
def _set_scores(features, odds, model, least, i, out):
    """Write the scores of one candidate; zeros behind a score below the least one that is wanted.

    `odds` are what its values tell.
    """
    score = _probability(odds + _odds(features, model.by_header) + _odds(features, model.by_table))
    if score < least:
        out[SCORE, i], out[GAIN, i], out[USEFULNESS, i], out[NOTHING_NEW, i] = score, 0.0, 0.0, 0.0
        return
    nothing_new = features[AT.nothing_new] > 0.0
    gain = model.floor * model.many_to_many * _EVEN
    if not nothing_new:
        gain = model.floor + (1.0 - model.floor) * _probability(_odds(features, model.brings))
    factor = 1.0
    if features[AT.unique_candidate] <= 0.0:
        factor = model.many_to_many if features[AT.many_to_many] > 0.0 else model.repeated
    out[SCORE, i], out[GAIN, i], out[NOTHING_NEW, i] = score, gain, nothing_new
    out[USEFULNESS, i] = _rounded(score * gain * factor)


@njit_lean
def score_features(features, model, out):
    """Score candidates of which the features are known.

    Parameters
    ----------
    features : ndarray of float64, shape (n, len(FEATURES))
    model : ModelNumbers
    out : ndarray of float64, shape (N_SCORES, n)
        Receives the rows SCORE to NOTHING_NEW.

    Notes
    -----
    O(n).
    """
    for i in range(features.shape[0]):
        _set_scores(features[i], _odds(features[i], model.by_values), model, 0.0, i, out)


@njit_lean
def score_candidates(columns, evidence, lake, query, model, smallest, met, features, out):
    """Compute the features of candidates and score them.

    Parameters
    ----------
    columns : ndarray of int64, shape (n,)
        Columns of one segment.
    evidence : pair of ndarray of int64, shape (n, N_SUMS), and float
        What their shared values tell, see `count_evidence`; the weight by rarity of all values of the query.
    lake : tuple of ColumnRecords, TableNumbers and FrameHeaders
    query : QueryFacts
    model : ModelNumbers
    smallest : float
        Of candidates that no name could lift to this score no name is read, and of those that no name of a table could
        lift to it none of a table: their score is a number below it. The others of their scores are zero, as are those
        of all candidates with a lower score.
    met : MetNames
    features : ndarray of float64, shape (n, len(FEATURES)) or (1, len(FEATURES))
        Receives the features; of one row only those of the last candidate stay, and it stays in the nearest cache.
    out : ndarray of float64, shape (N_SCORES, n)
        Receives the rows SCORE to NOTHING_NEW.

    Notes
    -----
    Names lie far apart in memory, what the catalogue says of a column side by side; columns in ascending order read
    it from front to back. A header, and the name of a table, is compared with the query's once. A candidate that has
    the values of the query and no others is never left out: its table may be a copy of the frame. O(n).
    """
    records, (sums, total_weight), n = lake[0].records, evidence, columns.shape[0]
    below, most = smallest - _BELOW, model.bounds[1 if query.companions.shape[0] > 0 else 0]
    least_odds = math.log(below / (1.0 - below)) - _ROOM if below > 0.0 else -np.inf
    for i in range(n):
        if i + _AHEAD < n:
            prefetch(records, columns[i + _AHEAD] * (HEADER + 1))
            prefetch(records, columns[i + _AHEAD] * (HEADER + 1) + HEADER)
        record, row = records[columns[i]], features[i if features.shape[0] > 1 else 0]
        values = _set_values(sums[i], record, query, total_weight, row)
        least = 0.0 if values[1] == 1.0 and record[CARDINALITY] == query.n_values else smallest
        odds = _odds(row, model.by_values)
        if least > 0.0 and not _may_have_score(least_odds, odds, record, lake, query, most, model, met, values, row):
            out[SCORE, i], out[GAIN, i], out[USEFULNESS, i], out[NOTHING_NEW, i] = below, 0.0, 0.0, 0.0
            continue
        _set_named(record, lake, query, met, values, row)
        _set_scores(row, odds, model, least, i, out)
