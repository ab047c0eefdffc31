"""The fold of texts by methods of Java and ICU that Spark compiles into its stage, where the session has a JVM at hand.

SQL reaches such methods by `reflect`, which looks them up in every row and keeps Spark from compiling the stage as one.
A classic session builds the expressions that Spark's own functions are made of; Connect has no way to them.
"""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import functions as F

from spark_ext.canonical_sql import SPACES

__all__ = ["fold_compiled"]

_STRINGS = "org.apache.commons.lang3.StringUtils"
_SPARK_TEXT = "org.apache.spark.unsafe.types.UTF8String"


class _Java:
    """Builds expressions of Spark that call methods of Java."""

    def __init__(self, frame: Any) -> None:
        from pyspark.sql.classic.column import Column

        self._column_of = Column
        self._jvm = frame.sparkSession._jvm
        self._expressions = self._jvm.org.apache.spark.sql.catalyst.expressions
        self._columns = self._jvm.org.apache.spark.sql.classic.ExpressionUtils
        self._string = self._type_of("java.lang.String")
        self._spark_string = self._jvm.org.apache.spark.sql.types.DataType.fromDDL("string")
        self._boolean = self._jvm.org.apache.spark.sql.types.DataType.fromDDL("boolean")

    def _class(self, name: str) -> Any:
        return self._jvm.java.lang.Class.forName(name)

    def _type_of(self, name: str) -> Any:
        return self._jvm.org.apache.spark.sql.types.ObjectType(self._class(name))

    def _list(self, values: list[Any]) -> Any:
        made = self._jvm.java.util.ArrayList()
        for value in values:
            made.add(value)
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(made).toSeq()

    def _method(self, target: Any, name: str, type_: Any, *arguments: Any) -> Any:
        """Call a method of an object; null where the object is null."""
        none = self._list([])
        return self._expressions.objects.Invoke(
            target, name, type_, self._list(list(arguments)), none, True, True, True
        )

    def _function(self, class_: str, name: str, type_: Any, *arguments: Any) -> Any:
        """Call a static method of a class; null where an argument is null."""
        none, no_function = self._list([]), self._jvm.scala.Option.empty()
        return self._expressions.objects.StaticInvoke(
            self._class(class_), type_, name, self._list(list(arguments)), none, True, True, True, no_function
        )

    def _text(self, column: Any) -> Any:
        """Return a column as strings of Java."""
        return self._method(self._columns.expression(column._jc), "toString", self._string)

    def _column(self, expression: Any) -> Any:
        return self._column_of(self._columns.column(expression))

    def is_printable(self, column: Any) -> Any:
        """Tell the texts of printable ASCII."""
        return self._column(self._function(_STRINGS, "isAsciiPrintable", self._boolean, self._text(column)))

    def holds(self, column: Any, text: str) -> Any:
        """Tell the texts that contain another one."""
        constant = self._expressions.Literal.fromObject(text)
        return self._column(self._method(self._text(column), "contains", self._boolean, constant))

    def rewritten(self, column: Any, class_: str, name: str) -> Any:
        """Rewrite texts by a static method of a text and a flag, which is set."""
        flag = self._columns.expression(F.lit(True)._jc)
        made = self._function(class_, name, self._string, self._text(column), flag)
        return self._column(self._function(_SPARK_TEXT, "fromString", self._spark_string, made))


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
        None where the session cannot build it: SQL then does the same, more slowly.
    """
    if not type(frame).__module__.startswith("pyspark.sql.classic"):
        return None
    try:
        java, text = _Java(frame), F.col(name)
        is_plain = java.is_printable(text) & ~java.holds(text, "  ") & ~text.startswith(" ") & ~text.endswith(" ")
        composed = java.rewritten(text, "com.ibm.icu.text.Normalizer", "compose")
        spaced = F.trim(F.regexp_replace(composed, SPACES, " "))
        folded = java.rewritten(spaced, "com.ibm.icu.lang.UCharacter", "foldCase")
    except (Py4JError, TypeError, AttributeError):  # another Spark: a class that is missing is no callable
        return None
    return F.when(is_plain, F.lower(text)).when(text.isNotNull(), folded)
