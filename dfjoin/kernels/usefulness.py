"""The features of candidate columns, and the odds that a linear model gives them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels._compile import njit_inner, njit_lean
from dfjoin.kernels.evidence import BITS, COUNT, SCALE, SPREAD, WEIGHT
from dfjoin.kernels.header_words import (
    DISJOINT,
    IDENTIFIER,
    IN_FRAME,
    IN_TABLE,
    IS_NAMING,
    NAMING,
    OF_TABLE,
    SAME,
    UNSPECIFIC,
    HeaderWords,
)
from dfjoin.kernels.sorting import is_member

__all__ = [
    "CARDINALITY",
    "FEATURES",
    "HEADER",
    "IS_SERIAL",
    "IS_UNIQUE",
    "IS_YEARS",
    "KIND",
    "LOG_CARDINALITY",
    "PLACE",
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
    "unrelated_numbers",
    "no_letters",
    "no_letters_same_header",
    "serial",
    "both_serial",
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
)
"""Names of the features, in the order of the columns of `compute_features`.

======================== ==============================================================================================
information              ln(1 + bits of the shared values), see `weigh_values`
information_per_value    bits of a shared value on the average
rare_containment         containment of the query, each value weighted by one over the root of the columns that hold it
spread                   mean of ln(columns that hold a shared value)
smaller_, larger_        the smaller and the larger of the containment of the query in the candidate and the reverse
shared, cardinality      ln(1 + shared values), ln(distinct values of the candidate)
same_specific_header     the headers have the same words, and not only words that stand in tables of any subject
disjoint_headers         both headers have specific words, and no two begin alike
header_in_table_name     a specific word of the query's header is in the name of the table
header_elsewhere         the frame has the candidate's header for another column, or the table the query's
unrelated_numbers        one of the columns holds numbers, and their headers do not say that they belong together
no_letters               the query is text, hardly any value of which has a letter (scores, ranges, versions)
no_letters_same_header   the same, and the headers are the same
serial, both_serial      the candidate, or both: integers from 0 or 1 on with few gaps
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
======================== ==============================================================================================
"""

CARDINALITY, LOG_CARDINALITY, KIND, IS_UNIQUE, IS_SERIAL, IS_YEARS, PLACE, TABLE, HEADER = range(9)
"""Columns of `ColumnRecords.records`. A kind is 0 for others, 1 for text, 2 for numbers."""

_KNOWN = 128


class ColumnRecords(NamedTuple):
    """What a search needs of each column of a segment, side by side, and the names that they have.

    `records` has the columns CARDINALITY to HEADER; HEADER is the number of a distinct header, of which `headers` are
    the words.
    """

    records: NDArray[np.float64]
    headers: HeaderWords


class TableNumbers(NamedTuple):
    """What is known of the tables of a segment: their names, and what they share with the frame.

    `n_new` are the columns whose header the frame has not, beside one key; `has_header` tells whether a column has the
    query's. `series` and `number_share` are the features of that name; `marks` are zeros, and receive what is known
    of the names that were met.
    """

    names: HeaderWords
    n_new: NDArray[np.int64]
    has_header: NDArray[np.uint8]
    series: NDArray[np.float64]
    number_share: NDArray[np.float64]
    marks: NDArray[np.uint8]


class QueryNumbers(NamedTuple):
    """What is known of a query column, see `QueryFacts`."""

    header: HeaderWords
    companions: NDArray[np.uint64]
    n_values: int
    total_weight: float
    is_unique: bool
    is_number: bool
    is_text: bool
    is_serial: bool
    is_years: bool
    has_no_letters: bool
    is_generic: bool
    has_digits_alone: bool
    is_naming: bool


@njit_inner
def _has_word(words, marks, start, end, value):
    """Tell whether a specific word of a name is the given one."""
    for w in range(start, end):
        if words[w] == value and marks[w] & UNSPECIFIC == 0:
            return True
    return False


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
        - IS_NAMING: numbers under the other one name something.

    Notes
    -----
    O(words²), with a handful of words to a name.
    """
    naming = 0
    for w in range(headers.indptr[header], headers.indptr[header + 1]):
        if headers.marks[w] & NAMING:
            naming = IS_NAMING
    if query.joined[0] != 0 and headers.joined[header] == query.joined[0]:
        return SAME | naming
    n_specific = 0
    n_theirs = 0
    for a in range(query.words.shape[0]):
        n_specific += query.marks[a] & UNSPECIFIC == 0
    for w in range(headers.indptr[header], headers.indptr[header + 1]):
        if headers.marks[w] & UNSPECIFIC == 0:
            n_theirs += 1
            for a in range(query.words.shape[0]):
                if query.marks[a] & UNSPECIFIC == 0 and query.prefixes[a] == headers.prefixes[w]:
                    return naming
    return DISJOINT | naming if n_specific > 0 and n_theirs > 0 else naming


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
        - OF_TABLE: the query's header names the table: ``species_id`` a table ``species``.

    Notes
    -----
    O(words²), with a handful of words to a name.
    """
    first, last = tables.indptr[table], tables.indptr[table + 1]
    marks = 0
    n_subject = 0
    is_whole = True
    for a in range(query.words.shape[0]):
        is_found = _has_word(tables.words, tables.marks, first, last, query.words[a])
        if is_found and query.marks[a] & UNSPECIFIC == 0:
            marks |= IN_TABLE
        if query.marks[a] & IDENTIFIER == 0:
            n_subject += 1
            is_whole = is_whole and is_found
    return marks | OF_TABLE if n_subject > 0 and is_whole else marks


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
        if headers.marks[w] & IDENTIFIER == 0:
            is_known = _has_word(tables.words, tables.marks, first, last, headers.words[w])
            for a in range(query.words.shape[0]):
                is_known = is_known or query.words[a] == headers.words[w]
            if not is_known:
                return False
    return True


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
        has_number = query.is_number or record[KIND] == 2.0
        is_unrelated = has_number and not is_same
        if is_unrelated and of_table & OF_TABLE != 0:
            is_unrelated = not _is_identifier(header, known.headers, table, tables.names, query.header)
        has_numbers = query.has_no_letters or (query.is_number and record[KIND] == 2.0)
        has_years = query.is_years and record[IS_YEARS] != 0.0
        out[i, 0] = math.log(1.0 + bits)
        out[i, 1] = bits / matched
        out[i, 2] = float(sums[i, WEIGHT]) / SCALE / max(query.total_weight, 1e-9)
        out[i, 3] = float(sums[i, SPREAD]) / SCALE / matched
        out[i, 4] = min(own, theirs)
        out[i, 5] = max(own, theirs)
        out[i, 6] = math.log(1.0 + matched)
        out[i, 7] = record[LOG_CARDINALITY]
        out[i, 8] = is_same and not query.is_generic
        out[i, 9] = mark & DISJOINT != 0
        out[i, 10] = of_table & IN_TABLE != 0
        out[i, 11] = is_elsewhere
        out[i, 12] = is_unrelated
        out[i, 13] = query.has_no_letters
        out[i, 14] = query.has_no_letters and is_same
        out[i, 15] = record[IS_SERIAL]
        out[i, 16] = record[IS_SERIAL] if query.is_serial else 0.0
        out[i, 17] = record[IS_YEARS] if query.is_years else 0.0
        out[i, 18] = query.has_digits_alone
        out[i, 19] = query.is_unique
        out[i, 20] = record[KIND] == 1.0 and query.is_text
        out[i, 21] = record[PLACE]
        out[i, 22] = math.log(1.0 + max(np.int64(0), n_new))
        out[i, 23] = n_new <= 0
        out[i, 24] = record[IS_UNIQUE]
        out[i, 25] = not is_unique and not query.is_unique
        out[i, 26] = tables.series[table]
        out[i, 27] = tables.number_share[table]
        out[i, 28] = has_numbers and not has_years and not query.is_naming and mark & IS_NAMING == 0


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
