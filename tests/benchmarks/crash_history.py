"""What an index must hold, version by version, by the journals of writers that are killed: an oracle in plain Python."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from dfjoin.index.components import version_of

_DAMAGE = {"IndexCorruptedError", "IndexFormatError"}
_REFUSALS = {
    "add": ("InvalidParameterError", "whose names the index has already"),
    "build_add": ("InvalidParameterError", "whose names the index has already"),
    "remove": ("TableNotFoundError", "must name tables of the lake"),
    "restore": ("InvalidParameterError", "`version`"),
    "add_axes": ("ColumnNotFoundError", ""),
}
"""How an operation may refuse what another writer has made impossible."""

_ALWAYS_COMMITS = {"add", "replace", "build", "build_add", "remove", "restore"}


@dataclass(frozen=True)
class State:
    """What a version holds: table -> column -> cells, and the tables in damaged segments by the id of the segment.

    `healed` are segments that were damaged and are whole again.
    """

    tables: dict
    damaged: dict = field(default_factory=dict)
    healed: dict = field(default_factory=dict)

    def without(self, names):
        """The state when tables were removed or superseded."""
        gone = set(names)
        left = (
            {segment: inside - gone for segment, inside in segments.items() if inside - gone}
            for segments in (self.damaged, self.healed)
        )
        return State({name: cells for name, cells in self.tables.items() if name not in gone}, *left)

    def within(self, segments):
        """The state when damaged segments that are not listed were written anew from whole copies."""
        left = (
            {segment: inside for segment, inside in found.items() if segment in segments}
            for found in (self.damaged, self.healed)
        )
        return State(self.tables, *left)


class Difference(AssertionError):
    """The index is not what the journals say."""


def read_journal(path):
    """Read the records of a writer."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def operations_of(records):
    """Group the records of a writer by operation: the beginning, the attempts, the end if there is one."""
    found = []
    for record in records:
        if "kind" in record:
            found.append({**record, "attempts": []})
        elif "attempt" in record:
            found[-1]["attempts"].append({**record, "is_made": False})
        elif "made" in record:
            found[-1]["attempts"][-1]["is_made"] = True
        elif "end" in record:
            found[-1].update(record)
        elif "died" in record and found:
            found[-1]["died"] = record["died"]
    return found


class History:
    """The state of every version.

    Parameters
    ----------
    index : Path
        Directory of the index where it lies.
    tables : dict
        What version 1 holds.
    has_copies : bool
        Writers have mirrors: a compaction may write whole copies of what is damaged in the index, and a commit sends
        what is missing there again.
    """

    def __init__(self, index, tables, has_copies=False):
        self.index = index
        self.has_copies = has_copies
        self._sound = {}
        self._segments = {version: _segments_of(text) for version, text in self._manifests().items()}
        self.states = {1: State(tables)}
        self.latest = 1
        self.unreadable = set()
        self.may_see_damage = False
        self._seen = {}
        self._makers = {}

    def _manifests(self):
        found = {}
        for path in (self.index / "manifests").iterdir():
            version = version_of(path.name)
            if version is not None:
                with suppress(FileNotFoundError):  # a writer may remove it meanwhile
                    found[version] = path.read_bytes()
        return found

    def follow(self, journals):
        """Take the versions that were committed since; raise `Difference` if they are not those of the journals.

        Returns
        -------
        list
            The operations of each writer; `version` is the one that an operation committed.
        """
        texts = self._manifests()  # first: what is there has been announced
        writers = [operations_of(read_journal(path)) for path in journals]
        for version, text in texts.items():
            crc = zlib.crc32(text)
            if version not in self.unreadable and self._seen.setdefault(version, crc) != crc:
                raise Difference(f"the manifest of version {version} was written twice")
        attempts = {}
        for operations in writers:
            for operation in operations:
                for attempt in operation["attempts"]:
                    attempts.setdefault(attempt["attempt"], []).append((operation, attempt))
        if not texts or max(texts) < self.latest:
            raise Difference(f"version {self.latest} was committed, the latest is {max(texts, default=None)}")
        for version, made in attempts.items():
            winners = [attempt for _, attempt in made if attempt["is_made"]]
            if len(winners) > 1 or any(self._seen.get(version, w["crc"]) != w["crc"] for w in winners):
                raise Difference(f"version {version} was reported as committed by more than one writer")
            if winners and version > max(texts) and not self._is_newer(texts, version):
                raise Difference(f"version {version} was reported as committed and is not there")
        for version in range(self.latest + 1, max(texts) + 1):
            operation, attempt = self._maker(version, attempts.get(version, []))
            self._makers[version] = attempt["crc"]
            self._apply(version, operation["kind"], operation["given"], attempt["segments"])
        for operations in writers:
            for operation in operations:
                self._check_outcome(operation)
        return writers

    def take_own(self, kind, given):
        """Take the version that was committed while no writer lived."""
        version = max(texts := self._manifests())
        if version != self.latest + 1:
            raise Difference(f"version {version} follows version {self.latest}")
        self._apply(version, kind, given, _segments_of(texts[version]))

    def _is_newer(self, texts, version):
        """Tell whether a version came after the manifests were listed."""
        return version in self._manifests()

    def _maker(self, version, attempts):
        crc = self._seen.get(version)
        made = [(o, a) for o, a in attempts if a["is_made"]]
        # Two writers that do the same in one second write the same manifest: any of these stands for the dead one.
        found = made or [(o, a) for o, a in attempts if a["crc"] == crc][:1]
        if len(found) != 1:
            raise Difference(f"version {version} was made by {len(found)} of {len(attempts)} attempts")
        return found[0]

    def _apply(self, version, kind, given, segments):
        before, segments = self.states[self.latest], set(segments)
        if kind == "restore":
            after = self.states[given]
        elif kind == "repair":
            after = self._repaired(segments)
        elif kind == "build":
            after = State(given)
        elif kind == "remove":
            if missing := set(given) - set(before.tables):
                raise Difference(f"version {version} removes tables that are not there: {missing}")
            after = before.without(given)
        elif kind in ("add", "build_add", "replace"):
            if kind != "replace" and (there := set(given) & set(before.tables)):
                raise Difference(f"version {version} adds tables that are there: {there}")
            left = before.without(given)
            after = State({**left.tables, **given}, left.damaged)
        else:
            after = before
        self._segments[version] = segments
        if self.has_copies and kind.startswith("compact"):
            after = after.within(segments)
        if lost := set(after.damaged) - segments:
            raise Difference(
                f"version {version} ({kind}) holds damaged segments under another name, or lost them: {lost}"
            )
        self.states[version], self.latest = after, version

    def _repaired(self, segments):
        """What is left of the newest version that can be read."""
        version = max(version for version in self.states if version not in self.unreadable)
        self.see_healed()
        base = self.states[version]
        if kept := set(base.damaged) & segments:
            raise Difference(f"repair kept damaged segments: {kept}")
        dropped = set(self._segments[version]) - set(segments)
        inside = {**base.healed, **base.damaged}  # one that was damaged when repair looked may be whole by now
        if sound := dropped - set(self._sound):
            raise Difference(f"repair dropped sound segments: {sound}")
        return base.without(name for segment in dropped for name in inside.get(segment, ()))

    def see_healed(self):
        """Take note of segments whose files were damaged and are as they were again: a mirror had sent them."""
        for segment, files in self._sound.items() if self.has_copies else ():
            if any(not path.exists() or path.read_bytes() != data for path, data in files.items()):
                continue
            for version, state in self.states.items():
                if segment in state.damaged:
                    damaged = {other: inside for other, inside in state.damaged.items() if other != segment}
                    healed = {**state.healed, segment: state.damaged[segment]}
                    self.states[version] = State(state.tables, damaged, healed)

    def _check_outcome(self, operation):
        """Compare what a writer was told with what happened."""
        end, kind = operation.get("end"), operation["kind"]
        made = [attempt["attempt"] for attempt in operation["attempts"] if attempt["is_made"]]
        operation["has_committed"] = any(self._makers.get(a["attempt"]) == a["crc"] for a in operation["attempts"])
        if end is None:
            return
        if end == "ok":
            if kind in _ALWAYS_COMMITS and made != [operation["told"]]:
                raise Difference(f"{kind} reports version {operation['told']}, and committed {made}")
            return
        legal = end == "ConcurrentCommitError" or (self.may_see_damage and end in _DAMAGE)
        refusal, text = _REFUSALS.get(kind, ("", ""))
        legal = legal or (end == refusal and text in operation["told"])
        if not legal or made:
            raise Difference(f"{kind} of {operation['given']} ended with {end}: {operation['told']}; committed {made}")

    @property
    def is_sound(self):
        """Whether the latest version can be read and has no damaged segment."""
        return self.latest not in self.unreadable and not self.states[self.latest].damaged

    def existing(self):
        """Versions that can be read, ascending."""
        return sorted(version for version in self._manifests() if version not in self.unreadable)

    def damage_manifest(self):
        """Cut the latest manifest, if there is one before it; return whether it was done."""
        if len(self.existing()) < 2:
            return False
        path = self.index / "manifests" / f"{self.latest:020d}.json"
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        self.unreadable.add(self.latest)
        self.may_see_damage = True
        return True

    def damage_segment(self, rng):
        """Cut or remove what a segment of the latest version needs; return whether there was one."""
        readable = self.existing()
        manifests = {version: json.loads(text) for version, text in self._manifests().items() if version in readable}
        sound = [s for s in manifests[self.latest]["segments"] if s["id"] not in self.states[self.latest].damaged]
        if not sound:
            return False
        chosen = rng.choice(sound)
        (tokens,) = (group["id"] for group in chosen["groups"] if group["name"] == "tokens")
        (catalog,) = (group["id"] for group in chosen["groups"] if group["name"] == "catalog")
        directory = self.index / "segments" / chosen["id"]
        files = [directory / tokens / "value_bytes.npy", directory / tokens / "group.npy"]
        files.append(directory / catalog / "catalog.arrow")
        for version, manifest in manifests.items():
            for segment in manifest["segments"]:
                if segment["id"] == chosen["id"]:
                    inside = frozenset(_alive_tables(self.index, directory / catalog, segment["tombstones"]))
                    before = self.states[version]
                    self.states[version] = State(
                        before.tables, {**before.damaged, segment["id"]: inside}, before.healed
                    )
        self.may_see_damage = True
        target = rng.choice(files)
        self._sound.setdefault(chosen["id"], {})[target] = target.read_bytes()
        if rng.random() < 0.3:
            target.unlink()
        else:
            target.write_bytes(target.read_bytes()[:-1])
        return True


def _segments_of(text):
    """Ids of the segments that a manifest lists."""
    return {segment["id"] for segment in json.loads(text)["segments"]}


def _alive_tables(index, catalog, marks):
    """Names of the tables of a segment that are not deleted, as the format says."""
    with pa.OSFile(str(catalog / "catalog.arrow")) as stream:
        (tables,) = pa.ipc.open_file(stream).read_all()["tables"].to_pylist()
    alive = None if marks is None else np.load(index / marks["file"])
    for table in tables:
        first, n = table["first_column"], table["n_columns"]
        if alive is None or alive[first : first + n].any():
            yield table["name"]


def count_outcomes(writers):
    """Count by operation how often it was begun, how it ended, and where it was killed.

    Parameters
    ----------
    writers : list
        The operations of each writer, all of them dead, as from `History.follow`.

    Returns
    -------
    dict of str -> Counter
    """
    counts = {}
    for operations in writers:
        for operation in operations:
            one = counts.setdefault(operation["kind"], Counter())
            one["begun"] += 1
            has_committed = operation["has_committed"]
            if "end" not in operation:
                one["killed, committed" if has_committed else "killed, not committed"] += 1
            elif operation["end"] != "ok":
                one["refused"] += 1
            else:
                one["committed" if has_committed else "nothing to do"] += 1
    return counts
