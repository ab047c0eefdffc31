"""Features of candidates and the score of a model, over plain Python sets and texts."""

import math
import re

__all__ = ["features", "is_serial", "odds", "usual_holding", "value_bits"]

_UNSPECIFIC = {
    "id",
    "code",
    "key",
    "no",
    "num",
    "number",
    "nr",
    "fk",
    "pk",
    "name",
    "the",
    "of",
    "and",
    "in",
    "by",
    "to",
}
_UNSPECIFIC |= {"csv", "tsv", "data", "ids", "codes", "names"}
_NAMING = {"id", "code", "key", "no", "num", "number", "nr", "fk", "pk", "year", "date", "fips", "zip"}
_IDENTIFIERS = {"id", "ids", "code", "codes", "key", "no", "num", "number", "nr", "fk", "pk"}
_GENERIC = {"id", "code", "name", "key", "value", "number", "no", "index", "row", "rowname", "unnamed", "x", "type"}
_GENERIC |= {"title", "label", "description", "text", "date", "year", "time"}


def words(name):
    """The words of a name of small ASCII letters, signs and digits, in the singular."""
    return [_singular(word) for word in re.findall(r"[a-z]+|[0-9]+", name)]


def _singular(word):
    """Drop the ending of a plural."""
    if len(word) <= 3 or not word.endswith("s") or word.endswith("ss"):
        return word
    return word[:-3] + "y" if word.endswith("ies") else word[:-1]


def value_bits(value):
    """The information of a canonical value by its alphabet."""
    if value.isdigit():
        return min(30.0, math.log2(int(value) + 2) + (value[0] == "0"))
    digits = sum(c.isdigit() for c in value)
    return min(30.0, 2.5 * digits + 3 * (len(value.encode()) - digits))


def usual_holding(value, n_holding, n_columns):
    """The columns of a lake of 65,536 that hold a value, from those of this lake and 16,384 usual ones."""
    is_integer = value.isdigit() and value[0] != "0"
    bits = int(value_bits(value))
    share = math.exp(-0.6 - 0.5 * bits) if is_integer else math.exp(-6.6 - 0.1 * bits)
    return 65536 * (max(1, n_holding) + 16384 * max(share, 2**-15)) / (n_columns + 16384)


def is_serial(values):
    """Whether canonical values are integers from 0 or 1 on that hold four fifths of their range."""
    if not all(value.isdigit() for value in values):
        return False
    low, high = min(map(int, values)), max(map(int, values))
    return low in (0, 1) and len(values) >= 0.8 * (high - low + 1)


def _is_years(values):
    return all(value.isdigit() and 1500 <= int(value) <= 2100 for value in values)


def features(query, companions, candidate, table, headers, holding):
    """The features of one candidate by name.

    Parameters
    ----------
    query, candidate : (name, list of canonical values with repeats)
        Integers or texts; both hold a common value.
    companions : list of str
        Names of the other columns of the frame.
    table : str
        The stem of the candidate's table.
    headers : list of str
        Of that table, in the order of the file.
    holding : dict
        Value → columns of the lake that hold it, see `usual_holding`.
    """
    (name, own_rows), (header, their_rows) = query, candidate
    own, theirs = set(own_rows), set(their_rows)
    shared = own & theirs
    mine, other, stem = words(name), words(header), words(table)
    specific, their_specific = ([w for w in ws if w not in _UNSPECIFIC] for ws in (mine, other))
    is_same = mine == other and mine != []
    frame = {tuple(words(c)) for c in companions} - {tuple(mine)}
    is_number, has_digits = (all(v.isdigit() for v in values) for values in (own, theirs))
    in_table = [w for w in specific if w in stem]
    subject, their_subject = ([w for w in ws if w not in _IDENTIFIERS] for ws in (mine, other))
    of_table = bool(subject) and all(w in stem and w not in _UNSPECIFIC for w in subject)
    of_table = of_table and all((w in stem and w not in _UNSPECIFIC) or w in mine for w in their_subject)
    no_letters = not is_number and sum(any(c.isalpha() for c in v) for v in own) < 0.1 * len(own)
    held = [tuple(words(h)) in frame or words(h) == mine for h in headers]
    n_new = sum(not h for h in held) - (not held[headers.index(header)])  # the key itself is nothing new
    containments = len(shared) / len(own), len(shared) / len(theirs)
    bits = sum(map(value_bits, shared))
    rarity = {v: 1 / math.sqrt(holding[v]) for v in own}
    own_unique, their_unique = len(own) == len(own_rows), len(theirs) == len(their_rows)
    return {
        "information": math.log(1 + bits),
        "information_per_value": bits / len(shared),
        "rare_containment": sum(rarity[v] for v in shared) / sum(rarity.values()),
        "spread": sum(max(0.0, math.log(holding[v])) for v in shared) / len(shared),
        "smaller_containment": min(containments),
        "larger_containment": max(containments),
        "shared": math.log(1 + len(shared)),
        "cardinality": math.log(len(theirs)),
        "same_specific_header": is_same and not all(w in _GENERIC | _UNSPECIFIC for w in mine),
        "disjoint_headers": not is_same
        and bool(specific and their_specific)
        and not {w[:4] for w in specific} & {w[:4] for w in their_specific},
        "header_in_table_name": bool(in_table),
        "header_elsewhere": not is_same and (tuple(other) in frame or mine in [words(h) for h in headers]),
        "unrelated_numbers": (is_number or has_digits) and not is_same and not of_table,
        "no_letters": no_letters,
        "no_letters_same_header": no_letters and is_same,
        "serial": is_serial(theirs),
        "both_serial": is_serial(own) and is_serial(theirs),
        "both_years": _is_years(own) and _is_years(theirs),
        "numeric_header": all(w.isdigit() for w in mine),
        "unique_query": own_unique,
        "both_text": not is_number and not has_digits,
        "place_in_table": headers.index(header) / len(headers),
        "new_columns": math.log(1 + max(0, n_new)),
        "nothing_new": n_new <= 0,
        "unique_candidate": their_unique,
        "many_to_many": not own_unique and not their_unique,
    }


def unnamed_numbers(query, candidate):
    """Whether both columns are numbers, or the query has no letters, and no header says that they name anything."""
    (name, own), (header, theirs) = query, candidate
    is_number, both = (all(v.isdigit() for v in values) for values in (own, theirs))
    no_letters = not is_number and sum(any(c.isalpha() for c in v) for v in set(own)) < 0.1 * len(set(own))
    are_years = _is_years(set(own)) and _is_years(set(theirs))
    return (no_letters or (is_number and both)) and not are_years and not _NAMING & {*words(name), *words(header)}


def odds(values, features_of_model, bias):
    """The log-odds of one candidate: names of features → mean, scale and weight, the quotient cut at ±5."""
    found = bias
    for name, one in features_of_model.items():
        found += one["weight"] * max(-5.0, min(5.0, (values[name] - one["mean"]) / one["scale"]))
    return found
