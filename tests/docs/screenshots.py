"""Screenshots of the main pages of the built site, light and dark, wide and narrow.

``python -m tests.docs.screenshots DIRECTORY`` after a build. It opens the pages from disk, searches them, and ends with
status 1 if a page is wider than its screen, writes an error to the console, or is not found by a search.
"""

import argparse
import sys
from pathlib import Path

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
SEARCHED = {"misspelled": "howto/misspelled.html", "postal": "howto/addresses.html", "asof": "howto/dates.html"}


def main():
    """Make the screenshots; return how many problems there are."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("directory", type=Path)
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    problems = []
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
            found = [link.get_attribute("href") for link in page.query_selector_all("ul.search li a")]
            if not any(place in link for link in found):
                problems.append(f"a search for {word!r} does not find {place}: {found}")
    print(*problems, sep="\n")
    return len(problems)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
