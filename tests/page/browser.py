"""Chromium for the journeys, where one is installed; the reason where none is."""

import shutil
from contextlib import contextmanager
from pathlib import Path

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium():
    """Return the path of an installed Chromium, None if there is none."""
    found = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    return next((path for path in found if path and Path(path).exists()), None)


def why_no_browser():
    """Say what is missing for the journeys; empty if nothing is."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed (extra `test`)"
    return "" if find_chromium() else "no Chromium is installed (on Debian: apt-get install chromium)"


@contextmanager
def chromium():
    """Start the browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
