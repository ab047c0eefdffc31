"""Files of every kind with damaged bytes: read, or refused with a reason, within bounded memory and time."""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import resource
import tempfile
import time
import zipfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa

from dfjoin.errors import TableReadError
from dfjoin.sources.listing import list_tables
from dfjoin.sources.readers import tables_of
from dfjoin.types import GivenDialect
from tests.sources import zoo

SECONDS = 20.0
PEAK_BYTES = 1 << 30


def write_formats(place: Path) -> list[Path]:
    """Write a good file of each format."""
    table = zoo.zoo()
    for name, (write, cannot_hold, _, libraries) in zoo.FORMATS.items():
        if all(map(find_spec, libraries)):
            write(table.drop_columns(sorted(cannot_hold)), place / name.replace("zoo", "t"))
    zoo.write_sqlite(table.drop_columns(sorted(zoo.NESTED)), place / "t.sqlite")
    if find_spec("duckdb"):
        zoo.write_duckdb(table.drop_columns(["float16", "decimal256"]), place / "t.duckdb")
    rows = [{"id": n, "city": f"city {n}", "items": [{"sku": n, "n": 1}]} for n in range(300)]
    (place / "t.json").write_text(json.dumps(rows))
    text = "id,city,n\n" + "".join(f"{n},city {n},{n / 4}\n" for n in range(2000))
    (place / "t.csv.xz").write_bytes(lzma.compress(text.encode()))
    (place / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    with zipfile.ZipFile(place / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/t.csv", text)
        archive.writestr("t.json", json.dumps(rows))
    rows = pa.table({"id": range(300), "city": [f"city {n}" for n in range(300)], "part": ["a", "b", "c"] * 100})
    if find_spec("deltalake"):
        import deltalake

        for _ in range(2):
            deltalake.write_deltalake(str(place / "t.delta"), rows, partition_by=["part"], mode="append")
    if find_spec("pyiceberg"):
        from pyiceberg.catalog.sql import SqlCatalog

        catalogue = SqlCatalog("c", uri=f"sqlite:///{place}/catalogue", warehouse=f"file://{place}")
        catalogue.create_namespace("n")
        table = catalogue.create_table("n.t", rows.schema, location=f"file://{place}/t.iceberg")
        table.append(rows)
        table.delete("part = 'a'")
        catalogue.engine.dispose()
    return sorted(place.glob("t.*"))


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage a file: bytes, bits, a piece cut, repeated or filled, the end cut; more often near the beginning and end."""
    damaged = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        size = len(damaged)
        if size < 8:
            break
        edge = int(rng.integers(0, 3))
        at = int(rng.integers(0, min(size, 256)) if edge == 0 else rng.integers(max(0, size - 512), size))
        at = int(rng.integers(0, size)) if edge == 2 else at
        length = int(rng.integers(1, 64))
        match int(rng.integers(0, 6)):
            case 0:
                damaged[at] = int(rng.integers(0, 256))
            case 1:
                damaged[at] ^= 1 << int(rng.integers(0, 8))
            case 2:
                del damaged[at : at + length]
            case 3:
                damaged[at:at] = damaged[at : at + length]
            case 4:
                damaged[at : at + length] = bytes([int(rng.choice([0, 255, 127]))]) * length
            case 5:
                del damaged[max(8, int(rng.integers(size // 2, size))) :]
    return bytes(damaged)


def read_or_reason(path: Path) -> str:
    """Read all tables of a file; return ``read`` or ``refused``. Any other error goes through."""
    _, sources, _ = list_tables(str(path))
    outcome = "read" if sources else "refused"
    for source in sources:
        try:
            for _, opened in tables_of(source, GivenDialect(), 1000):
                try:
                    for batch in opened().batches():
                        pa.record_batch(batch.columns, batch.schema.names)
                except TableReadError as error:
                    assert str(error)
                    outcome = "refused"
        except TableReadError as error:
            assert str(error)
            outcome = "refused"
    return outcome


def mutate_formats(place: Path, n: int, rng: np.random.Generator, only: str = "") -> dict[str, Counter[str]]:
    """Read `n` damaged tables of each format; return by name how many were read and refused, the most seconds and bytes.

    Of a table that is a directory one of its files is damaged.
    """
    told: dict[str, Counter[str]] = {}
    for good in write_formats(place):
        if only and only not in good.name:
            continue
        files = sorted(file for file in good.rglob("*") if file.is_file()) if good.is_dir() else [good]
        counts = Counter({"read": 0, "refused": 0})
        worst = 0.0
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(n):
            file = files[int(rng.integers(len(files)))] if len(files) > 1 else good
            data = file.read_bytes()
            file.write_bytes(mutated(data, rng))
            begun = time.perf_counter()
            try:
                counts[read_or_reason(good)] += 1
            except Exception as error:
                kept = place / f"damaged-{number}-{file.name}"
                kept.write_bytes(file.read_bytes())
                raise AssertionError(f"mutation {number} of {good.name}, kept at {kept}: {error!r}") from error
            finally:
                file.write_bytes(data)
            worst = max(worst, time.perf_counter() - begun)
            assert worst < SECONDS, f"mutation {number} of {good.name} takes {worst:.0f} s"
        peak = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        assert peak < PEAK_BYTES, f"mutations of {good.name} take {peak:,} bytes"
        counts.update({"milliseconds": int(1000 * worst), "mebibytes": peak >> 20})
        told[good.name] = counts
    return told


def main() -> None:
    """Print a line for each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=300, help="damaged files of each format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="part of the name of a good file, as xlsx")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        told = mutate_formats(Path(place), options.n, np.random.default_rng(options.seed), options.only)
    for name, counts in told.items():
        print(f"{name:12} " + ", ".join(f"{what} {number:,}" for what, number in counts.items()))


if __name__ == "__main__":
    main()
