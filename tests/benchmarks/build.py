"""Build time against the bare cost of parsing, normalising and taking distinct values with pyarrow."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

import dfjoin


def bare_cost(files: list[Path]) -> float:
    """CPU seconds that pyarrow takes to parse, lower, trim, NFKC and unique every text-like column. One thread."""
    n_threads = pa.cpu_count()
    pa.set_cpu_count(1)
    start = time.process_time()
    for file in files:
        data = file.read_bytes()
        read = csv.ReadOptions(use_threads=False, block_size=max(1 << 16, min(len(data) + 1, 8 << 20)))
        parse = csv.ParseOptions(newlines_in_values=True)
        convert = csv.ConvertOptions(strings_can_be_null=False)
        try:
            for column in csv.read_csv(pa.BufferReader(data), read, parse, convert).columns:
                if pa.types.is_floating(column.type) or pa.types.is_null(column.type):
                    continue
                text = pc.utf8_normalize(column.cast(pa.string()), "NFKC")
                pc.unique(pc.utf8_lower(pc.utf8_trim_whitespace(text)))
        except (pa.ArrowInvalid, UnicodeDecodeError):
            continue  # one of the files that only a reader for real lakes takes
    pa.set_cpu_count(n_threads)
    return time.process_time() - start


def _cpu() -> tuple[float, float]:
    """CPU seconds so far, of this process and of those that it started and that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own, children = (one.ru_utime + one.ru_stime for one in used)
    return own, children


def measure_build(lake_dir: Path, engine: str, shares: list[float], workers: int = 1) -> pd.DataFrame:
    """Build growing parts of a lake; seconds, ratio to the bare cost, MB/s, bytes per input byte, peak MB.

    The ratio is of CPU seconds; of seconds for Spark, whose processes go on. With several workers this process is one
    of them and merges alone, so that its own CPU seconds are nearly what would remain on idle cores.
    """
    files = sorted(p for p in lake_dir.rglob("*.csv") if p.is_file())
    rows = []
    if engine == "spark":
        from spark_ext.session import start_session

        start_session()
    warm = Path(tempfile.mkdtemp()) / "warm"
    dfjoin.build_lake([str(f) for f in files[:20]], warm, engine=engine, progress=False)
    for share in shares:
        chosen = files[:: max(1, round(1 / share))]
        size = sum(f.stat().st_size for f in chosen)
        bare = bare_cost(chosen)
        index = Path(tempfile.mkdtemp()) / "lake"
        start, (own, children) = time.perf_counter(), _cpu()
        lake = dfjoin.build_lake([str(f) for f in chosen], index, engine=engine, workers=workers, progress=False)
        spent = time.perf_counter() - start
        own, children = (after - before for after, before in zip(_cpu(), (own, children), strict=True))
        peak = max(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        )
        info = lake.info()
        rows.append(
            {
                "share": share,
                "files": len(chosen),
                "input MB": size / 1e6,
                "bare s": bare,
                "build s": spent,
                "CPU s": own + children,
                "own CPU s": own,
                "ratio": (own + children if engine == "inline" else spent) / bare,
                "MB/s": size / 1e6 / spent,
                "index/input": info["bytes"] / size,
                "peak MB": peak / 1024,
            }
        )
    return pd.DataFrame(rows).set_index("share")
