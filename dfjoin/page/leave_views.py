"""The page on which a person leaves with the table and with the code that makes it."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, PlainTextResponse, Response

from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.page.export import WRITERS, write_frame
from dfjoin.page.page_texts import refusal
from dfjoin.page.scripts import notebook, script, spark_script, spark_stops
from dfjoin.page.table_views import step_list
from dfjoin.page.visit import Visit

__all__ = ["download", "show_leave"]

_CODES = {"py": script, "ipynb": notebook, "spark": spark_script}


def show_leave(visit: Visit) -> Response:
    """Show the formats, and the code."""
    state = visit.state()
    return visit.render(
        "leave.html",
        state=state,
        steps=step_list(state),
        code=script(state.recipe, visit.work.lake),
        spark_stop=spark_stops(state.recipe),
        has_file=state.recipe.source["kind"] == "file",
    )


def download(visit: Visit) -> Response:
    """Return the table, or the code, as a file."""
    state = visit.state()
    form = visit.request.path_params["format"]
    stem = re.sub(r"\W+", "_", Path(state.recipe.source["name"]).stem)[:60].strip("_") or "table"
    if form in _CODES:
        text = _CODES[form](state.recipe, visit.work.lake)
        ending = "ipynb" if form == "ipynb" else "py"
        return PlainTextResponse(text, headers=_as_file(f"{stem}_spark.py" if form == "spark" else f"{stem}.{ending}"))
    if form == "source" and state.recipe.source["kind"] == "file":
        source = state.recipe.source
        path = visit.work.files.source(source["sha256"], source["file"])
        if path is None:
            raise InvalidParameterError(refusal("file_gone", source["name"]))
        return FileResponse(path, filename=source["file"])
    if form not in WRITERS:
        raise InvalidParameterError(refusal("one_of", "format", shortlist([*WRITERS, *_CODES], 9), form))
    directory = tempfile.TemporaryDirectory()
    path = Path(directory.name) / f"table.{form}"
    try:
        write_frame(state.frame, path, escapes=bool(visit.fields.get("escape")), is_left=visit.is_left)
    except BaseException:
        directory.cleanup()
        raise
    return FileResponse(path, filename=f"{stem}.{form}", background=BackgroundTask(directory.cleanup))


def _as_file(name: str) -> dict[str, Any]:
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
