"""Features of candidates and the score of a model, over plain Python sets and texts."""

import math
import re

from dfjoin.values import headers as vocabulary

__all__ = ["features", "is_number", "number_features", "odds", "usual_holding", "value_bits"]

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


def _integers(values):
    """The distinct canonical integers among some values, sorted."""
    return sorted(int(v) for v in set(values) if re.fullmatch("0|[1-9][0-9]*", v))


def is_number(values):
    """Whether a column of these values is one of integers."""
    return len(_integers(values)) == len(set(values))


def _is_text_serial(values):
    """Whether digits, some of which begin with zeros, or nearly all of some texts are integers with few gaps, but for years."""
    if is_number(values):
        return False
    numbers = [int(v) for v in set(values)] if all(v.isdigit() for v in values) else _integers(values)
    if not numbers or len(numbers) < 0.8 * len(set(values)):
        return False
    low, high = min(numbers), max(numbers)
    return len(numbers) >= 0.8 * (high - low + 1) and not (low >= 1500 and high <= 2100)


def chance(own, theirs, are_years):
    """How far chance explains the shared whole numbers, and the bits of the shared values.

    The candidate's values are a random part of its range: of the query's numbers there, each is shared with the share of
    the range that it fills. A range from 0 or 1 ends where the query's numbers do.
    """
    shared = set(own) & set(theirs)
    bits = sum(map(value_bits, shared))
    ints, others = _integers(own), _integers(theirs)
    if _is_text_serial(own):
        return 1.0, 0.0
    has_range = len(others) == len(set(theirs))
    if not ints or are_years or not (has_range or len(ints) == len(set(own))):
        return 0.0, bits
    low, high = (others[0], others[-1]) if has_range else (ints[0], ints[-1])
    n_in = max(len(shared), sum(low <= v <= high for v in ints))
    end = min(high, ints[-1]) if low in (0, 1) else high
    density = min(1.0, len(set(theirs)) / max(1, end - low + 1))
    share, beyond = len(shared) / n_in, 0.0
    if share > density:
        beyond = len(shared) * math.log2(share / density)
        beyond += (n_in - len(shared)) * math.log2((1 - share) / (1 - density)) if share < 1 else 0.0
    own_density = len(ints) / (ints[-1] - ints[0] + 1)
    is_full = density >= 0.8 or own_density >= 0.8
    beyond = 0.0 if is_full else min(beyond, len(shared) * -math.log2(own_density))
    by_chance = 10 / (10 + beyond)
    first, last = min(low, ints[0]), max(high, ints[-1])
    if first > 0:
        beyond += math.log2(math.log(1e9) / math.log((last + 1) / first))
    return by_chance, min(bits, beyond)


def _is_short(one, other):
    """Whether one of two words is short for the other one, by their first eight letters."""
    one, other = sorted((one[:8], other[:8]), key=len)
    if one == other:
        return True
    rest = iter(other)
    return len(one) >= 3 and one[0] == other[0] and all(letter in rest for letter in one)


def _subject(specific):
    """The words of a name that are not for identifiers, or all."""
    return [w for w in specific if w not in vocabulary.NAMING] or specific


def _heads_agree(one, other):
    one, other = ([w for w in words if not w.isdigit()] for words in (one, other))
    if not one or not other:
        return False
    return _is_short(one[-1], other[-1]) or _is_short(_subject(one)[-1], _subject(other)[-1])


def _held(ws, others):
    return bool(ws) and all(any(_is_short(w, o) for o in others) for w in _subject(ws))


def number_features(query, candidate, table):
    """Of the features of one candidate those of whole numbers; see `features`."""
    (name, own_rows), (header, their_rows) = query, candidate
    own, theirs = set(own_rows), set(their_rows)
    mine, other = words(name), words(header)
    specific, their_specific, stem = ([w for w in ws if w not in _UNSPECIFIC] for ws in (mine, other, words(table)))
    both = (is_number(own) and is_number(theirs)) or _is_text_serial(own)
    is_measure = bool(set(vocabulary.MEANINGS["measure"]) & {*mine, *other})
    is_generic = all(w in _GENERIC | _UNSPECIFIC for w in mine)
    are_years = _is_years(name, own) and _is_years(header, theirs)
    is_same = both and mine == other and not (is_generic or is_measure or are_years)
    is_alike = both and mine != other and not (is_generic or is_measure) and _heads_agree(their_specific, specific)
    is_alike = is_alike and not all(w in _GENERIC | _UNSPECIFIC for w in other)
    is_alike = is_alike and (_held(their_specific, specific) or _held(specific, their_specific))
    is_key = both and not is_generic and _heads_agree(stem, specific) and _held(specific, stem)
    is_key = is_key and all(
        w in vocabulary.NAMING or any(_is_short(w, o) for o in (*words(table), *mine)) for w in other
    )
    by_chance, _ = chance(own_rows, their_rows, are_years)
    sizes = sorted((len(own), len(theirs)))
    related = by_chance * (is_same or is_alike or is_key)
    covered = max(len(own & theirs) / len(own), len(own & theirs) / len(theirs))
    is_reference = len(own) < len(own_rows) and len(theirs) == len(their_rows) and own <= theirs
    return {
        "by_chance": by_chance,
        "similar_size": related * sizes[0] / sizes[1] * covered,
        "refers": related * is_reference,
        "same_key_header": is_same,
        "alike_header": is_alike,
        "names_key": is_key,
        "measured": both and is_measure,
        "covered": covered,
        "held_by_query": len(own & theirs) / len(theirs),
    }


def _is_years(name, values):
    is_code = set(words(name)) & set(vocabulary.IDENTIFIER) and not set(words(name)) & set(vocabulary.MEANINGS["year"])
    return not is_code and all(value.isdigit() and 1500 <= int(value) <= 2100 for value in values)


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
    is_own, has_digits = is_number(own), is_number(theirs)
    in_table = [w for w in specific if w in stem and not w.isdigit()]
    no_letters = not is_own and sum(any(c.isalpha() for c in v) for v in own) < 0.1 * len(own)
    held = [tuple(words(h)) in frame or words(h) == mine for h in headers]
    is_new = [not h and words(name) != [] for h, name in zip(held, headers, strict=True)]
    n_new = sum(is_new) - is_new[headers.index(header)]  # the key itself is nothing new
    containments = len(shared) / len(own), len(shared) / len(theirs)
    are_years = _is_years(name, own) and _is_years(header, theirs)
    by_chance, bits = chance(own_rows, their_rows, are_years)
    by_value = 1 - by_chance
    rarity = {v: 1 / math.sqrt(holding[v]) for v in own}
    are_texts = not is_own and not has_digits
    spread = sum(max(0.0, math.log(holding[v])) for v in shared) / len(shared)
    rare_bits = sum(math.log2(65536 / max(1.0, holding[v])) for v in shared)
    own_unique, their_unique = len(own) == len(own_rows), len(theirs) == len(their_rows)
    least = 10 if own_unique or their_unique else 20
    weight = by_value * (rare_bits**2 / (rare_bits**2 + least**2) if are_texts else 1)
    return {
        "information": math.log(1 + bits),
        "information_per_value": bits / len(shared),
        "rare_containment": weight * sum(rarity[v] for v in shared) / sum(rarity.values()),
        "spread": by_value * spread + by_chance * math.log(65536),
        "smaller_containment": weight * min(containments),
        "larger_containment": weight * max(containments),
        "shared": math.log(1 + len(shared)),
        "lone_shared": float(len(shared) == 1 < len(own)),
        "cardinality": by_value * math.log(len(theirs)),
        "same_specific_header": is_same and not all(w in _GENERIC | _UNSPECIFIC for w in mine),
        "disjoint_headers": not is_same
        and bool(specific and their_specific)
        and not {w[:4] for w in specific} & {w[:4] for w in their_specific},
        "header_in_table_name": bool(in_table),
        "header_elsewhere": not is_same and (tuple(other) in frame or mine in [words(h) for h in headers]),
        "no_letters": no_letters,
        "no_letters_same_header": no_letters and is_same,
        "both_years": are_years,
        "numeric_header": all(w.isdigit() for w in mine),
        "unique_query": own_unique,
        "both_text": are_texts,
        "position_in_table": headers.index(header) / len(headers),
        "new_columns": math.log(1 + max(0, n_new)),
        "nothing_new": n_new <= 0,
        "unique_candidate": their_unique,
        "many_to_many": not own_unique and not their_unique,
        "other_headers": math.log(1 + sum(tuple(words(h)) in frame and words(h) not in (mine, other) for h in headers)),
    }


def unnamed_numbers(query, candidate):
    """Whether both columns are numbers, or the query has no letters, and no header says that they name anything."""
    (name, own), (header, theirs) = query, candidate
    no_letters = not is_number(own) and sum(any(c.isalpha() for c in v) for v in set(own)) < 0.1 * len(set(own))
    are_years = _is_years(name, own) and _is_years(header, theirs)
    naming = {*vocabulary.NAMING, *vocabulary.MEANINGS["thing"]}
    return (
        (no_letters or (is_number(own) and is_number(theirs)))
        and not are_years
        and not naming & {*words(name), *words(header)}
    )


def odds(values, features_of_model, bias):
    """The log-odds of one candidate: names of features → mean, scale and weight, the quotient cut at ±5."""
    found = bias
    for name, one in features_of_model.items():
        found += one["weight"] * max(-5.0, min(5.0, (values[name] - one["mean"]) / one["scale"]))
    return found
