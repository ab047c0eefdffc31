"""The canonical form of values as Spark SQL, without Python: what `dfjoin.values.normalize` makes of a single value.

Two things are not in it: dates in other spellings than ISO's, and floats that are no whole numbers. A join needs them
only where the other side has dates or such numbers as keys; `KeyClasses` tells. Which texts stand for a null by the
evidence of the others, a whole column decides; here the settings name them.

Characters above ASCII go through the ICU library, which is part of Spark: NFKC, then full case folding. Its Unicode
tables are younger than Python's: characters that Python's version does not know yet may be folded by Spark alone.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

import numpy as np
import pyarrow as pa

from dfjoin.kernels.texts.numbers import DATE, DAY_MONTH_YEAR, INTEGER, NUMBER, TIMESTAMP
from dfjoin.programs.spark_sql import quote
from dfjoin.types import IndexSettings
from dfjoin.values.normalize import ValueSet, normalize_column
from dfjoin.values.nulls import NULL_TEXTS

__all__ = ["DATE_LIKE", "FOLD", "SPACES", "KeyClasses", "canonical_sql", "folded_sql", "key_sql", "plain_sql"]

SPACES = "[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
"""White space that a fold makes one space, as a pattern."""
_PRINTABLE = r"^[ -~]*\z"
"""A text of printable ASCII: lower case folds it, once it has no space that folding removes."""

_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
DATE_LIKE = (
    r"^(?:[0-9]{4}[-/][0-9]{2}[-/]|[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}$|[0-9]{1,2}[ ,/-].*[0-9]{4}$"
    rf"|(?:{_MONTHS}).*[0-9]{{4}}$)"
)
"""A pattern that every folded text matches that may be read as a date or a time; others match it, too."""


@dataclass(frozen=True)
class KeyClasses:
    """What kinds of keys one side of a join has: what the other side has to be read for.

    Parameters
    ----------
    has_integers : bool
        Integers: ``1.0`` and ``-0`` may be among them on the other side.
    has_fractions : bool
        Other numbers: how floats are written matters.
    has_times : bool
        Dates or times, or what may be one.
    has_null_texts : bool
        Texts as ``na`` and ``-``, which stand for nulls in most columns.
    """

    has_integers: bool = True
    has_fractions: bool = True
    has_times: bool = True
    has_null_texts: bool = True

    @classmethod
    def of(cls, values: ValueSet) -> KeyClasses:
        """Look at the canonical values of a key column."""
        classes = set(np.unique(values.classes).tolist())
        texts = normalize_column(pa.array(NULL_TEXTS, pa.string()), IndexSettings(null_evidence=False))
        return cls(
            INTEGER in classes,
            NUMBER in classes,
            bool(classes & {DATE, TIMESTAMP, DAY_MONTH_YEAR}),
            bool(np.isin(values.hashes, texts.hashes).any()),
        )

    @property
    def bits(self) -> int:
        """The kinds as bits, which can be united."""
        return sum(has << bit for bit, has in enumerate(astuple(self)))

    @classmethod
    def from_bits(cls, bits: int) -> KeyClasses:
        """Read what `bits` wrote."""
        return cls(*(bool(bits >> bit & 1) for bit in range(len(fields(cls)))))

    def needs_python(self, type_: str) -> str:
        """Return the condition that tells which values of a type of Spark have to be read in Python; empty for none.

        ``{0}`` is the value and ``{1}`` the key that SQL makes of it.
        """
        if type_ == "string" and self.has_times:
            return f"{{1}} RLIKE {quote(DATE_LIKE).replace('{', '{{').replace('}', '}}')}"
        if type_ in ("float", "double") and self.has_fractions:
            return "NOT isnan({0}) AND (abs({0}) >= 9223372036854775808D OR floor({0}) <> {0})"
        return ""


def plain_sql(text: str) -> str:
    """Write the condition that lower case folds a text; null for a null."""
    # One run of one class is the fastest that regular expressions do; alternatives of it take three times as long.
    return f"{text} RLIKE {quote(_PRINTABLE)} AND NOT contains({text}, '  ') AND {text} = trim({text})"


def folded_sql(text: str) -> str:
    """Fold a text: NFKC, white space collapsed and trimmed, full case folding.

    Parameters
    ----------
    text : str
        A column, or another short expression of type STRING: it is written several times.
    """
    composed = f"reflect('com.ibm.icu.text.Normalizer', 'compose', {text}, true)"
    spaced = f"trim(regexp_replace({composed}, {quote(SPACES)}, ' '))"
    folded = f"reflect('com.ibm.icu.lang.UCharacter', 'foldCase', {spaced}, true)"
    return f"CASE WHEN {plain_sql(text)} THEN lower({text}) WHEN {text} IS NOT NULL THEN {folded} END"


FOLD = folded_sql("{0}")
"""The step of a chain that folds a text, see `canonical_sql`."""


def _integer_sql(text: str) -> str:
    """Write integers without their ``.0``, and ``-0`` as ``0``; `text` is written several times."""
    pattern = quote(r"^(-?(?:0|[1-9][0-9]*))\.0+$")
    cut = f"CASE WHEN endswith({text}, '0') THEN regexp_replace({text}, {pattern}, {quote('$1')}) ELSE {text} END"
    zero = rf"CASE WHEN {text} RLIKE {quote('^-0([.]0+)?$')} THEN '0' ELSE {cut} END"
    return f"CASE WHEN startswith({text}, '-0') THEN {zero} ELSE {cut} END"


def canonical_sql(column: str, type_: str, classes: KeyClasses) -> list[str]:
    """Write the canonical form of a column as a chain of expressions of type STRING, null for a null.

    Parameters
    ----------
    column : str
        The column, as SQL.
    type_ : str
        Its type in Spark.
    classes : KeyClasses
        Of the keys that the result is compared with.

    Returns
    -------
    list of str
        The first reads the column, each further one what is before it, which is called ``{0}``.
    """
    kind = type_.partition("(")[0].partition(" ")[0]
    if kind == "decimal":
        cut = quote(r"[.]?0+$")
        text = f"cast({column} AS string)"
        return [f"CASE WHEN contains({text}, '.') THEN regexp_replace({text}, {cut}, '') ELSE {text} END"]
    if kind in ("float", "double"):
        value = f"cast({column} AS double)"
        is_whole = f"abs({value}) < 9223372036854775808D AND floor({value}) = {value}"
        other = "NULL" if not classes.has_fractions else f"cast({value} AS string)"
        whole = f"cast(cast({value} AS bigint) AS string)"
        return [f"CASE WHEN {is_whole} THEN {whole} WHEN isnan({value}) THEN NULL ELSE {other} END"]
    if kind in ("timestamp", "timestamp_ntz"):
        whole = "replace(CASE WHEN contains({0}, '.') THEN rpad({0}, 26, '0') ELSE {0} END, ' ', 't')"
        at = f"CASE WHEN endswith({{0}}, ' 00:00:00') THEN substring_index({{0}}, ' ', 1) ELSE {whole} END"
        return [f"cast({column} AS string)", at]  # `date_format` drops microseconds by an old policy of Spark
    if kind != "string":
        return [f"cast({column} AS string)"]
    steps = [column, FOLD]
    if classes.has_integers:
        steps.append(_integer_sql("{0}"))
    return steps


def key_sql(column: str, type_: str, classes: KeyClasses, settings: IndexSettings, pad: int | None) -> list[str]:
    """Write a column as a key: in canonical form, with the zeros that `pad` says, null for a null spelling.

    Parameters
    ----------
    column, type_, classes
        As for `canonical_sql`.
    settings : IndexSettings
        Null spellings.
    pad : int or None
        Digits to which integers are written with zeros in front; −5: texts of five digits are read without theirs.

    Returns
    -------
    list of str
        As from `canonical_sql`.
    """
    if pad is not None:
        classes = KeyClasses(True, classes.has_fractions, classes.has_times, classes.has_null_texts)
    steps = canonical_sql(column, type_, classes)
    if pad is not None and pad > 0:
        is_short = f"length({{0}}) < {pad} AND {{0}} RLIKE {quote('^(0|[1-9][0-9]*)$')}"
        steps.append(f"CASE WHEN {is_short} THEN lpad({{0}}, {pad}, '0') ELSE {{0}} END")
    if pad is not None and pad < 0:
        is_code = f"length({{0}}) = {-pad} AND {{0}} RLIKE {quote('^0[0-9]+$')}"
        stripped = f"regexp_replace({{0}}, {quote('^0+(?=[0-9])')}, '')"
        steps.append(f"CASE WHEN {is_code} THEN {stripped} ELSE {{0}} END")
    texts = pa.array(settings.null_spellings, pa.string())
    nulls = normalize_column(texts, IndexSettings((), False)).values()
    if nulls and type_.startswith("string"):
        steps.append(f"CASE WHEN {{0}} IN ({', '.join(quote(text) for text in nulls)}) THEN NULL ELSE {{0}} END")
    return steps
