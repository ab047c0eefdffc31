"""Hypothesis: texts that look like cells, steps, programs of two columns."""

from hypothesis import strategies as st

from dfjoin.programs.calendar_operators import (
    CALENDAR_UNITS,
    DURATION_LAYOUTS,
    FIRST_UNITS,
    SERIALS,
    MoveDate,
    ReadDuration,
    ReadSerial,
    WriteDuration,
    WriteSerial,
)
from dfjoin.programs.characters import CLASSES
from dfjoin.programs.code_operators import (
    CHECK_DIGITS,
    CODES,
    EXPONENT_MARKS,
    ISBN_LENGTHS,
    CheckDigit,
    Coded,
    Isbn,
    Mod97,
    Scientific,
    UnitPart,
    WeightedSum,
)
from dfjoin.programs.combinations import COMBINATIONS, MOMENT_KINDS, NUMBER_KINDS
from dfjoin.programs.conditions import Condition, is_shape, shape_of
from dfjoin.programs.confidence import Alternative, Confidence
from dfjoin.programs.entity_operators import GIVEN, Entity
from dfjoin.programs.lookup import TABLES, Band, GivenPairs, Lookup
from dfjoin.programs.name_operators import NAME_FORMS, NormalName
from dfjoin.programs.number_operators import (
    BASES,
    DECIMAL_MARKS,
    GROUP_SEPARATORS,
    GROUPS,
    ROUNDINGS,
    STYLES,
    TOTALS,
    AsRatio,
    Base,
    Exponent,
    Linear,
    NthNumber,
    Ratio,
    Round,
    RoundTo,
    StripZeros,
    Thousands,
    Total,
    WriteNumber,
    Year,
)
from dfjoin.programs.part_operators import After, AllRuns, Before, CharacterRun, FromRun, Parts, Slice, Split, UptoRun
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Combined, Constant, Extract
from dfjoin.programs.quantities import QUANTITIES, Quantity
from dfjoin.programs.text_operators import (
    CASES,
    COUNTED,
    PART_ORDERS,
    Case,
    Count,
    EachPart,
    Gaps,
    Headline,
    Keep,
    Pad,
    Plain,
    Replace,
    Reverse,
    Squeeze,
    Translate,
)
from dfjoin.programs.time_operators import ORDERS, MoveTime, ReadTime, WriteTime

ODD = "éÉßΣσςİıŸÿŁł中😀\u0301\u00a0–'\"\\$`\n\t{}#"
"""Characters that casing, widths, quoting or patterns may get wrong."""
WORDS = (
    *("Ann", "o'neil", "JAN", "march", "12", "007", "1234567.5", "-0.45", "99", "1A", "texas", "St", "ÉCOLE"),
    *("1,234.5", "-7", ".5", "No.5", "2.345,25", "17 Dec 1973", "2/30/2000", "4/7/23 9:44 pm", "18:25:57"),
    *("2023-12-31", "0001-01-01T00:00:00", "????-??-??T18:25:00", "2023-04-??T??:??:??", "9999-12-31T23:59:59"),
    *("1,234.5 M", "-$5 kg", "\u221212 ft.", "1:02:03.50", "12:05", "3725", "-1.5e-3", "12E+2", "1 3/4", "-3/6"),
    *("mcmxciv", "XLII", "AZ", "z", "65", "101", "camelCaseOfABCde", "the Lord of The rings", "1640476800"),
    *("6'2\"", "-12 30 15.5", "192.168.0.1", "0.00999951", "-999999.5", "44556", "1ff.0a.b"),
    *("2024-02-29T10:11:12", "2023-03-31T??:??:??"),
    *("-1, 2.5;3", "2 4 6 9", "0-306-40615-2", "9780306406157", "156881111x", "4006381333931"),
)
"""Texts that one step or another reads: names, numbers, dates, codes."""
_WORDS = st.sampled_from(WORDS)
_GAPS = st.sampled_from([" ", ", ", "  ", "-", ".", ",,", " (", ")", "é", ""])
_CELLS = st.lists(st.tuples(_WORDS, _GAPS), max_size=4).map(lambda parts: "".join(a + b for a, b in parts))
TEXTS = st.none() | _CELLS | st.text("aAb ,.-019" + ODD, max_size=9) | st.text(max_size=8)
"""Cells: words with gaps, letters that are easily got wrong, and anything at all."""

_INDEX = st.integers(-4, 4)
_SEPARATORS = st.sampled_from([" ", ",", ", ", "aa", "a", ".", "é", "'", "\\", "$", "|", "[", "😀", "\n"])
_SECONDS = st.integers(-100_000, 100_000)
_PARTS = [
    *("%Y", "%y", "%m", "%-m", "%-d", "%B", "%^b", "%~A", "%a", "%H", "%-H", "%I", "%M", "%-S", "%p", "%~p"),
    *("%j", "%-j", "%V", "%-V", "%G", "%q", "%u", "%o"),
]
_ELEMENT_STEPS = st.one_of(
    st.builds(NormalName, st.sampled_from(NAME_FORMS)),
    st.builds(Entity, st.sampled_from(["weekday", "US state", GIVEN]), st.just("a\x1fBé"), st.just("x y\x1fa.")),
    st.builds(Base, st.sampled_from(BASES), st.sampled_from(BASES)),
    st.builds(Case, st.sampled_from(CASES)),
    st.builds(Keep, st.sampled_from(sorted(CLASSES))),
    st.builds(Pad, st.integers(1, 4)),
    st.builds(Slice, _INDEX, st.none() | _INDEX),
    st.sampled_from([Plain(), StripZeros()]),
)
_ORDERED = (st.sampled_from(PART_ORDERS), st.sampled_from(["", ", ", "é$\\"]))
STEP_KINDS = (
    st.builds(MoveDate, st.sampled_from(CALENDAR_UNITS), st.integers(-30, 30), st.integers(-400, 400)),
    st.builds(ReadSerial, st.sampled_from(SERIALS)),
    st.builds(WriteSerial, st.sampled_from(SERIALS)),
    st.builds(Coded, st.sampled_from(sorted(CODES))),
    st.builds(Scientific, st.integers(0, 9), st.sampled_from(EXPONENT_MARKS)),
    st.builds(WeightedSum, st.sampled_from(["12 1", "3600 60 1", "16777216 65536 256 1"]), st.sampled_from([1, 3600])),
    st.builds(UnitPart, st.sampled_from([1, 60, 3600]), st.sampled_from([0, 24, 60])),
    st.builds(EachPart, _SEPARATORS, st.just(0), *_ORDERED, st.lists(_ELEMENT_STEPS, max_size=2).map(tuple)),
    st.builds(EachPart, st.just(""), st.integers(1, 3), *_ORDERED, st.lists(_ELEMENT_STEPS, max_size=2).map(tuple)),
    st.builds(Translate, st.sampled_from(["aé1", "A,'", "\\"]), st.sampled_from(["", "b", "é2"])),
    st.builds(Gaps, st.sampled_from(["_", " ", "$1\\"])),
    st.builds(Count, st.sampled_from(COUNTED)),
    st.sampled_from([Headline(), Reverse()]),
    st.builds(Split, _SEPARATORS, _INDEX),
    st.builds(After, _SEPARATORS),
    st.builds(Before, _SEPARATORS),
    st.builds(CharacterRun, st.sampled_from(sorted(CLASSES)), _INDEX),
    st.builds(Slice, _INDEX, st.none() | _INDEX),
    st.builds(Case, st.sampled_from(CASES)),
    st.builds(Keep, st.sampled_from(sorted(CLASSES))),
    st.builds(Replace, _SEPARATORS, st.sampled_from(["", "-", "é", "a\\$0"])),
    st.builds(Pad, st.integers(1, 6), st.sampled_from("0 '$")),
    st.builds(Round, st.integers(0, 6)),
    st.builds(Thousands, st.sampled_from(GROUP_SEPARATORS)),
    st.builds(Year, st.integers(0, 100)),
    st.builds(Lookup, st.sampled_from(TABLES)),
    st.builds(Band, st.sampled_from([".. 0 7 ..", "-3 12 99", "1 8 .."]), st.just("<é'\x1f0-6")),
    st.builds(Band, st.sampled_from([".. ..", "0 1900"]), st.just("$all")),
    st.builds(Base, st.sampled_from(BASES), st.sampled_from(BASES)),
    st.builds(Quantity, st.sampled_from(QUANTITIES)),
    st.builds(
        Linear,
        st.sampled_from(["2.54", "-0.039370078740157", "1", "12345.5", "0.000001"]),
        st.sampled_from(["0", "-32", "273.15"]),
        st.integers(0, 6),
        st.sampled_from(STYLES),
    ),
    st.sampled_from([Plain(), Squeeze(), StripZeros()]),
    st.builds(Parts, _SEPARATORS, _INDEX, _INDEX),
    st.builds(FromRun, st.sampled_from(sorted(CLASSES)), _INDEX),
    st.builds(UptoRun, st.sampled_from(sorted(CLASSES)), _INDEX),
    st.builds(ReadDuration, st.sampled_from(FIRST_UNITS)),
    st.builds(WriteDuration, st.sampled_from(DURATION_LAYOUTS)),
    st.builds(Ratio, st.integers(0, 6)),
    st.sampled_from([AsRatio(), Exponent()]),
    st.builds(Total, st.sampled_from(TOTALS)),
    st.builds(
        AllRuns, st.sampled_from([*sorted(CLASSES), *"!^]-.\\'"]), st.integers(1, 3), st.sampled_from(["", ", ", "'"])
    ),
    st.builds(CheckDigit, st.sampled_from(CHECK_DIGITS)),
    st.builds(Isbn, st.sampled_from(ISBN_LENGTHS)),
    st.builds(Mod97, st.sampled_from(["", "DE", "GB", "ZZ"])),
    st.sampled_from([GivenPairs("Ann\x1f12\x1fé", "x\x1f\x1f'"), GivenPairs("march", "3")]),
    st.builds(NthNumber, _INDEX, st.sampled_from(DECIMAL_MARKS)),
    st.builds(
        RoundTo,
        st.sampled_from(["0", "-2.5", "0.01"]),
        st.sampled_from(["1", "0.05", "25", "0.3", "999999"]),
        st.sampled_from(ROUNDINGS),
        st.sampled_from(["0", "-0.001", "10"]),
    ),
    st.builds(
        WriteNumber,
        st.integers(0, 3),
        st.none() | st.integers(0, 4),
        st.sampled_from(DECIMAL_MARKS),
        st.sampled_from(GROUPS),
    ),
    st.builds(
        ReadTime, st.lists(st.sampled_from(sorted(ORDERS)), min_size=1, max_size=2).map(" ".join), st.integers(0, 100)
    ),
    st.builds(MoveTime, _SECONDS, st.sampled_from([1, 7, 900, 3600, 86_400]), _SECONDS),
    st.builds(
        WriteTime, st.lists(st.sampled_from([*_PARTS, " at ", "-%%"]), max_size=2).map(lambda p: "%d" + "".join(p))
    ),
    st.builds(WriteTime, st.sampled_from(_PARTS)),
)
"""A strategy for each kind of step; a test that draws from all of them meets every operator."""
STEPS = st.one_of(*STEP_KINDS)
_MOMENTS = st.builds(
    lambda order, move, layouts: (ReadTime(order), *move, WriteTime("".join(layouts))),
    st.sampled_from(sorted(ORDERS)),
    st.lists(
        st.builds(MoveTime, _SECONDS, st.just(900), _SECONDS)
        | st.builds(MoveDate, st.sampled_from(CALENDAR_UNITS), st.integers(-30, 30), st.integers(-400, 400)),
        max_size=1,
    ),
    st.lists(st.sampled_from(_PARTS), min_size=1, max_size=3),
)
_EXTRACTS = st.builds(Extract, st.integers(0, 1), st.lists(STEPS, max_size=3).map(tuple) | _MOMENTS)
_READ = st.builds(
    lambda column, order: Extract(column, (ReadTime(order),)), st.integers(0, 1), st.sampled_from(sorted(ORDERS))
)
_COMBINED = st.one_of(
    st.builds(Combined, st.sampled_from(MOMENT_KINDS), _READ, _READ, st.just(()) | st.just((Pad(4),))),
    st.builds(Combined, st.sampled_from(COMBINATIONS), _EXTRACTS, _EXTRACTS),
    st.builds(Combined, st.sampled_from(NUMBER_KINDS), st.just(Extract(0)), st.just(Extract(1))),
)
_CONSTANTS = st.builds(Constant, st.text(" -'\\$é", min_size=1, max_size=2))
_CONDITIONS = st.one_of(
    st.builds(
        Condition, st.integers(0, 1), st.sampled_from(["contains", "starts", "ends"]), _SEPARATORS, st.booleans()
    ),
    st.builds(Condition, st.integers(0, 1), st.just("shape"), _CELLS.map(shape_of).filter(is_shape), st.booleans()),
    st.builds(Condition, st.integers(0, 1), st.just("has"), st.sampled_from(sorted(CLASSES)), st.booleans()),
    st.builds(Condition, st.integers(0, 1), st.just("longer"), st.sampled_from("0259"), st.booleans()),
    st.builds(Condition, st.integers(0, 1), st.just("divisible"), st.sampled_from(["2", "7"]), st.booleans()),
    st.builds(
        Condition, st.integers(0, 1), st.just("at least"), st.sampled_from(["7", "-0.45", "99.5"]), st.booleans()
    ),
)
_PIECES = st.lists(_EXTRACTS | _CONSTANTS | _COMBINED, max_size=2)
_WEIGHTS = st.floats(-2, 2).map(lambda weight: round(weight, 3))
_KNOWN = _CELLS.map(lambda text: text.strip()) | st.sampled_from(["", "é'\\"])
_CONFIDENCES = st.builds(
    Confidence,
    _WEIGHTS,
    st.lists(st.builds(lambda piece, w: Alternative((piece,), w), _EXTRACTS | _COMBINED, _WEIGHTS), max_size=2).map(
        tuple
    ),
    st.lists(st.lists(_CONDITIONS, min_size=1, max_size=2).map(tuple), max_size=2).map(tuple),
    _WEIGHTS,
    st.sampled_from([0.0, 0.35, 0.5, 0.65, 1.0]),
    st.lists(st.tuples(_KNOWN, _KNOWN), max_size=2).map(tuple),
)
PROGRAMS = st.builds(
    lambda first, rest, sure: Program(("a", "b"), (first, *rest), confidence=sure),
    _EXTRACTS | _COMBINED,
    _PIECES,
    st.none() | _CONFIDENCES,
) | st.builds(
    lambda pieces, rest, held: Program(("a", "b"), (pieces, *rest), tuple(held)),
    _EXTRACTS | _CONSTANTS,
    _PIECES,
    st.lists(_CONDITIONS, min_size=1, max_size=2),
)
"""Programs over the columns ``a`` and ``b``."""
