"""Write the notes of a release from CHANGELOG.md: ``python .ci/release_notes.py [VERSION]``, the latest by default."""

import re
import sys
from pathlib import Path

_SECTION = re.compile(r"^## \[?([^\]\s]+)\]?[^\n]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def notes_of(changelog: str, version: str | None = None) -> str:
    """Return the section of a version, headings one level higher, and how to install it.

    Raises
    ------
    ValueError
        If there is no such section.
    """
    sections = dict(_SECTION.findall(changelog))
    name = version or next(iter(sections), "")
    if name not in sections:
        raise ValueError(f"CHANGELOG.md has no section {version!r}; it has {', '.join(sections) or 'none'}")
    body = re.sub(r"^##(#+ )", r"#\1", sections[name].strip(), flags=re.MULTILINE)
    return f'# dfjoin {name}\n\n{body}\n\nInstall: `pip install "dfjoin=={name}"`\n'


if __name__ == "__main__":
    try:
        text = (Path(__file__).parents[1] / "CHANGELOG.md").read_text("utf-8")
        sys.stdout.write(notes_of(text, *sys.argv[1:2]))
    except ValueError as error:
        sys.exit(str(error))
