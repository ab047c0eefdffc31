"""Words in the names of columns that tell how one row refers to another one."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.header_words import UNSPECIFIC, HeaderWords
from dfjoin.kernels.texts.key_names import NamedColumns
from dfjoin.values.header_meaning import headers_of
from dfjoin.values.headers import PERSON_ROLES, PERSONS, RELATIONS, ROLES

__all__ = ["tell_roles", "without_common", "without_relations"]

_FOUR_BYTES = np.uint64(32)
_FEWEST_TABLES = 4
"""Tables that a folder has at least where words that most of their names share say nothing."""


def without_relations(headers: HeaderWords) -> HeaderWords:
    """Mark the words of headers that tell how, and not to what, a column refers.

    Parameters
    ----------
    headers : HeaderWords

    Returns
    -------
    HeaderWords
        The words that count are ship in ``ship_via``, staff in ``manager_staff_id``, manager in ``manager_id``.
    """
    marks = headers.marks | np.where(np.isin(headers.words, _hashes(RELATIONS)), UNSPECIFIC, 0).astype(np.uint8)
    is_role = np.isin(headers.words, _hashes(ROLES + PERSON_ROLES))
    owner = np.repeat(np.arange(headers.joined.size), np.diff(headers.indptr))
    has_subject = np.zeros(headers.joined.size, bool)
    has_subject[owner[(marks & UNSPECIFIC == 0) & ~is_role]] = True
    marks[is_role & has_subject[owner]] |= UNSPECIFIC
    return headers._replace(marks=as_read_only(marks))


def without_common(tables: HeaderWords, folders: NDArray[np.uint64], is_alive: NDArray[np.bool_]) -> HeaderWords:
    """Mark the words of names of tables that most tables of their folder share, such as a prefix of an export.

    Parameters
    ----------
    tables : HeaderWords
    folders : ndarray of uint64, shape (n_tables,)
        A number for each folder.
    is_alive : ndarray of bool, shape (n_tables,)
        Tables that were not removed; the others do not count.

    Returns
    -------
    HeaderWords
        A name of which no other specific word would be left keeps its words.

    Examples
    --------
    >>> names = headers_of(["export_orders", "export_order_lines", "export_shops", "export_prices", "export"])
    >>> (without_common(names, np.zeros(5, np.uint64), np.ones(5, bool)).marks & UNSPECIFIC).tolist()
    [1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
    """
    owner = np.repeat(np.arange(tables.joined.size), np.diff(tables.indptr))
    _, folder = np.unique(folders, return_inverse=True)
    _, word = np.unique(_joined(folder[owner].astype(np.uint64), tables.words), return_inverse=True)
    by_table = np.unique(np.column_stack([word, owner]), axis=0)
    n_having = np.bincount(by_table[:, 0], is_alive[by_table[:, 1]])[word]
    n_in_folder = np.bincount(folder, is_alive)[folder[owner]]
    is_common = (2 * n_having > n_in_folder) & (n_in_folder >= _FEWEST_TABLES)
    has_other = np.zeros(tables.joined.size, bool)
    has_other[owner[~is_common & (tables.marks & UNSPECIFIC == 0)]] = True
    marks = tables.marks | np.where(is_common & has_other[owner], UNSPECIFIC, 0).astype(np.uint8)
    return tables._replace(marks=as_read_only(marks))


def tell_roles(columns: NamedColumns) -> NDArray[np.bool_]:
    """Tell which columns name a role that one row of their table has for another one.

    Parameters
    ----------
    columns : NamedColumns

    Returns
    -------
    ndarray of bool, shape (n_columns,)
        The header has a word such as parent, or, in a table of persons, one such as manager; its other words, but for
        those of identifiers, stand in the name of the table.

    Examples
    --------
    >>> tables = headers_of(["categories", "staff", "shops"])
    >>> headers = headers_of(["parent_category_id", "manager", "manager", "next shop", "next delivery"])
    >>> tell_roles(NamedColumns(headers, tables, np.array([0, 1, 2, 2, 2]))).tolist()
    [True, True, False, True, False]
    """
    headers, tables = columns.headers, columns.tables
    owner = np.repeat(np.arange(headers.joined.size), np.diff(headers.indptr))
    table_owner = np.repeat(np.arange(tables.joined.size), np.diff(tables.indptr))
    is_of_persons = np.zeros(tables.joined.size, bool)
    is_of_persons[table_owner[np.isin(tables.words, _hashes(PERSONS))]] = True
    table = columns.table_of[owner]
    is_role = np.isin(headers.words, _hashes(ROLES))
    is_role |= np.isin(headers.words, _hashes(PERSON_ROLES)) & is_of_persons[table]
    own_words = _joined(table_owner.astype(np.uint64), tables.starts >> _FOUR_BYTES)
    is_known = (
        is_role
        | (headers.marks & UNSPECIFIC > 0)
        | np.isin(_joined(table.astype(np.uint64), headers.starts >> _FOUR_BYTES), own_words)
    )
    found = np.zeros(headers.joined.size, bool)
    found[owner[is_role]] = True
    found[owner[~is_known]] = False
    return found


def _joined(owner: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of the owner of each word and of the word."""
    return (owner + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) ^ words


@cache
def _hashes(words: tuple[str, ...]) -> NDArray[np.uint64]:
    """Return the hashes of words."""
    return headers_of(words).joined
