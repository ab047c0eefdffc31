"""The public handle of a lake, and how arguments of public functions become one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date

from dfjoin import _validation as check
from dfjoin.errors import DfjoinError, InvalidTypeError
from dfjoin.index.versions import list_versions
from dfjoin.lake.lake_changes import LakeChanges, LakeGroups
from dfjoin.lake.lake_contents import LakeContents
from dfjoin.store.snapshot import index_directory

__all__ = ["Lake", "open_lake", "refuse_swapped", "resolve_lake"]


class Lake(LakeContents, LakeChanges, LakeGroups):
    """An index opened at one version. Made by `open_lake` and `build_lake`.

    Parameters
    ----------
    index : str or path
        Directory of the index.
    version : int, optional
        The version to open.
    roots : mapping of str, optional
        New places of roots, by name.

    Notes
    -----
    The methods by task:

    - See what it holds: `tables`, `columns`, `describe`, `has_table`, `search` (by words), `info`, `plot_contents`,
      `settings`, `roots`, `path`; `table` reads a table.
    - Search and join with a frame: `dfjoin.discover_joinable`, `dfjoin.auto_join`, `paths`; `explore` opens a page.
    - Relate its tables: `join_graph` (likely foreign keys), `containment_join`.
    - Follow its files: `check`, `add`, `replace`, `remove`. Each change is a new version, and this object moves to it.
    - Keep versions: `version`, `versions`, `restore`, `refresh`, `compact`, `vacuum`.
    - Prepare a mode of search: `add_vectors` and `add_axes` (``mode="embedding"``), `add_patterns`
      (``mode="transform"``), `add_signatures` (``mode="lsh"``, built by default), `add_row_signatures` (keys of several
      columns), `save_embedder`.
    - Prove it sound: `verify`, `repair`.
    - Read its parts: `manifest`, `segments`, `snapshot`; their files are specified in ``FORMAT.md``.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile
    >>> lands = pd.DataFrame({"land": ["Peru", "Chad"], "area": [1285216, 1284000]})
    >>> lake = dfjoin.build_lake({"lands": lands}, tempfile.mkdtemp() + "/lake", engine="inline", progress=False)
    >>> lake.add({"cities": pd.DataFrame({"city": ["Lima", "Sarh"]})}, progress=False).tables["table"].tolist()
    ['cities', 'lands']
    >>> lake.restore(1).version, lake.tables["table"].tolist()
    (3, ['lands'])
    """


def open_lake(
    index: str | os.PathLike[str],
    *,
    version: int | None = None,
    roots: Mapping[str, str] | None = None,
    verify: str | None = None,
) -> Lake:
    """Open a lake index; reads its manifest, and nothing else unless `verify` says so.

    Parameters
    ----------
    index : str or path
        Directory of the index, or its URI on another file system. Of the latter each file is copied to a cache of the
        user (``DFJOIN_CACHE_DIR``) when it is first asked for.
    version : int, optional
        A version that still exists; the latest by default.
    roots : mapping of str, optional
        Name of a root → the place where its tables are now, for a lake that was moved; for a database its URI with user
        and password, or a function that returns it, if the environment does not have these.
    verify : {None, "sample"}
        With ``"sample"`` component files are compared with their CRC-32 for 80 ms, in an order that changes with
        the version and with the day. `Lake.verify` compares all files.

    Returns
    -------
    Lake

    Raises
    ------
    IndexNotFoundError
        If there is no index at that place.
    IndexVersionError
        If it needs a newer dfjoin.
    IndexCorruptedError
        If its manifest cannot be read, or the sample is damaged.

    Notes
    -----
    Time does not depend on the size of the lake. Safe to share between threads; pickles as its path
    and version.

    Examples
    --------
    >>> import dfjoin, pandas as pd, tempfile, pathlib
    >>> index = pathlib.Path(tempfile.mkdtemp()) / "lake.dfjoin"
    >>> _ = dfjoin.build_lake({"t": pd.DataFrame({"a": ["x", "y"]})}, index, engine="inline", progress=False)
    >>> dfjoin.open_lake(index).columns[["table", "column", "cardinality"]]
      table column  cardinality
    0     t      a            2
    """
    check.check_choice(verify, "verify", (None, "sample"))
    lake = Lake(index, version=version, roots=roots)
    if verify is not None:
        from dfjoin.store.verify import require_sound_sample

        require_sound_sample(lake.snapshot, lake.version + date.today().toordinal())
    return lake


def resolve_lake(lake: object, argument: str = "lake") -> Lake:
    """Return a Lake for a Lake or the path of one, or raise naming the argument."""
    if isinstance(lake, Lake):
        return lake
    if isinstance(lake, (str, os.PathLike)):
        return open_lake(lake)
    raise InvalidTypeError(
        f"`{argument}` must be a Lake or the path of an index, got {type(lake).__name__}; "
        "open one with dfjoin.open_lake(path)"
    )


def refuse_swapped(on: object, lake: object, columns: object) -> None:
    """Raise when the column and the lake of a search have changed places.

    Parameters
    ----------
    on, lake : object
        The arguments as they came.
    columns : object
        Labels of the frame, for the example in the message.
    """
    if isinstance(lake, Lake) or not _is_lake(on):
        return
    label = lake if isinstance(lake, str) else next(iter(columns), "column")  # type: ignore[call-overload]
    raise InvalidTypeError(
        "`on` must be a column, and it is a lake: the column comes first, "
        f"df.discover_joinable({check.show(label)}, lake)"
    )


def _is_lake(value: object) -> bool:
    """Return whether a value is a lake or the path of one, and not the name of a column."""
    if isinstance(value, (str, os.PathLike)):
        try:
            return bool(list_versions(index_directory(value)))
        except DfjoinError:
            return False
    return isinstance(value, Lake)
