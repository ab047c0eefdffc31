"""The evidence for and against a candidate in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dfjoin.kernels.lists.evidence import REFERENCE_COLUMNS
from dfjoin.kernels.lists.usefulness import FEATURES, SCORE, USEFULNESS
from dfjoin.search.found import Candidate
from dfjoin.search.usefulness.features import features_of, query_facts
from dfjoin.search.usefulness.model import model
from dfjoin.search.usefulness.shared_evidence import evidence_of

__all__ = ["CandidateEvidence", "weigh_candidate"]

_LEAST = 0.2
"""Log-odds that a feature adds or takes at least to be told of."""

_Words = Callable[[float], str]


def _spread_text(spread: float, word: str) -> str:
    """Say in how many columns of a usual lake values stand; the model does not count those of the lake alone."""
    number = math.exp(spread)
    return f"the shared values are {word}, in about {number:,.0f} of {REFERENCE_COLUMNS:,} columns of a usual lake"


def _sizes_text(share: float) -> str:
    """Say how the values of two columns whose headers belong together compare."""
    return f"in how many numbers they have, and in those that one of them has of the other's, they agree to {share:.0%}"


_NUMERIC: dict[str, tuple[_Words, _Words]] = {
    "information": (
        lambda _: "so many telling values are hardly shared by chance",
        lambda _: "the shared values are so few, so short or so usual that chance may explain them",
    ),
    "information_per_value": (
        lambda _: "the shared values are long",
        lambda _: "the shared values are short",
    ),
    "rare_containment": (
        lambda v: f"it holds {v:.0%} of your values, counted by their rarity",
        lambda v: f"it holds only {v:.0%} of your values, counted by their rarity",
    ),
    "spread": (
        lambda v: _spread_text(v, "rare"),
        lambda v: _spread_text(v, "common"),
    ),
    "smaller_containment": (
        lambda v: f"each side holds {v:.0%} of the other or more",
        lambda v: f"one side holds only {v:.0%} of the other",
    ),
    "larger_containment": (
        lambda v: f"one side holds {v:.0%} of the other",
        lambda v: f"neither side holds more than {v:.0%} of the other",
    ),
    "cardinality": (
        lambda v: f"it has only {math.exp(v):,.0f} distinct values",
        lambda v: f"it has {math.exp(v):,.0f} distinct values, and some are shared by chance",
    ),
    "similar_size": (_sizes_text, _sizes_text),
    "other_headers": (
        lambda v: f"the table has {math.expm1(v):,.0f} other headers of your frame",
        lambda v: f"the table has {math.expm1(v):,.0f} other headers of your frame",
    ),
}
"""Features of any size → what is said where they count for the candidate, and where against it."""

_FLAGS = {
    "same_specific_header": "the headers are the same",
    "disjoint_headers": "the headers have no word in common",
    "header_in_table_name": "the name of the table has a word of your header",
    "header_elsewhere": "the frame or the table has the other one's header in another column",
    "no_letters": "your values have no letters",
    "no_letters_same_header": "your values have no letters, and the same header may mean another measure",
    "both_years": "both are years",
    "same_key_header": "both are numbers under the same header",
    "alike_header": "one header is short for the other one",
    "names_key": "your header names the table, of which the column is the key",
    "refers": "your column repeats numbers of which the table has each once, and all of yours",
    "measured": "a header says that the numbers were measured or counted",
    "unnamed_numbers": "the values are numbers, and neither header says that they name anything",
    "numeric_header": "your header is a number",
    "same_folder": "the table lies in the folder of the table whose headers are most like your frame's",
    "lone_shared": "only one of your values is shared",
    "unique_query": "none of your values occurs twice",
}
"""Features that are 1 or 0 → what is said where they are 1."""


_OF_VALUES = (
    *("information", "information_per_value", "rare_containment", "spread", "smaller_containment", "cardinality"),
    *("larger_containment", "by_chance"),
)
_BY_CHANCE = (
    "the shared numbers tell nothing: any other column of numbers from the same range, such as a serial number, would "
    "share as many"
)
"""What is said in place of the features of values where chance explains the shared numbers."""


@dataclass(frozen=True)
class CandidateEvidence:
    """What the model says of one candidate.

    Parameters
    ----------
    score, usefulness : float
    evidence_for, evidence_against : list of str
        The strongest first.
    """

    score: float
    usefulness: float
    evidence_for: list[str]
    evidence_against: list[str]


def weigh_candidate(candidate: Candidate, is_by_equality: bool = True) -> CandidateEvidence:
    """Weigh the evidence of one candidate, however it was ranked.

    Parameters
    ----------
    candidate : Candidate
    is_by_equality : bool
        It shares values as they are, and not after a program.

    Returns
    -------
    CandidateEvidence

    Notes
    -----
    O(values + set of the candidate).
    """
    found, snapshot = candidate.found, candidate.snapshot
    if found.useful is not None and not is_by_equality:  # what lies within a radius was counted by the search
        evidence = found.useful.evidence.take(np.array([found.useful.places[candidate.position]]))
    else:
        hit = found.hits.hits.take(np.array([candidate.position]))
        evidence = evidence_of(snapshot, found.matched, hit, is_by_equality)
    weights = model()
    features, scores = features_of(snapshot, query_facts(found.query), evidence, weights.numbers)
    useful = float(scores[USEFULNESS, 0])
    if found.useful is not None:
        useful = float(found.useful.usefulness[candidate.position])
    values = dict(zip(FEATURES, features[0].tolist(), strict=True))
    texts = _texts(values, weights.score.contributions(features[0]))
    return CandidateEvidence(
        float(scores[SCORE, 0]),
        useful,
        [text for part, text in texts if part > 0 and text],
        [text for part, text in texts if part < 0 and text],
    )


def _texts(values: dict[str, float], parts: dict[str, float]) -> list[tuple[float, str]]:
    """Say what each feature tells, the strongest first, with what it adds to the log-odds."""
    texts = []
    if values["by_chance"] >= 0.5:
        texts.append((-abs(sum(parts.get(name, 0.0) for name in _OF_VALUES)), _BY_CHANCE))
        parts = {name: part for name, part in parts.items() if name not in _OF_VALUES}
    texts += [(part, _words(name, values[name], part)) for name, part in parts.items() if abs(part) >= _LEAST]
    return sorted(texts, key=lambda item: -abs(item[0]))


def _words(name: str, value: float, part: float) -> str:
    """Say what a feature tells; nothing for what is not there."""
    if name == "by_chance" or (name in ("similar_size", "other_headers") and value == 0.0):
        return ""
    if name in _NUMERIC:
        return _NUMERIC[name][part < 0](value)
    return _FLAGS[name] if value > 0 else ""
