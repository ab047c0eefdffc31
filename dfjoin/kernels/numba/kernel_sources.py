"""Which source files a compiled kernel depends on, and a digest of them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

__all__ = ["KernelSources"]

_COMMENT = re.compile(rb"#[^\n]*")


class KernelSources:
    """The source files of a package of kernels, as they are when this object is made.

    Its files are read before anything is compiled: read later they could be newer than what was imported. Imports are
    found by their text, since parsing all files takes 0.2 seconds.

    Parameters
    ----------
    root : pathlib.Path
        Directory of the package; folders in it count too.
    package : str
        Its dotted name. Imports are absolute, as the house rules ask.
    """

    def __init__(self, root: Path, package: str) -> None:
        name = re.escape(package).encode()
        self._from = re.compile(rb"from " + name + rb"((?:\.\w+)*) import (\([^)]*\)|[^\n]*)")
        self._import = re.compile(rb"import " + name + rb"((?:\.\w+)*)")
        paths = [path for pattern in ("*.py", "[a-z]*/*.py") for path in root.glob(pattern)]
        self._texts = {path: path.read_bytes() for path in paths}
        self._names = {path: "." + ".".join(path.relative_to(root).with_suffix("").parts) for path in paths}
        self._modules = {name.removesuffix(".__init__").encode(): path for path, name in self._names.items()}
        self._imports: dict[Path, set[Path]] = {}
        self._digests: dict[frozenset[Path], str] = {}

    def digest(self, *files: Path) -> str:
        """Return a digest of files, and of all files of the package that they import, directly or not.

        Parameters
        ----------
        *files : pathlib.Path
            A file outside of the package is read when it is first asked for. One that cannot be read counts by name.

        Returns
        -------
        str
            The same wherever the package lies.
        """
        asked = frozenset(files)
        if asked not in self._digests:
            reached, ahead = set(files), list(files)
            while ahead:
                new = self.imports(ahead.pop()) - reached
                reached |= new
                ahead += new
            digest = hashlib.blake2b(digest_size=16)
            for name, path in sorted((self._names.get(path, path.name), path) for path in reached):
                digest.update(name.encode() + b"\0" + hashlib.blake2b(self._text(path)).digest())
            self._digests[asked] = digest.hexdigest()
        return self._digests[asked]

    def imports(self, path: Path) -> set[Path]:
        """Return the files of the package that a file imports, inside functions and for types too.

        Parameters
        ----------
        path : pathlib.Path

        Returns
        -------
        set of pathlib.Path
        """
        if path not in self._imports:
            text = self._text(path)
            names = set(self._import.findall(text))
            for module, listed in self._from.findall(text):
                names |= {module, *(module + b"." + name for name in re.findall(rb"\w+", _COMMENT.sub(b"", listed)))}
            self._imports[path] = {self._modules[name] for name in names if name in self._modules} - {path}
        return self._imports[path]

    def _text(self, path: Path) -> bytes:
        if path not in self._texts:
            try:
                self._texts[path] = path.read_bytes()
            except OSError:  # typed by hand, or part of an archive, whose own time numba looks at
                self._texts[path] = b""
        return self._texts[path]
