"""The page on which pairs of a learned join, or of one by similarity, are reviewed."""

from __future__ import annotations

from starlette.responses import Response

from dfjoin.page.pair_review import ReviewForm, review, review_form
from dfjoin.page.search_views import accepted, replaced_step
from dfjoin.page.steps import JoinPaired
from dfjoin.page.table_views import step_list
from dfjoin.page.visit import Visit
from dfjoin.page.work import TableState

__all__ = ["answer_review", "show_review"]


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
        steps=step_list(state),
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
