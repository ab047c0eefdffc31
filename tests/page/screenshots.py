"""Screenshots of all pages, light and dark, wide and narrow: ``python -m tests.page.screenshots DIRECTORY``."""

import argparse
import tempfile
from pathlib import Path

import dfjoin
from dfjoin.page.serve import explore
from tests.page.browser import chromium

PROJECT = Path(__file__).parents[2]
LOOKS = (("light", 1280), ("dark", 1280), ("light", 400))


def visit_pages(page, url):
    """Open each page of a session, and yield its name."""
    page.goto(url)
    start = page.url
    yield "table"
    page.goto(start.split("/s/")[0] + "/")
    yield "home"
    page.goto(start + "/search?on=Country")
    page.wait_for_selector(".evidence table")
    yield "hits"
    page.goto(start + "/search?on=Country&view=table")
    yield "hits_table"
    page.goto(start + "/search?on=facility")
    yield "nothing"
    page.goto(start + "/search?on=Country&way=spelling")
    page.wait_for_selector("#radius-pairs p")
    yield "radius"
    page.goto(start + "/search?on=Country")
    page.click("article:first-of-type .accent")
    page.wait_for_selector(".join-form")
    yield "join"
    page.click(".join-form button.primary")
    page.wait_for_url("**/s/*")
    yield "joined"
    joined = page.url
    page.goto(joined + "/sql")
    page.fill("#query", "SELECT continent, count(*) AS n\nFROM t\nGROUP BY continents")
    page.click(".sql .primary")
    page.wait_for_selector("#sql-problem")
    yield "sql"
    page.goto(joined + "/change")
    yield "change"
    page.goto(joined + "/leave")
    yield "leave"
    page.goto(joined.split("/s/")[0] + "/lake")
    yield "lake"
    page.goto(joined.split("/s/")[0] + "/lake/table?name=geo/countries.csv")
    yield "lake_table"
    page.goto(joined.split("/s/")[0] + "/lake/graph?table=geo/countries.csv")
    page.wait_for_selector("h1:has-text('joins with')")
    yield "graph"
    page.goto(joined.split("/s/")[0] + "/lake/path?from=geo/capitals.csv&to=economy/currency_signs.csv")
    yield "path"
    page.goto(start + "/review?on=Country&table=geo/countries.csv&column=country")
    yield "review"
    page.goto(joined.split("/s/")[0] + "/s/none")
    yield "problem"


def main():
    """Make the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--index", help="of the lake; that of examples/lake is built if not given")
    parser.add_argument("--only", nargs="*", help="names of pages")
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        index = options.index or f"{scratch}/examples.dfjoin"
        if options.index is None:
            dfjoin.build_lake(PROJECT / "examples" / "lake", index, engine="inline", progress=False)
        server = explore(index, str(PROJECT / "examples" / "facilities.csv"), open_browser=False)
        with chromium() as browser:
            for scheme, width in LOOKS:
                context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
                page = context.new_page()
                page.on("console", lambda message: print(message.type, message.text))
                for name in visit_pages(page, server.url):
                    if not options.only or name in options.only:
                        page.screenshot(path=options.directory / f"{name}-{scheme}-{width}.png", full_page=True)
                context.close()
        server.stop()


if __name__ == "__main__":
    main()
