"""Parameters of a search, made of checked arguments, and the record of what it read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dfjoin import _validation as check
from dfjoin.errors import InvalidParameterError, shortlist
from dfjoin.index.catalog import KINDS

MODES = ("exact", "lsh", "transform", "embedding", "fuzzy")
"""Names of the modes, in the order in which messages list them; the class of each is found by `modes.mode_of`."""

RANKS = ("useful", "matched")
"""What candidates may be ordered by."""

PLANS = ("mergelist", "probeset", "josie")
"""Names of the plans of exact search; each returns the same rows in the same order."""

NEAR_PLANS = ("tree", "gemm", "pexeso")
"""Names of the plans of search by distance; each returns the same rows in the same order."""

_PLANS_OF = {"exact": PLANS, "embedding": NEAR_PLANS}

COUNTS = ("hit", "all")
"""What a search by distance counts: query values with a partner, or pairs of partners."""

RADIUS_UNITS = ("fraction", "by_length", "absolute", "m", "km")
"""Units of a radius."""


@dataclass(frozen=True)
class SearchParams:
    """What a search is to return; the arguments of ``discover_joinable`` after they were checked.

    Parameters
    ----------
    k : int or None
        How many columns at most; None: all that reach the threshold.
    threshold : float or None
        Smallest containment, 0 to 1.
    is_weighted : bool
        Rank by rows of the query column instead of distinct values.
    tables, exclude : tuple of str
        Patterns (``fnmatch``) of table names to search, and to leave out.
    kinds : tuple of str
        Kinds of candidate columns; empty: all.
    plan : str or None
        The plan to use, one of `PLANS` or, by distance, of `NEAR_PLANS`; None: the planner's choice.
    mode : str
        How candidates are found, one of `MODES`.
    verify : bool, default True
        Whether the matched values of candidates are counted. Only with `mode="lsh"`.

        - True: the rows hold counts. Where exact search is about as fast, it answers, and no column is missed.
        - False: they are estimated from the signatures, and no set is read. Such rows have `exact` False, and
          `containment_error` is their standard error. `threshold` applies to the estimates, so that a column which is
          just at the threshold is missing every other time, whatever `recall` asks for.
    recall : float, default 0.95
        Share of the columns at or above the threshold that are to be found, 0 to 1. A higher value examines more
        candidates; 0 weighs false positives and false negatives alike. Only with `mode="lsh"`.
    progressive : bool, default False
        Return an iterator of two results: first the estimates, and then the exact and complete answer (where the index
        keeps no sets: the best that it can give). Only with `mode="lsh"`.
    pad : int or None
        Digits to which the integers of the query are written with zeros in front.
    dayfirst : bool or None
        How all-digit dates of the query are read; None: as the column itself tells.
    radius : float, optional
        Distance up to which two values match. Only with `mode="embedding"` and `mode="fuzzy"`, as the three that
        follow. Default for vectors of texts: what was chosen for the index by changed values of its own, so that few
        strangers lie within it and a query costs little (see `Lake.add_vectors`); `attrs["dfjoin"]["searches"]` has it
        with the shares that were found. For edits, of words in order too, 0.15, for 3-grams 0.35. With the default
        `pairs(i)` lists the nearest partner of a value alone, with a radius that you give all. More misspellings are
        found with larger ones.
    radius_unit : {"fraction", "by_length", "absolute", "m", "km"}, optional
        - `"fraction"` (default for texts): of the largest distance: 2 for Euclidean distance, π for angles. In
          `mode="fuzzy"` of the characters of the longer text; 3-grams have no other unit.
        - `"by_length"`: the same for values of the query of up to 20 characters, and less for longer ones, half as
          much for 80 characters: a typo moves the vector of a long text less, and long texts that share a phrase lie
          near each other without meaning the same. Only in `mode="embedding"`, "euclidean" or "angular". A lake's
          default radius has it where more is found so.
        - `"absolute"`: the distance itself, or the number of edits. Columns of numbers need it.
        - `"m"`, `"km"`: of places, and nothing else. They need it.
    metric : str, optional
        How unit vectors are compared: "euclidean" (default), "angular", or the name of a metric that was registered
        with `dfjoin.register_metric`. In `mode="fuzzy"`: "edit" (default), insertions, deletions and substitutions of
        single characters; "tokens", these edits after the words of either text are put in order, each once, so that
        "Lee, Ann" and "ann lee" are at distance 0 (whatever is no letter or digit separates words); or "jaccard", one
        minus the share of common 3-grams among those of both texts, with two marks before and behind each text, so
        that its first and last characters count as often as others.
    count : {"hit", "all"}, optional
        - `"hit"` (default): candidates are ranked by the query values with a partner.
        - `"all"`: by pairs of partners, in the column `matched_pairs`; `threshold` is compared with pairs per query
          value. Not with `weighted`.
    rank : {"useful", "matched"}
        What candidates are ordered by.
    min_score : float or None
        Smallest score of a candidate that is ranked by usefulness; None: 0.5 if neither `k` nor `threshold` was given,
        else 0.
    families : bool
        Candidates of one family, ranked by usefulness, count as one hit.
    aliases : bool, dict or None
        Whether other names of the same things are looked for, too; a dict: with further names → what they mean.
    is_open : bool
        Neither `k` nor `threshold` was given.
    """

    k: int | None = 10
    threshold: float | None = None
    is_weighted: bool = False
    tables: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    plan: str | None = None
    mode: str = "exact"
    verify: bool = True
    recall: float = 0.95
    progressive: bool = False
    pad: int | None = None
    dayfirst: bool | None = None
    radius: float | None = None
    radius_unit: str | None = None
    metric: str | None = None
    count: str = "hit"
    rank: str = "useful"
    min_score: float | None = None
    families: bool = True
    aliases: bool | dict[str, str] | None = None
    is_open: bool = True

    @property
    def is_by_usefulness(self) -> bool:
        """Whether candidates are ranked by usefulness."""
        return self.rank == "useful"

    @property
    def smallest_score(self) -> float:
        """The smallest score that is shown."""
        return (_SHOWN_SCORE if self.is_open else 0.0) if self.min_score is None else self.min_score

    @property
    def n_pooled(self) -> int:
        """Candidates to find for a ranking by usefulness, where a search does not find them all."""
        return max(_POOLED, self.k or 0)


_SHOWN_SCORE = 0.5
_POOLED = 50

_Check = Callable[[Any, str], Any]


def _check_kinds(value: Any, name: str) -> Sequence[str]:
    kinds = check.check_patterns(value, name)
    for kind in kinds:
        check.check_choice(kind, name, KINDS)
    return kinds


def _check_aliases(value: Any, name: str) -> bool | dict[str, str] | None:
    from dfjoin.programs.entity_operators import check_aliases  # compiles kernels

    return check_aliases(value, name)


_CHECKS: dict[str, _Check] = {
    "mode": check.one_of(*MODES),
    "k": check.check_positive_int,
    "threshold": check.check_fraction,
    "weighted": check.one_of(True, False),
    "tables": check.check_patterns,
    "exclude": check.check_patterns,
    "kinds": _check_kinds,
    "plan": check.one_of(*PLANS, *NEAR_PLANS),
    "verify": check.one_of(True, False),
    "recall": check.check_fraction,
    "progressive": check.one_of(True, False),
    "pad": check.check_width,
    "dayfirst": check.one_of(None, True, False),
    "radius": check.check_distance,
    "radius_unit": check.one_of(*RADIUS_UNITS),
    "metric": check.check_text,
    "count": check.one_of(*COUNTS),
    "rank": check.one_of(*RANKS),
    "min_score": check.check_fraction,
    "families": check.one_of(True, False),
    "aliases": _check_aliases,
}
"""Argument → its check, which returns the value to use."""

_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(_CHECKS),
    "mode": SearchParams.mode,
    "weighted": SearchParams.is_weighted,
    "verify": SearchParams.verify,
    "progressive": SearchParams.progressive,
    "families": SearchParams.families,
}
"""Argument → the value of one that was not given."""

_BY_MATCHED = ("plan", "weighted")
"""Arguments that make the order that of matched values, unless `rank` is given."""

_MODES_BY_MATCHED = ("embedding", "fuzzy")
"""Modes whose order is that of matched values, unless `rank` is given."""

_BY_USEFULNESS = ("min_score", "families")
"""Arguments that the order by usefulness alone has."""

_BY_DISTANCE = ("embedding", "fuzzy")

BELONGS = {
    "recall": ("lsh",),
    "verify": ("lsh",),
    "progressive": ("lsh",),
    "radius": _BY_DISTANCE,
    "radius_unit": _BY_DISTANCE,
    "metric": _BY_DISTANCE,
    "count": _BY_DISTANCE,
}
"""Argument that some modes alone have → these. The docstring of `SearchParams` is its page of the site, too."""


def search_params(**arguments: Any) -> SearchParams:
    """Check the arguments of a search and make its parameters of them.

    Parameters
    ----------
    **arguments
        Of `dfjoin.discover_joinable`; those that are left out have their defaults.

    Raises
    ------
    InvalidParameterError, InvalidTypeError
        If one of them is illegal, or belongs to another mode.
    """
    given = {name: value for name, value in arguments.items() if value is not _DEFAULTS[name]}
    values = {name: _CHECKS[name](value, name) for name, value in given.items()}
    mode = values.setdefault("mode", SearchParams.mode)
    for name, owners in BELONGS.items():
        if name in given and mode not in owners:
            those = " and ".join(f'mode="{owner}"' for owner in owners)
            raise InvalidParameterError(f"`{name}` belongs to {those}, but the mode is {mode!r}; leave it out")
    if "plan" in given and values["plan"] not in _PLANS_OF.get(mode, ()):
        if mode in _PLANS_OF:
            legal = shortlist(_PLANS_OF[mode])
            raise InvalidParameterError(f"`plan` must be one of {legal} with mode={mode!r}, got {values['plan']!r}")
        owner = next(name for name, plans in _PLANS_OF.items() if values["plan"] in plans)
        raise InvalidParameterError(f'`plan` belongs to mode="{owner}", but the mode is {mode!r}; leave it out')
    if values.get("weighted") and values.get("count", "hit") != "hit":
        raise InvalidParameterError('`count` "all" ranks by pairs and `weighted` by rows; leave one of them out')
    if values.get("aliases") and values.get("progressive"):
        raise InvalidParameterError(
            f"`aliases` belong to a search with one result, got {check.show(values['aliases'])} and progressive=True; "
            "leave one of them out"
        )
    if "threshold" in given:
        values.setdefault("k", None)
    by_matched = next((name for name in _BY_MATCHED if name in given), None)
    is_by_matched = by_matched is not None or mode in _MODES_BY_MATCHED
    rank = values.setdefault("rank", "matched" if is_by_matched else "useful")
    if rank == "matched":
        for name in _BY_USEFULNESS:
            if name in given:
                raise InvalidParameterError(
                    f'`{name}` belongs to rank="useful", but candidates are ranked by matched values'
                    + (f" since `{by_matched}` was given" if by_matched and "rank" not in given else "")
                    + "; leave it out"
                )
    elif "plan" in given:
        raise InvalidParameterError(
            '`plan` belongs to rank="matched", but the rank is "useful", which reads every posting list; leave it out'
        )
    values["is_open"] = "k" not in given and "threshold" not in given
    return SearchParams(is_weighted=values.pop("weighted", False), **values)


@dataclass
class SearchStats:
    """What a search read; added up over segments.

    Parameters
    ----------
    plan : str
        The plan that ran, the plans joined by "+" when segments chose differently.
    n_values, n_found : int
        Query values, and those that the vocabulary holds.
    lists_read, postings_read : int
        Distinct posting lists read, and the postings in them.
    sets_read, set_entries_read : int
        Candidate sets read, and the entries read of them.
    bytes_read : int
        Logical bytes of postings and set entries read.
    candidates_pruned : int
        Candidates dropped unread by a bound.
    signatures_compared : int
        Columns whose signature was compared with the query's.
    candidates : int
        Columns that their signature made candidates, or that programs were learned for.
    blocks_read, distances, near_pairs : int
        Blocks of 64 vectors that were scanned, distances computed, and those within the radius.
    expected_recall : float
        Share of the columns at or above the threshold that are expected to be in the result: by the probability that
        each counted column had to be found; where none is counted, or rows are weighted, for containment that is
        uniform above the threshold. 1 where nothing depended on signatures.
    is_complete : bool
        No column can be missing.
    """

    plan: str = ""
    n_values: int = 0
    n_found: int = 0
    lists_read: int = 0
    postings_read: int = 0
    sets_read: int = 0
    set_entries_read: int = 0
    bytes_read: int = 0
    candidates_pruned: int = 0
    signatures_compared: int = 0
    candidates: int = 0
    blocks_read: int = 0
    distances: int = 0
    near_pairs: int = 0
    expected_recall: float = 1.0
    is_complete: bool = True

    def add(self, other: SearchStats) -> None:
        """Add what another segment's search read."""
        if self.plan != other.plan:
            self.plan = "+".join(dict.fromkeys([*filter(None, self.plan.split("+")), other.plan]))
        for name in _COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.n_values = max(self.n_values, other.n_values)
        self.expected_recall = min(self.expected_recall, other.expected_recall)
        self.is_complete = self.is_complete and other.is_complete

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return dict(self.__dict__)


_COUNTERS = tuple(
    name
    for name in SearchStats.__dataclass_fields__
    if name not in ("plan", "n_values", "expected_recall", "is_complete")
)
"""Fields of `SearchStats` that are added up."""
