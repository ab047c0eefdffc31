"""Lookup tables of months, weekdays, Roman numerals, US states and abbreviations, and the step that uses them."""

from __future__ import annotations

import re
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.programs import scalar, scalar_numbers
from dfjoin.programs.characters import LOWER, UPPER
from dfjoin.programs.operator import (
    MAX_TEXT,
    Legal,
    Operator,
    Step,
    is_text,
    one_of,
)
from dfjoin.programs.spark_sql import END, bind, quote, when_empty
from dfjoin.programs.string_column import StringColumn
from dfjoin.programs.text_operators import Case, translate

SEPARATOR = "\x1f"
"""Stands between the keys, and between the values, of given pairs."""
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_STATES = (
    "Alabama=AL Alaska=AK Arizona=AZ Arkansas=AR California=CA Colorado=CO Connecticut=CT Delaware=DE "
    "Florida=FL Georgia=GA Hawaii=HI Idaho=ID Illinois=IL Indiana=IN Iowa=IA Kansas=KS Kentucky=KY Louisiana=LA "
    "Maine=ME Maryland=MD Massachusetts=MA Michigan=MI Minnesota=MN Mississippi=MS Missouri=MO Montana=MT Nebraska=NE "
    "Nevada=NV New_Hampshire=NH New_Jersey=NJ New_Mexico=NM New_York=NY North_Carolina=NC North_Dakota=ND Ohio=OH "
    "Oklahoma=OK Oregon=OR Pennsylvania=PA Rhode_Island=RI South_Carolina=SC South_Dakota=SD Tennessee=TN Texas=TX "
    "Utah=UT Vermont=VT Virginia=VA Washington=WA West_Virginia=WV Wisconsin=WI Wyoming=WY District_of_Columbia=DC"
)
_NEWSPAPER_STATES = (
    "Alabama=Ala. Arizona=Ariz. Arkansas=Ark. California=Calif. Colorado=Colo. Connecticut=Conn. Delaware=Del. "
    "Florida=Fla. Georgia=Ga. Illinois=Ill. Indiana=Ind. Kansas=Kan. Kentucky=Ky. Louisiana=La. Maryland=Md. "
    "Massachusetts=Mass. Michigan=Mich. Minnesota=Minn. Mississippi=Miss. Missouri=Mo. Montana=Mont. Nebraska=Neb. "
    "Nevada=Nev. New_Hampshire=N.H. New_Jersey=N.J. New_Mexico=N.M. New_York=N.Y. North_Carolina=N.C. "
    "North_Dakota=N.D. Oklahoma=Okla. Oregon=Ore. Pennsylvania=Pa. Rhode_Island=R.I. South_Carolina=S.C. "
    "South_Dakota=S.D. Tennessee=Tenn. Vermont=Vt. Virginia=Va. Washington=Wash. West_Virginia=W.Va. Wisconsin=Wis. "
    "Wyoming=Wyo. Alaska=Alaska Hawaii=Hawaii Idaho=Idaho Iowa=Iowa Maine=Maine Ohio=Ohio Texas=Texas Utah=Utah"
)
"""Abbreviations of newspapers, as in the style book of the Associated Press."""
_WORDS = (
    "Street=St Avenue=Ave Boulevard=Blvd Road=Rd Drive=Dr Lane=Ln Court=Ct Place=Pl Square=Sq Highway=Hwy "
    "Parkway=Pkwy Suite=Ste Apartment=Apt Building=Bldg Floor=Fl North=N South=S East=E West=W Northeast=NE "
    "Northwest=NW Southeast=SE Southwest=SW Mount=Mt Fort=Ft Saint=St Incorporated=Inc Corporation=Corp "
    "Company=Co Limited=Ltd University=Univ Department=Dept Institute=Inst International=Intl Association=Assn "
    "Doctor=Dr Professor=Prof Mister=Mr Governor=Gov Senator=Sen President=Pres General=Gen Captain=Capt "
    "Junior=Jr Senior=Sr Number=No Volume=Vol Edition=Ed Page=P"
)


def _listed(text: str) -> list[tuple[str, str]]:
    pairs = (entry.split("=") for entry in text.split())
    return [(name.replace("_", " "), short) for name, short in pairs]


def _both(name: str, pairs: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Name a list of (long, short) in both directions; the first long form of a short one wins."""
    back: dict[str, tuple[str, str]] = {}
    for long, short in pairs:
        back.setdefault(short.lower(), (short, long))
    return {f"{name} to short": pairs, f"{name} to long": list(back.values())}


def _roman(number: int) -> str:
    """Write a number up to 100 with Roman numerals."""
    tens, ones = divmod(number, 10)
    tenths = ("", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC", "C")
    return tenths[tens] + ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")[ones]


_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"


def _in_words(number: int) -> str:
    """Write a number up to 100 in words.

    Examples
    --------
    >>> _in_words(0), _in_words(13), _in_words(42)
    ('zero', 'thirteen', 'forty-two')
    """
    if number == 100:
        return "one hundred"
    small = _TO_NINETEEN.split()
    if number < 20:
        return small[number]
    tens = _TENS.split()[number // 10 - 2]
    return f"{tens}-{small[number % 10]}" if number % 10 else tens


_ROMANS = [(_roman(i), str(i)) for i in range(1, 101)]
_NUMBERS = [str(i) for i in range(1, 13)]
_PADDED = [f"{i:02d}" for i in range(1, 13)]
_SHORT_MONTHS = [month[:3] for month in _MONTHS]
_PAIRS: dict[str, list[tuple[str, str]]] = {
    **_both("month", list(zip(_MONTHS, _SHORT_MONTHS, strict=True))),
    "month to number": [
        *zip(_MONTHS, _NUMBERS, strict=True),
        *zip(_SHORT_MONTHS, _NUMBERS, strict=True),
        ("Sept", "9"),
    ],
    "number to month": [*zip(_NUMBERS, _MONTHS, strict=True), *zip(_PADDED, _MONTHS, strict=True)],
    "number to short month": [*zip(_NUMBERS, _SHORT_MONTHS, strict=True), *zip(_PADDED, _SHORT_MONTHS, strict=True)],
    "roman to number": _ROMANS,
    "number to roman": [(number, roman) for roman, number in _ROMANS],
    **_both("weekday", [(day, day[:3]) for day in _DAYS]),
    "weekday to number": [*zip(_DAYS, _NUMBERS, strict=False), *((day[:3], str(i + 1)) for i, day in enumerate(_DAYS))],
    "number to weekday": list(zip(_NUMBERS[:7], _DAYS, strict=True)),
    "number to word": [(str(i), _in_words(i)) for i in range(101)],
    "word to number": [(_in_words(i), str(i)) for i in range(101)],
    **_both("state", _listed(_STATES)),
    **_both("newspaper state", _listed(_NEWSPAPER_STATES)),
    **_both("word", _listed(_WORDS)),
}
TABLES = tuple(_PAIRS)
"""Names of the tables."""


@cache
def _tables_by_key() -> dict[str, list[str]]:
    tables: dict[str, list[str]] = {}
    for table in TABLES:
        for key in dict.fromkeys(key.lower() for key, _ in _PAIRS[table]):
            tables.setdefault(key, []).append(table)
    return tables


def tables_with(key: str) -> list[str]:
    """Return the tables that have an entry for a text in small letters."""
    return _tables_by_key().get(key, [])


@cache
def look_up_pairs(table: str) -> tuple[str, str]:
    """Return the keys, in small letters, and the values of a table, each joined by commas."""
    entries: dict[str, str] = {}
    for key, value in _PAIRS[table]:
        entries.setdefault(key.lower(), value)
    return ",".join(entries), ",".join(entries.values())


def _lookup_sql(step: Step, operand: str) -> str:
    """Use a map."""
    keys, values = (f"split({quote(text)}, ',')" for text in look_up_pairs(step.table))
    return f"try_element_at(map_from_arrays({keys}, {values}), {translate(operand, LOWER)})"


def _lookup_column(step: Step, strings: StringColumn) -> StringColumn:
    """Find the lower-cased strings among the keys."""
    keys, values = (pa.array(text.split(",")) for text in look_up_pairs(step.table))
    lowered = Case("lower").apply(strings).to_arrow()
    return StringColumn.of(values.take(pc.index_in(lowered, keys.cast(lowered.type), skip_nulls=True)))


Lookup = Operator(
    "lookup",
    {"table": one_of(TABLES)},
    scalar.look_up,
    words="look_up({table!r})",
    arguments=lambda step: (*look_up_pairs(step.table), *UPPER),
    sql=_lookup_sql,
    apply=_lookup_column,
    weight=2,
)
"""The entry of a lookup table for a text, whatever its casing.

Parameters
----------
table : str
    One of `TABLES`.
"""


def _pairs_sql(step: Step, operand: str) -> str:
    """Use a map."""
    keys, values = (f"split({quote(text)}, {quote(SEPARATOR)}, -1)" for text in (step.keys, step.values))
    return when_empty(f"try_element_at(map_from_arrays({keys}, {values}), {operand})")


def _pairs_words(step: Step) -> str:
    pairs = dict(zip(step.keys.split(SEPARATOR), step.values.split(SEPARATOR), strict=True))
    shown = ", ".join(f"{key!r}: {value!r}" for key, value in list(pairs.items())[:4])
    return f"look_up({{{shown}{', …' if len(pairs) > 4 else ''}}})"


def _pairs_column(step: Step, strings: StringColumn) -> StringColumn:
    """Find the strings among the keys."""
    keys, values = (pa.array(text.split(SEPARATOR)) for text in (step.keys, step.values))
    array = strings.to_arrow()
    return StringColumn.of(values.take(pc.index_in(array, keys.cast(array.type), skip_nulls=True)))


MAX_PAIRS_TEXT = 20_000
"""Characters of the pairs that a stored program may hold."""
_LONG_TEXT = Legal(lambda value: is_text(value, 1, MAX_PAIRS_TEXT), f"a text of 1 to {MAX_PAIRS_TEXT} characters")


def _pairs_fault(step: Step) -> str:
    listed, texts = step.keys.split(SEPARATOR), step.values.split(SEPARATOR)
    if len(listed) == len(texts) and len(set(listed)) == len(listed) and max(map(len, texts)) <= MAX_TEXT:
        return ""
    return (
        "`keys` and `values` of step 'pairs' must be equally many, no key twice, no value above "
        f"{MAX_TEXT} characters; got {step.keys!r:.80}, {step.values!r:.80}"
    )


GivenPairs = Operator(
    "pairs",
    {"keys": _LONG_TEXT, "values": _LONG_TEXT},
    scalar.look_up_pairs,
    words=_pairs_words,
    sql=_pairs_sql,
    apply=_pairs_column,
    weight=6,
    fault=_pairs_fault,
)
"""What pairs that the user gave have for a text; nothing for other texts.

Parameters
----------
keys, values : str
    As many of one as of the other, U+001F between them; no key twice.
"""


def _bounds_of(step: Step) -> tuple[int | None, ...]:
    return tuple(None if bound == NO_BOUND else int(bound) for bound in step.bounds.split(" "))


def _band_sql(step: Step, operand: str) -> str:
    """Use ``CASE`` over a decimal."""
    is_number = f"x RLIKE {quote(f'^-?[0-9]{{1,15}}([.][0-9]{{1,9}})?{END}')}"
    value = f"CAST(CASE WHEN {is_number} THEN x END AS DECIMAL(24, 9))"
    first, *ends = _bounds_of(step)
    cases = "WHEN v IS NULL THEN NULL" + ("" if first is None else f" WHEN v < {first} THEN NULL")
    for end, name in zip(ends, step.names.split(SEPARATOR), strict=True):
        cases += f" ELSE {quote(name)}" if end is None else f" WHEN v < {end} THEN {quote(name)}"
    return bind(operand, f"transform(array({value}), v -> CASE {cases} END)[0]")


def _band_words(step: Step) -> str:
    names = step.names.split(SEPARATOR)
    return f"band({', '.join(map(repr, names[:4]))}{', …' if len(names) > 4 else ''})"


def _band_fault(step: Step) -> str:
    bounds, names = _bounds_of(step), step.names.split(SEPARATOR)
    known = [bound for bound in bounds if bound is not None]
    if len(names) == len(bounds) - 1 and all(names) and known == sorted(set(known)):
        return ""
    return (
        "`bounds` of step 'band' must rise, one more of them than of `names`, none of which is empty; "
        f"got {step.bounds!r:.80}, {step.names!r:.80}"
    )


NO_BOUND = ".."
"""What stands for the first bound or the last one of bands that are open there."""
_BOUNDS = re.compile(r"(?:\.\.|-?[0-9]{1,9}) (?:-?[0-9]{1,9} )*(?:\.\.|-?[0-9]{1,9})")
Band = Operator(
    "band",
    {
        "bounds": Legal(
            lambda value: is_text(value, 1, MAX_TEXT) and _BOUNDS.fullmatch(value) is not None,
            f"whole numbers of at most 9 digits with a space between, the first or the last may be {NO_BOUND!r}",
        ),
        "names": _LONG_TEXT,
    },
    scalar_numbers.band_of,
    words=_band_words,
    arguments=lambda step: (_bounds_of(step), tuple(step.names.split(SEPARATOR))),
    sql=_band_sql,
    weight=6,
    computes=True,
    fault=_band_fault,
)
"""The name of the band that a plain decimal number lies in: ``42`` is in ``35-49``.

Parameters
----------
bounds : str
    Rising whole numbers with a space between: a band begins with one of them and ends before the next one. The first
    or the last may be ``..``: the band is open there.
names : str
    A name for each band, U+001F between them.
"""
