"""Names of columns and tables as words, and which words say nothing of a subject."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dfjoin.kernels.header_words import GENERIC, NAMING, UNSPECIFIC, HeaderWords, cut_headers
from dfjoin.kernels.records import as_read_only
from dfjoin.values.value_set import pack_strings

__all__ = ["headers_of", "is_generic", "is_naming", "table_stems"]

_IDENTIFIER_WORDS = ("id", "ids", "code", "codes", "key", "no", "num", "number", "nr", "fk", "pk")
_UNSPECIFIC_WORDS = (
    *_IDENTIFIER_WORDS,
    *("name", "names", "the", "of", "and", "in", "by", "to", "csv", "tsv", "data"),
)
_GENERIC_WORDS = (
    *("id", "code", "name", "key", "value", "number", "no", "index", "row", "rowname", "unnamed", "x", "type"),
    *("title", "label", "description", "text", "date", "year", "time"),
)
_NAMING_WORDS = (
    *_IDENTIFIER_WORDS,
    *("identifier", "uid", "uuid", "guid", "ref", "reference", "year", "date", "month", "quarter", "phone", "account"),
    *("fips", "geoid", "zip", "zipcode", "postcode", "postal", "plz", "insee", "iso", "nuts", "osm", "wikidata"),
    *("isbn", "issn", "doi", "pmid", "orcid", "ean", "gtin", "upc", "sku", "ssn", "siren", "siret"),
    *("naics", "isic", "nace", "cpv", "icd", "ndc", "npi", "cik", "isin", "cusip"),
    *("mmsi", "wmo", "wban", "usaf", "icao", "iata"),
)
"""Words for identifiers and the calendar, and published systems of codes, but for those whose name is a common word or
abbreviation (``HS`` is also shots of the home team). Names of places that are often numbered (``district``) are none:
cross-validated by source they change nothing, and the first line alone does nearly as much as all."""
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
    A name with characters above ASCII is first decomposed (NFKD), without its accents, and lower-cased.
    O(bytes).
    """
    if not isinstance(names, pa.Array):
        if all(map(str.isascii, names)):
            return _cut(*pack_strings(list(names)), _lexicon())
        names = pa.array(names, pa.string())
    return _cut(*_packed(_plain(names)), _lexicon())


def _cut(data: NDArray[np.uint8], offsets: NDArray[np.int64], lexicon: tuple[NDArray[np.uint64], ...]) -> HeaderWords:
    """Cut packed names into words."""
    n = offsets.size - 1
    scratch = np.zeros((2, 256), np.uint8)
    none = np.empty(0, np.uint64)
    out = HeaderWords(np.zeros(n, np.uint64), np.zeros(n + 1, np.int64), none, none, np.empty(0, np.uint8))
    data, offsets = as_read_only(data), as_read_only(offsets)
    n_words = cut_headers(data, offsets, lexicon, scratch, out)
    if n_words:
        words = np.empty(n_words, np.uint64), np.empty(n_words, np.uint64), np.empty(n_words, np.uint8)
        out = HeaderWords(out.joined, out.indptr, *words)
        cut_headers(data, offsets, lexicon, scratch, out)
    return out


def _plain(texts: pa.Array) -> pa.Array:
    """Write names with characters above ASCII without accents and capitals."""
    is_ascii = pc.string_is_ascii(texts)
    if pc.all(is_ascii).as_py() in (True, None):
        return texts
    plain = pc.utf8_lower(pc.replace_substring_regex(pc.utf8_normalize(texts, "NFKD"), r"\p{Mn}+", ""))
    return pc.if_else(is_ascii, texts, plain)


@cache
def _lexicon() -> tuple[NDArray[np.uint64], ...]:
    """Return the hashes of the marked words, sorted: one array for each mark that `cut_headers` takes."""
    none = as_read_only(np.empty(0, np.uint64))
    lists = (_UNSPECIFIC_WORDS, _IDENTIFIER_WORDS, _GENERIC_WORDS, _NAMING_WORDS)
    found = [np.unique(_cut(*pack_strings(list(words)), (none, none, none, none)).joined) for words in lists]
    for hashes in found:
        hashes.flags.writeable = False
    return tuple(found)


def is_generic(header: HeaderWords) -> bool:
    """Tell whether one name has only words that stand in tables of any subject."""
    return bool((header.marks & (GENERIC | UNSPECIFIC) > 0).all())


def is_naming(header: HeaderWords) -> bool:
    """Tell whether one name says that numbers under it name something: ``id``, ``code``, ``fips``, ``year``."""
    return bool((header.marks & NAMING > 0).any())


def table_stems(names: pa.Array) -> pa.Array:
    """Return the last parts of the names of tables, without the endings of files."""
    return pc.replace_substring_regex(pc.replace_substring_regex(names, r"^.*/", ""), _ENDINGS, "")
