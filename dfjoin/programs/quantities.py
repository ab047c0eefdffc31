"""The operator that reads a number with its magnitude or unit, and the tables of these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from itertools import permutations

import pyarrow as pa
import pyarrow.compute as pc

from dfjoin.programs import scalar_numbers
from dfjoin.programs.characters import LOWER, UPPER
from dfjoin.programs.operator import (
    Operator,
    Step,
    one_of,
)
from dfjoin.programs.spark_sql import END, bind, quote
from dfjoin.programs.string_column import StringColumn
from dfjoin.programs.text_operators import Case, translate

_UNITS = {
    "number": "",
    "magnitude": "=1 %=0.01 percent=0.01 \u2030=0.001 k=1000 thousand=1000 tsd=1000 m=1000000 mn=1000000 mio=1000000 "
    "million=1000000 millions=1000000 mm=1000000 b=1000000000 bn=1000000000 mrd=1000000000 billion=1000000000 "
    "billions=1000000000",
    "bytes": "=1 B=1 b=0.125 bit=0.125 bits=0.125 byte=1 bytes=1 k=1024 kb=1024 kib=1024 "
    "m=1048576 mb=1048576 mib=1048576 g=1073741824 gb=1073741824 gib=1073741824",
    "decimal bytes": "=1 B=1 b=0.125 bit=0.125 bits=0.125 byte=1 bytes=1 kb=1000 kib=1024 mb=1000000 "
    "mib=1048576 gb=1000000000 gib=1073741824",
    "length": "\u00b5m=0.000001 um=0.000001 mm=0.001 millimeters=0.001 cm=0.01 centimeters=0.01 dm=0.1 m=1 meter=1 "
    "meters=1 metre=1 metres=1 km=1000 kilometers=1000 kilometres=1000 in=0.0254 inch=0.0254 inches=0.0254 ''=0.0254 "
    '"=0.0254 ft=0.3048 foot=0.3048 feet=0.3048 yd=0.9144 yds=0.9144 yard=0.9144 yards=0.9144 mi=1609.344 '
    "mile=1609.344 miles=1609.344 nmi=1852",
    "mass": "mg=0.001 g=1 gr=1 gram=1 grams=1 kg=1000 kgs=1000 kilogram=1000 kilograms=1000 kilo=1000 t=1000000 "
    "tonne=1000000 tonnes=1000000 oz=28.349523125 ounce=28.349523125 ounces=28.349523125 lb=453.59237 lbs=453.59237 "
    "pound=453.59237 pounds=453.59237 st=6350.29318 stone=6350.29318",
    "volume": "ml=1 cl=10 dl=100 l=1000 liter=1000 liters=1000 litre=1000 litres=1000 m3=1000000 m\u00b3=1000000 "
    "gal=3785.411784 gallon=3785.411784 gallons=3785.411784 qt=946.352946 quart=946.352946 quarts=946.352946 "
    "pt=473.176473 pint=473.176473 pints=473.176473 cup=236.5882365 cups=236.5882365",
    "area": "m2=1 m\u00b2=1 sqm=1 km2=1000000 km\u00b2=1000000 ha=10000 hectare=10000 hectares=10000 "
    "acre=4046.8564224 acres=4046.8564224 sq_ft=0.09290304 sqft=0.09290304 ft2=0.09290304 ft\u00b2=0.09290304 "
    "sq_mi=2589988.110336 mi2=2589988.110336 mi\u00b2=2589988.110336",
    "duration": "ms=0.001 s=1 sec=1 secs=1 second=1 seconds=1 min=60 mins=60 minute=60 minutes=60 h=3600 hr=3600 "
    "hrs=3600 hour=3600 hours=3600 d=86400 day=86400 days=86400 w=604800 week=604800 weeks=604800",
    "speed": "km/h=1 kmh=1 kph=1 m/s=3.6 mph=1.609344 mi/h=1.609344 kn=1.852 kt=1.852 knots=1.852 ft/s=1.09728",
    "energy": "j=1 kj=1000 mj=1000000 cal=4.184 kcal=4184 wh=3600 kwh=3600000 mwh=3600000000",
    "pressure": "pa=1 hpa=100 kpa=1000 mpa=1000000 mbar=100 bar=100000 psi=6894.757293168 atm=101325",
}
"""Table → its units, in small letters, with their factors; ``_`` stands for a space. ``number``: whatever the unit."""
QUANTITIES = tuple(_UNITS)
"""Names of the tables."""
_COMPARED = {
    "length": "mm cm m km in ft yd mi",
    "mass": "g kg oz lb t",
    "volume": "ml l gal pt",
    "area": "m2 km2 ha acre",
    "speed": "km/h m/s mph kn",
    "energy": "kj kcal kwh",
    "pressure": "kpa bar psi",
}
"""Units of which a whole column may be, and another of the same things in another one."""
_WHOLE = "[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12}"
_PARTS = f"([^0-9]*)({_WHOLE})([.][0-9]{{1,6}})?([^0-9]*)"
_MINUS = "(?:^|[^0-9A-Za-z])[-\u2212][ $\u20ac\u00a3\u00a5]*"
_SMALLEST = "0.000001"


@cache
def unit_factors(table: str) -> tuple[str, str]:
    """Return the units and the factors of a table, each joined by commas; two empty texts if any unit will do."""
    entries = [entry.rpartition("=") for entry in re.findall("[^ ]*=[^ ]*", _UNITS[table])]
    return ",".join(unit.replace("_", " ") for unit, _, _ in entries), ",".join(factor for _, _, factor in entries)


@cache
def unit_ratios() -> dict[tuple[str, str], str]:
    """Return the factor and the offset that take one unit to another, as plain decimals, with the names of both.

    Examples
    --------
    >>> unit_ratios()["2.54", "0"]
    'in in cm'
    """
    found = {
        ("1.8", "32"): "degrees Celsius in Fahrenheit",
        ("0.555555555555556", "-17.7777777778"): "Fahrenheit in Celsius",
    }
    for table, names in _COMPARED.items():
        units, factors = (part.split(",") for part in unit_factors(table))
        factor_of = dict(zip(units, map(Decimal, factors), strict=True))
        for one, two in permutations(names.split(), 2):
            ratio = factor_of[one] / factor_of[two]
            text = f"{ratio:.15f}".rstrip("0").rstrip(".")
            if ratio < 10**5 and ratio > Decimal("1e-6"):
                found.setdefault((text, "0"), f"{one} in {two}")
    return found


@cache
def _unit_names(table: str) -> frozenset[str]:
    return frozenset(unit_factors(table)[0].split(","))


def _quantity_sql(step: Step, operand: str) -> str:
    """Use decimals and a map of units."""
    pattern = quote(f"^{_PARTS}{END}")
    before, whole, rest, unit = (f"regexp_extract(x, {pattern}, {number})" for number in range(1, 5))
    sign = f"CASE WHEN {before} RLIKE {quote(_MINUS + END)} THEN '-' ELSE '' END"
    number = f"CAST(concat({sign}, replace({whole}, ',', ''), {rest}) AS DECIMAL(18, 6))"
    factor = "CAST('1' AS DECIMAL(19, 9))"
    if step.table != "number":
        units, factors = (f"split({quote(part)}, ',')" for part in unit_factors(step.table))
        key = f"trim(TRAILING '. ' FROM trim(LEADING ' ' FROM {unit}))"
        found = (f"try_element_at(map_from_arrays({units}, {factors}), {k})" for k in (key, translate(key, LOWER)))
        factor = f"CAST(coalesce({', '.join(found)}) AS DECIMAL(19, 9))"
    value = bind(operand, f"CASE WHEN x RLIKE {pattern} THEN {number} * {factor} END")
    written = "trim(TRAILING '.' FROM trim(TRAILING '0' FROM CAST(x AS STRING)))"
    return bind(value, f"CASE WHEN x = 0 THEN '0' WHEN abs(x) >= {_SMALLEST} THEN {written} END")


def _quantity_column(step: Step, strings: StringColumn) -> StringColumn:
    """Compute with decimals of 38 digits."""
    text = strings.to_arrow()
    nothing = pa.scalar(None, text.type)
    names = ("before", "whole", "rest", "unit")
    pattern = _PARTS
    for name in names:
        pattern = re.sub(r"\((?![?])", f"(?P<{name}>", pattern, count=1)
    parts = pc.extract_regex(text, rf"^{pattern}\z")
    before, whole, rest, unit = (pc.struct_field(parts, name) for name in names)
    sign = pc.if_else(pc.match_substring_regex(before, rf"{_MINUS}\z"), "-", "")
    number = pc.binary_join_element_wise(
        *(part.cast(text.type) for part in (sign, pc.replace_substring(whole, ",", ""), rest)),
        pa.scalar("", text.type),
    ).cast(pa.decimal128(18, 6))
    factor = pa.scalar("1").cast(pa.decimal128(19, 9))
    if step.table != "number":
        units, factors = (pa.array(part.split(",")) for part in unit_factors(step.table))
        trimmed = pc.utf8_rtrim(pc.utf8_ltrim(unit, " "), ". ")
        indices = (pc.index_in(key, units.cast(key.type), skip_nulls=True) for key in (trimmed, _lower(trimmed)))
        factor = factors.cast(pa.decimal128(19, 9)).take(pc.coalesce(*indices))
    value = pc.multiply(number, factor)
    written = pc.utf8_rtrim(pc.utf8_rtrim(value.cast(pa.string()), "0"), ".")
    size = pc.abs(value)
    is_shown = pc.greater_equal(size, pa.scalar(_SMALLEST).cast(value.type))
    is_zero = pc.equal(size, pa.scalar("0").cast(value.type))
    found = pc.if_else(is_shown, written, pa.scalar(None, pa.string()))
    return StringColumn.of(pc.if_else(is_zero, "0", found) if len(text) else pc.fill_null(text, nothing))


Quantity = Operator(
    "quantity",
    {"table": one_of(QUANTITIES)},
    scalar_numbers.read_quantity,
    words="quantity({table!r})",
    arguments=lambda step: (*unit_factors(step.table), *UPPER),
    sql=_quantity_sql,
    apply=_quantity_column,
    weight=4,
    computes=True,
)
"""The only number of a text as a plain decimal, times the factor of the unit behind it.

A number has at most 12 digits before its point, with or without commas between its thousands, and at most 6 behind
it. A minus sign before it, or before the sign of a currency, makes it negative. Whatever else stands before the
number does not matter; what stands behind has to be a unit of the table, casing and a full stop at its end
aside. Results smaller than 10^-6 are none.

Parameters
----------
table : str
    One of `QUANTITIES`; with ``number`` the unit does not matter either.
"""


def _lower(texts: pa.Array) -> pa.Array:
    """Write texts in small letters, empty ones as they are."""
    lowered = Case("lower").apply(StringColumn.of(texts)).to_arrow()
    return pc.if_else(pc.equal(texts, ""), "", lowered)


def quantity_tables(texts: Sequence[str | None]) -> list[str]:
    """Return the tables whose units all texts have, but for a tenth of them.

    Parameters
    ----------
    texts : sequence of str or None
        Cells of a column.

    Returns
    -------
    list of str
        Tables with units first; ``number`` alone where all texts have the same words around their numbers.
    """
    parts = [found for text in texts if text and (found := re.fullmatch(_PARTS, text))]
    if len(parts) < 0.9 * len(texts) or not parts:
        return []
    units = [found[4].lstrip(" ").rstrip(". ") for found in parts]
    is_bytes = any("b" in unit.lower() for unit in units)
    fitting = [
        table
        for table in QUANTITIES
        if table != "number"
        and any(units)
        and (is_bytes or "bytes" not in table)
        and sum(unit in _unit_names(table) or unit.lower() in _unit_names(table) for unit in units) >= 0.9 * len(units)
    ]
    return [*fitting, "number"] if len({(found[1], found[4]) for found in parts}) <= 2 else fitting
