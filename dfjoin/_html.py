"""HTML for notebooks: cards that are self-contained, escaped, and readable on light and dark pages."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from dfjoin._graph_picture import GraphPicture
from dfjoin._visible import visible, visible_lines

LIGHT = {
    "back": "#ffffff",
    "text": "#1f2328",
    "soft": "#57606a",
    "line": "#d0d7de",
    "fill": "#f3f5f7",
    "bar": "#0969da",
    "good": "#116329",
    "fair": "#7d4e00",
    "poor": "#a40e26",
}
"""Colours by role. Texts in `text`, `soft`, `good`, `fair` and `poor` stand on `back` and `fill`."""

DARK = {
    "back": "#0d1117",
    "text": "#e6edf3",
    "soft": "#9da7b1",
    "line": "#3d444d",
    "fill": "#1c2128",
    "bar": "#4493f8",
    "good": "#57c96b",
    "fair": "#e0a93b",
    "poor": "#ff8b82",
}
"""The same for dark pages."""

_TONES = {"strong": "good", "plausible": "fair", "weak": "poor", "chance": "poor"}


def _colours(values: dict[str, str]) -> str:
    return ";".join(f"--dfj-{name}:{value}" for name, value in values.items())


_DARK_PAGES = '[data-jp-theme-light="false"] .dfj,body.vscode-dark .dfj,html[theme="dark"] .dfj,.dark .dfj'
_LIGHT_PAGES = '[data-jp-theme-light="true"] .dfj,body.vscode-light .dfj,html[theme="light"] .dfj'

_CSS = (
    f".dfj{{{_colours(LIGHT)}}}"
    f"@media (prefers-color-scheme:dark){{.dfj{{{_colours(DARK)}}}}}"
    f"{_LIGHT_PAGES}{{{_colours(LIGHT)}}}{_DARK_PAGES}{{{_colours(DARK)}}}"
    ".dfj{color:var(--dfj-text);background:var(--dfj-back);font:13px/1.45 system-ui,sans-serif;padding:6px;"
    "max-width:960px}.dfj .card{border:1px solid var(--dfj-line);border-radius:6px;padding:8px 12px;margin:6px 0;"
    "background:var(--dfj-back)}"
    ".dfj .head{font-weight:600;overflow-wrap:anywhere}.dfj .soft{color:var(--dfj-soft);font-weight:400}"
    ".dfj .good{color:var(--dfj-good)}.dfj .fair{color:var(--dfj-fair)}.dfj .poor{color:var(--dfj-poor)}"
    ".dfj dl{display:grid;grid-template-columns:max-content 1fr;gap:1px 12px;margin:4px 0}"
    ".dfj dt{color:var(--dfj-soft)}.dfj dd{margin:0;overflow-wrap:anywhere}"
    ".dfj .track{display:inline-block;width:120px;height:8px;border-radius:4px;background:var(--dfj-fill);"
    "border:1px solid var(--dfj-line);vertical-align:middle;margin-right:8px;overflow:hidden}"
    ".dfj .track i{display:block;height:100%;background:var(--dfj-bar)}.dfj .track{position:relative}"
    ".dfj .track u{position:absolute;top:3px;height:2px;background:var(--dfj-text)}"
    ".dfj code,.dfj pre{font:12px/1.5 ui-monospace,monospace;color:var(--dfj-text);background:var(--dfj-fill);"
    "border-radius:4px;padding:1px 5px;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:isolate}"
    ".dfj pre{padding:6px 8px;margin:4px 0}.dfj .line{margin:3px 0}"
    ".dfj svg{font:12px system-ui,sans-serif;fill:var(--dfj-text)}.dfj svg rect{fill:var(--dfj-back);"
    "stroke:var(--dfj-text)}.dfj svg .line{fill:none;stroke:var(--dfj-soft)}.dfj svg .soft{fill:var(--dfj-soft)}"
    ".dfj .scroll{overflow-x:auto}.dfj table{border-collapse:collapse;margin:4px 0;font:inherit;color:var(--dfj-text)}"
    ".dfj th,.dfj td{border:1px solid var(--dfj-line);padding:2px 8px;text-align:left;color:var(--dfj-text);"
    "background:var(--dfj-back)}.dfj th{background:var(--dfj-fill)}"
)

_MOST_CHARACTERS = 200


def escape(value: object) -> str:
    """Write a value as text of a page: escaped, on one line, at most 200 characters."""
    text = visible(" ".join(str(value).split()))
    return html.escape(text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…")


def page(parts: Iterable[str]) -> str:
    """Put parts into one element with its own style."""
    return f'<div class="dfj"><style>{_CSS}</style>{"".join(parts)}</div>'


def card(head: str, parts: Iterable[str]) -> str:
    """Make a card; `head` and `parts` are HTML."""
    return f'<div class="card"><div class="head">{head}</div>{"".join(parts)}</div>'


def bar(share: float, text: str, verdict: str = "", error: float = 0.0) -> str:
    """Draw a share of 1 as a bar, with its standard error, a text behind it, and a verdict in its colour."""
    width, low, high = (100 * min(1.0, max(0.0, end)) for end in (share, share - error, share + error))
    whisker = f'<u style="left:{low:.0f}%;width:{high - low:.0f}%"></u>' if error else ""
    badge = f' <b class="{_TONES.get(verdict, "soft")}">{escape(verdict)}</b>' if verdict else ""
    return f'<span class="track"><i style="width:{width:.0f}%"></i>{whisker}</span>{escape(text)}{badge}'


def pairs(items: Iterable[tuple[str, str]]) -> str:
    """Make a list of names and what they are; the latter is HTML."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in items if value) + "</dl>"


def code(text: str) -> str:
    """Write a line of code, whole."""
    return f'<div class="line"><code>{html.escape(visible(text))}</code></div>'


def table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Write a small table."""
    lines = ["<tr>" + "".join(f"<th>{escape(name)}</th>" for name in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row) + "</tr>" for row in rows]
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'


def escape_lines(text: str) -> str:
    """Escape a text of several lines, whole."""
    return html.escape(visible_lines(text.split("\n")))


def graph(picture: GraphPicture, label: str) -> str:
    """Draw tables as boxes and keys as arrows between them, as SVG; `label` is read to those who do not see it."""
    tip = '<marker id="dfj-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    parts = [f'<defs>{tip}<path class="soft" d="M0 0L8 4L0 8z"/></marker></defs>']
    for arrow in picture.arrows:
        position = f'x="{arrow.x}" y="{arrow.y}" text-anchor="middle"'
        parts.append(f'<path class="line" d="{arrow.path}" marker-end="url(#dfj-tip)"/>')
        parts.append(f'<text class="soft" {position}>{escape(arrow.label)}</text>')
    for box in picture.boxes:
        position = f'x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="6"'
        x, y = box.x + 12, box.y + (20 if box.folder else 28)
        parts.append(f"<g><title>{escape(box.table)}</title><rect {position}/>")
        parts.append(f'<text x="{x}" y="{y}">{escape(box.title)}</text>')
        below = f'<text class="soft" x="{x}" y="{y + 17}">{escape(box.folder)}</text>' if box.folder else ""
        parts.append(f"{below}</g>")
    size = f'width="{picture.width}" height="{picture.height}" viewBox="0 0 {picture.width} {picture.height}"'
    return f'<div class="scroll"><svg {size} role="img" aria-label="{escape(label)}">{"".join(parts)}</svg></div>'
