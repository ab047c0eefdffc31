"""The features of candidate columns, and the odds that a linear model gives them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.lists.evidence import BITS, COUNT, REFERENCE_COLUMNS, SCALE, SPREAD, WEIGHT
from dfjoin.kernels.numba._compile import njit_inner, njit_lean
from dfjoin.kernels.sorting import is_member, lower_bound
from dfjoin.kernels.texts.header_words import (
    ALIKE,
    DIGITS,
    DISJOINT,
    IDENTIFIER,
    IN_FRAME,
    IN_TABLE,
    IS_MEASURE,
    IS_NAMING,
    MEASURE,
    NAMING,
    OF_TABLE,
    SAME,
    THING,
    UNSPECIFIC,
    HeaderWords,
    is_short_for,
)

__all__ = [
    "CARDINALITY",
    "FEATURES",
    "HEADER",
    "HIGH",
    "IS_SERIAL",
    "IS_UNIQUE",
    "IS_YEARS",
    "KIND",
    "LOG_CARDINALITY",
    "LOW",
    "PLACE",
    "SERIAL_SHARE",
    "TABLE",
    "ColumnRecords",
    "QueryNumbers",
    "TableNumbers",
    "compute_features",
    "compute_odds",
]

FEATURES = (
    "information",
    "information_per_value",
    "rare_containment",
    "spread",
    "smaller_containment",
    "larger_containment",
    "shared",
    "cardinality",
    "same_specific_header",
    "disjoint_headers",
    "header_in_table_name",
    "header_elsewhere",
    "no_letters",
    "no_letters_same_header",
    "both_years",
    "numeric_header",
    "unique_query",
    "both_text",
    "place_in_table",
    "new_columns",
    "nothing_new",
    "unique_candidate",
    "many_to_many",
    "series",
    "number_columns",
    "unnamed_numbers",
    "by_chance",
    "similar_size",
    "refers",
    "same_key_header",
    "alike_header",
    "names_key",
    "measured",
    "covered",
    "other_headers",
)
"""Names of the features, in the order of the columns of `compute_features`.

======================== ==============================================================================================
information              ln(1 + bits of the shared values), see `weigh_values`; of whole numbers only the bits by which
                         they exceed what the ranges of the columns predict, see `by_chance`
information_per_value    these bits of a shared value on the average
rare_containment         containment of the query, each value weighted by one over the root of the columns that hold it,
                         times one minus `by_chance`
spread                   mean of ln(columns that hold a shared value); as far as `by_chance`, ln of all columns
smaller_, larger_        the smaller and the larger of the containment of the query in the candidate and the reverse,
                         times one minus `by_chance`
shared                   ln(1 + shared values)
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
place_in_table           position of the candidate in its table, 0 to 1
new_columns, nothing_new ln(1 + columns that the frame has not), and whether there is none
unique_candidate         no value of the candidate occurs twice
many_to_many             values of both occur twice
series                   ln(tables of the family of the candidate's table, see `LakeFacts.family`)
number_columns           share of the columns of the candidate's table that hold numbers
unnamed_numbers          both are numbers but no years, or the query has no letters, and no header says that they name
                         anything: measures, counts and ranks, see NAMING
by_chance                1 for whole numbers that the ranges of the columns predict, less the more bits exceed it: 1
                         for serial numbers, padded or not, and for what lies in a range that is full; 0 for texts and
                         years
similar_size             the smaller number of values by the larger one, times `by_chance`, if the headers or the name
                         of the table relate the columns: same_key_header, alike_header or names_key
refers                   `by_chance`, if they do, the query repeats its values, and the candidate holds each once
same_key_header          both are numbers (or the query padded serial numbers) with the same specific header, and it
                         names no measure
alike_header             both are numbers; the specific words of one header are short for those of the other one
names_key                both are numbers; the candidate is the identifier of its table, which the query's header names
measured                 both are numbers, and a header says that they were measured or counted
covered                  the larger containment, for whole numbers too
other_headers            ln(1 + other headers of the frame that the table has)
======================== ==============================================================================================
"""

CARDINALITY, LOG_CARDINALITY, KIND, IS_UNIQUE, IS_SERIAL, IS_YEARS, PLACE, TABLE, LOW, HIGH, HEADER = range(11)
"""Columns of `ColumnRecords.records`. A kind is 0 for others, 1 for text, 2 for numbers; the range of integers is empty
for other columns."""

_KNOWN = 128
_FOUR_BYTES = np.uint64(32)
SERIAL_SHARE = 0.8
"""Integers that hold at least this share of their range fill it; from 0 or 1 on they are serial numbers."""

_CHANCE_BITS = 10.0
"""Bits by which the shared numbers exceed what ranges predict where half of them are taken to be shared by chance."""

_ALL_NUMBERS = math.log(1e9)
_ALL_COLUMNS = math.log(REFERENCE_COLUMNS)


class ColumnRecords(NamedTuple):
    """What a search needs of each column of a segment, side by side, and the names that they have.

    `records` has the columns CARDINALITY to HEADER; HEADER is the number of a distinct header, of which `headers` are
    the words.
    """

    records: NDArray[np.float64]
    headers: HeaderWords


class TableNumbers(NamedTuple):
    """What is known of the tables of a segment: their names, and what they share with the frame.

    `n_new` are the columns whose header the frame has not, beside one key; `n_held` the headers of the frame's other
    columns that the table has; `has_header` tells whether a column has the query's. `series` and `number_share` are
    the features of that name; `marks` are zeros, and receive what is known of the names that were met.
    """

    names: HeaderWords
    n_new: NDArray[np.int64]
    n_held: NDArray[np.int64]
    has_header: NDArray[np.uint8]
    series: NDArray[np.float64]
    number_share: NDArray[np.float64]
    marks: NDArray[np.uint8]


class QueryNumbers(NamedTuple):
    """What is known of a query column, see `QueryFacts`."""

    header: HeaderWords
    companions: NDArray[np.uint64]
    integers: NDArray[np.int64]
    n_values: int
    total_weight: float
    is_unique: bool
    is_number: bool
    is_text: bool
    is_years: bool
    has_no_letters: bool
    is_generic: bool
    has_digits_alone: bool
    is_naming: bool
    is_measure: bool
    is_padded_serial: bool


@njit_inner
def _has_word(words, marks, start, end, value):
    """Tell whether a specific word of a name is the given one."""
    for w in range(start, end):
        if words[w] == value and marks[w] & UNSPECIFIC == 0:
            return True
    return False


@njit_inner
def _has_subject(names, start, end):
    """Tell whether a name has a word that is neither unspecific nor one for identifiers."""
    for w in range(start, end):
        if names.marks[w] & (UNSPECIFIC | NAMING) == 0:
            return True
    return False


@njit_inner
def _are_words_held(names, start, end, others, others_start, others_end):
    """Tell whether each subject word of a name is short for a specific word of another name, or the reverse.

    Where a name has no other words, those for identifiers are its subject.
    """
    without = UNSPECIFIC | NAMING if _has_subject(names, start, end) else UNSPECIFIC
    n = 0
    for a in range(start, end):
        if names.marks[a] & without == 0:
            n += 1
            is_found = False
            for b in range(others_start, others_end):
                is_found = is_found or (
                    others.marks[b] & UNSPECIFIC == 0 and is_short_for(names.starts[a], others.starts[b])
                )
            if not is_found:
                return False
    return n > 0


@njit_inner
def _head(names, start, end, without):
    """Return the last word of a name that has none of some marks, and is no number; 0 for none."""
    found = np.uint64(0)
    for w in range(start, end):
        if names.marks[w] & (without | DIGITS) == 0:
            found = names.starts[w]
    return found


@njit_inner
def _have_one_head(names, start, end, query):
    """Tell whether the last specific words of two names are alike, with or without those for identifiers."""
    n = query.words.shape[0]
    one, other = _head(names, start, end, UNSPECIFIC), _head(query, 0, n, UNSPECIFIC)
    if one == 0 or other == 0:
        return False
    if is_short_for(one, other):
        return True
    if _has_subject(names, start, end):
        one = _head(names, start, end, UNSPECIFIC | NAMING)
    if _has_subject(query, 0, n):
        other = _head(query, 0, n, UNSPECIFIC | NAMING)
    return one != 0 and other != 0 and is_short_for(one, other)


@njit_inner
def _header_marks(header, headers, query):
    """Compare the header of a query with another one.

    Parameters
    ----------
    header : int
        Number of the other one.
    headers : HeaderWords
    query : HeaderWords
        One name.

    Returns
    -------
    int
        Marks:

        - SAME: the words are the same.
        - DISJOINT: both have specific words, and no two of them begin alike.
        - ALIKE: each subject word of one is short for a word of the other one, or the reverse, the last one for the
          last one: ``cust_no`` and ``customer_number``, but not ``product_id`` and ``product_category_id``.
        - IS_NAMING, IS_MEASURE: numbers under the other one name something; or were measured or counted.

    Notes
    -----
    O(words²), with a handful of words to a name.
    """
    first, last = headers.indptr[header], headers.indptr[header + 1]
    marks = 0
    for w in range(first, last):
        if headers.marks[w] & (NAMING | THING):
            marks |= IS_NAMING
        if headers.marks[w] & MEASURE:
            marks |= IS_MEASURE
    if query.joined[0] != 0 and headers.joined[header] == query.joined[0]:
        return SAME | marks
    n = query.words.shape[0]
    if _have_one_head(headers, first, last, query) and (
        _are_words_held(headers, first, last, query, 0, n) or _are_words_held(query, 0, n, headers, first, last)
    ):
        marks |= ALIKE
    n_specific = 0
    n_theirs = 0
    for a in range(query.words.shape[0]):
        n_specific += query.marks[a] & UNSPECIFIC == 0
    for w in range(first, last):
        if headers.marks[w] & UNSPECIFIC == 0:
            n_theirs += 1
            for a in range(query.words.shape[0]):
                if (
                    query.marks[a] & UNSPECIFIC == 0
                    and query.starts[a] >> _FOUR_BYTES == headers.starts[w] >> _FOUR_BYTES
                ):
                    return marks
    return DISJOINT | marks if n_specific > 0 and n_theirs > 0 else marks


@njit_inner
def _table_marks(table, tables, query):
    """Compare the header of a query with the name of a table.

    Parameters
    ----------
    table : int
        Number of the table.
    tables : HeaderWords
        Names of tables.
    query : HeaderWords
        One name.

    Returns
    -------
    int
        Marks:

        - IN_TABLE: a specific word of the query's header is in the name of the table.
        - OF_TABLE: the query's header names the table, or is short for its name: ``species_id`` a table ``species``,
          ``emp`` a table ``employees``.

    Notes
    -----
    O(words²), with a handful of words to a name.
    """
    first, last = tables.indptr[table], tables.indptr[table + 1]
    marks, n = 0, query.words.shape[0]
    if _have_one_head(tables, first, last, query) and _are_words_held(query, 0, n, tables, first, last):
        marks = OF_TABLE
    for a in range(query.words.shape[0]):
        is_found = _has_word(tables.words, tables.marks, first, last, query.words[a])
        if is_found and query.marks[a] & UNSPECIFIC == 0:
            marks |= IN_TABLE
    return marks


@njit_inner
def _is_identifier(header, headers, table, tables, query):
    """Tell whether a column is the identifier of its table, which a query's header names: ``id`` of ``species``.

    Parameters
    ----------
    header : int
        Number of the column's header.
    headers : HeaderWords
    table : int
        Number of the table.
    tables : HeaderWords
        Names of tables.
    query : HeaderWords
        One name.

    Notes
    -----
    O(words²), with a handful of words to a name.
    """
    first, last = tables.indptr[table], tables.indptr[table + 1]
    for w in range(headers.indptr[header], headers.indptr[header + 1]):
        if headers.marks[w] & (IDENTIFIER | NAMING) == 0:
            is_known = False
            for t in range(first, last):
                is_known = is_known or is_short_for(tables.starts[t], headers.starts[w])
            for a in range(query.words.shape[0]):
                is_known = is_known or is_short_for(query.starts[a], headers.starts[w])
            if not is_known:
                return False
    return True


@njit_inner
def _weigh_range(record, query, matched):
    """Compare the shared whole numbers with what the ranges of both columns predict.

    Parameters
    ----------
    record : ndarray of float64
        Of the candidate; if its range is not known, as it has texts, too, it is taken to be the query's.
    query : QueryNumbers
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
    bits = 0.0
    if held > density:
        bits = matched * math.log2(held / density)
        if held < 1.0:
            bits += (n_in - matched) * math.log2((1.0 - held) / (1.0 - density))
    own_density = n / max(1.0, float(integers[n - 1]) - float(integers[0]) + 1.0)
    if max(density, own_density) >= SERIAL_SHARE:
        bits = 0.0
    else:
        bits = min(bits, matched * math.log2(1.0 / own_density))
    by_chance = _CHANCE_BITS / (_CHANCE_BITS + bits)
    first, last = min(low, float(integers[0])), max(high, float(integers[n - 1]))
    if first > 0:
        bits += math.log2(_ALL_NUMBERS / min(_ALL_NUMBERS, math.log((last + 1.0) / first)))
    return by_chance, bits


@njit_lean
def compute_features(columns, sums, known, tables, query, marks, out):
    """Compute the features of candidates.

    Parameters
    ----------
    columns : ndarray of int64, shape (n,)
        Columns of one segment.
    sums : ndarray of int64, shape (n, N_SUMS)
        What their shared values tell, see `collect_evidence`.
    known : ColumnRecords
    tables : TableNumbers
    query : QueryNumbers
    marks : ndarray of uint8, shape (n_headers,)
        Zeros; receives what is known of the headers that were met.
    out : ndarray of float64, shape (n, len(FEATURES))
        Receives the features.

    Notes
    -----
    O(n), with a handful of words to a name. A header, and the name of a table, is compared with the query's once.
    """
    for i in range(columns.shape[0]):
        record = known.records[columns[i]]
        table, header = np.int64(record[TABLE]), np.int64(record[HEADER])
        mark = marks[header]
        if mark == 0:
            mark = _KNOWN | _header_marks(header, known.headers, query.header)
            if is_member(query.companions, known.headers.joined[header]):
                mark |= IN_FRAME
            marks[header] = mark
        is_same = mark & SAME != 0
        of_table = np.int64(tables.marks[table])
        if of_table == 0:
            of_table = _KNOWN | _table_marks(table, tables.names, query.header)
            tables.marks[table] = of_table
        matched = float(max(np.int64(1), sums[i, COUNT]))
        own = matched / max(1, query.n_values)
        theirs = matched / record[CARDINALITY]
        bits = float(sums[i, BITS]) / SCALE
        is_unique = record[IS_UNIQUE] != 0.0
        is_companion = mark & IN_FRAME != 0
        n_new = tables.n_new[table] + np.int64(is_same or is_companion)
        is_elsewhere = not is_same and (is_companion or tables.has_header[table] != 0)
        are_numbers = query.is_padded_serial or (query.is_number and record[KIND] == 2.0)
        is_key = are_numbers and not query.is_generic and of_table & OF_TABLE != 0
        if is_key:
            is_key = _is_identifier(header, known.headers, table, tables.names, query.header)
        has_numbers = query.has_no_letters or (query.is_number and record[KIND] == 2.0)
        is_measure = query.is_measure or mark & IS_MEASURE != 0
        has_years = query.is_years and record[IS_YEARS] != 0.0
        by_chance = 1.0 if query.is_padded_serial else 0.0
        if query.is_padded_serial:
            bits = 0.0
        elif query.integers.shape[0] > 0 and (query.is_number or record[HIGH] >= record[LOW]) and not has_years:
            by_chance, beyond = _weigh_range(record, query, matched)
            bits = min(bits, beyond)
        is_by_value = 1.0 - by_chance
        out[i, 0] = math.log(1.0 + bits)
        out[i, 1] = bits / matched
        out[i, 2] = float(sums[i, WEIGHT]) / SCALE / max(query.total_weight, 1e-9) * is_by_value
        out[i, 3] = float(sums[i, SPREAD]) / SCALE / matched * is_by_value + _ALL_COLUMNS * by_chance
        out[i, 4] = min(own, theirs) * is_by_value
        out[i, 5] = max(own, theirs) * is_by_value
        out[i, 6] = math.log(1.0 + matched)
        out[i, 7] = record[LOG_CARDINALITY] * is_by_value
        out[i, 8] = is_same and not query.is_generic
        out[i, 9] = mark & DISJOINT != 0
        out[i, 10] = of_table & IN_TABLE != 0
        out[i, 11] = is_elsewhere
        out[i, 12] = query.has_no_letters
        out[i, 13] = query.has_no_letters and is_same
        out[i, 14] = record[IS_YEARS] if query.is_years else 0.0
        out[i, 15] = query.has_digits_alone
        out[i, 16] = query.is_unique
        out[i, 17] = record[KIND] == 1.0 and query.is_text
        out[i, 18] = record[PLACE]
        out[i, 19] = math.log(1.0 + max(np.int64(0), n_new))
        out[i, 20] = n_new <= 0
        out[i, 21] = record[IS_UNIQUE]
        out[i, 22] = not is_unique and not query.is_unique
        out[i, 23] = tables.series[table]
        out[i, 24] = tables.number_share[table]
        out[i, 25] = has_numbers and not has_years and not query.is_naming and mark & IS_NAMING == 0
        has_key_header = are_numbers and not has_years and is_same and not query.is_generic and not is_measure
        is_alike = are_numbers and mark & ALIKE != 0 and not (query.is_generic or is_measure)
        is_related = has_key_header or is_alike or is_key
        size, n_query = record[CARDINALITY], float(max(1, query.n_values))
        out[i, 26] = by_chance
        out[i, 27] = by_chance * min(size, n_query) / max(size, n_query) if is_related else 0.0
        out[i, 28] = by_chance if is_related and is_unique and not query.is_unique and own >= 1.0 else 0.0
        out[i, 29] = has_key_header
        out[i, 30] = is_alike
        out[i, 31] = is_key
        out[i, 32] = are_numbers and is_measure
        out[i, 33] = max(own, theirs)
        out[i, 34] = math.log(1.0 + max(np.int64(0), tables.n_held[table] - np.int64(is_companion)))


@njit_lean
def compute_odds(features, chosen, parameters, bias, limit, out):
    """Compute the log-odds that a linear model gives to candidates.

    Parameters
    ----------
    features : ndarray of float64, shape (n, n_features)
    chosen : ndarray of int64, shape (m,)
        Columns of `features` that the model has.
    parameters : ndarray of float64, shape (3, m)
        Mean, one over the scale, and weight of each.
    bias, limit : float
        A feature adds ``weight × (value − mean) / scale`` to the bias, the quotient cut at ± `limit`.
    out : ndarray of float64, shape (n,)
        Receives them.

    Notes
    -----
    O(n m).
    """
    for i in range(features.shape[0]):
        odds = bias
        for j in range(chosen.shape[0]):
            value = (features[i, chosen[j]] - parameters[0, j]) * parameters[1, j]
            odds += parameters[2, j] * min(max(value, -limit), limit)
        out[i] = odds
