"""The steps of a program on one string: the definitions that the other forms follow.

Each function uses nothing but built-ins, `re` and functions of these modules, because `Program.to_python` pastes
its source, and those of the functions that it calls. The text is never empty; an empty result or None means that the
step does not apply.
"""

from __future__ import annotations

import re

__all__ = [
    "condition_holds",
    "keep_characters",
    "look_up",
    "look_up_pairs",
    "lower_case",
    "map_characters",
    "nth_run",
    "pad_left",
    "part_range",
    "replace_all",
    "sentence_case",
    "slice_text",
    "split_part",
    "squeeze_spaces",
    "text_after",
    "text_before",
    "text_from_run",
    "text_upto_run",
    "title_case",
    "upper_case",
]


def split_part(text: str, separator: str, index: int) -> str | None:
    """Return one of the parts between occurrences of a separator."""
    parts = text.split(separator)
    return parts[index] if -len(parts) <= index < len(parts) else None


def text_after(text: str, separator: str) -> str:
    """Return what follows the first occurrence of a separator."""
    return text.partition(separator)[2]


def text_before(text: str, separator: str) -> str:
    """Return what precedes the last occurrence of a separator."""
    return text.rpartition(separator)[0]


def part_range(text: str, separator: str, first: int, last: int) -> str | None:
    """Return the parts from one to another, with the separators between them; neither of both may be empty."""
    parts = text.split(separator)
    low, high = (index if index >= 0 else index + len(parts) for index in (first, last))
    if not 0 <= low <= high < len(parts) or not parts[low] or not parts[high]:
        return None
    return separator.join(parts[low : high + 1])


def text_from_run(text: str, pattern: str, index: int) -> str | None:
    """Return the text from the beginning of one of the runs of characters that match a pattern."""
    starts = [run.start() for run in re.finditer(pattern + "+", text)]
    return text[starts[index] :] if -len(starts) <= index < len(starts) else None


def text_upto_run(text: str, pattern: str, index: int) -> str | None:
    """Return the text up to the end of one of the runs of characters that match a pattern."""
    ends = [run.end() for run in re.finditer(pattern + "+", text)]
    return text[: ends[index]] if -len(ends) <= index < len(ends) else None


def nth_run(text: str, pattern: str, index: int) -> str | None:
    """Return one of the runs of characters that match a pattern."""
    runs = re.findall(pattern + "+", text)
    return runs[index] if -len(runs) <= index < len(runs) else None


def slice_text(text: str, start: int | None, stop: int | None) -> str:
    """Return the characters from `start` to before `stop`."""
    return text[start:stop]


def map_characters(text: str, old: str, new: str) -> str:
    """Replace each character of `old` by the one of `new` at its position."""
    return text.translate(str.maketrans(old, new))


def lower_case(text: str, upper: str, lower: str) -> str:
    """Write each letter small."""
    return text.lower() if text.isascii() else text.translate(str.maketrans(upper, lower))


def upper_case(text: str, lower: str, upper: str) -> str:
    """Write each letter large."""
    return text.upper() if text.isascii() else text.translate(str.maketrans(lower, upper))


def title_case(text: str, lower: str, upper: str, pattern: str) -> str:
    """Write the first letter of each run of letters large and the others small."""
    if text.isascii():
        return text.title()
    small, large = str.maketrans(upper, lower), str.maketrans(lower, upper)
    return re.sub(pattern + "+", lambda run: run[0][0].translate(large) + run[0][1:].translate(small), text)


def sentence_case(text: str, lower: str, upper: str) -> str:
    """Write the first character large and the others small."""
    if text.isascii():
        return text.capitalize()
    return text[0].translate(str.maketrans(lower, upper)) + text[1:].translate(str.maketrans(upper, lower))


def keep_characters(text: str, pattern: str) -> str:
    """Keep the characters that match a pattern."""
    return "".join(re.findall(pattern, text))


def replace_all(text: str, old: str, new: str) -> str:
    """Replace each occurrence of a text by another."""
    return text.replace(old, new)


def squeeze_spaces(text: str) -> str:
    """Write runs of spaces as one, and none at the ends."""
    return re.sub(" +", " ", text).strip(" ")


def pad_left(text: str, width: int, fill: str) -> str:
    """Put a character before the text until it has `width` characters."""
    return text.rjust(width, fill)


def look_up(text: str, keys: str, values: str, lower: str, upper: str) -> str | None:
    """Return what a table has for a text, its letters taken as small; entries are separated by commas."""
    key = text.translate(str.maketrans(upper, lower))
    return dict(zip(keys.split(","), values.split(","), strict=True)).get(key)


def look_up_pairs(text: str, keys: str, values: str) -> str | None:
    """Return what given pairs have for a text; keys and values are separated by U+001F."""
    return dict(zip(keys.split("\x1f"), values.split("\x1f"), strict=True)).get(text)


def condition_holds(text: str | None, kind: str, value: str, is_negated: bool) -> bool:
    """Tell whether a text meets a condition; a missing one meets no other than that there is none."""
    if not text:
        return kind == "shape" and value == "" and not is_negated
    if kind == "contains":
        return (value in text) != is_negated
    if kind == "starts":
        return text.startswith(value) != is_negated
    if kind == "ends":
        return text.endswith(value) != is_negated
    if kind == "has":
        return (re.search(value, text) is not None) != is_negated
    if kind == "divisible":
        return (re.fullmatch("[0-9]{1,15}", text) is not None and int(text) % int(value) == 0) != is_negated
    if kind == "at least":
        numbers = []
        for number in (text, value):
            if re.fullmatch("-?[0-9]{1,12}([.][0-9]{1,6})?", number):
                whole, _, rest = number.lstrip("-").partition(".")
                numbers.append(int(whole + rest.ljust(6, "0")) * (-1 if number[0] == "-" else 1))
        return (len(numbers) == 2 and numbers[0] >= numbers[1]) != is_negated
    held = len(text) > int(value) if kind == "longer" else re.fullmatch(value, text) is not None
    return held != is_negated
