"""Methods of Java as expressions that Spark compiles into its stage, where the session has a JVM at hand.

SQL reaches such methods by `reflect`, which looks them up in every row and keeps Spark from compiling the stage as one.
A classic session builds the expressions that Spark's own functions are made of; Connect has no way to them.

Expressions are those of Catalyst. A text of Java is one of type ``java.lang.String``: no column of a frame may hold it,
so that it is made and used within one column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError

__all__ = ["JavaMethods", "compiled"]

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_STRINGS = "org.apache.commons.lang3.StringUtils"
_GUAVA_STRINGS = "com.google.common.base.Strings"
_SPARK_TEXT = "org.apache.spark.unsafe.types.UTF8String"


def compiled(frame: Any, build: Callable[[JavaMethods], Any]) -> Any:
    """Build a column of methods of Java for a frame.

    Parameters
    ----------
    frame : pyspark DataFrame
    build : callable

    Returns
    -------
    pyspark Column or None
        None where `build` gives none, and where the session cannot build it: SQL then does the same, more slowly.
    """
    if not type(frame).__module__.startswith("pyspark.sql.classic"):
        return None
    try:
        return build(JavaMethods(frame))
    except (Py4JError, TypeError, AttributeError):  # another Spark: a class that is missing is no callable
        return None


class JavaMethods:
    """Builds expressions of Spark that call methods of Java.

    Parameters
    ----------
    frame : pyspark DataFrame
        Of a classic session.
    """

    def __init__(self, frame: Any) -> None:
        from pyspark.sql.classic.column import Column

        self._column_of = Column
        jvm = frame.sparkSession._jvm

        def java(name: str) -> Any:  # by its whole name: of a name in parts the JVM looks for a class at each part
            return getattr(jvm, name)

        self._class = java("java.lang.Class").forName
        self._root = java("java.util.Locale").ROOT
        self._new_list, self._converters = java("java.util.ArrayList"), java("scala.jdk.javaapi.CollectionConverters")
        self._invoke = java(f"{_EXPRESSIONS}.objects.Invoke")
        self._static_invoke = java(f"{_EXPRESSIONS}.objects.StaticInvoke")
        self._literal, self._is_not_null = java(f"{_EXPRESSIONS}.Literal"), java(f"{_EXPRESSIONS}.IsNotNull")
        self._columns = java("org.apache.spark.sql.classic.ExpressionUtils")
        data_type = java("org.apache.spark.sql.types.DataType")
        self._string = java("org.apache.spark.sql.types.ObjectType")(self._class("java.lang.String"))
        self._spark_string, self._boolean = data_type.fromDDL("string"), data_type.fromDDL("boolean")
        self._none, self._no_function = self._list([]), java("scala.Option").empty()

    def _list(self, values: list[Any]) -> Any:
        made = self._new_list()
        for value in values:
            made.add(value)
        return self._converters.asScala(made).toSeq()

    def _method(self, target: Any, name: str, type_: Any, *arguments: Any) -> Any:
        """Call a method of an object; null where the object or an argument is null."""
        return self._invoke(target, name, type_, self._list(list(arguments)), self._none, True, True, True)

    def _function(self, class_: str, name: str, type_: Any, *arguments: Any) -> Any:
        """Call a static method of a class; null where an argument is null."""
        given = self._list(list(arguments))
        return self._static_invoke(
            self._class(class_), type_, name, given, self._none, True, True, True, self._no_function
        )

    def _constant(self, value: Any) -> Any:
        return self._literal.fromObject(value)

    def _column(self, expression: Any) -> Any:
        return self._column_of(self._columns.column(expression))

    def text(self, column: Any) -> Any:
        """Return a column of type STRING as texts of Java."""
        return self._method(self._columns.expression(column._jc), "toString", self._string)

    def spark_text(self, text: Any) -> Any:
        """Return texts of Java as a column of type STRING."""
        return self._column(self._function(_SPARK_TEXT, "fromString", self._spark_string, text))

    def constant(self, text: str) -> Any:
        """Return a text that is the same in every row."""
        return self._constant(text)

    def is_known(self, text: Any) -> Any:
        """Tell the texts that are not null, as a column."""
        return self._column(self._is_not_null(text))

    def is_printable(self, text: Any) -> Any:
        """Tell the texts of printable ASCII, as a column."""
        return self._column(self._function(_STRINGS, "isAsciiPrintable", self._boolean, text))

    def test(self, text: Any, method: str, other: str) -> Any:
        """Compare texts with another one by a method of ``java.lang.String``, as a column."""
        return self._column(self._method(text, method, self._boolean, self._constant(other)))

    def cut(self, text: Any, method: str, separator: str) -> Any:
        """Take the part of texts at a separator that a method of ``StringUtils`` gives."""
        return self._function(_STRINGS, method, self._string, text, self._constant(separator))

    def joined(self, first: Any, second: Any) -> Any:
        """Concatenate texts; null where one of both is null."""
        return self._method(first, "concat", self._string, second)

    def null_if_empty(self, text: Any) -> Any:
        """Turn empty texts into nulls."""
        return self._function(_GUAVA_STRINGS, "emptyToNull", self._string, text)

    def lower(self, text: Any) -> Any:
        """Write texts in lower case, whatever language the machine is set to."""
        return self._method(text, "toLowerCase", self._string, self._constant(self._root))

    def rewritten(self, text: Any, class_: str, name: str) -> Any:
        """Rewrite texts by a static method of a text and a flag, which is set."""
        flag = self._literal.create(True, self._boolean)
        return self._function(class_, name, self._string, text, flag)
