"""A state as code: a script of Python, a notebook, a script for Spark. Run, each makes the table of the state."""

from __future__ import annotations

import inspect
import json
from typing import Any

from dfjoin._visible import visible
from dfjoin.errors import InvalidParameterError
from dfjoin.lake import Lake
from dfjoin.page.page_texts import TEXTS
from dfjoin.page.sql_query import typed_frame
from dfjoin.page.state_files import Recipe
from dfjoin.page.steps import TableStep, step_of


def script(recipe: Recipe, lake: Lake) -> str:
    """Write the script of a state; it leaves the table in ``df``.

    Parameters
    ----------
    recipe : Recipe
    lake : Lake

    Returns
    -------
    str
        A file that was uploaded is read from the working directory.
    """
    return "\n\n".join(_cells(recipe, lake)) + "\n"


def notebook(recipe: Recipe, lake: Lake) -> str:
    """Write the same as a notebook (nbformat 4.5), a cell for each step."""
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"step-{number}",
            "metadata": {},
            "outputs": [],
            "source": text.splitlines(keepends=True),
        }
        for number, text in enumerate([*_cells(recipe, lake), "df"])
    ]
    language = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": language, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _cells(recipe: Recipe, lake: Lake) -> list[str]:
    steps = [step_of(values) for values in recipe.steps]
    body = [_source(recipe.source), *(f"# {_title(step)}\n{step.code()}" for step in steps)]
    if any("typed_frame(" in text for text in body):
        body.insert(0, inspect.getsource(typed_frame).rstrip())
    text = "\n".join(body)
    imports = [f"import {name}" for name in ("tempfile",) if f"{name}." in text]
    others = [("duckdb", "duckdb"), ("pd", "pandas as pd"), ("pa", "pyarrow as pa")]
    imports += (
        ["", *(f"import {name}" for short, name in others if f"{short}." in text)]
        if imports
        else [f"import {name}" for short, name in others if f"{short}." in text]
    )
    imports.append("import dfjoin")
    uses_lake = "lake." in text
    opened = [f"lake = dfjoin.open_lake({str(lake.path)!r})"] if uses_lake else []
    return ["\n".join(imports), *opened, *body]


def _title(step: TableStep) -> str:
    """Write what a step does as a comment on one line."""
    return visible(" ".join(step.title().split()))[:100]


def _source(source: dict[str, Any]) -> str:
    """Write how the source is read: as a lake reads it."""
    if source["kind"] == "lake":
        return f"df = lake.table({source['name']!r})"
    arguments = "".join(f", {name}={value!r}" for name, value in source["options"].items())
    return (
        "# a file is read as a lake reads it: a lake of this file alone\n"
        f'source = dfjoin.build_lake({source["file"]!r}, tempfile.mkdtemp() + "/source", engine="inline", '
        f"progress=False{arguments})\ndf = source.table({source['table']!r})"
    )


def spark_stops(recipe: Recipe) -> str:
    """Return the first step that may make another table in Spark; empty if all make the same."""
    steps = [step_of(values) for values in recipe.steps]
    return next((step.title() for step in steps if step.spark_code() is None), "")


def spark_script(recipe: Recipe, lake: Lake) -> str:
    """Write the script for Spark; it leaves the table in ``df``.

    Raises
    ------
    InvalidParameterError
        If a step may make another table in Spark.
    """
    stop = spark_stops(recipe)
    if stop:
        raise InvalidParameterError(TEXTS["no_spark"].format(stop))
    body = [_source(recipe.source), "df = spark.createDataFrame(pa.Table.from_pandas(df, preserve_index=False))"]
    for values in recipe.steps:
        step = step_of(values)
        body.append(f"# {_title(step)}\n{step.spark_code()}")
    head = [
        "import tempfile\n",
        "import pyarrow as pa\nfrom pyspark.sql import SparkSession\n",
        "import dfjoin\nimport spark_ext\n",
        "spark = SparkSession.builder.getOrCreate()\nspark_ext.enable(spark)",
        f"lake = dfjoin.open_lake({str(lake.path)!r})",
    ]
    return "\n".join(head) + "\n" + "\n\n".join(body) + "\n"
