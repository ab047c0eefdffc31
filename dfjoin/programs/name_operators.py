"""Normal forms of names of people and of organisations: what differently written names of one thing have in common."""

from __future__ import annotations

from dfjoin.programs import scalar_names
from dfjoin.programs.characters import LOWER, PLAIN, pattern_of
from dfjoin.programs.operator import Operator, Step, one_of
from dfjoin.programs.spark_sql import quote, when_empty
from dfjoin.programs.text_operators import translate

NAME_FORMS = ("whole name", "first and last name", "initial and last name", "organisation")

_TITLES = (
    "dr mr mrs ms miss mx prof professor sir dame rev reverend fr senator gov governor maj capt lt "
    "sgt cmdr adm herr frau mme mlle sr sra dott ing dipl"
)
"""Forms of address in common use, without those that are also names (Judge, Dean, Sen, Hon, Gen, Col, Rep)."""
_SUFFIXES = "jr junior ii iii iv esq phd ph dphil md mba msc bsc llm llb dds dvm cpa obe cbe kbe frs"
"""Generations, degrees and honours after a name: no single letter, and nothing that is a surname, such as Ma or Do."""
_LEGAL_FORMS = (
    "inc incorporated corp corporation co company ltd limited llc llp lp plc pllc gmbh mbh ag kg kgaa ug ohg gbr se sa "
    "sas sarl sl slu srl spa nv bv ab as asa aps oy oyj kk pty pte pvt sro kft zrt ev"
)
"""Endings of names of companies: the common abbreviations among the legal forms that ISO 20275 lists."""
_SHORT_WORDS = (
    ("univ", "university"),
    ("inst", "institute"),
    ("intl", "international"),
    ("natl", "national"),
    ("assn", "association"),
    ("assoc", "association"),
    ("dept", "department"),
    ("hosp", "hospital"),
    ("bros", "brothers"),
)
"""Abbreviated words of organisations with one meaning; ``st``, ``tech`` and ``col`` have several, and stay."""

_LETTERS = pattern_of("letters")[1:-1]
_AROUND = "(?<![^ ,]){}(?![^ ,])"
"""A word between spaces, commas, and the ends of a text."""

Rules = tuple[tuple[str, str], ...]


def _any_of(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


_CLEAN: Rules = (
    ("['\u2019]", ""),
    (f"[^{_LETTERS}0-9,]+", " "),
)
_TRIM: Rules = (("[ ,]+", " "), ("^ ", ""), (" $", ""))
_PERSON: Rules = (
    *_CLEAN,
    (_AROUND.format(f"(?:ph d|m d|{_any_of(f'{_TITLES} {_SUFFIXES}')})"), ""),
    (",[ ,]*", ","),
    ("^[ ,]+", ""),
    ("[ ,]+$", ""),
    ("^([^,]*),(.*)$", r"\2 \1"),
    *_TRIM,
    ("^([^ ][^ ]+) ([^ ])( [^ ])?$", r"\2 \1"),
)
_ORGANISATION: Rules = (
    ("[.]", ""),
    ("[&+]", " and "),
    *_CLEAN,
    *_TRIM,
    ("^the ", ""),
    (" sp z ?o ?o$", ""),
    (" z o o$", ""),
    (f"( and)?( {_any_of(_LEGAL_FORMS)}( and)?)+$", ""),
    *((_AROUND.format(short), long) for short, long in _SHORT_WORDS),
    ("^university (?:of|at) (?:the )?(.+)$", r"\1 university"),
    (" (?:of|the|at|in|for|and)(?= )", ""),
)
_RULES: dict[str, Rules] = {
    "whole name": _PERSON,
    "first and last name": (*_PERSON, ("^([^ ]+) (?:.* )?([^ ]+)$", r"\1 \2")),
    "initial and last name": (*_PERSON, ("^([^ ])[^ ]* (?:.* )?([^ ]+)$", r"\1 \2")),
    "organisation": _ORGANISATION,
}


def _sql(step: Step, operand: str) -> str:
    """Use one ``regexp_replace`` for each rule; groups are written with a dollar sign there."""
    made = translate(translate(operand, LOWER), PLAIN)
    for pattern, new in _RULES[step.kind]:
        made = f"regexp_replace({made}, {quote(pattern)}, {quote(new.replace(chr(92), '$'))})"
    return when_empty(made)


NormalName = Operator(
    "normal_name",
    {"kind": one_of(NAME_FORMS)},
    scalar_names.normal_name,
    words="normal_name({kind!r})",
    arguments=lambda step: (*LOWER, *PLAIN, _RULES[step.kind]),
    sql=_sql,
    weight=6,
    growth=lambda step: 5.0,
)
"""What differently written names of one thing have in common, in small letters without accents.

Parameters
----------
kind : {"whole name", "first and last name", "initial and last name", "organisation"}
    Of people: titles and suffixes are left out, and what stands behind a comma comes first;
    ``White, Dr. Andrew J.`` is ``andrew j white``, ``andrew white`` or ``a white``. Of organisations: legal forms,
    ``the`` and small words are left out, and ``University of X`` is ``x university``.

Examples
--------
>>> NormalName("first and last name")("White, Dr. Andrew J., Jr."), NormalName("organisation")("Univ. of Texas")
('andrew white', 'texas university')
"""
