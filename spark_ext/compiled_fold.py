"""The fold of texts, and of what programs make of them, by methods of Java and ICU that Spark compiles, or otherwise.

Which of them a session allows is found out: classic sessions build compiled methods, Connect has `reflect` in SQL, and
where that is refused, as in Unity Catalog's standard access mode and serverless, a function of Arrow folds.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import functions as F

from dfjoin.programs.operator import Operator, Step
from dfjoin.programs.part_operators import After, Slice, Split, overlaps_itself
from dfjoin.programs.program import Program
from dfjoin.programs.program_pieces import Combined, Constant, Piece
from dfjoin.values.unicode import normalize_text
from spark_ext.canonical_sql import FOLD, SPACES, plain_sql
from spark_ext.java_methods import JavaMethods, compiled
from spark_ext.jobs import arrow_function, described, this_python
from spark_ext.transfer import collect

__all__ = ["fold_compiled", "fold_program", "fold_texts"]


def fold_texts(frame: Any, name: str) -> Any:
    """Fold a column of texts as `dfjoin.values.unicode.normalize_text` does, in the way that the session allows.

    Parameters
    ----------
    frame : pyspark DataFrame
    name : str
        A column of type STRING, quoted.

    Returns
    -------
    pyspark Column
    """
    found = fold_compiled(frame, name)
    if found is not None:
        return found
    if _allows_reflection(frame.sparkSession):
        return F.expr(FOLD.replace("{0}", name))
    with this_python(frame.sparkSession):
        fold = arrow_function(_fold_distinct, "string")
    is_plain = F.expr(plain_sql(name))
    return F.when(is_plain, F.lower(F.expr(name))).otherwise(fold(F.when(~is_plain, F.expr(name))))


_reflects: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def _allows_reflection(spark: Any) -> bool:
    """Tell whether SQL of a session may call methods of Java; one row is asked, once in a session."""
    if spark not in _reflects:
        asked = spark.range(1).select(F.concat(F.lit("\u00c9"), F.col("id").cast("string")).alias("t"))
        try:
            with described(spark, "look for methods of Java"):
                _reflects[spark] = collect(asked.select(F.expr(FOLD.replace("{0}", "t")))).num_rows == 1
        except Exception:  # how a session refuses is its own affair
            _reflects[spark] = False
    return _reflects[spark]


def _fold_distinct(texts: pa.Array) -> pa.Array:
    encoded = texts.dictionary_encode()
    folded = [None if text is None else normalize_text(text) for text in encoded.dictionary.to_pylist()]
    return pa.array(folded, pa.string()).take(encoded.indices)


def fold_compiled(frame: Any, name: str) -> Any:
    """Fold a column of texts as `spark_ext.canonical_sql.folded_sql` does.

    Parameters
    ----------
    frame : pyspark DataFrame
    name : str
        A column of type STRING, quoted.

    Returns
    -------
    pyspark Column or None
        None where the session cannot build it.
    """
    return compiled(frame, lambda java: _folded(java, java.text(F.col(name)), F.lower(F.col(name))))


def fold_program(frame: Any, program: Program, operands: Sequence[str]) -> Any:
    """Fold what a program makes of columns: what `Program.to_spark_sql` and `fold_compiled` give one after the other.

    Parameters
    ----------
    frame : pyspark DataFrame
    program : Program
    operands : sequence of str
        An SQL expression of type STRING for each input column.

    Returns
    -------
    pyspark Column or None
        None where the session cannot build it, and where a step has no compiled form.

    Notes
    -----
    Texts stay texts of Java from the columns to the key; Spark makes what several pieces have in common once.
    """
    return compiled(frame, lambda java: _folded_program(java, program, operands))


def _folded(java: JavaMethods, text: Any, lower: Any) -> Any:
    """Fold texts of Java: lower case, a column, is enough for printable ASCII without a space that folding removes."""
    spaces = (("contains", "  "), ("startsWith", " "), ("endsWith", " "))
    is_spaced = functools.reduce(operator.or_, (java.test(text, method, space) for method, space in spaces))
    composed = java.spark_text(java.rewritten(text, "com.ibm.icu.text.Normalizer", "compose"))
    spaced = java.text(F.trim(F.regexp_replace(composed, SPACES, " ")))
    folded = java.spark_text(java.rewritten(spaced, "com.ibm.icu.lang.UCharacter", "foldCase"))
    return F.when(java.is_printable(text) & ~is_spaced, lower).when(java.is_known(text), folded)


def _folded_program(java: JavaMethods, program: Program, operands: Sequence[str]) -> Any:
    texts = [java.text(F.expr(operand)) for operand in operands]
    made = None
    for piece in program.pieces:
        text = _piece(java, piece, texts)
        if text is None:
            return None
        made = text if made is None else java.joined(made, text)
    folded = _folded(java, made, java.spark_text(java.lower(made)))
    for condition in program.conditions:
        folded = F.when(F.expr(condition.sql(operands[condition.column])), folded)
    return folded


def _piece(java: JavaMethods, piece: Piece, texts: Sequence[Any]) -> Any:
    """Return what a piece makes of texts of Java, null for nothing; None if a step has no compiled form."""
    if isinstance(piece, Constant):
        return java.constant(piece.text)
    if isinstance(piece, Combined):
        return None
    text = texts[piece.column]
    for step in piece.steps:
        form = _FORMS.get(step.operator)
        text = None if form is None else form(java, text, step)
        if text is None:
            return None
    return java.null_if_empty(text)


# Steps: an empty text stays empty, and becomes null at the end of its piece ---------------------------------

_MOST_CUTS = 4
"""Occurrences of a separator that are looked for one after the other."""


def _split(java: JavaMethods, text: Any, step: Step) -> Any:
    separator = step.separator
    if step.index == -1 and not overlaps_itself(separator):
        # With a separator in front there is always one to look for.
        return java.cut(java.joined(java.constant(separator), text), "substringAfterLast", separator)
    if not 0 <= step.index <= _MOST_CUTS:
        return None
    for _ in range(step.index):
        text = java.cut(text, "substringAfter", separator)
    return java.cut(text, "substringBefore", separator)


def _after(java: JavaMethods, text: Any, step: Step) -> Any:
    return java.cut(text, "substringAfter", step.separator)


def _slice(java: JavaMethods, text: Any, step: Step) -> Any:
    """Count characters in Spark's texts: Java counts those beyond U+FFFF twice."""
    start, stop = step.start, step.stop
    if (stop is not None and stop < 0) or (stop is not None and start < 0):
        return None
    length = _TO_THE_END if stop is None else max(0, stop - start)
    return java.text(F.substring(java.spark_text(text), start + 1 if start >= 0 else start, length))


_TO_THE_END = 2**31 - 1
_FORMS: dict[Operator, Callable[[JavaMethods, Any, Any], Any]] = {Split: _split, After: _after, Slice: _slice}
