"""A reader of indexes written from FORMAT.md alone: Python, numpy, and pyarrow for the catalogue. It imports no dfjoin."""

import json
import re
import unicodedata
import zlib
from datetime import date, datetime, timedelta
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa

MASK = 2**64 - 1
K0, K1, K2 = 0x9E3779B97F4A7C15, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB
FEATURES = {"tokens", "catalog", "signatures", "patterns", "vectors", "null_evidence", "dialects", "parts"}
NULL_TEXTS = set(
    """na|n/a|n.a.|n.a|nan|-nan|nat|null|none|#n/a|#na|#n/a n/a|n/a n/a|<na>|<null>|<none>|(na)|(n/a)|(null)|(none)|(blank)|
    (empty)|(missing)|[null]|\\n|not available|not applicable|1.#qnan|1.#ind|-1.#ind|-1.#qnan|#value!|#ref!|#div/0!|#name?|
    #num!|#null!|-|--|---|–|—|―|−|.|..|...|*|**|***|?|??|???|:|_|/""".replace("\n    ", "").split("|")
)
MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]

_INTEGER = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0+)?")
_DAY = re.compile(r"([0-9]{4})([-/])([0-9]{2})\2([0-9]{2})")
_SEPARATOR = r"(?:, ?|[ /-])"
_MONTH = "(" + "|".join(f"{m}|{m[:3]}" for m in MONTHS) + r"|sept)\.?"
_DAY_FIRST = re.compile(rf"([0-9]{{1,2}}){_SEPARATOR}{_MONTH}{_SEPARATOR}([0-9]{{4}})")
_MONTH_FIRST = re.compile(rf"{_MONTH}{_SEPARATOR}([0-9]{{1,2}}){_SEPARATOR}([0-9]{{4}})")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[t ]([0-9]{2}):([0-9]{2})"
    r"(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?(z| ?utc| ?[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
_DIGITS = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})")


def mum(a, b):
    return (a * b >> 64) ^ (a * b & MASK)


def value_hash(value, seed):
    data = value.encode()
    h = mum(seed ^ K0, len(data) ^ K1)
    for start in range(0, len(data), 8):
        h = mum(h ^ int.from_bytes(data[start : start + 8], "little"), K1)
    return mum(h ^ K2, K0)


def signature(values, n, seed):
    hashes = [value_hash(value, seed) for value in values]
    rows = [None] * n
    for number in range(2 * n):
        key = mum(seed ^ K1, (number + 1) * K0 & MASK)
        taken = {}
        for h in hashes:
            draw = mum(h ^ key, K0)
            row = (draw >> 32) * n >> 32 if number < n else number - n
            taken[row] = min(taken.get(row, MASK), draw & 0xFFFFFFFF)
        for row, draw in taken.items():
            rows[row] = draw if rows[row] is None else rows[row]
        if None not in rows:
            break
    return rows


def plain_text(text):
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()


def _iso(year, month, day):
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


def _timestamp(text):
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    *parts, fraction, zone = found.groups()
    micro = int(((fraction or "") + "000000")[:6])
    try:
        moment = datetime(*(int(part or 0) for part in parts), micro)
        if zone and zone.strip()[0] in "+-":
            digits = zone.strip()[1:].replace(":", "") + "00"
            hours, minutes = int(digits[:2]), int(digits[2:4])
            if hours > 14 or minutes > 59:
                return None
            east = timedelta(hours=hours, minutes=minutes)
            moment = moment - east if zone.strip()[0] == "+" else moment + east
    except (ValueError, OverflowError):
        return None
    if moment.time() == datetime.min.time():
        return moment.date().isoformat()
    return moment.isoformat().replace("T", "t")


def canonical(text, settings):
    """The canonical value of a text that is asked for by itself; None for a null."""
    nulls = {value for null in settings["null_spellings"] for value in (plain_text(null), _value(null, settings))}
    value = _value(text, settings)
    return None if value in nulls else value


def nulls_by_evidence(values, seed):
    """Those of some distinct canonical values that the others make nulls."""
    found = NULL_TEXTS & set(values)
    buckets = {shape: set() for shape in (1, 2, 3, 4, "signs", "rest")}
    for value in set(values) - found:
        if re.fullmatch("[a-z]{1,4}", value):
            shape = len(value)
        else:
            is_sign = value.isascii() and len(value) <= 3 and not re.search("[a-z0-9]", value)
            shape = "signs" if is_sign else "rest"
        buckets[shape].add(value_hash(value, seed) % 1024)
    n = {shape: len(bucket) for shape, bucket in buckets.items()}
    n_others = sum(n.values())
    if n_others == 0:
        return found if len(found) > 1 else set()
    is_value = set()
    for text in found:
        if re.fullmatch("[a-z]+", text):
            same = n[len(text)]
            is_code = same >= (2 if len(text) == 2 else 20) and same >= 0.9 * n_others
            is_symbol = text == "na" and n_others >= 10 and n[1] + n[2] + n[3] == n_others and n[2] >= 0.5 * n_others
            if is_code or is_symbol:
                is_value.add(text)
        elif not any(c.isalnum() for c in text) and (n["signs"] >= 5 or n["signs"] >= 0.5 * n_others):
            is_value.add(text)
    return found - is_value


def _value(text, settings):
    text = plain_text(text)
    integer = _INTEGER.fullmatch(text)
    if integer is not None:
        text = "0" if integer[1] == "-0" else integer[1]
    elif 8 <= len(text.encode()) <= 40:
        text = _as_date(text, settings.get("dayfirst")) or text
    return text


def _as_date(text, day_first):
    if found := _DAY.fullmatch(text):
        return _iso(found[1], found[3], found[4])
    if found := _DAY_FIRST.fullmatch(text):
        return _iso(found[3], _month(found[2]), found[1])
    if found := _MONTH_FIRST.fullmatch(text):
        return _iso(found[3], _month(found[1]), found[2])
    if (found := _DIGITS.fullmatch(text)) and day_first is not None:
        first, second = (found[1], found[3]) if day_first else (found[3], found[1])
        return _iso(found[4], second, first)
    return _timestamp(text)


def _month(name):
    return 1 + next(number for number, month in enumerate(MONTHS) if month.startswith(name[:3]))


class Index:
    """One version of an index, the latest by default."""

    def __init__(self, place):
        self.place = Path(place)
        versions = [p for p in (self.place / "manifests").iterdir() if re.fullmatch(r"[0-9]{20}\.json", p.name)]
        path = max(versions)
        values = json.loads(path.read_text("utf-8"))
        stated = values.pop("crc32")
        if zlib.crc32(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()) != stated:
            raise ValueError("its checksum is another")
        if values["version"] != int(path.stem):
            raise ValueError("it is the manifest of another version")
        if values["format_version"] > 1 or not set(values["reader_features"]) <= FEATURES:
            raise ValueError("it needs a newer reader")
        self.settings = values["settings"]
        self.segments = [Segment(self.place, segment) for segment in values["segments"]]

    def canonical(self, texts):
        values = {canonical(text, self.settings) for text in texts} - {None}
        if self.settings.get("null_evidence"):
            values -= nulls_by_evidence(values, self.settings["hash_seed"])
        return sorted(values)

    def overlap(self, texts):
        """(table, column) → how many of the values it holds, from the posting lists."""
        found = {}
        for segment in self.segments:
            counts = segment.count(self.canonical(texts), self.settings["hash_seed"])
            found.update(segment.by_name(counts))
        return found

    def agreement(self, texts):
        """(table, column) → in how many rows its signature is that of the values."""
        rows = signature(self.canonical(texts), self.settings["permutations"], self.settings["hash_seed"])
        found = {}
        for segment in self.segments:
            found.update(segment.by_name(segment.agree(rows)))
        return found


class Segment:
    def __init__(self, place, meta):
        self.place = place / "segments" / meta["id"]
        self.files = {c["name"]: c for group in meta["groups"] for c in group["components"]}
        for component in self.files.values():
            path = PurePosixPath(component["file"])
            if path.is_absolute() or ".." in path.parts:
                raise ValueError("a path leads out of the index")
            if (self.place / path).stat().st_size != component["size"]:
                raise ValueError("a file has another size")
        data = (self.place / self.files["catalog"]["file"]).read_bytes()
        if zlib.crc32(data) != self.files["catalog"]["crc32"]:
            raise ValueError("the catalogue is damaged")
        (row,) = pa.ipc.open_file(data).read_all().to_pylist()
        self.tables, self.columns = row["tables"], row["columns"]
        self.alive = np.ones(len(self.columns), np.uint8)
        if meta["tombstones"] is not None:
            self.alive = np.load(place / meta["tombstones"]["file"])

    def __getitem__(self, name):
        return np.load(self.place / self.files[name]["file"])

    def by_name(self, numbers):
        """Name the columns with a number above 0 that are alive."""
        names = ((self.tables[c["table"]]["name"], c["name"]) for c in self.columns)
        return {name: n for name, n, alive in zip(names, numbers, self.alive.tolist(), strict=True) if n and alive}

    def token(self, value, seed):
        """The number of a value, None if no column holds it."""
        hashes, directory, offsets, data = (self[n] for n in ("hash", "directory", "value_offsets", "value_bytes"))
        h = value_hash(value, seed)
        bits = (len(directory) - 1).bit_length() - 1
        prefix = h >> (64 - bits)
        for token in range(int(directory[prefix]), int(directory[prefix + 1])):
            if int(hashes[token]) == h and data[offsets[token] : offsets[token + 1]].tobytes() == value.encode():
                return token
        return None

    def count(self, values, seed):
        counts = [0] * len(self.columns)
        group, indptr, columns = self["group"], self["list_indptr"], self["list_columns"]
        for value in values:
            token = self.token(value, seed)
            if token is None:
                continue
            number = int(group[token]) - len(self.columns)
            holders = [int(group[token])] if number < 0 else columns[indptr[number] : indptr[number + 1]].tolist()
            for column in holders:
                counts[column] += 1
        return counts

    def values_of(self, column):
        """The values of a column, from its set."""
        offsets, data, tokens, starts = (
            self[n] for n in ("value_offsets", "value_bytes", "group_tokens", "group_indptr")
        )
        first, last = self["set_indptr"][column : column + 2]
        groups = [column, *(len(self.columns) + self["set_lists"][first:last].astype(int))]
        members = [t for g in groups for t in tokens[starts[g] : starts[g + 1]].tolist()]
        return {data[offsets[t] : offsets[t + 1]].tobytes().decode() for t in members}

    def agree(self, rows):
        agreed = [0] * len(self.columns)
        columns, values, slots = (self[n] for n in ("signature_columns", "signature_values", "signature_slots"))
        for number, row in enumerate(rows):
            for slot in slots[number][values[number] == row].tolist():
                agreed[int(columns[slot])] += 1
        return agreed
