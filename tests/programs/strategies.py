"""Hypothesis: texts that look like cells, steps, programs of two columns."""

from hypothesis import strategies as st

from dfjoin.programs.characters import CLASSES
from dfjoin.programs.extract import After, Before, CharacterRun, Slice, Split
from dfjoin.programs.lookup import TABLES, Lookup
from dfjoin.programs.numeric import BASES, GROUP_SEPARATORS, STYLES, Base, Linear, Round, StripZeros, Thousands, Year
from dfjoin.programs.program import Constant, Extract, Program
from dfjoin.programs.quantities import QUANTITIES, Quantity
from dfjoin.programs.rewrite import CASES, Case, Keep, Pad, Plain, Replace, Squeeze

ODD = "éÉßΣσςİıŸÿŁł中😀\u0301\u00a0–'\"\\$`\n\t{}#"
"""Characters that casing, widths, quoting or patterns may get wrong."""
_WORDS = st.sampled_from(
    [
        "Ann",
        "o'neil",
        "JAN",
        "march",
        "12",
        "007",
        "1234567.5",
        "-0.45",
        "99",
        "1A",
        "texas",
        "St",
        "ÉCOLE",
        "1,234.5 M",
        "-$5 kg",
        "\u221212 ft.",
    ]
)
_GAPS = st.sampled_from([" ", ", ", "  ", "-", ".", ",,", " (", ")", "é", ""])
_CELLS = st.lists(st.tuples(_WORDS, _GAPS), max_size=4).map(lambda parts: "".join(a + b for a, b in parts))
TEXTS = st.none() | _CELLS | st.text("aAb ,.-019" + ODD, max_size=9) | st.text(max_size=8)
"""Cells: words with gaps, letters that are easily got wrong, and anything at all."""

_INDEX = st.integers(-4, 4)
_SEPARATORS = st.sampled_from([" ", ",", ", ", "aa", "a", ".", "é", "'", "\\", "$", "|", "[", "😀", "\n"])
STEPS = st.one_of(
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
)
_EXTRACTS = st.builds(Extract, st.integers(0, 1), st.lists(STEPS, max_size=3).map(tuple))
_CONSTANTS = st.builds(Constant, st.text(" -'\\$é", min_size=1, max_size=2))
PROGRAMS = st.builds(
    lambda first, rest: Program(("a", "b"), (first, *rest)), _EXTRACTS, st.lists(_EXTRACTS | _CONSTANTS, max_size=2)
)
"""Programs over the columns ``a`` and ``b``."""
