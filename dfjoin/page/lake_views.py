"""The pages of the lake: what was indexed and skipped, its tables, and how they join."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from dfjoin._graph_picture import picture_around, picture_of_path
from dfjoin.page.visit import Visit

_LEAST_SCORE, _USUAL_SCORE = 0.2, 0.5
"""Of an edge of the join graph that can be shown, and that is."""

_SHOWN_PATHS = 3
_SHOWN_EDGES = 200
_SHOWN_NAMES = 500


def show_lake(visit: Visit) -> Response:
    """Show what was indexed, what was skipped and why."""
    work = visit.work
    info = work.kept(("info",), work.lake.info)
    columns = work.kept(("left out",), lambda: _left_out(work.lake))
    names = work.kept(("tables",), lambda: work.lake.tables)["table"].head(_SHOWN_NAMES).tolist()
    return visit.render("lake.html", info=info, left_out=columns, newer=work.newer_version(), some_tables=names)


def _left_out(lake: Any) -> list[tuple[str, int, list[str]]]:
    """Count the columns that are not indexed by their reason, with some examples."""
    columns = lake.columns
    out = columns[~columns["is_indexed"]]
    found = []
    for reason, group in out.groupby("reason"):
        names = [f"{row.table} · {row.column}" for row in group.head(5).itertuples()]
        found.append((str(reason), len(group), names))
    return sorted(found, key=lambda one: -one[1])


def refresh(visit: Visit) -> Response:
    """Go to the latest version of the index, and back to the search that needs it."""
    visit.work.refresh()
    path = str(visit.fields.get("to", ""))
    return visit.go(path if path.startswith("/s/") else "/lake")


def show_table(visit: Visit) -> Response:
    """Show a table of the lake."""
    name = visit.fields.get("name", "")
    described = visit.work.lake.describe(name)
    return visit.render("lake_table.html", described=described, columns=described["columns"].to_dict("records"))


def _graph(visit: Visit) -> Any:
    """Return the join graph of the lake with all edges of a score that is worth to be seen; None until it is made."""
    work = visit.work
    return work.awaited("graph", lambda: work.lake.join_graph(min_score=_LEAST_SCORE))


def show_graph(visit: Visit) -> Response:
    """Show the neighbourhood of a table in the join graph."""
    table = visit.fields.get("table", "")
    hops = 2 if visit.fields.get("hops") == "2" else 1
    least = _score_of(visit.fields.get("score", ""))
    visit.work.lake.describe(table)  # which refuses another name before anybody waits
    graph = _graph(visit)
    if graph is None:
        return visit.render("waiting.html")
    edges = graph.edges[graph.edges["score"] >= least]
    picture = picture_around(edges, table, hops, graph.families)
    drawn = edges[edges["table"].isin(picture.tables) & edges["key_table"].isin(picture.tables)]
    return visit.render(
        "graph.html",
        table=table,
        hops=hops,
        least=least,
        smallest=_LEAST_SCORE,
        picture=picture if len(picture.boxes) > 1 else None,
        edges=drawn.head(_SHOWN_EDGES).to_dict("records"),
    )


def _score_of(text: str) -> float:
    try:
        return min(1.0, max(_LEAST_SCORE, float(text)))
    except ValueError:
        return _USUAL_SCORE


def show_path(visit: Visit) -> Response:
    """Show the paths between two tables."""
    start, end = visit.fields.get("from", ""), visit.fields.get("to", "")
    graph = _graph(visit)
    if graph is None:
        return visit.render("waiting.html")
    joins = graph.shortest_paths(start, end, k=_SHOWN_PATHS)
    paths = [(picture_of_path(path), path.to_dict("records")) for _, path in joins.groupby("path")]
    return visit.render("path.html", start=start, end=end, paths=paths)
