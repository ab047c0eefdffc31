"""Which columns of a frame are keys when the user names none."""

from __future__ import annotations

from functools import cache

from dfjoin.kernels.header_words import IDENTIFIER, HeaderWords
from dfjoin.search.query import QueryColumn
from dfjoin.search.usefulness.features import query_facts
from dfjoin.search.usefulness.headers import headers_of

__all__ = ["reason_against_key"]

_FEWEST_VALUES = 3

_MEASURE_WORDS = (
    *("count", "total", "sum", "avg", "average", "mean", "median", "amount", "rate", "pct", "percent", "percentage"),
    *("ratio", "share", "score", "vote", "point", "goal", "price", "cost", "population", "weight", "mass", "height"),
    *("speed", "size", "length", "width", "area", "age", "duration", "distance", "volume", "income", "revenue"),
    *("profit", "death", "case", "qty", "quantity", "min", "max", "std", "wage", "salary", "temperature"),
)
"""Words of headers that say that a number was measured or counted."""

_IDENTIFIER_WORDS = (
    *(
        "fips",
        "zip",
        "zipcode",
        "postcode",
        "postal",
        "isbn",
        "issn",
        "ean",
        "gtin",
        "upc",
        "geoid",
        "iso",
        "uid",
        "uuid",
    ),
    *("identifier", "year", "date", "month", "phone", "account", "sku", "ssn", "ref", "reference"),
)
"""Words of headers that say that a number names something, besides those of `headers`."""


@cache
def _identifiers() -> frozenset[int]:
    return frozenset(headers_of(_IDENTIFIER_WORDS).words.tolist())


@cache
def _measures() -> frozenset[int]:
    return frozenset(headers_of(_MEASURE_WORDS).words.tolist())


def reason_against_key(query: QueryColumn) -> str:
    """Return why a column is no key unless the user names it; nothing for one that may be.

    Columns of two values, serial numbers (integers from 0 or 1 on with few gaps, none of which occurs twice), numbers
    under the header of a measure, and numbers that are no years under a header that names no identifier (``waiting``,
    ``mail``) are none. Columns of fractions are not searched at all.

    Parameters
    ----------
    query : QueryColumn
    """
    facts = query_facts(query)
    if facts.n_values < _FEWEST_VALUES:
        return "it has fewer than three values"
    if facts.is_serial and facts.is_unique:
        return "it is a serial number"
    if facts.is_number and not facts.is_years and _measures() & set(facts.header.words.tolist()):
        return "it is a measure"
    if facts.is_number and not facts.is_years and not _is_identifier(facts.header):
        return "its header does not say that its numbers name anything"
    return ""


def _is_identifier(header: HeaderWords) -> bool:
    """Tell whether a header has a word of identifiers: ``id``, ``code``, ``fips``."""
    return bool((header.marks & IDENTIFIER > 0).any() or _identifiers() & set(header.words.tolist()))
