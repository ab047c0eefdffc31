"""Screenshots of the main pages of the built site, light and dark, wide and narrow.

``python -m tests.docs.screenshots DIRECTORY`` after a build. It opens the pages from disk, searches them, and ends with
status 1 if a page is wider than its screen, writes an error to the console, or is not found by a search, or if a link of
the site leads nowhere.
"""

import argparse
import html
import re
import sys
from pathlib import Path
from urllib.parse import unquote

from tests.page.browser import chromium

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
LOOKS = (("light", 1280), ("dark", 1280), ("light", 400))
PAGES = {
    "index": "index.html",
    "tutorial": "tutorials/first_join.html",
    "howto": "howto/index.html",
    "addresses": "howto/addresses.html",
    "programs": "explanation/programs.html",
    "score": "explanation/score.html",
    "function": "reference/generated/dfjoin.auto_join.html",
    "class": "reference/generated/dfjoin.Lake.html",
    "command": "reference/generated/shell/discover.html",
    "glossary": "reference/glossary.html",
    "gallery": "gallery/index.html",
    "measurements": "measurements/index.html",
    "search": "search.html?q=misspelled",
}
SEARCHED = {
    "misspelled": "howto/misspelled",
    "too many rows": "howto/too_many_rows",
    "nothing found": "howto/nothing_found",
    "postal code street": "howto/addresses",
    "entity year": "howto/several_columns",
    "nearest place": "howto/places",
    "days months": "howto/dates",
    "countries German": "howto/aliases",
    "trust score": "explanation/score",
    "doubtful pairs": "howto/review_pairs",
    "colleague": "howto/plan",
    "rule SQL": "howto/program_to_sql",
    "every night": "howto/nightly",
    "read database Excel": "howto/sources",
    "must not index": "howto/sensitive",
    "slow memory": "howto/speed",
    "Databricks": "howto/clusters",
    "polars": "frames",
    "model": "tutorials/model",
    "error": "reference/errors",
}
"""Words of the twenty questions → the page that answers."""


def dead_links():
    """Return the links and pictures of the site that lead to no file of it, or to no part of a page."""
    texts = {path.resolve(): path.read_text("utf-8") for path in SITE.rglob("*.html")}
    parts = {path: set(re.findall(r' id="([^"]+)"', text)) for path, text in texts.items()}
    dead = []
    for path, text in texts.items():
        for link in re.findall(r' (?:href|src)="([^"]+)"', text):
            if re.match(r"[a-z]+:", link):
                continue
            place, _, part = unquote(html.unescape(link)).partition("#")
            target = (path.parent / place.partition("?")[0]).resolve() if place else path
            if not target.exists() or (part and target in parts and part not in parts[target]):
                dead.append(f"{path.relative_to(SITE)} → {link}")
    return sorted(set(dead))


def main():
    """Make the screenshots; return how many problems there are."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    problems = dead_links()
    with chromium() as browser:
        for scheme, width in LOOKS:
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, offline=True)
            page = context.new_page()
            page.on("console", lambda message: message.type == "error" and problems.append(message.text))
            for name, place in PAGES.items():
                page.goto(f"file://{SITE}/{place}")
                page.wait_for_timeout(1000 if name == "search" else 0)
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    problems.append(f"{place} is wider than {width}")
                page.screenshot(path=options.directory / f"{name}-{scheme}-{width}.png")
            context.close()
        page = browser.new_context(offline=True).new_page()
        for word, place in SEARCHED.items():
            page.goto(f"file://{SITE}/search.html?q={word}")
            page.wait_for_selector("ul.search li a")
            page.wait_for_timeout(500)  # results come in one by one
            found = [link.get_attribute("href") for link in page.query_selector_all("ul.search li a")]
            pages = list(dict.fromkeys(link.partition("#")[0] for link in found))
            if not any(link.endswith(f"{place}.html") for link in pages[:10]):
                problems.append(f"a search for {word!r} does not find {place} among the first ten: {pages[:10]}")
    print(*problems, sep="\n")
    return len(problems)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
