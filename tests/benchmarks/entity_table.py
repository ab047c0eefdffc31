"""Makes the table of names that the package has: ``python -m tests.benchmarks.entity_table``, with the extra ``benchmark``.

Countries, languages, currencies, units, months and weekdays in the languages below are Unicode CLDR's, read from the
package babel (BSD licence; the data is under the Unicode License, ``dfjoin/programs/entities.LICENSE.txt``). Codes are those
of ISO 3166, 639 and 4217, as CLDR has them. Names that CLDR does not list, parts of countries and chemical elements were
written by hand, below.

A line of the table is a kind, a name in English, and its other names, with a tab between kind, name and names, and U+001F between
names. A name that two things of a kind share belongs to the one that has it in English or as a code, else to none: Croatian
``listopad`` is October, in other languages it is November.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from dfjoin.programs.entity_operators import ENTITIES, fold_name
from dfjoin.programs.lookup import look_up_pairs

LANGUAGES = [
    "en",
    "de",
    "fr",
    "es",
    "it",
    "pt",
    "nl",
    "sv",
    "da",
    "nb",
    "fi",
    "pl",
    "cs",
    "sk",
    "hu",
    "ro",
    "hr",
    "sl",
    "bg",
    "el",
    "ru",
    "uk",
    "tr",
    "ar",
    "he",
    "fa",
    "hi",
    "id",
    "vi",
    "th",
    "ja",
    "ko",
    "zh",
    "zh_Hant",
    "ca",
]
"""Languages of the names; of names that mean several things English decides."""

_COUNTRIES = {
    "US": "USA|U.S.|U.S.A.|United States of America|America|the United States|Estados Unidos de América|EE. UU.|EEUU|EUA|SUA|ABD|США",
    "GB": "UK|U.K.|Great Britain|Britain|United Kingdom of Great Britain and Northern Ireland|Grande-Bretagne",
    "KR": "South Korea|Korea, South|Korea, Republic of|Republic of Korea|Korea (South)|Korea, Rep.|Korea Rep|S. Korea",
    "KP": "North Korea|Korea, North|Korea, Democratic People's Republic of|Democratic People's Republic of Korea|"
    "Korea (North)|Korea, Dem. People's Rep.|Korea, Dem. Rep.|DPRK|N. Korea",
    "RU": "Russian Federation|Russian Fed.", "IR": "Iran, Islamic Republic of|Islamic Republic of Iran|Iran, Islamic Rep.",
    "CD": "Congo, Democratic Republic of the|Democratic Republic of the Congo|Congo, The Democratic Republic of the|"
    "Congo (Kinshasa)|Congo, Dem. Rep.|DR Congo|DRC|Zaire|Democratic Republic of Congo|Congo - Kinshasa",
    "CG": "Congo|Republic of the Congo|Congo (Brazzaville)|Congo, Rep.|Congo, Republic of|Congo, Republic of the",
    "CZ": "Czech Republic|Czech Rep.", "CI": "Ivory Coast|Cote d'Ivoire|Elfenbeinküste", "CV": "Cabo Verde|Cape Verde",
    "SZ": "Swaziland|Eswatini", "MK": "Macedonia|North Macedonia|Macedonia, the former Yugoslav Republic of|"
    "The former Yugoslav Republic of Macedonia|Macedonia, FYR|FYROM",
    "MM": "Burma|Myanmar", "NL": "Holland|The Netherlands", "AE": "UAE|U.A.E.", "VN": "Viet Nam", "SY": "Syrian Arab Republic",
    "LA": "Lao People's Democratic Republic|Lao PDR", "MD": "Moldova, Republic of|Republic of Moldova",
    "BO": "Bolivia, Plurinational State of|Bolivia (Plurinational State of)|Plurinational State of Bolivia",
    "VE": "Venezuela, Bolivarian Republic of|Venezuela (Bolivarian Republic of)|Venezuela, RB|"
    "Bolivarian Republic of Venezuela",
    "TZ": "Tanzania, United Republic of|United Republic of Tanzania", "BN": "Brunei Darussalam",
    "TW": "Taiwan, Province of China|Taiwan, China|Chinese Taipei|Republic of China",
    "CN": "People's Republic of China|PRC|China, People's Republic of|P.R. China|Mainland China",
    "HK": "Hong Kong|Hong Kong, China|Hong Kong SAR|China, Hong Kong SAR|Hong Kong SAR, China",
    "MO": "Macao|Macau|Macao SAR, China|China, Macao SAR", "PS": "Palestine|Palestine, State of|State of Palestine|"
    "West Bank and Gaza|Occupied Palestinian Territory|Palestinian Territory, Occupied|Palestinian Territory",
    "FM": "Micronesia, Federated States of|Federated States of Micronesia|Micronesia (Federated States of)|"
    "Micronesia, Fed. Sts.", "BS": "The Bahamas|Bahamas, The|Bahamas", "GM": "The Gambia|Gambia, The|Gambia",
    "EG": "Egypt, Arab Rep.|Arab Republic of Egypt", "YE": "Yemen, Rep.|Republic of Yemen", "KG": "Kyrgyz Republic",
    "SK": "Slovak Republic", "VA": "Holy See|Holy See (Vatican City State)|Vatican|The Vatican", "TL": "East Timor|Timor-Leste",
    "TR": "Turkey|Türkiye|Turkiye", "BA": "Bosnia and Herzegovina|Bosnia-Herzegovina|Bosnia", "IE": "Republic of Ireland|Eire",
    "KN": "Saint Kitts and Nevis|St. Kitts and Nevis", "LC": "Saint Lucia|St. Lucia",
    "VC": "Saint Vincent and the Grenadines|St. Vincent and the Grenadines", "TT": "Trinidad and Tobago|Trinidad & Tobago",
    "AG": "Antigua and Barbuda|Antigua & Barbuda", "ST": "Sao Tome and Principe|São Tomé and Príncipe", "CU": "Republic of Cuba",
    "GR": "Hellenic Republic", "DE": "Federal Republic of Germany|FRG", "FR": "French Republic", "LY": "Libyan Arab Jamahiriya",
    "GW": "Guinea Bissau", "AN": "", "VI": "Virgin Islands, U.S.|Virgin Islands (U.S.)|US Virgin Islands",
    "VG": "Virgin Islands, British|British Virgin Islands", "FK": "Falkland Islands (Malvinas)|Falkland Islands",
}  # fmt: skip
"""Other names of countries in English, as lists of the United Nations, the World Bank and newspapers have them."""

_PARTS = {
    "US state": "Puerto_Rico=PR Guam=GU",
    "Canadian province": "Alberta=AB British_Columbia=BC Manitoba=MB New_Brunswick=NB Newfoundland_and_Labrador=NL "
    "Nova_Scotia=NS Northwest_Territories=NT Nunavut=NU Ontario=ON Prince_Edward_Island=PE Quebec=QC Québec=QC "
    "Saskatchewan=SK Yukon=YT",
    "Australian state": "New_South_Wales=NSW Victoria=VIC Queensland=QLD South_Australia=SA Western_Australia=WA Tasmania=TAS "
    "Northern_Territory=NT Australian_Capital_Territory=ACT",
    "German state": "Baden-Württemberg=BW Bavaria=BY Bayern=BY Berlin=BE Brandenburg=BB Bremen=HB Hamburg=HH Hesse=HE "
    "Hessen=HE Mecklenburg-Western_Pomerania=MV Mecklenburg-Vorpommern=MV Lower_Saxony=NI Niedersachsen=NI "
    "North_Rhine-Westphalia=NW Nordrhein-Westfalen=NW NRW=NW Rhineland-Palatinate=RP Rheinland-Pfalz=RP Saarland=SL "
    "Saxony=SN Sachsen=SN Saxony-Anhalt=ST Sachsen-Anhalt=ST Schleswig-Holstein=SH Thuringia=TH Thüringen=TH",
    "Brazilian state": "Acre=AC Alagoas=AL Amapá=AP Amazonas=AM Bahia=BA Ceará=CE Distrito_Federal=DF Espírito_Santo=ES "
    "Goiás=GO Maranhão=MA Mato_Grosso=MT Mato_Grosso_do_Sul=MS Minas_Gerais=MG Pará=PA Paraíba=PB Paraná=PR "
    "Pernambuco=PE Piauí=PI Rio_de_Janeiro=RJ Rio_Grande_do_Norte=RN Rio_Grande_do_Sul=RS Rondônia=RO Roraima=RR "
    "Santa_Catarina=SC São_Paulo=SP Sergipe=SE Tocantins=TO",
}
"""Parts of countries and their codes of ISO 3166-2; the first name of a code is the English one."""

_ELEMENTS = (
    "hydrogen=H helium=He lithium=Li beryllium=Be boron=B carbon=C nitrogen=N oxygen=O fluorine=F neon=Ne sodium=Na "
    "magnesium=Mg aluminium=Al silicon=Si phosphorus=P sulfur=S chlorine=Cl argon=Ar potassium=K calcium=Ca scandium=Sc "
    "titanium=Ti vanadium=V chromium=Cr manganese=Mn iron=Fe cobalt=Co nickel=Ni copper=Cu zinc=Zn gallium=Ga germanium=Ge "
    "arsenic=As selenium=Se bromine=Br krypton=Kr rubidium=Rb strontium=Sr yttrium=Y zirconium=Zr niobium=Nb molybdenum=Mo "
    "technetium=Tc ruthenium=Ru rhodium=Rh palladium=Pd silver=Ag cadmium=Cd indium=In tin=Sn antimony=Sb tellurium=Te "
    "iodine=I xenon=Xe caesium=Cs barium=Ba lanthanum=La cerium=Ce praseodymium=Pr neodymium=Nd promethium=Pm samarium=Sm "
    "europium=Eu gadolinium=Gd terbium=Tb dysprosium=Dy holmium=Ho erbium=Er thulium=Tm ytterbium=Yb lutetium=Lu hafnium=Hf "
    "tantalum=Ta tungsten=W rhenium=Re osmium=Os iridium=Ir platinum=Pt gold=Au mercury=Hg thallium=Tl lead=Pb bismuth=Bi "
    "polonium=Po astatine=At radon=Rn francium=Fr radium=Ra actinium=Ac thorium=Th protactinium=Pa uranium=U neptunium=Np "
    "plutonium=Pu americium=Am curium=Cm berkelium=Bk californium=Cf einsteinium=Es fermium=Fm mendelevium=Md nobelium=No "
    "lawrencium=Lr rutherfordium=Rf dubnium=Db seaborgium=Sg bohrium=Bh hassium=Hs meitnerium=Mt darmstadtium=Ds "
    "roentgenium=Rg copernicium=Cn nihonium=Nh flerovium=Fl moscovium=Mc livermorium=Lv tennessine=Ts oganesson=Og "
    "aluminum=Al cesium=Cs sulphur=S"
)

_SYMBOLS = {
    "mass-gram": "g", "duration-second": "s", "duration-hour": "h", "duration-minute": "min", "mass-tonne": "t|metric ton",
    "temperature-celsius": "°C|Celsius|C", "temperature-fahrenheit": "°F|Fahrenheit|F", "temperature-kelvin": "K|Kelvin",
    "electric-ampere": "A", "electric-volt": "V", "power-watt": "W", "force-newton": "N", "energy-joule": "J",
    "length-micrometer": "µm|um", "volume-liter": "litre|litres", "length-meter": "metre|metres",
    "length-kilometer": "kilometre|kilometres", "length-centimeter": "centimetre|centimetres",
    "length-millimeter": "millimetre|millimetres",
}  # fmt: skip
"""Symbols of the SI and British spellings that CLDR does not list in English."""

Named = dict[str, list[list[str]]]
"""Identity of a thing → its names: in English and codes, then in each other language."""


def countries(locales: dict[str, object]) -> Named:
    """Return the names of the countries of ISO 3166, with their codes."""
    from babel.core import get_global

    long = {old: new[0] for old, new in get_global("territory_aliases").items() if len(old) == 3 and old.isalpha()}
    named: Named = {}
    for code, name in locales["en"].territories.items():
        if len(code) != 2 or not code.isalpha() or code in ("EU", "EZ", "UN", "ZZ", "XA", "XB", "QO", "XK"):
            continue
        codes = [
            code,
            *(old for old, new in long.items() if new == code and len(get_global("territory_aliases")[old]) == 1),
        ]
        first = [
            name,
            *_COUNTRIES.get(code, "").split("|"),
            name.replace("&", "and"),
            name.replace("St.", "Saint"),
            *codes,
        ]
        named[code] = [first, *([locale.territories.get(code, "")] for locale in locales.values())]
    return named


def languages(locales: dict[str, object]) -> Named:
    """Return the names of the languages that have a code of two letters, and of Cantonese and the like by CLDR."""
    from babel import Locale, UnknownLocaleError
    from babel.core import get_global

    long = {old: new for old, new in get_global("language_aliases").items() if len(old) == 3 and len(new) == 2}
    named: Named = {}
    for code, name in locales["en"].languages.items():
        if len(code) != 2:
            continue
        try:
            own = Locale.parse(code).get_display_name() or ""
        except UnknownLocaleError:
            own = ""
        first = [name, code, *(old for old, new in long.items() if new == code)]
        named[code] = [first, [own], *([locale.languages.get(code, "")] for locale in locales.values())]
    return named


def currencies(locales: dict[str, object]) -> Named:
    """Return the names of the currencies in use, with their codes and symbols."""
    from babel.core import get_global

    held = get_global("territory_currencies").values()
    now = {entry[0] for entries in held for entry in entries if entry[2] is None and entry[3]}
    named: Named = {}
    for code in sorted(now):
        english = locales["en"]
        first = [english.currencies.get(code, code), code, *_plurals(english, code)]
        if english.currency_symbols.get(code, code) in ("€", "£", "₹", "₩", "₪", "₫"):
            first.append(english.currency_symbols[code])
        others = [[locale.currencies.get(code, ""), *_plurals(locale, code)] for locale in locales.values()]
        named[code] = [first, *others]
    return named


def _plurals(locale: object, code: str) -> list[str]:
    return list((locale._data["currency_names_plural"].get(code) or {}).values())


def units(locales: dict[str, object]) -> Named:
    """Return the names of units and their symbols."""
    named: Named = {}
    for unit in locales["en"]._data["unit_patterns"]:
        if unit.split("-")[0] in (
            "acceleration",
            "consumption",
            "graphics",
            "concentr",
            "force",
            "torque",
        ) or unit.endswith("generic"):
            continue
        parts = []
        for locale in locales.values():
            patterns = locale._data["unit_patterns"].get(unit, {})
            shown = locale._data["unit_display_names"].get(unit, {})
            words = [shown.get("long", ""), shown.get("short", "")]
            for width in ("long", "short"):
                forms = patterns.get(width, {})
                words += [
                    forms[form].replace("{0}", "").strip() for form in forms if form != "per" and "{0}" in forms[form]
                ]
            parts.append(words)
        singular = locales["en"]._data["unit_patterns"][unit].get("long", {}).get("one", "")
        named[unit] = [[singular.replace("{0}", "").strip(), *_SYMBOLS.get(unit, "").split("|"), *parts[0]], *parts]
    return named


def moments(locales: dict[str, object], what: str) -> Named:
    """Return the names of months or weekdays, whole and abbreviated."""
    named: Named = defaultdict(list)
    for locale in locales.values():
        held = getattr(locale, what)
        found = defaultdict(list)
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in held.get(context, {}).get(width, {}).items():
                    found[number] += [name, name.rstrip(".")]
        for number, names in found.items():
            named[str(number)].append(names)
    if what == "months":
        named["9"][0].append("Sept")
    return dict(named)


def listed(text: str) -> Named:
    """Return hand-written names: entries of one code are names of one thing."""
    found: Named = {}
    for entry in text.split():
        name, code = entry.split("=")
        found.setdefault(code, [[]])[0].append(name.replace("_", " "))
    return {code: [[*names, code]] for code, (names,) in found.items()}


def us_states() -> str:
    """Return the states as the lookup tables of programs have them, with the abbreviations of newspapers."""
    text = []
    for table in ("state to short", "newspaper state to short"):
        names, shorts = (part.split(",") for part in look_up_pairs(table))
        codes = dict(zip(*(part.split(",") for part in look_up_pairs("state to short")), strict=True))
        for name, short in zip(names, shorts, strict=True):
            title = name.title().replace(" Of ", " of ").replace(" ", "_")
            text.append(f"{title if table == 'state to short' else short}={codes[name]}")
    return " ".join(text)


def told_apart(named: Named) -> Iterator[tuple[str, list[str]]]:
    """Give each name to one thing: that which has it in English or as a code, else the only one that has it at all."""
    owner: dict[str, str] = {}
    kept: dict[str, list[str]] = {code: [] for code in named}
    spelled: dict[str, set[str]] = {code: set() for code in named}
    for take in (lambda parts: parts[0], lambda parts: [name for part in parts[1:] for name in part]):
        claims: dict[str, set[str]] = defaultdict(set)
        for code, parts in named.items():
            for name in take(parts):
                claims[fold_name(name)].add(code)
        for code, parts in named.items():
            for name in take(parts):
                key = fold_name(name)
                if not key or key.isdigit() or owner.get(key, code) != code or len(claims[key]) > 1:
                    continue
                owner[key] = code
                if name.lower() not in spelled[code]:
                    spelled[code].add(name.lower())
                    kept[code].append(name)
    for names in kept.values():
        if len(names) > 1:
            yield names[0], names[1:]


def kinds() -> Iterator[tuple[str, Named]]:
    """Return each kind with its names."""
    from babel import Locale

    locales = {code: Locale.parse(code) for code in LANGUAGES}
    yield "country", countries(locales)
    yield "US state", listed(f"{us_states()} {_PARTS['US state']}")
    for kind, text in list(_PARTS.items())[1:]:
        yield kind, listed(text)
    yield "language", languages(locales)
    yield "currency", currencies(locales)
    yield "unit", units(locales)
    yield "month", moments(locales, "months")
    yield "weekday", moments(locales, "days")
    yield "chemical element", listed(_ELEMENTS)


def main() -> None:
    """Write the table."""
    lines = [
        "\t".join((kind, name, "\x1f".join(others))) for kind, named in kinds() for name, others in told_apart(named)
    ]
    text = "\n".join(lines) + "\n"
    Path(ENTITIES).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    n_names = sum(line.count("\x1f") + 2 for line in lines)
    print(
        f"{len(lines):,} things, {n_names:,} names, {len(text.encode()):,} bytes, {Path(ENTITIES).stat().st_size:,} as written"
    )


if __name__ == "__main__":
    main()
