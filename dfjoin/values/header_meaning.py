"""Names of columns and tables as words, and what these say."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels.records import as_read_only
from dfjoin.kernels.texts.header_words import (
    DIGITS,
    GENERIC,
    IDENTIFIER,
    NAMING,
    THING,
    UNSPECIFIC,
    HeaderWords,
    cut_headers,
)
from dfjoin.values import headers
from dfjoin.values.normalize import pack_strings

_MOST_NAMES = 1 << 16
"""Names of columns whose meaning is kept."""

_ENDINGS = r"(?i)(\.(csv|tsv|tab|txt|parquet|pq|json|jsonl|ndjson|gz|zst))+$"


def _packed(names: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of texts one after the other, and where each begins."""
    names = names.cast(pa.large_string())
    _, offsets, data = names.buffers()
    starts = np.frombuffer(offsets, np.int64, len(names) + 1, names.offset * 8)
    held = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return held[: starts[-1]], starts


def headers_of(names: pa.Array | Sequence[str]) -> HeaderWords:
    """Cut names into words and hash these.

    Parameters
    ----------
    names : pyarrow Array of string, or sequence of str

    Returns
    -------
    HeaderWords

    Notes
    -----
    A name with characters above ASCII is first decomposed (NFKD), without its accents, and lower-cased; signs such as
    ``–`` and ``€`` part words there, as those of ASCII do, unless it has nothing else. O(bytes).
    """
    if not isinstance(names, pa.Array):
        return _cut(*pack_strings([name if name.isascii() else _plain(name) for name in names]), _lexicon())
    is_ascii = pc.string_is_ascii(names)
    if not pc.all(is_ascii, min_count=0).as_py():
        others = names.filter(pc.invert(is_ascii)).to_pylist()
        names = pc.replace_with_mask(names, pc.invert(is_ascii), pa.array(map(_plain, others), names.type))
    return _cut(*_packed(names), _lexicon())


def _cut(data: NDArray[np.uint8], offsets: NDArray[np.int64], lexicon: tuple[NDArray[np.uint64], ...]) -> HeaderWords:
    """Cut packed names into words."""
    n, room = offsets.size - 1, int(offsets[-1] - offsets[0])  # a word has a byte at least
    joined, indptr = np.zeros(n, np.uint64), np.zeros(n + 1, np.int64)
    out = HeaderWords(joined, indptr, np.empty(room, np.uint64), np.empty(room, np.uint64), np.empty(room, np.uint8))
    n_words = cut_headers(as_read_only(data), as_read_only(offsets), lexicon, np.zeros((2, 256), np.uint8), out)
    words, starts, marks = out.words[:n_words], out.starts[:n_words], out.marks[:n_words]
    return HeaderWords(joined, indptr, words.copy(), starts.copy(), marks.copy())


def _plain(name: str) -> str:
    """Write a name without accents, capitals and signs above ASCII; one of signs alone as it is."""
    letters = [c for c in unicodedata.normalize("NFKD", name) if unicodedata.category(c) != "Mn"]
    words = [" " if c > "\x7f" and unicodedata.category(c)[0] in "PSZ" else c for c in letters]
    return "".join(words if any(map(str.isalnum, words)) else letters).lower()


@cache
def _lexicon() -> tuple[NDArray[np.uint64], ...]:
    """Return the hashes of the marked words, sorted: one array for each mark that `cut_headers` takes."""
    none = as_read_only(np.empty(0, np.uint64))
    first, last = headers.COMPOUNDS
    naming = headers.NAMING + tuple(one + other for one in first for other in last)
    lists: list[tuple[str, ...]] = [headers.UNSPECIFIC, headers.IDENTIFIER, headers.GENERIC, naming]
    lists += [headers.MEANINGS["thing"], headers.MEANINGS["measure"], headers.ENDS_OF_IDENTIFIERS]
    found = [np.unique(_cut(*pack_strings([*map(_plain, words)]), (none,) * len(lists)).joined) for words in lists]
    for hashes in found:
        hashes.flags.writeable = False
    return tuple(found)


def words_of_one(names: HeaderWords, number: int) -> HeaderWords:
    """Return one of some names."""
    first, last = names.indptr[number : number + 2].tolist()
    words, starts, marks = names.words[first:last], names.starts[first:last], names.marks[first:last]
    return HeaderWords(names.joined[number : number + 1], np.array([0, last - first]), words, starts, marks)


def is_generic(header: HeaderWords) -> bool:
    """Tell whether one name has only words that stand in tables of any subject."""
    return all(mark & (GENERIC | UNSPECIFIC) for mark in header.marks.tolist())


def is_naming(header: HeaderWords) -> bool:
    """Tell whether one name says that numbers under it name something: ``id``, ``fips``, ``Kundennr``, ``store``."""
    return any(mark & (NAMING | THING) for mark in header.marks.tolist())


@cache
def _words_for_years() -> NDArray[np.uint64]:
    return headers_of(headers.MEANINGS["year"]).words


def are_codes(names: HeaderWords) -> NDArray[np.bool_]:
    """Tell which names have a word for identifiers and none for years: whole numbers under them are no years.

    Examples
    --------
    >>> are_codes(headers_of(["donor_code", "yearID", "founded"])).tolist()
    [True, False, False]
    """
    says = [names.marks & IDENTIFIER > 0, np.isin(names.words, _words_for_years())]
    is_code, is_year = (np.diff(np.append(0, np.cumsum(one))[names.indptr]) > 0 for one in says)
    return is_code & ~is_year


def table_stems(names: pa.Array) -> pa.Array:
    """Return the last parts of the names of tables, without the endings of files."""
    return pc.replace_substring_regex(pc.replace_substring_regex(names, r"^.*/", ""), _ENDINGS, "")


# What one name says ---------------------------------------------------------------------------------------

_PLURAL = re.compile(r"[^\Wsui\d_]s\W*$", re.IGNORECASE)
"""``regions``, but not ``class`` and ``status``."""


@cache
def _known() -> dict[int, frozenset[str]]:
    """Return what each word of the table means, by its hash."""
    found: dict[int, set[str]] = {}
    for meaning, words in headers.MEANINGS.items():
        for word in headers_of(words).words.tolist():
            found.setdefault(word, set()).add(meaning)
    return {word: frozenset(meanings) for word, meanings in found.items()}


@lru_cache(maxsize=_MOST_NAMES)
def _meanings(name: str) -> tuple[frozenset[str], ...]:
    """Return what each word of a name means, but for numbers."""
    known, header = _known(), headers_of([name])
    words = header.words[header.marks & DIGITS == 0]
    return tuple(known.get(word, frozenset()) for word in words.tolist())


def is_year_name(name: object) -> bool:
    """Tell whether the name of a column lets one expect years.

    Examples
    --------
    >>> is_year_name("Year"), is_year_name("fiscalYear"), is_year_name("yearling"), is_year_name("Jahr")
    (True, True, False, True)
    """
    return any("year" in word for word in _meanings(str(name)))


def names_period(name: object, period: str) -> bool:
    """Tell whether the name of a column has the word of a period, so that days under it stand for whole periods.

    Examples
    --------
    >>> names_period("month_end", "month"), names_period("Quarterly", "quarter"), names_period("paid_on", "month")
    (True, True, False)
    """
    return period in str(name).casefold()


def says_nothing_alone(name: str) -> bool:
    """Tell whether a name of a column says nothing without its table: ``value``, ``name``, ``1995``, ``column_2``.

    A number behind a word tells columns apart (``Key_0_1``), but for words that programs give columns.

    Examples
    --------
    >>> [name for name in ("1995", "Value", "area", "first name", "column_2", "Key_0") if says_nothing_alone(name)]
    ['1995', 'Value', 'column_2']
    """
    words = _meanings(name)
    if len(words) != 1:
        return not words
    return "column" in words[0] or ("nothing" in words[0] and not any(letter.isdigit() for letter in name))


@lru_cache(maxsize=_MOST_NAMES)
def completes_name(own: str, other: str) -> bool:
    """Tell whether what stands under a name is a name only together with what stands under another one.

    A person has a first and a last name; a city or a county lies in a state or a country.

    Examples
    --------
    >>> completes_name("last_name", "first_name"), completes_name("City", "State"), completes_name("State", "City")
    (True, True, False)
    """
    words, others = _meanings(own), _meanings(other)
    return any(
        any(part in word for word in words) and any(whole in word for word in others)
        for part, whole in headers.NAME_PARTS
    )


def is_part_of_name(own: str, others: Iterable[str]) -> bool:
    """Tell whether one of some other names completes what stands under a name (`completes_name`)."""
    return any(completes_name(own, other) for other in others)


@lru_cache(maxsize=_MOST_NAMES)
def share_a_word(own: str, other: str) -> bool:
    """Tell whether two names have a word in common that does not stand in tables of any subject.

    Examples
    --------
    >>> share_a_word("sale price", "price_eur"), share_a_word("sale id", "price id")
    (True, False)
    """
    parts = [headers_of([name]) for name in (own, other)]
    words = [part.words[part.marks & (DIGITS | GENERIC | UNSPECIFIC) == 0] for part in parts]
    return bool(np.intersect1d(*words).size)


def names_agree(own: str, other: str) -> bool:
    """Tell whether the words of one name, without ``id``, ``number`` and the like, are among those of the other.

    Examples
    --------
    >>> names_agree("customer_id", "Customers"), names_agree("Release Year", "year"), names_agree("id", "ID")
    (True, True, False)
    >>> names_agree("order_id", "OrderID"), names_agree("order", "order"), names_agree("row_id", "row_id")
    (True, False, False)
    """
    words = _subject(own), _subject(other)
    return all(words) and (words[0] <= words[1] or words[1] <= words[0])


@lru_cache(maxsize=_MOST_NAMES)
def _subject(name: str) -> frozenset[int]:
    """Return the words of a name that say of what it is: an order alone may be one of rows, that of an id is not."""
    known, header = _known(), headers_of([name])
    words = frozenset(header.words[header.marks & DIGITS == 0].tolist())
    says_nothing = {word for word in words if "no subject" in known.get(word, ())}
    things = says_nothing & {word for word in words if known.get(word, frozenset()) & {"thing", "class"}}
    return (words - says_nothing) or (frozenset(things) if number_meaning(name) == "code" else frozenset())


@cache
def number_meaning(name: str) -> str:
    """Tell what a name says of whole numbers under it.

    Parameters
    ----------
    name : str

    Returns
    -------
    {"code", "number", "class", "measure", "coordinate", "axis", ""}
        They name something, or may count, too; say which of some classes or things it is, measure or count, are a
        coordinate or perhaps one; or the name does not tell. The last word that tells decides: ``area code`` is a code,
        ``zip count`` a measure; of names with ``of`` it is one before that if it says what a number names or is.

    Examples
    --------
    >>> [number_meaning(name) for name in ("town_code", "Postleitzahl", "number of rooms", "user", "users", "n")]
    ['code', 'code', 'measure', 'class', 'measure', '']
    """
    head, of, _ = name.lower().partition(" of ")
    meaning = number_meaning(head) if of else ""
    if meaning in ("code", "class", "coordinate"):
        return meaning  # the direction of the strongest gust is a direction
    if meaning == "number" and _PLURAL.search(name):
        return "measure"
    words = _meanings(name)
    is_of_things = False
    for position in reversed(range(len(words))):
        word, following = words[position], words[position + 1 :]
        if "number" in word:
            if not following:
                return "number"
            if "counted" in following[0]:
                return "measure"
            continue  # num_students counts, no_insee names
        if "thing" in word:
            if following:
                is_of_things = True  # county_fp may say which one, and customer_age does not
                continue
            return "measure" if _PLURAL.search(name) else "class"
        if "axis" in word and any("coordinate" in other for other in words):
            return "coordinate"
        for meaning in ("coordinate", "code", "measure", "class", "axis"):
            if meaning in word:
                return meaning
    if _ends_of_identifiers().search(_plain(name)):
        return "code"
    return "class" if is_of_things else ""


@cache
def _ends_of_identifiers() -> re.Pattern[str]:
    ends, (first, last) = headers.ENDS_OF_IDENTIFIERS, headers.COMPOUNDS
    compounds = rf"(?<![^\W\d_])(?:{'|'.join(first)})(?:{'|'.join(last)})"
    return re.compile(rf"(?:{'|'.join(map(_plain, ends))}|{compounds})(?![^\W\d_])")


# Names of columns: from the cells of a header or the labels of a frame --------------------------------------


def clean_names(cells: list[str]) -> list[str]:
    """Make column names of header cells: trimmed, on one line, filled and unique.

    Examples
    --------
    >>> clean_names([" a ", "a", "", "first\\nname"])
    ['a', 'a.1', 'Unnamed: 2', 'first name']
    """
    names: list[str] = []
    taken = set()
    wanted = [" ".join(cell.split()) or f"Unnamed: {i}" for i, cell in enumerate(cells)]
    plain = set(wanted)
    counts: dict[str, int] = {}
    for name in wanted:
        unique = name
        while unique in taken or (unique != name and unique in plain):
            counts[name] = counts.get(name, 0) + 1
            unique = f"{name}.{counts[name]}"
        taken.add(unique)
        names.append(unique)
    return names
