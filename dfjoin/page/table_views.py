"""The pages on which a table is uploaded, and shown."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from starlette.responses import Response

from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.page.column_cards import column_cards, is_place
from dfjoin.page.given_table import DIALECT_OPTIONS
from dfjoin.page.hit_search import METHODS, folder_of, proposed_key
from dfjoin.page.page_texts import TEXTS, refusal
from dfjoin.page.rendering import shown_part
from dfjoin.page.visit import Visit
from dfjoin.page.work import TableState

_SHOWN_ROWS = 100
_SHOWN_TABLES = 60
_MOST_COLUMNS = 60
"""Columns that have a card of their own; the others are named below the cards."""


def home(visit: Visit) -> Response:
    """Show how a table can be uploaded; while an index is built, how far that is."""
    progress = visit.site.progress
    if visit.site.work is None:
        return visit.render("building.html", progress=progress)
    begin = visit.site.begin
    if begin is not None:
        if "hx-request" in visit.request.headers:  # of the page that waits: it goes on as a whole
            return Response(headers={"HX-Redirect": "/"})
        visit.site.begin = None
        return visit.go(begin(visit.work))
    return visit.render("home.html", tables=_tables(visit))


def cancel_build(visit: Visit) -> Response:
    """End the build of the index."""
    if visit.site.progress is not None:  # an index that was opened is not built
        visit.site.progress.cancel()
    return visit.go("/")


def build_again(visit: Visit) -> Response:
    """Begin the build of the index again."""
    if visit.site.progress is not None:
        visit.site.progress.start()
    return visit.go("/")


for _view in (home, cancel_build, build_again):
    _view.is_early = True  # type: ignore[attr-defined]


def choose_table(visit: Visit) -> Response:
    """Show the tables of the lake that hold some words, or that lie in a folder."""
    return visit.part("tables.html", tables=_tables(visit))


def _tables(visit: Visit) -> dict[str, Any]:
    """Return the tables of the lake that the fields ask for, and the folders."""
    words, folder = visit.fields.get("words", "").strip(), visit.fields.get("folder", "")
    work = visit.work
    known = work.kept(("tables",), lambda: work.lake.tables)
    folders = work.kept(("folders",), lambda: known["table"].map(folder_of).value_counts().sort_index())
    if words:
        found = work.kept(("words", words), lambda: work.lake.search(words, k=_SHOWN_TABLES))
        rows = [(row.table, row.n_rows, row.n_columns, row.columns) for row in found.itertuples()]
        n_found = len(rows)
    else:
        inside = known[known["table"].map(folder_of) == folder] if folder else known
        n_found = len(inside)
        rows = [(row.table, row.n_rows, row.n_columns, []) for row in inside.head(_SHOWN_TABLES).itertuples()]
    return {"rows": rows, "n_found": n_found, "folders": list(folders.items()), "words": words, "folder": folder}


def upload(visit: Visit) -> Response:
    """Read a file that was uploaded."""
    file = visit.fields.get("file")
    if file is None or isinstance(file, str) or not file.filename:
        raise InvalidParameterError(refusal("no_file"))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "upload"
        with path.open("wb") as kept:
            while chunk := file.file.read(1 << 20):
                kept.write(chunk)
        return visit.go(f"/s/{visit.work.start_with_file(file.filename, path)}")


def paste(visit: Visit) -> Response:
    """Read cells that were pasted; a spreadsheet separates them by tabulators."""
    text = str(visit.fields.get("cells", "")).strip("\r\n")
    if not text.strip():
        raise InvalidParameterError(refusal("no_cells"))
    ending = ".tsv" if "\t" in text.partition("\n")[0] else ".csv"
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "pasted"
        path.write_text(text + "\n", "utf-8", newline="")
        return visit.go(f"/s/{visit.work.start_with_file(f'pasted{ending}', path)}")


def start(visit: Visit) -> Response:
    """Begin with a table of the lake."""
    return visit.go(f"/s/{visit.work.start_with_table(str(visit.fields.get('table', '')))}")


def read_again(visit: Visit) -> Response:
    """Read the file of a state in another way, and run its steps again."""
    state = visit.state()
    if state.recipe.source["kind"] != "file":
        raise InvalidParameterError(refusal("no_reading"))
    options: dict[str, Any] = {}
    for name in DIALECT_OPTIONS:
        value = str(visit.fields.get(name, "")).strip(" ")
        legal = [one for one, _ in TEXTS["dialect"][name][1]]
        if value and value not in legal:
            raise InvalidParameterError(refusal("one_of", name, shortlist(legal), value))
        if value:
            options[name] = int(value) if name == "header" else value.replace("\\t", "\t")
    table = str(visit.fields.get("table", "")) or state.recipe.source["table"]
    return visit.go(f"/s/{visit.work.read_again(state.recipe, table, options)}")


def show(visit: Visit) -> Response:
    """Show the table of a state: its columns, the key that is proposed, its first rows."""
    state = visit.state()
    cards = visit.work.kept(("cards", state.name), lambda: column_cards(state.frame))
    chosen = visit.fields.getlist("on") or _proposed(visit, state)
    return visit.render(
        "table.html",
        state=state,
        cards=cards[:_MOST_COLUMNS],
        others=[card.name for card in cards[_MOST_COLUMNS:]],
        chosen=chosen,
        ways=METHODS,
        reading=_reading(visit, state),
        rows=shown_part(state.frame, _SHOWN_ROWS),
        new=[],
    )


def _proposed(visit: Visit, state: TableState) -> list[str]:
    """Return the key that is chosen already: places, else the column with the most useful candidate."""
    names = list(state.frame.columns)
    key = proposed_key(visit.work, state)
    visit.warnings.clear()  # nobody has asked for this search
    if key is not None:
        return [key]
    pairs = [[a, b] for a in names for b in names if a != b and is_place([a, b])]
    return pairs[0] if pairs else names[:1]


def _reading(visit: Visit, state: TableState) -> dict[str, Any] | None:
    """Return how the file of a state was read; None for a table of the lake, or where the file is not kept."""
    source = state.recipe.source
    if source["kind"] != "file" or source["file"] == "frame.parquet":
        return None
    try:
        given = visit.work.reading(state.recipe)
    except InvalidParameterError:
        return None
    return {"given": given, "options": source["options"], "names": DIALECT_OPTIONS, "texts": TEXTS["dialect"]}
