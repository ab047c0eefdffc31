"""The runner of ``python -m tests.benchmarks COMMAND``; the other benchmarks are modules of their own."""

from __future__ import annotations

import argparse
import gc
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pandas as pd

import dfjoin
from tests.benchmarks import exact, lsh
from tests.benchmarks.build import measure_build
from tests.benchmarks.cold_start import PROJECT, measure_cold_start
from tests.benchmarks.containment import SPARK, contenders, run_containment, run_external
from tests.benchmarks.csv_dialects import measure_csv
from tests.benchmarks.foreign_keys import run_foreign_keys
from tests.benchmarks.generate import generate
from tests.benchmarks.life import run_machine
from tests.benchmarks.plans import measure_cold, measure_warm
from tests.benchmarks.reads import measure_reads
from tests.benchmarks.relevance import run_relevance

OURS = ["dfjoin", "dfjoin mergelist", "dfjoin probeset", "dfjoin josie"]


def _print(frame: pd.DataFrame) -> None:
    print(frame.to_string(float_format="{:.3f}".format), flush=True)
    if "numpy" in frame.index:
        print("\nrelative to numpy:")
        print((frame / frame.loc["numpy"]).to_string(float_format="{:.3f}".format), flush=True)


def _open(place: Path) -> dfjoin.Lake:
    """Open an index, or index a directory of tables."""
    if (place / "manifests").exists():
        return dfjoin.open_lake(place)
    return dfjoin.build_lake(place, Path(tempfile.mkdtemp()) / "lake.dfjoin", engine="inline")


def run_exact(options: argparse.Namespace) -> None:
    """Exact search on a lake of files."""
    index = options.index or Path(tempfile.mkdtemp()) / "lake.dfjoin"
    if not (index / "manifests").exists():
        dfjoin.build_lake(options.lake, index, engine="inline")
    lake = dfjoin.open_lake(index)
    queries = exact.real_queries(options.lake, options.queries)[:: options.every]
    limits = {"duckdb strings": 4, "duckdb integer keys": 4, "polars": 8, "SetSimilaritySearch": 8}
    if options.reads:
        print(measure_reads(lake, queries).T.to_string(float_format="{:.3g}".format))
        return
    names = [*OURS, "numpy", *options.rivals]
    _print(exact.measure(lake, queries, names, options.rounds, limits))


def run_generated(options: argparse.Namespace) -> None:
    """Exact search on a generated lake."""
    index = options.index or Path(tempfile.mkdtemp()) / "generated.dfjoin"
    if not (index / "manifests").exists():
        start = time.perf_counter()
        generate(index, options.columns, options.pairs)
        print(f"generated in {time.perf_counter() - start:.0f} s", flush=True)
    lake = dfjoin.open_lake(index)
    print(lake.info()["counts"], flush=True)
    queries = exact.generated_queries(lake, options.per_stratum)
    if options.reads:
        print(measure_reads(lake, queries).T.to_string(float_format="{:.3g}".format))
        return
    limits = {"duckdb strings": 8, "duckdb integer keys": 8, "polars": 8, "SetSimilaritySearch": 8}
    _print(exact.measure(lake, queries, [*OURS, "numpy", *options.rivals], options.rounds, limits))


def run_lsh(options: argparse.Namespace) -> None:
    """LSH Ensemble: accuracy by the thesis's protocol, rivals, crossover with exact search; on files or generated."""
    index = options.index or Path(tempfile.mkdtemp()) / "lake.dfjoin"
    if not (index / "manifests").exists():
        if options.lake is None:
            generate(index, options.columns, options.pairs)
        else:
            dfjoin.build_lake(options.lake, index, engine="inline")
    lake = dfjoin.open_lake(index).compact(full=True).add_signatures()
    print(lake.info()["counts"], flush=True)
    if options.lake is None:
        queries = exact.generated_queries(lake, options.per_stratum)
    else:
        queries = exact.real_queries(options.lake, options.queries)[:: options.every]
    large = [(stratum, column) for stratum, column in queries if stratum != "10-100"]
    if "costs" in options.parts:
        print(lsh.measure_costs(lake).to_string(float_format="{:,.2f}".format), flush=True)
    if "sketching" in options.parts:
        _print(lsh.measure_sketching(lake))
    if "crossover" in options.parts:
        _print(lsh.measure_crossover(lake, queries, rounds=options.rounds))
    if "rivals" in options.parts:
        _print(lsh.measure_against_datasketch(lake, large, rounds=options.rounds).set_index("contender"))
    if "accuracy" in options.parts:
        lake.add_signatures(signature_min=options.signature_min)
        by_threshold, by_size = lsh.measure_accuracy(lake, queries)
        for measure in ("precision", "recall", "candidates"):
            print(f"\n{measure}, unverified, by threshold:")
            _print(by_threshold.pivot(index="method", columns="threshold", values=measure))
            print(f"\n{measure}, unverified, by query size at threshold {lsh.BY_SIZE_AT}:")
            sizes = by_size.pivot(index="method", columns="stratum", values=measure)
            _print(sizes[[s for s in exact.STRATA if s in sizes]])
        if options.plot:
            lsh.plot_accuracy(by_threshold, by_size, options.plot)


def run_open(options: argparse.Namespace) -> None:
    """Opening an index, and memory after the first query."""
    spent = []
    for _ in range(20):
        start = time.perf_counter()
        dfjoin.open_lake(options.index)
        spent.append(time.perf_counter() - start)
    print(f"open: p50 {sorted(spent)[10] * 1e3:.2f} ms, first {spent[0] * 1e3:.2f} ms")
    lake = dfjoin.open_lake(options.index)
    frame = pd.DataFrame({"q": ["france", "germany", "peru"]})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    dfjoin.discover_joinable(frame, "q", lake, rank="matched")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"resident before the first query {before / 1024:.0f} MB, after {after / 1024:.0f} MB (kernels included)")


def run_plans(options: argparse.Namespace) -> None:
    """The planner against each plan: warm and cold, with strong matches and without; what a cold query touches."""
    index = options.index
    lake = dfjoin.open_lake(index)
    if options.lake is None:
        queries = exact.generated_queries(lake, options.per_stratum)
    else:
        queries = exact.real_queries(options.lake, options.queries)[:: options.every]
    print("warm, µs p50, from matched query to ranked columns:")
    print(measure_warm(lake, queries).to_string(float_format="{:.3g}".format), flush=True)
    del lake
    gc.collect()
    warm = Path(tempfile.mkdtemp()) / "warm.dfjoin"
    dfjoin.build_lake({"t": pd.DataFrame({"c": ["france", "peru", "chad"]})}, warm, engine="inline", progress=False)
    print("cold, ms p50, whole query:")
    print(measure_cold(index, warm, queries[:: options.cold_every]).to_string(float_format="{:.3g}".format))


def run_cold(options: argparse.Namespace) -> None:
    """The tour of README with no kernel compiled yet: what first use costs, and what of it each kernel."""
    runs, compiled = measure_cold_start(options.project)
    print(runs.T.to_string(float_format="{:.2f}".format))
    compiled["function"] = compiled.pop("module") + "." + compiled["function"]
    print(compiled.drop(columns="signature").head(options.top).to_string(float_format="{:.2f}".format))


def run_readme(options: argparse.Namespace) -> None:
    """Time the two README commands in a fresh copy."""
    project = Path(__file__).parents[2]
    text = (project / "README.md").read_text()
    with tempfile.TemporaryDirectory() as place:
        for name in ("main", "tests"):
            copy = Path(place) / name
            shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".venv", ".git", "__pycache__"))
            command = text.split(f"<!-- command: {name} -->")[1].split("```sh\n")[1].split("```")[0]
            start = time.perf_counter()
            subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=copy, check=True)
            print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)


def main() -> None:
    texts = {path.stem: path.read_text("utf-8") for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))}
    own = ", ".join(name for name, text in texts.items() if '\nif __name__ == "__main__":' in text)
    epilog = f"Modules of their own, by python -m tests.benchmarks.NAME: {own}"
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__, epilog=epilog)
    commands = parser.add_subparsers(required=True)
    shared = Path(__file__).parents[3] / "shared" / "lake"
    real = commands.add_parser("exact", help=run_exact.__doc__)
    real.add_argument("lake", type=Path, help="directory of tables")
    real.add_argument("--queries", type=Path, default=shared / "queries.csv")
    real.add_argument("--every", type=int, default=1, help="take every n-th query")
    real.set_defaults(run=run_exact)
    made = commands.add_parser("generated", help=run_generated.__doc__)
    made.add_argument("--columns", type=int, default=1_000_000)
    made.add_argument("--pairs", type=int, default=105_000_000)
    made.add_argument("--per-stratum", type=int, default=40)
    made.set_defaults(run=run_generated)
    for parser_ in (real, made):
        parser_.add_argument("--index", type=Path, help="index to use, or to make and keep")
        parser_.add_argument("--rounds", type=int, default=5)
        parser_.add_argument("--reads", action="store_true", help="tell what each plan reads instead of timing")
        parser_.add_argument("--rivals", nargs="*", default=["duckdb strings", "duckdb integer keys", "polars"])
    signed = commands.add_parser("lsh", help=run_lsh.__doc__)
    signed.add_argument("lake", type=Path, nargs="?", help="directory of tables; a generated lake if not given")
    signed.add_argument("--index", type=Path, help="index to use, or to make and keep; its signatures are replaced")
    signed.add_argument("--queries", type=Path, default=shared / "queries.csv")
    signed.add_argument("--every", type=int, default=1, help="take every n-th query")
    signed.add_argument("--columns", type=int, default=1_000_000)
    signed.add_argument("--pairs", type=int, default=105_000_000)
    signed.add_argument("--per-stratum", type=int, default=20)
    signed.add_argument("--rounds", type=int, default=3)
    signed.add_argument("--signature-min", type=int, default=10, help="smallest column of the accuracy part")
    signed.add_argument("--plot", type=Path, help="image file for precision and recall")
    parts = ("costs", "sketching", "crossover", "rivals", "accuracy")
    signed.add_argument("--parts", nargs="*", choices=parts, default=parts)
    signed.set_defaults(run=run_lsh)
    build = commands.add_parser("build", help="build time against the bare cost of parsing and distinct")
    build.add_argument("lake", type=Path)
    build.add_argument("--engine", choices=("inline", "spark"), default="inline")
    build.add_argument("--shares", type=float, nargs="*", default=[0.01, 0.1, 1.0])
    build.add_argument("--workers", type=int, default=1, help="processes of the inline engine")
    build.set_defaults(run=lambda o: _print(measure_build(o.lake, o.engine, o.shares, o.workers)))
    opening = commands.add_parser("open", help=run_open.__doc__)
    opening.add_argument("index", type=Path)
    opening.set_defaults(run=run_open)
    plans = commands.add_parser("plans", help=run_plans.__doc__)
    plans.add_argument("index", type=Path)
    plans.add_argument("--lake", type=Path, help="directory of tables; without it the index is a generated one")
    plans.add_argument("--queries", type=Path, default=shared / "queries.csv")
    plans.add_argument("--every", type=int, default=1, help="take every n-th query")
    plans.add_argument("--cold-every", type=int, default=4, help="of these, every n-th cold")
    plans.add_argument("--per-stratum", type=int, default=40)
    plans.set_defaults(run=run_plans)
    machine = commands.add_parser("machine", help="the life of an index against a plain dict of tables, step by step")
    machine.add_argument("steps", type=int, nargs="?", default=10_000)
    machine.set_defaults(run=lambda o: run_machine(o.steps))
    cold = commands.add_parser("cold", help=run_cold.__doc__)
    cold.add_argument("--project", type=Path, default=PROJECT, help="checkout to measure")
    cold.add_argument("--top", type=int, default=30, help="kernels to list, the slowest first")
    cold.set_defaults(run=run_cold)
    sets = commands.add_parser("containment", help=run_containment.__doc__)
    sets.add_argument("--share", type=float, default=0.01, help="of the sizes of the paper (default 0.01)")
    sets.add_argument("--only", nargs="+", choices=[*contenders(None), SPARK], help="these contenders")
    sets.add_argument("--limit", type=int, default=60, help="CPU seconds of a run, at most (default 60)")
    sets.add_argument("--index", type=Path, help="also the columns of an index")
    sets.add_argument("--external", action="store_true", help="the join within a memory budget instead")
    sets.set_defaults(
        run=lambda o: run_external(o.share) if o.external else run_containment(o.share, o.only, o.limit, o.index)
    )
    keys = commands.add_parser("foreign-keys", help=run_foreign_keys.__doc__)
    keys.add_argument("databases", type=Path, help="directory of databases with tables and truth.csv")
    keys.add_argument("--index", type=Path, help="index of a large lake, beside whose tables the databases are put")
    keys.add_argument("--fit", action="store_true", help="fit the model of the package anew")
    keys.set_defaults(run=lambda o: run_foreign_keys(o.databases, o.fit, o.index))
    relevance = commands.add_parser("relevance", help=run_relevance.__doc__)
    relevance.add_argument("judgements", type=Path, help="directory with queries.csv and judgements.csv")
    relevance.add_argument("lake", type=Path, help="the lake that was judged, or an index of it")
    relevance.add_argument("--keys", type=Path, help="directory of databases with tables and truth.csv")
    relevance.add_argument("--fit", action="store_true", help="fit the model of the package anew")
    relevance.set_defaults(run=lambda o: run_relevance(_open(o.lake), o.judgements, o.keys, o.fit))
    dialects = commands.add_parser("csv", help="files of many conventions, read by dfjoin and by others")
    dialects.add_argument("--seeds", type=int, nargs="+", default=[0])
    dialects.set_defaults(run=lambda o: _print(measure_csv(tuple(o.seeds))))
    readme = commands.add_parser("readme", help=run_readme.__doc__)
    readme.set_defaults(run=run_readme)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.run(options)


if __name__ == "__main__":
    sys.exit(main())
