"""Naming the encoding of a text: byte order mark, UTF-8, else the encoding whose languages have its letters."""

from __future__ import annotations

import codecs
from functools import cache

import numpy as np
from numpy.typing import NDArray

SAMPLE_BYTES = 128 << 10
"""How much of a file is looked at to tell its dialect."""

_BOMS = {
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}

_LETTERS = {
    "cp1252": (
        "äöüß",  # German
        "àâçéèêëîïôùûüœæ",  # French
        "áéíóúüñ¿¡ºª",  # Spanish
        "ãõáâàçéêíóôúºª",  # Portuguese
        "àèéìòù",  # Italian
        "åäöéæøü",  # Swedish, Finnish, Danish, Norwegian
        "áðéíóúýþæö",  # Icelandic
        "£éèêçñöü²³½",  # English, with names from elsewhere
    ),
    "cp1250": (
        "ąćęłńóśźż",  # Polish
        "áčďéěíňóřšťúůýž",  # Czech
        "áäčďéíĺľňóôŕšťúýž",  # Slovak
        "áéíóöőúüű",  # Hungarian
        "čćđšž",  # Croatian, Slovenian
        "ăâîşţ",  # Romanian
    ),
    "cp1251": ("абвгдеёжзийклмнопрстуфхцчшщъыьэюяіїєґ№",),
    "cp1254": ("çğıöşüâîİ",),  # Turkish
    "mac_roman": ("áéíóúñüöäçèêëïôå",),  # spreadsheets of older Macs
}
"""Letters beyond ASCII of languages, by the encoding of their texts; of equally good ones the first."""

_FEWEST_KNOWN = 0.8
"""Share of the letters that a language has, at least, where it tells the encoding."""


def name_encoding(data: bytes, *, is_whole: bool = False) -> str:
    """Name the encoding of a text: its byte order mark, else UTF-8, else a code page.

    A text that is UTF-8 but for a few damaged bytes stays UTF-8. A sample may end inside a character. The code page is
    the one for which some language has the most of the letters beyond ASCII.

    Examples
    --------
    >>> name_encoding("née".encode()), name_encoding("née".encode("cp1252")), name_encoding(b"\\xff\\xfea\\0")
    ('utf-8', 'cp1252', 'utf-16')
    >>> name_encoding("Příliš žluťoučký kůň".encode("cp1250"))
    'cp1250'
    """
    for bom, encoding in _BOMS.items():
        if data.startswith(bom):
            return encoding
    if data.count(b"\0", 0, 2000) * 3 > len(data[:2000]):
        return "utf-16-le" if data[1:2] == b"\0" else "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if not is_whole and error.start >= len(data) - 3 and error.reason == "unexpected end of data":
            return "utf-8"
        text = data.decode("utf-8", "replace")
        n_good = len(text) - len(text.encode("ascii", "ignore")) - text.count("�")
        if n_good > 4 * text.count("�"):
            return "utf-8"
        return _code_page(data)[0]
    return "utf-8"


def encoding_doubt(data: bytes, encoding: str) -> str:
    """Say why the encoding of a text is in doubt: a code page without a language that has its letters; empty if not.

    Parameters
    ----------
    data : bytes
        A text that is neither UTF-8 nor has a byte order mark.
    encoding : str
        As `name_encoding` named it.
    """
    if encoding.startswith("utf"):
        return ""
    found, share = _code_page(data)
    return f"encoding guessed ({encoding})" if found == encoding and share < _FEWEST_KNOWN else ""


def _code_page(data: bytes) -> tuple[str, float]:
    """Return a code page, and the share of the letters beyond ASCII that its language has."""
    counts = np.bincount(np.frombuffer(data, np.uint8), minlength=256)[128:].astype(np.int64)
    best, best_share = "cp1252", 0.0
    for encoding, is_letter, is_sign in _tables():
        n_known, n_letters = int(counts[is_letter].sum()), int(counts[~is_sign].sum())
        share = n_known / n_letters if n_known else float(encoding == "cp1252" and n_letters == 0)
        if share > best_share and (encoding != "cp1251" or _are_words(data)):
            best, best_share = encoding, share
    if best_share < _FEWEST_KNOWN:
        best, best_share = (
            ("cp932", japanese) if (japanese := _share_japanese(data)) > _FEWEST_KNOWN else ("cp1252", 0.0)
        )
    if best == "cp1252":
        c1 = np.flatnonzero(counts[:32])
        undefined = {0x01, 0x0D, 0x0F, 0x10, 0x1D}  # above 0x80; only Latin-1 gives these bytes a meaning
        if c1.size and undefined.issuperset(c1.tolist()):
            return "latin-1", best_share
    return best, best_share


@cache
def _tables() -> list[tuple[str, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Return for each language its encoding, which bytes from 0x80 on are its small letters, and which do not count.

    Capitals do not count: they are few, and small letters of another encoding.
    """
    tables = []
    for encoding, languages in _LETTERS.items():
        capitals = (c for c in bytes(range(128, 256)).decode(encoding, "ignore") if c.isupper())
        others = _codes_of("".join(["’‘“”„–—…•€§©®°±µ·«»\xa0\xad´¨", *capitals]), encoding)
        for letters in languages:
            is_letter = _codes_of(letters, encoding)
            tables.append((encoding, is_letter, others & ~is_letter))
    return tables


def _codes_of(characters: str, encoding: str) -> NDArray[np.bool_]:
    found = np.frombuffer(characters.encode(encoding, "ignore"), np.uint8)
    return np.isin(np.arange(128, 256), found)


def _are_words(data: bytes) -> bool:
    """Tell whether bytes from 0x80 on stand together, as in a script that has no letter of ASCII."""
    is_high = np.frombuffer(data, np.uint8) >= 128
    return bool(2 * np.count_nonzero(is_high[1:] & is_high[:-1]) > np.count_nonzero(is_high))


def _share_japanese(data: bytes) -> float:
    """Return the share of the characters beyond ASCII that are kana or kanji, read as Shift JIS; 0 if it is not."""
    try:
        text = codecs.getincrementaldecoder("cp932")().decode(data[:SAMPLE_BYTES])
    except UnicodeDecodeError:
        return 0.0
    others = [c for c in text if c > "\x7f"]
    n_known = sum("\u3000" <= c <= "\u30ff" or "\u4e00" <= c <= "\u9fff" or "\uff00" <= c <= "\uff5e" for c in others)
    return n_known / len(others) if n_known > 3 else 0.0  # a letter before another is one by chance
