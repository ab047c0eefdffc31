"""LSH Ensemble: precision and recall by the protocol of the thesis (section 2.5), and against public libraries.

Baselines: MinHash LSH with one partition, and asymmetric minwise hashing (Shrivastava, Li, WWW 2015), which pads
every set to the size of the largest one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

import dfjoin
from dfjoin.index.segment import Signatures
from dfjoin.index.signatures import SizeCounts, cut_partitions, partition_slots, sign_large_columns
from dfjoin.kernels.sets.minhash import sign_hashes
from dfjoin.search.exact.searcher import searcher_of
from dfjoin.search.lsh.bands import bands_of_partitions
from dfjoin.search.lsh.ensemble import find_candidates
from dfjoin.search.lsh.expected_recall import fewest_agreeing
from dfjoin.search.query import make_query
from tests.benchmarks.exact import STRATA

THRESHOLDS = [round(0.1 * i, 1) for i in range(1, 11)]
BY_SIZE_AT = 0.6  # the threshold of the thesis's plots against query size


@dataclass(frozen=True)
class Case:
    """A query: its stratum, its column, its hashes, and its exact containment in every signed slot."""

    stratum: str
    column: pd.Series
    hashes: np.ndarray
    containment: np.ndarray


def stored_signatures(lake) -> Signatures:
    """The signatures of an index of one segment."""
    (segment,) = lake.segments
    return segment.signatures


def hashes_of(segment, column: int) -> np.ndarray:
    """Hashes of a column's values, from the forward index."""
    tokens = segment.tokens
    start, end = tokens.set_indptr[column : column + 2].tolist()
    groups = np.append(column, tokens.set_lists[start:end].astype(np.int64) + segment.n_columns)
    starts = tokens.group_indptr[groups]
    widths = tokens.group_indptr[groups + 1] - starts
    places = np.repeat(starts - np.append(0, np.cumsum(widths)[:-1]), widths) + np.arange(int(widths.sum()))
    return tokens.hash[tokens.group_tokens[places]]


def make_cases(lake, queries) -> list[Case]:
    """Count every query exactly."""
    (segment,) = lake.segments
    tokens, stored = segment.tokens, segment.signatures
    cases = []
    for stratum, column in queries:
        values = make_query(column, lake.settings, name="q").values
        if not len(values):
            continue
        groups = searcher_of(lake.snapshot).groups_of(0, values)
        private = groups[(groups >= 0) & (groups < segment.n_columns)]
        counts = np.bincount(private, minlength=segment.n_columns)
        lists, hits = np.unique(groups[groups >= segment.n_columns] - segment.n_columns, return_counts=True)
        for number, n in zip(lists.tolist(), hits.tolist(), strict=True):
            start, end = tokens.list_indptr[number : number + 2].tolist()
            counts[tokens.list_columns[start:end]] += n
        cases.append(Case(stratum, column, values.hashes, counts[stored.columns] / len(values)))
    return cases


class Ensemble:
    """LSH Ensemble with some partitions, tuned as in the thesis (`recall` 0) or to reach a recall.

    With `is_tested` candidates whose signatures agree too little are left out, as ``verify=False`` does.
    """

    def __init__(self, lake, partitions: int, recall: float = 0.0, is_tested: bool = False) -> None:
        self.stored = stored_signatures(lake)
        self.settings = lake.settings
        self.recall = recall
        self.is_tested = is_tested
        ends = cut_partitions(SizeCounts.of(self.stored.sizes), replace(lake.settings, partitions=partitions))
        self.indptr, self.ends = partition_slots(self.stored.sizes, ends)

    def sign(self, hashes: np.ndarray) -> np.ndarray:
        """The query's signature."""
        return sign_hashes(hashes, self.settings.permutations, np.uint64(self.settings.hash_seed))

    def candidates(self, hashes: np.ndarray, threshold: float) -> np.ndarray:
        """Slots of the candidates, from the query's hashes."""
        return self.candidates_of(self.sign(hashes), hashes.size, threshold)

    def candidates_of(self, signature: np.ndarray, n_query: int, threshold: float) -> np.ndarray:
        """Slots of the candidates, from the query's signature."""
        n_rows = self.settings.permutations
        bands = bands_of_partitions(n_rows, threshold, self.ends, n_query, self.recall)
        smallest = int(np.ceil(threshold * n_query - 1e-9))
        found = find_candidates(self.stored, signature, smallest, self.indptr, bands)
        if not self.is_tested:
            return found.slots
        sizes = self.stored.sizes[found.slots] / n_query
        fewest = fewest_agreeing(sizes, smallest / n_query, n_rows, max(self.recall, 0.5), is_counted=True)
        return found.slots[found.agreed[found.slots] >= fewest]


class Asymmetric:
    """Asymmetric minwise hashing: all sets padded to the largest, one partition.

    The values that pad are in no query, so that all columns may share them.
    """

    def __init__(self, lake) -> None:
        (segment,) = lake.segments
        stored, settings = segment.signatures, lake.settings
        self.settings = settings
        largest = int(stored.sizes[-1])
        pool = np.random.default_rng(7).integers(0, 2**64, largest, dtype=np.uint64)
        matrix = np.empty((stored.columns.size, settings.permutations), np.uint32)
        for slot, column in enumerate(stored.columns.tolist()):
            own = hashes_of(segment, column)
            padded = np.concatenate([own, pool[: largest - own.size]])
            matrix[slot] = sign_hashes(padded, settings.permutations, np.uint64(settings.hash_seed))
        slots = np.argsort(matrix.T, axis=1, kind="stable").astype(np.int32)
        values = np.take_along_axis(matrix.T, slots, axis=1)
        self.stored = stored._replace(values=values, slots=slots)
        self.ends = np.array([largest])
        self.indptr = np.array([0, stored.columns.size])

    def candidates(self, hashes: np.ndarray, threshold: float) -> np.ndarray:
        """Slots of the candidates, from the query's hashes."""
        n_rows = self.settings.permutations
        signature = sign_hashes(hashes, n_rows, np.uint64(self.settings.hash_seed))
        bands = bands_of_partitions(n_rows, threshold, self.ends, hashes.size, 0.0)
        return find_candidates(self.stored, signature, 0, self.indptr, bands).slots


def judge(find: Callable[[np.ndarray, float], np.ndarray], cases: list[Case], threshold: float) -> pd.DataFrame:
    """Precision and recall of each query (equations 2.27 and 2.28); NaN where there is nothing to judge."""
    rows = []
    for case in cases:
        truth = case.containment >= threshold
        found = find(case.hashes, threshold)
        n_right = int(truth[found].sum())
        rows.append(
            {
                "stratum": case.stratum,
                "precision": n_right / found.size if found.size else np.nan,
                "recall": n_right / truth.sum() if truth.any() else np.nan,
                "candidates": found.size,
            }
        )
    return pd.DataFrame(rows)


def measure_accuracy(lake, queries, partitions=(8, 16, 32)) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Average precision and recall against threshold, and against query size at one threshold.

    Returns
    -------
    by_threshold, by_size : DataFrame
        Columns ``method, threshold or stratum, precision, recall, candidates``.
    """
    cases = make_cases(lake, queries)
    methods = {"MinHash LSH": Ensemble(lake, 1)}
    methods |= {f"LSH Ensemble ({n})": Ensemble(lake, n) for n in partitions}
    methods["dfjoin, recall 0.95"] = Ensemble(lake, 32, 0.95)
    methods["dfjoin, unverified rows"] = Ensemble(lake, 32, 0.95, is_tested=True)
    methods["asymmetric"] = Asymmetric(lake)
    by_threshold, by_size = [], []
    for name, method in methods.items():
        for threshold in THRESHOLDS:
            judged = judge(method.candidates, cases, threshold)
            means = judged[["precision", "recall", "candidates"]].mean()
            by_threshold.append({"method": name, "threshold": threshold, **means})
            if threshold == BY_SIZE_AT:
                sizes = judged.groupby("stratum")[["precision", "recall", "candidates"]].mean()
                by_size += [{"method": name, "stratum": s, **sizes.loc[s]} for s in STRATA if s in sizes.index]
    return pd.DataFrame(by_threshold), pd.DataFrame(by_size)


def plot_accuracy(by_threshold: pd.DataFrame, by_size: pd.DataFrame, path: Path) -> None:
    """Draw both tables as the thesis's figures 2.7 to 2.9 are."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(11, 7), layout="constrained", sharey=True)
    for row, (frame, key) in enumerate(((by_threshold, "threshold"), (by_size, "stratum"))):
        for axis, measure in zip(axes[row], ("precision", "recall"), strict=True):
            for name, group in frame.groupby("method", sort=False):
                axis.plot(group[key], group[measure], marker="o", markersize=3, label=name)
            axis.set(xlabel=key, ylabel=measure, ylim=(0, 1.02))
    axes[0, 0].legend(fontsize=7)
    figure.savefig(path, dpi=120)


def measure_sketching(lake, seed: int = 1) -> pd.DataFrame:
    """Nanoseconds per value to sign a set of some sizes, from texts: ours, rensa, datasketch; one core each."""
    import datasketch
    import rensa

    n_rows = lake.settings.permutations
    rows = []
    for size in (300, 3_000, 30_000, 300_000):
        texts = [f"value number {i}" for i in range(size)]
        encoded = [text.encode() for text in texts]
        column = pd.Series(texts)
        values = make_query(column, lake.settings, name="q").values

        def ours(values=values):
            sign_hashes(values.hashes, n_rows, np.uint64(lake.settings.hash_seed))

        def ours_from_texts(column=column):
            hashed = make_query(column, lake.settings, name="q").values.hashes
            sign_hashes(hashed, n_rows, np.uint64(lake.settings.hash_seed))

        def with_rensa(texts=texts):
            sketch = rensa.RMinHash(num_perm=n_rows, seed=seed)
            sketch.update(texts)
            sketch.digest()

        def with_datasketch(encoded=encoded):
            datasketch.MinHash(num_perm=n_rows).update_batch(encoded)

        contenders = {"dfjoin, of hashes": ours, "dfjoin, of texts": ours_from_texts, "rensa": with_rensa}
        if size <= 30_000:
            contenders["datasketch"] = with_datasketch
        spent: dict[str, list[float]] = {name: [] for name in contenders}
        for turn in range(8):
            for name, run in contenders.items():
                start = time.perf_counter()
                run()
                if turn:
                    spent[name].append((time.perf_counter() - start) / size * 1e9)
        rows += [{"contender": n, "values": size, "ns per value": float(np.median(s))} for n, s in spent.items()]
    return pd.DataFrame(rows).pivot(index="contender", columns="values", values="ns per value")


class Datasketch:
    """datasketch's MinHashLSHEnsemble over the same columns, with the same number of rows and the same partitions.

    It hashes the 64-bit hashes of the values, not the texts, which is quicker than what a user would get.
    """

    def __init__(self, lake, threshold: float, sketches: list) -> None:
        import datasketch.lshensemble as module

        stored = stored_signatures(lake)
        _, ends = partition_slots(stored.sizes, cut_partitions(SizeCounts.of(stored.sizes), lake.settings))
        lowers = np.append(stored.sizes[0], stored.sizes[np.searchsorted(stored.sizes, ends[:-1], "right")])
        original = module.optimal_partitions  # quadratic in Python: hours for these sizes
        module.optimal_partitions = lambda *_: list(zip(lowers.tolist(), ends.tolist(), strict=True))
        try:
            self.index = module.MinHashLSHEnsemble(threshold, num_perm=lake.settings.permutations, num_part=ends.size)
            entries = zip(range(stored.columns.size), sketches, stored.sizes.tolist(), strict=True)
            self.index.index(list(entries))
        finally:
            module.optimal_partitions = original


def sketch_with_datasketch(hash_sets, n_rows: int) -> list:
    """A datasketch MinHash of each set of hashes."""
    import datasketch

    def hash_32(data: bytes) -> int:
        return int.from_bytes(data[:4], "little")

    blank = datasketch.MinHash(num_perm=n_rows, hashfunc=hash_32)
    sketches = []
    for hashes in hash_sets:
        sketch = blank.copy()
        sketch.update_batch([h.tobytes() for h in hashes])
        sketches.append(sketch)
    return sketches


def measure_against_datasketch(lake, queries, thresholds=(0.5, 0.8), rounds: int = 3) -> pd.DataFrame:
    """Recall, precision of unverified answers and milliseconds of both libraries, interleaved.

    ``query`` starts at the query's hashes, for both; ``sketched`` at its signature. Of dfjoin the target recall
    is the smallest of a few that reaches datasketch's measured recall.
    """
    (segment,) = lake.segments
    cases = make_cases(lake, queries)
    n_rows = lake.settings.permutations
    start = time.perf_counter()
    sets = (hashes_of(segment, column) for column in segment.signatures.columns.tolist())
    sketches = sketch_with_datasketch(sets, n_rows)
    print(f"datasketch: {len(sketches):,} columns sketched in {time.perf_counter() - start:.1f} s", flush=True)
    asked = sketch_with_datasketch((case.hashes for case in cases), n_rows)
    rows = []
    for threshold in thresholds:
        start = time.perf_counter()
        rival = Datasketch(lake, threshold, sketches)
        print(f"datasketch: indexed for {threshold} in {time.perf_counter() - start:.1f} s", flush=True)
        sketch_of = {case.hashes.tobytes(): sketch for case, sketch in zip(cases, asked, strict=True)}

        def find(hashes, threshold, rival=rival, sketch_of=sketch_of):
            found = set(rival.index.query(sketch_of[hashes.tobytes()], hashes.size))
            return np.array(sorted(found), np.int64)

        theirs = judge(find, cases, threshold)
        ours, target = None, 0.0
        for target in (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999):
            ours = Ensemble(lake, lake.settings.partitions, target, is_tested=True)
            judged = judge(ours.candidates, cases, threshold)
            if judged["recall"].mean() >= theirs["recall"].mean():
                break
        spent: dict[str, list[float]] = {
            "datasketch query": [],
            "datasketch sketched": [],
            "dfjoin query": [],
            "dfjoin sketched": [],
        }
        for _ in range(rounds):
            for case in cases:
                start = time.perf_counter()
                find(case.hashes, threshold)
                spent["datasketch sketched"].append((time.perf_counter() - start) * 1e3)
                start = time.perf_counter()
                (sketch,) = sketch_with_datasketch([case.hashes], n_rows)
                list(rival.index.query(sketch, case.hashes.size))
                spent["datasketch query"].append((time.perf_counter() - start) * 1e3)
                start = time.perf_counter()
                ours.candidates(case.hashes, threshold)
                spent["dfjoin query"].append((time.perf_counter() - start) * 1e3)
                signature = ours.sign(case.hashes)
                start = time.perf_counter()
                ours.candidates_of(signature, case.hashes.size, threshold)
                spent["dfjoin sketched"].append((time.perf_counter() - start) * 1e3)
        for name, result in (("datasketch", theirs), (f"dfjoin, recall={target}", judged)):
            means = result[["recall", "precision", "candidates"]].mean()
            own = {k.split()[1]: v for k, v in spent.items() if k.startswith(name.split(",")[0])}
            times = {f"{kind} {q}": float(np.quantile(v, p)) for kind, v in own.items() for q, p in QUANTILES}
            rows.append({"threshold": threshold, "contender": name, **means, **times})
    return pd.DataFrame(rows)


QUANTILES = (("p50", 0.5), ("p95", 0.95))


def measure_costs(lake, rounds: int = 5) -> pd.Series:
    """Bytes of the signatures, seconds to make them all, milliseconds to add one table of a thousand rows."""
    (segment,) = lake.segments
    group = next(g for g in segment.meta.groups if g.name == "signatures")
    cardinality = np.where(segment.catalog.numbers["is_indexed"] > 0, segment.catalog.numbers["cardinality"], 0)
    for _ in range(2):  # the first time reads the pages and compiles
        start = time.perf_counter()
        sign_large_columns(segment.tokens._asdict(), cardinality, lake.settings)
        signing = time.perf_counter() - start
    frame = pd.DataFrame({"a": [f"new value {i}" for i in range(1000)], "b": range(1000)})
    spent = []
    with tempfile.TemporaryDirectory(dir=lake.path.parent) as place:
        copy = Path(place) / "copy"
        shutil.copytree(lake.path, copy, copy_function=os.link)  # what is written is never changed
        grown = dfjoin.open_lake(copy)
        for turn in range(rounds):
            start = time.perf_counter()
            grown.add({f"new {turn}": frame}, engine="inline", progress=False)
            spent.append((time.perf_counter() - start) * 1e3)
    values = segment.signatures.sizes.sum()
    return pd.Series(
        {
            "columns signed": segment.signatures.columns.size,
            "their values": values,
            "bytes of signatures": sum(c.size for c in group.components),
            "bytes of the index": lake.info()["bytes"],
            "seconds to sign": signing,
            "ns per value": signing / max(1, values) * 1e9,
            "ms to add a table": float(np.median(spent)),
        }
    )


def measure_crossover(lake, queries, thresholds=(0.1, 0.3, 0.5, 0.8, 1.0), rounds: int = 3) -> pd.DataFrame:
    """Time both modes end to end; ms p50 from a pandas column to the frame.

    Returns
    -------
    DataFrame
        ``threshold, stratum``, then ms of exact search, of verified and of unverified signatures. Small queries take
        the same way in both modes.
    """
    modes = {"exact": {}, "verified": {"mode": "lsh"}, "unverified": {"mode": "lsh", "verify": False}}
    rng = np.random.default_rng(3)
    rows = []
    for threshold in thresholds:
        spent = np.empty((len(queries), len(modes), rounds))
        for turn in range(-1, rounds):
            for number, (_, column) in enumerate(queries):
                frame = pd.DataFrame({"q": column})
                for place in rng.permutation(len(modes)).tolist():  # whoever comes first finds the caches cold
                    options = list(modes.values())[place]
                    start = time.perf_counter()
                    dfjoin.discover_joinable(frame, "q", lake, threshold=threshold, **options, rank="matched")
                    spent[number, place, max(turn, 0)] = (time.perf_counter() - start) * 1e3
        typical = np.median(spent, axis=2)
        for stratum in STRATA:
            own = np.array([s == stratum for s, _ in queries])
            if own.any():
                times = dict(zip(modes, np.median(typical[own], axis=0).tolist(), strict=True))
                rows.append({"threshold": threshold, "stratum": stratum, **times})
    return pd.DataFrame(rows)
