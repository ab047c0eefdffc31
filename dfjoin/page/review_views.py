"""The page on which pairs of a learned join, or of one by similarity, are reviewed."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import pandas as pd
from starlette.responses import Response

from dfjoin.api import auto_join
from dfjoin.errors import InvalidParameterError, TableNotFoundError, did_you_mean
from dfjoin.page.page_texts import refusal
from dfjoin.page.search_views import accepted, replaced_step
from dfjoin.page.steps import JoinPaired
from dfjoin.page.visit import Visit
from dfjoin.page.work import TableState, Work

_SHOWN = 60
_MOST_PARTNERS = 1000
_KINDS = ("fuzzy", "program", "reviewed")


@dataclass(frozen=True)
class ReviewForm:
    """What is joined, and what a person has said of pairs so far.

    Parameters
    ----------
    table, on, right_on : str
    precision : float
    answers : tuple of (left value, right value, bool)
    is_taught : bool
        Programs are learned from the pairs that are right.
    """

    table: str
    on: str
    right_on: str
    precision: float = 0.9
    answers: tuple[tuple[str, str, bool], ...] = ()
    is_taught: bool = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `dfjoin.auto_join`."""
        arguments: dict[str, Any] = {"on": self.on, "right_on": self.right_on, "precision": self.precision}
        arguments |= {"transform": True, "fuzzy": True}
        if self.answers:
            arguments["reviewed"] = [list(answer) for answer in self.answers]
        right = [[left, right] for left, right, is_right in self.answers if is_right]
        if self.is_taught and right:
            arguments["examples"] = right
        return arguments

    @classmethod
    def of_step(cls, step: JoinPaired) -> ReviewForm:
        """Return the form that made a step."""
        arguments = step.arguments
        answers = tuple((left, right, is_right) for left, right, is_right in arguments.get("reviewed", ()))
        return cls(
            step.table, arguments["on"], arguments["right_on"], arguments["precision"], answers, "examples" in arguments
        )

    def step(self, edition: dict[str, Any]) -> JoinPaired:
        """Return the join as a step of a lake of that edition, see `Work.edition`."""
        return JoinPaired(self.table, arguments=self.arguments(), **edition)


@dataclass(frozen=True)
class ReviewPair:
    """A pair of keys.

    Parameters
    ----------
    left, right : str
    kind : str
        How it was matched.
    distance : float
    answer : bool or None
        What the person said.
    """

    left: str
    right: str
    kind: str
    distance: float
    answer: bool | None

    def parts(self) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
        """Return both texts in pieces, each with whether it differs."""
        return differences(self.left, self.right)


@dataclass(frozen=True)
class Review:
    """What a join does now, and its pairs.

    Parameters
    ----------
    pairs : list of ReviewPair
        The doubtful ones first; pairs of equal keys are counted alone.
    n_pairs, n_equal : int
    programs : list of str
    estimate : float or None
        Precision of what similarity joins.
    coverage : float
        Share of the rows that find a partner.
    partners : list of str
        Keys of the table, for a person who knows a better one.
    """

    pairs: list[ReviewPair]
    n_pairs: int
    n_equal: int
    programs: list[str]
    estimate: float | None
    coverage: float
    partners: list[str]


def differences(left: str, right: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Cut two texts into pieces that both have and pieces that differ.

    Examples
    --------
    >>> differences("Kosovo (region)", "Kosovo")
    ([('Kosovo', False), (' (region)', True)], [('Kosovo', False)])
    """
    sides: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = ([], [])
    for name, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for side, piece in zip(sides, (left[a:b], right[c:d]), strict=True):
            if piece:
                side.append((piece, name != "equal"))
    return sides


def review_form(fields: Any, state: TableState, work: Work) -> ReviewForm:
    """Read the form: the join, earlier answers, and those that are new."""
    on, table, right_on = (str(fields.get(name, "")) for name in ("on", "table", "column"))
    if on not in state.frame.columns or not work.lake.has_table(table):
        raise TableNotFoundError(refusal("review_unknown"))
    try:
        precision = min(1.0, max(0.0, float(fields.get("precision", 0.9))))
    except ValueError as error:
        raise InvalidParameterError(refusal("precision", fields.get("precision"))) from error
    answers: dict[tuple[str, str], bool] = {}
    lefts, rights, replies = (list(map(str, fields.getlist(name))) for name in ("left", "right", "said"))
    for left, right, said in zip(lefts, rights, replies, strict=False):
        if said in ("yes", "no"):
            answers[left, right] = said == "yes"
    for number, (left, right) in enumerate(zip(lefts, rights, strict=False)):
        said = str(fields.get(f"answer.{number}", ""))
        better = str(fields.get(f"better.{number}", "")).strip()
        if said in ("yes", "no"):
            answers[left, right] = said == "yes"
        elif said == "open":
            answers.pop((left, right), None)
        if better and better != right:
            _require_partner(work, table, right_on, better)
            answers |= {(left, right): False, (left, better): True}
    listed = tuple((left, right, is_right) for (left, right), is_right in answers.items())
    return ReviewForm(table, on, right_on, precision, listed, bool(fields.get("taught")))


def _require_partner(work: Work, table: str, column: str, partner: str) -> None:
    """Raise where a value that a person typed is none of the table."""
    known = work.kept(("partners", table, column), lambda: set(_keys_of(work.lake.table(table, column)[column])))
    if partner not in known:
        raise InvalidParameterError(refusal("partner", column, table, partner, did_you_mean(partner, known)))


def _keys_of(cells: pd.Series) -> list[str]:
    return list(dict.fromkeys(cells.dropna().astype(str)))


def review(work: Work, state: TableState, form: ReviewForm) -> Review:
    """Join as the form says, and list the pairs."""
    made: Review = work.kept(("review", state.name, form), lambda: _review(work, state, form))
    return made


def _review(work: Work, state: TableState, form: ReviewForm) -> Review:
    other = work.lake.table(form.table, form.right_on)
    joined = auto_join(state.frame[[form.on]], other, indicator=True, on_no_match="ignore", **form.arguments())
    report = joined.attrs["dfjoin"]["joined"][:1]
    if not report or "_match" not in joined.columns:
        coverage = report[0]["coverage"] if report else 0.0
        return Review([], 0, report[0]["matched"] if report else 0, [], None, coverage, [])
    key = next(name for name in joined.columns if name not in (form.on, "_match", "_distance", "_merge"))
    found = joined[joined["_match"].notna()].drop_duplicates([form.on, key])
    n_equal = int((found["_match"] == "equal").sum())
    answers = {(left, right): is_right for left, right, is_right in form.answers}
    pairs = [
        ReviewPair(str(left), str(right), str(kind), float(distance), answers.get((str(left), str(right))))
        for left, right, kind, distance in found[[form.on, key, "_match", "_distance"]].itertuples(index=False)
        if kind in _KINDS
    ]
    pairs += [
        ReviewPair(left, right, "reviewed", 1.0, False) for (left, right), is_right in answers.items() if not is_right
    ]
    pairs.sort(key=lambda pair: (pair.answer is not None, _KINDS.index(pair.kind), -pair.distance))
    relation = report[0].get("relation", {})
    programs = [one["text"] for one in relation.get("transform", {}).get("programs", []) if one["support"]]
    estimate = relation.get("fuzzy", {}).get("estimated_precision")
    partners = _keys_of(other[form.right_on])[:_MOST_PARTNERS]
    return Review(pairs[:_SHOWN], len(pairs), n_equal, programs, estimate, report[0]["coverage"], partners)


def show_review(visit: Visit) -> Response:
    """Show the pairs of a join, the doubtful ones first."""
    state = visit.state()
    if not visit.fields.get("table") and isinstance(step := replaced_step(visit), JoinPaired):
        return _page(visit, state, ReviewForm.of_step(step))
    return _page(visit, state, review_form(visit.fields, state, visit.work))


def _page(visit: Visit, state: TableState, form: ReviewForm) -> Response:
    made = review(visit.work, state, form)
    shown = {(pair.left, pair.right) for pair in made.pairs}
    return visit.render(
        "review.html",
        state=state,
        form=form,
        made=made,
        hidden=[answer for answer in form.answers if answer[:2] not in shown],
    )


def answer_review(visit: Visit) -> Response:
    """Take the answers: learn again and show the pairs, or make the join a step."""
    state = visit.state()
    form = review_form(visit.fields, state, visit.work)
    if visit.fields.get("accept"):
        return visit.go(f"/s/{accepted(visit, state, form.step(visit.work.edition()))}")
    return _page(visit, state, form)
