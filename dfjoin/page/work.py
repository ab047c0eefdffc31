"""The work of the page: the table of each state, made by its steps and kept; and searches of it."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from dfjoin.errors import DfjoinError, InvalidParameterError, collected_warnings, warn
from dfjoin.lake import Lake, open_lake
from dfjoin.page.given_table import GivenTable, read_given
from dfjoin.page.page_texts import TEXTS, refusal
from dfjoin.page.state_files import Recipe, StateFiles, as_stored, digest
from dfjoin.page.steps import RunSql, TableStep, step_of

_FRAME_BYTES = 1 << 30
"""Bytes of frames that are in memory, beside those that a request uses."""

_SEARCHES = 64
_WAITED = 1.0
"""Seconds that a person waits for what a thread makes, before the page says that it is being made."""


class StepError(DfjoinError):
    """A step of a state cannot be run any more.

    Parameters
    ----------
    number : int
        Of the step, from 1; 0 for the source.
    reason : str
    recipe : Recipe
        The state.
    """

    def __init__(self, number: int, reason: str, recipe: Recipe) -> None:
        super().__init__(reason)
        self.number = number
        self.recipe = recipe


@dataclass(frozen=True)
class TableState:
    """A state with its table.

    Parameters
    ----------
    recipe : Recipe
    frame : DataFrame
        Not to be changed.
    notes : list of str
        What a person has to know of it: a source or an index that is another than it was.
    """

    recipe: Recipe
    frame: pd.DataFrame
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the state, as its URL has it."""
        return self.recipe.name

    @property
    def steps(self) -> list[TableStep]:
        """The steps since the source."""
        return [step_of(values) for values in self.recipe.steps]

    def listed_steps(self) -> list[dict[str, Any]]:
        """Describe the source and the steps, each with the name of the state that it makes."""
        titles = [self.recipe.source["name"], *(step.title() for step in self.steps)]
        kinds = ["source", *(step["kind"] for step in self.recipe.steps)]
        return [
            {"number": number, "title": title, "kind": kind, "state": self.recipe.first(number).name}
            for number, (title, kind) in enumerate(zip(titles, kinds, strict=True))
        ]


class LatestValues:
    """Values that were used last, up to a sum of their sizes. Safe to share between threads.

    Parameters
    ----------
    most : int
        The largest sum.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[Any, tuple[int, Any]] = OrderedDict()

    def get(self, key: Any, make: Callable[[], Any], size: Callable[[Any], int] = lambda value: 1) -> Any:
        """Return the value of a key, which `make` makes where it is not here; None is not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key][1]
        value = make()
        if value is None:
            return None
        with self._lock:
            self._values[key] = size(value), value
            self._values.move_to_end(key)
            while len(self._values) > 1 and sum(n for n, _ in self._values.values()) > self._most:
                self._values.popitem(last=False)
        return value


def _with_warnings(make: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Make a value, and note what dfjoin warns of."""
    with collected_warnings() as messages:
        return make(), messages


def _warn_again(value: Any, messages: list[str]) -> Any:
    """Return a value; warn again of what dfjoin warned of when it was made."""
    for text in messages:
        warn(text)
    return value


class Work:
    """A lake and the states that people made of its tables.

    Parameters
    ----------
    lake : Lake
    home : Path
        Directory of the page in the user's cache.
    """

    def __init__(self, lake: Lake, home: Path) -> None:
        self.lake = lake
        self.files = StateFiles(home)
        self._frames = LatestValues(_FRAME_BYTES)
        self._kept = LatestValues(_SEARCHES)
        self._lock = threading.Lock()
        self._awaited: dict[Any, Future[Any]] = {}

    # Sources -----------------------------------------------------------------------------------------------

    def start_with_file(self, name: str, content: Path, read: Callable[..., GivenTable] = read_given) -> str:
        """Keep a file that a person uploaded, read its first table, and return the state."""
        sha256, safe = self.files.keep_source(name, content)
        source = {"kind": "file", "name": name[:200], "file": safe, "sha256": sha256, "options": {}}
        given = self._read(source, read)
        return self._keep_read(Recipe({**source, "table": given.table}), given)

    def read_again(self, recipe: Recipe, table: str, options: dict[str, Any]) -> str:
        """Read the file of a state in another way, and return the state of the same steps."""
        source = {**recipe.source, "options": options, "table": table}
        self._keep_read(Recipe(source), self._read(source))
        return self.run(Recipe(source, recipe.steps)).name

    def start_with_table(self, table: str) -> str:
        """Take a table of the lake, and return the state."""
        frame = as_stored(self.lake.table(table))
        source = {"kind": "lake", "name": table, "sha256": _fingerprint(frame), **self.edition()}
        return self._keep(Recipe(source), frame)

    def edition(self) -> dict[str, Any]:
        """Name the index and its version, as sources and steps of the lake keep them."""
        return {"version": self.lake.version, "index": self.lake.manifest.index_uuid}

    def start_with_frame(self, df: pd.DataFrame, content: Path) -> str:
        """Take a frame of Python, which is kept as Parquet, and return the state."""
        as_stored(df).to_parquet(content, index=False)
        sha256, safe = self.files.keep_source("frame.parquet", content)
        source = {"kind": "file", "name": "df", "file": safe, "sha256": sha256, "options": {}, "table": safe}
        return self._keep(Recipe(source), as_stored(df))

    def reading(self, recipe: Recipe) -> GivenTable:
        """Say how the file of a state was read: a `GivenTable` without rows."""
        first = recipe.first(0)
        given: GivenTable = self.kept(("reading", first.name), lambda: _without_rows(self._read(first.source)))
        return given

    def _read(self, source: dict[str, Any], read: Callable[..., GivenTable] = read_given) -> GivenTable:
        path = self.files.source(source["sha256"], source["file"])
        if path is None:
            raise InvalidParameterError(refusal("file_gone", source["name"]))
        return read(path, source["options"], source.get("table"))

    def _keep_read(self, recipe: Recipe, given: GivenTable) -> str:
        """Keep what was read of a file, and how, which its page says."""
        self.kept(("reading", recipe.name), lambda: _without_rows(given))
        return self._keep(recipe, given.frame)

    def _keep(self, recipe: Recipe, frame: pd.DataFrame) -> str:
        self.files.keep(recipe)
        stored = as_stored(frame)
        self.files.keep_result(_key(recipe, self.lake), stored)
        return recipe.name

    # States ------------------------------------------------------------------------------------------------

    def open(self, name: str, is_left: Callable[[], bool] | None = None) -> TableState | None:
        """Return the state of a name with its table, made again where it is not kept; None if there is none.

        Raises
        ------
        StepError
            If a step cannot be run.
        """
        recipe = self.files.recipe(name)
        return None if recipe is None else self._made(recipe, is_left)

    def run(self, recipe: Recipe, is_left: Callable[[], bool] | None = None) -> TableState:
        """Run the steps of a recipe, and keep its state if all of them run."""
        state = self._made(recipe, is_left)
        self.files.keep(recipe)
        return state

    def _made(self, recipe: Recipe, is_left: Callable[[], bool] | None) -> TableState:
        """Make the table of a state from the nearest one before that is kept."""
        lake = self.lake  # of this version throughout, whoever takes the next one meanwhile
        frame = None
        n_done = len(recipe.steps)
        while n_done > 0 and (frame := self._kept_frame(recipe.first(n_done), lake)) is None:
            n_done -= 1
        if frame is None:
            frame = self._source_frame(recipe, lake)
        for number in range(n_done, len(recipe.steps)):
            if is_left is not None and is_left():
                raise InvalidParameterError(refusal("steps_cancelled"))
            try:
                step = step_of(recipe.steps[number])
                made = step.run(frame, lake, is_left) if isinstance(step, RunSql) else step.run(frame, lake)
                frame = as_stored(made)
            except DfjoinError as error:
                raise StepError(number + 1, str(error), recipe) from error
            part = recipe.first(number + 1)
            self.files.keep_result(_key(part, lake), frame)
        self._frames.get(_key(recipe, lake), lambda: frame, _bytes_of)
        return TableState(recipe, frame, self._notes(recipe))

    def _kept_frame(self, recipe: Recipe, lake: Lake) -> pd.DataFrame | None:
        key = _key(recipe, lake)
        found: pd.DataFrame | None = self._frames.get(key, lambda: self.files.result(key), _bytes_of)
        return found

    def _source_frame(self, recipe: Recipe, lake: Lake) -> pd.DataFrame:
        first = recipe.first(0)
        frame = self._kept_frame(first, lake)
        if frame is None:
            try:
                if recipe.source["kind"] == "lake":
                    frame = as_stored(lake.table(recipe.source["name"]))
                else:
                    frame = as_stored(self._read(recipe.source).frame)
            except DfjoinError as error:
                raise StepError(0, str(error), recipe) from error
            self.files.keep_result(_key(first, lake), frame)
            self._frames.get(_key(first, lake), lambda: frame, _bytes_of)
        return frame

    def _notes(self, recipe: Recipe) -> list[str]:
        """Say what is another than it was when the state was made."""
        made_with = [part for part in (recipe.source, *recipe.steps) if "version" in part]
        notes = []
        if recipe.source["kind"] == "lake":
            now = self.kept(
                ("fingerprint", recipe.first(0).name), lambda: _fingerprint(self._source_frame(recipe, self.lake))
            )
            if now != recipe.source["sha256"]:
                notes.append(TEXTS["other_source"].format(recipe.source["name"]))
        own = self.lake.manifest.index_uuid
        made_here = [part for part in made_with if part.get("index", own) in ("", own)]
        if len(made_here) < len(made_with):
            notes.append(TEXTS["other_index"])
        before = sorted({part["version"] for part in made_here} - {self.lake.version})
        if before:
            shown = ", ".join(map(str, before))
            notes.append(TEXTS["other_version"].format(shown, self.lake.version))
        return notes

    # Searches ----------------------------------------------------------------------------------------------

    def kept(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return what was computed for a key of this version of the index; one of the last ones, else made now.

        What dfjoin warned of when it was made is reported again.
        """
        name = (self.lake.manifest.index_uuid, self.lake.version, *key)
        return _warn_again(*self._kept.get(name, lambda: _with_warnings(make)))

    def kept_with_frame(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Do the same for what has a ``frame``, which counts as the tables of states do."""
        name = (self.lake.manifest.index_uuid, self.lake.version, *key)
        return _warn_again(*self._frames.get(name, lambda: _with_warnings(make), lambda made: _bytes_of(made[0].frame)))

    def awaited(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what takes long to make, made once for a version of the index; None while a thread makes it."""
        name = (self.lake.manifest.index_uuid, self.lake.version, key)
        with self._lock:
            made = self._awaited.get(name)
            if made is None:
                made = self._awaited[name] = Future()
                threading.Thread(target=_fulfil, args=(made, make), daemon=True).start()
        try:
            return made.result(timeout=_WAITED)
        except TimeoutError:
            return None

    def newer_version(self) -> int | None:
        """Return the version that another process has committed since; None if this is the latest."""
        try:
            latest = self._latest()
        except DfjoinError:
            return None
        is_same = latest.manifest.index_uuid == self.lake.manifest.index_uuid and latest.version == self.lake.version
        return None if is_same else latest.version

    def refresh(self) -> None:
        """Go to the latest version of the index."""
        self.lake = self._latest()

    def _latest(self) -> Lake:
        return open_lake(self.lake.path, roots=self.lake.snapshot.moved)


def _key(recipe: Recipe, lake: Lake) -> str:
    """Name the table of a state: the index and its version count where the lake takes part."""
    uses_lake = recipe.source["kind"] == "lake" or any(step["kind"] in ("join", "pairs") for step in recipe.steps)
    return digest([recipe.name, *([lake.manifest.index_uuid, lake.version] if uses_lake else [])])


def _fulfil(made: Future[Any], make: Callable[[], Any]) -> None:
    """Make what is awaited, or tell why it cannot be made."""
    try:
        made.set_result(make())
    except Exception as error:
        made.set_exception(error)


def _without_rows(given: GivenTable) -> GivenTable:
    return replace(given, frame=given.frame.iloc[:0])


def _bytes_of(frame: pd.DataFrame | None) -> int:
    return 0 if frame is None else int(frame.memory_usage(index=False, deep=False).sum()) + 1


def _fingerprint(df: pd.DataFrame) -> str:
    """Return the SHA-256 of names and cells of a frame."""
    found = hashlib.sha256(repr([(name, str(dtype)) for name, dtype in df.dtypes.items()]).encode())
    try:
        found.update(pd.util.hash_pandas_object(df, index=False).to_numpy().tobytes())
    except TypeError:  # lists and other cells without a hash
        found.update(repr(df.shape).encode())
    return found.hexdigest()
